"""An index of rows: the k nearest of a query, and all within a radius, by the method that suits the distance.

Neighbours come in ascending order of distance; of rows at equal distances the one with the lower number comes first,
and is kept where not all of them can be. Whatever the method, distances are computed from differences in float64.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from didact.core.errors import InputError, ParameterError
from didact.engines.index import tables

Array = np.ndarray[Any, Any]
METHODS = ("auto", "brute", "kd_tree", "ball_tree")


class Index(NamedTuple):
    """Rows as the distance transforms them, and what finds neighbours among them."""

    distance: Any
    rows: Any
    method: str
    leaf_size: int = 64

    @property
    def n_rows(self) -> int:
        """How many rows there are to find."""
        return int(self.rows.shape[0])

    def nearest(self, Q: Any, k: int) -> tuple[Array, Array]:
        """Distances (m, k) and numbers (m, k) of the k nearest rows of each query.

        Q of None asks for the neighbours of the indexed rows themselves, each without itself.
        """
        most = self.n_rows - (Q is None)
        if not 1 <= k <= most:
            raise InputError(
                f"Expected n_neighbors <= n_samples_fit: {k} neighbours were asked for, and there are {most} rows."
            )
        Q, skip = self._queries(Q)
        m = Q.shape[0]
        best, found = np.full((m, k), np.inf), np.full((m, k), self.n_rows, np.int64)
        tables.nearest(self.distance.inner, self.rows, Q, skip, best, found)
        if m and found.max() >= self.n_rows:
            raise InputError("A distance is not a number: the metric must return numbers for all pairs of rows.")
        return self.distance.finish(best), found

    def within(self, Q: Any, radius: float) -> tuple[Array, Array, Array]:
        """All rows at most `radius` away: the edges (m + 1,) of each query's part, row numbers (ascending), distances.

        Q of None asks for the neighbours of the indexed rows themselves, each without itself.
        """
        Q, skip = self._queries(Q)
        parts = tables.within(self.distance.inner, self.rows, Q, skip, self.distance.start(radius))
        if not parts:
            return np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0)
        counts, rows, distances = (np.concatenate(part) for part in zip(*parts, strict=True))
        return np.append(0, np.cumsum(counts)), rows.astype(np.int64), self.distance.finish(distances)

    def _queries(self, Q: Any) -> tuple[Any, Array]:
        """Transformed queries, and for each the number of the row that is itself, or −1."""
        if Q is None:
            return self.rows, np.arange(self.n_rows)
        Q = _plain(self.distance.rows(Q))
        if Q.ndim != 2 or Q.shape[1] != self.rows.shape[1]:
            raise InputError(f"Queries have {Q.shape[-1]} columns, the indexed rows {self.rows.shape[1]}.")
        return Q, np.full(Q.shape[0], -1)


def build(X: Any, distance: Any, method: str = "auto", leaf_size: int = 64) -> Index:
    """An index of the rows X (an array, CSR, or for precomputed distances the square table)."""
    if method not in METHODS:
        raise ParameterError(f"method is one of {', '.join(METHODS)}, not {method!r}.")
    return Index(distance, _plain(distance.rows(X)), method, leaf_size)


def _plain(X: Any) -> Any:
    """Rows as loops want them: C order, float32 or float64; or CSR."""
    if sp.issparse(X):
        return X.tocsr()
    X = np.asarray(X)
    if X.dtype == object:
        return X
    return np.ascontiguousarray(X, X.dtype if X.dtype in (np.float32, np.float64) else np.float64)
