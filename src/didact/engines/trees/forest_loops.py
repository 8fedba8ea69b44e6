"""A whole tree grown inside one compiled function from codes, for forests: one tree a task, few features a node.

Only the features drawn at a node are looked at, so nothing is sorted ahead: the node's rows stand in one array that a
split partitions. Large nodes add their rows to a histogram of the codes and sweep it; in nodes of fewer rows than the
histogram would have bins to sweep, the codes themselves are sorted and scanned. Two bytes a row and feature are read
for large nodes, and n · drawn features · depth is the work of a tree. A cut between two codes that are apart is put in
the middle, as near as the bins allow to the midpoint of an exact tree.
"""

from typing import Any

import numpy as np

from didact.core.jit import dispatch, jit, lean
from didact.engines.trees.draw_loops import Coded, Room
from didact.engines.trees.exact_loops import (
    AT,
    BASE,
    FEATURE,
    GAIN,
    HIGH,
    LOW,
    MISSING,
    MISSING_LEFT,
    SCORE,
    SET,
    SPLIT_ON,
    START,
    STOP,
    WEIGHT,
    Nodes,
    Open,
    bound_children,
    categories1,
    is_final,
    new_child,
    scan1,
    stock1,
)
from didact.engines.trees.growth_loops import copy_slot, next_slot, wider
from didact.engines.trees.limits import Limits
from didact.engines.trees.random_loops import next_state, uniform
from didact.engines.trees.scan_loops import NO_SPLIT, TIE, Bounds, Split
from didact.engines.trees.sort_loops import sort_packed

Array = np.ndarray[Any, Any]

SMALL = 40  # rows below which sorting the codes is cheaper than sweeping a histogram

fill1 = dispatch("fill1")
load1 = dispatch("load1")
sweep1 = dispatch("sweep1")


@lean
def pack_line(column: Array, rows: Array, line: Array) -> bool:
    """Codes and rows packed and sorted by code; False if all codes are equal."""
    n, first, varies = rows.shape[0], column[rows[0]], False
    for i in range(n):
        code = column[rows[i]]
        varies |= code != first
        line[i] = np.int64(code) << 32 | np.int64(rows[i])
    if not varies:
        return False
    sort_packed(line, n)
    return True


@lean
def middle_code(line: Array, at: int, top: int) -> int:
    """The cut between the codes on both sides of a place in a sorted line; top − 1 if only missing ones are right."""
    low, high = line[at - 1] >> 32, line[at] >> 32
    return top - 1 if high >= top else (low + high - 1) // 2


@lean
def scan_sorted(coded: Coded, f: int, rows: Array, sums: Array, stat: Any, tie: float, bounds: Bounds, room: Room,
                bits: Array) -> Split:  # fmt: skip
    """The best cut of a small node, or of a categorical feature: (score, code, missing left)."""
    if not pack_line(coded.codes[f], rows, room.line):
        return NO_SPLIT, -2, False
    line, top = room.line[: rows.shape[0]], coded.n_bins[f]
    if coded.categorical[f]:
        return categories1(stat, line, top, sums, tie, bounds, bits, False, np.uint64(0))
    score, at, missing_left = scan1(stat, line, top, sums, tie, bounds)
    return (score, middle_code(line, at, top), missing_left) if at >= 0 else (NO_SPLIT, -1, False)


@lean
def scan_histogram(coded: Coded, f: int, rows: Array, sums: Array, stat: Any, tie: float, bounds: Bounds,
                   room: Room) -> Split:  # fmt: skip
    """The best cut of a large node from a histogram."""
    top = coded.n_bins[f]
    for c in range(top + 1):
        room.counts[c] = 0
        for k in range(sums.shape[0]):
            room.hist[c, k] = 0.0
    fill1(stat, coded.codes[f], rows, room.near, room.hist, room.counts)
    low, high, n = 0, top - 1, rows.shape[0]
    while low < top and room.counts[low] == 0:
        low += 1
    while high > low and room.counts[high] == 0:
        high -= 1
    missing = room.counts[top]
    if low == top or (low == high and missing == 0) or missing == n:
        return NO_SPLIT, -2, False
    score, at, missing_left = sweep1(stat, room.hist, room.counts, low, high, top, sums, tie, bounds, False, NO_SPLIT)
    if missing > 0:
        other = sweep1(stat, room.hist, room.counts, low, high, top, sums, tie, bounds, True, score)
        if other[0] > NO_SPLIT:
            return other
    return score, at, missing_left


