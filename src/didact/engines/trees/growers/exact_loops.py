"""Compiled growth of a tree from sorted lines; brute force over all splits stands beside its test.

Every feature has a line, the rows in the feature's order, and a node is the same range of all lines. A split marks the
rows that go left and partitions every line, keeping its order, so that no node sorts again: a level costs one pass of
n·p for the scans and one for the partition. A feature that is constant in a node is neither scanned nor moved below
it. Each node has a random state of its own that follows from its path, so that the order of growth does not matter.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import dispatch, jit_unmanaged
from didact.core.typing import Array
from didact.engines.trees.limits import Limits
from didact.engines.trees.splits.random_loops import child_state, next_state, uniform
from didact.engines.trees.splits.sorted_loops import NO_SPLIT, TIE, Bounds, missing_at

ROUNDING = 1e-11  # a gain of 0 may come out slightly negative, most of all with medians

scan1 = dispatch("scan1")
value1 = dispatch("value1")
stock1 = dispatch("stock1")
random1 = dispatch("random1")
categories1 = dispatch("categories1")

# Columns of a node's numbers.
SCORE, BASE, WEIGHT, LOW, HIGH = range(5)
# Columns of an open node's split.
GAIN, FEATURE, AT, MISSING_LEFT, THRESHOLD = range(5)


class Table(NamedTuple):
    """The lines and what is known of the features."""

    lines: Array  # (p, n) int64
    values: Array  # distinct values of all features, one after the other
    starts: Array  # (p + 1,) where each feature's values begin
    categorical: Array  # (p,) bool
    monotone: Array  # (p,) int8


class Nodes(NamedTuple):
    """Growing arrays of the tree; a node's rows are the range start…stop of the lines."""

    links: Array  # (capacity, 7) int64: left, right, feature, missing left, category set, start, stop
    numbers: Array  # (capacity, 5): score, base, weight, bounds of the mean
    threshold: Array
    depth: Array
    state: Array  # uint64
    sums: Array  # (capacity, channels)
    sets: Array  # (number of sets so far at most capacity, words) uint64


LEFT, RIGHT, SPLIT_ON, MISSING, SET, START, STOP = range(7)


class Open(NamedTuple):
    """Nodes that may still be split, each with its best split and the features that vary in it."""

    node: Array
    split: Array  # (slots, 5)
    active: Array  # (slots, p) uint8
    bits: Array  # (slots, words) uint64


@jit_unmanaged
def assess(nodes: Nodes, node: int, line: Array, stat: Any) -> None:
    """Sums, score, base and weight of a node from its rows."""
    numbers = nodes.numbers[node]
    numbers[SCORE], numbers[BASE], numbers[WEIGHT] = stock1(stat, line, nodes.sums[node])


@jit_unmanaged
def is_pure(base: float, score: float) -> bool:
    """Whether no score can be better: nothing is left of the impurity but rounding."""
    return base - score <= 4e-15 * (abs(base) + abs(score))


@jit_unmanaged
def is_final(nodes: Nodes, node: int, rules: Limits) -> bool:
    """Whether a node stays a leaf whatever its features are: limits, or no impurity that is left."""
    n = nodes.links[node, STOP] - nodes.links[node, START]
    score, base, weight = nodes.numbers[node, SCORE], nodes.numbers[node, BASE], nodes.numbers[node, WEIGHT]
    if nodes.depth[node] >= rules.max_depth or n < rules.min_samples_split or n < 2 * rules.min_samples_leaf:
        return True
    return weight < 2.0 * rules.min_weight_leaf or is_pure(base, score)


