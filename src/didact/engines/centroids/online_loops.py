"""Compiled steps of k-means row by row: the nearest centre wins, and moves towards the row.

Layout::

    order   [ i | i | … ]             rows of X (n, p) in the order of the steps; w (n,) or empty
    row     [ x_0 … x_{p−1} ]         one row in float64, of length 1 if `unit`
    centers [ c_0 | c_1 | … ]         (K, p) float64: the nearest to the row moves by a share of the way to it
    counts  [ W_0 | W_1 | … ]         (K,) weight that each has got

The share is `rate`, or if that is 0 the row's share of the weight so far. With `unit`, centres have length 1, too, so
that the nearest one is that with the largest product. Arithmetic: n p K multiply-adds.
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
