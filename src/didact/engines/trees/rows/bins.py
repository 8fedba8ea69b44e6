"""Bins: every column as small whole numbers, cut at midpoints between neighbouring values or at weighted quantiles.

A column with no more distinct values than bins is cut between all of them, and nothing is lost; else the bins have
about equal weight, and a value that is frequent enough has a bin of its own. Quantiles come from a sample of the rows.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.engines.trees.rows.bins_loops import cut_column, encode_rows
from didact.engines.trees.tuning import CODED_ROWS, TURNED_ROWS

SAMPLE = 200_000  # rows from which the bins are learnt
RECUR_ROWS = 4096  # rows that tell whether values recur
RECUR = 16  # rows for each distinct value of a column, in the mean, from which a bin for each value is worth while


class Bins(NamedTuple):
    """How columns become codes: `code <= k` if and only if `x <= thresholds[f, k]`; a missing value is n_bins[f]."""

    thresholds: Array  # (features, 2^k), padded with infinity
    n_bins: Array  # int64: bins of each feature, or its categories
    categorical: Array  # bool

    @property
    def dtype(self) -> Any:
        """The type of the codes: bytes where the code of a missing value fits."""
        return np.dtype(np.uint8 if self.n_bins.max(initial=0) <= 255 else np.uint16)


def learn_bins(
    X: Any, weights: Array | None = None, max_bins: int = 255, categorical: Array | None = None, seed: int = 0
) -> Bins:
    """Learn the bins of rows X (floats, NaN is missing; categories as codes 0 … K−1; sparse rows are accepted).

    Parameters
    ----------
    X : ndarray or csr of shape (n, p)
        The rows.
    weights : ndarray of shape (n,), optional
        Weights; rows of weight 0 do not count.
    max_bins : int
        Most bins of a column of numbers, not counting the one for missing values.
    categorical : ndarray of shape (p,), optional
        Which columns hold categories: a mask, or the number of categories of each column (0: numbers).
    seed : int
        For the choice of the sample, if there are more than 200,000 rows.
    """
    n, p = X.shape
    if weights is not None and (weights == 0).any():
        X, weights = X[np.flatnonzero(weights)], weights[weights > 0]
        n = X.shape[0]
    if n > SAMPLE:
        chosen = np.sort(np.random.default_rng(seed).choice(n, SAMPLE, replace=False, shuffle=False))
        weights = None if weights is None else weights[chosen]
        X = X[chosen] if sp.issparse(X) else turned(X, chosen).T
    X = X.tocsc() if sp.issparse(X) else X
    categorical = np.zeros(p, bool) if categorical is None else np.asarray(categorical)
    mask = categorical.astype(bool)

    def column(f: int) -> tuple[Array, int]:
        x = X[:, [f]].toarray()[:, 0] if sp.issparse(X) else X[:, f]
        if mask[f]:
            known = int(np.nanmax(x, initial=0.0)) + 1
            return np.empty(0), max(known, 1 if categorical.dtype == bool else int(categorical[f]))
        cuts = column_cuts(x, weights, max_bins)
        return cuts, len(cuts) + 1

    found = parallel_map(column, range(p))
    return pack_cuts([cuts for cuts, _ in found], [bins for _, bins in found], mask)


def turned(X: Array, chosen: Array | None = None) -> Array:
    """The columns (p, n) of all rows or of the chosen ones, each in one piece."""
    out = np.empty((X.shape[1], X.shape[0] if chosen is None else len(chosen)), X.dtype)

    def piece(start: int) -> None:
        rows = slice(start, start + TURNED_ROWS)
        out[:, rows] = (X[rows] if chosen is None else np.take(X, chosen[rows], axis=0)).T

    parallel_map(piece, range(0, out.shape[1], TURNED_ROWS))
    return out


def pack_cuts(cuts: Sequence[Array], n_bins: Sequence[int], categorical: Array) -> Bins:
    """Bins from a list of increasing thresholds for each feature."""
    longest = max((len(c) for c in cuts), default=0)
    thresholds = np.full((len(cuts), 1 << max(longest, 1).bit_length()), np.inf)
    for f, c in enumerate(cuts):
        thresholds[f, : len(c)] = c
    return Bins(thresholds, np.asarray(n_bins, np.int64), np.asarray(categorical, bool))


def column_cuts(x: Array, weights: Array | None, max_bins: int) -> Array:
    """Increasing thresholds of one column, at most max_bins − 1 of them."""
    x = np.asarray(x, np.float64)
    known = ~np.isnan(x)
    if not known.all():
        x, weights = x[known], None if weights is None else weights[known]
    if weights is None:
        values, mass = np.unique(x, return_counts=True)
    else:
        values, inverse = np.unique(x, return_inverse=True)
        mass = np.bincount(inverse, weights, len(values))
    return value_cuts(values, mass.astype(np.float64), max_bins)


def value_cuts(values: Array, mass: Array, max_bins: int) -> Array:
    """Increasing thresholds between sorted distinct values with these weights."""
    if len(values) <= max_bins:
        last: Any = slice(0, max(len(values) - 1, 0))
        after: Any = slice(1, None)
    else:
        cuts = np.empty(max_bins, np.int64)
        last = cuts[: cut_column(values, mass, max_bins, cuts)]
        after = last + 1
    low, high = values[last], values[after]
    with np.errstate(invalid="ignore"):  # −∞ and ∞ have no middle
        middle = 0.5 * low + 0.5 * high  # no overflow
    return np.where(middle < high, middle, low)


def value_bins(X: Any) -> tuple[Bins, Array] | None:
    """Bins of one value each, and these values (p, most); None if values hardly recur, or codes have no room."""
    n, p = X.shape
    columns = X.tocsc() if sp.issparse(X) else X

    def distinct(f: int, step: int = 1) -> Array:
        x = columns[:, [f]].toarray()[::step, 0] if sp.issparse(columns) else columns[::step, f]
        found = np.unique(x)
        return found[~np.isnan(found)].astype(np.float64)

    step = -(-n // RECUR_ROWS)
    if step < 2 or 2 * sum(parallel_map(lambda f: len(distinct(f, step)), range(p))) > p * (n // step):
        return None
    values = parallel_map(distinct, range(p))
    counts = np.array([len(v) for v in values])
    if RECUR * counts.sum() > n * p or counts.max() >= np.iinfo(np.uint16).max:
        return None
    table = np.zeros((p, counts.max()))
    for row, v in zip(table, values, strict=True):
        row[: len(v)] = v
    return pack_cuts([value_cuts(v, v, len(v)) for v in values], np.maximum(counts, 1).tolist(), np.zeros(p)), table


class Heaps(NamedTuple):
    """The thresholds in the order of a search, and the number of its steps, for each feature."""

    heaps: Array
    levels: Array


def search_order(bins: Bins) -> Heaps:
    """The thresholds as `bin_codes` looks through them, level by level; unused places are infinite."""
    heaps, counts = np.full(bins.thresholds.shape, np.inf), np.where(bins.categorical, 1, bins.n_bins)
    levels = np.array([max(int(count) - 1, 0).bit_length() for count in counts], np.int64)
    for depth in np.unique(levels[levels > 0]):
        steps = [np.arange(1 << (depth - d - 1), 1 << depth, 1 << (depth - d)) - 1 for d in range(depth)]
        some, places = levels == depth, np.concatenate(steps)
        heaps[some, : len(places)] = bins.thresholds[np.ix_(some, places)]
    return Heaps(heaps, levels)


def bin_codes(X: Any, bins: Bins, order: Heaps | None = None) -> Array:
    """The codes (n, p) of rows X, one byte each where there are at most 255 bins, row after row."""
    n, p = X.shape
    codes = np.empty((n, p), bins.dtype)
    heaps, levels = search_order(bins) if order is None else order

    def piece(start: int) -> None:
        block = X[start : start + CODED_ROWS]
        block = block.toarray() if sp.issparse(block) else np.ascontiguousarray(block)
        block = block if block.dtype in (np.float32, np.float64) else block.astype(np.float64)
        block = block.view()
        block.flags.writeable = False
        encode_rows(block, heaps, levels, bins.n_bins, bins.categorical, codes[start : start + CODED_ROWS])

    parallel_map(piece, range(0, n, CODED_ROWS))
    return codes


class Coded:
    """Rows of which only the codes are kept: an eighth of the memory, and any tree on these bins reads them as X."""

    def __init__(self, codes: Array, bins: Bins) -> None:
        self.codes, self.bins = codes, bins
        self.shape, self.dtype = codes.shape, np.dtype(np.float64)

    def __sizeof__(self) -> int:
        """Bytes, so that a scheduler brings tasks to the rows and not rows to the tasks."""
        return object.__sizeof__(self) + self.codes.nbytes

    def __getitem__(self, rows: Any) -> "Coded":
        return Coded(self.codes[rows], self.bins)

    def toarray(self) -> Array:
        """A number from each value's bin: its upper threshold, a category's code, NaN for a missing value."""
        out = np.empty(self.shape)
        for f, count in enumerate(self.bins.n_bins):
            if self.bins.categorical[f]:
                table = np.arange(count + 1.0)
            else:
                table = np.append(self.bins.thresholds[f, : count - 1], [np.inf, np.inf])
            table[count] = np.nan
            out[:, f] = table[self.codes[:, f]]
        return out
