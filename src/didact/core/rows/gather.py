"""Rows that a model keeps, gathered from blocks: dense, in their order, without those of weight zero."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from didact.core.backend import is_sparse, to_numpy
from didact.core.typing import Array

if TYPE_CHECKING:
    from didact.core.rows.memory import Block


class Pieces(NamedTuple):
    """Columns of rows, block after block."""

    blocks: tuple[tuple[Any, ...], ...]

    def merge(self, other: "Pieces") -> "Pieces":
        """One after the other."""
        return Pieces(self.blocks + other.blocks)

    def columns(self) -> tuple[Any, ...]:
        """Every column whole; None where there is none."""
        return tuple(None if part[0] is None else np.concatenate(part) for part in zip(*self.blocks, strict=True))


def keep(block: "Block") -> Pieces:
    """The rows of a block that count, with their targets (or None) and weights."""
    X, y = dense(block.X), None if block.y is None else to_numpy(block.y)
    w = np.ones(len(X)) if block.weight is None else to_numpy(block.weight).astype(np.float64)
    counts = slice(None) if (w > 0).all() else w > 0
    return Pieces(((X[counts], None if y is None else y[counts], w[counts]),))


def stacked(columns: tuple[Any, ...]) -> Any:
    """The parts of a column, one after the other; None if there is none."""
    if columns[0] is None:
        return None
    return sp.vstack(columns, format="csr") if is_sparse(columns[0]) else np.concatenate(columns)


def dense(X: Any, dtype: Any = None) -> Array:
    """Rows of any kind as a contiguous array."""
    return np.ascontiguousarray(to_numpy(X.toarray() if is_sparse(X) else X), dtype)
