"""Line searches: the conditions that each promises, infinite values, exact interpolation, hopeless directions."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import rosen, rosen_der

from didact.engines.loop.line_search import SERIAL, Armijo, Fixed, StrongWolfe, WeakWolfe, add_scaled, inner


class Point(NamedTuple):
    x: Any
    value: float
    gradient: Any


def rosenbrock(x):
    return float(rosen(x)), rosen_der(x)


def start(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=4) * 2
    point = Point(x, *rosenbrock(x))
    return point, -point.gradient * 10.0 ** rng.uniform(-4, 1)


def falls_enough(s, found, direction, decrease):
    slope = float(s.gradient @ direction)
    return found.point[1] <= s.value + decrease * found.length * slope + 1e-10 * (1 + abs(s.value))


@given(st.integers(0, 200))
def test_armijo(seed):
    s, direction = start(seed)
    found = Armijo(decrease=0.1)(rosenbrock, s, direction)
    np.testing.assert_allclose(found.point[0], s.x + found.length * direction)
    smaller = np.abs(found.point[2]).max() < np.abs(s.gradient).max() and found.point[1] <= s.value
    assert falls_enough(s, found, direction, 0.1) or smaller
    if found.length < 1:  # the length before was too long
        longer = s.x + 2 * found.length * direction
        assert rosen(longer) > s.value + 0.1 * 2 * found.length * float(s.gradient @ direction)


@given(st.integers(0, 200))
def test_weak_wolfe(seed):
    s, direction = start(seed)
    found = WeakWolfe()(rosenbrock, s, direction)
    assert falls_enough(s, found, direction, 1e-4)
    assert float(found.point[2] @ direction) >= 0.9 * float(s.gradient @ direction)


@given(st.integers(0, 200), st.sampled_from([0.9, 0.4, 0.1, 0.001]))
def test_strong_wolfe(seed, curvature):
    s, direction = start(seed)
    found = StrongWolfe(curvature=curvature)(rosenbrock, s, direction)
    assert falls_enough(s, found, direction, 1e-4)
    assert abs(found.point[2] @ direction) <= curvature * abs(s.gradient @ direction)
    np.testing.assert_allclose(found.point[0], s.x + found.length * direction)


@pytest.mark.parametrize("length", [1e-6, 0.1, 0.7, 3.0, 1e4])
def test_strong_wolfe_is_exact_on_a_quadratic(length):
    calls = []
    f = lambda x: (calls.append(x), float(0.5 * x @ x))[1:] + (x,)
    s = Point(np.array([3.0]), 4.5, np.array([3.0]))
    found = StrongWolfe(curvature=1e-9)(f, s, np.array([-1.0]), length)
    np.testing.assert_allclose(found.length, 3.0, rtol=1e-8)
    assert len(calls) <= 20


@pytest.mark.parametrize("search", [Armijo(), WeakWolfe(), StrongWolfe()])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite_are_backed_away_from(search, bad):
    f = lambda x: (float(x[0] - np.log(x[0])), 1 - 1 / x) if x[0] > 0 else (bad, np.array([bad]))
    s = Point(np.array([3.0]), *f(np.array([3.0])))
    found = search(f, s, np.array([-40.0]))
    assert 0 < found.point[0][0] < 3
    assert found.point[1] < s.value


@pytest.mark.parametrize("search", [Armijo(), WeakWolfe(), StrongWolfe()])
def test_a_direction_that_only_rises_finds_nothing(search):
    s = Point(np.array([1.0]), 1.0, np.array([-2.0]))  # the gradient has the wrong sign
    assert search(lambda x: (float(x @ x), -2 * x), s, np.array([2.0])) is None


def test_fixed_asks_nothing():
    f = lambda x: (float(x @ x), 2 * x)
    found = Fixed(5.0)(f, Point(np.array([1.0]), 1.0, np.array([2.0])), np.array([-2.0]))
    assert found.length == 5.0
    assert found.point[:2] == (np.array([-9.0]), 81.0)


@pytest.mark.parametrize("n", [1, 3, SERIAL, SERIAL + 1])
def test_products_of_short_and_long_vectors(n):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, n))
    np.testing.assert_allclose(inner(a, b), np.sum(a * b), rtol=1e-12, atol=1e-12)
    expected = b + 2.5 * a
    np.testing.assert_allclose(add_scaled(2.5, a, b), expected, atol=1e-14)
    np.testing.assert_allclose(b, expected, atol=1e-14)
