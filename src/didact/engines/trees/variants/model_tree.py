r"""Regression trees with a linear model in every leaf.

A split is chosen by what the two linear models leave unexplained,
:math:`\sum_{s\in\{l,r\}} \min_{b,c} \sum_{i\in s} w_i (y_i - b^Tx_i - c)^2 + \alpha\|b\|^2`, which follows from sums of
products that add up over rows: first for some cuts of each feature, then for all between the neighbours of the best.
A node becomes a leaf again, from the bottom up, if its own model is no worse than its subtree by Schwarz's criterion
:math:`n\log(\mathrm{error}/n) + v\log n` for v parameters, one for each split among them (thresholds are searched for,
so that a milder price lets noise in). Smoothing by k replaces the model f of a node with n rows by
:math:`(n f + k f_{parent})/(n + k)`, along the path from the root, which keeps it linear.

Cost: a node of n rows p² n for each feature and round, and p³ for each cut. Quinlan (1992), Learning with continuous
classes (M5); Frank, Wang, Inglis, Holmes, Witten (1998), Using model trees for classification,
doi:10.1023/A:1007421302149; Schwarz (1978), Estimating the dimension of a model, doi:10.1214/aos/1176344136.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from didact.core.rows import Block
from didact.core.typing import Array
from didact.engines.trees.outline import Place, missing_as, outline
from didact.engines.trees.tree import LEAF, Tree, TreeBuilder, apply, pruned, reached_nodes
from didact.engines.trees.variants.oblique import without_gaps
from didact.parts.statistics.moments import moments

CUTS = 32  # thresholds of a feature that are compared in one round
JITTER = 1e-9  # relative ridge that keeps the systems of a search solvable
EXACT_SHARE = 1e-12  # share of the variance that counts as rounding


class LinearTree(NamedTuple):
    """A binary tree with a linear model for each node; missing values count as `centres`."""

    tree: Tree
    coef: Array  # (nodes, p)
    intercept: Array  # (nodes,)
    centres: Array  # (p,)

    def cut_back(self, keep: Array) -> "LinearTree":
        """The tree in which every inner node that is not kept is a leaf."""
        tree = self.tree._replace(children_left=np.where(keep, self.tree.children_left, LEAF),
                                  children_right=np.where(keep, self.tree.children_right, LEAF))  # fmt: skip
        nodes = reached_nodes(tree)
        return self._replace(tree=pruned(self.tree, keep), coef=self.coef[nodes], intercept=self.intercept[nodes])

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return self.tree.n_leaves

    @property
    def max_depth(self) -> int:
        """Edges from the root to the deepest leaf."""
        return self.tree.max_depth

    def apply(self, X: Array) -> Array:
        """The leaf of every row."""
        return apply(self.tree, without_gaps(X, self.centres))

    def predict(self, X: Array) -> Array:
        """The linear model of each row's leaf, at that row."""
        X = without_gaps(X, self.centres)
        leaves = apply(self.tree, X)
        return np.einsum("ij,ij->i", X, self.coef[leaves]) + self.intercept[leaves]

    def outline(self) -> list[Place]:
        """The nodes with the conditions of their branches and the models of the leaves."""
        centres, places = tuple(self.centres.tolist()), []
        for i, place in enumerate(outline(self.tree)):
            branches = tuple((missing_as(condition, self.centres), child) for condition, child in place.branches)
            model = () if branches else (float(self.intercept[i]), *self.coef[i].tolist())
            places.append(place._replace(branches=branches, linear=model, centres=centres))
        return places

    def check(self) -> None:
        """Raise a ValueError unless the arrays fit together."""
        self.tree.check()
        p = len(self.centres)
        if self.coef.shape != (self.tree.node_count, p) or self.intercept.shape != (self.tree.node_count,):
            raise ValueError("the linear models of a tree do not fit its nodes")
        if self.tree.feature.max(initial=0) >= p:
            raise ValueError("a split of a tree is on a feature that it does not have")


