"""Brute force by blocked matrix products with exact refinement, for the Euclidean distance.

Rows are centred and scaled to at most 1, and products are computed in float32, in half the time of float64. Their
error is bounded (see below): all rows that may be among the k best are kept as candidates, and the distances of these
are computed from differences in float64. Queries with too many candidates, because of ties or large offsets within the
data, are repeated with products in float64 and, if needed, by another method. Memory: 2 MB per thread, for any number
of queries.

The bound: with unit roundoff u, a product of p terms is off by at most (p + 3) u ‖q‖‖x‖ for rounded rows and any order
of summation, ½‖x‖² and the difference by u(‖x‖² + ‖q‖‖x‖) (Higham, doi:10.1137/1.9780898718027, chapter 3).
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from didact.core.threads import parallel_map, thread_count
from didact.core.typing import Array
from didact.engines.neighbors import products_loops
from didact.engines.neighbors.tuning import (
    BLOCKS_AT_ONCE,
    CANDIDATES,
    PRODUCT_ENTRIES,
    PRODUCT_QUERIES,
    PRODUCT_ROWS,
    PRODUCT_WORK,
)

FAR_QUERY = 1e15  # queries farther away than this many times the size of the rows are left to float64


class Centred(NamedTuple):
    """Rows minus their centre, scaled by a power of 2 so that no entry exceeds 1, and half their squared lengths."""

    centre: Array
    scale: float
    rows: Array
    half: Array
    size: Array  # the largest length in each block of rows


def centred(X: Array, dtype: Any) -> Centred:
    """The rows X, centred, in a float type."""
    centre = X.mean(axis=0, dtype=np.float64)
    parts = list(pairwise([*range(0, len(X), PRODUCT_ROWS), len(X)]))
    largest = max(float(np.abs(X[a:b] - centre).max(initial=0.0)) for a, b in parts)
    # A power of 2 rounds nothing; with entries of at most 1 no product overflows in float32.
    scale = 2.0 ** -np.ceil(np.log2(largest)) if np.isfinite(largest) and largest > 0 else 1.0
    out = Centred(
        centre=centre,
        scale=scale,
        rows=np.empty(X.shape, dtype),
        half=np.empty(len(X), dtype),
        size=np.empty(len(parts)),
    )

    def piece(item: tuple[int, tuple[int, int]]) -> None:
        t, (a, b) = item
        block = (X[a:b] - centre) * scale
        squares = np.einsum("ij,ij->i", block, block)
        out.rows[a:b], out.half[a:b], out.size[t] = block, 0.5 * squares, np.sqrt(squares.max())

    parallel_map(piece, list(enumerate(parts)))
    return out


def product_nearest(X: Array, ready: Centred, Q: Array, skip: Array, best: Array, found: Array) -> Array:
    """Fill in the k nearest rows of each query; returns the numbers of the queries that had too many candidates."""
    n, p = X.shape
    most = min(PRODUCT_WORK / (2.0 * n * p), PRODUCT_ENTRIES / _room(n, best.shape[1]))
    pieces, threads = -(-len(Q) // int(np.clip(most, 16, PRODUCT_QUERIES))), thread_count()
    pieces = -(-pieces // threads) * threads if pieces > 1 else pieces  # all threads end at the same time
    edges = list(pairwise(np.linspace(0, len(Q), pieces + 1).astype(int).tolist())) if len(Q) else []

    def piece(edges: tuple[int, int]) -> Array:
        here = slice(*edges)
        left = _piece(X, ready, Q[here], skip[here], best[here], found[here])
        return edges[0] + left

    return np.concatenate([np.empty(0, np.int64), *parallel_map(piece, edges)])


def _piece(X: Array, ready: Centred, Q: Array, skip: Array, best: Array, found: Array) -> Array:
    """One block of queries against all rows; returns the numbers of those with too many candidates."""
    (m, p), k, n = Q.shape, best.shape[1], len(X)
    queries = (Q - ready.centre) * ready.scale
    length = np.sqrt(np.einsum("ij,ij->i", queries, queries))
    count = np.where(length < FAR_QUERY, 0, -1)
    queries = np.where(count[:, None] < 0, 0.0, queries).astype(ready.rows.dtype)
    room = _room(n, k)
    lists = np.full((m, k), np.inf), np.empty((m, room), np.int64), np.empty((m, room)), count
    # Threads meet at the interpreter lock in every turn: there are few, and what they need is made for all at once.
    step = BLOCKS_AT_ONCE * PRODUCT_ROWS
    sizes = np.maximum.reduceat(ready.size, range(0, len(ready.size), BLOCKS_AT_ONCE))
    margins = _margin(p, length, sizes[:, None], ready.rows.dtype)
    buffer = np.empty(m * step, ready.rows.dtype)
    for t, a in enumerate(range(0, n, step)):
        b = min(a + step, n)
        P = np.matmul(queries, ready.rows[a:b].T, out=buffer[: m * (b - a)].reshape(m, b - a))
        products_loops.collect(P, ready.half[a:b], a, margins[t], skip, *lists)
    products_loops.refine_candidates(Q, X, *lists, best, found)
    return np.flatnonzero(count < 0)


def _room(n: int, k: int) -> int:
    """The most candidates that a query may have."""
    return min(n, max(CANDIDATES, 4 * k))


def _margin(p: int, length: Array, size: Any, dtype: Any) -> Array:
    """A bound of the error of the computed ½‖x‖² − q·x for each query, over rows of at most this size.

    Underflow adds an absolute error. The last term covers the rounding of exact distances: rows whose rounded
    distances are equal must all remain candidates, however far away the query is.
    """
    u, fine = float(np.finfo(dtype).eps) / 2.0, 2.0**-53
    product = u * ((p + 6.0) * length * size + 2.0 * size * size) + p * float(np.finfo(dtype).tiny)
    return 1.05 * (product + fine * (p + 6.0) * (length + size) ** 2)
