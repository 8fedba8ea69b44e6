"""A whole tree of random cuts grown inside one compiled function from codes, for extremely randomised trees.

Only the features drawn at a node are looked at, so nothing is sorted ahead: the node's rows stand in one array that a
split partitions. n · drawn features · depth is the work of a tree.
"""

from typing import Any

import numpy as np

from didact.core.jit import dispatch, jit, lean
from didact.engines.trees.binned_loops import divide_rows
from didact.engines.trees.draw_loops import Coded, Room, draw_cut
from didact.engines.trees.exact_loops import (
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
    add_children,
    categories1,
    is_final,
    stock1,
)
from didact.engines.trees.growth_loops import copy_slot, next_slot, wider
from didact.engines.trees.limits import Limits
from didact.engines.trees.random_loops import child_state, next_state, uniform
from didact.engines.trees.scan_loops import NO_SPLIT, TIE, Bounds
from didact.engines.trees.sort_loops import pack_line

Array = np.ndarray[Any, Any]

load1 = dispatch("load1")


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
        found, own = (NO_SPLIT, -2, False), child_state(nodes.state[node], f + 2)
        if not coded.categorical[f]:
            found = draw_cut(coded, f, rows, sums, stat, bounds, room, own)
        elif pack_line(coded.codes[f], rows, room.line):
            line, top = room.line[: rows.shape[0]], coded.n_bins[f]
            found = categories1(stat, line, top, sums, tie, bounds, room.bits[0], True, own)
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
        left = divide_rows(coded, nodes, opened, slot, room.rows, room.spare)
        copy_slot(opened, many - 1, opened, slot)
        many -= 1
        rows = room.rows[nodes.links[node, START] : nodes.links[node, STOP]]
        add_children(nodes, node, count, left, coded.monotone[f], rows, stat)
        for child in range(count + 1, count - 1, -1):
            if find_cut(coded, nodes, child, many, opened, stat, rules, room):
                many += 1
        count, leaves = count + 2, leaves + 1
    return count


def warm() -> None:
    """Compile growth by random cuts for one target or two classes, and for several classes."""
    from didact.engines.trees.bins import bin_codes, learn_bins
    from didact.engines.trees.forest import coded, grow_from_codes
    from didact.engines.trees.targets import label_targets
    from didact.parts.criteria import Gini

    X = np.arange(4.0)[:, None]
    bins = learn_bins(X)
    table = coded(bin_codes(X, bins), bins)
    for classes in (2, 3):
        grow_from_codes(table, label_targets(np.arange(4) % classes, classes, None, Gini()), Limits(random_splits=True))
