r"""Compiled Hebbian learning of a layer of linear units :math:`y = Wx`; a slow NumPy twin stands beside its test.

The step on row t is :math:`\eta_t = \eta_0 t^{-q}/s` with the mean squared length s of the rows, and at most
:math:`1/(2\|x\|^2)`: up to that step a unit under Oja's rule keeps :math:`\|w\|^2 \le 2`, even for an outlying row.
Units under Sanger's rule, whose inputs are deflated by the units before them, are shortened to that length where
necessary. The cost of a row is about 2kp multiply-adds, 3kp for Sanger's rule.

Layout, for k units and p columns::

    order           [ i | i | … ]   rows of X (n, p), in the order of the steps
    x (p,)          row less the mean; under Sanger's rule each unit subtracts y·w from it for the units after it
    W (k, p)        [ unit 0 | unit 1 | … ], updated in this order
    answers (k,)    [ y_0    | y_1    | … ], all computed before the first update
"""

import math

import numpy as np

from didact.core.jit import jit
from didact.core.typing import Array

HEBB, OJA, SANGER = 0, 1, 2
LONGEST_STEP = 0.5  # over the squared length of the row
LONGEST_UNIT = 2.0  # largest squared length of a unit's weights


@jit
def shorten(w: Array, limit: float) -> None:
    """Scale w down to the squared length `limit` if it is longer; a limit of 0 means: normalise to length 1."""
    square = 0.0
    for j in range(w.shape[0]):
        square += w[j] * w[j]
    if square > limit > 0.0 or (limit == 0.0 and square > 0.0):
        factor = math.sqrt((limit if limit > 0.0 else 1.0) / square)
        for j in range(w.shape[0]):
            w[j] *= factor


@jit
def update(rule: int, w: Array, x: Array, y: float, step: float) -> None:
    """Update the weights of a unit that answered y to x; Sanger's rule subtracts y·w from x for the units after it."""
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
    """Steps t, t + 1, … on centred rows, in this order; returns the sum of the squared answers before each step."""
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
