r"""Scores of rows for some classes and what follows from them, labels or probabilities, in one pass over the rows.

.. math:: z_k = b_k + \sum_j x_j t_{jk},\qquad z_k = c_k - \tfrac12\sum_j (x_j-\mu_{kj})^2/\sigma^2_{kj},\qquad
    z_k = c_k - \tfrac12\|W_g^T(x - o_g) - m_k\|^2,\qquad z_k = c_k + \sum_j T_j[x_j, k]

A tile of some dozens of rows is read from memory once, and stays in the first cache while its scores become what is
asked for. Each thread makes one call, in which it takes piece after piece of the rows. A row with a score that is no
number, or without one that is finite, is marked: array code looks at it once more.

Layout::

    X                  [ row 0 | row 1 | … ] or [ column 0 | … ]   x_ij at i·row_step + j·column_step
    A, B (tile, width) row i   [ x | 1 | 0 … ]; [ x − origin | 0 … ]   width is a multiple of 4
    Z (classes, tile)  class k [ row 0 | row 1 | … ]   scores, then exponentials;  Y (rank, tile) likewise Wᵀ(x − o)
    spare (3, tile)    [ largest score ], [ sum of exponentials ], [ scores that are no numbers ]   of each row
    table, centres     ONE_LINE    [ t | b ]                       (1, p + 1)
                       SOME_LINES  [ t of column 0 ] … [ b ]       (p + 1, classes), one line below the other
                       DIAGONAL    [ 1/σ² ], [ μ ]                 both (classes, p)
                       WHITENED    [ W of group 0 ][ W of group 1 ] …   (groups · p, rank); m (classes, rank)
                       CATEGORIES  [ T of column 0 ][ T of column 1 ] …   (values, classes)
                                     ^ places[0]      ^ places[1]

Memory: X once and the answers. Arithmetic: npK multiply-adds, or np · rank for each W.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.errors import InputError
from didact.core.jit import REASSOCIATE, jit_unmanaged
from didact.core.jit.atomics import atomic_add
from didact.core.jit.simd import LANES
from didact.core.rows.memory import pass_edges
from didact.core.threads import share_pieces
from didact.core.typing import Array
from didact.engines.linear.pass_loops import (
    NO_MATRIX,
    ROWS,
    TILE,
    add_dots,
    add_lines,
    ask_for,
    copy_rows,
    flat_view,
    whole_vectors,
)
from didact.engines.linear.softmax_loops import set_all_scores
from didact.parts.exp_loops import exp1, log1, ratio1
from didact.parts.statistics.moment_loops import NEAR, aligned_zeros

ONE_LINE, SOME_LINES, DIAGONAL, WHITENED, CATEGORIES = range(5)  # kinds of scores
AS_SCORES, AS_CODES, AS_POSTERIOR, AS_LOG_POSTERIOR, AS_LOG_SUM = range(5)  # answers
MOST_FINITE = float(np.finfo(np.float64).max)
LEAST_EXPONENT = -708.0  # the exponential of less is taken as 0
NO_NUMBERS, NO_PLACES = np.zeros(0), np.zeros(0, np.int64)


class Tables(NamedTuple):
    """What rows are scored by; `ONE_LINE` is one score, of the second of two classes where the first has 0."""

    kind: int
    classes: int
    table: Array
    centres: Array = NO_MATRIX
    origins: Array = NO_MATRIX
    constants: Array = NO_NUMBERS
    places: Array = NO_PLACES
    threshold: float = np.nan  # numbers above count as 1 and others as 0, unless it is NaN

    def check(self, p: int) -> None:
        """Refuse tables that are not of rows with p columns, or do not fit together, as those of a forged file."""
        K, wide, groups, rank = self.classes, whole_vectors(self.classes), len(self.origins), self.table.shape[1]
        last = int(self.places[-1]) if len(self.places) == p + 1 and (np.diff(self.places) >= 0).all() else -1
        shapes = {
            ONE_LINE: ((1, whole_vectors(p + 1)), (0, 0), (0, 0), (0,)),
            SOME_LINES: ((p + 1, wide), (0, 0), (0, 0), (0,)),
            DIAGONAL: ((K, p), (K, p), (0, 0), (K,)),
            WHITENED: ((groups * p, rank), (K, rank), (1 if groups == 1 else K, p), (K,)),
            CATEGORIES: ((last, wide), (0, 0), (0, 0), (K,)),
        }[self.kind]
        if K < 1 or shapes != tuple(part.shape for part in self[2:6]):
            raise InputError(f"The fitted attributes of this model are not those of {K} classes and {p} columns.")


def score_rows(X: Array, tables: Tables, answer: int) -> tuple[Array, Array]:
    """The answer for each row, (n, classes) or (n,), and the numbers of the rows at which array code has to look."""
    (n, p), K = X.shape, tables.classes
    tables.check(p)
    wide, rank = whole_vectors(p + 1), tables.table.shape[1] if tables.kind == WHITENED else 1
    dear = len(tables.origins) * rank if tables.kind == WHITENED else tables.table.size // max(p, 1)
    edges = pass_edges(X, 1 + dear // 8)
    many = answer in (AS_SCORES, AS_POSTERIOR, AS_LOG_POSTERIOR)
    out = np.empty((0 if answer == AS_CODES else n, K if many else 1), X.dtype)
    codes, lost = np.empty(n if answer == AS_CODES else 0, np.int64), np.zeros(n, np.bool_)
    rows, filled_classes = flat_view(X), whole_vectors(K)
    tile = min(max(NEAR // wide // ROWS * ROWS, 2 * ROWS), TILE)

    def loop(turn: Array) -> None:
        A = aligned_zeros(tile if tables.kind != ONE_LINE else 0, wide)
        B, Y = aligned_zeros(tile if tables.kind == WHITENED else 0, wide), aligned_zeros(rank, tile)
        room = A, B, Y, aligned_zeros(filled_classes, tile), aligned_zeros(3, tile)
        arguments: list[Any] = [turn, edges, *rows, p, *tables, answer, *room, out, codes, lost]
        score_pass(*arguments)

    share_pieces(len(edges) - 1, loop)
    found = codes if answer == AS_CODES else out if many else out[:, 0]
    return found, np.flatnonzero(lost)


@jit_unmanaged
def score_pass(
    turn: Array, edges: Array, X: Array, row_step: int, column_step: int, p: int, kind: int, classes: int, table: Array,
    centres: Array, origins: Array, constants: Array, places: Array, threshold: float, answer: int, A: Array, B: Array,
    Y: Array, Z: Array, spare: Array, out: Array, codes: Array, lost: Array,
) -> None:  # fmt: skip
    """Take pieces of the rows until there are no more, and answer for each row."""
    for _ in range(turn[1]):
        piece = atomic_add(turn, 0, 1)
        if piece + 1 >= edges.shape[0]:
            return
        for start in range(edges[piece], edges[piece + 1], spare.shape[1]):
            rows, first = min(spare.shape[1], edges[piece + 1] - start), start * row_step
            if kind == ONE_LINE:
                _line(X, first, row_step, column_step, rows, p, table, classes, Z)
                if column_step == 1:
                    ask_for(X, first + rows * row_step, row_step, min(rows, edges[piece + 1] - start - rows), p)
            else:
                score_tile(
                    X, first, row_step, column_step, rows, p, kind, classes, table, centres, origins, constants, places,
                    threshold, A, B, Y, Z, spare,
                )  # fmt: skip
            look(start, rows, classes, Z, spare, lost)
            if answer == AS_CODES:
                _largest(start, rows, classes, Z, spare, codes)
            else:
                _answers(answer, start, rows, classes, Z, spare, out)


@jit_unmanaged
def score_tile(
    X: Array, first: int, row_step: int, column_step: int, rows: int, p: int, kind: int, classes: int, table: Array,
    centres: Array, origins: Array, constants: Array, places: Array, threshold: float, A: Array, B: Array, Y: Array,
    Z: Array, spare: Array,
) -> None:  # fmt: skip
    """Copy (x, 1) of some rows to A, and put their scores into Z; of all kinds but `ONE_LINE`."""
    for i in range(rows):
        spare[2, i] = 1.0
    copy_rows(X, first, row_step, column_step, rows, p, spare[2], A)
    if kind == SOME_LINES:
        _binarize(threshold, rows, p, A)
        for i in range(0, rows, LANES):
            set_all_scores(A, i, table, Z)
    elif kind == DIAGONAL:
        _diagonal(A, rows, classes, table, centres, constants, Z)
    elif kind == WHITENED:
        _whitened(A, rows, p, classes, table, centres, origins, constants, B, Y, Z)
    elif kind == CATEGORIES:
        _categories(A, rows, p, classes, table, constants, places, Z)


@jit_unmanaged
def _line(
    X: Array, first: int, row_step: int, column_step: int, rows: int, p: int, table: Array, classes: int, Z: Array
) -> None:  # fmt: skip
    """One score of each row, by products with the table (1, p + 1), without copying the rows."""
    for k in range(classes):
        for i in range(rows):
            Z[k, i] = table[0, p] if k == classes - 1 else 0.0
    if column_step == 1:
        add_dots(X, first, row_step, rows, p, table[0], Z[classes - 1])
    else:
        add_lines(X, first, column_step, p, rows, table[0], Z[classes - 1])


@jit_unmanaged
def _binarize(threshold: float, rows: int, p: int, A: Array) -> None:
    """1 where a number is above the threshold, else 0; NaN stays."""
    if threshold == threshold:
        for r in range(rows):
            for c in range(p):
                A[r, c] = 1.0 if A[r, c] > threshold else 0.0 * A[r, c]


@jit_unmanaged(fastmath=REASSOCIATE)
def _diagonal(A: Array, rows: int, classes: int, inverse: Array, mean: Array, constants: Array, Z: Array) -> None:
    for k in range(classes):
        for i in range(rows):
            total = 0.0
            for c in range(mean.shape[1]):
                d = A[i, c] - mean[k, c]
                total += d * d * inverse[k, c]
            Z[k, i] = constants[k] - 0.5 * total


@jit_unmanaged(fastmath=REASSOCIATE)
def _whitened(
    A: Array, rows: int, p: int, classes: int, W: Array, centres: Array, origins: Array, constants: Array, B: Array,
    Y: Array, Z: Array,
) -> None:  # fmt: skip
    """Squared distances after a product with W: of one class for each origin, or of all classes for the only one."""
    groups = origins.shape[0]
    for g in range(groups):
        for r in range(rows):
            for c in range(p):
                B[r, c] = A[r, c] - origins[g, c]
        for i in range(0, rows, LANES):
            set_all_scores(B, i, W[g * p : (g + 1) * p], Y)
        for k in range(g if groups == classes else 0, g + 1 if groups == classes else classes):
            for i in range(rows):
                Z[k, i] = 0.0
            for r in range(Y.shape[0]):
                for i in range(rows):
                    d = Y[r, i] - centres[k, r]
                    Z[k, i] += d * d
            for i in range(rows):
                Z[k, i] = constants[k] - 0.5 * Z[k, i]


@jit_unmanaged
def _categories(
    A: Array, rows: int, p: int, classes: int, table: Array, constants: Array, places: Array, Z: Array
) -> None:  # fmt: skip
    """Sums of the entries of tables; a number that has none, or NaN, adds nothing."""
    for k in range(classes):
        for i in range(rows):
            Z[k, i] = constants[k]
    for c in range(p):
        values = places[c + 1] - places[c]
        for i in range(rows):
            x = A[i, c]
            if x >= 0.0 and x < values:
                row = places[c] + np.int64(x)
                for k in range(classes):
                    Z[k, i] += table[row, k]


@jit_unmanaged
def look(start: int, rows: int, classes: int, Z: Array, spare: Array, lost: Array) -> None:
    """The largest score of each row; rows with a score that is no number, or without a finite one, are marked."""
    for i in range(rows):
        spare[0, i] = Z[0, i]
        spare[2, i] = 0.0
    for k in range(classes):
        for i in range(rows):
            spare[0, i] = max(spare[0, i], Z[k, i])
            spare[2, i] += 0.0 if Z[k, i] <= MOST_FINITE else 1.0
    for i in range(rows):
        if spare[2, i] > 0.0 or not spare[0, i] >= -MOST_FINITE:
            lost[start + i] = True


@jit_unmanaged
def _largest(start: int, rows: int, classes: int, Z: Array, spare: Array, codes: Array) -> None:
    """The first class with the largest score."""
    for i in range(rows):
        codes[start + i] = 0
    for k in range(classes - 1, -1, -1):
        for i in range(rows):
            codes[start + i] = k if Z[k, i] == spare[0, i] else codes[start + i]


@jit_unmanaged
def _answers(answer: int, start: int, rows: int, classes: int, Z: Array, spare: Array, out: Array) -> None:
    """Scores, probabilities or their logarithms, or the logarithm of the sum of all exponentials."""
    if answer == AS_SCORES:
        for i in range(rows):
            for k in range(classes):
                out[start + i, k] = Z[k, i]
        return
    for i in range(rows):
        spare[1, i] = 0.0
    for k in range(classes):
        for i in range(rows):
            less = Z[k, i] - spare[0, i]
            share = exp1(less) if less > LEAST_EXPONENT else 0.0
            spare[1, i] += share
            Z[k, i] = share if answer == AS_POSTERIOR else less
    for i in range(rows):
        if answer == AS_LOG_SUM:
            out[start + i, 0] = spare[0, i] + log1(spare[1, i])
        elif answer == AS_POSTERIOR:
            for k in range(classes):
                out[start + i, k] = ratio1(Z[k, i], spare[1, i])
        else:
            out[start + i, 0] = spare[1, i]  # in the type of the answer: logarithms agree with its probabilities
            total = log1(np.float64(out[start + i, 0]))
            for k in range(classes):
                out[start + i, k] = Z[k, i] - total


def warm() -> None:
    """Compile for both float types."""
    for dtype in (np.float64, np.float32):
        score_rows(np.ones((1, 1), dtype), Tables(ONE_LINE, 1, aligned_zeros(1, LANES)), AS_SCORES)
