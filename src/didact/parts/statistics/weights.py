r"""Weights as numbers of cases, for models that count: a minimum of cases, a confidence limit, a degree of freedom.

Weights say how much one row matters beside another: a constant factor changes nothing. Where cases are counted, one
weight must be the weight of one case. If all weights are whole multiples of the smallest one above zero, that is the
one: equal weights count every row once, and whole numbers with a 1 among them count a row as often as it would have to
be repeated. All other weights have no such unit; their mean is one case, so that they sum to the number of rows that
have weight.
"""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

MULTIPLE = 2.0**32  # beyond it, rounding makes a whole multiple of every number
ROUNDING = 4 * np.finfo(float).eps  # of a ratio of two weights that were multiplied by a constant


def in_cases(w: Array) -> tuple[Array, float]:
    """Weights, some of them positive, as numbers of cases, and the weight of one case."""
    positive = w[w > 0]
    unit = float(positive.min())
    if positive.max() / MULTIPLE <= unit:
        ratio = w / unit
        cases = np.rint(ratio)
        if (np.abs(ratio - cases) <= ROUNDING * cases).all():
            return cases, unit
    most = float(positive.max())  # the sum of huge weights may not be finite
    unit = float((positive / most).mean()) * most
    return w / unit, unit
