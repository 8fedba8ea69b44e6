"""Compiled passes of boosting over the rows: gradients, fixed point, leaf values; NumPy twins in the tests.

Cost: a nanosecond or two a row and class: the exponential is arithmetic that goes for several rows at once.

Layout, of all rows or of a slice of them::

    y, w, raw, g, h   float64 (n)    w is empty where all weights are 1; raw, g, h (K, n) for K classes
    fixed[i]          [ count | g ]   or   [ g ] [ count | h ]   int64 (n, 1 or 2): see `fixed_point`
    order             [ rows of a leaf, ascending | rows of the next | … ]   uint32 (n)
                        ^ starts[k]                 ^ stops[k], where leaf k ends
"""

import math
from importlib import import_module
from typing import NamedTuple

import numpy as np

from didact.core.jit import jit, jit_unmanaged
from didact.core.typing import Array
from didact.engines.trees.splits.histogram_loops import VALUES, Int
from didact.parts.exp_loops import exp1

GIVEN, SQUARED, LOGISTIC = 0, 1, 2  # losses: gradients that others have written; ½(z − y)²; log(1 + eᶻ) − yz
PASS_ROWS = 8192  # rows whose sums are found together, whatever the threads: they do not change a sum
CLASS_ROWS = 1024  # rows whose numbers for all classes stay in the cache of a core


TREES = "didact.engines.trees"
WARMED = [f"{TREES}.{name}" for name in ("growers.histogram", "rows.bins", "rows.fixed_point", "limits")]
WARMED.append("didact.parts.criteria.gradient")


class Passes(NamedTuple):
    """What boosting does with all rows before a tree: the last tree's values, gradients, fixed point."""

    loss: int
    y: Array
    w: Array
    raw: Array  # present predictions
    g: Array
    h: Array
    sizes: Array  # float64 (pieces, 2): Σ|g| and Σh
    starts: Array  # int64: leaves of the last tree whose values are still to be added
    stops: Array
    values: Array
    every: bool  # whether the tree is grown on all rows, which are then put in their order
    rate: float  # by which the values of leaves are multiplied
    steep: bool  # whether long steps have to be shortened


def no_passes() -> Passes:
    """Passes that do nothing, for trees whose rows have their fixed-point numbers already."""
    none, whole = np.empty(0), np.empty(0, np.int64)
    return Passes(
        loss=GIVEN, y=none, w=none, raw=none, g=none, h=none, sizes=np.empty((0, 2)), starts=whole, stops=whole,
        values=none, every=False, rate=1.0, steep=False,
    )  # fmt: skip


@jit
def weigh(w: Array, g: Array, h: Array) -> None:
    """Multiply gradients and curvatures by the weights, if there are any."""
    for i in range(w.shape[0]):
        g[i] *= w[i]
        h[i] *= w[i]


@jit
def write_gradients(loss: int, y: Array, w: Array, z: Array, g: Array, h: Array) -> None:
    """The weighted gradients and curvatures: z − y and 1, or p − y and p(1 − p)."""
    if loss == SQUARED:
        for i in range(y.shape[0]):
            g[i], h[i] = z[i] - y[i], 1.0
    else:
        for i in range(y.shape[0]):
            h[i] = exp1(-abs(z[i]))  # a loop of its own, which goes for several rows at once
        for i in range(y.shape[0]):
            q = h[i] / (1.0 + h[i])
            g[i] = 1.0 - y[i] - q if z[i] >= 0.0 else q - y[i]
            h[i] = q * (1.0 - q)
    weigh(w, g, h)


@jit
def softmax_gradients(
    y: Array, w: Array, z: Array, g: Array, h: Array, start: int, stop: int, sizes: Array
) -> None:  # fmt: skip
    """p_k − [y = k] and p_k(1 − p_k) of the rows start … stop − 1, times the weight, for every class, at least two.

    z, g and h have one row a class, sizes[k] gets Σ|g| and Σh of class k.
    """
    for k in range(z.shape[0]):
        sizes[k, 0] = sizes[k, 1] = 0.0
    for a in range(start, stop, CLASS_ROWS):
        b = min(a + CLASS_ROWS, stop)
        _softmax_near(y, w, z, g, h, a, b)
        for k in range(z.shape[0]):
            slopes, curvatures = sizes_of(g[k, a:b], h[k, a:b])
            sizes[k, 0] += slopes
            sizes[k, 1] += curvatures


