r"""Oblique trees: every split is a fitted linear discriminant :math:`w^Tx \le t`, or one feature where that is better.

See `didact.engines.trees.variants.oblique` for the directions. Murthy, Kasif, Salzberg (1994), doi:10.1613/jair.63.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from didact.core.backend import float_type
from didact.core.estimator import Estimator
from didact.core.parameters import at_least, attr, none, one_of, param, whole
from didact.core.progress import FitProgress
from didact.core.typing import Array
from didact.engines.trees.pruning import prune_cost_complexity
from didact.engines.trees.rows.targets import refuse_huge
from didact.engines.trees.tree import pruned, stages, weighed
from didact.engines.trees.variants.oblique import (
    ObliqueGrowth,
    ObliqueTree,
    column_means,
    grow_oblique,
    shrunk_powers,
    without_gaps,
)
from didact.parts.criteria.impurity import CLASSIFICATION, SquaredError
from didact.parts.statistics.counts import label_codes, label_counts
from didact.parts.statistics.weights import in_cases
from didact.tree.labels import weigh_classes
from didact.tree.size import TreeSize


def leaf_numbers(X: Any, tree: Any) -> Any:
    """The leaf of each row."""
    return tree.apply(X)


def leaf_shares(X: Any, tree: ObliqueTree) -> Any:
    """Class probabilities of the rows of a block."""
    return tree.values(X).astype(float_type(X))


def leaf_labels(X: Any, tree: ObliqueTree, classes: Array) -> Any:
    """The most frequent label in each row's leaf."""
    return classes[tree.values(X).argmax(axis=1)]


def leaf_means(X: Any, tree: ObliqueTree) -> Any:
    """The mean of each row's leaf."""
    return tree.values(X)[:, 0].astype(float_type(X))


class _ObliqueTree(TreeSize, Estimator):
    """Base of the oblique trees. Abstract."""

    _sparse = False
    _missing = True
    _test_params: ClassVar[list[dict[str, Any]]] = [{"max_depth": 4}]

    max_depth: int | None = param(None, [whole(1), none], "Most tests between the root and a leaf; None: no limit.")
    min_samples_split: int = param(2, whole(2), "Rows that a node needs to be split.")
    min_samples_leaf: int = param(1, whole(1), "Rows that a leaf needs.")
    min_impurity_decrease: float = param(
        0.0, at_least(0), "A split must lower the impurity by this, times its share of all weight."
    )
    ccp_alpha: float = param(0.0, at_least(0), "Price of a leaf in cost-complexity pruning after growth.")
    ridge: float = param(
        1e-3, at_least(0), "Ridge of the discriminants, as a share of the variances; large: nearest means."
    )

    _attrs = [
        attr(
            "tree_",
            "ObliqueTree",
            "`tree` (scikit-learn's arrays; feature p + k: direction k), `directions`, `centres`.",
        )
    ]

    def _stages(self) -> Iterator[tuple[float, dict[str, Any]]]:
        """The impurity and the tree after each split."""
        for impurity, split in stages(self.tree_.tree):
            yield impurity, {"tree_": self.tree_._replace(tree=pruned(self.tree_.tree, split))}

    def _grow(self, X: Array, w: Array, target: Array, sums: Array, criterion: Any, unit: float) -> None:
        """The tree of these rows, whose weights w are in units of a case."""
        power = shrunk_powers(X)
        X = X / power
        centres = column_means(X, w)
        depth = np.inf if self.max_depth is None else self.max_depth
        least = max(2, self.min_samples_split, 2 * self.min_samples_leaf)
        gain = float(self.min_impurity_decrease * w.sum())
        growth = ObliqueGrowth(
            max_depth=depth, min_rows_split=least, min_rows_leaf=self.min_samples_leaf, min_gain=gain, ridge=self.ridge
        )
        tree, directions = grow_oblique(without_gaps(X, centres), w, target, sums, criterion, growth)
        tree = weighed(prune_cost_complexity(tree, self.ccp_alpha), unit)
        single = (tree.feature >= 0) & (tree.feature < len(power))
        threshold = tree.threshold * np.where(single, power[np.where(single, tree.feature, 0)], 1.0)
        self.tree_ = ObliqueTree(tree._replace(threshold=threshold), directions / power, centres * power)

    def apply(self, X: Any) -> Any:
        """The leaf in which each row ends."""
        return self._after_fit()._map_rows(X, leaf_numbers, self.tree_)


