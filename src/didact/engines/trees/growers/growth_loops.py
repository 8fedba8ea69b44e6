"""The compiled loop that grows a whole tree, or a subtree, on one thread.

Depth-first the last open node is split next, so that few are open at a time; with a limit on the leaves it is the node
of largest gain.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import jit, jit_unmanaged
from didact.core.typing import Array
from didact.engines.trees.growers.exact_loops import (
    BASE,
    FEATURE,
    GAIN,
    LEFT,
    MISSING,
    RIGHT,
    SCORE,
    SET,
    SPLIT_ON,
    START,
    STOP,
    WEIGHT,
    Nodes,
    Open,
    Table,
    add_children,
    find_split,
    is_pure,
    mark,
    middle,
    partition,
)
from didact.engines.trees.limits import Limits


@jit_unmanaged
def write_cut(nodes: Nodes, opened: Open, slot: int, is_set: bool, threshold: float, missing: bool) -> None:
    """Write an open node's cut between codes into the node; `missing` says whether missing values go left."""
    node = opened.node[slot]
    links = nodes.links[node]
    links[SPLIT_ON], links[MISSING] = int(opened.split[slot, FEATURE]), missing
    if is_set:
        links[SET] = node
        for j in range(opened.bits.shape[1]):
            nodes.sets[node, j] = opened.bits[slot, j]
    else:
        nodes.threshold[node] = threshold


@jit_unmanaged
def cut_threshold(coded: Any, f: int, cut: int, rows: Array) -> float:
    """Where a cut of these rows after a code is put; ∞ if only missing values are on the right."""
    column, top, low = coded.codes[f], coded.n_bins[f], -1
    high = top
    if cut >= top - 1:
        return np.inf
    if coded.values.shape[0] == 0:
        return coded.thresholds[f, cut]
    for i in range(rows.shape[0]):
        code = int(column[rows[i]])
        if code <= cut:
            low = max(low, code)
        elif code < top:
            high = min(high, code)
    return middle(coded.values[f, low], coded.values[f, high])


@jit_unmanaged
def copy_slot(source: Open, k: int, target: Open, slot: int) -> None:
    """Copy one open node's entry over another's."""
    target.node[slot] = source.node[k]
    for j in range(source.split.shape[1]):
        target.split[slot, j] = source.split[k, j]
    for j in range(source.active.shape[1]):
        target.active[slot, j] = source.active[k, j]
    for j in range(source.bits.shape[1]):
        target.bits[slot, j] = source.bits[k, j]


@jit
def wider(opened: Open) -> Open:
    """The open nodes with twice the room."""
    k = opened.node.shape[0]
    new = Open(
        np.empty(2 * k, np.int64),
        np.empty((2 * k, opened.split.shape[1])),
        np.empty((2 * k, opened.active.shape[1]), np.uint8),
        np.empty((2 * k, opened.bits.shape[1]), np.uint64),
    )
    for slot in range(k):
        copy_slot(opened, slot, new, slot)
    return new


@jit_unmanaged
def next_slot(opened: Open, many: int, best_first: bool) -> int:
    """Which open node is split next."""
    slot = many - 1
    if best_first:
        for k in range(many - 1, -1, -1):  # of equal gains the older one counts
            if opened.split[k, GAIN] >= opened.split[slot, GAIN]:
                slot = k
    return slot


@jit_unmanaged
def divide(table: Table, nodes: Nodes, opened: Open, slot: int, count: int, stat: Any, side: Array,
           spare: Array) -> None:  # fmt: skip
    """Carry out the split of an open node: mark, partition all lines that vary, add two children."""
    node, f = opened.node[slot], int(opened.split[slot, FEATURE])
    left = mark(table, nodes, opened, slot, side)
    start, stop = nodes.links[node, START], nodes.links[node, STOP]
    for g in range(table.lines.shape[0]):
        if opened.active[slot, g]:
            partition(table.lines[g, start:stop], side, spare)
    add_children(nodes, node, count, left, table.monotone[f], table.lines[f, start:stop], stat)


