r"""Compiled loops of local regression: a weighted polynomial fit around every query point.

At a point q with bandwidth h, :math:`\min_\beta \sum_j K(\|x_j-q\|/h)\,w_j\,(y_j - \beta^T\phi((x_j-q)/h))^2`, where φ
starts with 1, so that β₀ is the fitted value and :math:`(A^{-1})_{00}`, with A the weighted cross-products of φ, is its
derivative with respect to a y of weight 1 at q (the leverage: the diagonal of the smoother matrix).

In one dimension x is sorted and a window is a range; a line takes five sums, 15 multiply–adds per point, in one pass
that compiles to vector instructions: 20,000 points with windows of 2,000, in four rounds, are 1.6·10⁸ weights.

Layout, for one column, sorted, and for several::

    x           [ x_0 ≤ x_1 ≤ … | the window of q | … ≤ x_{n−1} ]   y and w in the same order
                                  ^ a               ^ b
    cumulative  [ 0 | w_0 | w_0 + w_1 | … ]   (n + 1,)
    rows        [ points in the window of query 0 | of query 1 | … ]   rows of X (n, p), for several columns
    distances   [ their distances                 | …              ]
                  ^ starts[0]                       ^ starts[1]
"""

import math
from typing import Any

import numpy as np

from didact.core.jit import dispatch, jit
from didact.core.typing import Array
from didact.parts.windows import GaussianWindow, Tricube

DEPENDENT_TERM = 1e-8  # least share of a term's sum of squares that the terms before it do not explain

weight1 = dispatch("weight1")


@jit
def count_below(x: Array, q: float, distance: float, strict: bool) -> int:
    """The number of sorted x below q + distance (strict), or up to it."""
    low, high = 0, x.shape[0]
    while low < high:
        middle = (low + high) // 2
        d = x[middle] - q
        if d < distance or (d == distance and not strict):
            low = middle + 1
        else:
            high = middle
    return low


@jit
def first_reaching(cumulative: Array, target: float) -> int:
    """The first position at which the rising sums reach the target; for weights 1 the first guess is right."""
    guess = math.ceil(target)
    if 0 < guess < cumulative.shape[0] and cumulative[guess] >= target and cumulative[guess - 1] < target:
        return guess
    low, high = 0, cumulative.shape[0]
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] < target:
            low = middle + 1
        else:
            high = middle
    return low


@jit
def radii(x: Array, cumulative: Array, q: Array, k: float, start: int, stop: int, out: Array) -> None:
    """The least distance from each q within which points of total weight k lie; cumulative has the n + 1 sums."""
    n = x.shape[0]
    for i in range(start, stop):
        p = count_below(x, q[i], 0.0, True)
        # Bisection: the fewest points on the left such that, with the points on the right that are no farther away,
        # they weigh at least k.
        low, high = 0, p
        while low < high:
            middle = (low + high) // 2
            need = k - (cumulative[p] - cumulative[p - 1 - middle])
            j = first_reaching(cumulative, cumulative[p] + need)
            if need <= 0.0 or (j <= n and x[j - 1] - q[i] <= q[i] - x[p - 1 - middle]):
                high = middle
            else:
                low = middle + 1
        out[i] = q[i] - x[p - 1 - low] if low < p else np.inf
        j = first_reaching(cumulative, k + cumulative[p - low])
        if p < j <= n:
            out[i] = min(out[i], x[j - 1] - q[i])


@jit
def window(x: Array, q: float, h: float, reach: float) -> tuple[int, int, float]:
    """The range of points in the window at q, and the distance of the nearest in units of h."""
    p = count_below(x, q, 0.0, True)
    nearest = np.inf
    if p > 0:
        nearest = q - x[p - 1]
    if p < x.shape[0]:
        nearest = min(nearest, x[p] - q)
    radius = max(math.sqrt((reach * h) ** 2 + nearest**2) if reach > 1.0 else reach * h, nearest)
    return count_below(x, q, -radius, True), count_below(x, q, radius, False), nearest / h


@jit(fastmath=True)
def mean(y: Array) -> float:
    """The mean of some numbers."""
    total = 0.0
    for j in range(y.shape[0]):
        total += y[j]
    return total / y.shape[0]


@jit(fastmath=True)
def lines(
    kernel: Any, x: Array, y: Array, w: Array, q: Array, h: Array, degree: int, start: int, stop: int, out: Array,
    lever: Array,
) -> None:  # fmt: skip
    """Local constants or lines of sorted points at q[start:stop]."""
    for i in range(start, stop):
        a, b, nearest = window(x, q[i], h[i], kernel.reach)
        xs, ys, ws = x[a:b], y[a:b], w[a:b]
        point, inverse = q[i], 1.0 / h[i]
        s0 = s1 = s2 = t0 = t1 = 0.0
        for j in range(xs.shape[0]):
            d = (xs[j] - point) * inverse
            k = weight1(kernel, abs(d), nearest) * ws[j]
            kd, ky = k * d, k * ys[j]
            s0 += k
            s1 += kd
            s2 += kd * d
            t0 += ky
            t1 += ky * d
        # Without weight the plain mean of the window; where x hardly varies in it, a constant instead of a line.
        spread = s0 * s2 - s1 * s1
        if not s0 > 0.0:
            out[i], lever[i] = mean(ys), 0.0
        elif degree == 0 or spread <= DEPENDENT_TERM * s0 * s2:
            out[i], lever[i] = t0 / s0, 1.0 / s0
        else:
            out[i], lever[i] = (s2 * t0 - s1 * t1) / spread, s2 / spread


