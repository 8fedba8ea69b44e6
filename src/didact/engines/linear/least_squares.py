r"""Direct least squares from statistics of the rows.

The normal equations :math:`(X^TX+\Lambda)b = X^Ty` by Cholesky cost p³/3 once the statistic is there and are right to
about κ² rounding errors. When the scaled matrix's reciprocal condition number is below `SAFE`, a second pass merges
triangular factors R of the rows (TSQR), whose error grows with κ only, or with κ² times the share of y that is not
explained; a rank-deficient R is solved by its SVD, which gives the solution of least norm.

`refine_solution` takes off what rounding has done to either solution: :math:`R^TRd = X^TW(y - Xb)` with residuals in
twice the working precision gives a correction d that is right to κ rounding errors of its own, so that one or two
passes lead to the exact solution of the rows as they are stored, correctly rounded but for a few units of the last
place.

Demmel, Grigori, Hoemmen, Langou (2012), Communication-optimal parallel and sequential QR and LU factorizations,
doi:10.1137/080731992; Björck (1967), Iterative refinement of linear least squares solutions I, doi:10.1007/BF01939321.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg, optimize

from didact.core.backend import is_sparse, namespace, to_numpy
from didact.core.rows import Block, Rows
from didact.core.threads import blas_for
from didact.core.typing import Array
from didact.engines.linear.residual_loops import residual_products

SAFE = 1e-7  # smallest reciprocal condition of the scaled Gram matrix for which the normal equations are kept
DEPENDENT_COLUMN = 1e-13  # singular value of unit columns that counts as zero: some hundred rounding errors
DOUBLE_EPS = float(np.finfo(np.float64).eps)
CORRECTIONS = 5  # passes that a refinement may take; two do, unless the condition is at the limit of its precision


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


def triangle(block: Block, mean_x: Array, mean_y: Array) -> Triangle:
    """The factor of one block, centred at the given means."""
    X, y, w = block.X, block.y, block.weight
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


def solve_triangle(factor: Triangle, n_features: int, sizes: Array | None = None) -> tuple[Array, int, Array]:
    """Solution, rank and singular values from the factor of [X, Y]; the solution of least norm if the rank is not full.

    `sizes` are the lengths of the columns before centring, which their rounding errors are proportional to. Columns are
    divided by them, so that neither units nor means matter: powers of a variable differ by orders of magnitude
    without being dependent, and a constant column is not saved by the noise that centring leaves of it.
    """
    A, B = factor.R[:n_features, :n_features], factor.R[:n_features, n_features:]
    scale = column_scale(A, sizes)
    core = A / scale
    if len(core) < n_features:  # few rows: a square factor has the same left vectors and values
        core = _upper(core.T).T
    U, s, Vt = linalg.svd(core, full_matrices=False, check_finite=False)
    rank = int((s > DEPENDENT_COLUMN).sum())
    if rank == n_features:
        return (Vt.T @ (U.T @ B / s[:, None])) / scale[:, None], rank, linalg.svdvals(A, check_finite=False)
    coef, singular = _least_norm(U[:, :rank].T @ A, U[:, :rank].T @ B, len(s))
    return coef, rank, singular


def graded_svd(A: Array, means: Array) -> tuple[Array, Array, Array]:
    """The singular values of a matrix whose columns may differ by any number of orders of magnitude.

    Plain singular values are right to rounding of the largest: a column of size 1 beside one of 1e17 is lost. Behind
    pivoting, rows of the triangle are graded like the columns, and its transpose keeps them apart. Values that are
    rounding errors of their own column are zero; `means` are the lengths of what was taken off the columns to centre
    them. Drmač, Veselić (2008), doi:10.1137/050639193.
    """
    Q, R, order = linalg.qr(A, mode="economic", pivoting=True, check_finite=False)
    noise = np.finfo(float).eps * max(A.shape) * (lengths(A) + means)[order[: len(R)]]
    R[np.abs(np.diagonal(R)) <= noise] = 0.0
    V, s, Ut = linalg.svd(R.T, full_matrices=False, check_finite=False)
    rows = np.empty_like(V)
    rows[order] = V
    return Q @ Ut.T, s, rows.T


def column_scale(A: Array, sizes: Array | None = None) -> Array:
    """What to divide columns by: their sizes, where these are known and numbers, or their own lengths; 1 for zeros."""
    own = lengths(A)
    scale = own if sizes is None else np.where(np.isfinite(sizes) & (sizes > 0), sizes, own)
    return np.where(scale > 0, scale, 1.0)


def lengths(A: Array) -> Array:
    """The Euclidean lengths of the columns, whose squares may be outside the range of numbers."""
    largest = np.abs(A).max(axis=0, initial=0.0)
    return np.asarray(largest * np.sqrt(((A / np.where(largest > 0, largest, 1.0)) ** 2).sum(axis=0)))


def _least_norm(A: Array, B: Array, size: int) -> tuple[Array, Array]:
    """The shortest x with Ax = B, for independent rows of A, and A's singular values, with zeros up to `size`."""
    Q, T = np.linalg.qr(A.T)
    solution = Q @ linalg.solve_triangular(T, B, trans="T", check_finite=False)
    singular = np.zeros(size)
    singular[: len(T)] = linalg.svdvals(T, check_finite=False) if len(T) else 0.0
    return solution, singular


