"""DBSCAN and connected components: scikit-learn and SciPy as references, identities, worked numbers, bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import cdist
from sklearn import cluster as sklearn_cluster
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.neighbors import NearestNeighbors

from didact.cluster import DBSCAN, ConnectedComponents, dbscan
from didact.core.errors import InputError

RNG = np.random.default_rng(0)
X = np.vstack([RNG.normal(size=(60, 2)) * 0.4 + c for c in ([0, 0], [3, 0], [1, 3])] + [RNG.uniform(-3, 6, (30, 2))])


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "braycurtis", "chebyshev", "correlation"])
@pytest.mark.parametrize("min_samples", [1, 3, 8])
def test_cores_and_labels_are_scikit_learns(metric, min_samples):
    Z = np.abs(np.column_stack([X, X[:, :1] * X[:, 1:], X[:, :1] + X[:, 1:] ** 2]))
    eps = 0.5 if metric in ("euclidean", "manhattan", "chebyshev") else 0.02
    ours = DBSCAN(eps=eps, min_samples=min_samples, metric=metric).fit(Z)
    theirs = sklearn_cluster.DBSCAN(eps=eps, min_samples=min_samples, metric=metric).fit(Z)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_array_equal(ours.core_sample_indices_, theirs.core_sample_indices_)
    np.testing.assert_array_equal(ours.components_, theirs.components_)


def test_all_ways_to_give_distances_agree():
    expected = DBSCAN(eps=0.5, min_samples=4).fit(X)
    D = pairwise_distances(X)
    graph = NearestNeighbors(radius=0.8).fit(X).radius_neighbors_graph(mode="distance")
    function = DBSCAN(eps=0.5, min_samples=4, metric=lambda a, b: float(np.sqrt(((a - b) ** 2).sum()))).fit(X)
    for model in (
        DBSCAN(eps=0.5, min_samples=4, metric="precomputed").fit(D),
        DBSCAN(eps=0.5, min_samples=4, metric="precomputed").fit(graph),
        DBSCAN(eps=0.5, min_samples=4, algorithm="ball_tree").fit(X),
        DBSCAN(eps=0.5, min_samples=4).fit(sp.csr_matrix(X)),
        function,
    ):
        np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_array_equal(dbscan(X, 0.5, min_samples=4)[1], expected.labels_)


def test_weights_count_rows():
    w = RNG.integers(1, 4, len(X))
    weighted = DBSCAN(eps=0.4, min_samples=8).fit(X, sample_weight=w)
    repeated = DBSCAN(eps=0.4, min_samples=8).fit(np.repeat(X, w, axis=0))
    np.testing.assert_array_equal(np.repeat(weighted.labels_, w), repeated.labels_)
    np.testing.assert_array_equal(
        DBSCAN(eps=0.4, min_samples=5).fit([[0.0], [9.0]], sample_weight=[5, 4]).labels_, [0, -1]
    )


def test_new_rows_get_the_cluster_of_a_core_that_is_near():
    model = DBSCAN(eps=0.5, min_samples=4).fit(X)
    inner = model.core_sample_indices_
    np.testing.assert_array_equal(model.predict(X[inner]), model.labels_[inner])
    np.testing.assert_array_equal(model.predict(X) < 0, model.labels_ < 0)
    own = DBSCAN(eps=0.5, min_samples=4, metric="precomputed").fit(pairwise_distances(X))
    np.testing.assert_array_equal(own.predict(pairwise_distances(X + 0.1, X)), model.predict(X + 0.1))


def test_balls_are_dbscan_with_one_row_and_single_linkage_cut_at_eps():
    model = ConnectedComponents(eps=0.5).fit(X)
    np.testing.assert_array_equal(model.labels_, DBSCAN(eps=0.5, min_samples=1).fit(X).labels_)
    tree = fcluster(linkage(X, "single"), 0.5, "distance")
    assert adjusted_rand_score(tree, model.labels_) == 1.0
    assert model.n_components_ == len(np.unique(tree))


@pytest.mark.parametrize("k", [1, 4, 10])
def test_mutual_neighbours_by_brute_force(k):
    model = ConnectedComponents(graph="knn", n_neighbors=k).fit(X)
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    near = np.sort(D, axis=1)[:, [k - 1]] >= D
    count, labels = sp.csgraph.connected_components(near & near.T, directed=False)
    assert count == model.n_components_
    np.testing.assert_array_equal(labels, model.labels_)
    np.testing.assert_allclose(model.reach_, np.sort(D, axis=1)[:, k - 1], rtol=1e-12)


def test_clusters_grow_together_as_eps_grows():
    counts = [ConnectedComponents(eps=eps).fit(X).n_components_ for eps in (1e-9, 0.1, 0.3, 1.0, 20.0)]
    assert (counts[0], counts[-1]) == (len(X), 1)
    assert counts == sorted(counts, reverse=True)


def test_moons_are_two_components():
    moons, truth = make_moons(400, noise=0.04, random_state=0)
    assert adjusted_rand_score(truth, ConnectedComponents(eps=0.2).fit(moons).labels_) == 1.0
    assert adjusted_rand_score(truth, ConnectedComponents(graph="knn", n_neighbors=10).fit(moons).labels_) == 1.0


def test_new_rows_of_components():
    model = ConnectedComponents(eps=1.5).fit([[0.0], [1.0], [5.0]])
    np.testing.assert_array_equal(model.predict([[2.5], [2.6], [-1.5], [6.5], [100.0]]), [0, -1, 0, 1, -1])


@pytest.mark.parametrize("model", [DBSCAN(metric="precomputed"), ConnectedComponents(metric="precomputed")], ids=repr)
@pytest.mark.parametrize("kind", [np.array, sp.csr_matrix])
def test_matrices_that_are_no_distances(model, kind):
    with pytest.raises(InputError, match=r"not symmetric: entry \(0, 1\) is 1 and entry \(1, 0\) is 2"):
        model.fit(kind([[0.0, 1.0], [2.0, 0.0]]))
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        model.fit(kind([[0.0, -1.0], [-1.0, 0.0]]))
    with pytest.raises(ValueError, match=r"square|rows and"):
        model.fit(kind([[0.0, 1.0, 2.0], [1.0, 0.0, 2.0]]))


def test_more_neighbours_than_rows():
    with pytest.raises(InputError, match="n_neighbors=5 should be < n_samples=3"):
        ConnectedComponents(graph="knn").fit([[0.0], [1.0], [2.0]])
