"""Columns of extreme size, or far from 0: other units or another origin, or one sentence where neither would help.

A fit whose statistics are not finite though the rows are has met entries beyond about 1e150. A model that does not care
for the units of its columns is fitted again with each of them divided by a power of two, without rounding; the others
refuse the columns, or the target, by name. Where a column is far from 0 for its deviations, the curvature of its
coefficient is that of the constant but for rounding: the fit is made again to what differs from the means.
"""

from typing import Any

import numpy as np

from didact.core.backend import float_type, is_sparse, like
from didact.core.overflow import largest_entries
from didact.core.rows import Block, Rows
from didact.core.typing import Array
from didact.engines.linear.objective import column_sums

LARGE = 2.0**20  # columns beyond get units if one is extreme: rounding errors of one column are no slope of another
NEARLY_CONSTANT = 1e-6  # share of a column's mean square: a variance below it is lost in products with the constant
FAILED = "not finite", "no progress", "iteration limit"  # how a fit to such columns ends


def in_units(block: Block, units: Array) -> Block:
    """A block whose columns of X are divided by units."""
    X = block.X
    if is_sparse(X):
        X = X.copy()
        X.data = X.data / units.astype(X.dtype)[X.indices]
    else:
        X = X / like(units.astype(_type_name(X)), X)
    return block._replace(X=X)


def far_means(rows: Rows, weight: float, free: bool) -> Array | None:
    """The means of columns if one is far from 0; None if there is no free constant that takes them up."""
    if not free or rows.is_sparse or not rows.n_features:
        return None
    sums, squares = rows.reduce(column_sums).parts
    mean, square = sums / weight, squares / weight
    if not (np.isfinite(square).all() and (square - mean * mean < NEARLY_CONSTANT * square).any()):
        return None
    return np.asarray(
        mean.astype(float_type(rows)), np.float64
    )  # rounded here, so that the same is taken off and added


def less_means(block: Block, means: Array) -> Block:
    """A block of dense rows less the means of the columns."""
    return block._replace(X=block.X - like(means.astype(_type_name(block.X)), block.X))


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
