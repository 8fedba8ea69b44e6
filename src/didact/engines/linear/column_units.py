"""Columns of extreme size: units in which sums of their squares do not overflow, or one sentence where none would help.

A fit whose statistics are not finite though the rows are has met entries beyond about 1e150. A model that does not care
for the units of its columns is fitted again with each of them divided by a power of two, without rounding; the others
refuse the columns, or the target, by name.
"""

from typing import Any

import numpy as np

from didact.core.backend import is_sparse, like
from didact.core.overflow import largest_entries
from didact.core.rows import Block, Rows
from didact.core.typing import Array

LARGE = 2.0**20  # columns beyond get units if one is extreme: rounding errors of one column are no slope of another
FAILED = "not finite", "no progress", "iteration limit"  # how a fit to columns of extreme size ends


def in_units(block: Block, units: Array) -> Block:
    """A block whose columns of X are divided by units."""
    X = block.X
    if is_sparse(X):
        X = X.copy()
        X.data = X.data / units.astype(X.dtype)[X.indices]
    else:
        X = X / like(units.astype(_type_name(X)), X)
    return block._replace(X=X)


def _type_name(values: Any) -> str:
    """The name of a float type, NumPy's or torch's."""
    return str(values.dtype).rpartition(".")[2]


def column_units(rows: Rows) -> Array | None:
    """A power of two for each column, the size of its largest entry where that is large; None if none is extreme."""
    if not rows.n_features:
        return None
    sizes = rows.reduce(largest_entries).sizes
    if not (sizes > float(np.finfo(_type_name(rows)).max) ** 0.25).any():  # squares of sums of squares are finite
        return None
    large = sizes > LARGE
    return np.where(large, 2.0 ** np.floor(np.log2(np.where(large, sizes, 1.0))), 1.0)
