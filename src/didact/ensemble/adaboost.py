r"""AdaBoost: each learner attends to the rows that those before it got wrong; all vote, the better the louder.

With row weights w (sum 1) and the weighted error :math:`\varepsilon` of a round's learner, the weights of the rows that
it gets wrong are multiplied by :math:`e^c` and all are scaled to sum 1, with the learning rate ν:

==========  =========================================  ==================  ==================
algorithm   c                                          vote                goes on while
==========  =========================================  ==================  ==================
"SAMME"     :math:`\nu[\log\frac{1-ε}{ε} + \log(K-1)]`   c                   ε < 1 − 1/K
"M1"        :math:`\nu\log\frac{1-ε}{ε} = \nu\log\frac1β`  c                   ε < ½
"binary"    the same, two classes                      c/2 = α             ε < ½
==========  =========================================  ==================  ==================

For two classes all three choose the same class. If the ensemble errs on a row, at least half of the votes were wrong
on it, so that the training error is at most :math:`\prod_t e^{-c_t/2}(1-ε_t+ε_te^{c_t})`, for ν = 1 and M1
:math:`\prod_t 2\sqrt{ε_t(1-ε_t)}`; in the binary case that product is the mean of :math:`e^{-yf(x)}`.

Freund, Schapire (1997), A decision-theoretic generalization of on-line learning, doi:10.1006/jcss.1997.1504;
Hastie, Rosset, Zhu, Zou (2009), Multi-class AdaBoost, doi:10.4310/SII.2009.v2.n3.a8.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import special
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score

from didact.core.backend import to_numpy
from didact.core.errors import InputError
from didact.core.estimator import Estimator
from didact.core.meta import IN_MEMORY, OfModels
from didact.core.parameters import above, attr, has, none, one_of, param, random_state, whole
from didact.core.progress import FitProgress
from didact.core.random import streams
from didact.core.typing import Array
from didact.engines.loop.iterate import Report
from didact.ensemble.members import OfLearners
from didact.ensemble.weak_learners import Learner, learner, predicted
from didact.tree import DecisionTreeClassifier

PERFECT = np.finfo(float).eps  # an error of 0 counts as this: the vote is large, but finite


class Rounds(NamedTuple):
    """What boosting found: models, their votes, their errors, and the bound on the training error after each."""

    models: list[Any]
    votes: Array
    errors: Array
    bounds: Array


def boost(learn: Learner, codes: Array, n_classes: int, w: Array, algorithm: str, rate: float,
          generators: list[Any], report: Report) -> Rounds:  # fmt: skip
    """Boost on rows with class codes and start weights w."""
    extra, worst = (np.log(max(n_classes - 1, 1)), 1 - 1 / n_classes) if algorithm == "SAMME" else (0.0, 0.5)
    share = (n_classes - 1) / n_classes if algorithm == "SAMME" else 0.5
    models: list[Any] = []
    votes, errors, bounds = [], [], []
    w, bound, loss = w / w.sum(), 1.0, 1.0
    for t, rng in enumerate(generators, start=1):
        model, found = learn(w, rng)
        wrong = found != codes
        error = float(w[wrong].sum())
        if error >= worst - 1e-15 and not (t == 1 and error < 1e-15):
            if not models:
                raise InputError(
                    "BaseClassifier in AdaBoostClassifier ensemble is worse than random: the first "
                    f"{type(model).__name__} has the weighted error {error:.3g}, so there is nothing to boost. Use "
                    "another base model, or algorithm='SAMME' for more than two classes."
                )
            break
        e = min(max(error, PERFECT), 1 - PERFECT)
        c = 1.0 if error <= 0 and algorithm == "SAMME" else rate * (np.log((1 - e) / e) + extra)
        models.append(model)
        votes.append(c / 2 if algorithm == "binary" else c)
        errors.append(error)
        w = w * np.where(wrong, np.exp(min(c, 600.0)), 1.0)
        total = w.sum()
        w /= total
        bound, loss = bound * total * np.exp(-c / 2), loss * total * np.exp(-c * share)
        bounds.append(bound)
        if error <= 0 or report(t, float(loss), len(models)):
            break
    return Rounds(models, np.asarray(votes), np.asarray(errors), np.asarray(bounds))


def staged_scores(X: Any, models: list[Any], votes: Array, n_classes: int) -> Iterator[Array]:
    """Σ votes for the class − Σ other votes/(K−1), relative to all votes, after each learner: (n, K)."""
    scores, total, every = np.zeros((X.shape[0], n_classes)), 0.0, np.arange(X.shape[0])
    for model, vote in zip(models, votes, strict=True):
        share = vote / max(n_classes - 1, 1)
        scores -= share
        scores[every, predicted(model, X)] += vote + share
        total += vote
        yield scores / total


def decide(scores: Array, dtype: Any) -> Array:
    """Decision values in scikit-learn's shape: (n,) for two classes."""
    return (scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores).astype(dtype, copy=False)


