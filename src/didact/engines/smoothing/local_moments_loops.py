r"""Compiled local regression in one dimension by moments: a window of k points costs O(log k) instead of O(k).

On either side of a query q the tricube is a polynomial, :math:`(1-|v|^3)^3 = 1 \mp 3v^3 + 3v^6 \mp v^9` with
:math:`v = (x-q)/h`, so that the sums of a local fit follow from the moments :math:`\sum_j w_j v_j^m` and
:math:`\sum_j w_j y_j v_j^m`, m < 14, of the points on that side. Moments of 16, 32, 64, … sorted points are stored in
a binary tree, each about the midpoint of its points in units of half their extent, and are moved to another centre and
unit by the binomial theorem. No moved moment exceeds the weight of the points, so rounding stays within 1e-15 of that.

Successive queries share nearly all of their points: the moments of the points that a group of queries has in common are
summed once, about one of the queries, and moved to each of them; the remaining points at the ends are added one by one.

Layout::

    nodes   [ level 0: leaves of 16 points | level 1: 32 points | … ]     level l: first[l] … first[l + 1] − 1
            node i of level l > 0 has the children 2i and 2i + 1 of level l − 1
    weight, value (nodes, 14)    moments of w and of w·y about centre[node], in units of radius[node]
    ranges (group, 3)            begin, split, end: the window of each query, and its first point not left of the query
    sides (2, 2, 14)             moments of w and of w·y of the common points left and right of the queries
    sums (9,)                    [ Σ K w v^m, m < 5 | Σ K w y v^m, m < 3 | Σ w ]
    points after the last whole leaf belong to no node and are added one by one
"""

import math
from typing import NamedTuple

import numpy as np

from didact.core.jit import jit
from didact.core.typing import Array
from didact.engines.smoothing.local_regression_loops import count_below, first_coefficient, window
from didact.engines.smoothing.tuning import FEW_POINTS, FRINGE, MOMENT_LEAF, QUERY_GROUP
from didact.parts.windows import Tricube

TERMS = 14  # 9 for the tricube, 4 for products of the terms of a parabola, and the 0th
NEAR_QUERIES = 0.05  # bandwidths between the queries of a group, so that moving moments by them loses nothing
LIGHT = 1e-3  # share of the points' weight that the window must leave: else rounding shows
STEEP_TERM = 1e-5  # share of a term that must be left after those before it, for the same reason


class MomentTree(NamedTuple):
    """The tree of moments: level after level of whole nodes of 16, 32, … points."""

    first: Array  # (levels + 1,): where the nodes of each level begin
    centre: Array  # (nodes,)
    radius: Array
    weight: Array  # (nodes, TERMS): Σ w ((x − centre)/radius)^m
    value: Array  # (nodes, TERMS): Σ w y ((x − centre)/radius)^m


@jit
def move(moments: Array, shift: float, scale: float, terms: int, out: Array, buffer: Array) -> None:
    """Add the moments of shift + scale·t to `out`, given those of t."""
    power = 1.0
    for m in range(terms):
        buffer[m] = power * moments[m]
        power *= scale
    for i in range(1, terms):
        for m in range(terms - 1, i - 1, -1):
            buffer[m] += shift * buffer[m - 1]
    for m in range(terms):
        out[m] += buffer[m]


@jit
def grow_leaves(x: Array, y: Array, w: Array, start: int, stop: int, tree: MomentTree) -> None:
    """Compute the moments of the leaves start … stop − 1 from their points."""
    for node in range(start, stop):
        a, b = node * MOMENT_LEAF, (node + 1) * MOMENT_LEAF
        centre, radius = 0.5 * x[a] + 0.5 * x[b - 1], 0.5 * x[b - 1] - 0.5 * x[a]
        tree.centre[node], tree.radius[node] = centre, radius
        inverse = 1.0 / radius if radius > 0.0 else 0.0
        for j in range(a, b):
            t, power, wy = (x[j] - centre) * inverse, w[j], y[j]
            for m in range(TERMS):
                tree.weight[node, m] += power
                tree.value[node, m] += power * wy
                power *= t


