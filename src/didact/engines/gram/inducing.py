r"""Gaussian processes by inducing points: a lower bound of the evidence whose sums over rows are small matrices.

With inducing points Z, K_zz = L Lᵀ, W = L⁻¹K_zx, noise variances v, V = diag v, Φ = W V⁻¹ Wᵀ, B = I + Φ and
c = W V⁻¹[Y H], the evidence of one target without H is at least

.. math:: -\tfrac12\Big(\sum_i\tfrac{y_i^2}{v_i} - c^TB^{-1}c + \log|B| + \sum_i\log v_i + n\log 2\pi
    + \sum_i\tfrac{k(x_i,x_i)}{v_i} - \operatorname{tr}\Phi\Big),

with equality if Z are all rows. One pass over the rows gives Φ, c and the sums (n m² multiply–adds), a second one the
gradient. Several targets and means Hβ enter as in `process`.

Titsias (2009), Variational learning of inducing variables in sparse Gaussian processes, AISTATS.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from didact.core.backend import as_dense, is_tensor, like, namespace, small_product, to_numpy
from didact.core.rows import Block, Rows
from didact.core.typing import AnyArray, Array
from didact.engines.gram.process import log_determinant, lower_factor, profile, whitened
from didact.kernels.base import Kernel

POINT_JITTER = 1e-10  # of the mean variance at the inducing points: they may nearly coincide
DEVICE_ROWS = 1 << 17  # of a tensor at a time

Read = Callable[[Block], Any]  # of a block: rows, targets [Y H], given noise variances


class Totals(NamedTuple):
    """Sums over rows."""

    parts: tuple[Any, ...]

    def merge(self, other: "Totals") -> "Totals":
        """The sums of both."""
        return Totals(tuple(a + b for a, b in zip(self.parts, other.parts, strict=True)))


def full_rows(X: AnyArray) -> AnyArray:
    """Dense rows in float64; things that are no numbers as they are."""
    if X.dtype == object:
        return X
    if is_tensor(X):
        return namespace(X).astype(X, namespace(X).float64)
    return as_dense(X).astype(np.float64, copy=False)


def _cut(X: AnyArray, targets: AnyArray, noise: Any) -> Iterator[tuple[AnyArray, AnyArray, Any]]:
    step = DEVICE_ROWS if is_tensor(X) else max(X.shape[0], 1)
    for a in range(0, X.shape[0], step):
        rows = slice(a, a + step)
        yield X[rows], targets[rows], noise[rows] if np.ndim(noise) else noise


def sums_of(block: Block, read: Read, kernel: Kernel, Z: Array, whiten: Array) -> Totals:
    """Φ, c, [Y H]ᵀV⁻¹[Y H], Σ log v, Σ k(x, x)/v and the number of rows, from whiten = L⁻¹.

    A product with L⁻¹ is as exact as W has to be, and unlike SciPy's solve it lets other threads work meanwhile; that
    of a matrix with its own transpose costs NumPy half of another one.
    """
    total: Totals | None = None
    for X, targets, noise in _cut(*read(block)):
        smooth = kernel.diagonal(X, same=False)
        v = kernel.diagonal(X) - smooth + noise
        W = like(whiten, X) @ kernel.gram(like(Z, X), X)
        W /= v**0.5
        over = targets / v[:, None] ** 0.5
        found = (
            to_numpy(small_product(W, W.T)),
            to_numpy(small_product(W, over)),
            to_numpy(small_product(over.T, over)),
            float(namespace(v).log(v).sum()),
            float((smooth / v).sum()),
            float(X.shape[0]),
        )
        total = Totals(found) if total is None else total.merge(Totals(found))
    m, t = len(Z), read(block)[1].shape[1]
    return total or Totals((np.zeros((m, m)), np.zeros((m, t)), np.zeros((t, t)), 0.0, 0.0, 0.0))


def slopes_of(block: Block, read: Read, kernel: Kernel, Z: Array, E: Array, e: Array, C: Array, T: int) -> Totals:
    """The part of the gradient in log θ that comes from K_zx and the diagonal, Σ over rows."""
    total = np.zeros(len(kernel.theta))
    for X, targets, noise in _cut(*read(block)):
        smooth = kernel.diagonal(X, same=False)
        v = kernel.diagonal(X) - smooth + noise
        K, pull = kernel.traced(like(Z, X), X)
        A = like(E, X) @ K
        A += like(e, X) @ targets.T
        # Σ_z K∘(EK + 2et), of which the second et is a product with one vector for each target
        seen = (K * A).sum(axis=0) if is_tensor(A) else np.einsum("ij,ij->j", K, A)
        fit = ((targets @ like(C, X) - K.T @ like(e, X)) * targets).sum(axis=1) - seen
        A /= v
        total += pull(A)
        in_v = (0.5 * fit + 0.5 * T * (smooth - v)) / v**2
        total += kernel.pull_diagonal(X, -0.5 * T / v, same=False)
        total += np.subtract(kernel.pull_diagonal(X, in_v), kernel.pull_diagonal(X, in_v, same=False))
    return Totals((total,))


class LowerBound(NamedTuple):
    """Evidence's lower bound at some parameters; `inner` is the factor of B, `cross` is c."""

    value: float
    gradient: Array
    L: Any = None
    inner: Any = None
    cross: Any = None
    profile: Any = None


