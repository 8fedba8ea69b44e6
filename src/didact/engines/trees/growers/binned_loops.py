"""The scanner of codes: the best cut of every node among all, or drawn, columns.

The node's rows stand in one array that a split partitions; each column that varies is added to a histogram and swept.
Subtrees of few rows are grown by a scanner to which their codes and targets are copied side by side. A cut between two
codes that are apart is put in the middle: where each code is one value, at the midpoint of an exact tree, and else as
near to it as the bins allow. Rows · drawn columns that vary · depth is the work of a tree.

Layout::

    codes (p, n)    feature f [ row 0 | row 1 | … ]   a missing value has the code n_bins[f]
    rows (n)        [ … | rows of a node             | … ]   row numbers; `spare` and `near` have the same entries
                          ^ start                      ^ stop
                    [ … | those that go left | right | … ]   after its split
    found[f]        [ score | code | missing left | – ]   the best cut of each feature
    bits (p, words) the categories that it sends left
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import dispatch, jit_unmanaged
from didact.core.typing import Array
from didact.engines.trees.growers.exact_loops import categories1, cut_between, totals1
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
from didact.engines.trees.splits.category_loops import Groups
from didact.engines.trees.splits.coded_loops import Buffers, Near
from didact.engines.trees.splits.random_loops import next_state, uniform
from didact.engines.trees.splits.sort_loops import pack_line
from didact.engines.trees.splits.sorted_loops import NO_SCORE

bins1 = dispatch("bins1")
gather1 = dispatch("gather1")
near1 = dispatch("near1")
channels1 = dispatch("channels1")


class CodedColumns(NamedTuple):
    """Codes column by column, and the thresholds between them; a missing value has the code n_bins[f]."""

    codes: Array  # (p, n) uint8 or uint16, read-only
    thresholds: Array  # (p, most bins)
    n_bins: Array
    categorical: Array
    monotone: Array
    values: Array  # (p, most bins): the value of each code, if all values of a code are the same; else (0, 0)


class CodedScanner(NamedTuple):
    """The best cut of each column of codes."""

    table: CodedColumns
    stat: Any
    codes: Array  # (p, size) the memory of the codes, where rows are copied to this scanner; else empty
    rows: Array  # int32
    spare: Array  # int32
    near: Near
    common: Array  # (p,) the code that most rows have and that is not counted row by row; −1: none
    buffers: Buffers  # this and all that follows belongs to one thread
    order: Array  # int64 (p,): features in the order in which they are scanned
    found: Array
    bits: Array
    groups: Groups

    def totals1(self, nodes: TreeNodes, node: int, f: int) -> None:
        """Sums, score, base and weight of a node."""
        coded_totals(self, nodes, node)

    def scan1(self, nodes: TreeNodes, node: int, limits: Limits) -> bool:
        """Write the best cut into a node; whether there is one."""
        return scan_columns(self, nodes, node, limits)

    def column1(self, nodes: TreeNodes, node: int, f: int, found: Array, bits: Array, limits: Limits) -> None:
        """The best cut of a node on one feature into what was found."""
        channels1(self.stat, nodes.sums[node], self.buffers)
        scan_column(self, nodes, node, f, found, bits, limits)

    def begin1(self, nodes: TreeNodes, node: int) -> None:
        """Put what the rows of a node bring side by side."""
        bring_near(self, nodes, node)

    def divide1(self, nodes: TreeNodes, node: int) -> int:
        """Carry out a node's cut; how many rows go left."""
        return divide_codes(self, nodes, node)

    def moves1(self) -> int:
        """How many lines a division has to move: none, as columns stay as they are."""
        return 0

    def mark1(self, nodes: TreeNodes, node: int) -> int:
        """Carry out the whole division, by one thread; how many rows go left."""
        return divide_codes(self, nodes, node)

    def move1(self, nodes: TreeNodes, node: int, f: int) -> None:
        """Do nothing: columns stay as they are."""

    def bring1(self, nodes: TreeNodes, node: int, near: Any) -> None:
        """Copy the rows of a node to another scanner; from now on they are a range of the rows there."""
        bring_codes(self, nodes, node, near)


@jit_unmanaged
def coded_totals(scanner: CodedScanner, nodes: TreeNodes, node: int) -> None:
    """Sums, score, base and weight of a node."""
    here = nodes.at[node]
    rows = scanner.rows[here.start : here.stop]
    here.score, here.basis, here.weight = totals1(scanner.stat, rows, nodes.sums[node])


@jit_unmanaged
def bring_near(scanner: CodedScanner, nodes: TreeNodes, node: int) -> None:
    """Put what the rows of a node bring side by side, where it is wanted."""
    here, near = nodes.at[node], scanner.near
    rows = scanner.rows[here.start : here.stop]
    channels1(scanner.stat, nodes.sums[node], scanner.buffers)
    near1(scanner.stat, rows, Near(near.targets[here.start :], near.weights[here.start :]), scanner.buffers)


