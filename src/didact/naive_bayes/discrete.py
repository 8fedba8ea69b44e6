r"""Naive Bayes for counts and for zeros and ones: Bernoulli, multinomial and complement.

With α added to every count (α = 1 is Laplace's rule, α < 1 Lidstone's) and N the counts of class k,

.. math:: \text{Bernoulli } P(x_j=1\mid k) = \frac{N_{kj}+\alpha}{N_k+2\alpha}, \qquad
    \text{multinomial } \theta_{kj} = \frac{N_{kj}+\alpha_j}{\sum_i (N_{ki}+\alpha_i)}.

The complement model estimates θ from all other classes and takes minus its logarithm, which suits classes of unequal
size.

McCallum, Nigam (1998), A comparison of event models for naive Bayes text classification;
Rennie, Shih, Teevan, Karger (2003), Tackling the poor assumptions of naive Bayes text classifiers.
"""

import warnings
from functools import partial
from typing import Any

import numpy as np

from didact.core.backend import is_sparse
from didact.core.errors import InputError, ParameterError, users_level
from didact.core.estimator import tagged
from didact.core.overflow import refuse_overflow
from didact.core.parameters import array_like, at_least, attr, is_bool, none, param
from didact.core.rows import Block, Rows
from didact.core.rows.memory import in_pieces
from didact.core.typing import Array
from didact.engines.scores.score_loops import Tables
from didact.engines.scores.score_tables import line_tables, scored_by
from didact.naive_bayes.base import COUNTED, _NaiveBayes
from didact.parts.statistics.class_sums import (
    ZERO_PROBABILITY,
    ClassSums,
    by_class,
    dense_class_sums,
    log_shares,
    sparse_class_sums,
)

COUNTS = "it must hold counts, or weights of at least 0"


@in_pieces
def count_rows(block: Block, model: str) -> ClassSums:
    """Sums of counts by class for the model of this name; a missing count adds nothing."""
    X, y, w = block.X, block.y, block.weight
    classes, codes, w, weight = by_class(y, w)
    if is_sparse(X):
        refuse_negative(X, model, COUNTS)
        sums = sparse_class_sums(without_gaps(X), codes, w, len(classes))
    else:
        sums, _, least = dense_class_sums(X, codes, w, len(classes))
        if least < 0:
            refuse_negative(X, model, COUNTS)
    return ClassSums(classes, weight, (sums,))


LONGEST_ROW = 1e18  # counts of a row that is drawn


def refuse_negative(X: Any, model: str, what: str) -> None:
    """Refuse numbers below 0 in scikit-learn's words."""
    if np.fmin.reduce(X.data if is_sparse(X) else X, axis=None, initial=0.0) < 0:
        raise InputError(f"Negative values in data passed to {model} (input X): {what}.")


def with_data(X: Any, data: Array) -> Any:
    """Sparse rows with other numbers in the same places."""
    return type(X)((data, X.indices, X.indptr), shape=X.shape)


def without_gaps(X: Any) -> Any:
    """Rows with 0 in place of missing counts, which say nothing."""
    values = X.data if is_sparse(X) else X
    if not np.isnan(values).any():
        return X
    full = np.where(np.isnan(values), 0.0, values)
    return with_data(X, full) if is_sparse(X) else full


def gaps(X: Any) -> Any:
    """Ones where a value is missing, as rows of the same kind; None if there is none."""
    missing = np.isnan(X.data if is_sparse(X) else X)
    if not missing.any():
        return None
    return with_data(X, missing.astype(np.float64)) if is_sparse(X) else missing.astype(np.float64)


@in_pieces
def one_rows(block: Block, threshold: float | None) -> ClassSums:
    """How often each column is one, and how often it is missing (a table without columns: never), by class."""
    X, y, w = block.X, block.y, block.weight
    classes, codes, w, weight = by_class(y, w)
    K, none = len(classes), np.zeros((len(classes), 0))
    if not is_sparse(X):
        sums, absent, _ = dense_class_sums(X, codes, w, K, np.nan if threshold is None else float(threshold))
        return ClassSums(classes, weight, (sums, absent if absent.any() else none))
    missing, ones = gaps(X), without_gaps(binarized(X, threshold))
    absent = none if missing is None else sparse_class_sums(missing, codes, w, K)
    return ClassSums(classes, weight, (sparse_class_sums(ones, codes, w, K), absent))


