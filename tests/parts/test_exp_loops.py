"""Exponential and logarithm in plain arithmetic: right to the last digit."""

import numpy as np

from didact.parts.exp_loops import exp1, exponentials, log1, log1p1, ratio1


def test_exponential_is_right_to_the_last_digit():
    x = np.concatenate([np.linspace(-708, 709, 200_001), [0.0, -0.0, 1e-300, -1e-17]])
    out = np.empty_like(x)
    exponentials(x, out)
    exact = np.exp(x.astype(np.longdouble))
    assert np.abs(out / exact - 1).max() < 1e-15
    assert exp1(0.0) == 1.0
    assert exp1(-1e9) == exp1(-708.0) < 1e-300


def test_logarithm_is_right_to_the_last_digit():
    u = np.concatenate([np.linspace(1e-9, 1, 4001), np.geomspace(1e-300, 1, 2001)])
    exact = np.log1p(u.astype(np.longdouble))
    assert np.abs(np.array([log1p1(v) for v in u]) / exact - 1).max() < 1e-15
    assert log1p1(0.0) == 0.0


def test_logarithm_from_one_on_is_right_to_the_last_digit():
    x = np.concatenate([np.linspace(1.001, 2.5, 4001), np.geomspace(1.5, 1e308, 4001), [2.0, 1.0 + 2.0**-52]])
    exact = np.log(x.astype(np.longdouble))
    assert np.abs(np.array([log1(v) for v in x]) / exact - 1).max() < 1e-15
    assert log1(1.0) == 0.0


def test_ratio_by_zero_is_infinite():
    assert ratio1(1.0, 4.0) == 0.25
    assert ratio1(1.0, 0.0) == np.inf
