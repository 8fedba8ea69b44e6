r"""Coordinate descent for non-negative factors: each row of W by itself, given H, in tiles of rows on all threads.

.. math:: w_t \leftarrow \max\Big(0,\ w_t - \frac{(wG)_t - z_t}{G_{tt}}\Big),\qquad G = HH^T + \lambda_2I,\quad
    z = Hx - \lambda_1

A tile of rows is read once: products with H, one step of every coordinate, and products of the new rows of W with the
same rows of X, from which H follows. Columns of H are the rows of the same problem, their products the sums of those
of all pieces.

Layout::

    X                  [ row 0 | row 1 | … ] or [ column 0 | … ]   x_ij at i·row_step + j·column_step; or CSR
    A (tile, width), B (tile, K)   row i  [ x | 1 | 0 … ]; [ w_0 … w_{K−1} ]   filled up to multiples of 4
    Z, V (K, tile)     part t [ row 0 | row 1 | … ]   products z and coordinates w: steps run along rows in vectors
    table (p + 1, K)   [ Hᵀ ], and below it [ −λ₁ … ]
    spare (3, tile)    [ slopes ], [ sums of their sizes ], [ 1 where a row still moves ]
    sums[piece] (K, width), grams[piece] (K, K)   [ WᵀX | Wᵀ1 | 0 … ], [ WᵀW ]   over the rows of a piece, with weights
    found (pieces, 3)  [ sizes of slopes | ⟨z + λ₁, w⟩ | most sweeps ]

Memory: X once a pass. Arithmetic: 2npK multiply-adds for rows, nK² for steps.
"""

from typing import Any

import numpy as np

from didact.core.backend import read_only
from didact.core.jit import REASSOCIATE, jit_unmanaged, prefetch_row
from didact.core.jit.atomics import atomic_add
from didact.core.jit.simd import LANES
from didact.core.threads import share_pieces
from didact.core.typing import Array
from didact.engines.factors.kept_buffers import KeptBuffers
from didact.engines.factors.tuning import COLUMNS_EACH, MOST_FACTOR_PIECES, PIECE_STEPS, ROWS_EACH
from didact.engines.linear.pass_loops import copy_rows, flat_view, number_column, whole_vectors
from didact.engines.linear.softmax_loops import add_products, set_all_scores
from didact.parts.statistics.moment_loops import NEAR, aligned_zeros

FACTOR_TILE = 64  # most rows of a tile
LINES_AHEAD = 8  # entries of sparse rows whose lines of the table are asked for before they are needed
CROSS, SWEEPS = 1, 2  # places in `found`


