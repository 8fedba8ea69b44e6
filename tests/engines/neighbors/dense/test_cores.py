"""Clusters of dense rows against the definition, written down for all pairs."""

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

import didact
from didact.core.threads import parallel_map
from didact.engines.neighbors.dense import cores
from didact.engines.neighbors.dense.union_loops import set_roots, unite_pairs
from didact.parts.distances import Canberra, Chebyshev, Euclidean, Hamming, Manhattan, Minkowski, SquaredEuclidean

DISTANCES = [Euclidean(), Manhattan(), Chebyshev(), Minkowski(3.0), Canberra(), Hamming(np.ones(3), 3.0)]


def by_definition(D, radius, need, w):
    """Cores and labels from a table of distances."""
    near = radius >= D
    core = near @ w >= need
    labels, at = np.full(len(D), -1), np.flatnonzero(core)
    part = connected_components(near[np.ix_(at, at)], directed=False)[1]
    first = np.unique(part, return_index=True)[1] if len(at) else np.empty(0, int)
    labels[at] = np.argsort(np.argsort(first))[part]
    for i in np.flatnonzero(~core):
        labels[i] = min(labels[at[near[i, at]]], default=-1)
    return core, labels


def cases(seed, n=300):
    """Rows with and without ties and empty places, radii, needs and weights."""
    rng = np.random.default_rng(seed)
    for _ in range(6):
        n = int(rng.integers(1, n + 1))
        X = rng.normal(size=(n, 3)) * rng.choice([0.3, 1.0, 3.0], size=(n, 1))
        X = X.round(1) if rng.random() < 0.5 else X
        w = rng.integers(0, 4, n).astype(float) if rng.random() < 0.5 else None
        yield X, float(rng.choice([0.1, 0.5, 1.0, 3.0])), float(rng.integers(1, 9)), w


@pytest.mark.parametrize("distance", DISTANCES, ids=lambda d: type(d).__name__)
@pytest.mark.parametrize("method", ["auto", "brute"])
def test_clusters_are_those_of_the_definition(distance, method):
    for seed, leaf in enumerate((2, 7, 32)):
        for X, radius, need, w in cases(seed):
            found = cores.dense_clusters(X, distance, radius, need, w, method, leaf)
            core, labels = by_definition(distance.pairwise(X, X), radius, need, np.ones(len(X)) if w is None else w)
            np.testing.assert_array_equal(found.core, core)
            np.testing.assert_array_equal(found.labels, labels)


def test_whole_nodes_of_crowded_rows():
    """Most rows lie so close together that nodes of the tree are settled without distances."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(500, 2)) * 0.05 + c for c in ([0, 0], [0.9, 0], [3, 3])] + [[[1.9, 1.9]]])
    for radius in (0.3, 0.6, 1.0):
        found = cores.dense_clusters(X, Euclidean(), radius, 5, None, "auto", 8)
        core, labels = by_definition(Euclidean().pairwise(X, X), radius, 5, np.ones(len(X)))
        np.testing.assert_array_equal(found.labels, labels)
        np.testing.assert_array_equal(found.core, core)


def test_distances_that_are_finished_after_the_loops():
    X = np.random.default_rng(1).normal(size=(200, 2))
    plain, square = cores.dense_clusters(X, Euclidean(), 0.5, 4), cores.dense_clusters(X, SquaredEuclidean(), 0.25, 4)
    np.testing.assert_array_equal(plain.labels, square.labels)


def test_radii_whose_squares_overflow():
    X = np.array([[0.0], [1e160], [1.5e160], [9e160]])
    np.testing.assert_array_equal(cores.dense_clusters(X, Euclidean(), 2e160, 2).labels, [0, 0, 0, -1])
    np.testing.assert_array_equal(cores.dense_clusters(X, Euclidean(), 1.0, 1).labels, [0, 1, 2, 3])


def test_neighbours_that_are_too_many_to_keep(monkeypatch):
    X = np.random.default_rng(2).normal(size=(600, 2))
    expected = cores.dense_clusters(X, Euclidean(), 0.2, 5, None, "brute")
    monkeypatch.setattr(cores, "BLOCK_PAIRS", 100)
    found = cores.dense_clusters(X, Euclidean(), 0.2, 5, None, "brute")
    np.testing.assert_array_equal(found.labels, expected.labels)


def test_threads_change_nothing():
    X = np.random.default_rng(3).normal(size=(20_000, 2))
    try:
        didact.set_threads(1)
        one = cores.dense_clusters(X, Euclidean(), 0.02, 4)
        didact.set_threads(4)
        for _ in range(3):
            np.testing.assert_array_equal(cores.dense_clusters(X, Euclidean(), 0.02, 4).labels, one.labels)
    finally:
        didact.set_threads(None)


def test_sets_joined_by_several_threads_are_the_components():
    rng = np.random.default_rng(4)
    n = 5000
    pairs = rng.integers(0, n, size=(2, 4500))
    rank = rng.permutation(n)
    parent, claims = np.arange(n), np.zeros(n, np.int64)
    parts = [np.ascontiguousarray(part) for part in np.array_split(pairs, 40, axis=1)]
    parallel_map(lambda part: unite_pairs(parent, claims, rank, part[0].copy(), part[1].copy()), parts)
    set_roots(parent)
    graph = np.zeros((n, n), bool)
    graph[pairs[0], pairs[1]] = True
    labels = connected_components(graph, directed=False)[1]
    lowest = np.full(labels.max() + 1, n)
    np.minimum.at(lowest, labels, rank)
    np.testing.assert_array_equal(rank[parent], lowest[labels])
