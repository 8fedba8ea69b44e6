r"""Naive Bayes for columns of different kinds: :math:`\log P(k, x) = \log P(k) + \sum_j\log p_j(x_j\mid k)`.

Each column has its own kind of distribution: normal, categorical, zero-one, Poisson counts, or numbers cut into bins
of equal frequency, which then are categories.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from didact.core.errors import InputError, ParameterError
from didact.core.overflow import refuse_overflow
from didact.core.parameters import array_like, at_least, attr, is_bool, none, one_of, param, whole
from didact.core.rows import Block, Rows
from didact.core.rows.memory import in_pieces
from didact.core.typing import Array
from didact.engines.components.scores import diagonal_joint
from didact.naive_bayes.base import COUNTED, _NaiveBayes
from didact.naive_bayes.categorical import categorical_joint, category_rows, draw_categories, log_table, padded
from didact.naive_bayes.discrete import bernoulli_joint, one_log_probabilities, one_rows
from didact.naive_bayes.gaussian import gaussian_table, moment_tables
from didact.parts.statistics.components import components
from didact.parts.statistics.counts import Labelled

KINDS = ("gaussian", "categorical", "bernoulli", "poisson", "binned")
SAMPLE = 100_000  # rows from which the edges of bins are taken


class Plan(NamedTuple):
    """Which columns are of which kind, and of those cut into bins the inner edges, and the least and largest values."""

    columns: dict[str, Array]
    edges: list[Array]
    ends: list[tuple[float, float]]


class _MixedStats(NamedTuple):
    labels: Array
    weight: Array
    parts: dict[str, Any]


class MixedStats(Labelled, _MixedStats):
    """The statistics of the kinds together."""

    __slots__ = ()

    def _joined(self, other: "MixedStats") -> "MixedStats":
        parts = {kind: S.merge(other.parts[kind]) for kind, S in self.parts.items()}
        return MixedStats(self.labels, self.weight + other.weight, parts)

    def among(self, labels: Array) -> "MixedStats":
        """With entries for more labels, kind by kind."""
        parts = {kind: S.among(labels) for kind, S in self.parts.items()}
        return MixedStats(labels, self.spread(self.weight, labels), parts)


@in_pieces
def summarize(block: Block, plan: Plan) -> MixedStats:
    """The statistics of one block."""
    parts: dict[str, Any] = {}
    for kind, columns in plan.columns.items():
        part = block._replace(X=block.X[:, columns])
        if kind in ("gaussian", "poisson"):
            if kind == "poisson" and (part.X < 0).any():
                raise InputError("Negative values in data: a column of kind 'poisson' holds counts.")
            parts[kind] = components(part.X, part.y, "diagonal", part.weight)
        elif kind == "bernoulli":
            parts[kind] = one_rows(part, 0.0)
        else:
            parts[kind] = category_rows(
                part._replace(X=binned(part.X, plan.edges)) if kind == "binned" else part, "MixedNB"
            )
    first = next(iter(parts.values()))
    return MixedStats(first.labels, first.weight, parts)


def binned(X: Array, edges: list[Array]) -> Array:
    """The number of the bin that each value falls into; NaN stays."""
    columns = [np.searchsorted(e, column, side="right") for column, e in zip(X.T, edges, strict=True)]
    return np.where(np.isnan(X), np.nan, np.stack(columns, axis=1)) if columns else X


def mixed_joint(X: Any, log_prior: Array, plan: Plan, tables: dict[str, Any]) -> Array:
    """log P(k) plus what each kind of columns says."""
    out = np.tile(log_prior, (X.shape[0], 1))
    none_yet = np.zeros(len(log_prior))
    for kind, columns in plan.columns.items():
        block, table = X[:, columns], tables[kind]
        if kind == "gaussian":
            out += diagonal_joint(block, none_yet, *table)
        elif kind == "bernoulli":
            out += bernoulli_joint(block, none_yet, table, 0.0)
        elif kind == "poisson":
            out += poisson_joint(block, table)
        else:
            out += categorical_joint(binned(block, plan.edges) if kind == "binned" else block, none_yet, table)
    return out


def poisson_joint(X: Array, rate: Array) -> Array:
    """Σ_j log Poisson(x_j; rate), over the columns that are there."""
    there = ~np.isnan(X)
    X = np.where(there, X, 0.0)
    return X @ np.log(rate).T - there @ rate.T - (there * special.gammaln(X + 1)).sum(axis=1, keepdims=True)


class Sampled(NamedTuple):
    """Some rows and their weights."""

    X: Array
    w: Array

    def merge(self, other: "Sampled") -> "Sampled":
        """Both, thinned to every second row when there are too many."""
        X, w = np.concatenate([self.X, other.X]), np.concatenate([self.w, other.w])
        return Sampled(X[::2], w[::2]) if len(X) > 2 * SAMPLE else Sampled(X, w)


def some_rows(block: Block, columns: Array) -> Sampled:
    """Some columns of a block."""
    X, w = block.X, block.weight
    return Sampled(np.asarray(X[:, columns], np.float64), np.ones(len(X)) if w is None else np.asarray(w, np.float64))


def learn_edges(rows: Rows, columns: Array, n_bins: int) -> tuple[list[Array], list[tuple[float, float]]]:
    """Edges of bins that hold equally many rows, and the range of their values, column by column."""
    X, w = rows.reduce(some_rows, columns)
    edges = [quantiles(column, w, np.arange(1, n_bins) / n_bins) for column in X.T]
    there = [column[~np.isnan(column) & (w > 0)] for column in X.T]
    return edges, [(x.min(), x.max()) if len(x) else (np.nan, np.nan) for x in there]


def quantiles(x: Array, w: Array, levels: Array) -> Array:
    """The distinct values that divide the weight of a column at the levels; missing values are left out."""
    keep = ~np.isnan(x) & (w > 0)
    if not keep.any():
        return np.zeros(0)
    return np.unique(np.quantile(x[keep], levels, weights=w[keep], method="inverted_cdf"))


def draw_within(bins: Array, edges: Array, ends: tuple[float, float], rng: np.random.Generator) -> Array:
    """A number for each bin, all numbers of a bin being equally probable; the outer bins end at the range seen."""
    low, high = np.append(ends[0], edges)[bins], np.append(edges, ends[1])[bins]
    below = np.where(bins == len(edges), high, np.nextafter(high, -np.inf))  # a bin does not hold its upper edge
    return np.minimum(low + rng.uniform(size=len(bins)) * (high - low), below)


class MixedNB(_NaiveBayes):
    r"""Naive Bayes for numbers, counts, zeros and ones, and categories in one table.

    .. math:: \log P(k, x) = \log P(k) + \sum_j \log p_j(x_j\mid k)

    Notes
    -----
    Cost: one pass, O(n p), and one more over a sample if columns are cut into bins; prediction O(n p K). Missing values
    are left out, at fit and at prediction. `sample` draws numbers within a bin at equal chances, the outer ones within
    the range of the fit. Shape of computation: reduce.

    References
    ----------
    Domingos, Pazzani (1997), doi:10.1023/A:1007413511361.

    Examples
    --------
    >>> import pandas as pd
    >>> from didact.naive_bayes import MixedNB
    >>> table = pd.DataFrame({"size": [1.0, 1.2, 3.0, 3.3], "colour": pd.Categorical(["r", "r", "b", "r"])})
    >>> MixedNB().fit(table, ["x", "x", "y", "y"]).kinds_
    ['gaussian', 'categorical']
    """

    _sparse = False
    _test_params = [{}, {"kinds": "binned"}]
    _test_skips = {
        "text_refused/category": "It reads columns of categories.",
        "constant_columns/constant:kinds": "α makes the tables of classes of unequal size differ.",
        "weight_scale:kinds": COUNTED,
        "constant_columns/zeros:kinds": "α makes the tables of classes of unequal size differ.",
    }

    kinds: Any = param(
        "gaussian",
        [one_of(*KINDS), array_like, dict],
        "The kind of the columns that are not categories: one of 'gaussian', 'binned', 'bernoulli', 'poisson' and "
        "'categorical' for all, a list with one for each column, or a dict by column name or place.",
    )
    n_bins: int = param(10, whole(2), "Number of bins of a column of kind 'binned'.")
    alpha: float = param(1.0, at_least(0), "Added to every count of zeros, ones, categories and bins.")
    var_smoothing: float = param(1e-9, at_least(0), "Part of the largest variance added to each variance.")
    fit_prior: bool = param(True, is_bool, "Whether the classes' probabilities come from the data, or are equal.")
    class_prior: Any = param(None, [array_like, none], "Probabilities of the classes; None: by fit_prior.")
    categorical_features: Any = param("from_dtype", [one_of("from_dtype"), array_like, none], "Columns of categories.")

    _attrs = [
        attr("class_log_prior_", "(n_classes,)", "Logarithms of the probabilities of the classes."),
        attr("kinds_", "list of str", "The kind of each column."),
        attr("categories_", "Categories or None", "The values of category columns, in the order of their codes."),
    ]

    def _statistic(self, rows: Rows, first: bool) -> MixedStats:
        if first:
            self._prepare(rows)
        S = rows.reduce(summarize, self._plan)
        refuse_overflow(rows, tuple(self._sums_of_columns(S)))
        return S

    def _prepare(self, rows: Rows) -> None:
        self.kinds_ = self._kinds()
        columns = {kind: np.flatnonzero(np.array(self.kinds_) == kind) for kind in KINDS}
        columns = {kind: where for kind, where in columns.items() if len(where)}
        cut = learn_edges(rows, columns["binned"], self.n_bins) if "binned" in columns else ([], [])
        self._plan = Plan(columns, *cut)

    def _kinds(self) -> list[str]:
        p = self.n_features_in_
        names = list(getattr(self, "feature_names_in_", ()))
        if isinstance(self.kinds, str):
            kinds = [self.kinds] * p
        elif isinstance(self.kinds, dict):
            kinds = ["gaussian"] * p
            for column, kind in self.kinds.items():
                if column not in names and not (isinstance(column, int) and 0 <= column < p):
                    raise ParameterError(f"kinds names the column {column!r}, which X does not have.")
                kinds[names.index(column) if column in names else column] = kind
        else:
            kinds = list(self.kinds)
        if len(kinds) != p or any(kind not in KINDS for kind in kinds):
            raise ParameterError(f"kinds must be {p} words, one for each column, out of {', '.join(KINDS)}.")
        mask = np.zeros(p, bool) if self.categories_ is None else self.categories_.mask
        return ["categorical" if is_category else kind for kind, is_category in zip(kinds, mask, strict=True)]

    def _sums_of_columns(self, S: MixedStats) -> tuple[Array, ...]:
        """Tables of the statistic with an entry for each column, which must be finite."""
        tables = []
        for kind in ("gaussian", "poisson"):
            for part in moment_tables(S.parts[kind]) if kind in S.parts else ():
                table = np.zeros((*part.shape[:-1], self.n_features_in_))
                table[..., self._plan.columns[kind]] = part
                tables.append(table)
        return tuple(tables)

    def _learn(self, S: MixedStats, dtype: Any) -> None:
        prior = self._log_prior(self.class_prior, uniform=not self.fit_prior)
        self.class_log_prior_ = prior.astype(dtype, copy=False)
        self._tables = {kind: self._table(kind, part) for kind, part in S.parts.items()}

    @property
    def _joint(self) -> Any:
        return partial(mixed_joint, log_prior=self.class_log_prior_, plan=self._plan, tables=self._tables)

    def _table(self, kind: str, S: Any) -> Any:
        if kind == "gaussian":
            return gaussian_table(S, self.var_smoothing)
        if kind == "poisson":
            return np.maximum(S.mean, np.finfo(float).eps)
        if kind == "bernoulli":
            return one_log_probabilities(S, np.asarray(self.alpha))
        counts = self._plan.edges if kind == "binned" else [None] * len(S.sums)
        least = [0 if e is None else len(e) + 1 for e in counts]
        if kind == "categorical" and self.categories_ is not None:
            least = list(self.categories_.counts[self._plan.columns[kind]])
        return [log_table(padded(c, n), self.alpha) for c, n in zip(S.sums, least, strict=True)]

    def _draw_rows(self, codes: Array, rng: np.random.Generator) -> Array:
        X = np.empty((len(codes), self.n_features_in_))
        for kind, columns in self._plan.columns.items():
            table = self._tables[kind]
            if kind == "gaussian":
                mean, variance = (part[codes] for part in table)
                X[:, columns] = mean + np.sqrt(variance) * rng.standard_normal(mean.shape)
            elif kind == "bernoulli":
                X[:, columns] = rng.uniform(size=(len(codes), len(columns))) < np.exp(table)[codes]
            elif kind == "poisson":
                X[:, columns] = rng.poisson(table[codes])
            else:
                X[:, columns] = draw_categories(table, codes, rng)
            if kind == "binned":
                for j, edges, ends in zip(columns, self._plan.edges, self._plan.ends, strict=True):
                    X[:, j] = draw_within(X[:, j].astype(np.intp), edges, ends, rng)
        return X
