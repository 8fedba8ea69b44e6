r"""Means and centred cross-products of the columns of rows :math:`(x_i, y_i)` with weights, in one pass.

The sums :math:`\sum_i w_i a_i a_i^T` of :math:`a_i = (x_i - x_0,\ y_i - y_0,\ 1)` hold them all: subtracting the first
row keeps the numbers small, and the last row of the sums is the way from there to the mean. Some hundred rows at a time
are transposed, so that each product of two columns is a dot product along memory; tiles of 4 × 4 of them stay in
registers. For up to a few hundred columns this is quicker than BLAS, which is called three times (means, XᵀX, Xᵀy) and
handles narrow matrices at half its speed.
"""

from typing import Any

import numpy as np

from didact.core.jit import jit

Array = np.ndarray[Any, Any]

REASSOCIATE = {"reassoc", "contract", "nsz"}  # sums may be reordered; NaN and infinity keep their meaning
TILE = 4
CHUNK = 248  # rows transposed at a time; an odd number of cache lines, so that columns do not evict each other


def centred_products(X: Array, Y: Array, w: Array | None, weight: float, safe: float) -> tuple[Array, Array] | None:
    """Means (p + k,) and centred products (p + k, p + k) of the columns of [X, Y]; w None counts every row once.

    None if the first row is so far from a mean, in units of the deviation, that its square is above `safe`: then the
    products would have cancelled.
    """
    width = X.shape[1] + Y.shape[1]
    padded = -(-(width + 1) // TILE) * TILE
    T, G, mean = np.empty((padded, CHUNK)), np.zeros((padded, padded)), np.empty(width)
    rows = fixed(X), fixed(Y), fixed(np.zeros(0) if w is None else np.sqrt(w))
    _accumulate(*rows, T, G)
    near = _centre(rows[0], rows[1], weight, safe, G, mean)
    return (mean, G[:width, :width]) if near else None


def fixed(a: Array) -> Array:
    """A read-only view in row order, native bytes: one compiled variant for each type."""
    a = np.ascontiguousarray(a, dtype=a.dtype.newbyteorder("="))
    a = np.array(a) if not a.flags.aligned else a.view()
    a.flags.writeable = False
    return a


@jit
def _accumulate(X: Array, Y: Array, root: Array, T: Array, G: Array) -> None:
    """Add the products of all rows to the lower triangle of G; T is room for a chunk of them."""
    for start in range(0, X.shape[0], T.shape[1]):
        _transpose(X, Y, root, start, T)
        for i in range(0, T.shape[0], TILE):
            for j in range(0, i + 1, TILE):
                add_tile(T, i, j, T.shape[1], G)


@jit(fastmath=REASSOCIATE)
def _transpose(X: Array, Y: Array, root: Array, start: int, T: Array) -> None:
    """√w (x − x₀, y − y₀, 1) of the rows from `start` on, as columns of T; zeros where there are none."""
    p, k = X.shape[1], Y.shape[1]
    rows = min(T.shape[1], X.shape[0] - start)
    for r in range(rows):
        i = start + r
        factor = root[i] if root.shape[0] > 0 else 1.0
        for c in range(p):
            T[c, r] = factor * (np.float64(X[i, c]) - X[0, c])
        for c in range(k):
            T[p + c, r] = factor * (Y[i, c] - Y[0, c])
        T[p + k, r] = factor
    for c in range(T.shape[0]):
        for r in range(rows if c <= p + k else 0, T.shape[1]):
            T[c, r] = 0.0


@jit
def _centre(X: Array, Y: Array, weight: float, safe: float, G: Array, mean: Array) -> bool:
    """Move the products from the first row to the mean, and fill the upper triangle; whether they did not cancel."""
    p, last, near = X.shape[1], mean.shape[0], True
    for i in range(last):
        way = G[last, i] / weight
        for j in range(i + 1):
            G[i, j] -= way * G[last, j]
            G[j, i] = G[i, j]
        mean[i] = (X[0, i] if i < p else Y[0, i - p]) + way
        near = near and not way * way * weight > safe * G[i, i]
    return near


@jit(fastmath=REASSOCIATE)
def add_tile(T: Array, i: int, j: int, length: int, G: Array) -> None:
    """Add to G the dot products of four rows of T from i on with four from j on, along the first `length` entries."""
    a0, a1, a2, a3, b0, b1, b2, b3 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    c0, c1, c2, c3, d0, d1, d2, d3 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for r in range(length):
        a, b, c, d = T[i, r], T[i + 1, r], T[i + 2, r], T[i + 3, r]
        x, y, z, u = T[j, r], T[j + 1, r], T[j + 2, r], T[j + 3, r]
        a0, a1, a2, a3 = a0 + a * x, a1 + a * y, a2 + a * z, a3 + a * u
        b0, b1, b2, b3 = b0 + b * x, b1 + b * y, b2 + b * z, b3 + b * u
        c0, c1, c2, c3 = c0 + c * x, c1 + c * y, c2 + c * z, c3 + c * u
        d0, d1, d2, d3 = d0 + d * x, d1 + d * y, d2 + d * z, d3 + d * u
    _add(G, i, j, a0, a1, a2, a3)
    _add(G, i + 1, j, b0, b1, b2, b3)
    _add(G, i + 2, j, c0, c1, c2, c3)
    _add(G, i + 3, j, d0, d1, d2, d3)


@jit
def _add(G: Array, i: int, j: int, x: float, y: float, z: float, u: float) -> None:
    """Add four numbers to a row of G."""
    G[i, j] += x
    G[i, j + 1] += y
    G[i, j + 2] += z
    G[i, j + 3] += u


def warm() -> None:
    """Compile for both float types."""
    for dtype in (np.float64, np.float32):
        centred_products(np.ones((1, 1), dtype), np.ones((1, 1)), None, 1.0, 1.0)
