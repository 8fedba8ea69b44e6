r"""Quadratic programs with bounds and one equation, by steps on pairs of variables.

.. math:: \min_\alpha\ \tfrac12\,\beta^T K\beta + p^T\alpha,\qquad \beta_i = s_i\alpha_i,\quad 0\le\alpha_i\le C_i,
    \quad \sum_i s_i\alpha_i\ \text{fixed},\quad s_i = \pm1

A step moves two variables so that the sum stays: α_i += s_i δ, α_j −= s_j δ. The first is the one whose
f_i = s_i ∂objective/∂α_i is least of those that may rise, the second that with the largest gain.

Layout, for variables 0 … size − 1 of q::

    variable           0         1         …
    alpha, sign      [ α_0, s_0 | α_1, s_1 | … ]   bound (C) and f in the same order; K (q, q), of which row i is read
    lines[0]         [ 0 or ∞   | 0 or ∞   | … ]   0: may rise
    lines[1]         [ 0 or −∞  | 0 or −∞  | … ]   0: may fall
    lines[2]         [ K_00     | K_11     | … ]
    lines[3]         [ gain     | gain     | … ]   as second variable of the step

Loops over lines are vectorised: they find the best value, and a second look finds the variable that has it.

Fan, Chen, Lin (2005), Working set selection using second order information, JMLR 6.
"""

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.typing import Array

LEAST_CURVATURE = 1e-12  # the least curvature along a step


@jit_unmanaged(fastmath={"contract", "nnan", "nsz", "reassoc"})
def pairs(
    K: Array, size: int, alpha: Array, sign: Array, bound: Array, f: Array, lines: Array, tol: float, max_steps: int
) -> tuple[int, float]:  # fmt: skip
    """Steps on pairs until no pair violates the optimality conditions by more than tol; how many, and the violation."""
    up, down, diagonal, gains = lines[0], lines[1], lines[2], lines[3]
    for k in range(size):
        diagonal[k] = K[k, k]
        _mark(k, alpha, sign, bound, up, down)
    gap = np.inf
    for step in range(max_steps):
        least, largest = np.inf, -np.inf
        for k in range(size):
            least = min(least, f[k] + up[k])
            largest = max(largest, f[k] + down[k])
        gap = largest - least
        if not gap > tol:
            return step, gap
        i = 0
        while f[i] + up[i] != least and i < size - 1:
            i += 1
        row, own, best = K[i], diagonal[i], 0.0
        for k in range(size):
            b = max(f[k] + down[k] - least, 0.0)
            a = max(own + diagonal[k] - 2.0 * row[k], LEAST_CURVATURE)
            gains[k] = b * b / a
        for k in range(size):
            best = max(best, gains[k])
        if not best > 0.0:
            return step, gap
        j = 0
        while gains[j] != best and j < size - 1:
            j += 1
        a = max(own + diagonal[j] - 2.0 * row[j], LEAST_CURVATURE)
        most_i = bound[i] - alpha[i] if sign[i] > 0 else alpha[i]
        most_j = alpha[j] if sign[j] > 0 else bound[j] - alpha[j]
        delta = min((f[j] - f[i]) / a, min(most_i, most_j))
        alpha[i] += sign[i] * delta
        alpha[j] -= sign[j] * delta
        if delta == most_i:  # exactly at the bound, whatever rounding says
            alpha[i] = bound[i] if sign[i] > 0 else 0.0
        if delta == most_j:
            alpha[j] = 0.0 if sign[j] > 0 else bound[j]
        _mark(i, alpha, sign, bound, up, down)
        _mark(j, alpha, sign, bound, up, down)
        other = K[j]
        for k in range(size):
            f[k] += delta * (row[k] - other[k])
    return max_steps, gap


@jit_unmanaged
def _mark(k: int, alpha: Array, sign: Array, bound: Array, up: Array, down: Array) -> None:
    """Whether a variable may rise, and fall, in units of sign · α: 0, else infinity."""
    low, high = alpha[k] > 0.0, alpha[k] < bound[k]
    rise, fall = (high, low) if sign[k] > 0 else (low, high)
    up[k] = 0.0 if rise else np.inf
    down[k] = 0.0 if fall else -np.inf
