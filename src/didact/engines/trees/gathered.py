"""All rows of a collection at once, for growers that need them together: those of positive weight, as float64."""

from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import to_numpy
from didact.core.rows import Rows

Array = np.ndarray[Any, Any]


class Gathered(NamedTuple):
    """Rows in pieces."""

    pieces: tuple[tuple[Array, Array, Array], ...]

    def merge(self, other: "Gathered") -> "Gathered":
        """One after the other."""
        return Gathered(self.pieces + other.pieces)


def piece(X: Any, y: Any, w: Any) -> Gathered:
    """The rows of a block that count."""
    X, y = np.asarray(to_numpy(X), np.float64), to_numpy(y)
    w = np.ones(len(X)) if w is None else np.asarray(to_numpy(w), np.float64)
    return Gathered(((X, y, w) if (w > 0).all() else (X[w > 0], y[w > 0], w[w > 0]),))


def gathered(rows: Rows) -> tuple[Array, Array, Array]:
    """X, y and weights of all rows that count, in their order."""
    X, y, w = (np.concatenate(column) for column in zip(*rows.reduce(piece).pieces, strict=True))
    return X, y, w
