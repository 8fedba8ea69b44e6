r"""Compiled loops of kernel sums over a k-d tree: :math:`S_b(q) = \sum_i w_i\,K(c_b\,s_i\|q-x_i\|^2)`, several scales at once.

Queries come in blocks that lie together. From the root down, near children first, a node counts as a whole, by the
middle of the least and the largest value in it, as soon as half their difference is at most ``rtol`` times the sum so
far (plus ``atol``), divided by the weight of all points: errors add up to no more than rtol·S + atol. What is left at a
leaf is summed point by point, in buffers that stay in the first-level cache: distances, values and products are three
loops without branches over contiguous numbers, about 2p + 20 operations a pair, all of them vector instructions.

A stack entry carries the scales that are not settled yet, a range: narrow windows are settled by distance, wide ones by
smoothness. Gray, Moore (2003), doi:10.1137/1.9781611972733.19.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import dispatch, jit
from didact.parts.windows import (
    Cosine,
    Epanechnikov,
    Exponential,
    Gaussian,
    Linear,
    Nearest,
    Tophat,
    Tricube,
)

Array = np.ndarray[Any, Any]

CHUNK = 256  # points whose distances are held at once
DEPTH = 64

value1 = dispatch("value1")

# Windows enter by number: the walk over the tree, which is long to compile, is the same code for all of them.
CODES = {Gaussian: 0, Tophat: 1, Epanechnikov: 2, Exponential: 3, Linear: 4, Cosine: 5, Tricube: 6, Nearest: 7}
GAUSSIAN, TOPHAT, EPANECHNIKOV, EXPONENTIAL = Gaussian(), Tophat(), Epanechnikov(), Exponential()
LINEAR, COSINE, TRICUBE, NEAREST = Linear(), Cosine(), Tricube(), Nearest()


class Cloud(NamedTuple):
    """Points in the order of a tree's leaves, and what has to be known of each node; node i has children 2i+1, 2i+2."""

    points: Array  # (p, n)
    weight: Array  # (n,)
    share: Array  # (n,): the part of a point that goes when one of its rows is left out
    columns: Array  # (k, n): weight times target
    stretch: Array  # (n,): factors of the squared distances; empty if all are 1
    start: Array  # (nodes,)
    stop: Array
    low: Array  # (nodes, p)
    high: Array
    mass: Array  # (nodes,): total weight
    sums: Array  # (nodes, k): total of the columns
    least: Array  # (nodes,): range of the stretch
    most: Array


@jit(fastmath={"contract"})
def squares(points: Array, stretch: Array, a: int, b: int, q: Array, out: Array) -> None:
    """Squared distances of the points a…b−1 from q, two dimensions at a time."""
    m, p = b - a, points.shape[0]
    x, v = points[0, a:b], q[0]
    for j in range(m):
        d = x[j] - v
        out[j] = d * d
    f = 1
    while f + 1 < p:
        x, y, v, u = points[f, a:b], points[f + 1, a:b], q[f], q[f + 1]
        for j in range(m):
            d, e = x[j] - v, y[j] - u
            out[j] += d * d + e * e
        f += 2
    if f < p:
        x, v = points[f, a:b], q[f]
        for j in range(m):
            d = x[j] - v
            out[j] += d * d
    if stretch.shape[0] > 0:
        s = stretch[a:b]
        for j in range(m):
            out[j] *= s[j]


@jit(fastmath={"contract"})
def fill(window: Any, scale: float, nearest: float, d: Array, m: int, out: Array) -> None:
    """K for m squared distances."""
    for j in range(m):
        out[j] = value1(window, scale * d[j], nearest)


