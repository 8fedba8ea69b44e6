"""The scanner of random cuts: of each drawn feature one threshold at random; n · drawn features · depth is the work.

Layout::

    rows (n)    [ … | rows of a node             | … ]   row numbers; `near` has what they add in the same entries
                      ^ start                      ^ stop
                [ … | those that go left | right | … ]   a division moves both
    codes       [ of one feature in the rows of a node | PAD more ]   then 1 for those that go left
    order (2p)  [ features, of which the first k have been drawn | the places they were exchanged with ]
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import dispatch, jit_unmanaged
from didact.core.typing import Array
from didact.engines.trees.growers.exact_loops import categories1
from didact.engines.trees.growers.growth_loops import (
    ROUNDING,
    UNVARYING,
    TreeNodes,
    is_final,
    is_pure,
    node_bounds,
    node_tie,
)
from didact.engines.trees.limits import Limits
from didact.engines.trees.splits.category_loops import Groups
from didact.engines.trees.splits.coded_loops import Near
from didact.engines.trees.splits.random_cut_loops import RandomCuts, draw_cut, gather
from didact.engines.trees.splits.random_loops import child_state, next_state, uniform
from didact.engines.trees.splits.sort_loops import pack_line
from didact.engines.trees.splits.sorted_loops import NO_SCORE

near_totals1 = dispatch("near_totals1")


class RandomScanner(NamedTuple):
    """Random cuts of codes."""

    table: RandomCuts
    stat: Any
    rows: Array  # int32
    spare: Array
    codes: Array
    line: Array  # int64, packed codes and rows of a node
    sides: Array  # (2, channels)
    order: Array
    bits: Array  # (words,)
    groups: Groups
    near: Near
    other: Near

    def totals1(self, nodes: TreeNodes, node: int, f: int) -> None:
        """Sums, score, base and weight of a node."""
        random_totals(self, nodes, node)

    def scan1(self, nodes: TreeNodes, node: int, limits: Limits) -> bool:
        """Write the best of the drawn cuts into a node; whether there is one."""
        return draw_cuts(self, nodes, node, limits)

    def divide1(self, nodes: TreeNodes, node: int) -> int:
        """Carry out a node's cut; how many rows go left."""
        return divide_random(self, nodes, node)

    def bring1(self, nodes: TreeNodes, node: int, near: Any) -> None:
        """Do nothing: rows stay where they are."""


@jit_unmanaged(forceinline=True)
def node_rows(scanner: RandomScanner, nodes: TreeNodes, node: int) -> tuple[Array, Near]:
    """The rows of a node, and what they add."""
    start, stop = nodes.at[node].start, nodes.at[node].stop
    return scanner.rows[start:stop], Near(scanner.near.targets[start:], scanner.near.weights[start:])


@jit_unmanaged(forceinline=True)
def random_totals(scanner: RandomScanner, nodes: TreeNodes, node: int) -> None:
    """Sums, score, base and weight of a node."""
    (rows, near), here = node_rows(scanner, nodes, node), nodes.at[node]
    here.score, here.basis, here.weight = near_totals1(scanner.stat, rows, near, nodes.sums[node])


@jit_unmanaged(forceinline=True)
def draw_cuts(scanner: RandomScanner, nodes: TreeNodes, node: int, limits: Limits) -> bool:
    """Draw features, and a cut of each, until enough were not constant, and write the best cut into the node."""
    if is_final(nodes, node, limits):
        return False
    here, table, sums, order = nodes.at[node], scanner.table, nodes.sums[node], scanner.order
    (rows, near), p, bits = node_rows(scanner, nodes, node), table.codes.shape[0], scanner.bits
    state, tie = here.key, node_tie(nodes, node)
    wanted, tried, drawn, best = (limits.max_features if limits.max_features > 0 else p), 0, 0, NO_SCORE
    for k in range(p):
        if best > NO_SCORE and (tried >= wanted or is_pure(here.basis, best)):
            break  # of two perfect cuts the first counts
        if limits.max_features > 0:
            state = next_state(state)
            j = k + int(uniform(state) * (p - k))
            order[k], order[j], order[p + k] = order[j], order[k], j
            drawn += 1
        f = order[k]
        bounds, own = node_bounds(nodes, node, table.monotone[f], limits), child_state(here.key, f + 2)
        found = NO_SCORE, UNVARYING, False
        if not table.categorical[f]:
            found = draw_cut(table, f, rows, near, sums, scanner.stat, bounds, scanner.codes, scanner.sides, own)
        elif pack_line(table.codes[f], rows, scanner.line):
            line = scanner.line[: rows.shape[0]]
            found = categories1(scanner.stat, line, table.n_bins[f], sums, tie, bounds, bits, scanner.groups, True, own)
        tried += found[1] != UNVARYING  # constant features do not count as drawn
        if found[0] > best + tie:
            best, here.feature, here.cut, here.missing_left = found[0], f, found[1], found[2]
            if nodes.sets.shape[0] > 1:
                for j in range(bits.shape[0]):
                    nodes.sets[node, j] = bits[j]
    for k in range(drawn - 1, -1, -1):  # the features in their order again, for the next node
        j = order[p + k]
        order[k], order[j] = order[j], order[k]
    here.gain = best - here.score
    return here.gain >= limits.min_gain - ROUNDING * (abs(here.basis) + abs(here.score))


