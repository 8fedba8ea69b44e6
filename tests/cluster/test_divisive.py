"""Divisive clustering: DIANA by its definition, heights, thresholds, k-means, bad input."""

import numpy as np
import pytest
from scipy.cluster import hierarchy
from scipy.spatial.distance import cdist
from sklearn.cluster import BisectingKMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from didact.cluster import DivisiveClustering, KMeans
from didact.cluster.selection import silhouette
from didact.core.errors import InputError, ParameterError


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).standard_normal((40, 3))


def diana(D, rows):
    """The two parts of a cluster, by definition."""
    stay, left = list(rows), []
    while len(stay) > 1:
        gains = [
            np.mean([D[i, j] for j in stay if j != i]) - (np.mean([D[i, j] for j in left]) if left else 0.0)
            for i in stay
        ]
        if max(gains) <= 0:
            break
        left.append(stay.pop(int(np.argmax(gains))))
    return sorted(stay), sorted(left)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "precomputed"])
def test_diana_is_what_its_definition_says(X, metric):
    D = cdist(X, X, "cityblock" if metric == "manhattan" else "euclidean")
    groups = [list(range(40))]
    for count in range(2, 9):
        widest = max(groups, key=lambda rows: D[np.ix_(rows, rows)].max())
        groups.remove(widest)
        groups += diana(D, widest)
        model = DivisiveClustering(count, metric=metric).fit(D if metric == "precomputed" else X)
        assert sorted(np.flatnonzero(model.labels_ == k).tolist() for k in range(count)) == sorted(groups)


@pytest.mark.parametrize("split", ["diana", "kmeans"])
@pytest.mark.parametrize("choose", ["diameter", "inertia"])
def test_heights_are_widths_of_clusters(X, split, choose):
    model = DivisiveClustering(4, split=split, choose=choose, compute_full_tree=True, random_state=0).fit(X)
    Z, D = model.linkage_, cdist(X, X)
    assert hierarchy.is_valid_linkage(Z)
    assert (np.diff(Z[:, 2]) >= 0).all()
    assert Z.shape == (39, 4)
    groups = [[int(i)] for i in np.argsort(model.leaves_)]
    for a, b, height, size in Z:
        rows = groups[int(a)] + groups[int(b)]
        groups.append(rows)
        squares = ((X[rows] - X[rows].mean(axis=0)) ** 2).sum()
        width = D[np.ix_(rows, rows)].max() if choose == "diameter" else np.sqrt(2 * squares)
        assert height == pytest.approx(width, rel=1e-12)
        assert size == len(rows)
    assert len(hierarchy.dendrogram(Z, no_plot=True)["leaves"]) == 40


@pytest.mark.parametrize("split", ["diana", "kmeans"])
def test_cuts_are_those_of_new_fits(X, split):
    def fitted(count, **options):
        return DivisiveClustering(count, split=split, random_state=0, n_init=8, **options).fit(X)

    whole = fitted(2, compute_full_tree=True)
    for count in (1, 2, 5):
        labels = fitted(count).labels_
        assert len(np.unique(np.column_stack([labels, whole.cut(count)]), axis=0)) == count
    high = float(whole.linkage_[-4, 2])
    model = fitted(None, distance_threshold=high)
    assert model.n_clusters_ == 5
    assert len(np.unique(np.column_stack([model.labels_, whole.cut(distance_threshold=high)]), axis=0)) == 5
    assert fitted(5).cut(3).max() == 2


def test_bisecting_k_means_is_that_of_scikit_learn():
    X, truth = make_blobs(200, centers=[[0, 0], [10, 0], [0, 30], [10, 30]], random_state=0)
    ours = DivisiveClustering(4, split="kmeans", random_state=0).fit(X).labels_
    theirs = BisectingKMeans(4, n_init=5, random_state=0).fit(X).labels_
    assert len(np.unique(np.column_stack([ours, theirs, truth]), axis=0)) == 4


def test_the_first_division_by_k_means_is_k_means(X):
    model = DivisiveClustering(2, split="kmeans", n_init=20, random_state=0).fit(X)
    best = KMeans(2, n_init=20, random_state=1).fit(X)
    within = sum(((X[model.labels_ == k] - X[model.labels_ == k].mean(axis=0)) ** 2).sum() for k in range(2))
    assert within <= best.inertia_ * (1 + 1e-6)


@pytest.mark.parametrize("scale", [1e-160, 1e160])
@pytest.mark.parametrize("split", ["diana", "kmeans"])
def test_no_scale_of_the_columns_is_too_large_or_too_small(X, split, scale):
    ours, plain = (DivisiveClustering(4, split=split, random_state=0).fit(s * X) for s in (scale, 1.0))
    assert np.array_equal(ours.labels_, plain.labels_)
    assert np.allclose(ours.linkage_[:, 2] / scale, plain.linkage_[:, 2], rtol=1e-9)


@pytest.mark.parametrize("split", ["diana", "kmeans"])
def test_identical_rows_stay_together(split):
    X = np.repeat([[0.0, 0.1], [1.0, 0.3], [5.0, 0.7]], 4, axis=0)
    model = DivisiveClustering(3, split=split, compute_full_tree=True, random_state=0).fit(X)
    assert model.n_leaves_ == 3
    assert model.labels_.reshape(3, 4).std(axis=1).max() == 0
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(3\) found smaller than n_clusters \(5\)"):
        DivisiveClustering(5, split=split, random_state=0).fit(X)


def test_selection_cuts_one_tree(X):
    found = silhouette(X, DivisiveClustering(), n_clusters=range(2, 6))
    for count, labels in zip(found.n_clusters, found.labels, strict=True):
        assert np.array_equal(
            np.sort(np.bincount(labels)), np.sort(np.bincount(DivisiveClustering(count).fit(X).labels_))
        )


def test_bad_input_is_refused_in_a_sentence(X):
    D = cdist(X, X)
    D[0, 1] += 1
    with pytest.raises(InputError, match="not symmetric"):
        DivisiveClustering(metric="precomputed").fit(D)
    with pytest.raises(ParameterError, match="need means of rows"):
        DivisiveClustering(metric="manhattan", split="kmeans").fit(X)
    with pytest.raises(InputError, match="n_samples=40 should be >= n_clusters=41"):
        DivisiveClustering(41).fit(X)
    with pytest.raises(ParameterError, match="Exactly one of"):
        DivisiveClustering(None).fit(X)
    with pytest.raises(InputError, match="minimum of 2"):
        DivisiveClustering(1).fit(X[:1])
    with pytest.raises(InputError, match="not finite"):
        DivisiveClustering(metric=lambda a, b: np.inf).fit(X)
    assert DivisiveClustering(1).fit(X).labels_.tolist() == [0] * 40
    with pytest.raises(ParameterError, match="nothing to draw"):
        DivisiveClustering(1).fit(X).plot_dendrogram()
