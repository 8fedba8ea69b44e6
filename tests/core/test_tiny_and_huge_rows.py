"""Rows times a power of two: what is exact in floats changes no cluster and no embedding, or is refused in a sentence.

Lengths among the parameters (radii, bandwidths) are multiplied, too. Embeddings of neighbours and graphs do not depend
on the scale, all others grow with it.
"""

import re

import numpy as np
import pytest

from didact.cluster import (
    DBSCAN,
    AgglomerativeClustering,
    ConnectedComponents,
    DivisiveClustering,
    KMeans,
    KMedoids,
    LevelSetClustering,
    MeanShift,
    MiniBatchKMeans,
    OnlineKMeans,
    SpectralClustering,
)
from didact.core.errors import InputError
from didact.decomposition import PCA, FactorAnalysis, FastICA, IncrementalPCA, KernelPCA, ProbabilisticPCA
from didact.manifold import (
    MDS,
    TSNE,
    ClassicalMDS,
    ElasticEmbedding,
    Isomap,
    LocallyLinearEmbedding,
    ParametricEmbedding,
    SpectralEmbedding,
)
from didact.mixture import GaussianMixture
from didact.neighbors import NearestNeighbors

pytestmark = pytest.mark.filterwarnings("ignore")  # of few steps, and of graphs in parts
EXPONENTS = (-1000, -700, -540, -500, -400, -250, -200, 200, 250, 400, 490, 505, 520, 1000)
SENTENCE = r"has no values above .* vanish: multiply|overflow: (divide|bring it to another)|the scale of X"
CLUSTERERS = {
    "k-means": lambda s: KMeans(3, random_state=0),
    "k-means, random": lambda s: KMeans(3, init="random", n_init=1, random_state=0),
    "mini-batches": lambda s: MiniBatchKMeans(3, random_state=0),
    "online": lambda s: OnlineKMeans(3, random_state=0),
    "medoids": lambda s: KMedoids(3, random_state=0),
    "medoids, squares": lambda s: KMedoids(3, metric="sqeuclidean", random_state=0),
    "medoids, sums": lambda s: KMedoids(3, metric="manhattan", random_state=0),
    "medoids, cubes": lambda s: KMedoids(3, metric="p", metric_params={"p": 3}, random_state=0),
    "dbscan": lambda s: DBSCAN(eps=2.0 * s),
    "dbscan, balls": lambda s: DBSCAN(eps=2.0 * s, algorithm="ball_tree"),
    "dbscan, all": lambda s: DBSCAN(eps=2.0 * s, algorithm="brute"),
    "dbscan, cubes": lambda s: DBSCAN(eps=2.0 * s, metric="minkowski", p=3),
    "dbscan, gaps": lambda s: DBSCAN(eps=2.0 * s, metric="nan_euclidean"),
    "components": lambda s: ConnectedComponents(eps=2.0 * s),
    "components, neighbours": lambda s: ConnectedComponents(graph="knn", n_neighbors=4),
    "mean shift": lambda s: MeanShift(),
    "mean shift, hills": lambda s: MeanShift(bandwidth=2.5 * s, kernel="gaussian"),
    "level sets": lambda s: LevelSetClustering(radius=2.0 * s, bandwidth=2.0 * s),
    "graph": lambda s: SpectralClustering(3, affinity="nearest_neighbors", random_state=0),
    "ward": lambda s: AgglomerativeClustering(None, distance_threshold=30.0 * s),
    "single": lambda s: AgglomerativeClustering(3, linkage="single"),
    "average": lambda s: AgglomerativeClustering(3, linkage="average"),
    "complete, cubes": lambda s: AgglomerativeClustering(3, linkage="complete", metric="p", metric_params={"p": 3}),
    "ward, along a ring": lambda s: AgglomerativeClustering(3, connectivity=np.eye(60, k=1) + np.eye(60, k=-1)),
    "divisions": lambda s: DivisiveClustering(3),
    "mixture": lambda s: GaussianMixture(3, reg_covar=0.0, random_state=0),
}
COORDINATES = {  # and whether they grow with the rows
    "components": (lambda s: PCA(2), True),
    "components, fewer rows": (lambda s: PCA(2, svd_solver="full"), True),
    "whitened": (lambda s: PCA(2, whiten=True), False),
    "components, bit by bit": (lambda s: IncrementalPCA(2, whiten=True), False),
    "linear kernel": (lambda s: KernelPCA(2), True),
    "factors": (lambda s: FactorAnalysis(2), False),
    "factors of one noise": (lambda s: ProbabilisticPCA(2, solver="em", random_state=0), False),
    "sources": (lambda s: FastICA(2, random_state=0), False),
    "classical scaling": (lambda s: ClassicalMDS(), True),
    "stress": (lambda s: MDS(random_state=0), True),
    "s-stress": (lambda s: MDS(random_state=0, loss="sstress"), True),
    "order": (lambda s: MDS(random_state=0, metric_mds=False), False),
    "paths": (lambda s: Isomap(n_neighbors=8), True),
    "a map": (lambda s: ParametricEmbedding(random_state=0), True),
    "a linear map": (lambda s: ParametricEmbedding(mapping="linear", loss="stress"), True),
    "means of neighbours": (lambda s: LocallyLinearEmbedding(n_neighbors=8), False),
    "several means": (lambda s: LocallyLinearEmbedding(n_neighbors=8, method="modified"), False),
    "tangents": (lambda s: LocallyLinearEmbedding(n_neighbors=8, method="ltsa"), False),
    "graph": (lambda s: SpectralEmbedding(n_neighbors=8, random_state=0), False),
    "t-SNE": (lambda s: TSNE(random_state=0, max_iter=250, perplexity=10), False),
    "t-SNE, exact": (lambda s: TSNE(random_state=0, max_iter=250, perplexity=10, method="exact"), False),
    "elastic": (lambda s: ElasticEmbedding(random_state=0, max_iter=50, perplexity=10), False),
}


