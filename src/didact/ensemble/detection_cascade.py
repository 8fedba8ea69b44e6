r"""A cascade of boosted stumps that finds rare positives, in the manner of Viola and Jones.

Every stage is an AdaBoost ensemble of stumps whose threshold is lowered until it detects a share of at least d of the
held-out positives; stumps are added until at most a share f of the held-out negatives that reach the stage pass it.
Negatives that are rejected are never seen again, and each stage learns from those that still pass. After S stages about
:math:`d^S` of the positives and :math:`f^S` of the negatives are left, and most negatives cost a few stumps only.

Viola, Jones (2001), Rapid object detection using a boosted cascade of simple features, doi:10.1109/CVPR.2001.990517.
"""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from didact.core.errors import InputError
from didact.core.estimator import Estimator, tagged
from didact.core.meta import IN_MEMORY, WEIGHTED_SPLITS, OfModels
from didact.core.parameters import attr, between, has, none, param, random_state, whole
from didact.core.random import streams
from didact.core.typing import Array
from didact.core.validation import require_table
from didact.ensemble.adaboost import boost
from didact.ensemble.held_out import split_rows
from didact.ensemble.weak_learners import learner, predicted
from didact.tree import DecisionTreeClassifier

FEW = 10  # negatives that must be left for another stage


def cumulated_votes(X: Any, models: list[Any], votes: Array) -> Array:
    """Σ α h(x) with h = ±1 after each learner, (L, n)."""
    signs = np.asarray([2.0 * predicted(model, X) - 1.0 for model in models]).reshape(len(models), X.shape[0])
    return np.cumsum(votes[:, None] * signs, axis=0)


def threshold_for(scores: Array, w: Array, detection: float) -> float:
    """The largest threshold that at least this share of the (positive) rows reaches."""
    order = np.argsort(-scores, kind="stable")
    reached = np.cumsum(w[order]) >= detection * w.sum() - 1e-12
    return float(scores[order][np.argmax(reached)])


def margins(X: Any, stages: list[Any], thresholds: Array) -> tuple[Array, Array]:
    """How far the last stage that a row reaches is above its threshold, and the number of that stage."""
    margin, stage, left = np.empty(X.shape[0]), np.zeros(X.shape[0], np.int64), np.arange(X.shape[0])
    for number, ((models, votes), threshold) in enumerate(zip(stages, thresholds, strict=True)):
        margin[left] = cumulated_votes(X[left], models, votes)[-1] - threshold if len(left) else 0.0
        stage[left] = number
        left = left[margin[left] >= 0]
    return margin, stage


def decisions(X: Any, stages: list[Any], thresholds: Array) -> Array:
    """Positive for rows that pass all stages, and the lower the earlier a row is rejected."""
    margin, stage = margins(X, stages, thresholds)
    squeezed = margin / (1.0 + np.abs(margin))
    passed = (stage == len(thresholds) - 1) & (margin >= 0)
    return np.where(passed, 1.0 + squeezed, stage - len(thresholds) + squeezed).astype(X.dtype, copy=False)


def labels(X: Any, stages: list[Any], thresholds: Array, classes: Array) -> Array:
    """The second class for rows that pass all stages."""
    return classes[(decisions(X, stages, thresholds) > 0).astype(int)]


def last_stages(X: Any, stages: list[Any], thresholds: Array) -> Array:
    """The last stage that each row reaches."""
    return margins(X, stages, thresholds)[1]


