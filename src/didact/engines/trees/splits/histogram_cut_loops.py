"""Compiled search for the best split of a node's histograms; slow NumPy twins stand beside the tests.

A split is scored from the exact whole-number sums of its two sides: every threshold, with missing values on the right
and, if the node has any, on the left. Cost: two scores per bin.

Layout of the slots of a feature in a histogram, int64 (slots, channels), and of what is made of them::

    hist         [ bin 0 | bin 1 | … | bin bins − 1 | missing ]
                   ^ at                               ^ at + bins
    lines.sums   [ a_0   | a_0 + a_1  | … ]   running sums over the bins of the first channel, and below of the last
    lines.gains  [ after bin 0 | after bin 1 | … ]   of many cuts at once
    fixed        [ left side ], [ right side ], [ left side of the best split ]   (3, channels)
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import dispatch, jit_unmanaged, record_type
from didact.core.typing import Array
from didact.engines.trees.rows.fixed_point_loops import (
    ZERO,
    Reading,
    decoded,
    hashed,
    is_plain,
    pair,
    targets_of,
    weight_at,
)
from didact.engines.trees.splits.histogram_loops import LABELS, Int

score1, score2 = dispatch("score1"), dispatch("score2")
value1, score_at1 = dispatch("value1"), dispatch("score_at1")

BEST = record_type([(name, np.float64) for name in ("gain", "left_value", "right_value")]
                + [(name, np.int64) for name in ("feature", "bin", "missing_left")])  # fmt: skip


class General(NamedTuple):
    """Room for the search with categories, monotone bounds, several classes or targets.

    Where there are none of them, None stands for it, and what belongs to them is not compiled.
    """

    keys: Array  # float64 (largest number of bins + 1): means of categories
    ids: Array  # int64: categories in order
    line: Array  # int64 (largest number of bins + 1, channels): sums of categories in order


class Bound(NamedTuple):
    """What a node is compared with: its score, and monotone bounds with the sign of the feature (0: none)."""

    score: float
    low: float
    high: float
    sign: int


@jit_unmanaged
def node_score(
    total: Array, low: float, high: float, how: Reading, inverse: Array, criterion: Any, sums: Array,
    general: General | None,
) -> float:  # fmt: skip
    """The score of a whole node, with its value held within monotone bounds; NaN if its labels are pure."""
    if general is None:
        s, w, _ = pair(total[0], total[total.shape[0] - 1], how, inverse)
        return score2(criterion, s, w)
    return _general_score(total, low, high, how, inverse, criterion, sums)


@jit_unmanaged
def _general_score(
    total: Array, low: float, high: float, how: Reading, inverse: Array, criterion: Any, sums: Array
) -> float:
    n = targets_of(how, total.shape[0])
    decoded(total, how, inverse, sums, ZERO)
    if how.kind == LABELS:
        present = 0
        for k in range(n):
            present += sums[k] > 0.0
        if present <= how.outputs:
            return np.nan
    if low > -np.inf or high < np.inf:
        return score_at1(criterion, sums, 0, n, min(max(value1(criterion, sums, 0, n), low), high))
    if is_plain(how, total.shape[0]):
        s, w, _ = pair(total[0], total[total.shape[0] - 1], how, inverse)
        return score2(criterion, s, w)
    return score1(criterion, sums, 0, n)


@jit_unmanaged(inline="always")  # an expression with a name
def is_better(gain: float, f: Int, other: Any) -> bool:
    """Whether a split of feature f is better than another: of equal gains, in whatever order, the first feature's."""
    return bool(gain > other.gain or (gain == other.gain and f < other.feature))