def table():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 4)) + 6.0 * (np.arange(60)[:, None] % 3 == np.arange(4) % 3)


def numbered(labels):
    """Labels in the order of their first rows."""
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    return first.argsort().argsort()[codes]


def at_scales(make, answer):
    """The answers at those scales that are not refused, as pairs with the exponent; refusals are sentences."""
    X, found, refused = table(), [], []
    for exponent in EXPONENTS:
        scale = 2.0**exponent
        try:
            found.append((exponent, answer(make(scale), X * scale)))
        except InputError as error:
            refused.append(f"2^{exponent}: {error}")
    assert [sentence for sentence in refused if not re.search(SENTENCE, sentence)] == []
    return found


@pytest.mark.parametrize("name", CLUSTERERS)
def test_clusters_do_not_depend_on_the_scale(name):
    def labels(model, X):
        fitted = model.fit(X)
        known = numbered(fitted.predict(X) if isinstance(fitted, GaussianMixture) else fitted.labels_)
        return known, numbered(fitted.predict(X)) if hasattr(fitted, "predict") else known

    make = CLUSTERERS[name]
    expected = labels(make(1.0), table())
    assert len(np.unique(expected[0])) >= 3
    found = at_scales(make, labels)
    assert {-400, -250, -200, 200, 250} <= {exponent for exponent, _ in found}
    for exponent, answer in found:
        np.testing.assert_array_equal(answer, expected, err_msg=f"2^{exponent}")


@pytest.mark.parametrize("name", COORDINATES)
def test_coordinates_grow_with_the_rows_or_stay(name):
    make, grows = COORDINATES[name]

    def places(model, X):
        Z = model.fit_transform(X)
        return Z, model.transform(X) if hasattr(model, "transform") else Z

    expected = places(make(1.0), table())
    found = at_scales(make, places)
    assert {-200, 200} <= {exponent for exponent, _ in found}
    for exponent, answer in found:
        scale = 2.0**exponent if grows else 1.0
        for got, whole in zip(answer, expected, strict=True):
            size = np.abs(whole).max()
            np.testing.assert_allclose(got / scale, whole, rtol=1e-5, atol=1e-5 * size, err_msg=f"2^{exponent}")


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "cosine", "correlation", "sqeuclidean"])
@pytest.mark.parametrize("algorithm", ["auto", "brute"])
def test_neighbours_do_not_depend_on_the_scale(metric, algorithm):
    X = table()
    near = NearestNeighbors(n_neighbors=4, metric=metric, algorithm=algorithm)
    expected = near.fit(X).kneighbors()[1]
    for exponent in (-1000, -700, -540, -400, 400):
        np.testing.assert_array_equal(near.fit(X * 2.0**exponent).kneighbors()[1], expected, err_msg=f"2^{exponent}")
