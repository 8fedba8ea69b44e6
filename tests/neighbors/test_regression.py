"""Means of neighbours: against scikit-learn, by hand, and where there is nobody to average."""

import numpy as np
import pytest
import sklearn.neighbors as sk
from sklearn.exceptions import NotFittedError

from didact import Batches
from didact.core.errors import InputError
from didact.neighbors import KNeighborsRegressor, RadiusNeighborsRegressor, neighborhoods


def problem(seed=0, n=300, p=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2]) + 0.1 * rng.normal(size=(n, 2)), rng.normal(size=(80, p))


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: np.exp(-d)])
def test_k_neighbours_equal_scikit_learn(weights, outputs):
    X, Y, new = problem()
    y = Y[:, 0] if outputs == 1 else Y
    ours = KNeighborsRegressor(7, weights=weights).fit(X, y).predict(new)
    np.testing.assert_allclose(ours, sk.KNeighborsRegressor(7, weights=weights).fit(X, y).predict(new), rtol=1e-9)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_radius_equals_scikit_learn(weights):
    X, Y, _ = problem()
    ours = RadiusNeighborsRegressor(2.5, weights=weights).fit(X, Y).predict(X)
    np.testing.assert_allclose(ours, sk.RadiusNeighborsRegressor(2.5, weights=weights).fit(X, Y).predict(X), rtol=1e-9)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_without_rows_the_fitted_ones_are_asked_each_by_the_others(weights):
    X, Y, _ = problem()
    for ours, theirs in (
        (KNeighborsRegressor(5, weights=weights), sk.KNeighborsRegressor(5, weights=weights)),
        (RadiusNeighborsRegressor(2.5, weights=weights), sk.RadiusNeighborsRegressor(2.5, weights=weights)),
    ):
        np.testing.assert_allclose(ours.fit(X, Y).predict(None), theirs.fit(X, Y).predict(None), rtol=1e-9)
        small = X.astype(np.float32)
        assert ours.fit(small, Y).predict(None).dtype == np.float32
        assert ours.score(None, Y) == pytest.approx(theirs.score(None, Y), abs=1e-5)
    with pytest.raises(NotFittedError):
        KNeighborsRegressor().predict(None)


def test_gaussian_weights_within_a_wide_radius_are_the_nadaraya_watson_mean():
    X, Y, new = problem()
    model = RadiusNeighborsRegressor(100.0, weights="gaussian", bandwidth=0.7).fit(X, Y)
    K = np.exp(-0.5 * ((new[:, None] - X) ** 2).sum(axis=2) / 0.7**2)
    np.testing.assert_allclose(model.predict(new), K @ Y / K.sum(axis=1, keepdims=True), rtol=1e-9)


def test_one_neighbour_repeats_the_rows_and_all_neighbours_give_the_mean():
    X, Y, new = problem()
    np.testing.assert_array_equal(KNeighborsRegressor(1).fit(X, Y).predict(X), Y)
    expected = np.tile(Y.mean(axis=0), (len(new), 1))
    np.testing.assert_allclose(KNeighborsRegressor(len(X)).fit(X, Y).predict(new), expected)


def test_a_user_s_metric_and_mixed_columns():
    X, Y, new = problem(n=60)
    far = KNeighborsRegressor(3, metric=lambda a, b: np.abs(a - b).max()).fit(X, Y)
    np.testing.assert_allclose(far.predict(new), KNeighborsRegressor(3, metric="chebyshev").fit(X, Y).predict(new))


def test_nobody_within_the_radius():
    X, Y, _ = problem()
    far = X[:2] + [[0.0], [99.0]]
    for value, expected in [("mean", Y.mean(axis=0)), (-1.0, [-1.0, -1.0])]:
        np.testing.assert_allclose(
            RadiusNeighborsRegressor(1.0, outlier_value=value).fit(X, Y).predict(far)[1], expected
        )
    with pytest.warns(UserWarning, match="1 of 2 rows"):
        assert np.isnan(RadiusNeighborsRegressor(1.0).fit(X, Y).predict(far)[1]).all()


def test_weighted_mean_for_outliers():
    model = RadiusNeighborsRegressor(0.1, outlier_value="mean").fit(
        [[0.0], [1.0]], [0.0, 4.0], sample_weight=[3.0, 1.0]
    )
    assert model.predict([[9.0]]).tolist() == [1.0]


def test_queries_in_blocks_of_any_size(monkeypatch):
    monkeypatch.setattr("didact.neighbors.neighborhoods.PAIRS", 100)
    said, sizes = neighborhoods.value_means, set()
    monkeypatch.setattr(
        neighborhoods, "value_means", lambda found, *more: sizes.add(found.n_queries) or said(found, *more)
    )
    X, Y, _ = problem()
    for model in (KNeighborsRegressor(5), RadiusNeighborsRegressor(1.0, weights="distance")):
        fitted = model.fit(X, Y)
        sizes.clear()
        batches = fitted.predict(Batches(lambda: (X[k : k + 70] for k in range(0, 300, 70))))
        np.testing.assert_array_equal(np.concatenate(list(batches)), fitted.predict(X))
        assert max(sizes) == 64
    theirs = sk.RadiusNeighborsRegressor(1.0, weights="distance").fit(X, Y).predict(X)
    np.testing.assert_allclose(fitted.predict(X), theirs)


def test_words_have_values():
    model = KNeighborsRegressor(2, metric="edit").fit(["one", "ones", "hundred", "hundreds"], [1.0, 1.0, 100.0, 100.0])
    assert model.predict(["on", "hundredth"]).tolist() == [1.0, 100.0]
    with pytest.raises(InputError, match="NaN"):
        KNeighborsRegressor(1, metric="edit").fit(["a", "b"], [1.0, np.nan])
    with pytest.raises(NotFittedError):
        KNeighborsRegressor(1, metric="edit").predict(["a"])


def test_more_neighbours_than_rows():
    with pytest.raises(InputError, match="n_neighbors <= n_samples_fit"):
        KNeighborsRegressor(4).fit([[0.0], [1.0]], [0.0, 1.0]).predict([[0.5]])


@pytest.mark.parametrize("model", [KNeighborsRegressor(2), RadiusNeighborsRegressor(1.5)])
def test_means_square_nothing(model):
    X, y = np.arange(6.0)[:, None], np.array([1.0, 2.0, 3.0, 5.0, 8.0, 13.0])
    np.testing.assert_allclose(model.fit(X, y * 1e250).predict(X), model.fit(X, y).predict(X) * 1e250, rtol=1e-12)
