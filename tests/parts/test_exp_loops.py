"""Exponential and logarithm in plain arithmetic: right to the last digit."""

import numpy as np

from didact.parts.exp_loops import exp1, exponentials, log1p1


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
