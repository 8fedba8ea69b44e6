r"""Quadratic programs with bounds and one equation, by steps on pairs of variables.

.. math:: \min_\alpha\ \tfrac12\,\beta^T K\beta + p^T\alpha,\qquad \beta_i = s_i\alpha_i,\quad 0\le\alpha_i\le C_i,
    \quad \sum_i s_i\alpha_i\ \text{fixed},\quad s_i = \pm1

A step moves two variables so that the sum stays: α_i += s_i δ, α_j −= s_j δ. The first is the one whose
f_i = s_i ∂objective/∂α_i is least of those that may rise, the second that with the largest gain.

Layout, for variables 0 … size − 1 of q::

    variable           0         1         …
    alpha, sign      [ α_0, s_0 | α_1, s_1 | … ]   bound (C) and f in the same order; K (q, q), of which row i is read
    lines[0]         [ 0 or ∞   | 0 or ∞   | … ]   0: may rise
    lines[1]         [ 0 or ∞   | 0 or ∞   | … ]   0: may fall
    lines[2]         [ K_00     | K_11     | … ]
    lines[3]         [ loss     | loss     | … ]   the gain with a minus, as second variable of the step
    lines[4]         [ the least of pairs, of pairs of these, … | free ]   room of `_least`

Loops over lines are vectorised. LLVM does not do that for the least of many numbers, so halves are compared until few
are left; a second look finds the variable that has it.

Fan, Chen, Lin (2005), Working set selection using second order information, JMLR 6.
"""

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.typing import Array

LEAST_CURVATURE = 1e-12  # the least curvature along a step
LOOK_BLOCK = 16  # numbers that are looked through at once for one of them
FAST = {"contract", "nnan", "nsz", "reassoc"}


@jit_unmanaged(fastmath=FAST)
def pairs(
    K: Array, size: int, alpha: Array, sign: Array, bound: Array, f: Array, lines: Array, tol: float, max_steps: int
) -> tuple[int, float]:  # fmt: skip
    """Steps on pairs until no pair violates the optimality conditions by more than tol; how many, and the violation."""
    up, down, diagonal, losses, room = lines[0], lines[1], lines[2], lines[3], lines[4]
    for k in range(size):
        diagonal[k] = K[k, k]
        _mark(k, alpha, sign, bound, up, down)
    gap = np.inf
    for step in range(max_steps):
        least = _least(1.0, f, up, size, room)
        gap = -_least(-1.0, f, down, size, room) - least
        if not gap > tol:
            return step, gap
        i = _place(f, up, size, least)
        row, own = K[i], diagonal[i]
        for k in range(size):
            b = max(f[k] - least, 0.0)
            a = max(own + diagonal[k] - 2.0 * row[k], LEAST_CURVATURE)
            losses[k] = -b * b / a
        best = _least(1.0, losses, down, size, room)
        if not best < 0.0:
            return step, gap
        j = _place(losses, down, size, best)
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
    down[k] = 0.0 if fall else np.inf


@jit_unmanaged(fastmath=FAST)
def _least(sense: float, values: Array, barred: Array, size: int, room: Array) -> float:
    """The least of sense · values + barred."""
    half = (size + 1) // 2
    second, there = values[size - half : size], barred[size - half : size]  # halves overlap if the number is odd
    for k in range(half):
        room[k] = min(sense * values[k] + barred[k], sense * second[k] + there[k])
    while half > LOOK_BLOCK:
        rest = half // 2
        half -= rest
        for k in range(rest):
            room[k] = min(room[k], room[half + k])
    least = room[0]
    for k in range(1, half):
        least = min(least, room[k])
    return least


@jit_unmanaged(fastmath=FAST)
def _place(values: Array, barred: Array, size: int, least: float) -> int:
    """The first place where values + barred is a number that is there."""
    begin = 0
    while begin + LOOK_BLOCK <= size:
        some, there, found = values[begin : begin + LOOK_BLOCK], barred[begin : begin + LOOK_BLOCK], False
        for k in range(LOOK_BLOCK):
            found |= some[k] + there[k] == least
        if found:
            break
        begin += LOOK_BLOCK
    while values[begin] + barred[begin] != least and begin < size - 1:
        begin += 1
    return begin