@jit
def grow_tree(table: Table, nodes: Nodes, opened: Open, stat: Any, rules: Limits, side: Array, spare: Array) -> int:
    """Grow from node 0, whose sums are known; the number of nodes."""
    p, words = opened.active.shape[1], opened.bits.shape[1]
    found, bits, order = np.empty((p, 4)), np.zeros((p, words), np.uint64), np.empty(p, np.int64)
    above = np.empty(p, np.uint8)
    best_first = rules.max_leaf_nodes > 0
    count, leaves = 1, 1
    many = 1 if find_split(table, nodes, 0, 0, opened, stat, rules, found, bits, order) else 0
    while many > 0 and not (best_first and leaves >= rules.max_leaf_nodes):
        slot = next_slot(opened, many, best_first)
        if many + 2 >= opened.node.shape[0]:
            opened = wider(opened)
        divide(table, nodes, opened, slot, count, stat, side, spare)
        # The features that vary above are the only ones that can vary below.
        for j in range(p):
            above[j] = opened.active[slot, j]
        copy_slot(opened, many - 1, opened, slot)
        many -= 1
        for child in range(count + 1, count - 1, -1):
            for j in range(p):
                opened.active[many, j] = above[j]
            if find_split(table, nodes, child, many, opened, stat, rules, found, bits, order):
                many += 1
        count, leaves = count + 2, leaves + 1
    return count


class Written(NamedTuple):
    """The arrays of a tree in preorder."""

    sums: Array
    left: Array
    right: Array
    feature: Array
    threshold: Array
    missing_left: Array
    category_set: Array
    impurity: Array
    samples: Array
    weight: Array
    sets: Array  # of each set of categories, the node that has it


@jit
def write_preorder(nodes: Nodes, out: Written) -> int:
    """Write the nodes in the order root, left subtree, right subtree; the number of sets of categories."""
    stack, above, many, sets = np.empty(out.left.shape[0], np.int64), np.empty(out.left.shape[0], np.int64), 1, 0
    stack[0], above[0] = 0, -1
    for k in range(out.left.shape[0]):
        many -= 1
        node, parent = stack[many], above[many]  # the parent's new number, for a right child
        write_node(nodes, node, k, out)
        if parent >= 0:
            out.right[parent] = k
        if nodes.links[node, LEFT] >= 0:
            if nodes.links[node, SET] >= 0:
                out.category_set[k], out.threshold[k], out.sets[sets] = sets, np.nan, node
                sets += 1
            out.left[k] = k + 1
            stack[many], stack[many + 1] = nodes.links[node, RIGHT], nodes.links[node, LEFT]
            above[many], above[many + 1] = k, -1
            many += 2
    return sets


@jit_unmanaged
def write_node(nodes: Nodes, node: int, k: int, out: Written) -> None:
    """Write a node, as far as it does not depend on others, to the k-th place."""
    links, numbers = nodes.links[node], nodes.numbers[node]
    score, base, weight = numbers[SCORE], numbers[BASE], numbers[WEIGHT]
    out.left[k], out.right[k], out.feature[k] = -1, -1, links[SPLIT_ON]
    out.threshold[k], out.missing_left[k], out.category_set[k] = nodes.threshold[node], links[MISSING], -1
    out.impurity[k] = 0.0 if is_pure(base, score) else (base - score) / weight
    out.samples[k], out.weight[k] = links[STOP] - links[START], weight
    for j in range(out.sums.shape[1]):
        out.sums[k, j] = nodes.sums[node, j]


def warm() -> None:
    """Compile growth from sorted columns for one target or two classes, and for several classes."""
    from didact.engines.trees.growers.exact import grow_exact, presort
    from didact.engines.trees.rows.targets import label_targets
    from didact.parts.criteria.impurity import Gini

    table = presort(np.arange(4.0)[:, None])
    for classes in (2, 3):
        grow_exact(table, label_targets(np.arange(4) % classes, classes, None, Gini()), Limits())
