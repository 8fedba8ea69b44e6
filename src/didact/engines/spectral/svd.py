r"""The largest singular values and right vectors of centred rows, :math:`A = \sqrt W(X - 1\mu^T) = USV^T`.

A is never formed: products with it are products with X, which may be sparse or a tensor, less those with the mean.

1. `thin_svd`: all values, of a matrix that is formed after all: 4 n p min(n, p) multiply-adds and more.
2. `by_krylov`: a block of k + some random vectors and its images under A Aᵀ, all orthonormal; the best vectors of their
   span. With q images 2q + 2 products of n p (k + some) multiply-adds. The span holds that of q power iterations, so
   that the answer is at least as good.
3. `by_bidiagonal`: Lanczos iterations until the vectors have converged, some k products of one column at a time.
4. `by_power`: the power iteration :math:`v \leftarrow Cv/\|Cv\|`, one vector after the other in the orthogonal
   complement of those before (deflation), as textbooks have it. A step shrinks the error by λ₂/λ₁.

Halko, Martinsson, Tropp (2011), doi:10.1137/090771806; Musco, Musco (2015), Randomized block
Krylov methods, NeurIPS 28.
"""

from collections.abc import Callable

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, svds

from didact.core.backend import as_dense, float_type, is_tensor, like, namespace, to_numpy
from didact.core.threads import blas_for
from didact.core.typing import AnyArray, Array
from didact.engines.spectral.tuning import POWER_STEPS

STILL_VECTOR = 4 * np.finfo(float).eps  # change of a unit vector that is rounding


class CentredRows:
    """The matrix A of rows √w (x − μ), by its products with other matrices."""

    def __init__(self, X: AnyArray, mean: Array, root: Array | None = None):
        dtype = float_type(X)
        self.X, self.shape = X, tuple(X.shape)
        self.mean = like(mean.astype(dtype), X)
        self.root = None if root is None else like(root.astype(dtype)[:, None], X)

    def times(self, V: AnyArray) -> AnyArray:
        """A V."""
        found = self.X @ V - self.mean @ V
        return found if self.root is None else self.root * found

    def back(self, U: AnyArray) -> AnyArray:
        """Aᵀ U."""
        U = U if self.root is None else self.root * U
        return self.X.T @ U - self.mean[:, None] * U.sum(axis=0)

    def dense(self) -> AnyArray:
        """A itself."""
        found = as_dense(self.X) - self.mean
        return found if self.root is None else self.root * found


def thin_svd(A: AnyArray) -> tuple[Array, Array]:
    """All singular values, falling, and right vectors (p, min(n, p)), on the host."""
    if is_tensor(A):
        _, s, Vt = namespace(A).linalg.svd(A, full_matrices=False)
        return to_numpy(s).astype(np.float64), to_numpy(Vt).T.astype(np.float64)
    with blas_for(min(A.shape)):
        _, s, Vt = linalg.svd(A, full_matrices=False, check_finite=False)
    return s.astype(np.float64), Vt.T.astype(np.float64)


def by_krylov(A: CentredRows, k: int, extra: int, images: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """k singular values and right vectors (p, k) from the span of a random block and some of its images."""
    n, p = A.shape
    size = min(k + extra, n, p)
    start = like(rng.normal(size=(p, size)).astype(float_type(A.X)), A.X)
    basis = [orthonormal(A.times(start), [])]
    rows = [A.back(basis[0])]
    for used in range(size, min(size * (images + 1), n, p), size):
        basis.append(orthonormal(A.times(rows[-1])[:, : min(n, p) - used], basis))
        rows.append(A.back(basis[-1]))
    _, V = thin_svd(namespace(rows[0]).concat(rows, axis=1).T)
    V = V[:, :k]
    # The values are the lengths of the rows' coordinates along the vectors themselves.
    s, turn = thin_svd(to_numpy(A.times(like(V.astype(float_type(A.X)), A.X))).astype(np.float64))
    return s, V @ turn


def orthonormal(U: AnyArray, others: list[AnyArray]) -> AnyArray:
    """An orthonormal basis of the columns of U, and orthogonal to others; where columns depend, of anything else."""
    xp = namespace(U)
    with blas_for(U.shape[1]):
        for _ in range(2 if others else 1):  # what is left of dependent columns is rounding: once more
            for other in others:
                U = U - other @ (other.T @ U)
            U = xp.linalg.qr(U)[0]
    return U


def by_bidiagonal(A: CentredRows, k: int, tol: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """k singular values and right vectors (p, k), by Lanczos iterations."""
    column = lambda fn: lambda v: fn(v.reshape(-1, 1)).ravel()  # noqa: E731
    operator = LinearOperator(
        A.shape, matvec=column(A.times), rmatvec=column(A.back), matmat=A.times, rmatmat=A.back, dtype=float_type(A.X)
    )
    start = rng.uniform(-1.0, 1.0, min(A.shape))
    _, s, Vt = svds(operator, k=k, tol=tol, v0=start, return_singular_vectors="vh")
    return s[::-1].astype(np.float64), Vt[::-1].T.astype(np.float64)


def by_power(
    apply: Callable[[Array], Array], p: int, k: int, tol: float, rng: np.random.Generator
) -> tuple[Array, Array, list[int], bool]:
    """k eigenvalues, falling, and vectors (p, k) of a covariance C, given v ↦ Cv; steps for each, and whether all met
    the tolerance: the least step of a unit vector, or rounding."""
    V = np.empty((p, 0))
    steps: list[int] = []
    met = True
    for _ in range(k):
        v, move, step = _inside(rng.normal(size=p), V), np.inf, 0
        while move > max(tol, STILL_VECTOR) and step < POWER_STEPS:
            new = _inside(apply(v), V)
            if not new.any():  # nothing is left to explain
                break
            move, v, step = float(np.linalg.norm(new - v)), new, step + 1
        met &= move <= max(tol, np.sqrt(p) * STILL_VECTOR) or not new.any()
        V, steps = np.column_stack([V, v]), [*steps, step]
    # The span is right before single vectors of near eigenvalues are.
    image = np.column_stack([apply(v) for v in V.T])
    values, turn = np.linalg.eigh(V.T @ image)
    return np.maximum(values[::-1], 0.0), V @ turn[:, ::-1], steps, met


def _inside(v: Array, V: Array) -> Array:
    """The unit vector of what is left of v in the orthogonal complement of V."""
    before = float(np.linalg.norm(v))
    for _ in range(2):
        v = v - V @ (V.T @ v)
    size = float(np.linalg.norm(v))
    return v / size if size > STILL_VECTOR * before and size > 0 else np.zeros_like(v)