def smooth_gram(kernel: Kernel, Z: Array) -> Array:
    """K_zz without white noise, with a jitter."""
    K = np.asarray(kernel.gram(Z), np.float64)
    diagonal = kernel.diagonal(Z, same=False)
    np.fill_diagonal(K, diagonal + POINT_JITTER * diagonal.mean())
    return K


def bound(rows: Rows, read: Read, kernel: Kernel, Z: Array, basis: int, gradient: bool = True) -> LowerBound:
    """The lower bound for rows in memory, in batches or on a cluster; −∞ where K_zz is not positive definite."""
    L = lower_factor(smooth_gram(kernel, Z))
    nothing = LowerBound(-math.inf, np.zeros(len(kernel.theta)))
    if L is None:
        return nothing
    whiten = np.tril(whitened(L, np.eye(len(Z))))
    Phi, c, squares, logs, trace, n = rows.reduce(sums_of, read, kernel, Z, whiten).parts
    T = squares.shape[0] - basis
    inner = lower_factor(np.eye(len(Z)) + Phi)
    if inner is None:
        return nothing
    solved = linalg.cho_solve((inner, True), c)
    found = profile(squares - c.T @ solved, T)
    value = found.value - 0.5 * T * (
        log_determinant(inner) + logs + (n - basis) * math.log(2 * math.pi) + trace - float(np.trace(Phi))
    )
    slope = np.zeros(0)
    if gradient:
        B_inverse = linalg.cho_solve((inner, True), np.eye(len(Z)))
        D = -0.5 * T * B_inverse - 0.5 * solved @ found.weights @ solved.T + 0.5 * T * np.eye(len(Z))
        in_zz = _between(L, D - 0.5 * T * Phi)
        e = linalg.solve_triangular(L, solved @ found.weights, lower=True, trans="T")
        slope = rows.reduce(slopes_of, read, kernel, Z, 2.0 * _between(L, D), e, found.weights, T).parts[0]
        diagonal = np.diagonal(in_zz)
        white = np.subtract(kernel.pull_diagonal(Z, diagonal), kernel.pull_diagonal(Z, diagonal, same=False))
        slope = slope + kernel.pull(Z, in_zz) - white
    return LowerBound(value=value, gradient=slope, L=L, inner=inner, cross=c, profile=found)


def _between(L: Array, D: Array) -> Array:
    """L⁻ᵀ D L⁻¹ for a symmetric D."""
    half = linalg.solve_triangular(L, D, lower=True, trans="T")
    return np.asarray(linalg.solve_triangular(L, half.T, lower=True, trans="T"))
