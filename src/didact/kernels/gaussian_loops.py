r"""Values of a Gaussian kernel, :math:`e^{a_i^T x_j}` of rows made by `rows.exponents`, and sums of them.

Two rows at a time are multiplied with a tile of columns, four numbers of each in one go over the tile, and become
exponentials while the tile is in the first cache. No matrix is there but what is asked for. For up to a hundred numbers
in a row that is quicker than a matrix product of BLAS, an exponential and a copy. Of rows with many zeros, as
indicators of categories make them, the others alone are kept and multiplied.

Layout; a thread takes pieces of rows, and all columns tile by tile::

    left (n, wide)     row i [ a_0 a_1 … | 0 … ]        wide is a multiple of 4; a_0 is −½ of the squared length of
                                                        the rest, from a_2 on; x_1 that of a column
    places (n, wide)   row i [ j_0 j_1 … | 0 … ]        columns of these numbers, if zeros are left out; or empty
    right (columns, m) [ tile 0      | tile 1   | … ]   row x_j in column j
    spare (2, tile)    [ a_i·x_j     | …            ]   of rows i and i + 1 with one tile; then exponentials
    coef (k, m)        [ tile 0      | tile 1   | … ]   factors of the columns
    out (n, k)         row i [ Σ_j of factors 0 | of factors 1 | … ]

Arithmetic: n m (wide + 13) multiply-adds. Memory: left and right, which stay in the second cache tile by tile.
"""

from typing import Any

import numpy as np

from didact.core.jit import REASSOCIATE, dispatch, jit_unmanaged
from didact.core.jit.atomics import atomic_add
from didact.core.threads import share_pieces
from didact.core.typing import Array
from didact.kernels.distance_loops import NEAR
from didact.parts.exp_loops import exp1, exp_single1
from didact.parts.noun import Noun, Plain

FAR = -0.5 * NEAR  # of a_0: below, products lose digits
SUMS_TILE = 512  # columns of a tile
EVERY = np.empty((0, 0), np.int32)  # places of rows of which all numbers count
SUMS_PIECES = 64  # of rows that are columns as well, each with sums for all columns
SUMS_ROWS = 64  # rows that see a tile while it is near

exponential1 = dispatch("exponential1")


class Single(Noun, Plain):
    """Exponentials in float32."""

    __slots__ = ()

    def exponential1(self, x: Any) -> Any:
        """e^x, and 1 for positive x: rounding."""
        return exp_single1(min(x, np.float32(0.0)))


class Double(Noun, Plain):
    """Exponentials in float64."""

    __slots__ = ()

    def exponential1(self, x: float) -> float:
        """e^x, and 1 for positive x: rounding."""
        return exp1(min(x, 0.0))


class Products(Noun, Plain):
    """The inner products themselves."""

    __slots__ = ()

    def exponential1(self, x: float) -> float:
        """The number x."""
        return x


def precision_of(dtype: Any) -> Any:
    """The exponentials of a float type."""
    return Single() if dtype == np.float32 else Double()


@jit_unmanaged(fastmath=REASSOCIATE)
def two_rows(left: Array, i: int, k: int, right: Array, begin: int, end: int, exponentials: Any, spare: Array) -> None:
    """Values of two rows with the columns from begin to end, in `spare`."""
    n = end - begin
    first, second = spare[0], spare[1]
    for j in range(n):
        first[j] = 0
        second[j] = 0
    for c in range(0, left.shape[1], 4):
        a0, a1, a2, a3 = left[i, c], left[i, c + 1], left[i, c + 2], left[i, c + 3]
        b0, b1, b2, b3 = left[k, c], left[k, c + 1], left[k, c + 2], left[k, c + 3]
        r0, r1, r2, r3 = (
            right[c, begin:end],
            right[c + 1, begin:end],
            right[c + 2, begin:end],
            right[c + 3, begin:end],
        )
        for j in range(n):
            first[j] += (a0 * r0[j] + a1 * r1[j]) + (a2 * r2[j] + a3 * r3[j])
            second[j] += (b0 * r0[j] + b1 * r1[j]) + (b2 * r2[j] + b3 * r3[j])
    for j in range(n):
        first[j] = exponential1(exponentials, first[j])
        second[j] = exponential1(exponentials, second[j])


@jit_unmanaged(fastmath=REASSOCIATE)
def few_numbers(
    left: Array, places: Array, i: int, right: Array, begin: int, end: int, exponentials: Any, to: Array
) -> None:  # fmt: skip
    """Values of a row with the columns from begin to end, from its numbers other than zero."""
    n = end - begin
    for j in range(n):
        to[j] = 0
    for c in range(0, left.shape[1], 4):
        a0, a1, a2, a3 = left[i, c], left[i, c + 1], left[i, c + 2], left[i, c + 3]
        if a0 == 0:
            break
        r0, r1 = right[places[i, c], begin:end], right[places[i, c + 1], begin:end]
        r2, r3 = right[places[i, c + 2], begin:end], right[places[i, c + 3], begin:end]
        for j in range(n):
            to[j] += (a0 * r0[j] + a1 * r1[j]) + (a2 * r2[j] + a3 * r3[j])
    for j in range(n):
        to[j] = exponential1(exponentials, to[j])


