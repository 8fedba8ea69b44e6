"""The rows of a quantile regression, scaled, in pieces that stay in memory or as passes over what does not."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from didact.core.backend import is_sparse, row_weights, small_product, to_numpy
from didact.core.overflow import Largest, largest_entries, largest_target
from didact.core.rows import Block, Rows
from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.engines.constrained.tuning import MOST_PIECES, PIECE_NUMBERS
from didact.parts.statistics.moments import Sums, gram

CONSTANT = 1e-13  # spread of a column, relative to its size, up to which it counts as constant


class Table(NamedTuple):
    """Rows of positive weight as (Z, y, w): columns scaled to about 1 (dense ones also centred), a constant last."""

    rows: Any  # Rows, or blocks kept in memory
    fit_intercept: bool
    centre: Array
    units: Array
    target_unit: float
    weight: float
    varies: Array  # whether a column differs from its centre by more than rounding

    @classmethod
    def of(cls, rows: Rows, fit_intercept: bool) -> "Table":
        """Units, means and spreads of the columns, from one pass each."""
        counted = rows.prepared(_with_weight)
        units = _powers(counted.reduce(largest_entries).sizes)
        target_unit = float(_powers(counted.reduce(largest_target).sizes)[0])
        weight, sums, sparse = counted.reduce(_weighted_sums, units).parts
        centre = sums / weight * (fit_intercept and not sparse)
        varies = counted.reduce(_spreads, units, centre).sizes > CONSTANT
        table = cls(counted, fit_intercept, centre, units, target_unit, weight, varies)
        if counted.n_rows is None:
            return table
        return table._replace(rows=_Kept(parallel_map(table.scaled, _pieces(next(counted.stream())))))

    @property
    def width(self) -> int:
        """The number of parameters."""
        return len(self.units) + self.fit_intercept

    def blocks(self) -> Iterator[tuple[Any, Array, Array]]:
        """The blocks (Z, y, w) of one pass over the rows."""
        if isinstance(self.rows, _Kept):
            yield from self.rows.blocks
            return
        yield from map(self.scaled, self.rows.stream())

    def scaled(self, block: Block) -> tuple[Any, Array, Array]:
        """A block as (Z, y, w)."""
        Z, y = _divided(block.X, self.units), np.asarray(to_numpy(block.y), np.float64) / self.target_unit
        each = row_weights(block.weight, len(y)) / self.weight
        if is_sparse(Z):
            ones = sp.csr_array(np.ones((len(y), int(self.fit_intercept))))
            return sp.hstack([Z, ones], format="csr"), y, each
        full = np.ones((len(y), self.width))
        np.multiply(Z - self.centre, self.varies, out=full[:, : len(self.units)])
        return full, y, each

    def each(self, fn: Callable[[Any, slice], Any], penalised: Array) -> list[Any]:
        """fn(Z, numbers of its rows) of each block, and of the rows of the penalty, which come last.

        Blocks in memory are worked on by the library's threads.
        """
        if isinstance(self.rows, _Kept):
            stops = np.cumsum([0, *(len(y) for _, y, _ in self.rows.blocks)]).tolist()
            pieces = zip(self.rows.blocks, pairwise(stops), strict=True)
            found = parallel_map(lambda piece: fn(piece[0][0], slice(*piece[1])), pieces)
        else:
            stops = [0]
            found = []
            for Z, y, _ in self.blocks():
                stops.append(stops[-1] + len(y))
                found.append(fn(Z, slice(*stops[-2:])))
        if len(penalised):
            found.append(fn(Units(penalised, self.width), slice(stops[-1], stops[-1] + len(penalised))))
        return found

    def chosen(self, index: Array) -> Array:
        """The rows of Z with these (sorted) numbers, dense."""
        found, start = [], 0
        for Z, y, _ in self.blocks():
            here = index[(index >= start) & (index < start + len(y))] - start
            found.append(Z[here].toarray() if is_sparse(Z) else Z[here])
            start += len(y)
        return np.concatenate(found)

    def original(self, b: Array) -> Array:
        """Coefficients in the units of X and y, the constant term last."""
        coef = b[: len(self.units)] / self.units * self.target_unit
        if not self.fit_intercept:
            return coef
        return np.append(coef, (b[-1] - self.centre @ b[:-1]) * self.target_unit)


class Units(NamedTuple):
    """Rows e_j of the identity, one for each coefficient with a penalty."""

    columns: Array
    width: int

    def __matmul__(self, b: Array) -> Array:
        return b[self.columns]

    def transposed(self, v: Array) -> Array:
        """Zᵀv."""
        out = np.zeros(self.width)
        out[self.columns] = v
        return out


def times_transposed(Z: Any, v: Array, h: Array | None = None) -> tuple[Array, Any]:
    """Zᵀv, and Zᵀdiag(h)Z if h is given."""
    if isinstance(Z, Units):
        return Z.transposed(v), None if h is None else np.diag(Z.transposed(h))
    return small_product(Z.T, v), None if h is None else gram(Z, h)


class _Kept(NamedTuple):
    """Blocks that stay in memory between passes."""

    blocks: list[tuple[Any, Array, Array]]


def _pieces(block: Block) -> list[Block]:
    """A block as several ones."""
    X, n = block.X, block.X.shape[0]
    numbers = X.nnz if is_sparse(X) else X.shape[0] * X.shape[1]
    edges = np.linspace(0, n, min(numbers // PIECE_NUMBERS + 1, MOST_PIECES, n) + 1).astype(int)
    return [block.each(lambda column, a=a, b=b: column[a:b]) for a, b in pairwise(edges.tolist())]


def _powers(sizes: Array) -> Array:
    """Powers of two of about these sizes."""
    return 2.0 ** np.floor(np.log2(np.where(sizes > 0, sizes, 1.0)))


def _with_weight(block: Block) -> Block:
    """A block without its rows of weight zero."""
    if block.weight is None:
        return block
    keep = np.flatnonzero(to_numpy(block.weight) > 0)
    return block.each(lambda column: column[keep])


def _divided(X: Any, units: Array) -> Any:
    if not is_sparse(X):
        return np.asarray(to_numpy(X), np.float64) / units
    return sp.csr_array((X.data / units[X.indices], X.indices, X.indptr), shape=X.shape)


def _spreads(block: Block, units: Array, centre: Array) -> Largest:
    """The largest distance of each column from its centre, in these units."""
    X = block.X
    return largest_entries(Block(_divided(X, units) - centre)) if not is_sparse(X) else Largest(np.ones(X.shape[1]))


def _weighted_sums(block: Block, units: Array) -> Sums:
    """Σw, Σwx in these units, and the number of sparse blocks."""
    X, w = block.X, block.weight
    each = row_weights(w, X.shape[0])
    return Sums((float(each.sum()), np.asarray(small_product(each, _divided(X, units))), int(is_sparse(X))))
