r"""A binary tree as a struct of arrays, with scikit-learn's names; what any grower makes and any predictor reads.

Node 0 is the root, and parents stand before their children. Importance of a feature: the sum over its splits of
:math:`W_t i_t - W_l i_l - W_r i_r` (weight times impurity of node, left and right child), scaled to sum 1.
"""

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from didact.core.backend import of_types
from didact.core.errors import InputError
from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.engines.trees.tree_loops import Walk, apply_rows, frozen, node_depths, path_nodes, reach
from didact.engines.trees.tuning import WALK_ROWS

LEAF, NO_FEATURE = -1, -2
SHARES = 1 << 22  # shares of points in nodes that are held at once: 32 MiB


class Tree(NamedTuple):
    """A binary tree of a table with `n_features` columns. A leaf has children −1 and feature −2.

    All arrays have one entry a node but `category_sets`.
    A row goes left if x ≤ threshold, or, where `category_set` is not −1, if bit x of that row of `category_sets` is
    set (all other categories go right); a missing value (NaN) goes left if `missing_go_to_left`. `value` has the shape
    (nodes, outputs, classes): fractions of the classes, or one number.
    """

    children_left: Array
    children_right: Array
    feature: Array
    threshold: Array
    missing_go_to_left: Array
    category_set: Array
    category_sets: Array
    impurity: Array
    n_node_samples: Array
    weighted_n_node_samples: Array
    value: Array
    n_features: int = 0  # 0: not known

    @property
    def node_count(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.children_left)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.count_nonzero(self.children_left == LEAF))

    @property
    def max_depth(self) -> int:
        """Edges from the root to the deepest leaf."""
        return int(depths(self).max())

    @property
    def n_outputs(self) -> int:
        """Number of targets."""
        return int(self.value.shape[1])

    @property
    def max_n_classes(self) -> int:
        """Entries of each target's value: its classes, or 1."""
        return int(self.value.shape[2])

    @property
    def n_classes(self) -> Array:
        """The classes of each target, 1 for a number; targets of fewer classes than others end in empty ones."""
        if self.n_outputs == 1:
            return np.array([self.max_n_classes])
        return np.array([np.flatnonzero(root).max(initial=0) + 1 for root in self.value[0]])

    def check(self) -> None:
        """Refuse arrays that no grower makes: compiled walks trust the numbers of nodes, features and sets."""
        left, right, n = self.children_left, self.children_right, self.node_count
        inner, numbers = left != LEAF, np.arange(n)
        short = any(len(getattr(self, name)) != n for name in PER_NODE)
        if not of_types(self[:-1], TYPES):
            raise InputError("The arrays of a tree are not of the types that a tree has.")
        if n == 0 or short or ((right != LEAF) != inner).any():
            raise InputError("The arrays of a tree do not fit together.")
        if (left[inner] <= numbers[inner]).any() or (right[inner] <= numbers[inner]).any():
            raise InputError("A node of a tree stands before its parent.")
        beyond = bool(self.n_features) and self.feature.max() >= self.n_features
        if max(left.max(), right.max()) >= n or (self.feature[inner] < 0).any() or beyond:
            raise InputError("A tree names a node or a feature that does not exist.")
        if self.category_set.max(initial=-1) >= len(self.category_sets):
            raise InputError("A tree names a set of categories that does not exist.")

    def apply(self, X: Any) -> Array:
        """The leaf of every row."""
        return apply(self, X)

    def decision_path(self, X: Any) -> Any:
        """The nodes that every row passes, as a sparse matrix of ones."""
        return decision_path(self, X)

    def predict(self, X: Any) -> Array:
        """The value of every row's leaf, as scikit-learn's `tree_.predict` shapes it."""
        found = leaf_values(self, X)
        return found[:, 0] if self.n_outputs == 1 else found

    def compute_feature_importances(self, normalize: bool = True) -> Array:
        """Impurity decrease by feature, by default scaled to sum 1."""
        return importances(self, self.n_features, normalize)


