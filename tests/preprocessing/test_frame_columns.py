"""The first step of a model brings any frame to the types of training."""

from datetime import date, datetime

import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from didact.core.errors import InputError
from didact.preprocessing import FrameColumns

STEP = FrameColumns(numbers=["n"], words=["w"], dates=["d"], moments=["m"])
TABLE = pl.DataFrame(
    {
        "m": [datetime(2024, 3, 1, 12), None],
        "d": [date(1970, 1, 2), date(2024, 12, 25)],
        "w": ["x", None],
        "n": [1, None],
        "unknown": [0, 0],
    }
)


def test_numbers_come_first_then_words_and_parts_of_dates():
    found = STEP.fit_transform(TABLE)
    assert found.columns == STEP.get_feature_names_out().tolist() == STEP.number_names() + STEP.word_names()
    assert found.row(0) == (1.0, 1.0, 19783.5, "x", "January", "Friday", "March", "Friday", "12")
    assert found.row(1) == (
        None, 20082.0, None, "(missing)", "December", "Wednesday", "(missing)", "(missing)", "(missing)",
    )  # fmt: skip


def test_text_from_a_file_gives_the_same_as_typed_columns():
    typed = STEP.fit_transform(TABLE)
    text = TABLE.select(pl.all().cast(pl.String))
    assert STEP.transform(text).equals(typed)
    other = pd.DataFrame({name: TABLE[name].to_list() for name in TABLE.columns})
    assert STEP.transform(other).equals(typed)


def test_infinite_numbers_and_levels_read_as_numbers():
    found = FrameColumns(numbers=["n"], words=["w"]).fit_transform(
        pl.DataFrame({"n": [float("inf"), float("nan"), 2.0], "w": [1, 2, None]})
    )
    assert found.rows() == [(None, "1"), (None, "2"), (2.0, "(missing)")]


@pytest.mark.parametrize(
    ("column", "values", "sentence"),
    [
        ("n", ["3", "three"], "Column 'n' should hold numbers, but row 2 holds 'three'"),
        ("d", ["2024-01-01", "soon"], "Column 'd' should hold dates, but row 2 holds 'soon'"),
    ],
)
def test_a_value_of_the_wrong_type_is_named_with_its_row(column, values, sentence):
    with pytest.raises(InputError, match=sentence):
        STEP.transform(TABLE.with_columns(pl.Series(column, values)))


def test_an_absent_column_is_named_and_the_step_can_be_cloned():
    with pytest.raises(InputError, match="lacks the columns 'n', 'w', which"):
        clone(STEP).transform(TABLE.drop("n", "w"))
