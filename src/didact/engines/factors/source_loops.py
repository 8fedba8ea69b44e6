r"""Independent sources: a pass over rows with what every step of ICA needs, and the stochastic rule row by row.

.. math:: \sum_i\omega_i\,g(Wz_i)z_i^T,\qquad \sum_i\omega_i\,g'(Wz_i),\qquad \sum_i\omega_i\log p(Wz_i)

A tile of rows is read once; its projections, the function and its slope and the products stay in the first cache, and
each thread makes one call, in which it takes piece after piece of the rows.

Layout::

    X                  [ row 0 | row 1 | … ] or [ column 0 | … ]   x_ij at i·row_step + j·column_step
    A (tile, width)    row i    [ z | 1 | 0 … ]        width is a multiple of 4
    table (p + 1, K)   [ Wᵀ ], and below it [ 0 … ]
    Y (K, tile)        source k [ row 0 | row 1 | … ]  projections, then the function of them
    sums (pieces, K, width), slopes (pieces, K), values (pieces,)   of each piece
    M (K, 2K)          [ W → 1 | 1 → W⁻¹ ]   elimination, for the rule row by row

Memory: X once a pass. Arithmetic: 2npK multiply-adds and nK exponentials.
"""

from typing import Any

import numpy as np

from didact.core.backend import read_only
from didact.core.jit import REASSOCIATE, jit_unmanaged
from didact.core.jit.atomics import atomic_add
from didact.core.jit.simd import LANES
from didact.core.rows.memory import pass_edges
from didact.core.threads import share_pieces
from didact.core.typing import Array
from didact.engines.linear.pass_loops import EMPTY, ROWS, copy_rows, flat_view, number_column, whole_vectors
from didact.engines.linear.softmax_loops import add_products, set_all_scores
from didact.parts.exp_loops import exp1, log1p1, ratio1
from didact.parts.statistics.moment_loops import NEAR, aligned_zeros

LOGCOSH, BELL, CUBE, LOGISTIC_SOURCE = range(4)
MOST_ROWS = 128  # of a tile


