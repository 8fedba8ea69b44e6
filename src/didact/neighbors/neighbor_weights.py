"""Neighbours of a given total weight: rows that count several times fill a neighbourhood sooner."""

from typing import Any

import numpy as np
from scipy.spatial import cKDTree

Array = np.ndarray[Any, Any]


def nearest_by_weight(X: Array, w: Array, Q: Array, k: float, tree: Any = None) -> tuple[Array, Array, Array]:
    """The nearest rows of X for each query until their weights reach k: distances, rows, and the weight taken of each.

    The last one counts with what is missing; beyond it weights are 0. Rows of equal distance come in the tree's order.
    """
    tree = cKDTree(X) if tree is None else tree
    count = min(len(X), int(np.ceil(k)))
    while True:
        distance, rows = tree.query(Q, k=np.arange(1, count + 1))
        mass = np.cumsum(w[rows], axis=1)
        if count == len(X) or (mass[:, -1] >= k * (1 - 1e-12)).all():
            break
        count = min(len(X), 2 * count)
    before = mass - w[rows]
    return distance, rows, np.clip(k - before, 0.0, w[rows])
