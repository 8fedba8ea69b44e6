r"""Sums of a window over points, at many queries and for several bandwidths at once.

.. math:: S_b(q) = \sum_i w_i\,K\Big(\frac{\|q-x_i\|}{h_b\,\lambda_i}\Big),\qquad
    T_b(q) = \sum_i w_i\,y_i\,K\Big(\frac{\|q-x_i\|}{h_b\,\lambda_i}\Big)

Points are stored in a k-d tree, queries are sorted into blocks of neighbours, and blocks are distributed over the
threads. Wide Gaussian windows in one or two columns are summed over nodes instead of pairs (`gauss_transform`). Sums
have a relative error of at most 1e-11, or the given tolerance. Where all values underflow, the sums of a window with
tails are recomputed in units of its value at the nearest point, so that their logarithms stay finite and accurate.

Gray, Moore (2003), Nonparametric density estimation: toward computational tractability,
doi:10.1137/1.9781611972733.19.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from didact.core.errors import InputError
from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.engines.neighbors.partitions.boxes import boxes
from didact.engines.smoothing.gauss_transform import gauss_sums, pays
from didact.engines.smoothing.kernel_nearest_loops import nearest_squares
from didact.engines.smoothing.kernel_sums_loops import FULL, Cloud, blocks, buffers
from didact.engines.smoothing.shaped_sums_loops import shaped
from didact.engines.smoothing.tuning import (
    FEW_QUERIES,
    KERNEL_LEAF,
    KERNEL_PIECES,
    KERNEL_VALUES,
    LONG_VALUES,
    QUERY_BLOCK,
)
from didact.parts.windows import GaussianWindow, Nearest
from didact.parts.windows.window_loops import CODES

EXACT = 1e-11  # relative error of sums that are called exact
WIDE = 1e150  # the square of more, summed over columns, overflows
ENOUGH_PAIRS = 1e-3  # share of all weights from which a sum over nodes, right to some 1e-15 of them, is exact
TINY_SUM = 1e-200  # sums below are taken anew, in units of the nearest point's value


class Points(NamedTuple):
    """The points of a sum, in the order of a tree: row order[i] of the data is point i."""

    cloud: Cloud
    order: Array

    def places(self) -> Array:
        """The points as rows, in the order of the tree."""
        return np.ascontiguousarray(self.cloud.points[:, : len(self.order)].T)


class KernelSums(NamedTuple):
    """Sums by bandwidth and query, of weights and of weighted targets, in units of K at u² = nearest."""

    weight: Array  # (bandwidths, queries)
    columns: Array  # (bandwidths, queries, targets)
    nearest: Array  # (queries,): 0 where the sums are not rescaled


def prepare(X: Array, w: Array, Y: Array | None = None, widths: Array | None = None, leaf: int = KERNEL_LEAF) -> Points:
    """Points X of weights w with targets Y (n, k); `widths` are the points' own factors of the bandwidth."""
    p = X.shape[1]
    order, start, stop, low, high = tree(X, leaf)
    # A window of width λ is lower by λ^p, so that its integral stays the same.
    weight = w if widths is None else w * widths ** -float(p)
    columns = np.column_stack([weight] if Y is None else [weight, weight[:, None] * Y])[order].T
    stretch = np.empty(0) if widths is None else (widths**-2.0)[order]
    more = np.zeros(0 if widths is None else FULL)
    up = _Upwards(start)
    cloud = Cloud(
        points=np.ascontiguousarray(np.vstack([X[order], np.zeros((FULL, p))]).T),
        columns=np.ascontiguousarray(columns),
        share=np.minimum(1.0, 1.0 / w)[order],
        stretch=np.append(stretch, more),
        start=start,
        stop=stop,
        low=low,
        high=high,
        sums=np.column_stack([up(np.add, c) for c in columns]),
        least=up(np.minimum, stretch),
        most=up(np.maximum, stretch),
    )
    return Points(cloud, order)