def solve_twice(R: Array, rhs: Array) -> Array:
    """RᵀRx = rhs for a triangular R."""
    half = linalg.solve_triangular(R, rhs, trans="T", check_finite=False)
    return np.asarray(linalg.solve_triangular(R, half, check_finite=False))


def solve_nonnegative(factor: Triangle, n_features: int) -> Array:
    """Least squares with coefficients ≥ 0 from the factor of [X, Y] (Lawson–Hanson active sets)."""
    A, B = factor.R[:, :n_features], factor.R[:, n_features:]
    return np.stack([optimize.nnls(A, b)[0] for b in B.T], axis=1)


class Cancelling(NamedTuple):
    """Sums that cancel, each as two numbers: the sum, and what rounding has taken from it."""

    total: Array
    rest: Array

    def merge(self, other: "Cancelling") -> "Cancelling":
        """Both sums, and what is lost of theirs."""
        total, lost = _two_sum(self.total, other.total)
        return Cancelling(total, self.rest + other.rest + lost)


def residual_gradient(block: Block, high: Array, low: Array) -> Cancelling:
    """Σᵢ wᵢ (1, xᵢ) rᵢᵀ of one block (k, p + 1) at the coefficients high + low, in twice the working precision."""
    X, y, w = block.X, block.y, block.weight
    X = to_numpy(X.toarray() if is_sparse(X) else X)
    Y = to_numpy(y if y.ndim == 2 else y[:, None]).astype(np.float64, copy=False)
    w = None if w is None else to_numpy(w).astype(np.float64, copy=False)
    return Cancelling(*residual_products(X, Y, w, high, low))


def refine_solution(
    rows: Rows, coef: Array, mean_x: Array, mean_y: Array, weight: float, sizes: Array, solve: Callable[[Array], Array]
) -> tuple[Array, Array]:
    """Coefficients (p, k) and constants with their rounding errors taken off, in one pass for each correction.

    `solve` gives (XᵀWX)⁻¹g for columns centred at mean_x, whose lengths are `sizes`; a weight of 0 stands for a fit
    without constants. Corrections end where the next, which shrinks as the last one did, would be far below rounding,
    or where they do not shrink: the condition is beyond what they can mend, or numbers at the end of the range are.
    """
    high, low = np.vstack([mean_y - mean_x @ coef, coef]).T, np.zeros((coef.shape[1], len(coef) + 1))
    before = 1e-2
    for _ in range(CORRECTIONS):
        sums = rows.reduce(residual_gradient, high, low)
        level, gradient = np.split(sums.total + sums.rest, [1], axis=1)
        step = solve((gradient - level * mean_x if weight else gradient).T).T
        shift = level / weight - step @ mean_x[:, None] if weight else np.zeros_like(level)
        length, change = np.abs(sizes * high[:, 1:]).max(axis=1), np.abs(sizes * step).max(axis=1)
        share = np.divide(change, length, out=np.zeros_like(change), where=change != 0).max()
        if not share < 0.5 * before:  # true of NaN as well
            break
        high, lost = _two_sum(high, np.hstack([shift, step]))
        high, low = _two_sum(high, low + lost)
        if share * share <= 0.01 * DOUBLE_EPS * before:
            break
        before = share
    return high[:, 1:].T, high[:, 0]


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b, and what rounding took from it."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)
