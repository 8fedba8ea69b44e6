"""scipy.optimize.minimize on the functions that didact's is given."""

import os
from typing import Any

import numpy as np
from scipy import optimize
from threadpoolctl import threadpool_limits

from benchmarks import problems


class Minimizer:
    """A method of SciPy's with its options and, if given, a number of BLAS threads."""

    def __init__(self, method: str, threads: int | None = None, **options: Any):
        self.method, self.threads, self.options = method, threads, options

    def prepare(self, X: np.ndarray, y: np.ndarray) -> None:
        threadpool_limits(limits=self.threads or os.cpu_count())

    def minimize(self, function: Any, start: np.ndarray) -> Any:
        most = {"maxiter": 100_000} | ({"maxfun": 1_000_000} if self.method == "L-BFGS-B" else {})
        return optimize.minimize(function, start, method=self.method, jac=True, options=most | self.options)


class Rosenbrock(Minimizer):
    def fit(self, X: np.ndarray, y: np.ndarray) -> "Rosenbrock":
        result = self.minimize(problems.rosenbrock, X[:, 0])
        self.answer_ = {"x": result.x, "n_iter": result.nit, "evaluations": result.nfev}
        return self


class Logistic(Minimizer):
    def fit(self, X: np.ndarray, y: np.ndarray) -> "Logistic":
        result = self.minimize(problems.logistic(X, y), np.zeros(X.shape[1] + 1))
        self.coef_, self.intercept_, self.n_iter_ = result.x[:-1], result.x[-1], result.nit
        return self