TYPES = (
    *(np.int32, np.int32, np.int32, np.float64, np.uint8, np.int32, np.uint64),
    *(np.float64, np.int64, np.float64, np.float64),
)
PER_NODE = tuple(name for name in Tree._fields if name not in ("category_sets", "n_features"))


def walk_arrays(tree: Tree) -> Walk:
    """The arrays that compiled walks read."""
    return Walk(*(frozen(array) for array in tree[:7]))


def rows_of(X: Any) -> Array:
    """A block as a read-only C-ordered float array."""
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    return frozen(X if X.dtype in (np.float32, np.float64) else X.astype(np.float64))


def apply(tree: Tree, X: Any) -> Array:
    """The number of the leaf in which each row of X ends, int32."""
    if tree.feature.max(initial=0) >= X.shape[1]:
        raise InputError(f"The tree asks for column {tree.feature.max()}, but X has {X.shape[1]} columns.")
    walk, out = walk_arrays(tree), np.empty(X.shape[0], np.int32)

    def piece(start: int) -> None:
        apply_rows(rows_of(X[start : start + WALK_ROWS]), walk, out[start : start + WALK_ROWS])

    parallel_map(piece, range(0, X.shape[0], WALK_ROWS))
    return out


def leaf_values(tree: Tree, X: Any) -> Array:
    """The value of the leaf of each row: shape (rows, outputs, classes)."""
    return tree.value[apply(tree, X)]


def depths(tree: Tree) -> Array:
    """The number of edges from the root to every node."""
    out = np.zeros(tree.node_count, np.int64)
    node_depths(frozen(tree.children_left), frozen(tree.children_right), out)
    return out


def parents(tree: Tree) -> Array:
    """The parent of every node, −1 for the root."""
    out = np.full(tree.node_count, LEAF, np.int32)
    inner = np.flatnonzero(tree.children_left != LEAF).astype(np.int32)
    out[tree.children_left[inner]] = out[tree.children_right[inner]] = inner
    return out


def decision_path(tree: Tree, X: Any) -> Any:
    """A csr matrix (rows, nodes) with a 1 for every node that the row passes."""
    leaves = apply(tree, X)
    indptr = np.concatenate([[0], np.cumsum(depths(tree)[leaves] + 1)])
    indices = np.empty(indptr[-1], np.int32)
    path_nodes(leaves, parents(tree), indptr, indices)
    data = np.ones(len(indices), np.int64)
    return sp.csr_matrix((data, indices, indptr), shape=(X.shape[0], tree.node_count))


def weighed(tree: Tree, unit: float) -> Tree:
    """The tree with the weights of its nodes in the caller's units, of which a case has `unit`."""
    return tree if unit == 1.0 else tree._replace(weighted_n_node_samples=tree.weighted_n_node_samples * unit)


def importances(tree: Tree, n_features: int, normalize: bool = True) -> Array:
    """The impurity decrease of each feature, relative to the weight of the root; by default scaled to sum 1."""
    total = tree.impurity * tree.weighted_n_node_samples
    inner = np.flatnonzero(tree.children_left != LEAF)
    decrease = total[inner] - total[tree.children_left[inner]] - total[tree.children_right[inner]]
    found = np.bincount(tree.feature[inner], decrease, minlength=n_features)
    scale = found.sum() if normalize else tree.weighted_n_node_samples[0]
    return found / scale if scale > 0 else found


def rows_go_left(tree: Tree, node: Any, x: Array) -> Array:
    """Whether rows with these values of the node's feature go left."""
    if tree.category_set[node] == LEAF:
        return np.where(np.isnan(x), tree.missing_go_to_left[node] != 0, x <= tree.threshold[node])
    words, codes = tree.category_sets[tree.category_set[node]], np.nan_to_num(x).astype(np.int64)
    inside = (codes >= 0) & (codes < 64 * len(words)) & ~np.isnan(x)
    codes = np.where(inside, codes, 0)
    bits = (words[codes >> 6] >> (codes & 63).astype(np.uint64)) & np.uint64(1)
    return np.where(np.isnan(x), tree.missing_go_to_left[node] != 0, inside & (bits == 1))


