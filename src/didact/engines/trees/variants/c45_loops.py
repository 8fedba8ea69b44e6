"""The best threshold of a sorted column by information gain; a slow NumPy twin stands beside its test.

Cost: one pass, 2K logarithms at every place where two neighbouring values differ.

Layout of one column of a node's cases, and of the weights of classes on both sides of a cut::

    x      [ x_0 ≤ x_1 ≤ … ≤ x_i | x_{i+1} ≤ … ]
    y, w   [ class codes, weights of the same cases ]
    left   [ class 0 | class 1 | … ]   up to x_i; `right`: after it
"""

import math

import numpy as np

from didact.core.jit import jit
from didact.core.typing import Array

EQUAL_GAINS = 1e-10  # what differs by less, relative to the weight, is equal: the lower threshold wins


@jit
def spread_bits(weights: Array) -> float:
    """Weight times entropy, in bits: W log₂ W − Σ c log₂ c."""
    total, inner = 0.0, 0.0
    for k in range(weights.shape[0]):
        c = weights[k]
        if c > 0.0:
            total += c
            inner += c * math.log2(c)
    return total * math.log2(total) - inner if total > 0.0 else 0.0


@jit
def scan_thresholds(x: Array, y: Array, w: Array, n_classes: int, least: float) -> tuple[float, int, int]:
    """The lowest weight × entropy of the two sides, the last row of the left side, and how many cuts were possible.

    x is sorted, y are class codes; both sides must weigh at least `least`. No possible cut gives −1 for the row.
    """
    left, right = np.zeros(n_classes), np.zeros(n_classes)
    for i in range(x.shape[0]):
        right[y[i]] += w[i]
    below, above = 0.0, right.sum()
    total = above
    best, place, tries = np.inf, -1, 0
    for i in range(x.shape[0] - 1):
        left[y[i]] += w[i]
        right[y[i]] -= w[i]
        below += w[i]
        above -= w[i]
        if x[i] == x[i + 1] or below < least or above < least:
            continue
        tries += 1
        rest = spread_bits(left) + spread_bits(right)
        if rest < best - EQUAL_GAINS * total:
            best, place = rest, i
    return best, place, tries


def warm() -> None:
    """Compile the loop for the types in use."""
    scan_thresholds(np.zeros(2), np.zeros(2, np.int64), np.ones(2), 1, 1.0)