@jit_unmanaged
def scan_feature(table: Table, f: int, nodes: Nodes, node: int, stat: Any, rules: Limits, bits: Array, found: Array,
                 state: np.uint64) -> bool:  # fmt: skip
    """The best split of a node on feature f into found (score, position, missing left); False if f is constant."""
    line = table.lines[f, nodes.links[node, START] : nodes.links[node, STOP]]
    n, found[0] = line.shape[0], NO_SPLIT
    if line[0] >> 32 == line[n - 1] >> 32:
        return False
    numbers, sums = nodes.numbers[node], nodes.sums[node]
    bounds = Bounds(rules.min_samples_leaf, rules.min_weight_leaf, table.monotone[f], numbers[LOW], numbers[HIGH])
    tie, top = node_tie(numbers), table.starts[f + 1] - table.starts[f]
    if table.categorical[f]:
        score, at, missing_left = categories1(stat, line, top, sums, tie, bounds, bits, rules.random_splits, state)
    elif rules.random_splits:
        values = table.values[table.starts[f] : table.starts[f + 1]]
        score, at, missing_left, found[3] = random1(stat, line, values, sums, bounds, state)
    else:
        score, at, missing_left = scan1(stat, line, top, sums, tie, bounds)
    found[0], found[1], found[2] = score, at, 1.0 if missing_left else 0.0
    return True


@jit_unmanaged
def node_tie(numbers: Array) -> float:
    """Scores of a node that differ by less count as equal."""
    return TIE * (abs(numbers[BASE]) + abs(numbers[SCORE]))


@jit_unmanaged
def choose(found: Array, order: Array, tie: float) -> int:
    """The feature of the best score, the first in order among equals; −1 if none can be split."""
    best, feature = NO_SPLIT, -1
    for k in range(order.shape[0]):
        f = order[k]
        if found[f, 0] > best + tie:
            best, feature = found[f, 0], f
    return feature


@jit_unmanaged
def draw_order(active: Array, order: Array, shuffled: bool, state: np.uint64) -> int:
    """The features that vary, as they are or shuffled; their number."""
    k = 0
    for f in range(active.shape[0]):
        if active[f]:
            order[k] = f
            k += 1
    if shuffled:
        for i in range(k - 1, 0, -1):
            state = next_state(state)
            j = int(uniform(state) * (i + 1))
            order[i], order[j] = order[j], order[i]
    return k


@jit_unmanaged
def find_split(table: Table, nodes: Nodes, node: int, slot: int, opened: Open, stat: Any, rules: Limits, found: Array,
               bits: Array, order: Array) -> bool:  # fmt: skip
    """Scan a node and put its best split into a slot of the open nodes; whether there is one."""
    if is_final(nodes, node, rules):
        return False
    state, active = nodes.state[node], opened.active[slot]
    p, tried = table.lines.shape[0], 0
    shuffled = 0 < rules.max_features < p
    many = draw_order(active, order, shuffled, state)
    for k in range(many):
        f = order[k]
        if shuffled and tried >= rules.max_features and choose(found, order[:k], 0.0) >= 0:
            many = k
            break
        if scan_feature(table, f, nodes, node, stat, rules, bits[f], found[f], child_state(state, f + 2)):
            tried += 1
        else:
            active[f] = 0
    return record_split(table, nodes, node, slot, opened, found, bits, order[:many], rules)


@jit_unmanaged
def record_split(table: Any, nodes: Nodes, node: int, slot: int, opened: Open, found: Array, bits: Array,
                 order: Array, rules: Limits) -> bool:  # fmt: skip
    """Choose among what was found for the features; whether the best is good enough."""
    numbers, split = nodes.numbers[node], opened.split[slot]
    f = choose(found, order, node_tie(numbers))
    if f < 0:
        return False
    gain = found[f, 0] - numbers[SCORE]
    if gain < rules.min_gain - ROUNDING * (abs(numbers[BASE]) + abs(numbers[SCORE])):
        return False
    opened.node[slot] = node
    split[GAIN], split[FEATURE], split[AT], split[MISSING_LEFT] = gain, f, found[f, 1], found[f, 2]
    if table.categorical[f]:
        for j in range(bits.shape[1]):
            opened.bits[slot, j] = bits[f, j]
    split[THRESHOLD] = found[f, 3] if rules.random_splits else math.nan
    return True


@jit_unmanaged
def middle(low: float, high: float) -> float:
    """A threshold between two values, at or above the lower one and below the other."""
    half = 0.5 * low + 0.5 * high
    return half if low <= half < high else low