def one_log_probabilities(S: ClassSums, alpha: Array) -> Array:
    """log((ones + α)/(present + 2α)) of each class and column."""
    ones, absent = S.sums
    present = S.weight[:, None] - (absent if absent.shape[1] else 0.0)
    return np.log(np.clip((ones + alpha) / np.maximum(present + 2 * alpha, ZERO_PROBABILITY), ZERO_PROBABILITY, 1.0))


def binarized(X: Any, threshold: float | None) -> Any:
    """Ones where X is above the threshold (None: X holds zeros and ones already); NaN stays."""
    if is_sparse(X):
        return with_data(X, binarized(X.data, threshold))
    if threshold is None:
        return np.asarray(X, np.float64)
    return np.where(np.isnan(X), np.nan, threshold < X)


def count_tables(log_prior: Array, weights: Array) -> Tables | None:
    """The tables of `linear_joint`."""
    return line_tables(weights.T, log_prior)


@scored_by(count_tables)
def linear_joint(X: Any, log_prior: Array, weights: Array) -> Array:
    """log P(k) + Σ_j x_j w_jk; a missing count says nothing."""
    return np.asarray(without_gaps(X) @ weights) + log_prior


def one_tables(log_prior: Array, log_one: Array, threshold: float | None) -> Tables | None:
    """The tables of `bernoulli_joint`."""
    log_zero = log_zeros(log_one)
    cut = np.nan if threshold is None else float(threshold)
    return line_tables(log_one - log_zero, log_prior + log_zero.sum(axis=1), cut)


def log_zeros(log_one: Array) -> Array:
    """log(1 − p) from log p."""
    return np.log(np.maximum(-np.expm1(log_one), ZERO_PROBABILITY))


@scored_by(one_tables)
def bernoulli_joint(X: Any, log_prior: Array, log_one: Array, threshold: float | None) -> Array:
    """log P(k) + Σ_j log P(x_j | k) over the columns that are there."""
    log_zero = log_zeros(log_one)
    ones, missing = without_gaps(binarized(X, threshold)), gaps(X)
    joint = np.asarray(ones @ (log_one - log_zero).T) + (log_prior + log_zero.sum(axis=1))
    return joint if missing is None else joint - np.asarray(missing @ log_zero.T)


def smoothing(alpha: Any, force: bool) -> Any:
    """Alpha, and unless it is forced at least 1e-10, with a warning."""
    if force or np.min(alpha) >= LEAST_ALPHA:
        return alpha
    warnings.warn(
        f"alpha too small will result in numeric errors, setting alpha = {LEAST_ALPHA:.1e}. Use `force_alpha=True` to "
        "keep alpha unchanged.",
        UserWarning,
        stacklevel=users_level(),
    )
    return np.maximum(alpha, LEAST_ALPHA)


LEAST_ALPHA = 1e-10
NOT_COUNTS = "A column of counts that is shifted, scaled or constant is another column of counts."


