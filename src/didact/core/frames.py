"""Data frames and tables of any library: their column names, and Arrow data in forms that other libraries read."""

from typing import Any

import numpy as np

from didact.core.errors import InputError


def column_names(X: Any) -> list[str] | None:
    """The column names of a data frame or table of any library; None for arrays. Duplicate names are refused."""
    names = X.column_names if is_arrow(X) else getattr(X, "columns", None)
    if names is None or callable(names):
        return None
    names = list(names)
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise InputError(f"Several columns of X have the name {twice!r}: rename them, so that all names differ.")
    return names if all(isinstance(name, str) for name in names) else None


def is_arrow(X: Any) -> bool:
    """Whether X comes from Arrow."""
    return type(X).__module__.startswith("pyarrow")


def table(X: Any) -> Any:
    """An Arrow record batch as a table (which narwhals reads); anything else unchanged."""
    if is_arrow(X) and type(X).__name__ == "RecordBatch":
        import pyarrow

        return pyarrow.Table.from_batches([X])
    return X


def plain(X: Any) -> Any:
    """Arrow data as one C-ordered float array; anything else unchanged."""
    if not is_arrow(X):
        return X
    columns = [np.asarray(c.to_numpy(zero_copy_only=False)) for c in _record_columns(X)]
    dtype = np.result_type(*columns) if columns else np.float64
    out = np.empty((X.num_rows, len(columns)), dtype if dtype in (np.float32, np.float64) else np.float64)
    for j, values in enumerate(columns):
        out[:, j] = values
    return out


def _record_columns(X: Any) -> list[Any]:
    return [c.combine_chunks() if hasattr(c, "combine_chunks") else c for c in X.columns]
