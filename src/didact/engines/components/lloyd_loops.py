"""Compiled part of k-means: the nearest centre of each row of a block, and the sums of the clusters.

Layout, for a block of n rows and K centres::

    X (n, p)        rows                          products (n, K)   x·c
    centers (K, p)  centres                       half (K,)         ½‖c‖²
    labels, distances (n,)    written: the nearest centre and the squared distance of each row
    sums (K, p), weights (K,) added to: Σ w x and Σ w of each cluster
"""

import numpy as np

from didact.core.backend import read_only
from didact.core.jit import jit
from didact.core.typing import Array


@jit
def nearest_rows(X: Array, products: Array, half: Array, centers: Array, w: Array, labels: Array, distances: Array,
                 sums: Array, weights: Array) -> float:  # fmt: skip
    """Write labels and squared distances, add w·x to the sums of the clusters; returns the cost Σ w·distance.

    The nearest centre is the one with the largest x·c − ½‖c‖², of ties the first. Its distance is then computed from
    differences, as the product form would cancel.
    """
    cost = 0.0
    for i in range(X.shape[0]):
        best, top = 0, products[i, 0] - half[0]
        for k in range(1, half.shape[0]):
            value = products[i, k] - half[k]
            if value > top:
                best, top = k, value
        d = 0.0
        for j in range(X.shape[1]):
            step = X[i, j] - centers[best, j]
            d += step * step
            sums[best, j] += w[i] * X[i, j]
        weights[best] += w[i]
        labels[i], distances[i] = best, d
        cost += w[i] * d
    return cost


def warm() -> None:
    """Compile for blocks of float64."""
    X, C, one = np.ones((2, 2)), np.ones((1, 2)), np.ones(1)
    nearest_rows(
        read_only(X),
        X @ C.T,
        one,
        C,
        read_only(np.ones(2)),
        np.zeros(2, np.int32),
        np.zeros(2),
        np.zeros((1, 2)),
        one.copy(),
    )
