r"""Mergeable statistics of rows: what least squares, covariances and scalers need from one pass.

Moments hold the weighted mean and the scatter :math:`\sum_i w_i (x_i-\bar x)(x_i-\bar x)^T`; those of two sets of rows
merge by Chan's rule. Block functions use only the array namespace of the block and return NumPy float64.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import is_sparse, namespace, small_product, to_host, to_numpy
from didact.core.rows import Block
from didact.core.rows.memory import in_pieces
from didact.core.typing import Array
from didact.parts.statistics.chan import join
from didact.parts.statistics.moment_loops import centred_products

# Centring raw cross-products after the sum magnifies rounding errors by (mean/deviation)²: up to 10⁴ is harmless.
SAFE_OFFSET = 1e4
NARROW, ENOUGH_ROWS = 300, 250  # columns up to which, and rows from which on, a compiled pass is quicker than BLAS


class Moments(NamedTuple):
    """Weighted means and centred cross-products of features and targets."""

    rows: int
    weight: float
    mean_x: Array  # (p,)
    mean_y: Array  # (k,)
    xx: Array  # (p, p)
    xy: Array  # (p, k)
    yy: Array  # (k,)

    def merge(self, other: "Moments") -> "Moments":
        """The moments of both sets of rows together."""
        weight, mean_x, dx, factor = join(self.weight, self.mean_x, other.weight, other.mean_x)
        _, mean_y, dy, _ = join(self.weight, self.mean_y, other.weight, other.mean_y)
        xx = np.outer(factor * dx, dx)
        xx += self.xx
        xx += other.xx
        xy, yy = self.xy + other.xy + np.outer(factor * dx, dy), self.yy + other.yy + factor * dy * dy
        rows = self.rows + other.rows
        return Moments(rows=rows, weight=weight, mean_x=mean_x, mean_y=mean_y, xx=xx, xy=xy, yy=yy)

    def about_zero(self) -> "Moments":
        """Means of 0 and cross-products about the origin, for a fit without intercept."""
        mx, my, w = self.mean_x, self.mean_y, self.weight
        return self._replace(
            mean_x=np.zeros_like(mx),
            mean_y=np.zeros_like(my),
            xx=self.xx + np.outer(w * mx, mx),
            xy=self.xy + np.outer(w * mx, my),
            yy=self.yy + w * my * my,
        )


@in_pieces
def moments(block: Block) -> Moments:
    """Moments of one block; y may have one column or several, and the weights may be None."""
    X, y, w = block.X, block.y, block.weight
    xp = namespace(X)
    n = X.shape[0]
    if isinstance(X, np.ndarray) and X.dtype.kind == "f" and n >= ENOUGH_ROWS and X.shape[1] <= NARROW:
        found = _narrow_moments(X, _double(y if y.ndim == 2 else y[:, None]), None if w is None else _double(w))
        if found is not None:
            return found
    X, Y = _double(X), _double(y if y.ndim == 2 else y[:, None])
    ones = xp.ones(n, dtype=Y.dtype, device=Y.device) if w is None else _double(w)
    weight = float(n) if w is None else float(xp.sum(ones, dtype=xp.float64))
    if weight == 0:
        zero = np.zeros
        p, k = X.shape[1], Y.shape[1]
        return Moments(rows=n, weight=0.0, mean_x=zero(p), mean_y=zero(k), xx=zero((p, p)), xy=zero((p, k)), yy=zero(k))
    mean_x, (mean_y, Yc) = small_product(ones, X) / weight, _centred(Y, ones, weight)
    WY = Yc if w is None else Yc * ones[:, None]
    raw = gram(X, None if w is None else ones)
    xy = small_product(X.T, WY)  # WY sums to zero, so X needs no centring here
    yy = xp.sum(WY * Yc, axis=0)
    mean_x, mean_y, raw, xy, yy = to_host(mean_x, mean_y, raw, xy, yy)
    # Centring after the sum needs no copy of X, which may be sparse; only columns where it cancels are done again.
    xx = raw - np.outer(weight * mean_x, mean_x)
    far = np.flatnonzero(mean_x * mean_x > SAFE_OFFSET / weight * np.diag(xx))
    if len(far):
        _centre_first(X, ones, weight, WY, far, mean_x, xx, xy)
    return Moments(rows=n, weight=weight, mean_x=mean_x, mean_y=mean_y, xx=xx, xy=xy, yy=yy)


def _narrow_moments(X: Array, Y: Array, w: Array | None) -> Moments | None:
    """Moments by the compiled pass; None if the first row is far from the mean, or no row has weight."""
    p, weight = X.shape[1], float(len(X) if w is None else w.sum())
    found = centred_products(X, Y, w, weight, SAFE_OFFSET) if weight > 0 else None
    if found is None:
        return None
    mean, scatter = found
    spread = np.diag(scatter).copy()
    constant = spread[:p] <= weight * (np.finfo(np.float64).eps * mean[:p]) ** 2
    if constant.any():
        scatter[:p][constant], scatter[:, :p][:, constant] = 0.0, 0.0
    return Moments(
        rows=len(X),
        weight=weight,
        mean_x=mean[:p],
        mean_y=mean[p:],
        xx=scatter[:p, :p],
        xy=scatter[:p, p:],
        yy=spread[p:],
    )


def _centre_first(X: Any, ones: Any, weight: float, WY: Any, far: Array, mean_x: Array, xx: Array, xy: Array) -> None:
    """Recompute, in place, the entries of columns far from zero (and constant ones), whose raw products cancel."""
    D = X[:, far].toarray() if is_sparse(X) else X[:, far]
    mean, D = _centred(D, ones, weight)
    WD = D * ones[:, None]
    mean_x[far] = to_numpy(mean)
    xx[far] = to_numpy(small_product(WD.T, X))
    xx[:, far] = xx[far].T
    xx[np.ix_(far, far)] = to_numpy(small_product(WD.T, D))
    xy[far] = to_numpy(small_product(D.T, WY))
    # A column that varies by less than the rounding of its values is constant: no solver may divide by that noise.
    rounding = float(namespace(X).finfo(D.dtype).eps) * np.abs(mean_x[far])
    constant = far[np.diag(xx)[far] <= weight * rounding**2]
    xx[constant], xx[:, constant], xy[constant] = 0.0, 0.0, 0.0


def _centred(A: Any, ones: Any, weight: float) -> tuple[Any, Any]:
    """The weighted means of the columns, and A minus them; a second step removes the rounding error of the first."""
    mean = small_product(ones, A) / weight
    A = A - mean
    rest = small_product(ones, A) / weight
    return mean + rest, A - rest


def gram(X: Any, w: Any = None) -> Any:
    """Xᵀ diag(w) X, dense, for w ≥ 0 or None."""
    if is_sparse(X):
        return np.asarray((X.T @ (X if w is None else X.multiply(w[:, None]).tocsr())).todense())
    if w is not None:
        xp = namespace(X)
        if xp is np and 2 * np.count_nonzero(w) < len(w):  # losses with kinks have curvature on few rows
            counts = np.flatnonzero(w)
            X, w = X[counts], w[counts]
        X = X * xp.sqrt(w)[:, None]
    return small_product(X.T, X)


def _double(X: Any) -> Any:
    """Blocks on the CPU as float64, so that float32 is summed in double precision; tensors keep their type."""
    return X.astype(np.float64, copy=False) if isinstance(X, np.ndarray) or is_sparse(X) else X


class Sums(NamedTuple):
    """Any numbers and arrays that add up over rows: losses, gradients, Hessians, counts."""

    parts: tuple[Any, ...]

    def merge(self, other: "Sums") -> "Sums":
        """Entry-wise sums."""
        return Sums(tuple(a + b for a, b in zip(self.parts, other.parts, strict=True)))
