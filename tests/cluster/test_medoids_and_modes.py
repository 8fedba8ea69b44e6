"""k-medoids against all choices of medoids, k-modes against NumPy, and their sentences."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances

from didact.cluster import KMedoids, KModes
from didact.core.errors import InputError


def loss(D, w, medoids):
    return w @ D[list(medoids)].min(axis=0)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
@pytest.mark.parametrize("init", ["k-medoids++", "build"])
def test_no_swap_lowers_the_loss(metric, init):
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(40, 3)), rng.uniform(0.1, 2, 40)
    D = pairwise_distances(X, metric=metric)
    model = KMedoids(4, metric=metric, init=init, random_state=0).fit(X, sample_weight=w)
    assert model.inertia_ == pytest.approx(loss(D, w, model.medoid_indices_))
    for place, row in itertools.product(range(4), range(40)):
        swapped = model.medoid_indices_.copy()
        swapped[place] = row
        assert loss(D, w, swapped) >= model.inertia_ - 1e-9
    np.testing.assert_array_equal(model.labels_, D[model.medoid_indices_].argmin(axis=0))
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("init", ["k-medoids++", "build"])
def test_a_loss_below_the_rounding_of_all_distances_comes_to_its_minimum(seed, init):
    rng, gap = np.random.default_rng(seed), 2.0**40
    X = np.repeat([[0.0], [gap], [-gap]], 40, axis=0) + 1e-4 * rng.normal(size=(120, 2))
    model = KMedoids(3, init=init, random_state=0).fit(X)
    D = pairwise_distances(X.astype(np.longdouble), metric=lambda a, b: np.sqrt(((a - b) ** 2).sum()))
    assert model.n_iter_ < 10
    for place, row in itertools.product(range(3), range(120)):
        swapped = model.medoid_indices_.copy()
        swapped[place] = row
        assert loss(D, np.ones(120), swapped) >= model.inertia_ * (1 - 1e-9)


def test_the_best_of_all_choices_is_found():
    X = make_blobs(25, 2, centers=3, random_state=0)[0]
    D, w = pairwise_distances(X), np.ones(25)
    best = min(loss(D, w, chosen) for chosen in itertools.combinations(range(25), 3))
    assert KMedoids(3, n_init=5, random_state=0).fit(X).inertia_ == pytest.approx(best)
    one = KMedoids(1).fit(X)
    assert one.inertia_ == pytest.approx(D.sum(axis=0).min())


def test_a_matrix_of_distances_or_a_function():
    X = make_blobs(60, 2, centers=3, random_state=1)[0]
    D = pairwise_distances(X, metric="chebyshev")
    named = KMedoids(3, metric="chebyshev", init="build").fit(X)
    own = KMedoids(3, metric="precomputed", init="build").fit(D)
    called = KMedoids(3, metric=lambda a, b: np.abs(a - b).max(), init="build").fit(X)
    assert named.inertia_ == pytest.approx(own.inertia_) == pytest.approx(called.inertia_)
    np.testing.assert_array_equal(own.predict(D), own.labels_)
    np.testing.assert_allclose(own.transform(D), D[:, own.medoid_indices_])


def test_weights_are_repetitions():
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(40, 2)), rng.integers(0, 4, 40)
    one = KMedoids(3, init="build").fit(X, sample_weight=w)
    other = KMedoids(3, init="build").fit(np.repeat(X, w, axis=0))
    assert one.inertia_ == pytest.approx(other.inertia_)
    np.testing.assert_allclose(np.sort(one.cluster_centers_, axis=0), np.sort(other.cluster_centers_, axis=0))


def test_sentences():
    D = pairwise_distances(np.arange(5.0)[:, None])
    D[1, 3] += 1
    with pytest.raises(InputError, match=r"not symmetric: entry \(1, 3\) is 3 and entry \(3, 1\) is 2"):
        KMedoids(2, metric="precomputed").fit(D)
    with pytest.raises(InputError, match=r"should be square, got matrix of shape \(4, 5\)"):
        KMedoids(2, metric="precomputed").fit(D[:4])
    with pytest.raises(InputError, match="negative"):
        KMedoids(2, metric="precomputed").fit(-np.abs(D))
    with pytest.raises(InputError, match="n_samples=5 should be >= n_clusters=6"):
        KMedoids(6).fit(np.arange(5.0)[:, None])
    with pytest.raises(InputError, match="overflow"):
        KMedoids(2).fit(np.arange(5.0)[:, None] * 1e160)
    with pytest.raises(InputError, match="distance is not finite"):
        KMedoids(2, metric=lambda a, b: np.nan).fit(np.arange(5.0)[:, None])
    with pytest.raises(ValueError, match="numbers of 2 different rows"):
        KMedoids(2, init=[1, 1]).fit(np.arange(5.0)[:, None])


def test_modes_are_a_fixed_point_and_the_cost_never_rises():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 300)
    X = np.where(rng.uniform(size=(300, 6)) < 0.8, truth[:, None] * 10 + np.arange(6), rng.integers(0, 40, (300, 6)))
    w = rng.uniform(0.5, 2, 300)
    model = KModes(3, random_state=0).fit(X, sample_weight=w)
    D = (X[:, None] != model.cluster_centers_).sum(axis=2)
    np.testing.assert_array_equal(model.labels_, D.argmin(axis=1))
    assert model.inertia_ == pytest.approx(w @ D.min(axis=1))
    np.testing.assert_array_equal(model.transform(X), D)
    for k, j in itertools.product(range(3), range(6)):
        values = X[model.labels_ == k, j]
        counts = {v: w[model.labels_ == k][values == v].sum() for v in np.unique(values)}
        assert counts[model.cluster_centers_[k, j]] == max(counts.values())
    pairs = np.unique(np.column_stack([model.labels_, truth]), axis=0, return_counts=True)[1]
    assert np.sort(pairs)[-3:].sum() > 0.9 * 300


def test_modes_of_text():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"colour": ["red", "red", "blue", "blue"], "size": ["s", "m", "l", "l"]}).astype("category")
    model = KModes(2, random_state=0).fit(frame)
    assert model.labels_[0] == model.labels_[1] != model.labels_[2] == model.labels_[3]
    assert model.inertia_ == 1.0
    words = frame.astype(str)
    for X in (words, words.to_numpy(), words.to_numpy().tolist()):  # text needs no type of its own
        again = KModes(2, random_state=0).fit(X)
        np.testing.assert_array_equal(again.predict(X), model.labels_)
        assert [list(values) for values in again.categories_.values] == [["blue", "red"], ["l", "m", "s"]]


def test_a_category_that_no_row_had_differs_from_all_modes():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"colour": ["red", "red", "blue", "blue"], "size": ["s", "s", "l", "l"]})
    new = pd.DataFrame({"colour": ["green", "green", "red"], "size": ["s", "huge", "l"]})
    for kind in (str, "category"):
        model = KModes(2, random_state=0).fit(frame.astype(kind))
        apart = model.transform(new.astype(kind))
        assert model.predict(new.astype(kind))[0] == model.labels_[0]
        assert np.sort(apart, axis=1).tolist() == [[1.0, 2.0], [2.0, 2.0], [1.0, 1.0]]
        with pytest.raises(InputError, match="missing or infinite value"):
            model.predict(new.assign(colour=None))


def test_more_clusters_than_distinct_rows():
    X = np.repeat([[0, 1], [1, 0], [2, 2]], 5, axis=0)
    with pytest.warns(ConvergenceWarning, match=r"only 3 distinct row\(s\), fewer than n_clusters=5"):
        model = KModes(5, random_state=0).fit(X)
    assert model.inertia_ == 0.0
    KModes(3, random_state=0).fit(X)  # and nothing where there are enough
