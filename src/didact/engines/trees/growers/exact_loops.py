"""The scanner of sorted columns: every place between two values of a node is a candidate.

Every feature has a line, the rows in the feature's order, and a node is the same range of all lines. A split marks the
rows that go left and partitions every line, keeping its order, so that no node sorts again: a level costs one pass of
n·p for the scans and one for the partition. A feature that is constant in a node is neither scanned nor moved below it.

Layout::

    lines (p, n)   feature 0 [ … | rows of a node, by feature 0 | … ]   each entry is rank << 32 | row
                   feature 1 [ … | the same rows, by feature 1  | … ]
                                   ^ start                        ^ stop
    values         [ distinct values of feature 0, ascending | of feature 1 | … ]   rank r is the r-th of them
                     ^ starts[0]                               ^ starts[1]
    side (rows)    1: goes left
    found[f]       [ score | position | missing left | threshold ]   the best cut of each feature
    bits (p, words)   the categories that it sends left
"""

import math
from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import dispatch, jit_unmanaged
from didact.core.typing import Array
from didact.engines.trees.growers.growth_loops import (
    UNVARYING,
    TreeNodes,
    is_final,
    node_bounds,
    node_tie,
    record_split,
    varies,
)
from didact.engines.trees.limits import Limits
from didact.engines.trees.splits.category_loops import Groups, RandomSplit
from didact.engines.trees.splits.random_loops import child_state, next_state, uniform
from didact.engines.trees.splits.sorted_loops import NO_SCORE, Needs, missing_at

totals1 = dispatch("totals1")
cut1 = dispatch("cut1")
cut_line1 = dispatch("cut_line1")
random1 = dispatch("random1")
categories1 = dispatch("categories1")


class SortedColumns(NamedTuple):
    """The lines and what is known of the features."""

    lines: Array  # (p, n) int64
    values: Array  # distinct values of all features, one after the other
    starts: Array  # (p + 1,) where each feature's values begin
    categorical: Array  # (p,) bool
    monotone: Array  # (p,) int8


class SortedFields(NamedTuple):
    """What a scanner of sorted columns holds."""

    table: SortedColumns
    stat: Any
    side: Array  # uint8
    spare: Array  # int64 (n,); this and all that follows belongs to one thread
    order: Array  # int64 (p,): features in the order in which they are scanned
    found: Array
    bits: Array
    groups: Groups


class SortedMethods:
    """What both scanners of sorted columns do."""

    __slots__ = ()

    def totals1(self, nodes: TreeNodes, node: int, f: int) -> None:
        """Sums, score, base and weight of a node, added up in the order of feature f."""
        sorted_totals(self, nodes, node, f)

    def scan1(self, nodes: TreeNodes, node: int, limits: Limits) -> bool:
        """Write the best split into a node; whether there is one."""
        return scan_lines(self, nodes, node, limits)

    def column1(self, nodes: TreeNodes, node: int, f: int, found: Array, bits: Array, limits: Limits) -> None:
        """The best split of a node on one feature into what was found."""
        scan_line(self, nodes, node, f, found, bits, limits)

    def begin1(self, nodes: TreeNodes, node: int) -> None:
        """Do nothing before the features of a node are scanned."""

    def divide1(self, nodes: TreeNodes, node: int) -> int:
        """Carry out a node's split; how many rows go left."""
        left = mark(self, nodes, node)
        for f in range(self.table.lines.shape[0]):  # type: ignore[attr-defined]
            partition_line(self, nodes, node, f)
        return left

    def moves1(self) -> int:
        """How many lines a division has to move."""
        return self.table.lines.shape[0]  # type: ignore[attr-defined]

    def mark1(self, nodes: TreeNodes, node: int) -> int:
        """The first half of a division, by one thread: mark the rows; how many go left."""
        return mark(self, nodes, node)

    def move1(self, nodes: TreeNodes, node: int, f: int) -> None:
        """The second half of a division, feature by feature: partition a line."""
        partition_line(self, nodes, node, f)

    def bring1(self, nodes: TreeNodes, node: int, near: Any) -> None:
        """Do nothing: lines stay where they are."""


class SortedScanner(SortedMethods, SortedFields):
    """The best cut of each feature."""

    __slots__ = ()

    def cut1(self, line: Array, f: int, sums: Array, tie: float, bounds: Needs, state: np.uint64) -> RandomSplit:
        """The best cut of a line."""
        top = self.table.starts[f + 1] - self.table.starts[f]
        score, at, missing_left = cut_line1(self.stat, line, top, sums, tie, bounds)
        return score, at, missing_left, math.nan


class RandomSortedScanner(SortedMethods, SortedFields):
    """One random cut of each feature, at any place between its least and its largest value."""

    __slots__ = ()

    def cut1(self, line: Array, f: int, sums: Array, tie: float, bounds: Needs, state: np.uint64) -> RandomSplit:
        """A cut of a line at random."""
        values = self.table.values[self.table.starts[f] : self.table.starts[f + 1]]
        return random1(self.stat, line, values, sums, bounds, state)


@jit_unmanaged
def sorted_totals(scanner: Any, nodes: TreeNodes, node: int, f: int) -> None:
    """Sums, score, base and weight of a node."""
    here = nodes.at[node]
    line = scanner.table.lines[f, here.start : here.stop]
    here.score, here.basis, here.weight = totals1(scanner.stat, line, nodes.sums[node])


