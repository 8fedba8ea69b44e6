"""Neighbours from tables of distances, a block of queries by a block of rows at a time: any distance, O(m n) calls.

The way for functions of Python, kernels and given tables. A table takes at most 16 MB.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from didact.core.threads import parallel_map
from didact.engines.index.best_loops import offer_table
from didact.parts.distances import Precomputed

Array = np.ndarray[Any, Any]
QUERIES, ROWS = 512, 4096


def nearest(distance: Any, rows: Any, Q: Any, skip: Array, best: Array, found: Array) -> None:
    """Fill the lists of the k best, in parallel over blocks of queries."""

    def piece(edges: tuple[int, int]) -> None:
        here = slice(*edges)
        for first, D in tables(distance, Q[here], rows):
            offer_table(D, first, skip[here], best[here], found[here])

    parallel_map(piece, blocks(Q.shape[0], QUERIES))


def within(distance: Any, rows: Any, Q: Any, skip: Array, radius: float) -> list[tuple[Array, Array, Array]]:
    """For each block of queries how many rows lie in the radius, which, and how far."""

    def piece(edges: tuple[int, int]) -> tuple[Array, Array, Array]:
        here = slice(*edges)
        parts = []
        for first, D in tables(distance, Q[here], rows):
            inside = radius >= D
            own = skip[here] - first
            some = np.flatnonzero((own >= 0) & (own < D.shape[1]))
            inside[some, own[some]] = False
            i, j = np.nonzero(inside)
            parts.append((i, j + first, D[i, j]))
        i, j, d = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.argsort(i, kind="stable")
        return np.bincount(i, minlength=edges[1] - edges[0]), j[order], d[order]

    return parallel_map(piece, blocks(Q.shape[0], QUERIES))


def tables(distance: Any, Q: Any, rows: Any) -> Iterator[tuple[int, Array]]:
    """The number of the first row and the distances of all queries to a block of rows, block by block."""
    if isinstance(distance, Precomputed):
        yield 0, np.ascontiguousarray(Q, np.float64)
        return
    Q = dense(Q)
    for a, b in blocks(rows.shape[0], ROWS):
        yield a, np.ascontiguousarray(distance.pairwise(Q, dense(rows[a:b])), np.float64)


def dense(X: Any) -> Array:
    """Rows as an array."""
    return np.asarray(X.toarray() if sp.issparse(X) else X)


def blocks(n: int, size: int) -> list[tuple[int, int]]:
    """The edges of blocks of at most `size` rows."""
    return list(pairwise([*range(0, n, size), n])) if n else []
