"""Compiled scans of a node that are not a walk along sorted values: sets of categories, and random cuts.

Rows are summed up by category; the categories then stand in the order of their mean target (of each channel in turn
where there are several), and every cut of that order is scored. Missing values are one more category. For C categories
in the node this costs n + C log C. A random split takes a random order and one random cut of it.

Layout::

    line     [ rows of one code | rows of the next | … | missing: code `top` ]   each entry is code << 32 | row
    groups   [ group 0          | group 1          | … ]   sums, codes, counts and keys; `order` numbers them by key
    bits     [ codes 0 … 63 | codes 64 … 127 | … ]         code c goes left if bit c & 63 of word c >> 6 is set
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import dispatch, jit, jit_unmanaged
from didact.core.typing import Array
from didact.engines.trees.splits.random_loops import next_state, uniform
from didact.engines.trees.splits.sort_loops import sort_keys
from didact.engines.trees.splits.sorted_loops import NO_SCORE, BestCut, Needs, add1, missing_at, total1, weight1

RandomSplit = tuple[float, int, bool, float]

order1 = dispatch("order1")
orders1 = dispatch("orders1")
value1 = dispatch("value1")


class Groups(NamedTuple):
    """Room for the categories of a node, and for both sides of a cut; one for each thread."""

    sums: Array  # (categories, channels)
    codes: Array  # int64
    counts: Array  # int64
    keys: Array
    order: Array  # int64
    sides: Array  # (2, channels)


def new_groups(sizes: Array, categorical: Array, channels: int) -> Groups:
    """Room for columns of which the categorical ones have these numbers of categories, and missing values."""
    most = int(sizes[categorical].max(initial=-1)) + 1
    codes, counts, order = np.empty((3, most), np.int64)
    return Groups(sums=np.empty((most, channels)), codes=codes, counts=counts, keys=np.empty(most), order=order,
                  sides=np.empty((2, channels)))  # fmt: skip


@jit_unmanaged
def sum_groups(stat: Any, line: Array, groups: Groups) -> int:
    """Sums, codes and counts of the categories in a line, which come one after the other; their number."""
    g = -1
    for i in range(line.shape[0]):
        if i == 0 or line[i] >> 32 != line[i - 1] >> 32:
            g += 1
            groups.codes[g], groups.counts[g] = line[i] >> 32, 0
            for j in range(groups.sums.shape[1]):
                groups.sums[g, j] = 0.0
        add1(stat, groups.sums[g], line[i] & 0xFFFFFFFF)
        groups.counts[g] += 1
    return g + 1


@jit_unmanaged
def fits(stat: Any, left: Array, right: Array, n_left: int, n_right: int, bounds: Needs) -> bool:
    """Whether both children are large enough, and their means within the node's bounds."""
    if n_left < bounds.min_samples or n_right < bounds.min_samples:
        return False
    if weight1(stat, left) < bounds.min_weight or weight1(stat, right) < bounds.min_weight:
        return False
    if bounds.low == -np.inf and bounds.high == np.inf:
        return True
    a, b = value1(stat, left), value1(stat, right)
    return bounds.low <= min(a, b) and max(a, b) <= bounds.high


@jit_unmanaged
def cut_categories(stat: Any, line: Array, top: int, sums: Array, tie: float, bounds: Needs, bits: Array,
                   groups: Groups, random_split: bool, state: np.uint64) -> BestCut:  # fmt: skip
    """The best set of categories for the left side, as bits; position 0 stands for "see the bits"."""
    many = sum_groups(stat, line, groups)
    keys, order, left, right = groups.keys[:many], groups.order[:many], groups.sides[0], groups.sides[1]
    best, side, n = NO_SCORE, False, line.shape[0]
    for channel in range(1 if random_split else orders1(stat, sums.shape[0])):
        for g in range(many):
            state = next_state(state)
            keys[g] = uniform(state) if random_split else order1(stat, groups.sums, g, channel)
        sort_keys(keys, order)
        state = next_state(state)
        only = int(uniform(state) * (many - 1)) if random_split else -1
        before = 0
        for j in range(sums.shape[0]):
            left[j] = 0.0
        for k in range(many - 1):
            before += groups.counts[order[k]]
            for j in range(sums.shape[0]):
                left[j] += groups.sums[order[k], j]
                right[j] = sums[j] - left[j]
            if (only >= 0 and k != only) or not fits(stat, left, right, before, n - before, bounds):
                continue
            score = total1(stat, left) + total1(stat, right)
            if score > best + tie:
                best, side = score, write_set(groups.codes, order, k + 1, top, bits)
    return best, 0, side


