r"""Compiled scans for absolute errors, which need medians: loss :math:`\sum_i w_i|y_i - \mathrm{med}|` of every prefix.

Weights and weighted targets of the rows on one side stand in a Fenwick tree over the ranks of y. The median is found by
one descent, and with the weight and sum below it the loss follows; a row costs log n. Left sides grow from the front of
a line, right sides from its back. Fenwick (1994), doi:10.1002/spe.4380240306.

Layout::

    fenwick[o]  [ unused | rank 0 | ranks 0, 1 | rank 2 | ranks 0 … 3 | … ]   weight and weighted target of the
                  0        1        2            3        4                   ranks k − (k & −k) … k − 1 in entry k
    losses[0]   [ of the first row of a line | of its first two | … ]         left sides; [2]: their medians
    losses[1]   [ of the rows after the first | after the second | … ]        right sides; [3]: their medians
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import dispatch, jit, jit_unmanaged
from didact.core.typing import Array
from didact.engines.trees.splits.category_loops import Groups, RandomSplit, write_set
from didact.engines.trees.splits.coded_loops import Buffers, Near
from didact.engines.trees.splits.random_loops import next_state, uniform
from didact.engines.trees.splits.sort_loops import middle_code, pack_line, sort_keys
from didact.engines.trees.splits.sorted_loops import NO_SCORE, BestCut, Needs, NodeTotals, in_order, missing_at

totals1 = dispatch("totals1")


class Medians(NamedTuple):
    """Targets of which medians are taken; a node's sums are weight × median of each output, and the weight."""

    ranks: Array  # (n, outputs) rank of y
    weights: Array
    distinct: Array  # (outputs, n) values of y by rank
    fenwick: Array  # (outputs, size + 1, 2), zero between calls
    losses: Array  # (4, n + 1) for the losses of left and right sides, and for their medians

    def totals1(self, line: Array, sums: Array) -> NodeTotals:
        """Score (minus the loss), base 0 and weight of a node; fills in its sums."""
        total = 0.0
        for i in range(line.shape[0]):
            total += put(self, line[i] & 0xFFFFFFFF)
        for o in range(self.ranks.shape[1]):
            sums[o] = total * median(self, o, total)
        sums[sums.shape[0] - 1] = total
        score = -loss(self, total)
        clear_sums(self, line)
        return score, 0.0, total

    def value1(self, sums: Array) -> float:
        """The median, for monotone constraints."""
        return sums[0] / sums[sums.shape[0] - 1]

    def cut_line1(self, line: Array, top: int, sums: Array, tie: float, bounds: Needs) -> BestCut:
        """The best cut of a line."""
        return best_median_cut(self, line, top, sums, tie, bounds)

    def categories1(self, line: Array, top: int, sums: Array, tie: float, bounds: Needs, bits: Array,
                    groups: Groups, random_split: bool, state: np.uint64) -> BestCut:  # fmt: skip
        """The best cut of the categories in the order of their mean target (or in a random order)."""
        return best_set(self, line, top, sums, tie, bounds, bits, random_split, state)

    def random1(self, line: Array, values: Array, sums: Array, bounds: Needs, state: np.uint64) -> RandomSplit:
        """A cut at a value drawn between the smallest and the largest; missing values go right."""
        return random_median_cut(self, line, values, sums, bounds, state)

    def bins1(self, column: Array, rows: Array, near: Near, buffers: Buffers, top: int, sums: Array, tie: float,
              bounds: Needs, common: int) -> BestCut:  # fmt: skip
        """The best cut of a column of codes, which are sorted for it."""
        if not pack_line(column, rows, buffers.line):
            return NO_SCORE, -2, False
        line = buffers.line[: rows.shape[0]]
        score, at, missing_left = best_median_cut(self, line, top, sums, tie, bounds)
        return (score, middle_code(line, at, top), missing_left) if at >= 0 else (NO_SCORE, -1, False)

    def gather1(self, rows: Array, out: Any) -> None:
        """Copy rows to another noun of this kind."""
        for i in range(rows.shape[0]):
            out.weights[i] = self.weights[rows[i]]
            for o in range(self.ranks.shape[1]):
                out.ranks[i, o] = self.ranks[rows[i], o]

    def near1(self, rows: Array, near: Near, buffers: Buffers) -> None:
        """Do nothing: the rows are read where they are."""

    def channels1(self, sums: Array, buffers: Buffers) -> None:
        """Do nothing: there are no sums."""

    def halves1(self, codes: Array, rows: Array, near: Near, cut: int, top: int, missing_left: bool, sums: Array,
                bounds: Needs, sides: Array) -> float:  # fmt: skip
        """The score of the division at one code."""
        return divided(self, codes, rows, cut, top, missing_left, sums, bounds)

    def near_totals1(self, rows: Array, near: Near, sums: Array) -> NodeTotals:
        """Score, base and weight of a node, whose rows are read where they are."""
        return totals1(self, rows, sums)


