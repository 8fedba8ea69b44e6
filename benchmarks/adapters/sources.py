"""Non-negative parts and independent sources from the same start; the answer says how good they are."""

import importlib
from typing import Any

import numpy as np


def found(path: str) -> Any:
    module, name = path.rsplit(".", 1)
    return getattr(importlib.import_module(module), name)


class Parts:
    """Non-negative factors at a number of iterations, with minus the relative error as the score."""

    def __init__(self, path: str, components: int, steps: int, **options: Any) -> None:
        self.model = found(path)(
            components, init="nndsvda", tol=0.0 if steps else 1e-4, max_iter=steps or 200, random_state=0, **options
        )

    def fit(self, X: Any, y: Any) -> None:
        self.model.fit(X)
        data = X if isinstance(X, np.ndarray) else X.data
        self.size = float(np.sqrt((data * data).sum()))

    @property
    def answer_(self) -> dict[str, float]:
        return {"score": -float(self.model.reconstruction_err_) / self.size}


class Sources:
    """Independent sources, with minus the mean of log cosh of sources of variance 1 as the score."""

    def __init__(self, path: str) -> None:
        self.path = path

    def prepare(self, X: Any, y: Any) -> None:
        self.start = np.random.default_rng(0).standard_normal((X.shape[1],) * 2)

    def fit(self, X: Any, y: Any) -> None:
        self.rows = X[:50_000]
        if self.path == "picard.picard":
            # Both rest where E[tanh(y)yᵀ] is symmetric; Picard measures that by its largest entry.
            K, W, _ = found(self.path)(X.T, ortho=True, w_init=np.linalg.qr(self.start)[0], tol=1e-3, max_iter=200)
            self.matrix = W @ K
        else:
            self.matrix = found(self.path)(w_init=self.start, tol=1e-4).fit(X).components_

    @property
    def answer_(self) -> dict[str, float]:
        S = (self.rows - self.rows.mean(axis=0)) @ self.matrix.T
        S = np.abs(S / S.std(axis=0))
        return {"score": -float((S + np.log1p(np.exp(-2 * S)) - np.log(2)).mean())}
