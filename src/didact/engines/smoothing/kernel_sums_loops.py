r"""Compiled kernel sums over a k-d tree: :math:`S_b(q) = \sum_i w_i\,K(c_b\,s_i\|q-x_i\|^2)` at several scales c_b.

Queries come in blocks of neighbours. The tree is walked from the root, nearer children first. A node is *settled*, that
is, added as a whole with the midpoint of its least and largest value, as soon as half their difference is at most
``rtol`` times the sum so far (plus ``atol``), divided by the weight of all points: errors add up to at most
rtol·S + atol. Leaves that are not settled are summed point by point, in buffers that stay in the first-level cache:
distances, values and products are three loops without branches over contiguous numbers, about 2p + 20 operations per
pair, all of them vector instructions.

A stack entry carries the range of scales that are not settled yet: narrow windows are settled by distance, wide ones by
smoothness. Nothing is allocated in the loops, so they are compiled without reference counting (`jit_unmanaged`), which
would cost more than a leaf. Gray, Moore (2003), doi:10.1137/1.9781611972733.19.

Layout: points are stored column by column in the order of the leaves; a node is a range of them::

    points (p, n + 32)            [ leaf | leaf | … | 32 zeros ] for each column; the zeros fill the last vectors
    columns (1 + k, n)            [ w | w·y_1 | … ] in the same order
    node i                        points start[i] … stop[i] − 1, children 2i + 1 and 2i + 2, box low[i] … high[i]
    sums (nodes, 1 + k)           totals of the columns in each node
    scales                        descending: the narrowest window first
    stack (DEPTH, 3)              (node, first, last): scales first … last − 1 are not settled there
    d, v (CHUNK,)                 squared distances of some points from a query, and values of the window
    out (scales, queries, 1 + k)  the sums
"""

from typing import NamedTuple

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.typing import Array
from didact.parts.windows.window_loops import value, values

CHUNK = 256  # points whose distances are held at once
FULL = 32  # distances and values are taken in whole steps of vector instructions: the last few would go one by one
DEPTH = 64
FAR_VALUES = 1e8  # values larger than allowed by this factor are never that close together (but for tophats)


class Cloud(NamedTuple):
    """Points in the order of a tree's leaves; range, box and totals of each node; node i has children 2i+1 and 2i+2."""

    points: Array  # (p, n + FULL); zeros after the last point
    columns: Array  # (1 + k, n): weights, and weights times targets
    share: Array  # (n,): the share of a point that is removed when one of its rows is left out
    stretch: Array  # (n + FULL,): factors of the squared distances; empty if all are 1
    start: Array  # (nodes,)
    stop: Array
    low: Array  # (nodes, p)
    high: Array
    sums: Array  # (nodes, 1 + k): totals of the columns
    least: Array  # (nodes,): range of the stretch
    most: Array


@jit_unmanaged(fastmath={"contract"})
def squares(points: Array, stretch: Array, start: int, count: int, Q: Array, i: int, out: Array) -> None:
    """Squared distances of `count` points from row i of Q, up to three dimensions per pass.

    Indices are unsigned, here and below: a negative one would count from the end, and the test for that, or a slice
    that avoids the test, takes longer than the distance itself.
    """
    a, m, p = np.uint64(start), np.uint64(count), points.shape[0]
    f = p % 3 if p % 3 else 3  # the first pass takes p mod 3 dimensions and sets `out`, all others take three and add
    q, r, s = Q[i, 0], Q[i, min(1, p - 1)], Q[i, min(2, p - 1)]
    if f == 1:
        for j in range(m):
            x = points[0, a + j] - q
            out[j] = x * x
    elif f == 2:
        for j in range(m):
            x, y = points[0, a + j] - q, points[1, a + j] - r
            out[j] = x * x + y * y
    else:
        for j in range(m):
            x, y, z = points[0, a + j] - q, points[1, a + j] - r, points[2, a + j] - s
            out[j] = x * x + y * y + z * z
    while f < p:
        q, r, s = Q[i, f], Q[i, f + 1], Q[i, f + 2]
        for j in range(m):
            x, y, z = points[f, a + j] - q, points[f + 1, a + j] - r, points[f + 2, a + j] - s
            out[j] += x * x + y * y + z * z
        f += 3
    if stretch.shape[0] > 0:
        for j in range(m):
            out[j] *= stretch[a + j]