def mean_over_others(tree: Tree, grid: Array, features: Array) -> Array:
    """The mean value (points, outputs × classes) at each point of some features, over the tree's rows in the others.

    Where a node asks for another feature, both children count, by their weights.
    """
    step, inner, depth = max(1, SHARES // tree.node_count), tree.children_left != LEAF, depths(tree)
    levels = [np.flatnonzero(inner & (depth == level)) for level in range(int(depth.max()))]
    out = np.empty((len(grid), tree.value[0].size))
    for start in range(0, len(grid), step):
        share = shares_of_points(tree, grid[start : start + step], features, levels)
        out[start : start + step] = share[~inner].T @ tree.value[~inner].reshape(tree.n_leaves, -1)
    return out


def shares_of_points(tree: Tree, grid: Array, features: Array, levels: list[Array]) -> Array:
    """What part of each point comes to each node (nodes, points), level by level of the inner nodes."""
    share = np.zeros((tree.node_count, len(grid)))
    share[0] = 1.0
    for nodes in levels:
        left, right = tree.children_left[nodes], tree.children_right[nodes]
        weight = tree.weighted_n_node_samples
        to_left = np.repeat((weight[left] / weight[nodes])[:, None], len(grid), axis=1)
        for x, feature in zip(grid.T, features, strict=True):
            for k in np.flatnonzero(tree.feature[nodes] == feature):
                to_left[k] = rows_go_left(tree, nodes[k], x)
        share[left] = share[nodes] * to_left
        share[right] = share[nodes] - share[left]
    return share


def pruned(tree: Tree, keep: Array) -> Tree:
    """The tree in which every inner node with keep = False has become a leaf; what was below it is gone."""
    cut = tree._replace(children_left=np.where(keep, tree.children_left, LEAF),
                        children_right=np.where(keep, tree.children_right, LEAF))  # fmt: skip
    return renumbered(cut, reached_nodes(cut))


def reached_nodes(tree: Tree) -> Array:
    """The nodes that the root leads to."""
    reached = np.zeros(tree.node_count, bool)
    reach(tree.children_left, tree.children_right, reached)
    return np.flatnonzero(reached)


def growth_order(tree: Tree, by_gain: bool) -> Array:
    """The inner nodes in an order in which they can have been split: by gain from the leaves at hand, or by number."""
    inner = np.flatnonzero(tree.children_left != LEAF)
    if not by_gain:
        return inner
    total = tree.impurity * tree.weighted_n_node_samples
    left, right = tree.children_left, tree.children_right
    gain = np.where(left != LEAF, total - total[left] - total[right], -np.inf)
    order, waiting = [], [(-gain[0], 0)] if len(inner) else []
    while waiting:
        node = heappop(waiting)[1]
        order.append(node)
        for child in (left[node], right[node]):
            if left[child] != LEAF:
                heappush(waiting, (-gain[child], child))
    return np.array(order, np.int64)


def stages(tree: Tree, by_gain: bool = False) -> Iterator[tuple[float, Array]]:
    """After each split the impurity, the mean over the rows of that of their leaves, and which nodes are split."""
    keep, total = np.zeros(tree.node_count, bool), tree.impurity * tree.weighted_n_node_samples
    impurity = total[0]
    for node in growth_order(tree, by_gain):
        keep[node] = True
        impurity += total[tree.children_left[node]] + total[tree.children_right[node]] - total[node]
        yield float(impurity / tree.weighted_n_node_samples[0]), keep.copy()


def node_weights(tree: Tree, leaves: Array) -> Array:
    """The weight that passes each node, from what ends in each (nodes,); children stand behind their parents."""
    total = leaves.copy()
    for node in np.flatnonzero(tree.children_left != LEAF)[::-1]:
        total[node] = total[tree.children_left[node]] + total[tree.children_right[node]]
    return total


def renumbered(tree: Tree, order: Array) -> Tree:
    """The tree with its nodes in another order (old numbers, parents before children), without those left out."""
    number = np.full(tree.node_count + 1, LEAF, np.int32)  # the last entry stands for "no child"
    number[order] = np.arange(len(order), dtype=np.int32)
    left, right = number[tree.children_left[order]], number[tree.children_right[order]]
    leaf, sets = left == LEAF, tree.category_set[order]
    used = np.unique(sets[(sets >= 0) & ~leaf])
    new = tree._replace(**{name: getattr(tree, name)[order] for name in PER_NODE})
    return new._replace(
        children_left=left,
        children_right=right,
        feature=np.where(leaf, np.int32(NO_FEATURE), new.feature),
        threshold=np.where(leaf, float(NO_FEATURE), new.threshold),
        missing_go_to_left=np.where(leaf, np.uint8(0), new.missing_go_to_left),
        category_set=np.where(leaf | (sets < 0), LEAF, np.searchsorted(used, sets)).astype(np.int32),
        category_sets=tree.category_sets[used],
    )


class TreeBuilder:
    """A tree that grows node by node, for growers that are written in Python."""

    def __init__(self, n_words: int = 1) -> None:
        self.nodes: list[tuple[Any, ...]] = []
        self.children: list[list[int]] = []
        self.sets: list[Array] = []
        self.n_words = n_words

    def add(self, parent: int, is_left: bool, impurity: float, n_samples: int, weight: float, value: Array) -> int:
        """A new leaf below `parent` (−1 for the root); its number."""
        number = len(self.nodes)
        self.nodes.append((impurity, n_samples, weight, value))
        self.children.append([LEAF, LEAF, NO_FEATURE, float(NO_FEATURE), 0, LEAF])  # type: ignore[list-item]
        if parent >= 0:
            self.children[parent][0 if is_left else 1] = number
        return number

    def split(
        self, node: int, feature: int, threshold: float = 0.0, missing_left: bool = False,
        categories: Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        """Make a leaf an inner node; `categories` are the codes that go left. Its children are added next."""
        self.children[node][2:] = [feature, threshold, int(missing_left), LEAF]  # type: ignore[list-item]
        if categories is not None:
            self.children[node][5] = len(self.sets)
            self.sets.append(category_words(categories, self.n_words))

    def build(self) -> Tree:
        """The tree as arrays."""
        left, right, feature, threshold, missing, category_set = zip(*self.children, strict=True)
        impurity, samples, weight, value = zip(*self.nodes, strict=True)
        return Tree(
            children_left=np.asarray(left, np.int32),
            children_right=np.asarray(right, np.int32),
            feature=np.asarray(feature, np.int32),
            threshold=np.asarray(threshold, np.float64),
            missing_go_to_left=np.asarray(missing, np.uint8),
            category_set=np.asarray(category_set, np.int32),
            category_sets=np.stack(self.sets) if self.sets else np.zeros((0, self.n_words), np.uint64),
            impurity=np.asarray(impurity, np.float64),
            n_node_samples=np.asarray(samples, np.int64),
            weighted_n_node_samples=np.asarray(weight, np.float64),
            value=np.stack([np.atleast_2d(np.asarray(v, np.float64)) for v in value]),
        )


def category_words(categories: Sequence[int], n_words: int) -> Array:
    """A set of category codes as bits of 64-bit words."""
    words = np.zeros(n_words, np.uint64)
    for code in categories:
        words[code >> 6] |= np.uint64(1) << np.uint64(code & 63)
    return words
