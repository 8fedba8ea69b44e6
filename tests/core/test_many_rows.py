"""Tables of all pairs of rows, or columns, that the memory cannot hold: every model that needs one says so at once."""

import numpy as np
import pytest
from sklearn.metrics import pairwise_distances

from didact.cluster import (
    AgglomerativeClustering,
    DivisiveClustering,
    KMedoids,
    SpectralClustering,
    linkage_tree,
)
from didact.core.errors import InputError
from didact.decomposition import PCA, FactorAnalysis, IncrementalPCA, KernelPCA, ProbabilisticPCA
from didact.manifold import MDS, TSNE, ClassicalMDS, Isomap, ParametricEmbedding, SpectralEmbedding

N = 300
REFUSED = r"These data need .* more than this process may use: \w+"


def apart(a, b):
    return np.abs(a - b).sum()


def no_room(X):
    raise MemoryError


PAIRS = {
    "affinity": lambda X: SpectralClustering(2, affinity="rbf").fit(X),
    "kernel": lambda X: SpectralClustering(2, affinity="laplacian").fit(X),
    "function": lambda X: SpectralClustering(2, affinity=apart).fit(X),
    "neighbours": lambda X: SpectralClustering(2, affinity="nearest_neighbors", n_neighbors=200).fit(X),
    "embedded affinity": lambda X: SpectralEmbedding(affinity="rbf").fit(X),
    "embedded function": lambda X: SpectralEmbedding(affinity=no_room).fit(X),
    "embedded neighbours": lambda X: SpectralEmbedding(n_neighbors=200).fit(X),
    "linkage": lambda X: linkage_tree(X),
    "single linkage by a function": lambda X: AgglomerativeClustering(linkage="single", metric=apart).fit(X),
    "single linkage of a table": lambda X: linkage_tree(X, linkage="single", affinity=pairwise_distances),
    "average linkage": lambda X: AgglomerativeClustering(linkage="average").fit(X),
    "divisions": lambda X: DivisiveClustering().fit(X),
    "medoids": lambda X: KMedoids(2).fit(X),
    "kernel components": lambda X: KernelPCA(2).fit(X),
    "scaling": lambda X: MDS().fit(X),
    "classical scaling": lambda X: ClassicalMDS().fit(X),
    "paths": lambda X: Isomap().fit(X),
    "a map": lambda X: ParametricEmbedding().fit(X),
    "all neighbours": lambda X: TSNE(method="exact").fit(X),
}


@pytest.mark.parametrize("case", PAIRS)
def test_all_pairs_of_rows(case, monkeypatch):
    monkeypatch.setattr("didact.core.rows.memory.memory_limit", lambda: 8 * N * N // 2)
    with pytest.raises(InputError, match=REFUSED):
        PAIRS[case](np.random.default_rng(0).normal(size=(N, 2)))


@pytest.mark.parametrize("model", [PCA(2), IncrementalPCA(2), FactorAnalysis(2), ProbabilisticPCA(2)], ids=repr)
@pytest.mark.parametrize("method", ["get_covariance", "get_precision"])
def test_all_pairs_of_columns(model, method, monkeypatch):
    model.fit(np.random.default_rng(0).normal(size=(20, N)))
    assert getattr(model, method)().shape == (N, N)
    monkeypatch.setattr("didact.core.rows.memory.memory_limit", lambda: 8 * N * N // 2)
    with pytest.raises(InputError, match=REFUSED):
        getattr(model, method)()
