"""t-SNE at its defaults; the answer is minus the divergence of the places, computed alike for all libraries."""

import importlib
from typing import Any

import numpy as np

PERPLEXITY = 30.0


def divergence(X: Any, Y: np.ndarray) -> float:
    """Of the affinities of the nearest rows from all pairs of places."""
    from scipy.spatial.distance import pdist
    from sklearn.manifold._t_sne import _joint_probabilities_nn
    from sklearn.neighbors import NearestNeighbors

    graph = NearestNeighbors(n_neighbors=int(3 * PERPLEXITY + 1)).fit(X).kneighbors_graph(mode="distance")
    graph.data **= 2
    P = _joint_probabilities_nn(graph, PERPLEXITY, 0).tocoo()
    Y = np.asarray(Y, np.float64)
    near = 1.0 / (1.0 + ((Y[P.row] - Y[P.col]) ** 2).sum(axis=1))
    total = 2.0 * (1.0 / (1.0 + pdist(Y, "sqeuclidean"))).sum()
    return float((P.data * np.log(P.data / near)).sum() + np.log(total))


class Embedding:
    """A class with scikit-learn's parameters."""

    def __init__(self, path: str) -> None:
        module, name = path.rsplit(".", 1)
        self.model = getattr(importlib.import_module(module), name)(perplexity=PERPLEXITY, random_state=0)

    def fit(self, X: Any, y: Any) -> None:
        self.places, self.rows = self.model.fit(X).embedding_, X

    @property
    def answer_(self) -> dict[str, float]:
        return {"score": -divergence(self.rows, self.places)}


class OpenTSNE(Embedding):
    """openTSNE on all cores, with its own number of steps, 250 and 500."""

    def __init__(self) -> None:
        import openTSNE

        self.model = openTSNE.TSNE(perplexity=PERPLEXITY, n_jobs=-1, random_state=0)

    def fit(self, X: Any, y: Any) -> None:
        self.places, self.rows = np.asarray(self.model.fit(X)), X
