"""Compiled scans of a column of codes of one node: the best cut between two codes that occur in it.

Rows are added to a histogram of their codes, and a bit is set for each bin that is not empty. Only such bins are swept
and cleared, so that a node of few rows costs as many steps as it has rows, however many bins there are.

A split is (score, code, missing left): rows with at most this code go left. Between two codes that are apart the cut is
in the middle; the last code stands for "all present values left, missing ones right".

Layout; hist, counts and marks are zero between scans::

    hist (bins + 3, channels)   [ code 0 | code 1 | … | code top: missing | … | left side | right side ]
    counts (bins + 1)           [ rows   | rows   | … | rows              | … ]
    marks                       [ codes 0 … 63 | codes 64 … 127 | … ]   bit c & 63 of word c >> 6: bin c is not empty
    near     targets, weights   what the node's rows bring, side by side
    places (channels + 1)       [ place of channel 0 among those that the node has | of 1 | … | their number ]
"""

import math
from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import dispatch, jit_unmanaged, lowest_bit
from didact.core.typing import Array
from didact.engines.trees.splits.sorted_loops import NO_SCORE, BestCut, Needs, allowed, score2, total1, weight1

fill1 = dispatch("fill1")
sweep1 = dispatch("sweep1")
ONE = np.uint64(1)


class Near(NamedTuple):
    """What rows bring, in the order of the rows; empty if it is read where it is."""

    targets: Array
    weights: Array


class Buffers(NamedTuple):
    """What scans of codes use, one for each thread."""

    line: Array  # int64: packed codes and rows of a node, for categories and medians
    sums: Array  # (channels,) sums of the node, those of channels that it lacks left out
    places: Array  # int64
    hist: Array
    counts: Array  # int64
    marks: Array  # uint64


@jit_unmanaged
def cut_bins(stat: Any, column: Array, rows: Array, near: Near, buffers: Buffers, top: int, tie: float,
              bounds: Needs, common: int) -> BestCut:  # fmt: skip
    """The best cut of the rows of a node; code −2 if all have the same code."""
    n, counts, sums = rows.shape[0], buffers.counts, buffers.sums[: buffers.places[buffers.sums.shape[0]]]
    fill1(stat, column, rows, near, buffers, common)
    mark_bins(column, rows, top, counts, buffers.marks)
    if common >= 0:
        fill_common(common, n, sums, buffers.hist, counts, buffers.marks)
    best = NO_SCORE, -2, False
    if counts[column[rows[0]]] < n:
        best = sweep1(stat, buffers, top, n, sums, tie, bounds, False, NO_SCORE)
        if counts[top] > 0:
            other = sweep1(stat, buffers, top, n, sums, tie, bounds, True, best[0])
            best = other if other[0] > NO_SCORE else best
    clear_bins(buffers.hist[:, : sums.shape[0]], counts, buffers.marks)
    return best


@jit_unmanaged
def number_channels(sums: Array, buffers: Buffers, every: bool) -> None:
    """Number the channels that a node has, or every one, and put their sums side by side."""
    many = 0
    for k in range(sums.shape[0]):
        buffers.places[k] = many
        if every or sums[k] != 0.0:
            buffers.sums[many] = sums[k]
            many += 1
    buffers.places[sums.shape[0]] = many


@jit_unmanaged
def has_two(buffers: Buffers) -> bool:
    """Whether a node has two channels."""
    return buffers.places[buffers.sums.shape[0]] == 2


@jit_unmanaged
def fill_pairs(column: Array, rows: Array, near: Near, buffers: Buffers, common: int) -> None:
    """Add targets and weights to a histogram of the codes, but for the common code."""
    hist, counts, targets, weights = buffers.hist, buffers.counts, near.targets, near.weights
    for i in range(rows.shape[0]):
        code = column[rows[i]]
        if code == common:
            continue
        hist[code, 0] += targets[i]
        hist[code, 1] += weights[i]
        counts[code] += 1


@jit_unmanaged
def mark_bins(column: Array, rows: Array, top: int, counts: Array, marks: Array) -> None:
    """Set the bits of the bins that are not empty: by the rows or by the bins, whichever are fewer."""
    if rows.shape[0] < top:
        for i in range(rows.shape[0]):
            code = column[rows[i]]
            marks[code >> 6] |= ONE << np.uint64(code & 63)
    else:
        for code in range(top + 1):
            if counts[code] > 0:
                marks[code >> 6] |= ONE << np.uint64(code & 63)


