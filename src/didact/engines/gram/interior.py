r"""The dual of support vector machines by an interior point, where the Gram matrix has a low rank.

Steps on pairs creep on columns of unequal size with a large C: the Gram matrix is nearly singular, and the way to the
optimum leads through many bounds. Then, with features Φ such that K = ΦΦᵀ (pivoted Cholesky) and A the
rows s_iφ_i, s_i of the variables,

.. math:: \min_\alpha\ \tfrac12\|c\|^2 + p^T\alpha,\qquad A^T\alpha = (c, b),\quad 0\le\alpha\le C

1. Mehrotra's predictor and corrector: each step solves AᵀD⁻¹A + diag(1, …, 1, 0), D from the distances to the bounds.
   The weights c are unknowns of their own: to sum them from α loses all digits when C is large.
2. A variable is at a bound if its multiplier outweighs its curvature; Newton steps on the others, with the kernel.

Features are centred, which changes nothing where Σ s_iα_i is fixed. With m variables and rank r: m r² for the factor
and for each of some 30 steps.

Mehrotra (1992), SIAM J. Optim. 2; Fine, Scheinberg (2001), Efficient SVM training using low-rank kernel
representations, JMLR 2.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from didact.core.backend import to_numpy
from didact.core.threads import blas_for
from didact.core.typing import AnyArray, Array
from didact.engines.gram.rows import GivenGram, kernel_block, kernel_diagonal

MOST_RANK, MOST_NUMBERS = 800, 50_000_000  # of a factor: 400 MB, and as much again for a step
ROUNDING = 1e-15  # of the trace: what is left of a Gram matrix that is factored
NEARLY = 1e-6  # of the trace: what may be left when the factor has the largest rank; pairs do the rest
STEPS, LAST_GAP, SHORT = 100, 1e-13, 0.995  # gap as a share of the objective; of the way to a bound


class _Point(NamedTuple):
    """α and its distance to the upper bounds, the weights (c, −ρ), multipliers of both bounds."""

    low: Array
    high: Array
    weights: Array
    at_low: Array
    at_high: Array


def interior_start(kernel: Any, X: AnyArray, dual: Any, deadline: float) -> Array | None:
    """α near the optimum, with the variables at their bounds that belong there; None if the rank is high."""
    used = np.flatnonzero(dual.bound > 0.0)
    features = low_rank_features(kernel, X, len(used), deadline)
    if features is None:
        return None
    row, sign, bound = dual.row[used], dual.sign[used], dual.bound[used]
    level, mean = float(dual.sign @ dual.start), features.mean(axis=1, keepdims=True)
    features -= mean
    linear = dual.linear[used] + sign * (level * (mean.T @ features)[0])[row]
    A = np.vstack([features[:, row] * sign, sign])
    with blas_for(len(A)):
        end = _interior_point(A, linear, bound, level, deadline)
    if end is None:
        return None
    curvature = np.maximum((A[:-1] ** 2).sum(axis=0), np.finfo(float).tiny)
    found = np.where(end.high < end.low, bound - end.high, end.low)
    found[end.at_low > curvature * end.low] = 0.0
    upper = end.at_high > curvature * end.high
    found[upper] = bound[upper]
    levelled = _levelled(found, sign, bound, level)
    if levelled is None:
        return None
    alpha = np.zeros(len(dual.bound))
    alpha[used] = levelled
    return alpha


def low_rank_features(kernel: Any, X: AnyArray, variables: int, deadline: float) -> Array | None:
    """Φᵀ (rank, n) with ΦΦᵀ = K by Cholesky steps, each on the row of which most is left; None if the rank is high."""
    left = kernel_diagonal(kernel, X)
    n, least = len(left), ROUNDING * left.sum()
    most = min(n, MOST_RANK, MOST_NUMBERS // max(variables, 1))
    kept, rank, own = np.empty((most, n)), 0, left.copy()
    while left.sum() > least:
        i = int(left.argmax())
        if rank == most or time.monotonic() > deadline:
            return kept if rank == most and left.sum() <= NEARLY * own.sum() else None
        values = kernel.K[i] if isinstance(kernel, GivenGram) else to_numpy(kernel_block(kernel, X[i : i + 1], X))[0]
        row = values - kept[:rank, i] @ kept[:rank]
        if row[i] > ROUNDING * own[i]:
            kept[rank] = row / np.sqrt(row[i])
            left = np.maximum(left - kept[rank] ** 2, 0.0)
            rank += 1
        left[i] = 0.0
    return kept[:rank]


def _interior_point(A: Array, linear: Array, bound: Array, level: float, deadline: float) -> _Point | None:
    """Predictors and correctors from the middle of the bounds, until rounding ends them; None at the deadline."""
    multipliers = np.maximum(linear, 0.0) + np.abs(linear).max() + np.finfo(float).tiny
    now = _Point(bound / 2, bound / 2, np.zeros(len(A)), multipliers, multipliers - linear)
    ridge, fixed = np.ones(len(A)), np.zeros(len(A))
    ridge[-1], fixed[-1] = 0.0, level
    for _ in range(STEPS):
        gap = now.low @ now.at_low + now.high @ now.at_high
        if gap <= LAST_GAP * abs(0.5 * (now.weights[:-1] @ now.weights[:-1]) + linear @ now.low):
            break
        if time.monotonic() > deadline:
            return None
        step = _directions(now, A, linear, ridge, fixed)
        if step is None:
            break
        first = step(-now.low * now.at_low, -now.high * now.at_high)
        ahead = _moved(now, first, _room(now, first))
        aim = gap / (2 * len(bound)) * ((ahead.low @ ahead.at_low + ahead.high @ ahead.at_high) / gap) ** 3
        move = step(
            aim - now.low * now.at_low - first.low * first.at_low,
            aim - now.high * now.at_high - first.high * first.at_high,
        )
        now = _moved(now, move, SHORT * _room(now, move))
    return now


def _directions(
    now: _Point, A: Array, linear: Array, ridge: Array, fixed: Array
) -> Callable[[Array, Array], _Point] | None:
    """The Newton step for given changes of the products of distances and multipliers; None if there is no factor."""
    stiff = now.at_low / now.low + now.at_high / now.high
    M = (A / stiff) @ A.T
    M.flat[:: len(M) + 1] += ridge
    try:
        factor = linalg.cho_factor(M, lower=True, overwrite_a=True, check_finite=False)
    except (linalg.LinAlgError, ValueError):
        return None
    slope = now.weights @ A + linear - now.at_low + now.at_high
    missing = A @ now.low - ridge * now.weights - fixed

    def step(low: Array, high: Array) -> _Point:
        right = low / now.low - high / now.high - slope
        weights = linalg.cho_solve(factor, missing + A @ (right / stiff), check_finite=False)
        move = (right - weights @ A) / stiff
        more = linalg.cho_solve(factor, missing + A @ move - ridge * weights, check_finite=False)  # refined once
        weights, move = weights + more, move - (more @ A) / stiff
        at_low, at_high = (low - now.at_low * move) / now.low, (high + now.at_high * move) / now.high
        return _Point(move, -move, weights, at_low, at_high)

    return step


def _room(now: _Point, move: _Point) -> float:
    """The longest step, up to 1, that keeps distances and multipliers positive."""
    pairs = ((now.low, move.low), (now.high, move.high), (now.at_low, move.at_low), (now.at_high, move.at_high))
    return 1.0 / max(float(np.max(-d / v, initial=1.0)) for v, d in pairs)


def _moved(now: _Point, move: _Point, share: float) -> _Point:
    return _Point(*(v + share * d for v, d in zip(now, move, strict=True)))


def _levelled(alpha: Array, sign: Array, bound: Array, level: float) -> Array | None:
    """α with Σ s_iα_i as it was: what is missing is spread over the free variables by their room; None if more is."""
    missing, room = level - float(sign @ alpha), np.minimum(bound - alpha, alpha)
    share = abs(missing) / max(float(room.sum()), np.finfo(float).tiny)
    return alpha + np.sign(missing) * share * sign * room if share < 1.0 else None
