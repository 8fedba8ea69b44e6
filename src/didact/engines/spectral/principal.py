r"""Principal axes of rows: the directions of largest variance, by the way that suits the shape.

.. math:: \frac1n\sum_i(x_i-\mu)(x_i-\mu)^T = V\Lambda V^T

1. Many rows: one pass gives the covariance (its blocks merge exactly, so that batches and clusters give the same), and
   p³ its eigenvectors. Of fewer rows than columns the same from the n × n matrix of their inner products.
2. Rows in memory, few axes of many: Krylov spaces or Lanczos iterations (`svd`).

Pearson (1901), doi:10.1080/14786440109462720; Minka (2000), Automatic choice of dimensionality for PCA, NeurIPS 13.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from didact.core.backend import is_sparse, is_tensor, namespace, row_weights, to_numpy
from didact.core.overflow import refuse_overflow, refuse_vanished
from didact.core.random import streams
from didact.core.rows import Block, MemoryRows, Rows
from didact.core.rows.memory import refuse_square
from didact.core.threads import blas_for
from didact.core.typing import AnyArray, Array
from didact.engines.spectral.eigen import by_tridiagonal
from didact.engines.spectral.svd import CentredRows, by_bidiagonal, by_krylov, by_power, thin_svd
from didact.engines.spectral.tuning import NARROW_COLUMNS
from didact.parts.statistics.column_loops import sparse_column_sums
from didact.parts.statistics.moments import SAFE_OFFSET, moments
from didact.parts.statistics.row_components import variance_rows
from didact.parts.statistics.weights import WeightRange, weight_range

NO_LENGTH = 1e-13  # a share of the largest eigenvalue of a product of a matrix with itself that is rounding


class Covariance(NamedTuple):
    """Number of rows that the weights stand for, mean, and XᵀX of the centred rows divided by their weight."""

    cases: float
    mean: Array
    matrix: Array


class PrincipalAxes(NamedTuple):
    """Mean, the variances (divided by n) along some axes (p, k) and of all columns, and rows that count."""

    cases: float
    mean: Array
    values: Array
    vectors: Array
    total: float


def cases_of(rows: Rows) -> float:
    """The number of rows that the weights stand for."""
    if rows.memory and rows.memory.columns.weight is None:
        return float(rows.memory.n_rows)
    return rows.reduce(_weights).settled(rows).cases


def covariance_of(rows: Rows) -> Covariance:
    """The covariance of rows of any kind, in one pass; NaN if values are missing and the model takes such rows."""
    refuse_square(rows.n_features, "use fewer columns, or fewer rows than columns, given as an array in memory")
    S = rows.prepared(_beside_zeros).reduce(moments)
    if not (rows.missing and np.isnan(S.mean_x).any()):
        refuse_overflow(rows, (S.mean_x, S.xx))
        refuse_vanished(rows, S.xx)
    return Covariance(cases_of(rows), S.mean_x, S.xx / S.weight)


def centred_of(rows: MemoryRows) -> tuple[float, CentredRows, Array, float]:
    """Rows that count, the matrix A of rows in memory with AᵀA the covariance, their mean and their total variance."""
    mean, variances, weight = _columns(rows)
    refuse_overflow(rows, (mean, variances))
    refuse_vanished(rows, variances)
    w, X = rows.columns.weight, rows.X
    shares = row_weights(w, rows.n_rows) / weight
    A = CentredRows(X, mean, np.sqrt(shares))
    # Centring products cancels where values are far from zero.
    if not is_sparse(X) and bool((np.abs(mean) > np.sqrt(SAFE_OFFSET * variances)).any()):
        A = CentredRows(A.dense(), np.zeros_like(mean))
    return cases_of(rows), A, mean, float(variances.sum())


def _columns(rows: MemoryRows) -> tuple[Array, Array, float]:
    """Means and variances of the columns, and the weight of the rows; sparse rows are not filled up."""
    if not rows.is_sparse:
        S = rows.reduce(variance_rows, "diagonal")
        return S.mean[0], S.scatter[0] / S.weight[0], float(S.weight[0])
    w = rows.columns.weight
    weight = float(rows.n_rows if w is None else w.sum())
    sums, squares = sparse_column_sums(rows.X, w)
    mean = sums / weight
    return mean, np.maximum(squares / weight - mean * mean, 0.0), weight


def axes_of_covariance(found: Covariance, k: int) -> PrincipalAxes:
    """The k axes of largest variance."""
    C, p = found.matrix, len(found.mean)
    values, vectors = np.zeros(0), np.zeros((p, 0))
    if k:
        with blas_for(p):
            values, vectors = by_tridiagonal(C, k, largest=True)
    values, total = np.maximum(values[::-1], 0.0), float(np.trace(C))
    return PrincipalAxes(cases=found.cases, mean=found.mean, values=values, vectors=vectors[:, ::-1], total=total)


def axes_of_products(A: CentredRows, k: int) -> tuple[Array, Array]:
    """Variances and the k axes of rows that are fewer than columns, from their inner products."""
    D = A.dense()
    G = to_numpy(D @ D.T).astype(np.float64)
    with blas_for(len(G)):
        values, U = by_tridiagonal(G, k, largest=True)
    values, U = np.maximum(values[::-1], 0.0), U[:, ::-1]
    far = values > NO_LENGTH * max(float(values[0]), np.finfo(float).tiny)
    V = np.random.default_rng(0).normal(size=(D.shape[1], k))
    V[:, far] = to_numpy(D.T @ _of_kind(U[:, far] / np.sqrt(values[far]), D))
    return values, V if far.all() else completed(V, int(far.sum()))


def completed(V: Array, kept: int) -> Array:
    """The first columns as they are, and the others orthonormal to them and each other."""
    Q, R = np.linalg.qr(V)
    Q[:, :kept] *= np.where(np.diag(R)[:kept] < 0, -1.0, 1.0)
    return Q


def _of_kind(M: Array, D: AnyArray) -> AnyArray:
    return namespace(D).asarray(M, dtype=D.dtype, device=D.device) if is_tensor(D) else M.astype(D.dtype, copy=False)


def principal_axes(rows: Rows, solver: str, k: int, how: dict[str, Any]) -> tuple[PrincipalAxes, bool]:
    """The k axes of largest variance, by a solver of that name; whether it met its tolerance.

    `how` has `tol`, `images` and `extra` vectors of Krylov spaces, and `seed`.
    """
    rng = streams(how["seed"], 1)[0]
    if solver == "covariance_eigh" and not rows.is_wide:
        return axes_of_covariance(covariance_of(rows), k), True
    if solver == "power" and not rows.is_wide:
        C = covariance_of(rows)
        values, vectors, _, met = by_power(lambda v: C.matrix @ v, len(C.mean), k, how["tol"], rng)
        total = float(np.trace(C.matrix))
        return PrincipalAxes(cases=C.cases, mean=C.mean, values=values, vectors=vectors, total=total), met
    rows = rows.require_memory(f"svd_solver={solver!r} needs all rows in memory: use 'covariance_eigh' or 'power'.")
    cases, A, mean, total = centred_of(rows)
    met = True
    if solver == "covariance_eigh":
        values, vectors = axes_of_products(A, k)
    elif solver == "power":
        D = to_numpy(A.dense()).astype(np.float64)
        values, vectors, _, met = by_power(lambda v: D.T @ (D @ v), len(mean), k, how["tol"], rng)
    elif solver == "full":
        s, V = thin_svd(A.dense())
        values, vectors = s[:k] ** 2, V[:, :k]
    elif solver == "arpack":
        s, vectors = by_bidiagonal(A, k, how["tol"], rng)
        values = s**2
    else:
        s, vectors = by_krylov(A, k, how["extra"], how["images"], rng)
        values = s**2
    return PrincipalAxes(cases=cases, mean=mean, values=values, vectors=vectors, total=total), met


def solver_for(rows: Rows, k: Any) -> str:
    """The name of the solver that suits the shape; k may be a share of the variance or "mle"."""
    n, p = rows.n_rows, rows.n_features
    if n is None:
        return "covariance_eigh"
    low, high = min(n, p), max(n, p)
    if rows.is_sparse:
        return "covariance_eigh" if p <= NARROW_COLUMNS or k == low else "arpack"
    few = not isinstance(k, str) and 1 <= k < 0.8 * low
    if p <= NARROW_COLUMNS and n >= (2 if few else 10) * p:
        return "covariance_eigh"
    if few and low <= NARROW_COLUMNS and high >= 2 * low:
        return "covariance_eigh"
    if high <= 500 or not few:
        return "full"
    return "randomized"


def share_of_variance(values: Array, total: float, share: float) -> int:
    """The least number of axes whose variances are more than a share of all."""
    return int(np.searchsorted(np.cumsum(values / (total or 1.0)), share, side="right")) + 1


def minka_dimension(values: Array, n: float) -> int:
    """The number of axes with the greatest evidence, of the variances of all, falling."""
    p = len(values)
    tiny = np.finfo(values.dtype).eps
    scores = np.full(p, -np.inf)
    for k in range(1, p):
        if values[k - 1] < tiny:
            break
        noise = max(tiny, float(values[k:].sum()) / (p - k))
        seen = np.where(np.arange(p) < k, values, noise)
        widths = (p - np.arange(k)) / 2.0
        free = p * k - k * (k + 1) / 2.0
        i, j = np.triu_indices(p, 1)
        i, j = i[i < k], j[i < k]
        with np.errstate(divide="ignore", invalid="ignore"):
            bend = np.log((values[i] - values[j]) * (1.0 / seen[j] - 1.0 / seen[i])) + np.log(n)
        scores[k] = (
            float((gammaln(widths) - np.log(np.pi) * widths).sum())
            - k * np.log(2.0)
            - 0.5 * n * (float(np.log(values[:k]).sum()) + (p - k) * np.log(noise))
            + 0.5 * np.log(2.0 * np.pi) * (free + k)
            - 0.5 * float(bend.sum())
            - 0.5 * k * np.log(n)
        )
    return int(np.nanargmax(scores))


def _weights(block: Block) -> WeightRange:
    return weight_range(block.weight, block.X.shape[0])


def _beside_zeros(block: Block) -> Block:
    """Rows with a target of zeros, as moments take them."""
    X = block.X
    zeros = np.zeros(X.shape[0]) if is_sparse(X) else namespace(X).zeros_like(X[:, 0])
    return block._replace(y=zeros)
