"""Compiled tables of distances, for any distance of two rows: one call per pair.

Layout: Q (m, p), X (n, p) and D (m, n) are stored row by row; X is processed in tiles of 256 rows, which stay in the
cache while all queries are compared with them::

            X[a : a + 256]
    Q[0]  [ D[0, a] … ]
    Q[1]  [ D[1, a] … ]  …
"""

from typing import Any

import numpy as np

from didact.core.jit import dispatch, jit
from didact.core.typing import Array
from didact.engines.neighbors.tuning import CACHED_ROWS
from didact.parts.distances import (
    BrayCurtis,
    Canberra,
    Chebyshev,
    Euclidean,
    Gower,
    Hamming,
    Haversine,
    Jaccard,
    Manhattan,
    Minkowski,
)

between1 = dispatch("between1")


@jit
def table_rows(noun: Any, Q: Array, X: Array, D: Array) -> None:
    """Fill in the distances of all rows of Q to all rows of X, in float64 for any type of rows."""
    q = np.empty(Q.shape[1])
    for a in range(0, X.shape[0], CACHED_ROWS):
        for i in range(Q.shape[0]):
            for j in range(q.shape[0]):
                q[j] = Q[i, j]
            for row in range(a, min(a + CACHED_ROWS, X.shape[0])):
                D[i, row] = between1(noun, q, X[row])


def warm() -> None:
    """Compile for float64 and every distance."""
    X, one = np.ones((1, 2)), np.ones(2)
    others = Gower(one, np.ones(2, np.bool_), one), Hamming(one, 2.0), Minkowski(3.0)
    plain = BrayCurtis(), Canberra(), Chebyshev(), Euclidean(), Haversine(), Jaccard(), Manhattan()
    for noun in (*plain, *others):
        table_rows(noun, X, X, np.ones((1, 1)))
