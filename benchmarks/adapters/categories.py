"""Models that are told which columns, by number, are categories: each library in its own way."""

import importlib
from typing import Any


def model(path: str, categorical: list[int], columns: int, **options: Any) -> Any:
    """The class of this full name; where it knows no categories, their codes are numbers to it."""
    module, name = path.rsplit(".", 1)
    cls = getattr(importlib.import_module(module), name)
    if module == "lightgbm":
        return Told(cls(**options), categorical)
    if module == "xgboost":
        types = ["c" if j in categorical else "q" for j in range(columns)]
        return cls(feature_types=types, enable_categorical=True, **options)
    if categorical and "categorical_features" in cls().get_params():
        options["categorical_features"] = categorical
    return cls(**options)


class Told:
    """A model of LightGBM's, which hears of categories when it fits."""

    def __init__(self, model: Any, categorical: list[int]):
        self.model, self.categorical = model, categorical
        self.predict, self.predict_proba = model.predict, getattr(model, "predict_proba", None)

    def fit(self, X: Any, y: Any) -> "Told":
        self.model.fit(X, y, categorical_feature=self.categorical or "auto")
        return self