@jit(fastmath=True)
def parabolas(
    kernel: Any, x: Array, y: Array, w: Array, q: Array, h: Array, degree: int, start: int, stop: int, out: Array,
    lever: Array,
) -> None:  # fmt: skip
    """Local parabolas of sorted points at q[start:stop]."""
    A, c = np.empty((3, 3)), np.empty(3)
    for i in range(start, stop):
        a, b, nearest = window(x, q[i], h[i], kernel.reach)
        xs, ys, ws = x[a:b], y[a:b], w[a:b]
        point, inverse = q[i], 1.0 / h[i]
        s0 = s1 = s2 = s3 = s4 = t0 = t1 = t2 = 0.0  # scalars stay in registers; an array would not
        for j in range(xs.shape[0]):
            d = (xs[j] - point) * inverse
            k = weight1(kernel, abs(d), nearest) * ws[j]
            kd, ky = k * d, k * ys[j]
            kdd, kyd = kd * d, ky * d
            s0 += k
            s1 += kd
            s2 += kdd
            s3 += kdd * d
            s4 += kdd * d * d
            t0 += ky
            t1 += kyd
            t2 += kyd * d
        A[0, 0], A[1, 0], A[1, 1], A[2, 0], A[2, 1], A[2, 2] = s0, s1, s2, s2, s3, s4
        c[0], c[1], c[2] = t0, t1, t2
        if s0 > 0.0:
            out[i], lever[i] = first_coefficient(A, c)
        else:
            out[i], lever[i] = mean(ys), 0.0


@jit
def surfaces(
    kernel: Any, X: Array, y: Array, w: Array, Q: Array, h: Array, degree: int, starts: Array, rows: Array,
    distances: Array, out: Array, lever: Array,
) -> None:  # fmt: skip
    """Local polynomials in several features; the window at Q[i] holds the points rows[starts[i] : starts[i + 1]]."""
    p = X.shape[1]
    terms = (1, 1 + p, 1 + p + p * (p + 1) // 2)[degree]
    A, c, phi = np.empty((terms, terms)), np.empty(terms), np.empty(terms)
    phi[0] = 1.0
    for i in range(Q.shape[0]):
        A[:], c[:] = 0.0, 0.0
        first, last, inverse = starts[i], starts[i + 1], 1.0 / h[i]
        nearest = np.inf  # in bandwidths: windows with tails are relative to it, so that not all weights underflow
        for m in range(first, last):
            nearest = min(nearest, distances[m] * inverse)
        for m in range(first, last):
            j = rows[m]
            k = weight1(kernel, distances[m] * inverse, nearest) * w[j]
            if degree > 0:
                features(X[j], Q[i], inverse, degree, phi)
            for r in range(terms):
                scaled = k * phi[r]
                c[r] += scaled * y[j]
                for s in range(r + 1):
                    A[r, s] += scaled * phi[s]
        if A[0, 0] > 0.0:
            out[i], lever[i] = first_coefficient(A, c)
        else:
            out[i], lever[i] = mean(y[rows[first:last]]), 0.0


@jit
def features(x: Array, q: Array, inverse: float, degree: int, phi: Array) -> None:
    """The terms (x − q)/h and, for degree 2, their products."""
    p = x.shape[0]
    for f in range(p):
        phi[1 + f] = (x[f] - q[f]) * inverse
    if degree == 2:
        m = 1 + p
        for f in range(p):
            for g in range(f + 1):
                phi[m] = phi[1 + f] * phi[1 + g]
                m += 1


@jit
def first_coefficient(A: Array, c: Array) -> tuple[float, float]:
    """(A⁻¹c)₀ and (A⁻¹)₀₀ by Cholesky in place; terms that depend linearly on those before them are left out.

    A may have more rows and columns than c has terms: they are not looked at.
    """
    terms = c.shape[0]
    value, corner = 0.0, 0.0
    unit = np.zeros(terms)
    for r in range(terms):
        pivot = A[r, r]
        for s in range(r):
            pivot -= A[r, s] * A[r, s]
        if pivot <= DEPENDENT_TERM * A[r, r]:
            for i in range(r, terms):
                A[i, r] = 0.0
            c[r] = 0.0
            continue
        root = math.sqrt(pivot)
        A[r, r] = root
        for i in range(r + 1, terms):
            for s in range(r):
                A[i, r] -= A[i, s] * A[r, s]
            A[i, r] /= root
        # Row by row L⁻¹c and L⁻¹e₀: their inner product is the value, the squared length of the second (A⁻¹)₀₀.
        e = 1.0 if r == 0 else 0.0
        for s in range(r):
            c[r] -= A[r, s] * c[s]
            e -= A[r, s] * unit[s]
        c[r] /= root
        unit[r] = e / root
        value += c[r] * unit[r]
        corner += unit[r] * unit[r]
    return value, corner


def warm() -> None:
    """Compile for the types that callers use."""
    x, out = np.arange(4.0), np.empty(4)
    radii(x, np.arange(5.0), x, 2.0, 0, 4, out)
    for kernel in (Tricube(), GaussianWindow()):
        lines(kernel, x, x, np.ones(4), x, np.full(4, 2.0), 1, 0, 4, out, out.copy())
        parabolas(kernel, x, x, np.ones(4), x, np.full(4, 2.0), 2, 0, 4, out, out.copy())
        starts, rows = np.arange(0, 17, 4), np.tile(np.arange(4), 4)
        X = np.column_stack([x, x * x])
        surfaces(kernel, X, x, np.ones(4), X, np.full(4, 2.0), 2, starts, rows, np.ones(16), out, out.copy())
