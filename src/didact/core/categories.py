"""Categorical columns: which columns they are, which values they take, and the codes of these values.

A category becomes its position 0 … K−1 in `Categories.values`; a missing value, or one not seen by `fit`, becomes NaN.
Models that can split or count by category (trees, naive Bayes) ask validation for this; all others refuse text. For
those that only compare values (`_new_codes`) a value not seen by `fit` becomes K.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from didact.core.errors import InputError, ParameterError
from didact.core.frames import column_names, table
from didact.core.threads import parallel_map
from didact.core.typing import Array

ARRAYS = (np.ndarray, list, tuple, sp.spmatrix, sp.sparray)
ENCODED_ROWS = 16_384  # rows of an array that one thread encodes


class Categories(NamedTuple):
    """The categorical columns of a table and their values, in the order of their codes; None for other columns."""

    values: tuple[Any, ...]

    @property
    def mask(self) -> Array:
        """Which columns are categorical."""
        return np.array([v is not None for v in self.values])

    @property
    def counts(self) -> Array:
        """The number of categories of each column; 0 for others."""
        return np.array([0 if v is None else len(v) for v in self.values])

    def encode(self, X: Any, new: bool = False) -> Array:
        """A table as float64, C-ordered, with codes in the categorical columns; K stands for new values, if asked."""
        columns = columns_of(X)
        if len(columns) != len(self.values):
            raise InputError(f"X has {len(columns)} features, but {len(self.values)} features are expected.")
        n = len(columns[0]) if columns else 0
        out, step = np.empty((n, len(columns))), ENCODED_ROWS if isinstance(X, np.ndarray) else max(n, 1)

        def piece(start: int) -> None:
            part = slice(start, start + step)
            for j, (column, values) in enumerate(zip(columns, self.values, strict=True)):
                some = column[part]
                out[part, j] = _number(some, _name(X, j)) if values is None else _codes(some, values)
                if new and values is not None:
                    _number_new(out[part, j], some, len(values))

        parallel_map(piece, range(0, max(n, 1), step))
        return out

    def decode(self, codes: Array) -> Array:
        """A coded table with the values in place of their codes: floats, or objects if some values are not numbers.

        A code of K or more stands for a missing value.
        """
        words = any(v is not None and v.dtype == object for v in self.values)
        out = codes.astype(object if words else np.float64)
        for j in np.flatnonzero(self.mask):
            values = self.values[j]
            known = codes[:, j] < len(values)
            out[known, j] = values[codes[known, j].astype(np.intp)]
            out[~known, j] = None if values.dtype == object else np.nan
        return out

    def refuse_new(self, X: Any) -> None:
        """Refuse a table with a value that is not among the categories, and name the column and the value."""
        for j, (column, values) in enumerate(zip(columns_of(X), self.values, strict=False)):
            known = set() if values is None else set(values.tolist())
            new = [] if values is None else [v for v in _present(column) if v not in known]
            if new:
                raise InputError(
                    f"Column {_name(X, j)} has the value {new[0]!r}, which is not among its categories: these are the "
                    "values of the first rows. Give the column a category type that lists all values."
                )


def encode_some(categories: Categories | None, X: Any, columns: Any) -> Array:
    """Some columns of a table, which are all that X has, as numbers."""
    if categories is None:
        return np.asarray(X, np.float64)
    return Categories(tuple(categories.values[j] for j in columns)).encode(X)


def learn_categories(
    spec: Any, blocks: Iterable[Any], names: Sequence[str] | None, negative: bool = True, text: bool = False
) -> Categories | None:
    """The categories of the columns that `spec` selects, over all blocks of a table; None if it selects none.

    `spec` is "from_dtype" (category and enum columns of a data frame, and with `text` all columns of text), None (no
    column), a mask with one entry per column, or a list of positions or names. Negative numbers, in a column whose type
    does not list its values, are categories if `negative`, and missing values otherwise.
    """
    if spec is None:
        return None
    if isinstance(spec, str) and spec != "from_dtype":
        raise ParameterError(f"categorical_features must be 'from_dtype', None, a mask or a list; got {spec!r}.")
    mask: Array | None = None
    found: list[dict[Any, None]] = []  # a dictionary keeps the order in which a column's own type lists its values
    ordered: list[bool] = []
    for block in blocks:
        if isinstance(spec, str) and isinstance(block, ARRAYS) and not text:
            return None  # an array does not say which columns are categorical
        columns = columns_of(block)
        if mask is None:
            mask = _mask(spec, columns, column_names(block) or names, text)
            found, ordered = [{} for _ in columns], [declared_values(c) is not None for c in columns]
        if not mask.any():
            return None
        for j in np.flatnonzero(mask):
            levels = declared_values(columns[j])
            if levels is None:
                levels = [v for v in _present(columns[j]) if negative or not _below_zero(v)]
            found[j].update(dict.fromkeys(levels))
    if mask is None:
        return None
    return Categories(
        tuple(
            None if not on else _array(list(levels) if keep else _sorted(levels))
            for on, levels, keep in zip(mask, found, ordered, strict=True)
        )
    )


def _mask(spec: Any, columns: list[Any], names: Sequence[str] | None, text: bool) -> Array:
    p = len(columns)
    if isinstance(spec, str):
        return np.array([declared_values(c) is not None or (text and _has_words(c)) for c in columns], dtype=bool)
    wanted = np.asarray(spec)
    if wanted.dtype == bool:
        if wanted.shape != (p,):
            raise ParameterError(
                f"categorical_features set as a boolean mask must have shape (n_features,), got: {wanted.shape}; X has "
                f"{p} columns."
            )
        return wanted.copy()
    mask = np.zeros(p, dtype=bool)
    for item in wanted.tolist():
        if isinstance(item, str):
            if names is None:
                raise ParameterError(
                    "categorical_features should be passed as an array of integers or as a boolean mask when the model "
                    f"is fitted on data without feature names. X has no column {item!r}."
                )
            if item not in names:
                raise ParameterError(
                    f"categorical_features has an item value {item!r} which is not a valid feature name of the "
                    f"training data. Observed feature names: {list(names)}"
                )
            mask[list(names).index(item)] = True
        elif isinstance(item, int) and -p <= item < p:
            mask[item] = True
        elif isinstance(item, int):
            raise ParameterError(
                f"categorical_features set as integer indices must be in [0, n_features - 1], X has {p} columns, and "
                f"got {item}."
            )
        else:
            raise ParameterError(f"categorical_features must be an array-like of bool, int or str, got: {item!r}.")
    return mask


def columns_of(X: Any) -> list[Any]:
    """The columns of a table: narwhals series of a data frame, or slices of an array."""
    if isinstance(X, ARRAYS):
        array = np.asarray(X.toarray() if isinstance(X, (sp.spmatrix, sp.sparray)) else X)
        return list(array.T) if array.ndim == 2 else []
    import narwhals.stable.v2 as nw

    column_names(X)  # refuses duplicate names
    frame = nw.from_native(table(X), eager_only=True, pass_through=True)
    return (
        [frame[:, j] for j in range(frame.shape[1])] if isinstance(frame, nw.DataFrame) else columns_of(np.asarray(X))
    )


def declared_values(column: Any) -> list[Any] | None:
    """The values that a column of category or enum type can take; None for a column of any other type."""
    if isinstance(column, np.ndarray) or not _is_category(column):
        return None
    native = column.to_native()
    if hasattr(native, "cat") and hasattr(native.cat, "categories"):  # pandas: values of any type
        return list(native.cat.categories)
    return list(column.cat.get_categories().drop_nulls().to_list())


def _has_words(column: Any) -> bool:
    """Whether a column holds text."""
    if isinstance(column, np.ndarray):
        return column.dtype.kind in "US" or (column.dtype == object and any(isinstance(v, str) for v in column))
    import narwhals.stable.v2 as nw

    return column.dtype == nw.String or (column.dtype == nw.Object and any(isinstance(v, str) for v in _list(column)))


def _is_category(column: Any) -> bool:
    import narwhals.stable.v2 as nw

    return column.dtype in (nw.Categorical, nw.Enum)


def _present(column: Any) -> list[Any]:
    """The distinct values of a column that are not missing."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "fiub":
        values = np.unique(column)
        return list((values[~np.isnan(values)] if values.dtype.kind == "f" else values).tolist())
    return list(dict.fromkeys(v for v in _list(column) if not _absent(v)))