class ObliqueTreeClassifier(ClassifierMixin, _ObliqueTree):
    r"""Classification tree whose splits are Fisher's linear discriminants.

    .. math:: w^Tx \le t,\qquad w = (S_W + \lambda D)^{-1}(\mu_1 - \mu_0)

    Notes
    -----
    Each class in turn is set against the others (Fisher), and the principal axes of each class are tried; the best
    threshold is taken on every projection and every single feature, of equals the single feature. Nodes of less weight
    than two for each varying feature use single features only. Missing values count as the mean of their column. Cost:
    p² n + K p³ + K p n log n a node; rows are held in memory.
    Weights are relative; a node is wide enough for directions if its number of cases, weights in units of the smallest
    one (or of their mean, if they are no multiples of it), is twice that of its features.

    References
    ----------
    Murthy, Kasif, Salzberg (1994), doi:10.1613/jair.63; López-Chau et al. (2013), doi:10.1016/j.eswa.2013.05.044.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.tree import ObliqueTreeClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = ObliqueTreeClassifier(max_depth=1).fit(X, X[:, 0] + X[:, 1] > 0)
    >>> model.score(X, X[:, 0] + X[:, 1] > 0) > 0.95
    True
    """

    criterion: str = param("gini", one_of("gini", "entropy", "log_loss"), "Impurity by which splits are chosen.")
    class_weight: Any = param(
        None, [dict, one_of("balanced"), none], "Weights of the classes; 'balanced': equal in sum."
    )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "ObliqueTreeClassifier":
        """Grow the tree from rows X with labels y; limits that count rows do so whatever their sample_weight."""
        rows = self._rows(X, y, sample_weight, target="labels")
        self.classes_ = rows.reduce(label_counts).values
        with FitProgress(self, X=X, y=y):
            X, y, w = rows.gather(np.float64)
            codes = label_codes(y, self.classes_)
            w, unit = in_cases(weigh_classes(self.class_weight, codes[:, None], [self.classes_], w))
            sums = np.eye(len(self.classes_))[codes] * w[:, None]
            self._grow(X, w, codes, sums, CLASSIFICATION[self.criterion](), unit)
        return self

    def predict(self, X: Any) -> Any:
        """The most frequent label in each row's leaf."""
        return self._after_fit()._map_rows(X, leaf_labels, self.tree_, self.classes_)

    def predict_proba(self, X: Any) -> Any:
        """Fractions of the classes (n, K) in each row's leaf."""
        return self._after_fit()._map_rows(X, leaf_shares, self.tree_)


class ObliqueTreeRegressor(RegressorMixin, _ObliqueTree):
    r"""Regression tree whose splits are linear functions, fitted by ridge regression at every node.

    .. math:: w^Tx \le t,\qquad w = (S + \lambda D)^{-1} \mathrm{cov}(x, y)

    Notes
    -----
    Beside the direction of the ridge regression, Fisher's direction between the targets above and below their mean is
    tried, the principal axes of those two groups, and every single feature. Missing values count as the mean of their
    column. Cost: p² n + p³ + p n log n a node; rows are held in memory.
    Weights are relative; a node is wide enough for directions if its number of cases, weights in units of the smallest
    one (or of their mean, if they are no multiples of it), is twice that of its features.

    References
    ----------
    Murthy, Kasif, Salzberg (1994), doi:10.1613/jair.63; Breiman et al. (1984), doi:10.1201/9781315139470.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.tree import ObliqueTreeRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = ObliqueTreeRegressor(max_depth=1).fit(X, 1.0 * (X[:, 0] + X[:, 1] > 0))
    >>> model.score(X, X[:, 0] + X[:, 1] > 0) > 0.8
    True
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "ObliqueTreeRegressor":
        """Grow the tree from rows X with targets y; limits that count rows do so whatever their sample_weight."""
        rows = self._rows(X, y, sample_weight, target="numeric")
        with FitProgress(self, X=X, y=y):
            X, y, w = rows.gather(np.float64)
            refuse_huge(y)
            w, unit = in_cases(w)
            mean = np.average(y, weights=w)  # squares of what is left do not cancel
            self._grow(X, w, y - mean, np.column_stack([w * (y - mean), w]), SquaredError(), unit)
            tree = self.tree_.tree
            self.tree_ = self.tree_._replace(tree=tree._replace(value=tree.value + mean))
        return self

    def predict(self, X: Any) -> Any:
        """The mean of each row's leaf."""
        return self._after_fit()._map_rows(X, leaf_means, self.tree_)
