"""Distances along a graph of neighbours: shortest paths of all pairs, of new points, and graphs in several parts."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee

from didact.core.errors import InputError
from didact.core.threads import share_pieces
from didact.core.typing import Array
from didact.engines.spectral.envelope_loops import ABREAST, eliminate, sweep_pass, turn_edges
from didact.engines.spectral.paths_loops import link_pass, path_pass
from didact.engines.spectral.tuning import ELIMINATED_WIDTH, PATH_SOURCES


def undirected(i: Array, j: Array, lengths: Array, n: int) -> Any:
    """The graph of edges (i, j) in both directions; of several between two nodes the shortest. Length 0 is an edge."""
    a, b, d = np.append(i, j), np.append(j, i), np.append(lengths, lengths).astype(np.float64)
    order = np.lexsort((d, b, a))
    a, b, d = a[order], b[order], d[order]
    first = np.append(True, (np.diff(a) != 0) | (np.diff(b) != 0)) if len(a) else np.zeros(0, bool)
    starts = np.append(0, np.cumsum(np.bincount(a[first], minlength=n)))
    return sp.csr_matrix((d[first], b[first], starts), (n, n))


def parts_of(graph: Any) -> tuple[int, Array]:
    """The number of connected components, and the component of each node."""
    ones = sp.csr_matrix((np.ones(graph.nnz), graph.indices, graph.indptr), graph.shape)
    count, labels = connected_components(ones, directed=False)
    return int(count), np.asarray(labels)


def bridges(D: Array, labels: Array, count: int) -> tuple[Array, Array, Array]:
    """For each two components the nearest two of their nodes, by a table of all distances: i, j and the length."""
    order = np.argsort(labels, kind="stable")
    D = D[np.ix_(order, order)]
    edges = np.append(0, np.cumsum(np.bincount(labels, minlength=count)))
    found = []
    for a in range(count):
        for b in range(a):
            block = D[edges[a] : edges[a + 1], edges[b] : edges[b + 1]]
            row, column = divmod(int(block.argmin()), block.shape[1])
            found.append((order[edges[a] + row], order[edges[b] + column], block[row, column]))
    i, j, lengths = (np.array(values) for values in zip(*found, strict=True))
    return i, j, lengths


def shortest_paths(graph: Any) -> Array:
    """The distances (n, n) of all pairs of nodes along an undirected graph, on all threads.

    By elimination where an order of the nodes makes the graph narrow, as that of points on a curve or a sheet is; else
    by Dijkstra's algorithm from every node.
    """
    narrow = Narrow.of(graph)
    return by_elimination(graph, narrow) if narrow.width <= ELIMINATED_WIDTH else from_every_node(graph)


class Narrow(NamedTuple):
    """An order of the nodes (n,) in which neighbours are near, and of each the place of its first neighbour."""

    order: Array
    first: Array

    @classmethod
    def of(cls, graph: Any) -> "Narrow":
        """By the order of Cuthill and McKee."""
        order = reverse_cuthill_mckee(graph, symmetric_mode=True).astype(np.int64)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        first = place.copy()
        np.minimum.at(first, *_ends(graph, place))
        return cls(order, first[order])

    @property
    def width(self) -> float:
        """The mean number of places between a node and its first neighbour."""
        return float((np.arange(len(self.first)) - self.first).mean())


def _ends(graph: Any, place: Array) -> tuple[Array, Array]:
    """The node at the beginning of each edge, and the place of the one at its end."""
    return np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr)), place[graph.indices]


def by_elimination(graph: Any, narrow: Narrow) -> Array:
    """`shortest_paths` of a narrow graph."""
    n, (order, first) = graph.shape[0], narrow
    edges = np.append(0, np.cumsum(np.arange(n) - first))
    place = np.empty_like(order)
    place[order] = np.arange(n)
    i, b = _ends(graph, place)
    a = place[i]
    below = b < a
    W = np.full(edges[-1], np.inf)
    W[edges[a[below]] - first[a[below]] + b[below]] = graph.data[below]
    eliminate(first, edges, W)
    last = np.arange(n)
    np.maximum.at(last, first, np.arange(n))
    last = np.maximum.accumulate(last)
    turned = np.append(0, np.cumsum(last - np.arange(n)))
    V = np.full(turned[-1], np.inf)
    turn_edges(first, edges, W, turned, V)
    parts, out = (first, edges, W, last, turned, V, order), np.empty((n, n))
    share_pieces(-(-n // ABREAST), lambda turn: sweep_pass(turn, *parts, np.empty((n, ABREAST)), out))
    return out


def from_every_node(graph: Any) -> Array:
    """`shortest_paths` by Dijkstra's algorithm."""
    n = graph.shape[0]
    out, parts = np.empty((n, n)), (graph.indptr.astype(np.int64), graph.indices.astype(np.int64), graph.data)

    def loop(turn: Array) -> None:
        path_pass(turn, PATH_SOURCES, *parts, out, np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64))

    share_pieces(-(-n // PATH_SOURCES), loop)
    return out


def linked_paths(starts: Array, ends: Array, lengths: Array, D: Array) -> Array:
    """The distances (m, n) of new nodes, by their edges to old ones and the distances D of these, on all threads."""
    if D.shape[0] != D.shape[1] or ends.max(initial=-1) >= len(D):
        raise InputError(f"The distances {D.shape} are not of all pairs of the fitted rows: fit the model anew.")
    out = np.empty((len(starts) - 1, D.shape[0]))
    edges = starts.astype(np.int64), ends.astype(np.int64), lengths.astype(np.float64)
    share_pieces(-(-len(out) // PATH_SOURCES), lambda turn: link_pass(turn, PATH_SOURCES, *edges, D, out))
    return out
