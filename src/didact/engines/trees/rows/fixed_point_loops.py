"""Compiled readers of words: what the whole-number sums of a node or a bin stand for (see channels.py)."""

from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.typing import Array
from didact.engines.trees.splits.histogram_loops import LABELS, UNIT

Int = int | np.integer[Any]


class Reading(NamedTuple):
    """How words are read: their kind, the bit at which the count begins, outputs (of labels)."""

    kind: int
    shift: int
    outputs: int


@jit_unmanaged
def mixed(key: Int) -> Int:
    """A well-mixed 64-bit number (the finaliser of SplitMix64, doi:10.1145/2714064.2660195)."""
    z = np.uint64(key) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@jit_unmanaged
def pair(a: Int, b: Int, how: Reading, inverse: Array) -> tuple[float, float, Int]:
    """Sum, weight and count of one target (words a, b) or of two classes (the sum is the second's)."""
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
def decoded(words: Array, how: Reading, inverse: Array, sums: Array, at: Int) -> Int:
    """Write the float sums that words stand for, from `at` on; the number of rows."""
    C = words.shape[0]
    mask = (np.int64(1) << how.shift) - 1
    if how.kind == LABELS:
        count = np.int64(0)
        for k in range(C):
            sums[at + k] = (words[k] & mask) * inverse[k]
            count += words[k] >> how.shift
        return count // how.outputs
    if how.kind == UNIT:
        sums[at], sums[at + 1], rows = pair(words[0], words[0], how, inverse)
        return rows
    for c in range(C - 1):
        sums[at + c] = words[c] * inverse[c]
    sums[at + C - 1] = (words[C - 1] & mask) * inverse[C - 1]
    return words[C - 1] >> how.shift


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
