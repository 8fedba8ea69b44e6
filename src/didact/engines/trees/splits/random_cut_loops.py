"""A random cut of a node of coded rows, for extremely randomised trees, and the tables that it is drawn from.

Trees with random cuts are deep, and most of their nodes have a handful of rows: what counts is what a node costs, not a
row. The codes stand column by column for large nodes, and row by row for small ones, where a row's codes are one or two
lines of the cache for all features. What rows add to the sums stands in the order of the rows, and moves with them.

Layout::

    codes (p, n)      feature f [ row 0 | row 1 | … ]            for large nodes
    lines (n, p)      row i     [ feature 0 | feature 1 | … ]    for small ones; wider as records
    codes of a node   [ of one feature in its rows | PAD more that go right ]
    guide[f]          [ thresholds below the 1st step | below the 2nd | … ]   CELLS steps from the first to the last
    sides             [ sums of the left side ], [ of the right side ]   (2, channels)
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import dispatch, jit_unmanaged
from didact.core.typing import Array
from didact.engines.trees.splits.category_loops import halves_score
from didact.engines.trees.splits.coded_loops import Near
from didact.engines.trees.splits.random_loops import next_state, uniform
from didact.engines.trees.splits.sorted_loops import NO_SCORE, BestCut, Needs, NodeTotals

CELLS = 256  # steps of the guide to the thresholds
ROW_BY_ROW = 32  # a node of less than one of so many rows reads codes row by row
PAD = 8  # sums are taken of so many rows at a time

base2 = dispatch("base2")
halves1 = dispatch("halves1")
score2 = dispatch("score2")


class RandomCuts(NamedTuple):
    """Codes of all rows, and the thresholds between them; a missing value has the code n_bins[f]."""

    codes: Array  # (p, n) uint8 or uint16
    lines: Array  # (n, p), the same codes row by row; wider if they are records for `record_cuts_loops`
    thresholds: Array  # (p, most bins)
    guide: Array  # (p, CELLS + 1) uint16: how many thresholds are below equal steps from the first to the last
    steps: Array  # (p,) how many of these steps there are in a unit
    halvings: Array  # (p,) until one of the thresholds between two steps is found
    n_bins: Array
    categorical: Array
    monotone: Array


@jit_unmanaged(fastmath={"reassoc"})
def sums_left(codes: Array, near: Near, n: int, cut: int, top: int, missing_left: bool) -> tuple[float, float, Any]:
    """Sums, weight and number of the rows whose code is at most `cut`; without branches, so that several go at once.

    Their number is rounded up: after the codes of the rows come others that go right.
    """
    s, w, many, targets, weights = 0.0, 0.0, np.int64(0), near.targets, near.weights
    last, first = np.int32(cut), np.int32(top if missing_left else 0x7FFFFFFF)
    for i in range((np.uint64(n) + np.uint64(PAD - 1)) & ~np.uint64(PAD - 1)):
        code = np.int32(codes[i])
        goes = (code <= last) | (code >= first)
        s += targets[i] if goes else 0.0
        w += weights[i] if goes else 0.0
        many += goes
    return s, w, many


@jit_unmanaged(fastmath={"reassoc"})
def sums_all(criterion: Any, near: Near, n: int) -> tuple[float, float, float]:
    """Sums, weight and base of the first n rows."""
    s, w, base = 0.0, 0.0, 0.0
    for i in range(np.uint64(n)):
        s += near.targets[i]
        w += near.weights[i]
        base += base2(criterion, near.targets[i], near.weights[i])
    return s, w, base


@jit_unmanaged
def near_halves(stat: Any, codes: Array, near: Near, n: int, cut: int, top: int, missing_left: bool, sums: Array,
                bounds: Needs, sides: Array) -> float:  # fmt: skip
    """The score of the division at one code of a node of one target or two classes, which stand beside the rows."""
    s, w, many = sums_left(codes, near, n, cut, top, missing_left)
    sides[0, 0], sides[0, 1], sides[1, 0], sides[1, 1] = s, w, sums[0] - s, sums[1] - w
    return halves_score(stat, sides[0], sides[1], many, n - many, bounds)


@jit_unmanaged
def near_totals(stat: Any, near: Near, n: int, sums: Array) -> NodeTotals:
    """Score, base and weight of a node of one target or two classes; fills in its sums."""
    sums[0], sums[1], base = sums_all(stat.criterion, near, n)
    return score2(stat.criterion, sums[0], sums[1]), base, sums[1]


@jit_unmanaged(forceinline=True)
def gather(table: RandomCuts, f: int, rows: Array, codes: Array) -> None:
    """Copy the codes of rows on one feature side by side."""
    n = np.uint64(rows.shape[0])
    if rows.shape[0] * ROW_BY_ROW < table.lines.shape[0]:
        for i in range(n):
            codes[i] = table.lines[np.uint32(rows[i]), np.uint32(f)]
    else:
        column = table.codes[f]
        for i in range(n):
            codes[i] = column[np.uint32(rows[i])]


@jit_unmanaged(forceinline=True)
def extremes(codes: Array, n: int, top: int) -> tuple[Any, Any, int]:
    """The smallest and the largest code that is not missing, and the number of missing ones."""
    low, high, missing = codes[0], codes[0], 0
    for i in range(np.uint64(n)):
        low, high = min(low, codes[i]), max(high, codes[i])
    if high < top:
        return np.int64(low), np.int64(high), 0
    last = np.int64(-1)
    for i in range(n):
        missing += codes[i] >= top
        last = max(last, np.int64(codes[i]) if codes[i] < top else np.int64(-1))
    return np.int64(low), last, missing


@jit_unmanaged(forceinline=True)
def place_cut(table: RandomCuts, f: int, low: Any, high: Any, share: float) -> Any:
    """The threshold nearest to this share of the way from the first to the last one between two codes."""
    cuts, last = table.thresholds[f], high - 1
    place = cuts[low] + share * (cuts[last] - cuts[low])
    cell = min(max(int((place - cuts[0]) * table.steps[f]), 0), CELLS - 1)
    cut: Any = np.int64(table.guide[f, cell])
    span = np.int64(table.guide[f, cell + 1]) - cut
    for _ in range(table.halvings[f]):  # the first threshold at or after the place; in any cell as many steps, and
        half = (span + 1) >> 1  # a shift that LLVM does not turn into a branch: there is nothing to mispredict
        cut += half >> (np.int64(cuts[np.uint64(max(cut + half - 1, 0))] >= place) << 5)
        span -= half
    cut = min(max(cut, low), last)
    return cut - np.int64((cut > low) & (place - cuts[np.uint64(max(cut - 1, 0))] < cuts[np.uint64(cut)] - place))


@jit_unmanaged(forceinline=True)
def draw_cut(table: RandomCuts, f: int, rows: Array, near: Near, sums: Array, stat: Any, bounds: Needs, codes: Array,
             sides: Array, state: np.uint64) -> BestCut:  # fmt: skip
    """A random threshold between the smallest and largest of the node, uniform in value: (score, code, missing left).

    The code is −2 if all rows have the same.
    """
    top, n = table.n_bins[f], rows.shape[0]
    gather(table, f, rows, codes)
    low, high, missing = extremes(codes, n, top)
    if missing == n or (low >= high and missing == 0):
        return NO_SCORE, -2, False
    cut = place_cut(table, f, low, high, uniform(state)) if low < high else top - 1
    missing_left = missing > 0 and low < high and uniform(next_state(state)) < 0.5
    for i in range(n, n + PAD):
        codes[i] = high if missing_left else top
    score = halves1(stat, codes, rows, near, cut, top, missing_left, sums, bounds, sides)
    return (score, cut, missing_left) if score > NO_SCORE else (NO_SCORE, -1, False)
