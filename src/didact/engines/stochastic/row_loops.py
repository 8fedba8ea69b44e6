"""Compiled products with one row, written once for arrays and CSR matrices.

A loop takes rows as `Dense(X)` or `Sparse(data, indices, indptr)` and reads the entries of row i at the positions
begin1 … end1 − 1, each with its column. Which of the two it is is resolved when the loop is compiled.

Layout::

    Dense   X (n, p) row by row: row i has the positions 0 … p − 1, and position k is column k
    Sparse  data     [ values of row 0  | values of row 1 | … ]
            indices  [ columns of row 0 | …                   ]   row i: positions indptr[i] … indptr[i + 1] − 1
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import REASSOCIATE, dispatch, jit, prefetch
from didact.core.typing import Array

CACHE_LINE = 8  # numbers

begin1 = dispatch("begin1")
end1 = dispatch("end1")
column1 = dispatch("column1")
entry1 = dispatch("entry1")
scattered1 = dispatch("scattered1")
ask1 = dispatch("ask1")


class Dense(NamedTuple):
    """Rows of an array."""

    X: Array

    def begin1(self, i: int) -> int:
        """The position of the first entry of row i."""
        return 0

    def end1(self, i: int) -> int:
        """The position after the last entry of row i."""
        return self.X.shape[1]

    def column1(self, k: int) -> int:
        """The column of the entry at position k."""
        return k

    def entry1(self, i: int, k: int) -> float:
        """The entry of row i at position k."""
        return self.X[i, k]

    def scattered1(self) -> bool:
        """Whether successive entries may belong to distant columns."""
        return False

    def ask1(self, i: int) -> None:
        """Prefetch all cache lines of row i."""
        for k in range(0, self.X.shape[1], CACHE_LINE):
            prefetch(self.X, np.uint64(i), np.uint64(k))


class Sparse(NamedTuple):
    """Rows of a CSR matrix."""

    data: Array
    indices: Array
    indptr: Array

    def begin1(self, i: int) -> int:
        """The position of the first entry of row i."""
        return self.indptr[i]

    def end1(self, i: int) -> int:
        """The position after the last entry of row i."""
        return self.indptr[i + 1]

    def column1(self, k: int) -> Any:
        """The column of the entry at position k, unsigned: no test for negative indices is compiled."""
        return np.uint64(self.indices[np.uint64(k)])

    def entry1(self, i: int, k: int) -> float:
        """The entry of row i at position k."""
        return self.data[np.uint64(k)]

    def scattered1(self) -> bool:
        """Whether successive entries may belong to distant columns."""
        return True

    def ask1(self, i: int) -> None:
        """Prefetch all cache lines of row i."""
        for k in range(self.indptr[i], self.indptr[i + 1], CACHE_LINE):
            prefetch(self.data, np.uint64(0), np.uint64(k))
            prefetch(self.indices, np.uint64(0), np.uint64(k))


@jit(fastmath=REASSOCIATE)
def row_dot(rows: Any, i: int, v: Array) -> float:
    """Row i times v."""
    total = 0.0
    for k in range(begin1(rows, i), end1(rows, i)):
        total += entry1(rows, i, k) * v[column1(rows, k)]
    return total


@jit
def scattered_dot(rows: Any, i: int, v: Array) -> float:
    """Row i times v in four partial sums: scalar loads are faster than the gather instructions of vectorised code."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    begin, end = begin1(rows, i), end1(rows, i)
    whole = begin + (end - begin) // 4 * 4
    for k in range(begin, whole, 4):
        a += entry1(rows, i, k) * v[column1(rows, k)]
        b += entry1(rows, i, k + 1) * v[column1(rows, k + 1)]
        c += entry1(rows, i, k + 2) * v[column1(rows, k + 2)]
        d += entry1(rows, i, k + 3) * v[column1(rows, k + 3)]
    for k in range(whole, end):
        a += entry1(rows, i, k) * v[column1(rows, k)]
    return (a + b) + (c + d)


@jit(fastmath=REASSOCIATE)
def add_row(rows: Any, i: int, step: float, v: Array) -> None:
    """Add step times row i to v."""
    for k in range(begin1(rows, i), end1(rows, i)):
        v[column1(rows, k)] += step * entry1(rows, i, k)
