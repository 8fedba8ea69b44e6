"""Huber's regression: value, gradient and curvature in one pass over tiles, as in `engines/linear/pass_loops`.

Layout: X, `edges`, A, gradients and G as in `pass_loops`; the scale σ of the residuals stands beside θ::

    spare (4, tile)      [ predictors ], [ −2wψ ], [ roots of curvatures ], [ wt of rows inside ]   of a thread
    totals (pieces, 3)   [ value | slope in σ | curvature in σ ]   of each piece
    crosses[piece]       [ Σ x t w over the rows inside | Σ t w | 0 … ]   (pieces, width)
"""

from typing import Any

import numpy as np

from didact.core.jit import REASSOCIATE, jit_unmanaged
from didact.core.jit.atomics import atomic_add
from didact.core.jit.simd import LANES
from didact.core.rows.memory import pass_edges
from didact.core.threads import share_pieces
from didact.core.typing import Array
from didact.engines.linear.pass_loops import (
    NO_MATRICES,
    NO_MATRIX,
    add_dots,
    add_lines,
    ask_for,
    copy_rows,
    filled,
    flat_view,
    number_column,
    piece_matrices,
    summed,
    tile_rows,
)
from didact.parts.exp_loops import ratio1
from didact.parts.statistics.moment_loops import add_strip, aligned_zeros, room


def huber_sums(
    X: Array, y: Array, w: Any, theta: Array, scale: float, epsilon: float, share: float | None, ridge: float
) -> tuple[Any, ...]:  # fmt: skip
    """Value, gradient in (b, b₀) and slope in σ; unless share is None also the three parts of the curvature.

    These are [X 1]ᵀ diag(h) [X 1] for the curvatures h, [X 1]ᵀ t over the rows inside, and the curvature in σ.
    """
    p, edges, at, curved = X.shape[1], pass_edges(X, 3, True), filled(theta), share is not None
    pieces, data = len(edges) - 1, (*flat_view(X), number_column(y), number_column(w), p, at)
    G = piece_matrices(pieces, p + 1) if curved else NO_MATRICES
    gradients, crosses, totals = aligned_zeros(pieces, len(at)), aligned_zeros(pieces, len(at)), np.zeros((pieces, 3))

    def loop(turn: Array) -> None:
        A = room(p + 1)[0] if curved else NO_MATRIX
        spare = aligned_zeros(4, len(A) if curved else tile_rows(p, data[2]))
        how = scale, epsilon, share or 0.0, ridge
        huber_pass(turn, edges, *data, *how, spare, A, G, gradients, crosses, totals)

    share_pieces(pieces, loop)
    (value, flat, square), gradient = totals.sum(axis=0), gradients.sum(axis=0)[: p + 1]
    if not curved:
        return value, gradient, flat
    return value, gradient, flat, summed(G)[: p + 1, : p + 1], crosses.sum(axis=0)[: p + 1], square


@jit_unmanaged
def huber_pass(
    turn: Array, edges: Array, X: Array, row_step: int, column_step: int, y: Array, w: Array, p: int, theta: Array,
    scale: float, epsilon: float, share: float, ridge: float, spare: Array, A: Array, G: Array, gradients: Array,
    crosses: Array, totals: Array,
) -> None:  # fmt: skip
    """Take pieces until there are no more: gradient, totals and, unless there is no G, curvature of each."""
    for _ in range(turn[1]):
        piece = atomic_add(turn, 0, 1)
        if piece >= totals.shape[0]:
            return
        _huber_piece(
            edges[piece], edges[piece + 1], X, row_step, column_step, y, w, p, theta, scale, epsilon, share, ridge,
            spare, A, G[piece : piece + 1], gradients[piece], crosses[piece], totals[piece],
        )  # fmt: skip


@jit_unmanaged
def _huber_piece(
    begin: int, stop: int, X: Array, row_step: int, column_step: int, y: Array, w: Array, p: int, theta: Array,
    scale: float, epsilon: float, share: float, ridge: float, spare: Array, A: Array, G: Array, gradient: Array,
    cross: Array, totals: Array,
) -> None:  # fmt: skip
    """Add to the gradient and the totals of some rows and, unless G is empty, to G[0] and to cross."""
    for start in range(begin, stop, spare.shape[1]):
        rows = min(spare.shape[1], stop - start)
        first = start * row_step
        for i in range(rows):
            spare[0, i] = theta[p]
        if column_step == 1:
            add_dots(X, first, row_step, rows, p, theta, spare[0])
            ask_for(X, first + rows * row_step, row_step, min(rows, stop - start - rows), p)
        else:
            add_lines(X, first, column_step, p, rows, theta, spare[0])
        slope, t = _residuals(y, w, start, rows, scale, epsilon, share, ridge, spare, totals)
        gradient[p] += slope
        _add_products(X, first, row_step, column_step, rows, p, spare[1], gradient)
        if G.shape[0] > 0:
            cross[p] += t
            _add_products(X, first, row_step, column_step, rows, p, spare[3], cross)
            copy_rows(X, first, row_step, column_step, rows, p, spare[2], A)
            for i in range(0, A.shape[1], LANES):
                add_strip(A, i, rows, G[0])


@jit_unmanaged
def _add_products(
    X: Array, first: int, row_step: int, column_step: int, rows: int, p: int, factors: Array, out: Array
) -> None:  # fmt: skip
    if column_step == 1:
        add_lines(X, first, row_step, rows, p, factors, out)
    else:
        add_dots(X, first, column_step, p, rows, factors, out)


@jit_unmanaged(fastmath=REASSOCIATE)
def _residuals(
    y: Array, w: Array, start: int, rows: int, scale: float, epsilon: float, share: float, ridge: float, spare: Array,
    totals: Array,
) -> tuple[float, float]:  # fmt: skip
    """Predictors become −2wψ, roots of curvatures and wt of rows inside; sums go to the totals, or come back."""
    value, flat, square, slope, turn = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(rows):
        each = w[start + i] if w.shape[0] > 0 else 1.0
        r = y[start + i] - spare[0, i]
        t = ratio1(r, scale)
        psi = min(max(t, -epsilon), epsilon)
        inside = each if psi == t else 0.0
        outside = share * (each - inside)
        value += each * scale + each * psi * (2.0 * r - scale * psi)
        flat += each * (1.0 - psi * psi)
        square += (inside + outside) * psi * psi + share * ridge * each
        spare[1, i] = -2.0 * each * psi
        spare[2, i] = np.sqrt(inside + outside * ratio1(epsilon, max(abs(t), epsilon)))
        spare[3, i] = inside * t
        slope += spare[1, i]
        turn += spare[3, i]
    totals[0] += value
    totals[1] += flat
    totals[2] += square
    return slope, turn


def warm() -> None:
    """Compile for both float types."""
    for dtype in (np.float64, np.float32):
        huber_sums(np.ones((1, 1), dtype), np.zeros(1), None, np.zeros(2), 1.0, 1.35, None, 0.01)