def source_sums(X: Array, w: Any, W: Array, kind: int, alpha: float) -> tuple[Array, Array, float]:
    """Products (K, p), slopes (K,) and, of `LOGISTIC_SOURCE`, the log density of rows X, given W (K, p)."""
    p, K = X.shape[1], len(W)
    wide, width, edges = whole_vectors(K), whole_vectors(p + 1), pass_edges(X, 3 + K // 4)
    rows, weights, table = flat_view(X), number_column(w), aligned_zeros(p + 1, wide)
    table[:p, :K] = W.T
    values, slopes = np.zeros(len(edges) - 1), aligned_zeros(len(edges) - 1, wide)
    sums = aligned_zeros(len(values) * wide, width).reshape(len(values), wide, width)
    tile = min(max(NEAR // max(width, wide) // ROWS * ROWS, 2 * ROWS), MOST_ROWS)

    def loop(turn: Array) -> None:
        A, Y, ones = aligned_zeros(tile, width), aligned_zeros(wide, tile), np.ones(tile)
        source_pass(turn, edges, *rows, p, weights, K, table, kind, alpha, A, Y, ones, sums, slopes, values)

    share_pieces(len(values), loop)
    return sums.sum(axis=0)[:K, :p], slopes.sum(axis=0)[:K], float(values.sum())


@jit_unmanaged
def source_pass(
    turn: Array, edges: Array, X: Array, row_step: int, column_step: int, p: int, w: Array, sources: int, table: Array,
    kind: int, alpha: float, A: Array, Y: Array, ones: Array, sums: Array, slopes: Array, values: Array,
) -> None:  # fmt: skip
    """Take pieces until there are no more: products, slopes and log density of each."""
    for _ in range(turn[1]):
        piece = atomic_add(turn, 0, 1)
        if piece >= values.shape[0]:
            return
        for start in range(edges[piece], edges[piece + 1], A.shape[0]):
            rows = min(A.shape[0], edges[piece + 1] - start)
            copy_rows(X, start * row_step, row_step, column_step, rows, p, ones, A)
            for i in range(0, rows, LANES):
                set_all_scores(A, i, table, Y)
            for k in range(sources):
                slope, value = _function(kind, alpha, w, start, rows, Y[k])
                slopes[piece, k] += slope
                values[piece] += value
            for k in range(0, Y.shape[0], LANES):
                add_products(Y, k, A, rows, sums[piece])


@jit_unmanaged(fastmath=REASSOCIATE)
def _function(kind: int, alpha: float, w: Array, start: int, rows: int, y: Array) -> tuple[float, float]:
    """Projections become the function of them, times weights; the sums of slopes and of log densities."""
    slope, value = 0.0, 0.0
    if kind == LOGISTIC_SOURCE:
        for i in range(rows):
            size = abs(y[i])
            small = exp1(-size)
            half = ratio1(1.0 - small, 1.0 + small)  # tanh |y|/2
            weight = w[start + i] if w.shape[0] > 0 else 1.0
            value -= weight * (size + 2.0 * log1p1(small))
            slope += weight * 0.5 * (1.0 - half * half)
            y[i] = weight * (half if y[i] > 0.0 else -half)
    elif kind == LOGCOSH:
        for i in range(rows):
            small = exp1(-2.0 * alpha * abs(y[i]))
            size = ratio1(1.0 - small, 1.0 + small)
            weight = w[start + i] if w.shape[0] > 0 else 1.0
            slope += weight * alpha * (1.0 - size * size)
            y[i] = weight * (size if y[i] > 0.0 else -size)
    elif kind == BELL:
        for i in range(rows):
            square = y[i] * y[i]
            bell = (w[start + i] if w.shape[0] > 0 else 1.0) * exp1(-0.5 * square)
            slope += (1.0 - square) * bell
            y[i] *= bell
    else:
        for i in range(rows):
            square = (w[start + i] if w.shape[0] > 0 else 1.0) * y[i] * y[i]
            slope += 3.0 * square
            y[i] *= square
    return slope, value


@jit_unmanaged(error_model="numpy")
def ascend_rows(X: Array, order: Array, w: Array, rate: float, W: Array, M: Array, y: Array) -> bool:
    """W += α((1 − 2g(Wx))xᵀ + (Wᵀ)⁻¹), row by row; False if W has become singular, or no longer finite.

    M (K, 2K) is room for the inverse.
    """
    K = W.shape[0]
    for r in range(order.shape[0]):
        if not _inverse(W, M):
            return False
        row = X[order[r]]
        step = rate * (w[order[r]] if w.shape[0] > 0 else 1.0)
        for k in range(K):
            total = 0.0
            for j in range(K):
                total += W[k, j] * row[j]
            small = exp1(-abs(total))
            half = (1.0 - small) / (1.0 + small)
            y[k] = -half if total > 0.0 else half
        for k in range(K):
            for j in range(K):
                W[k, j] += step * (y[k] * row[j] + M[j, K + k])
    return True


@jit_unmanaged(error_model="numpy")
def _inverse(W: Array, M: Array) -> bool:
    """W⁻¹ into the right half of M, by elimination with pivots."""
    K = W.shape[0]
    for i in range(K):
        for j in range(K):
            M[i, j] = W[i, j]
            M[i, K + j] = 1.0 if i == j else 0.0
    for c in range(K):
        best = c
        for i in range(c + 1, K):
            if abs(M[i, c]) > abs(M[best, c]):
                best = i
        pivot = M[best, c]
        if not abs(pivot) > 0.0 or not abs(pivot) < np.inf:
            return False
        for j in range(2 * K):
            M[c, j], M[best, j] = M[best, j] / pivot, M[c, j] if best != c else M[best, j] / pivot
        for i in range(K):
            if i != c:
                factor = M[i, c]
                for j in range(2 * K):
                    M[i, j] -= factor * M[c, j]
    return True


def warm() -> None:
    """Compile for both float types."""
    for dtype in (np.float64, np.float32):
        source_sums(np.ones((1, 1), dtype), None, np.ones((1, 1)), LOGCOSH, 1.0)
    one, row = np.ones((1, 1)), np.zeros(1, np.int64)
    ascend_rows(read_only(one), row, EMPTY, 0.1, one.copy(), np.zeros((1, 2)), np.zeros(1))
