r"""From an index of rows to what the neighbours of a query say: votes of their classes, or a mean of their values.

.. math:: P(c\mid x) = \frac{\sum_i w(d_i)\,m_i\,[y_i=c]}{\sum_i w(d_i)\,m_i},
    \qquad \hat y(x) = \frac{\sum_i w(d_i)\,m_i\,y_i}{\sum_i w(d_i)\,m_i}

with m the sample weight of a fitted row, which says how often it counts. In the order of the file: the nearest rows
until their weights sum to k (`nearest_by_weight`), or all within a radius, as one flat list for a block of queries
(`Neighbors`); weights by distance (`distance_weights`); shares of classes and means of values.
"""

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from didact.core.errors import InputError, ParameterError
from didact.core.typing import Array

PAIRS = 1 << 22  # pairs of a query and a neighbour that are held at a time
FEWEST = 64  # queries that are asked at a time, however many neighbours they have
ENOUGH = 1 - 1e-12  # a sum of weights that is short of k by rounding alone has reached it
NOBODY = (
    "No neighbours were found within the radius for {count} of {rows} rows (the first is row {first}): use a larger "
    "radius, or say with outlier_label which class to answer."
)
NO_WEIGHT = (
    "All neighbors of some sample is getting zero weights: the function weights gave only zeros to the neighbours of "
    "{count} rows (the first is row {first}). It must give at least one of them a positive weight."
)
NOBODY_TO_AVERAGE = (
    "One or more samples have no neighbors within specified radius; predicting NaN for {count} of {rows} rows. Use a "
    "larger radius, or outlier_value='mean'."
)


# ---------------------------------------------------------------------------------------------------- neighbours


