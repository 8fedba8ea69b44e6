r"""Compiled chain of nearest neighbours: each cluster of the chain is the nearest one to that before it.

The last two are merged as soon as they are nearest to each other. The other clusters of the chain stay: complete,
average and Ward distances never shrink below what they were before a merge (they are reducible), so that the tree is
that of always merging the nearest pair. A step compares the last cluster with all others; the n − 1 merges take at most
3n steps. Of equally near clusters the one before it in the chain counts, else the first.

Ward distances come from means and sizes, :math:`\frac{ab}{a+b}\|m_a - m_b\|^2`, without a table. For the others a
triangle of all distances is kept, of which those from a merged cluster are computed anew.

Layout, for n rows and as many slices of slots as threads; a cluster has the number of its last row::

    ids, sizes (n,)       [ clusters of slice 0 | free ][ clusters of slice 1 | free ] …   counts[s] of them;
                            ^ edges[0]                    ^ edges[1]                       T (p, n): means (Ward)
    where (n,)            the slot of each cluster, −1 once it is merged into another
    D (n (n − 1)/2,)      [ d₁₀ | d₂₀ d₂₁ | d₃₀ d₃₁ d₃₂ | … ]   by numbers of clusters, for complete and average
                            clusters j < i at i (i − 1)/2 + j
    chain (n,)            [ cluster | nearest of it | nearest of that | … | free ]   query (p,): the mean of the last
    least, before, nearest (slices,)   of each slice the least distance from it, the distance of the cluster
                          before it in the chain (infinite: in another slice), and the nearest cluster
    now (8,)              [ MERGING | LENGTH | MERGES | CHAIN_END | BEFORE | START | CHAIN_TASKS | CHAIN_WORK ]:
                          1 if distances are being merged, length of the chain, merges, last cluster and the one before
                          it, the first cluster that may be left, tasks of this step, work of a distance
    first, second, height (n − 1,)   the merges

Memory: Ward (p + 4) n numbers, read once in a step; else D, of which a step reads n numbers, most of them far apart.
Arithmetic: at most 3/2 n² distances.

Murtagh (1983), doi:10.1093/comjnl/26.4.354; Müllner (2013), doi:10.18637/jss.v053.i09.
"""

from typing import NamedTuple

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.jit.atomics import claim_task, is_last, is_over, is_task, post, take_task, wait_for_step
from didact.core.typing import Array
from didact.engines.linkage.gaps_loops import GAP_TILE, lowest, place_of, squares_into
from didact.engines.linkage.spanning_loops import next_tasks

WARD, COMPLETE, AVERAGE = 0, 1, 2
MERGING, LENGTH, MERGES, CHAIN_END, BEFORE, START, CHAIN_TASKS, CHAIN_WORK = range(8)


class Merging(NamedTuple):
    """The clusters that are left, the chain, and the merges so far."""

    T: Array
    D: Array
    ids: Array
    sizes: Array
    where: Array
    edges: Array
    counts: Array
    chain: Array
    query: Array
    least: Array
    before: Array
    nearest: Array
    now: Array
    first: Array
    second: Array
    height: Array


@jit_unmanaged
def chain_steps(me: int, kind: int, C: Merging, board: Array, claims: Array, room: Array, steps: int) -> bool:
    """Take part in some steps; whether all clusters are one."""
    for _ in range(steps):
        ticket = take_task(board)
        if is_over(board, ticket):
            return True
        if not is_task(ticket):
            wait_for_step(board, ticket)
            continue
        first = claim_task(claims, C.now[CHAIN_TASKS], me) if C.now[CHAIN_TASKS] > 1 else 0
        for s in range(first, first + 1 if C.now[CHAIN_TASKS] > 1 else C.counts.shape[0]):
            if C.now[MERGING] == 1:
                _merge_rows(kind, C, s)
            else:
                _scan(kind, C, s, room)
        if is_last(board, ticket):
            if C.now[MERGING] == 1:
                C.now[MERGING] = 0
                _remove(C)
                _begin(C)
            else:
                _decide(kind, C)
            left = C.height.shape[0] + 1 - C.now[MERGES]
            tasks = next_tasks(left * C.now[CHAIN_WORK], claims)
            C.now[CHAIN_TASKS] = tasks
            post(board, 0 if left == 1 and C.now[MERGING] == 0 else tasks)
    return False


