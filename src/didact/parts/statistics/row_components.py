"""The components of rows of any kind by their labels, in one pass; columns whose sums overflow are refused by name."""

from functools import reduce

import numpy as np

from didact.core.backend import to_numpy
from didact.core.errors import InputError
from didact.core.overflow import refuse_overflow
from didact.core.rows import Block, Rows
from didact.core.rows.memory import PIECES, in_pieces, refuse_infinite, refuse_square
from didact.core.typing import Array
from didact.parts.statistics.components import MATRICES, Components, components
from didact.parts.statistics.counts import label_counts
from didact.parts.statistics.moments import NARROW

MEMORY = 1 << 29  # bytes of scatter matrices that all pieces of a pass may hold together


def row_components(rows: Rows, shape: str) -> Components:
    """The statistic of all rows, also for labels without weight: in one pass, or in several passes over some classes
    each if K matrices p × p for every piece would need too much memory."""
    p = rows.n_features
    if shape not in MATRICES:
        return _looked_at(rows.reduce(variance_rows, shape), rows).finished()
    refuse_square(
        p,
        "use fewer columns, or GaussianNB, which needs variances only; or fill missing values and pass the rows as an "
        "array in memory: with fewer rows than columns, no covariance is formed",
    )
    if shape == "tied" or p <= NARROW:
        return _looked_at(rows.reduce(matrix_rows, shape, None), rows).finished()
    labels = rows.reduce(label_counts).values
    step = max(1, MEMORY // (8 * p * p * PIECES))
    parts = [rows.reduce(matrix_rows, shape, labels[k : k + step]) for k in range(0, len(labels), step)]
    return _looked_at(reduce(Components.merge, parts), rows).finished()


@in_pieces
def variance_rows(block: Block, shape: str) -> Components:
    """The diagonal or spherical statistic of one block."""
    return components(block.X, block.y, shape, block.weight)


@in_pieces
def matrix_rows(block: Block, shape: str, only: Array | None) -> Components:
    """The full or tied statistic of one block, for all classes or only for some."""
    X, y, w = block.X, block.y, block.weight
    if only is not None:
        keep = np.isin(to_numpy(y), only)
        X, y, w = X[keep], y[keep], None if w is None else w[keep]
    return components(X, y, shape, w)


def _looked_at(found: Components, rows: Rows) -> Components:
    """The statistic, if it is finite; else an error that names the columns with infinite or too large values."""
    matrices = found.shape in MATRICES
    variances = np.diagonal(found.scatter, axis1=1, axis2=2) if matrices else found.scatter
    if not (np.isfinite(found.mean).all() and np.isfinite(variances).all()):
        if rows.n_rows is not None:
            refuse_infinite(rows.whole().X, rows.names)
        refuse_overflow(rows, (found.mean, variances))
    return found


def require_values(S: Components, rows: Rows) -> None:
    """Refuse a column that has no value at all, in some class or in any row."""
    empty = np.argwhere(np.broadcast_to(S.present, S.mean.shape) == 0)
    if len(empty):
        k, j = empty[0]
        column = rows.names[j] if rows.names is not None else int(j)
        if S.labels is None:
            raise InputError(f"Column {column!r} has no value in any row: drop it.")
        raise InputError(
            f"Column {column!r} has no value in class {S.labels.tolist()[k]!r}, so its mean is unknown: drop or "
            "fill the column."
        )
