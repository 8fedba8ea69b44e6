"""Neighbourhoods, robust weights and leave-one-out of local regression."""

import numpy as np
import pytest

from didact.engines.smoothing import local_moments_loops, local_regression
from didact.engines.smoothing.local_regression import (
    LocalPoints,
    LocalRule,
    bisquare_weights,
    local_left_out,
    local_smooth,
)


def points(n=300, p=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X = np.sort(X, axis=0) if p == 1 else X
    return LocalPoints(X, np.sin(X).sum(axis=1) + 0.1 * rng.normal(size=n), np.ones(n), np.ones(n))


@pytest.mark.parametrize("degree", [0, 1, 2])
def test_a_tree_and_a_table_of_distances_agree(degree, monkeypatch):
    data, Q = points(), points(seed=1).X
    by_tree = local_smooth(data, Q, LocalRule("tricube", degree, 0.0, 30.0))
    assert local_regression._tree(data, LocalRule("tricube", degree, 0.0, 30.0)) is not None
    monkeypatch.setattr(local_regression, "TREE_FEATURES", 0)
    by_table = local_smooth(data, Q, LocalRule("tricube", degree, 0.0, 30.0))
    np.testing.assert_allclose(by_tree.value, by_table.value, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(by_tree.lever, by_table.lever, rtol=1e-8)


@pytest.mark.parametrize("kernel", ["tricube", "gaussian"])
@pytest.mark.parametrize("width", [(0.0, 60.0), (2.0, 0.0)])
@pytest.mark.parametrize("degree", [0, 1, 2])
def test_one_feature_twice_is_one_feature(degree, width, kernel):
    """Ranges of sorted points and tables of distances: the same fit, if the second feature says nothing."""
    data, Q = points(p=1), np.linspace(-3, 3, 40)[:, None]
    rule = LocalRule(kernel, degree, *width)
    alone = local_smooth(data, Q, rule)
    beside = local_smooth(data._replace(X=data.X @ [[1.0, 0.0]]), Q @ [[1.0, 0.0]], rule)
    np.testing.assert_allclose(alone.value, beside.value, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(alone.lever, beside.lever, rtol=1e-6)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("width", [(0.0, 40.0), (1.5, 0.0)])
def test_the_lever_is_the_slope_by_the_own_target(p, width):
    data, rule = points(n=80, p=p), LocalRule("tricube", 1, *width)
    before = local_smooth(data, data.X, rule)
    for i in (0, 17, 79):
        moved = local_smooth(data._replace(y=data.y + (np.arange(80) == i)), data.X, rule)
        np.testing.assert_allclose(moved.value[i] - before.value[i], before.lever[i], rtol=1e-7)


@pytest.mark.parametrize("kernel", ["tricube", "gaussian"])
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("degree", [0, 1, 2])
def test_leave_one_out_equals_refits(p, degree, kernel):
    data = points(n=60, p=p)
    data = data._replace(w=np.random.default_rng(0).integers(1, 4, 60).astype(float))
    rule = LocalRule(kernel, degree, 1.9, 0.0)
    closed = local_left_out(data, local_smooth(data, data.X, rule))
    for i in range(0, 60, 7):
        less = data._replace(w=data.w - (np.arange(60) == i))
        keep = less.w > 0
        less = LocalPoints(*(column[keep] for column in less))
        expected = local_smooth(less, data.X[i : i + 1], rule)
        if expected.lever[0] < 5:  # else the window had to be widened, or the fit is hardly determined
            np.testing.assert_allclose(closed[i], expected.value[0], rtol=1e-6, atol=1e-7)


def test_a_row_that_determines_its_own_fit_is_predicted_by_the_mean():
    data = LocalPoints(np.array([[0.0], [0.1], [0.2], [50.0]]), np.array([1.0, 2.0, 3.0, 10.0]), np.ones(4), np.ones(4))
    loo = local_left_out(data, local_smooth(data, data.X, LocalRule("tricube", 0, 1.0, 0.0)))
    np.testing.assert_allclose(loo[3], 4.0)


def test_bisquare_weights():
    r = np.array([-1.0, 0.0, 1.0, 2.0, -7.0])
    np.testing.assert_allclose(
        bisquare_weights(r, np.ones(5)), [(1 - 1 / 36) ** 2, 1, (1 - 1 / 36) ** 2, (8 / 9) ** 2, 0]
    )
    np.testing.assert_array_equal(bisquare_weights(np.array([0.0, 0.0, 3.0]), np.ones(3)), [1, 1, 0])


@pytest.mark.parametrize("p", [1, 2])
def test_pieces_do_not_change_a_bit(p, monkeypatch):
    data, rule = points(n=200, p=p), LocalRule("tricube", 1, 0.0, 60.0)
    whole = local_smooth(data, data.X, rule)
    monkeypatch.setattr(local_regression, "HELD_QUERIES", 7)
    pieces = local_smooth(data, data.X, rule)
    np.testing.assert_array_equal(whole.value, pieces.value)
    np.testing.assert_array_equal(whole.lever, pieces.lever)


def by_points(monkeypatch, *arguments):
    """The fits point by point."""
    with monkeypatch.context() as patch:
        patch.setattr(local_regression, "LONG_WINDOW", 10**9)
        return local_smooth(*arguments)


@pytest.mark.parametrize("degree", [0, 1, 2])
@pytest.mark.parametrize("width", [(0.0, 1500.0), (0.7, 0.0), (1e9, 0.0)])
@pytest.mark.parametrize("kind", ["normal", "ties", "gap", "offset", "constant"])
def test_moments_and_points_give_the_same_fits(kind, width, degree, monkeypatch):
    rng = np.random.default_rng(0)
    x = np.sort(rng.normal(size=4000))
    x = {"ties": x.round(1), "gap": x + 50 * (x > 0), "offset": 1e6 + x, "constant": 0 * x}.get(kind, x)
    factors = np.where(rng.uniform(size=4000) < 0.1, 0.0, rng.uniform(size=4000))
    data = LocalPoints(x[:, None], np.sin(x) + 0.1 * rng.normal(size=4000), rng.integers(1, 4, 4000) * 0.7, factors)
    ends = [x[0] - 1, x[-1] + 1, x.mean()]
    Q = np.concatenate([rng.permutation(x)[:500], ends, rng.uniform(x[0], x[-1], 50)])[:, None]
    rule = LocalRule("tricube", degree, *width)
    got, expected = local_smooth(data, Q, rule), by_points(monkeypatch, data, Q, rule)
    np.testing.assert_allclose(got.value, expected.value, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(got.lever, expected.lever, rtol=1e-7)


@pytest.mark.parametrize("share", [0.1, 2 / 3])
def test_long_windows_take_few_points_each(share, monkeypatch):
    """Of every window some leaves at the ends, and what its group does not share, whatever the number of points."""
    summed, left = [], []
    loops, by_line = local_moments_loops, local_regression.lines
    monkeypatch.setattr(local_regression, "lines", lambda *a: left.append(len(a[4])) or by_line(*a))
    for n in (5_000, 20_000):
        x = np.sort(np.random.default_rng(0).normal(size=n))
        data = LocalPoints(x[:, None], np.sin(x), np.ones(n), np.ones(n))
        local_smooth(data, data.X, LocalRule("tricube", 1, 0.0, share * n))
        h = np.abs(x[:, None] - x[:: n // 50]).T
        h = np.partition(h, int(share * n) - 1, axis=1)[:, int(share * n) - 1]
        ranges, rows, i, q = np.empty((loops.QUERY_GROUP, 3), np.int64), 0, 0, x[:: n // 50]
        while i < len(q):
            count = loops.grouped(loops.Tricube(), x, q, h, i, len(q), ranges)
            assert count, "a window is too short for moments"
            low, high = loops.common(ranges, count, 0), loops.common(ranges, count, 1)
            rows += int((ranges[:count, 2] - ranges[:count, 0]).sum()) - count * (low[1] - low[0] + high[1] - high[0])
            i += count
        summed.append(rows / len(q))
    assert not left, "no fit falls back on sums over all of its points"
    assert max(summed) < 3 * loops.FRINGE + 4 * loops.MOMENT_LEAF


@pytest.mark.parametrize("kernel", ["tricube", "gaussian"])
@pytest.mark.parametrize("n", [60, 2000])
@pytest.mark.parametrize("p", [1, 2])
def test_a_bandwidth_beyond_all_points_gives_the_line_through_all(p, n, kernel):
    data, Q = points(n=n, p=p), points(n=9, p=p, seed=1).X
    Z, new = (np.column_stack([np.ones(len(X)), X]) for X in (data.X, Q))
    line = new @ np.linalg.lstsq(Z, data.y, rcond=None)[0]
    for width in (1e12, 1e160, 1e300):
        np.testing.assert_allclose(
            local_smooth(data, Q, LocalRule(kernel, 1, width, 0.0)).value, line, rtol=1e-7, atol=1e-9
        )
