"""k-means and its kin: fixed points, weights, collections, agreement with scikit-learn, and sentences."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.cluster
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import ConvergenceWarning

from didact import Batches
from didact.cluster import (
    KMeans,
    KMedoids,
    MiniBatchKMeans,
    OnlineKMeans,
    SeededKMeans,
    VectorQuantizer,
    k_means,
    kmeans_plusplus,
)
from didact.core.errors import InputError


def blobs(n=600, K=5, seed=0, p=3):
    return make_blobs(n, p, centers=K, random_state=seed, cluster_std=1.5)[0]


@pytest.mark.parametrize("init", ["k-means++", "random", "random-partition"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_fit_is_a_fixed_point(init, weighted):
    X = blobs()
    w = np.random.default_rng(0).uniform(0, 2, len(X)) if weighted else np.ones(len(X))
    model = KMeans(5, init=init, tol=0, random_state=0).fit(X, sample_weight=w)
    D = ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    np.testing.assert_array_equal(model.labels_, D.argmin(axis=1))
    means = [np.average(X[model.labels_ == k], axis=0, weights=w[model.labels_ == k]) for k in range(5)]
    np.testing.assert_allclose(model.cluster_centers_, means, rtol=1e-10)
    assert model.inertia_ == pytest.approx(w @ D.min(axis=1))
    assert model.score(X, sample_weight=w) == pytest.approx(-model.inertia_)
    np.testing.assert_allclose(model.transform(X), np.sqrt(D), atol=1e-7)


@pytest.mark.parametrize("algorithm", ["lloyd", "elkan"])
def test_from_the_same_start_as_scikit_learn(algorithm):
    X = load_digits().data
    options = {"init": X[:10].copy(), "n_init": 1, "tol": 0.0, "max_iter": 1000, "algorithm": algorithm}
    ours, theirs = KMeans(10, **options).fit(X), sklearn.cluster.KMeans(10, **options).fit(X)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, atol=1e-10)
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-12)
    np.testing.assert_array_equal(ours.predict(X[:50]), theirs.predict(X[:50]))


@pytest.mark.parametrize("init", ["k-means++", "random", "random-partition"])
def test_weights_are_repetitions_also_in_the_start(init):
    X, rng = blobs(200), np.random.default_rng(0)
    w = rng.integers(0, 4, 200)
    repeated = np.repeat(X, w, axis=0)[rng.permutation(w.sum())]
    one = KMeans(6, init=init, n_init=2, random_state=3).fit(X, sample_weight=w)
    other = KMeans(6, init=init, n_init=2, random_state=3).fit(repeated)
    np.testing.assert_allclose(one.cluster_centers_, other.cluster_centers_, rtol=1e-9)
    assert one.inertia_ == pytest.approx(other.inertia_, rel=1e-9)


def test_blocks_give_what_memory_gives():
    X = blobs(500)
    edges = [0, 1, 140, 141, 400, 500]
    source = Batches(lambda: (X[a:b] for a, b in itertools.pairwise(edges)))
    memory, blocks = KMeans(5, random_state=0, tol=0).fit(X), KMeans(5, random_state=0, tol=0).fit(source)
    np.testing.assert_allclose(memory.cluster_centers_, blocks.cluster_centers_, rtol=1e-10)
    np.testing.assert_array_equal(memory.labels_, blocks.labels_)
    sparse = KMeans(5, random_state=0, tol=0).fit(sp.csr_array(X))
    np.testing.assert_allclose(memory.cluster_centers_, sparse.cluster_centers_, rtol=1e-9)


def test_more_starts_are_never_worse():
    X = blobs(400, 12, p=2)
    few, many = (KMeans(12, n_init=n, random_state=1).fit(X).inertia_ for n in (1, 8))
    assert many <= few


def test_sentences():
    X = np.repeat([[0.0, 1.0], [5.0, 1.0]], 10, axis=0)  # the second column is constant
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(2\) found smaller than n_clusters \(3\)"):
        model = KMeans(3, random_state=0).fit(X)
    assert model.inertia_ == 0.0
    with pytest.raises(InputError, match="n_samples=20 should be >= n_clusters=21: too few"):
        KMeans(21).fit(X)
    with pytest.raises(ValueError, match="does not match the number of clusters 3"):
        KMeans(3, init=X[:2]).fit(X)
    with pytest.raises(ValueError, match="does not match the number of features"):
        KMeans(2, init=X[:2, :1]).fit(X)
    with pytest.raises(ValueError, match="squares or sums overflow"):
        KMeans(2, random_state=0).fit(X * 1e160 + np.arange(20)[:, None] * 1e159)
    with pytest.raises(ValueError, match="squares or sums overflow"):
        OnlineKMeans(2, random_state=0).fit(X * 1e160 + np.arange(20)[:, None] * 1e159)
    with pytest.warns(RuntimeWarning, match="performing only one init instead of n_init=4"):
        KMeans(2, init=X[[0, -1]], n_init=4).fit(X)
    assert KMeans(1).fit(X[:1]).inertia_ == 0.0


def test_the_functions():
    X = blobs(100)
    centers, _, cost, steps = k_means(X, 4, random_state=0, return_n_iter=True)
    model = KMeans(4, random_state=0).fit(X)
    np.testing.assert_array_equal(centers, model.cluster_centers_)
    assert (cost, steps) == (model.inertia_, model.n_iter_)
    rows, places = kmeans_plusplus(X, 4, random_state=0)
    np.testing.assert_array_equal(rows, X[places])
    with pytest.raises(InputError, match="n_clusters=101"):
        kmeans_plusplus(X, 101)


def test_mini_batches_come_near_and_learn_bit_by_bit():
    X = blobs(5000, 6)
    best = KMeans(6, n_init=5, random_state=0).fit(X).inertia_
    model = MiniBatchKMeans(6, batch_size=200, n_init=5, random_state=0).fit(X)
    assert best <= model.inertia_ * (1 + 1e-12) < 1.3 * best
    assert model.cluster_weights_.sum() > 0
    stream = MiniBatchKMeans(6, random_state=0)
    for a in range(0, 5000, 500):
        stream.partial_fit(X[a : a + 500])
    assert stream.n_steps_ == 10
    assert -stream.score(X) < 1.5 * best


def test_one_batch_is_a_step_of_lloyd():
    X = blobs(300)
    start = X[:5].copy()
    model = MiniBatchKMeans(5, init=start).partial_fit(X)
    nearest = ((X[:, None] - start) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_allclose(model.cluster_centers_, [X[nearest == k].mean(axis=0) for k in range(5)])


def test_online_units_are_running_means():
    """In order and in one pass, a unit is the mean of the rows that it has won."""
    rng = np.random.default_rng(0)
    X, C = rng.normal(size=(50, 2)), rng.normal(size=(3, 2))
    W, counts = C.copy(), np.zeros(3)
    for x in X:
        k = ((x - W) ** 2).sum(axis=1).argmin()
        counts[k] += 1
        W[k] += (x - W[k]) / counts[k]
    model = OnlineKMeans(3, init=C, shuffle=False, n_epochs=1).fit(X)
    np.testing.assert_allclose(model.cluster_centers_, W)
    np.testing.assert_array_equal(model.cluster_weights_, counts)
    for sizes in (20, 1):  # given centres need no rows: one at a time will do
        again = OnlineKMeans(3, init=C, shuffle=False)
        for a in range(0, len(X), sizes):
            again.partial_fit(X[a : a + sizes])
        np.testing.assert_allclose(again.cluster_centers_, W)
    with pytest.raises(InputError, match="n_samples=1 should be >= n_clusters=3"):
        OnlineKMeans(3).partial_fit(X[:1])


def test_online_units_of_length_one_fire_by_their_product():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) + np.repeat([[4.0, 0, 0], [0, 0, -4.0]], 100, axis=0)
    model = OnlineKMeans(2, normalize=True, learning_rate="constant", eta0=0.05, random_state=0).fit(X)
    np.testing.assert_allclose((model.cluster_centers_**2).sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(X), (X @ model.cluster_centers_.T).argmax(axis=1))
    assert len(np.unique(model.labels_[:100])) == 1
    np.testing.assert_array_equal(model.predict(7 * X), model.labels_)


def test_a_codebook():
    X = blobs(1000, 8)
    quantizer = VectorQuantizer(n_clusters=8, random_state=0).fit(X)
    codes = quantizer.encode(X)
    assert codes.dtype == np.uint8
    restored = quantizer.decode(codes)
    np.testing.assert_array_equal(restored, quantizer.transform(X))
    assert quantizer.distortion(X) == pytest.approx(((X - restored) ** 2).sum(axis=1).mean())
    assert quantizer.distortion_ == pytest.approx(quantizer.distortion(X))
    assert quantizer.bits_ == 3
    assert 0 <= quantizer.entropy_ <= quantizer.bits_
    assert quantizer.decode(codes.reshape(100, 10)).shape == (100, 10, 3)
    with pytest.raises(InputError, match="from 0 to 7"):
        quantizer.decode([8])
    finer = VectorQuantizer(n_clusters=32, random_state=0).fit(X)
    assert finer.distortion_ < quantizer.distortion_


def test_known_labels_stay_and_help():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(m, 0.6, (60, 2)) for m in ([0, 0], [4, 0], [8, 0])])
    truth = np.repeat(["a", "b", "a"], 60)  # class a has two clouds
    y = np.full(180, "?", object)
    known = np.concatenate([np.arange(0, 180, 6)])
    y[known] = truth[known]
    one = SeededKMeans(unlabelled="?").fit(X, y)
    two = SeededKMeans(n_clusters="auto", max_clusters=3, unlabelled="?").fit(X, y)
    np.testing.assert_array_equal(two.labels_[known], truth[known])
    assert two.n_clusters_ >= 2
    assert two.score(X, truth) > 0.95 > one.score(X, truth)
    with pytest.raises(InputError, match="No row has a label"):
        SeededKMeans(unlabelled="?").fit(X, np.full(180, "?", object))


def test_seeds_hold_rows_that_would_go_elsewhere():
    X = np.array([[0.0], [1.0], [9.0], [10.0]])
    model = SeededKMeans(tol=0).fit(X, [0, 0, 0, 1])
    np.testing.assert_allclose(model.cluster_centers_.ravel(), [10 / 3, 10.0])
    assert model.labels_.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize(
    "model",
    [
        KMeans(4, n_init=1),
        MiniBatchKMeans(4, n_init=1, random_state=0),
        OnlineKMeans(4, random_state=0),
        VectorQuantizer(4, random_state=0),
        KMedoids(4),
    ],
    ids=lambda model: type(model).__name__,
)
def test_more_clusters_than_distinct_rows_are_said(model):
    X = np.repeat([[0.1, 0.3], [1.7, 1.9]], 7, axis=0)
    with pytest.warns(UserWarning, match=r"distinct clusters \(2\) found smaller than n_clusters \(4\)"):
        model.fit(X)
    enough = clone(model).set_params(n_clusters=2).fit(X)  # without a word
    assert len(np.unique(enough.predict(X) if hasattr(enough, "predict") else enough.encode(X))) == 2
