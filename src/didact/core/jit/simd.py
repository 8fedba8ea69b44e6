"""SIMD written by hand: loops over columns in vector registers that LLVM does not vectorise well by itself.

Under Numba it keeps no block of sums in registers over a loop unless they are written as vectors, and wastes time on
rows of some dozens of numbers, for which its vector loops are too long. Here are the loops behind sums of products:
`gather` some columns of chosen rows, `add_outer` products of four columns with others, `dot_rows` and `add_rows`
products of some rows with a vector, `set_scores` and `add_across` with a few vectors. Up to three vectors of four
numbers side by side leave just enough of sixteen registers (AVX) for everything else. `add_pair` is the step of a
histogram; bounds, counts and exchanges of bytes serve trees with random cuts. What stands here is what they do, in
NumPy; in loops `llvm.simd` and `llvm.byte_rows` stand for it. Arrays are in row order; places are uint64.
"""

from collections.abc import Callable
from typing import Any

LANES = 4  # numbers in a vector, and columns that `add_outer` multiplies with others at a time
BYTES = 32  # bytes in a vector
BYTE_ROWS = 248  # most rows that a byte can count, eight at a time


def _gather(vectors: int) -> Callable[..., None]:
    def gather(X: Any, order: Any, first: Any, factors: Any, rows: Any, j: Any, shift: Any, A: Any, sums: Any) -> None:
        first, rows, part = int(first), int(rows), slice(int(j), int(j) + LANES * vectors)
        factor = factors[:rows, None]
        A[:rows, part] = factor * (X[order[first : first + rows], part] - shift[part])
        sums[part] += (factor * A[:rows, part]).sum(axis=0)

    return gather


def _outer(vectors: int) -> Callable[..., None]:
    def add_outer(A: Any, i: Any, j: Any, rows: Any, G: Any) -> None:
        i, j, rows, wide = int(i), int(j), int(rows), LANES * vectors
        G[i : i + LANES, j : j + wide] += A[:rows, i : i + LANES].T @ A[:rows, j : j + wide]

    return add_outer


# gather_k(X, order, first, factors, rows, j, shift, A, sums), k = 1, 2, 3, for the 4 k columns from j on:
# A[r] = f_r (X[order[first + r]] − shift) for r < rows, and Σ f_r A[r] is added to the sums.
gather_1, gather_2, gather_3 = (_gather(vectors) for vectors in (1, 2, 3))

# add_outer_k(A, i, j, rows, G): G[i : i + 4, j : j + 4 k] += A[:rows, i : i + 4]ᵀ A[:rows, j : j + 4 k].
add_outer_1, add_outer_2, add_outer_3 = (_outer(vectors) for vectors in (1, 2, 3))


def add_pair(table: Any, row: Any, a: Any, b: Any) -> None:
    """Add two numbers to a row of a C-contiguous int64 table (n, 2) with one vector addition."""
    table[row, 0] += a
    table[row, 1] += b


def _dot_rows(number: int) -> Callable[..., None]:
    def dot_rows(X: Any, first: Any, step: Any, count: Any, vector: Any, out: Any, at: Any) -> None:
        for k in range(number):
            begin = int(first) + k * int(step)
            out[int(at) + k] += X[begin : begin + int(count)].astype(float) @ vector[: int(count)]

    return dot_rows


def _add_rows(number: int) -> Callable[..., None]:
    def add_rows(X: Any, first: Any, step: Any, count: Any, factors: Any, at: Any, out: Any) -> None:
        for k in range(number):
            begin = int(first) + k * int(step)
            out[: int(count)] += factors[int(at) + k] * X[begin : begin + int(count)].astype(float)

    return add_rows


# Of k = 8 or 1 lines of `count` numbers that begin at first, first + step, … of a flat array; other arrays are float64
# and filled up to whole vectors.
# dot_rows_k(X, first, step, count, vector, out, at): add each line's product with the vector to out, from `at` on.
dot_rows_8, dot_rows_1 = _dot_rows(8), _dot_rows(1)

# add_rows_k(X, first, step, count, factors, at, out): add to out the lines times their factors, those from `at` on.
add_rows_8, add_rows_1 = _add_rows(8), _add_rows(1)


def _across(vectors: int, turned: bool) -> Callable[..., None]:
    def across(L: Any, i: Any, R: Any, j: Any, count: Any, out: Any) -> None:
        i, j, n, wide = int(i), int(j), int(count), LANES * vectors
        product = L[i : i + LANES, :n] @ R[:n, j : j + wide]
        if turned:
            out[j : j + wide, i : i + LANES] = product.T
        else:
            out[i : i + LANES, j : j + wide] += product

    return across


# add_across_k(L, i, R, j, count, out), k = 1, 2, 3: add to out the products of the four rows of L from i on, of which
# the first `count` numbers matter, with the 4 k columns of R from j on.
add_across_1, add_across_2, add_across_3 = (_across(vectors, False) for vectors in (1, 2, 3))

# set_scores_k(L, i, R, j, count, out): put them into out, turned: out[j + b, i + a].
set_scores_1, set_scores_2, set_scores_3 = (_across(vectors, True) for vectors in (1, 2, 3))


# Rows of bytes, 32 columns at a time, in arrays a multiple of 32 columns wide.


def byte_bounds(X: Any, first: Any, rows: Any, j: Any, low: Any, high: Any) -> None:
    """The smallest and largest byte in each of the 32 columns from j on, of one row or more."""
    block, part = X[int(first) : int(first + rows), int(j) : int(j) + BYTES], slice(int(j), int(j) + BYTES)
    low[part], high[part] = block.min(axis=0), block.max(axis=0)


def byte_counts(X: Any, first: Any, rows: Any, j: Any, cuts: Any, marks: Any, many: Any, marked: Any) -> None:
    """How many bytes of each of the 32 columns from j on are at most the cut, and in how many of these rows the byte of
    column `marks` is 1, where it is 0 else; of 1 to 248 rows."""
    part = slice(int(j), int(j) + BYTES)
    below = X[int(first) : int(first + rows), part] <= cuts[part]
    many[part] = below.sum(axis=0)
    marked[part] = (below & (X[int(first) : int(first + rows), int(marks)] == 1)[:, None]).sum(axis=0)


def swap_bytes(X: Any, i: Any, k: Any, j: Any) -> None:
    """Exchange the bytes of two rows in the 32 columns from j on."""
    part = slice(int(j), int(j) + BYTES)
    X[[int(i), int(k)], part] = X[[int(k), int(i)], part]
