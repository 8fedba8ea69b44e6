"""Neighbours from tables of distances, a block of queries by a block of rows at a time: any distance, O(m n) calls.

For Python functions, kernels, given tables, distances that are not metrics, and sparse rows, which are made dense block
by block. A table takes at most 2 MB.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from didact.core.backend import as_dense
from didact.core.errors import InputError
from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.engines.neighbors.best_loops import offer_table
from didact.engines.neighbors.graphs import NEGATIVE
from didact.engines.neighbors.rows_loops import table_rows
from didact.engines.neighbors.tuning import TABLE_ENTRIES, TABLE_QUERIES, TABLE_ROWS
from didact.parts.distances import Distance, Precomputed

Found = tuple[Array, Array, Array]
NOT_A_NUMBER = "A distance is not a number: the metric must return a number for every pair of rows."


def table_nearest(noun: Any, rows: Any, Q: Any, skip: Array, best: Array, found: Array) -> None:
    """Fill in the k nearest rows of each query, in parallel over blocks of queries."""

    def piece(edges: tuple[int, int]) -> None:
        here = slice(*edges)
        for first, D in tables(noun, Q[here], rows):
            offer_table(D, first, skip[here], best[here], found[here])

    each_block(noun, piece, Q.shape[0])


def nearest_sorted(noun: Any, rows: Any, Q: Any, skip: Array, k: int) -> tuple[Array, Array]:
    """Distances and numbers of the k nearest rows by a full sort: O(n log n) per query, for k in the thousands."""

    def piece(edges: tuple[int, int]) -> tuple[Array, Array]:
        here, own = slice(*edges), skip[slice(*edges)]
        D = np.concatenate([D for _, D in tables(noun, Q[here], rows)], axis=1)
        some = np.flatnonzero(own >= 0)
        D[some, own[some]] = np.nan  # sorts behind everything
        order = np.argsort(D, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(D, order, axis=1), order

    size = int(np.clip(TABLE_ENTRIES // max(rows.shape[0], 1), 1, TABLE_QUERIES))
    parts = each_block(noun, piece, Q.shape[0], size) or [(np.empty((0, k)), np.empty((0, k), np.int64))]
    distances, found = (np.concatenate(part) for part in zip(*parts, strict=True))
    if np.isnan(distances).any():
        raise InputError(NOT_A_NUMBER)
    return distances, found


def table_within(noun: Any, rows: Any, Q: Any, skip: Array, radius: float) -> list[Found]:
    """For each block of queries: the number of rows within the radius, their numbers and distances."""

    def piece(edges: tuple[int, int]) -> Found:
        here = slice(*edges)
        parts = [_inside(D, first, skip[here], radius) for first, D in tables(noun, Q[here], rows)]
        i, j, d = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.argsort(i, kind="stable")
        return np.bincount(i, minlength=edges[1] - edges[0]), j[order], d[order]

    return each_block(noun, piece, Q.shape[0])


def _inside(D: Array, first: int, skip: Array, radius: float) -> Found:
    inside = radius >= D
    own = skip - first
    some = np.flatnonzero((own >= 0) & (own < D.shape[1]))
    inside[some, own[some]] = False
    i, j = np.nonzero(inside)
    return i, j + first, D[i, j]


def each_block(noun: Any, piece: Callable[[tuple[int, int]], Any], m: int, size: int | None = None) -> list[Any]:
    """Run all pieces, on the thread pool if compiled; Python functions run one at a time and can be interrupted."""
    edges = block_edges(m, size or TABLE_QUERIES)
    return parallel_map(piece, edges) if compiled(noun) else [piece(one) for one in edges]


def compiled(noun: Any) -> bool:
    """Whether compiled loops can call it: a Numba function, or a distance with scalar methods."""
    return not isinstance(noun, Distance) or noun.compiled


def tables(noun: Any, Q: Any, rows: Any) -> Iterator[tuple[int, Array]]:
    """Yield, block by block of the rows, the number of the first row and the table of distances from all queries."""
    if isinstance(noun, Precomputed):
        D = np.ascontiguousarray(dense_rows(Q), np.float64)
        if D.min(initial=0.0) < 0:
            raise InputError(NEGATIVE)
        yield 0, D
        return
    Q = dense_rows(Q)
    for a, b in block_edges(rows.shape[0], TABLE_ROWS):
        X = dense_rows(rows[a:b])
        if compiled(noun):
            D = np.empty((len(Q), len(X)))
            table_rows(noun, Q.astype(np.float64, copy=False), X.astype(np.float64, copy=False), D)
        else:
            D = np.ascontiguousarray(noun.pairwise(Q, X), np.float64)
        yield a, D


def dense_rows(X: Any) -> Array:
    """Rows as a dense array in C order."""
    return np.ascontiguousarray(as_dense(X))


def block_edges(n: int, size: int) -> list[tuple[int, int]]:
    """The edges of blocks of at most `size` rows."""
    return list(pairwise([*range(0, n, size), n])) if n else []
