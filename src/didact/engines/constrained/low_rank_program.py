r"""Quadratic programs with bounds and one equation whose matrix has a low rank, by an interior point.

.. math:: \min_\alpha\ \tfrac12\|c\|^2 + p^T\alpha,\qquad A\alpha = (c, b),\quad 0\le\alpha\le C

Mehrotra's predictor and corrector: each step solves AD⁻¹Aᵀ + diag(1, …, 1, 0), D from the distances to the bounds. The
weights c are unknowns of their own: to sum them from α loses all digits when C is large. Cost: m r² for each of some 30
steps, with m variables and r rows of A.

Mehrotra (1992), SIAM J. Optim. 2; Fine, Scheinberg (2001), Efficient SVM training using low-rank kernel
representations, JMLR 2.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg

from didact.core.typing import Array

INTERIOR_STEPS, INTERIOR_GAP = 100, 1e-13  # at most; the gap as a share of the objective
OF_THE_WAY = 0.995  # to the next bound


class Interior(NamedTuple):
    """α and its distance to the upper bounds, the weights (c, −ρ), multipliers of both bounds."""

    low: Array
    high: Array
    weights: Array
    at_low: Array
    at_high: Array


def interior_point(A: Array, linear: Array, bound: Array, level: float, deadline: float) -> Interior | None:
    """Predictors and correctors from the middle of the bounds, until rounding ends them; None at the deadline."""
    multipliers = np.maximum(linear, 0.0) + np.abs(linear).max() + np.finfo(float).tiny
    now = Interior(
        low=bound / 2, high=bound / 2, weights=np.zeros(len(A)), at_low=multipliers, at_high=multipliers - linear
    )
    ridge, fixed = np.ones(len(A)), np.zeros(len(A))
    ridge[-1], fixed[-1] = 0.0, level
    for _ in range(INTERIOR_STEPS):
        gap = now.low @ now.at_low + now.high @ now.at_high
        if gap <= INTERIOR_GAP * abs(0.5 * (now.weights[:-1] @ now.weights[:-1]) + linear @ now.low):
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
        now = _moved(now, move, OF_THE_WAY * _room(now, move))
    return now


def _directions(
    now: Interior, A: Array, linear: Array, ridge: Array, fixed: Array
) -> Callable[[Array, Array], Interior] | None:
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

    def step(low: Array, high: Array) -> Interior:
        right = low / now.low - high / now.high - slope
        weights = linalg.cho_solve(factor, missing + A @ (right / stiff), check_finite=False)
        move = (right - weights @ A) / stiff
        more = linalg.cho_solve(factor, missing + A @ move - ridge * weights, check_finite=False)  # refined once
        weights, move = weights + more, move - (more @ A) / stiff
        at_low, at_high = (low - now.at_low * move) / now.low, (high + now.at_high * move) / now.high
        return Interior(low=move, high=-move, weights=weights, at_low=at_low, at_high=at_high)

    return step


def _room(now: Interior, move: Interior) -> float:
    """The longest step, up to 1, that keeps distances and multipliers positive."""
    pairs = ((now.low, move.low), (now.high, move.high), (now.at_low, move.at_low), (now.at_high, move.at_high))
    return 1.0 / max(float(np.max(-d / v, initial=1.0)) for v, d in pairs)


def _moved(now: Interior, move: Interior, share: float) -> Interior:
    return Interior(*(v + share * d for v, d in zip(now, move, strict=True)))
