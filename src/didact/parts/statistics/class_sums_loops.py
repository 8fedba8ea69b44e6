"""Compiled sums and counts of rows by class; the NumPy twins (one-hot times matrix, bincount) stand beside their tests.

Layout::

    data      [ values of row 0 | values of row 1 | … ]   CSR rows; or dense X (n, p)
    indices   [ their columns   | …                   ]
                ^ indptr[0]       ^ indptr[1]
    sums[k]   [ column 0 | column 1 | … ]   (K, p): rows of class k are added to it; `absent` likewise
    out       [ values of column 0 | values of column 1 | … ]   (values, K): counts, a line for each value
                ^ places[0]          ^ places[1]
"""

from typing import Any

import numpy as np

from didact.core.backend import read_only
from didact.core.jit import REASSOCIATE, jit
from didact.core.typing import Array


@jit
def add_sparse_rows(
    data: Array, indices: Array, indptr: Array, order: Array, codes: Array, w: Array, out: Array
) -> None:
    """out[class of row i, j] += w_i x_ij for every stored entry: one addition each, whatever the number of classes.

    `order` lists the rows class by class, so that only one row of `out` at a time has to be in the cache.
    """
    for i in order:
        c = codes[i]
        for k in range(indptr[i], indptr[i + 1]):
            out[c, indices[k]] += w[i] * data[k]


@jit(fastmath=REASSOCIATE)
def add_dense_rows(X: Array, codes: Array, w: Array, threshold: float, sums: Array, absent: Array) -> float:
    """sums[class of row i, j] += w_i x_ij, of missing values absent[…] += w_i; the least x, at most 0.

    Unless the threshold is NaN, 1 is added in place of x where x is above it, and else 0.
    """
    least, as_it_is = 0.0, threshold != threshold
    for i in range(X.shape[0]):
        c, each = codes[i], w[i]
        for j in range(X.shape[1]):
            x = np.float64(X[i, j])
            there = x == x
            value = x if as_it_is else (1.0 if x > threshold else 0.0)
            sums[c, j] += each * value if there else 0.0
            absent[c, j] += 0.0 if there else each
            least = x if x < least else least
    return least


@jit
def count_categories(
    X: Array, codes: Array, w: Array, row: int, column: int, places: Array, room: Array, most: Array, out: Array
) -> tuple[Any, Any]:
    """Add each row's weight to the counts of its values, in the column of its class; missing values count nowhere.

    From a place on up to a number for which a column has no `room`, because it is large or no category; where that is.
    At the end, (n, 0), `most` holds each column's largest value in rows with weight.
    """
    first = np.uint64(column)
    for i in range(row, X.shape[0]):
        c, each = np.uint64(codes[i]), w[i]
        for j in range(first, np.uint64(X.shape[1])):  # unsigned: nobody looks whether places are below zero
            x = np.float64(X[i, j])
            t = np.int64(x) if x >= 0.0 and x < room[j] else 0
            if x == t and each > 0.0:
                out[places[j] + np.uint64(t), c] += each
            elif x < 0.0 or x == np.inf or (x == x and each > 0.0):
                return i, np.int64(j)
        first = np.uint64(0)
    for j in range(X.shape[1]):
        most[j] = np.int64(room[j]) - 1
        while most[j] > 0 and not np.any(out[places[j] + np.uint64(most[j])] > 0.0):
            most[j] -= 1
    return X.shape[0], 0


def warm() -> None:
    """Compile for both float types and both index types."""
    rows = np.zeros(1, np.int64)
    for dtype in (np.float32, np.float64):
        X = read_only(np.ones((1, 1), dtype))
        add_dense_rows(X, rows, np.ones(1), 0.0, np.zeros((1, 1)), np.zeros((1, 1)))
        count_categories(
            X, rows, np.ones(1), 0, 0, np.zeros(1, np.uint64), np.full(1, 2.0), np.zeros(1, np.int64), np.zeros((2, 1))
        )
        for index in (np.int32, np.int64):
            data, indices, indptr = np.ones(1, dtype), np.zeros(1, index), np.array([0, 1], index)
            add_sparse_rows(data, indices, indptr, rows, rows, np.ones(1), np.zeros((1, 1)))
