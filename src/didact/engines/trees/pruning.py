r"""Pruning a grown tree: the cost-complexity path, and reduced error on held-out rows.

Cost complexity: with :math:`R(t)` the impurity of node t times its share of the weight, and :math:`T_t` the subtree
below it, collapsing t costs :math:`g(t) = \frac{R(t) - R(T_t)}{|T_t| - 1}` per leaf that goes. Collapsing the node of
smallest g again and again gives, for every α, the subtree that minimises :math:`R(T) + \alpha|T|`. A heap of the g's
takes O(N · depth · log N). Breiman, Friedman, Olshen, Stone (1984), doi:10.1201/9781315139470.

Reduced error: from the leaves upwards, a node becomes a leaf if that makes no more errors on rows that the tree has not
seen. Quinlan (1987), doi:10.1016/S0020-7373(87)80053-6.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.typing import Array
from didact.engines.trees.pruning_loops import collapse, keep_if_better
from didact.engines.trees.tree import LEAF, Tree, decision_path, parents, pruned

NO_VALIDATION_ROWS = "The validation set is empty: pruning needs rows that the tree has not seen."


class Path(NamedTuple):
    """The cost-complexity path: the α at which each subtree begins, and the total impurity of its leaves."""

    ccp_alphas: Array
    impurities: Array


def _collapsed(tree: Tree, alpha: float) -> tuple[Array, Path]:
    """Which inner nodes survive up to α, and the steps on the way."""
    risk = tree.impurity * tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]
    inner = tree.children_left != LEAF
    steps = int(inner.sum()) + 1
    keep, alphas, totals = inner.copy(), np.zeros(steps), np.zeros(steps)
    count = collapse(tree.children_left, tree.children_right, parents(tree), risk, float(alpha), keep, alphas, totals)
    return keep, Path(alphas[:count], totals[:count])


def pruning_path(tree: Tree) -> Path:
    """All steps of cost-complexity pruning, from the whole tree (α = 0) to the root alone."""
    return _collapsed(tree, np.inf)[1]


def prune_cost_complexity(tree: Tree, alpha: float) -> Tree:
    """The smallest subtree that minimises R(T) + α·leaves."""
    return pruned(tree, _collapsed(tree, alpha)[0]) if alpha > 0 else tree


def prune_reduced_error(tree: Tree, X: Any, losses: Any) -> Tree:
    """The subtree of least loss on held-out rows, the smaller one of equals.

    `losses(rows, nodes)` is the loss of each of these rows if it were predicted by the node beside it.
    """
    path = decision_path(tree, X)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(path.indptr))
    own = np.bincount(path.indices, losses(rows, path.indices), minlength=tree.node_count)
    keep = tree.children_left != LEAF
    keep_if_better(tree.children_left, tree.children_right, own, keep)
    return pruned(tree, keep)
