"""A kernel whose values stand in a table: rows are numbers of rows of a matrix."""

from typing import Any, NamedTuple, Self

import numpy as np

from didact.core.backend import as_dense, like, to_numpy
from didact.core.errors import InputError
from didact.core.sparse import check_sparse
from didact.core.typing import AnyArray, Array
from didact.kernels.base import Kernel
from didact.parts.noun import require

SYMMETRIC = 1e-6  # of the largest value: what rounding may do to symmetry


class Tabulated(Kernel, NamedTuple("Tabulated", [("matrix", Any)])):
    """k(i, j) = G_ij for rows that are numbers of rows of a given matrix G: of all things, fitted ones and new ones.

    Every kernel model takes it, with X a column of numbers; so do sums, products and multiples. Unlike
    kernel="precomputed" it knows the values among new rows, which the variances of a Gaussian process need.
    Cost: n² numbers are kept; values are looked up. Rasmussen, Williams (2006), Gaussian Processes for Machine
    Learning, chapter 4, has the conditions on G.

    >>> from didact.kernels import Tabulated
    >>> k = Tabulated([[2.0, 1.0], [1.0, 3.0]])
    >>> (k + 1.0)([[0], [1]])
    array([[3., 2.],
           [2., 4.]])
    """

    __slots__ = ()

    def __new__(cls, matrix: Any) -> Self:
        """A square symmetric matrix of finite numbers, of which a copy is kept."""
        G = np.array(to_numpy(as_dense(check_sparse(matrix, "matrix"))), np.float64)
        require(G.ndim == 2 and G.shape[0] == G.shape[1] > 0, f"A kernel matrix is square; this has shape {G.shape}.")
        require(bool(np.isfinite(G).all()), "The kernel matrix contains NaN or infinity.")
        uneven = np.abs(G - G.T).max() > SYMMETRIC * np.abs(G).max()
        require(not uneven, "The kernel matrix is not symmetric: entries ij and ji belong to the same two rows.")
        G.flags.writeable = False
        return super().__new__(cls, G)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and np.array_equal(self.matrix, other.matrix)

    def __hash__(self) -> int:
        return hash((type(self).__qualname__, self.matrix.tobytes()))

    def _numbers(self, X: AnyArray) -> Array:
        """The numbers of rows."""
        values = to_numpy(as_dense(X))
        n = len(self.matrix)
        found = values.astype(np.int64).ravel()
        if values.shape[1] != 1 or not ((found == values[:, 0]) & (found >= 0) & (found < n)).all():
            raise InputError(f"Tabulated takes one column, with numbers of rows of its matrix from 0 to {n - 1}.")
        return found

    def gram(self, X: AnyArray, Z: AnyArray | None = None) -> AnyArray:
        """The entries of these rows and columns."""
        i = self._numbers(X)
        return like(self.matrix[np.ix_(i, i if Z is None else self._numbers(Z))], X)

    def diagonal(self, X: AnyArray, same: bool = True) -> AnyArray:
        """The diagonal entries of these rows."""
        return like(self.matrix.diagonal()[self._numbers(X)], X)
