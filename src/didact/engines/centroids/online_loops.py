"""Compiled steps of k-means row by row: the nearest centre wins, and moves towards the row.

Layout: X (n, p) rows, order (some of them, in order), centers (K, p), float64, and counts (K,) weight that each has
got; a row moves its centre by the share `rate`, or by its own share of the weight so far if the rate is 0. With
`unit`, rows and centres have length 1, so that the nearest centre is that with the largest product. Arithmetic: n p K
multiply-adds.
"""

import math

import numpy as np

from didact.core.backend import read_only
from didact.core.jit import jit_unmanaged
from didact.core.typing import Array


@jit_unmanaged
def online_steps(
    X: Array, order: Array, w: Array, rate: float, unit: bool, row: Array, centers: Array, counts: Array
) -> float:  # fmt: skip
    """One pass; the weighted sum of the squared distances of rows from their centres before each step."""
    K, p = centers.shape
    cost = 0.0
    for t in range(order.shape[0]):
        i = order[t]
        weight = w[i] if w.shape[0] > 0 else 1.0
        if weight <= 0.0:
            continue
        length = 0.0
        for j in range(p):
            row[j] = X[i, j]
            length += row[j] * row[j]
        if unit and length > 0.0:
            for j in range(p):
                row[j] /= math.sqrt(length)
        best, least = 0, np.inf
        for k in range(K):
            total = 0.0
            for j in range(p):
                step = row[j] - centers[k, j]
                total += step * step
            if total < least:
                best, least = k, total
        cost += weight * least
        counts[best] += weight
        share = weight / counts[best] if rate <= 0.0 else 1.0 - (1.0 - rate) ** weight
        length = 0.0
        for j in range(p):
            centers[best, j] += share * (row[j] - centers[best, j])
            length += centers[best, j] * centers[best, j]
        if unit and length > 0.0:
            for j in range(p):
                centers[best, j] /= math.sqrt(length)
    return cost


def warm() -> None:
    """Compile for both float types."""
    for dtype in (np.float64, np.float32):
        X = read_only(np.ones((1, 1), dtype))
        online_steps(
            X, np.zeros(1, np.int64), read_only(np.ones(1)), 0.1, False, np.ones(1), np.ones((1, 1)), np.ones(1)
        )
