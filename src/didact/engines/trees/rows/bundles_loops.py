"""Compiled parts of `bundles`: two columns of codes joined into one; histograms of bundles added to those of columns.

Layout of a histogram, with `slots` rows for the features and the bundled codes behind them::

    hist      [ feature 0 | feature 1 | … | bundle 0 | bundle 1 | … ]   (slots + bundled codes, channels) int64
                                            ^ slots
    targets   [ of a feature, for each code of its bundle the slot to which it is added | of the next one | … ]
                ^ parts[f, 2]                parts[f, 1] of them, from the slot parts[f, 0] on
    places    [ feature of column 0 | of column 1 | … | features of bundle 0    | … ]
                ^ starts[0]           ^ starts[1]       ^ starts[columns alone]
"""

from typing import Any

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.typing import Array
from didact.engines.trees.splits.histogram_loops import Int, set_zero, subtract


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
def column_slots(column: Int, features: Array, bundles: Any) -> tuple[Int, Int]:
    """The first slot into which a column is counted, and the one behind its last."""
    f = bundles.places[bundles.starts[column]]
    if bundles.parts[f, 1] > 0:
        return bundles.parts[f, 0], bundles.parts[f, 0] + bundles.parts[f, 1]
    feature = features[f]
    return feature.first, feature.first + feature.n_bins + 1


@jit_unmanaged(cold=True)
def clear_columns(start: Int, stop: Int, features: Array, bundles: Any, hist: Array) -> None:
    """Set the slots of the columns start … stop − 1 to zero, and those of their features."""
    for column in range(start, stop):
        a, b = column_slots(column, features, bundles)
        set_zero(hist[a:b])
        for place in range(bundles.starts[column], bundles.starts[column + 1]):
            feature: Any = features[bundles.places[place]]
            if feature.first != a:
                set_zero(hist[feature.first : feature.first + feature.n_bins + 1])


@jit_unmanaged(cold=True)
def unbundle(start: Int, stop: Int, features: Array, bundles: Any, hist: Array, parent: Array) -> None:
    """Add the sums of bundled codes to the slots of the features at the places start … stop − 1.

    Then take the slots of these features from the parent's, if there is one.
    """
    for place in range(start, stop):
        f = bundles.places[place]
        slot, count, begin = bundles.parts[f, 0], bundles.parts[f, 1], bundles.parts[f, 2]
        for k in range(count):
            to, at = np.uint64(bundles.targets[begin + k]), np.uint64(slot + k)
            for c in range(hist.shape[1]):
                hist[to, np.uint64(c)] += hist[at, np.uint64(c)]
        if parent.shape[0] > 0:
            feature: Any = features[f]
            a, b = feature.first, feature.first + feature.n_bins + 1
            subtract(parent[a:b], hist[a:b])


def warm() -> None:
    """Compile for the types in use."""
    zero = np.zeros(1, np.uint8)
    number_pairs(zero, zero, 1, np.full(1 << 16, -1, np.int32), np.empty(1, np.uint64), zero)
