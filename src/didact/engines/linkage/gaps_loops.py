r"""Compiled Euclidean distances of a point from many, vector by vector, and the least of some numbers.

Layout: the many points are columns, so that neighbours in memory are different points; tiles of 512 of them have room
in the nearest cache::

    T (p, n)    column 0  [ point 0 | point 1 | … ]   first : first + 512
                column 1  [ …                     ]
    out         point   → [ d²      | d²      | … ]
    D           [ d₁₀ | d₂₀ d₂₁ | d₃₀ d₃₁ d₃₂ | … ]   a triangle in one line: rows j < i at i (i − 1)/2 + j

A triangle of distances is one line: that of rows j < i stands at i (i − 1)/2 + j.

Arithmetic: 2p operations a distance, four distances at a time. Differences are squared, so that nothing is lost by
cancellation, and the distance of two points does not depend on their order.
"""

import math

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.jit.atomics import atomic_add
from didact.core.typing import Array

GAP_TILE = 512  # points whose distances stay in the nearest cache


@jit_unmanaged
def squares_into(T: Array, first: int, count: int, query: Array, out: Array) -> None:
    """Squared distances of the columns of T from `first` on from a point; the same for both orders of two points."""
    p, k = T.shape[0], 0
    for j in range(count):
        out[j] = 0.0
    while k + 4 <= p:
        a, b = T[k, first : first + count], T[k + 1, first : first + count]
        c, d = T[k + 2, first : first + count], T[k + 3, first : first + count]
        qa, qb, qc, qd = query[k], query[k + 1], query[k + 2], query[k + 3]
        for j in range(count):
            ga, gb, gc, gd = a[j] - qa, b[j] - qb, c[j] - qc, d[j] - qd
            out[j] += (ga * ga + gb * gb) + (gc * gc + gd * gd)
        k += 4
    while k < p:
        a, qa = T[k, first : first + count], query[k]
        for j in range(count):
            ga = a[j] - qa
            out[j] += ga * ga
        k += 1


@jit_unmanaged
def place_of(i: int, j: int) -> int:
    """Where the distance of two rows stands in a triangle."""
    return i * (i - 1) // 2 + j if j < i else j * (j - 1) // 2 + i


@jit_unmanaged
def lowest(values: Array, count: int) -> float:
    """The least of some numbers, in four lanes."""
    a, b, c, d = np.inf, np.inf, np.inf, np.inf
    whole = count // 4 * 4
    for j in range(0, whole, 4):
        a = values[j] if values[j] < a else a
        b = values[j + 1] if values[j + 1] < b else b
        c = values[j + 2] if values[j + 2] < c else c
        d = values[j + 3] if values[j + 3] < d else d
    for j in range(whole, count):
        a = values[j] if values[j] < a else a
    return min(min(a, b), min(c, d))


@jit_unmanaged
def euclidean_triangle(turn: Array, edges: Array, X: Array, T: Array, D: Array, room: Array) -> None:
    """Take pieces of the rows X until there are no more: their distances from the rows before them, columns of T."""
    for _ in range(turn[1]):
        piece = atomic_add(turn, 0, 1)
        if piece + 1 >= edges.shape[0]:
            return
        for first in range(0, edges[piece + 1], GAP_TILE):
            for i in range(max(edges[piece], first + 1), edges[piece + 1]):
                count, start = min(GAP_TILE, i - first), i * (i - 1) // 2 + first
                squares_into(T, first, count, X[i], room)
                out = D[start : start + count]
                for j in range(count):
                    out[j] = math.sqrt(room[j])


def warm() -> None:
    """Compile."""
    from didact.engines.linkage.triangles import distance_triangle
    from didact.parts.distances import Euclidean

    distance_triangle(Euclidean(), np.ones((2, 1)))
