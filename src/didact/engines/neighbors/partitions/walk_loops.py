"""Compiled search of a tree of boxes: the k nearest rows of a query, or all within a radius.

The search is depth first, the nearer child first; a node is pruned when its box is farther away than the k-th best, or
than the radius. A distance is accumulated column by column (`step1`) into a *total*, for Euclidean distances the sum of
squares. The total of a box is accumulated in the same order as that of a row, and rounding is monotone, so no box seems
farther than a row in it. In a leaf the totals of all rows are accumulated together, which compiles to vector
instructions: 3 p operations per row, 8 rows at a time, for 8 p bytes from the cache.

Layout: the tree as in `boxes_loops`; a leaf of w rows from place a on is read column by column::

    points[a·p : (a + w)·p] = [ x_0 … x_{w−1} of column 0 | of column 1 | … ]      totals [ w sums so far ]
    nearest: best, rows (queries, k)    ascending distances and their row numbers
    within:  rows, distances            [ those of query start | of query start + 1 | … | free ], counts[i] of query i
    stack, bounds                       nodes still to be visited, and the total of each box's nearest point
"""

import math
from typing import Any

import numpy as np

from didact.core.backend import read_only
from didact.core.jit import dispatch, jit, jit_unmanaged
from didact.core.typing import Array
from didact.engines.neighbors.best_loops import offer
from didact.engines.neighbors.partitions.boxes_loops import edge
from didact.parts.distances import Canberra, Chebyshev, Euclidean, Hamming, Manhattan, Minkowski

step1 = dispatch("step1")
expand1 = dispatch("expand1")
reduce1 = dispatch("reduce1")


@jit_unmanaged
def add_columns(noun: Any, q: Array, points: Array, width: int, totals: Array) -> None:
    """The totals of the `width` rows stored column by column in `points`; four columns are added at a time."""
    p = q.shape[0]
    for i in range(width):
        totals[i] = 0.0
    j = 0
    while j + 4 <= p:
        a, b, c, d = q[j], q[j + 1], q[j + 2], q[j + 3]
        A, B = points[j * width : (j + 1) * width], points[(j + 1) * width : (j + 2) * width]
        C, D = points[(j + 2) * width : (j + 3) * width], points[(j + 3) * width : (j + 4) * width]
        for i in range(width):
            total = step1(noun, step1(noun, totals[i], a, A[i], j), b, B[i], j + 1)
            totals[i] = step1(noun, step1(noun, total, c, C[i], j + 2), d, D[i], j + 3)
        j += 4
    while j < p:
        a = q[j]
        A = points[j * width : (j + 1) * width]
        for i in range(width):
            totals[i] = step1(noun, totals[i], a, A[i], j)
        j += 1


@jit_unmanaged
def box_total(noun: Any, q: Array, low: Array, high: Array) -> float:
    """The total of the point of a box that is nearest to q."""
    total = 0.0
    for j in range(q.shape[0]):
        total = step1(noun, total, q[j], min(max(q[j], low[j]), high[j]), j)
    return total


@jit_unmanaged
def near(totals: Array, width: int, bound: float) -> int:
    """The number of totals up to the bound: one comparison each, without branches."""
    count = 0
    for i in range(width):
        count += totals[i] <= bound
    return count


@jit_unmanaged
def nearest_of(noun: Any, q: Array, skip: int, order: Array, points: Array, low: Array, high: Array, levels: int,
               best: Array, rows: Array, stack: Array, bounds: Array, totals: Array) -> None:  # fmt: skip
    """Find the k nearest rows of one query and insert them into the list (best, rows)."""
    n, p, k = order.shape[0], q.shape[0], best.shape[0] - 1
    leaves = (1 << levels) - 1
    limit = math.inf
    stack[0], bounds[0], depth = 0, 0.0, 1
    while depth > 0:
        depth -= 1
        node, bound = stack[depth], bounds[depth]
        while bound <= limit and node < leaves:  # down to a leaf; the farther child waits on the stack
            left = 2 * node + 1
            a, b = box_total(noun, q, low[left], high[left]), box_total(noun, q, low[left + 1], high[left + 1])
            node = left if a <= b else left + 1
            bound = min(a, b)
            if max(a, b) <= limit:
                stack[depth], bounds[depth] = 2 * left + 1 - node, max(a, b)
                depth += 1
        if bound > limit:
            continue
        start, stop = edge(n, levels, levels, node - leaves), edge(n, levels, levels, node - leaves + 1)
        width = stop - start
        add_columns(noun, q, points[start * p : stop * p], width, totals)
        if near(totals, width, limit) == 0:
            continue
        for i in range(width):
            if totals[i] <= limit and order[start + i] != skip:
                offer(expand1(noun, totals[i]), order[start + i], best, rows)
                if best[k] < math.inf:
                    limit = reduce1(noun, best[k])


