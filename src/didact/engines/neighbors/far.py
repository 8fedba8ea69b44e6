r"""Distances that overflow: rows so far apart (from 1e154 on) that squares of their differences are infinite.

Minkowski's distance of such pairs is recomputed as :math:`m(\sum_j (|a_j-b_j|/m)^p)^{1/p}` with m the largest of the
:math:`|a_j-b_j|`, in which no power overflows.
"""

from typing import Any

import numpy as np

from didact.core.errors import InputError
from didact.core.typing import Array
from didact.engines.neighbors.tables import dense_rows, tables
from didact.parts.distances import Chebyshev, Euclidean, Manhattan, Minkowski

POWER = {Chebyshev: np.inf, Euclidean: 2.0, Manhattan: 1.0}
NORMS = (*POWER, Minkowski)
OVERFLOWING = 1e300  # powers of distances above this may overflow
TOO_FAR = (
    "The distance of query {first} from one of its neighbours is larger than the largest number that a float holds: "
    "bring the columns to a common scale, or drop such rows."
)


def mend_nearest(noun: Any, rows: Any, Q: Any, skip: Array, best: Array, found: Array) -> None:
    """Recompute the lists of the queries that have an infinite distance among their k best."""
    if not isinstance(noun, NORMS):
        return
    for i in np.flatnonzero(np.isinf(best[:, -1])):
        d = far_distances(noun, rows, dense_rows(Q[i : i + 1]))
        if skip[i] >= 0:
            d[skip[i]] = np.nan  # sorts behind everything
        found[i] = np.argsort(d, kind="stable")[: best.shape[1]]
        best[i] = d[found[i]]


def reaches(noun: Any, radius: float) -> bool:
    """Whether powers of distances up to this radius can overflow."""
    return isinstance(noun, NORMS) and radius > OVERFLOWING ** (1.0 / min(max(_power(noun), 1.0), 1000.0))


def far_within(noun: Any, rows: Any, Q: Any, skip: Array, radius: float) -> list[tuple[Array, Array, Array]]:
    """For each query: the number of rows within the radius, their numbers and distances."""
    parts = []
    for i in range(Q.shape[0]):
        d = far_distances(noun, rows, dense_rows(Q[i : i + 1]))
        near = np.flatnonzero((d <= radius) & (np.arange(len(d)) != skip[i]))
        parts.append((np.array([len(near)]), near, d[near]))
    return parts


def far_distances(noun: Any, rows: Any, q: Array) -> Array:
    """The distances of one query from all rows."""
    d = np.concatenate([D[0] for _, D in tables(noun, q, rows)])
    far = np.flatnonzero(np.isinf(d))
    half = np.abs(0.5 * dense_rows(rows[far]).astype(np.float64) - 0.5 * q.astype(np.float64))
    largest = half.max(axis=1)
    p = _power(noun)
    with np.errstate(over="ignore"):
        d[far] = 2.0 * (largest * (((half / largest[:, None]) ** p).sum(axis=1) ** (1.0 / p) if p < np.inf else 1.0))
    return d


def _power(noun: Any) -> float:
    return float(noun.p) if isinstance(noun, Minkowski) else POWER[type(noun)]


def refuse_infinite_distances(noun: Any, d: Array, query: Array) -> None:
    """Refuse infinite distances under a norm (in a given table they may be meant); `query` holds the query of each."""
    if isinstance(noun, NORMS) and np.isinf(d).any():
        raise InputError(TOO_FAR.format(first=query[np.flatnonzero(np.isinf(d.ravel()))[0]]))
