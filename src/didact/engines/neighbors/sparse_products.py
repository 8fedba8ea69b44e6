"""Euclidean brute force between sparse rows: blocked products with error bounds, and exact refinement.

‖q‖² − 2 q·x + ‖x‖² cancels if q and x are long and close together, so products only select candidates; their distances
are then computed from differences of the sparse rows. A block of queries, of at most 32 MB, is made dense for the
product, which costs 2 operations per stored value of X and query.
"""

from typing import Any

import numpy as np

from didact.core.sparse import row_slice
from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.engines.neighbors import products_loops, sparse_loops
from didact.engines.neighbors.products import FAR_QUERY, _margin, _room
from didact.engines.neighbors.tables import block_edges
from didact.engines.neighbors.tuning import PRODUCT_ROWS, SPARSE_ENTRIES, SPARSE_QUERIES

STEP = 8 * PRODUCT_ROWS


def sparse_nearest(X: Any, Q: Any, skip: Array, best: Array, found: Array) -> Array:
    """Fill in the k nearest rows of each query; returns the numbers of the queries that had too many candidates."""
    squares = np.asarray(X.multiply(X).sum(axis=1), np.float64).ravel()
    size = int(np.clip(SPARSE_ENTRIES // max(X.shape[1], 1), 1, SPARSE_QUERIES))

    def piece(edges: tuple[int, int]) -> Array:
        here = slice(*edges)
        return edges[0] + _piece(X, squares, Q[here], skip[here], best[here], found[here])

    return np.concatenate([np.empty(0, np.int64), *parallel_map(piece, block_edges(Q.shape[0], size))])


def _piece(X: Any, squares: Array, Q: Any, skip: Array, best: Array, found: Array) -> Array:
    """One block of queries against all rows; returns the numbers of those with too many candidates."""
    m, k, n = Q.shape[0], best.shape[1], X.shape[0]
    T = np.ascontiguousarray(Q.toarray().T, np.float64)
    length = np.sqrt((T * T).sum(axis=0))
    count = np.where(length < FAR_QUERY, 0, -1)
    room = _room(n, k)
    lists = np.full((m, k), np.inf), np.empty((m, room), np.int64), np.empty((m, room)), count
    terms = int(np.diff(X.indptr).max(initial=0)) + 1
    for a, b in block_edges(n, STEP):
        P = np.ascontiguousarray((row_slice(X, a, b) @ T).T, np.float64)
        margin = _margin(terms, length, float(np.sqrt(squares[a:b].max())), np.float64)
        products_loops.collect(P, 0.5 * squares[a:b], a, margin, skip, *lists)
    sparse_loops.refine_sparse(
        Q.data, Q.indices, Q.indptr, X.data, X.indices, X.indptr, *lists, best, found
    )  # fmt: skip
    return np.flatnonzero(count < 0)