def blocks(Q: Any, width: int, pairs: int) -> Iterator[Any]:
    """The queries, cut so that a block with `width` neighbours for each has about `pairs` entries; None stays whole."""
    n, size = 0 if Q is None else Q.shape[0], max(FEWEST, pairs // max(width, 1))
    yield from [Q] if n <= size else (Q[start : start + size] for start in range(0, n, size))


def nearest_by_weight(
    index: Any, w: Array | None, Q: Any, k: float, pairs: int = PAIRS, count: int = 0
) -> Iterator[tuple[Array, Array, Any]]:
    """The nearest rows of each query until their weights w sum to k: distances, rows and the weight taken of each.

    The last one counts with what is missing, and those beyond it with 0. Without w each row counts once, and there are
    no weights to return. A table (queries, rows) comes for one block of queries after another, of about `pairs`
    entries: `count` rows are asked for, k to begin with, and twice as many where they are too light. Without Q the
    queries are the indexed rows, in one block, each without one of the rows that its weight stands for.
    """
    count = count or math.ceil(k)
    most = count if w is None else index.most(Q)
    count = min(count, most)
    for block in blocks(Q, count, pairs):
        found = _nearest(index, w, block, k, count, count == most)
        if found is None:
            yield from nearest_by_weight(index, w, block, k, pairs, 2 * count)
        else:
            yield found


def _nearest(index: Any, w: Array | None, Q: Any, k: float, count: int, last: bool) -> Any:
    """The table of `nearest_by_weight` from `count` rows for each query; None if they are too few, and not the last."""
    if w is None:
        return *index.nearest(Q, count), None
    n = len(w) if Q is None else Q.shape[0]
    distances, rows = index.nearest(Q, count) if count else (np.empty((n, 0)), np.empty((n, 0), np.int64))
    weights = w[rows]
    if not last and _short(weights, k):
        return None
    if Q is None:
        own = np.arange(n)[:, None]
        distances, rows = np.hstack([np.zeros((n, 1)), distances]), np.hstack([own, rows])
        order = np.lexsort((rows, distances), axis=1)
        distances, rows = np.take_along_axis(distances, order, axis=1), np.take_along_axis(rows, order, axis=1)
        weights = np.maximum(w[rows] - (rows == own), 0.0)
    if count < len(w) - (Q is None) and _short(weights, k):
        index.nearest(Q, count + 1)  # a table in which neighbours are missing says so
    return distances, rows, up_to(k, weights)


def _short(weights: Array, k: float) -> bool:
    return bool((weights.sum(axis=1) < k * ENOUGH).any())


def up_to(k: float, weights: Array) -> Array:
    """The part of the weights, row by row from the left, that sums to k."""
    return np.clip(k - (np.cumsum(weights, axis=1) - weights), 0.0, weights)


class Neighbors(NamedTuple):
    """Fitted rows beside queries: those of query q are rows[indptr[q]:indptr[q + 1]]; `weight` counts each of them."""

    indptr: Array
    rows: Array
    distances: Array
    weight: Array | None = None

    @property
    def n_queries(self) -> int:
        """How many queries there are."""
        return len(self.indptr) - 1

    @property
    def query(self) -> Array:
        """The number of the query of each neighbour."""
        return np.repeat(np.arange(self.n_queries), np.diff(self.indptr))

    def counted(self, values: Array, other: float) -> Array:
        """Values of the neighbours, and the other value for those of weight 0."""
        return values if self.weight is None else np.where(self.weight > 0, values, other)

    def reduce(self, ufunc: np.ufunc, values: Array) -> Array:
        """The least or the largest value of each query; zero for one without neighbours."""
        out = np.zeros(self.n_queries)
        some = np.diff(self.indptr) > 0
        if some.any():
            out[some] = ufunc.reduceat(values, self.indptr[:-1][some])
        return out


def flat(distances: Array, rows: Array, weights: Array | None = None) -> Neighbors:
    """Neighbours from tables (queries, rows)."""
    edges = np.arange(len(rows) + 1) * rows.shape[1]
    return Neighbors(edges, rows.ravel(), distances.ravel(), None if weights is None else weights.ravel())


class Question(NamedTuple):
    """Which rows answer (the k nearest, or, with k None, all within the radius), and how their distances weigh them.

    `weights` is a name or a function. The width of Gaussian weights is the bandwidth, if None half of the radius, and
    without that half of the distance of the farthest neighbour.
    """

    index: Any
    weights: Any
    bandwidth: float | None
    sample_weight: Array | None  # how often each fitted row counts
    k: int | None = None
    radius: float | None = None

    def neighbors(self, Q: Any) -> Iterator[Neighbors]:
        """The rows that answer, for a block of queries after another, or (None) for each fitted row without itself."""
        w = self.sample_weight
        if self.k is not None:
            there = np.inf if w is None else w.sum() - (Q is None)
            if there < self.k * ENOUGH:
                raise InputError(
                    f"Expected n_neighbors <= n_samples_fit: {self.k} neighbours were asked for, and the weights of the"
                    f" {'other ' if Q is None else ''}rows sum to {there:g}."
                )
            for table in nearest_by_weight(self.index, w, Q, self.k, PAIRS):
                yield flat(*table)
            return
        for block in blocks(Q, self.index.n_rows, PAIRS):
            found = Neighbors(*self.index.within(block, self.radius))
            if w is not None:
                found = with_own(found, w) if Q is None else found._replace(weight=w[found.rows])
            yield found


def with_own(found: Neighbors, w: Array) -> Neighbors:
    """Neighbours of the fitted rows, and each row itself with what its weight has beyond one."""
    own = np.flatnonzero(w > 1)
    query = np.concatenate([found.query, own])
    order = np.argsort(query, kind="stable")
    edges = np.append(0, np.cumsum(np.bincount(query, minlength=len(w))))
    rows, distances = np.append(found.rows, own), np.append(found.distances, np.zeros(len(own)))
    weight = np.append(w[found.rows], w[own] - 1.0)
    return Neighbors(edges, rows[order], distances[order], weight[order])


# ---------------------------------------------------------------------------------------------------- weights


def distance_weights(found: Neighbors, ask: Question) -> Array:
    """Weights by distance times sample weights; infinite ones (1/d at distance zero) take everything."""
    d = found.distances.astype(np.float64, copy=False)
    if callable(ask.weights):
        w = _called(ask.weights, found, d)
    elif ask.weights == "distance":
        w = _inverse(found, d)
    elif ask.weights == "gaussian":
        w = _gaussian(found, d, ask)
    else:
        w = np.ones(len(d))
    return w if found.weight is None else w * found.weight


def _called(weights: Callable[[Array], Any], found: Neighbors, d: Array) -> Array:
    """The user's weights: of a (queries, k) table of distances, or of each query's distances."""
    counts = np.diff(found.indptr)
    even = len(counts) and (counts == counts[0]).all()
    segments = [d.reshape(len(counts), -1)] if even else np.split(d, found.indptr[1:-1])
    with np.errstate(divide="ignore", over="ignore"):  # what is infinite has a meaning below
        parts = [(segment, weights(segment)) for segment in segments]
    for segment, w in parts:
        if np.shape(w) != segment.shape:
            raise ParameterError(
                f"The function weights must give as many weights as it gets distances: {segment.shape}, "
                f"not {np.shape(w)}."
            )
    w = np.concatenate([np.asarray(w, np.float64).ravel() for _, w in parts])
    if not (w >= 0).all():
        raise InputError("The function weights gave a weight that is negative or not a number.")
    return _greatest_alone(found, w, np.isinf(w))


def _inverse(found: Neighbors, d: Array) -> Array:
    with np.errstate(divide="ignore", over="ignore"):
        w = _greatest_alone(found, 1.0 / d, d == 0)
    if np.isinf(w).any():  # distances so small that 1/d overflows: only ratios matter
        nearest = found.reduce(np.minimum, found.counted(d, np.inf))
        w = _greatest_alone(found, nearest[found.query] / np.where(d > 0, d, 1.0), d == 0)
    return w


def _greatest_alone(found: Neighbors, w: Array, infinite: Array) -> Array:
    """Weights of which those that are infinite, where a query has any that count, are 1 and its others 0."""
    infinite = found.counted(infinite, False)
    on_top = np.zeros(found.n_queries, bool)
    on_top[found.query[infinite]] = True
    return np.where(on_top[found.query], infinite, found.counted(w, 0.0))


def _gaussian(found: Neighbors, d: Array, ask: Question) -> Array:
    """exp(−d²/2h²), relative to the nearest neighbour, so that a small h does not make all weights zero."""
    query = found.query
    if ask.bandwidth is not None:
        h = np.full(len(d), float(ask.bandwidth))
    elif ask.radius is not None:
        h = np.full(len(d), ask.radius / 2)
    else:
        h = found.reduce(np.maximum, found.counted(d, 0.0))[query] / 2
    h = np.where(h > 0, h, 1.0)
    least = found.reduce(np.minimum, d)[query]
    return np.exp(-0.5 * ((d - least) / h) * (d / h + least / h))


# ---------------------------------------------------------------------------------------------------- answers


def class_votes(found: Neighbors, w: Array | None, codes: Array, n_classes: int) -> Array:
    """Sums of weights, or counts, (queries, classes)."""
    cells = found.query * n_classes + codes[found.rows]
    return np.bincount(cells, w, found.n_queries * n_classes).reshape(-1, n_classes)


def value_means(found: Neighbors, w: Array, y: Array) -> Array:
    """Weighted means (queries, outputs) of the neighbours' values; NaN where there is nothing to average."""
    n, query = found.n_queries, found.query
    total = np.bincount(query, w, n)
    sums = [np.bincount(query, w * y[found.rows, o], n) for o in range(y.shape[1])]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.stack(sums, axis=1) / total[:, None]


def answers(X: Any, ask: Question, say: Callable[[Neighbors, Array], list[Array]]) -> list[Array]:
    """say(neighbours, weights), a list with an array for each output, of blocks of queries, put together."""
    parts, first = [], 0
    for found in ask.neighbors(X):
        w = distance_weights(found, ask)
        if ask.k is not None and callable(ask.weights):
            none = np.flatnonzero(np.bincount(found.query, w, found.n_queries) <= 0)
            if len(none):
                raise InputError(NO_WEIGHT.format(count=len(none), first=first + none[0]))
        parts.append(say(found, w))
        first += found.n_queries
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def probabilities(X: Any, ask: Question, codes: Array, classes: list[Array], outliers: Any) -> list[Array]:
    """The shares of the classes among the neighbours of each row, for each output.

    `outliers` are the labels of rows without neighbours, one for each output; None refuses such rows. Where the label
    is none of the classes, the row stays zero.
    """

    def say(found: Neighbors, w: Array) -> list[Array]:
        votes = [class_votes(found, w, codes[:, o], len(names)) for o, names in enumerate(classes)]
        return [table / np.where((total := table.sum(axis=1, keepdims=True)) > 0, total, 1.0) for table in votes]

    shares = answers(X, ask, say)
    lonely = ~shares[0].any(axis=1)
    if outliers is None and lonely.any():
        raise InputError(NOBODY.format(count=lonely.sum(), rows=len(shares[0]), first=lonely.argmax()))
    for o, label in enumerate(outliers or ()):
        shares[o][np.ix_(lonely, classes[o] == label)] = 1.0
    return shares


def no_rows(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function of rows that answers for no rows at all, too: the shape of an answer is learnt from that."""
    fn.takes_no_rows = True  # type: ignore[attr-defined]
    return fn


@no_rows
def class_shares(X: Any, ask: Question, codes: Array, classes: list[Array], several: bool, outliers: Any) -> Any:
    """Probabilities of the classes; a list of tables if there are several outputs."""
    found = [P.astype(float_type(X, ask), copy=False) for P in probabilities(X, ask, codes, classes, outliers)]
    return found if several else found[0]


@no_rows
def class_labels(X: Any, ask: Question, codes: Array, classes: list[Array], several: bool, outliers: Any) -> Any:
    """The class with the most votes, of equal ones the first; (n, outputs) if there are several outputs."""
    columns = []
    for o, P in enumerate(probabilities(X, ask, codes, classes, outliers)):
        chosen = classes[o][P.argmax(axis=1)]
        if outliers is not None and outliers[o] is not None:
            chosen = chosen.astype(np.result_type(chosen, np.asarray(outliers[o])), copy=False)
            chosen[~P.any(axis=1)] = outliers[o]
        columns.append(chosen)
    return np.stack(columns, axis=1) if several else columns[0]


@no_rows
def means(X: Any, ask: Question, y: Array, several: bool, outliers: Array) -> Array:
    """The weighted mean of the neighbours' values; where there is nobody, what `outliers` say."""
    found = answers(X, ask, lambda found, w: [value_means(found, w, y)])[0]
    lonely = np.isnan(found).any(axis=1)
    if lonely.any():
        found[lonely] = outliers
        if np.isnan(outliers).any():
            warnings.warn(NOBODY_TO_AVERAGE.format(count=lonely.sum(), rows=len(found)), UserWarning, stacklevel=2)
    found = found.astype(float_type(X, ask), copy=False)
    return found if several else found[:, 0]


def float_type(X: Any, ask: Question) -> Any:
    """The float type of answers: float32 for such rows, else (words, too) float64."""
    return np.float32 if str((ask.index.rows if X is None else X).dtype).endswith("float32") else np.float64
