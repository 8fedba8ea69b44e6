"""Compiled histograms and partitions; slow NumPy twins stand beside their tests.

hist[slot, channel] is the sum of the numbers of the rows whose code falls into the slot; slot = first slot of the
column + code. Cost: a load, an addition and a store per row and column: 0.7 ns for a pair of numbers, as what rows far
apart bring (a line or two of codes and one of numbers, which serve all columns) is asked for a few rows ahead.

Layout of what is counted, row after row, and of the histogram of a node::

    codes (n, columns)      fixed (n, channels)       hist (slots, channels)
    row i  c₀ c₁ c₂ …       row i  [ w y | w ]        first[0] ┌ bin 0 of column 0
    row j  …                row j  …                           │ bin 1 …
                                                      first[1] ├ bin 0 of column 1 …

`rows` are row numbers, in ascending order within a node.
"""

from typing import Any

import numpy as np

from didact.core.jit import flat, jit_unmanaged, prefetch
from didact.core.jit.simd import add_pair
from didact.core.typing import Array

Int = int | np.integer[Any]

LABELS, VALUES, UNIT = 0, 1, 2  # what the numbers of a row are: see `fixed_point`
GROUP = 128  # columns whose histograms fit in the second-level cache together
AHEAD = 16  # rows between asking for a row and using it


@jit_unmanaged
def ask_ahead(codes: Array, fixed: Array, rows: Array, r: int, a: Int, b: Int) -> None:
    """Ask for what the row some places after r brings to the columns a … b − 1."""
    i, zero = np.uint64(rows[min(r + AHEAD, rows.shape[0] - 1)]), np.uint64(0)
    prefetch(fixed, i, zero)
    prefetch(codes, i, np.uint64(a))
    prefetch(codes, i, np.uint64(b - 1))


@jit_unmanaged
def count_columns(
    codes: Array, fixed: Array, labels: Array | None, rows: Array, start: Int, stop: Int, first: Array, hist: Array
) -> None:
    """Add rows to the histograms of the columns start … stop − 1."""
    for a in range(start, stop, GROUP):
        b = min(a + GROUP, stop)
        if labels is not None:
            _add_labels(codes, fixed, labels, rows, a, b, first, hist)
        elif fixed.shape[1] == 1:
            _add_ones(codes, fixed, rows, a, b, first, hist)
        elif fixed.shape[1] == 2:
            _add_pairs(codes, fixed, rows, a, b, first, hist)
        else:
            _add_lines(codes, fixed, rows, a, b, first, hist)


@jit_unmanaged
def _add_pairs(codes: Array, fixed: Array, rows: Array, a: Int, b: Int, first: Array, hist: Array) -> None:
    zero, one = np.uint64(0), np.uint64(1)
    for r in range(rows.shape[0]):
        ask_ahead(codes, fixed, rows, r, a, b)
        i = np.uint64(rows[r])
        g, h = fixed[i, zero], fixed[i, one]
        for f in range(a, b):
            add_pair(hist, first[np.uint64(f)] + codes[i, np.uint64(f)], g, h)


@jit_unmanaged
def _add_ones(codes: Array, fixed: Array, rows: Array, a: Int, b: Int, first: Array, hist: Array) -> None:
    zero = np.uint64(0)
    for r in range(rows.shape[0]):
        ask_ahead(codes, fixed, rows, r, a, b)
        i = np.uint64(rows[r])
        g = fixed[i, zero]
        for f in range(a, b):
            hist[first[np.uint64(f)] + codes[i, np.uint64(f)], zero] += g


@jit_unmanaged
def _add_labels(
    codes: Array, fixed: Array, labels: Array, rows: Array, a: Int, b: Int, first: Array, hist: Array
) -> None:
    for r in range(rows.shape[0]):
        ask_ahead(codes, fixed, rows, r, a, b)
        i = np.uint64(rows[r])
        g = fixed[i, np.uint64(0)]
        for o in range(labels.shape[1]):
            label = np.uint64(labels[i, np.uint64(o)])
            for f in range(a, b):
                hist[first[np.uint64(f)] + codes[i, np.uint64(f)], label] += g


