r"""Coordinate descent on the duals of linear support vector machines, row by row, with shrinking.

Variable i is the coefficient β_i of row i in w = Σ β_i (x_i, c), where c is the constant column. Its optimality goes by
g_i = w·(x_i, c) − t_i + D_i β_i and ε: the slope to the right is g_i + ε for β_i ≥ 0 and g_i − ε below, to the left it
is g_i + ε for β_i > 0 and g_i − ε else. A step minimises the objective in β_i exactly, within its bounds.

Layout: `rows` is `Dense` or `Sparse` (see `row_loops`); `target`, `lower`, `upper`, `ridge` (D), `norm` (|x_i|² + c²)
and `beta` have an entry for each row, `w` (p + 1,) one for each column and one for the constant. `order` holds the
numbers of the rows in play, those of `active[0]` first; the rest have been left out. For several classes at once `beta`
is (n, K) and `W` (p + 1, K), the classes of a row side by side.

Hsieh et al. (2008), doi:10.1145/1390156.1390208; Ho, Lin (2012), JMLR 13; Keerthi et al. (2008),
doi:10.1145/1401890.1401942.
"""

from typing import Any

import numpy as np

from didact.core.jit import jit
from didact.core.typing import Array
from didact.engines.stochastic.row_loops import (
    Dense,
    Sparse,
    add_row,
    ask1,
    begin1,
    column1,
    end1,
    entry1,
    row_dot,
    scattered1,
    scattered_dot,
)

ZERO_ROW = 1e-300  # curvature of a row of zeros: its variable goes to a bound
ROWS_AHEAD = 2  # rows between one that is worked on and one that is asked of the memory


@jit
def shuffle_first(order: Array, m: int, seed: Array) -> None:
    """Put the first m entries into random order (Fisher–Yates, with numbers by xorshift)."""
    x = seed[0]
    for s in range(m - 1, 0, -1):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
        k = np.int64(x % np.uint64(s + 1))
        other = order[k]
        order[k] = order[s]
        order[s] = other
    seed[0] = x


@jit
def best_on_row(b: float, g: float, h: float, epsilon: float, low: float, high: float) -> float:
    """The minimum of ½h(u − b)² + g(u − b) + ε|u| for u from low to high."""
    u = b - g / h
    if epsilon > 0.0:
        u = u - epsilon / h if u > epsilon / h else (u + epsilon / h if u < -epsilon / h else 0.0)
    return min(max(u, low), high)


@jit(fastmath={"contract"})
def sweep_rows(
    rows: Any, target: Array, lower: Array, upper: Array, ridge: Array, norm: Array, epsilon: float, constant: float,
    beta: Array, w: Array, order: Array, active: Array, threshold: float, seed: Array,
) -> float:  # fmt: skip
    """One pass over the rows in play, in random order; returns the largest violations met of either side, added.

    A row whose variable stays at a bound or at its kink by more than the threshold is left out.
    """
    p = w.shape[0] - 1
    below, above = 0.0, 0.0
    s, m = 0, active[0]
    shuffle_first(order, m, seed)
    while s < m:
        i = order[s]
        if s + ROWS_AHEAD < m:
            ask1(rows, order[s + ROWS_AHEAD])
        b = beta[i]
        z = scattered_dot(rows, i, w) if scattered1(rows) else row_dot(rows, i, w)
        g = z + constant * w[p] - target[i] + ridge[i] * b
        right = g + epsilon if b >= 0.0 else g - epsilon
        left = g + epsilon if b > 0.0 else g - epsilon
        rises, falls = b < upper[i], b > lower[i]
        if rises and right < 0.0:
            below = max(below, -right)
        elif falls and left > 0.0:
            above = max(above, left)
        elif (not rises or right > threshold) and (not falls or left < -threshold):
            m -= 1
            order[s] = order[m]
            order[m] = i
            continue
        else:
            s += 1
            continue
        new = best_on_row(b, g, max(norm[i] + ridge[i], ZERO_ROW), epsilon, lower[i], upper[i])
        if new != b:
            beta[i] = new
            add_row(rows, i, new - b, w)
            w[p] += (new - b) * constant
        s += 1
    active[0] = m
    return below + above


@jit(fastmath={"contract"})
def sweep_classes(
    rows: Any, codes: Array, bound: Array, norm: Array, constant: float, beta: Array, W: Array, order: Array,
    seed: Array, g: Array, d: Array,
) -> float:  # fmt: skip
    """One pass for all classes jointly (Crammer and Singer); returns the largest violation met. g, d (K,) are scratch.

    The variables of row i sum to 0, that of its own class is at most its bound and the others at most 0.
    """
    p, K = W.shape[0] - 1, W.shape[1]
    worst = 0.0
    shuffle_first(order, order.shape[0], seed)
    for s in range(order.shape[0]):
        i = order[s]
        own, h = codes[i], norm[i]
        if h <= 0.0:
            continue
        for c in range(K):
            g[c] = constant * W[p, c] + (0.0 if c == own else 1.0)
        for k in range(begin1(rows, i), end1(rows, i)):
            x, j = entry1(rows, i, k), column1(rows, k)
            for c in range(K):
                g[c] += x * W[j, c]
        largest, least = -np.inf, np.inf
        for c in range(K):
            largest = max(largest, g[c])
            if beta[i, c] < (bound[i] if c == own else 0.0):
                least = min(least, g[c])
        worst = max(worst, largest - least)
        if not largest - least > 0.0:
            continue
        level = level_of(g, beta[i], h, own, bound[i], d)
        for c in range(K):
            new = min((level - g[c]) / h + beta[i, c], bound[i] if c == own else 0.0)
            d[c] = new - beta[i, c]
            beta[i, c] = new
        for k in range(begin1(rows, i), end1(rows, i)):
            x, j = entry1(rows, i, k), column1(rows, k)
            for c in range(K):
                W[j, c] += x * d[c]
        for c in range(K):
            W[p, c] += constant * d[c]
    return worst


@jit
def level_of(g: Array, b: Array, h: float, own: int, bound: float, d: Array) -> float:
    """The level v for which Σ_c min(b_c + (v − g_c)/h, bound of c) = 0; d is scratch.

    With d_c = g_c − h b_c + h·(bound of c), sorted downwards, the largest r classes are below their bounds.
    """
    K = g.shape[0]
    for c in range(K):
        value = g[c] - h * b[c] + (h * bound if c == own else 0.0)
        k = c
        while k > 0 and d[k - 1] < value:
            d[k] = d[k - 1]
            k -= 1
        d[k] = value
    total = d[0] - h * bound
    r = 1
    while r < K and total < r * d[r]:
        total += d[r]
        r += 1
    return total / r


def warm() -> None:
    """Compile for the types that are used most."""
    y, indices, indptr = np.ones(1), np.zeros(1, np.int32), np.array([0, 1], np.int32)
    X, codes, order = np.ones((1, 1)), np.zeros(1, np.int64), np.zeros(1, np.int64)
    for array in (X, y, indices, indptr):
        array.flags.writeable = False
    for design in (Dense(X), Sparse(y, indices, indptr)):
        seed, one = np.ones(1, np.uint64), np.ones(1)
        sweep_rows(design, one, -one, one, one, one, 0.0, 1.0, np.zeros(1), np.zeros(2), order, np.ones(1, np.int64),
                   np.inf, seed)  # fmt: skip
        sweep_classes(design, codes, one, one, 1.0, np.zeros((1, 2)), np.zeros((2, 2)), order, seed, np.zeros(2),
                      np.zeros(2))  # fmt: skip
