r"""Trees of clusters from the top: the widest cluster is divided in two, again and again.

A cluster never has a larger width than the one it was part of, so that the divisions, the last one first, are the
merges of a tree whose heights ascend.
"""

from collections.abc import Callable
from heapq import heappop, heappush

import numpy as np

from didact.core.typing import Array
from didact.engines.linkage.division_loops import splinter
from didact.engines.linkage.trees import merged

Width = Callable[[Array], float]  # of a cluster, by the numbers of its rows
Split = Callable[[Array], Array]  # which of the rows of a cluster leave it


def divide_widest(n: int, width: Width, split: Split, most: int, least: float = 0.0) -> tuple[Array, Array]:
    """Z of the divisions of n rows into at most so many clusters, and the leaf of each row.

    Merging whose width is below `least`, or 0, are not divided. Z counts rows, of which a leaf may have several.
    """
    groups, heights, pairs = [np.arange(n)], [], []  # type: tuple[list[Array], list[float], list[tuple[int, int]]]
    heap = [(-width(groups[0]), 0)]
    while heap and len(groups) < most:
        high, g = heappop(heap)
        if -high < least or high == 0.0:
            break
        leave = split(groups[g])
        pairs.append((g, len(groups)))
        heights.append(-high)
        groups.append(groups[g][leave])
        groups[g] = groups[g][~leave]
        for part in pairs[-1]:
            heappush(heap, (-min(width(groups[part]), -high), part))
    leaves = np.empty(n, np.int64)
    for g, rows in enumerate(groups):
        leaves[rows] = g
    first, second = np.array(pairs[::-1], np.int64).reshape(-1, 2).T.copy()
    Z = merged(first, second, np.array(heights[::-1]))
    sizes = [float(len(rows)) for rows in groups]
    for i, (a, b) in enumerate(Z[:, :2].astype(int)):
        sizes.append(sizes[a] + sizes[b])
        Z[i, 3] = sizes[-1]
    return Z, leaves


def splinter_group(D: Array, rows: Array) -> Array:
    """Which rows of a cluster leave it, by a triangle of distances (DIANA)."""
    side = np.zeros(len(rows), np.int8)
    splinter(D, rows, np.empty(len(rows)), np.empty(len(rows)), side)
    return side == 1
