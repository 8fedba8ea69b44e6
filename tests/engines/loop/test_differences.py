"""Differences: orders of accuracy, units, limits, arrays of functions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact.engines.loop.differences import differences


def f(x):
    return np.sin(x[0]) * x[1] ** 3


def gradient(x):
    return np.array([np.cos(x[0]) * x[1] ** 3, 3 * np.sin(x[0]) * x[1] ** 2])


@pytest.mark.parametrize(("kind", "error"), [("forward", 1e-6), ("central", 1e-8), ("complex", 1e-15)])
@given(st.integers(0, 50))
def test_accuracy(kind, error, seed):
    x = np.random.default_rng(seed).uniform(0.5, 2, size=2)
    np.testing.assert_allclose(differences(kind, x)(f, x), gradient(x), rtol=error, atol=error)


@pytest.mark.parametrize("kind", ["forward", "central", "complex"])
def test_columns_are_variables(kind):
    A = np.arange(6.0).reshape(3, 2)
    np.testing.assert_allclose(differences(kind, np.ones(2))(lambda x: A @ x, np.ones(2)), A, atol=1e-7)


@pytest.mark.parametrize("kind", ["forward", "central"])
def test_steps_are_relative_to_each_variable(kind):
    size = np.array([1e-12, 1.0, 1e12])
    g = differences(kind, size)(lambda x: np.sum((x / size) ** 2), size)
    np.testing.assert_allclose(g * size, 2.0, rtol=1e-6)


def test_a_variable_that_comes_near_zero_keeps_its_scale():
    """Steps relative to 1e-18 would be lost in the rounding of 1 + x."""
    x = np.array([1e-18])
    np.testing.assert_allclose(differences("central", np.ones(1))(lambda z: (1 + z[0]) ** 2, x), 2.0, rtol=1e-6)
    np.testing.assert_allclose(differences("central", np.zeros(1))(lambda z: (1 + z[0]) ** 2, x), 2.0, rtol=1e-8)


@pytest.mark.parametrize("kind", ["forward", "central"])
def test_the_function_is_not_asked_beyond_its_limits(kind):
    seen = []

    def root(x):
        seen.append(x.copy())
        return np.sum(np.sqrt(x * (1 - x) + 1))

    x = np.array([0.0, 1.0, 0.5])
    found = differences(kind, x, 0.0, 1.0)(root, x)
    assert all((p >= 0).all() and (p <= 1).all() for p in seen)
    np.testing.assert_allclose(found, (1 - 2 * x) / (2 * np.sqrt(x * (1 - x) + 1)), atol=1e-5)
