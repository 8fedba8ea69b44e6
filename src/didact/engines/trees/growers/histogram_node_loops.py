"""The compiled grower's nodes: their best split, and their children.

A node whose histograms are worth keeping holds a numbered buffer; its larger child gets it, less the smaller child's.
Others count one feature at a time. Random choices come from a key that a node inherits: no order changes them.

Layout of node k, and of the slots of feature f in a histogram::

    at[k]      a record of NODE_FIELDS
    fixed[k]   [ its sums ][ those of the left side of its best split ]    fixed point
    masks[k]   [ interaction groups ][ categories that go left ]           bits

    first[f]   [ bin 0 ][ bin 1 ] … [ bin n_bins[f] − 1 ][ missing ]
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import jit_unmanaged, record_type
from didact.core.typing import Array
from didact.engines.trees.rows.bundles import Bundles
from didact.engines.trees.rows.fixed_point_loops import Reading, count_of, hashed
from didact.engines.trees.splits.histogram_cut_loops import Bound, General, Lines, node_score
from didact.engines.trees.splits.histogram_loops import LABELS, Int, add_column, set_zero
from didact.engines.trees.splits.histogram_subset_loops import scan_feature

NONE_FOUND = -2
FLAT = 1e-14  # a gain that is smaller than this share of the score is rounding

NODE_FIELDS = record_type(
    [(name, np.int64) for name in ("start", "stop", "depth", "turn")]  # turn: when it came to wait for its split
    + [(name, np.int64) for name in ("left", "right", "feature", "bin", "hist", "missing_left")]
    + [("key", np.uint64), *((name, np.float64) for name in ("gain", "low", "high", "left_value", "right_value"))]
)
FEATURE_FIELDS = record_type([(name, np.int64) for name in ("first", "n_bins", "categorical", "monotone")])


class Sample(NamedTuple):
    """The rows: their codes and fixed-point numbers, and the order in which the nodes hold them."""

    columns: Array  # uint8 or uint16 (p, n): codes of each feature
    bundles: Bundles  # codes as histograms are counted
    fixed: Array  # int64 (n, columns)
    labels: Array | None  # int32 (n, outputs); None for values
    order: Array  # uint32: rows of the sample, node by node


class Space(NamedTuple):
    """What is the same for all nodes of a tree: the features, and how their numbers are read."""

    features: Array  # FEATURE_FIELDS (p)
    slots: int  # of all features
    member: Array  # uint64 (p, words): the interaction groups of each feature; no words: all may interact
    chosen: Array  # int64: features that may be used
    inverse: Array  # float64 (channels)
    how: Reading


class NodeTable(NamedTuple):
    """The nodes, with room for all of them."""

    at: Array  # NODE_FIELDS
    fixed: Array  # int64 (nodes, 2, channels): of the node, and of the left side of its best split
    masks: Array  # uint64 (nodes, words): interaction groups that are still possible; then categories that go left


class ThreadBuffers(NamedTuple):
    """Buffers of one thread, and the best split so far."""

    best: Array  # BEST (1)
    fixed: Array  # int64 (3, channels): left side, right side, left side of the best split
    sums: Array  # float64
    general: General | None  # for more than numbers of one target
    bits: Array  # uint64: categories that go left
    lines: Lines
    turn: Array  # int64 (p): features in random order
    goes_left: Array  # uint8: by code
    hist: Array  # int64 (slots, channels): for nodes whose histograms are not kept, and for part of a node's rows


@jit_unmanaged(cold=True)
def may_use(f: Int, node: Int, member: Array, masks: Array) -> bool:
    """Whether the features on the path to a node may interact with this one."""
    for word in range(member.shape[1]):
        if member[f, word] & masks[node, word] != 0:
            return True
    return member.shape[1] == 0


@jit_unmanaged
def search_node(
    node: Int, first: Int, stop: Int, sample: Sample, space: Space, limits: Any, criterion: Any, nodes: NodeTable,
    hists: Array, mine: ThreadBuffers,
) -> None:  # fmt: skip
    """Search the best split of a node by the features at the places first … stop − 1 of those that may be used.

    It is left in `mine`. Where features are drawn for each node, all places have to be searched at once.
    """
    best, here = mine.best, nodes.at[node]
    best[0].feature, best[0].gain = NONE_FOUND, -np.inf
    least = max(limits.min_samples_split, 2 * limits.min_samples_leaf, 2)
    if here.stop - here.start < least or here.depth >= limits.max_depth:
        return
    total, sums, inverse, how = nodes.fixed[node, 0], mine.sums, space.inverse, space.how
    parent = node_score(total, here.low, here.high, how, inverse, criterion, sums, mine.general)
    if np.isnan(parent):
        return
    slack = FLAT * abs(parent)
    best[0].gain = limits.min_gain - slack - 1e-300 if how.kind == LABELS else max(limits.min_gain, slack)
    ready = here.hist >= 0
    hist = hists[here.hist] if ready else mine.hist
    rows = sample.order[here.start : here.stop]
    chosen, turn, features, fixed = space.chosen, mine.turn, space.features, mine.fixed
    P, wanted = chosen.shape[0], limits.max_features
    for j in range(P if wanted > 0 else 0):
        turn[j] = chosen[j]
    seen, differ = 0, False
    for j in range(first, stop):
        f = chosen[j]
        if wanted > 0:
            if seen >= wanted and differ:
                break
            pick = j + np.int64(hashed(here.key + np.uint64(j)) % np.uint64(P - j))
            f = turn[pick]
            turn[pick] = turn[j]
        if not may_use(f, node, space.member, nodes.masks):
            continue
        seen += 1
        feature = features[f]
        at, bins = feature.first, feature.n_bins
        if not ready:
            set_zero(hist[at : at + bins + 1])
            add_column(sample.columns[f], sample.fixed, sample.labels, rows, at, hist)
        draw = hashed(here.key ^ hashed(np.uint64(f)))
        bound = Bound(parent, here.low, here.high, feature.monotone)
        found = scan_feature(feature.categorical, f, hist, at, bins, total, how, inverse, bound, draw, limits,
                             criterion, fixed, sums, best, mine.bits, mine.lines, mine.general)  # fmt: skip
        differ = differ or found
    if best[0].feature >= 0:
        feature = features[best[0].feature]
        missing = hist[feature.first + feature.n_bins]
        _send_missing(here.stop - here.start, missing, fixed[2], how, inverse, best)


@jit_unmanaged(cold=True)
def _send_missing(rows: Int, missing: Array, left: Array, how: Reading, inverse: Array, best: Array) -> None:
    """Without missing values in a node of so many rows, later ones go with the majority."""
    if count_of(missing, how, inverse) == 0:
        best[0].missing_left = 2 * count_of(left, how, inverse) > rows


@jit_unmanaged(cold=True)
def record(node: Int, best: Any, fixed: Array, bits: Array, groups: Int, nodes: NodeTable) -> None:
    """Write the best split into the record of its node."""
    here = nodes.at[node]
    here.feature, here.bin, here.missing_left, here.gain = best.feature, best.bin, best.missing_left, best.gain
    here.left_value, here.right_value = best.left_value, best.right_value
    if best.feature < 0:
        here.gain = -np.inf
        return
    for c in range(fixed.shape[0]):
        nodes.fixed[node, 1, c] = fixed[c]
    for word in range(bits.shape[0] if best.bin < 0 else 0):
        nodes.masks[node, groups + word] = bits[word]


@jit_unmanaged
def split_from_histogram(
    node: Int,
    sample: Sample,
    space: Space,
    limits: Any,
    criterion: Any,
    nodes: NodeTable,
    hists: Array,
    mine: ThreadBuffers,
) -> None:
    """Search the best split of a node and write it into its record."""
    search_node(node, np.int64(0), space.chosen.shape[0], sample, space, limits, criterion, nodes, hists, mine)
    record(node, mine.best[0], mine.fixed[2], mine.bits, space.member.shape[1], nodes)


@jit_unmanaged
def fill_table(node: Int, features: Array, groups: Int, at: Array, masks: Array, table: Array) -> None:
    """Which codes of the node's feature go left."""
    here = at[node]
    missing, b = features[here.feature].n_bins, here.bin
    for code in range(missing):
        if b < 0:
            table[code] = (masks[node, groups + (code >> 6)] >> np.uint64(code & 63)) & np.uint64(1)
        else:
            table[code] = code <= b
    table[missing] = here.missing_left


@jit_unmanaged(cold=True)
def make_children(
    node: Int, left: Int, right: Int, middle: Int, features: Array, member: Array, nodes: NodeTable
) -> None:
    """The records of the children of a node whose rows have been partitioned at `middle`."""
    here = nodes.at[node]
    sign = features[here.feature].monotone
    centre = 0.5 * (here.left_value + here.right_value)
    here.left, here.right = left, right
    for child in (left, right):
        is_left = child == left
        new = nodes.at[child]
        new.start = here.start if is_left else middle
        new.stop = middle if is_left else here.stop
        new.depth = here.depth + 1
        new.key = hashed(here.key + np.uint64(0x51ED27) + np.uint64(is_left))
        new.left = new.right = new.hist = -1
        new.low, new.high = here.low, here.high
        if sign != 0 and (sign > 0) == is_left:
            new.high = centre
        elif sign != 0:
            new.low = centre
        for c in range(nodes.fixed.shape[2]):
            part = nodes.fixed[node, 1, c]
            nodes.fixed[child, 0, c] = part if is_left else nodes.fixed[node, 0, c] - part
        for word in range(member.shape[1]):
            nodes.masks[child, word] = nodes.masks[node, word] & member[here.feature, word]
