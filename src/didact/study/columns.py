"""What the columns are: numbers, words or dates, and which of them nothing can be learnt from.

The judgement looks at the training rows alone, and never at the target except to find a copy of it.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from didact.core.errors import InputError, need

if TYPE_CHECKING:
    import polars as pl

MOST_LEVELS = 30  # of a column of words that becomes one column a level
_IDENTIFIER = re.compile(r"(^|[\W_])(id|uuid|guid|key|index|row|rownames?)$", re.IGNORECASE)


@dataclass(frozen=True)
class Column:
    """One column: its kind ("number", "words", "date", or "moment": date and time), and why it was dropped, if so.

    >>> Column("city", "words", missing=0.0, different=3).dropped
    ''
    """

    name: str
    kind: str
    missing: float
    different: int
    dropped: str = ""
    example: str = ""


def judge_columns(train: "pl.DataFrame", target: str, rows: int) -> list[Column]:
    """Judge every column but the target; `rows` is the size of the whole table, for finding row numbers."""
    fewest = rare_below(len(train))
    columns = [_judge(train[name], train[target], rows, fewest) for name in train.columns if name != target]
    if not any(not column.dropped for column in columns):
        reasons = "; ".join(f"{c.name!r} {c.dropped}" for c in columns[:5]) or "there is no other column"
        raise InputError(f"No column is left to predict {target!r} from: {reasons}.")
    return columns


def rare_below(rows: int) -> int:
    """Levels of a column of words that occur in fewer rows than this are grouped."""
    return max(5, int(np.ceil(0.01 * rows)))


def names_of(columns: list[Column], kind: str) -> list[str]:
    """The names of the columns of one kind that are used."""
    return [column.name for column in columns if column.kind == kind and not column.dropped]


def _judge(column: "pl.Series", target: "pl.Series", rows: int, fewest: int) -> Column:
    present = column.drop_nulls()
    kind = _kind(column)
    different = present.n_unique() if kind != "other" else 0
    dropped = _useless(column, present, kind, different, target, rows, fewest)
    example = str(present[0]) if len(present) else ""
    return Column(column.name, kind, 1 - len(present) / len(column), different, dropped, example)


def _kind(column: "pl.Series") -> str:
    pl = need("polars", "study")
    if column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Duration, pl.Time):
        return "number"
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        return "words"
    if column.dtype in (pl.Date, pl.Datetime):
        return "date" if column.dtype == pl.Date else "moment"
    return "empty" if column.dtype == pl.Null else "other"


def _useless(
    column: "pl.Series", present: "pl.Series", kind: str, different: int, target: "pl.Series", rows: int, fewest: int
) -> str:
    """Why nothing can be learnt from a column, or an empty string."""
    if len(present) == 0:
        return "is empty"
    if kind == "other":
        return f"is of type {column.dtype}, which is not understood"
    if different == 1 and len(present) == len(column):
        return f"is constant (always {_short(present[0])})"
    if kind in ("number", "words") and _copies(column, target):
        return "is a copy of the target"
    if kind == "words":
        return _useless_words(present, different, len(column), fewest)
    if kind == "number" and different == len(present) == len(column) and _numbers_rows(column, rows):
        return "is a row number or identifier (whole numbers, all different)"
    return ""


def _useless_words(present: "pl.Series", different: int, rows: int, fewest: int) -> str:
    if different == len(present) and different > 1:
        return "is an identifier (words, all different)"
    most = int(present.value_counts()["count"].max())  # type: ignore[arg-type]
    if most < fewest and rows - len(present) < fewest:
        return f"holds words that hardly repeat (the most frequent in {most} rows)"
    return ""


def _numbers_rows(column: "pl.Series", rows: int) -> bool:
    """Whole numbers, all different, that fit in a range no longer than the table, or are called an identifier."""
    if column.dtype.is_float():
        values = column.to_numpy()
        if not np.all(values == np.round(values)):
            return False
    elif not column.dtype.is_integer():
        return False
    span = float(column.max()) - float(column.min()) + 1  # type: ignore[arg-type]
    return span <= rows or bool(_IDENTIFIER.search(column.name))


def _copies(column: "pl.Series", target: "pl.Series") -> bool:
    if (column.dtype.is_numeric()) != (target.dtype.is_numeric()):
        return False
    kind = float if column.dtype.is_numeric() else str
    return bool(column.cast(kind).eq_missing(target.cast(kind)).all())


def _short(value: object) -> str:
    text = str(value)
    return f"“{text if len(text) <= 30 else text[:29] + '…'}”"
