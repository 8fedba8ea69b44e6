"""Kernel densities and smoothers that are asked at given places: growing the tree, if any, and asking are timed."""

import importlib
from typing import Any

import numpy as np

from benchmarks.data import places


class Density:
    """scikit-learn's and didact's KernelDensity, by full name: log densities at places that are not among the rows."""

    def __init__(self, path: str, queries: int, **options: Any):
        module, name = path.rsplit(".", 1)
        self.model = getattr(importlib.import_module(module), name)(**options)
        self.queries = queries

    def prepare(self, X: np.ndarray, y: np.ndarray) -> None:
        self.Q = places(self.queries, X.shape[1])

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Density":
        self.answer_ = {"log_density": self.model.fit(X).score_samples(self.Q)}
        return self


class Smoother:
    """didact's leave-one-out errors of the local mean, for all bandwidths."""

    def __init__(self, grid: list[float]):
        self.grid = grid

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Smoother":
        from didact.neighbors import KernelSmoother

        self.answer_ = {"values": KernelSmoother(bandwidth="cv", grid=self.grid).fit(X, y).cv_errors_}
        return self


class KernelReg:
    """statsmodels' own leave-one-out function of its local constant regression, called with each bandwidth."""

    def __init__(self, grid: list[float]):
        self.grid = grid

    def fit(self, X: np.ndarray, y: np.ndarray) -> "KernelReg":
        from statsmodels.nonparametric.kernel_regression import KernelReg as Peer

        p = X.shape[1]
        peer = Peer(y, X, "c" * p, reg_type="lc", bw=[self.grid[0]] * p, rng=0)
        self.answer_ = {"values": [float(np.ravel(peer.cv_loo(np.full(p, h), peer.est["lc"]))[0]) for h in self.grid]}
        return self