def _below_zero(value: Any) -> bool:
    return bool(isinstance(value, (int, float, np.number)) and value < 0)


def _sorted(levels: Iterable[Any]) -> list[Any]:
    levels = list(levels)
    try:
        return sorted(levels)
    except TypeError:  # mixed types have no order of their own
        return sorted(levels, key=lambda v: (type(v).__name__, str(v)))


def _array(levels: list[Any]) -> Array:
    """Numbers as a float array, anything else as objects."""
    if levels and all(isinstance(v, (int, float, np.number)) for v in levels):
        return np.array(levels, dtype=np.float64)
    out = np.empty(len(levels), dtype=object)
    out[:] = levels
    return out


def _codes(column: Any, values: Array) -> Array:
    """The position of each entry among the values; NaN if it is missing or not among them."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "fiub" and values.dtype.kind == "f" and len(values):
        low = values[0]
        if np.array_equal(values, low + np.arange(len(values))):  # whole numbers without a gap
            place = column - low
            return np.where((place >= 0) & (place < len(values)) & (np.floor(column) == column), place, np.nan)
        order = np.argsort(values)
        place = order[np.minimum(np.searchsorted(values, column, sorter=order), len(values) - 1)]
        return np.where(values[place] == column, place, np.nan)
    place_of = {value: float(k) for k, value in enumerate(values.tolist())}  # no missing value is among these
    tables = [] if isinstance(column, np.ndarray) or not _is_category(column) else _numbered(column.to_native())
    if tables:
        return np.concatenate(
            [np.array([*(place_of.get(v, np.nan) for v in levels), np.nan])[numbers] for numbers, levels in tables]
        )
    return np.array([place_of.get(v, np.nan) for v in _list(column)], dtype=np.float64)


def _number_new(codes: Array, column: Any, number: int) -> None:
    """Give this code to the entries of a column that have none, but are not missing."""
    if len(where := np.flatnonzero(np.isnan(codes))):
        entries = _list(column)
        codes[[i for i in where if not _absent(entries[i])]] = number


def _numbered(native: Any) -> list[tuple[Array, list[Any]]]:
    """The chunks of a category column as integer codes (−1: missing), each with its categories; [] if unknown."""
    if hasattr(native, "cat") and hasattr(native.cat, "codes"):  # pandas
        return [(native.cat.codes.to_numpy(), list(native.cat.categories))]
    if hasattr(native, "to_physical"):  # Polars: its codes may be shared by all columns of this process
        some = native.unique().drop_nulls()
        known = dict(zip(some.to_physical().to_list(), some.to_list(), strict=True))
        numbers = native.to_physical().cast(int).fill_null(-1).to_numpy()
        return [(numbers, [known.get(k) for k in range(max(known, default=-1) + 1)])]
    if hasattr(native, "chunks"):  # Arrow: each chunk has a dictionary of its own
        parts = [(part.indices.cast("int64").fill_null(-1), part.dictionary) for part in native.chunks]
        return [(indices.to_numpy(zero_copy_only=False), levels.to_pylist()) for indices, levels in parts]
    return []


def _number(column: Any, name: str) -> Array:
    """A column of numbers as floats, missing values as NaN."""
    if not isinstance(column, np.ndarray):
        import narwhals.stable.v2 as nw

        if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
            raise InputError(
                f"Column {name} holds {column.dtype} values: could not convert string to float. Name it in "
                "categorical_features, give it a category type, or turn it into numbers."
            )
        return np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"Column {name} does not hold numbers ({error}): name it in categorical_features.") from None


def refuse_words(X: Any) -> None:
    """Refuse columns of an array, or of a list of rows, with text that cannot be read as numbers."""
    array = np.asarray(X, dtype=object) if isinstance(X, (list, tuple)) else X
    if array.ndim == 2 and array.dtype.kind in "OUS":
        for j, column in enumerate(array.T):
            if any(isinstance(value, (str, bytes)) for value in column):
                _number(column, str(j))


def _list(column: Any) -> list[Any]:
    return list(column.tolist() if isinstance(column, np.ndarray) else column.to_list())


def _absent(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def _name(X: Any, j: int) -> str:
    names = column_names(X)
    return str(j) if names is None else repr(names[j])