@jit_unmanaged(forceinline=True)
def mark_left(codes: Array, n: int, cut: int, top: int, missing_left: bool, is_set: bool, bits: Array) -> int:
    """Put 1 in the place of the codes that go left, 0 in the place of others; the number of missing ones."""
    missing, side = 0, np.uint8(missing_left)
    if is_set:
        for i in range(n):
            code = int(codes[i])
            missing += code >= top
            goes = missing_left if code >= top else (bits[code >> 6] >> np.uint64(code & 63)) & np.uint64(1) != 0
            codes[i] = np.uint8(goes)
        return missing
    for i in range(np.uint64(n)):
        gone = np.uint8(np.int32(codes[i]) >= np.int32(top))
        missing += int(gone)
        codes[i] = np.uint8(np.int32(codes[i]) <= np.int32(cut)) | (gone & side)
    return missing


@jit_unmanaged(forceinline=True)
def move_left(marks: Array, rows: Array, near: Near, spare: Array, other: Near) -> int:
    """Marked rows first, with what they add, in an order that is otherwise kept; their number."""
    n, left, right, one = np.uint64(rows.shape[0]), np.uint64(0), np.uint64(0), np.uint64(1)
    moves = near.weights.shape[0] > 0
    for i in range(n):
        goes = np.uint64(marks[i])
        rows[left] = spare[right] = rows[i]  # one of the two is in vain, but there is no branch to mispredict
        if moves:
            near.targets[left] = other.targets[right] = near.targets[i]
            near.weights[left] = other.weights[right] = near.weights[i]
        left, right = left + goes, right + (one - goes)
    for i in range(right):
        rows[left + i] = spare[i]
    if moves:
        for i in range(right):
            near.targets[left + i], near.weights[left + i] = other.targets[i], other.weights[i]
    return int(left)


@jit_unmanaged(forceinline=True)
def divide_random(scanner: RandomScanner, nodes: TreeNodes, node: int) -> int:
    """Partition the rows of a node, and complete the record of its cut; the number of rows on the left."""
    here, table, codes = nodes.at[node], scanner.table, scanner.codes
    f, cut = here.feature, here.cut
    top, is_set, (rows, near) = table.n_bins[f], table.categorical[f], node_rows(scanner, nodes, node)
    gather(table, f, rows, codes)
    missing = mark_left(
        codes, rows.shape[0], cut, top, here.missing_left != 0, is_set, nodes.sets[node if is_set else 0]
    )
    left = move_left(codes, rows, near, scanner.spare, scanner.other)
    if missing == 0:
        here.missing_left = 2 * left > rows.shape[0]
    here.threshold = table.thresholds[f, cut] if not is_set and cut < top - 1 else np.inf
    return left


def warm() -> None:
    """Compile growth by random cuts for one target or two classes, and for several classes."""
    from didact.engines.trees.growers.binned import grow_random_cuts, random_cuts
    from didact.engines.trees.rows.bins import bin_codes, learn_bins
    from didact.engines.trees.rows.targets import label_targets
    from didact.parts.criteria.impurity import Gini

    X = np.arange(4.0)[:, None]
    bins = learn_bins(X)
    table = random_cuts(bin_codes(X, bins), bins)
    for classes in (2, 3):
        targets = label_targets(np.arange(4) % classes, classes, np.ones(4), Gini())
        grow_random_cuts(table, targets, Limits(random_splits=True))
