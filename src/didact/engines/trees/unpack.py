"""Packed trees taken apart again, with the weights of rows that pass through them: for Shapley values."""

from itertools import pairwise
from typing import Any

import numpy as np

from didact.engines.trees.packed import apply_all, predict_sum
from didact.engines.trees.predict_loops import Packed
from didact.engines.trees.tree import LEAF, NO_FEATURE, Tree

Array = np.ndarray[Any, Any]


def unpacked(packed: Packed, X: Array) -> list[Tree]:
    """The trees of a pack; the weight of a node is the number of rows of X that pass it."""
    edges = [*packed.roots.tolist(), len(packed.nodes)]
    leaves = apply_all(packed, X)
    return [_tree(packed, a, b, leaves[:, t]) for t, (a, b) in enumerate(pairwise(edges))]


def _tree(packed: Packed, start: int, stop: int, leaves: Array) -> Tree:
    nodes, n = packed.nodes[start:stop], stop - start
    left = nodes["left"].astype(np.int64) - start
    leaf = left == np.arange(n)
    weight = np.bincount(leaves, minlength=n).astype(np.float64)
    for node in np.flatnonzero(~leaf)[::-1]:  # level by level, so that children stand behind
        weight[node] = weight[left[node]] + weight[left[node] + 1]
    sets = packed.sets[start:stop] if len(packed.sets) else np.full(n, LEAF, np.int32)
    return Tree(
        np.where(leaf, LEAF, left).astype(np.int32),
        np.where(leaf, LEAF, left + 1).astype(np.int32),
        np.where(leaf, NO_FEATURE, nodes["feature"] >> 1).astype(np.int32),
        np.where(leaf, float(NO_FEATURE), nodes["threshold"]),
        (nodes["feature"] & 1).astype(np.uint8),
        np.where(leaf, LEAF, sets).astype(np.int32),
        packed.category_sets,
        np.zeros(n),
        weight.astype(np.int64),
        weight,
        packed.values[start:stop, None, :],
    )


def raw_sums(X: Any, packed: Packed, start: Array) -> Array:
    """The sums of all trees' values (n, columns), on top of where they start."""
    return predict_sum(packed, X, np.repeat(start[None].astype(np.float64), X.shape[0], axis=0))
