"""Compiled passes of Hart's condensing: each row knows how far its nearest kept rows are.

A row that is kept changes these distances in one sweep over all rows (n p operations), so that nothing is searched for.
The rows come as columns (p, n), sorted by class: a sweep runs along whole vectors, and whether a row has the class of
the one that is kept changes at two places only.
"""

from typing import Any

import numpy as np

from didact.core.jit import jit_unmanaged

Array = np.ndarray[Any, Any]
STRIP = 512  # rows whose distances are computed at once: they stay in the first-level cache


@jit_unmanaged
def sweep(columns: Array, new: int, begin: int, stop: int, strip: Array) -> None:
    """Squared distances of rows begin … stop from row `new`."""
    m = stop - begin
    for r in range(m):
        strip[r] = 0.0
    for j in range(columns.shape[0]):
        x = columns[j, new]
        column = columns[j, begin:stop]
        for r in range(m):
            d = column[r] - x
            strip[r] += d * d


@jit_unmanaged
def lower(target: Array, begin: int, stop: int, strip: Array) -> None:
    """target[begin … stop] becomes the smaller of itself and the strip."""
    part = target[begin:stop]
    for r in range(stop - begin):
        part[r] = min(part[r], strip[r])


@jit_unmanaged
def keep_one(columns: Array, first: int, last: int, new: int, own: Array, other: Array, strip: Array) -> None:
    """Row `new`, of the class with rows first … last, is kept; its distance from itself does not count."""
    n = own.shape[0]
    mine = own[new]
    begin = 0
    while begin < n:
        stop = min(begin + strip.shape[0], n)
        if begin < first < stop:
            stop = first
        elif begin < last < stop:
            stop = last
        sweep(columns, new, begin, stop, strip)
        lower(own if first <= begin < last else other, begin, stop, strip)
        begin = stop
    own[new] = mine


@jit_unmanaged
def condense_nearest(
    columns: Array,
    codes: Array,
    edges: Array,
    order: Array,
    kept: Array,
    own: Array,
    other: Array,
    place: int,
    budget: int,
    strip: Array,
) -> tuple[int, int]:
    """Go on with a pass at `place`: keep each row that is not nearer to its own class, up to `budget` of them.

    Returns the place where the pass stands and the number of rows kept.
    """
    added = 0
    while place < order.shape[0] and added < budget:
        i = order[place]
        place += 1
        if not kept[i] and not own[i] < other[i]:
            kept[i] = True
            added += 1
            c = codes[i]
            keep_one(columns, edges[c], edges[c + 1], i, own, other, strip)
    return place, added


@jit_unmanaged
def keep_among(columns: Array, codes: Array, new: int, near: Array, votes: Array, strip: Array) -> None:
    """Row `new` is kept: it enters the lists of the k nearest kept rows, (n, k) distances and classes."""
    n, k = near.shape
    begin = 0
    while begin < n:
        stop = min(begin + strip.shape[0], n)
        sweep(columns, new, begin, stop, strip)
        for r in range(stop - begin):
            i = begin + r
            if strip[r] < near[i, k - 1] and i != new:
                slot = k - 1
                while slot > 0 and near[i, slot - 1] > strip[r]:
                    near[i, slot], votes[i, slot] = near[i, slot - 1], votes[i, slot - 1]
                    slot -= 1
                near[i, slot], votes[i, slot] = strip[r], codes[new]
        begin = stop


@jit_unmanaged
def wins(votes: Array, code: int) -> bool:
    """Whether a class has more votes than any other; −1 is no vote."""
    mine = 0
    for v in votes:
        mine += v == code
    for v in votes:
        if v != code and v >= 0:
            count = 0
            for u in votes:
                count += u == v
            if count >= mine:
                return False
    return mine > 0


@jit_unmanaged
def condense_votes(
    columns: Array,
    codes: Array,
    order: Array,
    kept: Array,
    near: Array,
    votes: Array,
    place: int,
    budget: int,
    strip: Array,
) -> tuple[int, int]:
    """As condense_nearest, by the vote of the k nearest kept rows."""
    added = 0
    while place < order.shape[0] and added < budget:
        i = order[place]
        place += 1
        if not kept[i] and not wins(votes[i], codes[i]):
            kept[i] = True
            added += 1
            keep_among(columns, codes, i, near, votes, strip)
    return place, added


@jit_unmanaged
def count_wins(codes: Array, votes: Array) -> int:
    """For how many rows the own class wins the vote."""
    total = 0
    for i in range(codes.shape[0]):
        total += wins(votes[i], codes[i])
    return total


def warm() -> None:
    """Compile on two rows."""
    columns, codes, edges, order = np.zeros((1, 2)), np.array([0, 1]), np.array([0, 1, 2]), np.arange(2)
    far, strip = np.full(2, np.inf), np.empty(STRIP)
    condense_nearest(columns, codes, edges, order, np.zeros(2, bool), far, far.copy(), 0, 2, strip)
    near, votes = np.full((2, 1), np.inf), np.full((2, 1), -1)
    condense_votes(columns, codes, order, np.zeros(2, bool), near, votes, 0, 2, strip)
    count_wins(codes, votes)
