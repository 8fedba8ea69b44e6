"""A balanced k-d tree of tight boxes in an implicit heap, for neighbour searches and kernel sums.

Growth costs O(n p log n): each level reads the rows once and splits every node at the median of its box's widest side.
Bentley (1975), doi:10.1145/361002.361007.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import of_types
from didact.core.errors import InputError
from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.engines.neighbors.partitions import boxes_loops
from didact.engines.neighbors.tuning import SUBTREE_LEVELS


class Boxes(NamedTuple):
    """The tree. Node i has the children 2i + 1 and 2i + 2; leaves are the last 2^levels nodes.

    `order` holds the row numbers leaf by leaf. Node t of level l, number 2^l − 1 + t in all, holds its places
    edge(l, t) … edge(l, t + 1) − 1, and its box runs from low[node] to high[node]. `points` are the rows leaf by leaf,
    within a leaf column by column: column j of the i-th row of a leaf of w rows from place a on is at a·p + j·w + i.
    """

    order: Array
    points: Array
    low: Array
    high: Array
    levels: int

    def edge(self, level: int, place: int) -> int:
        """The first place of node number `place` of a level."""
        return int(((place << (self.levels - level)) * len(self.order)) >> self.levels)

    def ranges(self) -> tuple[Array, Array]:
        """The first place of each node, and the place after its last."""
        steps = (np.arange((1 << level) + 1) << (self.levels - level) for level in range(self.levels + 1))
        edges = [(step * len(self.order)) >> self.levels for step in steps]
        return np.concatenate([e[:-1] for e in edges]), np.concatenate([e[1:] for e in edges])

    def check(self) -> None:
        """Raise an InputError if the arrays do not form a tree (in a forged file): loops do not check indices."""
        n, (nodes, p) = len(self.order), self.low.shape
        whole = type(self.levels) is int and 0 <= self.levels < 48 and nodes == (2 << self.levels) - 1
        shapes = self.high.shape == self.low.shape and self.points.shape == (n * p,) and n >= 1 << self.levels
        kinds = any(of_types(self[:4], (np.int64, kind, np.float64, np.float64)) for kind in (np.float32, np.float64))
        if not (whole and shapes and kinds and n and self.order.min() >= 0 and self.order.max() < n):
            raise InputError("The tree of boxes makes no sense.")


def boxes(X: Array, leaf_size: int = 64) -> Boxes:
    """The tree of the rows X (float32 or float64, C order) with at most leaf_size rows, or 2, in a leaf.

    >>> tree = boxes(np.array([[3.0], [1.0], [2.0], [0.0]]), 2)
    >>> tree.order[:2].tolist(), tree.high[1].tolist()
    ([3, 1], [1.0])
    """
    n, p = X.shape
    if not n:
        raise InputError("There are no rows to search: the model, or the file that it was read from, is empty.")
    levels = max(0, int(np.ceil(np.log2(max(n, 1) / max(leaf_size, 2)))))
    nodes = (2 << levels) - 1
    order, keys, points = np.arange(n), np.empty(n), np.empty(n * p, X.dtype)
    low, high = np.empty((nodes, p)), np.empty((nodes, p))
    # The upper levels node by node, the lower ones as whole subtrees, which stay in a core's cache.
    top = max(0, levels - SUBTREE_LEVELS)
    for level in range(top):
        node = partial(_node, X, order, keys, low, high, levels, level)
        parallel_map(node, range(1 << level))
    subtree = partial(_subtree, X, order, keys, low, high, points, levels, top)
    parallel_map(subtree, range(1 << top))
    return Boxes(order=order, points=points, low=low, high=high, levels=levels)


def _node(*arguments: Any) -> None:
    boxes_loops.divide(*arguments)


def _subtree(*arguments: Any) -> None:
    boxes_loops.grow(*arguments)
