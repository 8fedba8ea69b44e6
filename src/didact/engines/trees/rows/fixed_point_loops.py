"""Compiled readers of fixed-point sums: what those of a node or a bin stand for (see `fixed_point`).

Layout of the channels of a row or of a sum of rows, 64 bits each::

    LABELS   of each class    [ count | weight ]               the count begins at bit `shift`
    VALUES   of each target   [ Σ w y ]         and last       [ count | weight ]
    UNIT     one target       [ count | Σ y, with its sign ]
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.typing import Array
from didact.engines.trees.splits.histogram_loops import LABELS, UNIT, Int

ZERO = np.int64(0)  # no literal, for which loops would be compiled once more


class Reading(NamedTuple):
    """How numbers are read: their kind, the bit at which the count begins, outputs (of labels)."""

    kind: int
    shift: int
    outputs: int


@jit_unmanaged
def power_below(room: float, total: float) -> float:
    """The largest power of two by which numbers that sum to `total` may be multiplied to stay within `room`."""
    if not total > 0:
        return 1.0
    return 2.0 ** min(max(np.floor(np.log2(room) - np.log2(total)), -1000.0), 1000.0)


@jit_unmanaged(cold=True)
def write_units(slopes: float, curvatures: float, how: Reading, inverse: Array) -> None:
    """What one unit of each number of boosting stands for, where |g| and h sum to this much over all rows."""
    inverse[0] = 1.0 / power_below(float(1 << (how.shift - 2)) if how.kind == UNIT else 2.0**60, slopes)
    if how.kind != UNIT:
        inverse[1] = 1.0 / power_below(float(1 << (how.shift - 1)), curvatures)


@jit_unmanaged
def hashed(key: Int) -> Int:
    """A well-mixed 64-bit number (the finaliser of SplitMix64, doi:10.1145/2714064.2660195)."""
    z = np.uint64(key) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@jit_unmanaged
def pair(a: Int, b: Int, how: Reading, inverse: Array) -> tuple[float, float, Int]:
    """Sum, weight and count of one target (sums a, b) or of two classes (the sum is the second's)."""
    mask = (np.int64(1) << how.shift) - 1
    if how.kind == LABELS:
        s = (b & mask) * inverse[0]
        return s, s + (a & mask) * inverse[0], (a >> how.shift) + (b >> how.shift)
    if how.kind == UNIT:
        spare = 64 - how.shift
        target = (a << spare) >> spare
        count = (a - target) >> how.shift
        return target * inverse[0], np.float64(count), count
    return a * inverse[0], (b & mask) * inverse[1], b >> how.shift


@jit_unmanaged
def decoded(fixed: Array, how: Reading, inverse: Array, sums: Array, at: Int) -> Int:
    """Write the float sums that fixed-point sums stand for, from `at` on; the number of rows."""
    C = fixed.shape[0]
    mask = (np.int64(1) << how.shift) - 1
    if how.kind == LABELS:
        count = np.int64(0)
        for k in range(C):
            sums[at + k] = (fixed[k] & mask) * inverse[k]
            count += fixed[k] >> how.shift
        return count // how.outputs
    if how.kind == UNIT:
        sums[at], sums[at + 1], rows = pair(fixed[0], fixed[0], how, inverse)
        return rows
    for c in range(C - 1):
        sums[at + c] = fixed[c] * inverse[c]
    sums[at + C - 1] = (fixed[C - 1] & mask) * inverse[C - 1]
    return fixed[C - 1] >> how.shift


@jit_unmanaged
def count_of(fixed: Array, how: Reading, inverse: Array) -> Int:
    """The number of rows of fixed-point sums."""
    if how.kind == UNIT:
        return pair(fixed[0], fixed[0], how, inverse)[2]
    count = np.int64(0)
    for c in range(0 if how.kind == LABELS else fixed.shape[0] - 1, fixed.shape[0]):
        count += fixed[c] >> how.shift
    return count // how.outputs


@jit_unmanaged
def targets_of(how: Reading, channels: Int) -> Int:
    """How many sums a criterion reads before the weight."""
    return channels if how.kind == LABELS else max(channels - 1, 1)


@jit_unmanaged
def weight_at(sums: Array, at: Int, n: Int, how: Reading) -> Any:
    """The weight of a side: after the targets, or the sum of the classes."""
    if how.kind != LABELS:
        return sums[at + n]
    total: Any = 0.0
    for k in range(n):
        total += sums[at + k]
    return total / how.outputs


@jit_unmanaged
def is_plain(how: Reading, channels: int) -> bool:
    """One target, or two classes: two numbers say all about a node."""
    return channels <= 2 and (how.kind != LABELS or (channels == 2 and how.outputs == 1))
