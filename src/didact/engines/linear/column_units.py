"""Columns of extreme size: units in which sums of their squares do not overflow, or one sentence where none would help.

A fit whose statistics are not finite though the rows are has met entries beyond about 1e150. A model that does not care
for the units of its columns is fitted again with each of them divided by a power of two, without rounding; the others
refuse the columns, or the target, by name.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import is_sparse, like, namespace, to_numpy
from didact.core.errors import InputError
from didact.core.rows import Block, Rows

Array = np.ndarray[Any, Any]

FAILED = "not finite", "no progress", "iteration limit"  # how a fit to columns of extreme size ends


class Largest(NamedTuple):
    """The largest absolute value of each column."""

    sizes: Array

    def merge(self, other: "Largest") -> "Largest":
        """Of both sets of rows."""
        return Largest(np.maximum(self.sizes, other.sizes))


def largest_entries(block: Block) -> Largest:
    """The largest absolute value of each column of a block."""
    X = block.X
    if not X.shape[0]:
        return Largest(np.zeros(X.shape[1]))
    if is_sparse(X):
        sizes = np.zeros(X.shape[1])
        np.maximum.at(sizes, X.indices, np.abs(X.data))  # SciPy's abs and max would sort the user's own arrays
        return Largest(sizes)
    xp = namespace(X)
    return Largest(np.asarray(to_numpy(xp.max(xp.abs(X), axis=0)), np.float64))


def largest_target(block: Block) -> Largest:
    """The largest absolute value of the targets of a block."""
    y = block.y
    return largest_entries(Block(y if y.ndim == 2 else y[:, None]))


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
    """A power of two for each column, the size of its largest entry where that is extreme; None if no column is."""
    if not rows.n_features:
        return None
    sizes = rows.reduce(largest_entries).sizes
    large = sizes > float(np.finfo(_type_name(rows)).max) ** 0.25  # squares of sums of squares are finite below
    return np.where(large, 2.0 ** np.floor(np.log2(np.where(large, sizes, 1.0))), 1.0) if large.any() else None


def finite(statistic: Any) -> bool:
    """Whether all numbers of a statistic (a tuple of numbers, arrays and statistics) are finite."""
    if isinstance(statistic, tuple):
        return all(finite(part) for part in statistic)
    return not isinstance(statistic, float | np.ndarray | np.floating) or bool(np.isfinite(statistic).all())


def refuse_overflow(rows: Rows, statistic: Any) -> None:
    """Refuse rows whose sums of squares overflow, by the columns that are to blame."""
    if finite(statistic):
        return
    sizes = rows.reduce(largest_entries).sizes if rows.n_features else np.zeros(0)
    target = float(np.max(rows.reduce(largest_target).sizes, initial=0.0))
    worst = int(np.argmax(sizes)) if len(sizes) else 0
    if len(sizes) and sizes[worst] >= target:
        name = f"Column {rows.names[worst]!r}" if rows.names is not None else f"Column {worst} of X"
        raise InputError(f"{name} has values up to {sizes[worst]:.2g}, {REMEDY}")
    raise InputError(f"y has values up to {target:.2g}, {REMEDY}")


REMEDY = "whose squares or sums overflow in float64: divide it by a power of ten first."