@jit_unmanaged
def scan_column(scanner: CodedScanner, nodes: TreeNodes, node: int, f: int, found: Array, bits: Array,
                limits: Limits) -> None:  # fmt: skip
    """The best cut of a node on one feature into what was found."""
    here, table, buffers = nodes.at[node], scanner.table, scanner.buffers
    column, top, sums, tie = table.codes[f], table.n_bins[f], nodes.sums[node], node_tie(nodes, node)
    rows, best = scanner.rows[here.start : here.stop], (NO_SCORE, UNVARYING, False)
    bounds = node_bounds(nodes, node, table.monotone[f], limits)
    if not table.categorical[f]:
        near = Near(scanner.near.targets[here.start :], scanner.near.weights[here.start :])
        best = bins1(scanner.stat, column, rows, near, buffers, top, sums, tie, bounds, scanner.common[f])
    elif pack_line(column, rows, buffers.line):
        line = buffers.line[: rows.shape[0]]
        best = categories1(scanner.stat, line, top, sums, tie, bounds, bits[f], scanner.groups, False, here.key)
    found[f, 0], found[f, 1], found[f, 2] = best[0], best[1], 1.0 if best[2] else 0.0


@jit_unmanaged
def scan_columns(scanner: CodedScanner, nodes: TreeNodes, node: int, limits: Limits) -> bool:
    """Scan the features that vary, or draw some until enough were not constant; the best cut goes into the node."""
    if is_final(nodes, node, limits):
        return False
    bring_near(scanner, nodes, node)
    order, found, active, state = scanner.order, scanner.found, nodes.active[node], nodes.at[node].key
    p, tried, cuts = order.shape[0], 0, False
    many, wanted = p, limits.max_features
    for k in range(p):
        order[k] = k
    for k in range(p):
        if wanted > 0:
            if tried >= wanted and cuts:
                many = k
                break
            state = next_state(state)
            j = k + int(uniform(state) * (p - k))
            order[k], order[j] = order[j], order[k]
        f = order[k]
        found[f, 0], found[f, 1] = NO_SCORE, UNVARYING
        if varies(active, f):
            scan_column(scanner, nodes, node, f, found, scanner.bits, limits)
            tried += found[f, 1] != UNVARYING
            cuts |= found[f, 0] > NO_SCORE
    return record_split(nodes, node, found, scanner.bits, order[:many], limits)


@jit_unmanaged
def cut_threshold(table: CodedColumns, f: int, cut: int, rows: Array) -> float:
    """Where a cut of these rows after a code is put; ∞ if only missing values are on the right."""
    column, top, low = table.codes[f], table.n_bins[f], -1
    high = top
    if cut >= top - 1:
        return np.inf
    if table.values.shape[0] == 0:
        return table.thresholds[f, cut]
    for i in range(rows.shape[0]):
        code = int(column[rows[i]])
        if code <= cut:
            low = max(low, code)
        elif code < top:
            high = min(high, code)
    return cut_between(table.values[f, low], table.values[f, high])


@jit_unmanaged
def divide_codes(scanner: CodedScanner, nodes: TreeNodes, node: int) -> int:
    """Partition the rows of a node, and complete the record of its cut; the number of rows on the left."""
    here, table = nodes.at[node], scanner.table
    f, cut, missing_left = here.feature, here.cut, here.missing_left != 0
    column, top, is_set = table.codes[f], table.n_bins[f], table.categorical[f]
    rows, spare = scanner.rows[here.start : here.stop], scanner.spare[here.start : here.stop]
    left, right, missing = 0, 0, 0
    for i in range(rows.shape[0]):
        row = rows[i]
        code = int(column[row])
        goes = code <= cut
        if code >= top:
            goes = missing_left
            missing += 1
        elif is_set:
            goes = (nodes.sets[node, code >> 6] >> np.uint64(code & 63)) & np.uint64(1) != 0
        rows[left] = row
        spare[right] = row
        left += int(goes)
        right += int(not goes)
    for i in range(right):
        rows[left + i] = spare[i]
    if not is_set:
        here.threshold = cut_threshold(table, f, cut, rows)
    if missing == 0:
        here.missing_left = left > right
    return left


@jit_unmanaged
def bring_codes(scanner: CodedScanner, nodes: TreeNodes, node: int, near: CodedScanner) -> None:
    """Copy the rows of a node to another scanner."""
    here = nodes.at[node]
    rows, n = scanner.rows[here.start : here.stop], here.stop - here.start
    for f in range(near.codes.shape[0]):
        if varies(nodes.active[node], f):
            column, codes = scanner.table.codes[f], near.codes[f]
            for i in range(n):
                codes[i] = column[rows[i]]
    for i in range(n):
        near.rows[i] = i
    gather1(scanner.stat, rows, near.stat)
    here.start, here.stop = 0, n


def warm() -> None:
    """Compile growth from codes for one target or two classes, and for several classes."""
    from didact.engines.trees.growers.binned import coded, grow_on
    from didact.engines.trees.rows.bins import bin_codes, learn_bins
    from didact.engines.trees.rows.targets import label_targets
    from didact.parts.criteria.impurity import Gini

    X = np.arange(64.0)[:, None] % 4
    bins = learn_bins(X)
    table = coded(bin_codes(X, bins), bins)
    for classes in (2, 3):
        targets = label_targets(np.arange(len(X)) % 4 % classes, classes, None, Gini())
        for threads in (1, 2):
            grow_on(threads, table, targets, Limits())
