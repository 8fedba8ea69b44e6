r"""Decisions of least expected risk from any classifier that gives probabilities.

.. math:: \alpha(x) = \arg\min_i R_i(x), \qquad R_i(x) = \sum_k \lambda_{ik}\,P(k\mid x)

λ is the loss of action i when the class is k; rejecting a row is one more action, with its own cost. Where the
probabilities are not to be trusted, thresholds are chosen instead, for the least mean loss on rows that the classifier
did not see (cross-validation).

Chow (1970), On optimum recognition error and reject tradeoff, doi:10.1109/TIT.1970.1054406; Elkan (2001), The
foundations of cost-sensitive learning.
"""

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from didact.core.errors import InputError, ParameterError
from didact.core.estimator import Estimator
from didact.core.meta import IN_MEMORY, OfModels, fit_model
from didact.core.parameters import array_like, at_least, attr, between, has, is_bool, none, one_of, param, splitter
from didact.core.rows import Batches
from didact.core.typing import Array
from didact.decision.answers import (
    chosen_risk,
    decided,
    from_probabilities,
    labels,
    probabilities,
    require_probabilities,
    risks,
)
from didact.decision.densities import _KnownDensities
from didact.decision.held_out import as_it_is, code_of, held_out_probabilities, raw_columns
from didact.decision.rules import action_labels, loss_matrix, reject_row
from didact.decision.thresholds import mean_loss, tune
from didact.linear_model import LogisticRegression

FOLDS = "Thresholds are tuned on folds of the rows: repeated rows, or another order of them, make other folds."


