r"""Repulsion of points by a tree: for each point :math:`\sum_j k_{ij}` and :math:`\sum_j k_{ij}t_{ij}(y_i-y_j)` with
:math:`t = 1/(1+d^2/\nu)` and :math:`k = t^{(\nu+1)/2}`.

1. The points are divided at medians, as in a k-d tree. A division serves for some steps of a descent: points move, and
   the boxes and means of all nodes are computed anew from where they are.
2. Some points that are near each other, a group, go through the tree together. A node that is small, seen from the
   nearest place of the group's box, stands in the list of the group as one point with the mass of all (Barnes, Hut); of
   a leaf that is not, every point does.
3. Each point of the group sums over the list: vector instructions in single precision, with the middle of the group as
   origin, so that near points lose no digits. What has been summed over a list goes to double precision.

4. The points of the group itself come last, each without itself. At an angle of 0 all is exact but for rounding.

Layout, for n points in d columns and a tree of two levels::

    node             [            0            ]        node 2^level − 1 + place
                     [     1      |     2      ]
                     [  3  |  4   |  5  |  6   ]
    order (n,)       [ rows of a leaf | rows of the next | … ]   node `place` of a level begins at edge(…, place)
    S (d, n)         coordinates in that order;  low, high, mean (nodes, d)
    B (d, room)      [ mean of a small node | points of a leaf … | free ]   the list of a group, less the origin
    M (room,)        [ how many it holds    | 1 1 1            … | free ]   Q (d, group), ones: the group itself
    T (2, room)      distances and factors of one point
    F (d + 1, group) Σ k t (y_i − y_j) for each column, and Σ k

Barnes, Hut (1986), doi:10.1038/324446a0; van der Maaten (2014), Accelerating t-SNE using tree-based algorithms.
"""

from typing import NamedTuple

import numpy as np

from didact.core.jit import REASSOCIATE, jit_unmanaged
from didact.core.typing import Array
from didact.engines.neighbors.partitions.boxes_loops import divide, edge

ONE_F, ZERO_SINGLE = np.float32(1.0), np.float32(0.0)
LIST_ROOM = 1024  # entries of a list: with it a group's points stay in the first cache


class Division(NamedTuple):
    """Points divided into nested boxes."""

    levels: int
    order: Array
    keys: Array
    S: Array
    low: Array
    high: Array
    mean: Array


class Lists(NamedTuple):
    """Buffers of one thread: nodes that wait, the list of a group, and the group itself."""

    stack: Array  # int64 (2, 64): level and place of nodes that wait
    B: Array
    M: Array
    T: Array
    Q: Array  # (d, group)
    ones: Array  # (group)
    F: Array
    box: Array  # (3, d): the box of a group and its middle


@jit_unmanaged
def divide_top(Y: Array, tree: Division, levels: int) -> None:
    """Divide the points down to a level."""
    for level in range(levels):
        for place in range(1 << level):
            divide(Y, tree.order, tree.keys, tree.low, tree.high, tree.levels, level, place)


@jit_unmanaged
def divide_below(Y: Array, tree: Division, level: int, place: int) -> None:
    """Divide the points of a node down to the leaves."""
    for below in range(level, tree.levels):
        for here in range(place << (below - level), (place + 1) << (below - level)):
            divide(Y, tree.order, tree.keys, tree.low, tree.high, tree.levels, below, here)


@jit_unmanaged
def measure_below(Y: Array, tree: Division, level: int, place: int) -> None:
    """Copy the points of a node by place; boxes and means of all nodes below it, and its own."""
    n, levels = tree.order.shape[0], tree.levels
    for leaf in range(place << (levels - level), (place + 1) << (levels - level)):
        start, stop, node = edge(n, levels, levels, leaf), edge(n, levels, levels, leaf + 1), (1 << levels) - 1 + leaf
        for c in range(Y.shape[1]):
            low, high, total = np.inf, -np.inf, 0.0
            for k in range(start, stop):
                y = Y[tree.order[k], c]
                tree.S[c, k] = y
                low, high, total = min(low, y), max(high, y), total + y
            tree.low[node, c], tree.high[node, c], tree.mean[node, c] = low, high, total / max(stop - start, 1)
    for above in range(levels - 1, level - 1, -1):
        for here in range(place << (above - level), (place + 1) << (above - level)):
            join_children(n, tree, above, here)


