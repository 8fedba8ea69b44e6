r"""Compiled pass of k-means++: by how much each of some candidates would lower the cost, and which rows it would win.

A row with the nearest centre c at the squared distance d can be nearer to a candidate only if ‖c − candidate‖² < 4d.
The others are gathered tile by tile; products with all candidates, of which the error is bounded, rule out most pairs,
and what is left is computed from differences. Rows that a candidate would win are listed with their new distances, so
that the one that is chosen needs no second pass over X.

Layout, for n rows and T candidates::

    X                       all numbers in one line, with the steps from row to row and from column to column
    near, owner (n,)        squared distance of each row from the nearest centre, and the number of that centre
    table (p + 1, width)    candidates less the origin, as columns, and below −½‖c‖²; filled up to a multiple of 4
    apart (centres,)        squared distance of each centre so far from the nearest candidate
    won (T, n), how (T, n)  rows that a candidate would win and their distances, of a piece from its first row on
    counts (pieces, T), gains (pieces, T)   how many rows it would win, and Σ w (d − d')

Memory: X once for each centre, at most. Arithmetic: npT multiply-adds for each centre, at most.

Arthur, Vassilvitskii (2007), k-means++: the advantages of careful seeding, SODA.
"""

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.jit.atomics import atomic_add
from didact.core.jit.simd import LANES
from didact.core.typing import Array
from didact.engines.centroids.lloyd_loops import gap, gather_rows
from didact.engines.linear.softmax_loops import set_all_scores

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@jit_unmanaged
def hash_pass(
    turn: Array, edges: Array, X: Array, row_step: int, column_step: int, odd: Array, found: Array
) -> None:  # fmt: skip
    """Take pieces of the rows until there are no more: a number of each that follows from the bits of its values."""
    for _ in range(turn[1]):
        piece = atomic_add(turn, 0, 1)
        if piece + 1 >= edges.shape[0]:
            return
        for i in range(edges[piece], edges[piece + 1]):
            total, first = np.uint64(0), np.uint64(i * row_step)
            for j in range(odd.shape[0]):
                value = np.float64(X[first + np.uint64(j * column_step)]) + 0.0  # −0 becomes 0
                total += mixed1(np.float64(value).view(np.uint64)) * odd[j]
            found[i] = mixed1(total)


@jit_unmanaged
def mixed1(bits: int) -> int:
    """Bits every one of which follows from all of those given; 0 stays 0."""
    bits = (bits ^ (bits >> np.uint64(31))) * GOLDEN
    return bits ^ (bits >> np.uint64(29))


@jit_unmanaged
def gain_pass(
    turn: Array, edges: Array, X: Array, row_step: int, column_step: int, w: Array, near: Array, owner: Array,
    centers: Array, origin: Array, table: Array, apart: Array, unit: float, largest: float, A: Array, Z: Array,
    squares: Array, rows: Array, won: Array, how: Array, counts: Array, gains: Array,
) -> None:  # fmt: skip
    """Take pieces of the rows until there are no more; gains, and lists of the rows that candidates would win."""
    tile = rows.shape[0]
    for _ in range(turn[1]):
        piece = atomic_add(turn, 0, 1)
        if piece + 1 >= edges.shape[0]:
            return
        first, count = edges[piece], 0
        for i in range(edges[piece], edges[piece + 1]):
            rows[count] = i  # overwritten by the next one unless it counts
            count += 1 if not apart[owner[i]] >= 4.0 * near[i] else 0
            if count > 0 and (count == tile or i + 1 == edges[piece + 1]):
                gather_rows(X, 0, row_step, column_step, rows, count, origin, A, squares)
                for s in range(0, count, LANES):
                    set_all_scores(A, s, table, Z)
                for s in range(count):
                    squares[s] = 0.5 * (squares[s] - near[rows[s]]) - 2.0 * unit * (squares[s] + largest)
                for t in range(centers.shape[0]):
                    for s in range(count):
                        if Z[t, s] > squares[s]:
                            r = rows[s]
                            exact = gap(X, r * row_step, column_step, centers, t)
                            if exact < near[r]:
                                place = first + counts[piece, t]
                                won[t, place], how[t, place] = r, exact
                                counts[piece, t] += 1
                                if near[r] < np.inf:
                                    gains[piece, t] += (w[r] if w.shape[0] > 0 else 1.0) * (near[r] - exact)
                count = 0


@jit_unmanaged
def win_pass(
    turn: Array, edges: Array, w: Array, order: Array, won: Array, how: Array, counts: Array, number: int, near: Array,
    owner: Array, masses: Array,
) -> None:  # fmt: skip
    """Give the rows on a candidate's lists to it; the weights times distances of all rows, in order, piece by piece.

    Pieces of the lists are those of the rows; every piece of `masses` may hold rows of any other, so two calls: with
    `masses` empty for the lists, and without lists for the masses.
    """
    for _ in range(turn[1]):
        piece = atomic_add(turn, 0, 1)
        if piece + 1 >= edges.shape[0]:
            return
        if masses.shape[0] == 0:
            for k in range(edges[piece], edges[piece] + counts[piece]):
                near[won[k]], owner[won[k]] = how[k], number
        else:
            total = 0.0
            for k in range(edges[piece], edges[piece + 1]):
                i = order[k]
                total += (w[i] if w.shape[0] > 0 else 1.0) * near[i]
            masses[piece] = total


def warm() -> None:
    """Compile for both float types."""
    from didact.engines.centroids.starts import plus_plus

    for dtype in (np.float64, np.float32):
        plus_plus(np.arange(3.0, dtype=dtype)[:, None], None, 2, np.random.default_rng(0))
