"""Distances between rows of numbers: the array form, and scalar forms for compiled loops.

`pairwise(X, Y)` is the table of all distances, `between1(a, b)` the distance of two rows. A `coordinatewise` distance
is `expand1(total)`, where `step1(total, a, b, j)` accumulates the total column by column. The total never decreases as
b moves away from a, which is what a k-d tree needs. `reduce1(d)` is the inverse of `expand1`, rounded up. A ball tree
needs a `metric`, for which the triangle inequality holds.
"""

import math
from typing import Any, ClassVar, NamedTuple, Self

from scipy.spatial.distance import cdist

from didact.core.typing import Array
from didact.parts.noun import Noun, Plain, require

ROUND = 1.0 + 1e-15  # a factor above the rounding error of a root or a quotient


class Distance(Noun):
    """How far apart two rows are. The class attributes and methods here are the defaults."""

    __slots__ = ()
    metric: ClassVar[bool] = True
    coordinatewise: ClassVar[bool] = False
    compiled: ClassVar[bool] = True  # whether it has scalar forms
    missing: ClassVar[bool] = False  # whether it handles NaN

    @property
    def inner(self) -> Any:
        """The distance that loops compute, between transformed rows."""
        return self

    def rows(self, X: Any) -> Any:
        """The rows whose inner distance, after `finish`, is this distance."""
        return X

    def finish(self, d: Any) -> Any:
        """This distance as an increasing function of the inner one."""
        return d

    def start(self, d: float) -> float:
        """The inner distance that `finish` turns into d."""
        return d

    def expand1(self, total: float) -> float:
        """The total itself."""
        return total

    def reduce1(self, d: float) -> float:
        """The distance itself."""
        return d

    def pairwise(self, X: Array, Y: Array) -> Array:
        """The distances of all rows of X to all rows of Y (m, n), in float64."""
        raise NotImplementedError


class Euclidean(Distance, Plain):
    """√Σ(a − b)².

    >>> Euclidean().between1([0.0, 0.0], [3.0, 4.0])
    5.0
    """

    __slots__ = ()
    coordinatewise = True

    def step1(self, total: float, a: float, b: float, j: int) -> float:
        """Add (a − b)²."""
        return total + (a - b) * (a - b)

    def between1(self, a: Any, b: Any) -> float:
        """The distance of two rows."""
        total = 0.0
        for j in range(len(a)):
            total += (a[j] - b[j]) * (a[j] - b[j])
        return math.sqrt(total)

    def expand1(self, total: float) -> float:
        """The root."""
        return math.sqrt(total)

    def reduce1(self, d: float) -> float:
        """The square."""
        return d * d * ROUND

    def pairwise(self, X: Array, Y: Array) -> Array:
        """All distances, from differences, as products would lose digits by cancellation."""
        return cdist(X, Y)


class Manhattan(Distance, Plain):
    """Σ|a − b|.

    >>> Manhattan().between1([0.0, 0.0], [3.0, 4.0])
    7.0
    """

    __slots__ = ()
    coordinatewise = True

    def step1(self, total: float, a: float, b: float, j: int) -> float:
        """Add |a − b|."""
        return total + abs(a - b)

    def between1(self, a: Any, b: Any) -> float:
        """The distance of two rows."""
        total = 0.0
        for j in range(len(a)):
            total += abs(a[j] - b[j])
        return total

    def pairwise(self, X: Array, Y: Array) -> Array:
        """All distances."""
        return cdist(X, Y, "cityblock")


class Chebyshev(Distance, Plain):
    """max|a − b|.

    >>> Chebyshev().between1([0.0, 0.0], [3.0, 4.0])
    4.0
    """

    __slots__ = ()
    coordinatewise = True

    def step1(self, total: float, a: float, b: float, j: int) -> float:
        """The larger of the total and |a − b|."""
        return max(total, abs(a - b))

    def between1(self, a: Any, b: Any) -> float:
        """The distance of two rows."""
        total = 0.0
        for j in range(len(a)):
            total = max(total, abs(a[j] - b[j]))
        return total

    def pairwise(self, X: Array, Y: Array) -> Array:
        """All distances."""
        return cdist(X, Y, "chebyshev")


