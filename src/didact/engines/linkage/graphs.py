r"""Trees of clusters along a graph: only clusters that an edge joins are merged, the nearest pair first.

1. The graph is made symmetric and, if it has several components, completed by the shortest edge between each two.
2. Single linkage: its minimum spanning tree. Others: a heap of edges; when a and b merge, their neighbours become those
   of the new cluster. Where only one of them had an edge, that one's distance counts.

Cost: m log m for m edges, and what merges add. Heights need not ascend.
"""

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from didact.core.errors import InputError
from didact.core.typing import Array
from didact.engines.linkage.trees import merged
from didact.engines.linkage.tuning import EDGE_ROWS
from didact.engines.neighbors.tables import block_edges

Distances = Callable[[Array, Array], Array]  # of some rows, by their numbers, from others: a table


def connected_edges(graph: Any, shape: tuple[int, ...], distances: Distances) -> tuple[Array, Array, int]:
    """The edges i > j of a graph, once it is connected, and how many components it had before."""
    n = shape[0]
    if graph.shape != (n, n):
        raise InputError(
            f"Wrong shape for connectivity matrix: {graph.shape} when X is {shape}: give a row and a column "
            "for each row of X."
        )
    G = sp.coo_array(graph)
    joined = G.data != 0
    i, j = G.row[joined].astype(np.int64), G.col[joined].astype(np.int64)
    whole = sp.coo_array((np.ones(len(i), np.int8), (i, j)), shape=(n, n))
    count, labels = connected_components(whole, directed=False)
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(count + 1))
    parts = np.split(order, starts[1:-1])
    more = [_shortest(distances, order[: starts[k]], starts[:k], parts[k]) for k in range(1, count)]
    found = np.vstack([np.column_stack([i, j]), *more])
    low, high = found.min(axis=1), found.max(axis=1)
    keys = np.unique((high * n + low)[low < high])
    return keys // n, keys % n, int(count)


def _shortest(distances: Distances, before: Array, starts: Array, rows: Array) -> Array:
    """The shortest edge from some rows to each component before them; components begin at `starts`, (k, 2)."""
    best, edges = np.full(len(starts), np.inf), np.tile([before[0], rows[0]], (len(starts), 1))
    owner = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(before))))
    for first, last in block_edges(len(rows), EDGE_ROWS):
        D = distances(rows[first:last], before)
        nearest = D.argmin(axis=0)
        low = D[nearest, np.arange(len(before))]
        least = np.minimum.reduceat(low, starts)
        at = np.minimum.reduceat(np.where(low == least[owner], np.arange(len(before)), len(before) - 1), starts)
        better = least < best
        best[better], edges[better, 0] = least[better], before[at[better]]
        edges[better, 1] = rows[first + nearest[at[better]]]
    return edges


def edge_lengths(i: Array, j: Array, distances: Distances) -> Array:
    """The lengths of edges, of which those of the same i stand together."""
    starts = np.append(np.flatnonzero(np.append(True, i[1:] != i[:-1])), len(i)) if len(i) else np.zeros(1, int)
    parts = [distances(i[a : a + 1], j[a:b])[0] for a, b in pairwise(starts)]
    return np.concatenate([np.empty(0), *parts])


def graph_tree(linkage: str, n: int, i: Array, j: Array, d: Array, X: Array) -> Array:
    """Z of the merges along edges i > j of lengths d between n rows, in their order; Ward takes the rows X instead."""
    if linkage == "single":
        rank = np.empty(len(d))
        rank[np.argsort(d, kind="stable")] = np.arange(1, len(d) + 1)  # SciPy takes a length of 0 for no edge
        tree = minimum_spanning_tree(sp.csr_array((rank, (i, j)), shape=(n, n))).tocoo()
        return merged(tree.row.astype(np.int64), tree.col.astype(np.int64), np.sort(d)[tree.data.astype(int) - 1])
    ward = linkage == "ward"
    means, sizes = np.vstack([X, np.empty((n - 1, X.shape[1]))]) if ward else X, np.ones(2 * n - 1)
    if ward:
        d = _ward(means, sizes, i, j)
    near: list[dict[int, float]] = [{} for _ in range(2 * n - 1)]
    for a, b, e in zip(i.tolist(), j.tolist(), d.tolist(), strict=True):
        near[a][b] = near[b][a] = e
    heap = list(zip(d.tolist(), i.tolist(), j.tolist(), strict=True))
    heapify(heap)
    Z = np.empty((n - 1, 4))
    for k in range(n, 2 * n - 1):
        e, a, b = heappop(heap)
        while b not in near[a]:  # one of them has been merged
            e, a, b = heappop(heap)
        sizes[k] = sizes[a] + sizes[b]
        Z[k - n] = min(a, b), max(a, b), e, sizes[k]
        joined = _joined(linkage, near[a], near[b], sizes[a], sizes[b])
        del joined[a], joined[b]
        if ward:
            means[k] = means[a] + sizes[b] / sizes[k] * (means[b] - means[a])
            others = np.array(list(joined), np.int64)
            joined = dict(zip(others.tolist(), _ward(means, sizes, np.full(len(others), k), others), strict=True))
        near[a], near[b], near[k] = {}, {}, joined
        for other, e in joined.items():
            near[other].pop(a, None)
            near[other].pop(b, None)
            near[other][k] = e
            heappush(heap, (e, k, other))
    if ward:
        Z[:, 2] = np.sqrt(2.0 * Z[:, 2])
    return Z


def _joined(linkage: str, A: dict[int, float], B: dict[int, float], a: float, b: float) -> dict[int, float]:
    """The distances of the neighbours of two clusters of these sizes from both together."""
    found = A | B
    for other in A.keys() & B.keys():
        d, e = A[other], B[other]
        found[other] = max(d, e) if linkage == "complete" else (a * d + b * e) / (a + b)
    return found


def _ward(means: Array, sizes: Array, i: Array, j: Array) -> Array:
    """Half the squared Ward distances of pairs of clusters."""
    gaps = means[i] - means[j]
    found: Array = sizes[i] * sizes[j] / (sizes[i] + sizes[j]) * np.einsum("ij,ij->i", gaps, gaps)
    return found
