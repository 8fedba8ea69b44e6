"""k-means from the same start, seeding alone, medoids, trees, other labels: from the array to the answer."""

import importlib
from typing import Any

import numpy as np


def start(X: np.ndarray, clusters: int) -> np.ndarray:
    """The same rows for everybody."""
    return X[np.random.default_rng(0).choice(len(X), clusters, replace=False)].copy()


class Lloyd:
    """A class with scikit-learn's parameters."""

    def __init__(self, path: str, clusters: int, **options: Any):
        module, name = path.rsplit(".", 1)
        self.make, self.clusters, self.options = getattr(importlib.import_module(module), name), clusters, options

    def prepare(self, X: np.ndarray, y: np.ndarray) -> None:
        self.start = start(X, self.clusters)

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Lloyd":
        model = self.make(n_clusters=self.clusters, init=self.start, n_init=1, **self.options).fit(X)
        self.answer_ = {"centers": model.cluster_centers_}
        return self


class Faiss(Lloyd):
    """faiss: products in float32, and as many iterations as it is told."""

    def __init__(self, clusters: int, steps: int):
        import faiss

        faiss.omp_set_num_threads(2)
        self.faiss, self.clusters, self.steps = faiss, clusters, steps

    def prepare(self, X: np.ndarray, y: np.ndarray) -> None:
        self.X, self.start = X.astype(np.float32), start(X, self.clusters).astype(np.float32)

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Faiss":
        options = {"niter": self.steps, "max_points_per_centroid": len(X)}
        model = self.faiss.Kmeans(X.shape[1], self.clusters, **options)
        model.train(self.X, init_centroids=self.start)
        self.answer_ = {"centers": np.asarray(model.centroids, np.float64)}
        return self


class Seeding:
    """The function `kmeans_plusplus` of a library."""

    def __init__(self, path: str, clusters: int):
        self.draw, self.clusters = importlib.import_module(path).kmeans_plusplus, clusters

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Seeding":
        self.answer_ = {"centers": self.draw(X, self.clusters, random_state=0)[0]}
        return self


class Labels:
    """A class that finds the number of clusters itself."""

    def __init__(self, path: str, **options: Any):
        module, name = path.rsplit(".", 1)
        self.make, self.options = getattr(importlib.import_module(module), name), options

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Labels":
        self.answer_ = {"labels": np.asarray(self.make(**self.options).fit(X).labels_)}
        return self


class Medoids:
    """k-medoids from the same start, distances included."""

    def __init__(self, library: str, clusters: int):
        self.library, self.clusters = library, clusters

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Medoids":
        first = np.arange(self.clusters)
        if self.library == "didact":
            from didact.cluster import KMedoids

            found = KMedoids(self.clusters, init=first).fit(X).medoid_indices_
        else:
            import kmedoids
            from sklearn.metrics import pairwise_distances

            found = kmedoids.fasterpam(pairwise_distances(X), first).medoids
        self.answer_ = {"centers": X[np.asarray(found, np.int64)]}
        return self


class Tree:
    """The tree of all merges; fastcluster takes rows where it can, and distances where it must."""

    def __init__(self, library: str, linkage: str):
        self.library, self.linkage = library, linkage

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Tree":
        if self.library == "SciPy":
            from scipy.cluster.hierarchy import linkage

            heights = linkage(X, self.linkage)[:, 2]
        elif self.library == "fastcluster":
            import fastcluster

            build = fastcluster.linkage if self.linkage == "average" else fastcluster.linkage_vector
            heights = build(X, self.linkage)[:, 2]
        else:
            module = importlib.import_module("didact.cluster" if self.library == "didact" else "sklearn.cluster")
            heights = module.AgglomerativeClustering(linkage=self.linkage, compute_distances=True).fit(X).distances_
        self.answer_ = {"heights": heights}
        return self
