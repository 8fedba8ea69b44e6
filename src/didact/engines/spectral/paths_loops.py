r"""Compiled shortest paths: the distances of all nodes of a graph along its edges (Dijkstra), and of new nodes.

From each node the nearest one not yet left is left next, and what its edges lead to becomes nearer. The nodes to be
left stand in a heap of four children each, whose distances lie side by side in memory. A new node reaches every other
by one of its own edges and the shortest path from there.

Layout, for n nodes, each edge in both directions; for m new nodes likewise, with out (m, n)::

    ends      [ where edges of node 0 lead | those of node 1 | … ]
    lengths   [ their lengths              | …                   ]
                ^ starts[0]                  ^ starts[1]
    keys      [ nearest | 1 2 3 4 | 5 … 8 | 9 … 12 | … | free ]   distances of the nodes to be left, as a heap: place k
    heap      [ node    | …                            | free ]   has the children 4k + 1 … 4k + 4;  place (n,): where
                                                                 a node is in the heap, −1 before it is there
    out       source i [ node 0 | node 1 | … ]   (n, n) distances

Memory: the graph, heap and one row of distances stay in a cache. Arithmetic: for each source n removals of log n
comparisons.

Dijkstra (1959), doi:10.1007/BF01386390.
"""

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.jit.atomics import atomic_add
from didact.core.typing import Array


@jit_unmanaged
def path_pass(
    turn: Array, size: int, starts: Array, ends: Array, lengths: Array, out: Array, keys: Array, heap: Array,
    place: Array,
) -> None:  # fmt: skip
    """Take pieces of `size` sources until there are no more; the distances of all nodes from each."""
    n = out.shape[0]
    for _ in range(turn[1]):
        first = atomic_add(turn, 0, 1) * size
        if first >= n:
            return
        for source in range(first, min(first + size, n)):
            _paths(source, starts, ends, lengths, out, keys, heap, place)


@jit_unmanaged
def _paths(
    source: int, starts: Array, ends: Array, lengths: Array, out: Array, keys: Array, heap: Array, place: Array
) -> None:
    """The distances of all nodes from one; infinite where no path leads."""
    for j in range(out.shape[1]):
        out[source, j], place[j] = np.inf, -1
    out[source, source], keys[0], heap[0], count = 0.0, 0.0, source, 1
    while count > 0:
        here, node = keys[0], heap[0]
        count -= 1
        if count > 0:
            _sink(keys, heap, place, count)
        for e in range(starts[node], starts[node + 1]):
            j, d = ends[e], here + lengths[e]
            if d < out[source, j]:
                out[source, j] = d
                k = place[j]
                if k < 0:
                    k = count
                    count += 1
                while k > 0 and keys[(k - 1) >> 2] > d:
                    up = (k - 1) >> 2
                    keys[k], heap[k] = keys[up], heap[up]
                    place[heap[k]] = k
                    k = up
                keys[k], heap[k], place[j] = d, j, k


@jit_unmanaged
def _sink(keys: Array, heap: Array, place: Array, count: int) -> None:
    """Put the last node of the heap, at `count`, in the place of the first, and let it sink."""
    key, node, k = keys[count], heap[count], 0
    while True:
        child = 4 * k + 1
        if child >= count:
            break
        best = child
        for c in range(child + 1, min(child + 4, count)):
            if keys[c] < keys[best]:
                best = c
        if keys[best] >= key:
            break
        keys[k], heap[k] = keys[best], heap[best]
        place[heap[k]] = k
        k = best
    keys[k], heap[k], place[node] = key, node, k


@jit_unmanaged
def link_pass(turn: Array, size: int, starts: Array, ends: Array, lengths: Array, D: Array, out: Array) -> None:
    """Take pieces of `size` new nodes until there are no more; their distances along their edges and the paths D."""
    m = out.shape[0]
    for _ in range(turn[1]):
        first = atomic_add(turn, 0, 1) * size
        if first >= m:
            return
        for i in range(first, min(first + size, m)):
            for j in range(out.shape[1]):
                out[i, j] = np.inf
            for e in range(starts[i], starts[i + 1]):
                node, length = ends[e], lengths[e]
                for j in range(out.shape[1]):
                    d = length + D[node, j]
                    out[i, j] = d if d < out[i, j] else out[i, j]


def warm() -> None:
    """Compile for both float types."""
    from didact.engines.spectral.paths import from_every_node, linked_paths, undirected

    one = np.zeros(1, np.int64)
    graph = undirected(one, one, np.ones(1), 2)
    for dtype in (np.float64, np.float32):
        D = from_every_node(graph).astype(dtype)
        linked_paths(np.arange(2), one, np.ones(1), D)