@jit
def values(code: int, scale: float, nearest: float, d: Array, m: int, out: Array) -> None:
    """K for m squared distances, of the window with this number."""
    near = scale * nearest
    if code == 0:
        fill(GAUSSIAN, scale, near, d, m, out)
    elif code == 1:
        fill(TOPHAT, scale, near, d, m, out)
    elif code == 2:
        fill(EPANECHNIKOV, scale, near, d, m, out)
    elif code == 3:
        fill(EXPONENTIAL, scale, near, d, m, out)
    elif code == 4:
        fill(LINEAR, scale, near, d, m, out)
    elif code == 5:
        fill(COSINE, scale, near, d, m, out)
    elif code == 6:
        fill(TRICUBE, scale, near, d, m, out)
    else:
        fill(NEAREST, scale, near, d, m, out)


@jit(fastmath=True)
def dot(a: Array, b: Array, m: int) -> float:
    """Σ a_j b_j."""
    total = 0.0
    for j in range(m):
        total += a[j] * b[j]
    return total


@jit
def node_range(cloud: Cloud, node: int, qlow: Array, qhigh: Array, ends: Array) -> None:
    """The least and the largest u² between a node and a box of queries, put into `ends`."""
    least = most = 0.0
    low, high = cloud.low[node], cloud.high[node]
    for f in range(low.shape[0]):
        gap = max(low[f] - qhigh[f], qlow[f] - high[f], 0.0)
        span = max(high[f] - qlow[f], qhigh[f] - low[f])
        least += gap * gap
        most += span * span
    if cloud.stretch.shape[0] > 0:
        least *= cloud.least[node]
        most *= cloud.most[node]
    ends[0], ends[1] = least, most


@jit
def middle(code: int, scale: float, nearest: float, ends: Array, allowed: float) -> float:
    """The value by which a whole node may count, or −1 if its values differ by more than what is allowed."""
    values(code, scale, nearest, ends, 2, ends[2:])
    return 0.5 * (ends[2] + ends[3]) if 0.5 * (ends[2] - ends[3]) <= allowed else -1.0


@jit
def add_points(
    code: int, cloud: Cloud, node: int, q: Array, own: int, nearest: float, scales: Array, first: int, last: int,
    d: Array, v: Array, out: Array,
) -> None:  # fmt: skip
    """The points of a leaf, added to the sums of one query; a share of the point `own` is left out."""
    for a in range(cloud.start[node], cloud.stop[node], CHUNK):
        b = min(a + CHUNK, cloud.stop[node])
        squares(cloud.points, cloud.stretch, a, b, q, d)
        for s in range(first, last):
            values(code, scales[s], nearest, d, b - a, v)
            if a <= own < b:
                v[own - a] *= 1.0 - cloud.share[own]
            out[s, 0] += dot(v, cloud.weight[a:b], b - a)
            for k in range(cloud.columns.shape[0]):
                out[s, 1 + k] += dot(v, cloud.columns[k, a:b], b - a)


@jit
def add_node(cloud: Cloud, node: int, value: float, own: int, out: Array) -> None:
    """A whole node, by one value, added to the sums of one query at one scale."""
    gone = cloud.share[own] if cloud.start[node] <= own < cloud.stop[node] else 0.0
    out[0] += value * (cloud.mass[node] - (gone * cloud.weight[own] if gone > 0.0 else 0.0))
    for k in range(cloud.columns.shape[0]):
        out[1 + k] += value * (cloud.sums[node, k] - (gone * cloud.columns[k, own] if gone > 0.0 else 0.0))


@jit
def settle(
    code: int, cloud: Cloud, node: int, s: int, own: Array, nearest: float, scales: Array, ends: Array, rtol: float,
    atol: Array, out: Array,
) -> bool:  # fmt: skip
    """Whether a node counts as a whole for all queries of `out` at one scale; if so, it is added."""
    least = out[s, 0, 0]
    for i in range(1, out.shape[1]):
        least = min(least, out[s, i, 0])
    value = middle(code, scales[s], nearest, ends, (rtol * least + atol[s]) / cloud.mass[0])
    if value > 0.0:
        for i in range(out.shape[1]):
            add_node(cloud, node, value, own[i], out[s, i])
    return value >= 0.0