@jit
def grow_levels(tree: MomentTree) -> None:
    """Compute the moments of all other nodes from their two children."""
    buffer = np.empty(TERMS)
    for level in range(1, tree.first.shape[0] - 1):
        below, here = tree.first[level - 1], tree.first[level]
        for i in range(tree.first[level + 1] - here):
            left, node = below + 2 * i, here + i
            right = left + 1
            low, high = tree.centre[left] - tree.radius[left], tree.centre[right] + tree.radius[right]
            centre, radius = 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low
            tree.centre[node], tree.radius[node] = centre, radius
            inverse = 1.0 / radius if radius > 0.0 else 0.0
            for child in (left, right):
                shift, scale = (tree.centre[child] - centre) * inverse, tree.radius[child] * inverse
                move(tree.weight[child], shift, scale, TERMS, tree.weight[node], buffer)
                move(tree.value[child], shift, scale, TERMS, tree.value[node], buffer)


@jit
def add_nodes(
    tree: MomentTree, start: int, stop: int, q: float, h: float, terms: int, out: Array, buffer: Array
) -> None:
    """Add the moments about q, in units of h, of the points start … stop − 1, which are whole leaves."""
    left, right, level = start // MOMENT_LEAF, stop // MOMENT_LEAF, 0
    while left < right:
        first = tree.first[level]
        if left % 2 == 1:
            add_node(tree, first + left, q, h, terms, out, buffer)
            left += 1
        if right % 2 == 1:
            right -= 1
            add_node(tree, first + right, q, h, terms, out, buffer)
        left, right, level = left // 2, right // 2, level + 1


@jit
def add_node(tree: MomentTree, node: int, q: float, h: float, terms: int, out: Array, buffer: Array) -> None:
    """Add the moments of a node about q, in units of h."""
    shift, scale = (tree.centre[node] - q) / h, tree.radius[node] / h
    move(tree.weight[node], shift, scale, terms, out[0], buffer)
    move(tree.value[node], shift, scale, terms, out[1], buffer)


@jit(fastmath=True)
def add_single_points(
    x: Array, y: Array, w: Array, start: int, stop: int, q: float, inverse: float, sums: Array
) -> None:
    """Add the points start…stop−1 one by one: Σ K w v^m for m < 5, Σ K w y v^m for m < 3, and Σ w."""
    s0 = s1 = s2 = s3 = s4 = t0 = t1 = t2 = total = 0.0
    xs, ys, ws = x[start:stop], y[start:stop], w[start:stop]
    for j in range(xs.shape[0]):
        v = (xs[j] - q) * inverse
        u = abs(v)
        k = 1.0 - u * u * u
        k = k * k * k * ws[j]
        kv, ky = k * v, k * ys[j]
        kvv = kv * v
        total += ws[j]
        s0 += k
        s1 += kv
        s2 += kvv
        s3 += kvv * v
        s4 += kvv * v * v
        t0 += ky
        t1 += ky * v
        t2 += ky * v * v
    sums[0] += s0
    sums[1] += s1
    sums[2] += s2
    sums[3] += s3
    sums[4] += s4
    sums[5] += t0
    sums[6] += t1
    sums[7] += t2
    sums[8] += total


@jit
def add_side(moments: Array, sign: float, degree: int, sums: Array) -> None:
    """Add the sums of one side of the query, from its moments; sign is 1 on the left, −1 on the right."""
    weight, value = moments[0], moments[1]
    for d in range(2 * degree + 1):
        sums[d] += weight[d] + sign * 3.0 * weight[d + 3] + 3.0 * weight[d + 6] + sign * weight[d + 9]
    for d in range(degree + 1):
        sums[5 + d] += value[d] + sign * 3.0 * value[d + 3] + 3.0 * value[d + 6] + sign * value[d + 9]
    sums[8] += weight[0]


@jit
def solved(sums: Array, degree: int, A: Array, c: Array) -> tuple[bool, float, float]:
    """Whether the sums determine the fit accurately enough, then its value at the query and (A⁻¹)₀₀."""
    if not sums[0] > LIGHT * sums[8]:
        return False, 0.0, 0.0
    for r in range(degree + 1):
        c[r] = sums[5 + r]
        for s in range(r + 1):
            A[r, s] = sums[r + s]
    if degree > 0:
        spread = sums[2] - sums[1] * sums[1] / sums[0]
        if not spread > STEEP_TERM * sums[2]:
            return False, 0.0, 0.0
        if degree == 2:
            cross = sums[3] - sums[1] * sums[2] / sums[0]
            left = sums[4] - sums[2] * sums[2] / sums[0] - cross * cross / spread
            if not left > STEEP_TERM * sums[4]:
                return False, 0.0, 0.0
    value, corner = first_coefficient(A, c[: degree + 1])
    return True, value, corner