@jit_unmanaged
def _scan(kind: int, C: Merging, s: int, room: Array) -> None:
    """The cluster of a slice that is nearest to the last one of the chain."""
    x, y, start, stop = C.now[CHAIN_END], C.now[BEFORE], C.edges[s], C.edges[s] + C.counts[s]
    C.least[s], C.before[s], C.nearest[s] = np.inf, np.inf, -1
    own, previous = C.where[x], C.where[y] if y >= 0 else -1
    size = C.sizes[own]
    for first in range(start, stop, GAP_TILE):
        count = min(GAP_TILE, stop - first)
        ids, sizes = C.ids[first : first + count], C.sizes[first : first + count]
        if kind == WARD:
            squares_into(C.T, first, count, C.query, room)
            _weigh(size, sizes, count, room)
        else:
            row = C.D[x * (x - 1) // 2 :]
            for j in range(count):
                k = ids[j]
                if k != x:  # which is put right below
                    room[j] = row[k] if k < x else C.D[k * (k - 1) // 2 + x]
        if first <= own < first + count:
            room[own - first] = np.inf
        if first <= previous < first + count:
            C.before[s] = room[previous - first]
        low = lowest(room, count)
        if low <= C.least[s]:
            for j in range(count):
                better = low < C.least[s] or C.nearest[s] < 0 or ids[j] < C.nearest[s]
                if room[j] == low and better and first + j != own:
                    C.least[s], C.nearest[s] = low, ids[j]


@jit_unmanaged(error_model="numpy")
def _weigh(size: float, sizes: Array, count: int, room: Array) -> None:
    """Multiply squared distances by ab/(a + b); no size is 0, and a check of that would keep it out of vectors."""
    for j in range(count):
        room[j] *= size * sizes[j] / (size + sizes[j])


@jit_unmanaged
def _decide(kind: int, C: Merging) -> None:
    """Merge the last two clusters of the chain, or make it longer."""
    found, before = -1, np.inf
    for s in range(C.counts.shape[0]):
        before = min(before, C.before[s])
        if C.nearest[s] >= 0:
            nearer = found < 0 or C.least[s] < C.least[found]
            if nearer or (C.least[s] == C.least[found] and C.nearest[s] < C.nearest[found]):
                found = s
    x, y, m = C.now[CHAIN_END], C.now[BEFORE], C.now[MERGES]
    if y >= 0 and before <= C.least[found]:
        C.first[m], C.second[m], C.height[m] = min(x, y), max(x, y), before
        C.now[MERGES], C.now[LENGTH] = m + 1, C.now[LENGTH] - 2
        if kind != WARD:
            C.now[MERGING] = 1
            return
        a, b = C.where[max(x, y)], C.where[min(x, y)]
        share = C.sizes[b] / (C.sizes[a] + C.sizes[b])
        for k in range(C.T.shape[0]):
            C.T[k, a] += share * (C.T[k, b] - C.T[k, a])
        _remove(C)
    else:
        C.chain[C.now[LENGTH]] = C.nearest[found]
        C.now[LENGTH] += 1
    _begin(C)


@jit_unmanaged
def _merge_rows(kind: int, C: Merging, s: int) -> None:
    """The distances of the clusters of a slice from that of the last merge."""
    m = C.now[MERGES] - 1
    a, b = C.first[m], C.second[m]
    left, right = C.sizes[C.where[a]], C.sizes[C.where[b]]
    for slot in range(C.edges[s], C.edges[s] + C.counts[s]):
        k = C.ids[slot]
        if k != a and k != b:
            i = place_of(b, k)
            d, e = C.D[place_of(a, k)], C.D[i]
            C.D[i] = max(d, e) if kind == COMPLETE else (left * d + right * e) / (left + right)


@jit_unmanaged
def _remove(C: Merging) -> None:
    """The second cluster of the last merge takes the rows of the first; the last one of the slice takes its slot."""
    m = C.now[MERGES] - 1
    a, b = C.where[C.second[m]], C.where[C.first[m]]
    C.sizes[a] += C.sizes[b]
    s = 0
    while C.edges[s + 1] <= b:
        s += 1
    C.counts[s] -= 1
    last = C.edges[s] + C.counts[s]
    for k in range(C.T.shape[0]):
        C.T[k, b] = C.T[k, last]
    C.ids[b], C.sizes[b] = C.ids[last], C.sizes[last]
    C.where[C.ids[b]] = b
    C.where[C.first[m]] = -1


@jit_unmanaged
def _begin(C: Merging) -> None:
    """Set what the next step looks at: the end of the chain, or else the first cluster that is left."""
    if C.now[LENGTH] == 0:
        while C.where[C.now[START]] < 0:
            C.now[START] += 1
        C.chain[0], C.now[LENGTH] = C.now[START], 1
    x = C.chain[C.now[LENGTH] - 1]
    C.now[CHAIN_END], C.now[BEFORE] = x, C.chain[C.now[LENGTH] - 2] if C.now[LENGTH] > 1 else -1
    for k in range(C.T.shape[0]):
        C.query[k] = C.T[k, C.where[x]]


def warm() -> None:
    """Compile."""
    from didact.engines.linkage.trees import chained

    chained("ward", np.eye(3))
