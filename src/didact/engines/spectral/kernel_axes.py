r"""Principal axes in the features of a kernel, from the Gram matrix of the rows alone.

Features have their mean taken away, :math:`\tilde k(x,z) = k(x,z) - \bar k(x) - \bar k(z) + \bar{\bar k}`. An axis is a
sum of centred features of the rows, :math:`\sum_i\alpha_i\tilde\phi(x_i)`, where :math:`\alpha=u/\sqrt\lambda` for an
eigenpair (λ, u) of the centred matrix; as α sums to zero, the coordinate of x along it is
:math:`\sum_i\alpha_i(k(x_i,x)-\bar k(x_i))`. A row of weight c counts as c rows.

Schölkopf, Smola, Müller (1998), doi:10.1162/089976698300017467; Mika, Schölkopf, Smola, Müller, Scholz, Rätsch (1999),
Kernel PCA and de-noising in feature spaces, NeurIPS 11 (pre-images).
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from didact.core.backend import as_dense, is_sparse, is_tensor, like, rows_at, to_numpy
from didact.core.errors import InputError
from didact.core.random import first_seed
from didact.core.rows import Block, Rows
from didact.core.rows.memory import refuse_square, require_finite
from didact.core.typing import AnyArray, Array
from didact.engines.gram.rows import images, kernel_block, square_gram
from didact.engines.gram.systems import INFINITE_KERNEL
from didact.engines.spectral.eigen import by_lanczos, by_tridiagonal, eigenpairs, fixed_signs
from didact.engines.spectral.svd import CentredRows, by_krylov
from didact.parts.statistics.weights import in_cases

NEGATIVE_SHARE, NEGATIVE_EIGENVALUE = 1e-5, 1e-10  # of the largest, and absolute: what is below both is no rounding
NO_EIGENVALUE = 1e-12  # a positive one below this share is
PREIMAGE_STEPS, PREIMAGE_TOL = 500, 1e-10  # steps towards a pre-image, and the squared step that ends them


class KernelAxes(NamedTuple):
    """Eigenvalues, falling, √c·u (n, k), the mean of the kernel with each row, and the rows' shares of the weight."""

    values: Array
    vectors: Array
    means: Array
    shares: Array

    def coefficients(self) -> Array:
        """α (n, k), 0 for axes without variance; they sum to zero also where rounding would have it otherwise."""
        root = np.sqrt(self.values)
        found = self.vectors / np.where(root > 0, root, np.inf)
        return found - self.shares[:, None] * found.sum(axis=0)


def counted_rows(rows: Rows, kernel: Any) -> tuple[Block, Array | None]:
    """The rows that have weight, in memory, and how many each stands for (None: one); of a given matrix all rows."""
    block, given = rows.whole(), isinstance(kernel, str)
    X, w = block.X, block.weight
    require_finite(X, rows.names)
    if given and X.shape[0] != X.shape[1]:
        raise InputError(f"A precomputed kernel is a square matrix of the rows of the fit; got {tuple(X.shape)}.")
    refuse_square(X.shape[0], "use fewer rows, or didact.kernel_approximation.Nystroem before a linear model")
    if w is None:
        return block, None
    cases = in_cases(to_numpy(w).astype(np.float64))[0]
    if given or cases.all():
        return block, cases
    keep = np.flatnonzero(cases)
    return block.each(lambda column: rows_at(column, keep)), cases[keep]


def gram_copy(kernel: Any, X: AnyArray) -> AnyArray:
    """The Gram matrix of rows, or a given one, in double precision on the host, as a copy that may be changed."""
    given = isinstance(kernel, str)
    if is_tensor(X):
        return X.clone() if given else square_gram(kernel, X)
    if given:
        return np.array(as_dense(X), np.float64)
    X = X.astype(np.float64)
    with np.errstate(all="ignore"):  # values that overflow are refused in a sentence, with the eigenvalues
        return np.asarray(square_gram(kernel, X), np.float64)


