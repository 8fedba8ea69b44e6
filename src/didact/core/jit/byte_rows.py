"""Rows of bytes, 32 columns at a time in a vector register: bounds, counts and exchanges of all columns at once.

What stands here is what they do, in NumPy; in loops `llvm.byte_rows` stands for it. Arrays of rows are in row order and
a multiple of 32 columns wide; places are uint64.
"""

from typing import Any

BYTES = 32  # columns at a time
MOST = 248  # rows that bytes can count, eight at a time


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