class ModelGrowth(NamedTuple):
    """Limits of growth and the ridge of the linear models."""

    max_depth: float
    min_weight: float
    alpha: float


@dataclass(slots=True)
class ModelNode:
    """A node while the tree grows and is pruned."""

    rows: Array
    depth: int
    coef: Array
    intercept: float
    mean: float
    error: float  # sum of squared residuals
    spread: float  # sum of squares about the mean
    weight: float
    parameters: int
    feature: int = -1
    threshold: float = 0.0
    children: tuple[int, ...] = ()


def linear_node(X: Array, y: Array, w: Array, rows: Array, depth: int, alpha: float) -> ModelNode:
    """A node with its ridge regression, of least norm where the rows do not determine it."""
    S = moments(Block(X[rows], y[rows], w[rows]))
    values, V = np.linalg.eigh(S.xx)
    used = values > EXACT_SHARE * max(float(values[-1]), S.weight * EXACT_SHARE)
    xy = V.T @ S.xy[:, 0]
    coef = V[:, used] @ (xy[used] / (values[used] + alpha))
    error = float(S.yy[0] - 2 * coef @ S.xy[:, 0] + coef @ S.xx @ coef)
    mean = float(S.mean_y[0])
    return ModelNode(
        rows, depth, coef, mean - float(S.mean_x @ coef), mean, max(error, 0.0), float(S.yy[0]), S.weight,
        1 + int(used.sum()),
    )  # fmt: skip


def unexplained(G: Array, alpha: float) -> Array:
    """What ridge regression leaves, for a stack of matrices of sums of products of (1, x, y)."""
    weight = np.maximum(G[:, 0, 0], np.finfo(float).tiny)
    S = G[:, 1:, 1:] - G[:, 1:, :1] * G[:, :1, 1:] / weight[:, None, None]
    xx, xy, yy = S[:, :-1, :-1], S[:, :-1, -1], S[:, -1, -1]
    ridge = alpha + JITTER * weight
    coef = np.linalg.solve(xx + ridge[:, None, None] * np.eye(xx.shape[1]), xy[:, :, None])[:, :, 0]
    return np.maximum(yy - np.einsum("ij,ij->i", xy, coef), 0.0)


def best_split(X: Array, y: Array, w: Array, growth: ModelGrowth) -> tuple[float, int, float] | None:
    """Unexplained squares, feature and threshold of the best split of standardised rows."""
    mean = np.average(X, axis=0, weights=w)
    A = np.column_stack([np.ones(len(X)), X - mean, y - np.average(y, weights=w)])
    least = max(growth.min_weight, X.shape[1] + 2.0) * (1 - 1e-9)
    best: tuple[float, int, float] | None = None
    for j in range(X.shape[1]):
        order = np.argsort(X[:, j], kind="stable")
        x, below = X[order, j], np.cumsum(w[order])
        good = (np.diff(x) > 1e-12) & (below[:-1] >= least) & (below[-1] - below[:-1] >= least)
        places = np.flatnonzero(good)  # the left side ends here
        found = _refine(A[order], w[order], places, growth.alpha) if len(places) else None
        if found is not None and (best is None or found[0] < best[0] * (1 - 1e-9)):
            cost, place = found
            best = cost, j, float(x[place] + (x[place + 1] - x[place]) / 2)
    return best


def _refine(A: Array, w: Array, places: Array, alpha: float) -> tuple[float, int]:
    """The best of the places: a coarse look at all, then a closer one around the best, until none is left out."""
    low, high = 0, len(places) - 1
    while True:
        tried = np.unique(np.linspace(low, high, min(CUTS, high - low + 1)).astype(int))
        costs = _costs(A, w, places[tried], alpha)
        k = int(np.argmin(costs))
        if len(tried) == high - low + 1:
            return float(costs[k]), int(places[tried[k]])
        low, high = int(tried[max(k - 1, 0)]), int(tried[min(k + 1, len(tried) - 1)])


