r"""Symmetric saddle systems :math:`\begin{pmatrix}H & B^T\\ B & 0\end{pmatrix}\binom{x}{y}=\binom{r}{c}` by Cholesky.

With :math:`H = LL^T` and :math:`W = L^{-1}B^T` the Schur complement is :math:`W^TW`, and
:math:`W^TW\,y = W^TL^{-1}r - c`, :math:`x = L^{-T}(L^{-1}r - Wy)`. Where H is singular, ρBᵀB is added to it: on Bx = c
that changes nothing but the right-hand side. The cost is n³/6 + n²k/2 + nk²/2 + k³/6 multiply–adds for k rows in B,
in single precision half the time. Tiny shifts of the diagonals let dependent rows pass; callers refine.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import blas, lapack

Array = np.ndarray[Any, Any]


class _Routines(NamedTuple):
    shift: float  # relative to the diagonal: hundreds of rounding errors
    syrk: Callable[..., Any]
    potrf: Callable[..., Any]
    potrs: Callable[..., Any]
    trtrs: Callable[..., Any]
    trsm: Callable[..., Any]


_ROUTINES = {
    "f": _Routines(2e-6, blas.ssyrk, lapack.spotrf, lapack.spotrs, lapack.strtrs, blas.strsm),
    "d": _Routines(1e-13, blas.dsyrk, lapack.dpotrf, lapack.dpotrs, lapack.dtrtrs, blas.dtrsm),
}


def add_gram(H: Array, rows: Array, weight: float = 1.0) -> Array:
    """H + weight·RᵀR in Fortran order, lower triangle only; R is C-ordered, both of one type."""
    if not len(rows):
        return np.array(H, order="F")
    return np.asarray(_ROUTINES[H.dtype.char].syrk(weight, rows.T, beta=1.0, c=H, lower=1))


def cholesky(H: Array, shifted: bool = True) -> Array | None:
    """The lower factor of H, which is overwritten; None where H is not positive definite.

    With `shifted`, the diagonal is raised by as much as it takes: a hundred rounding errors, then 1000 times more, ….
    """
    routines = _ROUTINES[H.dtype.char]
    if not shifted:
        factor, failed = routines.potrf(H, lower=1, clean=0)
        return None if failed else np.asarray(factor)
    diagonal = np.diag(H).copy()
    floor = np.maximum(diagonal, routines.shift * np.max(diagonal, initial=np.finfo(H.dtype).tiny))
    shift = routines.shift
    while shift < 1.0:
        np.fill_diagonal(H, diagonal + shift * floor)
        factor, failed = routines.potrf(H, lower=1, clean=0)
        if not failed:
            return np.asarray(factor)
        shift *= 1000.0
    return None


class Saddle(NamedTuple):
    """A factorised saddle system."""

    L: Array
    B: Array
    W: Array
    K: Array
    rho: float

    def solve(self, r: Array, c: Array) -> tuple[Array, Array]:
        """x and y for right-hand sides r and c."""
        routines, kind = _ROUTINES[self.L.dtype.char], self.L.dtype
        if not len(self.B):
            return _double(routines.potrs(self.L, r.astype(kind), lower=1)[0]), np.zeros(0)
        if self.rho:
            r = r + self.rho * (self.B.T @ c)
        half = routines.trtrs(self.L, r.astype(kind), lower=1)[0]
        y = routines.potrs(self.K, self.W.T @ half - c.astype(kind), lower=1)[0]
        return _double(routines.trtrs(self.L, half - self.W @ y, lower=1, trans=1)[0]), _double(y)


def saddle(L: Array, B: Array, rho: float) -> Saddle | None:
    """The system whose H (with ρBᵀB in it) has the lower factor L; None where the Schur complement cannot be factored."""
    routines, kind = _ROUTINES[L.dtype.char], L.dtype
    if not len(B):
        return Saddle(L, B, np.zeros((len(L), 0), kind), np.zeros((0, 0), kind), rho)
    W = routines.trsm(1.0, L, B.T.astype(kind, order="F", copy=False), lower=1)
    K = cholesky(routines.syrk(1.0, W, trans=1, lower=1))
    return None if K is None else Saddle(L, B, W, K, rho)


def _double(x: Any) -> Array:
    return np.asarray(x, dtype=np.float64)
