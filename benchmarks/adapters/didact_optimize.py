"""didact.optimize: what is a function rather than a model."""

from typing import Any

import numpy as np

from benchmarks import problems
from benchmarks.data import quadratic
from didact.optimize import minimize, quadratic_program


class Rosenbrock:
    def __init__(self, method: str, **options: Any):
        self.method, self.options = method, options

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Rosenbrock":
        result = minimize(problems.rosenbrock, X[:, 0], self.method, jac=True, **self.options)
        self.answer_ = {"x": result.x, "n_iter": result.n_iter, "evaluations": result.evaluations}
        return self


class Logistic:
    def __init__(self, method: str, **options: Any):
        self.method, self.options = method, options

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Logistic":
        result = minimize(problems.logistic(X, y), np.zeros(X.shape[1] + 1), self.method, jac=True, **self.options)
        self.coef_, self.intercept_, self.n_iter_ = result.x[:-1], result.x[-1], result.n_iter
        return self


class QuadraticProgram:
    def __init__(self, **options: Any):
        self.options = options

    def prepare(self, X: np.ndarray, y: np.ndarray) -> None:
        self.P, self.q = quadratic(X.shape[1])

    def fit(self, X: np.ndarray, y: np.ndarray) -> "QuadraticProgram":
        result = quadratic_program(self.P, self.q, G=X, h=y, **self.options)
        self.answer_ = {"x": result.x, "n_iter": result.n_iter}
        return self
