"""A whole tree grown inside one compiled function from codes: the best cut of every node among all, or drawn, columns.

The node's rows stand in one array that a split partitions; each column that varies is added to a histogram and swept.
What is constant in a node is so below it, and is not looked at again. Subtrees of few rows are grown at a desk to which
their codes and targets are copied side by side. A cut between two codes that are apart is put in the middle: where each
code is one value, at the midpoint of an exact tree, and else as near to it as the bins allow. Rows · drawn columns that
vary · depth is the work of a tree.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import dispatch, jit, jit_unmanaged
from didact.core.typing import Array
from didact.engines.trees.growers.exact_loops import (
    AT,
    BASE,
    FEATURE,
    HIGH,
    LOW,
    MISSING_LEFT,
    SCORE,
    START,
    STOP,
    WEIGHT,
    Nodes,
    Open,
    add_children,
    categories1,
    is_final,
    node_tie,
    record_split,
    stock1,
)
from didact.engines.trees.growers.growth_loops import copy_slot, cut_threshold, next_slot, wider, write_cut
from didact.engines.trees.limits import Limits
from didact.engines.trees.splits.random_loops import next_state, uniform
from didact.engines.trees.splits.sort_loops import pack_line
from didact.engines.trees.splits.sorted_loops import NO_SPLIT, Bounds

bins1 = dispatch("bins1")
gather1 = dispatch("gather1")
near1 = dispatch("near1")


class Coded(NamedTuple):
    """Codes column by column, and the thresholds between them; a missing value has the code n_bins[f]."""

    codes: Array  # (p, n) uint8 or uint16
    thresholds: Array  # (p, most bins)
    n_bins: Array
    categorical: Array
    monotone: Array
    values: Array  # (p, most bins): the value of each code, if all values of a code are the same; else (0, 0)


class Bench(NamedTuple):
    """Buffers of one thread, and the rows, which all threads share."""

    rows: Array  # int32: a node's are a range
    spare: Array
    line: Array  # int64: packed codes and rows of a node
    near: Array  # (2, n): what the node's rows bring, side by side
    sums: Array  # (channels,) sums of the node, those of channels that it lacks left out
    places: Array  # (channels + 1,) int64: where each channel stands among them, and at last their number
    hist: Array  # (bins + 1 and both sides of a cut, channels); zero between scans
    counts: Array  # (bins + 1,) int64, zero between scans
    marks: Array  # uint64: which bins are not empty, a bit each; zero between scans
    order: Array  # features
    active: Array  # (p,) uint8: which features vary in the parent of the nodes at hand
    found: Array  # (p, 4): score, code and missing left of the best cut of each feature
    bits: Array  # (p, words)
    common: Array  # (p,) the code that most rows have and that is not counted row by row; −1: none


class Desk(NamedTuple):
    """Where a subtree of few rows is grown: all that it reads is copied here, side by side."""

    coded: Coded
    stat: Any
    bench: Bench
    opened: Open
    size: int  # the most rows; 0: subtrees are grown where they are


@jit_unmanaged
def scan_column(coded: Coded, f: int, nodes: Nodes, node: int, stat: Any, rules: Limits, bench: Bench) -> bool:
    """The best cut of a node on one feature into what was found (score, code, missing left); False: it is constant."""
    numbers, column, top = nodes.numbers[node], coded.codes[f], coded.n_bins[f]
    rows = bench.rows[nodes.links[node, START] : nodes.links[node, STOP]]
    bounds = Bounds(rules.min_samples_leaf, rules.min_weight_leaf, coded.monotone[f], numbers[LOW], numbers[HIGH])
    tie, best = node_tie(numbers), (NO_SPLIT, -2, False)
    if not coded.categorical[f]:
        best = bins1(stat, column, rows, bench, top, nodes.sums[node], tie, bounds, bench.common[f])
    elif pack_line(column, rows, bench.line):
        line, state = bench.line[: rows.shape[0]], nodes.state[node]
        best = categories1(stat, line, top, nodes.sums[node], tie, bounds, bench.bits[f], False, state)
    found = bench.found[f]
    found[0], found[1], found[2] = best[0], best[1], 1.0 if best[2] else 0.0
    return best[1] != -2


@jit_unmanaged
def scan_drawn(coded: Coded, nodes: Nodes, node: int, active: Array, stat: Any, rules: Limits, bench: Bench) -> int:
    """Draw features and scan them until enough were not constant, and one can be cut; their number in the order."""
    order, p, tried, cuts, state = bench.order, coded.codes.shape[0], 0, False, nodes.state[node]
    for k in range(p):
        order[k] = k
    for k in range(p):
        if tried >= rules.max_features and cuts:
            return k
        state = next_state(state)
        j = k + int(uniform(state) * (p - k))
        order[k], order[j] = order[j], order[k]
        f = order[k]
        bench.found[f, 0] = NO_SPLIT
        if active[f]:
            active[f] = scan_column(coded, f, nodes, node, stat, rules, bench)
            tried += active[f]
            cuts |= bench.found[f, 0] > NO_SPLIT
    return p


@jit_unmanaged
def scan_node(coded: Coded, nodes: Nodes, node: int, active: Array, stat: Any, rules: Limits, bench: Bench, first: int,
              step: int) -> int:  # fmt: skip
    """Scan the features first, first + step … of a node, or drawn ones (if first is 0); how many are in the order.

    Features that are constant in the node stop being active.
    """
    p = coded.codes.shape[0]
    if is_final(nodes, node, rules) or (rules.max_features > 0 and first > 0):
        return 0
    near1(stat, bench.rows[nodes.links[node, START] : nodes.links[node, STOP]], nodes.sums[node], bench)
    if rules.max_features > 0:
        return scan_drawn(coded, nodes, node, active, stat, rules, bench)
    for f in range(first, p, step):
        bench.order[f], bench.found[f, 0] = f, NO_SPLIT
        if active[f]:
            active[f] = scan_column(coded, f, nodes, node, stat, rules, bench)
    return p


@jit_unmanaged
def find_cut(coded: Coded, nodes: Nodes, node: int, slot: int, opened: Open, stat: Any, rules: Limits,
             bench: Bench) -> bool:  # fmt: skip
    """Put the best cut of a node into a slot of the open nodes; whether there is one."""
    many = scan_node(coded, nodes, node, opened.active[slot], stat, rules, bench, 0, 1)
    return record_split(coded, nodes, node, slot, opened, bench.found, bench.bits, bench.order[:many], rules)


@jit_unmanaged
def divide_rows(coded: Coded, nodes: Nodes, opened: Open, slot: int, all_rows: Array, spare: Array) -> int:
    """Carry out an open node's cut: write it into the node, partition its rows; the number of rows on the left."""
    node, split = opened.node[slot], opened.split[slot]
    f, cut, missing_left = int(split[FEATURE]), int(split[AT]), split[MISSING_LEFT] != 0.0
    links, column, top, is_set = nodes.links[node], coded.codes[f], coded.n_bins[f], coded.categorical[f]
    rows, bits = all_rows[links[START] : links[STOP]], opened.bits[slot]
    left, right, missing = 0, 0, 0
    for i in range(rows.shape[0]):
        row = rows[i]
        code = int(column[row])
        goes = code <= cut
        if code >= top:
            goes = missing_left
            missing += 1
        elif is_set:
            goes = (bits[code >> 6] >> np.uint64(code & 63)) & np.uint64(1) != 0
        rows[left] = row
        spare[right] = row
        left += int(goes)
        right += int(not goes)
    for i in range(right):
        rows[left + i] = spare[i]
    threshold = np.nan if is_set else cut_threshold(coded, f, cut, rows)
    write_cut(nodes, opened, slot, is_set, threshold, missing_left if missing > 0 else left > right)
    return left


