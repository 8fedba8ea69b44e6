"""Compiled search for the nearest point of a cloud, whose value is the unit of sums that would underflow.

Layout: the `Cloud` of `kernel_sums_loops`, and a stack of its nodes::

    stack (DEPTH,)   [ … | farther child | nearer child | free ]   nodes still to be visited, the last one first
    bound (DEPTH,)   [ … | least u²      | least u²     | free ]   of the points in each
    d (CHUNK,)       [ u² of some points of a leaf | … ]
"""

import numpy as np

from didact.core.jit import jit
from didact.core.typing import Array
from didact.engines.smoothing.kernel_sums_loops import CHUNK, DEPTH, Cloud, node_range, squares, tiny_cloud


@jit
def nearest_squares(cloud: Cloud, Q: Array, own: Array, out: Array) -> None:
    """The least u² of the points from each query, except for a point that is left out altogether."""
    nodes, points, stretch, lows, highs = cloud.start.shape[0], cloud.points, cloud.stretch, cloud.low, cloud.high
    d, stack, bound = np.empty(CHUNK), np.empty(DEPTH, np.int64), np.empty(DEPTH)
    for i in range(Q.shape[0]):
        best, gone, size = np.inf, own[i] >= 0 and cloud.share[own[i]] >= 1.0, 1
        stack[0], bound[0] = 0, 0.0
        while size > 0:
            size -= 1
            node, least = stack[size], bound[size]
            if least >= best:
                continue
            left = 2 * node + 1
            if left >= nodes:
                for a in range(cloud.start[node], cloud.stop[node], CHUNK):
                    b = min(a + CHUNK, cloud.stop[node])
                    squares(points, stretch, a, b - a, Q, i, d)
                    for j in range(b - a):
                        if d[j] < best and not (gone and a + j == own[i]):
                            best = d[j]
                continue
            one, two = node_range(lows, highs, left, Q, i, Q, i)[0], node_range(lows, highs, left + 1, Q, i, Q, i)[0]
            if stretch.shape[0] > 0:
                one, two = one * cloud.least[left], two * cloud.least[left + 1]
            swap = one <= two  # push the nearer child last, so that it is visited first
            stack[size], bound[size] = left + swap, two if swap else one
            stack[size + 1], bound[size + 1] = left + 1 - swap, one if swap else two
            size += 2
        out[i] = best


def warm() -> None:
    """Compile for the types that callers use."""
    cloud = tiny_cloud()
    nearest_squares(cloud, np.ones((4, 2)), np.full(4, -1), np.empty(4))