@jit
def settle_range(
    code: int, cloud: Cloud, node: int, own: Array, nearest: float, scales: Array, ends: Array, rtol: float,
    atol: Array, out: Array, first: int, last: int,
) -> tuple[int, int]:  # fmt: skip
    """The range of scales that is left when a node has been settled for as many as can be, from both sides."""
    while first < last and settle(code, cloud, node, first, own, nearest, scales, ends, rtol, atol, out):
        first += 1
    while first < last and settle(code, cloud, node, last - 1, own, nearest, scales, ends, rtol, atol, out):
        last -= 1
    return first, last


@jit
def block(
    code: int, cloud: Cloud, Q: Array, own: Array, nearest: float, scales: Array, rtol: float, atol: Array, out: Array
) -> None:
    """The sums of a block of queries: out (scales, queries, 1 + columns)."""
    p, nodes = Q.shape[1], cloud.start.shape[0]
    qlow, qhigh = Q[0].copy(), Q[0].copy()
    for i in range(1, Q.shape[0]):
        for f in range(p):
            qlow[f], qhigh[f] = min(qlow[f], Q[i, f]), max(qhigh[f], Q[i, f])
    d, v, ends = np.empty(CHUNK), np.empty(CHUNK), np.empty(4)
    stack = np.empty((DEPTH, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, 0, scales.shape[0]
    size = 1
    while size > 0:
        size -= 1
        node, first, last = stack[size, 0], stack[size, 1], stack[size, 2]
        node_range(cloud, node, qlow, qhigh, ends)
        first, last = settle_range(code, cloud, node, own, nearest, scales, ends, rtol, atol, out, first, last)
        if first == last:
            continue
        left = 2 * node + 1
        if left >= nodes:
            for i in range(Q.shape[0]):  # for a query by itself the leaf may be settled, too
                node_range(cloud, node, Q[i], Q[i], ends)
                low, high = settle_range(
                    code, cloud, node, own[i : i + 1], nearest, scales, ends, rtol, atol, out[:, i : i + 1], first, last
                )
                if low < high:
                    add_points(code, cloud, node, Q[i], own[i], nearest, scales, low, high, d, v, out[:, i])
            continue
        node_range(cloud, left, qlow, qhigh, ends)
        least = ends[0]
        node_range(cloud, left + 1, qlow, qhigh, ends)
        near = left if least <= ends[0] else left + 1
        for child in (2 * left + 1 - near, near):  # the near one is on top
            stack[size, 0], stack[size, 1], stack[size, 2] = child, first, last
            size += 1


@jit
def blocks(
    code: int, cloud: Cloud, Q: Array, own: Array, nearest: Array, edges: Array, scales: Array, rtol: float,
    atol: Array, out: Array,
) -> None:  # fmt: skip
    """The sums of several blocks of queries, edges[i] to edges[i + 1]; a block has the `nearest` of its first query."""
    for i in range(edges.shape[0] - 1):
        a, b = edges[i], edges[i + 1]
        if a < b:
            block(code, cloud, Q[a:b], own[a:b], nearest[a], scales, rtol, atol, out[:, a:b])


def tiny_cloud() -> Cloud:
    """Four points, for compiling."""
    X, one = np.ascontiguousarray(np.arange(8.0).reshape(2, 4)), np.ones(4)
    node, box = np.zeros(1, np.int64), np.zeros((1, 2))
    return Cloud(X, one, one, np.empty((0, 4)), np.empty(0), node, node + 4, box, box + 8, one[:1], np.empty((1, 0)),
                 np.empty(0), np.empty(0))  # fmt: skip


def warm() -> None:
    """Compile for the types that callers use."""
    cloud = tiny_cloud()
    Q, own, out = np.ascontiguousarray(cloud.points.T), np.full(4, -1), np.zeros((1, 4, 1))
    blocks(0, cloud, Q, own, np.zeros(4), np.array([0, 4]), np.ones(1), 1e-11, np.zeros(1), out)
