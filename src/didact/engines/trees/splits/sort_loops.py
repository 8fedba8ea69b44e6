"""Small sorts for compiled growers, in place and quick to compile (NumPy's take seconds of compilation a use).

Layout::

    entry   [ code: high 32 bits | row: low 32 bits ]   int64: whole numbers in order are codes in order
    line    [ entry | entry | … | free ]                of which the first n are sorted
    keys    [ 0.7 | 0.1 | 0.4 ]    order  [ 1 | 2 | 0 ]   numbers of the keys, the least first
"""

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.typing import Array

INSERTION = 48


@jit_unmanaged
def sink(line: Array, root: int, n: int) -> None:
    """Let an entry sink in a heap whose largest entry is on top."""
    packed = line[root]
    child = 2 * root + 1
    while child < n:
        if child + 1 < n and line[child + 1] > line[child]:
            child += 1
        if line[child] <= packed:
            break
        line[root] = line[child]
        root, child = child, 2 * child + 1
    line[root] = packed


@jit_unmanaged
def sort_packed(line: Array, n: int) -> None:
    """Sort the first n whole numbers: by insertion if they are few, else by a heap."""
    if n <= INSERTION:
        for i in range(1, n):
            packed, k = line[i], i
            while k > 0 and line[k - 1] > packed:
                line[k] = line[k - 1]
                k -= 1
            line[k] = packed
        return
    for root in range(n // 2 - 1, -1, -1):
        sink(line, root, n)
    for last in range(n - 1, 0, -1):
        line[0], line[last] = line[last], line[0]
        sink(line, 0, last)


@jit_unmanaged
def sort_keys(keys: Array, order: Array) -> None:
    """The order of increasing keys, equal ones as they come; binary insertion."""
    for i in range(keys.shape[0]):
        low, high, key = 0, i, keys[i]
        while low < high:
            middle = (low + high) // 2
            if keys[order[middle]] <= key:
                low = middle + 1
            else:
                high = middle
        for k in range(i, low, -1):
            order[k] = order[k - 1]
        order[low] = i


@jit_unmanaged
def pack_line(column: Array, rows: Array, line: Array) -> bool:
    """Codes and rows packed and sorted by code; False if all codes are equal."""
    n, first, varies = rows.shape[0], column[rows[0]], False
    for i in range(n):
        code = column[rows[i]]
        varies |= code != first
        line[i] = np.int64(code) << 32 | np.int64(rows[i])
    if not varies:
        return False
    sort_packed(line, n)
    return True


@jit_unmanaged
def middle_code(line: Array, at: int, top: int) -> int:
    """The cut between the codes on both sides of a place in a sorted line; top − 1 if only missing ones are right."""
    low, high = line[at - 1] >> 32, line[at] >> 32
    return top - 1 if high >= top else (low + high - 1) // 2
