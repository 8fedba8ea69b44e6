r"""Bagging of classifiers (mean probability or vote) and of regressors (mean or median); see `bagging_base`.

Breiman (1996), Bagging predictors, doi:10.1007/BF00058655.
"""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from didact.core.meta import IN_MEMORY, WEIGHTED_DRAWS
from didact.core.parameters import attr, one_of, param
from didact.core.typing import Array
from didact.ensemble.bagging_base import _Bagging
from didact.ensemble.combine import class_decisions, class_probabilities, grouped_sum, nan_mean, nan_median
from didact.ensemble.warm_start import continued
from didact.tree import DecisionTreeClassifier, DecisionTreeRegressor

OTHER_COLUMNS = {
    f"constant_columns/{check}:max_features": "With one more column, other columns are drawn."
    for check in ("constant", "zeros")
}


def probabilities(X: Any, models: list[Any], features: list[Array], n_classes: int, how: str) -> Array:
    """Mean probabilities, or shares of the votes, (n, K)."""

    def one(task: tuple[Any, Array]) -> Array:
        return class_probabilities(task[0], X[:, task[1]], n_classes, how)

    return (grouped_sum(one, list(zip(models, features, strict=True))) / len(models)).astype(X.dtype, copy=False)


def log_probabilities(X: Any, *how: Any) -> Array:
    """Logarithms of the probabilities; −∞ for none."""
    with np.errstate(divide="ignore"):
        return np.log(probabilities(X, *how))


def labels(X: Any, models: list[Any], features: list[Array], n_classes: int, how: str, classes: Array) -> Array:
    """The class of the highest probability."""
    return classes[probabilities(X, models, features, n_classes, how).argmax(axis=1)]


def decisions(X: Any, models: list[Any], features: list[Array], n_classes: int) -> Array:
    """The mean of the decision values."""

    def one(task: tuple[Any, Array]) -> Array:
        return class_decisions(task[0], X[:, task[1]], n_classes)

    return (grouped_sum(one, list(zip(models, features, strict=True))) / len(models)).astype(X.dtype, copy=False)


def numbers(X: Any, models: list[Any], features: list[Array], how: str) -> Array:
    """The mean or the median of the predictions."""

    def one(task: tuple[Any, Array]) -> Array:
        return np.asarray(task[0].predict(X[:, task[1]]), np.float64)

    tasks = list(zip(models, features, strict=True))
    if how == "mean":
        return (grouped_sum(one, tasks) / len(models)).astype(X.dtype, copy=False)
    return np.median([one(task) for task in tasks], axis=0).astype(X.dtype, copy=False)


def _decides(self: Any) -> bool:
    return hasattr(self.estimators_[0] if hasattr(self, "estimators_") else self._base(), "decision_function")


