"""Kernels by the names and parameters of scikit-learn's `pairwise_kernels`."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from didact.core.backend import is_tensor, to_numpy
from didact.core.errors import InputError
from didact.core.typing import AnyArray, Array
from didact.kernels import RBF, Constant, Kernel, Laplacian, Linear, Polynomial, Sigmoid
from didact.kernels.foreign import checked_values
from didact.kernels.radial import width_of_gamma

PAIRWISE_NAMES = (*sorted(PAIRWISE_KERNEL_FUNCTIONS), "precomputed")


class PairFunction(NamedTuple):
    """scikit-learn's kernel of a name, or a user's function, of two single rows or of two sets of rows."""

    metric: Any
    params: dict[str, Any]

    def __call__(self, A: AnyArray, X: AnyArray) -> Array:
        """All values."""
        A, X = (to_numpy(M) if is_tensor(M) else M for M in (A, X))
        try:
            return self._values(A, X)
        except (IndexError, TypeError, ValueError) as error:
            if not callable(self.metric):
                raise
            found = self._of_sets(A, X, error)
        n, m = A.shape[0], X.shape[0]
        if np.shape(found) != (n, m):
            raise InputError(
                f"The kernel function returned shape {np.shape(found)} for {n} and {m} rows: it has to return a number "
                f"for two rows, or a matrix ({n}, {m}) for two sets of rows."
            )
        return np.asarray(checked_values(found, n, m))

    def _of_sets(self, A: AnyArray, X: AnyArray, error: Exception) -> Any:
        """What a function returns that is none of two single rows."""
        try:
            return self.metric(A, X, **self.params)
        except Exception:
            raise error from None

    def _values(self, A: AnyArray, X: AnyArray) -> Array:
        if A.dtype.kind == "U":
            found = np.empty((len(A), len(X)))
            for row, a in zip(found, A, strict=True):
                row[:] = [self.metric(a, x, **self.params) for x in X]
            return found
        how = {"filter_params": True} if isinstance(self.metric, str) else {}
        return np.asarray(pairwise_kernels(A, X, metric=self.metric, **how, **self.params))


class GivenColumns(NamedTuple):
    """Values of a precomputed kernel with some of the fitted rows: their columns."""

    numbers: Array

    def __call__(self, A: AnyArray, X: AnyArray) -> AnyArray:
        """The columns."""
        return A[:, self.numbers.tolist()] if is_tensor(A) else A[:, self.numbers]


def pairwise_kernel(kernel: Any, gamma: float | None, degree: float, coef0: float, more: Any, p: int) -> Any:
    """The kernel that scikit-learn's parameters name."""
    if isinstance(kernel, Kernel) or kernel == "precomputed":
        return kernel
    if callable(kernel):
        return PairFunction(kernel, more or {})
    g = 1.0 / p if gamma is None else gamma
    if kernel == "linear":
        return Linear()
    if kernel in ("rbf", "laplacian"):
        return Constant() if g == 0 else RBF(width_of_gamma(g)) if kernel == "rbf" else Laplacian(1.0 / g)
    if kernel in ("poly", "polynomial") and degree == int(degree):
        return Polynomial(int(degree), g, coef0)
    if kernel == "sigmoid":
        return Sigmoid(g, coef0)
    own = {} if gamma is None else {"gamma": gamma}  # None: scikit-learn's default for the kernel, which may be another
    return PairFunction(kernel, {**own, "degree": degree, "coef0": coef0})
