"""The number of clusters: worked numbers, scikit-learn's scores, known clusters, tiles."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans as TheirKMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import calinski_harabasz_score, silhouette_samples, silhouette_score
from sklearn.mixture import GaussianMixture

from didact.cluster import AgglomerativeClustering, KMeans, KMedoids
from didact.cluster.selection import calinski_harabasz, elbow, gap_statistic, principal_plane, silhouette
from didact.core.errors import InputError, ParameterError
from didact.engines.linkage import silhouettes as engine
from didact.parts.distances import Euclidean, Manhattan, UserMetric

CRITERIA = [elbow, calinski_harabasz, silhouette, gap_statistic]


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(150, centers=[[0, 0], [8, 0], [0, 8], [8, 8]], cluster_std=0.8, random_state=0)[0]


def test_the_worked_numbers():
    """Points 0, 1, 9, 10 in two clusters: W = 1, B = 81, CH = 162."""
    X = np.array([[0.0], [1.0], [9.0], [10.0]])
    assert calinski_harabasz(X, n_clusters=[2], random_state=0).values.tolist() == [162.0]
    assert elbow(X, n_clusters=[1, 2, 3], random_state=0).values.tolist() == [82.0, 1.0, 0.5]
    assert silhouette(X, n_clusters=[2], random_state=0).values[0] == pytest.approx(
        np.mean([1 - 1 / 9.5, 1 - 1 / 8.5, 1 - 1 / 8.5, 1 - 1 / 9.5])
    )


@pytest.mark.parametrize("criterion", CRITERIA)
def test_four_clusters_are_found(blobs, criterion):
    found = criterion(
        blobs, n_clusters=range(2 if criterion in (calinski_harabasz, silhouette) else 1, 8), random_state=0
    )
    assert found.best == 4
    assert found.recommendation.startswith("4 clusters")
    assert str(found) == found.recommendation
    assert len(np.unique(found.labels[found.n_clusters.tolist().index(4)])) == 4


def test_values_are_those_of_scikit_learn(blobs):
    model = AgglomerativeClustering(linkage="average")
    ch, s = calinski_harabasz(blobs, model), silhouette(blobs, model, metric="manhattan")
    for count, labels, value, other in zip(ch.n_clusters, ch.labels, ch.values, s.values, strict=True):
        assert np.array_equal(labels, AgglomerativeClustering(count, linkage="average").fit(blobs).labels_)
        assert value == pytest.approx(calinski_harabasz_score(blobs, labels), rel=1e-10)
        assert other == pytest.approx(silhouette_score(blobs, labels, metric="manhattan"), rel=1e-10)


@pytest.mark.parametrize("noun", [Euclidean(), Manhattan(), None, UserMetric(lambda a, b: abs(a - b).sum(), {})])
def test_silhouettes_of_several_clusterings_at_once(noun):
    """In tiles that do not divide the rows, with clusters of one row."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((301, 3))
    some = [np.append(rng.integers(0, k, 300), 99) for k in (2, 5)]
    D = cdist(X, X, "euclidean" if isinstance(noun, Euclidean) else "cityblock")
    found = engine.silhouettes(noun, X if noun is not None else D, some)
    for line, labels in zip(found, some, strict=True):
        assert np.allclose(line, silhouette_samples(D, labels, metric="precomputed"), atol=1e-12)


def test_no_table_of_all_distances_is_made():
    """Nothing larger than the tiles and the indicators of clusters is allocated."""
    import tracemalloc

    X = np.random.default_rng(0).standard_normal((6000, 2))
    engine.silhouettes(Euclidean(), X[:300], [np.arange(300) % 2])
    tracemalloc.start()
    engine.silhouettes(Euclidean(), X, [np.arange(6000) % 3])
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 8 * 6000**2 / 4


def test_rows_without_clusters_are_one_cluster():
    X = np.random.default_rng(0).uniform(size=(120, 2))
    for reference in ("principal", "box"):
        found = gap_statistic(X, n_clusters=range(1, 4), random_state=0, reference=reference, n_draws=6)
        assert found.best == 1
        assert "no more clustered" in found.recommendation


def test_gaps_follow_their_definition(blobs):
    """Tibshirani's rule on the values and errors of the record; the errors shrink with the draws' spread alone."""
    found = gap_statistic(blobs, KMeans(n_init=2, random_state=0), range(1, 6), random_state=3, n_draws=3)
    fits = found.values[:-1] >= found.values[1:] - found.errors[1:]
    assert found.best == found.n_clusters[np.flatnonzero(fits)[0]]
    again = gap_statistic(blobs, KMeans(n_init=2, random_state=0), range(1, 6), random_state=3, n_draws=3)
    assert np.array_equal(found.values, again.values)
    assert (found.errors > 0).all()


@pytest.mark.parametrize(
    "model", [KMedoids(random_state=0), GaussianMixture(random_state=0), TheirKMeans(random_state=0)]
)
def test_any_clusterer_will_do(blobs, model):
    assert silhouette(blobs, model, n_clusters=range(3, 6)).best == 4


def test_the_plane_of_two_principal_components(blobs):
    X = np.column_stack([blobs, 1e-3 * np.arange(150)])
    points, shares = principal_plane(X)
    near = X - X.mean(axis=0)
    U, s, _ = np.linalg.svd(near, full_matrices=False)
    assert np.allclose(np.abs(points), np.abs(U[:, :2] * s[:2]), atol=1e-9)
    assert np.allclose(shares, s[:2] ** 2 / (s**2).sum())
    assert np.allclose(principal_plane(X[:, :1])[0][:, 1], 0.0)


def test_pictures(blobs):
    for criterion in CRITERIA:
        found = criterion(blobs[:40], AgglomerativeClustering(), range(2, 6), random_state=0)
        assert found.plot().axes[0].get_xlabel() == "number of clusters"
    figure = found.plot_plane(blobs[:40], 3)
    assert len(figure.axes[0].collections) == 3
    with pytest.raises(ParameterError, match="no clustering into 9"):
        found.plot_plane(blobs[:40], 9)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_bad_input_is_refused_in_a_sentence(criterion):
    X = np.repeat([[0.0], [1.0], [5.0], [9.0], [20.0]], 3, axis=0)
    with pytest.raises(InputError, match="X has 5 distinct rows: try at most"):
        criterion(X, n_clusters=range(2, 8))
    with pytest.raises(ParameterError, match="whole numbers of at least"):
        criterion(X, n_clusters=[0, 1])
    with pytest.raises(InputError, match="NaN"):
        criterion([[0.0], [np.nan], [2.0], [3.0]])
    with pytest.raises(ParameterError, match="no parameter n_clusters"):
        from sklearn.cluster import DBSCAN

        criterion(X, DBSCAN())
    assert criterion(X, AgglomerativeClustering()).n_clusters[-1] <= 5  # by default


def test_the_range_is_looked_at():
    X = np.arange(20.0)[:, None]
    with pytest.raises(ParameterError, match="three numbers"):
        elbow(X, n_clusters=[1, 2])
    with pytest.raises(ParameterError, match="follow each other"):
        gap_statistic(X, n_clusters=[1, 3])
    assert "try more" in calinski_harabasz(X, n_clusters=[2, 3], random_state=0).recommendation
