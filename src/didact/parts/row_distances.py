"""Distances that need both rows as a whole: on sets, abundances, a sphere, and between rows of mixed columns."""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from didact.parts.column_distances import Distance
from didact.parts.noun import Plain

Array = np.ndarray[Any, Any]


class BrayCurtis(Distance, Plain):
    """Σ|a − b|/Σ(|a| + |b|); no metric.

    >>> BrayCurtis().between1([1.0, 0.0], [3.0, 0.0])
    0.5
    """

    __slots__ = ()
    metric = False

    def between1(self, a: Any, b: Any) -> float:
        """The distance of two rows; 0 of two rows of zeros."""
        apart = 0.0
        size = 0.0
        for j in range(len(a)):
            apart += abs(a[j] - b[j])
            size += abs(a[j]) + abs(b[j])
        return apart / size if size > 0.0 else 0.0

    def pairwise(self, X: Array, Y: Array) -> Array:
        """All distances."""
        apart = cdist(X, Y, "cityblock")
        size = np.abs(X).sum(axis=1, dtype=np.float64)[:, None] + np.abs(Y).sum(axis=1, dtype=np.float64)
        return np.divide(apart, size, out=np.zeros_like(apart), where=size > 0)


class Jaccard(Distance, Plain):
    """One less shared over all columns that are not zero: 1 − |A ∩ B|/|A ∪ B|; 0 of two empty rows.

    >>> round(Jaccard().between1([1, 1, 0, 0], [1, 0, 1, 0]), 4)
    0.6667
    """

    __slots__ = ()

    def between1(self, a: Any, b: Any) -> float:
        """The distance of two rows."""
        apart = 0.0
        either = 0.0
        for j in range(len(a)):
            if a[j] != 0.0 or b[j] != 0.0:
                either += 1.0
                if a[j] == 0.0 or b[j] == 0.0:
                    apart += 1.0
        return apart / either if either > 0.0 else 0.0

    def pairwise(self, X: Array, Y: Array) -> Array:
        """All distances."""
        return cdist(np.asarray(X) != 0, np.asarray(Y) != 0, "jaccard")


class Haversine(Distance, Plain):
    """The angle between two places on a sphere, each given as latitude and longitude in radians.

    >>> round(Haversine().between1([0.0, 0.0], [0.0, math.pi / 2]), 6)
    1.570796
    """

    __slots__ = ()

    def between1(self, a: Any, b: Any) -> float:
        """The distance of two rows."""
        up = math.sin(0.5 * (a[0] - b[0]))
        along = math.sin(0.5 * (a[1] - b[1]))
        half = up * up + math.cos(a[0]) * math.cos(b[0]) * along * along
        return 2.0 * math.asin(min(1.0, math.sqrt(half)))

    def pairwise(self, X: Array, Y: Array) -> Array:
        """All distances."""
        X, Y = np.asarray(X, np.float64), np.asarray(Y, np.float64)
        up = np.sin(0.5 * (X[:, None, 0] - Y[None, :, 0]))
        along = np.sin(0.5 * (X[:, None, 1] - Y[None, :, 1]))
        half = up * up + np.cos(X[:, None, 0]) * np.cos(Y[None, :, 0]) * along * along
        return 2.0 * np.arcsin(np.minimum(1.0, np.sqrt(half)))


class Gower(Distance, NamedTuple("Gower", [("scale", Any), ("categorical", Any), ("weights", Any)])):
    """The weighted mean over the columns known in both rows of |a − b|/range, at most 1, or of a ≠ b for categories.

    `scale` is 1/range, or 0 for a constant column. Rows that share no known column are at distance 1. With missing
    values it is no metric (doi:10.2307/2528823).

    >>> float(Gower(np.array([0.5, 0.0]), np.array([False, True]), np.ones(2)).between1([1.0, 2.0], [2.0, 2.0]))
    0.25
    """

    __slots__ = ()
    metric = False
    missing = True

    def between1(self, a: Any, b: Any) -> float:
        """The distance of two rows."""
        total = 0.0
        known = 0.0
        for j in range(len(a)):
            if a[j] == a[j] and b[j] == b[j]:
                known += self.weights[j]
                if self.categorical[j]:
                    if a[j] != b[j]:
                        total += self.weights[j]
                else:
                    total += self.weights[j] * min(1.0, abs(a[j] - b[j]) * self.scale[j])
        return total / known if known > 0.0 else 1.0

    def pairwise(self, X: Array, Y: Array) -> Array:
        """All distances, column by column."""
        X, Y = np.asarray(X, np.float64), np.asarray(Y, np.float64)
        total, known = np.zeros((len(X), len(Y))), np.zeros((len(X), len(Y)))
        for j, w in enumerate(self.weights):
            a, b = X[:, None, j], Y[None, :, j]
            here = ~(np.isnan(a) | np.isnan(b))
            apart = (a != b) if self.categorical[j] else np.minimum(1.0, np.abs(a - b) * self.scale[j])
            known += w * here
            total += w * np.where(here, apart, 0.0)
        return np.divide(total, known, out=np.ones_like(total), where=known > 0)