@jit
def grouped(kernel: Tricube, x: Array, q: Array, h: Array, start: int, stop: int, ranges: Array) -> int:
    """The number of queries from `start` on that form a group; fills in their ranges. 0: the first is too short."""
    count = 0
    while start + count < stop and count < QUERY_GROUP:
        i = start + count
        a, b, nearest = window(x, q[i], h[i], kernel.reach)
        p = count_below(x, q[i], 0.0, True)
        ranges[count, 0], ranges[count, 1], ranges[count, 2] = a, p, b
        if b - a < FEW_POINTS or nearest > 1.0 or not h[i] < math.inf:
            break
        if count > 0:
            far = max(abs(a - ranges[0, 0]), abs(p - ranges[0, 1]), abs(b - ranges[0, 2]))
            if far > FRINGE or abs(q[i] - q[start]) > NEAR_QUERIES * min(h[i], h[start]):
                break
        count += 1
    return count


@jit
def common(ranges: Array, count: int, side: int) -> tuple[int, int]:
    """The range of whole leaves on one side (0: left, 1: right) of the queries that all windows of a group contain."""
    low, high = ranges[0, side], ranges[0, side + 1]
    for t in range(1, count):
        low, high = max(low, ranges[t, side]), min(high, ranges[t, side + 1])
    low, high = (low + MOMENT_LEAF - 1) // MOMENT_LEAF * MOMENT_LEAF, high // MOMENT_LEAF * MOMENT_LEAF
    return (low, high) if low < high else (low, low)


@jit
def moment_fits(
    kernel: Tricube, x: Array, y: Array, w: Array, tree: MomentTree, q: Array, h: Array, degree: int, out: Array,
    lever: Array, done: Array,
) -> None:  # fmt: skip
    """Local fits at the sorted q; `done` marks those that moments determine accurately enough."""
    ranges, buffer, sums = np.empty((QUERY_GROUP, 3), np.int64), np.empty(TERMS), np.empty(9)
    sides, moved, A, c = np.empty((2, 2, TERMS)), np.empty((2, TERMS)), np.empty((3, 3)), np.empty(3)
    terms, i, stop = 10 + 2 * degree, 0, q.shape[0]
    while i < stop:
        count = grouped(kernel, x, q, h, i, stop, ranges)
        if count == 0:
            done[i] = False
            i += 1
            continue
        middle = i + count // 2
        low, left = common(ranges, count, 0)
        right, high = common(ranges, count, 1)
        sides[:] = 0.0
        add_nodes(tree, low, left, q[middle], h[middle], terms, sides[0], buffer)
        add_nodes(tree, right, high, q[middle], h[middle], terms, sides[1], buffer)
        for t in range(count):
            a, p, b = ranges[t]
            point, inverse = q[i + t], 1.0 / h[i + t]
            sums[:] = 0.0
            # The three gaps around the common leaves; a side without common leaves is a gap as a whole.
            begin, end = (low, left) if low < left else (p, p)
            begin2, end2 = (right, high) if right < high else (p, p)
            add_single_points(x, y, w, a, begin, point, inverse, sums)
            add_single_points(x, y, w, end, begin2, point, inverse, sums)
            add_single_points(x, y, w, end2, b, point, inverse, sums)
            for side in range(2):
                moved[:] = 0.0
                shift, scale = (q[middle] - point) * inverse, h[middle] * inverse
                move(sides[side, 0], shift, scale, terms, moved[0], buffer)
                move(sides[side, 1], shift, scale, terms, moved[1], buffer)
                add_side(moved, 1.0 - 2.0 * side, degree, sums)
            done[i + t], out[i + t], lever[i + t] = solved(sums, degree, A, c)
        i += count


def empty_tree(n: int) -> MomentTree:
    """An empty tree for the moments of n points."""
    sizes = [n // MOMENT_LEAF]
    while sizes[-1] > 1:
        sizes.append(sizes[-1] // 2)
    first = np.append(0, np.cumsum(sizes))
    return MomentTree(
        first=first,
        centre=np.zeros(first[-1]),
        radius=np.zeros(first[-1]),
        weight=np.zeros((first[-1], TERMS)),
        value=np.zeros((first[-1], TERMS)),
    )


def warm() -> None:
    """Compile for the types that callers use."""
    x, one, tree = np.arange(40.0), np.ones(40), empty_tree(40)
    grow_leaves(x, x, one, 0, 2, tree)
    grow_levels(tree)
    out = np.empty(40)
    moment_fits(Tricube(), x, x, one, tree, x, 8.0 * one, 1, out, out.copy(), np.zeros(40, bool))
