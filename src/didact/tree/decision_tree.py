r"""Classification and regression trees (CART).

From the root on, each node takes the test ``x_j ≤ t`` (or ``x_j in some categories``) that lowers the impurity most,

.. math:: \Delta = i(S) - \frac{W_l}{W} i(S_l) - \frac{W_r}{W} i(S_r),

and each part is divided anew until a limit or a pure node is reached. A leaf predicts the shares of its classes, its
mean, or (absolute error) its median. Missing values are tried on both sides of every threshold; categories are ordered
by their mean target, which finds the best set for two classes and for regression (for more classes the order by the
share of each class is tried in turn). A grown tree is cut back by `ccp_alpha` or, on held-out rows, by `prune`.

Cost: sorting n p log n once, then about 2 n p a level. Breiman, Friedman, Olshen, Stone (1984), Classification and
regression trees, doi:10.1201/9781315139470.
"""

from typing import Any

import numpy as np
import sklearn.tree as theirs
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from didact.core.backend import float_type, local, refuse_no_rows
from didact.core.categories import encode_some
from didact.core.errors import InputError
from didact.core.estimator import tagged
from didact.core.parameters import attr, none, one_of, param
from didact.core.progress import FitProgress
from didact.core.typing import Array
from didact.core.validation import SQUARES, SUMS
from didact.engines.trees.growers.blocks import coded_rows
from didact.engines.trees.growers.passes import Collection, target_sums, tree_of_labels, tree_of_values
from didact.engines.trees.pruning import NO_VALIDATION_ROWS, prune_cost_complexity, prune_reduced_error
from didact.engines.trees.rows.targets import label_targets, value_targets
from didact.engines.trees.tree import Tree, leaf_values, mean_over_others, weighed
from didact.parts.criteria.impurity import CLASSIFICATION, REGRESSION
from didact.parts.statistics.counts import label_counts
from didact.parts.statistics.counts import weigh_classes as class_factors
from didact.tree.labels import encode, weigh_classes
from didact.tree.tree_base import _TreeModel, weights_in_cases


def class_shares(X: Any, tree: Tree, n_classes: Any) -> Any:
    """Class probabilities: (n, classes), or a list of these, one for each output."""
    found = leaf_values(tree, local(X)).astype(float_type(X), copy=False)
    if isinstance(n_classes, list):
        return [found[:, o, :k] for o, k in enumerate(n_classes)]
    return found[:, 0]


def labels(X: Any, tree: Tree, classes: Any) -> Any:
    """The most frequent label in each row's leaf; (n, outputs) if there are several outputs."""
    codes = tree.value.argmax(axis=2)[tree.apply(local(X))]
    if isinstance(classes, list):
        return np.stack([names[codes[:, o]] for o, names in enumerate(classes)], axis=1)
    return classes[codes[:, 0]]


def means(X: Any, tree: Tree) -> Any:
    """The value of each row's leaf."""
    found = leaf_values(tree, local(X))[:, :, 0].astype(float_type(X), copy=False)
    return found[:, 0] if tree.n_outputs == 1 else found


