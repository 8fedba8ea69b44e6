"""Compiled passes of boosting over the rows: gradients, words, and the new trees' values; NumPy twins in the tests.

Cost: a nanosecond or two a row and class: the exponential is arithmetic that goes for several rows at once.
"""

import math

import numpy as np

from didact.core.jit import jit, jit_unmanaged
from didact.core.typing import Array
from didact.parts.exp_loops import exp1


@jit
def squared_gradients(y: Array, w: Array, z: Array, g: Array, h: Array) -> None:
    """z − y and 1, times the weight (no weights: an empty array)."""
    for i in range(y.shape[0]):
        weight = w[i] if w.shape[0] else 1.0
        g[i], h[i] = weight * (z[i] - y[i]), weight


@jit
def weigh(w: Array, g: Array, h: Array) -> None:
    """Multiply both by the weights, if there are any."""
    for i in range(w.shape[0]):
        g[i] *= w[i]
        h[i] *= w[i]


@jit
def logistic_gradients(y: Array, w: Array, z: Array, g: Array, h: Array) -> None:
    """p − y and p(1 − p), times the weight."""
    for i in range(y.shape[0]):
        h[i] = exp1(-abs(z[i]))  # a loop of its own, which goes for several rows at once
    for i in range(y.shape[0]):
        q = h[i] / (1.0 + h[i])
        g[i] = 1.0 - y[i] - q if z[i] >= 0.0 else q - y[i]
        h[i] = q * (1.0 - q)
    weigh(w, g, h)


@jit
def softmax_gradients(y: Array, w: Array, z: Array, g: Array, h: Array, start: int, stop: int) -> None:
    """p_k − [y = k] and p_k(1 − p_k) of the rows start … stop − 1, times the weight, for every class, at least two.

    z, g and h have one row a class. One class after the other, so that many rows go at once; the largest value and the
    sum of a row's exponentials are in h[0] and h[1] meanwhile, whose own values come last.
    """
    K, n, y, w = z.shape[0], stop - start, y[start:stop], w[start:stop]
    top, total = h[0, start:stop], h[1, start:stop]
    for i in range(n):
        top[i] = z[0, start + i]
        total[i] = 0.0
    for k in range(1, K):
        here = z[k, start:stop]
        for i in range(n):
            top[i] = max(top[i], here[i])
    for k in range(K):
        here, p = z[k, start:stop], g[k, start:stop]
        for i in range(n):
            p[i] = exp1(here[i] - top[i])
            total[i] += p[i]
    for k in range(K + 1):
        c = 1 if k == K else k
        slope, curvature = g[c, start:stop], h[c, start:stop]
        if k != 1:
            for i in range(n):
                share = slope[i] / total[i]
                slope[i] = share - (1.0 if y[i] == c else 0.0)
                curvature[i] = share * (1.0 - share)
            weigh(w, slope, curvature)


@jit_unmanaged
def pack_pairs(g: Array, h: Array, scale_g: float, scale_h: float, shift: int, words: Array) -> None:
    """Words of gradient and curvature, the second with the count."""
    one = np.int64(1) << shift
    for i in range(g.shape[0]):
        words[i, 0] = np.int64(math.floor(g[i] * scale_g + 0.5))
        words[i, 1] = np.int64(math.floor(h[i] * scale_h + 0.5)) + one


@jit_unmanaged
def pack_ones(g: Array, scale_g: float, shift: int, words: Array) -> None:
    """Words of a gradient with the count."""
    one = np.int64(1) << shift
    for i in range(g.shape[0]):
        words[i, 0] = np.int64(math.floor(g[i] * scale_g + 0.5)) + one


@jit(fastmath={"reassoc"})
def sizes(g: Array, h: Array) -> tuple[float, float]:
    """The sums of |g| and of h."""
    slopes = curvatures = 0.0
    for i in range(g.shape[0]):
        slopes += abs(g[i])
        curvatures += h[i]
    return slopes, curvatures


@jit
def add_leaves(starts: Array, stops: Array, values: Array, order: Array, first: int, stop: int, out: Array) -> None:
    """Add the value of its leaf to every row at the places first … stop − 1 of the order."""
    for k in range(starts.shape[0]):
        v = values[k]
        for r in range(max(starts[k], first), min(stops[k], stop)):
            out[np.uint64(order[np.uint64(r)])] += v


def warm() -> None:
    """Compile for the types in use."""
    x, g, h, none = np.zeros(1), np.zeros(1), np.zeros(1), np.empty(0)
    squared_gradients(x, none, x, g, h)
    logistic_gradients(x, none, x, g, h)
    softmax_gradients(np.zeros(1, np.int64), none, np.zeros((2, 1)), np.zeros((2, 1)), np.zeros((2, 1)), 0, 1)
    pack_pairs(x, x, 1.0, 1.0, 40, np.zeros((1, 2), np.int64))
    pack_ones(x, 1.0, 40, np.zeros((1, 1), np.int64))
    sizes(g, h)
    add_leaves(np.zeros(1, np.int64), np.ones(1, np.int64), x, np.zeros(1, np.uint32), 0, 1, g)
    _warm_grower()


def _warm_grower() -> None:
    """Grow a tiny tree."""
    from didact.engines.trees.growers import histogram as grow
    from didact.engines.trees.limits import Limits
    from didact.engines.trees.rows.bins import bin_codes, learn_bins
    from didact.engines.trees.rows.fixed_point import value_channels
    from didact.parts.criteria.gradient import Gradient

    X = np.arange(8.0)[:, None]
    bins, channels = learn_bins(X), value_channels(np.column_stack([X[:, 0] - 3.5, np.ones(8)]))
    grower = grow.Grower(bin_codes(X, bins), bins, channels, Gradient(0.0), Limits(max_leaf_nodes=3))
    grower.grow(channels)
