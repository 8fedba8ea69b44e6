r"""Local regression at many points: neighbourhoods, fitted values and the smoother's diagonal.

One feature: points are sorted, so that neighbourhoods are ranges (O(log n) per query). Under the tricube window long
ranges are summed from moments in O(log n); ranges of few points or little weight, and Gaussian windows, point by point.
Several features: distances are computed in blocks of queries; a k-d tree finds few neighbours among many points.

Cleveland (1979), Robust locally weighted regression and smoothing scatterplots, doi:10.1080/01621459.1979.10481038.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from didact.core.errors import InputError
from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.engines.smoothing.kernel_sums import refuse_wide
from didact.engines.smoothing.local_moments_loops import MomentTree, empty_tree, grow_leaves, grow_levels, moment_fits
from didact.engines.smoothing.local_regression_loops import lines, parabolas, radii, surfaces
from didact.engines.smoothing.tuning import (
    FEW_LOCAL,
    HELD_DISTANCES,
    HELD_QUERIES,
    LOCAL_WORK,
    LONG_WINDOW,
    MOMENT_LEAF,
    QUERY_PIECES,
    TREE_FEATURES,
    TREE_LEAVES,
    TREE_SHARE,
)
from didact.parts.statistics.weighted_quantile import weighted_quantile
from didact.parts.windows import GaussianWindow, Tricube

FLAT_EXTENT = 1e10  # bandwidth, in extents of the data, from which on all weights are equal


class LocalPoints(NamedTuple):
    """The data of a smoother, sorted if there is one feature; `w` counts rows, `factors` are robustness weights."""

    X: Array
    y: Array
    w: Array
    factors: Array


class LocalRule(NamedTuple):
    """Window, degree and width of local fits: a fixed bandwidth, or the distance of the k-th of `neighbours`."""

    kernel: str
    degree: int
    bandwidth: float
    neighbours: float

    def terms(self, features: int) -> int:
        """The number of coefficients of a local fit."""
        return int((1, 1 + features, 1 + features + features * (features + 1) // 2)[self.degree])


class Smooth(NamedTuple):
    """Fitted values, and their derivatives with respect to a y of weight 1 at the same place (leverages)."""

    value: Array
    lever: Array


def local_smooth(points: LocalPoints, Q: Array, rule: LocalRule) -> Smooth:
    """The local fits at the rows of Q."""
    n = len(points.X)
    if Q.shape[1] != points.X.shape[1] or any(part.shape != (n,) for part in points[1:]):
        raise InputError(f"{n} points of {points.X.shape[1]} columns do not fit their targets, weights or the rows.")
    points = points._replace(y=np.require(points.y, np.float64, ["C", "W"]))  # loops are compiled for one kind of array
    if len(Q):
        rule = rule._replace(bandwidth=min(rule.bandwidth, _flat(points.X, Q)))
    out = Smooth(np.empty(len(Q)), np.empty(len(Q)))
    if points.X.shape[1] == 1 and rule.kernel == "tricube" and len(points.X) >= LONG_WINDOW:
        return _in_order(points, Q, rule, out)
    if points.X.shape[1] == 1:
        piece, size = _line_piece(points, Q, rule, out), LOCAL_WORK // (rule.neighbours or len(points.X))
    else:
        both = np.vstack([points.X.min(axis=0), points.X.max(axis=0), Q])
        refuse_wide(both.min(axis=0), both.max(axis=0))
        tree = _tree(points, rule)
        piece = _surface_piece(points, Q, rule, out, tree)
        size = min(HELD_DISTANCES // (len(points.X) if tree is None else rule.neighbours), _even(len(Q)))
    edges = [*range(0, len(Q), int(np.clip(size, 1, HELD_QUERIES))), len(Q)]
    parallel_map(piece, list(pairwise(edges)))
    return out


def _even(queries: int) -> int:
    """Queries of a piece of which there are enough for many threads to end nearly together."""
    return max(queries // QUERY_PIECES, FEW_LOCAL)


def _flat(X: Array, Q: Array) -> float:
    """A bandwidth at which all weights are already equal in floating point; squares for larger ones would underflow."""
    low, high = np.minimum(X.min(axis=0), Q.min(axis=0)), np.maximum(X.max(axis=0), Q.max(axis=0))
    with np.errstate(over="ignore"):
        extent = float((high - low).max())
    return FLAT_EXTENT * extent if 0 < extent < np.inf else np.inf


def _in_order(points: LocalPoints, Q: Array, rule: LocalRule, out: Smooth) -> Smooth:
    """The fits of one feature at sorted queries: successive ones share their sums."""
    order = np.argsort(Q[:, 0], kind="stable")
    edges = [*range(0, len(Q), HELD_QUERIES), len(Q)]
    parallel_map(_moment_piece(points, Q[order], rule, out), list(pairwise(edges)))
    value, lever = np.empty_like(out.value), np.empty_like(out.lever)
    value[order], lever[order] = out
    return Smooth(value, lever)


def _kernel(rule: LocalRule) -> Any:
    return Tricube() if rule.kernel == "tricube" else GaussianWindow()


def _enough(rule: LocalRule, features: int) -> float:
    """The weight that a neighbourhood must hold, less a margin for rounding in sums of weights."""
    return (rule.neighbours or rule.terms(features) + 1.0) * (1 - 1e-12)


def _widths(rule: LocalRule, distance: Array) -> Array:
    """Bandwidths from the distances of the k-th neighbours; a fixed one is widened where it holds too few points."""
    if rule.neighbours:
        return np.maximum(distance, np.finfo(float).tiny)  # if all neighbours lie at the query: their mean
    return np.maximum(rule.bandwidth, distance if rule.kernel == "tricube" else np.zeros_like(distance))


def _line_piece(points: LocalPoints, Q: Array, rule: LocalRule, out: Smooth) -> Callable[[tuple[int, int]], None]:
    x, q = np.ascontiguousarray(points.X[:, 0]), np.ascontiguousarray(Q[:, 0])
    cumulative = np.append(0.0, np.cumsum(points.w))
    w = points.w * points.factors
    loop = parabolas if rule.degree == 2 else lines
    kernel, k = _kernel(rule), min(_enough(rule, 1), float(cumulative[-1]))

    def piece(edges: tuple[int, int]) -> None:
        start, stop = edges
        width = np.empty(stop - start)
        radii(x, cumulative, q[start:stop], k, 0, stop - start, width)
        loop(
            kernel, x, points.y, w, q[start:stop], _widths(rule, width), rule.degree, 0, stop - start,
            out.value[start:stop], out.lever[start:stop],
        )  # fmt: skip

    return piece


def _moment_piece(points: LocalPoints, Q: Array, rule: LocalRule, out: Smooth) -> Callable[[tuple[int, int]], None]:
    """Fits at sorted queries of one feature: by moments where windows are long, else point by point."""
    x, q = np.ascontiguousarray(points.X[:, 0]), np.ascontiguousarray(Q[:, 0])
    cumulative = np.append(0.0, np.cumsum(points.w))
    w, k = points.w * points.factors, min(_enough(rule, 1), float(cumulative[-1]))
    tree = moment_tree(x, points.y, w)
    loop = parabolas if rule.degree == 2 else lines

    def piece(edges: tuple[int, int]) -> None:
        start, stop = edges
        width, done = np.empty(stop - start), np.zeros(stop - start, bool)
        radii(x, cumulative, q[start:stop], k, 0, stop - start, width)
        width = _widths(rule, width)
        value, lever = out.value[start:stop], out.lever[start:stop]
        moment_fits(Tricube(), x, points.y, w, tree, q[start:stop], width, rule.degree, value, lever, done)
        left = np.flatnonzero(~done)  # windows too short, or too ill-conditioned, for moments
        if len(left):
            some = np.empty(len(left)), np.empty(len(left))
            loop(_kernel(rule), x, points.y, w, q[start:stop][left], width[left], rule.degree, 0, len(left), *some)
            value[left], lever[left] = some

    return piece


def moment_tree(x: Array, y: Array, w: Array) -> MomentTree:
    """The tree of moments of sorted points."""
    tree = empty_tree(len(x))
    edges = [*range(0, len(x) // MOMENT_LEAF, TREE_LEAVES), len(x) // MOMENT_LEAF]
    parallel_map(lambda piece: grow_leaves(x, y, w, *piece, tree), list(pairwise(edges)))
    grow_levels(tree)
    return tree


def _tree(points: LocalPoints, rule: LocalRule) -> Any:
    """A k-d tree of the points if it finds the neighbours faster than a table of all distances, else None."""
    n, features = points.X.shape
    few = 0 < rule.neighbours <= n / TREE_SHARE and features <= TREE_FEATURES
    return cKDTree(points.X) if few and rule.kernel == "tricube" and bool((points.w == 1.0).all()) else None


def _surface_piece(
    points: LocalPoints, Q: Array, rule: LocalRule, out: Smooth, tree: Any
) -> Callable[[tuple[int, int]], None]:
    X, y, w = points.X, points.y, points.w * points.factors
    kernel, k = _kernel(rule), min(_enough(rule, X.shape[1]), float(points.w.sum()))
    even = bool((points.w == 1.0).all())

    def piece(edges: tuple[int, int]) -> None:
        block = np.ascontiguousarray(Q[slice(*edges)])
        if tree is not None:
            near, rows = tree.query(block, k=np.arange(1, int(rule.neighbours) + 1))
            width = _widths(rule, near[:, -1])
            starts = np.arange(len(block) + 1) * near.shape[1]
        else:
            D = cdist(block, X)
            width = _widths(rule, _kth(D, None if even else points.w, k))
            # At least the nearest point counts; Gaussian windows reach all points.
            reach = np.maximum(width, D.min(axis=1)) if rule.kernel == "tricube" else np.full(len(D), np.inf)
            inside = reach[:, None] >= D
            rows, near = np.nonzero(inside)[1], D[inside]
            starts = np.append(0, np.cumsum(inside.sum(axis=1)))
        surfaces(
            kernel, X, y, w, block, width, rule.degree, starts, rows.ravel(), near.ravel(), out.value[slice(*edges)],
            out.lever[slice(*edges)],
        )  # fmt: skip

    return piece


def _kth(D: Array, w: Array | None, k: float) -> Array:
    """The least radius for each row of D that holds points of total weight k."""
    if w is None:
        place = int(np.ceil(k)) - 1
        return np.partition(D, place, axis=1)[:, place]
    order = np.argsort(D, axis=1)
    place = (np.cumsum(w[order], axis=1) < k).sum(axis=1)
    each = np.arange(len(D))
    return D[each, order[each, np.minimum(place, len(w) - 1)]]


def bisquare_weights(residuals: Array, w: Array) -> Array:
    """(1 − (r/6m)²)² for |r| < 6m, else 0, with m the median of |r|; if m is 0: 1 where r is 0, else 0."""
    size = np.abs(residuals)
    middle = weighted_quantile(size, w, 0.5)
    if middle == 0:
        return (size == 0).astype(np.float64)
    return np.maximum(1.0 - (size / (6.0 * middle)) ** 2, 0.0) ** 2


def local_left_out(points: LocalPoints, at_points: Smooth) -> Array:
    """Leave-one-out predictions of all rows in closed form, with the windows of the full fit.

    A row whose leverage is 1 (its fit passes through any y) is predicted by the mean of all rows.
    """
    leverage = points.factors * at_points.lever
    error = points.y - at_points.value
    known = leverage < 1.0 - 1e-9
    loo = points.y - error / np.where(known, 1.0 - leverage, 1.0)
    return np.where(known, loo, np.average(points.y, weights=points.w))