@tagged(classifier_tags__poor_score=True)  # on data that are no counts
class _CountNB(_NaiveBayes):
    """Smoothing and priors of the models for counts. Abstract."""

    _test_skips = {"constant_columns": NOT_COUNTS, "pipeline": NOT_COUNTS, "weight_scale": COUNTED}

    alpha: Any = param(1.0, [at_least(0), array_like], "Added to every count; one number, or one for each column.")
    force_alpha: bool = param(True, is_bool, "Whether an alpha below 1e-10 is used as it is; else 1e-10 is.")
    fit_prior: bool = param(True, is_bool, "Whether the classes' probabilities come from the data, or are equal.")
    class_prior: Any = param(None, [array_like, none], "Probabilities of the classes; None: by fit_prior.")

    _attrs = [
        attr("class_log_prior_", "(n_classes,)", "Logarithms of the probabilities of the classes."),
        attr("feature_count_", "(n_classes, n_features)", "Sums of the counts."),
    ]

    def _smoothing(self) -> Array:
        alpha = np.asarray(self.alpha, np.float64)
        if (alpha < 0).any():
            raise ParameterError("All values in alpha must be greater than 0.")
        if alpha.ndim and alpha.shape != (self.n_features_in_,):
            raise ParameterError(
                "When alpha is an array, it should contain `n_features` numbers, one for each column: "
                f"{self.n_features_in_}, not {alpha.size}."
            )
        return smoothing(alpha, self.force_alpha)

    @property
    def _count(self) -> Any:
        """The function that sums up a block of rows."""
        return partial(count_rows, model=type(self).__name__)

    def _log_probabilities(self, S: ClassSums) -> Array:
        """What `feature_log_prob_` holds."""
        raise NotImplementedError

    def _statistic(self, rows: Rows, first: bool) -> ClassSums:
        """The sums of all rows; those of sparse rows are large beside them, so such rows in memory are one block."""
        at_once = rows.n_rows is not None and rows.is_sparse
        S = self._count(rows.whole()) if at_once else rows.reduce(self._count)
        refuse_overflow(rows, S.sums[0])
        return S

    def _learn(self, S: ClassSums, dtype: Any) -> None:
        self.feature_count_ = S.sums[0]
        tables = self._log_prior(self.class_prior, uniform=not self.fit_prior), self._log_probabilities(S)
        self.class_log_prior_, self.feature_log_prob_ = (table.astype(dtype, copy=False) for table in tables)

    @property
    def _joint(self) -> Any:
        weights = np.ascontiguousarray(self.feature_log_prob_.T)  # sparse products read a row for each column
        return partial(linear_joint, log_prior=self.class_log_prior_, weights=weights)


@tagged(input_tags__positive_only=True)
class MultinomialNB(_CountNB):
    r"""Naive Bayes for counts, such as the words of a text.

    .. math:: \log P(k, x) = \log P(k) + \sum_j x_j\log\theta_{kj}, \qquad
        \theta_{kj} = \frac{N_{kj}+\alpha_j}{\sum_i(N_{ki}+\alpha_i)}

    Notes
    -----
    Cost: one addition for each stored count, whatever the number of classes; prediction O(entries × K). A missing count
    is left out, at fit and at prediction; a row of zeros gets the prior. With alpha = 0 a word that a class never had
    has the probability 1e-300 there. `sample` draws as many words as an average row of the fit has. Shape of
    computation: reduce.

    References
    ----------
    McCallum, Nigam (1998), A comparison of event models for naive Bayes text classification; Manning, Raghavan, Schütze
    (2008), doi:10.1017/CBO9780511809071.

    Examples
    --------
    >>> from didact.naive_bayes import MultinomialNB
    >>> MultinomialNB().fit([[2, 0], [3, 1], [0, 4]], ["a", "a", "b"]).predict([[1, 0]]).tolist()
    ['a']
    """

    _attrs = [attr("feature_log_prob_", "(n_classes, n_features)", "log θ.")]

    def _log_probabilities(self, S: ClassSums) -> Array:
        return log_shares(S.sums[0] + self._smoothing())

    def _draw_rows(self, codes: Array, rng: np.random.Generator) -> Array:
        p = np.exp(self.feature_log_prob_)
        length = self.feature_count_.sum() / self.class_count_.sum()
        if not length < LONGEST_ROW:
            raise InputError(f"Rows have {length:.3g} counts on average, which are too many to be drawn one by one.")
        return np.stack([rng.multinomial(max(1, round(length)), p[k] / p[k].sum()) for k in codes]).astype(np.float64)


