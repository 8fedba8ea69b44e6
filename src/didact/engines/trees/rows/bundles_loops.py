"""Compiled parts of `bundles`: two columns of codes joined into one; histograms of bundles added to those of columns.

Layout of a histogram, with `slots` rows for the features and the bundled codes behind them::

    hist      [ feature 0 | feature 1 | … | bundle 0 | bundle 1 | … ]   (slots + bundled codes, channels) int64
                                            ^ slots
    targets   [ of a feature, for each code of its bundle the slot to which it is added | of the next one | … ]
                ^ parts[f, 2]                parts[f, 1] of them, from the slot parts[f, 0] on
"""

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.typing import Array
from didact.engines.trees.splits.histogram_loops import Int


@jit_unmanaged
def number_pairs(a: Array, b: Array, most: int, numbers: Array, places: Array, out: Array) -> int:
    """Number the pairs of codes (a < 256, b < 256) of some rows as they come; how many, or `most` + 1.

    `numbers` has 65,536 places and is negative throughout, before and after; `places` has room for `most` of them.
    `out` gets the numbers, unless it is empty.
    """
    many = 0
    for i in range(a.shape[0]):
        place = np.uint64(a[i]) << np.uint64(8) | np.uint64(b[i])
        if numbers[place] < 0:
            if many == most:
                many = most + 1
                break
            numbers[place] = many
            places[many] = place
            many += 1
        if out.shape[0]:
            out[i] = numbers[place]
    for k in range(min(many, most)):
        numbers[places[k]] = -1
    return many


@jit_unmanaged(cold=True)
def add_bundled(start: Int, stop: Int, parts: Array, targets: Array, hist: Array) -> None:
    """Add the sums of bundled codes to the slots of the features start … stop − 1, as far as these are in a bundle."""
    for f in range(start, stop):
        first, count, begin = parts[f, 0], parts[f, 1], parts[f, 2]
        for k in range(count):
            to, at = np.uint64(targets[begin + k]), np.uint64(first + k)
            for c in range(hist.shape[1]):
                hist[to, np.uint64(c)] += hist[at, np.uint64(c)]


def warm() -> None:
    """Compile for the types in use."""
    zero = np.zeros(1, np.uint8)
    number_pairs(zero, zero, 1, np.full(1 << 16, -1, np.int32), np.empty(1, np.uint64), zero)
    add_bundled(0, 1, np.zeros((1, 3), np.int64), np.zeros(0, np.uint32), np.zeros((1, 2), np.int64))
