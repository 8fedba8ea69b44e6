r"""Predictions from neighbours: votes for their classes, or a mean of their values, weighted by distance.

.. math:: P(c\mid x) = \frac{\sum_i w(d_i)\,m_i\,[y_i=c]}{\sum_i w(d_i)\,m_i},
    \qquad \hat y(x) = \frac{\sum_i w(d_i)\,m_i\,y_i}{\sum_i w(d_i)\,m_i}

Neighbours of all queries come in one flat list, query after query (CSR); m is the sample weight of a fitted row.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from didact.core.errors import InputError, ParameterError
from didact.core.parameters import above, is_callable, none, one_of, param
from didact.core.typing import Array


def weights_param() -> Any:
    """The parameter `weights`."""
    doc = "Weights of neighbours: equal, 1/d, exp(−d²/2h²) with h = bandwidth, or a function of an array of distances."
    return param("uniform", [one_of("uniform", "distance", "gaussian"), is_callable, none], doc)


def bandwidth_param() -> Any:
    """The parameter `bandwidth`."""
    doc = "Width h of Gaussian weights; None: half of the distance of the farthest neighbour, or half of the radius."
    return param(None, [above(0), none], doc)


class Neighbors(NamedTuple):
    """Neighbours of queries: those of query q are rows[indptr[q]:indptr[q + 1]]; `mass` holds their sample weights."""

    indptr: Array
    rows: Array
    distances: Array
    mass: Array | None = None

    @property
    def query(self) -> Array:
        """The number of the query of each neighbour."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))


class Weighing(NamedTuple):
    """The weight of a neighbour by its distance: a name or a function, and the bandwidth of the Gaussian.

    Without a bandwidth it is half of `reach`, the radius, or half of the distance of the farthest neighbour.
    """

    weights: Any = "uniform"
    bandwidth: float | None = None
    reach: float | None = None


def nearest_by_mass(distances: Array, rows: Array, k: int, w: Array | None) -> Neighbors:
    """The neighbours (n, width) up to a total weight of k: one of weight 2 counts as two rows would.

    The last of them counts in part. Rows that are not needed stay in the list with weight zero.
    """
    n, width = rows.shape
    indptr = np.arange(n + 1) * width
    if w is None:
        return Neighbors(indptr, rows.ravel(), distances.ravel())
    before = np.cumsum(w, axis=1) - w
    mass = np.clip(k - before, 0.0, w)
    return Neighbors(indptr, rows.ravel(), distances.ravel(), mass.ravel())


def rows_needed(weight: Array | None, k: int) -> int:
    """The number of rows that certainly have a total weight of k, whichever they are."""
    if weight is None:
        return k
    lightest = np.cumsum(np.sort(weight))
    return min(int(np.searchsorted(lightest, k * (1 - 1e-12))) + 1, len(weight))


def weigh(found: Neighbors, how: Weighing) -> Array:
    """Weights of the neighbours, times their sample weights; infinite ones (1/d at d = 0) outweigh all others."""
    d = found.distances.astype(np.float64, copy=False)
    if callable(how.weights):
        w = _called(how.weights, found, d)
    elif how.weights == "distance":
        w = _inverse(found, d)
    elif how.weights == "gaussian":
        w = _gaussian(found, d, how)
    else:
        w = np.ones(len(d))
    return w if found.mass is None else w * found.mass


def _called(weights: Callable[[Array], Any], found: Neighbors, d: Array) -> Array:
    """Weights by the user's function, of a (queries, k) table of distances or of each query's distances in turn."""
    counts = np.diff(found.indptr)
    even = len(counts) and (counts == counts[0]).all()
    segments = [d.reshape(len(counts), -1)] if even else np.split(d, found.indptr[1:-1])
    with np.errstate(divide="ignore", over="ignore"):  # infinite weights are handled below
        parts = [(segment, weights(segment)) for segment in segments]
    for segment, w in parts:
        if np.shape(w) != segment.shape:
            raise ParameterError(
                f"The function weights must give as many weights as it gets distances: {segment.shape}, "
                f"not {np.shape(w)}."
            )
    w = np.concatenate([np.asarray(w, np.float64).ravel() for _, w in parts])
    if not (w >= 0).all():
        raise InputError("The function weights gave a weight that is negative or not a number.")
    return _greatest_alone(found, w, np.isinf(w))


def _inverse(found: Neighbors, d: Array) -> Array:
    with np.errstate(divide="ignore", over="ignore"):
        w = _greatest_alone(found, 1.0 / d, d == 0)
    if np.isinf(w).any():  # distances so small that 1/d overflows: only ratios matter
        nearest = _per_query(np.minimum, found, d if found.mass is None else np.where(found.mass > 0, d, np.inf))
        w = _greatest_alone(found, nearest[found.query] / np.where(d > 0, d, 1.0), d == 0)
    return w


def _greatest_alone(found: Neighbors, w: Array, infinite: Array) -> Array:
    """The weights w; for queries with infinite ones these become 1 and all others 0."""
    if found.mass is not None:
        w = np.where(found.mass > 0, w, 0.0)
        infinite = infinite & (found.mass > 0)
    on_top = np.zeros(len(found.indptr) - 1, bool)
    on_top[found.query[infinite]] = True
    return np.where(on_top[found.query], infinite, w)


def _gaussian(found: Neighbors, d: Array, how: Weighing) -> Array:
    """exp(−d²/2h²), relative to the nearest neighbour, so that a small h does not underflow all weights."""
    query = found.query
    if how.bandwidth is not None:
        h = np.full(len(d), float(how.bandwidth))
    elif how.reach is not None:
        h = np.full(len(d), how.reach / 2)
    else:
        counted = d if found.mass is None else np.where(found.mass > 0, d, 0.0)
        h = _per_query(np.maximum, found, counted)[query] / 2
    h = np.where(h > 0, h, 1.0)
    least = _per_query(np.minimum, found, d)[query]
    return np.exp(-0.5 * ((d - least) / h) * (d / h + least / h))


def _per_query(ufunc: np.ufunc, found: Neighbors, values: Array) -> Array:
    """The smallest or largest value of each query (by the ufunc); zero for one without neighbours."""
    out = np.zeros(len(found.indptr) - 1)
    some = np.diff(found.indptr) > 0
    if some.any():
        out[some] = ufunc.reduceat(values, found.indptr[:-1][some])
    return out


def class_votes(found: Neighbors, w: Array, codes: Array, n_classes: int) -> Array:
    """Sums of the weights by class (queries, classes)."""
    n = len(found.indptr) - 1
    cells = found.query * n_classes + codes[found.rows]
    return np.bincount(cells, w, n * n_classes).reshape(n, n_classes)


def shares(votes: Array) -> Array:
    """Votes as probabilities; rows without a vote stay zero."""
    total = votes.sum(axis=1, keepdims=True)
    return votes / np.where(total > 0, total, 1.0)


def value_means(found: Neighbors, w: Array, y: Array) -> Array:
    """Weighted means (queries, outputs) of the neighbours' values; NaN where there is nothing to average."""
    n, query = len(found.indptr) - 1, found.query
    total = np.bincount(query, w, n)
    sums = [np.bincount(query, w * y[found.rows, o], n) for o in range(y.shape[1])]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.stack(sums, axis=1) / total[:, None]