@jit_unmanaged
def try_split(
    f: Int, left: Array, right: Array, total: Array, how: Reading, inverse: Array, bound: Bound, limits: Any,
    criterion: Any, sums: Array, best: Array,
) -> bool:  # fmt: skip
    """Score the split with these sums on the left; True if it is the best so far, and then its gain is kept."""
    C = total.shape[0]
    for c in range(C):
        right[c] = total[c] - left[c]
    n = targets_of(how, C)
    at = n + 1
    if decoded(left, how, inverse, sums, ZERO) < limits.min_samples_leaf:
        return False
    if decoded(right, how, inverse, sums, at) < limits.min_samples_leaf:
        return False
    if min(weight_at(sums, ZERO, n, how), weight_at(sums, at, n, how)) < limits.min_weight_leaf:
        return False
    left_value = right_value = 0.0
    if bound.sign != 0 or bound.low > -np.inf or bound.high < np.inf:
        left_value = min(max(value1(criterion, sums, 0, n), bound.low), bound.high)
        right_value = min(max(value1(criterion, sums, at, n), bound.low), bound.high)
        if bound.sign * (right_value - left_value) < 0.0:
            return False
        score = score_at1(criterion, sums, 0, n, left_value) + score_at1(criterion, sums, at, n, right_value)
    else:
        score = score1(criterion, sums, 0, n) + score1(criterion, sums, at, n)
    gain = score - bound.score
    if not is_better(gain, f, best[0]):
        return False
    best[0].gain, best[0].left_value, best[0].right_value = gain, left_value, right_value
    return True


@jit_unmanaged
def is_empty(hist: Array, slot: Int) -> bool:
    """Whether a slot has no rows."""
    some = False
    for c in range(hist.shape[1]):
        some |= hist[np.uint64(slot), np.uint64(c)] != 0
    return not some


@jit_unmanaged
def occupied_range(hist: Array, at: Int, bins: Int) -> tuple[Int, Int]:
    """The first and last bin with rows; bins and −1 if there is none."""
    lowest, highest = np.int64(0), bins - 1
    while lowest < bins and is_empty(hist, at + lowest):
        lowest += 1
    while highest > lowest and is_empty(hist, at + highest):
        highest -= 1
    return lowest, highest if lowest < bins else np.int64(-1)


class Lines(NamedTuple):
    """Room for the bins of a feature side by side."""

    sums: Array  # int64 (2, largest number of bins + 1): sums of all bins up to each
    gains: Array  # float64 (largest number of bins + 1)


@jit_unmanaged(error_model="numpy")
def pair_gains(
    sums: Array, first: Int, stop: Int, whole_a: Int, whole_b: Int, how: Reading, inverse: Array, parent: float,
    limits: Any, criterion: Any, gains: Array,
) -> float:  # fmt: skip
    """The gain of a cut after each bin, −∞ where a side has too little; the largest. Many bins go at once."""
    left_a, left_b, least, light, most = sums[0], sums[1], limits.min_samples_leaf, limits.min_weight_leaf, -np.inf
    for k in range(first, stop):
        s, w, count = pair(left_a[k], left_b[k], how, inverse)
        s2, w2, count2 = pair(whole_a - left_a[k], whole_b - left_b[k], how, inverse)
        gain = score2(criterion, s, w) + score2(criterion, s2, w2) - parent
        enough = (count >= least) & (count2 >= least) & (w >= light) & (w2 >= light)
        gains[k] = gain if enough else -np.inf
    for k in range(first, stop):
        most = max(most, gains[k])
    return most


@jit_unmanaged
def scan_pairs(
    f: Int, hist: Array, at: Int, first: Int, stop: Int, start: Int, only: Int, total: Array, how: Reading,
    inverse: Array, parent: float, limits: Any, criterion: Any, best: Array, kept: Array, lines: Lines,
) -> bool:  # fmt: skip
    """Try the thresholds first … stop − 1 of a feature for one target or two classes; whether one is the best so far.

    `start` is the slot of the missing values if they are on the left, else −1; `only` the one bin to try, or −1.
    """
    last, sums, gains = total.shape[0] - 1, lines.sums, lines.gains
    a = b = np.int64(0)
    if start >= 0:
        a, b = hist[start, 0], hist[start, last]
    zero, one, end = np.uint64(0), np.uint64(1), np.uint64(last)
    for k in range(first, stop):
        here, slot = np.uint64(k), np.uint64(at + k)
        a += hist[slot, zero]
        b += hist[slot, end]
        sums[zero, here], sums[one, here] = a, b
    if only >= 0:
        first, stop = max(first, only), min(stop, only + 1)
    gain = pair_gains(sums, first, stop, total[0], total[last], how, inverse, parent, limits, criterion, gains)
    if not is_better(gain, f, best[0]):
        return False
    place = first
    while gains[place] < gain:
        place += 1
    kept[0], kept[last] = sums[0, place], sums[1, place]
    best[0].gain, best[0].feature, best[0].bin, best[0].missing_left = gain, f, place, start >= 0
    return True