@jit_unmanaged
def fill_common(common: int, n: int, sums: Array, hist: Array, counts: Array, marks: Array) -> None:
    """Give the common code what the others leave of n rows and their sums."""
    for j in range(sums.shape[0]):
        hist[common, j] = sums[j]
    for k in range(marks.shape[0]):
        word = marks[k]
        while word != 0:
            code = 64 * k + lowest_bit(word)
            word &= word - ONE
            if code != common:
                n -= counts[code]
                for j in range(sums.shape[0]):
                    hist[common, j] -= hist[code, j]
    counts[common] = n
    if n > 0:
        marks[common >> 6] |= ONE << np.uint64(common & 63)


@jit_unmanaged
def clear_bins(hist: Array, counts: Array, marks: Array) -> None:
    """Set all bins that have a bit, and the bits, to zero."""
    for k in range(marks.shape[0]):
        word = marks[k]
        marks[k] = 0
        while word != 0:
            code = 64 * k + lowest_bit(word)
            word &= word - ONE
            counts[code] = 0
            for j in range(hist.shape[1]):
                hist[code, j] = 0.0


@jit_unmanaged
def sweep_scalar(stat: Any, buffers: Buffers, top: int, n: int, sums: Array, tie: float, bounds: Needs,
                 missing_left: bool, best: float) -> BestCut:  # fmt: skip
    """The best cut with sums in registers."""
    hist, counts, marks, criterion = buffers.hist, buffers.counts, buffers.marks, stat.criterion
    S, W, s, w, many = sums[0], sums[1], 0.0, 0.0, 0
    if missing_left:
        s, w, many = hist[top, 0], hist[top, 1], counts[top]
    free = bounds.sign == 0 and bounds.low == -math.inf and bounds.high == math.inf
    limit, at, after, most = best + tie, -1, -1, n - max(bounds.min_samples, 1)
    for k in range(marks.shape[0]):
        word = marks[k]
        while word != 0:
            c = 64 * k + lowest_bit(word)
            word &= word - ONE
            if c >= top:
                break
            s += hist[c, 0]
            w += hist[c, 1]
            many += counts[c]
            if at >= 0 and after < 0:
                after = c
            if many < bounds.min_samples or many > most or w < bounds.min_weight or W - w < bounds.min_weight:
                continue
            score = score2(criterion, s, w) + score2(criterion, S - s, W - w)
            if score > limit and (free or allowed(bounds, s, w, S, W)):
                best, limit, at, after = score, score + tie, c, -1
    if at < 0:
        return NO_SCORE, -1, False
    return best, top - 1 if after < 0 else (at + after - 1) // 2, missing_left


@jit_unmanaged
def sweep_vector(stat: Any, buffers: Buffers, top: int, n: int, sums: Array, tie: float, bounds: Needs,
                 missing_left: bool, best: float) -> BestCut:  # fmt: skip
    """The best cut with vectors of sums."""
    hist, counts, marks, channels, many = buffers.hist, buffers.counts, buffers.marks, sums.shape[0], 0
    left, right = hist[hist.shape[0] - 2, :channels], hist[hist.shape[0] - 1, :channels]
    for j in range(channels):
        left[j] = hist[top, j] if missing_left else 0.0
    if missing_left:
        many = counts[top]
    limit, at, after, most = best + tie, -1, -1, n - max(bounds.min_samples, 1)
    for k in range(marks.shape[0]):
        word = marks[k]
        while word != 0:
            c = 64 * k + lowest_bit(word)
            word &= word - ONE
            if c >= top:
                break
            for j in range(channels):
                left[j] += hist[c, j]
                right[j] = sums[j] - left[j]
            many += counts[c]
            if at >= 0 and after < 0:
                after = c
            if many < bounds.min_samples or many > most:
                continue
            if bounds.min_weight > 0.0 and min(weight1(stat, left), weight1(stat, right)) < bounds.min_weight:
                continue
            score = total1(stat, left) + total1(stat, right)
            if score > limit:
                best, limit, at, after = score, score + tie, c, -1
    if at < 0:
        return NO_SCORE, -1, False
    return best, top - 1 if after < 0 else (at + after - 1) // 2, missing_left