class BayesDecision(OfModels, ClassifierMixin, Estimator):
    r"""The action of least expected risk for each row, from the probabilities of any classifier.

    .. math:: \arg\min_i \sum_k \lambda_{ik}\,P(k\mid x)

    With the 0/1 loss this is the most probable class. A reject option with cost c is one more action: with the 0/1 loss
    a row is rejected exactly if its largest probability is below 1 − c (Chow's rule).

    Notes
    -----
    Cost: one fit of the classifier, and one for each fold if thresholds are tuned. With thresholds t the class with the
    largest :math:`P(k\mid x)/t_k` is taken, and where rows can be rejected, none if that ratio is below 1; for two
    classes this is a threshold on the probability of the second one, and the tuned one has the least mean loss of all.
    A fitted classifier is taken as it is in scikit-learn's `FrozenEstimator`. A pipeline, or rows that are texts, get X
    untouched. `doubt` decides by one-against-all scores, of which exactly one must be positive; a doubt without
    `reject_cost` counts as the dearest error. `score` is the share of rows whose action is the cheapest for their
    class, which is the accuracy where that action is the class itself. Shape of computation: map.

    References
    ----------
    Chow (1970), doi:10.1109/TIT.1970.1054406; Fumera, Roli, Giacinto (2000), doi:10.1016/S0031-3203(00)00059-5.

    Examples
    --------
    >>> from didact.decision import BayesDecision
    >>> from didact.distributions import Gaussian
    >>> ill = BayesDecision.from_densities([Gaussian(0.0, 1.0), Gaussian(3.0, 1.0)], priors=[0.9, 0.1],
    ...                                    classes=["healthy", "ill"], loss=[[0, 100], [1, 0]], reject_cost=0.5)
    >>> ill.predict([[-2.0], [2.0], [3.0]]).tolist()
    ['healthy', 'reject', 'ill']
    >>> ill.risks([[2.0]]).round(2)
    array([[33.24,  0.67,  0.5 ]])
    """

    _default = LogisticRegression
    _test_params = [{}, {"thresholds": "tune"}]

    @property
    def _test_skips(self) -> dict[str, str]:
        folds = dict.fromkeys(("weights_equal_repetition", "row_order"), FOLDS)
        tuned = {**folds, "check_classifiers_train": "A tuned threshold does not take the most probable class."}
        penalty = {"weight_scale": "Its LogisticRegression weighs the sum of losses against the penalty."}
        return {**IN_MEMORY, **penalty, **(tuned if self.thresholds is not None else {})}

    _kernels = True

    estimator: Any = param(None, [has("fit"), none], "The classifier; None: LogisticRegression().")
    loss: Any = param(
        None,
        [array_like, one_of("zero_one", "absolute"), none],
        "Losses, a row for each action and a column for each class in sorted order; 'zero_one' (also None), or "
        "'absolute': the distance between the places of two classes in that order.",
    )
    actions: Any = param(None, [array_like, none], "Names of the rows of the loss; None: the classes.")
    reject_cost: Any = param(
        None, [at_least(0), array_like, none], "Cost of rejecting a row, one or one for each class; None: never reject."
    )
    reject_label: Any = param(
        None, [str, Real, none], "What predict says of a rejected row; None: 'reject' where classes are words, else -1."
    )
    thresholds: Any = param(
        None,
        [between(0, 1, "neither"), array_like, one_of("tune"), none],
        "None: least expected risk; 'tune': thresholds of least mean loss on held-out rows; or one for each class, or "
        "a number, for the second of two classes.",
    )
    cv: Any = param(None, [splitter], "Folds for the tuning; None: 5, stratified, fewer if a class has fewer rows.")
    doubt: bool = param(
        False, is_bool, "Whether to decide by one-against-all scores, and to reject rows where none or several fire."
    )

    _attrs = [
        attr("estimator_", "model", "The fitted classifier."),
        attr("classes_", "(n_classes,)", "Its labels: the order of the columns of the losses."),
        attr("actions_", "(n_actions,)", "What `predict` can say: classes or named actions; the reject label is last."),
        attr("loss_", "(n_actions, n_classes)", "The losses λ, with the row of the reject option."),
        attr("thresholds_", "(n_classes,)", "The thresholds, given or tuned.", when="thresholds"),
        attr("validation_risk_", "float", "Mean loss of the tuned thresholds on other rows.", when="thresholds='tune'"),
    ]

    @classmethod
    def from_densities(
        cls, distributions: Any, priors: Any = None, loss: Any = None, classes: Any = None, **params: Any
    ) -> "BayesDecision":
        """The optimal rule for known class-conditional distributions and priors: fitted without data."""
        if isinstance(params.get("thresholds"), str):
            raise ParameterError("Thresholds are tuned on rows: give numbers, or none, with known densities.")
        known = _KnownDensities(distributions, priors, classes).fit()
        return cls(FrozenEstimator(known), loss=loss, **params)._set_rule(known)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = get_tags(self._base()).classifier_tags.multi_class
        tags.input_tags.positive_only = get_tags(self._base()).input_tags.positive_only
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> "BayesDecision":
        """Fit the classifier to rows X with labels y, and tune thresholds if asked for; sample_weight counts rows."""
        base, raw = self._base(), as_it_is(self._base(), X)
        X, y, w = raw_columns(X, y, sample_weight) if raw else self._training(X, y, sample_weight, target="labels")
        params = self._routed(fit_params)
        if isinstance(base, FrozenEstimator):
            self._set_rule(base.fit(X, y))
        else:
            self._coded(y)
            self._set_rule(fit_model(clone(base), X, y, w, params))
        return self._tune(base, (X, y, w), params)

    def _set_rule(self, model: Any) -> "BayesDecision":
        """Attributes that follow from the classifier and the parameters."""
        self.estimator_, self.classes_ = model, np.asarray(model.classes_)
        names = None if self.actions is None else np.asarray(self.actions)
        loss = loss_matrix(self.loss, len(self.classes_), None if names is None else len(names))
        reject = reject_row(self.reject_cost, loss, self.doubt)
        self.actions_ = action_labels(self.classes_ if names is None else names, self.reject_label, reject is not None)
        self.loss_ = loss if reject is None else np.vstack([loss, reject])
        if self.thresholds is not None or not self.doubt:
            require_probabilities(model)
        if self.thresholds is not None:
            self._check_thresholds(names)
        return self

    def _tune(self, base: Any, columns: tuple[Any, Any, Any], params: dict[str, Any]) -> "BayesDecision":
        if isinstance(self.thresholds, str):
            P, codes, w = held_out_probabilities(base, self.estimator_, self.cv, *columns, params)
            self.thresholds_ = tune(P, codes, w, self.loss_)
            chosen = from_probabilities(P, self.loss_, self.thresholds_)
            self.validation_risk_ = mean_loss(chosen, codes, w, self.loss_)
        return self

    def _check_thresholds(self, names: Any) -> None:
        K = len(self.classes_)
        if names is not None or (self.doubt and isinstance(self.thresholds, str)):
            raise ParameterError("thresholds are of classes: not with named actions, nor tuned with doubt=True.")
        if isinstance(self.thresholds, str):
            return
        t = np.asarray(self.thresholds, dtype=np.float64)
        t = np.array([1.0 - t, t]) if t.ndim == 0 and K == 2 else t
        if t.shape != (K,) or not ((t > 0) & (t <= 1)).all():
            raise ParameterError(f"thresholds must be {K} numbers above 0 and up to 1, or one number for two classes.")
        self.thresholds_ = t

    @property
    def _cuts(self) -> Array | None:
        return getattr(self, "thresholds_", None)

    def _ask(self, X: Any, fn: Any, *args: Any) -> Any:
        """``fn(X, *args)`` on rows of any kind, which a pipeline reads by itself."""
        return fn(X, *args) if as_it_is(self._base(), X) else self._map_rows(X, fn, *args)

    def predict(self, X: Any) -> Any:
        """The label of the action taken for each row."""
        return self._after_fit()._ask(X, labels, self.estimator_, self.loss_, self._cuts, self.doubt, self.actions_)

    @available_if(lambda self: hasattr(self._base(), "predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes (n, K), as the classifier gives them."""
        return self._after_fit()._ask(X, probabilities, self.estimator_)

    def risks(self, X: Any) -> Any:
        """The expected risk of each row and action, (n, n_actions), in the order of actions_."""
        return self._after_fit()._ask(X, risks, self.estimator_, self.loss_)

    def expected_risk(self, X: Any, sample_weight: Any = None) -> float:
        """The mean, over rows X, of the risk that the probabilities promise for the actions taken."""
        found = in_memory(self._after_fit()._ask(X, chosen_risk, self.estimator_, self.loss_, self._cuts, self.doubt))
        return weighted_mean(found.astype(np.float64), sample_weight)

    def risk(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The mean loss of the actions taken for rows X of classes y."""
        return weighted_mean(self._losses(X, y)[0], sample_weight)

    def share_rejected(self, X: Any, sample_weight: Any = None) -> float:
        """The share of the rows that are rejected."""
        chosen = in_memory(self._after_fit()._ask(X, decided, self.estimator_, self.loss_, self._cuts, self.doubt))
        last = len(self.actions_) - 1 if self.doubt or self.reject_cost is not None else len(self.actions_)
        return weighted_mean(chosen == last, sample_weight)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose action is the cheapest for their class: the accuracy, for losses of errors."""
        paid, least = self._losses(X, y)
        return weighted_mean(paid <= least, sample_weight)

    def _losses(self, X: Any, y: Any) -> tuple[Array, Array]:
        """What the action of each row costs, and what the cheapest one would."""
        chosen = in_memory(self._after_fit()._ask(X, decided, self.estimator_, self.loss_, self._cuts, self.doubt))
        codes = code_of(np.asarray(y), self.classes_)
        if len(codes) != len(chosen):
            raise InputError(f"X has {len(chosen)} rows and y has {len(codes)}.")
        return self.loss_[chosen, codes], self.loss_.min(axis=0)[codes]


def weighted_mean(values: Array, weights: Any) -> float:
    """The mean of a number for each row."""
    if weights is not None and np.shape(weights) != values.shape:
        raise InputError(f"sample_weight must have one number for each of the {len(values)} rows.")
    return float(np.average(values, weights=weights))


def in_memory(values: Any) -> Array:
    """Answers of any kind as one array."""
    return np.concatenate(list(values)) if isinstance(values, Batches) else np.asarray(values)
