r"""Model trees: a regression tree with a linear model in every leaf.

Splits, pruning and smoothing are in `didact.engines.trees.variants.model_tree`. Quinlan (1992), Learning with
continuous classes (M5); Frank et al. (1998), doi:10.1023/A:1007421302149.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from didact.core.backend import float_type
from didact.core.estimator import Estimator
from didact.core.parameters import at_least, attr, is_bool, none, param, whole
from didact.core.progress import FitProgress
from didact.core.rows.memory import refuse_square
from didact.core.typing import Array
from didact.engines.trees.rows.targets import refuse_huge
from didact.engines.trees.tree import stages
from didact.engines.trees.variants.model_tree import (
    LinearTree,
    ModelGrowth,
    grow_model_tree,
    pack_model_tree,
    prune,
    smooth,
)
from didact.engines.trees.variants.oblique import column_means, shrunk_powers, without_gaps
from didact.parts.statistics.weights import in_cases
from didact.tree.oblique import leaf_numbers
from didact.tree.size import TreeSize


def leaf_lines(X: Any, tree: LinearTree) -> Any:
    """The linear model of each row's leaf, at that row."""
    return tree.predict(X).astype(float_type(X))


class ModelTreeRegressor(TreeSize, RegressorMixin, Estimator):
    r"""Regression tree with a ridge regression in every leaf.

    .. math:: \hat y(x) = b_{l(x)}^Tx + c_{l(x)},\qquad
        \min \sum_{l} \sum_{i: l(x_i) = l} w_i (y_i - b_l^Tx_i - c_l)^2 + \alpha\|b_l\|^2

    Notes
    -----
    Cost: p² n for each feature and level and p³ for each threshold that is compared; rows are held in memory. Features
    are standardised for the penalty. Pruning is by Schwarz's criterion. Missing values count as the mean of their
    column. Differs from M5: splits minimise the squared error of the linear models themselves, not the standard
    deviation, so that a piecewise linear function is found as it is.

    Weights are relative: a constant factor changes nothing. They become numbers of rows, for `min_samples_leaf`,
    `alpha`, pruning and smoothing, in units of the smallest one if all are whole multiples of it (equal weights count
    each row once; whole numbers with a 1 among them equal repeated rows), else so that they sum to the number of rows
    that have weight.

    References
    ----------
    Frank, Wang, Inglis, Holmes, Witten (1998), doi:10.1023/A:1007421302149; Breiman et al. (1984),
    doi:10.1201/9781315139470.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.tree import ModelTreeRegressor
    >>> x = np.linspace(-1.0, 1.0, 41)
    >>> model = ModelTreeRegressor().fit(x[:, None], np.abs(x))
    >>> model.get_n_leaves(), model.predict([[-0.5], [2.0]]).round(6)
    (2, array([0.5, 2. ]))
    """

    _sparse = False
    _missing = True
    _test_params = [{"max_depth": 3}]

    max_depth: int | None = param(None, [whole(1), none], "Most tests between the root and a leaf; None: no limit.")
    min_samples_leaf: float = param(10, at_least(1), "Least number of rows in a leaf; never below p + 2.")
    alpha: float = param(0.0, at_least(0), "Strength of the L2 penalty of the linear models, on standardised features.")
    pruning: bool = param(True, is_bool, "Whether to prune by Schwarz's criterion.")
    smoothing: float = param(
        0.0, at_least(0), "Weight of the parent's model when a node's is mixed with it; 15 in M5, 0: none."
    )

    _attrs = [
        attr("tree_", "LinearTree", "`tree` (scikit-learn's arrays), `coef`, `intercept` and `centres` of nodes.")
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "ModelTreeRegressor":
        """Grow the tree from rows X with targets y, fit the leaves, prune; weights count cases as the notes say."""
        rows = self._rows(X, y, sample_weight, target="numeric")
        with FitProgress(self, X=X, y=y):
            X, y, w = rows.gather(np.float64)
            refuse_huge(y)
            refuse_square(X.shape[1], "use fewer columns, or DecisionTreeRegressor")
            self.tree_ = self._tree(X, y, w)
        return self

    def _stages(self) -> Iterator[tuple[float, dict[str, Any]]]:
        """The impurity and the tree after each split."""
        return ((impurity, {"tree_": self.tree_.cut_back(split)}) for impurity, split in stages(self.tree_.tree))

    def _tree(self, X: Array, y: Array, w: Array) -> LinearTree:
        """Grown on standardised columns, pruned and smoothed."""
        power, (w, unit) = shrunk_powers(X), in_cases(w)
        X = X / power
        mean = column_means(X, w)
        X = without_gaps(X, mean) - mean
        scale = np.sqrt(np.average(X**2, axis=0, weights=w))
        scale = np.where(scale > 1e-12 * np.abs(mean), scale, 1.0)
        depth = np.inf if self.max_depth is None else self.max_depth
        nodes = grow_model_tree(X / scale, y, w, ModelGrowth(depth, self.min_samples_leaf, self.alpha))
        if self.pruning:
            prune(nodes)
        smooth(nodes, self.smoothing)
        return pack_model_tree(nodes, mean, scale, power, unit)

    def predict(self, X: Any) -> Any:
        """The linear model of each row's leaf, at that row."""
        return self._after_fit()._map_rows(X, leaf_lines, self.tree_)

    def apply(self, X: Any) -> Any:
        """The leaf in which each row ends."""
        return self._after_fit()._map_rows(X, leaf_numbers, self.tree_)
