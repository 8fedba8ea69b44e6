"""The compiled grower: one node's best split, its children, and whole trees on one thread.

A node whose histograms are worth keeping holds a numbered buffer; its larger child gets it, less the smaller child's.
Others count one feature at a time. Random choices come from a key that a node inherits: no order changes them.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import jit
from didact.core.typing import Array
from didact.engines.trees.histogram_loops import LABELS, add_column, part_rows, partition, subtract
from didact.engines.trees.joint import Joint
from didact.engines.trees.joint_loops import count_rows
from didact.engines.trees.node_loops import best_waiting
from didact.engines.trees.split_loops import Bound, Lines, node_score, scan_numbers
from didact.engines.trees.subset_loops import scan_categories
from didact.engines.trees.words_loops import Reading, decoded, mixed

Int = int | np.integer[Any]

NO_SPLIT = -2
FEW = 64  # rows below which histograms are not worth keeping
FLAT = 1e-14  # a gain that is smaller than this share of the score is rounding

NODE = np.dtype(
    [(name, np.int64) for name in ("start", "stop", "depth", "left", "right", "feature", "bin", "hist", "missing_left")]
    + [("key", np.uint64), *((name, np.float64) for name in ("gain", "low", "high", "left_value", "right_value"))]
)
FEATURE = np.dtype([(name, np.int64) for name in ("first", "n_bins", "categorical", "monotone")])


class Sample(NamedTuple):
    """The rows: their codes and words, and the order in which the nodes hold them."""

    columns: Array  # uint8 or uint16 (p, n): codes of each feature
    joint: Joint  # the same, as histograms are counted
    words: Array  # int64 (n, columns)
    labels: Array  # int32 (n, outputs)
    order: Array  # uint32: rows of the sample, node by node


class Space(NamedTuple):
    """What is the same for all nodes of a tree: the features, and how words are read."""

    features: Array  # FEATURE (p)
    slots: int  # of all features
    member: Array  # uint64 (p, words): the interaction groups of each feature; no words: all may interact
    chosen: Array  # int64: features that may be used
    inverse: Array  # float64 (channels)
    how: Reading


class Nodes(NamedTuple):
    """The nodes, with room for all of them."""

    at: Array  # NODE
    words: Array  # int64 (nodes, 2, channels): of the node, and of the left side of its best split
    masks: Array  # uint64 (nodes, words): interaction groups that are still possible; then categories that go left


class Work(NamedTuple):
    """Buffers of one thread, and the best split so far."""

    best: Array  # BEST (1)
    words: Array  # int64 (3, channels): left side, right side, left side of the best split
    sums: Array  # float64
    keys: Array  # float64 (largest number of bins + 1): means of categories
    ids: Array  # int64: categories in order
    bits: Array  # uint64: categories that go left
    line: Array  # int64 (largest number of bins + 1, channels): words of categories in order
    lines: Lines
    turn: Array  # int64 (p): features in random order
    goes_left: Array  # uint8: by code
    hist: Array  # int64 (slots, channels): for nodes whose histograms are not kept
    spare: Array  # uint32 (rows): for partitions


@jit
def may_use(f: Int, node: Int, member: Array, masks: Array) -> bool:
    """Whether the features on the path to a node may interact with this one."""
    for word in range(member.shape[1]):
        if member[f, word] & masks[node, word] != 0:
            return True
    return member.shape[1] == 0


@jit
def find_split(
    node: Int, sample: Sample, space: Space, limits: Any, criterion: Any, nodes: Nodes, hists: Array, work: Work
) -> None:
    """Search the best split of a node and write it into its record."""
    masks, best, here = nodes.masks, work.best, nodes.at[node]
    here.feature, here.gain = NO_SPLIT, -np.inf
    count = here.stop - here.start
    least = max(limits.min_samples_split, 2 * limits.min_samples_leaf, 2)
    if count < least or here.depth >= limits.max_depth:
        return
    total, sums, inverse, how = nodes.words[node, 0], work.sums, space.inverse, space.how
    parent = node_score(total, here.low, here.high, how, inverse, criterion, sums)
    if np.isnan(parent):
        return
    slack = FLAT * abs(parent)
    best[0].gain = limits.min_gain - slack - 1e-300 if how.kind == LABELS else max(limits.min_gain, slack)
    best[0].feature = NO_SPLIT
    ready = here.hist >= 0
    hist = hists[here.hist] if ready else work.hist
    rows = sample.order[here.start : here.stop]
    chosen, turn, features, member, words = space.chosen, work.turn, space.features, space.member, work.words
    P, wanted = chosen.shape[0], limits.max_features
    for j in range(P if wanted > 0 else 0):
        turn[j] = chosen[j]
    seen, differ = 0, False
    for j in range(P):
        f = chosen[j]
        if wanted > 0:
            if seen >= wanted and differ:
                break
            pick = j + np.int64(mixed(here.key + np.uint64(j)) % np.uint64(P - j))
            f = turn[pick]
            turn[pick] = turn[j]
        if not may_use(f, node, member, masks):
            continue
        seen += 1
        feature = features[f]
        first, bins = feature.first, feature.n_bins
        if not ready:
            for slot in range(first, first + bins + 1):
                for c in range(hist.shape[1]):
                    hist[slot, c] = 0
            add_column(sample.columns[f], sample.words, sample.labels, rows, first, hist)
        draw = mixed(here.key ^ mixed(np.uint64(f)))
        bound = Bound(parent, here.low, here.high, feature.monotone)
        if feature.categorical:
            found = scan_categories(f, hist, first, bins, total, how, inverse, bound, draw, limits, criterion, words,
                                    sums, best, work.keys, work.ids, work.bits, work.line, work.lines)  # fmt: skip
        else:
            found = scan_numbers(f, hist, first, bins, total, how, inverse, bound, draw, limits, criterion, words,
                                 sums, best, work.lines)  # fmt: skip
        differ = differ or found
    if best[0].feature >= 0:
        _record(node, nodes, space, hist, work)


@jit
def _record(node: Int, nodes: Nodes, space: Space, hist: Array, work: Work) -> None:
    """Write the best split into the record of its node; without missing values here, they go with the majority."""
    here, best = nodes.at[node], work.best[0]
    here.feature, here.bin, here.missing_left, here.gain = best.feature, best.bin, best.missing_left, best.gain
    here.left_value, here.right_value = best.left_value, best.right_value
    for c in range(work.words.shape[1]):
        nodes.words[node, 1, c] = work.words[2, c]
    groups = space.member.shape[1]
    for word in range(work.bits.shape[0] if best.bin < 0 else 0):
        nodes.masks[node, groups + word] = work.bits[word]
    feature = space.features[best.feature]
    missing = decoded(hist[feature.first + feature.n_bins], space.how, space.inverse, work.sums, 0)
    if missing == 0:
        left = decoded(work.words[2], space.how, space.inverse, work.sums, 0)
        here.missing_left = 2 * left > here.stop - here.start


@jit
def fill_table(node: Int, space: Space, nodes: Nodes, table: Array) -> None:
    """Which codes of the node's feature go left."""
    here, groups, masks = nodes.at[node], space.member.shape[1], nodes.masks
    missing, b = space.features[here.feature].n_bins, here.bin
    for code in range(missing):
        if b < 0:
            table[code] = (masks[node, groups + (code >> 6)] >> np.uint64(code & 63)) & np.uint64(1)
        else:
            table[code] = code <= b
    table[missing] = here.missing_left


