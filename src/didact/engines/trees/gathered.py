"""All rows of a collection at once, for growers that need them together: those of positive weight, as float64."""

from typing import Any

import numpy as np

from didact.core.rows import Rows
from didact.core.rows.gather import keep

Array = np.ndarray[Any, Any]


def gathered(rows: Rows) -> tuple[Array, Array, Array]:
    """X, y and weights of all rows that count, in their order."""
    X, y, w = rows.reduce(keep).columns()
    return X.astype(np.float64, copy=False), y, w
