"""The scanner of random cuts for two classes and rows that count once: each row is a record, moved with its node.

A record has the codes of a row on all features and its class. The records of a node stand side by side, so that nothing
is gathered from afar, and vector registers hold 32 features: one pass over a node finds the bounds of all of them, and
one more counts what all drawn cuts send left. The sums are whole numbers: the trees are those of `random_cuts_loops`.

Layout::

    records (n, 32 or 64 …)   [ code of feature 0 | of feature 1 | … | 0 … | class: 0 or 1 ]   of one row, and so on;
                              those of a node are a range, of which a division brings the left ones to the front
    bounds  (5, 32 …)         [ smallest code of feature 0 | … ], largest codes, cuts, rows on the left, of class 1
    drawn   (3, p)            [ features with a cut in this round ], rows on the left of their cuts, of class 1
    order   (2p)              [ features, of which the first k have been drawn | the places they were exchanged with ]
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import dispatch, jit_unmanaged
from didact.core.jit.simd import BYTE_ROWS, BYTES, byte_bounds, byte_counts, swap_bytes
from didact.core.typing import Array
from didact.engines.trees.growers.growth_loops import ROUNDING, TreeNodes, is_final, node_tie
from didact.engines.trees.limits import Limits
from didact.engines.trees.splits.random_cut_loops import RandomCuts, place_cut
from didact.engines.trees.splits.random_loops import child_state, next_state, uniform
from didact.engines.trees.splits.sorted_loops import NO_SCORE

base2 = dispatch("base2")
score2 = dispatch("score2")


class RecordScanner(NamedTuple):
    """Random cuts of records."""

    table: RandomCuts
    stat: Any
    records: Array  # uint8
    bounds: Array  # uint8
    drawn: Array  # int64
    order: Array  # int64
    parent: Array  # int64 (1,): the node that was divided last

    def totals1(self, nodes: TreeNodes, node: int, f: int) -> None:
        """Sums, score, base and weight of a node."""
        record_totals(self, nodes, node)

    def scan1(self, nodes: TreeNodes, node: int, limits: Limits) -> bool:
        """Write the best of the drawn cuts into a node; whether there is one."""
        return draw_from_records(self, nodes, node, limits)

    def divide1(self, nodes: TreeNodes, node: int) -> int:
        """Carry out a node's cut; how many rows go left."""
        return divide_records(self, nodes, node)

    def bring1(self, nodes: TreeNodes, node: int, near: Any) -> None:
        """Do nothing: records stay where they are."""


@jit_unmanaged(forceinline=True)
def record_totals(scanner: RecordScanner, nodes: TreeNodes, node: int) -> None:
    """Sums, score, base and weight of a node."""
    here, records, sums, criterion = nodes.at[node], scanner.records, nodes.sums[node], scanner.stat.criterion
    if here.depth == 0:
        sums[0], sums[1] = 0.0, float(records.shape[0])
        for i in range(records.shape[0]):
            sums[0] += records[i, records.shape[1] - 1]
    else:
        parent = scanner.parent[0]
        above, is_left = nodes.sums[parent], nodes.at[parent].left == node
        sums[0] = above[2] if is_left else above[0] - above[2]
        sums[1] = above[3] if is_left else above[1] - above[3]
    here.basis = sums[0] * base2(criterion, 1.0, 1.0) + (sums[1] - sums[0]) * base2(criterion, 0.0, 1.0)
    here.score, here.weight = score2(criterion, sums[0], sums[1]), sums[1]


