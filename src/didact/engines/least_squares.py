r"""Direct least squares from statistics of the rows.

The normal equations :math:`(X^TX+\Lambda)b = X^Ty` by Cholesky cost p³/3 once the statistic is there and are right to
about κ² rounding errors. When the scaled matrix's reciprocal condition number is below `SAFE`, a second pass merges
triangular factors R of the rows (TSQR), whose error grows with κ only; a rank-deficient R is solved by its SVD, which
gives the solution of least norm.

Demmel, Grigori, Hoemmen, Langou (2012), Communication-optimal parallel and sequential QR and LU factorizations,
doi:10.1137/080731992.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, optimize

from didact.core.backend import is_sparse, namespace, to_numpy
from didact.core.threads import blas_for

Array = np.ndarray[Any, Any]

SAFE = 1e-7  # smallest reciprocal condition of the scaled Gram matrix for which the normal equations are kept
DEPENDENT = 1e-13  # singular value of unit columns below which they count as dependent: some hundred rounding errors


def solve_normal(gram: Array, rhs: Array) -> tuple[Array, bool]:
    """Solve gram·x = rhs by Cholesky after scaling to unit diagonal; also whether the condition allowed it."""
    scale = np.sqrt(np.maximum(np.diag(gram), 0.0))
    if not scale.all() or not len(scale):
        return np.zeros_like(rhs), not len(scale)
    scaled = gram / scale[:, None] / scale
    with blas_for(len(scale)):
        factor, failed = linalg.lapack.dpotrf(scaled, lower=1, clean=0, overwrite_a=1)
        if failed:
            return np.zeros_like(rhs), False
        norm = np.abs(gram / scale[:, None] / scale).sum(axis=0).max()
        reciprocal, _ = linalg.lapack.dpocon(factor, norm, uplo="L")
        solution, _ = linalg.lapack.dpotrs(factor, rhs / (scale[:, None] if rhs.ndim == 2 else scale), lower=1)
    return solution / (scale[:, None] if rhs.ndim == 2 else scale), bool(reciprocal > SAFE)


class Triangle(NamedTuple):
    """The triangular factor of the rows [X, Y]: RᵀR = [X, Y]ᵀ diag(w) [X, Y]."""

    R: Array

    def merge(self, other: "Triangle") -> "Triangle":
        """The factor of both sets of rows: QR of the two factors, one above the other."""
        return Triangle(_upper(np.vstack([self.R, other.R])))


def triangle(X: Any, y: Any, w: Any, mean_x: Array, mean_y: Array) -> Triangle:
    """The factor of one block, centred at the given means."""
    xp = namespace(X)
    X = X.toarray() if is_sparse(X) else X
    Y = y if y.ndim == 2 else y[:, None]
    centre = xp.asarray(np.concatenate([mean_x, mean_y]), dtype=Y.dtype, device=Y.device)
    Z = xp.concat([xp.astype(X, Y.dtype), Y], axis=1) - centre
    if w is not None:
        Z = Z * xp.sqrt(w)[:, None]
    return Triangle(_upper(to_numpy(Z).astype(np.float64)))


def _upper(Z: Array) -> Array:
    return np.asarray(np.linalg.qr(Z, mode="r"))


def solve_triangle(
    factor: Triangle, n_features: int, tol: float = DEPENDENT, sizes: Array | None = None
) -> tuple[Array, int, Array]:
    """Solution, rank and singular values from the factor of [X, Y]; the solution of least norm if the rank is not full.

    `sizes` are the lengths of the columns before centring, which their rounding errors are proportional to. Columns are
    divided by them, so that neither units nor means matter: powers of a variable differ by orders of magnitude
    without being dependent, and a constant column is not saved by the noise that centring leaves of it.
    """
    A, B = factor.R[:n_features, :n_features], factor.R[:n_features, n_features:]
    scale = np.sqrt((A * A).sum(axis=0)) if sizes is None else sizes
    scale = np.where(scale > 0, scale, 1.0)
    U, s, Vt = linalg.svd(A / scale, check_finite=False)
    rank = int((s > tol).sum())
    coef = (Vt[:rank].T @ (U[:, :rank].T @ B / s[:rank, None])) / scale[:, None]
    if rank < n_features:  # take off what lies in the null space, spanned by the remaining right singular vectors
        null = np.linalg.qr(Vt[rank:].T / scale[:, None])[0]
        coef -= null @ (null.T @ coef)
    return coef, rank, linalg.svdvals(A, check_finite=False)


def solve_nonnegative(factor: Triangle, n_features: int) -> Array:
    """Least squares with coefficients ≥ 0 from the factor of [X, Y] (Lawson–Hanson active sets)."""
    A, B = factor.R[:, :n_features], factor.R[:, n_features:]
    return np.stack([optimize.nnls(A, b)[0] for b in B.T], axis=1)
