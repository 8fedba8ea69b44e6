r"""Weighted quantiles of groups of numbers that are spread over workers, exact, in seven rounds.

A float64 has the order of a 64-bit key. Each round counts the weight of a group's numbers by the next eleven bits of
their keys, among those whose earlier bits are the quantile's, and thereby finds these bits. Only the counts travel.
The rule is that of `weighted_quantile`: the smallest number with at least the share q of the weight at or below it, and
halfway to the next one if it is exactly q.
"""

from typing import NamedTuple

import numpy as np

from didact.core.rows import KeptBlocks
from didact.core.typing import Array
from didact.parts.statistics.moments import Sums

DIGIT = 11  # bits that one round finds
SIGN = np.uint64(1 << 63)
LAST = ~np.uint64(0)
ROUNDED_SHARE = 1e-12  # share of the weight that counts as rounding


class Ranked(NamedTuple):
    """Numbers of a block as keys, with their groups and weights."""

    keys: Array  # uint64
    groups: Array
    weights: Array | None


class Least(NamedTuple):
    """The smallest key of each group."""

    keys: Array

    def merge(self, other: "Least") -> "Least":
        """The smaller key of each group."""
        return Least(np.minimum(self.keys, other.keys))


def keys_of(x: Array) -> Array:
    """Keys in the order of the numbers."""
    bits = (np.asarray(x, np.float64) + 0.0).view(np.uint64)  # no negative zero
    return np.where(bits & SIGN != 0, ~bits, bits | SIGN)


def numbers_of(keys: Array) -> Array:
    """The numbers of keys."""
    return np.where(keys & SIGN != 0, keys ^ SIGN, ~keys).view(np.float64)


def digit_weights(block: Ranked, found: Array, known: int, digit: int) -> Sums:
    """The weights (groups, digits) of the numbers whose first bits are those found, by the next bits."""
    count, rest = 1 << digit, 64 - known - digit
    inside = slice(None) if known == 0 else block.keys >> np.uint64(64 - known) == found[block.groups]
    keys, weights = block.keys[inside], None if block.weights is None else block.weights[inside]
    place = block.groups[inside] * count + ((keys >> np.uint64(rest)) & np.uint64(count - 1)).astype(np.int64)
    return Sums((np.bincount(place, weights, len(found) * count).reshape(-1, count),))


def least_above(block: Ranked, found: Array) -> Least:
    """The smallest key of each group above the one found."""
    keys, above = np.full(len(found), LAST), block.keys > found[block.groups]
    np.minimum.at(keys, block.groups[above], block.keys[above])
    return Least(keys)


def group_quantiles(blocks: KeptBlocks, n_groups: int, q: float) -> Array:
    """The quantile of each group of numbers, kept as `Ranked` blocks; that of a group without any means nothing."""
    found, known = np.zeros(n_groups, np.uint64), 0
    below = total = wanted = upto = np.zeros(n_groups)
    while known < 64:
        digit = min(DIGIT, 64 - known)
        (weights,) = blocks.reduce(digit_weights, found, known, digit).parts
        if known == 0:
            total = weights.sum(axis=1)
            wanted = q * total * (1 - ROUNDED_SHARE)
        reached = below[:, None] + np.cumsum(weights, axis=1)
        enough = (reached >= wanted[:, None]) & (weights > 0)
        last = weights.shape[1] - 1 - (weights[:, ::-1] > 0).argmax(axis=1)
        next_bits = np.where(enough.any(axis=1), enough.argmax(axis=1), last)
        upto = reached[np.arange(n_groups), next_bits]
        below = upto - weights[np.arange(n_groups), next_bits]
        found = found << np.uint64(digit) | next_bits.astype(np.uint64)
        known += digit
    values, exact = numbers_of(found), np.abs(upto - q * total) <= ROUNDED_SHARE * total
    if exact.any():
        after = blocks.reduce(least_above, found).keys
        exact &= after < LAST
        values[exact] = 0.5 * (values[exact] + numbers_of(after[exact]))
    return values
