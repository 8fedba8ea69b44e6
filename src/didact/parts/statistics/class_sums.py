r"""Sums of rows by class, in one pass: the sufficient statistic of naive Bayes for counts.

A statistic holds the labels it has seen; two statistics merge to the union of their labels.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import read_only, to_numpy
from didact.core.errors import InputError
from didact.core.rows import Block
from didact.core.threads import LONG, parallel_map
from didact.core.typing import Array
from didact.parts.statistics.class_sums_loops import (
    add_dense_rows,
    add_sparse_rows,
    count_categories,
)
from didact.parts.statistics.counts import Labelled, label_codes, label_counts

MOST_CATEGORIES = 1_000_000
FIRST_ROWS = 256  # that say how many values a column may have
ZERO_PROBABILITY = 1e-300  # a probability of zero, kept finite so that a single word does not make nonsense of a sum


class _ClassSums(NamedTuple):
    labels: Array
    weight: Array  # (K,)
    sums: tuple[Array, ...]  # (K, …) each


class ClassSums(Labelled, _ClassSums):
    """Labels, the weight of each, and arrays of sums with one row for each label."""

    __slots__ = ()

    def _joined(self, other: "ClassSums") -> "ClassSums":
        sums = tuple(wide_sum(x, z) for x, z in zip(self.sums, other.sums, strict=True))
        return ClassSums(self.labels, self.weight + other.weight, sums)

    def among(self, labels: Array) -> "ClassSums":
        """The statistic with entries for more labels, which have no rows."""
        return ClassSums(labels, self.spread(self.weight, labels), tuple(self.spread(x, labels) for x in self.sums))


def wide_sum(a: Array, b: Array) -> Array:
    """The sum of two tables, of which one may have fewer columns (categories) than the other."""
    if a.shape[1] == b.shape[1]:
        return a + b
    short, wide = (a, b.copy()) if a.shape[1] < b.shape[1] else (b, a.copy())
    wide[:, : short.shape[1]] += short
    return wide


def by_class(y: Any, w: Any) -> tuple[Array, Array, Array, Array]:
    """Labels of a block, the class code and the weight of each row, and the weight of each class."""
    counts = label_counts(Block(y=y, weight=w))
    codes = to_numpy(label_codes(y, counts.values)).astype(np.int64)
    w = np.ones(len(codes)) if w is None else to_numpy(w).astype(np.float64, copy=False)
    return counts.values, codes, w, counts.weights


def sparse_class_sums(X: Any, codes: Array, w: Array, K: int) -> Array:
    """Σ w x by class (K, p), for sparse rows."""
    out = np.empty((K, X.shape[1]))
    out.fill(0.0)  # touch the pages here: page faults are slow when several threads cause them
    order = np.argsort(codes.astype(np.int16) if K < 1 << 15 else codes, kind="stable")  # int16: radix sort
    edges = np.cumsum(np.bincount(codes, minlength=K))
    # Each thread takes whole classes, whose rows of the sums are its own: no per-thread copies to merge.
    parallel_map(
        lambda rows: add_sparse_rows(X.data, X.indices, X.indptr, rows, codes, w, out), np.split(order, edges[:-1])
    )
    return out


def dense_class_sums(X: Array, codes: Array, w: Array, K: int, threshold: float = np.nan) -> tuple[Array, Array, float]:
    """Σ w x and the weight of missing values by class, both (K, p), and the least x, if it is negative (else 0).

    Unless the threshold is NaN, x counts as 1 above it and as 0 else.
    """
    sums, absent = np.zeros((K, X.shape[1])), np.zeros((K, X.shape[1]))
    least = add_dense_rows(c_rows(X), codes, w, threshold, sums, absent)
    return sums, absent, least


def category_counts(X: Array, codes: Array, w: Array, K: int) -> tuple[Array, ...]:
    """How often each value 0, 1, 2, … of each column goes with each class, one (K, values) table a column.

    One pass: there is room for twice the values of the first rows, and more is made when a larger one comes.
    """
    X, most = c_rows(X), np.zeros(X.shape[1], np.int64)
    first = np.fmax.reduce(X[:FIRST_ROWS], axis=0, initial=0.0).astype(np.float64)
    room = np.where(first < MOST_CATEGORIES, 2.0 * np.floor(first) + 2.0, 2.0)
    places, row, column = _places(room), 0, 0
    counts = np.zeros((int(room.sum()), K))
    while (found := count_categories(X, codes, w, row, column, places, room, most, counts))[0] < len(X):
        row, column = found
        x = float(X[row, column])
        if not 0.0 <= x < MOST_CATEGORIES or x != np.floor(x):
            refuse_category(x)
        more = 2 * int(x) + 2 - int(room[column])
        counts = np.insert(counts, np.full(more, int(places[column] + np.uint64(room[column]))), 0.0, axis=0)
        room[column] += more
        places = _places(room)
    begins = places.tolist()
    return tuple(np.ascontiguousarray(counts[a : a + k + 1].T) for a, k in zip(begins, most.tolist(), strict=True))


def _places(room: Array) -> Array:
    """Where each column's counts begin."""
    return (np.cumsum(room) - room).astype(np.uint64)


def refuse_category(x: float) -> None:
    """Say what is wrong with a number that is no category."""
    if x < 0:
        raise InputError("Negative values in data: categories are the numbers 0, 1, 2, …")
    if x != np.floor(x):
        raise InputError("A column of categories holds fractions: bin it first, or use MixedNB.")
    raise InputError(f"A column of categories holds the number {x:.0f}: encode its values as 0, 1, 2, …")


def c_rows(X: Array) -> Array:
    """Dense rows as loops take them."""
    return read_only(np.ascontiguousarray(X))


def log_shares(counts: Array) -> Array:
    """Overwrite counts by the logarithms of each row's shares, a row at a time, so that it stays in the cache."""

    def one(row: Array) -> None:
        row /= max(float(row.sum()), ZERO_PROBABILITY)
        np.log(np.maximum(row, ZERO_PROBABILITY, out=row), out=row)

    if counts.size < LONG:
        list(map(one, counts))
    else:
        parallel_map(one, counts)
    return counts


def one_hot(codes: Array, w: Array, K: int) -> Array:
    """One-hot class codes (n, K), times the weights."""
    H = np.zeros((len(codes), K))
    H[np.arange(len(codes)), codes] = w
    return H
