r"""Running means, medians and lines of rows that are sorted by one number x.

Rows of equal x form one *place*. The window at q holds the places within a distance, :math:`|x_i-q|\le h` (or the
nearest one if there are none), or k places around the nearest one (of two equally near the lower): as many below as
above, one more above if k is even. At the ends the window is moved inwards, so that it always holds k places.

To leave out a row is to remove one copy of that row only; if it was the only row with its x, its place disappears.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from didact.core.errors import InputError
from didact.core.threads import parallel_map, stable_order
from didact.core.typing import Array
from didact.engines.smoothing.running_loops import WEIGHT_ROUNDING, averages, averages_without, build_nodes, medians
from didact.engines.smoothing.tuning import RUNNING_WINDOWS

SLACK = 1e-9  # share of h by which rounding may put a row at distance h outside


class Sorted(NamedTuple):
    """Rows in order of x, and their places: `u` are the distinct x, rows first[j] … first[j+1] − 1 are at u[j]."""

    x: Array
    Y: Array
    w: Array
    u: Array
    first: Array


class RunningWindow(NamedTuple):
    """The width of a window: k places, or, if k is 0, the distance h."""

    k: int
    h: float


def sort_rows(x: Array, Y: Array, w: Array) -> Sorted:
    """The rows in order of x; Y has a column for each output."""
    order = stable_order(x)
    x, Y, w = x[order], np.ascontiguousarray(Y[order]), w[order]
    new = np.append(True, x[1:] > x[:-1])
    return Sorted(x=x, Y=Y, w=w, u=x[new], first=np.append(np.flatnonzero(new), len(x)))


def nearest_place(u: Array, q: Array) -> Array:
    """The nearest place of each q; of two equally near the lower."""
    above = np.clip(np.searchsorted(u, q), 0, len(u) - 1)
    below = np.maximum(above - 1, 0)
    return np.where(np.abs(q - u[below]) <= np.abs(u[above] - q), below, above)


def windows(rows: Sorted, q: Array, window: RunningWindow) -> tuple[Array, Array]:
    """The rows (start, stop) in the window at each q."""
    u, j = rows.u, nearest_place(rows.u, q)
    if not 0 <= window.k <= len(u):
        raise InputError(f"There are no windows of {window.k} places among {len(u)}: fit the model anew.")
    if window.k:
        low = np.clip(j - (window.k - 1) // 2, 0, len(u) - window.k)
        return rows.first[low], rows.first[low + window.k]
    low, high = _within(u, q, window.h)
    empty = low >= high
    return rows.first[np.where(empty, j, low)], rows.first[np.where(empty, j + 1, high)]


def _within(u: Array, q: Array, h: float) -> tuple[Array, Array]:
    reach = h * (1.0 + SLACK)
    return np.searchsorted(u, q - reach), np.searchsorted(u, q + reach, side="right")


def windows_without(rows: Sorted, window: RunningWindow) -> tuple[Array, Array, Array]:
    """The window at each row with one copy of it left out, and the remaining weight of the row."""
    u, first, m = rows.u, rows.first, len(rows.u)
    j = np.repeat(np.arange(m), np.diff(first))
    gone = np.minimum(rows.w, 1.0)
    alone = np.add.reduceat(rows.w, first[:-1])[j] - gone <= WEIGHT_ROUNDING * rows.w
    start, stop = windows(rows, rows.x, window)
    below = np.where(j > 0, rows.x - u[j - 1], np.inf)
    above = np.where(j < m - 1, u[np.minimum(j + 1, m - 1)] - rows.x, np.inf)
    beside = np.where(below <= above, j - 1, j)  # the nearest other place, numbered without this one
    if window.k:
        k = min(window.k, m - 1)
        low = np.clip(beside - (k - 1) // 2, 0, m - 1 - k)
        high = low + k - 1
    else:
        within = _within(u, rows.x, window.h)
        lonely = within[1] - within[0] <= 1
        low, high = np.where(lonely, beside, within[0]), np.where(lonely, beside, within[1] - 2)
    low, high = low + (low >= j), high + (high >= j)  # numbered among all places again
    start = np.where(alone, first[np.minimum(low, m - 1)], start)
    stop = np.where(alone, first[np.minimum(high + 1, m)], stop)
    return start, stop, np.where(rows.w - gone > WEIGHT_ROUNDING * rows.w, rows.w - gone, 0.0)


def running_smooth(rows: Sorted, q: Array, window: RunningWindow, kind: str) -> Array:
    """The means, medians or lines (n, outputs) of the windows at q."""
    order, out = stable_order(q), np.empty((len(q), rows.Y.shape[1]))
    columns = [np.ascontiguousarray(y) for y in rows.Y.T]
    trees = [] if kind == "median" else [_tree(rows, y) for y in columns]

    def piece(a: int, b: int) -> None:
        here = order[a:b]
        at, found = q[here], np.empty(b - a)
        start, stop = windows(rows, at, window)
        for column, y in enumerate(columns):
            if kind == "median":
                _medians(y, rows.w, start, stop, np.full(b - a, -1), np.zeros(b - a), found)
            else:
                averages(trees[column], at, start, stop, kind == "line", 0, b - a, found)
            out[here, column] = found

    _pieces(len(q), piece)
    return out


def running_left_out(rows: Sorted, window: RunningWindow, kind: str) -> Array:
    """Leave-one-out predictions of all rows (n, outputs); a single row predicts itself."""
    if len(rows.u) == 1 and rows.w.sum() <= 1.0:
        return rows.Y.copy()
    start, stop, left = windows_without(rows, window)
    out, each = np.empty_like(rows.Y), np.arange(len(rows.x))
    for column in range(rows.Y.shape[1]):
        y, found = np.ascontiguousarray(rows.Y[:, column]), np.empty(len(each))
        tree = None if kind == "median" else _tree(rows, y)

        def piece(a: int, b: int, y: Array = y, found: Array = found, tree: Array | None = tree) -> None:
            if tree is None:
                _medians(y, rows.w, start[a:b], stop[a:b], each[a:b], left[a:b], found[a:b])
            else:
                averages_without(tree, rows.x, left, each, start, stop, kind == "line", a, b, found)

        _pieces(len(each), piece)
        out[:, column] = found
    return out


def _tree(rows: Sorted, y: Array) -> Array:
    tree = np.empty((2 * len(y), 5))
    build_nodes(rows.x, y, rows.w, tree)
    return tree


def _medians(y: Array, w: Array, start: Array, stop: Array, row: Array, left: Array, out: Array) -> None:
    """Medians of some windows; ranks are those among the rows that these windows reach, which stay in the cache."""
    low, high = int(start.min()), int(stop.max())
    y, order = y[low:high], np.argsort(y[low:high], kind="stable")
    rank, sums = np.empty(len(y), np.int64), np.zeros(len(y) + 1)
    rank[order] = np.arange(len(y))
    medians(y[order], rank, w[low:high], start - low, stop - low, row - low, left, 0, len(start), sums, out)


def _pieces(n: int, work: Callable[[int, int], None]) -> None:
    """work(start, stop) of pieces of n windows, on the library's threads."""
    parallel_map(lambda edges: work(*edges), list(pairwise([*range(0, n, RUNNING_WINDOWS), n])))
