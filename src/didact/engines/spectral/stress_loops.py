r"""Compiled pass of scaling: the stress of points and what moves each of them, from the distances they should have.

For every point i and all others j, with d the distance of their places and δ the one they should have::

    stress     Σ (d − δ)²      move  Σ (δ/d)(z_i − z_j)       n times the next place by majorisation
    S-stress   Σ (d² − δ²)²    move  Σ (d² − δ²)(z_i − z_j)   a quarter of the gradient

Points at the same place do not move each other.

Layout, for n points in k columns; a thread takes pieces of `size` points i::

    D (n, n)         point i  [ δ_i0 … | tile | tile | … ]   row by row
    Z, move (k, n)   column c [ point 0 | point 1 | …    ]   tiles of it stand against those of D
    gaps (tile,)              [ d² or what it becomes    ]   of point i and the points of one tile
    sums (pieces,)   squared errors, each pair counted twice
    i, j, out (m,)   [ pair 0 | pair 1 | … ]   points and their distance, for `pair_pass`

Memory: D once. Arithmetic: some 4k + 10 operations a pair.

de Leeuw (1977), Applications of convex analysis to multidimensional scaling; Takane, Young, de Leeuw (1977),
doi:10.1007/BF02293745.
"""

import numpy as np

from didact.core.jit import REASSOCIATE, jit_unmanaged
from didact.core.jit.atomics import atomic_add
from didact.core.typing import Array


@jit_unmanaged
def stress_pass(
    turn: Array, size: int, D: Array, Z: Array, squared: bool, move: Array, sums: Array, gaps: Array
) -> None:
    """Take pieces of `size` points until there are no more; their moves, and the squared errors of each piece."""
    n = Z.shape[1]
    for _ in range(turn[1]):
        piece = atomic_add(turn, 0, 1)
        if piece * size >= n:
            return
        sums[piece] = 0.0
        for i in range(piece * size, min((piece + 1) * size, n)):
            for c in range(Z.shape[0]):
                move[c, i] = 0.0
            for first in range(0, n, gaps.shape[0]):
                sums[piece] += _tile(i, first, min(gaps.shape[0], n - first), D, Z, squared, move, gaps)


@jit_unmanaged(fastmath=REASSOCIATE)
def _tile(i: int, first: int, count: int, D: Array, Z: Array, squared: bool, move: Array, gaps: Array) -> float:
    """The squared errors of one point and a tile of others, which are added to its move."""
    total = 0.0
    for t in range(count):
        gaps[t] = 0.0
    for c in range(Z.shape[0]):
        z = Z[c, i]
        for t in range(count):
            e = z - Z[c, first + t]
            gaps[t] += e * e
    if squared:
        for t in range(count):
            d = D[i, first + t]
            e = gaps[t] - d * d
            total += e * e
            gaps[t] = e
    else:
        for t in range(count):
            d, g = D[i, first + t], np.sqrt(gaps[t])
            total += (g - d) * (g - d)
            gaps[t] = d / g if g > 0.0 else 0.0
    for c in range(Z.shape[0]):
        z, s = Z[c, i], 0.0
        for t in range(count):
            s += gaps[t] * (z - Z[c, first + t])
        move[c, i] += s
    return total


@jit_unmanaged
def pair_pass(turn: Array, size: int, Z: Array, i: Array, j: Array, out: Array) -> None:
    """Take pieces of `size` pairs until there are no more; their distances."""
    for _ in range(turn[1]):
        first = atomic_add(turn, 0, 1) * size
        if first >= out.shape[0]:
            return
        for m in range(first, min(first + size, out.shape[0])):
            s = 0.0
            for c in range(Z.shape[0]):
                e = Z[c, i[m]] - Z[c, j[m]]
                s += e * e
            out[m] = np.sqrt(s)


def warm() -> None:
    """Compile."""
    from didact.engines.spectral.stress import PairOrder, moves

    D = np.array([[0.0, 1.0], [1.0, 0.0]])
    moves(D, np.eye(2), False)
    PairOrder.of(D).targets(np.eye(2))