@jit_unmanaged
def measure_top(tree: Division, levels: int) -> None:
    """Boxes and means of the nodes above a level, once those of the level are known."""
    for level in range(levels - 1, -1, -1):
        for place in range(1 << level):
            join_children(tree.order.shape[0], tree, level, place)


@jit_unmanaged
def join_children(n: int, tree: Division, level: int, place: int) -> None:
    """Box and mean of a node from those of its children."""
    node, levels = (1 << level) - 1 + place, tree.levels
    left = 2 * node + 1
    start, stop = edge(n, levels, level, place), edge(n, levels, level, place + 1)
    share = (edge(n, levels, level + 1, 2 * place + 1) - start) / max(stop - start, 1)
    for c in range(tree.low.shape[1]):
        tree.low[node, c] = min(tree.low[left, c], tree.low[left + 1, c])
        tree.high[node, c] = max(tree.high[left, c], tree.high[left + 1, c])
        tree.mean[node, c] = share * tree.mean[left, c] + (1.0 - share) * tree.mean[left + 1, c]


@jit_unmanaged
def repel_group(tree: Division, level: int, place: int, angle: float, freedom: int, lists: Lists) -> int:
    """Put the sums of the points of a node into F; their number."""
    n, d, node = tree.order.shape[0], tree.S.shape[0], (1 << level) - 1 + place
    start, stop = edge(n, tree.levels, level, place), edge(n, tree.levels, level, place + 1)
    for c in range(d):
        low, high = tree.low[node, c], tree.high[node, c]
        lists.box[0, c], lists.box[1, c], lists.box[2, c] = low, high, 0.5 * (low + high)
        for k in range(start, stop):
            lists.Q[c, k - start] = np.float32(tree.S[c, k] - lists.box[2, c])
    repel(tree, level, place, stop - start, angle, freedom, lists)
    for i in range(stop - start):
        add_point(lists.Q, lists.ones, 0, i, lists.Q, i, lists.F, d, freedom, lists.T)
        add_point(lists.Q, lists.ones, i + 1, stop - start, lists.Q, i, lists.F, d, freedom, lists.T)
    return stop - start


@jit_unmanaged
def repel(
    tree: Division, own_level: int, own: int, points: int, angle: float, freedom: int, lists: Lists
) -> None:  # fmt: skip
    """Sums over all points of the tree but for those of one node, for the points in Q, which lie in the box."""
    n, d, levels, stack = tree.order.shape[0], tree.S.shape[0], tree.levels, lists.stack
    for c in range(d + 1):
        for i in range(points):
            lists.F[c, i] = 0.0
    stack[0, 0], stack[1, 0] = 0, 0
    waiting, filled = 1, 0
    while waiting > 0:
        waiting -= 1
        level, place = stack[0, waiting], stack[1, waiting]
        if level == own_level and place == own:
            continue
        node = (1 << level) - 1 + place
        start, stop = edge(n, levels, level, place), edge(n, levels, level, place + 1)
        if filled + max(stop - start if level == levels else 1, 1) > LIST_ROOM:
            add_list(lists, filled, points, d, freedom)
            filled = 0
        if is_small(tree, node, angle, lists.box):
            for c in range(d):
                lists.B[c, filled] = np.float32(tree.mean[node, c] - lists.box[2, c])
            lists.M[filled] = np.float32(stop - start)
            filled += 1
        elif level == levels:
            for c in range(d):
                for k in range(start, stop):
                    lists.B[c, filled + k - start] = np.float32(tree.S[c, k] - lists.box[2, c])
            for k in range(stop - start):
                lists.M[filled + k] = ONE_F
            filled += stop - start
        else:
            for child in range(2):
                stack[0, waiting], stack[1, waiting] = level + 1, 2 * place + child
                waiting += 1
    add_list(lists, filled, points, d, freedom)