@jit_unmanaged
def bring(coded: Coded, nodes: Nodes, node: int, active: Array, stat: Any, bench: Bench, desk: Desk) -> None:
    """Copy the rows of a node to the desk; from now on they are a range of the rows there."""
    links = nodes.links[node]
    rows, n = bench.rows[links[START] : links[STOP]], links[STOP] - links[START]
    for f in range(coded.codes.shape[0]):
        if active[f]:
            column, near = coded.codes[f], desk.coded.codes[f]
            for i in range(n):
                near[i] = column[rows[i]]
    for i in range(n):
        desk.bench.rows[i] = i
    gather1(stat, rows, desk.stat)
    links[START], links[STOP] = 0, n


@jit_unmanaged
def hand_down(active: Array, below: Array) -> None:
    """The features that vary above are the only ones that can vary below."""
    for j in range(active.shape[0]):
        below[j] = active[j]


@jit_unmanaged
def split_open(coded: Coded, nodes: Nodes, slot: int, count: int, opened: Open, stat: Any, bench: Bench) -> None:
    """Carry out an open node's cut, and add its children after the nodes that are there."""
    node, f = opened.node[slot], int(opened.split[slot, FEATURE])
    left = divide_rows(coded, nodes, opened, slot, bench.rows, bench.spare)
    hand_down(opened.active[slot], bench.active)
    rows = bench.rows[nodes.links[node, START] : nodes.links[node, STOP]]
    add_children(nodes, node, count, left, coded.monotone[f], rows, stat)


