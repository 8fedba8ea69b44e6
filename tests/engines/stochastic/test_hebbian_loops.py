"""Compiled Hebbian learning against a slow twin, and bounds that hold whatever the rows are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact.engines.stochastic.hebbian_loops import HEBB, LONGEST_UNIT, OJA, SANGER, hebbian_steps


def twin(rule, X, order, mean, scale, eta0, power, t, W):
    """The same steps in NumPy, straight from the formulas; the sum of the squared answers."""
    total = 0.0
    for s, i in enumerate(order):
        x = X[i] - mean
        y = W @ x
        total += y @ y
        if x @ x == 0 or scale == 0:
            continue
        eta = min(eta0 / (t + s) ** power / scale, 0.5 / (x @ x))
        if rule == HEBB:
            W += eta * np.outer(y, x)
            W /= np.linalg.norm(W, axis=1, keepdims=True)
        elif rule == OJA:
            W += eta * (np.outer(y, x) - (y**2)[:, None] * W)
        else:
            W += eta * (np.outer(y, x) - np.tril(np.outer(y, y)) @ W)
            W /= np.maximum(1.0, np.linalg.norm(W, axis=1, keepdims=True) / np.sqrt(LONGEST_UNIT))
    return total


def problem(seed, n, p, k):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * rng.uniform(0.5, 3.0, size=p) + rng.normal(size=p)
    W = rng.normal(size=(k, p))
    return X, W / np.linalg.norm(W, axis=1, keepdims=True), rng


@given(
    seed=st.integers(0, 50), n=st.integers(0, 30), p=st.integers(1, 7), k=st.integers(1, 4),
    rule=st.sampled_from([HEBB, OJA, SANGER]), eta0=st.sampled_from([0.01, 0.3, 20.0]), single=st.booleans(),
    power=st.sampled_from([0.0, 0.5, 1.0]), t=st.integers(1, 50),
)  # fmt: skip
def test_steps_equal_the_twin(seed, n, p, k, rule, eta0, single, power, t):
    X, W, rng = problem(seed, n, p, k)
    X = X.astype(np.float32) if single else X
    order, mean = rng.permutation(n), rng.normal(size=p)
    expected = W.copy()
    total = twin(rule, X.astype(float), order, mean, 2.0, eta0, power, t, expected)
    assert hebbian_steps(rule, X, order, mean, 2.0, eta0, power, float(t), W) == pytest.approx(total, rel=1e-8)
    np.testing.assert_allclose(W, expected, rtol=1e-7, atol=1e-10)


@given(seed=st.integers(0, 100), rule=st.sampled_from([OJA, SANGER]), eta0=st.sampled_from([1e-3, 1.0, 1e6]))
def test_weights_stay_bounded_whatever_the_rows_and_the_rate(seed, rule, eta0):
    """Rows of wildly different lengths, a constant rate, and a scale that is far too small."""
    X, W, rng = problem(seed, 400, 5, 3)
    X *= 10.0 ** rng.integers(-8, 9, size=(400, 1))
    hebbian_steps(rule, X, np.arange(400), np.zeros(5), 1e-3, eta0, 0.0, 1.0, W)
    assert (np.sum(W**2, axis=1) <= LONGEST_UNIT * (1 + 1e-12)).all()


def test_the_longest_step_of_oja_needs_no_cutting_back():
    """η‖x‖² = ½ from any w with ‖w‖² ≤ 2 never leads out of that ball, which is what the module says."""
    rng = np.random.default_rng(0)
    W = rng.normal(size=(20_000, 3))
    W *= np.sqrt(2 * rng.random((20_000, 1)) ** 0.1) / np.linalg.norm(W, axis=1, keepdims=True)
    for share in (0.5, 0.1):
        x = np.array([1.0, 0.0, 0.0])
        y = W @ x
        moved = W + share * (y[:, None] * x - (y**2)[:, None] * W)
        assert np.sum(moved**2, axis=1).max() <= 2.0 + 1e-12


def test_rows_without_length_and_data_without_scale_teach_nothing():
    W = np.array([[0.6, 0.8]])
    hebbian_steps(SANGER, np.zeros((3, 2)), np.arange(3), np.zeros(2), 0.0, 1.0, 0.5, 1.0, W)
    hebbian_steps(OJA, np.ones((3, 2)), np.arange(3), np.ones(2), 1.0, 1.0, 0.5, 1.0, W)
    np.testing.assert_array_equal(W, [[0.6, 0.8]])