@tagged(classifier_tags__multi_label=True, target_tags__multi_output=True)
class _TreeClassifier(ClassifierMixin, _TreeModel):
    """Base of the classification trees. Abstract."""

    criterion: str = param("gini", one_of(*CLASSIFICATION), "Impurity by which splits are chosen.")
    class_weight: Any = param(
        None,
        [dict, list, one_of("balanced"), none],
        "Weights of the classes, one dict for each output if there are several; 'balanced': equal in sum.",
    )

    _attrs = [
        attr("classes_", "(n_classes,), or a list of these", "Labels, sorted; a list if there are several outputs."),
        attr("n_classes_", "int or list of int", "Number of classes of each output."),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, check_input: bool = True) -> Any:
        """Grow the tree from rows X with labels y; limits that count rows do so whatever their sample_weight.

        Input is checked whatever `check_input` says.
        """
        rows = self._rows(X, y, sample_weight, target="label columns", categories=self.categorical_features)
        with FitProgress(self, X=X, y=y):
            data = self._collection(rows)
            found = None if data is None else self._in_passes(data)
            self.tree_, classes = self._in_memory(rows, data) if found is None else found
        self.n_outputs_ = len(classes)
        several = rows.y_ndim == 2 and rows.n_targets > 1
        self.classes_ = classes if several else classes[0]
        self.n_classes_ = [len(names) for names in classes] if several else len(classes[0])
        return self

    def _in_memory(self, rows: Any, data: Collection | None) -> tuple[Tree, list[Array]]:
        """The tree and the labels of each output from rows that are gathered, a collection's as codes."""
        X, y, w = rows.whole()[:3] if data is None else coded_rows(rows, data.bins)
        codes, classes = encode(y)
        w, unit = weights_in_cases(weigh_classes(self.class_weight, codes, classes, w))
        most = max(len(names) for names in classes)
        targets = label_targets(codes, most, w, CLASSIFICATION[self.criterion]())
        return weighed(self._grow(X, targets, float(len(codes) if w is None else w.sum()), most), unit), classes

    def _in_passes(self, data: Collection) -> tuple[Tree, list[Array]] | None:
        """The tree and the labels of each output, by one pass per level; None if the tree may become too large."""
        if data.rows.y_ndim == 2:
            return None
        counts = data.rows.reduce(label_counts)
        given = self.class_weight[0] if isinstance(self.class_weight, list) else self.class_weight
        factors = class_factors(given, counts)
        factors = np.ones(len(counts.values)) if factors is None else factors
        limits = self._limits(data.n_rows, data.rows.n_features, float(counts.weights @ factors))
        if not (factors > 0).all() or not data.fits(limits, len(factors)):
            return None
        signs = self._signs(data.rows.n_features, 1, len(factors))
        criterion, seed = CLASSIFICATION[self.criterion](), self._seed()
        tree = tree_of_labels(data, counts.values, counts.weights, factors, criterion, limits, seed, signs)
        return prune_cost_complexity(tree, self.ccp_alpha), [counts.values]

    def predict(self, X: Any, check_input: bool = True) -> Any:
        """The most frequent label in each row's leaf."""
        return self._after_fit()._map_rows(X, labels, self.tree_, self.classes_)

    def predict_proba(self, X: Any, check_input: bool = True) -> Any:
        """The shares of the classes in each row's leaf; a list of these if there are several outputs."""
        return self._after_fit()._map_rows(X, class_shares, self.tree_, self.n_classes_)

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of the class probabilities."""
        return self._after_fit()._map_rows(X, _log_shares, self.tree_, self.n_classes_)

    def prune(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Cut the fitted tree back to the subtree with the fewest errors on held-out rows X, y (reduced error)."""
        check_is_fitted(self)
        refuse_no_rows(X, NO_VALIDATION_ROWS)
        rows = self._rows(X, y, sample_weight, target="label columns", reset=False)
        X, y, w, *_ = rows.whole()
        named = self.classes_ if isinstance(self.classes_, list) else [self.classes_]
        codes = [_known_codes(c, names) for c, names in zip(y.T if y.ndim == 2 else [y], named, strict=True)]
        if any((c < 0).all() for c in codes):
            raise InputError("None of the held-out labels was there at fit: the tree would be cut to one leaf.")
        guess, weights = self.tree_.value.argmax(axis=2), np.ones(len(y)) if w is None else w

        def wrong(rows: Array, nodes: Array) -> Array:
            errors = sum(np.asarray(guess[nodes, o] != c[rows], float) for o, c in enumerate(codes))
            return np.asarray(errors) * weights[rows]

        self.tree_ = prune_reduced_error(self.tree_, X, wrong)
        return self


def _known_codes(y: Array, names: Array) -> Array:
    """The code of each label, −1 for one that the tree does not know: an error wherever it ends."""
    place = np.minimum(np.searchsorted(names, y), len(names) - 1)
    return np.where(names[place] == y, place, -1)


def _log_shares(X: Any, tree: Tree, n_classes: Any) -> Any:
    found = class_shares(X, tree, n_classes)
    with np.errstate(divide="ignore"):
        return [np.log(p) for p in found] if isinstance(found, list) else np.log(found)