@jit
def make_children(node: Int, left: Int, right: Int, middle: Int, space: Space, nodes: Nodes) -> None:
    """The records of the children of a node whose rows have been partitioned at `middle`."""
    here = nodes.at[node]
    sign = space.features[here.feature].monotone
    centre = 0.5 * (here.left_value + here.right_value)
    here.left, here.right = left, right
    for child in (left, right):
        is_left = child == left
        new = nodes.at[child]
        new.start = here.start if is_left else middle
        new.stop = middle if is_left else here.stop
        new.depth = here.depth + 1
        new.key = mixed(here.key + np.uint64(0x51ED27) + np.uint64(is_left))
        new.left = new.right = new.hist = -1
        new.low, new.high = here.low, here.high
        if sign != 0 and (sign > 0) == is_left:
            new.high = centre
        elif sign != 0:
            new.low = centre
        for c in range(nodes.words.shape[2]):
            part = nodes.words[node, 1, c]
            nodes.words[child, 0, c] = part if is_left else nodes.words[node, 0, c] - part
        for word in range(space.member.shape[1]):
            nodes.masks[child, word] = nodes.masks[node, word] & space.member[here.feature, word]


@jit
def expand(
    node: Int, left: Int, right: Int, spare_hist: Int, sample: Sample, space: Space, limits: Any, criterion: Any,
    nodes: Nodes, hists: Array, work: Work,
) -> None:  # fmt: skip
    """Split a node: partition its rows, make its children, count their histograms and find their best splits.

    `spare_hist` is the number of a free histogram; −1 if none is, or if the node keeps none itself.
    """
    here = nodes.at[node]
    start, stop, kept = here.start, here.stop, here.hist
    fill_table(node, space, nodes, work.goes_left)
    middle = start + partition(sample.columns[here.feature], work.goes_left, sample.order[start:stop], work.spare)
    make_children(node, left, right, middle, space, nodes)
    if kept >= 0 and spare_hist >= 0:
        small, large = (left, right) if middle - start <= stop - middle else (right, left)
        hist = hists[spare_hist]
        rows = sample.order[nodes.at[small].start : nodes.at[small].stop]
        count_rows(sample.joint, sample.words, sample.labels, rows, space.slots, hist)
        subtract(hists[kept], hist)
        nodes.at[small].hist, nodes.at[large].hist = spare_hist, kept
    for k in range(2):
        find_split(right if k else left, sample, space, limits, criterion, nodes, hists, work)


