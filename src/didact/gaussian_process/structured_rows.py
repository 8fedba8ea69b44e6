"""Rows that are no vectors, such as strings, for kernels of such things."""

from typing import Any

import numpy as np

from didact.core.errors import InputError
from didact.core.overflow import refuse_large
from didact.core.rows import Block, Rows
from didact.core.typing import Array
from didact.engines.gram.rows import reads_strings
from didact.kernels.foreign import Function
from didact.parts.statistics.moments import Moments, Sums, moments


def takes_rows(kernel: Any, X: Any) -> bool:
    """Whether X is read as rows of numbers: for a kernel of vectors, or if it is a table of numbers."""
    if isinstance(kernel, Function) and reads_strings(kernel.function, X):
        return False
    return bool(kernel.takes_vectors() or (getattr(X, "ndim", 0) == 2 and getattr(X.dtype, "kind", "f") in "fiub"))


def read_things(X: Any) -> Array:
    """A list or array of things as an array of objects."""
    if not hasattr(X, "__len__") or isinstance(X, str):
        raise InputError("This kernel takes a list of things, such as strings; X is none.")
    found = np.empty(len(X), dtype=object)
    found[:] = list(X)
    return found


def things(model: Any, X: Any, *columns: Any, **how: Any) -> Rows:
    """Things with targets as rows: the targets are checked as beside a column of numbers."""
    objects = read_things(X)
    rows: Any = model._rows(np.arange(float(len(objects)))[:, None], *columns, **how)
    rows.columns, rows.dtype = rows.columns._replace(X=objects), np.dtype(object)
    return rows


def refuse_overflow(rows: Rows) -> None:
    """Refuse rows in memory whose squared distances would overflow, by column."""
    if rows.memory and rows.dtype != object:
        refuse_large(rows.memory.X, rows.names)


def of_targets(block: Block) -> Moments:
    """The moments of the targets alone."""
    y = block.y if block.y.ndim == 2 else block.y[:, None]
    return moments(block._replace(X=y[:, :0]))


def column_sums(block: Block) -> Sums:
    """The sums of the columns: numbers, unless a value of X is none."""
    return Sums((block.X.sum(axis=0),))
