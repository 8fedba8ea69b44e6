"""Steps on pairs: the optimality conditions hold, the equation and the bounds are kept."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from didact.engines.constrained.pair_loops import pairs


def left_over(K, p, sign, bound, alpha):
    """max f (may fall) − min f (may rise), computed anew."""
    f = sign * (sign * (K @ (sign * alpha)) + p)
    rise = np.where(sign > 0, alpha < bound, alpha > 0)
    fall = np.where(sign > 0, alpha > 0, alpha < bound)
    return max(f[fall].max(initial=-np.inf) - f[rise].min(initial=np.inf), 0.0)


@settings(max_examples=40, deadline=None)
@given(n=st.integers(2, 40), rank=st.integers(1, 40), one_sign=st.booleans(), seed=st.integers(0, 1000))
def test_conditions_hold(n, rank, one_sign, seed):
    """Also for singular matrices, variables of one sign, bounds of 0, and a set that is part of the room."""
    rng = np.random.default_rng(seed)
    room = n + 3
    A = rng.normal(size=(room, rank))
    K = A @ A.T + 0.1 * np.eye(room)
    sign = np.ones(n) if one_sign else rng.choice([-1.0, 1.0], n)
    bound = rng.uniform(0, 2, n) * (rng.random(n) > 0.1)
    p, alpha = rng.normal(size=n), bound * rng.choice([0.0, 0.3, 1.0], n)
    before = sign @ alpha
    f = sign * (sign * (K[:n, :n] @ (sign * alpha)) + p)
    steps, gap = pairs(K, n, alpha, sign, bound, f, np.zeros((5, room)), 1e-8, 1_000_000)
    assert steps < 1_000_000
    assert gap <= 1e-8
    assert left_over(K[:n, :n], p, sign, bound, alpha) <= 1e-8 + 1e-11 * (1 + abs(K).max() * bound.sum())
    assert ((alpha >= 0) & (alpha <= bound)).all()
    assert sign @ alpha == pytest.approx(before, abs=1e-12 * (1 + bound.sum()))


def test_the_limit_of_steps_is_kept():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 30))
    sign = rng.choice([-1.0, 1.0], 30)
    alpha = np.zeros(30)
    steps, gap = pairs(A @ A.T, 30, alpha, sign, np.ones(30), -sign, np.zeros((5, 30)), 1e-9, 4)
    assert steps == 4
    assert gap > 1e-9
    assert (alpha > 0).sum() <= 8
