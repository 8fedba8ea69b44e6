"""Rows kept in memory, as the neighbour models want them: dense, in order, without rows of weight zero."""

from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import is_sparse, to_numpy

Array = np.ndarray[Any, Any]


class Gathered(NamedTuple):
    """Columns of all rows, in pieces."""

    pieces: tuple[tuple[Array, Any, Array], ...]

    def merge(self, other: "Gathered") -> "Gathered":
        """One after the other."""
        return Gathered(self.pieces + other.pieces)

    def columns(self) -> tuple[Array, Any, Array]:
        """X, y (None if there is none) and weights, whole."""
        X, y, w = zip(*self.pieces, strict=True)
        return np.concatenate(X), None if y[0] is None else np.concatenate(y), np.concatenate(w)


def gather(X: Any, y: Any, w: Any) -> Gathered:
    """The rows of a block that count."""
    X, y = dense(X), None if y is None else to_numpy(y)
    if w is None:
        return Gathered(((X, y, np.ones(len(X))),))
    w = to_numpy(w).astype(np.float64)
    return Gathered(((X[w > 0], None if y is None else y[w > 0], w[w > 0]),))


def dense(X: Any) -> Array:
    """Rows of any kind as a contiguous array of floats."""
    return np.ascontiguousarray(to_numpy(X.toarray() if is_sparse(X) else X))


def queries(X: Any) -> Array:
    """Rows of any kind in float64; what is not finite is refused by the caller once it has seen the answer."""
    return np.nan_to_num(dense(X).astype(np.float64), posinf=0.0, neginf=0.0)
