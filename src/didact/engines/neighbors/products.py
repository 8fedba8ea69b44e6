"""Brute force by blocked matrix products with exact refinement, for the Euclidean distance.

Rows are centred and scaled to at most 1, products are computed in float32, at half the price of float64. Their error
has a bound (below), within which all rows that may be among the k best are kept, and the distances of these computed
from differences in float64. Queries with too many such rows, by ties or by large offsets within the data, are asked
again with products in float64, and, if need be, in another way. Memory: 2 MB a thread, whatever the number of queries.

The bound: with unit roundoff u, a product of p terms is off by at most (p + 3) u ‖q‖‖x‖ for rounded rows and any order
of summation, ½‖x‖² and the difference by u(‖x‖² + ‖q‖‖x‖) (Higham, doi:10.1137/1.9780898718027, chapter 3).
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.engines.neighbors import products_loops
from didact.engines.neighbors.tuning import CANDIDATES, PRODUCT_ENTRIES, PRODUCT_QUERIES, PRODUCT_ROWS, PRODUCT_WORK

FAR_QUERY = 1e15  # queries that are farther from the rows than this many times their size are left to float64


class Centred(NamedTuple):
    """Rows less their centre, times a power of 2 so that none is larger than 1, and half their squared lengths."""

    centre: Array
    scale: float
    rows: Array
    half: Array
    size: Array  # of each block of rows the greatest length


def centred(X: Array, dtype: Any) -> Centred:
    """The rows X, centred, in a float type."""
    centre = X.mean(axis=0, dtype=np.float64)
    parts = list(pairwise([*range(0, len(X), PRODUCT_ROWS), len(X)]))
    largest = max(float(np.abs(X[a:b] - centre).max(initial=0.0)) for a, b in parts)
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
    """Fill the lists of the k best, but for the queries whose numbers are returned."""
    n, p = X.shape
    most = min(PRODUCT_WORK / (2.0 * n * p), PRODUCT_ENTRIES / _room(n, best.shape[1]))
    size = int(np.clip(most, 16, PRODUCT_QUERIES))
    edges = list(pairwise([*range(0, len(Q), size), len(Q)])) if len(Q) else []

    def piece(edges: tuple[int, int]) -> Array:
        here = slice(*edges)
        left = _piece(X, ready, Q[here], skip[here], best[here], found[here])
        return edges[0] + left

    return np.concatenate([np.empty(0, np.int64), *parallel_map(piece, edges)])


def _piece(X: Array, ready: Centred, Q: Array, skip: Array, best: Array, found: Array) -> Array:
    """One block of queries against all rows; the numbers of those with too many candidates."""
    (m, p), k, n = Q.shape, best.shape[1], len(X)
    queries = (Q - ready.centre) * ready.scale
    length = np.sqrt(np.einsum("ij,ij->i", queries, queries))
    count = np.where(length < FAR_QUERY, 0, -1)
    queries = np.where(count[:, None] < 0, 0.0, queries).astype(ready.rows.dtype)
    room = _room(n, k)
    lists = np.full((m, k), np.inf), np.empty((m, room), np.int64), np.empty((m, room)), count
    buffer = np.empty(m * PRODUCT_ROWS, ready.rows.dtype)
    for t, a in enumerate(range(0, n, PRODUCT_ROWS)):
        b = min(a + PRODUCT_ROWS, n)
        P = np.matmul(queries, ready.rows[a:b].T, out=buffer[: m * (b - a)].reshape(m, b - a))
        margin = _margin(p, length, ready.size[t], ready.rows.dtype)
        products_loops.collect(P, ready.half[a:b], a, margin, skip, *lists)
    products_loops.refine_candidates(Q, X, *lists, best, found)
    return np.flatnonzero(count < 0)


def _room(n: int, k: int) -> int:
    """How many candidates a query may have."""
    return min(n, max(CANDIDATES, 4 * k))


def _margin(p: int, length: Array, size: float, dtype: Any) -> Array:
    """How far a computed ½‖x‖² − q·x of rows of at most this size can be from the true one, for each query.

    What underflows adds an absolute error. Distances from differences are rounded, too, and rows at equal ones must
    stay together, however far away the query is: the last term.
    """
    u, fine = float(np.finfo(dtype).eps) / 2.0, 2.0**-53
    product = u * ((p + 6.0) * length * size + 2.0 * size * size) + p * float(np.finfo(dtype).tiny)
    return 1.05 * (product + fine * (p + 6.0) * (length + size) ** 2)
