"""All distances of some rows, each once, in a line: that of rows j < i stands at i (i − 1)/2 + j."""

from typing import Any

import numpy as np

from didact.core.threads import parallel_map, share_pieces
from didact.core.typing import Array
from didact.engines.linkage.gaps_loops import GAP_TILE, euclidean_triangle
from didact.engines.linkage.tuning import TRIANGLE_ROWS
from didact.engines.neighbors.tables import block_edges, compiled, each_block, tables
from didact.engines.neighbors.words.distances import EditDistance
from didact.engines.neighbors.words.edit_index import lines_before, number_words
from didact.parts.distances import Euclidean, resized


def distance_triangle(noun: Any, X: Array) -> Array:
    """The distances of rows X, by a noun or a compiled function; on all threads unless Python computes them."""
    n, D = len(X), np.empty(len(X) * (len(X) - 1) // 2)
    if isinstance(noun, Euclidean):
        T, edges = np.ascontiguousarray(X.T), np.append(np.arange(0, n, TRIANGLE_ROWS), n)
        share_pieces(len(edges) - 1, lambda turn: euclidean_triangle(turn, edges, X, T, D, np.empty(GAP_TILE)))
        return D
    if isinstance(noun, EditDistance):
        words, costs = number_words(X[:, 0]), noun.costs.array()
        parallel_map(
            lambda edges: _put_lines(D, edges[0], lines_before(words, costs, *edges)), block_edges(n, TRIANGLE_ROWS)
        )
        return D
    noun = resized(noun, X)
    inner, rows = noun.inner, noun.rows(X)

    def piece(edges: tuple[int, int]) -> None:
        for first, table in tables(inner, rows[slice(*edges)], rows[: edges[1]]):
            _put_lines(D, edges[0], noun.finish(table), first)

    each_block(inner, piece, n, TRIANGLE_ROWS if compiled(inner) else 1)
    return D


def lower_triangle(table: Array) -> Array:
    """The distances of a square table."""
    D = np.empty(len(table) * (len(table) - 1) // 2)
    _put_lines(D, 0, table)
    return D


def _put_lines(D: Array, start: int, table: Array, first: int = 0) -> None:
    """Set the distances of rows from `start` on from the rows `first` and following, as far as these come before."""
    for i, line in enumerate(table, start):
        place, count = i * (i - 1) // 2 + first, min(len(line), i - first)
        if count > 0:
            D[place : place + count] = line[:count]
