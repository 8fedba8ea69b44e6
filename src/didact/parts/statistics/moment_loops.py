r"""Means and centred cross-products of the columns of rows :math:`(x_i, y_i)` with weights, in one pass.

The sums :math:`\sum_i w_i a_i a_i^T` of :math:`a_i = (x_i - x_0,\ y_i - y_0,\ 1)` hold them all: subtracting the first
row keeps the numbers small, and the last row of the sums, divided by the weight, is the difference of the mean from the
first row. A tile of a few dozen rows at a time is copied into the L1 cache, and blocks of 4 × 12 sums stay in registers
while the next rows are prefetched. For up to a few hundred columns this is faster than BLAS, which is called three
times (means, XᵀX, Xᵀy) and reaches half its speed on narrow matrices.

Layout::

    A (tile, width)    row i [ √w (x − x₀) | √w (y − y₀) | √w | 0 … ]   a few dozen rows, which stay in L1
    G (width, width)   ┌ products of two columns     │     │      the lower triangle, in blocks of 4 × 12;
                       └ Σ w (x − x₀) │ Σ w (y − y₀) │ Σ w │      width is a multiple of 4
"""

import numpy as np

from didact.core.backend import read_only
from didact.core.jit import REASSOCIATE, jit, prefetch_row
from didact.core.jit.intrinsics import LINE
from didact.core.jit.simd import LANES, add_outer_1, add_outer_2, add_outer_3
from didact.core.typing import Array

NEAR = 3072  # numbers that stay in the first cache


def room(columns: int) -> tuple[Array, Array]:
    """Buffers for a tile of rows and for their products, with columns padded to a multiple of the vector length."""
    wide = -(-columns // LANES) * LANES
    return aligned_zeros(min(max(NEAR // wide, 48), 256), wide), aligned_zeros(wide, wide)


def aligned_zeros(rows: int, columns: int) -> Array:
    """Zeros aligned to a cache line: loading a vector across two lines costs twice as much."""
    room = np.zeros(rows * columns + LINE // 8)
    begin = -room.ctypes.data % LINE // 8
    return room[begin : begin + rows * columns].reshape(rows, columns)


def centred_products(X: Array, Y: Array, w: Array | None, weight: float, safe: float) -> tuple[Array, Array] | None:
    """Means (p + k,) and centred products (p + k, p + k) of the columns of [X, Y]; w None: all weights are 1.

    None if the squared distance of the first row from a mean is above `safe` variances, as the products then cancel.
    """
    width = X.shape[1] + Y.shape[1]
    (A, G), mean = room(width + 1), np.empty(width)
    rows = read_only(X), read_only(Y), read_only(np.zeros(0) if w is None else np.sqrt(w))
    _accumulate(*rows, A, G)
    near = _centre(rows[0], rows[1], weight, safe, G, mean)
    return (mean, G[:width, :width]) if near else None


@jit
def _accumulate(X: Array, Y: Array, root: Array, A: Array, G: Array) -> None:
    """Add the products of all rows to the lower triangle of G; A is the buffer for a tile of rows."""
    for start in range(0, X.shape[0], A.shape[0]):
        rows = min(A.shape[0], X.shape[0] - start)
        _copy(X, Y, root, start, rows, A)
        asked = start + rows
        for i in range(0, A.shape[1], LANES):
            until = min(start + rows + prefetched_rows(i, A), X.shape[0])
            for r in range(asked, until):
                prefetch_row(X, np.uint64(r))
            asked = until
            add_strip(A, i, rows, G)


@jit
def prefetched_rows(i: int, A: Array) -> int:
    """How many of the next rows are asked for until the strip at i is done: in step with the products of strips."""
    strips, strip = A.shape[1] // LANES, i // LANES + 1
    return A.shape[0] * strip * (strip + 1) // (strips * (strips + 1))


@jit
def add_strip(A: Array, i: int, rows: int, G: Array) -> None:
    """Add to G the products of columns i … i + 3 of A with all columns up to i + 3, over the first rows."""
    a, j, n, left = np.uint64(i), np.uint64(0), np.uint64(rows), i // LANES + 1
    while left > 4 or left == 3:
        add_outer_3(A, a, j, n, G)
        j, left = j + np.uint64(3 * LANES), left - 3
    while left > 1:
        add_outer_2(A, a, j, n, G)
        j, left = j + np.uint64(2 * LANES), left - 2
    if left > 0:
        add_outer_1(A, a, j, n, G)


@jit(fastmath=REASSOCIATE)
def _copy(X: Array, Y: Array, root: Array, start: int, rows: int, A: Array) -> None:
    """Write √w (x − x₀, y − y₀, 1) for the rows from `start` on to the rows of A."""
    p, k = X.shape[1], Y.shape[1]
    for r in range(rows):
        i = start + r
        factor = root[i] if root.shape[0] > 0 else 1.0
        for c in range(p):
            A[r, c] = factor * (np.float64(X[i, c]) - X[0, c])
        for c in range(k):
            A[r, p + c] = factor * (Y[i, c] - Y[0, c])
        A[r, p + k] = factor


@jit
def _centre(X: Array, Y: Array, weight: float, safe: float, G: Array, mean: Array) -> bool:
    """Move the products from the first row to the mean, and fill the upper triangle; False if they cancelled."""
    p, last, near = X.shape[1], mean.shape[0], True
    for i in range(last):
        way = G[last, i] / weight
        for j in range(i + 1):
            G[i, j] -= way * G[last, j]
            G[j, i] = G[i, j]
        mean[i] = (X[0, i] if i < p else Y[0, i - p]) + way
        near = near and not way * way * weight > safe * G[i, i]
    return near


def warm() -> None:
    """Compile for both float types."""
    for dtype in (np.float64, np.float32):
        centred_products(np.ones((1, 1), dtype), np.ones((1, 1)), None, 1.0, 1.0)
