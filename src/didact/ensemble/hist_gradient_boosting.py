r"""Histogram gradient boosting.

The prediction is a sum of small trees, :math:`z(x) = z_0 + \nu\sum_t f_t(x)`. Each tree is grown on the gradients g and
curvatures h of the loss at the sum so far; its splits maximise the gain and its leaves are Newton steps,

.. math:: \tfrac12\Big[\tfrac{G_l^2}{H_l+\lambda} + \tfrac{G_r^2}{H_r+\lambda} - \tfrac{G^2}{H+\lambda}\Big],\qquad
          v = -\frac{G}{H+\lambda}.

For losses on a log or logit scale ν|v| is at most log(1 + |v|), up to which the loss is sure to fall. Columns are cut
into at most 255 bins once. The sums of g and h by bin are whole numbers, so they are exact and the trees do not depend
on threads or on the order of the rows; of two siblings only the smaller one is counted.

Friedman (2001), Greedy function approximation: a gradient boosting machine, doi:10.1214/aos/1013203451; Ke et al.
(2017), LightGBM: a highly efficient gradient boosting decision tree, NeurIPS 30.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.ensemble import HistGradientBoostingClassifier as TheirClassifier
from sklearn.ensemble import HistGradientBoostingRegressor as TheirRegressor

from didact.core.errors import InputError, ParameterError
from didact.core.parameters import attr, between, has, none, one_of, param
from didact.core.typing import Array
from didact.engines.trees.boosting.objective import Following
from didact.engines.trees.boosting.spread_rows import SpreadRows
from didact.ensemble.hist_gradient_boosting_base import Task, _Boosting
from didact.ensemble.hist_gradient_boosting_outputs import decisions, log_shares, most_probable, shares, targets
from didact.parts.losses import (
    Absolute,
    ExponentialLoss,
    Gamma,
    HalfSquared,
    Logistic,
    Poisson,
    Quantile,
    Tweedie,
    as_loss,
)  # fmt: skip
from didact.parts.statistics.counts import weigh_classes as class_factors
from didact.tree.labels import encode, weigh_classes

REGRESSION = {
    "squared_error": HalfSquared, "absolute_error": Absolute, "huber": Following, "quantile": Quantile,
    "poisson": Poisson, "gamma": Gamma, "tweedie": Tweedie,
}  # fmt: skip
WITHIN = 0.9  # of the absolute residuals are within the width of Huber's loss, if nothing is said
CLASSIFICATION = {"log_loss": Logistic, "exponential": ExponentialLoss}


@TheirRegressor.register  # so that `sklearn.inspection.partial_dependence` asks its trees
class HistGradientBoostingRegressor(RegressorMixin, _Boosting):
    r"""Gradient boosting of numbers with trees on binned columns.

    .. math:: z(x) = z_0 + \nu \sum_t f_t(x), \qquad f_t = \arg\min_f \sum_i g_i f(x_i) + \tfrac12 h_i f(x_i)^2

    Notes
    -----
    Cost: n p for binning, then at most n p log₂(leaves) additions and leaves · p · bins scores for a tree; memory n
    p bytes and 32 n. Missing values have a bin of their own and go to the side that gains more. Categories are
    ordered by their mean gradient and split at the best place. Huber's loss is squared for the share `quantile` of
    the absolute residuals, found anew before each tree, and linear for larger ones. `loss` may be a noun of
    `didact.parts` (`Huber(2.0)`, of that width, `Tweedie(1.7)`) or any object with `grad_hess(y, z)`, one finite
    gradient and one curvature of at least 0 a row, `value(y, z)` for early stopping by the loss, and `inverse(z)`
    if predictions are not z itself. Rows of batches and Dask are gathered as codes, a byte a value; above 256 MiB
    those of Dask stay on the workers, and histograms are reduced, one round a level. Shape of computation: iterate.

    References
    ----------
    Friedman (2001), doi:10.1214/aos/1013203451; Chen, Guestrin (2016), doi:10.1145/2939672.2939785.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.ensemble import HistGradientBoostingRegressor
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> model = HistGradientBoostingRegressor(max_iter=50).fit(X, np.where(X[:, 0] > 0.5, 3.0, 1.0))
    >>> model.predict([[0.2], [0.9]]).round(1)
    array([1., 3.])
    """

    _target = "numeric"
    _test_params = [
        {"max_iter": 6, "min_samples_leaf": 1, "early_stopping": False},
        {"max_iter": 6, "min_samples_leaf": 1, "random_state": 0, "loss": "absolute_error", "learning_rate": 0.5},
    ]

    loss: Any = param(
        "squared_error",
        [one_of(*REGRESSION), has("grad_hess")],
        "What is minimised: a name, a loss of didact.parts, or an object with grad_hess(y, z) and value(y, z).",
    )
    quantile: float | None = param(
        None,
        [between(0, 1), none],
        "Which quantile the quantile loss predicts; share of the residuals within Huber's width (None: 0.9).",
    )

    _attrs = [
        attr("n_iter_", "int", "Iterations, one tree each."),
        attr("n_trees_per_iteration_", "int", "1."),
    ]

    def _task(self, data: Any, held: Any) -> Task:
        loss = self._loss
        y = data.target_range() if isinstance(data, SpreadRows) else data[1]
        if not loss.in_domain(y).all() or (held is not None and not loss.in_domain(held[1]).all()):
            named = {"gamma": "strictly positive y", "poisson": "non-negative y and sum(y) > 0"}
            raise InputError(f"loss={self.loss!r} requires {named.get(self.loss, loss.support)}.")
        return Task(data, held, loss)

    @property
    def _loss(self) -> Any:
        if not isinstance(self.loss, str):
            return as_loss(self.loss)
        if self.loss == "quantile":
            if self.quantile is None or not 0 < self.quantile < 1:
                raise ParameterError("The quantile loss needs quantile, a number between 0 and 1.")
            return Quantile(self.quantile)
        if self.loss == "huber":
            share = WITHIN if self.quantile is None else self.quantile
            if not 0 < share < 1:
                raise ParameterError("The Huber loss needs a quantile between 0 and 1, or None.")
            return Following(share)
        return REGRESSION[self.loss]()

    def predict(self, X: Any) -> Any:
        """Predicted targets for rows X."""
        return self._after_fit()._answer(X, targets, self._loss)

    def staged_predict(self, X: Any) -> Iterator[Any]:
        """Predicted targets after each iteration."""
        for raw in self._staged(X):
            yield targets(raw, self._loss)


@TheirClassifier.register
class HistGradientBoostingClassifier(ClassifierMixin, _Boosting):
    r"""Gradient boosting of classes with trees on binned columns.

    .. math:: P(1\mid x) = \frac{1}{1+e^{-z(x)}}, \qquad P(k\mid x) = \frac{e^{z_k(x)}}{\sum_j e^{z_j(x)}}

    for two classes and for more; z is a sum of trees, one tree for each class and iteration if there are more than two.

    Notes
    -----
    Cost: n p for binning, then for each class at most n p log₂(leaves) additions and leaves · p · bins scores an
    iteration; memory n p bytes and 32 n for each class. Missing values have a bin of their own and go to the side that
    gains more. Categories are ordered by their mean gradient and split at the best place. No leaf's step is longer than
    is sure to lower the loss: log(1 + v) for a Newton step of size v. `loss` may be "log_loss",
    "exponential" (AdaBoost's loss, two classes) or, for two classes, an object with `grad_hess(y, z)`, one gradient and
    one curvature of at least 0 a row, and `value(y, z)`, for y ∈ {0, 1} or the `classes` that it names. Rows of batches
    and Dask are gathered as codes, a byte a value; above 256 MiB those of Dask stay on the workers, and histograms are
    reduced, one round a level. Shape of computation: iterate.

    References
    ----------
    Friedman (2001), doi:10.1214/aos/1013203451; Friedman, Hastie, Tibshirani (2000), doi:10.1214/aos/1016218223.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.ensemble import HistGradientBoostingClassifier
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> model = HistGradientBoostingClassifier(max_iter=20).fit(X, np.where(X[:, 0] > 0.5, "high", "low"))
    >>> model.predict([[0.2], [0.9]]).tolist()
    ['low', 'high']
    """

    _target = "labels"
    _test_params = [
        {"max_iter": 6, "min_samples_leaf": 1, "early_stopping": False},
        {"max_iter": 4, "min_samples_leaf": 1, "random_state": 0, "max_depth": 3, "l2_regularization": 1.0},
    ]

    loss: Any = param(
        "log_loss",
        [one_of(*CLASSIFICATION), has("grad_hess")],
        "What is minimised: a name or an object with grad_hess.",
    )
    class_weight: Any = param(
        None, [dict, one_of("balanced"), none], "Weights of the classes; 'balanced': equal in sum."
    )

    _attrs = [
        attr("classes_", "(n_classes,)", "The labels."),
        attr("n_iter_", "int", "Iterations."),
        attr("n_trees_per_iteration_", "int", "1 for two classes, else their number."),
    ]

    def _task(self, data: Any, held: Any) -> Task:
        if isinstance(data, SpreadRows):
            counts = data.label_counts()
            self._set_classes(np.flatnonzero(counts.weights > 0), counts.values)
            factors = class_factors(self.class_weight, counts)
            return Task(
                data=data,
                held=self._with_codes(held),
                loss=self._loss,
                outputs=self._outputs(),
                strata=None,
                classes=self.classes_,
                factors=factors,
            )
        table, labels, w = data
        codes, classes = encode(labels)
        self._set_classes(codes[:, 0] if w is None else codes[w > 0, 0], classes[0])
        rows = table, self._target_of(codes[:, 0]), weigh_classes(self.class_weight, codes, classes, w)
        return Task(
            data=rows, held=self._with_codes(held), loss=self._loss, outputs=self._outputs(), strata=codes[:, 0]
        )

    def _target_of(self, codes: Array) -> Array:
        """Codes of the classes as the loss reads them."""
        return codes.astype(np.float64) if self._outputs() == 1 else codes

    def _with_codes(self, held: Any) -> Any:
        """The given rows for early stopping with codes of their labels."""
        if held is None:
            return None
        X, y, w = held
        strange = ~np.isin(y, self.classes_)
        if strange.any():
            raise InputError(f"y_val has the label {y[strange].tolist()[0]!r}, which is not in y.")
        return X, self._target_of(np.searchsorted(self.classes_, y)), w

    def _outputs(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _set_classes(self, codes: Array, classes: Array) -> None:
        present = np.flatnonzero(np.bincount(codes))
        if len(present) < 2:
            raise InputError(
                f"Boosting needs samples of at least 2 classes in the data, but there is one class: "
                f"{classes[present[:1]]}"
            )
        if self._continues() and not np.array_equal(vars(self)["classes_"], classes):
            raise InputError("warm_start needs the classes of the last fit.")
        self.classes_ = classes

    @property
    def _loss(self) -> Any:
        loss: Any = CLASSIFICATION[self.loss]() if isinstance(self.loss, str) else as_loss(self.loss)
        several = loss if len(self.classes_) == 2 else loss.for_classes()
        if several is None:
            raise ParameterError(f"loss={self.loss!r} is for two classes; for more use 'log_loss'.")
        return several

    def _labels(self, y: Array) -> Array:
        return self.classes_[(y > 0).astype(int) if self.n_trees_per_iteration_ == 1 else y]

    def decision_function(self, X: Any) -> Any:
        """Raw scores: (n,) for two classes, else (n, classes)."""
        return self._after_fit()._answer(X, decisions)

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes (n, classes), in the order of classes_."""
        return self._after_fit()._answer(X, shares, self._loss)

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of the probabilities of the classes."""
        return self._after_fit()._answer(X, log_shares, self._loss)

    def predict(self, X: Any) -> Any:
        """The most probable label of each row."""
        return self._after_fit()._answer(X, most_probable, self.classes_)

    def staged_decision_function(self, X: Any) -> Iterator[Any]:
        """Raw scores after each iteration."""
        for raw in self._staged(X):
            yield decisions(raw)

    def staged_predict_proba(self, X: Any) -> Iterator[Any]:
        """Class probabilities after each iteration."""
        for raw in self._staged(X):
            yield shares(raw, self._loss)

    def staged_predict(self, X: Any) -> Iterator[Any]:
        """Labels after each iteration."""
        for raw in self._staged(X):
            yield most_probable(raw, self.classes_)
