"""The best cut of rows sorted by a projection, for any criterion on sums; brute force stands beside its test.

Layout::

    order    [ a | b | c | … ]   rows with z[a] ≤ z[b] ≤ z[c] …
    sums[i]  [ w y … | w ] or [ weights of classes ]   (rows, width): what row i adds, in the order of the rows
    left     [ sums of the rows before a cut of the order ]   (width,); `right`: of those after it
"""

from typing import Any

import numpy as np

from didact.core.jit import dispatch, jit
from didact.core.typing import Array

score1 = dispatch("score1")


@jit
def best_projected_cut(
    criterion: Any, z: Array, order: Array, sums: Array, n: int, least: int, gap: float
) -> tuple[float, int]:
    """The largest score of both sides together and the last place on the left, −1 if no cut is possible.

    `order` sorts z; rows of `sums` are what the rows add to a node. Each side has at least `least` rows, and values
    that differ by no more than `gap` are not separated.
    """
    rows, width = sums.shape
    left, right = np.zeros(width), np.zeros(width)
    for i in range(rows):
        for c in range(width):
            right[c] += sums[i, c]
    best, place = -np.inf, -1
    for i in range(rows - 1):
        for c in range(width):
            left[c] += sums[order[i], c]
            right[c] -= sums[order[i], c]
        if i + 1 < least or rows - i - 1 < least or z[order[i + 1]] - z[order[i]] <= gap:
            continue
        score = score1(criterion, left, 0, n) + score1(criterion, right, 0, n)
        if score > best:
            best, place = score, i
    return best, place


def warm() -> None:
    """Compile the loop for the criteria in use."""
    from didact.parts.criteria.impurity import Entropy, Gini, SquaredError

    order, z = np.arange(2), np.arange(2.0)
    for criterion, width in ((Gini(), 2), (Entropy(), 2), (SquaredError(), 1)):
        best_projected_cut(criterion, z, order, np.ones((2, 2)), width, 1, 0.0)
