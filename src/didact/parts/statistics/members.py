"""Which rows belong to which component, and with what weight: for labels and for responsibilities alike."""

from typing import NamedTuple

import numpy as np

from didact.core.backend import read_only
from didact.core.typing import Array
from didact.parts.statistics.components_loops import extent, group

NO_RANGE = 1 << 62  # no whole numbers between labels
NO_RESPONSIBILITY = np.finfo(np.float64).tiny  # what is below is no responsibility


class Members(NamedTuple):
    """The rows of each component, one component after the other; a row may be in several."""

    labels: Array | None
    order: Array  # (m,) row numbers
    edges: Array  # (K + 1,) where each component begins and the last one ends
    w: Array | None  # (m,) their weights, all positive; None: each counts once

    @property
    def weight(self) -> Array:
        """The weight of each component, (K,)."""
        weight = np.diff(self.edges).astype(np.float64)
        if self.w is not None and len(self.w):
            some = weight > 0
            weight[some] = np.add.reduceat(self.w, self.edges[:-1][some])
        return weight

    def keep(self, chosen: Array) -> "Members":
        """The members that a mask selects."""
        edges = np.concatenate([[0], np.cumsum(chosen)])[self.edges]
        return Members(self.labels, self.order[chosen], edges, None if self.w is None else self.w[chosen])


def members(R: Array | None, w: Array | None, n: int) -> Members:
    """The members of each component of n rows, for labels (n,), responsibilities (n, K) or None."""
    if R is not None and R.ndim == 2:
        shares = np.ascontiguousarray(R.T, np.float64) if w is None else R.T * w
        chosen = shares >= NO_RESPONSIBILITY
        edges = np.concatenate([[0], np.cumsum(chosen.sum(axis=1))])
        order = np.broadcast_to(np.arange(n), chosen.shape)[chosen]
        return Members(np.arange(len(shares)), order, edges, shares[chosen])
    labels, order, edges = (None, np.arange(n), np.array([0, n])) if R is None else _grouped(R)
    if w is None:
        return Members(labels, order, edges, None)
    found = Members(labels, order, edges, w[order])
    return found if (w > 0).all() else found.keep(w[order] > 0)


def _grouped(y: Array) -> tuple[Array, Array, Array]:
    """The labels, the row numbers sorted by class, and where each class begins and the last one ends."""
    whole = y.dtype.kind in "iub" and y.dtype != np.uint64 and len(y) > 0
    codes = read_only(np.asarray(y, np.int64)) if whole else y
    low, high = extent(codes) if whole else (0, NO_RANGE)
    values = None
    if high - low >= 4 * len(y) + 1000:  # else a counting sort does
        values, codes = np.unique(y, return_inverse=True)
        codes, low, high = read_only(codes), 0, len(values) - 1
    found, order, edges = (
        np.empty(high - low + 1, np.int64),
        np.empty(len(y), np.int64),
        np.zeros(high - low + 2, np.int64),
    )
    K = group(codes, low, order, edges, found)
    return found[:K].astype(y.dtype) if values is None else values, order, edges[: K + 1]