@jit
def nearest_boxes(noun: Any, Q: Array, skip: Array, turn: Array, order: Array, points: Array, low: Array, high: Array,
                  levels: int, best: Array, rows: Array) -> None:  # fmt: skip
    """Find the k nearest rows of the queries `turn`, given in an order in which neighbours share cached nodes."""
    n, p = order.shape[0], Q.shape[1]
    totals = np.empty((n >> levels) + 1)
    stack, bounds, q = np.empty(levels + 2, np.int64), np.empty(levels + 2), np.empty(p)
    for i in turn:
        for j in range(p):
            q[j] = Q[i, j]
        nearest_of(noun, q, skip[i], order, points, low, high, levels, best[i], rows[i], stack, bounds, totals)


@jit_unmanaged
def within_of(noun: Any, q: Array, skip: int, radius: float, order: Array, points: Array, low: Array, high: Array,
              levels: int, stack: Array, totals: Array, rows: Array, distances: Array, used: int) -> int:  # fmt: skip
    """Append all rows within the radius of one query after the first `used`; returns the new number, −1 if full."""
    n, p = order.shape[0], q.shape[0]
    leaves = (1 << levels) - 1
    limit = reduce1(noun, radius)
    stack[0], depth = 0, 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        if box_total(noun, q, low[node], high[node]) > limit:
            continue
        if node < leaves:
            stack[depth], stack[depth + 1] = 2 * node + 1, 2 * node + 2
            depth += 2
            continue
        start, stop = edge(n, levels, levels, node - leaves), edge(n, levels, levels, node - leaves + 1)
        width = stop - start
        if used + width > rows.shape[0]:  # a whole leaf may not fit: the caller repeats the query with larger arrays
            return -1
        add_columns(noun, q, points[start * p : stop * p], width, totals)
        for i in range(width):
            if totals[i] <= limit and order[start + i] != skip:
                d = expand1(noun, totals[i])
                if d <= radius:  # the total of a radius is rounded, the distance decides
                    rows[used], distances[used] = order[start + i], d
                    used += 1
    return used


@jit
def within_boxes(noun: Any, Q: Array, skip: Array, radius: float, start: int, order: Array, points: Array, low: Array,
                 high: Array, levels: int, counts: Array, rows: Array, distances: Array) -> int:  # fmt: skip
    """Find all rows within the radius, query by query from `start` on; returns the first query that found no room."""
    n, p = order.shape[0], Q.shape[1]
    totals = np.empty((n >> levels) + 1)
    stack, q, used = np.empty(levels + 3, np.int64), np.empty(p), 0
    for i in range(start, Q.shape[0]):
        for j in range(p):
            q[j] = Q[i, j]
        now = within_of(
            noun, q, skip[i], radius, order, points, low, high, levels, stack, totals, rows, distances, used
        )
        if now < 0:
            return i
        counts[i], used = now - used, now
    return Q.shape[0]


def warm() -> None:
    """Compile for both float types and every distance."""
    order, nodes, skip = read_only(np.arange(2)), read_only(np.zeros((1, 2))), np.full(1, -1)
    one = np.ones((1, 1)), np.ones((1, 1), np.int64)
    for noun in (Euclidean(), Manhattan(), Chebyshev(), Minkowski(3.0), Canberra(), Hamming(np.ones(2), 2.0)):
        for dtype in (np.float64, np.float32) if isinstance(noun, Euclidean) else (np.float64,):
            Q, points = np.zeros((1, 2), dtype), read_only(np.zeros(4, dtype))
            nearest_boxes(noun, Q, skip, order[:1], order, points, nodes, nodes, 0, *one)
            within_boxes(
                noun, Q, skip, 1.0, 0, order, points, nodes, nodes, 0, np.zeros(1, np.int64), np.zeros(2, np.int64),
                np.zeros(2),
            )  # fmt: skip
