"""Compiled selection of candidate neighbours from matrix products with error bounds, and their exact distances.

With centred rows ½d² = ½‖q‖² + s, s = ½‖x‖² − q·x. A computed s is off by at most e, so a row is ruled out if its s − e
exceeds the k-th smallest of all s + e. The product costs 2 p operations per pair in BLAS; these loops add one
subtraction and one comparison, 16 pairs at a time, for 4 bytes from the cache, and exact distances of a few rows.

Layout, for query i and a block of rows from number `first` on::

    P[i]      [ q·x of row first, first + 1, … ]         half [ ½‖x‖² of the same rows ]
    uppers[i] [ the k smallest s + e, ascending ]
    rows[i]   [ numbers of `count[i]` candidates | free ]     count[i] = −1: there were too many
    lowers[i] [ s − e of each candidate          | free ]
"""

import math

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.typing import Array
from didact.engines.neighbors.best_loops import offer
from didact.engines.neighbors.tuning import CANDIDATE_STRIP


@jit_unmanaged
def any_below(products: Array, half: Array, limit: float) -> bool:
    """Whether any ½‖x‖² − q·x of a strip is at most the limit; all in one float type, without branches."""
    count = 0
    for j in range(products.shape[0]):
        count += half[j] - products[j] <= limit
    return count > 0


@jit_unmanaged
def collect(P: Array, half: Array, first: int, margin: Array, skip: Array, uppers: Array, rows: Array, lowers: Array,
            count: Array) -> None:  # fmt: skip
    """Add the rows that may be among the k best to the candidates of each query.

    P holds the products (queries, rows from number `first` on), `margin` the error bound e of each query.
    """
    last, n = uppers.shape[1] - 1, P.shape[1]
    for i in range(P.shape[0]):
        e = margin[i]
        # Most queries, and most strips of the others, are settled by comparisons without branches.
        if count[i] < 0 or not any_below(P[i], half, half.dtype.type(uppers[i, last] + e)):
            continue
        for a in range(0, n, CANDIDATE_STRIP):
            b = min(a + CANDIDATE_STRIP, n)
            if not any_below(P[i, a:b], half[a:b], half.dtype.type(uppers[i, last] + e)):
                continue
            for j in range(a, b):
                s = float(half[j] - P[i, j])
                if s <= uppers[i, last] + e and first + j != skip[i]:
                    add_candidate(s, e, first + j, i, uppers, rows, lowers, count)
                    if count[i] < 0:
                        break
            if count[i] < 0:
                break


@jit_unmanaged
def add_candidate(
    s: float, e: float, row: int, i: int, uppers: Array, rows: Array, lowers: Array, count: Array
) -> None:
    """Add a candidate; when the list is full, drop those that have been ruled out meanwhile, or give up (−1)."""
    k = uppers.shape[1] - 1
    if s + e < uppers[i, k]:
        while k > 0 and s + e < uppers[i, k - 1]:
            uppers[i, k] = uppers[i, k - 1]
            k -= 1
        uppers[i, k] = s + e
    if count[i] == rows.shape[1]:
        top, kept = uppers[i, uppers.shape[1] - 1], 0
        for t in range(rows.shape[1]):
            if lowers[i, t] <= top:
                rows[i, kept], lowers[i, kept] = rows[i, t], lowers[i, t]
                kept += 1
        count[i] = kept if kept < rows.shape[1] else -1
        if kept == rows.shape[1]:
            return
    rows[i, count[i]], lowers[i, count[i]] = row, s - e
    count[i] += 1


@jit_unmanaged
def refine_candidates(Q: Array, X: Array, uppers: Array, rows: Array, lowers: Array, count: Array, best: Array,
           found: Array) -> None:  # fmt: skip
    """Offer the exact distances of the candidates to the lists of the k best: 3 p operations each, in float64."""
    p = Q.shape[1]
    for i in range(Q.shape[0]):
        top = uppers[i, uppers.shape[1] - 1]
        for t in range(count[i]):
            if lowers[i, t] > top:
                continue
            total = 0.0
            for j in range(p):
                step = np.float64(Q[i, j]) - np.float64(X[rows[i, t], j])
                total += step * step
            offer(math.sqrt(total), rows[i, t], best[i], found[i])


def warm() -> None:
    """Compile for products in both float types and rows in both."""
    one, long = np.ones(1), np.zeros(1, np.int64)
    lists = np.ones((1, 1)), np.zeros((1, 1), np.int64), np.ones((1, 1)), long
    for dtype in (np.float32, np.float64):
        X = np.ones((1, 1), dtype)
        collect(X, np.ones(1, dtype), 0, one, long, *lists)
        refine_candidates(X, X, *lists, np.ones((1, 1)), np.zeros((1, 1), np.int64))
