"""Means of rows by class and cross-products about them, in one pass: the compiled part of `class_scatter`.

Some hundred rows of a class at a time are transposed and centred about their own mean; as in `parts.moment_loops`,
tiles of 4 × 4 dot products stay in registers: n p²/2 multiply-adds. Chan's rule puts chunks together, so that no sum
cancels, wherever the rows lie. The NumPy twin stands beside the test.
"""

from typing import Any

import numpy as np

from didact.core.jit import jit, prefetch
from didact.parts.moment_loops import CHUNK, REASSOCIATE, TILE, add_tile, fixed

Array = np.ndarray[Any, Any]
LANES = 8  # a chunk is filled up with zeros to a multiple of this
AHEAD = 6  # rows between asking for a row and using it: the next of a class may lie anywhere


def moments_by_class(X: Array, w: Array | None, order: Array, edges: Array, pooled: bool) -> tuple[Array, Array]:
    """Means (K, p) and scatter (K, p, p), or (1, p, p) if pooled, of the rows order[edges[k] : edges[k+1]] for each k.

    w None counts every row once; all weights are positive.
    """
    p, K = X.shape[1], len(edges) - 1
    wide = -(-p // TILE) * TILE
    T, mean, G = np.zeros((wide + 1, CHUNK)), np.zeros((K, p)), np.zeros((1 if pooled else K, wide, wide))
    root = fixed(np.zeros(0) if w is None else np.sqrt(w))
    _accumulate(fixed(X), root, fixed(order), edges, T, np.empty(p), mean, G)
    return mean, G[:, :p, :p]


@jit
def _accumulate(X: Array, root: Array, order: Array, edges: Array, T: Array, way: Array, mean: Array, G: Array) -> None:
    for k in range(mean.shape[0]):
        total, S = 0.0, G[k if G.shape[0] > 1 else 0]
        for start in range(edges[k], edges[k + 1], T.shape[1]):
            rows = min(T.shape[1], edges[k + 1] - start)
            length = min(T.shape[1], (rows + LANES - 1) // LANES * LANES)
            _transpose(X, root, order, edges[k], start, rows, length, T)
            weight = _centre(T, length, mean[k], way)
            for i in range(0, S.shape[0], TILE):
                for j in range(0, i + 1, TILE):
                    add_tile(T, i, j, length, S)
            factor = total * weight / (total + weight)
            total += weight
            for i in range(way.shape[0]):
                mean[k, i] += way[i] * weight / total
                for j in range(i + 1 if factor > 0.0 else 0):
                    S[i, j] += factor * way[i] * way[j]
        for j in range(mean.shape[1] if edges[k + 1] > edges[k] else 0):
            mean[k, j] += X[order[edges[k]], j]
    for g in range(G.shape[0]):
        for i in range(G.shape[1]):
            for j in range(i):
                G[g, j, i] = G[g, i, j]


@jit(fastmath=REASSOCIATE)
def _transpose(
    X: Array, root: Array, order: Array, first: int, start: int, rows: int, length: int, T: Array
) -> None:  # fmt: skip
    """√w (x − the first row of its class) of some rows as columns of T, √w in its last row; zeros up to `length`."""
    p, last, origin = X.shape[1], T.shape[0] - 1, order[first]
    for r in range(rows):
        i, next_row = order[start + r], order[min(start + r + AHEAD, order.shape[0] - 1)]
        for j in range(0, p, LANES):
            prefetch(X, np.uint64(next_row), np.uint64(j))
        factor = root[i] if root.shape[0] > 0 else 1.0
        T[last, r] = factor
        for j in range(p):
            T[j, r] = factor * (np.float64(X[i, j]) - X[origin, j])
    for r in range(rows, length):
        T[last, r] = 0.0
        for j in range(p):
            T[j, r] = 0.0


@jit(fastmath=REASSOCIATE)
def _centre(T: Array, length: int, mean: Array, way: Array) -> float:
    """Move the columns of T to their own mean; `way` leads there from the mean of the chunks before. Their weight."""
    root, weight = T[T.shape[0] - 1], 0.0
    for r in range(length):
        weight += root[r] * root[r]
    for j in range(mean.shape[0]):
        total = 0.0
        for r in range(length):
            total += root[r] * T[j, r]
        total /= weight
        for r in range(length):
            T[j, r] -= total * root[r]
        way[j] = total - mean[j]
    return weight


def warm() -> None:
    """Compile for both float types."""
    for dtype in (np.float64, np.float32):
        moments_by_class(np.ones((1, 1), dtype), None, np.zeros(1, np.int64), np.array([0, 1]), False)
