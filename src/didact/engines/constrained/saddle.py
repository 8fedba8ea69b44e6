r"""Symmetric saddle systems :math:`\begin{pmatrix}H & B^T\\ B & 0\end{pmatrix}\binom{x}{y}=\binom{r}{c}` by Cholesky.

With :math:`H = LL^T` and :math:`W = L^{-1}B^T` the Schur complement is :math:`K = W^TW`, and
:math:`Ky = BH^{-1}r - c`, :math:`x = H^{-1}(r - B^Ty)`. If H is singular, ρBᵀB is added to it: on Bx = c this changes
only the right-hand side. The cost is n³/6 + n²k/2 + nk²/2 + k³/6 multiply–adds for k rows in B, half the time in single
precision. Tiny shifts of the diagonals make the factors exist even for dependent rows; callers refine the solution.

Row blocks of BᵀB run on the thread pool, since SciPy's BLAS and LAPACK wrappers hold the interpreter lock.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import blas, lapack

from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.engines.constrained.tuning import PARALLEL_FROM, SADDLE_PIECES


class _Routines(NamedTuple):
    shift: float  # relative to the diagonal: some hundred rounding errors
    syrk: Callable[..., Any]
    potrf: Callable[..., Any]
    trtrs: Callable[..., Any]
    trsm: Callable[..., Any]


_ROUTINES = {
    "f": _Routines(shift=2e-6, syrk=blas.ssyrk, potrf=lapack.spotrf, trtrs=lapack.strtrs, trsm=blas.strsm),
    "d": _Routines(shift=1e-13, syrk=blas.dsyrk, potrf=lapack.dpotrf, trtrs=lapack.dtrtrs, trsm=blas.dtrsm),
}


def add_gram(H: Array, rows: Array, d: Array | None = None) -> Array:
    """H + Rᵀ diag(d) R in Fortran order; H is symmetric, R in C order, both of one type; d None stands for ones."""
    m, n = rows.shape
    root = np.ones(m, rows.dtype) if d is None else np.sqrt(d).astype(rows.dtype)
    step = max(n, -(-m // SADDLE_PIECES)) if m * n**2 > PARALLEL_FROM else m

    def piece(start: int) -> Array:
        part = rows[start : start + step] * root[start : start + step, None]
        return np.asarray(part.T @ part)

    out = np.array(H, order="F")
    for gram in parallel_map(piece, range(0, m, step or 1)):
        out += gram.T
    return out


def cholesky(H: Array, shifted: bool = True) -> Array | None:
    """The lower Cholesky factor of H; None if H is not positive definite.

    With `shifted`, the diagonal (of H itself, too) is raised by some hundred rounding errors, and by more if needed.
    """
    routines = _ROUTINES[H.dtype.char]
    if not shifted:
        factor, failed = routines.potrf(H if H.flags.f_contiguous else H.T, lower=1, clean=0)
        return None if failed else np.asarray(factor)
    diagonal = np.diag(H).copy()
    floor = np.maximum(diagonal, routines.shift * (np.max(diagonal, initial=0.0) or 1.0))
    shift = routines.shift
    while shift < 1.0:
        np.fill_diagonal(H, diagonal + shift * floor)
        factor, failed = routines.potrf(H, lower=1, clean=0)
        if not failed:
            return np.asarray(factor)
        shift *= 1000.0
    return None


class Saddle(NamedTuple):
    """A factorised saddle system: the lower factors of H (with ρBᵀB in it) and of the Schur complement."""

    L: Array
    B: Any  # a matrix or operator with B @ x and B.T @ y
    K: Array
    rho: float = 0.0

    def solve(self, r: Array, c: Array) -> tuple[Array, Array]:
        """x and y for the right-hand sides r and c."""
        if not len(c):
            return solve_cholesky(self.L, r), np.zeros(0)
        if self.rho:
            r = r + self.rho * (self.B.T @ c)
        y = solve_cholesky(self.K, self.B @ solve_cholesky(self.L, r) - c)
        return solve_cholesky(self.L, r - self.B.T @ y), y


def solve_cholesky(L: Array, r: Array) -> Array:
    """(LLᵀ)⁻¹r by two triangular solves, which for one right-hand side take a quarter of the time of potrs."""
    if not len(r):
        return np.zeros(0)
    trtrs = _ROUTINES[L.dtype.char].trtrs
    half = trtrs(L, r.astype(L.dtype, copy=False), lower=1)[0]
    return np.asarray(trtrs(L, half, lower=1, trans=1)[0], dtype=np.float64)


def saddle(L: Array, B: Array, rho: float) -> Saddle | None:
    """The system whose H (including ρBᵀB) has the lower factor L; None if the Schur complement cannot be factorised."""
    if not len(B):
        return Saddle(L, B, np.zeros((0, 0), L.dtype), rho)
    K = cholesky(_ROUTINES[L.dtype.char].syrk(1.0, half_solve(L, B), trans=1, lower=1))
    return None if K is None else Saddle(L, B, K, rho)


def half_solve(L: Array, B: Array) -> Array:
    """L⁻¹Bᵀ."""
    return np.asarray(_ROUTINES[L.dtype.char].trsm(1.0, L, B.T.astype(L.dtype, order="F", copy=False), lower=1))
