r"""Compiled weights of neighbours: each row as a mean of them, :math:`\min_w\|x - \sum_a w_a y_a\|^2` with sum 1.

With the differences :math:`z_a = y_a - x` the weights are proportional to the solution of :math:`(ZZ^T + rI)w = 1`,
with r a share of the trace. The matrix is factored by Cholesky.

Layout, for rows Q (m, p) with neighbours among the rows Y (n, p)::

    ends      [ neighbours of row 0 | neighbours of row 1 | … ]   numbers of rows of Y
    weights   [ their weights       | …                       ]   the outcome
                ^ starts[0]           ^ starts[1]
    Z (p, k)  column j [ y_0 − x | y_1 − x | … ]   differences of one row, in room for the largest neighbourhood
    G (k, k), w (k,)   lower triangle of the matrix, and its solution;  bad (1,) a row whose matrix is singular, or −1

Memory: Y once for each edge. Arithmetic: k²p/2 + k³/6 multiply-adds a row.

Roweis, Saul (2000), doi:10.1126/science.290.5500.2323.
"""

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.jit.atomics import atomic_add
from didact.core.typing import Array


@jit_unmanaged
def weight_pass(
    turn: Array, size: int, Q: Array, Y: Array, starts: Array, ends: Array, reg: float, weights: Array, Z: Array,
    G: Array, w: Array, bad: Array,
) -> None:  # fmt: skip
    """Take pieces of `size` rows until there are no more; the weights of the neighbours of each, which sum to 1."""
    for _ in range(turn[1]):
        first = atomic_add(turn, 0, 1) * size
        if first >= Q.shape[0]:
            return
        for i in range(first, min(first + size, Q.shape[0])):
            if not _weigh(i, Q, Y, starts[i], starts[i + 1], ends, reg, weights, Z, G, w):
                bad[0] = i


@jit_unmanaged
def _weigh(
    i: int, Q: Array, Y: Array, begin: int, end: int, ends: Array, reg: float, weights: Array, Z: Array, G: Array,
    w: Array,
) -> bool:  # fmt: skip
    """The weights of one row; whether its matrix is positive definite."""
    k, p, trace = end - begin, Q.shape[1], 0.0
    for a in range(k):
        y = ends[begin + a]
        for j in range(p):
            Z[j, a] = Y[y, j] - Q[i, j]
        for b in range(a + 1):
            G[a, b] = 0.0
    for j in range(p):
        for a in range(k):
            z = Z[j, a]
            for b in range(a + 1):
                G[a, b] += z * Z[j, b]
    for a in range(k):
        trace += G[a, a]
    ridge = reg * trace if trace > 0.0 else reg
    for a in range(k):
        G[a, a] += ridge
        w[a] = 1.0
    if not _solve(G, w, k):
        return False
    total = 0.0
    for a in range(k):
        total += w[a]
    for a in range(k):
        weights[begin + a] = w[a] / total
    return True


@jit_unmanaged
def _solve(G: Array, w: Array, k: int) -> bool:
    """Solve Gw = w in place by a Cholesky factorisation of the lower triangle; False if G is not positive definite."""
    for a in range(k):
        for b in range(a + 1):
            s = G[a, b]
            for c in range(b):
                s -= G[a, c] * G[b, c]
            if a > b:
                G[a, b] = s / G[b, b]
            elif s > 0.0:
                G[a, a] = np.sqrt(s)
            else:
                return False
    for a in range(k):
        for c in range(a):
            w[a] -= G[a, c] * w[c]
        w[a] /= G[a, a]
    for a in range(k - 1, -1, -1):
        for c in range(a + 1, k):
            w[a] -= G[c, a] * w[c]
        w[a] /= G[a, a]
    return True


def warm() -> None:
    """Compile."""
    from didact.engines.spectral.local import neighbor_weights

    rows = np.arange(2.0)[:, None]
    neighbor_weights(rows, rows, np.arange(3), np.array([1, 0]), 1e-3)
