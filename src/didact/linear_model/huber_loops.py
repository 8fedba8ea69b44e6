"""Huber's regression: value, gradient and curvature in one pass over tiles, as in `engines/linear/pass_loops`.

Layout: that of `pass_loops`; the scale of the residuals stands beside the parameters.
"""

from typing import Any

import numpy as np

from didact.core.jit import REASSOCIATE, jit_unmanaged
from didact.core.jit.simd import LANES
from didact.core.typing import Array
from didact.engines.linear.pass_loops import (
    NO_MATRIX,
    add_dots,
    add_lines,
    ask_for,
    copy_rows,
    fill_upper,
    filled,
    flat_view,
    number_column,
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
    p, (flat, row_step, column_step) = X.shape[1], flat_view(X)
    A, G = (NO_MATRIX, NO_MATRIX) if share is None else room(p + 1)
    spare = aligned_zeros(4, tile_rows(p, column_step) if share is None else len(A))
    gradient, cross, totals = filled(np.zeros(p + 1)), filled(np.zeros(p + 1)), np.zeros(3)
    columns, how = (number_column(y), number_column(w)), (scale, epsilon, share or 0.0, ridge)
    huber_pass(flat, row_step, column_step, *columns, p, filled(theta), *how, spare, A, G, gradient, cross, totals)
    if share is None:
        return totals[0], gradient[: p + 1], totals[1]
    return totals[0], gradient[: p + 1], totals[1], G[: p + 1, : p + 1], cross[: p + 1], totals[2]


@jit_unmanaged
def huber_pass(
    X: Array, row_step: int, column_step: int, y: Array, w: Array, p: int, theta: Array, scale: float, epsilon: float,
    share: float, ridge: float, spare: Array, A: Array, G: Array, gradient: Array, cross: Array, totals: Array,
) -> None:  # fmt: skip
    """Add to the gradient and the totals and, unless G is empty, to its lower triangle and to cross."""
    for start in range(0, y.shape[0], spare.shape[1]):
        rows = min(spare.shape[1], y.shape[0] - start)
        first = start * row_step
        for i in range(rows):
            spare[0, i] = theta[p]
        if column_step == 1:
            add_dots(X, first, row_step, rows, p, theta, spare[0])
            ask_for(X, first + rows * row_step, row_step, min(rows, y.shape[0] - start - rows), p)
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
                add_strip(A, i, rows, G)
    fill_upper(G)


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
