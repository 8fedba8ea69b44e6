"""The k nearest rows of the same queries, from the array to the row numbers: index and search together."""

import importlib
from typing import Any

import numpy as np

from benchmarks.data import queries


class Search:
    """A class with scikit-learn's `fit` and `kneighbors`."""

    def __init__(self, path: str, queries: int, single: bool = False, **options: Any):
        module, name = path.rsplit(".", 1)
        self.model = getattr(importlib.import_module(module), name)(**options)
        self.queries, self.dtype = queries, np.float32 if single else np.float64

    def prepare(self, X: np.ndarray, y: np.ndarray) -> None:
        self.X, self.Q = X.astype(self.dtype), queries(X.shape[1], self.queries).astype(self.dtype)

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Search":
        self.answer_ = {"rows": self.model.fit(self.X).kneighbors(self.Q)[1]}
        return self


class Flat(Search):
    """faiss: all distances by products in float32."""

    def __init__(self, queries: int, n_neighbors: int):
        import faiss

        faiss.omp_set_num_threads(2)
        self.faiss, self.queries, self.dtype, self.k = faiss, queries, np.float32, n_neighbors

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Flat":
        index = self.faiss.IndexFlatL2(X.shape[1])
        index.add(self.X)
        self.answer_ = {"rows": index.search(self.Q, self.k)[1]}
        return self
