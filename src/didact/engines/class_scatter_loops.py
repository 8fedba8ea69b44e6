"""Means of rows by class, and their cross-products about those means: the compiled part of `class_scatter`.

As in `parts.moment_loops`, some hundred rows at a time are transposed, less the mean of their class, and tiles of 4 × 4
dot products stay in registers: n p²/2 multiply-adds. The NumPy twin stands beside the test.
"""

from typing import Any

import numpy as np

from didact.core.jit import jit
from didact.parts.moment_loops import CHUNK, REASSOCIATE, TILE, add_tile, fixed

Array = np.ndarray[Any, Any]
LANES = 8  # a chunk is filled up with zeros to a multiple of this


def means_by_class(X: Array, codes: Array, w: Array | None, weight: Array) -> Array:
    """Means (K, p) of the classes, of which each weighs `weight`; w None counts every row once."""
    mean = np.zeros((len(weight), X.shape[1]))
    _means(fixed(X), fixed(codes), _given(w), weight, mean)
    return mean


def products_by_class(X: Array, codes: Array, w: Array | None, mean: Array, order: Array, edges: Array) -> Array:
    """Σ w (x − mean of its class)(…)ᵀ of the rows order[edges[g] : edges[g+1]] for each g: (G, p, p)."""
    p = X.shape[1]
    wide = -(-p // TILE) * TILE
    T, G = np.zeros((wide, CHUNK)), np.zeros((len(edges) - 1, wide, wide))
    root = _given(None if w is None else np.sqrt(w))
    _accumulate(fixed(X), fixed(codes), root, mean, fixed(order), edges, T, G)
    return G[:, :p, :p]


def _given(w: Array | None) -> Array:
    return fixed(np.zeros(0) if w is None else w)


@jit
def _means(X: Array, codes: Array, w: Array, weight: Array, mean: Array) -> None:
    """Sums of the way from the first row of a class to its others: those are small where the numbers are not."""
    first = np.full(mean.shape[0], -1, np.int64)
    for i in range(X.shape[0]):
        c = codes[i]
        if first[c] < 0:
            first[c] = i
        _add_way(X, i, first[c], w[i] if w.shape[0] > 0 else 1.0, mean[c])
    for c in range(mean.shape[0]):
        if first[c] >= 0:
            for j in range(mean.shape[1]):
                mean[c, j] = X[first[c], j] + mean[c, j] / weight[c]


@jit
def _add_way(X: Array, i: int, first: int, factor: float, total: Array) -> None:
    for j in range(X.shape[1]):
        total[j] += factor * (np.float64(X[i, j]) - X[first, j])


@jit
def _accumulate(
    X: Array, codes: Array, root: Array, mean: Array, order: Array, edges: Array, T: Array, G: Array
) -> None:
    for g in range(G.shape[0]):
        for start in range(edges[g], edges[g + 1], T.shape[1]):
            rows = min(T.shape[1], edges[g + 1] - start)
            length = min(T.shape[1], (rows + LANES - 1) // LANES * LANES)
            _transpose(X, codes, root, mean, order, start, rows, length, T)
            for i in range(0, T.shape[0], TILE):
                for j in range(0, i + 1, TILE):
                    add_tile(T, i, j, length, G[g])
        for i in range(G.shape[1]):
            for j in range(i):
                G[g, j, i] = G[g, i, j]


@jit(fastmath=REASSOCIATE)
def _transpose(
    X: Array, codes: Array, root: Array, mean: Array, order: Array, start: int, rows: int, length: int, T: Array
) -> None:
    """√w (x − mean of its class) of some rows as columns of T; zeros up to `length`."""
    for r in range(rows):
        i = order[start + r]
        c = codes[i]
        factor = root[i] if root.shape[0] > 0 else 1.0
        for j in range(X.shape[1]):
            T[j, r] = factor * (np.float64(X[i, j]) - mean[c, j])
    for j in range(X.shape[1]):
        for r in range(rows, length):
            T[j, r] = 0.0


def warm() -> None:
    """Compile for both float types."""
    rows, edges = np.zeros(1, np.int64), np.array([0, 1])
    for dtype in (np.float64, np.float32):
        X = np.ones((1, 1), dtype)
        mean = means_by_class(X, rows, None, np.ones(1))
        products_by_class(X, rows, None, mean, rows, edges)