class Minkowski(Distance, NamedTuple("Minkowski", [("p", float)])):
    """(Σ|a − b|ᵖ)^(1/p) for p > 0; not a metric for p < 1, but a k-d tree works there, too.

    >>> round(Minkowski(3.0).between1([0.0, 0.0], [3.0, 4.0]), 4)
    4.4979
    """

    __slots__ = ()
    coordinatewise = True

    def __new__(cls, p: float = 2.0) -> Self:
        """Check the exponent."""
        require(0 < p < math.inf, f"Minkowski's p is a positive number (inf: Chebyshev), not {p!r}.")
        return super().__new__(cls, float(p))

    @property
    def metric(self) -> bool:  # type: ignore[override]
        """Whether the triangle inequality holds: for p ≥ 1."""
        return self.p >= 1

    def step1(self, total: float, a: float, b: float, j: int) -> float:
        """Add |a − b|ᵖ."""
        return total + abs(a - b) ** self.p

    def between1(self, a: Any, b: Any) -> float:
        """The distance of two rows."""
        total = 0.0
        for j in range(len(a)):
            total += abs(a[j] - b[j]) ** self.p
        return total ** (1.0 / self.p)

    def expand1(self, total: float) -> float:
        """The p-th root."""
        return float(total ** (1.0 / self.p))

    def reduce1(self, d: float) -> float:
        """The p-th power, rounded up generously, as powers are less accurate than roots."""
        return float(d**self.p * (1.0 + (1.0 + self.p) * 1e-14))

    def pairwise(self, X: Array, Y: Array) -> Array:
        """All distances."""
        return cdist(X, Y, "minkowski", p=self.p)


class Hamming(Distance, NamedTuple("Hamming", [("weights", Any), ("whole", float)])):
    """The (weighted) share of columns in which two rows differ; `whole` is the sum of the weights.

    >>> import numpy as np
    >>> float(Hamming(np.ones(4), 4.0).between1([1, 2, 3, 4], [1, 2, 0, 4]))
    0.25
    """

    __slots__ = ()
    coordinatewise = True

    def step1(self, total: float, a: float, b: float, j: int) -> float:
        """Add the column's weight if a and b differ."""
        return total + self.weights[j] if a != b else total

    def between1(self, a: Any, b: Any) -> float:
        """The distance of two rows."""
        total = 0.0
        for j in range(len(a)):
            if a[j] != b[j]:
                total += self.weights[j]
        return total / self.whole

    def expand1(self, total: float) -> float:
        """The total as a share of the sum of the weights."""
        return total / self.whole

    def reduce1(self, d: float) -> float:
        """The share d times the sum of the weights."""
        return d * self.whole * ROUND

    def pairwise(self, X: Array, Y: Array) -> Array:
        """All distances."""
        return cdist(X, Y, "hamming", w=self.weights)


class Canberra(Distance, Plain):
    """Σ|a − b|/(|a| + |b|), where 0/0 counts as 0.

    >>> Canberra().between1([1.0, 0.0], [3.0, 0.0])
    0.5
    """

    __slots__ = ()
    coordinatewise = True

    def step1(self, total: float, a: float, b: float, j: int) -> float:
        """Add |a − b|/(|a| + |b|)."""
        size = abs(a) + abs(b)
        return total + abs(a - b) / size if size > 0.0 else total

    def between1(self, a: Any, b: Any) -> float:
        """The distance of two rows."""
        total = 0.0
        for j in range(len(a)):
            size = abs(a[j]) + abs(b[j])
            if size > 0.0:
                total += abs(a[j] - b[j]) / size
        return total

    def reduce1(self, d: float) -> float:
        """The distance, rounded up for the rounding errors of the quotients."""
        return d * (1.0 + 1e-14)

    def pairwise(self, X: Array, Y: Array) -> Array:
        """All distances."""
        return cdist(X, Y, "canberra")
