"""Rows as smoothers keep them: one column as x, outputs as columns, gathered from blocks."""

from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import is_sparse, to_numpy

Array = np.ndarray[Any, Any]


class Gathered(NamedTuple):
    """All rows (x, outputs, weights), in pieces; `seen` is 0, or NaN if a value of any column is not finite."""

    pieces: tuple[tuple[Array, Array, Array], ...]
    seen: float

    def merge(self, other: "Gathered") -> "Gathered":
        """One after the other."""
        return Gathered(self.pieces + other.pieces, self.seen + other.seen)

    def columns(self) -> tuple[Array, ...]:
        """x, outputs and weights of all rows."""
        return tuple(np.concatenate(column) for column in zip(*self.pieces, strict=True))


def one_column(X: Any, column: int) -> Array:
    """A column of rows of any kind as float64."""
    values = X[:, [column]].toarray() if is_sparse(X) else to_numpy(X[:, [column]])
    return np.ascontiguousarray(values[:, 0], np.float64)


def as_columns(y: Any) -> Array:
    """Targets with a column for each output."""
    y = np.asarray(to_numpy(y), np.float64)
    return y if y.ndim == 2 else y[:, None]


def dense(X: Any) -> Array:
    """Rows of any kind as a float64 array."""
    return np.ascontiguousarray(to_numpy(X.toarray() if is_sparse(X) else X), np.float64)