@jit_unmanaged
def write_set(codes: Array, order: Array, many: int, top: int, bits: Array) -> bool:
    """The first categories of an order as bits; whether the missing ones are among them."""
    for j in range(bits.shape[0]):
        bits[j] = np.uint64(0)
    missing = False
    for k in range(many):
        code = codes[order[k]]
        if code >= top:
            missing = True
        else:
            bits[code >> 6] |= np.uint64(1) << np.uint64(code & 63)
    return missing


@jit
def random_cut(stat: Any, line: Array, values: Array, sums: Array, bounds: Needs,
               state: np.uint64) -> RandomSplit:  # fmt: skip
    """A cut at a value drawn between the smallest and the largest; missing values go to a side that is drawn, too."""
    n, m = line.shape[0], missing_at(line, values.shape[0])
    left, right = np.zeros(sums.shape[0]), np.empty(sums.shape[0])
    missing_left = m < n and uniform(next_state(state)) < 0.5
    threshold, at = np.inf, m
    if m > 0 and line[0] >> 32 != line[m - 1] >> 32:
        low, high = values[line[0] >> 32], values[line[m - 1] >> 32]
        threshold = low + uniform(state) * (high - low)
        threshold = low if threshold >= high else threshold
        at = 0
        while values[line[at] >> 32] <= threshold:
            at += 1
    elif missing_left:
        missing_left = False  # present values against missing ones is the only cut
    for i in range(at):
        add1(stat, left, line[i] & 0xFFFFFFFF)
    if missing_left:
        for i in range(m, n):
            add1(stat, left, line[i] & 0xFFFFFFFF)
    many = at + (n - m if missing_left else 0)
    for k in range(sums.shape[0]):
        right[k] = sums[k] - left[k]
    if not fits(stat, left, right, many, n - many, bounds):
        return NO_SCORE, -1, False, 0.0
    if bounds.sign != 0 and (value1(stat, left) - value1(stat, right)) * bounds.sign > 0.0:
        return NO_SCORE, -1, False, 0.0
    return total1(stat, left) + total1(stat, right), at, missing_left, threshold


@jit_unmanaged
def halves(stat: Any, codes: Array, rows: Array, cut: int, top: int, missing_left: bool, sums: Array, bounds: Needs,
           buffers: Array) -> float:  # fmt: skip
    """The score of the division of rows, which have these codes, at one code; −∞ if it is not allowed."""
    left, right, many, n = buffers[0], buffers[1], 0, rows.shape[0]
    for k in range(sums.shape[0]):
        left[k] = 0.0
    for i in range(n):
        code = codes[i]
        if (code <= cut) if code < top else missing_left:
            add1(stat, left, rows[i])
            many += 1
    for k in range(sums.shape[0]):
        right[k] = sums[k] - left[k]
    return halves_score(stat, left, right, many, n - many, bounds)


@jit_unmanaged
def halves_score(stat: Any, left: Array, right: Array, n_left: int, n_right: int, bounds: Needs) -> float:
    """The score of two halves with these sums; −∞ if they are not allowed."""
    if not fits(stat, left, right, n_left, n_right, bounds):
        return NO_SCORE
    if bounds.sign != 0 and (value1(stat, left) - value1(stat, right)) * bounds.sign > 0.0:
        return NO_SCORE
    return total1(stat, left) + total1(stat, right)
