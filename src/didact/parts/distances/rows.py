"""Distances that need both rows as a whole: on sets, abundances, a sphere, and between rows of mixed columns."""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from didact.core.typing import Array
from didact.parts.distances.columns import Distance
from didact.parts.noun import Plain

FARTHEST = 1e150  # farther than any row, but with a finite square, so that weights by distance stay finite


class BrayCurtis(Distance, Plain):
    """Σ|a − b|/Σ(|a| + |b|); not a metric.

    >>> BrayCurtis().between1([1.0, 0.0], [3.0, 0.0])
    0.5
    """

    __slots__ = ()
    metric = False

    def between1(self, a: Any, b: Any) -> float:
        """The distance of two rows; 0 for two rows of zeros."""
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
    """1 − |A ∩ B|/|A ∪ B| for the sets A and B of columns that are not zero; 0 for two rows of zeros.

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


BINARY = ("dice", "rogerstanimoto", "russellrao", "sokalmichener", "sokalsneath", "yule")


class Binary(Distance, NamedTuple("Binary", [("kind", int)])):
    """A distance between rows as sets of columns that are not zero, from the sizes of intersection and differences.

    With t columns in both sets, f only in the first, s only in the second, o in neither, and d = f + s, the kinds are,
    in the order of `BINARY`: d/(2t + d); 2d/(t + o + 2d); 1 − t/p; again 2d/(t + o + 2d); 2d/(t + 2d); 2fs/(to + fs).
    0/0 counts as 0.

    >>> round(Binary(BINARY.index("dice")).between1([1, 1, 0, 0], [1, 0, 1, 0]), 4)
    0.5
    """

    __slots__ = ()
    metric = False

    def between1(self, a: Any, b: Any) -> float:
        """The distance of two rows."""
        both = 0.0
        first = 0.0
        second = 0.0
        for j in range(len(a)):
            if a[j] != 0.0 and b[j] != 0.0:
                both += 1.0
            elif a[j] != 0.0:
                first += 1.0
            elif b[j] != 0.0:
                second += 1.0
        apart = first + second
        # Plain branches, as compiled loops cannot index a tuple of formulas; the order is that of `BINARY`.
        if self.kind == 0:
            top, below = apart, 2.0 * both + apart
        elif self.kind == 2:
            top, below = len(a) - both, 1.0 * len(a)
        elif self.kind == 4:
            top, below = 2.0 * apart, both + 2.0 * apart
        elif self.kind == 5:
            top = 2.0 * first * second
            below = both * (len(a) - both - apart) + first * second
        else:
            top, below = 2.0 * apart, len(a) + apart
        return top / below if top > 0.0 else 0.0

    def pairwise(self, X: Array, Y: Array) -> Array:
        """All distances."""
        A, B = (np.asarray(rows != 0, np.float64) for rows in (X, Y))
        both, p = A @ B.T, X.shape[1]
        first, second = A.sum(axis=1)[:, None] - both, B.sum(axis=1) - both
        apart = first + second
        top, below = (
            (apart, 2 * both + apart),
            (2 * apart, p + apart),
            (p - both, np.full_like(both, p)),
            (2 * apart, p + apart),
            (2 * apart, both + 2 * apart),
            (2 * first * second, both * (p - both - apart) + first * second),
        )[self.kind]
        return np.divide(top, below, out=np.zeros_like(both), where=top > 0)


class NanEuclidean(Distance, Plain):
    """√(p/c Σ(a − b)²) over the c columns known in both rows; `FARTHEST` for rows that share none. Not a metric.

    >>> NanEuclidean().between1([0.0, 0.0, math.nan, 0.0], [1.0, 1.0, 3.0, 1.0])
    2.0
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
                known += 1.0
                total += (a[j] - b[j]) * (a[j] - b[j])
        return math.sqrt(total * (len(a) / known)) if known > 0.0 else FARTHEST

    def pairwise(self, X: Array, Y: Array) -> Array:
        """All distances, column by column."""
        X, Y = np.asarray(X, np.float64), np.asarray(Y, np.float64)
        total, known = np.zeros((len(X), len(Y))), np.zeros((len(X), len(Y)))
        for a, b in zip(X.T, Y.T, strict=True):
            apart = a[:, None] - b
            known += ~np.isnan(apart)
            total += np.nan_to_num(apart, nan=0.0) ** 2
        share = np.divide(X.shape[1], known, out=np.zeros_like(known), where=known > 0)
        return np.where(known > 0, np.sqrt(total * share), FARTHEST)


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
    """The weighted mean, over the columns known in both rows, of min(|a − b|/range, 1), or of [a ≠ b] for categories.

    `scale` is 1/range, or 0 for a constant column. Rows that share no known column have distance 1. With missing values
    it is not a metric (doi:10.2307/2528823).

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