@jit
def _softmax_near(y: Array, w: Array, z: Array, g: Array, h: Array, start: int, stop: int) -> None:
    """The gradients of a few rows, one class after the other, so that many rows go at once.

    The largest value and the sum of a row's exponentials are in h[0] and h[1] meanwhile, whose own values come last.
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
def to_fixed_point(g: Array, h: Array, inverse: Array, shift: Int, fixed: Array) -> None:
    """Gradients and curvatures as fixed-point numbers, the last with the count; one column: gradients alone."""
    one, slope, last = np.int64(1) << shift, 1.0 / inverse[0], fixed.shape[1] - 1
    if last == 0:
        for i in range(g.shape[0]):
            fixed[i, 0] = np.int64(math.floor(g[i] * slope + 0.5)) + one
    else:
        curvature = 1.0 / inverse[1]
        for i in range(g.shape[0]):
            fixed[i, 0] = np.int64(math.floor(g[i] * slope + 0.5))
            fixed[i, 1] = np.int64(math.floor(h[i] * curvature + 0.5)) + one


@jit(fastmath={"reassoc"})
def sizes_of(g: Array, h: Array) -> tuple[float, float]:
    """The sums of |g| and of h."""
    slopes = curvatures = 0.0
    for i in range(g.shape[0]):
        slopes += abs(g[i])
        curvatures += h[i]
    return slopes, curvatures


@jit
def shorten_steps(values: Array, rate: float, out: Array) -> None:
    """Newton steps times the learning rate, no longer than log(1 + |v|)."""
    for k in range(values.shape[0]):
        size = abs(values[k])
        out[k] = math.copysign(min(rate * size, math.log1p(size)), values[k])


@jit_unmanaged
def _place_of(row: Int, order: Array, start: Int, stop: Int) -> Int:
    """The first of the places start … stop − 1, whose rows ascend, with a row that is not smaller; stop if none is."""
    while start < stop:
        middle = (start + stop) // 2
        if order[np.uint64(middle)] < row:
            start = middle + 1
        else:
            stop = middle
    return start


@jit
def add_leaves(starts: Array, stops: Array, values: Array, order: Array, first: Int, stop: Int, out: Array) -> None:
    """Add the value of its leaf to each of the rows first … stop − 1, so that threads write to rows apart."""
    for a in range(first, stop, PASS_ROWS):  # rows that lie in the cache of a core
        b = min(a + PASS_ROWS, stop)
        for k in range(starts.shape[0]):
            v, end = values[k], stops[k]
            for r in range(_place_of(a, order, starts[k], end), end):
                i = order[np.uint64(r)]
                if np.int64(i) >= b:
                    break
                out[np.uint64(i)] += v


def warm() -> None:
    """Compile for the types in use."""
    x, none = np.zeros(1), np.empty(0)
    write_gradients(SQUARED, x, none, x, x.copy(), x.copy())
    softmax_gradients(np.zeros(1, np.int64), none, np.zeros((2, 1)), np.zeros((2, 1)), np.zeros((2, 1)), 0, 1,
                      np.zeros((2, 2)))  # fmt: skip
    sizes_of(x, x)
    shorten_steps(x, 0.1, x.copy())
    add_leaves(np.zeros(1, np.int64), np.ones(1, np.int64), x, np.zeros(1, np.uint32), 0, 1, x.copy())
    # By name, so that the machine code of this file is not keyed on sources that are only used here.
    histogram, bins, fixed_point, limits, criterion = map(import_module, WARMED)
    X = np.arange(8.0)[:, None]
    learnt, fixed = bins.learn_bins(X), np.column_stack([np.arange(8) - 4, np.full(8, (1 << 32) + 1)])
    codes, channels = bins.bin_codes(X, learnt), fixed_point.value_layout(fixed, VALUES, 32, np.ones(2))
    end = limits.Limits(max_leaf_nodes=3)
    for monotone in (None, np.ones(1)):  # the search for numbers of one target, and that for all others
        histogram.Grower(codes, learnt, channels, criterion.Gradient(0.0), end, monotone=monotone).grow(channels)