@jit_unmanaged
def split_best(coded: Coded, nodes: Nodes, node: int, count: int, opened: Open, stat: Any, rules: Limits, bench: Bench,
               many: int) -> bool:  # fmt: skip
    """Split a node of which so many features were scanned, by way of the first open slot; whether it can be split."""
    if not record_split(coded, nodes, node, 0, opened, bench.found, bench.bits, bench.order[:many], rules):
        return False
    split_open(coded, nodes, 0, count, opened, stat, bench)
    return True


@jit
def grow_below(coded: Coded, nodes: Nodes, root: int, count: int, opened: Open, stat: Any, rules: Limits, bench: Bench,
               later: Open, small: int) -> tuple[int, Open, int]:  # fmt: skip
    """Grow from a node whose numbers are known, and list the nodes of at most `small` rows for later.

    The first open slot says which features may vary. Gives the number of nodes, and the list with its length.
    """
    best_first, leaves, listed = rules.max_leaf_nodes > 0, 1, 0
    many = 1 if find_cut(coded, nodes, root, 0, opened, stat, rules, bench) else 0
    while many > 0 and not (best_first and leaves >= rules.max_leaf_nodes):
        slot = next_slot(opened, many, best_first)
        if many + 2 >= opened.node.shape[0]:
            opened = wider(opened)
        if listed + 2 >= later.node.shape[0]:
            later = wider(later)
        split_open(coded, nodes, slot, count, opened, stat, bench)
        copy_slot(opened, many - 1, opened, slot)
        many -= 1
        for child in range(count + 1, count - 1, -1):
            if nodes.links[child, STOP] - nodes.links[child, START] <= small:
                if not is_final(nodes, child, rules):
                    later.node[listed] = child
                    hand_down(bench.active, later.active[listed])
                    listed += 1
                continue
            hand_down(bench.active, opened.active[many])
            if find_cut(coded, nodes, child, many, opened, stat, rules, bench):
                many += 1
        count, leaves = count + 2, leaves + 1
    return count, later, listed


@jit
def grow_binned(coded: Coded, nodes: Nodes, opened: Open, stat: Any, rules: Limits, bench: Bench, desk: Desk) -> int:
    """Grow from node 0, subtrees of few rows at the desk; the number of nodes."""
    numbers, rows = nodes.numbers[0], bench.rows[nodes.links[0, START] : nodes.links[0, STOP]]
    numbers[SCORE], numbers[BASE], numbers[WEIGHT] = stock1(stat, rows, nodes.sums[0])
    small = 0 if rules.max_leaf_nodes > 0 else desk.size
    count, later, listed = grow_below(coded, nodes, 0, 1, opened, stat, rules, bench, desk.opened, small)
    for k in range(listed):
        node = later.node[k]
        bring(coded, nodes, node, later.active[k], stat, bench, desk)
        hand_down(later.active[k], opened.active[0])
        count = grow_below(desk.coded, nodes, node, count, opened, desk.stat, rules, desk.bench, later, 0)[0]
    return count


def warm() -> None:
    """Compile growth from codes for one target or two classes, and for several classes."""
    from didact.engines.trees.growers.binned import LARGE, grow_on
    from didact.engines.trees.growers.forest import coded
    from didact.engines.trees.rows.bins import bin_codes, learn_bins
    from didact.engines.trees.rows.targets import label_targets
    from didact.parts.criteria.impurity import Gini

    X = np.arange(float(LARGE))[:, None] % 4
    bins = learn_bins(X)
    table = coded(bin_codes(X, bins), bins)
    for classes in (2, 3):
        targets = label_targets(np.arange(len(X)) % 4 % classes, classes, None, Gini())
        for threads in (1, 2):
            grow_on(threads, table, targets, Limits())
