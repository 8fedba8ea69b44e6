"""Compiled Euclidean distances between sparse rows, for the candidates that `products_loops` selected.

Layout: CSR rows, for X (x, xi, xp) and the queries (q, qi, qp) alike; candidates as in `products_loops`::

    x   [ values of row 0             | values of row 1 | … ]
    xi  [ their columns, ascending    | …                   ]
          ^ xp[0]                       ^ xp[1]
"""

import math

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.typing import Array
from didact.engines.neighbors.best_loops import offer


@jit_unmanaged
def square_between(a: Array, i: Array, b: Array, j: Array) -> float:
    """Σ(a − b)² of two sparse rows with ascending columns i and j; one step for each stored value."""
    total, s, t = 0.0, 0, 0
    while s < len(i) or t < len(j):
        if t == len(j) or (s < len(i) and i[s] < j[t]):
            step = np.float64(a[s])
            s += 1
        elif s == len(i) or j[t] < i[s]:
            step = np.float64(b[t])
            t += 1
        else:
            step = np.float64(a[s]) - np.float64(b[t])
            s += 1
            t += 1
        total += step * step
    return total


@jit_unmanaged
def refine_sparse(q: Array, qi: Array, qp: Array, x: Array, xi: Array, xp: Array, uppers: Array, rows: Array,
                  lowers: Array, count: Array, best: Array, found: Array) -> None:  # fmt: skip
    """Offer the exact distances of the candidates to the lists of the k best, as `refine_candidates` does."""
    for i in range(uppers.shape[0]):
        top = uppers[i, uppers.shape[1] - 1]
        for t in range(count[i]):
            if lowers[i, t] <= top:
                a, b, c, d = qp[i], qp[i + 1], xp[rows[i, t]], xp[rows[i, t] + 1]
                offer(math.sqrt(square_between(q[a:b], qi[a:b], x[c:d], xi[c:d])), rows[i, t], best[i], found[i])


def warm() -> None:
    """Compile for both float types."""
    for dtype in (np.float64, np.float32):
        row = np.ones(1, dtype), np.zeros(1, np.int32), np.array([0, 1], np.int32)
        lists = np.ones((1, 1)), np.zeros((1, 1), np.int64), np.ones((1, 1)), np.ones(1, np.int64)
        refine_sparse(*row, *row, *lists, np.ones((1, 1)), np.zeros((1, 1), np.int64))