class BaggingClassifier(ClassifierMixin, _Bagging):
    r"""Classifiers on random draws of the rows, combined by their mean probability or by vote.

    .. math:: P(k\mid x) = \frac1L\sum_l P_l(k\mid x) \quad\text{or}\quad \frac1L\#\{l : h_l(x) = k\}

    Notes
    -----
    Cost: L fits, spread over the threads. sample_weight is the probability of a row to be drawn. A base model that
    takes weights sees a repeated row once, with its number of draws as weight. Differs from scikit-learn:
    `combine="vote"`, and out-of-bag scores also for draws without replacement. Shape of computation: map.

    References
    ----------
    Breiman (1996), doi:10.1007/BF00058655.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from didact.ensemble import BaggingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BaggingClassifier(n_estimators=50, oob_score=True, random_state=0).fit(X, y)
    >>> model.oob_score_ > 0.9
    True
    """

    _default = DecisionTreeClassifier
    _test_params = [
        {"random_state": 0},
        {"random_state": 0, "bootstrap": False, "max_samples": 0.7, "max_features": 0.8, "combine": "vote"},
    ]
    _test_skips = {**IN_MEMORY, **WEIGHTED_DRAWS, **OTHER_COLUMNS}

    combine: str = param("mean", one_of("mean", "vote"), "Average the probabilities, or count the votes.")

    _attrs = [
        attr("n_classes_", "int", "Number of classes."),
        attr("estimators_", "list of models", "The base models; they know the classes by their numbers 0 … K−1."),
        attr("oob_score_", "float", "Accuracy on rows out of bag.", when="oob_score"),
        attr(
            "oob_decision_function_",
            "(n_samples, n_classes)",
            "Probabilities from the models that have not seen the row; NaN if all have.",
            when="oob_score",
        ),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> "BaggingClassifier":
        """Fit to rows X with labels y; sample_weight weighs the draws, other metadata go to the base models."""
        with continued(self, "estimators_"):
            X, y, w = self._training(X, y, sample_weight, target="labels")
            self.classes_, codes = np.unique(y, return_inverse=True)
            self.n_classes_ = len(self.classes_)
        self._fit_draws(X, codes, w, fit_params)
        self._score_out_of_bag(X, codes)
        return self

    def _test_out_of_bag(self, X: Any, codes: Array) -> None:
        votes = self._out_of_bag(X, lambda m, rows: class_probabilities(m, rows, self.n_classes_, self.combine))
        self.oob_decision_function_ = nan_mean(votes)
        known = np.isfinite(self.oob_decision_function_[:, 0])
        self._warn_of_gaps(known)
        score = self.oob_score if callable(self.oob_score) else accuracy_score
        found = self.classes_[self.oob_decision_function_[known].argmax(axis=1)]
        self.oob_score_ = float(score(self.classes_[codes[known]], found))

    def predict_proba(self, X: Any, **params: Any) -> Any:
        """Probabilities of the classes (n, K): means, or shares of the votes."""
        return self._after_fit()._map_rows(
            X,
            probabilities,
            self._asked("predict_proba", params),
            self.estimators_features_,
            self.n_classes_,
            self.combine,
        )

    def predict_log_proba(self, X: Any, **params: Any) -> Any:
        """Logarithms of the probabilities."""
        return self._after_fit()._map_rows(
            X,
            log_probabilities,
            self._asked("predict_log_proba", params),
            self.estimators_features_,
            self.n_classes_,
            self.combine,
        )

    def predict(self, X: Any, **params: Any) -> Any:
        """The class of the highest probability, or with most votes."""
        return self._after_fit()._map_rows(
            X,
            labels,
            self._asked("predict", params),
            self.estimators_features_,
            self.n_classes_,
            self.combine,
            self.classes_,
        )

    @available_if(_decides)
    def decision_function(self, X: Any, **params: Any) -> Any:
        """The mean of the base models' decision values; a class that a draw lacked gets the lowest of its model."""
        return self._after_fit()._map_rows(
            X, decisions, self._asked("decision_function", params), self.estimators_features_, self.n_classes_
        )


class BaggingRegressor(RegressorMixin, _Bagging):
    r"""Regressors on random draws of the rows, combined by mean or median.

    .. math:: f(x) = \frac1L\sum_l f_l(x) \quad\text{or}\quad \mathrm{median}_l\, f_l(x)

    Notes
    -----
    Cost: L fits, spread over the threads. The median resists single learners that went astray. sample_weight is the
    probability of a row to be drawn. y may have several columns if the base model takes them. Differs from
    scikit-learn: `combine="median"`, and out-of-bag scores also for draws without replacement. Shape of computation:
    map.

    References
    ----------
    Breiman (1996), doi:10.1007/BF00058655.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from didact.ensemble import BaggingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggingRegressor(n_estimators=100, oob_score=True, combine="median", random_state=0).fit(X, y)
    >>> model.oob_score_ > 0.3
    True
    """

    _default = DecisionTreeRegressor
    _test_params = [
        {"random_state": 0},
        {"random_state": 0, "bootstrap": False, "max_samples": 0.7, "max_features": 0.8, "combine": "median"},
    ]
    _test_skips = {**IN_MEMORY, **WEIGHTED_DRAWS, **OTHER_COLUMNS}

    combine: str = param("mean", one_of("mean", "median"), "How to combine the predictions.")

    _attrs = [
        attr("estimators_", "list of models", "The fitted base models."),
        attr("oob_score_", "float", "R² on rows out of bag.", when="oob_score"),
        attr(
            "oob_prediction_",
            "(n_samples[, n_outputs])",
            "Predictions of the models that have not seen the row; NaN if all have.",
            when="oob_score",
        ),
        attr("n_outputs_", "int", "Number of outputs."),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> "BaggingRegressor":
        """Fit to rows X with targets y; sample_weight weighs the draws, other metadata go to the base models."""
        with continued(self, "estimators_"):
            several = get_tags(self._base()).target_tags.multi_output
            X, y, w = self._training(X, y, sample_weight, target="outputs" if several else "numeric")
            self.n_outputs_ = y.shape[1] if y.ndim == 2 else 1
        self._fit_draws(X, y, w, fit_params)
        self._score_out_of_bag(X, y)
        return self

    def _test_out_of_bag(self, X: Any, y: Array) -> None:
        found = self._out_of_bag(X, lambda model, rows: np.asarray(model.predict(rows), np.float64))
        self.oob_prediction_ = nan_mean(found) if self.combine == "mean" else nan_median(found)
        known = np.isfinite(self.oob_prediction_.reshape(len(y), -1)).all(axis=1)
        self._warn_of_gaps(np.asarray(known))
        score = self.oob_score if callable(self.oob_score) else r2_score
        self.oob_score_ = float(score(y[known], self.oob_prediction_[known]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = get_tags(self._base()).target_tags.multi_output
        return tags

    def predict(self, X: Any, **params: Any) -> Any:
        """The mean or the median of the base models' predictions."""
        return self._after_fit()._map_rows(
            X, numbers, self._asked("predict", params), self.estimators_features_, self.combine
        )
