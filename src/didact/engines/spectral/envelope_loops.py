r"""Compiled shortest paths of all pairs in a narrow graph, by elimination in the algebra of min and plus.

With the nodes in an order in which neighbours are near, node j has its first neighbour at f_j, and eliminating the
nodes one by one adds edges between :math:`f_j` and j only:

.. math:: W_{ji} = \min\big(W_{ji}, \min_{k<i} W_{jk} + W_{ik}\big)

A shortest path then leads up the order and down again. So the distances from a source are two sweeps, as the solution
of a system by its triangular factors is: :math:`d_j = \min_{i<j} d_i + W_{ji}`, rising, and then
:math:`d_i = \min_{j>i} d_j + W_{ji}`, falling.

Layout, for n nodes in their order; l_i is the last neighbour of node i::

    W         [ node 0: none      | node 1: to f_1 … 0 | node 2: to f_2 … 1 | … ]   infinite where there is no edge
                ^ edges[0]          ^ edges[1]           ^ edges[2]                 first (n,): the f_j
    V         [ node 0: to 1 … l_0 | node 1: to 2 … l_1 | … ]   the same edges, by the earlier of their nodes
                ^ turned[0]          ^ turned[1]                last (n,): the l_i
    d         node j [ source 0 | source 1 | … | source ABREAST − 1 ]   (n, ABREAST) distances, of a thread
    out       (n, n) distances by the numbers of the nodes, which order (n,) holds

Memory: at any time a sweep looks at as many rows of d as the graph is wide, which stay in the first cache. Arithmetic:
n b² for the elimination of a graph of width b, and 2 n b for each source, ABREAST at a time.

Carré (1971), An algebra for network routing problems, doi:10.1093/imamat/7.3.273; Delling, Goldberg, Nowatzyk, Werneck
(2013), PHAST, doi:10.1016/j.jpdc.2012.02.007.
"""

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.jit.atomics import atomic_add
from didact.core.typing import Array

ABREAST = 32
# Unsigned places need no check of their sign.
NEXT, SECOND, THIRD, FOURTH = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


@jit_unmanaged
def eliminate(first: Array, edges: Array, W: Array) -> None:
    """Add the edges that stand for paths through earlier nodes."""
    for j in range(len(first)):
        low = first[j]
        row = edges[j] - low
        for i in range(low + 1, j):
            other = edges[i] - first[i]
            best = W[row + i]
            for k in range(max(low, first[i]), i):
                d = W[row + k] + W[other + k]
                best = d if d < best else best
            W[row + i] = best


@jit_unmanaged
def turn_edges(first: Array, edges: Array, W: Array, turned: Array, V: Array) -> None:
    """Put the edges into V, by the earlier of their nodes; V is infinite before."""
    for j in range(len(first)):
        for i in range(first[j], j):
            V[turned[i] + j - i - 1] = W[edges[j] + i - first[j]]


@jit_unmanaged
def sweep_pass(
    turn: Array, first: Array, edges: Array, W: Array, last: Array, turned: Array, V: Array, order: Array, d: Array,
    out: Array,
) -> None:  # fmt: skip
    """Take pieces of ABREAST sources until there are no more; the distances of all nodes from each."""
    n = len(first)
    for _ in range(turn[1]):
        start = atomic_add(turn, 0, 1) * ABREAST
        if start >= n:
            return
        for j in range(n):
            for lane in range(ABREAST):
                d[j, lane] = np.inf
        sources = min(ABREAST, n - start)
        for lane in range(sources):
            d[start + lane, lane] = 0.0
        for j in range(start + 1, n):
            low = max(first[j], start)
            _nearer(j, low, j, edges[j] + low - first[j], W, d)
        for i in range(n - 2, -1, -1):
            _nearer(i, i + 1, last[i] + 1, turned[i], V, d)
        for lane in range(sources):
            source = order[start + lane]
            for j in range(n):
                out[source, order[j]] = d[j, lane]


@jit_unmanaged
def _nearer(node: int, low: int, high: int, at: int, W: Array, d: Array) -> None:
    """The distances of a node by its edges to the nodes from low to high, of which W has the lengths from `at` on."""
    here, i, e, count = d[np.uint64(node)], np.uint64(low), np.uint64(at), np.uint64(high) - np.uint64(low)
    for _ in range(count // FOURTH):
        w0, w1, w2, w3 = W[e], W[e + NEXT], W[e + SECOND], W[e + THIRD]
        y0, y1, y2, y3 = d[i], d[i + NEXT], d[i + SECOND], d[i + THIRD]
        for lane in range(np.uint64(ABREAST)):
            a, b, c, f = y0[lane] + w0, y1[lane] + w1, y2[lane] + w2, y3[lane] + w3
            a = b if b < a else a
            c = f if f < c else c
            a = c if c < a else a
            b = here[lane]
            here[lane] = a if a < b else b
        i, e = i + FOURTH, e + FOURTH
    for _ in range(count % FOURTH):
        w0, y0 = W[e], d[i]
        for lane in range(np.uint64(ABREAST)):
            a, b = y0[lane] + w0, here[lane]
            here[lane] = a if a < b else b
        i, e = i + NEXT, e + NEXT


def warm() -> None:
    """Compile."""
    from didact.engines.spectral.paths import Narrow, by_elimination, undirected

    one = np.zeros(1, np.int64)
    graph = undirected(one, one + 1, np.ones(1), 2)
    by_elimination(graph, Narrow.of(graph))
