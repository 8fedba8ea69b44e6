"""Distances computed in Python, a table at a time: a user's function, a kernel's feature space, a given table."""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from didact.core.typing import Array
from didact.parts.distances.columns import Distance
from didact.parts.noun import Plain


class UserMetric(Distance, NamedTuple("UserMetric", [("function", Any), ("arguments", Any)])):
    """A function of two rows; one compiled by Numba is called in loops, any other is called pair by pair in Python.

    >>> UserMetric(lambda a, b: abs(a - b).max(), {}).pairwise(np.zeros((1, 2)), np.array([[3.0, 4.0]]))
    array([[4.]])
    """

    __slots__ = ()
    compiled: ClassVar[bool] = False
    metric = False  # not known to satisfy the triangle inequality

    @property
    def inner(self) -> Any:
        """The function itself if loops can call it."""
        return self.function if hasattr(self.function, "py_func") and not self.arguments else self

    def pairwise(self, X: Array, Y: Array) -> Array:
        """All distances, one call each."""
        call = self.function
        return np.array([[call(x, y, **self.arguments) for y in Y] for x in X], np.float64).reshape(len(X), len(Y))


class KernelDistance(Distance, NamedTuple("KernelDistance", [("kernel", Any), ("arguments", Any)])):
    """√(k(a, a) − 2k(a, b) + k(b, b)), the distance between images under a kernel's feature map.

    The kernel is one of `names()` (linear, polynomial, rbf, laplacian, sigmoid, cosine, …) or a function of two tables
    that returns the table of products; `arguments` are passed to it.

    >>> KernelDistance("linear", {}).pairwise(np.zeros((1, 2)), np.array([[3.0, 4.0]]))
    array([[5.]])
    """

    __slots__ = ()
    compiled: ClassVar[bool] = False
    BLOCK: ClassVar[int] = 64

    @staticmethod
    def names() -> list[str]:
        """The kernels that have a name."""
        from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

        return sorted(PAIRWISE_KERNEL_FUNCTIONS)

    def products(self, X: Array, Y: Array) -> Array:
        """k(x, y) for all pairs."""
        if callable(self.kernel):
            return np.asarray(self.kernel(X, Y, **self.arguments), np.float64)
        from sklearn.metrics.pairwise import pairwise_kernels

        return np.asarray(pairwise_kernels(X, Y, metric=self.kernel, **self.arguments), np.float64)

    def squares(self, X: Array) -> Array:
        """k(x, x) for each row, as the diagonals of kernel blocks."""
        parts = [np.diag(self.products(B, B)) for B in (X[a : a + self.BLOCK] for a in range(0, len(X), self.BLOCK))]
        return np.concatenate([np.empty(0), *parts])

    def pairwise(self, X: Array, Y: Array) -> Array:
        """All distances."""
        square = self.squares(X)[:, None] - 2.0 * self.products(X, Y) + self.squares(Y)[None, :]
        return np.sqrt(np.maximum(square, 0.0))


class Precomputed(Distance, Plain):
    """Distances given by the user: the rows of X are the distances of each query to the indexed rows.

    >>> Precomputed().compiled
    False
    """

    __slots__ = ()
    compiled: ClassVar[bool] = False
    metric = False

    def pairwise(self, X: Array, Y: Array) -> Array:
        """X itself: the given table of distances."""
        return np.asarray(X, np.float64)
