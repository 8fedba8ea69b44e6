"""The k best so far: short sorted lists of (distance, row); of equal distances the lower row number comes first.

Layout::

    best [ d_0 ≤ d_1 ≤ … ≤ d_{k−1} ]   infinity in slots that are still empty
    rows [ r_0   r_1   …   r_{k−1} ]   the row number at each distance; (queries, k) for several queries
"""

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.typing import Array


@jit_unmanaged
def offer(d: float, row: int, best: Array, rows: Array) -> None:
    """Insert a row into the sorted list if it is nearer than the last entry; at most k moves."""
    k = best.shape[0] - 1
    if d > best[k] or (d == best[k] and row > rows[k]):
        return
    while k > 0 and (d < best[k - 1] or (d == best[k - 1] and row < rows[k - 1])):
        best[k], rows[k] = best[k - 1], rows[k - 1]
        k -= 1
    best[k], rows[k] = d, row


@jit_unmanaged
def offer_table(D: Array, first: int, skip: Array, best: Array, rows: Array) -> None:
    """Offer the rows first, first + 1, … at the distances D (queries, rows): mostly one comparison each.

    `skip` holds for each query the number of the row that is the query itself, or −1.
    """
    k = best.shape[1] - 1
    for i in range(D.shape[0]):
        for j in range(D.shape[1]):
            if D[i, j] <= best[i, k] and first + j != skip[i]:
                offer(D[i, j], first + j, best[i], rows[i])


def warm() -> None:
    """Compile for tables of float64."""
    offer_table(np.ones((1, 1)), 0, np.zeros(1, np.int64), np.ones((1, 1)), np.zeros((1, 1), np.int64))
