r"""Compiled scans of one feature of one node: the best place to cut its sorted rows; a brute-force twin is in the test.

A line holds the node's rows in the order of the feature, each packed as ``rank << 32 | row``; equal values have equal
rank, missing values the rank `top`. One pass adds rows to the left side and scores every place between two ranks.
Missing values are tried on the right and on the left. Categories are put in the order of their mean target first,
which for two classes and for squared errors is enough to find the best of all 2^(C−1) sets (Fisher 1958,
doi:10.1080/01621459.1958.10501479); for more classes or outputs the order of each channel is tried in turn.

What a row adds to a node is a noun of `stat_loops`. A split is (score, position, missing left): rows of the line before
the position go left.

Layout::

    line   [ present values, by rank           | missing: rank `top` ]   each entry is rank << 32 | row
             ^ 0: left         ^ at: right       ^ m: the side that `missing left` says
"""

import math
from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import dispatch, jit, jit_unmanaged
from didact.core.typing import Array

BestCut = tuple[float, int, bool]
NodeTotals = tuple[float, float, float]  # score, base, weight

NO_SCORE = -math.inf
SCORE_TIE = 1e-13  # scores that differ by less, relative to the node's, are equal: the first one counts

score2 = dispatch("score2")
add1 = dispatch("add1")
base1 = dispatch("base1")
total1 = dispatch("total1")
weight1 = dispatch("weight1")


class Needs(NamedTuple):
    """What a child must have, and where the means of the children must lie."""

    min_samples: int
    min_weight: float
    sign: int
    low: float
    high: float


@jit_unmanaged
def allowed(bounds: Needs, s: float, w: float, S: float, W: float) -> bool:
    """Whether the means of left (s, w) and right child respect the monotone constraint."""
    if bounds.sign == 0 and bounds.low == -math.inf and bounds.high == math.inf:
        return True
    return in_order(bounds, s / w, (S - s) / (W - w))


@jit_unmanaged
def in_order(bounds: Needs, left: float, right: float) -> bool:
    """Whether these values of left and right child respect the monotone constraint."""
    if (left - right) * bounds.sign > 0.0:
        return False
    return bounds.low <= left <= bounds.high and bounds.low <= right <= bounds.high


@jit_unmanaged
def missing_at(line: Array, top: int) -> int:
    """The place of the first missing value in a line, by bisection."""
    low, high = 0, line.shape[0]
    while low < high:
        middle = (low + high) // 2
        if line[middle] >> 32 >= top:
            high = middle
        else:
            low = middle + 1
    return low


@jit_unmanaged
def cut_scalar(stat: Any, line: Array, m: int, s: float, w: float, missing_left: bool, sums: Array, tie: float,
               bounds: Needs, best: float) -> BestCut:  # fmt: skip
    """The best cut among the m present values; s and w are what is on the left from the start."""
    rows, criterion, n = stat.rows, stat.criterion, line.shape[0]
    S, W, at = sums[0], sums[1], -1
    before = n - m if missing_left else 0
    free = bounds.sign == 0 and bounds.low == -math.inf and bounds.high == math.inf
    last = m - 1 if missing_left or m == n else m  # all present values against the missing ones is a cut, too
    limit = best + tie
    low, high = max(0, bounds.min_samples - before - 1), n - bounds.min_samples - before
    last = min(last, high)
    for i in range(last):
        packed = line[i]
        row = packed & 0xFFFFFFFF
        s += rows[row, 0]
        w += rows[row, 1]
        if i < low or (i + 1 < m and line[i + 1] >> 32 == packed >> 32):
            continue
        if w < bounds.min_weight or W - w < bounds.min_weight:
            continue
        score = score2(criterion, s, w) + score2(criterion, S - s, W - w)
        if score > limit and (free or allowed(bounds, s, w, S, W)):
            best, limit, at = score, score + tie, i + 1
    return (best, at, missing_left) if at >= 0 else (NO_SCORE, -1, False)


@jit_unmanaged
def scan_scalar(stat: Any, line: Array, top: int, sums: Array, tie: float, bounds: Needs) -> BestCut:
    """The best cut of a line with sums in registers."""
    m, s, w = missing_at(line, top), 0.0, 0.0
    best = cut_scalar(stat, line, m, s, w, False, sums, tie, bounds, NO_SCORE)
    if m == line.shape[0]:
        return best
    for i in range(m, line.shape[0]):
        row = line[i] & 0xFFFFFFFF
        s += stat.rows[row, 0]
        w += stat.rows[row, 1]
    other = cut_scalar(stat, line, m, s, w, True, sums, tie, bounds, best[0])
    return other if other[0] > NO_SCORE else best


@jit
def scan_vector(stat: Any, line: Array, top: int, sums: Array, tie: float, bounds: Needs) -> BestCut:
    """The best cut of a line with vectors of sums."""
    m, n = missing_at(line, top), line.shape[0]
    left, right = np.empty(sums.shape[0]), np.empty(sums.shape[0])
    best, at, side = NO_SCORE, -1, False
    for turn in range(1 if m == n else 2):
        before = 0
        for k in range(sums.shape[0]):
            left[k] = 0.0
        if turn == 1:
            before = n - m
            for i in range(m, n):
                add1(stat, left, line[i] & 0xFFFFFFFF)
        last = m - 1 if turn == 1 or m == n else m
        for i in range(min(last, n - bounds.min_samples - before)):
            add1(stat, left, line[i] & 0xFFFFFFFF)
            if i + 1 + before < bounds.min_samples or (i + 1 < m and line[i + 1] >> 32 == line[i] >> 32):
                continue
            for k in range(sums.shape[0]):
                right[k] = sums[k] - left[k]
            if weight1(stat, left) < bounds.min_weight or weight1(stat, right) < bounds.min_weight:
                continue
            score = total1(stat, left) + total1(stat, right)
            if score > best + tie:
                best, at, side = score, i + 1, turn == 1
    return best, at, side


@jit_unmanaged
def line_totals(stat: Any, line: Array, sums: Array) -> NodeTotals:
    """Score, base and weight of the rows of a line; fills in their sums."""
    base = 0.0
    for k in range(sums.shape[0]):
        sums[k] = 0.0
    for i in range(line.shape[0]):
        row = np.int64(line[i]) & 0xFFFFFFFF  # rows of 32 bits, or keys whose low half is the row
        add1(stat, sums, row)
        base += base1(stat, row)
    return total1(stat, sums), base, weight1(stat, sums)
