"""Compiled ball tree for any metric: centres and radii of the nodes of an implicit heap, and the search.

By the triangle inequality no row of a ball is nearer to a query than the distance of its centre minus its radius; a
billionth of both is subtracted as a margin for rounding. Cost: one distance per node visited and per row of a leaf.

Layout: nodes and `order` as in `boxes_loops`; points (n, p) are the rows in that order, row by row::

    points   [ rows of leaf 0 | rows of leaf 1 | … ]      centres (nodes, p)      radii (nodes,)
    nearest: best, rows (queries, k)    ascending distances and their row numbers
    within:  rows, distances            [ those of query start | of query start + 1 | … | free ], counts[i] of query i
    stack, bounds                       nodes still to be visited, and the lower bound of the distances in each
"""

import math
from typing import Any

import numpy as np

from didact.core.backend import read_only
from didact.core.jit import dispatch, jit
from didact.core.typing import Array
from didact.engines.neighbors.best_loops import offer
from didact.engines.neighbors.partitions.boxes_loops import edge
from didact.parts.distances import Canberra, Chebyshev, Euclidean, Hamming, Haversine, Jaccard, Manhattan, Minkowski

between1 = dispatch("between1")
ROOM = 1e-9  # relative margin for the rounding of distances


@jit
def enclose_balls(noun: Any, points: Array, levels: int, start: int, stop: int, centres: Array, radii: Array) -> None:
    """Centres (the means of the rows) and radii (the largest distances from them) of the nodes start … stop − 1."""
    n, p = points.shape
    for node in range(start, stop):
        level = 0
        while (2 << level) - 1 <= node:
            level += 1
        place = node + 1 - (1 << level)
        a, b = edge(n, levels, level, place), edge(n, levels, level, place + 1)
        for j in range(p):
            centres[node, j] = 0.0
        for t in range(a, b):
            for j in range(p):
                centres[node, j] += points[t, j] / (b - a)
        radii[node] = 0.0
        for t in range(a, b):
            radii[node] = max(radii[node], between1(noun, centres[node], points[t]))


@jit
def least_distance(d: float, radius: float) -> float:
    """The least distance of a row in a ball whose centre is at distance d."""
    return max(0.0, d - radius - ROOM * (d + radius))


@jit
def nearest_balls(noun: Any, Q: Array, skip: Array, turn: Array, order: Array, points: Array, centres: Array,
                  radii: Array, levels: int, best: Array, rows: Array) -> None:  # fmt: skip
    """Find the k nearest rows of the queries `turn`, depth first, the nearer ball first."""
    n, p, k = points.shape[0], Q.shape[1], best.shape[1] - 1
    leaves = (1 << levels) - 1
    stack, bounds, q = np.empty(levels + 2, np.int64), np.empty(levels + 2), np.empty(p)
    for i in turn:
        for j in range(p):
            q[j] = Q[i, j]
        stack[0], bounds[0], depth = 0, 0.0, 1
        while depth > 0:
            depth -= 1
            node, bound = stack[depth], bounds[depth]
            while bound <= best[i, k] and node < leaves:  # down to a leaf; the farther child waits on the stack
                left = 2 * node + 1
                a, b = between1(noun, q, centres[left]), between1(noun, q, centres[left + 1])
                node, far = (left, left + 1) if a <= b else (left + 1, left)
                bound, other = least_distance(min(a, b), radii[node]), least_distance(max(a, b), radii[far])
                if other <= best[i, k]:
                    stack[depth], bounds[depth] = far, other
                    depth += 1
            if bound > best[i, k]:
                continue
            for t in range(edge(n, levels, levels, node - leaves), edge(n, levels, levels, node - leaves + 1)):
                if order[t] != skip[i]:
                    d = between1(noun, q, points[t])
                    if d <= best[i, k]:
                        offer(d, order[t], best[i], rows[i])


@jit
def within_balls(noun: Any, Q: Array, skip: Array, radius: float, start: int, order: Array, points: Array,
                 centres: Array, radii: Array, levels: int, counts: Array, rows: Array,
                 distances: Array) -> int:  # fmt: skip
    """Find all rows within the radius, query by query from `start` on; returns the first query that found no room."""
    n, p, used = points.shape[0], Q.shape[1], 0
    leaves = (1 << levels) - 1
    stack, q = np.empty(levels + 3, np.int64), np.empty(p)
    for i in range(start, Q.shape[0]):
        for j in range(p):
            q[j] = Q[i, j]
        stack[0], depth, counts[i] = 0, 1, 0
        while depth > 0:
            depth -= 1
            node = stack[depth]
            if least_distance(between1(noun, q, centres[node]), radii[node]) > radius:
                continue
            if node < leaves:
                stack[depth], stack[depth + 1] = 2 * node + 1, 2 * node + 2
                depth += 2
                continue
            for t in range(edge(n, levels, levels, node - leaves), edge(n, levels, levels, node - leaves + 1)):
                d = between1(noun, q, points[t])
                if d <= radius and order[t] != skip[i]:
                    if used + counts[i] == rows.shape[0]:  # full: the caller repeats this query with larger arrays
                        return i
                    rows[used + counts[i]], distances[used + counts[i]] = order[t], d
                    counts[i] += 1
        used += counts[i]
    return Q.shape[0]


def warm() -> None:
    """Compile for float64 and every metric."""
    X, order, long = np.ones((1, 2)), np.zeros(1, np.int64), np.zeros((1, 1), np.int64)
    plain = Canberra(), Chebyshev(), Euclidean(), Haversine(), Jaccard(), Manhattan(), Minkowski(3.0)
    for noun in (*plain, Hamming(np.ones(2), 2.0)):
        enclose_balls(noun, X, 0, 0, 1, np.ones((1, 2)), np.ones(1))
        tree = read_only(order), read_only(X), read_only(X), read_only(np.ones(1)), 0
        nearest_balls(noun, X, order, tree[0], *tree, np.full((1, 1), math.inf), long)
        within_balls(noun, X, order, 1.0, 0, *tree, order.copy(), order.copy(), np.ones(1))