@jit_unmanaged(fastmath=True)
def dot(v: Array, w: Array, k: int, start: int, count: int) -> float:
    """Σ_j v_j w_k,start+j."""
    total, a = 0.0, np.uint64(start)
    for j in range(np.uint64(count)):
        total += v[j] * w[k, a + j]
    return total


@jit_unmanaged
def node_range(low: Array, high: Array, node: int, qlow: Array, i: int, qhigh: Array, j: int) -> tuple[float, float]:
    """The least and the largest squared distance between a node and the box from row i of qlow to row j of qhigh."""
    least = most = 0.0
    for f in range(low.shape[1]):
        gap = max(low[node, f] - qhigh[j, f], qlow[i, f] - high[node, f], 0.0)
        span = max(high[node, f] - qlow[i, f], qhigh[j, f] - low[node, f])
        least += gap * gap
        most += span * span
    return least, most


@jit_unmanaged
def middle(code: int, scale: float, nearest: float, least: float, most: float, allowed: float) -> float:
    """The midpoint of a node's values, or −1 if it differs from them by more than is allowed."""
    near = scale * nearest
    high = value(code, scale * least, near)
    if high <= allowed:
        return 0.5 * high
    if high > FAR_VALUES * allowed and most > least and code != 1:
        return -1.0
    low = value(code, scale * most, near)
    return 0.5 * (high + low) if 0.5 * (high - low) <= allowed else -1.0


@jit_unmanaged
def add_points(
    code: int, points: Array, columns: Array, share: Array, stretch: Array, start: int, stop: int, Q: Array, i: int,
    own: int, nearest: float, scales: Array, first: int, last: int, d: Array, v: Array, out: Array,
) -> None:  # fmt: skip
    """Add the points start … stop − 1 to the sums of query i, less the share of the point `own` that is left out."""
    for a in range(start, stop, CHUNK):
        m = min(CHUNK, stop - a)
        full = (m + FULL - 1) // FULL * FULL
        squares(points, stretch, a, full, Q, i, d)
        for s in range(first, last):
            values(code, scales[s], nearest, d, full, v)
            if a <= own < a + m:
                v[own - a] *= 1.0 - share[own]
            for k in range(columns.shape[0]):
                out[s, i, k] += dot(v, columns, k, a, m)


@jit_unmanaged
def settle(
    code: int, columns: Array, share: Array, sums: Array, start: int, stop: int, node: int, least: float, most: float,
    own: Array, i: int, j: int, nearest: float, scale: float, s: int, rtol: float, atol: float, out: Array,
) -> bool:  # fmt: skip
    """Add a node as a whole to the sums of the queries i … j − 1 at one scale, if errors allow it; return whether."""
    low = out[s, i, 0]
    for t in range(i + 1, j):
        low = min(low, out[s, t, 0])
    mid = middle(code, scale, nearest, least, most, (rtol * low + atol) / sums[0, 0])
    if mid > 0.0:
        for t in range(i, j):
            for k in range(columns.shape[0]):
                out[s, t, k] += mid * sums[node, k]
            if start <= own[t] < stop:
                for k in range(columns.shape[0]):
                    out[s, t, k] -= mid * share[own[t]] * columns[k, own[t]]
    return mid >= 0.0


@jit_unmanaged
def settle_range(
    code: int, columns: Array, share: Array, sums: Array, start: int, stop: int, node: int, least: float, most: float,
    own: Array, i: int, j: int, nearest: float, scales: Array, rtol: float, atol: Array, out: Array, first: int,
    last: int,
) -> tuple[int, int]:  # fmt: skip
    """Settle a node for as many scales as possible, from both ends of their range; return the remaining range."""
    while first < last and settle(
        code, columns, share, sums, start, stop, node, least, most, own, i, j, nearest, scales[first], first, rtol,
        atol[first], out,
    ):  # fmt: skip
        first += 1
    while first < last - 1 and settle(
        code, columns, share, sums, start, stop, node, least, most, own, i, j, nearest, scales[last - 1], last - 1,
        rtol, atol[last - 1], out,
    ):  # fmt: skip
        last -= 1
    return first, last


