r"""Means and centred scatter of rows by class: what the discriminants learn from.

.. math:: \mu_k = \frac{\sum_{y_i=k} w_ix_i}{\sum_{y_i=k} w_i},\qquad
    S_k = \sum_{y_i=k} w_i(x_i-\mu_k)(x_i-\mu_k)^T,\qquad S_W = \sum_k S_k

for each class, or pooled to :math:`S_W` alone. Blocks merge by Chan's rule, class by class. Rows with missing values
(NaN) are counted and left out: `gaps` takes care of them. Cost: n p²/2 multiply-adds, whatever the number of
classes.

Chan, Golub, LeVeque (1983), doi:10.1080/00031305.1983.10483115.
"""

import os
from functools import reduce
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import is_tensor, namespace, to_host, to_numpy
from didact.core.errors import InputError
from didact.core.rows import Block
from didact.core.rows.memory import PIECES, MemoryRows, Rows, in_pieces, refuse_infinite
from didact.parts.statistics.class_scatter_loops import add_scatter, extent, group, moments_by_class
from didact.parts.statistics.class_sums import both, refuse_too_large, spread
from didact.parts.statistics.moment_loops import fixed
from didact.parts.statistics.moments import NARROW, label_codes, label_counts

Array = np.ndarray[Any, Any]
MEMORY = 1 << 29  # bytes of scatter matrices that all pieces of a pass together may hold
FAR = 1 << 62  # no whole numbers between labels
GAPS_IN_TENSORS = "Missing values in tensors are not read: fill them first, or give the rows as a NumPy array."


class ClassScatter(NamedTuple):
    """Labels and, for each, the weight and mean of its complete rows and the weight of those with gaps; scatter."""

    classes: Array
    weight: Array  # (K,)
    gaps: Array  # (K,)
    mean: Array  # (K, p)
    scatter: Array  # (K, p, p), or (1, p, p) if pooled
    pooled: bool

    def merge(self, other: "ClassScatter") -> "ClassScatter":
        """The statistic of both sets of rows together."""
        if not np.array_equal(self.classes, other.classes):
            classes, a, b = both(self.classes, other.classes)
            return self.among(classes, a).merge(other.among(classes, b))
        na, nb, K = self.weight, other.weight, len(self.classes)
        weight = na + nb
        part = np.divide(nb, weight, out=np.zeros(K), where=weight > 0)
        d = other.mean - self.mean
        scaled = (na * part)[:, None] * d
        scatter = np.empty_like(self.scatter)
        add_scatter(self.scatter, other.scatter, scaled, d, scatter)
        mean, gaps = self.mean + part[:, None] * d, self.gaps + other.gaps
        return ClassScatter(self.classes, weight, gaps, mean, scatter, self.pooled)

    def among(self, classes: Array, place: Array) -> "ClassScatter":
        """The same among more classes, of which these are the ones at `place`."""
        weight, gaps, mean = (spread(part, place, len(classes)) for part in (self.weight, self.gaps, self.mean))
        scatter = self.scatter if self.pooled else spread(self.scatter, place, len(classes))
        return ClassScatter(classes, weight, gaps, mean, scatter, self.pooled)

    @property
    def within(self) -> Array:
        """The scatter of all rows about the means of their classes."""
        return self.scatter[0] if self.pooled else self.scatter.sum(axis=0)

    @property
    def covariances(self) -> Array:
        """Estimates of greatest likelihood, (K, p, p) or pooled (1, p, p)."""
        weight = self.weight.sum(keepdims=True) if self.pooled else self.weight
        return self.scatter / np.maximum(weight, np.finfo(float).tiny)[:, None, None]

    def pool(self) -> "ClassScatter":
        """The same with one scatter for all classes."""
        return self._replace(scatter=self.within[None], pooled=True)

    @property
    def varies(self) -> Array:
        """Whether a class has rows that differ (K,); pooled, whether any has (1,)."""
        return np.array([S.any() for S in self.scatter])

    def seen(self) -> "ClassScatter":
        """Without classes of no weight."""
        seen = self.weight + self.gaps > 0
        if seen.all():
            return self
        scatter = self.scatter if self.pooled else self.scatter[seen]
        return ClassScatter(
            self.classes[seen], self.weight[seen], self.gaps[seen], self.mean[seen], scatter, self.pooled
        )

    def finished(self) -> "ClassScatter":
        """With exact zeros for columns that vary by no more than rounding."""
        rounding = self.weight[:, None] * (4 * np.finfo(float).eps * self.mean) ** 2
        rounding = rounding.sum(axis=0, keepdims=True) if self.pooled else rounding
        scatter = np.array(self.scatter)
        for S, least in zip(scatter, rounding, strict=True):
            constant = np.diag(S) <= least
            S[constant], S[:, constant] = 0.0, 0.0
        return self._replace(scatter=scatter)