@lean
def find_cut(coded: Coded, nodes: Nodes, node: int, slot: int, opened: Open, stat: Any, rules: Limits,
             room: Room) -> bool:  # fmt: skip
    """Draw features and put the best cut of a node into a slot of the open nodes; whether there is one."""
    if is_final(nodes, node, rules):
        return False
    numbers, sums, p = nodes.numbers[node], nodes.sums[node], coded.codes.shape[0]
    rows = room.rows[nodes.links[node, START] : nodes.links[node, STOP]]
    state, tie = nodes.state[node], TIE * (abs(numbers[BASE]) + abs(numbers[SCORE]))
    wanted, tried, best, order = (rules.max_features if rules.max_features > 0 else p), 0, NO_SPLIT, room.order
    load1(stat, rows, room.near)
    for k in range(p):
        order[k] = k
    for k in range(p):
        if tried >= wanted and best > NO_SPLIT:
            break
        if rules.max_features > 0:
            state = next_state(state)
            j = k + int(uniform(state) * (p - k))
            order[k], order[j] = order[j], order[k]
        f = order[k]
        bounds = Bounds(rules.min_samples_leaf, rules.min_weight_leaf, coded.monotone[f], numbers[LOW], numbers[HIGH])
        if coded.categorical[f] or rows.shape[0] <= SMALL:
            found = scan_sorted(coded, f, rows, sums, stat, tie, bounds, room, room.bits[0])
        else:
            found = scan_histogram(coded, f, rows, sums, stat, tie, bounds, room)
        tried += found[1] != -2  # constant features do not count as drawn
        if found[0] > best + tie:
            best = found[0]
            split = opened.split[slot]
            split[GAIN], split[FEATURE], split[AT] = best - numbers[SCORE], f, found[1]
            split[MISSING_LEFT] = 1.0 if found[2] else 0.0
            for j in range(room.bits.shape[1]):
                opened.bits[slot, j] = room.bits[0, j]
    opened.node[slot] = node
    return best > NO_SPLIT and best - numbers[SCORE] >= rules.min_gain - 100.0 * tie


@lean
def divide_rows(coded: Coded, nodes: Nodes, opened: Open, slot: int, room: Room) -> int:
    """Carry out an open node's cut: write it into the node, partition its rows; the number of rows on the left."""
    node, split = opened.node[slot], opened.split[slot]
    f, cut, missing_left = int(split[FEATURE]), int(split[AT]), split[MISSING_LEFT] != 0.0
    links, column, top, is_set = nodes.links[node], coded.codes[f], coded.n_bins[f], coded.categorical[f]
    rows, bits = room.rows[links[START] : links[STOP]], opened.bits[slot]
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
        room.spare[right] = row
        left += int(goes)
        right += int(not goes)
    for i in range(right):
        rows[left + i] = room.spare[i]
    links[SPLIT_ON], links[MISSING] = f, missing_left if missing > 0 else left > right
    if is_set:
        links[SET] = node
        for j in range(bits.shape[0]):
            nodes.sets[node, j] = bits[j]
    else:
        nodes.threshold[node] = coded.thresholds[f, cut] if cut < top - 1 else np.inf
    return left


@lean
def add_two(coded: Coded, nodes: Nodes, node: int, count: int, left: int, f: int, stat: Any, room: Room) -> None:
    """Two new nodes below a node whose rows are partitioned."""
    for k in range(2):
        child = count + k
        new_child(nodes, node, child, k, left)
        rows, numbers = room.rows[nodes.links[child, START] : nodes.links[child, STOP]], nodes.numbers[child]
        numbers[SCORE], numbers[BASE], numbers[WEIGHT] = stock1(stat, rows, nodes.sums[child])
    bound_children(nodes, count, coded.monotone[f], stat)


@jit
def grow_coded(coded: Coded, nodes: Nodes, opened: Open, stat: Any, rules: Limits, room: Room) -> int:
    """Grow from node 0, which has all rows of the room; the number of nodes."""
    numbers = nodes.numbers[0]
    numbers[SCORE], numbers[BASE], numbers[WEIGHT] = stock1(stat, room.rows, nodes.sums[0])
    best_first, count, leaves = rules.max_leaf_nodes > 0, 1, 1
    many = 1 if find_cut(coded, nodes, 0, 0, opened, stat, rules, room) else 0
    while many > 0 and not (best_first and leaves >= rules.max_leaf_nodes):
        slot = next_slot(opened, many, best_first)
        if many + 2 >= opened.node.shape[0]:
            opened = wider(opened)
        node, f = opened.node[slot], int(opened.split[slot, FEATURE])
        left = divide_rows(coded, nodes, opened, slot, room)
        copy_slot(opened, many - 1, opened, slot)
        many -= 1
        add_two(coded, nodes, node, count, left, f, stat, room)
        for child in range(count + 1, count - 1, -1):
            if find_cut(coded, nodes, child, many, opened, stat, rules, room):
                many += 1
        count, leaves = count + 2, leaves + 1
    return count


def warm() -> None:
    """Compile growth from codes for one target or two classes, and for several classes."""
    from didact.engines.trees.bins import bin_codes, learn_bins
    from didact.engines.trees.forest import coded, grow_from_codes
    from didact.engines.trees.targets import label_targets
    from didact.parts.criteria import Gini

    X = np.arange(4.0)[:, None]
    bins = learn_bins(X)
    table = coded(bin_codes(X, bins), bins)
    for classes in (2, 3):
        grow_from_codes(table, label_targets(np.arange(4) % classes, classes, None, Gini()), Limits())
