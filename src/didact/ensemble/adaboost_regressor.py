r"""AdaBoost.R2: boosting for numbers, combined by the weighted median.

A round's learner is fitted to rows drawn by their weights w (or weighted by them). Its losses on the rows, relative to
the largest error D, are :math:`L_i = |e_i|/D`, its square, or :math:`1-e^{-|e_i|/D}`; with the mean loss
:math:`\bar L = \sum_i w_iL_i` and :math:`\beta = \bar L/(1-\bar L)` the new weights are
:math:`w_i\,\beta^{\nu(1-L_i)}`, and the learner counts with :math:`\nu\log(1/\beta)`. It ends when
:math:`\bar L \ge \tfrac12`.

Drucker (1997), Improving regressors using boosting techniques, ICML; see doi:10.1006/jcss.1997.1504.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from didact.core.backend import to_numpy
from didact.core.estimator import Estimator
from didact.core.meta import IN_MEMORY, RANDOM_ROWS, OfModels
from didact.core.parameters import above, attr, has, none, one_of, param, random_state, whole
from didact.core.progress import FitProgress
from didact.core.random import streams
from didact.core.typing import Array
from didact.engines.loop.iterate import Report
from didact.ensemble.members import OfLearners
from didact.ensemble.weak_learners import Learner, learner, predicted
from didact.parts.statistics.weighted_quantile import weighted_quantile
from didact.tree import DecisionTreeRegressor

BLOCK = 4096  # rows whose predictions of all learners are sorted at once


def relative_losses(residual: Array, w: Array, loss: str) -> Array:
    """The loss of each row, between 0 and 1, relative to the largest error of a row that counts."""
    size = np.abs(residual)
    largest = size[w > 0].max()
    share = np.minimum(size / largest, 1.0) if largest > 0 else np.zeros_like(size)
    return {"linear": lambda: share, "square": lambda: share**2, "exponential": lambda: 1 - np.exp(-share)}[loss]()


def boost(learn: Learner, y: Array, w: Array, loss: str, rate: float, generators: list[Any],
          report: Report) -> tuple[list[Any], Array, Array]:  # fmt: skip
    """Models, their weights and their mean losses."""
    models: list[Any] = []
    votes, errors = [], []
    w = w / w.sum()
    for t, rng in enumerate(generators, start=1):
        model, found = learn(w, rng)
        losses = relative_losses(y - found, w, loss)
        error = float(w @ losses)
        if error >= 0.5 and models:
            break
        models.append(model)
        errors.append(error)
        if error <= 0 or error >= 0.5:  # perfect, or the only one
            votes.append(1.0)
            break
        beta = error / (1 - error)
        votes.append(rate * np.log(1 / beta))
        w = w * beta ** ((1 - losses) * rate)
        w /= w.sum()
        if report(t, error, t):
            break
    return models, np.asarray(votes), np.asarray(errors)


def medians(X: Any, models: list[Any], votes: Array) -> Array:
    """The weighted median of the learners' predictions."""
    columns = np.column_stack([predicted(model, X) for model in models])
    parts = [
        weighted_quantile(columns[k : k + BLOCK], votes, 0.5, averaged=False) for k in range(0, len(columns), BLOCK)
    ]
    return np.concatenate(parts).astype(X.dtype, copy=False)


class AdaBoostRegressor(OfLearners, OfModels, RegressorMixin, Estimator):
    r"""AdaBoost.R2: regressors that attend to rows with large errors, combined by the weighted median.

    .. math:: f(x) = \mathrm{median}\{f_t(x);\ \nu\log(1/\beta_t)\},\qquad \beta_t = \bar L_t/(1-\bar L_t)

    Notes
    -----
    Cost: one fit and one prediction a round; predicting sorts L numbers a row. Differs from scikit-learn: `weighting`
    may pass weights to the base model where scikit-learn always draws rows. Shape of computation: rounds in turn.

    References
    ----------
    Drucker (1997), Improving regressors using boosting techniques, ICML; Freund, Schapire (1997),
    doi:10.1006/jcss.1997.1504.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from didact.ensemble import AdaBoostRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> AdaBoostRegressor(random_state=0).fit(X, y).score(X, y) > 0.5
    True
    """

    _test_params = [{"random_state": 0, "n_estimators": 12}]
    _test_skips = {**IN_MEMORY, **RANDOM_ROWS}
    _kernels = True

    estimator: Any = param(None, [has("fit", "predict"), none], "Base model; None: a decision tree of depth 3.")
    n_estimators: int = param(50, whole(1), "Most rounds.")
    learning_rate: float = param(1.0, above(0), "Factor ν of the weights.")
    loss: str = param("linear", one_of("linear", "square", "exponential"), "Loss of an error relative to the largest.")
    random_state: Any = param(None, random_state, "Seed of the draws and of the base models.")
    weighting: str = param(
        "resample", one_of("resample", "reweight"), "Draw rows by their weights, or pass the weights to the base model."
    )

    _attrs = [
        attr("estimators_", "list of models", "The learners."),
        attr("estimator_weights_", "(n_learners,)", "Their weights in the median."),
        attr("estimator_errors_", "(n_learners,)", "Their mean losses."),
        attr("feature_importances_", "(n_features,)", "The learners' importances, averaged by their weights."),
    ]

    def _base(self) -> Any:
        return DecisionTreeRegressor(max_depth=3) if self.estimator is None else self.estimator

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> "AdaBoostRegressor":
        """Fit to rows X with targets y; sample_weight is the weight of the rows in the first round."""
        X, y, w = self._training(X, y, sample_weight, target="numeric")
        weights, seeds = np.ones(len(y)) if w is None else w, streams(self.random_state, self.n_estimators)
        learn = learner(self._base(), X, y, self.weighting, self._routed(fit_params))
        with FitProgress(self, self.n_estimators, X=X, y=y) as progress:
            found = boost(learn, y, weights, self.loss, self.learning_rate, seeds, progress.report)
        self.estimators_, self.estimator_weights_, self.estimator_errors_ = found
        return self

    def _stages(self) -> Iterator[tuple[float, dict[str, Any]]]:
        """The error of the last learner, and the learners, after each round."""
        names = "estimators_", "estimator_weights_", "estimator_errors_"
        for k in range(1, len(self.estimators_) + 1):
            yield float(self.estimator_errors_[k - 1]), {name: getattr(self, name)[:k] for name in names}

    @property
    def feature_importances_(self) -> Array:
        """The learners' importances, averaged by their weights."""
        found = [model.feature_importances_ for model in self.estimators_]
        return np.average(found, axis=0, weights=self.estimator_weights_)

    def predict(self, X: Any) -> Any:
        """The weighted median of the learners' predictions."""
        return self._after_fit()._map_rows(X, medians, self.estimators_, self.estimator_weights_)

    def staged_predict(self, X: Any) -> Iterator[Any]:
        """Predictions after each round."""
        rows = self._arrays(X)
        for t in range(1, len(self.estimators_) + 1):
            yield self._numbers_like(X, medians(rows, self.estimators_[:t], self.estimator_weights_[:t]))

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """R² after each round."""
        y, w = to_numpy(y), None if sample_weight is None else to_numpy(sample_weight)
        return (r2_score(y, to_numpy(found), sample_weight=w) for found in self.staged_predict(X))