@jit
def worth_keeping(node: Int, nodes: Nodes) -> bool:
    """Whether the histograms of a node will serve its children."""
    here = nodes.at[node]
    return here.feature >= 0 and here.stop - here.start >= FEW


@jit
def grow_serial(
    sample: Sample, space: Space, limits: Any, criterion: Any, nodes: Nodes, hists: Array, work: Work
) -> Int:
    """Grow from the root, whose record and histogram are there; the number of nodes.

    The root holds histogram 0 or none; the others are free. Without a limit of leaves the last child made is split
    next; with one, the leaf of largest gain.
    """
    at = nodes.at
    n_nodes, leaves = np.int64(1), np.int64(1)  # not literals, for which Numba would compile everything twice
    find_split(np.int64(0), sample, space, limits, criterion, nodes, hists, work)
    waiting = np.empty(at.shape[0] + 1, np.int64)
    free = np.arange(hists.shape[0] - 1, -1, -1)
    n_free = hists.shape[0] - (at[0].hist >= 0)
    waiting[0] = 0
    n_waiting = 1 if at[0].feature >= 0 else 0
    while n_waiting > 0 and n_nodes + 2 <= at.shape[0]:
        if limits.max_leaf_nodes > 0 and leaves >= limits.max_leaf_nodes:
            break
        place = best_waiting(waiting, n_waiting, at) if limits.max_leaf_nodes > 0 else n_waiting - 1
        node = waiting[place]
        n_waiting -= 1
        waiting[place] = waiting[n_waiting]
        kept, spare = at[node].hist, np.int64(-1)
        if kept >= 0 and n_free > 0:
            n_free -= 1
            spare = free[n_free]
        left, right = n_nodes, n_nodes + np.int64(1)
        expand(node, left, right, spare, sample, space, limits, criterion, nodes, hists, work)
        if kept >= 0 and spare < 0:
            free[n_free] = kept
            n_free += 1
        for child in (right, left):
            if at[child].hist >= 0 and not worth_keeping(child, nodes):
                free[n_free] = at[child].hist
                n_free += 1
                at[child].hist = -1
            if at[child].feature >= 0:
                waiting[n_waiting] = child
                n_waiting += 1
        n_nodes += 2
        leaves += 1
    return n_nodes


@jit
def expand_piece(
    a: Int, b: Int, feature: Int, small_is_left: bool, sample: Sample, space: Space, hist: Array, work: Work
) -> Int:
    """Part order[a:b] by itself, and count those of its rows that go to the smaller child; how many go left.

    These stay in front; the others are in work.spare.
    """
    rows = sample.order[a:b]
    left = part_rows(sample.columns[feature], work.goes_left, rows, work.spare)
    rows = rows[:left] if small_is_left else work.spare[: b - a - left]
    count_rows(sample.joint, sample.words, sample.labels, rows, space.slots, hist)
    return left
