"""Neighbourhoods of a given total weight: a row of weight 2 fills two of the k places."""

import numpy as np

from didact.core.typing import Array
from didact.engines.neighbors.index import Index
from didact.neighbors.votes import rows_needed


def nearest_by_weight(index: Index, w: Array, Q: Array, k: float) -> tuple[Array, Array, Array]:
    """The nearest rows of each query until their weights reach k: distances, rows, and the weight used of each.

    The last row is used in part; rows after it have weight 0.
    """
    most = index.most(Q)
    count = min(most, int(np.ceil(k)))
    while True:
        distance, rows = index.nearest(Q, count)
        mass = np.cumsum(w[rows], axis=1)
        if (mass[:, -1] >= k * (1 - 1e-12)).all():
            break
        if count == most < len(w):
            index.nearest(Q, count + 1)  # raises the error of a sparse table with too few neighbours
        if count == most:
            break
        count = min(most, 2 * count)
    return distance, rows, np.clip(k - (mass - w[rows]), 0.0, w[rows])


def others(index: Index, w: Array | None, k: int) -> tuple[Array, Array, Array | None]:
    """Distances, rows and weights of at least k nearest others of each row; one copy of the row itself is left out."""
    if w is None:
        return *index.nearest(None, k), None
    n = index.n_rows
    count, own = min(rows_needed(w, k), index.most(None)), np.arange(n)[:, None]
    distances, rows = index.nearest(None, count) if count else (np.empty((n, 0)), np.empty((n, 0), np.intp))
    distances, rows = np.hstack([np.zeros((n, 1)), distances]), np.hstack([own, rows])
    order = np.lexsort((rows, distances), axis=1)
    distances, rows = np.take_along_axis(distances, order, axis=1), np.take_along_axis(rows, order, axis=1)
    mass = np.maximum(w[rows] - (rows == own), 0.0)
    if count < n - 1 and (mass.sum(axis=1) < k * (1 - 1e-12)).any() and count < rows_needed(w, k):
        index.nearest(None, count + 1)  # raises the error of a sparse table with too few neighbours
    return distances, rows, mass
