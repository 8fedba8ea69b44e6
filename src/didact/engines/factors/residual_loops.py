r"""Coordinate descent for more parts than rows: slopes come from the residuals, and no product of all pairs of parts.

.. math:: E = X - WH,\qquad w_{it} \leftarrow \max\Big(0,\ w_{it} + \frac{\langle e_i, h_t\rangle - \lambda_1 -
    \lambda_2w_{it}}{\|h_t\|^2 + \lambda_2}\Big),\qquad e_i \leftarrow e_i - \Delta w_{it}h_t

and columns of H in the same way. The steps are those of `nonnegative_loops`, which take K² for each row and column.

Layout, for rows i, columns j and parts t; n < K, so that E is smaller than H::

    E (n, p)     row i  [ columns of piece 0 | of piece 1 | … ]   residuals
    H (K, p)     part t [ columns of piece 0 | of piece 1 | … ]
                          ^ edges[0]           ^ edges[1]
    W (K, n)     part t [ row 0 | row 1 | … ]   the coordinates, turned; `weighed`: times the weights of rows
    rows_pass    a thread takes row i of E and column i of W, and reads H
    lines_pass   a thread takes the columns of a piece in E and H, and reads W and `weighed`
    curves (K,)  second derivatives, λ₂ included;  slopes (width,) of one part, for the columns of a piece
    found        the sizes of the slopes, of each row or piece

Memory: H three times an iteration. Arithmetic: 4npK multiply-adds.
"""

from typing import Any

import numpy as np

from didact.core.backend import read_only
from didact.core.jit import REASSOCIATE, jit_unmanaged
from didact.core.jit.atomics import atomic_add
from didact.core.threads import share_pieces
from didact.core.typing import Array
from didact.engines.factors.tuning import COLUMNS_EACH, RESIDUAL_COLUMNS, RESIDUAL_NUMBERS


class ResidualSteps:
    """Steps for dense rows X (n, p) with weights w; W (n, K) and H (K, p) change in place."""

    def __init__(self, X: Array, w: Any, W: Array, H: Array) -> None:
        self.X, self.W, self.H = X, W, H
        self.w = np.ones(len(X)) if w is None else np.asarray(w, np.float64)

    def rows(self, l1: float, l2: float, order: Array) -> float:
        """Move W; the sizes of its slopes."""
        self.E, self.turned = np.subtract(self.X, self.W @ self.H, order="C"), np.ascontiguousarray(self.W.T)
        curves, found = np.einsum("kj,kj->k", self.H, self.H) + l2, np.zeros(len(self.E))
        given = read_only(self.H), read_only(curves), l1, l2, order
        share_pieces(len(found), lambda turn: rows_pass(turn, *given, self.turned, self.E, found))
        self.W[:] = self.turned.T
        return float(self.w @ found)

    def lines(self, l1: float, l2: float, order: Array) -> tuple[float, float]:
        """Move H; the sizes of its slopes and half the squared error."""
        each = min(max(RESIDUAL_NUMBERS // len(self.E), COLUMNS_EACH), RESIDUAL_COLUMNS)
        edges = np.arange(0, self.H.shape[1] + each, each)
        weighed = self.turned * self.w
        curves, found = np.einsum("ki,ki->k", weighed, self.turned) + l2, np.zeros(len(edges) - 1)
        given = edges, read_only(self.turned), read_only(weighed), read_only(curves), l1, l2, order

        def loop(turn: Array) -> None:
            lines_pass(turn, *given, self.H, self.E, np.zeros(each), found)

        share_pieces(len(found), loop)
        return float(found.sum()), 0.5 * float(self.w @ np.einsum("ij,ij->i", self.E, self.E))


@jit_unmanaged(fastmath=REASSOCIATE)
def rows_pass(
    turn: Array, H: Array, curves: Array, l1: float, l2: float, order: Array, W: Array, E: Array, found: Array
) -> None:  # fmt: skip
    """Take rows until there are no more: a step of every coordinate of W, and their residuals."""
    p = H.shape[1]
    for _ in range(turn[1]):
        i = atomic_add(turn, 0, 1)
        if i >= found.shape[0]:
            return
        for s in range(order.shape[0]):
            t = order[s]
            v = W[t, i]
            slope = l1 + l2 * v
            for j in range(p):
                slope -= E[i, j] * H[t, j]
            found[i] += abs(slope) if v > 0.0 else max(-slope, 0.0)
            if curves[t] > 0.0:
                W[t, i] = max(v - slope / curves[t], 0.0)
                step = W[t, i] - v
                for j in range(p):
                    E[i, j] -= step * H[t, j]


@jit_unmanaged(fastmath=REASSOCIATE)
def lines_pass(
    turn: Array, edges: Array, W: Array, weighed: Array, curves: Array, l1: float, l2: float, order: Array, H: Array,
    E: Array, slopes: Array, found: Array,
) -> None:  # fmt: skip
    """Take pieces of columns: a step of every coordinate of theirs of H, and the residuals."""
    n = E.shape[0]
    for _ in range(turn[1]):
        piece = atomic_add(turn, 0, 1)
        if piece >= found.shape[0]:
            return
        start, stop = edges[piece], min(edges[piece + 1], H.shape[1])
        for s in range(order.shape[0]):
            t = order[s]
            for j in range(start, stop):
                slopes[j - start] = l1 + l2 * H[t, j]
            for i in range(n):
                factor = weighed[t, i]
                for j in range(start, stop):
                    slopes[j - start] -= factor * E[i, j]
            inverse = 1.0 / curves[t] if curves[t] > 0.0 else 0.0  # nothing depends on a coordinate without curvature
            for j in range(start, stop):
                slope, v = slopes[j - start], H[t, j]
                found[piece] += abs(slope) if v > 0.0 else max(-slope, 0.0)
                H[t, j] = max(v - inverse * slope, 0.0)
                slopes[j - start] = H[t, j] - v
            for i in range(n):
                factor = W[t, i]
                for j in range(start, stop):
                    E[i, j] -= factor * slopes[j - start]


def warm() -> None:
    """Compile."""
    order = np.zeros(1, np.int64)
    steps = ResidualSteps(np.ones((1, 1)), None, np.ones((1, 1)), np.ones((1, 1)))
    steps.rows(0.0, 0.0, order)
    steps.lines(0.0, 0.0, order)