@jit_unmanaged(cold=True)
def _add_lines(codes: Array, fixed: Array, rows: Array, a: Int, b: Int, first: Array, hist: Array) -> None:
    for r in range(rows.shape[0]):
        i = np.uint64(rows[r])
        for f in range(a, b):
            k = first[np.uint64(f)] + codes[i, np.uint64(f)]
            for c in range(fixed.shape[1]):
                hist[k, np.uint64(c)] += fixed[i, np.uint64(c)]


@jit_unmanaged
def _add_row(i: Int, fixed: Array, labels: Array | None, total: Array) -> None:
    """Add the numbers of a row to the channels."""
    if labels is not None:
        for o in range(labels.shape[1]):
            total[np.uint64(labels[i, np.uint64(o)])] += fixed[i, np.uint64(0)]
    else:
        for c in range(fixed.shape[1]):
            total[np.uint64(c)] += fixed[i, np.uint64(c)]


@jit_unmanaged
def add_column(column: Array, fixed: Array, labels: Array | None, rows: Array, first: Int, hist: Array) -> None:
    """Add rows to the histogram of one column, whatever their numbers."""
    at = np.uint64(first)
    for r in range(rows.shape[0]):
        i = np.uint64(rows[r])
        _add_row(i, fixed, labels, hist[at + column[i]])


@jit_unmanaged
def add_totals(fixed: Array, labels: Array | None, rows: Array, total: Array) -> None:
    """Add the numbers of some rows to the total of each channel."""
    for r in range(rows.shape[0]):
        _add_row(np.uint64(rows[r]), fixed, labels, total)


@jit_unmanaged
def set_zero(hist: Array) -> None:
    """Set a histogram to zero."""
    words = flat(hist)
    for k in range(words.shape[0]):
        words[k] = 0


@jit_unmanaged
def subtract(parent: Array, child: Array) -> None:
    """Turn the parent's histogram into that of the child's sibling."""
    a, b = flat(parent), flat(child)
    for k in range(a.shape[0]):
        a[k] -= b[k]


@jit_unmanaged
def part(column: Array, goes_left: Array, rows: Array, spare: Array, whole: bool) -> Int:
    """Part rows by whether their code goes left; how many do.

    If they are a `whole` node, those that go left come to the front of `rows` and the others behind them, in their
    order. Else `rows` stay, and `spare` gets those that go left from its front on and the others from its end on.
    Both places are written every time and only one moves on, so that there is no branch to guess.
    """
    one, left, right = np.uint64(1), np.uint64(0), np.uint64(0 if whole else rows.shape[0] - 1)
    if whole:
        for r in range(rows.shape[0]):
            i = rows[r]
            go = np.uint64(goes_left[np.uint64(column[np.uint64(i)])])
            rows[left] = i
            spare[right] = i
            left += go
            right += one - go
        rights = rows[np.int64(left) :]
        for r in range(rights.shape[0]):
            rights[r] = spare[r]
    else:
        for r in range(rows.shape[0]):
            i = rows[r]
            go = np.uint64(goes_left[np.uint64(column[np.uint64(i)])])
            spare[left] = i
            spare[right] = i
            left += go
            right -= one - go
    return np.int64(left)


def warm() -> None:
    """Compile for the types in use."""
    rows = np.zeros(1, np.uint32)
    for code in (np.uint8, np.uint16):
        codes = np.zeros((1, 1), code)
        first = np.zeros(1, np.uint64)
        count_columns(codes, np.ones((1, 2), np.int64), None, rows, 0, 1, first, np.zeros((2, 2), np.int64))
        part(codes[:, 0].copy(), np.ones(256, np.uint8), rows, rows.copy(), True)
    add_totals(np.ones((1, 2), np.int64), None, rows, np.zeros(2, np.int64))
    subtract(np.zeros((2, 2), np.int64), np.zeros((2, 2), np.int64))
