"""A whole tree with random cuts grown inside one compiled function; n · drawn features · depth is the work of a tree.

Each node has a random state of its own that follows from its path, so that the order of growth does not matter.
"""

from typing import Any

import numpy as np

from didact.core.jit import dispatch, jit_unmanaged
from didact.core.typing import Array
from didact.engines.trees.growers.exact_loops import (
    AT,
    BASE,
    FEATURE,
    GAIN,
    HIGH,
    LOW,
    MISSING_LEFT,
    SCORE,
    START,
    STOP,
    WEIGHT,
    Nodes,
    Open,
    bound_children,
    categories1,
    is_final,
    is_pure,
    new_child,
)
from didact.engines.trees.growers.growth_loops import copy_slot, next_slot, write_cut
from didact.engines.trees.limits import Limits
from didact.engines.trees.splits.random_cut_loops import Lots, Near, Room, draw_cut, gather
from didact.engines.trees.splits.random_loops import child_state, next_state, uniform
from didact.engines.trees.splits.sort_loops import pack_line
from didact.engines.trees.splits.sorted_loops import NO_SPLIT, TIE, Bounds, Split

tally1 = dispatch("tally1")


@jit_unmanaged(forceinline=True)
def rows_of(nodes: Nodes, node: int, room: Room) -> tuple[Array, Near]:
    """The rows of a node, and what they add."""
    start, stop = nodes.links[node, START], nodes.links[node, STOP]
    return room.rows[start:stop], Near(room.near.targets[start:], room.near.weights[start:])


@jit_unmanaged
def draw_set(table: Lots, f: int, rows: Array, sums: Array, stat: Any, tie: float, bounds: Bounds, room: Room,
             state: np.uint64) -> Split:  # fmt: skip
    """A random set of categories."""
    if not pack_line(table.codes[f], rows, room.line):
        return NO_SPLIT, -2, False
    line = room.line[: rows.shape[0]]
    return categories1(stat, line, table.n_bins[f], sums, tie, bounds, room.bits, True, state)


@jit_unmanaged
def find_cut(table: Lots, nodes: Nodes, node: int, slot: int, opened: Open, noun: Any, rules: Limits,
             room: Room) -> bool:  # fmt: skip
    """Draw features and put the best cut of a node into a slot of the open nodes; whether there is one."""
    numbers, sums, p, order = nodes.numbers[node], nodes.sums[node], table.codes.shape[0], room.order
    rows, near = rows_of(nodes, node, room)
    state, tie = nodes.state[node], TIE * (abs(numbers[BASE]) + abs(numbers[SCORE]))
    wanted, tried, drawn, best = (rules.max_features if rules.max_features > 0 else p), 0, 0, NO_SPLIT
    for k in range(p):
        if best > NO_SPLIT and (tried >= wanted or is_pure(numbers[BASE], best)):
            break  # of two perfect cuts the first counts
        if rules.max_features > 0:
            state = next_state(state)
            j = k + int(uniform(state) * (p - k))
            order[k], order[j], order[p + k] = order[j], order[k], j
            drawn += 1
        f = order[k]
        bounds = Bounds(rules.min_samples_leaf, rules.min_weight_leaf, table.monotone[f], numbers[LOW], numbers[HIGH])
        own = child_state(nodes.state[node], f + 2)
        if table.categorical[f]:
            found = draw_set(table, f, rows, sums, noun.stat, tie, bounds, room, own)
        else:
            found = draw_cut(table, f, rows, near, sums, noun, bounds, room, own)
        tried += found[1] != -2  # constant features do not count as drawn
        if found[0] > best + tie:
            best, split = found[0], opened.split[slot]
            split[GAIN], split[FEATURE], split[AT] = best - numbers[SCORE], f, found[1]
            split[MISSING_LEFT] = 1.0 if found[2] else 0.0
            for j in range(room.bits.shape[0]):
                opened.bits[slot, j] = room.bits[j]
    for k in range(drawn - 1, -1, -1):  # the features in their order again, for the next node
        j = order[p + k]
        order[k], order[j] = order[j], order[k]
    opened.node[slot] = node
    return best > NO_SPLIT and best - numbers[SCORE] >= rules.min_gain - 100.0 * tie


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
def move_left(marks: Array, rows: Array, near: Near, room: Room) -> int:
    """Marked rows first, with what they add, in an order that is otherwise kept; their number."""
    n, left, right, one = np.uint64(rows.shape[0]), np.uint64(0), np.uint64(0), np.uint64(1)
    spare, other, moves = room.spare, room.other, near.weights.shape[0] > 0
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