@jit_unmanaged(forceinline=True)
def draw_from_records(scanner: RecordScanner, nodes: TreeNodes, node: int, limits: Limits) -> bool:
    """Draw features, and a cut of each, until enough were not constant, and write the best cut into the node."""
    if is_final(nodes, node, limits):
        return False
    here, table, order, drawn, S = nodes.at[node], scanner.table, scanner.order, scanner.drawn, nodes.sums[node, 0]
    first, n, p = np.uint64(here.start), here.stop - here.start, table.codes.shape[0]
    low, high, cuts = scanner.bounds[0], scanner.bounds[1], scanner.bounds[2]
    for j in range(np.uint64(0), np.uint64(scanner.records.shape[1]), np.uint64(BYTES)):
        byte_bounds(scanner.records, first, np.uint64(n), j, low, high)
    state, tie, criterion = here.key, node_tie(nodes, node), scanner.stat.criterion
    wanted, tried, k, best = (limits.max_features if limits.max_features > 0 else p), 0, 0, NO_SCORE
    least, at = max(float(limits.min_samples_leaf), limits.min_weight_leaf), -1
    wanted = 1 if n == 2 else wanted  # any cut divides two rows, and of two perfect cuts the first counts
    while k < p and best == NO_SCORE:
        many = 0
        while k < p and tried < wanted:
            if limits.max_features > 0:
                state = next_state(state)
                j = k + int(uniform(state) * (p - k))
                order[k], order[j], order[p + k] = order[j], order[k], j
            f = order[k]
            k += 1
            if low[f] < high[f]:
                share = uniform(child_state(here.key, f + 2))
                cuts[f] = place_cut(table, f, np.int64(low[f]), np.int64(high[f]), share)
                drawn[0, many] = f
                many, tried = many + 1, tried + 1
        wanted = tried + 1
        count_left(scanner, first, n, many)
        for i in range(many):
            s, w = float(drawn[2, i]), float(drawn[1, i])
            score = score2(criterion, s, w) + score2(criterion, S - s, n - w)
            better = (score > best + tie) & (min(w, n - w) >= least)
            at, best = i if better else at, score if better else best
    if limits.max_features > 0:
        for i in range(k - 1, -1, -1):  # the features in their order again, for the next node
            j = order[p + i]
            order[i], order[j] = order[j], order[i]
    if at >= 0:
        here.feature, here.cut = drawn[0, at], np.int64(cuts[drawn[0, at]])
        nodes.sums[node, 2], nodes.sums[node, 3] = drawn[2, at], drawn[1, at]
    here.gain = best - here.score
    return here.gain >= limits.min_gain - ROUNDING * (abs(here.basis) + abs(here.score))


@jit_unmanaged(forceinline=True)
def count_left(scanner: RecordScanner, first: Any, n: int, many: int) -> None:
    """How many rows of a node, and of its second class, are on the left of the cuts that were drawn."""
    drawn, cuts, left, second = scanner.drawn, scanner.bounds[2], scanner.bounds[3], scanner.bounds[4]
    wide = np.uint64(scanner.records.shape[1])
    for i in range(many):
        drawn[1, i] = drawn[2, i] = 0
    for start in range(np.uint64(0), np.uint64(n), np.uint64(BYTE_ROWS)):
        rows = min(np.uint64(BYTE_ROWS), np.uint64(n) - start)
        for j in range(np.uint64(0), wide, np.uint64(BYTES)):
            byte_counts(scanner.records, first + start, rows, j, cuts, wide - np.uint64(1), left, second)
        for i in range(many):
            drawn[1, i] += np.int64(left[drawn[0, i]])
            drawn[2, i] += np.int64(second[drawn[0, i]])


@jit_unmanaged(forceinline=True)
def divide_records(scanner: RecordScanner, nodes: TreeNodes, node: int) -> int:
    """Bring the records of a node that go left to the front, and complete its cut; how many they are."""
    here, records = nodes.at[node], scanner.records
    f, cut, first, wide = np.uint64(here.feature), np.uint8(here.cut), np.uint64(here.start), np.uint64(BYTES)
    blocks = np.uint64(records.shape[1]) // wide
    left = first
    for k in range(np.uint64(1), blocks + np.uint64(1)):
        left, j = first, (f // wide + k) % blocks * wide  # the feature itself comes last: it says where the others go
        for i in range(first, np.uint64(here.stop)):
            goes = np.uint64(records[i, f] <= cut)
            swap_bytes(records, i, left, j)  # in vain if it goes right, but there is no branch to mispredict
            left += goes
    many, scanner.parent[0] = np.int64(left - first), node
    here.missing_left = 2 * many > here.stop - here.start
    here.threshold = scanner.table.thresholds[here.feature, here.cut]
    return int(many)


def warm() -> None:
    """Compile growth from records."""
    from didact.engines.trees.growers.binned import grow_random_cuts, random_cuts
    from didact.engines.trees.rows.bins import bin_codes, learn_bins
    from didact.engines.trees.rows.targets import label_targets
    from didact.parts.criteria.impurity import Gini

    X = np.arange(4.0)[:, None]
    bins = learn_bins(X)
    targets = label_targets(np.arange(4) % 2, 2, None, Gini())
    grow_random_cuts(random_cuts(bin_codes(X, bins), bins), targets, Limits(random_splits=True))
