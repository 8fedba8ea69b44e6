"""Compiled histograms and partitions; slow NumPy twins stand beside their tests.

hist[slot, channel] is the sum of the words of the rows whose code falls into the slot; slot = first slot of the
column + code. Cost: a load, an addition and a store per row and column: 0.7 ns for a pair of words, as what rows far
apart bring (a line or two of codes and one of words, which serve all columns) is asked for a few rows ahead.
"""

from typing import Any

import numpy as np

from didact.core.jit import jit_unmanaged, prefetch
from didact.core.jit.simd import add_pair
from didact.core.typing import Array

Int = int | np.integer[Any]

LABELS, VALUES, UNIT = 0, 1, 2  # what the words of a row are: see channels.py
GROUP = 128  # columns whose histograms fit in the second-level cache together
AHEAD = 16  # rows between asking for a row and using it


@jit_unmanaged
def ask_ahead(codes: Array, words: Array, rows: Array, r: int, a: Int, b: Int) -> None:
    """Ask for what the row some places after r brings to the columns a … b − 1."""
    i, zero = np.uint64(rows[min(r + AHEAD, rows.shape[0] - 1)]), np.uint64(0)
    prefetch(words, i, zero)
    prefetch(codes, i, np.uint64(a))
    prefetch(codes, i, np.uint64(b - 1))


@jit_unmanaged
def add_rows(codes: Array, words: Array, labels: Array, rows: Array, first: Array, hist: Array) -> None:
    """Add the words of some rows to the histograms of all columns that have a first slot."""
    add_columns(codes, words, labels, rows, np.int64(0), first.shape[0], first, hist)


@jit_unmanaged
def add_columns(
    codes: Array, words: Array, labels: Array, rows: Array, start: Int, stop: Int, first: Array, hist: Array
) -> None:
    """Add rows to the histograms of the columns start … stop − 1."""
    for a in range(start, stop, GROUP):
        b = min(a + GROUP, stop)
        if labels.shape[1] == 1:
            _add_labels(codes, words, labels, rows, a, b, first, hist)
        elif labels.shape[1] == 0 and words.shape[1] == 1:
            _add_ones(codes, words, rows, a, b, first, hist)
        elif labels.shape[1] == 0 and words.shape[1] == 2:
            _add_pairs(codes, words, rows, a, b, first, hist)
        else:
            for f in range(a, b):
                add_column(codes[:, f], words, labels, rows, first[f], hist)


@jit_unmanaged
def _add_pairs(codes: Array, words: Array, rows: Array, a: Int, b: Int, first: Array, hist: Array) -> None:
    zero, one = np.uint64(0), np.uint64(1)
    for r in range(rows.shape[0]):
        ask_ahead(codes, words, rows, r, a, b)
        i = np.uint64(rows[r])
        g, h = words[i, zero], words[i, one]
        for f in range(a, b):
            add_pair(hist, first[np.uint64(f)] + codes[i, np.uint64(f)], g, h)


@jit_unmanaged
def _add_ones(codes: Array, words: Array, rows: Array, a: Int, b: Int, first: Array, hist: Array) -> None:
    zero = np.uint64(0)
    for r in range(rows.shape[0]):
        ask_ahead(codes, words, rows, r, a, b)
        i = np.uint64(rows[r])
        g = words[i, zero]
        for f in range(a, b):
            hist[first[np.uint64(f)] + codes[i, np.uint64(f)], zero] += g


@jit_unmanaged
def _add_labels(
    codes: Array, words: Array, labels: Array, rows: Array, a: Int, b: Int, first: Array, hist: Array
) -> None:
    zero = np.uint64(0)
    for r in range(rows.shape[0]):
        ask_ahead(codes, words, rows, r, a, b)
        i = np.uint64(rows[r])
        g, label = words[i, zero], np.uint64(labels[i, zero])
        for f in range(a, b):
            hist[first[np.uint64(f)] + codes[i, np.uint64(f)], label] += g


@jit_unmanaged
def add_column(column: Array, words: Array, labels: Array, rows: Array, first: Int, hist: Array) -> None:
    """Add rows to the histogram of one column, whatever their words."""
    zero, at = np.uint64(0), np.uint64(first)
    for r in range(rows.shape[0]):
        i = np.uint64(rows[r])
        k = at + column[i]
        if labels.shape[1] > 0:
            for o in range(labels.shape[1]):
                hist[k, np.uint64(labels[i, np.uint64(o)])] += words[i, zero]
        else:
            for c in range(words.shape[1]):
                hist[k, np.uint64(c)] += words[i, np.uint64(c)]


@jit_unmanaged
def add_totals(words: Array, labels: Array, rows: Array, total: Array) -> None:
    """Add the words of some rows to the total of each channel."""
    for r in range(rows.shape[0]):
        i = rows[r]
        if labels.shape[1] > 0:
            for o in range(labels.shape[1]):
                total[labels[i, o]] += words[i, 0]
        else:
            for c in range(words.shape[1]):
                total[c] += words[i, c]


@jit_unmanaged
def clear(hist: Array) -> None:
    """Set a histogram to zero."""
    flat = hist.reshape(-1)
    for k in range(flat.shape[0]):
        flat[k] = 0


@jit_unmanaged
def subtract(parent: Array, child: Array) -> None:
    """The sibling's histogram in place of the parent's."""
    a, b = parent.reshape(-1), child.reshape(-1)
    for k in range(a.shape[0]):
        a[k] -= b[k]


@jit_unmanaged
def part_rows(column: Array, goes_left: Array, rows: Array, spare: Array) -> Int:
    """Bring the rows whose code goes left to the front of `rows` and the others to `spare`; how many go left.

    Both are written every time and only one of the two places moves on, so that there is no branch to guess.
    """
    left, right = np.uint64(0), np.uint64(0)
    for r in range(rows.shape[0]):
        i = rows[r]
        go = np.uint64(goes_left[np.uint64(column[np.uint64(i)])])
        rows[left] = i
        spare[right] = i
        left += go
        right += np.uint64(1) - go
    return np.int64(left)


@jit_unmanaged
def part_outside(column: Array, goes_left: Array, rows: Array, parted: Array) -> Int:
    """Write the rows that go left from the front of `parted` on and the others from its end; how many go left."""
    left, right = np.uint64(0), np.uint64(rows.shape[0] - 1)
    for r in range(rows.shape[0]):
        i = rows[r]
        go = np.uint64(goes_left[np.uint64(column[np.uint64(i)])])
        parted[left] = i
        parted[right] = i
        left += go
        right -= np.uint64(1) - go
    return np.int64(left)


@jit_unmanaged
def partition(column: Array, goes_left: Array, rows: Array, spare: Array) -> Int:
    """Bring the rows whose code goes left to the front of `rows`, in their order; how many they are."""
    left = part_rows(column, goes_left, rows, spare)
    rights = rows[left:]
    for r in range(rights.shape[0]):
        rights[r] = spare[r]
    return left


def warm() -> None:
    """Compile for the types in use."""
    rows = np.zeros(1, np.uint32)
    for code in (np.uint8, np.uint16):
        codes = np.zeros((1, 1), code)
        first, none = np.zeros(1, np.uint64), np.empty((0, 0), np.int32)
        add_rows(codes, np.ones((1, 2), np.int64), none, rows, first, np.zeros((2, 2), np.int64))
        partition(codes[:, 0].copy(), np.ones(256, np.uint8), rows, rows.copy())
    add_totals(np.ones((1, 2), np.int64), none, rows, np.zeros(2, np.int64))
    subtract(np.zeros((2, 2), np.int64), np.zeros((2, 2), np.int64))
