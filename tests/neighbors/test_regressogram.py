"""The regressogram against piecewise means; leave-one-out, batches, several columns and outputs, refusals."""

import numpy as np
import pytest
from scipy.stats import binned_statistic, binned_statistic_dd

from didact import Batches
from didact.core.rows import Block
from didact.neighbors import Regressogram
from didact.neighbors.regressogram import Bins, fill, find, grouped

rng = np.random.default_rng(0)
X = rng.uniform(-2, 3, size=(400, 2))
y = np.sin(2 * X[:, 0]) + (X[:, 1] > 0.5) + 0.1 * rng.normal(size=400)


def slow(X, y, w, new, origin, width):
    out = []
    for row in new:
        same = (np.floor((X - origin) / width) == np.floor((row - origin) / width)).all(axis=1)
        out.append(np.average(y[same], weights=w[same]) if w[same].sum() > 0 else np.average(y, weights=w))
    return np.array(out)


@pytest.mark.parametrize("origin", [0.0, -2.1, [0.3, 5.0]])
@pytest.mark.parametrize("width", [0.25, 1.0, [0.5, 2.0]])
def test_piecewise_means(origin, width):
    new = np.random.default_rng(1).uniform(-4, 5, size=(300, 2))
    w = np.random.default_rng(2).integers(0, 3, 400).astype(float)
    model = Regressogram(bandwidth=width, origin=origin).fit(X, y, sample_weight=w)
    expected = slow(X, y, w, new, np.asarray(origin), np.asarray(width))
    np.testing.assert_allclose(model.predict(new), expected, rtol=1e-10)
    assert model.weights_.sum() == pytest.approx(w.sum())


def test_bins_are_those_of_scipy():
    x = X[:, :1]
    mean, edges, _ = binned_statistic(x[:, 0], y, bins=7)
    model = Regressogram(bins=7).fit(x, y)
    np.testing.assert_allclose(model.predict((edges[:-1] + edges[1:])[:, None] / 2), mean, rtol=1e-10)
    np.testing.assert_allclose(model.origin_ + 7 * model.bandwidth_, x.max(), rtol=1e-9)
    assert model.predict([[x.max()]]) == pytest.approx(mean[-1])  # the largest value lies in the last bin
    table = binned_statistic_dd(X, y, bins=[3, 4]).statistic
    both = Regressogram(bins=[3, 4]).fit(X, y)
    assert both.values_.shape == (12,)
    np.testing.assert_allclose(both.values_.reshape(3, 4), table, rtol=1e-10)


def test_one_bin_is_the_mean_and_empty_bins_too():
    assert Regressogram(bins=1).fit(X, y).predict([[0.0, 0.0]]) == pytest.approx(y.mean())
    model = Regressogram(bandwidth=0.5, origin=0.0).fit(X, y)
    np.testing.assert_allclose(model.predict([[50.0, 50.0], [0.1, -70.0]]), y.mean(), rtol=1e-12)


def test_bins_are_closed_on_the_left():
    model = Regressogram(bandwidth=1.0, origin=0.0).fit([[0.0], [1.0], [-1.0]], [1.0, 2.0, 3.0])
    assert model.predict([[0.999], [1.0], [-0.001], [-1.0]]).tolist() == [1.0, 2.0, 3.0, 3.0]


def test_leave_one_out_by_leaving_out():
    few, targets = X[:60], y[:60]
    model = Regressogram(origin=-2.5, grid=[1, 2, 4, 8, 30]).fit(few, targets)
    for width, error in zip(model.grid_, model.cv_errors_, strict=True):
        errors = []
        for i in range(60):
            rest = np.delete(np.arange(60), i)
            one = Regressogram(bandwidth=width, origin=-2.5).fit(few[rest], targets[rest])
            errors.append(targets[i] - one.predict(few[i : i + 1])[0])
        assert error == pytest.approx(np.mean(np.square(errors)), rel=1e-9)
    best = int(np.argmin(model.cv_errors_))
    np.testing.assert_array_equal(model.bandwidth_, model.grid_[best])