@jit_unmanaged
def put(stat: Medians, row: int) -> float:
    """Add a row to the trees; its weight."""
    w, size = stat.weights[row], stat.fenwick.shape[1]
    for o in range(stat.ranks.shape[1]):
        y, k = stat.distinct[o, stat.ranks[row, o]], stat.ranks[row, o] + 1
        while k < size:
            stat.fenwick[o, k, 0] += w
            stat.fenwick[o, k, 1] += w * y
            k += k & -k
    return w


@jit_unmanaged
def clear_sums(stat: Medians, line: Array) -> None:
    """Zero all that the rows of a line have touched: exact, where taking away would leave rounding behind."""
    size = stat.fenwick.shape[1]
    for i in range(line.shape[0]):
        for o in range(stat.ranks.shape[1]):
            k = stat.ranks[line[i] & 0xFFFFFFFF, o] + 1
            while k < size and stat.fenwick[o, k, 0] != 0.0:
                stat.fenwick[o, k, 0] = stat.fenwick[o, k, 1] = 0.0
                k += k & -k


@jit_unmanaged
def descend_ranks(stat: Medians, o: int, weight: float) -> tuple[int, float, float]:
    """The number of ranks whose weight together stays below `weight`, that weight, and their sum of targets."""
    step = (stat.fenwick.shape[1] - 1) // 2
    size, place, below, total = stat.fenwick.shape[1], 0, 0.0, 0.0
    while step > 0:
        k = place + step
        if k < size and below + stat.fenwick[o, k, 0] < weight:
            place, below, total = k, below + stat.fenwick[o, k, 0], total + stat.fenwick[o, k, 1]
        step //= 2
    return place, below, total


@jit_unmanaged
def median(stat: Medians, o: int, total: float) -> float:
    """The middle of the lower and the upper median."""
    half, last = 0.5 * total, stat.distinct.shape[1] - 1
    low = min(descend_ranks(stat, o, half * (1.0 - 1e-12))[0], last)
    high = min(descend_ranks(stat, o, half * (1.0 + 1e-12))[0], last)
    return 0.5 * stat.distinct[o, low] + 0.5 * stat.distinct[o, high]


@jit_unmanaged
def loss(stat: Medians, total: float) -> float:
    """The weighted absolute error around the median of what is in the trees, averaged over the outputs."""
    found, outputs = 0.0, stat.ranks.shape[1]
    last = stat.distinct.shape[1] - 1
    top = (stat.fenwick.shape[1] - 1) // 1
    for o in range(outputs):
        place, below, s = descend_ranks(stat, o, 0.5 * total)
        y = stat.distinct[o, min(place, last)]
        found += y * below - s + (stat.fenwick[o, top, 1] - s) - y * (total - below)
    return found / outputs


@jit_unmanaged
def mean_target(stat: Medians, line: Array) -> float:
    """The mean of the first target."""
    s, w = 0.0, 0.0
    for i in range(line.shape[0]):
        row = line[i] & 0xFFFFFFFF
        s += stat.weights[row] * stat.distinct[0, stat.ranks[row, 0]]
        w += stat.weights[row]
    return s / w if w > 0.0 else 0.0


@jit_unmanaged
def median_cut(stat: Medians, line: Array, m: int, missing_left: bool, sums: Array, tie: float, bounds: Needs,
        best: float) -> BestCut:  # fmt: skip
    """The best cut among the m present values, with the others on one side from the start."""
    n, left, right, at = line.shape[0], stat.losses[0], stat.losses[1], -1
    below, above = stat.losses[2], stat.losses[3]  # medians, which only monotone constraints ask for
    bound = bounds.sign != 0 or bounds.low > -np.inf or bounds.high < np.inf
    total, weight = sums[sums.shape[0] - 1], 0.0
    if missing_left:
        for i in range(m, n):
            weight += put(stat, line[i] & 0xFFFFFFFF)
    start = weight
    for i in range(m):
        weight += put(stat, line[i] & 0xFFFFFFFF)
        last_of_rank = i + 1 == m or line[i + 1] >> 32 != line[i] >> 32
        left[i] = loss(stat, weight) if last_of_rank else 0.0
        below[i] = median(stat, 0, weight) if bound and last_of_rank else 0.0
    clear_sums(stat, line)
    weight = 0.0
    if not missing_left:
        for i in range(m, n):
            weight += put(stat, line[i] & 0xFFFFFFFF)
    right[m - 1] = loss(stat, weight) if weight > 0.0 else 0.0
    above[m - 1] = median(stat, 0, weight) if bound and weight > 0.0 else 0.0
    for i in range(m - 1, 0, -1):
        weight += put(stat, line[i] & 0xFFFFFFFF)
        first_of_rank = line[i] >> 32 != line[i - 1] >> 32
        right[i - 1] = loss(stat, weight) if first_of_rank else 0.0
        above[i - 1] = median(stat, 0, weight) if bound and first_of_rank else 0.0
    clear_sums(stat, line)
    before, weight, limit = (n - m if missing_left else 0), start, best + tie
    for i in range(m if m < n and not missing_left else m - 1):
        weight += stat.weights[line[i] & 0xFFFFFFFF]
        if i + 1 < m and line[i + 1] >> 32 == line[i] >> 32:
            continue
        many = i + 1 + before
        if min(many, n - many) < bounds.min_samples or min(weight, total - weight) < bounds.min_weight:
            continue
        if bound and not in_order(bounds, below[i], above[i]):
            continue
        if -left[i] - right[i] > limit:
            best, at = -left[i] - right[i], i + 1
            limit = best + tie
    return (best, at, missing_left) if at >= 0 else (NO_SCORE, -1, False)


