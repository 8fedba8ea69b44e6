r"""Trees of clusters as SciPy's linkage matrices: who merges, at which distance, and how many rows result.

Row i of Z (n − 1, 4) merges the clusters Z[i, 0] < Z[i, 1] at the height Z[i, 2] into cluster n + i of Z[i, 3] rows;
clusters below n are rows of the data. Heights ascend.

1. `spanning_tree`, single linkage: the edges of a minimum spanning tree, shortest first.
2. `chained`, complete, average and Ward linkage: a chain of nearest neighbours.
3. `cut` undoes the last merges.
"""

import math
from collections.abc import Callable
from heapq import heappush, heappushpop
from typing import Any

import numpy as np

from didact.core.jit.atomics import new_board, stop_all
from didact.core.threads import parallel_map, thread_count
from didact.core.typing import Array
from didact.engines.linkage.chain_loops import AVERAGE, COMPLETE, WARD, Merging, chain_steps
from didact.engines.linkage.gaps_loops import GAP_TILE
from didact.engines.linkage.spanning_loops import (
    BY_COLUMNS,
    BY_PAIRS,
    BY_TABLE,
    Outside,
    number_merges,
    spanning_steps,
)
from didact.engines.linkage.tuning import CALL_STEPS, FETCH, PAIR_WORK, STEP_NUMBERS
from didact.parts.distances import Euclidean

CHAINS = {"ward": WARD, "complete": COMPLETE, "average": AVERAGE}


def spanning_tree(noun: Any, X: Array) -> Array:
    """Z of single linkage by a compiled distance between rows X (n, p), or by a table X of distances (noun None)."""
    n = len(X)
    plain = isinstance(noun, Euclidean)
    kind = BY_TABLE if noun is None else BY_COLUMNS if plain else BY_PAIRS
    T = np.array(X[1:].T, order="C") if plain else np.empty((0, n - 1))
    work = FETCH if noun is None else len(T) if plain else PAIR_WORK * X.shape[1]
    edges = _slices(n - 1, work)
    S = Outside(
        T=T,
        X=np.empty((0, 0)) if plain else X,
        ids=np.arange(1, n),
        best=np.full(n - 1, np.inf),
        owner=np.zeros(n - 1, np.int64),
        edges=edges,
        counts=np.diff(edges),
        query=X[0].copy() if plain else np.empty(0),
        least=np.empty(len(edges) - 1),
        place=np.empty(len(edges) - 1, np.int64),
        now=np.array([0, 0, len(edges) - 1, work]),
        first=np.empty(n - 1, np.int64),
        second=np.empty(n - 1, np.int64),
        length=np.empty(n - 1),
    )
    noun = Euclidean() if noun is None else noun
    _together(len(edges) - 1, lambda me, *shared: spanning_steps(me, noun, kind, S, *shared))
    return merged(S.first, S.second, np.sqrt(S.length) if plain else S.length)


def grown_tree(n: int, offer: Callable[[int, Array, Array], None]) -> Array:
    """Z of single linkage by distances that are not there all at once: those from a row are asked for as it joins.

    offer(i, best, owner) lowers the distance `best` of each row from the tree to that from row i, where it is less, and
    sets the row's owner to i; rows of the tree have best < 0.
    """
    best, owner, edges, lengths, i = np.full(n, np.inf), np.zeros(n, np.int64), np.empty((2, n - 1), np.int64), [], 0
    for edge in range(n - 1):
        best[i] = -1.0
        offer(i, best, owner)
        left = np.flatnonzero(best >= 0)
        i = int(left[best[left].argmin()])
        edges[:, edge] = owner[i], i
        lengths.append(best[i])
    return merged(edges[0], edges[1], np.array(lengths))


def chained(linkage: str, X: Array) -> Array:
    """Z of Ward linkage of rows X, or of complete or average linkage of a triangle X of distances, which is used up."""
    ward = linkage == "ward"
    n = len(X) if ward else (1 + math.isqrt(1 + 8 * len(X))) // 2
    T = np.array(X.T, order="C") if ward else np.empty((0, n))
    work = len(T) if ward else FETCH
    edges = _slices(n, work)
    C = Merging(
        T=T,
        D=np.empty(0) if ward else X,
        ids=np.arange(n),
        sizes=np.ones(n),
        where=np.arange(n),
        edges=edges,
        counts=np.diff(edges),
        chain=np.zeros(n + 1, np.int64),
        query=X[0].copy() if ward else np.empty(0),
        least=np.empty(len(edges) - 1),
        before=np.empty(len(edges) - 1),
        nearest=np.empty(len(edges) - 1, np.int64),
        now=np.array([0, 1, 0, 0, -1, 0, len(edges) - 1, work]),
        first=np.empty(n - 1, np.int64),
        second=np.empty(n - 1, np.int64),
        height=np.empty(n - 1),
    )
    _together(len(edges) - 1, lambda me, *shared: chain_steps(me, CHAINS[linkage], C, *shared))
    return merged(C.first, C.second, np.sqrt(2.0 * C.height) if ward else C.height)


def _slices(n: int, work: int) -> Array:
    """The edges of the parts of n slots that different threads look at."""
    return np.linspace(0, n, max(1, min(thread_count(), n * work // STEP_NUMBERS)) + 1).astype(np.int64)


def _together(slices: int, steps: Callable[..., bool]) -> None:
    """Have a thread for each slice take part until all is done."""
    board, claims = new_board(slices), np.zeros(slices, np.int64)

    def join(me: int) -> None:
        room = np.empty(GAP_TILE)
        try:
            while not steps(me, board, claims, room, CALL_STEPS):
                pass
        except BaseException:  # Ctrl-C between two calls; others may wait for this thread's task
            stop_all(board)
            raise

    parallel_map(join, range(slices))


def merged(first: Array, second: Array, heights: Array) -> Array:
    """Z of merges in any order, each given by two rows of the clusters that it joins."""
    n = len(first) + 1
    Z = np.empty((n - 1, 4))
    order = np.argsort(heights, kind="stable")
    number_merges(order, first, second, heights, np.empty(2 * n - 1, np.int64), Z)
    return Z


def cut(children: Array, n: int, count: int) -> Array:
    """The clusters of the n rows when `count` are left, numbered as scikit-learn does."""
    pairs = children.tolist()
    heads = [-(n + len(pairs) - 1)]  # a heap of the clusters, the last one made first
    for _ in range(count - 1):
        a, b = pairs[-heads[0] - n]
        heappush(heads, -a)
        heappushpop(heads, -b)
    label = np.full(n + len(pairs), -1).tolist()
    for i, head in enumerate(heads):
        label[-head] = i
    for i in range(len(pairs) - 1, -1, -1):
        if label[n + i] >= 0:
            a, b = pairs[i]
            label[a] = label[b] = label[n + i]
    return np.array(label[:n], np.int64)