def kernel_axes(K: AnyArray, cases: Array | None, k: int, solver: str = "auto", **how: Any) -> KernelAxes:
    """The k axes of most variance, from the Gram matrix, which is overwritten; `cases` counts rows.

    `how`: `tol` and `max_iter` of Lanczos iterations, `images` of random vectors, and `seed`.
    """
    n = K.shape[0]
    shares = np.full(n, 1.0 / n) if cases is None else cases / cases.sum()
    p = like(shares, K)
    with np.errstate(all="ignore"):
        means, across = p @ K, K @ p  # which a matrix that is not quite symmetric tells apart
        K -= across[:, None]
        K -= means
        K += p @ across
    if cases is not None:
        root = like(np.sqrt(cases), K)
        K *= root[:, None]
        K *= root
    values, vectors = (to_numpy(part).astype(np.float64) for part in _pairs(K, k, solver, how))
    values, order = _settled(values)
    vectors = vectors[:, order]
    if cases is not None:  # signs as of repeated rows
        root = np.sqrt(cases)[:, None]
        vectors = cases[:, None] * fixed_signs(vectors / np.where(root > 0, root, 1.0))
    return KernelAxes(values, vectors, to_numpy(means).astype(np.float64), shares)


def _pairs(K: AnyArray, k: int, solver: str, how: dict[str, Any]) -> tuple[AnyArray, AnyArray]:
    seed = first_seed(how.get("seed"))
    if solver == "auto" or is_tensor(K):
        return eigenpairs(K, k, seed=seed)
    if solver == "dense" or k >= K.shape[0]:
        values, vectors = by_tridiagonal(K, k, True)
    elif solver == "arpack":
        values, vectors = by_lanczos(K, k, True, seed, how["tol"], how["max_iter"])
    else:
        _, vectors = by_krylov(CentredRows(K, np.zeros(len(K))), k, 10, how["images"], np.random.default_rng(seed))
        values = np.einsum("ij,ij->j", vectors, K @ vectors)
    return values, fixed_signs(vectors)


def _settled(values: Array) -> tuple[Array, Array]:
    """Eigenvalues, falling, without rounding around zero, and their order; refuses what is no kernel."""
    if not len(values) or not np.isfinite(values).all():  # of a matrix with NaN LAPACK finds none
        raise InputError(INFINITE_KERNEL)
    low, high = values.min(initial=0.0), values.max(initial=0.0)
    if -low > NEGATIVE_SHARE * high and -low > NEGATIVE_EIGENVALUE:
        raise InputError(
            f"There are significant negative eigenvalues ({low:.3g}, the largest being {high:.3g}): the Gram matrix is "
            "not positive semidefinite. This function is no kernel, or the rows are so far from 0 for their spread "
            "that their differences are lost to rounding: centre the columns."
        )
    order = np.argsort(-values, kind="stable")
    values = values[order]
    return np.where(values > NO_EIGENVALUE * high, values, 0.0), order


def along_axes(A: AnyArray, kernel: Any, X: AnyArray, coefficients: Array, means: Array) -> Array:
    """Coordinates of rows A, on the host; with kernel "precomputed" A holds their kernel with the rows X."""
    offset = means @ coefficients
    A = A if is_tensor(A) else A.astype(np.float64)
    if is_sparse(X) and not (is_sparse(A) or is_tensor(A)):
        A = csr_array(A)
    if isinstance(kernel, str):
        return (to_numpy(A) if is_tensor(A) else A) @ coefficients - offset
    return images(kernel, A, like(X, A) if is_tensor(A) else X, coefficients) - offset


def fixed_points(kernel: Any, X: Array, gammas: Array, start: Array) -> Array:
    r"""Points whose features are nearest to :math:`\sum_i\gamma_i\phi(x_i)`, a row of γ each, for a Gaussian kernel.

    :math:`z\leftarrow\sum_i\gamma_ik(z,x_i)x_i/\sum_i\gamma_ik(z,x_i)`; a point where the sum vanishes stays.
    """
    z, moving = start.copy(), np.arange(len(start))
    for _ in range(PREIMAGE_STEPS):
        weights = gammas[moving] * kernel_block(kernel, z[moving], X)
        total = weights.sum(axis=1)
        sound = np.abs(total) > np.finfo(float).eps * np.abs(weights).sum(axis=1)
        moving, weights, total = moving[sound], weights[sound], total[sound]
        new = weights @ X / total[:, None]
        step = ((new - z[moving]) ** 2).sum(axis=1)
        size = (new**2).sum(axis=1)
        z[moving] = new
        moving = moving[step > PREIMAGE_TOL**2 * np.maximum(size, np.finfo(float).tiny)]
        if not len(moving):
            break
    return z