@jit_unmanaged
def scan_line(scanner: Any, nodes: TreeNodes, node: int, f: int, found: Array, bits: Array, limits: Limits) -> None:
    """The best split of a node on feature f into what was found; the threshold only if it was drawn."""
    here, table, best = nodes.at[node], scanner.table, found[f]
    line = table.lines[f, here.start : here.stop]
    best[0], best[1] = NO_SCORE, UNVARYING
    if line[0] >> 32 == line[line.shape[0] - 1] >> 32:
        return
    sums, tie, state = nodes.sums[node], node_tie(nodes, node), child_state(here.key, f + 2)
    bounds = node_bounds(nodes, node, table.monotone[f], limits)
    if table.categorical[f]:
        top = table.starts[f + 1] - table.starts[f]
        score, at, missing_left = categories1(
            scanner.stat, line, top, sums, tie, bounds, bits[f], scanner.groups, limits.random_splits, state
        )
    else:
        score, at, missing_left, best[3] = cut1(scanner, line, f, sums, tie, bounds, state)
    best[0], best[1], best[2] = score, at, 1.0 if missing_left else 0.0


@jit_unmanaged
def draw_order(active: Array, p: int, order: Array, shuffled: bool, state: np.uint64) -> int:
    """The features that vary, as they are or shuffled; their number."""
    k = 0
    for f in range(p):
        if varies(active, f):
            order[k] = f
            k += 1
    if shuffled:
        for i in range(k - 1, 0, -1):
            state = next_state(state)
            j = int(uniform(state) * (i + 1))
            order[i], order[j] = order[j], order[i]
    return k


@jit_unmanaged
def scan_lines(scanner: Any, nodes: TreeNodes, node: int, limits: Limits) -> bool:
    """Scan the features that vary, or as many of them as are drawn, and write the best split into the node."""
    if is_final(nodes, node, limits):
        return False
    order, found, p = scanner.order, scanner.found, scanner.table.lines.shape[0]
    shuffled, tried, cuts = 0 < limits.max_features < p, 0, False
    many = draw_order(nodes.active[node], p, order, shuffled, nodes.at[node].key)
    for k in range(many):
        if shuffled and tried >= limits.max_features and cuts:
            many = k
            break
        f = order[k]
        scan_line(scanner, nodes, node, f, found, scanner.bits, limits)
        tried += found[f, 1] != UNVARYING
        cuts |= found[f, 0] > NO_SCORE
    return record_split(nodes, node, found, scanner.bits, order[:many], limits)


@jit_unmanaged
def cut_between(low: float, high: float) -> float:
    """A threshold between two values, at or above the lower one and below the other."""
    half = 0.5 * low + 0.5 * high
    return half if low <= half < high else low


@jit_unmanaged
def threshold_between(table: SortedColumns, f: int, line: Array, at: int) -> float:
    """The middle between the last value on the left and the first on the right; ∞ if only missing ones are right."""
    start = table.starts[f]
    if at >= missing_at(line, table.starts[f + 1] - start):
        return math.inf
    return cut_between(table.values[start + (line[at - 1] >> 32)], table.values[start + (line[at] >> 32)])


@jit_unmanaged
def mark(scanner: Any, nodes: TreeNodes, node: int) -> int:
    """Mark the rows of a node that go left, and complete the record of its split; the number of rows on the left."""
    here, table, side = nodes.at[node], scanner.table, scanner.side
    f, at, missing_left, is_set = here.feature, here.cut, here.missing_left != 0, table.categorical[here.feature]
    line, top = table.lines[f, here.start : here.stop], table.starts[f + 1] - table.starts[f]
    n, m, left = line.shape[0], missing_at(line, top), 0
    for i in range(n):
        if i >= m:
            goes = missing_left
        elif is_set:
            code = line[i] >> 32
            goes = (nodes.sets[node, code >> 6] >> np.uint64(code & 63)) & np.uint64(1) != 0
        else:
            goes = i < at
        side[line[i] & 0xFFFFFFFF] = goes
        left += goes
    if is_set:
        complete_set(line[:m], top, nodes.sets[node], 2 * left > n)
    elif math.isnan(here.threshold):
        here.threshold = threshold_between(table, f, line, at)
    if m == n:
        here.missing_left = 2 * left > n
    return left


@jit_unmanaged
def complete_set(line: Array, top: int, bits: Array, left: bool) -> None:
    """Send the categories that no row of the node has to the larger side."""
    if not left:
        return
    k = 0
    for code in range(top):
        while k < line.shape[0] and line[k] >> 32 < code:
            k += 1
        if k == line.shape[0] or line[k] >> 32 != code:
            bits[code >> 6] |= np.uint64(1) << np.uint64(code & 63)


@jit_unmanaged
def partition_line(scanner: Any, nodes: TreeNodes, node: int, f: int) -> None:
    """Marked rows first, in a line whose order is otherwise kept; lines of features that do not vary stay."""
    if not varies(nodes.active[node], f):
        return
    line, side, spare = scanner.table.lines[f, nodes.at[node].start : nodes.at[node].stop], scanner.side, scanner.spare
    left, right = 0, 0
    for i in range(line.shape[0]):
        packed = line[i]
        goes = side[packed & 0xFFFFFFFF]
        line[left] = packed  # one of the two writes is in vain, but there is no branch to mispredict
        spare[right] = packed
        left += goes
        right += 1 - goes
    for i in range(right):
        line[left + i] = spare[i]
