"""Distances of rows so small that powers of their differences vanish: in units in which they do not.

Distances that overflow are mended pair by pair (`engines/neighbors/far`), but not those of rows with missing values.

Euclidean and Minkowski's distances grow in proportion to the rows. A power of two rounds nothing, so that the distances
in units are exactly those of larger rows.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from didact.parts.distances.columns import Euclidean, Minkowski
from didact.parts.distances.mapped import _Mapped
from didact.parts.distances.rows import NanEuclidean

SMALL_POWER = 1e-200  # of rows of such a size those of small differences begin to vanish
MOST_SQUARED = 1e150  # with squares that can be added
LARGEST_UNIT = 1000  # exponent of two: distances in units stay finite


class Resized(_Mapped, NamedTuple("Resized", [("of", Any), ("unit", float)])):
    """A distance in proportion to the rows, found between rows multiplied by a power of two.

    >>> small = np.array([[0.0, 0.0], [3.0, 4.0]]) * 2.0**-700
    >>> Resized(Euclidean(), 2.0**700).pairwise(small, small)[0] * 2.0**700
    array([0., 5.])
    """

    __slots__ = ()

    @property
    def inner(self) -> Any:
        """The distance between rows in units."""
        return self.of.inner

    def rows(self, X: Any) -> Any:
        """The rows in units."""
        return self.of.rows(X) * self.unit

    def finish(self, d: Any) -> Any:
        """The `finish` of the distance out of units."""
        return self.of.finish(d / self.unit)

    def start(self, d: float) -> float:
        """The `start` of the distance, in units."""
        return float(self.of.start(d)) * self.unit


def resized(distance: Any, *tables: Any) -> Any:
    """A distance between such rows as in the tables: in units if powers of their differences would vanish.

    >>> resized(Euclidean(), np.ones((2, 2)))
    Euclidean()
    >>> resized(Euclidean(), np.full((2, 2), 2.0**-700)).unit == 2.0**699
    True
    """
    inner = distance.inner
    if not isinstance(inner, (Euclidean, Minkowski, NanEuclidean)):
        return distance
    small = SMALL_POWER ** (1.0 / max(getattr(inner, "p", 2.0), 1.0))
    # One row of usual size is enough: there is no pass over the others.
    if not isinstance(inner, NanEuclidean) and any(_largest(distance.rows(rows[:1])) > small for rows in tables):
        return distance
    size = max(_largest(distance.rows(rows)) for rows in tables)
    wide = isinstance(inner, NanEuclidean) and MOST_SQUARED < size < np.inf
    if (size > small and not wide) or size == 0.0:
        return distance
    return Resized(distance, 2.0 ** min(-int(np.frexp(size)[1]), LARGEST_UNIT))


def _largest(X: Any) -> float:
    """The largest absolute value; missing ones do not count."""
    values = X.data if sp.issparse(X) else X
    return float(max(np.fmax.reduce(values, axis=None, initial=0.0), -np.fmin.reduce(values, axis=None, initial=0.0)))