def piece_edges(lines: int, each: int, work: int) -> Array:
    """Where pieces of so many lines begin, each of about equal work and of some lines at least."""
    number = min(max(lines * work // PIECE_STEPS, 1), max(lines // each, 1), MOST_FACTOR_PIECES)
    return np.linspace(0, lines, number + 1).astype(np.int64)


def tile_room(wide: int, tile: int) -> tuple[Array, Array, Array]:
    """Room for the products and coordinates of a tile, and three numbers a row."""
    return aligned_zeros(wide, tile), aligned_zeros(wide, tile), aligned_zeros(3, tile)


class DenseSteps:
    """Steps for dense rows X (n, p) with weights w; W (n, K) and H (K, p) change in place."""

    def __init__(self, X: Array, w: Any, W: Array, H: Array) -> None:
        self.X, self.w, self.W, self.H = flat_view(X), number_column(w), W, H
        (n, p), K = X.shape, W.shape[1]
        self.p, self.K, self.width = p, whole_vectors(K), whole_vectors(p + 1)
        self.edges = piece_edges(n, ROWS_EACH + 16 * K, p * K)
        self.columns = piece_edges(p, COLUMNS_EACH, K * (K + 4 * len(self.edges)))  # sums come from other cores
        pieces = len(self.edges) - 1
        self.sums = aligned_zeros(pieces * self.K, self.width).reshape(pieces, self.K, self.width)
        self.grams = aligned_zeros(pieces * self.K, self.K).reshape(pieces, self.K, self.K)
        self.table = aligned_zeros(p + 1, self.K)
        self.table[:p, :K] = H.T
        tile = min(max(NEAR // self.width // LANES * LANES, 4 * LANES), FACTOR_TILE)
        self.row_buffers = KeptBuffers(
            lambda: (aligned_zeros(tile, self.width), aligned_zeros(tile, self.K), *tile_room(self.K, tile))
        )
        self.line_buffers = KeptBuffers(lambda: tile_room(self.K, FACTOR_TILE))

    def rows(self, G: Array, l1: float, order: Array) -> tuple[float, Array]:
        """Move W; the sizes of its slopes and WᵀW with weights."""
        K, found, G = self.W.shape[1], np.zeros((len(self.edges) - 1, 3)), read_only(G)
        self.table[self.p, :K] = -l1
        given = self.edges, *self.X, self.p, self.w, self.table, G, order, self.W

        def loop(turn: Array) -> None:
            self.row_buffers.lend(
                lambda A, B, Z, V, spare: dense_pass(turn, *given, A, B, Z, V, spare, self.sums, self.grams, found)
            )

        share_pieces(len(found), loop)
        return float(found[:, 0].sum()), self.grams.sum(axis=0)[:K, :K]

    def lines(self, G: Array, l1: float, order: Array) -> tuple[float, float]:
        """Move H; the sizes of its slopes and ⟨WᵀX, H⟩."""
        found, G = np.zeros((len(self.columns) - 1, 3)), read_only(G)

        given = self.columns, self.sums, G, l1, order, self.H, self.table

        def loop(turn: Array) -> None:
            self.line_buffers.lend(lambda Z, V, spare: columns_pass(turn, *given, Z, V, spare, found))

        share_pieces(len(found), loop)
        return float(found[:, 0].sum()), float(found[:, CROSS].sum())

    def weight_sums(self) -> Array:
        """Σ w W, column by column."""
        return self.sums.sum(axis=0)[: self.W.shape[1], self.p] if len(self.sums) else np.zeros(self.W.shape[1])


def sparse_buffers(K: int) -> KeptBuffers:
    """Room for the threads of `sparse_step` with K parts."""
    wide = whole_vectors(K)
    return KeptBuffers(lambda: (np.zeros(K), aligned_zeros(FACTOR_TILE, wide), *tile_room(wide, FACTOR_TILE)))


def sparse_step(
    X: Any, w: Any, T: Array, G: Array, l1: float, order: Array, W: Array, buffers: KeptBuffers
) -> tuple[float, float, Array]:
    """Move the rows of W in place, those of CSR rows X given the turned other factor T; slopes, ⟨X T, W⟩ and WᵀW."""
    K, G = W.shape[1], read_only(G)
    edges = _sparse_edges(X, K)
    found, wide = np.zeros((len(edges) - 1, 3)), whole_vectors(K)
    grams = aligned_zeros(len(found) * wide, wide).reshape(len(found), wide, wide)
    rows = read_only(X.data), read_only(X.indices), read_only(X.indptr), number_column(w), read_only(T)

    def loop(turn: Array) -> None:
        buffers.lend(
            lambda one, B, Z, V, spare: sparse_step_pass(
                turn, edges, *rows, G, l1, order, W, one, B, Z, V, spare, grams, found
            )
        )

    share_pieces(len(found), loop)
    return float(found[:, 0].sum()), float(found[:, CROSS].sum()), grams.sum(axis=0)[:K, :K]


def sparse_products(X: Any, T: Array) -> Array:
    """X T (n, K) of CSR rows X, on all threads."""
    T = np.ascontiguousarray(T, np.float64)
    edges, out = _sparse_edges(X, T.shape[1]), np.empty((X.shape[0], T.shape[1]))
    rows = read_only(X.data), read_only(X.indices), read_only(X.indptr), read_only(T)
    share_pieces(len(edges) - 1, lambda turn: sparse_products_pass(turn, edges, *rows, out))
    return out


def _sparse_edges(X: Any, K: int) -> Array:
    return piece_edges(X.shape[0], ROWS_EACH, K * (K + X.nnz // max(X.shape[0], 1)))


def solve_rows(N: Array, G: Array, l1: float, order: Array, W: Array, tol: float, max_iter: int) -> int:
    """Sweep over the coordinates of each row of W, in place, given products N (n, K), until its slopes are small.

    The most sweeps that a row took; one that has not ended took one more than `max_iter`.
    """
    edges = piece_edges(len(N), ROWS_EACH, 10 * N.shape[1] ** 2)
    found, wide, N = np.zeros((len(edges) - 1, 3)), whole_vectors(N.shape[1]), np.ascontiguousarray(N, np.float64)

    def loop(turn: Array) -> None:
        room = *tile_room(wide, FACTOR_TILE), np.zeros(FACTOR_TILE)
        solve_pass(turn, edges, read_only(N), read_only(G), l1, order, W, tol, max_iter, *room, found)

    share_pieces(len(found), loop)
    return int(found[:, SWEEPS].max(initial=0.0))


@jit_unmanaged
def dense_pass(
    turn: Array, edges: Array, X: Array, row_step: int, column_step: int, p: int, w: Array, table: Array, G: Array,
    order: Array, W: Array, A: Array, B: Array, Z: Array, V: Array, spare: Array, sums: Array, grams: Array,
    found: Array,
) -> None:  # fmt: skip
    """Take pieces until there are no more: a step of every coordinate of their rows of W, and WᵀX and WᵀW."""
    for _ in range(turn[1]):
        piece = atomic_add(turn, 0, 1)
        if piece >= found.shape[0]:
            return
        _clear(sums[piece])
        _clear(grams[piece])
        for start in range(edges[piece], edges[piece + 1], A.shape[0]):
            rows = min(A.shape[0], edges[piece + 1] - start)
            for i in range(rows):
                spare[2, i] = 1.0
            copy_rows(X, start * row_step, row_step, column_step, rows, p, spare[2], A)
            for i in range(0, rows, LANES):
                set_all_scores(A, i, table, Z)
            _take(W, start, rows, V)
            _sweep(Z, V, G, order, rows, spare)
            found[piece, 0] += _moved(V, start, rows, w, spare, W, B)
            for k in range(0, V.shape[0], LANES):
                add_products(V, k, A, rows, sums[piece])
                add_products(V, k, B, rows, grams[piece])


@jit_unmanaged
def columns_pass(
    turn: Array, edges: Array, sums: Array, G: Array, l1: float, order: Array, H: Array, table: Array, Z: Array,
    V: Array, spare: Array, found: Array,
) -> None:  # fmt: skip
    """Take pieces of columns: a step of every coordinate of theirs of H, given the sums of all pieces of rows."""
    for _ in range(turn[1]):
        piece = atomic_add(turn, 0, 1)
        if piece >= found.shape[0]:
            return
        for start in range(edges[piece], edges[piece + 1], Z.shape[1]):
            count = min(Z.shape[1], edges[piece + 1] - start)
            for k in range(H.shape[0]):
                for i in range(count):
                    Z[k, i] = -l1
                    V[k, i] = H[k, start + i]
            for part in range(sums.shape[0]):
                for k in range(H.shape[0]):
                    for i in range(count):
                        Z[k, i] += sums[part, k, start + i]
            for i in range(count):
                spare[2, i] = 1.0
            _sweep(Z, V, G, order, count, spare)
            slopes = 0.0
            for i in range(count):
                slopes += spare[1, i]
            found[piece, 0] += slopes
            found[piece, 1] += _cross(Z, V, H.shape[0], count, l1)
            for k in range(H.shape[0]):
                for i in range(count):
                    H[k, start + i] = V[k, i]
                    table[start + i, k] = V[k, i]


@jit_unmanaged
def sparse_step_pass(
    turn: Array, edges: Array, data: Array, indices: Array, indptr: Array, w: Array, T: Array, G: Array, l1: float,
    order: Array, W: Array, one: Array, B: Array, Z: Array, V: Array, spare: Array, grams: Array, found: Array,
) -> None:  # fmt: skip
    """Take pieces of CSR rows: a step of every coordinate of theirs of W, given T (p, K); and WᵀW."""
    K = W.shape[1]
    for _ in range(turn[1]):
        piece = atomic_add(turn, 0, 1)
        if piece >= found.shape[0]:
            return
        for start in range(edges[piece], edges[piece + 1], Z.shape[1]):
            rows = min(Z.shape[1], edges[piece + 1] - start)
            for i in range(rows):
                _product(data, indices, indptr[start + i], indptr[start + i + 1], T, -l1, one)
                for k in range(K):
                    Z[k, i] = one[k]
                spare[2, i] = 1.0
            _take(W, start, rows, V)
            _sweep(Z, V, G, order, rows, spare)
            found[piece, 1] += _cross(Z, V, K, rows, l1)
            found[piece, 0] += _moved(V, start, rows, w, spare, W, B)
            for k in range(0, V.shape[0], LANES):
                add_products(V, k, B, rows, grams[piece])


@jit_unmanaged
def sparse_products_pass(
    turn: Array, edges: Array, data: Array, indices: Array, indptr: Array, T: Array, out: Array
) -> None:  # fmt: skip
    """Take pieces of CSR rows: their products with T (p, K)."""
    for _ in range(turn[1]):
        piece = atomic_add(turn, 0, 1)
        if piece >= edges.shape[0] - 1:
            return
        for i in range(edges[piece], edges[piece + 1]):
            _product(data, indices, indptr[i], indptr[i + 1], T, 0.0, out[i])


@jit_unmanaged
def _product(data: Array, indices: Array, first: int, stop: int, T: Array, begin: float, out: Array) -> None:
    """The product of one CSR row with T (p, K), beginning with a number."""
    for k in range(T.shape[1]):
        out[k] = begin
    for e in range(first, stop):
        if e + LINES_AHEAD < indices.shape[0]:
            prefetch_row(T, indices[e + LINES_AHEAD])
        x, j = np.float64(data[e]), indices[e]
        for k in range(T.shape[1]):
            out[k] += x * T[j, k]


@jit_unmanaged
def solve_pass(
    turn: Array, edges: Array, N: Array, G: Array, l1: float, order: Array, W: Array, tol: float, max_iter: int,
    Z: Array, V: Array, spare: Array, first: Array, found: Array,
) -> None:  # fmt: skip
    """Take pieces of rows with products N: sweeps until the slopes of each row are `tol` of those at first."""
    for _ in range(turn[1]):
        piece = atomic_add(turn, 0, 1)
        if piece >= found.shape[0]:
            return
        for start in range(edges[piece], edges[piece + 1], Z.shape[1]):
            rows = min(Z.shape[1], edges[piece + 1] - start)
            for i in range(rows):
                for k in range(W.shape[1]):
                    Z[k, i] = N[start + i, k] - l1
                spare[2, i] = 1.0
            _take(W, start, rows, V)
            sweeps, moving = 0, 1
            while moving > 0:
                sweeps += 1
                if sweeps > max_iter:
                    break
                _sweep(Z, V, G, order, rows, spare)
                moving = 0
                for i in range(rows):
                    if sweeps == 1:
                        first[i] = spare[1, i]
                    if not spare[1, i] > tol * first[i]:
                        spare[2, i] = 0.0
                    elif spare[2, i] > 0.0:
                        moving += 1
            found[piece, 2] = max(found[piece, 2], sweeps)
            _put(V, start, rows, W)


@jit_unmanaged
def _clear(A: Array) -> None:
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = 0.0


@jit_unmanaged
def _take(W: Array, start: int, rows: int, V: Array) -> None:
    for i in range(rows):
        for k in range(W.shape[1]):
            V[k, i] = W[start + i, k]


@jit_unmanaged
def _moved(V: Array, start: int, rows: int, w: Array, spare: Array, W: Array, B: Array) -> float:
    """Put new coordinates into W and B and multiply them by weights; the sizes of slopes times weights."""
    slopes = 0.0  # pieces of other threads are near in memory: `found` is written once a tile
    for i in range(rows):
        weight = w[start + i] if w.shape[0] > 0 else 1.0
        slopes += weight * spare[1, i]
        for k in range(W.shape[1]):
            W[start + i, k] = V[k, i]
            B[i, k] = V[k, i]
            V[k, i] *= weight
    return slopes


@jit_unmanaged
def _put(V: Array, start: int, rows: int, W: Array) -> None:
    for i in range(rows):
        for k in range(W.shape[1]):
            W[start + i, k] = V[k, i]


@jit_unmanaged(fastmath=REASSOCIATE)
def _cross(Z: Array, V: Array, K: int, rows: int, l1: float) -> float:
    total = 0.0
    for k in range(K):
        for i in range(rows):
            total += (Z[k, i] + l1) * V[k, i]
    return total


@jit_unmanaged(fastmath=REASSOCIATE)
def _sweep(Z: Array, V: Array, G: Array, order: Array, rows: int, spare: Array) -> None:
    """One step of every coordinate of the rows of a tile that still move; the sizes of their slopes in spare[1]."""
    for i in range(rows):
        spare[1, i] = 0.0
    for s in range(order.shape[0]):
        t = order[s]
        for i in range(rows):
            spare[0, i] = -Z[t, i]
        for k in range(G.shape[0]):
            factor = G[t, k]
            for i in range(rows):
                spare[0, i] += factor * V[k, i]
        step = 1.0 / G[t, t] if G[t, t] > 0.0 else 0.0  # nothing depends on a coordinate without curvature
        for i in range(rows):
            slope, v = spare[0, i], V[t, i]
            size = abs(slope) if v > 0.0 else max(-slope, 0.0)
            spare[1, i] += size * spare[2, i]
            V[t, i] = max(v - spare[2, i] * step * slope, 0.0)


@jit_unmanaged(fastmath=REASSOCIATE)
def products_at(first: int, stop: int, indptr: Array, indices: Array, W: Array, T: Array, out: Array) -> None:
    """The products of rows of W with those of T, at the entries of CSR rows."""
    for i in range(first, stop):
        for e in range(indptr[i], indptr[i + 1]):
            total = 0.0
            for k in range(W.shape[1]):
                total += W[i, k] * T[indices[e], k]
            out[e] = total


def warm() -> None:
    """Compile for both float types."""
    import scipy.sparse as sp

    for dtype in (np.float64, np.float32):
        X, W, order, G = np.ones((1, 1), dtype), np.ones((1, 1)), np.zeros(1, np.int64), np.ones((1, 1))
        steps = DenseSteps(X, None, W, np.ones((1, 1)))
        steps.rows(G, 0.0, order)
        steps.lines(G, 0.0, order)
        sparse_step(sp.csr_array(X), None, np.ones((1, 1)), G, 0.0, order, W, sparse_buffers(1))
        sparse_products(sp.csr_array(X), np.ones((1, 1)))
    solve_rows(np.ones((1, 1)), G, 0.0, order, W, 0.0, 1)
