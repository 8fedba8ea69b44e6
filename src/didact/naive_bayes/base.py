r"""What the naive Bayes models share: Bayes' rule with columns that are independent given the class.

.. math:: \log P(k, x) = \log P(k) + \sum_j \log p_j(x_j \mid k),\qquad
    P(k\mid x) = \frac{P(k, x)}{\sum_l P(l, x)}

A model sums up rows by class (`_statistic`), reads its parameters off the sums (`_learn`), says the joint log
probability of a block (`_joint`), and draws rows of given classes (`_draw_rows`). Missing values count in no sum, and
at prediction their columns are left out.
"""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from didact.core.errors import InputError
from didact.core.estimator import Estimator
from didact.core.parameters import attr
from didact.core.random import streams
from didact.core.rows import Rows, blocks_of
from didact.core.typing import Array
from didact.core.validation import all_classes
from didact.engines.components.posterior import class_priors, class_scores, log_posterior, most_probable, posterior

COUNTED = "Weights count rows, beside which alpha is a number of rows: other units of the weights are another alpha."


class _NaiveBayes(ClassifierMixin, Estimator):
    """Fit, update and predict. Abstract."""

    _attrs = [attr("class_count_", "(n_classes,)", "Weight of each class.")]

    _missing = True

    def _statistic(self, rows: Rows, first: bool) -> Any:
        """The sums of all rows by class; at `first` what has to be known of the rows before is learnt, too."""
        raise NotImplementedError

    def _learn(self, S: Any, dtype: Any) -> None:
        """Attributes from the sums of all classes; probabilities in the float type of the rows."""
        raise NotImplementedError

    @property
    def _joint(self) -> Any:
        """The function of a block of rows that gives log P(k, x), (n, K)."""
        raise NotImplementedError

    def _draw_rows(self, codes: Array, rng: np.random.Generator) -> Array:
        """A row of each of these classes."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn from rows X with labels y; sample_weight counts rows."""
        return self._update(X, y, sample_weight, None)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Any:
        """Learn from more rows; the first call names all `classes`."""
        return self._update(X, y, sample_weight, all_classes(self, classes))

    def _update(self, X: Any, y: Any, sample_weight: Any, known: Array | None) -> Any:
        """Learn from rows, beside those seen before if all labels are known."""
        first = known is None or not hasattr(self, "classes_")
        rows = self._rows(X, y, sample_weight, target="labels", reset=first,
                         categories=getattr(self, "categorical_features", None))  # fmt: skip
        categories = getattr(self, "categories_", None)
        if not first and categories is not None:
            for block in blocks_of(X):
                categories.refuse_new(block)
        S = self._statistic(rows, first)
        known = S.labels if known is None else known
        strange = np.setdiff1d(S.labels, known)
        if len(strange):
            raise InputError(f"The target label(s) {strange} in y do not exist in the initial classes {known}.")
        self._stats: Any = S if first else self._stats.merge(S)
        self.classes_ = known
        S = self._stats.among(known)
        self.class_count_ = S.weight
        self._learn(S, rows.dtype)
        return self

    def _log_prior(self, given: Any, uniform: bool) -> Array:
        prior = class_priors("equal" if given is None and uniform else given, self.class_count_)
        with np.errstate(divide="ignore"):
            return np.log(prior)

    @property
    def _log_priors(self) -> Array:
        return self.class_log_prior_

    def predict_joint_log_proba(self, X: Any) -> Any:
        """log P(class, x) of each row and class."""
        return self._after_fit()._map_rows(X, class_scores, self._joint)

    def predict(self, X: Any) -> Any:
        """The most probable label of each row."""
        return self._after_fit()._map_rows(X, most_probable, self.classes_, self._joint)

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes (n, K), in the order of classes_."""
        return self._after_fit()._map_rows(X, posterior, self._joint)

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of the probabilities of the classes."""
        return self._after_fit()._map_rows(X, log_posterior, self._joint)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Array, Array]:
        """Rows and labels drawn from the model; columns of categories hold their values."""
        check_is_fitted(self)
        rng = streams(random_state, 1)[0]
        prior = np.exp(self._log_priors)
        codes = rng.choice(len(self.classes_), size=n_samples, p=prior / prior.sum())
        X, known = self._draw_rows(codes, rng), getattr(self, "categories_", None)
        return X if known is None else known.decode(X), self.classes_[codes]
