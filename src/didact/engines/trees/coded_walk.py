"""Fast prediction by many trees: rows become small whole numbers first, and then go down all trees.

The thresholds of all trees, sorted by feature, are bins of their own: ``x ≤ threshold k`` if and only if
``code(x) ≤ k``. Coding a row costs p binary searches, once; every test of every tree then compares two small numbers.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from didact.core.threads import parallel_map, thread_count
from didact.engines.trees.bins import Bins, bin_codes, pack_cuts, search_order
from didact.engines.trees.coded_walk_loops import add_coded, arrange
from didact.engines.trees.tree import Tree

Array = np.ndarray[Any, Any]

BLOCK = 16_384  # rows that go through all trees together: a large forest comes from memory once for all of them
LARGEST = 60_000  # thresholds of a feature, and features, for which codes fit


class CodedTrees(NamedTuple):
    """Many trees on codes."""

    nodes: Array  # uint32 or uint64
    roots: Array  # uint64
    values: Array  # (nodes, width)
    bins: Bins


def code_trees(trees: Sequence[Tree], n_features: int, values: Sequence[Array]) -> CodedTrees | None:
    """Trees on codes, with these values (nodes, width) of each; None if there are categories or too many thresholds."""
    if n_features > LARGEST or any(len(tree.category_sets) for tree in trees):
        return None
    feature, threshold = (np.concatenate([tree[k] for tree in trees]) for k in (2, 3))
    cuts, codes = thresholds_and_codes(feature, threshold, n_features)
    if max(map(len, cuts)) > LARGEST:
        return None
    starts = np.concatenate([[0], np.cumsum([tree.node_count for tree in trees])])
    nodes, table = np.empty(len(feature), np.uint64), np.empty((len(feature), values[0].shape[1]))
    for tree, value, (a, b) in zip(trees, values, pairwise(starts.tolist()), strict=True):
        order = np.empty(b - a, np.int64)
        arrange(tree.children_left, tree.children_right, tree.feature, codes[a:b], order, nodes[a:b])
        table[a:b] = value[order]
    bins = pack_cuts(cuts, [len(c) + 1 for c in cuts], np.zeros(n_features, bool))
    return CodedTrees(narrow(nodes, n_features, bins), starts[:-1].astype(np.uint64), table, bins)


def narrow(nodes: Array, n_features: int, bins: Bins) -> Array:
    """The nodes in half the bits, if all numbers in them have room there: more of a tree is then in the cache."""
    if n_features > 256 or bins.dtype != np.uint8 or (nodes >> 48).any():
        return nodes
    short = (nodes >> 32 << 16) | (nodes >> 16 & 0xFF) << 8 | np.minimum(nodes & 0xFFFF, 0xFF)
    return short.astype(np.uint32)


def thresholds_and_codes(feature: Array, threshold: Array, n_features: int) -> tuple[list[Array], Array]:
    """The sorted thresholds of each feature, and the place of every node's threshold among those of its feature."""
    codes, cuts = np.zeros(len(feature), np.int64), []
    for j in range(n_features):
        own = np.flatnonzero(feature == j)
        cuts.append(np.unique(threshold[own]))
        codes[own] = np.searchsorted(cuts[j], threshold[own])
    return cuts, codes


def predict_coded(trees: CodedTrees, X: Any) -> Array | None:
    """The mean of the trees' values, (n, width); None if a value of X is missing."""
    n, out = X.shape[0], np.zeros((X.shape[0], trees.values.shape[1]))
    half = np.uint64(8 if trees.nodes.dtype == np.uint32 else 16)
    order, size = search_order(trees.bins), min(BLOCK, max(1, -(-n // thread_count())))

    def task(start: int) -> bool:
        codes = bin_codes(X[start : start + size], trees.bins, order=order)
        if bool((codes == trees.bins.n_bins).any()):
            return False
        found = np.empty(len(codes), np.uint32)
        add_coded(trees.nodes, trees.roots, trees.values, codes, half, found, out[start : start + size])
        return True

    whole = parallel_map(task, range(0, n, size))
    if not all(whole):
        return None
    out /= len(trees.roots)
    return out
