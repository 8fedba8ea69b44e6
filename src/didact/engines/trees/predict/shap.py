"""Shapley values of trees that are added up or averaged, on the library's threads."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.engines.trees.predict.shap_loops import Paths, add_shap, empty_paths, fill_paths
from didact.engines.trees.tuning import SHAP_ROWS


def leaf_paths(tree: Any) -> tuple[Paths, Array]:
    """The paths to the leaves of a tree with scikit-learn's arrays, and the numbers of the leaves."""
    left, right = (np.ascontiguousarray(a, np.int32) for a in (tree.children_left, tree.children_right))
    leaves = np.flatnonzero(left < 0)
    depth = np.zeros(len(left), np.int64)
    for node in np.flatnonzero(left >= 0):
        depth[left[node]] = depth[right[node]] = depth[node] + 1
    sets = np.asarray(getattr(tree, "category_sets", np.zeros((0, 1), np.uint64)), np.uint64)
    category_set = np.asarray(getattr(tree, "category_set", np.full(len(left), -1)), np.int32)
    paths = empty_paths(len(leaves), int(depth[leaves].sum()), sets.shape[1])
    fill_paths(
        left, right, np.asarray(tree.feature, np.int32), np.asarray(tree.threshold, np.float64),
        np.asarray(tree.missing_go_to_left, np.uint8), category_set, sets,
        np.asarray(tree.weighted_n_node_samples, np.float64), leaves, paths,
    )  # fmt: skip
    return paths, leaves


def shap_of_trees(trees: Sequence[Any], leaf_values: Sequence[Array], scale: float, X: Array) -> tuple[Array, Array]:
    """Shapley values (rows, features, values) of scale × the sum of the trees, and the value of no feature at all.

    `leaf_values` holds for each tree its values of all nodes, (nodes, values). X is read as float64.
    """
    X = np.require(X, np.float64, ["C", "W"])
    width = leaf_values[0].shape[1]
    out, base = np.zeros((*X.shape, width)), np.zeros(width)
    prepared = []
    for tree, table in zip(trees, leaf_values, strict=True):
        paths, leaves = leaf_paths(tree)
        values = np.ascontiguousarray(table[leaves], np.float64)
        reached = np.array([paths.zero[a:b].prod() for a, b in zip(paths.start[:-1], paths.start[1:], strict=True)])
        base += scale * (reached @ values)
        prepared.append((paths, values))

    def piece(start: int) -> None:
        for paths, values in prepared:
            add_shap(X[start : start + SHAP_ROWS], paths, values, scale, out[start : start + SHAP_ROWS])

    parallel_map(piece, range(0, len(X), SHAP_ROWS))
    return out, base
