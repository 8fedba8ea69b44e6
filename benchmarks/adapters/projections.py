"""Principal components, with the share of the variance that they explain as the answer."""

import importlib
from typing import Any


class Components:
    """PCA with a number of axes, else at its defaults."""

    def __init__(self, path: str, components: int) -> None:
        module, name = path.rsplit(".", 1)
        self.model = getattr(importlib.import_module(module), name)(components, random_state=0)

    def fit(self, X: Any, y: Any) -> None:
        self.model.fit(X)

    @property
    def answer_(self) -> dict[str, float]:
        return {"score": float(self.model.explained_variance_ratio_.sum())}
