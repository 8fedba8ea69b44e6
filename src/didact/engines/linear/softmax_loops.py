r"""One pass over rows for softmax regression: scores, probabilities, gradient or curvature, as in `pass_loops`.

A tile of rows, with a 1 behind each, is copied to where it stays in the first cache. Scores are products of four rows
with all classes, kept class after class, so that exponentials and sums run along rows in vectors; the gradient is
products of four classes with all columns. In the scores of classes k and m a row has the curvature
:math:`p_k(1-p_k)` if they are one and :math:`-p_kp_m` if not: of one sign, so that roots of it can scale the rows.

Layout, with X, `edges`, pieces and tiles as in `pass_loops`::

    A, B (tile, width)   row i    [ x_0 … x_{p−1} | 1 | 0 … ]    B: times roots of curvatures
    table (p + 1, K)     column j [ class 0 | class 1 | … ]      coefficients, and below them [ intercepts ]
    Z (K, tile)          class k  [ row 0 | row 1 | … ]          scores, then exponentials, then slopes
    spare (3, tile)      [ largest scores ], [ sums of exponentials ], [ factors ]   of each row
    values (pieces,), gradients (pieces, K, width)   of each piece;  width and K are multiples of 4
    G[piece]             [ 0,0 | 1,0 | 1,1 | 2,0 | … ] or [ 0 | 1 | … ]   a matrix (width, width), sums of products of
                         the columns of B, for each pair of classes or each class

Memory: X once a pass. Arithmetic: 2n(p + 1)K multiply-adds, n(p + 1)²/2 for each pair of classes in a curvature.
"""

from typing import Any

import numpy as np

from didact.core.backend import read_only
from didact.core.jit import REASSOCIATE, jit_unmanaged
from didact.core.jit.atomics import atomic_add
from didact.core.jit.simd import (
    LANES,
    add_across_1,
    add_across_2,
    add_across_3,
    set_scores_1,
    set_scores_2,
    set_scores_3,
)
from didact.core.rows.memory import pass_edges
from didact.core.threads import share_pieces
from didact.core.typing import Array
from didact.engines.linear.pass_loops import (
    ROWS,
    TILE,
    copy_rows,
    flat_view,
    number_column,
    piece_matrices,
    summed,
    whole_vectors,
)
from didact.parts.exp_loops import exp1, log1, ratio1
from didact.parts.statistics.moment_loops import NEAR, add_strip, aligned_zeros

NO_CODES = read_only(np.zeros(0, np.int64))


def softmax_sums(X: Array, codes: Array, w: Any, table: Array, reference: bool) -> tuple[float, Array]:
    """Value and gradient (K, p + 1) of the softmax loss of class codes, at coefficients and intercepts (K, p + 1).

    With a reference there is one class more, whose scores are 0.
    """
    K, width = table.shape
    classes, wide, edges = whole_vectors(K + reference), whole_vectors(width), pass_edges(X, 3, light=K)
    rows = *flat_view(X), read_only(codes.astype(np.int64, copy=False)), number_column(w), K + reference
    values = np.zeros(len(edges) - 1)
    gradients = aligned_zeros(len(values) * classes, wide).reshape(len(values), classes, wide)
    turned = _turned(table, classes)
    share_pieces(
        len(values), lambda turn: softmax_pass(turn, edges, *rows, turned, *_room(*turned.shape), gradients, values)
    )
    return values.sum(), gradients.sum(axis=0)[:K, :width]