@jit_unmanaged
def scan_fixed(
    f: Int, hist: Array, at: Int, first: Int, stop: Int, start: Int, only: Int, total: Array, how: Reading,
    inverse: Array, bound: Bound, limits: Any, criterion: Any, fixed: Array, sums: Array, best: Array,
) -> bool:  # fmt: skip
    """Scan cuts for any number of classes or targets, with monotone bounds; fixed[2] gets the best left side."""
    C, left, right, found = total.shape[0], fixed[0], fixed[1], False
    for c in range(C):
        left[c] = hist[start, c] if start >= 0 else 0
    for k in range(first, stop):
        for c in range(C):
            left[c] += hist[at + k, c]
        if is_empty(hist, at + k) or (only >= 0 and k != only):
            continue
        if try_split(f, left, right, total, how, inverse, bound, limits, criterion, sums, best):
            best[0].feature, best[0].bin, best[0].missing_left = f, k, start >= 0
            found = True
            for c in range(C):
                fixed[2, c] = left[c]
    return found


@jit_unmanaged
def scan_cuts(
    f: Int, hist: Array, at: Int, first: Int, stop: Int, start: Int, only: Int, total: Array, how: Reading,
    inverse: Array, bound: Bound, limits: Any, criterion: Any, fixed: Array, sums: Array, best: Array, lines: Lines,
    general: General | None,
) -> bool:  # fmt: skip
    """Scan the cuts of a column in whichever way is faster."""
    if general is None:
        return scan_pairs(f, hist, at, first, stop, start, only, total, how, inverse, bound.score, limits, criterion,
                          best, fixed[2], lines)  # fmt: skip
    if is_plain(how, total.shape[0]) and bound.sign == 0 and bound.low == -np.inf and bound.high == np.inf:
        return scan_pairs(f, hist, at, first, stop, start, only, total, how, inverse, bound.score, limits, criterion,
                          best, fixed[2], lines)  # fmt: skip
    return scan_fixed(f, hist, at, first, stop, start, only, total, how, inverse, bound, limits, criterion, fixed,
                      sums, best)  # fmt: skip


@jit_unmanaged
def scan_numbers(
    f: Int, hist: Array, at: Int, bins: Int, total: Array, how: Reading, inverse: Array, bound: Bound, draw: Int,
    limits: Any, criterion: Any, fixed: Array, sums: Array, best: Array, lines: Lines, general: General | None,
) -> bool:  # fmt: skip
    """Try the thresholds of a feature; whether its values (or their absence) differ in this node."""
    lowest, highest = occupied_range(hist, at, bins)
    missing = not is_empty(hist, at + bins)
    if highest < 0 or (lowest == highest and not missing):
        return False
    only, side = np.int64(-1), np.int64(-1)
    if limits.random_splits:
        only = lowest + np.int64(hashed(draw) % np.uint64(max(highest - lowest, 1)))
        side = np.int64(hashed(draw + np.uint64(1)) & np.uint64(1))
    for missing_left in range(2 if missing else 1):
        if missing and side >= 0 and side != missing_left:
            continue
        start = at + bins if missing_left == 1 else np.int64(-1)
        # With missing values alone on the right, the threshold is infinite.
        stop = highest + 1 if missing and missing_left == 0 else highest
        scan_cuts(f, hist, at, lowest, stop, start, only, total, how, inverse, bound, limits, criterion, fixed, sums,
                  best, lines, general)  # fmt: skip
    return True