@jit_unmanaged
def divide_rows(table: Lots, nodes: Nodes, opened: Open, slot: int, room: Room) -> int:
    """Carry out an open node's cut: write it into the node, partition its rows; the number of rows on the left."""
    node, split, bits = opened.node[slot], opened.split[slot], opened.bits[slot]
    f, cut, missing_left = int(split[FEATURE]), int(split[AT]), split[MISSING_LEFT] != 0.0
    top, is_set = table.n_bins[f], table.categorical[f]
    rows, near = rows_of(nodes, node, room)
    gather(table, f, rows, room.codes)
    missing = mark_left(room.codes, rows.shape[0], cut, top, missing_left, is_set, bits)
    left = move_left(room.codes, rows, near, room)
    missing_left = missing_left if missing > 0 else 2 * left > rows.shape[0]
    threshold = table.thresholds[f, cut] if not is_set and cut < top - 1 else np.inf
    write_cut(nodes, opened, slot, is_set, threshold, missing_left)
    return left


@jit_unmanaged
def grow_lots(table: Lots, nodes: Nodes, opened: Open, noun: Any, rules: Limits, room: Room, many: int,
              count: int) -> tuple[int, int]:  # fmt: skip
    """Grow until no node is open or there is no room for two more; how many are open, and the number of all nodes.

    Of no nodes yet, the first is made: it has all rows of the room.
    """
    best_first, size = rules.max_leaf_nodes > 0, opened.node.shape[0] - 2
    while count == 0 or (0 < many < size and not (best_first and count // 2 + 1 >= rules.max_leaf_nodes)):
        born, sign = 1, 0
        if count > 0:
            slot = next_slot(opened, many, best_first)
            node, sign = opened.node[slot], table.monotone[int(opened.split[slot, FEATURE])]
            left = divide_rows(table, nodes, opened, slot, room)
            many, born = many - 1, 2
            if slot < many:
                copy_slot(opened, many, opened, slot)
            for k in range(2):
                new_child(nodes, node, count + k, k, left)
        for child in range(count, count + born):
            (rows, near), numbers = rows_of(nodes, child, room), nodes.numbers[child]
            numbers[SCORE], numbers[BASE], numbers[WEIGHT] = tally1(noun, rows, near, nodes.sums[child])
        bound_children(nodes, count, sign, noun.stat)
        for child in range(count + born - 1, count - 1, -1):
            if not is_final(nodes, child, rules):
                many += find_cut(table, nodes, child, many, opened, noun, rules, room)
        count += born
    return many, count


def warm() -> None:
    """Compile growth by lot for one target or two classes, and for several classes."""
    from didact.engines.trees.growers.random_cuts import grow_by_lot, lots
    from didact.engines.trees.rows.bins import bin_codes, learn_bins
    from didact.engines.trees.rows.targets import label_targets
    from didact.parts.criteria.impurity import Gini

    X = np.arange(4.0)[:, None]
    bins = learn_bins(X)
    table = lots(bin_codes(X, bins), bins)
    for classes in (2, 3):
        targets = label_targets(np.arange(4) % classes, classes, None, Gini())
        grow_by_lot(table, targets, Limits(random_splits=True))