@tagged(classifier_tags__multi_class=False)
class DetectionCascadeClassifier(OfModels, ClassifierMixin, Estimator):
    r"""Stages of boosted stumps that keep almost all positives and reject many negatives each.

    .. math:: h(x) = 1 \iff \sum_t \alpha_{st}h_{st}(x) \ge \theta_s \text{ for all stages } s

    Notes
    -----
    Cost: boosting at each stage, on all positives and the negatives that still pass. A stage that cannot reach
    `max_false_positive` with `max_learners` keeps all of them. Shape of computation: stages in turn.

    References
    ----------
    Viola, Jones (2001), doi:10.1109/CVPR.2001.990517.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from didact.ensemble import DetectionCascadeClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = DetectionCascadeClassifier(random_state=0).fit(X[:1200], y[:1200] == 0)
    >>> model.score(X[1200:], y[1200:] == 0) > 0.97, bool(model.mean_cost_ < model.stage_costs_.sum())
    (True, True)
    """

    _test_params = [{"random_state": 0, "max_learners": 10}]
    _test_skips = {**IN_MEMORY, **WEIGHTED_SPLITS}

    estimator: Any = param(None, [has("fit", "predict"), none], "Base model of the stages; None: a stump.")
    n_stages: int = param(5, whole(1), "Most stages.")
    min_detection: float = param(0.99, between(0, 1, "right"), "Share of held-out positives that must pass each stage.")
    max_false_positive: float = param(0.5, between(0, 1, "neither"), "Share of held-out negatives that may pass it.")
    max_learners: int = param(50, whole(1), "Most learners of a stage.")
    validation_fraction: float = param(0.3, between(0, 1, "neither"), "Share of the rows that is held out.")
    random_state: Any = param(None, random_state, "Seed of the split and of the learners.")

    _attrs = [
        attr("classes_", "(2,)", "Labels, sorted; the second is the one to be detected."),
        attr("stages_", "list of pairs", "Learners and votes of each stage."),
        attr("thresholds_", "(n_stages,)", "Least sum of votes with which a row passes."),
        attr("detection_rates_", "(n_stages,)", "Share of the held-out positives that reach a stage and pass it."),
        attr("false_positive_rates_", "(n_stages,)", "Share of the held-out negatives that reach a stage and pass it."),
        attr("stage_costs_", "(n_stages,)", "Number of learners of each stage."),
        attr("mean_cost_", "float", "Learners that are asked about a held-out row, on average."),
    ]

    def _base(self) -> Any:
        return DecisionTreeClassifier(max_depth=1) if self.estimator is None else self.estimator

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> Any:
        """Fit to rows X with labels y of two classes; sample_weight counts rows."""
        X, y, w = self._training(X, y, sample_weight, target="labels")
        self.classes_, codes = self._coded(y)
        if len(self.classes_) > 2:
            raise InputError(
                f"Only binary classification is supported: a detector has two classes, but y has {len(self.classes_)}."
            )
        params, w = self._routed(fit_params), np.ones(len(codes)) if w is None else w
        train, held = split_rows(codes, w, self.validation_fraction, streams(self.random_state, 1)[0])
        if not (codes[held] == 1).any() or not (codes[held] == 0).any():
            raise InputError("The validation set lacks one class: raise validation_fraction or bring more samples.")
        self._fit_stages(X, codes, w, train, held, params)
        return self

    def _fit_stages(self, X: Any, codes: Array, w: Array, train: Array, held: Array, params: dict[str, Any]) -> None:
        stages: list[Any] = []
        found: list[Any] = []
        false: list[Any] = []
        thresholds, reach = [], []
        total = w[held].sum()
        for seeds in [streams(rng, self.max_learners) for rng in streams(self.random_state, self.n_stages + 1)[1:]]:
            negatives = np.count_nonzero(codes[train] == 0)
            if stages and (negatives < FEW or not (codes[held] == 0).any()):
                break
            reach.append(w[held].sum() / total)
            models, votes, threshold = self._stage(X, codes, w, train, held, seeds, params)
            passed = [cumulated_votes(X[rows], models, votes)[-1] >= threshold for rows in (train, held)]
            for k, rates in ((1, found), (0, false)):
                part = codes[held] == k
                rates.append(float(w[held][part & passed[1]].sum() / max(w[held][part].sum(), 1e-300)))
            stages.append((models, votes))
            thresholds.append(threshold)
            held = held[passed[1]]
            train = train[passed[0] | (codes[train] == 1)]
        self.stages_, self.thresholds_ = stages, np.asarray(thresholds)
        self.detection_rates_, self.false_positive_rates_ = np.asarray(found), np.asarray(false)
        self.stage_costs_ = np.asarray([len(models) for models, _ in stages])
        self.mean_cost_ = float(np.asarray(reach) @ self.stage_costs_)

    def _stage(self, X: Any, codes: Array, w: Array, train: Array, held: Array, seeds: Any, params: Any) -> Any:
        """Learners, votes and threshold of a stage: as few learners as reach the targets on held-out rows."""
        part = X[train]
        learn = learner(self._base(), part, codes[train], "auto", params)
        # Both classes have the same weight at the start: negatives are many.
        start = w[train] / np.bincount(codes[train], w[train], 2)[codes[train]]
        rounds = boost(learn, codes[train], 2, start, "binary", 1.0, seeds, lambda *step: False)
        scores, positive = cumulated_votes(X[held], rounds.models, rounds.votes), codes[held] == 1
        thresholds = [threshold_for(score[positive], w[held][positive], self.min_detection) for score in scores]
        passing = [w[held][~positive & (s >= t)].sum() for s, t in zip(scores, thresholds, strict=True)]
        enough = np.asarray(passing) <= self.max_false_positive * w[held][~positive].sum()
        count = int(np.argmax(enough)) + 1 if enough.any() else len(scores)
        return rounds.models[:count], rounds.votes[:count], thresholds[count - 1]

    def decision_function(self, X: Any) -> Any:
        """Positive for rows that pass all stages, and the lower the earlier a row is rejected."""
        return self._after_fit()._map_rows(X, decisions, self.stages_, self.thresholds_)

    def predict(self, X: Any) -> Any:
        """The second class for rows that pass all stages, else the first."""
        return self._after_fit()._map_rows(X, labels, self.stages_, self.thresholds_, self.classes_)

    def predict_stage(self, X: Any) -> Any:
        """The number of the last stage that each row reaches, from 0."""
        return self._after_fit()._map_rows(X, last_stages, self.stages_, self.thresholds_)

    def cost(self, X: Any) -> Array:
        """The number of learners that are asked about each row."""
        require_table(X, "cost")
        return np.cumsum(self.stage_costs_)[self.predict_stage(X)]
