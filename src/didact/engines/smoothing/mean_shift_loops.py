r"""Compiled mean shifts: each start climbs to a mode of the density by moving to the weighted mean around it.

.. math:: x \leftarrow \frac{\sum_i w_i K(\|x-x_i\|/h)\,x_i}{\sum_i w_i K(\|x-x_i\|/h)}

with K the flat window (1 up to h) or the Gaussian one, of which rows farther away than some nine h are left out: they
have 4e-18 of the value at the centre. The rows are in a k-d tree; nodes that lie within a flat window as a whole enter
by their sums. Where no row is that near, the Gaussian means are those in units of the nearest row's value.

Layout: the tree as in `boxes_loops`; places are the rows in its order::

    weight (n,)     [ leaf 0 | leaf 1 | … ]   weights by place; a node has the places start[node] … stop[node] − 1
    mass, sums      (nodes,), (nodes, p): weight of the rows of each node, and their weighted sums
    x (seeds, p)    starts, then ends; steps and height (seeds,): moves made, Σ w K at the last of them
    paths (moves, p)   [ start of seed 0, place after move 1, … | start of seed 1, … | … ]
                         ^ ways[0]                                ^ ways[1]
    values (leaf)   distances, then w K, of the rows of a leaf; of a thread, which takes some seeds at a time
"""

import math
from typing import NamedTuple

import numpy as np

from didact.core.backend import read_only
from didact.core.jit import REASSOCIATE, jit, jit_unmanaged
from didact.core.jit.atomics import atomic_add
from didact.core.typing import Array
from didact.engines.neighbors.partitions.walk_loops import add_columns, box_total
from didact.parts.distances import Euclidean
from didact.parts.exp_loops import exp1

EUCLIDEAN = Euclidean()
FLAT_WINDOW, GAUSSIAN_WINDOW = 0, 1
FAR_SQUARE = 80.0  # square of the distance, in bandwidths, from which on a Gaussian window is left out
SHORT_MOVE, STRETCHED = (
    0.1,
    1.5,
)  # bandwidths up to which Gaussian moves are lengthened, and the factor from one to the next
SEEDS_AT_ONCE = 4  # seeds of a piece


class Hills(NamedTuple):
    """The rows that lift the density."""

    points: Array
    low: Array
    high: Array
    start: Array
    stop: Array
    weight: Array
    mass: Array
    sums: Array


@jit_unmanaged
def sum_nodes(hills: Hills) -> None:
    """Weights and weighted sums of all nodes, from the leaves upwards."""
    nodes, p = hills.low.shape
    for node in range(nodes - 1, -1, -1):
        if node < nodes // 2:
            hills.mass[node] = hills.mass[2 * node + 1] + hills.mass[2 * node + 2]
            for j in range(p):
                hills.sums[node, j] = hills.sums[2 * node + 1, j] + hills.sums[2 * node + 2, j]
            continue
        start, width = hills.start[node], hills.stop[node] - hills.start[node]
        hills.mass[node] = 0.0
        for i in range(width):
            hills.mass[node] += hills.weight[start + i]
        for j in range(p):
            hills.sums[node, j] = weighted_sum(hills.weight[start:], hills.points[start * p + j * width :], width)


@jit_unmanaged(fastmath=REASSOCIATE)
def weighted_sum(values: Array, column: Array, width: int) -> float:
    """Σ v x of so many numbers."""
    total = 0.0
    for i in range(width):
        total += values[i] * column[i]
    return total


@jit_unmanaged
def set_window(kind: int, h: float, nearest: float, weight: Array, values: Array, width: int) -> float:
    """Squared distances become w K, in units of K at the square `nearest`; their sum."""
    if kind == FLAT_WINDOW:
        for i in range(width):
            values[i] = weight[i] if math.sqrt(values[i]) <= h else 0.0
    else:
        scale = 0.5 / (h * h)
        for i in range(width):
            values[i] = weight[i] * exp1((nearest - values[i]) * scale)
    total = 0.0
    for i in range(width):
        total += values[i]
    return total


@jit_unmanaged
def farthest_square(q: Array, low: Array, high: Array) -> float:
    """The squared distance of the corner of a box that is farthest from q."""
    total = 0.0
    for j in range(q.shape[0]):
        a, b = q[j] - low[j], high[j] - q[j]
        total += max(a * a, b * b)
    return total


@jit_unmanaged
def mean_around(hills: Hills, kind: int, h: float, nearest: float, reach: float, q: Array, new: Array, stack: Array,
                values: Array) -> float:  # fmt: skip
    """Σ w K at q, and the sums Σ w K x in `new`, of the rows whose squared distance is at most `reach`."""
    p, leaves = q.shape[0], hills.low.shape[0] // 2
    height = 0.0
    for j in range(p):
        new[j] = 0.0
    stack[0], depth = 0, 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        if box_total(EUCLIDEAN, q, hills.low[node], hills.high[node]) > reach:
            continue
        if kind == FLAT_WINDOW and math.sqrt(farthest_square(q, hills.low[node], hills.high[node])) <= h:
            height += hills.mass[node]
            for j in range(p):
                new[j] += hills.sums[node, j]
        elif node < leaves:
            stack[depth], stack[depth + 1] = 2 * node + 2, 2 * node + 1
            depth += 2
        else:
            start, stop = hills.start[node], hills.stop[node]
            width = stop - start
            rows = hills.points[start * p : stop * p]
            add_columns(EUCLIDEAN, q, rows, width, values)
            here = set_window(kind, h, nearest, hills.weight[start:stop], values, width)
            if here > 0.0:
                height += here
                for j in range(p):
                    new[j] += weighted_sum(values, rows[j * width :], width)
    return height


