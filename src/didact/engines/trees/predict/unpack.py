"""Packed trees taken apart again, with the weights of rows that pass through them: for Shapley values."""

from itertools import pairwise
from typing import Any

import numpy as np

from didact.core.typing import Array
from didact.engines.trees.predict.packed import predict_sum
from didact.engines.trees.predict.packed_loops import Packed
from didact.engines.trees.tree import LEAF, NO_FEATURE, Tree, apply, node_weights


def unpacked(packed: Packed, X: Array | None = None) -> list[Tree]:
    """The trees of a pack; the weight of a node is that of the training rows, or the number of rows of X that pass."""
    trees = [_tree(packed, a, b) for a, b in pairwise([*packed.roots.tolist(), len(packed.nodes)])]
    if X is None:
        return trees
    counts = [np.bincount(apply(tree, X), minlength=tree.node_count).astype(np.float64) for tree in trees]
    return [tree._replace(weighted_n_node_samples=node_weights(tree, n)) for tree, n in zip(trees, counts, strict=True)]


def _tree(packed: Packed, start: int, stop: int) -> Tree:
    nodes, weight, n = packed.nodes[start:stop], packed.weights[start:stop], stop - start
    left = nodes["left"].astype(np.int64) - start
    leaf = left == np.arange(n)
    sets = packed.sets[start:stop] if len(packed.sets) else np.full(n, LEAF, np.int32)
    return Tree(
        children_left=np.where(leaf, LEAF, left).astype(np.int32),
        children_right=np.where(leaf, LEAF, left + 1).astype(np.int32),
        feature=np.where(leaf, NO_FEATURE, nodes["feature"] >> 1).astype(np.int32),
        threshold=np.where(leaf, float(NO_FEATURE), nodes["threshold"]),
        missing_go_to_left=(nodes["feature"] & 1).astype(np.uint8),
        category_set=np.where(leaf, LEAF, sets).astype(np.int32),
        category_sets=packed.category_sets,
        impurity=np.zeros(n),
        n_node_samples=weight.astype(np.int64),
        weighted_n_node_samples=weight,
        value=packed.values[start:stop, None, :],
    )


def raw_sums(X: Any, packed: Packed, start: Array) -> Array:
    """The sums of all trees' values (n, columns), on top of where they start."""
    return predict_sum(packed, X, np.repeat(start[None].astype(np.float64), X.shape[0], axis=0))
