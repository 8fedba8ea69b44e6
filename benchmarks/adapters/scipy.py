"""scipy.optimize.minimize on the functions that didact's is given."""

from typing import Any

import numpy as np
from scipy import optimize

from benchmarks import problems


def minimize(function: Any, start: np.ndarray, method: str, options: dict[str, Any]) -> Any:
    most = {"maxiter": 100_000} | ({"maxfun": 1_000_000} if method == "L-BFGS-B" else {})
    return optimize.minimize(function, start, method=method, jac=True, options=most | options)


class Rosenbrock:
    def __init__(self, method: str, **options: Any):
        self.method, self.options = method, options

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Rosenbrock":
        result = minimize(problems.rosenbrock, X[:, 0], self.method, self.options)
        self.answer_ = {"x": result.x, "n_iter": result.nit, "evaluations": result.nfev}
        return self


class Logistic:
    def __init__(self, method: str, **options: Any):
        self.method, self.options = method, options

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Logistic":
        result = minimize(problems.logistic(X, y), np.zeros(X.shape[1] + 1), self.method, self.options)
        self.coef_, self.intercept_, self.n_iter_ = result.x[:-1], result.x[-1], result.nit
        return self
