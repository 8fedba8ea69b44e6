r"""A design matrix as coordinate descent sees it: dense or sparse, centred and scaled in thought only.

With column means m and scales s the matrix is :math:`(X - 1m^T)\,\mathrm{diag}(1/s)` and inner products are weighted by
the rows. Sparse data stay sparse: the means enter as a correction of rank one. An intercept is m taken from the data
(and m = 0 without one), so no solver mentions it.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from didact.core.backend import is_sparse, small_product
from didact.core.rows import Block, MemoryRows, Rows
from didact.core.sparse import row_slice
from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.engines.linear.tuning import COLUMN_RANGES, SHORT_COLUMN
from didact.parts.statistics.column_loops import sparse_column_sums
from didact.parts.statistics.moments import Sums


@dataclass(frozen=True)
class Design:
    """Rows X (n, p) in memory with weights w (None: ones), means and scales (None: ones) of the columns."""

    X: Any
    w: Any
    mean: Array
    scale: Array | None = None

    @classmethod
    def of(cls, rows: Rows, centred: bool, scaled: bool = False) -> "Design":
        """The design of the rows, centred at its weighted means and scaled to unit weighted deviations if asked."""
        X, _, w, *_ = rows.whole()
        n, p = X.shape
        total = float(n) if w is None else float(w.sum())
        ones = np.ones(n) if w is None else w
        sums, squares = MemoryRows(X, None, ones, names=rows.names).reduce(_column_sums, scaled).parts
        mean = sums / total if centred else np.zeros(p)
        if not scaled:
            return cls(X, w, mean)
        deviation = np.sqrt(np.maximum(squares / total - mean * mean, 0.0))
        return cls(X, w, mean, np.where(deviation > 0, deviation, 1.0))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.X.shape

    def matvec(self, b: Array) -> Array:
        """The matrix times b, a vector or a matrix (p, k)."""
        b = b if self.scale is None else (b.T / self.scale).T
        return np.asarray(self.X @ b - self.mean @ b)

    def rmatvec(self, r: Array) -> Array:
        """The transposed matrix times the weighted rows of r, a vector or a matrix (n, k)."""
        r = r if self.w is None else (self.w * r.T).T
        out = _transposed_product(self.entries if is_sparse(self.X) else self.X, r)
        out = out - np.multiply.outer(self.mean, r.sum(axis=0))
        return out if self.scale is None else (out.T / self.scale).T

    @cached_property
    def entries(self) -> Any:
        """Sparse X, by columns (CSC) where these are short: sums of all columns for each piece of rows cost more."""
        return self.X.tocsc() if self.X.nnz <= SHORT_COLUMN * self.X.shape[1] else self.X

    def columns(self, chosen: Array) -> Any:
        """Some columns: a dense centred and scaled array in column order, or sparse columns as they are."""
        if is_sparse(self.X):
            return self.entries[:, chosen].tocsc()
        block = np.subtract(self.X[:, chosen], self.mean[chosen], order="F", dtype=np.float64)
        return block if self.scale is None else block / self.scale[chosen]

    def gram(self, chosen: Array, weight: Array | None = None) -> Array:
        """Inner products of some columns, weighted by the rows (and by `weight`, if given)."""
        w = self.w if weight is None else weight if self.w is None else self.w * weight
        block = self.columns(chosen)
        if not is_sparse(block):
            return np.asarray(small_product(block.T, block if w is None else w[:, None] * block))
        m = self.mean[chosen]
        ones = np.ones(self.shape[0]) if w is None else w
        weighted = block.multiply(ones[:, None]).tocsc()
        sums = np.asarray(weighted.sum(axis=0)).ravel()
        G = np.asarray((block.T @ weighted).todense())
        G = G - np.outer(m, sums) - np.outer(sums, m) + ones.sum() * np.outer(m, m)
        return G if self.scale is None else G / self.scale[chosen][:, None] / self.scale[chosen]

    def square_norms(self) -> Array:
        """Weighted squared lengths of all columns."""
        n = self.shape[0]
        ones = np.ones(n) if self.w is None else self.w
        sums, squares = MemoryRows(self.X, None, ones).reduce(_column_sums, True).parts
        out = np.maximum(squares - 2 * self.mean * sums + ones.sum() * self.mean**2, 0.0)
        return out if self.scale is None else out / self.scale**2


def _column_sums(block: Block, squares: bool) -> Sums:
    """Σ w x, and Σ w x² if asked, per column."""
    X, w = block.X, block.weight
    if not squares:
        return Sums((small_product(w, X), np.zeros(0)))
    if is_sparse(X):
        return Sums(sparse_column_sums(X, w))
    return Sums((small_product(w, X), np.einsum("ij,ij,i->j", X, X, w)))


def _transposed_product(X: Any, r: Array) -> Array:
    """Xᵀ r on all threads: by ranges of columns if X is CSC, or dense with more of them than rows, else by rows."""
    n, p = X.shape
    by_columns = is_sparse(X) and X.format == "csc"
    if not by_columns and (is_sparse(X) or p < n):
        (out,) = MemoryRows(X, r).reduce(_block_product).parts
        return np.asarray(out)
    turned, edges = X.T, np.linspace(0, p, COLUMN_RANGES + 1).astype(int)
    parts = parallel_map(lambda k: small_product(row_slice(turned, *edges[k : k + 2]), r), range(COLUMN_RANGES))
    return np.concatenate(parts)


def _block_product(block: Block) -> Sums:
    """Xᵀ r of a block of rows whose y is r."""
    return Sums((np.asarray(small_product(block.X.T, block.y), np.float64),))
