"""Gaussian sums over nodes against all pairs, and what they cost."""

import time

import numpy as np
import pytest

from didact.engines.smoothing import kernel_sums as sums_of
from didact.engines.smoothing.gauss_transform import SIDE, M, gauss_sums, pays
from didact.neighbors import KernelSmoother
from didact.parts.windows import GaussianWindow


def pairs(X, columns, Q, h):
    return np.exp(-0.5 * ((Q[:, None] - X) ** 2).sum(axis=2) / h**2) @ columns.T


@pytest.mark.parametrize(("p", "h"), [(1, 0.05), (1, 2.0), (1, 100.0), (2, 0.4), (2, 2.0), (2, 100.0)])
def test_sums_are_those_of_all_pairs(p, h):
    rng = np.random.default_rng(0)
    X, Q = np.clip(rng.standard_t(3, size=(400, p)), -6.0, 6.0), rng.uniform(-3.0, 3.0, size=(150, p))
    columns = np.vstack([rng.exponential(size=400), rng.normal(size=400)])
    both = np.vstack([X, Q])
    low, high = both.min(axis=0), both.max(axis=0)
    total = np.abs(columns).sum(axis=1)
    found = gauss_sums(X, columns, Q, low, high, h)
    assert (np.abs(found - pairs(X, columns, Q, h)) <= 1e-13 * total).all()
    found = gauss_sums(X, columns, None, low, high, h)
    assert (np.abs(found - pairs(X, columns, X, h)) <= 1e-13 * total).all()


def test_the_bound_of_the_interpolation():
    """Cells of SIDE bandwidths: the stated bound is below rounding."""
    factorial = np.exp(0.5 * np.log(np.arange(1.0, M + 1)).sum())
    assert 2 * 1.09 * (SIDE / 4) ** M / factorial < 1e-16


def test_columns_that_do_not_vary():
    X = np.column_stack([np.full(50, 3.0), np.linspace(0.0, 1.0, 50)])
    columns = np.ones((1, 50))
    found = gauss_sums(X, columns, None, X.min(axis=0), X.max(axis=0), 0.2)
    np.testing.assert_allclose(found, pairs(X, columns, X, 0.2), rtol=1e-13)
    same = np.zeros((5, 2))
    np.testing.assert_allclose(gauss_sums(same, np.ones((1, 5)), None, same[0], same[0], 1.0), 5.0, rtol=1e-14)


def test_only_where_it_pays():
    low, high = np.zeros(2), np.ones(2)
    assert pays(low, high, 0.1, 100_000, 100_000, 2)
    assert not pays(low, high, 1e-6, 100_000, 100_000, 2), "too many nodes"
    assert not pays(low, high, 0.1, 100, 100, 2)
    assert not pays(np.zeros(3), np.ones(3), 0.1, 100_000, 100_000, 2)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("own", [True, False])
def test_kernel_sums_are_the_same_either_way(p, own, monkeypatch):
    """Weights, targets, one row left out, and queries far outside, which have too little of all weights."""
    rng = np.random.default_rng(1)
    X, w, Y = rng.normal(size=(900, p)), rng.integers(1, 4, 900).astype(float), rng.normal(size=(900, 2))
    X[:3] *= 4.0
    Q = None if own else np.vstack([rng.normal(size=(300, p)), np.full((1, p), 15.0)])
    points, scales = sums_of.prepare(X, w, Y), sums_of.squared_scales([0.6, 3.0])
    monkeypatch.setattr(sums_of, "pays", lambda *a: False)
    expected = sums_of.kernel_sums(GaussianWindow(), points, Q, scales)
    monkeypatch.setattr(sums_of, "pays", lambda *a: True)
    found = sums_of.kernel_sums(GaussianWindow(), points, Q, scales)
    np.testing.assert_allclose(found.weight, expected.weight, rtol=3e-11)
    np.testing.assert_allclose(found.columns, expected.columns, rtol=1e-9, atol=1e-10 * w.sum())
    np.testing.assert_array_equal(found.nearest, expected.nearest)


def test_cross_validation_grows_like_the_rows():
    """Five times the rows, candidates of a fixed width: 25 times the pairs."""

    def seconds(n):
        X = np.random.default_rng(2).uniform(size=(n, 1))
        spent = []
        for _ in range(2):
            begin = time.process_time()
            KernelSmoother(grid=[0.05, 0.1, 0.2]).fit(X, np.sin(9 * X[:, 0]))
            spent.append(time.process_time() - begin)
        return min(spent)

    assert seconds(60_000) < 12 * seconds(12_000)