@jit_unmanaged
def block(
    code: int, cloud: Cloud, Q: Array, own: Array, i: int, j: int, nearest: float, scales: Array, rtol: float,
    atol: Array, out: Array, d: Array, v: Array, stack: Array, box: Array,
) -> None:  # fmt: skip
    """Compute the sums of the queries i … j − 1, which are neighbours: out (scales, queries, 1 + k)."""
    points, columns, share, stretch, begin, end, lows, highs, sums, narrow, wide = cloud
    nodes, own_widths = begin.shape[0], stretch.shape[0] > 0
    for f in range(Q.shape[1]):
        box[0, f], box[1, f] = Q[i, f], Q[i, f]
        for t in range(i + 1, j):
            box[0, f], box[1, f] = min(box[0, f], Q[t, f]), max(box[1, f], Q[t, f])
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, 0, scales.shape[0]
    size = 1
    while size > 0:
        size -= 1
        node, first, last = stack[size, 0], stack[size, 1], stack[size, 2]
        start, stop, left = begin[node], end[node], 2 * node + 1
        a, b = (narrow[node], wide[node]) if own_widths else (1.0, 1.0)
        least, most = node_range(lows, highs, node, box, 0, box, 1)
        first, last = settle_range(
            code, columns, share, sums, start, stop, node, a * least, b * most, own, i, j, nearest, scales, rtol, atol,
            out, first, last,
        )  # fmt: skip
        if first < last and left < nodes:
            nearer = (
                node_range(lows, highs, left, box, 0, box, 1)[0] <= node_range(lows, highs, left + 1, box, 0, box, 1)[0]
            )
            stack[size, 0], stack[size, 1], stack[size, 2] = left + nearer, first, last
            stack[size + 1, 0], stack[size + 1, 1], stack[size + 1, 2] = left + 1 - nearer, first, last  # on top
            size += 2
        elif first < last:
            for t in range(i, j):  # the box of a single query is a point, for which the leaf may yet be settled
                least, most = node_range(lows, highs, node, Q, t, Q, t)
                low, high = settle_range(
                    code, columns, share, sums, start, stop, node, a * least, b * most, own, t, t + 1, nearest, scales,
                    rtol, atol, out, first, last,
                )  # fmt: skip
                if low < high:
                    add_points(
                        code, points, columns, share, stretch, start, stop, Q, t, own[t], nearest, scales, low, high, d,
                        v, out,
                    )  # fmt: skip


@jit_unmanaged
def blocks(
    code: int, cloud: Cloud, Q: Array, own: Array, nearest: Array, edges: Array, scales: Array, rtol: float,
    atol: Array, out: Array, d: Array, v: Array, stack: Array, box: Array,
) -> None:  # fmt: skip
    """Compute the sums of blocks of queries edges[i] … edges[i + 1] − 1; `nearest` is read at each first query."""
    for i in range(edges.shape[0] - 1):
        a, b = edges[i], edges[i + 1]
        if a < b:
            block(code, cloud, Q, own, a, b, nearest[a], scales, rtol, atol, out, d, v, stack, box)


def buffers(p: int) -> tuple[Array, Array, Array, Array]:
    """The buffers of `blocks`: distances, values, a stack and a box."""
    return np.empty(CHUNK), np.empty(CHUNK), np.empty((DEPTH, 3), np.int64), np.empty((2, p))


def tiny_cloud() -> Cloud:
    """Four points, for compiling."""
    one, node, box, none = np.ones(4), np.zeros(1, np.int64), np.zeros((1, 2)), np.empty(0)
    return Cloud(
        points=np.ones((2, 4 + FULL)),
        columns=one[None],
        share=one,
        stretch=none,
        start=node,
        stop=node + 4,
        low=box,
        high=box + 8,
        sums=one[None, :1],
        least=none,
        most=none,
    )


def warm() -> None:
    """Compile for the types that callers use."""
    cloud = tiny_cloud()
    Q, own, out = np.ones((4, 2)), np.full(4, -1), np.zeros((1, 4, 1))
    blocks(0, cloud, Q, own, np.zeros(4), np.array([0, 4]), np.ones(1), 1e-11, np.zeros(1), out, *buffers(2))