def test_weights_in_the_choice_are_repeated_rows():
    w = np.random.default_rng(3).integers(0, 4, 400)
    one = Regressogram(grid=[1, 3, 9]).fit(X, y, sample_weight=w)
    two = Regressogram(grid=[1, 3, 9]).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(one.cv_errors_, two.cv_errors_, rtol=1e-10)


def test_the_chosen_width_is_good():
    x = X[:, :1]
    truth = np.sin(2 * x[:, 0])
    model = Regressogram().fit(x, truth + 0.3 * rng.normal(size=400))
    assert np.sqrt(np.mean((model.predict(x) - truth) ** 2)) < 0.2
    assert 4 < len(model.values_) < 21


def test_several_outputs_and_batches():
    Y = np.column_stack([y, -2 * y + 1])
    model = Regressogram(bins=5).fit(X, Y)
    np.testing.assert_allclose(model.predict(X)[:, 1], 1 - 2 * model.predict(X)[:, 0], rtol=1e-9)
    assert model.mean_.shape == (2,)
    pieces = [slice(0, 13), slice(13, 250), slice(250, 400)]
    other = Regressogram(bins=5).fit(Batches(lambda: ((X[s], Y[s]) for s in pieces)))
    np.testing.assert_allclose(other.values_, model.values_, rtol=1e-12)
    chosen = Regressogram().fit(Batches(lambda: ((X[s], Y[s]) for s in pieces)))
    np.testing.assert_allclose(chosen.cv_errors_, Regressogram().fit(X, Y).cv_errors_, rtol=1e-10)


def test_bins_merge_in_any_grouping():
    parts = [fill(Block(X[s], y[s]), np.zeros(2), [np.array([0.7, 0.4])]).grids[0] for s in np.split(np.arange(400), 4)]
    a, b, c, d = parts
    left, right = a.merge(b).merge(c).merge(d), a.merge(b.merge(c.merge(d)))
    whole = fill(Block(X, y), np.zeros(2), [np.array([0.7, 0.4])]).grids[0]
    for one in (left, right):
        for got, expected in zip(one, whole, strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)
    assert isinstance(left, Bins)


def test_means_far_from_zero_keep_their_digits():
    number, far = np.zeros((1000, 1)), 1e12 + rng.normal(size=(1000, 1))
    bins = grouped(number, np.ones(1000), far, np.zeros_like(far))
    np.testing.assert_allclose(bins.scatter[0, 0], ((far - far.mean()) ** 2).sum(), rtol=1e-6)


@pytest.mark.parametrize("p", [1, 2, 5])
def test_find(p):
    bins = np.unique(np.random.default_rng(p).integers(-3, 3, size=(60, p)), axis=0).astype(float)
    asked = np.random.default_rng(9).integers(-4, 5, size=(200, p)).astype(float)
    got = find(bins, asked)
    for row, place in zip(asked, got, strict=True):
        where = np.flatnonzero((bins == row).all(axis=1))
        assert place == (where[0] if len(where) else -1)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"bandwidth": 0.0}, "bandwidth"),
        ({"bandwidth": [1.0, 0.0]}, "bandwidth must be finite and above 0"),
        ({"bandwidth": [1.0, 1.0, 1.0]}, "bandwidth is one number or 2"),
        ({"origin": [1.0, 1.0, 1.0]}, "origin is one number or 2"),
        ({"origin": [1.0, np.nan]}, "origin must be finite"),
        ({"bins": 0}, "bins"),
        ({"bins": [2, 0]}, "bins must be finite and above 0"),
        ({"grid": [0]}, "grid must hold numbers of bins"),
        ({"grid": []}, "grid must hold numbers of bins"),
    ],
)
def test_what_is_refused(how, message):
    with pytest.raises(ValueError, match=message):
        Regressogram(**how).fit(X, y)
