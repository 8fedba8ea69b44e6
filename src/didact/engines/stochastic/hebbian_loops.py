r"""Compiled Hebbian learning of a layer of linear units :math:`y = Wx`; a slow NumPy twin stands beside its test.

The step of row t is :math:`\eta_t = \eta_0 t^{-q}/s` with the mean squared length s of the rows, and never more than
:math:`1/(2\|x\|^2)`: up to there a unit of Oja's keeps :math:`\|w\|^2 \le 2`, however far a single row is off. Sanger's
units, whose inputs are what the units before them leave, are cut back to that length if need be. The cost of a row is
about 2kp multiply-adds, 3kp for Sanger's rule.

Layout: W (k, p), one unit a row; X (n, p) row by row; the units of Sanger's rule are visited from the first row of W
to the last, each with what those before it have left of a copy of x.
"""

import math

import numpy as np

from didact.core.jit import jit
from didact.core.typing import Array

HEBB, OJA, SANGER = 0, 1, 2
LONGEST_STEP = 0.5  # times the squared length of the row
LONGEST_UNIT = 2.0  # squared length of a unit's weights


@jit
def shorten(w: Array, limit: float) -> None:
    """Scale w down to this squared length, if it is longer; with limit 0 to length 1, whatever its length."""
    square = 0.0
    for j in range(w.shape[0]):
        square += w[j] * w[j]
    if square > limit > 0.0 or (limit == 0.0 and square > 0.0):
        factor = math.sqrt((limit if limit > 0.0 else 1.0) / square)
        for j in range(w.shape[0]):
            w[j] *= factor


@jit
def update(rule: int, w: Array, x: Array, y: float, step: float) -> None:
    """Move the weights of one unit with the answer y to x; Sanger's rule takes y·w out of x for the units to come."""
    for j in range(w.shape[0]):
        rest = x[j] if rule == HEBB else x[j] - y * w[j]
        if rule == SANGER:
            x[j] = rest
        w[j] += step * y * rest
    if rule == HEBB:
        shorten(w, 0.0)
    elif rule == SANGER:
        shorten(w, LONGEST_UNIT)


@jit
def hebbian_steps(
    rule: int, X: Array, order: Array, mean: Array, scale: float, eta0: float, power: float, t: float, W: Array
) -> float:
    """Steps t, t + 1, … on rows less their mean, in this order; the sum of all squared answers before each step."""
    total, x, answers = 0.0, np.empty(W.shape[1]), np.empty(W.shape[0])
    for i in order:
        square = 0.0
        for j in range(W.shape[1]):
            x[j] = X[i, j] - mean[j]
            square += x[j] * x[j]
        for k in range(W.shape[0]):
            y = 0.0
            for j in range(W.shape[1]):
                y += W[k, j] * x[j]
            answers[k] = y
            total += y * y
        if square > 0.0 and scale > 0.0:
            step = min(eta0 / t**power / scale, LONGEST_STEP / square)
            for k in range(W.shape[0]):
                update(rule, W[k], x, answers[k], step)
        t += 1.0
    return total


def warm() -> None:
    """Compile for the type that is used most."""
    X = np.ones((1, 1))
    X.flags.writeable = False
    hebbian_steps(OJA, X, np.zeros(1, np.int64), np.zeros(1), 1.0, 0.1, 0.5, 1.0, np.ones((1, 1)))
