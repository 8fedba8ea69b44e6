"""Embeddings: from the array to the coordinates."""

import importlib
from typing import Any

import numpy as np


class Embedding:
    """A class with scikit-learn's parameters."""

    def __init__(self, path: str, **options: Any):
        module, name = path.rsplit(".", 1)
        self.make, self.options = getattr(importlib.import_module(module), name), options

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Embedding":
        self.answer_ = {"embedding": self.make(**self.options).fit_transform(X)}
        return self
