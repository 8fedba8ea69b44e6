r"""Compiled minimum spanning tree of all rows (Prim): n − 1 times the row that is nearest to the tree joins it.

A step compares the row that joined last with all rows outside, which keep the distance from the nearest row inside,
and finds the least of these. No table of distances is needed. The rows outside stand in slots; those of a slice belong
to one thread, and a row that leaves is replaced by the last of its slice. Of equally near rows the first joins.

Layout, for n rows and as many slices of slots as threads::

    ids, best, owner (n,)  [ rows of slice 0 | free ][ rows of slice 1 | free ] …   number, distance from the tree, and
                             ^ edges[0]                ^ edges[1]                   the row of the tree it is from;
                                                                                    counts[s] rows are left in slice s
    T (p, n)               the rows outside as columns, slot by slot (Euclidean distances, of which squares are kept)
    X (n, p)               the rows for other distances, or a table of all distances (n, n)
    query (p,)             the row that joined last;  least, place (slices,)  the nearest row outside of each slice
    now (4,)               [ row that joined last | edges found | tasks of this step | work of a distance ]
    first, second, length (n − 1,)   the edges

Memory: (p + 3) n numbers, read once in a step. Arithmetic: n²/2 distances.

Prim (1957), doi:10.1002/j.1538-7305.1957.tb01515.x.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import dispatch, jit_unmanaged
from didact.core.jit.atomics import claim_task, is_last, is_over, is_task, post, take_task, wait_for_step
from didact.core.typing import Array
from didact.engines.linkage.gaps_loops import GAP_TILE, lowest, squares_into
from didact.engines.linkage.tuning import STEP_NUMBERS
from didact.parts.distances import (
    BrayCurtis,
    Canberra,
    Chebyshev,
    Euclidean,
    Hamming,
    Haversine,
    Jaccard,
    Manhattan,
    Minkowski,
)

between1 = dispatch("between1")
BY_COLUMNS, BY_TABLE, BY_PAIRS = 0, 1, 2  # where distances come from: columns, a table, a noun


class Outside(NamedTuple):
    """The rows outside the tree, and the edges of the tree."""

    T: Array
    X: Array
    ids: Array
    best: Array
    owner: Array
    edges: Array
    counts: Array
    query: Array
    least: Array
    place: Array
    now: Array
    first: Array
    second: Array
    length: Array


@jit_unmanaged
def spanning_steps(
    me: int, noun: Any, kind: int, S: Outside, board: Array, claims: Array, room: Array, steps: int
) -> bool:
    """Take part in some steps; whether the tree is done."""
    for _ in range(steps):
        ticket = take_task(board)
        if is_over(board, ticket):
            return True
        if not is_task(ticket):
            wait_for_step(board, ticket)
            continue
        if S.now[2] == 1:
            for s in range(S.counts.shape[0]):
                _scan(noun, kind, S, s, room)
        else:
            _scan(noun, kind, S, claim_task(claims, S.now[2], me), room)
        if is_last(board, ticket):
            _join(S)
            done = S.now[1] == S.first.shape[0]
            tasks = next_tasks((S.first.shape[0] - S.now[1]) * S.now[3], claims)
            S.now[2] = tasks
            post(board, 0 if done else tasks)
    return False


@jit_unmanaged
def next_tasks(numbers: int, claims: Array) -> int:
    """One task for each slice if the numbers of a step are worth it, else one for all; nothing is claimed."""
    for k in range(claims.shape[0]):
        claims[k] = 0
    return claims.shape[0] if numbers >= STEP_NUMBERS else 1


@jit_unmanaged
def _scan(noun: Any, kind: int, S: Outside, s: int, room: Array) -> None:
    """Compare a slice with the row that joined last, and find its row nearest to the tree."""
    q, start, stop = S.now[0], S.edges[s], S.edges[s] + S.counts[s]
    S.least[s], S.place[s] = np.inf, -1
    for first in range(start, stop, GAP_TILE):
        count = min(GAP_TILE, stop - first)
        ids, best, owner = S.ids[first : first + count], S.best[first : first + count], S.owner[first : first + count]
        if kind == BY_COLUMNS:
            squares_into(S.T, first, count, S.query, room)
        elif kind == BY_TABLE:
            for j in range(count):
                room[j] = S.X[q, ids[j]]
        else:
            for j in range(count):
                room[j] = between1(noun, S.X[q], S.X[ids[j]])
        for j in range(count):
            nearer = room[j] < best[j]
            best[j] = room[j] if nearer else best[j]
            owner[j] = q if nearer else owner[j]
        low = lowest(best, count)
        if low <= S.least[s]:
            for j in range(count):
                if best[j] == low and (low < S.least[s] or S.place[s] < 0 or ids[j] < S.ids[S.place[s]]):
                    S.least[s], S.place[s] = low, first + j


@jit_unmanaged
def _join(S: Outside) -> None:
    """The nearest row of all slices joins the tree and leaves its slot."""
    found = -1
    for s in range(S.counts.shape[0]):
        if S.place[s] >= 0:
            nearer = found < 0 or S.least[s] < S.least[found]
            if nearer or (S.least[s] == S.least[found] and S.ids[S.place[s]] < S.ids[S.place[found]]):
                found = s
    place, last, edge = S.place[found], S.edges[found] + S.counts[found] - 1, S.now[1]
    S.first[edge], S.second[edge], S.length[edge] = S.owner[place], S.ids[place], S.best[place]
    S.now[0], S.now[1] = S.ids[place], edge + 1
    for k in range(S.T.shape[0]):
        S.query[k] = S.T[k, place]
        S.T[k, place] = S.T[k, last]
    S.ids[place], S.best[place], S.owner[place] = S.ids[last], S.best[last], S.owner[last]
    S.counts[found] -= 1


@jit_unmanaged
def number_merges(order: Array, first: Array, second: Array, heights: Array, parent: Array, Z: Array) -> None:
    """The merges in their order as rows of a linkage matrix: numbers of both clusters, height, size.

    `parent` (2n − 1,) and the sizes in Z are those of a union-find forest; a cluster that merge i makes has number
    n + i.
    """
    n = order.shape[0] + 1
    for i in range(2 * n - 1):
        parent[i] = i
    for i in range(n - 1):
        a, b = _root(parent, first[order[i]]), _root(parent, second[order[i]])
        size = (1.0 if a < n else Z[a - n, 3]) + (1.0 if b < n else Z[b - n, 3])
        parent[a], parent[b] = n + i, n + i
        Z[i, 0], Z[i, 1], Z[i, 2], Z[i, 3] = min(a, b), max(a, b), heights[order[i]], size


@jit_unmanaged
def _root(parent: Array, i: int) -> int:
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


def warm() -> None:
    """Compile for every distance."""
    from didact.engines.linkage.trees import spanning_tree

    X, one = np.ones((3, 2)), np.ones(2)
    others = Hamming(one, 2.0), Minkowski(3.0)
    plain = BrayCurtis(), Canberra(), Chebyshev(), Euclidean(), Haversine(), Jaccard(), Manhattan()
    for noun in (*plain, *others):
        spanning_tree(noun, X)
