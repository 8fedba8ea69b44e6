"""Forests of classification and of regression trees: fitting, combining the trees, out-of-bag estimates."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from didact.core.backend import float_type, local
from didact.core.categories import encode_some
from didact.core.errors import ParameterError, users_level
from didact.core.estimator import tagged
from didact.core.parameters import attr, is_bool, none, one_of, param
from didact.core.typing import Array
from didact.core.validation import SQUARES, SUMS
from didact.engines.trees.growers.forest import Recipe, draw_counts
from didact.engines.trees.rows.targets import drawn_counts, label_targets, value_targets
from didact.engines.trees.tree import mean_over_others
from didact.ensemble.forest_base import _Forest
from didact.ensemble.forest_importance import PermutationImportances, permutation_importances
from didact.ensemble.forest_quantiles import collect, quantiles_of
from didact.ensemble.warm_start import continued
from didact.parts.criteria.impurity import CLASSIFICATION, REGRESSION
from didact.tree.labels import encode, weigh_classes


def mean_shares(X: Any, packed: Any, n_classes: Any) -> Any:
    """The mean of the trees' class shares or votes: (n, classes), or a list of these, one for each output."""
    sizes = n_classes if isinstance(n_classes, list) else [n_classes]
    found = packed.mean(local(X))
    if sizes == [2]:  # of two classes the pack holds the second alone
        found = np.column_stack([1.0 - found, found])
    found = found.astype(float_type(X), copy=False)
    split = [found[:, o * max(sizes) : o * max(sizes) + k] for o, k in enumerate(sizes)]
    return split if isinstance(n_classes, list) else split[0]


def log_mean_shares(X: Any, packed: Any, n_classes: Any) -> Any:
    """Logarithms of the mean shares."""
    with np.errstate(divide="ignore"):
        found = mean_shares(X, packed, n_classes)
        return [np.log(p) for p in found] if isinstance(found, list) else np.log(found)


def likely_labels(X: Any, packed: Any, n_classes: Any, classes: Any) -> Any:
    """The label of the largest mean share."""
    found = mean_shares(X, packed, n_classes)
    if isinstance(found, list):
        return np.stack([names[p.argmax(axis=1)] for names, p in zip(classes, found, strict=True)], axis=1)
    return classes[found.argmax(axis=1)]


def combined(X: Any, packed: Any, outputs: int, combine: str) -> Any:
    """The mean or the median of the trees' values."""
    kind, X = float_type(X), local(X)
    if combine == "mean":
        found = packed.mean(X)
    else:
        found = np.empty((X.shape[0], outputs))
        for start in range(0, X.shape[0], 4096):
            found[start : start + 4096] = np.median(packed.each(X[start : start + 4096]), axis=1)
    found = found.astype(kind, copy=False)
    return found[:, 0] if outputs == 1 else found