@jit_unmanaged
def best_median_cut(stat: Medians, line: Array, top: int, sums: Array, tie: float, bounds: Needs) -> BestCut:
    """The best cut of a line, with the missing values on either side."""
    n, m = line.shape[0], missing_at(line, top)
    best = median_cut(stat, line, m, False, sums, tie, bounds, NO_SCORE)
    if m == n or m == 0:
        return best
    other = median_cut(stat, line, m, True, sums, tie, bounds, best[0])
    return other if other[0] > NO_SCORE else best


@jit
def best_set(stat: Medians, line: Array, top: int, sums: Array, tie: float, bounds: Needs, bits: Array,
             random_split: bool, state: np.uint64) -> BestCut:  # fmt: skip
    """The best cut of the categories in the order of their mean target (or in a random order)."""
    many = 1
    for i in range(1, line.shape[0]):
        many += line[i] >> 32 != line[i - 1] >> 32
    codes, keys, starts = np.empty(many, np.int64), np.empty(many), np.empty(many + 1, np.int64)
    g = -1
    for i in range(line.shape[0]):
        if i == 0 or line[i] >> 32 != line[i - 1] >> 32:
            g += 1
            codes[g], starts[g] = line[i] >> 32, i
    starts[many] = line.shape[0]
    for g in range(many):
        state = next_state(state)
        keys[g] = uniform(state) if random_split else mean_target(stat, line[starts[g] : starts[g + 1]])
    order, arranged, k = np.empty(many, np.int64), np.empty(line.shape[0], np.int64), 0
    sort_keys(keys, order)
    for g in range(many):
        for i in range(starts[order[g]], starts[order[g] + 1]):
            arranged[k] = np.int64(g) << 32 | line[i] & 0xFFFFFFFF
            k += 1
    score, at, _ = median_cut(stat, arranged, k, False, sums, tie, bounds, NO_SCORE)
    if at < 0:
        return NO_SCORE, -1, False
    return score, 0, write_set(codes, order, (arranged[at - 1] >> 32) + 1, top, bits)


@jit
def random_median_cut(stat: Medians, line: Array, values: Array, sums: Array, bounds: Needs,
                      state: np.uint64) -> RandomSplit:  # fmt: skip
    """A cut at a value drawn between the smallest and the largest; missing values go right."""
    m = missing_at(line, values.shape[0])
    if m == 0 or line[0] >> 32 == line[m - 1] >> 32:
        threshold, at = np.inf, m
    else:
        low, high = values[line[0] >> 32], values[line[m - 1] >> 32]
        threshold = low + uniform(state) * (high - low)
        threshold = low if threshold >= high else threshold
        at = 0
        while values[line[at] >> 32] <= threshold:
            at += 1
    arranged = np.empty(line.shape[0], np.int64)
    for i in range(line.shape[0]):
        arranged[i] = np.int64(0 if i < at else 1) << 32 | line[i] & 0xFFFFFFFF
    score, place, _ = median_cut(stat, arranged, line.shape[0], False, sums, 0.0, bounds, NO_SCORE)
    return score, at if place >= 0 else -1, False, threshold


@jit
def divided(stat: Medians, codes: Array, rows: Array, code: int, top: int, missing_left: bool, sums: Array,
            bounds: Needs) -> float:  # fmt: skip
    """The score of the division at one code."""
    arranged, k = np.empty(rows.shape[0], np.int64), 0
    for side in range(2):
        for i in range(rows.shape[0]):
            own = codes[i]
            if ((own <= code) if own < top else missing_left) == (side == 0):
                arranged[k] = np.int64(side) << 32 | np.int64(rows[i])
                k += 1
    return median_cut(stat, arranged, k, False, sums, 0.0, bounds, NO_SCORE)[0]
