"""Fast prediction by many trees: rows become small whole numbers first, and then go down all trees.

The thresholds of all trees, sorted by feature, are bins of their own: ``x ≤ threshold k`` if and only if
``code(x) ≤ k``. Coding a row costs p binary searches, once; every test of every tree then compares two small numbers.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from didact.core.threads import parallel_map, thread_count
from didact.core.typing import Array
from didact.engines.trees.predict.coded_walk_loops import add_narrow, add_wide, arrange, group_thresholds, interleave
from didact.engines.trees.rows.bins import Bins, Heaps, bin_codes, pack_cuts, search_order
from didact.engines.trees.tree import Tree
from didact.engines.trees.tuning import FOREST_ROWS, NEAR_NODES

MOST_CODED = 60_000  # thresholds of a feature, and features, for which codes fit


class CodedTrees(NamedTuple):
    """Many trees on codes."""

    nodes: Array  # uint32 or uint64
    roots: Array  # uint64
    values: Array  # (nodes, width), float64 or uint8; 0 in inner nodes
    bins: Bins


def code_trees(trees: Sequence[Tree], n_features: int, values: Sequence[Array]) -> CodedTrees | None:
    """Trees on codes, with these values (nodes, width) of each; None if there are categories or too many thresholds."""
    if n_features > MOST_CODED or any(len(tree.category_sets) for tree in trees):
        return None
    cuts = thresholds_of(trees, n_features)
    if max(map(len, cuts)) > MOST_CODED:
        return None
    bins = pack_cuts(cuts, [len(c) + 1 for c in cuts], np.zeros(n_features, bool))
    heaps = search_order(bins)
    starts = np.concatenate([[0], np.cumsum([tree.node_count for tree in trees])]).tolist()
    table = np.empty((starts[-1], values[0].shape[1]))

    def task(k: int) -> Array:
        nodes, order = pack_tree(trees[k], heaps)
        table[starts[k] : starts[k + 1]] = np.where(trees[k].children_left[:, None] < 0, values[k], 0.0)[order]
        return narrow(nodes, n_features, bins)

    nodes = parallel_map(task, range(len(trees)))
    if len({part.dtype for part in nodes}) > 1:  # some have no room in half the bits
        nodes = [pack_tree(tree, heaps)[0] for tree in trees]
    table = small(table) if nodes[0].dtype == np.uint32 else table
    return CodedTrees(np.concatenate(nodes), np.asarray(starts[:-1], np.uint64), table, bins)


def small(table: Array) -> Array:
    """Values in a byte each, if they are small whole numbers as in trees that are grown out."""
    if not (table >= 0).all() or not (table <= 255).all():
        return table
    short = table.astype(np.uint8)
    return short if (short == table).all() else table


def thresholds_of(trees: Sequence[Tree], n_features: int) -> list[Array]:
    """The thresholds of all trees on each feature, increasing."""
    counts = np.sum([np.bincount(tree.feature + 2, minlength=n_features + 2) for tree in trees], axis=0)[2:]
    ends = np.cumsum(counts)
    places, together = ends - counts, np.empty(ends[-1])
    for tree in trees:
        group_thresholds(tree.feature, tree.threshold, places, together)
    return parallel_map(np.unique, np.split(together, ends[:-1]))


def pack_tree(tree: Tree, heaps: Heaps) -> tuple[Array, Array]:
    """A tree's nodes, with codes of their thresholds, and their old numbers."""
    count = tree.node_count
    order, nodes = np.empty(count, np.int64), np.empty(count, np.uint64)
    near = NEAR_NODES if count < 1 << 16 else 0  # level by level, the children of a node are less far ahead
    arrange(tree.children_left, tree.children_right, tree.feature, tree.threshold, *heaps, near, order, nodes)
    return nodes, order


def narrow(nodes: Array, n_features: int, bins: Bins) -> Array:
    """The nodes in half the bits, if all numbers in them have room there: more of a tree is then in the cache."""
    if n_features > 256 or bins.dtype != np.uint8 or (nodes >> 48).any():
        return nodes
    short = (nodes >> 32 << 16) | (nodes >> 16 & 0xFF) << 8 | np.minimum(nodes & 0xFFFF, 0xFF)
    return short.astype(np.uint32)


def predict_coded(trees: CodedTrees, X: Any) -> Array | None:
    """The mean of the trees' values, (n, width); None if a value of X is missing."""
    n, out = X.shape[0], np.zeros((X.shape[0], trees.values.shape[1]))
    add = add_narrow if trees.nodes.dtype == np.uint32 else add_wide
    order, threads = search_order(trees.bins), thread_count()
    size = max(1, -(-n // (threads * -(-n // (threads * FOREST_ROWS)) or 1)))

    def task(start: int) -> bool:
        codes = bin_codes(X[start : start + size], trees.bins, order=order)
        if bool((codes == trees.bins.n_bins).any()):
            return False
        blocks = np.zeros((2 * -(-len(codes) // 16), 8 * codes.shape[1]), codes.dtype)
        interleave(codes, blocks)
        add(trees.nodes, trees.roots, trees.values, blocks, np.empty(16, np.uint32), out[start : start + size])
        return True

    whole = parallel_map(task, range(0, n, size))
    if not all(whole):
        return None
    out /= len(trees.roots)
    return out
