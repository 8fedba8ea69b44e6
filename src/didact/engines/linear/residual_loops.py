r"""Residuals of linear models and their products with the columns, in twice the working precision.

:math:`r_i = y_i - b_0 - x_i^Tb` and :math:`\sum_i w_i (1, x_i) r_i` cancel at the solution of least squares, so that in
working precision nothing but rounding would be left of them. Here every sum carries a second number, the sum of what
rounding has taken from the first: the rounding error of a sum or product of two numbers is itself a number, which
Knuth's and Dekker's formulas give exactly. They use additions and multiplications alone, which have the same results on
every CPU. About 30 of them for one of plain sums; n p for each target.

Ogita, Rump, Oishi (2005), Accurate sum and dot product, doi:10.1137/030601818.

Layout, with X (n, p) and Y (n, k) row by row::

    high, low (k, p + 1)   target t [ constant | b_1       | … | b_p       ]   coefficients: high + low
    out[0] (k, p + 1)      target t [ Σ w r    | Σ w x_1 r | … | Σ w x_p r ]   sums
    out[1] (k, p + 1)      target t [ …                                    ]   what rounding took from them
"""

import numpy as np

from didact.core.backend import read_only
from didact.core.jit import jit
from didact.core.typing import Array

HALF = 134217729.0  # 2²⁷ + 1: multiplied by it, a number falls into two halves of 26 bits


def residual_products(X: Array, Y: Array, w: Array | None, high: Array, low: Array) -> tuple[Array, Array]:
    """Σᵢ wᵢ (1, xᵢ) rᵢᵀ as a sum of two (k, p + 1); high + low are the coefficients (k, p + 1), constants first."""
    out = np.zeros((2, *high.shape))
    _add(read_only(X), read_only(Y), read_only(np.zeros(0) if w is None else w), read_only(high), read_only(low), out)
    return out[0], out[1]


@jit
def _sum(a: float, b: float) -> tuple[float, float]:
    """a + b, and what rounding took from it."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@jit
def _product(a: float, b: float) -> tuple[float, float]:
    """a·b, and what rounding took from it."""
    p = a * b
    c, d = HALF * a, HALF * b
    a1, b1 = c - (c - a), d - (d - b)
    a2, b2 = a - a1, b - b1
    return p, a2 * b2 - (((p - a1 * b1) - a2 * b1) - a1 * b2)


@jit
def _add(X: Array, Y: Array, w: Array, high: Array, low: Array, out: Array) -> None:
    """Add the products of all rows to out (2, k, p + 1)."""
    p = X.shape[1]
    for i in range(X.shape[0]):
        weight = w[i] if w.shape[0] > 0 else 1.0
        for t in range(Y.shape[1]):
            r, rest = _sum(Y[i, t], -high[t, 0])
            rest -= low[t, 0]
            for j in range(p):
                x = np.float64(X[i, j])
                part, lost = _product(x, high[t, j + 1])
                r, gone = _sum(r, -part)
                rest += gone - lost - x * low[t, j + 1]
            r, rest = _sum(r, rest)
            r, lost = _product(r, weight)
            rest = rest * weight + lost
            out[0, t, 0], gone = _sum(out[0, t, 0], r)
            out[1, t, 0] += gone + rest
            for j in range(p):
                x = np.float64(X[i, j])
                part, lost = _product(x, r)
                out[0, t, j + 1], gone = _sum(out[0, t, j + 1], part)
                out[1, t, j + 1] += gone + lost + x * rest


def warm() -> None:
    """Compile for double precision."""
    one = np.ones((1, 1))
    residual_products(one, one, None, np.ones((1, 2)), np.zeros((1, 2)))
