r"""Naive Bayes for categories: :math:`P(x_j = t\mid k) = (N_{kjt}+\alpha)/(N_{kj}+\alpha n_j)` and n_j values."""

from functools import partial
from typing import Any

import numpy as np

from didact.core.backend import is_sparse
from didact.core.errors import InputError, ParameterError
from didact.core.estimator import tagged
from didact.core.parameters import array_like, at_least, attr, is_bool, none, one_of, param, whole
from didact.core.rows import Block, Rows
from didact.core.rows.memory import in_pieces, refuse_infinite
from didact.core.typing import Array
from didact.engines.scores.score_tables import category_tables, scored_by
from didact.naive_bayes.base import COUNTED, _NaiveBayes
from didact.naive_bayes.discrete import refuse_negative, smoothing
from didact.parts.statistics.class_sums import ClassSums, by_class, category_counts, log_shares

CODES = "categories are the numbers 0, 1, 2, …"
FRACTIONS = "The check's columns hold fractions, which are no categories."
NORMAL_DATA = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
    "check_classifiers_one_label_sample_weights",
)


@in_pieces
def category_rows(block: Block, model: str, names: Any = None) -> ClassSums:
    """Counts of every value of every column, by class: one (K, values) table a column."""
    X, y, w = block.X, block.y, block.weight
    classes, codes, w, weight = by_class(y, w)
    X = X.toarray() if is_sparse(X) else X
    try:
        return ClassSums(classes, weight, category_counts(X, codes, w, len(classes)))
    except InputError:  # which column is infinite, and which model takes no negative numbers, is known here
        refuse_infinite(X, names)
        refuse_negative(X, model, CODES)
        raise


@scored_by(category_tables)
def categorical_joint(X: Any, log_prior: Array, tables: list[Array]) -> Array:
    """log P(k) + Σ_j log P(x_j | k); a missing value, or one that was not there at fit, says nothing."""
    X = X.toarray() if is_sparse(X) else X
    out = np.tile(log_prior, (X.shape[0], 1))
    for column, table in zip(X.T, tables, strict=True):
        there = (column >= 0) & (column < table.shape[1])  # false for NaN
        out[there] += table[:, column[there].astype(np.intp)].T
    return out


def log_table(counts: Array, alpha: float) -> Array:
    """Logarithms of the smoothed probabilities of a column's values, by class."""
    return log_shares(counts + alpha)


def padded(counts: Array, values: int) -> Array:
    """A table of counts (K, …) with at least so many values."""
    return np.pad(counts, ((0, 0), (0, max(0, values - counts.shape[1]))))


@tagged(input_tags__categorical=True, classifier_tags__poor_score=True, input_tags__positive_only=True)
class CategoricalNB(_NaiveBayes):
    r"""Naive Bayes for columns of categories.

    .. math:: P(x_j = t\mid k) = \frac{N_{kjt}+\alpha}{N_{kj}+\alpha n_j}

    Notes
    -----
    Cost O(n p); prediction O(n p K). Columns hold the numbers 0, 1, 2, …, or are of category type, or are named in
    `categorical_features`. A missing value, and at prediction a value that was not there at fit, is left out. Shape of
    computation: reduce.

    References
    ----------
    Domingos, Pazzani (1997), doi:10.1023/A:1007413511361.

    Examples
    --------
    >>> from didact.naive_bayes import CategoricalNB
    >>> CategoricalNB().fit([[0, 1], [0, 2], [1, 1]], ["a", "a", "b"]).predict([[0, 1]]).tolist()
    ['a']
    """

    _finds_infinity = True
    _test_skips = dict.fromkeys(NORMAL_DATA, FRACTIONS) | {
        "text_refused/category": "It reads columns of categories.",
        "constant_columns/constant": "A constant column must hold a whole number to be a category.",
        "constant_columns/shift": "A category that is shifted is another category.",
        "pipeline": "Scaled categories are no categories.",
        "weight_scale": COUNTED,
    }

    alpha: float = param(1.0, at_least(0), "Added to every count.")
    force_alpha: bool = param(True, is_bool, "Whether an alpha below 1e-10 is used as it is; else 1e-10 is.")
    fit_prior: bool = param(True, is_bool, "Whether the classes' probabilities come from the data, or are equal.")
    class_prior: Any = param(None, [array_like, none], "Probabilities of the classes; None: by fit_prior.")
    min_categories: Any = param(None, [none, whole(1), array_like], "Least number of values of a column, or of each.")
    categorical_features: Any = param(
        "from_dtype", [one_of("from_dtype"), array_like, none], "Columns whose values are to be numbered."
    )

    _attrs = [
        attr("class_log_prior_", "(n_classes,)", "Logarithms of the probabilities of the classes."),
        attr("category_count_", "list of (n_classes, n_values)", "Counts of the values of each column."),
        attr("feature_log_prob_", "list of (n_classes, n_values)", "Logarithms of their probabilities."),
        attr("n_categories_", "(n_features,)", "Number of values of each column."),
        attr("categories_", "Categories or None", "The values of category columns, in the order of their codes."),
    ]

    def _statistic(self, rows: Rows, first: bool) -> ClassSums:
        return rows.reduce(partial(category_rows, model=type(self).__name__, names=rows.names))

    def _learn(self, S: ClassSums, dtype: Any) -> None:
        prior = self._log_prior(self.class_prior, uniform=not self.fit_prior)
        self.class_log_prior_ = prior.astype(dtype, copy=False)
        self.category_count_ = [padded(*pair) for pair in zip(S.sums, self._least_values(), strict=True)]
        self.n_categories_ = np.array([counts.shape[1] for counts in self.category_count_])
        alpha = smoothing(self.alpha, self.force_alpha)
        tables = (log_table(counts, alpha) for counts in self.category_count_)
        self.feature_log_prob_ = [table.astype(dtype, copy=False) for table in tables]

    @property
    def _joint(self) -> Any:
        return partial(categorical_joint, log_prior=self.class_log_prior_, tables=self.feature_log_prob_)

    def _least_values(self) -> Array:
        p = self.n_features_in_
        known = np.zeros(p, int) if self.categories_ is None else self.categories_.counts
        if self.min_categories is None:
            return known
        least = np.asarray(self.min_categories)
        if least.dtype.kind not in "iu" or least.shape not in ((), (p,)):
            raise ParameterError(
                f"'min_categories' should have shape ({p},), whole numbers for each column, or be one for all."
            )
        return np.maximum(known, least)

    def _draw_rows(self, codes: Array, rng: np.random.Generator) -> Array:
        return draw_categories(self.feature_log_prob_, codes, rng)


def draw_categories(tables: list[Array], codes: Array, rng: np.random.Generator) -> Array:
    """One value of each column for each class code, drawn by the columns' log probabilities."""
    columns = []
    for table in tables:
        edges = np.cumsum(np.exp(table), axis=1)[codes]
        u = rng.uniform(size=(len(codes), 1)) * edges[:, -1:]
        columns.append((u >= edges).sum(axis=1))
    return np.stack(columns, axis=1).astype(np.float64)
