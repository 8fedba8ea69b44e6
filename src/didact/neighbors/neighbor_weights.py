"""Neighbours of a given total weight: rows that count several times fill a neighbourhood sooner."""

from typing import Any

import numpy as np

from didact.engines.index.index import Index

Array = np.ndarray[Any, Any]


def nearest_by_weight(index: Index, w: Array, Q: Array, k: float) -> tuple[Array, Array, Array]:
    """The nearest rows of each query until their weights reach k: distances, rows, and the weight taken of each.

    The last one counts with what is missing; beyond it weights are 0.
    """
    count = min(len(w), int(np.ceil(k)))
    while True:
        distance, rows = index.nearest(Q, count)
        mass = np.cumsum(w[rows], axis=1)
        if count == len(w) or (mass[:, -1] >= k * (1 - 1e-12)).all():
            break
        count = min(len(w), 2 * count)
    return distance, rows, np.clip(k - (mass - w[rows]), 0.0, w[rows])
