"""Mixtures and factors from the same start, with the mean log-likelihood of the rows as the answer."""

import importlib
from typing import Any

import numpy as np


class Mixture:
    """A Gaussian mixture that begins with given rows as means, unit covariances and equal shares."""

    def __init__(self, path: str, components: int, steps: int) -> None:
        module, name = path.rsplit(".", 1)
        self.cls, self.components, self.steps = getattr(importlib.import_module(module), name), components, steps

    def prepare(self, X: Any, y: Any) -> None:
        K, p = self.components, X.shape[1]
        means = X[np.random.default_rng(0).choice(len(X), K, replace=False)]
        start = {"means_init": means, "precisions_init": np.stack([np.eye(p)] * K), "weights_init": np.full(K, 1 / K)}
        how = {"init_params": "random_from_data", "tol": 0.0, "max_iter": self.steps, "random_state": 0}
        self.model, self.rows = self.cls(K, **start, **how), X[:50_000]

    def fit(self, X: Any, y: Any) -> None:
        self.model.fit(X)

    @property
    def answer_(self) -> dict[str, float]:
        return {"score": float(self.model.score(self.rows))}


class Pomegranate(Mixture):
    """The same in pomegranate, on tensors, with as many threads as everybody has."""

    def __init__(self, components: int, steps: int) -> None:
        import torch
        from pomegranate.distributions import Normal
        from pomegranate.gmm import GeneralMixtureModel

        torch.set_num_threads(2)
        self.normal, self.cls, self.tensor = Normal, GeneralMixtureModel, torch.tensor
        self.components, self.steps = components, steps

    def prepare(self, X: Any, y: Any) -> None:
        K, unit = self.components, self.tensor(np.eye(X.shape[1]))
        means = self.tensor(X[np.random.default_rng(0).choice(len(X), K, replace=False)])
        normals = [self.normal(mean, unit.clone(), covariance_type="full") for mean in means]
        priors = self.tensor(np.full(K, 1 / K))
        self.model = self.cls(normals, priors=priors, tol=0.0, max_iter=self.steps)
        self.rows, self.table = self.tensor(X[:50_000]), self.tensor(X)

    def fit(self, X: Any, y: Any) -> None:
        self.model.fit(self.table)

    @property
    def answer_(self) -> dict[str, float]:
        return {"score": float(self.model.log_probability(self.rows).mean())}


class Factors:
    """Factor analysis at its defaults."""

    def __init__(self, path: str, components: int) -> None:
        module, name = path.rsplit(".", 1)
        self.model = getattr(importlib.import_module(module), name)(components)

    def fit(self, X: Any, y: Any) -> None:
        self.model.fit(X)
        self.rows = X[:50_000]

    @property
    def answer_(self) -> dict[str, float]:
        return {"score": float(self.model.score(self.rows))}
