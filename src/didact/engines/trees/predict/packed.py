"""Many trees packed for prediction: blocks of rows go through one tree after the other.

For large trees and few rows; `small_trees` is quicker where it can be used. Nodes of a tree are
put in the order of a walk level by level, so that a right child follows its sibling and the nodes that most rows pass
lie together.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from didact.core.errors import InputError
from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.engines.trees.predict.packed_loops import PACKED_NODE, Packed, add_predictions
from didact.engines.trees.tree import LEAF, PER_NODE, Tree, renumbered, rows_of
from didact.engines.trees.tuning import PACK_ROWS, TASK_ROWS


def pack(trees: Sequence[Tree], outputs: Sequence[int] | None = None) -> Packed:
    """Pack trees; tree t adds its leaf's values, flattened, to the columns from outputs[t] (default 0) on."""
    roots = np.cumsum([0, *(tree.node_count for tree in trees)])[:-1]
    tree = joined_trees(trees, roots)
    tree = renumbered(tree, level_order(tree, roots))
    leaf = tree.children_left == LEAF
    nodes = np.empty(tree.node_count, PACKED_NODE)
    nodes["threshold"] = np.where(leaf, np.inf, tree.threshold)
    nodes["left"] = np.where(leaf, np.arange(tree.node_count), tree.children_left)
    nodes["feature"] = np.where(leaf, 1, 2 * tree.feature + tree.missing_go_to_left)
    columns = np.zeros(len(trees), np.int64) if outputs is None else np.asarray(outputs, np.int64)
    return Packed(
        nodes, roots, columns, tree.value.reshape(tree.node_count, -1),
        tree.category_set if len(tree.category_sets) else np.empty(0, np.int32), tree.category_sets,
        tree.weighted_n_node_samples.astype(np.float64),
    )  # fmt: skip


def joined_trees(trees: Sequence[Tree], roots: Array) -> Tree:
    """The nodes of all trees as one tree with several roots: a step for all of them costs little more than for one."""
    new: dict[str, Any] = {name: np.concatenate([getattr(tree, name) for tree in trees]) for name in PER_NODE}
    counts, width = [tree.node_count for tree in trees], max(tree.category_sets.shape[1] for tree in trees)
    first_set = np.cumsum([0, *(len(tree.category_sets) for tree in trees)])
    sets = np.zeros((first_set[-1], width), np.uint64)
    for tree, at in zip(trees, first_set, strict=False):
        sets[at : at + len(tree.category_sets), : tree.category_sets.shape[1]] = tree.category_sets
    for name, starts in (("children_left", roots), ("children_right", roots), ("category_set", first_set[:-1])):
        new[name] = np.where(new[name] < 0, LEAF, new[name] + np.repeat(starts, counts)).astype(np.int32)
    return trees[0]._replace(**new, category_sets=sets)


def join_packs(a: Packed | None, b: Packed) -> Packed:
    """Two packs as one."""
    if a is None:
        return b
    nodes = b.nodes.copy()
    nodes["left"] += len(a.nodes)
    width = max(a.category_sets.shape[1], b.category_sets.shape[1])
    tables = [np.pad(s, ((0, 0), (0, width - s.shape[1]))) for s in (a.category_sets, b.category_sets)]
    full = [p.sets if len(p.sets) else np.full(len(p.nodes), -1, np.int32) for p in (a, b)]
    shifted = np.where(full[1] < 0, -1, full[1] + len(a.category_sets)).astype(np.int32)
    sets = np.concatenate([full[0], shifted]) if len(a.sets) or len(b.sets) else np.empty(0, np.int32)
    return Packed(
        np.concatenate([a.nodes, nodes]), np.concatenate([a.roots, b.roots + len(a.nodes)]),
        np.concatenate([a.output, b.output]), np.concatenate([a.values, b.values]), sets, np.concatenate(tables),
        np.concatenate([a.weights, b.weights]),
    )  # fmt: skip


def level_order(tree: Tree, roots: Array | None = None) -> Array:
    """The nodes level by level, siblings side by side; with several roots, the nodes below one after the other."""
    level = np.zeros(1, np.int64) if roots is None else roots
    found = [level]
    while len(level):
        inner = level[tree.children_left[level] != LEAF]
        level = np.column_stack([tree.children_left[inner], tree.children_right[inner]]).ravel().astype(np.int64)
        found.append(level)
    order = np.concatenate(found)
    return order if roots is None else order[np.argsort(np.searchsorted(roots, order, side="right"), kind="stable")]


def predict_sum(packed: Packed, X: Any, out: Array, first: int = 0, last: int | None = None) -> Array:
    """Add the values of the trees first … last − 1 to out (n, columns), which is returned."""
    last = len(packed.roots) if last is None else last
    check_columns(packed, X, out)
    if not 0 <= first <= last <= len(packed.roots):
        raise InputError(f"There are no trees {first} to {last - 1} among {len(packed.roots)}.")

    def task(start: int) -> None:
        stop = min(start + TASK_ROWS, X.shape[0])
        found = np.empty(PACK_ROWS, np.int64)
        for a in range(start, stop, PACK_ROWS):
            b = min(a + PACK_ROWS, stop)
            add_predictions(packed, first, last, rows_of(X[a:b]), found, out[a:b])

    parallel_map(task, range(0, X.shape[0], TASK_ROWS))
    return out


def check_columns(packed: Packed, X: Any, out: Array | None = None) -> None:
    """Refuse rows, and room for the sums, that have fewer columns than the trees ask for; and trees nobody checked."""
    if not isinstance(packed, Packed):
        raise InputError("These trees make no sense: they are not packed.")
    needed = int(packed.nodes["feature"].max(initial=0) >> 1)
    if needed >= X.shape[1]:
        raise InputError(f"The trees ask for column {needed}, but X has {X.shape[1]} columns.")
    if out is not None and packed.output.max(initial=0) + packed.values.shape[1] > out.shape[1]:
        raise InputError(f"The trees add to more outputs than the {out.shape[1]} that there are.")
