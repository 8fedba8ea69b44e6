"""The first step of a model on tables: takes the columns it knows from any data frame, each as the type it was then."""

from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from didact.core.errors import InputError, need

if TYPE_CHECKING:
    import polars as pl

ABSENT = "(missing)"


class FrameColumns(TransformerMixin, BaseEstimator):
    """Select columns by name and bring them to the types that the model was trained on.

    Numbers become 64-bit floats (infinite ones count as missing); words stay words, with "(missing)" as a level of its
    own; a date d becomes the number of days since 1970-01-01 and the words month, weekday and, with a clock, hour.
    It remembers names and types only, so nothing is learnt from the rows. Cost O(rows × columns).

    Parameters
    ----------
    numbers, words, dates, moments : list of str
        Names of the columns of each kind; a moment is a date with a time of day.

    Examples
    --------
    >>> import polars as pl
    >>> from didact.preprocessing import FrameColumns
    >>> table = pl.DataFrame({"size": [1, None], "colour": ["red", None], "unused": [0, 0]})
    >>> FrameColumns(numbers=["size"], words=["colour"]).fit_transform(table).rows()
    [(1.0, 'red'), (None, '(missing)')]
    """

    def __init__(
        self,
        numbers: list[str] | None = None,
        words: list[str] | None = None,
        dates: list[str] | None = None,
        moments: list[str] | None = None,
    ) -> None:
        self.numbers = numbers
        self.words = words
        self.dates = dates
        self.moments = moments

    def fit(self, X: Any, y: Any = None) -> "FrameColumns":
        """Check that the columns are there; nothing is learnt."""
        self._require(to_polars(X))
        return self

    def transform(self, X: Any) -> "pl.DataFrame":
        """The known columns of a frame: first all that are numbers, then all that are words."""
        pl = need("polars", "study")
        table = to_polars(X)
        self._require(table)
        numbers = [_number(table[name]) for name in self.numbers or []]
        words = [table[name].cast(pl.String).fill_null(ABSENT) for name in self.words or []]
        for name in self._calendar():
            days, *parts = _date_parts(_moment(table[name]), name in (self.moments or []))
            numbers.append(days)
            words += parts
        return pl.DataFrame(numbers + words)

    def number_names(self) -> list[str]:
        """The columns that `transform` gives as numbers."""
        return [*(self.numbers or []), *(f"{name}: days" for name in self._calendar())]

    def word_names(self) -> list[str]:
        """The columns that `transform` gives as words."""
        parts = [
            f"{name}: {part}"
            for name in self._calendar()
            for part in ("month", "weekday", "hour")[: 3 if name in (self.moments or []) else 2]
        ]
        return [*(self.words or []), *parts]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns that `transform` gives."""
        return np.array(self.number_names() + self.word_names(), dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _calendar(self) -> list[str]:
        return [*(self.dates or []), *(self.moments or [])]

    def _require(self, table: "pl.DataFrame") -> None:
        wanted = [*(self.numbers or []), *(self.words or []), *self._calendar()]
        if absent := [name for name in wanted if name not in table.columns]:
            names = ", ".join(repr(name) for name in absent[:8]) + (", …" if len(absent) > 8 else "")
            plural = "s" if len(absent) > 1 else ""
            raise InputError(f"The table lacks the column{plural} {names}, which the model needs.")


def to_polars(frame: Any) -> "pl.DataFrame":
    """A data frame of any library as one of Polars."""
    pl = need("polars", "study")
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    try:
        return nw.from_native(frame, eager_only=True).to_polars()
    except TypeError:
        raise InputError(f"A data frame is needed, with named columns, not {type(frame).__name__!r}.") from None


def _number(column: "pl.Series") -> "pl.Series":
    pl = need("polars", "study")
    physical = column.to_physical() if column.dtype.is_temporal() else column
    values = physical.cast(pl.Float64, strict=False)
    if (bad := (values.is_null() & column.is_not_null()).arg_true()).len():
        raise InputError(
            f"Column {column.name!r} should hold numbers, but row {bad[0] + 1} holds {str(column[bad[0]])!r}."
        )
    finite = values.is_finite()
    return values if finite.all() else values.set(~finite, None)  # gaps count as finite here, and stay gaps


def _moment(column: "pl.Series") -> "pl.Series":
    pl = need("polars", "study")
    if column.dtype == pl.String and column.null_count() < len(column):
        moments = column.str.to_datetime(strict=False)
    else:
        moments = column.cast(pl.Datetime("us"), strict=False)
    if (bad := (moments.is_null() & column.is_not_null()).arg_true()).len():
        raise InputError(
            f"Column {column.name!r} should hold dates, but row {bad[0] + 1} holds {str(column[bad[0]])!r}."
        )
    return moments


def _date_parts(moments: "pl.Series", clock: bool) -> list["pl.Series"]:
    pl = need("polars", "study")
    name = moments.name
    parts = [
        (moments.dt.epoch("s").cast(pl.Float64) / 86400).alias(f"{name}: days"),
        moments.dt.strftime("%B").fill_null(ABSENT).alias(f"{name}: month"),
        moments.dt.strftime("%A").fill_null(ABSENT).alias(f"{name}: weekday"),
    ]
    if clock:
        parts.append(moments.dt.strftime("%H").fill_null(ABSENT).alias(f"{name}: hour"))
    return parts
