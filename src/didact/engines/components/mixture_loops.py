r"""The E step of a mixture and the sums of its M step, in one pass over the rows.

.. math:: r_{ik} = w_i\,e^{z_{ik}}\big/\sum_j e^{z_{ij}},\qquad \sum_i w_i\log\sum_k e^{z_{ik}},\qquad
    \sum_i r_{ik}\,(x_i-\mu_k, 1)(x_i-\mu_k, 1)^T

A tile of some dozens of rows is read from memory once, and stays in the first cache while `score_loops` gives its
scores z, these become responsibilities r, and the sums of all components grow by it. Sums are about the means of the
last step, which the new means are near: nothing cancels. Each thread makes one call, in which it takes piece after
piece of the rows. Rows that array code has to look at (gaps) are marked and left out.

Layout, with what `score_loops` has, for tiles of rows, components k and pieces of the rows::

    means (classes, p)   μ;  codes (n,) or none: the component of a row, if it is known, else a number below 0
    Z (classes, tile)    component k [ row 0 | row 1 | … ]   scores, then responsibilities times weights
    B (tile, width)      row i       [ √r (x − μ) | √r | 0 … ]   for one component at a time
    G[piece, k]          (width, width), lower triangle                (2, width) of variances
                         ┌ Σ r (x − μ)(x − μ)ᵀ │     │                 [ Σ r (x − μ)  | Σ r ]
                         └ Σ r (x − μ)         │ Σ r │                 [ Σ r (x − μ)² | 0   ]

Memory: X once a pass. Arithmetic: nKp² multiply-adds for scores and nKp²/2 for sums; nKp for variances.
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
from didact.engines.components.tuning import SUM_BYTES
from didact.engines.linear.pass_loops import ROWS, TILE, flat_view, number_column, whole_vectors
from didact.engines.linear.softmax_loops import NO_CODES
from didact.engines.scores.score_loops import LEAST_EXPONENT, WHITENED, Tables, look, score_tile
from didact.parts.exp_loops import exp1, log1, ratio1
from didact.parts.statistics.moment_loops import NEAR, add_strip, aligned_zeros


def mixture_sums(
    X: Array, w: Any, codes: Any, tables: Tables, means: Array, hard: bool
) -> tuple[float, Array, Array, Array, Array]:
    """The log-likelihood, weights (K,), sums of x − μ (K, p) and of their products, and the rows to look at.

    Products are (K, p, p), or of each column with itself, (K, p).
    """
    (n, p), K = X.shape, tables.classes
    wide, matrices = whole_vectors(p + 1), tables.kind == WHITENED
    rank = tables.table.shape[1] if matrices else 1
    edges = _edges(X, K, K * wide * (wide if matrices else 2))
    lost, values = np.zeros(n, np.bool_), np.zeros(len(edges) - 1)
    G = aligned_zeros(len(values) * K * (wide if matrices else 2), wide).reshape(len(values), K, -1, wide)
    rows = *flat_view(X), number_column(w), NO_CODES if codes is None else read_only(np.asarray(codes, np.int64))
    tile = min(max(NEAR // wide // ROWS * ROWS, 2 * ROWS), TILE)

    def loop(turn: Array) -> None:
        sizes = (tile, wide), (tile, wide), (rank, tile), (whole_vectors(K), tile), (3, tile)
        room = [aligned_zeros(*size) for size in sizes]
        arguments: list[Any] = [turn, edges, *rows, p, *tables, means, hard, *room, G, values, lost]
        mixture_pass(*arguments)

    share_pieces(len(values), loop)
    S = G.sum(axis=0)
    if matrices:
        low = np.tril(S[:, :p, :p], -1)
        second = low + low.transpose(0, 2, 1)
        second[:, range(p), range(p)] = S[:, range(p), range(p)]
        return float(values.sum()), S[:, p, p].copy(), S[:, p, :p].copy(), second, np.flatnonzero(lost)
    return float(values.sum()), S[:, 0, p].copy(), S[:, 0, :p].copy(), S[:, 1, :p].copy(), np.flatnonzero(lost)


def _edges(X: Array, K: int, numbers: int) -> Array:
    """Where pieces begin: so many that threads share them well, and so few that their sums take little memory."""
    edges = pass_edges(X, 1 + K * X.shape[1] // 4)
    most = max(1, min(SUM_BYTES // (8 * numbers), X.shape[0] * X.shape[1] // max(numbers, 1) + 1))
    return edges if len(edges) - 1 <= most else np.linspace(0, len(X), most + 1).astype(np.int64)


@jit_unmanaged
def mixture_pass(
    turn: Array, edges: Array, X: Array, row_step: int, column_step: int, w: Array, codes: Array, p: int, kind: int,
    classes: int, table: Array, centres: Array, origins: Array, constants: Array, places: Array, threshold: float,
    means: Array, hard: bool, A: Array, B: Array, Y: Array, Z: Array, spare: Array, G: Array, values: Array,
    lost: Array,
) -> None:  # fmt: skip
    """Take pieces of the rows until there are no more: log-likelihood and sums of each."""
    for _ in range(turn[1]):
        piece = atomic_add(turn, 0, 1)
        if piece >= values.shape[0]:
            return
        total, error = 0.0, 0.0
        for start in range(edges[piece], edges[piece + 1], A.shape[0]):
            rows, first = min(A.shape[0], edges[piece + 1] - start), start * row_step
            score_tile(
                X, first, row_step, column_step, rows, p, kind, classes, table, centres, origins, constants, places,
                threshold, A, B, Y, Z, spare,
            )  # fmt: skip
            look(start, rows, classes, Z, spare, lost)
            if hard or codes.shape[0] > 0:
                value = _chosen(start, rows, classes, w, codes, hard, Z, spare, lost)
            else:
                value = _shared(start, rows, classes, w, Z, spare, lost)
            for k in range(classes):
                if kind == WHITENED:
                    _add_matrix(k, rows, p, A, B, Z, spare, means, G[piece, k])
                else:
                    _add_squares(k, rows, p, A, Z, means, G[piece, k])
            value -= error  # Kahan's sum: steps are compared that gain almost nothing
            grown = total + value
            error = (grown - total) - value
            total = grown
        values[piece] = total


@jit_unmanaged
def _shared(start: int, rows: int, classes: int, w: Array, Z: Array, spare: Array, lost: Array) -> float:
    """Scores become responsibilities times weights; the log-likelihood."""
    gone = False
    for i in range(rows):
        spare[1, i] = 0.0
        gone = gone or lost[start + i]
    for k in range(classes):
        for i in range(rows):
            less = Z[k, i] - spare[0, i]
            share = exp1(less) if less > LEAST_EXPONENT else 0.0
            spare[1, i] += share
            Z[k, i] = share
    total = 0.0
    for i in range(rows):
        spare[2, i] = w[start + i] if w.shape[0] > 0 else 1.0
    if gone:
        for i in range(rows):
            if lost[start + i]:
                spare[0, i], spare[1, i], spare[2, i] = 0.0, 1.0, 0.0
                for k in range(classes):
                    Z[k, i] = 0.0
    for i in range(rows):
        total += spare[2, i] * (spare[0, i] + log1(spare[1, i]))
        spare[2, i] = ratio1(spare[2, i], spare[1, i])
    for k in range(classes):
        for i in range(rows):
            Z[k, i] *= spare[2, i]
    return total


@jit_unmanaged
def _chosen(
    start: int, rows: int, classes: int, w: Array, codes: Array, hard: bool, Z: Array, spare: Array, lost: Array
) -> float:  # fmt: skip
    """`_shared` where some rows belong wholly to one component: to a known one, or if hard to the most probable."""
    total = 0.0
    for i in range(rows):
        weight = w[start + i] if w.shape[0] > 0 else 1.0
        code = codes[start + i] if codes.shape[0] > 0 else -1
        if lost[start + i]:
            for k in range(classes):
                Z[k, i] = 0.0
            continue
        if code < 0 and hard:
            code = 0
            for k in range(1, classes):
                code = k if Z[k, i] > Z[code, i] else code
        if code >= 0:
            total += weight * Z[code, i]
            for k in range(classes):
                Z[k, i] = weight if k == code else 0.0
        else:
            shares = 0.0
            for k in range(classes):
                Z[k, i] = np.exp(Z[k, i] - spare[0, i])
                shares += Z[k, i]
            total += weight * (spare[0, i] + np.log(shares))
            for k in range(classes):
                Z[k, i] *= weight / shares
    return total


@jit_unmanaged
def _add_matrix(
    k: int, rows: int, p: int, A: Array, B: Array, Z: Array, spare: Array, means: Array, G: Array
) -> None:  # fmt: skip
    """Add the products of rows about the mean of a component, times their responsibilities; of none in it nothing."""
    some = 0.0
    for i in range(rows):
        some = max(some, Z[k, i])
        spare[1, i] = np.sqrt(Z[k, i])
    if some > 0.0:
        for i in range(rows):
            root = spare[1, i]
            for c in range(p):
                B[i, c] = root * (A[i, c] - means[k, c]) if root > 0.0 else 0.0
            B[i, p] = root
        for c in range(0, B.shape[1], LANES):
            add_strip(B, c, rows, G)


@jit_unmanaged(fastmath=REASSOCIATE)
def _add_squares(k: int, rows: int, p: int, A: Array, Z: Array, means: Array, G: Array) -> None:
    """Add the rows about the mean of a component, and their squares, times their responsibilities."""
    for i in range(rows):
        share = Z[k, i]
        if share > 0.0:
            for c in range(p):
                d = A[i, c] - means[k, c]
                G[0, c] += share * d
                G[1, c] += share * d * d
            G[0, p] += share


def warm() -> None:
    """Compile for both float types."""
    for dtype in (np.float64, np.float32):
        tables = Tables(
            kind=WHITENED,
            classes=1,
            table=aligned_zeros(1, LANES),
            centres=aligned_zeros(1, LANES),
            origins=np.zeros((1, 1)),
            constants=np.zeros(1),
        )
        mixture_sums(np.ones((1, 1), dtype), None, None, tables, np.zeros((1, 1)), False)
