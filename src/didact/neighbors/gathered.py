"""Rows in the forms that the neighbour models need: queries, one column, targets as columns."""

from typing import Any

import numpy as np

from didact.core.backend import is_sparse, to_numpy
from didact.core.rows.gather import dense
from didact.core.typing import Array


def queries(X: Any) -> Array:
    """Rows of any kind in float64; values that are not finite become 0, as the caller refuses them afterwards."""
    return np.nan_to_num(dense(X, np.float64), posinf=0.0, neginf=0.0)


def one_column(X: Any, column: int) -> Array:
    """A column of rows of any kind as float64."""
    values = X[:, [column]].toarray() if is_sparse(X) else to_numpy(X[:, [column]])
    return np.ascontiguousarray(values[:, 0], np.float64)


def as_columns(y: Any) -> Array:
    """Targets with a column for each output."""
    y = np.asarray(to_numpy(y), np.float64)
    return y if y.ndim == 2 else y[:, None]