@jit_unmanaged
def nearest_square(hills: Hills, q: Array, values: Array) -> float:
    """The squared distance of the row nearest to q, by looking at all leaves; for starts far away from all rows."""
    p, nodes = q.shape[0], hills.low.shape[0]
    best = math.inf
    for node in range(nodes // 2, nodes):
        if box_total(EUCLIDEAN, q, hills.low[node], hills.high[node]) < best:
            start, stop = hills.start[node], hills.stop[node]
            add_columns(EUCLIDEAN, q, hills.points[start * p : stop * p], stop - start, values)
            for i in range(stop - start):
                best = min(best, values[i])
    return best


@jit_unmanaged
def set_mean(hills: Hills, kind: int, h: float, reach: float, q: Array, new: Array, stack: Array,
             values: Array) -> float:  # fmt: skip
    """The weighted mean around q in `new`, and Σ w K at q; 0 if no row is near."""
    height = mean_around(hills, kind, h, 0.0, reach, q, new, stack, values)
    total = height
    if height <= 0.0 and kind == GAUSSIAN_WINDOW:
        nearest = nearest_square(hills, q, values)
        total = mean_around(hills, kind, h, nearest, nearest + reach, q, new, stack, values)
    if total > 0.0:
        for j in range(q.shape[0]):
            new[j] /= total
    return height


@jit_unmanaged
def climb(hills: Hills, kind: int, h: float, tol: float, most: int, q: Array, new: Array, safe: Array, stack: Array,
          values: Array, path: Array) -> tuple[int, float]:  # fmt: skip
    """Move q to a mode, and write its way to `path` if that has room: the number of moves, and the height.

    The first move is not counted; most + 1 says that q had not come to rest after that many more. Short Gaussian moves
    are lengthened, half as much again each time, as long as the density rises; then q goes back to the plain move.
    """
    p, steps, reach = q.shape[0], 0, h * h * (1.0 + 1e-15 if kind == FLAT_WINDOW else FAR_SQUARE)
    before, stretch, move = 0.0, 1.0, math.inf
    while True:
        height = set_mean(hills, kind, h, reach, q, new, stack, values)
        if height <= 0.0 and kind == FLAT_WINDOW:
            return steps, 0.0
        if stretch > 1.0 and height < before:
            stretch = 1.0
            for j in range(p):
                q[j] = safe[j]
        else:
            before, square = height, 0.0
            for j in range(p):
                square += (new[j] - q[j]) * (new[j] - q[j])
            move = math.sqrt(square)
            stretch = (
                stretch * STRETCHED
                if kind == GAUSSIAN_WINDOW and steps > 0 and stretch * move < SHORT_MOVE * h
                else 1.0
            )
            if move <= tol:
                stretch = 1.0
            for j in range(p):
                safe[j] = new[j]
                q[j] = new[j] if stretch == 1.0 else q[j] + stretch * (new[j] - q[j])
            steps += 1
        if steps < path.shape[0]:
            for j in range(p):
                path[steps, j] = q[j]
        if move <= tol:
            return steps - 1, height
        if steps > most and stretch == 1.0:
            return steps, height


@jit
def climb_all(hills: Hills, kind: int, h: float, tol: float, most: int, order: Array, x: Array, steps: Array,
              height: Array, ways: Array, paths: Array, turn: Array) -> None:  # fmt: skip
    """Have seeds climb, some at a time in the given order, until none is left."""
    p, nodes = x.shape[1], hills.low.shape[0]
    new, safe, values = np.empty(p), np.empty(p), np.empty(np.max(hills.stop[nodes // 2 :] - hills.start[nodes // 2 :]))
    stack, done = np.empty(128, np.int64), 0
    while done < turn[1]:
        first = SEEDS_AT_ONCE * atomic_add(turn, 0, 1)
        if first >= order.shape[0]:
            return
        done += 1
        for t in range(first, min(first + SEEDS_AT_ONCE, order.shape[0])):
            i = order[t]
            path = paths[ways[i] : ways[i + 1]]
            if path.shape[0] > 0:
                for j in range(p):
                    path[0, j] = x[i, j]
            steps[i], height[i] = climb(hills, kind, h, tol, most, x[i], new, safe, stack, values, path)


def warm() -> None:
    """Compile for float64."""
    one, long, number = np.zeros((1, 2)), np.zeros(1, np.int64), np.ones(1)
    tree = {"points": read_only(np.zeros(2)), "low": read_only(one), "high": read_only(one)}
    hills = Hills(**tree, start=long, stop=long + 1, weight=number, mass=number.copy(), sums=one.copy())
    sum_nodes(hills)
    ways = np.zeros(2, np.int64)
    climb_all(
        hills, FLAT_WINDOW, 1.0, 0.0, 1, long, one.copy(), long.copy(), number.copy(), ways, one[:0], np.array([0, 1])
    )