@tagged(input_tags__positive_only=True)
class ComplementNB(_CountNB):
    r"""Naive Bayes for counts from the complement of each class, for classes of unequal size.

    .. math:: \theta_{kj} = \frac{\sum_{c\ne k}N_{cj}+\alpha_j}{\sum_i\big(\sum_{c\ne k}N_{ci}+\alpha_i\big)}, \qquad
        \text{score}_k(x) = -\sum_j x_j\log\theta_{kj}

    Notes
    -----
    Cost as `MultinomialNB`. The scores are no log probabilities, so `sample` is not offered. Shape of computation:
    reduce.

    References
    ----------
    Rennie, Shih, Teevan, Karger (2003), Tackling the poor assumptions of naive Bayes text classifiers; Manning,
    Raghavan, Schütze (2008), doi:10.1017/CBO9780511809071.

    Examples
    --------
    >>> from didact.naive_bayes import ComplementNB
    >>> ComplementNB().fit([[2, 0], [3, 1], [0, 4]], ["a", "a", "b"]).predict([[1, 0]]).tolist()
    ['a']
    """

    norm: bool = param(False, is_bool, "Whether each class's weights are divided by their sum.")

    _attrs = [
        attr("class_log_prior_", "(n_classes,)", "Logarithms of the probabilities, for a single class alone."),
        attr("feature_all_", "(n_features,)", "Sums over all classes."),
        attr("feature_log_prob_", "(n_classes, n_features)", "Weights −log θ (normalised if `norm`)."),
    ]

    def _log_probabilities(self, S: ClassSums) -> Array:
        counts = S.sums[0]
        self.feature_all_ = counts.sum(axis=0)
        logs = log_shares(self.feature_all_ + self._smoothing() - counts)
        return logs / logs.sum(axis=1, keepdims=True) if self.norm else -logs

    @property
    def sample(self) -> Any:
        """Not offered, as there is no distribution of rows."""
        raise AttributeError("ComplementNB has scores, and no distribution of rows to sample from: use MultinomialNB.")

    @property
    def _joint(self) -> Any:
        prior = self.class_log_prior_ if len(self.classes_) == 1 else np.zeros(len(self.classes_))
        return partial(super()._joint, log_prior=prior)


class BernoulliNB(_CountNB):
    r"""Naive Bayes for columns of zeros and ones; an absent word counts as well as a present one.

    .. math:: \log P(k, x) = \log P(k) + \sum_j \big(x_j\log p_{kj} + (1-x_j)\log(1-p_{kj})\big), \qquad
        p_{kj} = \frac{N_{kj}+\alpha}{N_k+2\alpha}

    Notes
    -----
    Cost: one addition for each stored one; prediction O(entries × K). A missing value counts neither as zero nor as
    one, at fit and at prediction. The discriminant is linear in x. Shape of computation: reduce.

    References
    ----------
    McCallum, Nigam (1998), A comparison of event models for naive Bayes text classification; Manning, Raghavan, Schütze
    (2008), doi:10.1017/CBO9780511809071.

    Examples
    --------
    >>> from didact.naive_bayes import BernoulliNB
    >>> BernoulliNB().fit([[1, 0], [1, 1], [0, 1]], ["a", "a", "b"]).predict([[0, 1]]).tolist()
    ['b']
    """

    _test_skips = {"constant_columns": NOT_COUNTS, "weight_scale": COUNTED}

    binarize: float | None = param(0.0, [at_least(0), none], "Above this a value counts as 1; None: X is binary.")

    _attrs = [
        attr("feature_count_", "(n_classes, n_features)", "How often each column is one."),
        attr("feature_log_prob_", "(n_classes, n_features)", "log p."),
    ]

    @property
    def _count(self) -> Any:
        return partial(one_rows, threshold=self.binarize)

    def _log_probabilities(self, S: ClassSums) -> Array:
        return one_log_probabilities(S, self._smoothing())

    @property
    def _joint(self) -> Any:
        prior, table = self.class_log_prior_, self.feature_log_prob_
        return partial(bernoulli_joint, log_prior=prior, log_one=table, threshold=self.binarize)

    def _draw_rows(self, codes: Array, rng: np.random.Generator) -> Array:
        p = np.exp(self.feature_log_prob_)[codes]
        return (rng.uniform(size=p.shape) < p).astype(np.float64)