class _TreeRegressor(MultiOutputMixin, RegressorMixin, _TreeModel):
    """Base of the regression trees. Abstract."""

    _largest_target = property(lambda self: SUMS if self.criterion == "absolute_error" else SQUARES)

    criterion: str = param("squared_error", one_of(*REGRESSION), "Impurity by which splits are chosen.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, check_input: bool = True) -> Any:
        """Grow the tree from rows X with targets y; limits that count rows do so whatever their sample_weight.

        Input is checked whatever `check_input` says.
        """
        rows = self._rows(X, y, sample_weight, target="outputs", categories=self.categorical_features)
        with FitProgress(self, X=X, y=y):
            data = self._collection(rows)
            found = None if data is None else self._in_passes(data)
            self.tree_ = self._in_memory(rows, data) if found is None else found
        self.n_outputs_ = self.tree_.n_outputs
        return self

    def _in_memory(self, rows: Any, data: Collection | None) -> Tree:
        """The tree of rows that are gathered, a collection's as codes."""
        X, y, w = rows.whole()[:3] if data is None else coded_rows(rows, data.bins)
        w, unit = weights_in_cases(w)
        targets = value_targets(y, w, REGRESSION[self.criterion]())
        return weighed(self._grow(X, targets, float(len(y) if w is None else w.sum()), 0), unit)

    def _in_passes(self, data: Collection) -> Tree | None:
        """The tree of a collection, by one pass per level; None if the tree may become too large for that."""
        sums, p = data.rows.reduce(target_sums), data.rows.n_features
        limits, outputs = self._limits(data.n_rows, p, sums.parts[0]), len(sums.parts[1])
        if not data.fits(limits, outputs + 1):
            return None
        noun: Any = REGRESSION[self.criterion]
        criterion = noun(outputs)
        tree = tree_of_values(data, sums, criterion, limits, self._seed(), self._signs(p, outputs, 0))
        return prune_cost_complexity(tree, self.ccp_alpha)

    def _compute_partial_dependence_recursion(self, grid: Any, target_features: Array) -> Array:
        """What `sklearn.inspection.partial_dependence` asks: the mean value at each point of some features."""
        points = encode_some(self.categories_, grid, target_features)
        return mean_over_others(self.tree_, points, target_features)[:, 0]

    def predict(self, X: Any, check_input: bool = True) -> Any:
        """The mean (absolute error: the median) of each row's leaf."""
        return self._after_fit()._map_rows(X, means, self.tree_)

    def prune(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Cut the fitted tree back to the subtree with the least error on held-out rows X, y (reduced error)."""
        check_is_fitted(self)
        refuse_no_rows(X, NO_VALIDATION_ROWS)
        rows = self._rows(X, y, sample_weight, target="outputs", reset=False)
        X, y, w, *_ = rows.whole()
        Y, value = (y[:, None] if y.ndim == 1 else y), self.tree_.value[:, :, 0]
        if Y.shape[1] != value.shape[1]:
            raise InputError(f"y has {Y.shape[1]} outputs, but the tree has {value.shape[1]}.")
        weights, absolute = np.ones(len(Y)) if w is None else w, self.criterion == "absolute_error"

        def loss(rows: Array, nodes: Array) -> Array:
            distance = np.abs(value[nodes] - Y[rows])
            return weights[rows] * (distance if absolute else distance**2).sum(axis=1)

        self.tree_ = prune_reduced_error(self.tree_, X, loss)
        return self


@theirs.DecisionTreeClassifier.register  # so that `sklearn.tree.plot_tree` and its kin take it
class DecisionTreeClassifier(_TreeClassifier):
    r"""A classification tree: a leaf predicts the shares of the classes that ended in it.

    Gini :math:`1 - \sum_k p_k^2`, entropy :math:`-\sum_k p_k \log_2 p_k`, misclassification :math:`1 - \max_k p_k`.

    Notes
    -----
    Cost: n p log n for sorting, then about 2 n p a level, without another sort; with bins at most n p a level, on all
    threads, for the columns that vary in a node. Of two splits of equal gain the one on the feature that comes first
    counts, so the fit does not depend on `random_state` unless features or thresholds are drawn. Missing values and
    categories need no preparation. Batches and Dask collections of more than 131,072 rows, or with a number of bins,
    are read as bins: one pass a level if the depth or the number of leaves is limited, so that only histograms are in
    memory; else one byte a value is gathered. Shape of computation: iterate.

    References
    ----------
    Breiman, Friedman, Olshen, Stone (1984), doi:10.1201/9781315139470.

    Examples
    --------
    >>> from didact.tree import DecisionTreeClassifier
    >>> model = DecisionTreeClassifier().fit([[1.0], [2.0], [4.0], [6.0]], ["no", "no", "yes", "yes"])
    >>> model.tree_.threshold[0], model.predict([[2.5], [3.5]]).tolist()
    (np.float64(3.0), ['no', 'yes'])
    """

    _test_params = [
        {},
        {"max_leaf_nodes": 8, "criterion": "entropy"},
        {"max_features": 0.7, "random_state": 0},
    ]


@theirs.DecisionTreeRegressor.register
class DecisionTreeRegressor(_TreeRegressor):
    r"""A regression tree: a leaf predicts the mean of its rows, or their median with the absolute error.

    Squared error :math:`\sum_i w_i(y_i-\bar y)^2/W`, absolute error :math:`\sum_i w_i|y_i-\mathrm{med}|/W`, Poisson
    deviance :math:`\sum_i w_i y_i\log(y_i/\bar y)/W`; "friedman_mse" is another name of the squared error's gain.

    Notes
    -----
    Cost: n p log n for sorting, then about 2 n p a level; with medians n p log n a level. Of two splits of equal gain
    the one on the feature that comes first counts. Batches and Dask collections as for `DecisionTreeClassifier`; the
    absolute error gathers all rows. Shape of computation: iterate.

    References
    ----------
    Breiman, Friedman, Olshen, Stone (1984), doi:10.1201/9781315139470.

    Examples
    --------
    >>> from didact.tree import DecisionTreeRegressor
    >>> model = DecisionTreeRegressor(max_depth=1).fit([[1.0], [2.0], [4.0], [6.0]], [1.0, 1.5, 7.0, 8.0])
    >>> model.predict([[0.0], [9.0]]).tolist()
    [1.25, 7.5]
    """

    _test_params = [{}, {"max_leaf_nodes": 8}, {"max_features": 0.7, "random_state": 0}]
