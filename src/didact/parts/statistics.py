r"""Statistics of rows that merge: what least squares, covariances and scalers need from one pass.

Moments keep the weighted mean and the centred scatter :math:`\sum_i w_i (x_i-\bar x)(x_i-\bar x)^T`. Two sets of rows
merge by Chan's rule, which adds :math:`\frac{w_a w_b}{w_a+w_b} dd^T` for the distance d of the two means; raw second
moments would cancel. Block functions are pure in the array namespace and return NumPy float64.

Chan, Golub, LeVeque (1983), Algorithms for computing the sample variance, doi:10.1080/00031305.1983.10483115.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import is_sparse, namespace, to_numpy

Array = np.ndarray[Any, Any]

# A block's raw cross-products lose about (mean/deviation)² units of rounding when centred: allow 10⁴, else centre first.
SAFE_OFFSET = 1e4


class Moments(NamedTuple):
    """Weighted means and centred cross-products of features and targets."""

    count: int
    weight: float
    mean_x: Array  # (p,)
    mean_y: Array  # (k,)
    xx: Array  # (p, p)
    xy: Array  # (p, k)
    yy: Array  # (k,)

    def merge(self, other: "Moments") -> "Moments":
        """The moments of both sets of rows together."""
        if self.weight == 0 or other.weight == 0:
            full, empty = (self, other) if other.weight == 0 else (other, self)
            return full._replace(count=full.count + empty.count)
        weight = self.weight + other.weight
        part = other.weight / weight
        dx, dy = other.mean_x - self.mean_x, other.mean_y - self.mean_y
        shrink = self.weight * part
        return Moments(
            self.count + other.count,
            weight,
            self.mean_x + part * dx,
            self.mean_y + part * dy,
            self.xx + other.xx + np.outer(shrink * dx, dx),
            self.xy + other.xy + np.outer(shrink * dx, dy),
            self.yy + other.yy + shrink * dy * dy,
        )

    def about_zero(self) -> "Moments":
        """The same statistic with cross-products about the origin, as a fit without intercept wants."""
        mx, my, w = self.mean_x, self.mean_y, self.weight
        return self._replace(
            mean_x=np.zeros_like(mx),
            mean_y=np.zeros_like(my),
            xx=self.xx + np.outer(w * mx, mx),
            xy=self.xy + np.outer(w * mx, my),
            yy=self.yy + w * my * my,
        )


def moments(X: Any, y: Any, w: Any) -> Moments:
    """Moments of one block; y may be one column or several, w None."""
    xp = namespace(X)
    X, Y = (X if is_sparse(X) else _double(X)), _double(y if y.ndim == 2 else y[:, None])
    n = X.shape[0]
    ones = xp.ones(n, dtype=Y.dtype, device=Y.device) if w is None else _double(w)
    weight = float(xp.sum(ones))
    if weight == 0:
        zero = np.zeros
        p, k = X.shape[1], Y.shape[1]
        return Moments(n, 0.0, zero(p), zero(k), zero((p, p)), zero((p, k)), zero(k))
    mean_x, mean_y = (ones @ X) / weight, (ones @ Y) / weight
    Yc = Y - mean_y
    WY = Yc if w is None else Yc * ones[:, None]
    xx = centred_gram(X, None if w is None else ones, mean_x, weight)
    xy = X.T @ WY  # WY sums to zero, so X needs no centring here
    yy = xp.sum(WY * Yc, axis=0)
    return Moments(n, weight, *(np.asarray(to_numpy(a), np.float64) for a in (mean_x, mean_y, xx, xy, yy)))


def centred_gram(X: Any, w: Any, mean: Any, weight: float) -> Any:
    """Σ w (x−m)(x−m)ᵀ of a block, by one symmetric product of the raw block where that is accurate enough."""
    if is_sparse(X):
        G = gram(X, w)
        G -= np.outer(weight * mean, mean)
        return G
    xp = namespace(X)
    G = gram(X, w)
    variance = xp.linalg.diagonal(G) / weight - mean * mean
    if bool(xp.any(mean * mean > SAFE_OFFSET * variance)):
        return gram(X - mean, w)
    return G - weight * mean[:, None] * mean[None, :]


def gram(X: Any, w: Any = None) -> Any:
    """Xᵀ diag(w) X, dense, for w ≥ 0 or None."""
    if is_sparse(X):
        return np.asarray((X.T @ (X if w is None else X.multiply(w[:, None]).tocsr())).todense())
    if w is not None:
        xp = namespace(X)
        X = X * xp.sqrt(w)[:, None]
    return X.T @ X


def _double(X: Any) -> Any:
    """CPU blocks of float32 are summed up in float64; tensors keep their type."""
    return X.astype(np.float64, copy=False) if isinstance(X, np.ndarray) else X


class Sums(NamedTuple):
    """Any numbers and arrays that add up over rows: losses, gradients, Hessians, counts."""

    parts: tuple[Any, ...]

    def merge(self, other: "Sums") -> "Sums":
        """Entry-wise sums."""
        return Sums(tuple(a + b for a, b in zip(self.parts, other.parts, strict=True)))


class Counts(NamedTuple):
    """Distinct values and how much weight each has."""

    values: Array
    weights: Array

    def merge(self, other: "Counts") -> "Counts":
        """The union of the values; weights of common ones add."""
        values, where = np.unique(np.concatenate([self.values, other.values]), return_inverse=True)
        return Counts(values, np.bincount(where, np.concatenate([self.weights, other.weights]), len(values)))


def label_counts(X: Any, y: Any, w: Any, *rest: Any) -> Counts:
    """The labels of one block with their weights."""
    y, w = to_numpy(y), None if w is None else to_numpy(w)
    if y.dtype.kind in "iub" and len(y):  # small whole numbers need no sorting
        low = int(y.min())
        if int(y.max()) - low < 4 * len(y) + 1000:
            offset = y.astype(np.int64) - low
            seen = np.flatnonzero(np.bincount(offset))
            weights = np.bincount(offset, w)[seen]
            return Counts((seen + low).astype(y.dtype), weights.astype(np.float64))
    values, where = np.unique(y, return_inverse=True)
    return Counts(values, np.bincount(where, w, len(values)).astype(np.float64))


def label_codes(y: Any, values: Array) -> Array:
    """The position of each label in the sorted values."""
    y = to_numpy(y)
    if y.dtype.kind in "iub" and len(values) and int(values[-1]) - int(values[0]) < 10_000:
        low = int(values[0])
        table = np.full(int(values[-1]) - low + 1, -1)
        table[values.astype(np.int64) - low] = np.arange(len(values))
        return table[y.astype(np.int64) - low]
    return np.searchsorted(values, y)


class Histogram(NamedTuple):
    """Weight per bin of every column for given edges; the outer bins are open."""

    edges: Array  # (p, b−1)
    weights: Array  # (p, b)

    def merge(self, other: "Histogram") -> "Histogram":
        """Bins of the same edges add."""
        return Histogram(self.edges, self.weights + other.weights)


def histogram(X: Any, y: Any, w: Any, edges: Array) -> Histogram:
    """The histogram of one block."""
    counts = [
        np.bincount(np.searchsorted(e, column, side="right"), w, len(e) + 1)
        for e, column in zip(edges, X.T, strict=True)
    ]
    return Histogram(edges, np.asarray(counts, dtype=np.float64))