@jit_unmanaged(fastmath=REASSOCIATE, inline="always")  # of one caller
def far_values(left: Array, i: int, right: Array, begin: int, end: int, exponentials: Any, to: Array) -> None:
    """Values of a row with the columns from begin to end, from differences."""
    n = end - begin
    a2, a3 = left[i, 2], left[i, 3]
    r2, r3 = right[2, begin:end], right[3, begin:end]
    for j in range(n):
        to[j] = (a2 - r2[j]) * (a2 - r2[j]) + (a3 - r3[j]) * (a3 - r3[j])
    for c in range(4, left.shape[1], 4):
        b0, b1, b2, b3 = left[i, c], left[i, c + 1], left[i, c + 2], left[i, c + 3]
        s0, s1, s2, s3 = (
            right[c, begin:end],
            right[c + 1, begin:end],
            right[c + 2, begin:end],
            right[c + 3, begin:end],
        )
        for j in range(n):
            d0, d1, d2, d3 = b0 - s0[j], b1 - s1[j], b2 - s2[j], b3 - s3[j]
            to[j] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3)
    for j in range(n):
        to[j] *= -0.5
        to[j] = exponential1(exponentials, to[j])


@jit_unmanaged(fastmath=REASSOCIATE)
def two_values(
    left: Array, places: Array, i: int, k: int, right: Array, begin: int, end: int, exponentials: Any, spare: Array
) -> None:  # fmt: skip
    """`two_rows`, `few_numbers` of each, or of rows far from the centre differences."""
    if places.shape[0] == 0:
        if left[i, 0] >= FAR and left[k, 0] >= FAR:
            two_rows(left, i, k, right, begin, end, exponentials, spare)
        else:
            for r in range(2 if k != i else 1):
                far_values(left, k if r else i, right, begin, end, exponentials, spare[r])
    else:
        few_numbers(left, places, i, right, begin, end, exponentials, spare[0])
        if k != i:
            few_numbers(left, places, k, right, begin, end, exponentials, spare[1])


@jit_unmanaged(fastmath=REASSOCIATE)
def sums_pass(
    turn: Array, edges: Array, left: Array, places: Array, right: Array, coef: Array, exponentials: Any, spare: Array,
    out: Array, mirror: Array,
) -> None:  # fmt: skip
    """Take pieces of the rows until there are no more: out[i, k] = Σ_j e^(a_i·x_j) coef[k, j].

    With a mirror (pieces, m) rows and columns are the same: columns before the piece are left out, and those after it
    get their sums over the rows of the piece in its line of the mirror.
    """
    m, mirrored = right.shape[1], mirror.shape[0] > 0
    for _ in range(turn[1]):
        piece = atomic_add(turn, 0, 1)
        if piece + 1 >= edges.shape[0]:
            return
        first, last = edges[piece], edges[piece + 1]
        begin = first if mirrored else 0
        while begin < m:
            end = last if mirrored and begin == first else min(begin + SUMS_TILE, m)
            for i in range(first, last, 2):
                other = min(i + 1, last - 1)
                two_values(left, places, i, other, right, begin, end, exponentials, spare)
                for r in range(other - i + 1):
                    for k in range(coef.shape[0]):
                        total = 0.0
                        for j in range(end - begin):
                            total += spare[r, j] * coef[k, begin + j]
                        out[i + r, k] += total
                    if mirrored and begin > first:
                        line, factor = mirror[piece, begin:end], coef[0, i + r]
                        for j in range(end - begin):
                            line[j] += factor * spare[r, j]
            begin = end


def gaussian_sums(left: Array, places: Array, right: Array, coef: Array, same: bool = False) -> Array:
    """Σ_j e^(a_i·x_j) coef_j for each row a_i, (n,) or (n, k), on all threads.

    If rows and columns are the `same`, in one order, and k is 1, each value is computed once for both.
    """
    table = np.ascontiguousarray(np.atleast_2d(coef.T), np.float64)
    n = len(left)
    out = np.zeros((n, len(table)))
    pieces = max(-(-n // SUMS_TILE), min(SUMS_PIECES, -(-n // SUMS_ROWS))) if same else -(-n // SUMS_ROWS)
    edges = np.linspace(0, n, pieces + 1).astype(np.int64)
    mirror = np.zeros((pieces if same else 0, n))
    precision = precision_of(left.dtype)

    def loop(turn: Array) -> None:
        sums_pass(turn, edges, left, places, right, table, precision, np.empty((2, SUMS_TILE), left.dtype), out, mirror)

    share_pieces(pieces, loop)
    if same:
        out[:, 0] += mirror.sum(axis=0)
    return out.reshape(n, *coef.shape[1:])


def warm() -> None:
    """Compile sums; the solver compiles the rest with its own loops."""
    for dtype in (np.float32, np.float64):
        gaussian_sums(np.zeros((1, 4), dtype), EVERY, np.zeros((4, 1), dtype), np.ones(1))
