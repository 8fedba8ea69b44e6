r"""Gaussian affinities of each row to others, as wide as makes their perplexity the one that is wanted.

.. math:: p_{j|i} \propto e^{-\beta_i d_{ij}^2},\qquad H_i = -\sum_j p_{j|i}\log p_{j|i} = \log(\text{perplexity})

With :math:`a = \log\beta` the entropy falls as :math:`dH/da = -\beta^2\,\mathrm{Var}_p(d^2)`: Newton's steps for a,
kept between bounds that every value of H narrows; a step that leaves them is replaced by the middle. Some five
evaluations a row.

Layout, for n rows with k others each::

    D (n, k)   edges[0] ┌ row 0  [ d²_00 | d²_01 | … ]   squared distances, replaced by the p_{j|i}, which sum to 1
                        │ row 1  [ …                 ]
               edges[1] ├ row …  [ …                 ]   where the next piece begins that a thread takes
"""

import numpy as np

from didact.core.jit import REASSOCIATE, jit_unmanaged
from didact.core.jit.atomics import atomic_add
from didact.core.typing import Array
from didact.parts.exp_loops import exp1

EVALUATIONS = 100  # most evaluations of a row
SAME_ENTROPY = 1e-12  # of entropies that count as equal
WIDEST, NARROWEST = -700.0, 700.0  # bounds of a


@jit_unmanaged
def calibrate_pass(turn: Array, edges: Array, target: float, D: Array) -> None:
    """Take pieces of the rows until there are no more; `target` is the logarithm of the perplexity."""
    for _ in range(turn[1]):
        piece = atomic_add(turn, 0, 1)
        if piece + 1 >= edges.shape[0]:
            return
        for i in range(edges[piece], edges[piece + 1]):
            calibrate(D[i], target)


@jit_unmanaged
def calibrate(d: Array, target: float) -> None:
    """Turn the squared distances of one row into its affinities."""
    k = d.shape[0]
    least, total = d[0], 0.0
    for j in range(k):
        least = min(least, d[j])
    for j in range(k):
        d[j] -= least
        total += d[j]
    if total == 0.0:
        for j in range(k):
            d[j] = 1.0 / k
        return
    unit = total / k
    low, high, a = WIDEST, NARROWEST, 0.0
    for _ in range(EVALUATIONS):
        beta = np.exp(a)
        s, m, v = weighted_sums(d, beta / unit, 1.0 / unit)
        mean = m / s
        H = np.log(s) + beta * mean
        gap = H - target
        if abs(gap) <= SAME_ENTROPY or high - low < SAME_ENTROPY:
            break
        if gap > 0.0:
            low = a
        else:
            high = a
        slope = beta * beta * (v / s - mean * mean)
        new = a + gap / slope if slope > 0.0 else 2.0 * high
        if not (low < new < high):
            # Far from any bound, steps of some size; a bisection of 1400 would take long.
            new = min(a + 5.0, 0.5 * (a + high)) if gap > 0.0 else max(a - 5.0, 0.5 * (a + low))
        a = new
    normalise_row(d, np.exp(a) / unit)


@jit_unmanaged(fastmath=REASSOCIATE)
def weighted_sums(d: Array, beta: float, scale: float) -> tuple[float, float, float]:
    """Σ e, Σ e·d and Σ e·d² with e = exp(−βd); d in units of 1/scale in the last two."""
    s, m, v = 0.0, 0.0, 0.0
    for j in range(d.shape[0]):
        x = d[j] * scale
        e = exp1(-beta * d[j])
        s += e
        m += e * x
        v += e * x * x
    return s, m, v


@jit_unmanaged(fastmath=REASSOCIATE)
def normalise_row(d: Array, beta: float) -> None:
    """The affinities of one row, which sum to 1."""
    s = 0.0
    for j in range(d.shape[0]):
        x = -beta * d[j]
        d[j] = exp1(x) if x > -700.0 else 0.0
        s += d[j]
    for j in range(d.shape[0]):
        d[j] /= s


def warm() -> None:
    """Compile."""
    calibrate_pass(np.array([0, 1]), np.array([0, 1]), 0.5, np.array([[1.0, 2.0, 4.0]]))
