"""Gathering the rows that a model keeps from blocks: dense, in their order, without rows of weight zero."""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from didact.core.backend import as_dense, is_sparse, row_weights, to_numpy
from didact.core.typing import Array

if TYPE_CHECKING:
    from didact.core.rows.base import Block, Rows


class Pieces(NamedTuple):
    """A mergeable list of blocks, each a tuple of columns."""

    blocks: tuple[tuple[Any, ...], ...]

    def merge(self, other: "Pieces") -> "Pieces":
        """The blocks of both, in order."""
        return Pieces(self.blocks + other.blocks)

    def columns(self) -> tuple[Any, ...]:
        """Every column, concatenated over the blocks; None for an absent column."""
        return tuple(None if part[0] is None else np.concatenate(part) for part in zip(*self.blocks, strict=True))


def keep(block: "Block") -> Pieces:
    """The rows of a block with positive weight, their targets (or None) and their weights."""
    X, y = dense(block.X), None if block.y is None else to_numpy(block.y)
    w = row_weights(block.weight, len(X))
    counts = slice(None) if (w > 0).all() else w > 0
    return Pieces(((X[counts], None if y is None else y[counts], w[counts]),))


def stacked(columns: tuple[Any, ...]) -> Any:
    """The parts of a column, concatenated; None for an absent column."""
    if columns[0] is None:
        return None
    return sp.vstack(columns, format="csr") if is_sparse(columns[0]) else np.concatenate(columns)


def dense(X: Any, dtype: Any = None) -> Array:
    """Rows of any kind as a contiguous array."""
    return np.ascontiguousarray(to_numpy(as_dense(X)), dtype)


def rebatched(rows: "Rows", size: int, rng: np.random.Generator | None = None) -> "Iterator[Block]":
    """One pass in blocks of so many rows, whatever the chunks that they come in; with a generator each is shuffled."""
    waiting: list[Block] = []
    for block in rows.stream():
        n = block.X.shape[0]
        order = np.arange(n) if rng is None else rng.permutation(n)
        first = size - sum(part.X.shape[0] for part in waiting)
        for a, b in pairwise([0, *range(min(first, n), n, size), n]):
            waiting.append(block.each(lambda column, chosen=order[a:b]: column[chosen]))
            if sum(part.X.shape[0] for part in waiting) >= size:
                yield type(block)._make(stacked(parts) for parts in zip(*waiting, strict=True))
                waiting = []
    if waiting and sum(part.X.shape[0] for part in waiting):
        yield type(waiting[0])._make(stacked(parts) for parts in zip(*waiting, strict=True))