@tagged(classifier_tags__multi_label=True, target_tags__multi_output=True)
class _ForestClassifier(ClassifierMixin, _Forest):
    """Base of the forests of classification trees. Abstract."""

    criterion: str = param("gini", one_of(*CLASSIFICATION), "Impurity by which splits are chosen.")
    class_weight: Any = param(
        None,
        [dict, list, one_of("balanced", "balanced_subsample"), none],
        "Weights of the classes; 'balanced': equal in sum, in all rows or ('balanced_subsample') in each tree's draw.",
    )
    combine: str = param("mean", one_of("mean", "vote"), "Average the trees' probabilities, or count their votes.")

    _attrs = [
        attr("classes_", "(n_classes,), or a list of these", "Labels, sorted; a list if there are several outputs."),
        attr("n_classes_", "int or list of int", "Number of classes of each output."),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Grow the trees from rows X with labels y; sample_weight counts rows."""
        with continued(self, "trees_"):
            rows = self._rows(X, y, sample_weight, target="label columns", categories=self.categorical_features)
            data, labels, w = self._gathered(rows)
            codes, classes = encode(labels)
            self._set_classes(classes, labels.ndim == 2 and labels.shape[1] > 1)
        recipe = self._class_recipe(data, codes, classes, w)
        self._fit_trees(recipe, X, y)
        if self.oob_score:
            self._score_out_of_bag(data, codes, classes, labels)
        return self

    def _class_recipe(self, X: Any, codes: Array, classes: list[Array], w: Any) -> Recipe:
        """The recipe of the trees, with weights of the classes in all rows or in each draw."""
        if self.warm_start and isinstance(self.class_weight, str):
            warnings.warn(
                f"class_weight={self.class_weight!r} with warm_start weighs the classes of each call by its own rows: "
                "if these differ from call to call, give the weights of all rows as a dict.",
                UserWarning,
                stacklevel=users_level(),
            )
        each = "balanced" if self.class_weight == "balanced_subsample" else None
        w = weigh_classes(None if each else self.class_weight, codes, classes, w)
        most, criterion = max(map(len, classes)), CLASSIFICATION[self.criterion]()

        def targets(drawn: Any) -> Any:
            return label_targets(codes, most, weigh_classes(each, codes, classes, drawn), criterion)

        return self._recipe(X, w, targets, len(classes), most)

    def _set_classes(self, classes: list[Array], several: bool) -> None:
        self.n_outputs_ = len(classes)
        self.classes_ = classes if several else classes[0]
        self.n_classes_ = [len(names) for names in classes] if several else len(classes[0])

    def _score_out_of_bag(self, X: Any, codes: Array, classes: list[Array], y: Array) -> None:
        found, count = self._oob_means(X, self._node_shares())
        several = isinstance(self.classes_, list)
        self.oob_decision_function_ = np.moveaxis(found, 1, 2) if several else found[:, 0]
        seen, guess = self._with_prediction(count), found.argmax(axis=2)
        if callable(self.oob_score):
            named = np.stack([names[guess[seen, o]] for o, names in enumerate(classes)], axis=1)
            self.oob_score_ = self.oob_score(y[seen], named if several else named[:, 0])
        else:
            self.oob_score_ = float((guess[seen] == codes[seen]).all(axis=1).mean())

    def _node_shares(self) -> list[Array]:
        """Shares of the classes in every tree's nodes, or votes, (nodes, outputs, classes)."""
        eye = np.eye(self.trees_[0].max_n_classes)
        return [eye[t.value.argmax(axis=2)] if self.combine == "vote" else t.value for t in self.trees_]

    def _leaf_values(self) -> list[Array]:
        """The shares or votes; of two classes the second alone."""
        values = self._node_shares()
        second = self.n_outputs_ == 1 and values[0].shape[2] == 2
        return [v[:, 0, 1:] if second else v.reshape(len(v), -1) for v in values]

    def predict(self, X: Any) -> Any:
        """The label that the trees together find most probable."""
        return self._after_fit()._map_rows(X, likely_labels, self._pack, self.n_classes_, self.classes_)

    def predict_proba(self, X: Any) -> Any:
        """The mean of the trees' class probabilities or votes; a list of these if there are several outputs."""
        return self._after_fit()._map_rows(X, mean_shares, self._pack, self.n_classes_)

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of the class probabilities."""
        return self._after_fit()._map_rows(X, log_mean_shares, self._pack, self.n_classes_)

    def oob_permutation_importances(self, X: Any, y: Any, sample_weight: Any = None) -> PermutationImportances:
        """The increase of the out-of-bag error rate when a feature is shuffled; X, y as they were in the fit."""
        rows = self._rows(X, y, sample_weight, target="label columns", reset=False)
        data, labels, w, *_ = rows.whole()
        self._require_bootstrap(data)
        codes = encode(labels)[0]

        def errors(values: Array, rows: Array) -> Array:
            return np.asarray(values.argmax(axis=2) != codes[rows], float).mean(axis=1)

        return permutation_importances(self.trees_, data, self._out_of_bag, errors, w, self.random_state)


class _ForestRegressor(MultiOutputMixin, RegressorMixin, _Forest):
    """Base of the forests of regression trees. Abstract."""

    _largest_target = property(
        lambda self: SUMS if self.criterion == "absolute_error" and not self.oob_score else SQUARES
    )

    criterion: str = param("squared_error", one_of(*REGRESSION), "Impurity by which splits are chosen.")
    max_features: Any = param(
        1.0,
        _Forest._parameter_constraints["max_features"],
        "Features drawn at each node: a number, a share, the root or logarithm of all; None: all.",
    )
    combine: str = param("mean", one_of("mean", "median"), "How to combine the trees' predictions.")
    quantiles: bool = param(False, is_bool, "Whether to keep the targets in the leaves, for `predict_quantiles`.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Grow the trees from rows X with targets y; sample_weight counts rows."""
        with continued(self, "trees_"):
            rows = self._rows(X, y, sample_weight, target="outputs", categories=self.categorical_features)
            data, targets, w = self._gathered(rows)
            self.n_outputs_ = targets.shape[1] if targets.ndim == 2 else 1
        recipe = self._value_recipe(data, targets, w)
        self._fit_trees(recipe, X, y)
        if self.oob_score:
            self._score_out_of_bag(data, targets)
        self._keep_members(data, targets, w)
        return self

    def _value_recipe(self, X: Any, y: Array, w: Any) -> Recipe:
        """The recipe of the trees."""
        criterion = REGRESSION[self.criterion]()
        criterion.refuse(bool((y < 0).any()), np.atleast_1d(y.sum(axis=0) if w is None else w @ y))

        def values(drawn: Any) -> Any:
            counts = drawn_counts(y, w, drawn) if criterion.positive else y
            return value_targets(counts, drawn, criterion)

        return self._recipe(X, w, values, self.n_outputs_, 0)

    def _keep_members(self, X: Any, y: Array, w: Any) -> None:
        """With `quantiles`, the targets in all leaves."""
        self.__dict__.pop("_members", None)
        if self.quantiles and y.ndim == 2 and y.shape[1] > 1:
            raise ParameterError("quantiles=True needs a single output.")
        if self.quantiles:
            base = np.ones(len(y)) if w is None else w
            drawn = self._drawn
            counts = (lambda k: draw_counts(self._seeds[k], *drawn) * base) if drawn[1] else (lambda k: base)
            self._members = collect(self.trees_, X, y.reshape(len(y)), counts)

    def predict_quantiles(self, X: Any, quantiles: Any = (0.05, 0.5, 0.95)) -> Any:
        """Quantiles of the target given X, (n, quantiles), from the training targets in the leaves of each row.

        Needs ``quantiles=True`` at fit. Meinshausen (2006), Quantile regression forests.
        """
        check_is_fitted(self)
        if not hasattr(self, "_members"):
            raise ParameterError("Fit with quantiles=True first: the targets in the leaves were not kept.")
        levels = np.atleast_1d(np.asarray(quantiles, np.float64))
        if levels.ndim != 1 or not ((levels >= 0) & (levels <= 1)).all():
            raise ParameterError("quantiles must be numbers from 0 to 1.")
        return self._map_rows(X, quantiles_of, self.trees_, self._members, levels)

    def _score_out_of_bag(self, X: Any, y: Array) -> None:
        values = [tree.value for tree in self.trees_]
        found, count = (self._oob_means if self.combine == "mean" else self._oob_medians)(X, values)
        self.oob_prediction_ = found[:, 0, 0] if y.ndim == 1 else found[:, :, 0]
        seen = self._with_prediction(count)
        score = self.oob_score if callable(self.oob_score) else r2_score
        self.oob_score_ = score(y[seen], self.oob_prediction_[seen])

    def predict(self, X: Any) -> Any:
        """The mean or median of the trees' predictions."""
        return self._after_fit()._map_rows(X, combined, self._pack, self.n_outputs_, self.combine)

    def _compute_partial_dependence_recursion(self, grid: Any, target_features: Array) -> Array:
        """What `sklearn.inspection.partial_dependence` asks: the mean prediction at each point of some features."""
        if self.combine != "mean":
            raise ParameterError(f"With combine={self.combine!r} the trees do not add up: use method='brute'.")
        points = encode_some(self.categories_, grid, target_features)
        return np.mean([mean_over_others(tree, points, target_features)[:, 0] for tree in self.trees_], axis=0)

    def oob_permutation_importances(self, X: Any, y: Any, sample_weight: Any = None) -> PermutationImportances:
        """The increase of the out-of-bag squared error when a feature is shuffled; X, y as they were in the fit."""
        rows = self._rows(X, y, sample_weight, target="outputs", reset=False)
        data, targets, w, *_ = rows.whole()
        self._require_bootstrap(data)
        Y = targets[:, None] if targets.ndim == 1 else targets

        def errors(values: Array, rows: Array) -> Array:
            return ((values[:, :, 0] - Y[rows]) ** 2).mean(axis=1)

        return permutation_importances(self.trees_, data, self._out_of_bag, errors, w, self.random_state)