def class_scatter(rows: Rows, pooled: bool) -> ClassScatter:
    """The statistic of all rows, also of labels without weight: one pass; where K matrices p × p for each piece of the
    rows are too much, more."""
    p = rows.n_features
    _require_memory(p)
    if pooled or p <= NARROW:
        return _looked_at(rows.reduce(scatter_of_rows, pooled, None), rows).finished()
    classes = rows.reduce(label_counts).values
    step = max(1, MEMORY // (8 * p * p * PIECES))
    parts = [rows.reduce(scatter_of_rows, False, classes[k : k + step]) for k in range(0, len(classes), step)]
    return _looked_at(reduce(ClassScatter.merge, parts), rows).finished()


def _looked_at(found: ClassScatter, rows: Rows) -> ClassScatter:
    """The statistic, if it is finite; else infinite and too large values are refused by the names of their columns."""
    variances = np.diagonal(found.scatter, axis1=1, axis2=2)
    if not (np.isfinite(found.mean).all() and np.isfinite(variances).all()):
        if isinstance(rows, MemoryRows):
            refuse_infinite(rows.X, rows.names)
        refuse_too_large(rows, found.mean, variances)
    return found


@in_pieces
def scatter_of_rows(block: Block, pooled: bool, only: Array | None) -> ClassScatter:
    """The statistic of one block, of all classes or of some only."""
    X, y, w = block.X, block.y, block.weight
    if only is not None or (w is not None and not is_tensor(w) and (w == 0).any()):
        keep = np.ones(len(X), bool) if only is None else np.isin(to_numpy(y), only)
        labels = np.unique(to_numpy(y)[keep])
        keep &= True if w is None else to_numpy(w) > 0
        found = _of_rows(X[keep], y[keep], None if w is None else w[keep], pooled)
        return found.among(labels, np.searchsorted(labels, found.classes))
    return _of_rows(X, y, w, pooled)


def _of_rows(X: Any, y: Any, w: Any, pooled: bool) -> ClassScatter:
    """The statistic of rows that all have weight."""
    if is_tensor(X):
        counts = label_counts(Block(y=y, weight=w))
        return _of_tensor(X, label_codes(y, counts.values), w, counts.values, counts.weights, pooled)
    X = np.ascontiguousarray(X if X.dtype.kind == "f" else X.astype(np.float64))
    w = None if w is None else np.asarray(w, np.float64)
    classes, order, edges = _grouped(to_numpy(y))
    weight, gaps = _totals(w, order, edges), np.zeros(len(classes))
    mean, scatter = _moments(X, w, order, edges, pooled)
    if np.isnan(mean).any():
        hole = np.isnan(X).any(axis=1)[order]
        holes, whole = (np.concatenate([[0], np.cumsum(part)])[edges] for part in (hole, ~hole))
        gaps = _totals(w, order[hole], holes)
        order, edges = order[~hole], whole
        weight = _totals(w, order, edges)
        mean, scatter = _moments(X, w, order, edges, pooled)
    return ClassScatter(classes, weight, gaps, mean, scatter, pooled)


def _require_memory(p: int) -> None:
    """Refuse a number of columns whose covariance does not fit the machine's memory."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 1 << 34
    if 8 * p * p > machine:
        raise InputError(
            f"A covariance of {p} columns takes {8 * p * p / 2**30:.0f} GiB, more than this machine's memory: use "
            "fewer columns, or GaussianNB, which needs variances only; or fill missing values and give the rows as an "
            "array in memory, where fewer rows than columns need no covariance."
        )


def _grouped(y: Array) -> tuple[Array, Array, Array]:
    """The labels, the rows one class after the other, and where each class begins and the last one ends."""
    whole = y.dtype.kind in "iub" and y.dtype != np.uint64 and len(y) > 0
    codes = fixed(np.asarray(y, np.int64)) if whole else y
    low, high = extent(codes) if whole else (0, FAR)
    values = None
    if high - low >= 4 * len(y) + 1000:  # smaller whole numbers need no sorting
        values, codes = np.unique(y, return_inverse=True)
        codes, low, high = fixed(codes), 0, len(values) - 1
    found, order, edges = (
        np.empty(high - low + 1, np.int64),
        np.empty(len(y), np.int64),
        np.zeros(high - low + 2, np.int64),
    )
    K = group(codes, low, order, edges, found)
    return found[:K].astype(y.dtype) if values is None else values, order, edges[: K + 1]


def _totals(w: Array | None, order: Array, edges: Array) -> Array:
    """The weight of each class."""
    counts = np.diff(edges)
    if w is None:
        return counts.astype(np.float64)
    return np.bincount(np.repeat(np.arange(len(counts)), counts), w[order], len(counts))


def _moments(X: Array, w: Array | None, order: Array, edges: Array, pooled: bool) -> tuple[Array, Array]:
    """Means and scatter of the classes, by a compiled pass for few columns and by BLAS for many."""
    if X.shape[1] <= NARROW:
        return moments_by_class(X, w, order, edges, pooled)
    D, root = X[order].astype(np.float64, copy=False), None if w is None else np.sqrt(w[order])[:, None]
    mean, parts = np.zeros((len(edges) - 1, X.shape[1])), [slice(a, b) for a, b in pairwise(edges)]
    for k, part in enumerate(parts):
        for _ in range(2):  # the second time for what rounding left
            way = np.average(D[part], axis=0, weights=None if w is None else w[order[part]]) if len(D[part]) else 0.0
            D[part] -= way
            mean[k] += way
    D = D if root is None else root * D
    return mean, np.array([D[part].T @ D[part] for part in ([slice(None)] if pooled else parts)])


def _of_tensor(X: Any, codes: Any, w: Any, classes: Array, weight: Array, pooled: bool) -> ClassScatter:
    """The same on a tensor's own device."""
    xp = namespace(X)
    codes = xp.asarray(codes, device=X.device)
    means, products = [], []
    for k in range(len(classes)):
        D = X[codes == k]
        v = xp.ones(D.shape[0], dtype=X.dtype, device=X.device) if w is None else w[codes == k]
        total = max(float(weight[k]), float(np.finfo(float).tiny))
        mean = (v @ D) / total
        D = D - mean
        rest = (v @ D) / total  # what rounding left
        D = D - rest
        means.append(mean + rest)
        products.append((D * v[:, None]).T @ D)
    mean, scatter = to_host(xp.stack(means), xp.stack(products))
    if np.isnan(mean).any():
        raise InputError(GAPS_IN_TENSORS)
    scatter = scatter.sum(axis=0, keepdims=True) if pooled else scatter
    return ClassScatter(classes, weight, np.zeros(len(classes)), mean, scatter, pooled)
