"""Compiled sweeps over the histogram of one feature of one node: the best cut between two codes that occur in it.

A split is (score, code, missing left): rows with at most this code go left. Between two codes that are apart the cut is
in the middle; the last code stands for "all present values left, missing ones right".
"""

import math
from typing import Any

import numpy as np

from didact.core.jit import jit, lean
from didact.engines.trees.scan_loops import NO_SPLIT, Bounds, Split, allowed, score2, total1, weight1

Array = np.ndarray[Any, Any]


@lean
def sweep_scalar(stat: Any, hist: Array, counts: Array, low: int, high: int, top: int, sums: Array, tie: float,
                 bounds: Bounds, missing_left: bool, best: float) -> Split:  # fmt: skip
    """The best cut with sums in registers."""
    S, W, criterion = sums[0], sums[1], stat.criterion
    s, w, many, n = 0.0, 0.0, 0, 0
    for c in range(low, high + 1):
        n += counts[c]
    n += counts[top]
    if missing_left:
        s, w, many = hist[top, 0], hist[top, 1], counts[top]
    free = bounds.sign == 0 and bounds.low == -math.inf and bounds.high == math.inf
    limit, at, after = best + tie, -1, -1
    for c in range(low, high + 1):
        if counts[c] == 0:
            continue
        s += hist[c, 0]
        w += hist[c, 1]
        many += counts[c]
        if at >= 0 and after < 0:
            after = c
        if (
            many < bounds.min_samples
            or n - many < max(bounds.min_samples, 1)
            or w < bounds.min_weight
            or W - w < bounds.min_weight
        ):
            continue
        score = score2(criterion, s, w) + score2(criterion, S - s, W - w)
        if score > limit and (free or allowed(bounds, s, w, S, W)):
            best, limit, at, after = score, score + tie, c, -1
    if at < 0:
        return NO_SPLIT, -1, False
    return best, top - 1 if after < 0 else (at + after - 1) // 2, missing_left


@jit
def sweep_vector(stat: Any, hist: Array, counts: Array, low: int, high: int, top: int, sums: Array, tie: float,
                 bounds: Bounds, missing_left: bool, best: float) -> Split:  # fmt: skip
    """The best cut with vectors of sums."""
    channels, n, many = sums.shape[0], 0, 0
    left, right = np.zeros(channels), np.empty(channels)
    for c in range(low, high + 1):
        n += counts[c]
    n += counts[top]
    if missing_left:
        many = counts[top]
        for k in range(channels):
            left[k] = hist[top, k]
    limit, at, after = best + tie, -1, -1
    for c in range(low, high + 1):
        if counts[c] == 0:
            continue
        for k in range(channels):
            left[k] += hist[c, k]
            right[k] = sums[k] - left[k]
        many += counts[c]
        if at >= 0 and after < 0:
            after = c
        if many < bounds.min_samples or n - many < max(bounds.min_samples, 1):
            continue
        if weight1(stat, left) < bounds.min_weight or weight1(stat, right) < bounds.min_weight:
            continue
        score = total1(stat, left) + total1(stat, right)
        if score > limit:
            best, limit, at, after = score, score + tie, c, -1
    if at < 0:
        return NO_SPLIT, -1, False
    return best, top - 1 if after < 0 else (at + after - 1) // 2, missing_left
