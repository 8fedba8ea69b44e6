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
from didact.engines.trees.draw_loops import Coded, Room, draw_cut
from didact.engines.trees.exact_loops import (
    AT,
    BASE,
    FEATURE,
    HIGH,
    LEFT,
    LOW,
    MISSING,
    MISSING_LEFT,
    RIGHT,
    SCORE,
    SET,
    SPLIT_ON,
    START,
    STOP,
    WEIGHT,
    Nodes,
    Open,
    categories1,
    is_final,
    node_tie,
    record_split,
    stock1,
    value1,
)
from didact.engines.trees.growth_loops import copy_slot, next_slot, wider
from didact.engines.trees.limits import Limits
from didact.engines.trees.random_loops import child_state, next_state, uniform
from didact.engines.trees.scan_loops import NO_SPLIT, Bounds
from didact.engines.trees.sort_loops import pack_line

Array = np.ndarray[Any, Any]

bins1 = dispatch("bins1")
load1 = dispatch("load1")


@lean
def scan_column(coded: Coded, f: int, nodes: Nodes, node: int, stat: Any, rules: Limits, room: Room) -> bool:
    """The best cut of a node on one feature into what was found (score, code, missing left); False: it is constant."""
    numbers, sums, column, top = nodes.numbers[node], nodes.sums[node], coded.codes[f], coded.n_bins[f]
    rows = room.rows[nodes.links[node, START] : nodes.links[node, STOP]]
    bounds = Bounds(rules.min_samples_leaf, rules.min_weight_leaf, coded.monotone[f], numbers[LOW], numbers[HIGH])
    lot, state, tie = rules.random_splits, child_state(nodes.state[node], f + 2), node_tie(numbers)
    if coded.categorical[f]:
        best = NO_SPLIT, -2, False
        if pack_line(column, rows, room.line):
            best = categories1(stat, room.line[: rows.shape[0]], top, sums, tie, bounds, room.bits[f], lot, state)
    elif lot:
        best = draw_cut(coded, f, rows, sums, stat, bounds, room, state)
    else:
        best = bins1(stat, column, rows, room, top, sums, tie, bounds)
    found = room.found[f]
    found[0], found[1], found[2] = best[0], best[1], 1.0 if best[2] else 0.0
    return best[1] != -2


@lean
def scan_columns(coded: Coded, nodes: Nodes, node: int, active: Array, stat: Any, rules: Limits, room: Room,
                 first: int, last: int) -> None:  # fmt: skip
    """Scan the features first … last − 1 of a node; those that are constant in it stop being active."""
    load1(stat, room.rows[nodes.links[node, START] : nodes.links[node, STOP]], room.near)
    for f in range(first, last):
        room.order[f], room.found[f, 0] = f, NO_SPLIT
        if active[f] and not scan_column(coded, f, nodes, node, stat, rules, room):
            active[f] = 0


@lean
def scan_drawn(coded: Coded, nodes: Nodes, node: int, active: Array, stat: Any, rules: Limits, room: Room) -> int:
    """Draw features and scan them until enough were not constant, and one can be cut; their number in the order."""
    order, p, tried, cuts, state = room.order, coded.codes.shape[0], 0, False, nodes.state[node]
    load1(stat, room.rows[nodes.links[node, START] : nodes.links[node, STOP]], room.near)
    for k in range(p):
        order[k] = k
    for k in range(p):
        if tried >= rules.max_features and cuts:
            return k
        state = next_state(state)
        j = k + int(uniform(state) * (p - k))
        order[k], order[j] = order[j], order[k]
        f = order[k]
        room.found[f, 0] = NO_SPLIT
        if active[f]:
            active[f] = scan_column(coded, f, nodes, node, stat, rules, room)
            tried += active[f]
            cuts |= room.found[f, 0] > NO_SPLIT
    return p


@lean
def find_cut(coded: Coded, nodes: Nodes, node: int, slot: int, opened: Open, stat: Any, rules: Limits,
             room: Room) -> bool:  # fmt: skip
    """Put the best cut of a node into a slot of the open nodes; whether there is one."""
    if is_final(nodes, node, rules):
        return False
    active, many = opened.active[slot], coded.codes.shape[0]
    if rules.max_features > 0:
        many = scan_drawn(coded, nodes, node, active, stat, rules, room)
    else:
        scan_columns(coded, nodes, node, active, stat, rules, room, 0, many)
    return record_split(coded, nodes, node, slot, opened, room.found, room.bits, room.order[:many], rules)


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
    links = nodes.links[node]
    for k in range(2):
        child = count + k
        links[LEFT + k] = child
        new, numbers = nodes.links[child], nodes.numbers[child]
        new[LEFT], new[RIGHT], new[SPLIT_ON], new[MISSING], new[SET] = -1, -1, -2, 0, -1
        new[START] = links[START] + (left if k else 0)
        new[STOP] = links[STOP] if k else links[START] + left
        nodes.depth[child], nodes.threshold[child] = nodes.depth[node] + 1, -2.0
        nodes.state[child] = child_state(nodes.state[node], k)
        numbers[LOW], numbers[HIGH] = nodes.numbers[node, LOW], nodes.numbers[node, HIGH]
        rows = room.rows[new[START] : new[STOP]]
        numbers[SCORE], numbers[BASE], numbers[WEIGHT] = stock1(stat, rows, nodes.sums[child])
    sign = coded.monotone[f]
    if sign != 0:
        middle = 0.5 * (value1(stat, nodes.sums[count]) + value1(stat, nodes.sums[count + 1]))
        rising, falling = (count, count + 1) if sign > 0 else (count + 1, count)
        nodes.numbers[rising, HIGH] = min(nodes.numbers[rising, HIGH], middle)
        nodes.numbers[falling, LOW] = max(nodes.numbers[falling, LOW], middle)


@jit
def grow_coded(coded: Coded, nodes: Nodes, opened: Open, stat: Any, rules: Limits, room: Room) -> int:
    """Grow from node 0; the number of nodes. The first open slot says which features may vary."""
    numbers = nodes.numbers[0]
    numbers[SCORE], numbers[BASE], numbers[WEIGHT] = stock1(
        stat, room.rows[nodes.links[0, START] : nodes.links[0, STOP]], nodes.sums[0]
    )
    best_first, count, leaves, p = rules.max_leaf_nodes > 0, 1, 1, coded.codes.shape[0]
    many = 1 if find_cut(coded, nodes, 0, 0, opened, stat, rules, room) else 0
    while many > 0 and not (best_first and leaves >= rules.max_leaf_nodes):
        slot = next_slot(opened, many, best_first)
        if many + 2 >= opened.node.shape[0]:
            opened = wider(opened)
        node, f = opened.node[slot], int(opened.split[slot, FEATURE])
        left = divide_rows(coded, nodes, opened, slot, room)
        for j in range(p):
            room.active[j] = opened.active[slot, j]
        copy_slot(opened, many - 1, opened, slot)
        many -= 1
        add_two(coded, nodes, node, count, left, f, stat, room)
        for child in range(count + 1, count - 1, -1):
            for j in range(p):  # what varies above is all that can vary below
                opened.active[many, j] = room.active[j]
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
