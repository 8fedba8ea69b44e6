"""Compiled parts of `bundles`: two columns of codes joined into one; histograms of bundles added to those of columns.

Layout of a histogram, with `slots` rows for the features and the bundled codes behind them::

    hist      [ feature 0 | feature 1 | … | bundle 0 | bundle 1 | … ]   (slots + bundled codes, channels) int64
                                            ^ slots
    targets   [ of a feature, for each code of its bundle the slot to which it is added | of the next one | … ]
                ^ parts[f, 2]                parts[f, 1] of them, from the slot parts[f, 0] on
"""

from typing import Any

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.typing import Array
from didact.engines.trees.splits.histogram_loops import Int, subtract


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
def unbundle(
    start: Int, stop: Int, features: Array, parts: Array, targets: Array, hist: Array, parent: Array
) -> None:  # fmt: skip
    """Add the sums of bundled codes to the slots of the features start … stop − 1, as far as these are in a bundle.

    Then take the slots of these features from the parent's, if there is one.
    """
    for f in range(start, stop):
        slot, count, begin = parts[f, 0], parts[f, 1], parts[f, 2]
        for k in range(count):
            to, at = np.uint64(targets[begin + k]), np.uint64(slot + k)
            for c in range(hist.shape[1]):
                hist[to, np.uint64(c)] += hist[at, np.uint64(c)]
    if parent.shape[0] > 0:
        first: Any = features[start]
        last: Any = features[stop - 1]
        a, b = first.first, last.first + last.n_bins + 1
        subtract(parent[a:b], hist[a:b])


def warm() -> None:
    """Compile for the types in use."""
    zero = np.zeros(1, np.uint8)
    number_pairs(zero, zero, 1, np.full(1 << 16, -1, np.int32), np.empty(1, np.uint64), zero)
