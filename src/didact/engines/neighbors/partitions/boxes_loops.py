"""Compiled growth of a k-d tree of boxes: quick-select at the median of the widest side, level by level.

Nodes stand in an implicit heap: node i has the children 2i + 1 and 2i + 2, all leaves lie on one level. Leaf number t
of 2^levels holds the places t·n/2^levels … of the order (`edge`), so that no node has to store where it begins.

Layout, for 11 rows in 2 levels (`order` is a permutation of the row numbers; keys move with it)::

    node            0
                1       2
              3   4   5   6            leaves: t = node − (2^levels − 1)
    order  [ 0 1 | 2 3 4 | 5 6 7 | 8 9 10 ]     leaf t: edge(t) … edge(t + 1) − 1
    points [ leaf 0: column 0, column 1, … | leaf 1: column 0, … | … ]
    low, high (nodes, p): opposite corners of each node's box
"""

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.typing import Array


@jit_unmanaged
def edge(n: int, levels: int, level: int, place: int) -> int:
    """Where node number `place` of a level begins in the order of the rows."""
    return ((place << (levels - level)) * n) >> levels


@jit_unmanaged
def enclose(X: Array, order: Array, start: int, stop: int, low: Array, high: Array) -> int:
    """The box of the rows order[start:stop], and the number of its widest side; reads each of their values once."""
    p = X.shape[1]
    for j in range(p):
        low[j] = X[order[start], j]
        high[j] = low[j]
    for t in range(start + 1, stop):
        row = order[t]
        for j in range(p):
            low[j] = min(low[j], X[row, j])
            high[j] = max(high[j], X[row, j])
    widest = 0
    for j in range(1, p):
        if high[j] - low[j] > high[widest] - low[widest]:
            widest = j
    return widest


@jit_unmanaged
def select(keys: Array, order: Array, start: int, stop: int, middle: int) -> None:
    """Rearrange keys and order between start and stop: no key before `middle` is larger than one behind it.

    Hoare's quick-select with the median of three as pivot; equal keys are spread over both sides. About 3 passes.
    """
    a, b = start, stop - 1
    while b > a:
        x, y, z = keys[a], keys[(a + b) >> 1], keys[b]
        pivot = max(min(x, y), min(max(x, y), z))
        i, j = a, b
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            b = j
        elif middle >= i:
            a = i
        else:
            return


@jit_unmanaged
def divide(X: Array, order: Array, keys: Array, low: Array, high: Array, levels: int, level: int, place: int) -> None:
    """The box of one node, and its rows divided among its two children."""
    n, node = order.shape[0], (1 << level) - 1 + place
    start, stop = edge(n, levels, level, place), edge(n, levels, level, place + 1)
    column = enclose(X, order, start, stop, low[node], high[node])
    if level < levels:
        for t in range(start, stop):
            keys[t] = X[order[t], column]
        select(keys, order, start, stop, edge(n, levels, level + 1, 2 * place + 1))


@jit_unmanaged
def grow(X: Array, order: Array, keys: Array, low: Array, high: Array, points: Array, levels: int, level: int,
         place: int) -> None:  # fmt: skip
    """The whole subtree below a node, level by level; leaves are copied to `points`, column by column.

    Each level reads the rows once, 8·n·p bytes, and selects, about 3·n comparisons.
    """
    n, p = X.shape
    for below in range(level, levels + 1):
        for here in range(place << (below - level), (place + 1) << (below - level)):
            divide(X, order, keys, low, high, levels, below, here)
    for leaf in range(place << (levels - level), (place + 1) << (levels - level)):
        start, stop = edge(n, levels, levels, leaf), edge(n, levels, levels, leaf + 1)
        width = stop - start
        for t in range(width):
            row = order[start + t]
            for j in range(p):
                points[start * p + j * width + t] = X[row, j]


def warm() -> None:
    """Compile for both float types."""
    for dtype in (np.float64, np.float32):
        X = np.arange(8, dtype=dtype).reshape(4, 2)
        nodes = np.empty((3, 2))
        divide(X, np.arange(4), np.empty(4), nodes, nodes.copy(), 1, 0, 0)
        grow(X, np.arange(4), np.empty(4), nodes, nodes.copy(), np.empty(8, dtype), 1, 0, 0)