@jit_unmanaged
def is_small(tree: Division, node: int, angle: float, box: Array) -> bool:
    """Whether the widest side of a node is less than `angle` times the distance of its mean from the box."""
    widest, distance = 0.0, 0.0
    for c in range(tree.low.shape[1]):
        widest = max(widest, tree.high[node, c] - tree.low[node, c])
        gap = max(box[0, c] - tree.mean[node, c], tree.mean[node, c] - box[1, c], 0.0)
        distance += gap * gap
    return widest * widest < angle * angle * distance


@jit_unmanaged
def add_list(lists: Lists, filled: int, points: int, d: int, freedom: int) -> None:
    """Add the sums over the list for each point of the group."""
    for i in range(points):
        add_point(lists.B, lists.M, 0, filled, lists.Q, i, lists.F, d, freedom, lists.T)


@jit_unmanaged
def add_point(
    B: Array, M: Array, first: int, end: int, Q: Array, i: int, F: Array, d: int, freedom: int, T: Array
) -> None:  # fmt: skip
    """Add the sums over some entries of a list for one point."""
    if d == 2 and freedom == 1:
        add_plane(B, M, first, end, Q, i, F)
    else:
        add_space(B, M, first, end, Q, i, F, d, freedom, T)


@jit_unmanaged(fastmath=REASSOCIATE, error_model="numpy")
def add_plane(B: Array, M: Array, first: int, end: int, Q: Array, i: int, F: Array) -> None:
    """`add_point` for two columns and one degree of freedom, with all sums in registers."""
    a, b = Q[0, i], Q[1, i]
    x, y, z = ZERO_SINGLE, ZERO_SINGLE, ZERO_SINGLE
    for k in range(first, end):
        u, v = a - B[0, k], b - B[1, k]
        t = ONE_F / (ONE_F + (u * u + v * v))
        w = M[k] * t
        z += w
        w *= t
        x += w * u
        y += w * v
    F[0, i] += x
    F[1, i] += y
    F[2, i] += z


@jit_unmanaged(fastmath=REASSOCIATE, error_model="numpy")
def add_space(
    B: Array, M: Array, first: int, end: int, Q: Array, i: int, F: Array, d: int, freedom: int, T: Array
) -> None:  # fmt: skip
    """`add_point` for any columns and degrees of freedom, column by column; no loop both sums and stores."""
    z, inverse = ZERO_SINGLE, ONE_F / np.float32(freedom)
    for k in range(first, end):
        T[0, k] = ONE_F
    for c in range(d):
        a = Q[c, i]
        for k in range(first, end):
            u = a - B[c, k]
            T[0, k] += u * u * inverse
    to_factors(T, first, end, freedom)
    for k in range(first, end):
        z += M[k] * T[1, k]
    F[d, i] += z
    for k in range(first, end):
        T[1, k] *= M[k] * T[0, k]
    for c in range(d):
        a, x = Q[c, i], ZERO_SINGLE
        for k in range(first, end):
            x += T[1, k] * (a - B[c, k])
        F[c, i] += x


@jit_unmanaged(fastmath=REASSOCIATE, error_model="numpy")
def to_factors(T: Array, first: int, end: int, freedom: int) -> None:
    """From 1 + d²/ν in the first line: t there, and k in the second."""
    for k in range(first, end):
        T[0, k] = ONE_F / T[0, k]
        T[1, k] = T[0, k]
    if freedom % 2 == 0:
        for k in range(first, end):
            T[1, k] = np.sqrt(T[0, k])
    for _ in range(freedom // 2):
        for k in range(first, end):
            T[1, k] *= T[0, k]
