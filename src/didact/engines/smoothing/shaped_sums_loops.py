r"""Compiled loops of kernel sums with a covariance for each point: :math:`S_b(q) = \sum_i w_i\,K(c_b\|A_i(q-x_i)\|^2)`.

With lower triangles A_i, :math:`A_i^T A_i = \Sigma_i^{-1}`, a pair takes p² + 20 operations, all of them vector
instructions over points; every pair is computed. Far from all points the value at the nearest one is the unit.

Layout: stored by columns, so that loops run over contiguous points::

    points[f]       [ point 0 | point 1 | … ]   (p, n): coordinate f
    factors[f, g]   [ A_0     | A_1     | … ]   (p, p, n): entry f, g of each; only g ≤ f is read
    weight (1, n), share (n,)
    d, v (n,)       [ point 0 | point 1 | … ]   u² from one query, and values of the window
    sums (scales, queries), nearest (queries,)
"""

import numpy as np

from didact.core.jit import jit
from didact.core.typing import Array
from didact.engines.smoothing.kernel_sums_loops import CHUNK, dot
from didact.parts.windows.window_loops import values


@jit(fastmath={"contract"})
def shaped_squares(points: Array, factors: Array, q: Array, out: Array) -> None:
    """u² = ‖A_i (q − x_i)‖² of all points."""
    p, n = points.shape
    z = np.empty(CHUNK)
    for a in range(0, n, CHUNK):
        b = min(a + CHUNK, n)
        total = out[a:b]
        total[:] = 0.0
        for f in range(p):
            z[:] = 0.0
            for g in range(f + 1):
                x, c, v = points[g, a:b], factors[f, g, a:b], q[g]
                for j in range(b - a):
                    z[j] += c[j] * (v - x[j])
            for j in range(b - a):
                total[j] += z[j] * z[j]


@jit
def shaped(
    code: int, points: Array, weight: Array, share: Array, factors: Array, Q: Array, own: Array, tails: bool,
    scales: Array, sums: Array, nearest: Array,
) -> None:  # fmt: skip
    """Kernel sums with a covariance for each point, relative to the nearest point where the window has tails."""
    n = points.shape[1]
    d, v = np.empty(n), np.empty(n)
    for i in range(Q.shape[0]):
        shaped_squares(points, factors, Q[i], d)
        gone = 0.0 if own[i] < 0 else share[own[i]]
        least = np.inf
        for j in range(n):
            if d[j] < least and not (gone >= 1.0 and j == own[i]):
                least = d[j]
        nearest[i] = least if tails else 0.0
        for s in range(scales.shape[0]):
            values(code, scales[s], nearest[i], d, n, v)
            if own[i] >= 0:
                v[own[i]] *= 1.0 - gone
            sums[s, i] = dot(v, weight, 0, 0, n)


def warm() -> None:
    """Compile for the types that callers use."""
    X, one = np.ascontiguousarray(np.arange(8.0).reshape(2, 4)), np.ones(4)
    Q, own, A = np.ascontiguousarray(X.T), np.full(4, -1), np.ones((2, 2, 4))
    shaped(0, X, one[None], one, A, Q, own, True, one[:1], np.empty((1, 4)), np.empty(4))
