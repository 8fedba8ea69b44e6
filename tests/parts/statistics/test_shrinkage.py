"""Shrinkage of covariances: scikit-learn's shares, the ends of the path, units."""

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf, oas, shrunk_covariance

from didact.core.rows import MemoryRows
from didact.parts.statistics.shrinkage import auto_shrunk, fourth_moments, ledoit_wolf_share, oas_share, scales, shrunk

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 6)) @ RNG.normal(size=(6, 6))
D = X - X.mean(axis=0)
C = D.T @ D / 40


def test_a_given_share():
    np.testing.assert_allclose(shrunk(C, 0.3), shrunk_covariance(C, 0.3), rtol=1e-12)
    np.testing.assert_allclose(shrunk(C, 1.0), np.eye(6) * np.trace(C) / 6, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(shrunk(C, 0.0), C)


def test_estimated_shares_are_scikit_learns():
    fourth = float(((D**2).sum(axis=1) ** 2).sum())
    assert ledoit_wolf_share(C, 40.0, fourth) == pytest.approx(ledoit_wolf(X)[1], rel=1e-10)
    assert oas_share(C, 40.0) == pytest.approx(oas(X)[1], rel=1e-10)
    assert ledoit_wolf_share(C[:1, :1], 40.0, 1.0) == 0.0
    assert oas_share(np.eye(3), 40.0) <= 1.0


@pytest.mark.parametrize("rule", ["ledoit_wolf", "oas"])
def test_units_do_not_matter(rule):
    unit = np.array([1.0, 10.0, 1e-3, 5.0, 2.0, 1e4])

    def found(S, Z):
        four = None if rule == "oas" else float((((Z / scales(S)) ** 2).sum(axis=1) ** 2).sum())
        return auto_shrunk(S, 40.0, four)

    np.testing.assert_allclose(found(C * np.outer(unit, unit), D * unit), found(C, D) * np.outer(unit, unit), rtol=1e-9)


def test_fourth_moments_by_class():
    y, w = np.arange(40) % 2, RNG.integers(0, 3, 40).astype(float)
    means, scale = RNG.normal(size=(2, 6)), RNG.uniform(1, 2, (2, 6))
    found = fourth_moments(MemoryRows(X, y, w), np.array([0, 1]), means, scale)
    for k in range(2):
        q = (((X[y == k] - means[k]) / scale[k]) ** 2).sum(axis=1)
        assert found[k] == pytest.approx(w[y == k] @ q**2)
