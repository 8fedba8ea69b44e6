r"""A tree whose splits have as many branches as a category has values: the value that ID3 and C4.5 make and read.

A row with a missing value at a split goes down every branch, in parts: the branch j gets the share
:math:`W_j/\sum_k W_k` of its weight, where :math:`W_j` is the weight of the training cases in that branch. The answer
is the mean of the class fractions of all leaves that parts of the row arrive in, weighted by those parts. A category
that no training case at the node had has no branch: the node answers with its own class fractions.

Quinlan (1993), C4.5: Programs for Machine Learning, section 3; Quinlan (1986), doi:10.1007/BF00116251.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from didact.core.typing import Array
from didact.engines.trees.outline import Among, Condition, Interval, Place

NO_BRANCH, NO_TEST = -1, -2


class MultiwayTree(NamedTuple):
    """Nodes as arrays; the root is node 0, and parents stand before their children.

    The branches of node i are `children[first[i]:first[i + 1]]`: none at a leaf, two (x ≤ threshold, x > threshold) for
    a number, one per category otherwise; −1 stands for a category without training cases.
    """

    feature: Array  # (nodes,) int32, −2 at leaves
    threshold: Array  # (nodes,) float64, NaN but for splits of numbers
    first: Array  # (nodes + 1,) int32
    children: Array  # (branches,) int32
    value: Array  # (nodes, classes) float64: weight of each class among the training cases

    @property
    def node_count(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.count_nonzero(self.feature == NO_TEST))

    @property
    def max_depth(self) -> int:
        """Edges from the root to the deepest leaf."""
        depth = np.zeros(self.node_count, np.int64)
        for node in range(self.node_count):
            depth[self.branches(node)[self.branches(node) >= 0]] = depth[node] + 1
        return int(depth.max())

    def branches(self, node: int) -> Array:
        """The children of a node, −1 where a category has none."""
        return self.children[self.first[node] : self.first[node + 1]]

    def arrivals(self, X: Array, w: Array, root: int = 0) -> Iterator[tuple[int, Array, Array]]:
        """Every node below `root` that rows reach, with their numbers and the parts of their weights that arrive."""
        stack = [(root, np.arange(len(X)), w)]
        while stack:
            node, rows, parts = stack.pop()
            yield node, rows, parts
            if self.feature[node] != NO_TEST:
                stack += self.sent(node, X, rows, parts)

    def sent(self, node: int, X: Array, rows: Array, parts: Array) -> list[tuple[int, Array, Array]]:
        """The rows of a node with the parts of their weights, branch by branch."""
        x, branches = X[rows, self.feature[node]], self.branches(node)
        unknown = np.isnan(x)
        threshold = self.threshold[node]
        taken = np.where(unknown, -1, x if np.isnan(threshold) else x > threshold).astype(np.int64)
        weights = self.value[branches].sum(axis=1) * (branches != NO_BRANCH)
        shares = weights / max(weights.sum(), np.finfo(float).tiny)
        found = []
        for k in np.flatnonzero(branches != NO_BRANCH):
            here = (taken == k) | unknown
            if here.any():
                part = np.where(unknown[here], shares[k] * parts[here], parts[here])
                found.append((int(branches[k]), rows[here], part))
        return found

    def arrived(self, X: Array, codes: Array, w: Array) -> Array:
        """The weight of each class (nodes, classes) among rows with class codes, at every node."""
        total = np.zeros_like(self.value)
        for node, rows, parts in self.arrivals(X, w):
            total[node] = np.bincount(codes[rows], parts, total.shape[1])
        return total

    def outline(self) -> list[Place]:
        """The nodes with the conditions of their branches, for rules and pictures."""
        impurity, weight = entropy(self.value), self.value.sum(axis=1)
        return [
            Place(self.value[[i]] / max(weight[i], np.finfo(float).tiny), float(weight[i]), float(impurity[i]),
                  self._conditions(i))
            for i in range(self.node_count)
        ]  # fmt: skip

    def _conditions(self, node: int) -> tuple[tuple[Condition, int], ...]:
        feature, cut, branches = int(self.feature[node]), float(self.threshold[node]), self.branches(node).tolist()
        if feature == NO_TEST:
            return ()
        if not np.isnan(cut):
            return (Interval(feature, -np.inf, cut), branches[0]), (Interval(feature, cut, np.inf), branches[1])
        return tuple((Among(feature, frozenset([k])), c) for k, c in enumerate(branches) if c != NO_BRANCH)

    def check(self) -> None:
        """Raise a ValueError unless the numbers of features, branches and nodes can be those of a tree."""
        if not (self._fits() and self._grows()):
            raise ValueError("the arrays of a tree do not fit together")

    def _fits(self) -> bool:
        """Whether the arrays have the sizes of a tree: what is made of them later is then no larger than they are."""
        n = len(self.feature)
        return (
            self.value.ndim == 2
            and all(part.ndim == 1 for part in (self.feature, self.threshold, self.first, self.children))
            and n == len(self.threshold) == len(self.value) == len(self.first) - 1 > 0
            and self.first[0] == 0
            and self.first[-1] == len(self.children)
            and bool((self.first[1:] >= self.first[:-1]).all())
        )

    def _grows(self) -> bool:
        """Whether inner nodes have branches, and all of them lead to later nodes."""
        n, leaf, sizes = len(self.feature), self.feature == NO_TEST, np.diff(self.first)
        parents = np.repeat(np.arange(n), sizes)
        return bool(
            ((sizes == 0) == leaf).all()
            and (self.feature[~leaf] >= 0).all()
            and ((self.children == NO_BRANCH) | ((self.children > parents) & (self.children < n))).all()
        )


def class_fractions(X: Array, tree: MultiwayTree) -> Array:
    """The class probabilities (rows, classes) of each row."""
    out = np.zeros((len(X), tree.value.shape[1]))
    fractions = tree.value / np.maximum(tree.value.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    for node, rows, parts in tree.arrivals(X, np.ones(len(X))):
        left = np.full(len(rows), tree.feature[node] == NO_TEST)
        if not left.all():
            left = no_branch(tree, node, X[rows, tree.feature[node]])
        out[rows[left]] += parts[left, None] * fractions[node]
    return out


def no_branch(tree: MultiwayTree, node: int, x: Array) -> Array:
    """Which values of the node's feature are categories for which it has no branch."""
    if not np.isnan(tree.threshold[node]):
        return np.zeros(len(x), bool)
    return ~np.isnan(x) & (tree.branches(node)[np.nan_to_num(x).astype(np.int64)] == NO_BRANCH)


def multiway_importances(tree: MultiwayTree, n_features: int) -> Array:
    """The information that the splits on each feature gain, weighted by their cases and scaled to sum 1."""
    weight = tree.value.sum(axis=1)
    total = weight * entropy(tree.value)
    found = np.zeros(n_features)
    for node in np.flatnonzero(tree.feature != NO_TEST).tolist():
        children = tree.branches(node)[tree.branches(node) >= 0]
        found[tree.feature[node]] += total[node] - total[children].sum()
    return found / found.sum() if found.sum() > 0 else found


def entropy(table: Array) -> Array:
    r"""The entropy in bits, :math:`-\sum_k p_k\log_2 p_k`, of the weights in each row of a table."""
    total = table.sum(axis=-1, keepdims=True)
    p = np.divide(table, total, out=np.zeros(table.shape), where=total > 0)
    return -np.sum(p * np.log2(np.where(p > 0, p, 1.0)), axis=-1)
