"""Which variables of a dual violate the optimality conditions most.

Layout, for m active variables (see `gram.smo_loops`)::

    keys[0]   [ f_0 or ∞  | f_1 or ∞  | … ]   ∞: the variable may not rise
    keys[1]   [ −f_0 or ∞ | −f_1 or ∞ | … ]   ∞: it may not fall; the least of either side violate the conditions most
    which     [ i   | i'   | … | free ]       candidates for the next set: numbers of variables
    near      [ key | key' | … | free ]       and their keys

Arithmetic: three passes over the variables and one over each side's keys; the few that a sample does not rule out are
compared with each other.
"""

from typing import NamedTuple

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.typing import Array

SAMPLE_MARGIN = 8  # so many more of a sample are taken than there are to be, and twice their share


class Variables(NamedTuple):
    """The active variables, and u of the active rows."""

    row: Array
    sign: Array
    linear: Array
    bound: Array
    alpha: Array
    f: Array
    keys: Array  # (2, m): f where a variable may rise, −f where it may fall, else infinity
    which: Array  # of those that may enter the next set: numbers
    near: Array  # and keys
    u: Array


@jit_unmanaged
def set_keys(v: Variables) -> tuple[float, float]:
    """f of all variables, and as keys where they may rise, and fall; the least key of either side."""
    f, up, down = v.f, v.keys[0], v.keys[1]
    for i in range(v.row.shape[0]):
        f[i] = v.u[v.row[i]] + v.sign[i] * v.linear[i]
    for i in range(v.row.shape[0]):
        above, below, plus = v.alpha[i] > 0.0, v.alpha[i] < v.bound[i], v.sign[i] > 0.0
        up[i] = f[i] if (below & plus) | (above & (not plus)) else np.inf
        down[i] = -f[i] if (above & plus) | (below & (not plus)) else np.inf
    low, high = np.inf, np.inf
    for i in range(v.row.shape[0]):
        low, high = min(low, up[i]), min(high, down[i])
    return low, high


@jit_unmanaged
def take_worst(v: Variables, side: int, number: int, chosen: Array, size: int, sample: Array) -> int:
    """Append the variables with the least finite keys of a side, and bar them from the other; the size of the set then.

    A sample says up to which key to look, so that few of them are compared with each other.
    """
    keys, others, m = v.keys[side], v.keys[1 - side], v.row.shape[0]
    step = -(-m // sample.shape[0])
    seen, rank, bar = -(-m // step), 2 * number // step + SAMPLE_MARGIN, np.inf
    if rank < seen:
        for k in range(seen):
            sample[k] = keys[k * step]
        bar = kth_least(sample, seen, rank)
    count = _keys_up_to(bar, keys, v)
    if count < number and bar < np.inf:
        count = _keys_up_to(np.inf, keys, v)
    number = min(number, count)
    if number == 0:
        return size
    worst, ties = kth_least(v.near, count, number - 1), number
    for k in range(count):
        ties -= v.near[k] < worst
    for k in range(count):
        i = v.which[k]
        if keys[i] < worst or (keys[i] == worst and ties > 0):
            ties -= keys[i] == worst
            chosen[size] = i
            size += 1
            others[i] = np.inf
    return size


@jit_unmanaged
def _keys_up_to(bar: float, keys: Array, v: Variables) -> int:
    """List the variables with finite keys up to a number, and their keys; how many they are."""
    count, which, near = 0, v.which, v.near
    for i in range(keys.shape[0]):
        which[count], near[count] = i, keys[i]
        count += (keys[i] <= bar) & (keys[i] < np.inf)
    return count


@jit_unmanaged
def kth_least(values: Array, count: int, k: int) -> float:
    """The number with k smaller ones among the first `count`, which change places (Hoare's selection)."""
    first, last = 0, count - 1
    while first < last:
        pivot = values[(first + last) // 2]
        i, j = first, last
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            last = j
        elif k >= i:
            first = i
        else:
            return values[k]
    return values[k]
