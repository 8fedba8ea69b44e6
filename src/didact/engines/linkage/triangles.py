"""All distances of some rows, each once, in a line: that of rows j < i stands at i (i − 1)/2 + j."""

from typing import Any

import numpy as np

from didact.core.threads import share_pieces
from didact.core.typing import Array
from didact.engines.linkage.gaps_loops import GAP_TILE, euclidean_triangle
from didact.engines.linkage.tuning import TRIANGLE_ROWS
from didact.engines.neighbors.tables import compiled, each_block, tables
from didact.parts.distances import Euclidean, resized


def distance_triangle(noun: Any, X: Array) -> Array:
    """The distances of rows X, by a noun or a compiled function; on all threads unless Python computes them."""
    n, D = len(X), np.empty(len(X) * (len(X) - 1) // 2)
    if isinstance(noun, Euclidean):
        T, edges = np.ascontiguousarray(X.T), np.append(np.arange(0, n, TRIANGLE_ROWS), n)
        share_pieces(len(edges) - 1, lambda turn: euclidean_triangle(turn, edges, X, T, D, np.empty(GAP_TILE)))
        return D
    noun = resized(noun, X)
    inner, rows = noun.inner, noun.rows(X)

    def piece(edges: tuple[int, int]) -> None:
        for first, table in tables(inner, rows[slice(*edges)], rows[: edges[1]]):
            for i, line in enumerate(noun.finish(table), edges[0]):
                _put(D, i, first, line)

    each_block(inner, piece, n, TRIANGLE_ROWS if compiled(inner) else 1)
    return D


def lower_triangle(table: Array) -> Array:
    """The distances of a square table."""
    D = np.empty(len(table) * (len(table) - 1) // 2)
    for i, line in enumerate(table):
        _put(D, i, 0, line)
    return D


def _put(D: Array, i: int, first: int, line: Array) -> None:
    """Set the distances of row i from the rows `first` and following, as far as they come before it."""
    start, count = i * (i - 1) // 2 + first, min(len(line), i - first)
    if count > 0:
        D[start : start + count] = line[:count]