class _Upwards:
    """Totals of values in each node (by any ufunc): first of the leaves, then of pairs of children."""

    def __init__(self, start: Array):
        self.start = start

    def __call__(self, function: Any, values: Array) -> Array:
        if not len(values):
            return np.empty(0)
        nodes = len(self.start)
        out, first = np.empty(nodes), nodes // 2
        out[first:] = function.reduceat(values, self.start[first:])
        while first:
            parents = slice(first // 2, first)
            below = out[first : 2 * first + 1]
            out[parents] = function(below[::2], below[1::2])
            first //= 2
        return np.ascontiguousarray(out)


def squared_scales(h: Any) -> Array:
    """1/h² of one or several bandwidths; infinite ones are refused by the sums."""
    with np.errstate(over="ignore", divide="ignore"):
        return np.atleast_1d(np.asarray(h, np.float64)) ** -2.0


def kernel_sums(
    window: Any, points: Points, Q: Array | None, scales: Array, rtol: float = 0.0, atol: Any = 0.0, empty: bool = False
) -> KernelSums:
    """The sums at the rows of Q, or (None) at each point without one row of itself, for squared scales 1/h².

    Errors are at most rtol·S + atol, or what rounding allows. With `empty`, queries without a point in their window get
    the sums of the nearest points.
    """
    refuse_wide(*_box(points.cloud.low[0], points.cloud.high[0], Q), scales)
    order, edges = _sorted(Q) if Q is not None else (points.order, _leaves(points.cloud))
    places = np.ascontiguousarray(Q[order]) if Q is not None else points.places()
    own = np.full(len(places), -1) if Q is not None else np.arange(len(places))
    down = np.argsort(-scales, kind="stable")  # narrow windows first
    c, near = np.ascontiguousarray(scales[down]), np.zeros(len(places))
    low = np.broadcast_to(np.asarray(atol, float), c.shape)[down] / (1.0 + rtol)
    tolerance = max(rtol / (1.0 + rtol), EXACT), np.ascontiguousarray(low)
    out = _by_width(window, points, Q is None, places, own, edges, c, *tolerance, rtol == 0.0)
    lost = np.flatnonzero((out[:, :, 0] < TINY_SUM).any(axis=0))
    if len(lost) and (window.tails or empty):
        some, mine, near_some = places[lost], own[lost], np.empty(len(lost))
        _map(lambda a, b: nearest_squares(points.cloud, some[a:b], mine[a:b], near_some[a:b]), len(lost), 1, points)
        redo = window if window.tails else Nearest()
        each = np.arange(len(lost) + 1)
        again = _run(redo, points.cloud, some, mine, near_some, each, c if window.tails else c[:1] * 0 + 1, *tolerance)
        if window.tails:
            out[:, lost], near[lost] = again, near_some
        else:
            out[:, lost] = np.where(out[:, lost, :1] > 0, out[:, lost], again)
    sums, nearest = np.empty_like(out), np.empty_like(near)
    sums[down[:, None], order[None, :]], nearest[order] = out, near
    return KernelSums(sums[:, :, 0], sums[:, :, 1:], nearest)


def _by_width(
    window: Any,
    points: Points,
    same: bool,
    Q: Array,
    own: Array,
    edges: Array,
    scales: Array,
    rtol: float,
    atol: Array,
    exact: bool,
) -> Array:
    """The sums of sorted queries: wide Gaussians over nodes where that pays, all others over the tree.

    Errors of sums over nodes are relative to the total weight, so queries with a small sum go over the tree, too.
    """
    cloud, near = points.cloud, np.zeros(len(Q))
    ours = exact and isinstance(window, GaussianWindow) and not len(cloud.stretch) and not atol.any()
    low, high = _box(cloud.low[0], cloud.high[0], Q)
    counts = len(points.order), len(Q), len(cloud.columns)
    wide = np.array([ours and pays(low, high, float(c) ** -0.5, *counts) for c in scales], bool)
    out = np.empty((len(scales), len(Q), len(cloud.columns)))
    if not wide.all():
        out[~wide] = _run(window, cloud, Q, own, near, edges, scales[~wide], rtol, atol[~wide])
    for b in np.flatnonzero(wide):
        sums = gauss_sums(points.places(), cloud.columns, None if same else Q, low, high, float(scales[b]) ** -0.5)
        if same:
            sums -= (cloud.share * cloud.columns).T
        few = np.flatnonzero(~(sums[:, 0] >= ENOUGH_PAIRS * cloud.sums[0, 0]))
        if len(few):
            cuts = np.append(np.arange(0, len(few), QUERY_BLOCK), len(few))
            sums[few] = _run(window, cloud, Q[few], own[few], near[few], cuts, scales[[b]], rtol, atol[[b]])[0]
        out[b] = sums
    return out


def log_sums(window: Any, sums: KernelSums, scales: Array) -> Array:
    """log S, by bandwidth and query; −∞ where a window without tails is empty."""
    with np.errstate(divide="ignore"):
        logs = np.log(sums.weight)
    if window.tails:
        logs += window.log_value(scales[:, None] * sums.nearest)
    return logs


def shaped_sums(window: Any, X: Array, w: Array, factors: Array, Q: Array | None, scales: Array) -> KernelSums:
    """The sums with u = ‖A_i (q − x_i)‖ for lower triangles A_i, factors (n, p, p); at X without one row of itself."""
    refuse_wide(*_box(X.min(axis=0), X.max(axis=0), Q), scales)
    P, A = np.ascontiguousarray(X.T), np.ascontiguousarray(np.moveaxis(factors, 0, -1))
    own = np.full(len(Q), -1) if Q is not None else np.arange(len(X))
    places = np.ascontiguousarray(X if Q is None else Q)
    share = np.minimum(1.0, 1.0 / w)
    sums, near = np.empty((len(scales), len(places))), np.empty(len(places))

    def piece(a: int, b: int) -> None:
        part = np.empty((len(scales), b - a))
        shaped(CODES[type(window)], P, w[None], share, A, places[a:b], own[a:b], window.tails, scales, part, near[a:b])
        sums[:, a:b] = part

    _map(piece, len(places), len(scales) + X.shape[1] ** 2 // 20, Points(Cloud(P, *[w] * 10), own))
    return KernelSums(sums, np.empty((*sums.shape, 0)), near)


def refuse_wide(low: Array, high: Array, scales: Any = 1.0, names: Any = None) -> None:
    """Refuse columns whose range, as it is or in bandwidths 1/√scale, is so wide that its square overflows."""
    with np.errstate(over="ignore"):
        span = (high - low) * max(1.0, float(np.sqrt(np.max(scales))))
    wide = np.flatnonzero(~(span < WIDE))
    if len(wide):
        column = wide[0] if names is None else repr(str(names[wide[0]]))
        raise InputError(
            f"Column {column} has values from {low[wide[0]]:.3g} to {high[wide[0]]:.3g}, so far apart that squared "
            "distances, or those in units of the bandwidth, overflow: bring it to another scale, or drop such rows."
        )


def _box(low: Array, high: Array, Q: Array | None) -> tuple[Array, Array]:
    """The bounding box of points and queries together."""
    if Q is None or not len(Q):
        return low, high
    if Q.shape[1] != len(low):
        raise InputError(f"The points have {len(low)} columns, and the rows {Q.shape[1]}: fit the model anew.")
    return np.minimum(low, Q.min(axis=0)), np.maximum(high, Q.max(axis=0))


def _run(
    window: Any, cloud: Cloud, Q: Array, own: Array, near: Array, edges: Array, scales: Array, rtol: float, atol: Array
) -> Array:
    """The sums of sorted queries, block by block, on all threads."""
    cuts = _cuts(len(edges) - 1, len(Q) * cloud.points.shape[1] * len(scales))
    code = CODES[type(window)]

    def piece(cut: tuple[int, int]) -> Array:
        first, last = edges[cut[0]], edges[cut[1]]
        out = np.zeros((len(scales), last - first, len(cloud.columns)))
        mine = np.ascontiguousarray(edges[cut[0] : cut[1] + 1]) - first
        part = slice(first, last)
        blocks(code, cloud, Q[part], own[part], near[part], mine, scales, rtol, atol, out, *buffers(Q.shape[1]))
        return out

    return np.concatenate(parallel_map(piece, pairwise(cuts)), axis=1)


def _map(piece: Any, count: int, scales: int, points: Points) -> None:
    """piece(a, b) for ranges of the queries, on all threads."""
    cuts = _cuts(count, count * points.cloud.points.shape[1] * scales)
    parallel_map(lambda cut: piece(*cut), pairwise(cuts))


def _cuts(count: int, values: int) -> list[int]:
    """Where `count` queries, or blocks of them, with so many values in all are cut into pieces of work."""
    pieces = max(min(values // KERNEL_VALUES, KERNEL_PIECES), values // LONG_VALUES, 1)
    return [*range(0, count, -(-count // pieces) or 1), count]


def _sorted(Q: Array) -> tuple[Array, Array]:
    """An order of the queries in which blocks lie together, and the edges of the blocks."""
    if len(Q) <= FEW_QUERIES:
        return np.arange(len(Q)), np.arange(len(Q) + 1)
    order, start, _, _, _ = tree(Q, QUERY_BLOCK)
    return order, np.append(start[len(start) // 2 :], len(Q))


def _leaves(cloud: Cloud) -> Array:
    """The edges of the leaves."""
    return np.append(cloud.start[len(cloud.start) // 2 :], cloud.stop[0])


def tree(X: Array, leaf: int) -> tuple[Array, Array, Array, Array, Array]:
    """A k-d tree: the order of the rows, and the range and the box of each node."""
    found = boxes(X, leaf)
    return found.order, *found.ranges(), found.low, found.high
