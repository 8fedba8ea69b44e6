"""Compiled histograms when many columns mostly hold one value, as one-hot columns do.

For such columns only the rows with another code are listed, by row: slots[starts[i]:starts[i + 1]]. A row adds its
words there; the slot of the frequent code then gets what is missing to the total, which is exact as all sums are. A row
costs as many additions as it has dense columns and rare values.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import jit
from didact.engines.trees.histogram_loops import add_rows, add_totals

Array = np.ndarray[Any, Any]


class Rare(NamedTuple):
    """The columns that mostly hold one value; no columns: all are counted from their codes."""

    dense: Array  # int64: features that are counted from their codes
    columns: Array  # int64 (features, 3): first slot, slot behind the last, slot of the frequent code
    starts: Array  # int64 (n + 1)
    slots: Array  # uint32
    whole: Array  # int64 (2): the slots of a dense feature, which hold all rows; equal if there is none


@jit
def list_rare(codes: Array, features: Array, common: Array, first: Array, starts: Array, slots: Array) -> None:
    """Fill starts, or if they are filled, the slots of all codes that are not the common one."""
    total = np.int64(0)
    for i in range(codes.shape[0]):
        starts[i] = total
        for j in range(features.shape[0]):
            f = features[j]
            if codes[i, f] != common[j]:
                if slots.shape[0]:
                    slots[total] = first[f] + codes[i, f]
                total += 1
    starts[codes.shape[0]] = total


@jit
def count_rows(codes: Array, words: Array, labels: Array, rows: Array, first: Array, rare: Rare, hist: Array) -> None:
    """Add rows to histograms that are zero."""
    if rare.columns.shape[0] == 0:
        add_rows(codes, words, labels, rows, first, hist)
        return
    if words.shape[1] == 2:
        _count_pairs(codes, words, rows, first, rare.dense, rare.starts, rare.slots, hist)
    else:
        _count_ones(codes, words, labels, rows, first, rare.dense, rare.starts, rare.slots, hist)
    total = np.zeros(hist.shape[1], np.int64)
    if rare.dense.shape[0] == 0:
        add_totals(words, labels, rows, total)
    for slot in range(rare.whole[0], rare.whole[1]):
        for c in range(hist.shape[1]):
            total[c] += hist[slot, c]
    _fill_common(total, rare.columns, hist)


@jit
def _count_pairs(
    codes: Array, words: Array, rows: Array, first: Array, dense: Array, starts: Array, slots: Array, hist: Array
) -> None:
    zero, one = np.uint64(0), np.uint64(1)
    for r in range(rows.shape[0]):
        i = np.uint64(rows[r])
        g, h = words[i, zero], words[i, one]
        for j in range(dense.shape[0]):
            f = np.uint64(dense[j])
            k = first[f] + codes[i, f]
            hist[k, zero] += g
            hist[k, one] += h
        for e in range(starts[i], starts[i + one]):
            k = np.uint64(slots[e])
            hist[k, zero] += g
            hist[k, one] += h


@jit
def _count_ones(
    codes: Array, words: Array, labels: Array, rows: Array, first: Array, dense: Array, starts: Array, slots: Array,
    hist: Array,
) -> None:  # fmt: skip
    zero, one = np.uint64(0), np.uint64(1)
    for r in range(rows.shape[0]):
        i = np.uint64(rows[r])
        g = words[i, zero]
        c = np.uint64(labels[i, zero]) if labels.shape[1] else zero
        for j in range(dense.shape[0]):
            f = np.uint64(dense[j])
            hist[first[f] + codes[i, f], c] += g
        for e in range(starts[i], starts[i + one]):
            hist[np.uint64(slots[e]), c] += g


@jit
def _fill_common(total: Array, columns: Array, hist: Array) -> None:
    """Give the slot of each column's frequent code what its other slots leave of the total."""
    for j in range(columns.shape[0]):
        common = columns[j, 2]
        for c in range(hist.shape[1]):
            rest = total[c]
            for slot in range(columns[j, 0], columns[j, 1]):
                if slot != common:
                    rest -= hist[slot, c]
            hist[common, c] = rest
