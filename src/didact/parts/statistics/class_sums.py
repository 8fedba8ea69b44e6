r"""Statistics of rows by class, in one pass: what naive Bayes and the discriminants learn from.

Every statistic knows the labels it has seen; two of them merge to the union of their labels, so neither a first pass
over the labels nor their list is needed. Moments are centred (Chan). A missing value (NaN) counts in no sum: each
entry then has a weight of its own.

Chan, Golub, LeVeque (1983), doi:10.1080/00031305.1983.10483115.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import is_sparse, to_numpy
from didact.core.errors import InputError
from didact.core.rows import Block
from didact.core.rows.memory import Rows, listed
from didact.core.threads import parallel_map
from didact.parts.statistics.class_sums_loops import add_sparse_rows
from didact.parts.statistics.moments import label_codes, label_counts

Array = np.ndarray[Any, Any]

TINY = 1e-300  # a probability of zero, kept finite so that a single word does not make nonsense of a sum


class ClassSums(NamedTuple):
    """Labels, the weight of each, and arrays of sums with one row for each label."""

    classes: Array
    weight: Array  # (K,)
    sums: tuple[Array, ...]

    def merge(self, other: "ClassSums") -> "ClassSums":
        """The sums of both sets of rows together."""
        classes, a, b = both(self.classes, other.classes)
        weight = spread(self.weight, a, len(classes)) + spread(other.weight, b, len(classes))
        pairs = zip(self.sums, other.sums, strict=True)
        sums = tuple(wide_sum(spread(x, a, len(classes)), spread(z, b, len(classes))) for x, z in pairs)
        return ClassSums(classes, weight, sums)


class ClassMoments(NamedTuple):
    """Labels, the weight of each, and for each label and column the weight present, its mean and centred scatter."""

    classes: Array
    weight: Array  # (K,)
    present: Array  # (K, p), or (K, 1) while nothing is missing
    mean: Array  # (K, p)
    scatter: Array  # (K, p)

    def merge(self, other: "ClassMoments") -> "ClassMoments":
        """The moments of both sets of rows together."""
        classes, a, b = both(self.classes, other.classes)
        K = len(classes)
        weight = spread(self.weight, a, K) + spread(other.weight, b, K)
        na, nb = spread(self.present, a, K), spread(other.present, b, K)
        present = na + nb
        part = np.divide(nb, present, out=np.zeros_like(present), where=present > 0)
        mean, d = spread(self.mean, a, K), spread(other.mean, b, K)
        d = d - mean
        scatter = spread(self.scatter, a, K) + spread(other.scatter, b, K) + na * part * d * d
        return ClassMoments(classes, weight, present, mean + part * d, scatter)

    @property
    def total_variance(self) -> Array:
        """The variance of each column, all classes together."""
        n = self.present.sum(axis=0)
        safe = np.maximum(n, np.finfo(float).tiny)
        mean = (self.present * self.mean).sum(axis=0) / safe
        return (self.scatter + self.present * (self.mean - mean) ** 2).sum(axis=0) / safe


def refuse_too_large(rows: Rows, *tables: Array) -> None:
    """Refuse by name the columns whose numbers in these tables (…, p) are not finite: sums or squares overflow."""
    lost = np.zeros(rows.n_features, bool)
    for table in tables:
        lost |= ~np.isfinite(table).reshape(-1, rows.n_features).all(axis=0)
    if lost.any():
        raise InputError(
            f"Input X contains values that are too large, in {listed(np.flatnonzero(lost), rows.names)}: their sums "
            "or squares are beyond the range of floating-point numbers. Divide the columns by a power of ten first."
        )


def both(a: Array, b: Array) -> tuple[Array, Array, Array]:
    """The union of two sorted lists of labels, and where the entries of each stand in it."""
    if len(a) == len(b) and np.array_equal(a, b):
        here = np.arange(len(a))
        return a, here, here
    union = np.union1d(a, b)
    return union, np.searchsorted(union, a), np.searchsorted(union, b)


def spread(x: Array, where: Array, K: int) -> Array:
    """The rows of x at their places among K."""
    if len(x) == K:
        return x
    out = np.zeros((K, *x.shape[1:]))
    out[where] = x
    return out


def wide_sum(a: Array, b: Array) -> Array:
    """The sum of two tables, of which one may know fewer columns (categories) than the other."""
    if a.shape[1] == b.shape[1]:
        return a + b
    width = max(a.shape[1], b.shape[1])
    return np.pad(a, ((0, 0), (0, width - a.shape[1]))) + np.pad(b, ((0, 0), (0, width - b.shape[1])))


def by_class(y: Any, w: Any) -> tuple[Array, Array, Array, Array]:
    """Labels of a block, the class code and the weight of each row, and the weight of each class."""
    counts = label_counts(Block(y=y, weight=w))
    codes = to_numpy(label_codes(y, counts.values)).astype(np.int64)
    w = np.ones(len(codes)) if w is None else to_numpy(w).astype(np.float64, copy=False)
    return counts.values, codes, w, counts.weights


def class_sums(X: Any, codes: Array, w: Array, K: int) -> Array:
    """Σ w x by class (K, p), for dense or sparse rows."""
    if is_sparse(X):
        out = np.empty((K, X.shape[1]))
        out.fill(0.0)  # now, as new pages that several threads ask for come slowly
        order = np.argsort(codes.astype(np.int16) if K < 1 << 15 else codes, kind="stable")  # short ones by digits
        edges = np.cumsum(np.bincount(codes, minlength=K))
        # Each class has a row of its own in the sums, so threads need no sums of their own to be added up.
        parallel_map(
            lambda rows: add_sparse_rows(X.data, X.indices, X.indptr, rows, codes, w, out), np.split(order, edges[:-1])
        )
        return out
    return one_hot(codes, w, K).T @ X


def log_shares(counts: Array) -> Array:
    """Logarithms of each row's shares, in place of the counts: a row at a time stays in the cache."""

    def one(row: Array) -> None:
        row /= max(float(row.sum()), TINY)
        np.log(np.maximum(row, TINY, out=row), out=row)

    parallel_map(one, counts)
    return counts


def one_hot(codes: Array, w: Array, K: int) -> Array:
    """The weight of each row in the column of its class."""
    H = np.zeros((len(codes), K))
    H[np.arange(len(codes)), codes] = w
    return H


def moments_by_class(block: Block) -> ClassMoments:
    """Moments of the columns of one block, by class; NaN is left out."""
    X, y, w = block.X, block.y, block.weight
    classes, codes, w, weight = by_class(y, w)
    K = len(classes)
    X = np.asarray(X.toarray() if is_sparse(X) else to_numpy(X), np.float64)
    centre = X.mean(axis=0)
    H = one_hot(codes, w, K)
    if np.isnan(centre).any():
        there = ~np.isnan(X)
        centre = np.divide(
            np.where(there, X, 0.0).sum(axis=0), there.sum(axis=0), where=there.any(axis=0), out=centre * 0
        )
        centre = np.where(there.any(axis=0), centre, 0.0)
        D = np.where(there, X - centre, 0.0)
        present = H.T @ there
    else:
        D = X - centre
        present = weight[:, None]
    first, second = H.T @ D, H.T @ (D * D)
    shift = np.divide(first, present, out=np.zeros_like(first), where=present > 0)
    return ClassMoments(classes, weight, present, centre + shift, np.maximum(second - present * shift * shift, 0.0))
