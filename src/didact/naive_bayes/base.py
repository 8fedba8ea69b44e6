r"""What the naive Bayes models share: Bayes' rule with columns that are independent given the class.

.. math:: \log P(k, x) = \log P(k) + \sum_j \log p_j(x_j \mid k)

A model gives the block function that sums up rows by class, turns the sums into attributes, and says the joint log
probability of a block. Missing values count in no sum, and at prediction their columns are left out.
"""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from didact.core.backend import is_sparse
from didact.core.errors import InputError, ParameterError
from didact.core.estimator import Estimator
from didact.core.random import streams
from didact.core.rows import MemoryRows, Rows, blocks_of
from didact.engines.components.posterior import class_priors, in_blocks, log_posterior, most_probable, posterior
from didact.parts.statistics.class_sums import refuse_too_large, spread

Array = np.ndarray[Any, Any]
COUNTED = "Weights count rows, beside which alpha is a number of rows: other units of the weights are another alpha."


class _NaiveBayes(ClassifierMixin, Estimator):
    """Fit, update and predict. Abstract."""

    _missing = True
    _sparse_at_once: ClassVar[bool] = False
    _summary: ClassVar[Any]  # a block of rows → statistic with labels
    _joint: ClassVar[Any]  # joint log probabilities of a block, from the attributes named here
    _joint_attributes: ClassVar[tuple[str, ...]] = ()
    _tables_of_numbers: ClassVar[tuple[str, ...]] = ("class_log_prior_", "feature_log_prob_")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn from rows X with labels y; sample_weight counts rows."""
        rows = self.rows(X, y, sample_weight, target="labels", categories=getattr(self, "categorical_features", None))
        self._prepare(rows)
        self._stats = self._sum_up(rows)
        return self._learn(self._stats.classes, rows.dtype)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Any:
        """Learn from more rows; the first call names all `classes`."""
        first = not hasattr(self, "classes_")
        known = _known_classes(self, classes)
        rows = self.rows(X, y, sample_weight, target="labels", reset=first,
                         categories=getattr(self, "categorical_features", None))  # fmt: skip
        if first:
            self._prepare(rows)
        elif getattr(self, "categories_", None) is not None:
            for block in blocks_of(X):
                self.categories_.refuse_new(block)
        stats = self._sum_up(rows)
        strange = np.setdiff1d(stats.classes, known)
        if len(strange):
            raise InputError(f"The target label(s) {strange} in y do not exist in the initial classes {known}.")
        self._stats = stats if first else self._stats.merge(stats)
        return self._learn(known, rows.dtype)

    def _sum_up(self, rows: Rows) -> Any:
        """The statistic of all rows; sums of sparse rows are large beside them, so those in memory are one block."""
        if self._sparse_at_once and isinstance(rows, MemoryRows) and is_sparse(rows.X):
            stats = self._summary(rows.columns, *self._summary_arguments())
        else:
            stats = rows.reduce(self._summary, *self._summary_arguments())
        refuse_too_large(rows, *self._sums_of_columns(stats))
        return stats

    def _learn(self, classes: Array, dtype: Any) -> Any:
        """Attributes from the statistics, in the float type of the rows."""
        self.classes_ = classes
        place = np.searchsorted(classes, self._stats.classes)
        self.class_count_ = spread(self._stats.weight, place, len(classes))
        self._finish(place)
        for name in self._tables_of_numbers:
            value = getattr(self, name)
            several = value if isinstance(value, list) else [value]
            typed = [v.astype(dtype, copy=False) for v in several]
            setattr(self, name, typed if isinstance(value, list) else typed[0])
        return self

    def _log_prior(self, given: Any, uniform: bool) -> Array:
        prior = class_priors("equal" if given is None and uniform else given, self.class_count_)
        with np.errstate(divide="ignore"):
            return np.log(prior)

    def _prepare(self, rows: Any) -> None:
        """What has to be known of the rows before they are summed up."""

    def _summary_arguments(self) -> tuple[Any, ...]:
        return ()

    def _sums_of_columns(self, stats: Any) -> tuple[Array, ...]:
        """Tables of the statistic with an entry for each column, which must be finite."""
        return ()

    def _finish(self, place: Array) -> None:
        raise NotImplementedError

    def _joint_values(self) -> list[Any]:
        return [getattr(self, name) for name in self._joint_attributes]

    def predict_joint_log_proba(self, X: Any) -> Any:
        """log P(class, x) of each row and class."""
        return self.fitted().map_rows(X, in_blocks, self._joint, *self._joint_values())

    def predict(self, X: Any) -> Any:
        """The most probable label of each row."""
        return self.fitted().map_rows(X, most_probable, self.classes_, self._joint, *self._joint_values())

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes (n, K), in the order of classes_."""
        return self.fitted().map_rows(X, posterior, self._joint, *self._joint_values())

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of the probabilities of the classes."""
        return self.fitted().map_rows(X, log_posterior, self._joint, *self._joint_values())

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Array, Array]:
        """Rows and labels drawn from the model; columns of categories hold their values."""
        check_is_fitted(self)
        rng = streams(random_state, 1)[0]
        prior = np.exp(self._priors())
        codes = rng.choice(len(self.classes_), size=n_samples, p=prior / prior.sum())
        X, known = self._draw_rows(codes, rng), getattr(self, "categories_", None)
        return X if known is None else known.decode(X), self.classes_[codes]

    def _priors(self) -> Array:
        return self.class_log_prior_

    def _draw_rows(self, codes: Array, rng: np.random.Generator) -> Array:
        raise NotImplementedError


def _known_classes(model: Any, classes: Any) -> Array:
    if classes is None:
        if not hasattr(model, "classes_"):
            raise ParameterError("classes must be passed on the first call to partial_fit.")
        return model.classes_
    classes = np.unique(np.asarray(classes))
    if hasattr(model, "classes_") and not np.array_equal(classes, model.classes_):
        raise ParameterError(f"`classes={classes}` is not the same as on last call to partial_fit: {model.classes_}.")
    return classes