def softmax_curvature(X: Array, w: Any, table: Array, reference: bool, pairs: bool) -> Array:
    """Curvatures (K, p + 1, p + 1) within each class's parameters or, if pairs, (K, p + 1, K, p + 1) of all."""
    K, width = table.shape
    edges, turned = pass_edges(X, 12, True), _turned(table, whole_vectors(K + reference))
    matrices, rows = K * (K + 1) // 2 if pairs else K, (*flat_view(X), number_column(w), K, K + reference)
    each = piece_matrices((len(edges) - 1) * matrices, width)
    each = each.reshape(len(edges) - 1, matrices, *each.shape[1:])

    def loop(turn: Array) -> None:
        A, Z, spare = _room(*turned.shape)
        curvature_pass(turn, edges, *rows, turned, A, aligned_zeros(*A.shape), Z, spare, NO_CODES, pairs, each)

    share_pieces(len(each), loop)
    G = summed(each)
    if not pairs:
        return G[:, :width, :width]
    H = np.empty((K, width, K, width))
    for k in range(K):
        for m in range(k + 1):
            H[k, :, m] = H[m, :, k] = (1.0 if k == m else -1.0) * G[k * (k + 1) // 2 + m, :width, :width]
    return H


def _turned(table: Array, classes: int) -> Array:
    """The coefficients (K, p + 1) as columns, filled up to whole vectors."""
    turned = aligned_zeros(table.shape[1], classes)
    turned[:, : len(table)] = table.T
    return turned


def _room(width: int, classes: int) -> tuple[Array, Array, Array]:
    """Room for a tile, its scores, and three numbers a row."""
    tile = min(max(NEAR // max(width, classes) // ROWS * ROWS, 2 * ROWS), TILE)
    return aligned_zeros(tile, whole_vectors(width)), aligned_zeros(classes, tile), aligned_zeros(3, tile)


@jit_unmanaged
def softmax_pass(
    turn: Array, edges: Array, X: Array, row_step: int, column_step: int, codes: Array, w: Array, classes: int,
    table: Array, A: Array, Z: Array, spare: Array, gradients: Array, values: Array,
) -> None:  # fmt: skip
    """Take pieces until there are no more: value and gradient (K, p + 1) of each. The table is (p + 1, K)."""
    for _ in range(turn[1]):
        piece = atomic_add(turn, 0, 1)
        if piece >= values.shape[0]:
            return
        values[piece] = _softmax_piece(
            edges[piece], edges[piece + 1], X, row_step, column_step, codes, w, classes, table, A, Z, spare,
            gradients[piece],
        )  # fmt: skip


@jit_unmanaged
def _softmax_piece(
    begin: int, stop: int, X: Array, row_step: int, column_step: int, codes: Array, w: Array, classes: int,
    table: Array, A: Array, Z: Array, spare: Array, gradient: Array,
) -> float:  # fmt: skip
    """Add to the gradient of some rows; the value."""
    total, lost = 0.0, 0.0
    for start in range(begin, stop, A.shape[0]):
        rows = min(A.shape[0], stop - start)
        _scores(X, start * row_step, row_step, column_step, rows, table, A, Z, spare)
        value = _exponentials(codes, w, start, rows, classes, Z, spare)
        value += _slopes(codes, w, start, rows, classes, Z, spare)
        for k in range(0, classes, LANES):
            add_products(Z, k, A, rows, gradient)
        value -= lost  # Kahan's sum: solvers compare values that are almost equal
        grown = total + value
        lost = (grown - total) - value
        total = grown
    return total


@jit_unmanaged
def curvature_pass(
    turn: Array, edges: Array, X: Array, row_step: int, column_step: int, w: Array, outputs: int, classes: int,
    table: Array, A: Array, B: Array, Z: Array, spare: Array, none: Array, pairs: bool, G: Array,
) -> None:  # fmt: skip
    """Take pieces until there are no more: [X 1]ᵀ[X 1] weighted with the size of the curvature of classes, or pairs."""
    for _ in range(turn[1]):
        piece = atomic_add(turn, 0, 1)
        if piece >= G.shape[0]:
            return
        _curvature_piece(
            edges[piece], edges[piece + 1], X, row_step, column_step, w, outputs, classes, table, A, B, Z, spare, none,
            pairs, G[piece],
        )  # fmt: skip


@jit_unmanaged
def _curvature_piece(
    begin: int, stop: int, X: Array, row_step: int, column_step: int, w: Array, outputs: int, classes: int,
    table: Array, A: Array, B: Array, Z: Array, spare: Array, none: Array, pairs: bool, G: Array,
) -> None:  # fmt: skip
    """Add the curvature of some rows to the lower triangles of G, which begin with zeros."""
    for start in range(begin, stop, A.shape[0]):
        rows = min(A.shape[0], stop - start)
        _scores(X, start * row_step, row_step, column_step, rows, table, A, Z, spare)
        _exponentials(none, w, start, rows, classes, Z, spare)
        at = 0
        for k in range(outputs):
            for m in range(0 if pairs else k, k + 1):
                _scale(A, Z, k, m, w, start, rows, spare, B)
                for i in range(0, B.shape[1], LANES):
                    add_strip(B, i, rows, G[at])
                at += 1


@jit_unmanaged
def _scores(
    X: Array, first: int, row_step: int, column_step: int, rows: int, table: Array, A: Array, Z: Array, spare: Array
) -> None:  # fmt: skip
    """Copy (x, 1) of some rows to A, and put their scores into Z (classes, rows)."""
    for i in range(rows):
        spare[2, i] = 1.0
    copy_rows(X, first, row_step, column_step, rows, table.shape[0] - 1, spare[2], A)
    for i in range(0, rows, LANES):
        set_all_scores(A, i, table, Z)


@jit_unmanaged
def set_all_scores(A: Array, i: int, table: Array, Z: Array) -> None:
    """Scores of four rows of A for all classes, as columns of Z."""
    a, k, n, left = np.uint64(i), np.uint64(0), np.uint64(table.shape[0]), table.shape[1] // LANES
    while left > 4 or left == 3:
        set_scores_3(A, a, table, k, n, Z)
        k, left = k + np.uint64(3 * LANES), left - 3
    while left > 1:
        set_scores_2(A, a, table, k, n, Z)
        k, left = k + np.uint64(2 * LANES), left - 2
    if left > 0:
        set_scores_1(A, a, table, k, n, Z)


@jit_unmanaged
def add_products(Z: Array, k: int, A: Array, rows: int, gradient: Array) -> None:
    """Add to four rows of the gradient the products of four classes' slopes with all columns of A."""
    a, j, n, left = np.uint64(k), np.uint64(0), np.uint64(rows), A.shape[1] // LANES
    while left > 4 or left == 3:
        add_across_3(Z, a, A, j, n, gradient)
        j, left = j + np.uint64(3 * LANES), left - 3
    while left > 1:
        add_across_2(Z, a, A, j, n, gradient)
        j, left = j + np.uint64(2 * LANES), left - 2
    if left > 0:
        add_across_1(Z, a, A, j, n, gradient)


@jit_unmanaged(fastmath=REASSOCIATE)
def _exponentials(codes: Array, w: Array, start: int, rows: int, classes: int, Z: Array, spare: Array) -> float:
    """Scores become exponentials, the largest of each row 1; their sums go into spare[1].

    With codes, comes back how far the true classes' scores are below the largest, summed with weights.
    """
    for i in range(rows):
        spare[0, i] = Z[0, i]
        spare[1, i] = 0.0
    for k in range(1, classes):
        for i in range(rows):
            spare[0, i] = max(spare[0, i], Z[k, i])
    total = 0.0
    if codes.shape[0] > 0:
        for i in range(rows):
            total += (spare[0, i] - Z[codes[start + i], i]) * (w[start + i] if w.shape[0] > 0 else 1.0)
    for k in range(classes):
        for i in range(rows):
            Z[k, i] = exp1(Z[k, i] - spare[0, i])
            spare[1, i] += Z[k, i]
    return total


@jit_unmanaged(fastmath=REASSOCIATE)
def _slopes(codes: Array, w: Array, start: int, rows: int, classes: int, Z: Array, spare: Array) -> float:
    """Exponentials become w(p − [y = k]), the slopes of the loss; the sum of the logarithms of their sums."""
    total = 0.0
    for i in range(rows):
        weight = w[start + i] if w.shape[0] > 0 else 1.0
        total += weight * log1(spare[1, i])
        spare[0, i] = ratio1(weight, spare[1, i])
    for k in range(classes):
        for i in range(rows):
            Z[k, i] *= spare[0, i]
    for i in range(rows):
        Z[codes[start + i], i] -= w[start + i] if w.shape[0] > 0 else 1.0
    return total


@jit_unmanaged
def _scale(A: Array, Z: Array, k: int, m: int, w: Array, start: int, rows: int, spare: Array, B: Array) -> None:
    """Rows of A times the root of w pₖ(1 − pₖ), or of w pₖ pₘ, as rows of B; p from exponentials and their sums."""
    for i in range(rows):
        p, q = ratio1(Z[k, i], spare[1, i]), ratio1(Z[m, i], spare[1, i])
        weight = w[start + i] if w.shape[0] > 0 else 1.0
        spare[2, i] = np.sqrt(weight * p * (1.0 - q if k == m else q))
    for i in range(rows):
        for c in range(A.shape[1]):
            B[i, c] = spare[2, i] * A[i, c]


def warm() -> None:
    """Compile for both float types."""
    for dtype in (np.float64, np.float32):
        X, table = np.ones((1, 1), dtype), np.zeros((3, 2))
        softmax_sums(X, np.zeros(1, np.int64), None, table, False)
        softmax_curvature(X, None, table, False, True)