def _costs(A: Array, w: Array, places: Array, alpha: float) -> Array:
    """What the models on both sides leave unexplained, for cuts after the given rows."""
    edges = [0, *(places + 1).tolist(), len(A)]
    blocks = [A[a:b].T @ (A[a:b] * w[a:b, None]) for a, b in pairwise(edges)]
    left = np.cumsum(blocks, axis=0)
    right = np.cumsum(blocks[::-1], axis=0)[::-1]
    return unexplained(left[:-1], alpha) + unexplained(right[1:], alpha)


def grow_model_tree(X: Array, y: Array, w: Array, growth: ModelGrowth) -> list[ModelNode]:
    """The nodes of the full tree; parents stand before their children."""
    nodes = [linear_node(X, y, w, np.arange(len(X)), 0, growth.alpha)]
    rounding = EXACT_SHARE * nodes[0].spread
    waiting = [0]
    while waiting:
        node = nodes[waiting.pop()]
        if node.depth >= growth.max_depth or node.error <= rounding:
            continue
        split = best_split(X[node.rows], y[node.rows], w[node.rows], growth)
        if split is None or split[0] >= node.error * (1 - 1e-9):
            continue
        _, node.feature, node.threshold = split
        left = X[node.rows, node.feature] <= node.threshold
        node.children = (len(nodes), len(nodes) + 1)
        waiting += node.children[::-1]
        nodes += [linear_node(X, y, w, node.rows[s], node.depth + 1, growth.alpha) for s in (left, ~left)]
    return nodes


def prune(nodes: list[ModelNode]) -> None:
    """Make leaves of nodes whose own model is no worse than their subtree by Schwarz's criterion, in place."""
    errors, parameters = np.zeros(len(nodes)), np.zeros(len(nodes))
    rounding = EXACT_SHARE * nodes[0].spread / nodes[0].weight
    for i in range(len(nodes) - 1, -1, -1):
        node = nodes[i]
        errors[i], parameters[i] = node.error, node.parameters
        if not node.children:
            continue
        n, below = node.weight, list(node.children)
        together = errors[below].sum(), parameters[below].sum() + 1
        own, subtree = (
            n * np.log(max(error / n, rounding)) + v * np.log(n)
            for error, v in ((node.error, node.parameters), together)
        )
        if own <= subtree:
            node.children = ()
        else:
            errors[i], parameters[i] = together


def smooth(nodes: list[ModelNode], k: float) -> None:
    """Mix the model of every node with its parent's, in place; the parents first."""
    for node in nodes:
        for child in (nodes[c] for c in node.children):
            share = child.weight / (child.weight + k)
            child.coef = share * child.coef + (1 - share) * node.coef
            child.intercept = share * child.intercept + (1 - share) * node.intercept


def pack_model_tree(nodes: list[ModelNode], mean: Array, scale: Array, power: Array, unit: float) -> LinearTree:
    """The nodes that are left, as arrays, in the units of the features and of the weights, of which a case has `unit`.

    Features were divided by `power`, and then standardised by `mean` and `scale`.
    """
    builder, order = TreeBuilder(), []
    waiting: list[tuple[int, int, bool]] = [(0, -1, False)]
    while waiting:
        i, parent, is_left = waiting.pop()
        node = nodes[i]
        order.append(i)
        number = builder.add(parent, is_left, node.error / node.weight, len(node.rows), node.weight * unit,
                             np.array([[node.mean]]))  # fmt: skip
        if node.children:
            threshold = mean[node.feature] + scale[node.feature] * node.threshold
            builder.split(number, node.feature, threshold * power[node.feature])
            waiting += [(node.children[1], number, False), (node.children[0], number, True)]
    coef = np.stack([nodes[i].coef for i in order]) / scale
    tree = builder.build()._replace(n_features=len(mean))
    intercept = np.array([nodes[i].intercept for i in order]) - coef @ mean
    return LinearTree(tree, coef / power, intercept, mean * power)
