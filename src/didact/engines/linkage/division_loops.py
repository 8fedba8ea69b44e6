r"""Compiled division of a cluster by a splinter group (DIANA), and the diameter of a cluster.

The row farthest from the others on average leaves first. Then, again and again, the row for which

.. math:: \operatorname{mean}_{\text{those that stay}} d - \operatorname{mean}_{\text{those that left}} d

is largest follows, while that is positive. Of equal ones the first goes.

Layout, for a cluster of m members::

    D      [ d₁₀ | d₂₀ d₂₁ | d₃₀ d₃₁ d₃₂ | … ]   rows j < i at i (i − 1)/2 + j
    rows   [ r_0 | r_1 | … | r_{m−1} ]   the members: numbers of rows
    stay   [ Σ d | Σ d | …           ]   of each member the distances from those that stay
    left   [ Σ d | Σ d | …           ]   and from those that left
    side   [ 0   | 1   | …           ]   1: has left

Arithmetic: m²/2 for the sums, m for each that leaves.

Kaufman, Rousseeuw (1990), doi:10.1002/9780470316801, chapter 6.
"""

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.typing import Array
from didact.engines.linkage.gaps_loops import place_of


@jit_unmanaged
def splinter(D: Array, rows: Array, stay: Array, left: Array, side: Array) -> int:
    """Mark those that leave a cluster of two rows or more; how many they are."""
    m, gone = rows.shape[0], 0
    for a in range(m):
        stay[a], left[a], side[a] = 0.0, 0.0, 0
    for a in range(1, m):
        for b in range(a):
            d = D[place_of(rows[a], rows[b])]
            stay[a] += d
            stay[b] += d
    while gone < m - 1:
        best, most = -1, 0.0
        for a in range(m):
            if side[a] == 0:
                gain = stay[a] / (m - gone - 1) - (left[a] / gone if gone > 0 else 0.0)
                if gain > most:
                    best, most = a, gain
        if best < 0:
            break
        side[best], gone = 1, gone + 1
        for a in range(m):
            if a != best:
                d = D[place_of(rows[a], rows[best])]
                stay[a] -= d
                left[a] += d
    return gone


@jit_unmanaged
def diameter(D: Array, rows: Array) -> float:
    """The largest distance of two members of a cluster."""
    most = 0.0
    for a in range(1, rows.shape[0]):
        for b in range(a):
            d = D[place_of(rows[a], rows[b])]
            most = d if d > most else most
    return most


def warm() -> None:
    """Compile."""
    rows, room = np.arange(2), np.zeros(2)
    splinter(np.ones(1), rows, room, room.copy(), np.zeros(2, np.int8))
    diameter(np.ones(1), rows)
