"""Compiled walks over the records of nodes: their order, the rows of leaves, rows that come in blocks.

Layout of node k, of its rows and of histograms of open nodes::

    at[k]       [ start stop | depth turn | left right | feature bin … ]   a record of NODE_FIELDS
    masks[k]    [ interaction groups: `groups` words | categories that go left ]   bits
    order       [ rows of a leaf | rows of the next | … ]
                  ^ starts[k]      ^ stops[k]
    hists[h]    [ feature 0: bin 0 | bin 1 | … | missing ][ feature 1: … ] …   (slots, channels); h = place[node]
                  ^ first[0]                                ^ first[1]
"""

from typing import Any

import numpy as np

from didact.core.jit import jit
from didact.core.typing import Array


@jit
def preorders(left: Array, right: Array, order: Array, counts: Array) -> int:
    """The nodes of each of some trees (trees, nodes) in preorder, one tree after the other; how many in all.

    A node's number counts all nodes of the trees before; `counts` are those that are reached from each root.
    """
    stack, many = np.empty(left.shape[1] + 1, np.int64), 0
    for t in range(left.shape[0]):
        before, depth = many, 1
        stack[0] = 0
        while depth > 0:
            depth -= 1
            node = stack[depth]
            order[many] = t * left.shape[1] + node
            many += 1
            if left[t, node] >= 0:
                stack[depth], stack[depth + 1] = right[t, node], left[t, node]
                depth += 2
        counts[t] = many - before
    return many


@jit
def leaf_rows(starts: Array, stops: Array, numbers: Array, order: Array, out: Array) -> None:
    """Write the number of its leaf for every row of the sample."""
    for k in range(starts.shape[0]):
        for r in range(starts[k], stops[k]):
            out[order[r]] = numbers[k]


@jit
def end_node(codes: Array, at: Array, masks: Array, n_bins: Array, groups: int) -> Any:
    """Where a row with these codes ends in a tree, which may still be growing."""
    node = np.int64(0)
    while at[node].left >= 0:
        here = at[node]
        code = np.int64(codes[here.feature])
        if code == n_bins[here.feature]:
            goes = here.missing_left != 0
        elif here.bin >= 0:
            goes = code <= here.bin
        else:
            goes = (masks[node, groups + (code >> 6)] >> np.uint64(code & 63)) & np.uint64(1) != 0
        node = here.left if goes else here.right
    return node


@jit
def end_nodes(codes: Array, at: Array, masks: Array, n_bins: Array, groups: int, out: Array) -> None:
    """Write the node where each row ends."""
    for i in range(codes.shape[0]):
        out[i] = end_node(codes[i], at, masks, n_bins, groups)


@jit
def count_open(
    codes: Array, words: Array, labels: Array | None, at: Array, masks: Array, n_bins: Array, groups: int, first: Array,
    place: Array, hists: Array,
) -> None:  # fmt: skip
    """Send rows down a tree that is still growing, and add those that end in an open node to its histogram.

    `place` is the number of an open node's histogram, −1 for all others.
    """
    for i in range(codes.shape[0]):
        k = place[end_node(codes[i], at, masks, n_bins, groups)]
        if k < 0:
            continue
        for f in range(codes.shape[1]):
            slot = np.int64(first[f]) + np.int64(codes[i, f])
            if labels is not None:
                for o in range(labels.shape[1]):
                    hists[k, slot, labels[i, o]] += words[i, 0]
            else:
                for c in range(words.shape[1]):
                    hists[k, slot, c] += words[i, c]
