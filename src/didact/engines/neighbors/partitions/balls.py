"""A ball tree for any metric: the rows in the order of a tree of boxes, with a ball around each node.

Growth costs O(n p log n) and n distances per level. Omohundro (1989), Five balltree construction algorithms; the bound
by the triangle inequality as in Fukunaga, Narendra (1975), doi:10.1109/T-C.1975.224297.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import of_types
from didact.core.errors import InputError
from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.engines.neighbors.partitions import balls_loops
from didact.engines.neighbors.partitions.boxes import boxes


class Balls(NamedTuple):
    """The tree: row numbers by leaf, the rows in that order, and the balls of its nodes (see `Boxes`)."""

    order: Array
    points: Array
    centres: Array
    radii: Array
    levels: int

    def check(self) -> None:
        """Raise an InputError if the arrays do not form a tree (in a forged file): loops do not check indices."""
        (n, p), nodes = self.points.shape, len(self.radii)
        whole = type(self.levels) is int and 0 <= self.levels < 48 and nodes == (2 << self.levels) - 1
        shapes = self.centres.shape == (nodes, p) and self.order.shape == (n,) and n >= 1 << self.levels
        kinds = of_types(self[:4], (np.int64, np.float64, np.float64, np.float64))
        if not (whole and shapes and kinds and self.order.min() >= 0 and self.order.max() < n):
            raise InputError("The tree of balls makes no sense.")


def balls(X: Array, noun: Any, leaf_size: int = 32) -> Balls:
    """The tree of the rows X (float64, C order) with at most leaf_size rows, or 2, in a leaf.

    >>> from didact.parts.distances import Manhattan
    >>> balls(np.array([[0.0, 0.0], [2.0, 2.0]]), Manhattan()).radii.tolist()
    [2.0]
    """
    tree = boxes(X, leaf_size)
    nodes = len(tree.low)
    out = Balls(
        order=tree.order,
        points=np.ascontiguousarray(X[tree.order]),
        centres=np.empty_like(tree.low),
        radii=np.empty(nodes),
        levels=tree.levels,
    )

    def piece(edges: tuple[int, int]) -> None:
        balls_loops.enclose_balls(noun, out.points, out.levels, *edges, out.centres, out.radii)

    # In up to 16 pieces per level: the nodes of each level hold all rows.
    levels = [(1 << level) - 1 for level in range(tree.levels + 2)]
    pieces = [edges for a, b in pairwise(levels) for edges in pairwise(range(a, b + 1, max(1, (b - a) // 16)))]
    parallel_map(piece, pieces)
    return out
