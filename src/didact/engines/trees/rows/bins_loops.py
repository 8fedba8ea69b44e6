"""Compiled loops of binning: where a column is cut, and the code of every value; slow NumPy twins stand in the tests.

The code of x is the number of thresholds below x, so that `code <= k` means `x <= thresholds[k]`. Cost of coding: a
search of log₂(bins) steps without branches for each value, about half a nanosecond a step.

Layout of a heap, the thresholds of a feature in the order of a balanced search: the children of place k are at 2k + 1
(up to the threshold) and 2k + 2 (above it)::

    thresholds  [ t0   t1   t2   t3   t4   t5   t6 ]
    heap        [ t3 | t1   t5 | t0   t2   t4   t6 ]
                  0    1    2    3    4    5    6
    values, at  [ row 0 | row 1 | … | row 127 ]   some values of one feature, and their places in the heap
"""

import numpy as np

from didact.core.jit import jit, jit_unmanaged
from didact.core.typing import Array

SEARCH_ROWS = 128  # rows coded one column after the other while they are in the first-level cache


@jit
def cut_column(values: Array, weights: Array, max_bins: int, cuts: Array) -> int:
    """Cut sorted distinct values into bins of about equal weight; how many cuts, each after the value `cuts` names.

    A value that alone weighs as much as a bin should gets a bin of its own.
    """
    m = values.shape[0]
    rest, bins = 0.0, max_bins
    for i in range(m):
        rest += weights[i]
    least = rest / max_bins
    for i in range(m):
        if weights[i] >= least:
            rest -= weights[i]
            bins -= 1
    count, inside = 0, 0.0
    for i in range(m - 1):
        if count == max_bins - 1:
            break
        heavy, next_heavy = weights[i] >= least, weights[i + 1] >= least
        if not heavy:
            inside += weights[i]
        mean = rest / max(bins, 1)
        if heavy or next_heavy or inside >= mean:
            cuts[count] = i
            count += 1
            if not heavy:
                rest -= inside
                bins -= 1
                inside = 0.0
    return count


@jit_unmanaged(forceinline=True)
def search_heap(values: Array, heap: Array, depth: int, at: Array) -> None:
    """The number of thresholds below each of a block of values: a step of all searches before the next one."""
    one, first = np.uint64(1), np.uint64((1 << depth) - 1)
    for i in range(SEARCH_ROWS):
        at[i] = np.uint64(0)
    for _ in range(depth):
        for i in range(SEARCH_ROWS):
            at[i] += at[i] + one + np.uint64(heap[at[i]] < values[i])  # a choice would become a branch
    for i in range(SEARCH_ROWS):
        at[i] -= first


@jit
def encode_rows(X: Array, heaps: Array, levels: Array, n_bins: Array, categorical: Array, codes: Array) -> None:
    """The bin of every value; NaN, and a category that is not known, get the code n_bins."""
    n, p = X.shape
    values, at = np.zeros(SEARCH_ROWS), np.empty(SEARCH_ROWS, np.uint64)
    for start in range(0, n, SEARCH_ROWS):
        stop = min(start + SEARCH_ROWS, n)
        for f in range(p):
            missing = n_bins[f]
            if categorical[f]:
                for i in range(start, stop):
                    x = X[i, f]
                    codes[i, f] = np.uint64(x) if x >= 0 and x < missing else np.uint64(missing)
                continue
            for i in range(start, stop):
                values[i - start] = X[i, f]
            search_heap(values, heaps[f], levels[f], at)
            for i in range(start, stop):
                codes[i, f] = np.uint64(missing) if np.isnan(values[i - start]) else at[i - start]


def warm() -> None:
    """Compile for the types in use."""
    cut_column(np.arange(3.0), np.ones(3), 2, np.zeros(2, np.int64))
    one = np.ones(1, np.int64)
    for kind in (np.float32, np.float64):
        for code in (np.uint8, np.uint16):
            X = np.zeros((1, 1), kind)
            X.flags.writeable = False
            encode_rows(X, np.full((1, 2), np.inf), one, one, np.zeros(1, bool), np.zeros((1, 1), code))
