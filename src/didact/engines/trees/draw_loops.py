"""A random cut of a node of coded rows, for extremely randomised trees, and the tables that such growers work on."""

from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import dispatch, lean
from didact.engines.trees.random_loops import next_state, uniform
from didact.engines.trees.scan_loops import NO_SPLIT, Bounds, Split

Array = np.ndarray[Any, Any]

halves1 = dispatch("halves1")


class Coded(NamedTuple):
    """Codes column by column, and the thresholds between them; a missing value has the code n_bins[f]."""

    codes: Array  # (p, n) uint8 or uint16
    thresholds: Array  # (p, most bins)
    n_bins: Array
    categorical: Array
    monotone: Array


class Room(NamedTuple):
    """Buffers of one tree."""

    rows: Array  # int32, the node's rows are a range
    spare: Array
    line: Array  # int64, packed codes and rows of a node
    hist: Array  # (bins + 1, channels)
    counts: Array  # (bins + 1,) int64
    order: Array  # features
    bits: Array  # (2, words)
    near: Array  # (2, n): what the node's rows bring, side by side


@lean
def draw_cut(coded: Coded, f: int, rows: Array, sums: Array, stat: Any, bounds: Bounds, room: Room,
             state: np.uint64) -> Split:  # fmt: skip
    """A random threshold between the smallest and largest of the node, uniform in value."""
    column, top, n = coded.codes[f], coded.n_bins[f], rows.shape[0]
    low, high, missing, codes = top, np.int64(-1), 0, room.spare
    for i in range(n):
        code = np.int64(column[rows[i]])
        codes[i] = code  # read again below, in one piece
        low, high = min(low, code), max(high, code)
    if high >= top:
        high = np.int64(-1)
        for i in range(n):
            missing += codes[i] >= top
            high = max(high, codes[i] if codes[i] < top else np.int64(-1))
    if missing == n or (low >= high and missing == 0):
        return NO_SPLIT, -2, False
    cut = top - 1
    if low < high:
        cuts = coded.thresholds[f]
        place = cuts[low] + uniform(state) * (cuts[high - 1] - cuts[low])
        cut, span = low, high - 1 - low
        while span > 0:  # the first threshold at or after the place, without branches
            half = (span + 1) // 2
            cut += half * int(cuts[cut + half - 1] < place)
            span -= half
        if cut > low and place - cuts[cut - 1] < cuts[cut] - place:
            cut -= 1
    missing_left = missing > 0 and low < high and uniform(next_state(state)) < 0.5
    score = halves1(stat, codes, rows, room.near, cut, top, missing_left, sums, bounds, room.hist)
    return (score, cut, missing_left) if score > NO_SPLIT else (NO_SPLIT, -1, False)
