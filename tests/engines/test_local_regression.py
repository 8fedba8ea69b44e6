"""Neighbourhoods, robust weights and leave-one-out of local regression."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact.engines import local_regression
from didact.engines.local_regression import Points, Rule, bisquare_weights, left_out, median, smooth


def points(n=300, p=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X = np.sort(X, axis=0) if p == 1 else X
    return Points(X, np.sin(X).sum(axis=1) + 0.1 * rng.normal(size=n), np.ones(n), np.ones(n))


@pytest.mark.parametrize("degree", [0, 1, 2])
def test_a_tree_and_a_table_of_distances_agree(degree, monkeypatch):
    data, Q = points(), points(seed=1).X
    by_tree = smooth(data, Q, Rule("tricube", degree, 0.0, 30.0))
    assert local_regression._tree(data, Rule("tricube", degree, 0.0, 30.0)) is not None
    monkeypatch.setattr(local_regression, "TREE_FEATURES", 0)
    by_table = smooth(data, Q, Rule("tricube", degree, 0.0, 30.0))
    np.testing.assert_allclose(by_tree.value, by_table.value, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(by_tree.lever, by_table.lever, rtol=1e-8)


@pytest.mark.parametrize("kernel", ["tricube", "gaussian"])
@pytest.mark.parametrize("width", [(0.0, 60.0), (2.0, 0.0)])
@pytest.mark.parametrize("degree", [0, 1, 2])
def test_one_feature_twice_is_one_feature(degree, width, kernel):
    """Ranges of sorted points and tables of distances: the same fit, if the second feature says nothing."""
    data, Q = points(p=1), np.linspace(-3, 3, 40)[:, None]
    rule = Rule(kernel, degree, *width)
    alone = smooth(data, Q, rule)
    beside = smooth(data._replace(X=data.X @ [[1.0, 0.0]]), Q @ [[1.0, 0.0]], rule)
    np.testing.assert_allclose(alone.value, beside.value, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(alone.lever, beside.lever, rtol=1e-6)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("width", [(0.0, 40.0), (1.5, 0.0)])
def test_the_lever_is_the_slope_by_the_own_target(p, width):
    data, rule = points(n=80, p=p), Rule("tricube", 1, *width)
    before = smooth(data, data.X, rule)
    for i in (0, 17, 79):
        moved = smooth(data._replace(y=data.y + (np.arange(80) == i)), data.X, rule)
        np.testing.assert_allclose(moved.value[i] - before.value[i], before.lever[i], rtol=1e-7)


@pytest.mark.parametrize("kernel", ["tricube", "gaussian"])
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("degree", [0, 1, 2])
def test_leave_one_out_equals_refits(p, degree, kernel):
    data = points(n=60, p=p)
    data = data._replace(w=np.random.default_rng(0).integers(1, 4, 60).astype(float))
    rule = Rule(kernel, degree, 1.9, 0.0)
    closed = left_out(data, smooth(data, data.X, rule))
    for i in range(0, 60, 7):
        less = data._replace(w=data.w - (np.arange(60) == i))
        keep = less.w > 0
        less = Points(*(column[keep] for column in less))
        expected = smooth(less, data.X[i : i + 1], rule)
        if expected.lever[0] < 5:  # else the window had to be widened, or the fit is hardly determined
            np.testing.assert_allclose(closed[i], expected.value[0], rtol=1e-6, atol=1e-7)


def test_a_row_that_determines_its_own_fit_is_predicted_by_the_mean():
    data = Points(np.array([[0.0], [0.1], [0.2], [50.0]]), np.array([1.0, 2.0, 3.0, 10.0]), np.ones(4), np.ones(4))
    loo = left_out(data, smooth(data, data.X, Rule("tricube", 0, 1.0, 0.0)))
    np.testing.assert_allclose(loo[3], 4.0)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4)), min_size=1, max_size=12))
def test_the_weighted_median_is_that_of_repeated_values(pairs):
    values, w = np.asarray(pairs).T
    assert median(values.astype(float), w.astype(float)) == np.median(np.repeat(values, w))


def test_bisquare_weights():
    r = np.array([-1.0, 0.0, 1.0, 2.0, -7.0])
    np.testing.assert_allclose(
        bisquare_weights(r, np.ones(5)), [(1 - 1 / 36) ** 2, 1, (1 - 1 / 36) ** 2, (8 / 9) ** 2, 0]
    )
    np.testing.assert_array_equal(bisquare_weights(np.array([0.0, 0.0, 3.0]), np.ones(3)), [1, 1, 0])


@pytest.mark.parametrize("p", [1, 2])
def test_pieces_do_not_change_a_bit(p, monkeypatch):
    data, rule = points(n=200, p=p), Rule("tricube", 1, 0.0, 60.0)
    whole = smooth(data, data.X, rule)
    monkeypatch.setattr(local_regression, "MOST", 7)
    pieces = smooth(data, data.X, rule)
    np.testing.assert_array_equal(whole.value, pieces.value)
    np.testing.assert_array_equal(whole.lever, pieces.lever)
