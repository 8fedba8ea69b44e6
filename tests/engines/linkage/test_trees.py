"""Trees of clusters against slow definitions: always merge the nearest pair; heights from all pairs of rows."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster import hierarchy
from scipy.spatial.distance import cdist, pdist

import didact
from didact.engines.linkage import trees
from didact.engines.linkage.triangles import distance_triangle, lower_triangle
from didact.parts.distances import Canberra, Chebyshev, Cosine, Euclidean, Manhattan, UserMetric


def members(Z):
    """The rows of every cluster of a tree."""
    found = [[i] for i in range(len(Z) + 1)]
    for a, b in Z[:, :2].astype(int):
        found.append(found[a] + found[b])
    return found


def apart(linkage, X, a, b):
    """The distance of two clusters by its definition."""
    if linkage == "ward":
        gap = X[a].mean(axis=0) - X[b].mean(axis=0)
        return np.sqrt(2 * len(a) * len(b) / (len(a) + len(b)) * gap @ gap)
    return {"single": np.min, "complete": np.max, "average": np.mean}[linkage](cdist(X[a], X[b]))


def tree(linkage, X):
    if linkage == "single":
        return trees.spanning_tree(Euclidean(), X)
    return trees.chained(linkage, X if linkage == "ward" else distance_triangle(Euclidean(), X))


@pytest.mark.parametrize("linkage", ["single", "complete", "average", "ward"])
def test_every_merge_joins_the_nearest_pair(linkage):
    X = np.random.default_rng(0).standard_normal((25, 3))
    Z, here = tree(linkage, X), set(range(25))
    groups = members(Z)
    for i, (a, b, height, size) in enumerate(Z):
        pairs = itertools.combinations(sorted(here), 2)
        distances = {pair: apart(linkage, X, *(groups[c] for c in pair)) for pair in pairs}
        assert height == pytest.approx(min(distances.values()), rel=1e-12)
        assert distances[tuple(sorted((int(a), int(b))))] == pytest.approx(height, rel=1e-12)
        assert size == len(groups[25 + i])
        here = here - {int(a), int(b)} | {25 + i}
    assert hierarchy.is_valid_linkage(Z)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 30), st.integers(1, 3), st.integers(1, 4), st.integers(0, 1000))
def test_ties_give_a_tree_whose_heights_are_distances_of_its_clusters(n, p, values, seed):
    """With many equal distances there are many right trees; each height must be that of the pair it joins."""
    X = np.random.default_rng(seed).integers(0, values, (n, p)).astype(float)
    for linkage in ("single", "complete", "average", "ward"):
        Z = tree(linkage, X)
        groups = members(Z)
        assert hierarchy.is_valid_linkage(Z)
        assert (np.diff(Z[:, 2]) >= 0).all()
        for a, b, height, _ in Z:
            assert height == pytest.approx(apart(linkage, X, groups[int(a)], groups[int(b)]), abs=1e-12)
        if linkage == "single":
            assert np.array_equal(Z[:, 2], hierarchy.linkage(pdist(X), "single")[:, 2])


@pytest.mark.parametrize("linkage", ["single", "complete", "average", "ward"])
def test_any_number_of_threads_gives_the_same_tree(linkage, monkeypatch):
    """Also with ties, and when steps go from a task for each thread to one."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (1500, 40)) + rng.integers(0, 2, (1500, 1)) / 3
    monkeypatch.setattr(trees, "FETCH", 40)  # a step on distances from a table counts as much
    found = []
    for threads in (1, 2, 5):
        didact.set_threads(threads)
        try:
            found.append(tree(linkage, X))
        finally:
            didact.set_threads(None)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


@pytest.mark.parametrize("noun", [Manhattan(), Chebyshev(), Canberra(), UserMetric(lambda a, b: abs(a - b).max(), {})])
def test_triangles_hold_each_distance_once(noun):
    X = np.random.default_rng(0).standard_normal((150, 2))
    assert np.allclose(distance_triangle(noun, X), lower_triangle(noun.pairwise(X, X)), rtol=1e-14)
    whole = noun.pairwise(X, X)
    assert np.array_equal(lower_triangle(whole)[[0, 1, 2, 3]], whole[[1, 2, 2, 3], [0, 0, 1, 0]])


def test_triangles_apply_what_finishes_a_distance():
    X = np.random.default_rng(0).standard_normal((70, 4))
    assert np.allclose(distance_triangle(Cosine(), X), lower_triangle(Cosine().pairwise(X, X)), atol=1e-15)


@pytest.mark.parametrize("p", [1, 3, 4, 6, 9])
def test_euclidean_triangles_have_full_accuracy(p):
    """From differences: far from the origin nothing is lost."""
    X = np.random.default_rng(0).integers(0, 1000, (700, p)) + 1e9
    assert np.allclose(distance_triangle(Euclidean(), X), lower_triangle(cdist(X - 1e9, X - 1e9)), rtol=1e-14)


def test_a_cut_leaves_what_was_merged_before_it():
    X = np.random.default_rng(0).standard_normal((40, 2))
    Z = tree("average", X)
    for count in (1, 2, 7, 39, 40):
        labels = trees.cut(Z[:, :2].astype(int), 40, count)
        reference = hierarchy.fcluster(Z, count, "maxclust")
        assert len(np.unique(labels)) == count
        assert len(np.unique(np.column_stack([labels, reference]), axis=0)) == count