def last_scores(X: Any, models: list[Any], votes: Array, n_classes: int) -> Array:
    """Scores of the whole ensemble."""
    *_, scores = staged_scores(X, models, votes, n_classes)
    return scores


def decisions(X: Any, models: list[Any], votes: Array, n_classes: int) -> Array:
    """Decision values of the whole ensemble."""
    return decide(last_scores(X, models, votes, n_classes), X.dtype)


def labels(X: Any, models: list[Any], votes: Array, n_classes: int, classes: Array) -> Array:
    """The class with the most votes."""
    return classes[last_scores(X, models, votes, n_classes).argmax(axis=1)]


def shares(scores: Array, dtype: Any) -> Array:
    """Probabilities from scores: the softmax of scores/(K−1)."""
    return special.softmax(scores / max(scores.shape[1] - 1, 1), axis=1).astype(dtype, copy=False)


def probabilities(X: Any, models: list[Any], votes: Array, n_classes: int) -> Array:
    """Probabilities of the classes."""
    return shares(last_scores(X, models, votes, n_classes), X.dtype)


def log_probabilities(X: Any, *how: Any) -> Array:
    """Their logarithms."""
    return np.log(probabilities(X, *how))


class AdaBoostClassifier(OfLearners, OfModels, ClassifierMixin, Estimator):
    r"""AdaBoost for two and more classes, by weights or by resampling, with any base model.

    .. math:: H(x) = \arg\max_k \sum_t c_t\,[h_t(x) = k],\qquad
       c_t = \nu\Big(\log\frac{1-\varepsilon_t}{\varepsilon_t} + \log(K-1)\Big)

    Notes
    -----
    Cost: one fit and one prediction a round. Base models get weights that sum to 1, as in scikit-learn: relative
    importance, which is no count of rows. Exact decision trees sort the columns once, so that a stump costs one pass of
    n·p. Differs from scikit-learn, whose only algorithm is SAMME: `algorithm`, `weighting`, base models without
    weights, and a perfect learner, which there has the vote 1, outvotes all before it in "M1" and "binary". Decision
    values and probabilities are scikit-learn's: votes relative to their sum, and the softmax of them, which ranks but
    is not calibrated. Where y has one class, that class has the probability 1. Shape of computation: rounds in turn.

    References
    ----------
    Freund, Schapire (1997), doi:10.1006/jcss.1997.1504; Hastie, Rosset, Zhu, Zou (2009),
    doi:10.4310/SII.2009.v2.n3.a8.

    Examples
    --------
    >>> from didact.ensemble import AdaBoostClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [1, 1, 0, 0, 1, 1]
    >>> AdaBoostClassifier(n_estimators=3, algorithm="binary").fit(X, y).predict(X)
    array([1, 1, 0, 0, 1, 1])
    """

    _test_params = [{"n_estimators": 12}]
    _test_skips = {**IN_MEMORY}
    _kernels = True

    estimator: Any = param(None, [has("fit", "predict"), none], "Base model; None: a stump, a tree of depth 1.")
    n_estimators: int = param(50, whole(1), "Most rounds; a perfect learner or one no better than chance ends them.")
    learning_rate: float = param(1.0, above(0), "Factor ν of the votes.")
    random_state: Any = param(None, random_state, "Seed of the base models and of the draws.")
    algorithm: str = param(
        "SAMME", one_of("SAMME", "M1", "binary"), "Rule for the votes; 'binary' is for two classes only."
    )
    weighting: str = param(
        "auto",
        one_of("auto", "reweight", "resample"),
        "Pass weights to the base model, or draw rows by them; 'auto': pass them where the base model takes them.",
    )

    _attrs = [
        attr("n_classes_", "int", "Number K of classes."),
        attr("estimators_", "list of models", "The learners; they know the classes by their numbers 0 … K−1."),
        attr("estimator_weights_", "(n_learners,)", 'Votes: c, or α = c/2 for algorithm "binary".'),
        attr("estimator_errors_", "(n_learners,)", "Weighted errors ε."),
        attr("feature_importances_", "(n_features,)", "The learners' importances, averaged by their votes."),
        attr("error_bound_", "(n_learners,)", "A bound on the training error after each round."),
    ]

    def _base(self) -> Any:
        return DecisionTreeClassifier(max_depth=1) if self.estimator is None else self.estimator

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> "AdaBoostClassifier":
        """Fit to rows X with labels y; sample_weight is the weight of the rows in the first round."""
        X, y, w = self._training(X, y, sample_weight, target="labels")
        self.classes_, codes = self._coded(y, least=1)
        self.n_classes_ = K = len(self.classes_)
        if self.algorithm == "binary" and K != 2:
            raise InputError(f"algorithm='binary' is for two classes, but y has {K}: use 'M1' or 'SAMME'.")
        weights, seeds = np.ones(len(codes)) if w is None else w, streams(self.random_state, self.n_estimators)
        learn = learner(self._base(), X, codes, self.weighting, self._routed(fit_params))
        with FitProgress(self, self.n_estimators, X=X, y=y) as progress:
            found = boost(learn, codes, K, weights, self.algorithm, self.learning_rate, seeds, progress.report)
        self.estimators_, self.estimator_weights_, self.estimator_errors_, self.error_bound_ = found
        return self

    def _stages(self) -> Iterator[tuple[float, dict[str, Any]]]:
        """The error of the last learner, and the learners, after each round."""
        names = "estimators_", "estimator_weights_", "estimator_errors_"
        for k in range(1, len(self.estimators_) + 1):
            yield float(self.estimator_errors_[k - 1]), {name: getattr(self, name)[:k] for name in names}

    @property
    def feature_importances_(self) -> Array:
        """The learners' importances, averaged by their votes."""
        found = [model.feature_importances_ for model in self.estimators_]
        return np.average(found, axis=0, weights=self.estimator_weights_)

    def decision_function(self, X: Any) -> Any:
        """Votes relative to all votes: (n, K), or (n,) for two classes."""
        return self._after_fit()._map_rows(X, decisions, self.estimators_, self.estimator_weights_, self.n_classes_)

    def predict(self, X: Any) -> Any:
        """The class with the most votes."""
        return self._after_fit()._map_rows(
            X, labels, self.estimators_, self.estimator_weights_, self.n_classes_, self.classes_
        )

    def predict_proba(self, X: Any) -> Any:
        """The softmax of the decision values."""
        return self._after_fit()._map_rows(X, probabilities, self.estimators_, self.estimator_weights_, self.n_classes_)

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of the probabilities."""
        return self._after_fit()._map_rows(
            X, log_probabilities, self.estimators_, self.estimator_weights_, self.n_classes_
        )

    def _staged(self, X: Any) -> Iterator[tuple[Array, Any]]:
        rows = self._arrays(X)
        for scores in staged_scores(rows, self.estimators_, self.estimator_weights_, self.n_classes_):
            yield scores, rows.dtype

    def staged_decision_function(self, X: Any) -> Iterator[Any]:
        """Decision values after each round."""
        return (self._numbers_like(X, decide(scores, dtype)) for scores, dtype in self._staged(X))

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Predicted labels after each round."""
        return (self.classes_[scores.argmax(axis=1)] for scores, _ in self._staged(X))

    def staged_predict_proba(self, X: Any) -> Iterator[Any]:
        """Probabilities after each round."""
        return (self._numbers_like(X, shares(scores, dtype)) for scores, dtype in self._staged(X))

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Accuracy after each round."""
        y, w = to_numpy(y), None if sample_weight is None else to_numpy(sample_weight)
        return (accuracy_score(y, found, sample_weight=w) for found in self.staged_predict(X))
