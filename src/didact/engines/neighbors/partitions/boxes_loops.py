"""Compiled growth of a k-d tree of boxes: quickselect at the median of the widest side, level by level.

Nodes form an implicit heap: node i has the children 2i + 1 and 2i + 2, and all leaves lie on one level. Leaf t of
2^levels holds the entries of `order` from t·n/2^levels on (`edge`), so that no node has to store where it begins.

Layout, for 11 rows and 2 levels (`order` is a permutation of the row numbers; `keys` are swapped along with it)::

    node                0
                   1         2
                3     4    5     6              leaf t is node 2^levels − 1 + t
    place in  [ 0 1 | 2 3 4 | 5 6 7 | 8 9 10 ]  leaf t: edge(t) … edge(t + 1) − 1
    order
    points    [ leaf 0: column 0, column 1, … | leaf 1: column 0, … | … ]
    low, high (nodes, p): opposite corners of each node's box
"""

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.typing import Array


@jit_unmanaged
def edge(n: int, levels: int, level: int, place: int) -> int:
    """The first place in `order` of node number `place` of a level."""
    return ((place << (levels - level)) * n) >> levels


@jit_unmanaged
def enclose(X: Array, order: Array, start: int, stop: int, low: Array, high: Array) -> int:
    """Fill in the bounding box of the rows order[start:stop] and return its widest side; reads each value once."""
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
    """Rearrange keys and order between start and stop so that no key before `middle` exceeds one at or after it.

    Hoare's quickselect with the median of three as pivot; equal keys go to both sides. About 3 passes.
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
        # keys[a : j + 1] ≤ pivot ≤ keys[i : b + 1]: go on in the part that holds `middle`, if any.
        if middle <= j:
            b = j
        elif middle >= i:
            a = i
        else:
            return


@jit_unmanaged
def divide(X: Array, order: Array, keys: Array, low: Array, high: Array, levels: int, level: int, place: int) -> None:
    """Compute the box of one node and split its rows between its two children at the median of the widest side."""
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
    """Grow the whole subtree of a node, level by level, and copy its leaves to `points`, column by column.

    Each level reads the rows once, 8·n·p bytes, and makes about 3·n comparisons to select medians.
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
