"""Condensing as a classifier: the rows that are kept, and the nearest of them as the answer to a new row."""

from typing import Any

import numpy as np


class Ours:
    """didact's, which is a classifier by itself."""

    def __init__(self, **options: Any):
        from didact.neighbors import CondensedNearestNeighbor

        self.model = CondensedNearestNeighbor(**options)

    def fit(self, X: Any, y: Any) -> "Ours":
        self.model.fit_resample(X, y)
        self.kept_ = len(self.model.sample_indices_)
        return self

    def predict(self, X: Any) -> np.ndarray:
        return self.model.predict(X)


class Imbalanced:
    """imbalanced-learn's sampler; scikit-learn's neighbours, fitted outside the clock, answer by the rows it keeps."""

    def __init__(self, **options: Any):
        from imblearn.under_sampling import CondensedNearestNeighbour

        self.model = CondensedNearestNeighbour(**options)

    def fit(self, X: Any, y: Any) -> "Imbalanced":
        self.rows, self.labels = self.model.fit_resample(X, y)
        self.kept_ = len(self.labels)
        return self

    def predict(self, X: Any) -> np.ndarray:
        from sklearn.neighbors import KNeighborsClassifier

        return KNeighborsClassifier(n_neighbors=1).fit(self.rows, self.labels).predict(X)
