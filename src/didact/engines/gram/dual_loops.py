r"""Coordinate descent on the duals of linear support vector machines, row by row, with shrinking.

Variable i is the coefficient β_i of row i in w = Σ β_i (x_i, c), where c is the constant column. Its optimality goes by
g_i = w·(x_i, c) − t_i + D_i β_i and ε: the slope to the right is g_i + ε for β_i ≥ 0 and g_i − ε below, to the left it
is g_i + ε for β_i > 0 and g_i − ε else. A step minimises the objective in β_i exactly, within its bounds.

Layout, for `rows` that are `Dense` or `Sparse` (see `row_loops`)::

    order     [ rows in play, shuffled in each pass | rows that have been left out ]
                ^ 0                                   ^ active[0]
    beta      [ β_0 | β_1 | … ]       target (t), lower, upper, ridge (D), norm (|x_i|² + c²): one for each row, too
    w         [ column 0 | column 1 | … | constant ]   (p + 1,)
    several classes at once: beta (n, K) and W (p + 1, K), those of a row or column side by side
    live[i]   [ classes in play | left out ]
                ^ 0               ^ count[i]

Hsieh et al. (2008), doi:10.1145/1390156.1390208; Ho, Lin (2012), JMLR 13; Keerthi et al. (2008),
doi:10.1145/1401890.1401942.
"""

from typing import Any

import numpy as np

from didact.core.jit import REASSOCIATE, jit
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
    active: Array, live: Array, count: Array, enough: float, most: int, seed: Array, spare: Array, moved: Array,
) -> tuple[float, int]:  # fmt: skip
    """Passes for all classes jointly (Crammer and Singer) until the largest violation met in one is below `enough`, or
    `most` rows have been looked at; returns that violation and the number of rows.

    The variables of row i sum to 0, that of its own class is at most its bound and the others at most 0. A class whose
    variable stays at its bound is left out of its row, and a row with fewer than two classes in play as a whole. spare
    (4, K) and moved (K,) are scratch.
    """
    worst, looked = np.inf, 0
    while looked < most and active[0] > 0 and not worst < enough:
        looked += active[0]
        worst = sweep_active(
            rows, codes, bound, norm, constant, beta, W, order, active, live, count, seed, spare, moved
        )
    return worst, looked


@jit(fastmath={"contract"})
def sweep_active(
    rows: Any, codes: Array, bound: Array, norm: Array, constant: float, beta: Array, W: Array, order: Array,
    active: Array, live: Array, count: Array, seed: Array, spare: Array, moved: Array,
) -> float:  # fmt: skip
    """One pass of `sweep_classes` over the rows in play; the largest violation met."""
    worst, s, m = 0.0, 0, active[0]
    g, b, d, every = spare[0], spare[1], spare[2], spare[3]
    shuffle_first(order, m, seed)
    while s < m:
        i = order[s]
        if s + ROWS_AHEAD < m:
            ask1(rows, order[s + ROWS_AHEAD])
        own, h = codes[i], norm[i]
        class_slopes(rows, i, own, constant, W, live[i], count[i], g, every)
        largest, least = -np.inf, np.inf
        for k in range(count[i]):
            c = live[i, k]
            largest = max(largest, g[k])
            if beta[i, c] < (bound[i] if c == own else 0.0):
                least = min(least, g[k])
        n, k = count[i], 0
        while k < n:
            c = live[i, k]
            b[k] = beta[i, c]
            if g[k] < least and b[k] >= (bound[i] if c == own else 0.0):
                n -= 1
                g[k], live[i, k], live[i, n] = g[n], live[i, n], c
            else:
                k += 1
        count[i] = n
        if n < 2 or h <= 0.0:
            m -= 1
            order[s], order[m] = order[m], i
            continue
        s += 1
        if not largest - least > 0.0:
            continue
        worst = max(worst, largest - least)
        level, changes = level_of(g, b, h, live[i], n, own, bound[i], d), 0
        for k in range(n):
            c = live[i, k]
            new = min((level - g[k]) / h + b[k], bound[i] if c == own else 0.0)
            if new != b[k]:
                beta[i, c] = new
                moved[changes], d[changes] = c, new - b[k]
                changes += 1
        add_classes(rows, i, constant, W, moved, d, changes)
    active[0] = m
    return worst


@jit(fastmath=REASSOCIATE)
def class_dot(rows: Any, i: int, W: Array, c: int) -> float:
    """Row i times the weights of class c."""
    total = 0.0
    for k in range(begin1(rows, i), end1(rows, i)):
        total += entry1(rows, i, k) * W[column1(rows, k), c]
    return total


@jit(fastmath={"contract"})
def class_slopes(
    rows: Any, i: int, own: int, constant: float, W: Array, live: Array, n: int, g: Array, every: Array
) -> None:
    """g: the slopes of the variables of row i, for its n classes in play; every (K,) is scratch."""
    p, K = W.shape[0] - 1, W.shape[1]
    if 2 * n > K:  # all classes, which are side by side
        for c in range(K):
            every[c] = constant * W[p, c]
        for k in range(begin1(rows, i), end1(rows, i)):
            x, j = entry1(rows, i, k), column1(rows, k)
            for c in range(K):
                every[c] += x * W[j, c]
        for t in range(n):
            g[t] = every[live[t]]
    else:
        for t in range(n):
            g[t] = class_dot(rows, i, W, live[t]) + constant * W[p, live[t]]
    for t in range(n):
        g[t] += 0.0 if live[t] == own else 1.0


@jit(fastmath={"contract"})
def add_classes(rows: Any, i: int, constant: float, W: Array, moved: Array, d: Array, n: int) -> None:
    """W += d (x_i, c) for the n classes that have moved."""
    for t in range(n):
        c, step = moved[t], d[t]
        for k in range(begin1(rows, i), end1(rows, i)):
            W[column1(rows, k), c] += step * entry1(rows, i, k)
        W[W.shape[0] - 1, c] += constant * step


@jit
def level_of(g: Array, b: Array, h: float, live: Array, n: int, own: int, bound: float, d: Array) -> float:
    """The level v for which the variables min(b_k + (v − g_k)/h, bound of k) of a row sum to 0; d is scratch.

    With d_k = g_k − h b_k + h·(bound of k), sorted downwards, the largest r classes are below their bounds. It is the
    same if the own class is left out at its bound: the others then sum to minus that.
    """
    for t in range(n):
        value = g[t] - h * b[t] + (h * bound if live[t] == own else 0.0)
        k = t
        while k > 0 and d[k - 1] < value:
            d[k] = d[k - 1]
            k -= 1
        d[k] = value
    total = d[0] - h * bound
    r = 1
    while r < n and total < r * d[r]:
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
        sweep_classes(design, codes, one, one, 1.0, np.zeros((1, 2)), np.zeros((2, 2)), order, np.ones(1, np.int64),
                      np.array([[0, 1]]), np.array([2]), 1.0, 1, seed, np.zeros((4, 2)),
                      np.zeros(2, np.int64))  # fmt: skip
