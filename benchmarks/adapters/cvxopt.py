"""cvxopt: the interior-point method, on matrices of its own kind."""

from typing import Any

import numpy as np
from cvxopt import matrix, solvers

from benchmarks.data import quadratic


class QuadraticProgram:
    def __init__(self, tol: float | None = None):
        same = {} if tol is None else {"abstol": tol, "reltol": tol, "feastol": tol}
        self.options: dict[str, Any] = {"show_progress": False} | same

    def prepare(self, X: np.ndarray, y: np.ndarray) -> None:
        self.matrices = [matrix(part) for part in (*quadratic(X.shape[1]), X, y)]

    def fit(self, X: np.ndarray, y: np.ndarray) -> "QuadraticProgram":
        result = solvers.qp(*self.matrices, options=self.options)
        self.answer_ = {"x": np.ravel(result["x"]), "n_iter": result["iterations"]}
        return self
