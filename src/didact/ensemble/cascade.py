r"""Cascade: models in order of their cost; a row is answered by the first one that is confident enough.

Stage l is fitted to the training rows on which the stages before it were not confident (or to all of them, if that
serves the held-out rows better), and answers a row if its
largest probability is at least :math:`\theta_l`. Thresholds are chosen on held-out rows: :math:`\theta_l` is the least
for which the rows that stage l answers are answered with the accuracy that is asked for. With reach :math:`\rho_l`,
the share of rows that get as far as stage l, the mean cost of a row is :math:`\sum_l \rho_l c_l`.

Alpaydin, Kaynak (1998), Cascading classifiers, Kybernetika 34; Viola, Jones (2001), Rapid object detection using a
boosted cascade of simple features, doi:10.1109/CVPR.2001.990517.
"""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from didact.core.errors import ParameterError
from didact.core.estimator import Estimator
from didact.core.meta import IN_MEMORY, WEIGHTED_SPLITS, OfSeveral, fit_model, row_params, seeded
from didact.core.parameters import array_like, attr, between, none, one_of, param, random_state
from didact.core.random import streams
from didact.core.typing import Array
from didact.core.validation import require_table
from didact.ensemble.combine import class_probabilities
from didact.ensemble.held_out import split_rows
from didact.tree import DecisionTreeClassifier

FEW = 20  # rows that are left over must be at least this many, of two classes, to fit a stage to them alone


def least_threshold(confidence: Array, right: Array, w: Array, accuracy: float) -> float:
    """The least θ for which the rows with confidence ≥ θ are right with this accuracy; inf if there is none."""
    order = np.argsort(-confidence, kind="stable")
    c, reached = confidence[order], np.cumsum((w * right)[order]) / np.maximum(np.cumsum(w[order]), 1e-300)
    last = np.append(c[1:] < c[:-1], True)  # rows of equal confidence are answered together
    good = np.flatnonzero(last & (reached >= accuracy - 1e-12))
    return float(c[good[-1]]) if len(good) else np.inf


ROUNDING = 1e-6  # a threshold is a confidence that was met, and may meet it again in single precision


def _share(right: Array, w: Array) -> float:
    """The weighted share of what is right; NaN if there is nothing."""
    return float(np.average(right, weights=w)) if len(w) else np.nan


def walk(X: Any, models: list[Any], thresholds: Array, n_classes: int) -> tuple[Array, Array]:
    """Probabilities (n, K) from the stage that answers each row, and its number (n,)."""
    out, stage = np.empty((X.shape[0], n_classes)), np.zeros(X.shape[0], np.int64)
    left = np.arange(X.shape[0])
    for number, (model, threshold) in enumerate(zip(models, thresholds, strict=True)):
        P = class_probabilities(model, X[left], n_classes)
        sure = P.max(axis=1, initial=0.0) >= threshold - ROUNDING
        out[left[sure]], stage[left[sure]] = P[sure], number
        left = left[~sure]
        if not len(left):
            break
    return out, stage


def probabilities(X: Any, models: list[Any], thresholds: Array, classes: Array) -> Array:
    """Probabilities from the stage that answers each row."""
    return walk(X, models, thresholds, len(classes))[0].astype(X.dtype, copy=False)


def labels(X: Any, models: list[Any], thresholds: Array, classes: Array) -> Array:
    """The class that the answering stage finds most probable."""
    return classes[walk(X, models, thresholds, len(classes))[0].argmax(axis=1)]


def stages(X: Any, models: list[Any], thresholds: Array, classes: Array) -> Array:
    """The stage that answers each row."""
    return walk(X, models, thresholds, len(classes))[1]


