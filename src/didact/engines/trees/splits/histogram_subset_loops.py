"""Compiled search for the best subset of a feature's categories; a brute-force twin stands beside the tests.

Categories with rows are put in the order of their mean (for several classes or targets, once for each) and cut at every
place, which finds the best of all subsets for one target and for two classes (Fisher 1958,
doi:10.1080/01621459.1958.10501479; Breiman et al. 1984); a missing value is one more category.

Layout, for the slots of a feature's categories::

    hist   [ category 0 | category 1 | … | missing ]   from slot `at` on
    ids    [ c | c' | … ]                              categories with rows, by rising mean
    keys   [ m ≤ m' ≤ … ]                              their means
    line   [ slot of c | slot of c' | … ]              (categories, channels), cut as the bins of a number are
"""

from typing import Any

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.typing import Array
from didact.engines.trees.rows.fixed_point_loops import (
    ZERO,
    Reading,
    decoded,
    hashed,
    is_plain,
    pair,
    targets_of,
    weight_at,
)
from didact.engines.trees.splits.histogram_cut_loops import Bound, General, Lines, scan_cuts, scan_numbers
from didact.engines.trees.splits.histogram_loops import Int


@jit_unmanaged
def sort_categories(
    hist: Array, at: Int, slots: Int, order: Int, draw: Int, how: Reading, inverse: Array, limits: Any, sums: Array,
    keys: Array, ids: Array,
) -> Int:  # fmt: skip
    """Put the categories that have rows enough in the order of their mean of one target; how many they are."""
    m, n, plain = 0, targets_of(how, hist.shape[1]), is_plain(how, hist.shape[1])
    for b in range(slots):
        fixed = hist[at + b]
        if plain:
            s, w, rows = pair(fixed[0], fixed[fixed.shape[0] - 1], how, inverse)
        else:
            rows = decoded(fixed, how, inverse, sums, ZERO)
            s, w = sums[order], weight_at(sums, ZERO, n, how)
        if rows == 0 or (rows < limits.min_category and b < slots - 1):
            continue
        key = s / (w + limits.category_smoothing + 1e-300)
        if limits.random_splits:
            key = np.float64(hashed(draw + np.uint64(b)) >> np.uint64(11))
        k = m
        while k > 0 and keys[k - 1] > key:
            keys[k], ids[k] = keys[k - 1], ids[k - 1]
            k -= 1
        keys[k], ids[k] = key, b
        m += 1
    return m


@jit_unmanaged
def scan_subsets(
    f: Int, hist: Array, at: Int, bins: Int, total: Array, how: Reading, inverse: Array, bound: Bound, draw: Int,
    limits: Any, criterion: Any, fixed: Array, sums: Array, best: Array, bits: Array, lines: Lines, general: General,
) -> bool:  # fmt: skip
    """Try subsets of the categories of a feature; whether there are two of them in this node.

    Categories in order are put into `line` as the bins of a number would be.
    """
    C, none, ids, line = total.shape[0], np.int64(-1), general.ids, general.line
    orders = 1 if is_plain(how, C) or limits.random_splits else targets_of(how, C)
    for order in range(orders):
        m = sort_categories(hist, at, bins + 1, order, draw, how, inverse, limits, sums, general.keys, ids)
        if m < 2:
            return False
        only = np.int64(hashed(draw) % np.uint64(m - 1)) if limits.random_splits else none
        # The other way round gives the same splits, unless rare categories stay on the right.
        for backwards in range(2 if limits.min_category > 1 and only < 0 else 1):
            for k in range(m):
                b = at + ids[m - 1 - k if backwards else k]
                for c in range(C):
                    line[k, c] = hist[b, c]
            if scan_cuts(f, line, np.int64(0), np.int64(0), m - 1, none, only, total, how, inverse, bound, limits,
                         criterion, fixed, sums, best, lines, general):  # fmt: skip
                best[0].missing_left = _set_bits(best[0].bin, m, backwards, bins, ids, bits)
                best[0].bin = -1
    return True


@jit_unmanaged
def scan_feature(
    categorical: Int, f: Int, hist: Array, at: Int, bins: Int, total: Array, how: Reading, inverse: Array, bound: Bound,
    draw: Int, limits: Any, criterion: Any, fixed: Array, sums: Array, best: Array, bits: Array, lines: Lines,
    general: General | None,
) -> bool:  # fmt: skip
    """Try the splits of a feature; whether its values differ in this node."""
    if general is not None and categorical:
        return scan_subsets(f, hist, at, bins, total, how, inverse, bound, draw, limits, criterion, fixed, sums, best,
                            bits, lines, general)  # fmt: skip
    return scan_numbers(f, hist, at, bins, total, how, inverse, bound, draw, limits, criterion, fixed, sums, best,
                        lines, general)  # fmt: skip


@jit_unmanaged
def _set_bits(k: Int, m: Int, backwards: Int, missing: Int, ids: Array, bits: Array) -> bool:
    """The first k + 1 categories of the order as bits; whether missing values are among them."""
    found = False
    for word in range(bits.shape[0]):
        bits[word] = np.uint64(0)
    for j in range(k + 1):
        b = ids[m - 1 - j] if backwards else ids[j]
        if b == missing:
            found = True
        else:
            bits[b >> 6] |= np.uint64(1) << np.uint64(b & 63)
    return found