@jit_unmanaged
def threshold_between(table: Table, f: int, line: Array, at: int) -> float:
    """The middle between the last value on the left and the first on the right; ∞ if only missing ones are right."""
    start = table.starts[f]
    if at >= missing_at(line, table.starts[f + 1] - start):
        return math.inf
    return middle(table.values[start + (line[at - 1] >> 32)], table.values[start + (line[at] >> 32)])


@jit_unmanaged
def mark(table: Table, nodes: Nodes, opened: Open, slot: int, side: Array) -> int:
    """Mark the rows of an open node that go left and write the split into the node; the number of rows on the left."""
    node, split = opened.node[slot], opened.split[slot]
    f, at, missing_left = int(split[FEATURE]), int(split[AT]), split[MISSING_LEFT] != 0.0
    links = nodes.links[node]
    line = table.lines[f, links[START] : links[STOP]]
    n, top = line.shape[0], table.starts[f + 1] - table.starts[f]
    m, left = missing_at(line, top), 0
    for i in range(n):
        if i >= m:
            goes = missing_left
        elif table.categorical[f]:
            code = line[i] >> 32
            goes = (opened.bits[slot, code >> 6] >> np.uint64(code & 63)) & np.uint64(1) != 0
        else:
            goes = i < at
        side[line[i] & 0xFFFFFFFF] = goes
        left += goes
    if table.categorical[f]:
        complete_set(line[:m], top, opened.bits[slot], 2 * left > n)
        links[SET] = node
        for j in range(opened.bits.shape[1]):
            nodes.sets[node, j] = opened.bits[slot, j]
    else:
        drawn = split[THRESHOLD]
        nodes.threshold[node] = threshold_between(table, f, line, at) if math.isnan(drawn) else drawn
    links[SPLIT_ON] = f
    links[MISSING] = missing_left if m < n else 2 * left > n
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
def partition(line: Array, side: Array, spare: Array) -> None:
    """Marked rows first, in a line whose order is otherwise kept."""
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


@jit_unmanaged
def add_children(nodes: Nodes, node: int, count: int, left: int, sign: int, line: Array, stat: Any) -> None:
    """Two new nodes `count` and `count + 1` below a node, whose rows, a line of them here, are partitioned already."""
    for k in range(2):
        new_child(nodes, node, count + k, k, left)
        assess(nodes, count + k, line[left:] if k else line[:left], stat)
    bound_children(nodes, count, sign, stat)


@jit_unmanaged
def new_child(nodes: Nodes, node: int, child: int, k: int, left: int) -> None:
    """A leaf below a node whose first `left` rows go left: the left child if k is 0, else the right one."""
    links, new = nodes.links[node], nodes.links[child]
    links[LEFT + k] = child
    new[LEFT], new[RIGHT], new[SPLIT_ON], new[MISSING], new[SET] = -1, -1, -2, 0, -1
    new[START] = links[START] + (left if k else 0)
    new[STOP] = links[STOP] if k else links[START] + left
    nodes.depth[child] = nodes.depth[node] + 1
    nodes.threshold[child] = -2.0
    nodes.state[child] = child_state(nodes.state[node], k)
    nodes.numbers[child, LOW], nodes.numbers[child, HIGH] = nodes.numbers[node, LOW], nodes.numbers[node, HIGH]


@jit_unmanaged
def bound_children(nodes: Nodes, left: int, sign: int, stat: Any) -> None:
    """Keep the means below two siblings apart, if they may only rise or fall with the feature of their parent."""
    if sign != 0:
        middle = 0.5 * (value1(stat, nodes.sums[left]) + value1(stat, nodes.sums[left + 1]))
        rising, falling = (left, left + 1) if sign > 0 else (left + 1, left)
        nodes.numbers[rising, HIGH] = min(nodes.numbers[rising, HIGH], middle)
        nodes.numbers[falling, LOW] = max(nodes.numbers[falling, LOW], middle)