class CascadeClassifier(OfSeveral, ClassifierMixin, Estimator):
    r"""Classifiers from cheap to dear: each answers the rows of which it is sure and hands on the others.

    .. math:: h(x) = h_l(x),\quad l = \min\{l : \max_k P_l(k\mid x) \ge \theta_l\}

    Notes
    -----
    Cost: two fits for each stage, and one more of the last. A stage for which too few rows, or one class, are left is
    fitted to all training rows. Shape of computation: stages in turn.

    References
    ----------
    Viola, Jones (2001), doi:10.1109/CVPR.2001.990517.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from didact.ensemble import CascadeClassifier
    >>> from didact.linear_model import LogisticRegression
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> stages = [("linear", LogisticRegression(C=0.001)), ("neighbours", KNeighborsClassifier(3))]
    >>> model = CascadeClassifier(stages, costs=[1, 50], accuracy=0.99, random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.95, model.mean_cost_ < 10
    (True, True)
    """

    _test_params = [{"random_state": 0}]
    _test_skips = {**IN_MEMORY, **WEIGHTED_SPLITS}

    estimators: Any = param(
        None, [list, none], "Pairs (name, classifier with probabilities), cheap first; None: trees of depth 1, 3, any."
    )
    costs: Any = param(None, [array_like, none], "Cost of asking each stage about a row; None: 1.")
    thresholds: Any = param(
        None, [array_like, none], "Least confidences of all stages but the last; None: choose them."
    )
    accuracy: Any = param(
        None,
        [between(0, 1), none],
        "Held-out accuracy that early answers must reach; None: that of the last stage alone.",
    )
    train_on: str = param(
        "auto",
        one_of("auto", "rest", "all"),
        "Fit a stage to the training rows that are left over, or to all; 'auto': what is better on held-out rows.",
    )
    validation_fraction: float = param(0.2, between(0, 1, "neither"), "Share of the rows that is held out.")
    random_state: Any = param(None, random_state, "Seed of the split and of the models.")

    _attrs = [
        attr("estimators_", "list of models", "The fitted stages; they know the classes by their numbers 0 … K−1."),
        attr("thresholds_", "(n_stages,)", "Least confidence with which each stage answers; the last answers all."),
        attr("stage_shares_", "(n_stages,)", "Share of the held-out rows that each stage answers."),
        attr("stage_accuracies_", "(n_stages,)", "Held-out accuracy of each stage's answers; NaN where it has none."),
        attr("stage_costs_", "(n_stages,)", "Cost of asking each stage about a row."),
        attr("mean_cost_", "float", "Mean cost of a held-out row."),
    ]

    def _models(self) -> list[tuple[str, Any]]:
        if self.estimators is not None:
            return self.estimators
        return [(f"depth {d}", DecisionTreeClassifier(max_depth=d)) for d in (1, 3, None)]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> "CascadeClassifier":
        """Fit to rows X with labels y; sample_weight counts rows, other metadata go to the models by their names."""
        pairs, params = self._checked_models(), self._routed_each(fit_params)
        X, y, w = self._training(X, y, sample_weight, target="labels")
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.stage_costs_ = self._numbers(self.costs, "costs", len(pairs), np.ones(len(pairs)))
        split, *seeds = streams(self.random_state, len(pairs) + 2)
        train, held = split_rows(codes, w, self.validation_fraction, split)

        def fit_stage(number: int, rows: Array) -> Any:
            (name, model), part = pairs[number], None if w is None else w[rows]
            some = row_params(X, rows, params[name])
            return fit_model(seeded(model, seeds[number]), X[rows], codes[rows], part, some)

        self._fit_stages(fit_stage, X, codes, np.ones(len(codes)) if w is None else w, train, held)
        return self

    def _fit_stages(self, fit_stage: Any, X: Any, codes: Array, w: Array, train: Array, held: Array) -> None:
        """Fit the stages in turn, choose their thresholds and count."""
        last, K = len(self.stage_costs_) - 1, len(self.classes_)
        given = self._numbers(self.thresholds, "thresholds", last, None)

        def accuracy(model: Any, rows: Array) -> float:
            return _share(class_probabilities(model, X[rows], K).argmax(axis=1) == codes[rows], w[rows])

        goal = accuracy(fit_stage(last, train), held) if given is None and self.accuracy is None else self.accuracy
        models, thresholds, shares, accuracies = [], [], [], []
        left, rest, total = train, held, w[held].sum()
        for number in range(last + 1):
            model = max((fit_stage(number, rows) for rows in self._rows_of(left, train, codes)),
                        key=lambda model: accuracy(model, rest))  # fmt: skip
            P = class_probabilities(model, X[rest], K)
            confidence, right, threshold = P.max(axis=1, initial=0.0), P.argmax(axis=1) == codes[rest], 0.0
            if number < last:
                threshold = least_threshold(confidence, right, w[rest], goal) if given is None else given[number]
            sure = confidence >= threshold - ROUNDING
            models.append(model)
            thresholds.append(threshold)
            shares.append(w[rest][sure].sum() / total)
            accuracies.append(_share(right[sure], w[rest][sure]))
            rest = rest[~sure]
            left = left[class_probabilities(model, X[left], K).max(axis=1, initial=0.0) < threshold]
        self.estimators_, self.thresholds_ = models, np.asarray(thresholds)
        self.stage_shares_, self.stage_accuracies_ = np.asarray(shares), np.asarray(accuracies)
        reach = 1.0 - np.concatenate([[0.0], np.cumsum(self.stage_shares_)[:-1]])
        self.mean_cost_ = float(reach @ self.stage_costs_)

    def _rows_of(self, left: Array, train: Array, codes: Array) -> list[Array]:
        """The rows that a stage is fitted to; of several possibilities the best on held-out rows counts."""
        if len(left) == len(train) or len(left) < FEW or len(np.unique(codes[left])) < 2 or self.train_on == "all":
            return [train]
        return [left] if self.train_on == "rest" else [left, train]

    def _numbers(self, values: Any, name: str, count: int, default: Any) -> Any:
        if values is None:
            return default
        values = np.asarray(values, np.float64)
        if values.shape != (count,) or not (values >= 0).all():
            raise ParameterError(f"{name} must be {count} numbers of at least 0, one for each stage; got {values}.")
        return values

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes from the stage that answers."""
        return self._after_fit()._map_rows(X, probabilities, self.estimators_, self.thresholds_, self.classes_)

    def predict(self, X: Any) -> Any:
        """The class that the answering stage finds most probable."""
        return self._after_fit()._map_rows(X, labels, self.estimators_, self.thresholds_, self.classes_)

    def predict_stage(self, X: Any) -> Any:
        """The number of the stage that answers each row, from 0."""
        return self._after_fit()._map_rows(X, stages, self.estimators_, self.thresholds_, self.classes_)

    def cost(self, X: Any) -> Array:
        """The cost of each row: that of all stages up to the one that answers."""
        require_table(X, "cost")
        return np.cumsum(self.stage_costs_)[self.predict_stage(X)]
