"""Neighbours from a given sparse table of distances: entries that are not stored are farther away than stored ones.

Stored zeros are distances. Cost: sorting the stored entries of the queries.
"""

from typing import Any

import numpy as np

from didact.core.errors import InputError
from didact.core.typing import Array

NEGATIVE = "Negative values in data passed to precomputed distance matrix. Distances are at least 0."


def graph_nearest(Q: Any, skip: Array, k: int) -> tuple[Array, Array]:
    """Distances and numbers (m, k) of the nearest rows of each row of the table, nearest first."""
    query, rows, distances = entries(Q, skip)
    counts = np.bincount(query, minlength=Q.shape[0])
    if counts.min(initial=k) < k:
        raise InputError(
            f"{k} neighbors are required for some samples, but some samples have only {counts.min()} neighbors in "
            f"precomputed graph matrix (the first is row {np.flatnonzero(counts < k)[0]}). Decrease number of "
            "neighbors used or recompute the graph with more neighbors."
        )
    order = np.lexsort((rows, distances, query))
    place = (np.cumsum(counts) - counts)[:, None] + np.arange(k)
    return distances[order[place]], rows[order[place]]


def graph_within(Q: Any, skip: Array, radius: float) -> tuple[Array, Array, Array]:
    """Edges of the queries (m + 1,), row numbers (ascending) and distances of all stored entries up to the radius."""
    query, rows, distances = entries(Q, skip)
    near = distances <= radius
    counts = np.bincount(query[near], minlength=Q.shape[0])
    return np.append(0, np.cumsum(counts)), rows[near], distances[near]


def fewest(Q: Any, skip: Array) -> int:
    """The smallest number of stored entries of a row, not counting the row itself."""
    return int(np.bincount(entries(Q, skip)[0], minlength=Q.shape[0]).min(initial=Q.shape[1]))


def entries(Q: Any, skip: Array) -> tuple[Array, Array, Array]:
    """The number of the query, the number of the row and the distance of each stored entry."""
    if Q.data.min(initial=0.0) < 0:
        raise InputError(NEGATIVE)
    query = np.repeat(np.arange(Q.shape[0]), np.diff(Q.indptr))
    kept = Q.indices != skip[query]
    return query[kept], Q.indices[kept].astype(np.int64), Q.data[kept].astype(np.float64)
