"""Categorical columns: found by type, name, place or mask; coded in every kind of table; strangers become missing."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from didact.core.categories import Categories, learn_categories
from didact.core.errors import InputError, ParameterError

COLOURS = ["red", "blue", None, "red"]


def tables():
    frame = pd.DataFrame({"size": [1.0, np.nan, 3.0, 4.0], "colour": pd.Categorical(COLOURS, ["red", "green", "blue"])})
    colours = pl.Series(COLOURS, dtype=pl.Enum(["red", "green", "blue"]))
    polars = pl.DataFrame({"size": [1.0, None, 3.0, 4.0], "colour": colours})
    arrow = pa.table({"size": [1.0, None, 3.0, 4.0], "colour": pa.array(COLOURS).dictionary_encode()})
    return {"pandas": frame, "polars": polars, "arrow": arrow, "batch": arrow.to_batches()[0]}


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "batch"])
def test_types_say_which_columns_are_categorical(kind):
    table = tables()[kind]
    found = learn_categories("from_dtype", [table], None)
    np.testing.assert_array_equal(found.mask, [False, True])
    coded = found.encode(table)
    assert coded.flags.c_contiguous
    np.testing.assert_array_equal(coded[:, 0], [1.0, np.nan, 3.0, 4.0])
    names = [None if np.isnan(c) else found.values[1][int(c)] for c in coded[:, 1]]
    assert names == COLOURS


def test_codes_follow_the_order_of_the_type_or_of_the_values():
    table = tables()["pandas"]
    assert list(learn_categories("from_dtype", [table], None).values[1]) == ["red", "green", "blue"]
    text = table.astype({"colour": "object"})
    assert list(learn_categories(["colour"], [text], None).values[1]) == ["blue", "red"]


@pytest.mark.parametrize("spec", [[1], [-1], [False, True], ["colour"]])
def test_columns_are_named_by_place_mask_or_name(spec):
    found = learn_categories(spec, [tables()["pandas"]], ["size", "colour"])
    np.testing.assert_array_equal(found.mask, [False, True])
    np.testing.assert_array_equal(found.counts, [0, 3])


def test_numbers_in_arrays_can_be_categories():
    X = np.array([[5.0, 1.0], [2.0, 2.0], [5.0, 3.0], [np.nan, 4.0]])
    found = learn_categories([0], [X], None)
    np.testing.assert_array_equal(found.encode(X)[:, 0], [1.0, 0.0, 1.0, np.nan])
    np.testing.assert_array_equal(found.encode(np.array([[3.0, 0.0]])), [[np.nan, 0.0]])
    np.testing.assert_array_equal(found.encode(sp.csr_array(X[:3]))[:, 0], [1.0, 0.0, 1.0])


def test_category_types_of_new_tables_list_other_values():
    found = Categories((np.array(["red", "green", "blue"], object),))
    expected = [2.0, np.nan, 0.0, np.nan, 2.0]
    colours = ["blue", None, "red", "violet", "blue"]
    pl.Series(["white", "violet", "red"], dtype=pl.Categorical)  # numbers that other columns of Polars have taken
    parts = [pa.array(part).dictionary_encode() for part in (colours[:2], colours[2:])]
    short = pa.DictionaryArray.from_arrays(pa.array([0, None, 1, 2, 0], pa.uint8()), ["blue", "red", "violet"])
    new = [
        pd.DataFrame({"colour": pd.Categorical(colours)}),
        pl.DataFrame({"colour": pl.Series(colours, dtype=pl.Categorical)}),
        pl.DataFrame({"colour": pl.Series(colours, dtype=pl.Enum(["violet", "blue", "red"]))}),
        pa.table({"colour": pa.chunked_array(parts)}),
        pa.table({"colour": short}),
        pd.DataFrame({"colour": colours}),
        pl.DataFrame({"colour": colours}),
        np.array(colours, object)[:, None],
    ]
    for table in new:
        np.testing.assert_array_equal(found.encode(table)[:, 0], expected)
    nothing = pl.DataFrame({"colour": pl.Series([None, None], dtype=pl.Categorical)})
    assert np.isnan(found.encode(nothing)).all()
    assert found.encode(new[3][:0]).shape == (0, 1)


@pytest.mark.parametrize("values", [[-3, -2, -1, 0], [7, 8, 9, 10], [2, 5, 7, 1000]])
@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int32])
def test_numbers_with_and_without_gaps(values, kind):
    found = learn_categories([0], [np.array(values)[:, None]], None)
    rows = np.concatenate([values, [-4, 11, 3, 2**31 - 1]]).astype(kind)
    if kind != np.int32:
        rows = np.concatenate([rows, [np.nan, np.inf, -np.inf, 7.5, -0.5, 1e-17, 1e300]])
    rows = np.tile(rows, 2000)
    expected = [values.index(x) if x in values else np.nan for x in rows.tolist()]
    np.testing.assert_array_equal(found.encode(rows[:, None])[:, 0], expected)


def test_object_arrays_and_lists():
    X = np.array([["a", 1], ["b", 2.5], [None, 3]], dtype=object)
    found = learn_categories([0], [X], None)
    np.testing.assert_array_equal(found.encode(X), [[0.0, 1.0], [1.0, 2.5], [np.nan, 3.0]])
    np.testing.assert_array_equal(found.encode([["c", 0], ["b", 1]]), [[np.nan, 0.0], [1.0, 1.0]])


def test_values_are_gathered_over_blocks():
    blocks = [np.array([[0.0, 7.0]]), np.array([[1.0, 3.0]]), np.array([[1.0, 7.0]])]
    np.testing.assert_array_equal(learn_categories([1], blocks, None).values[1], [3.0, 7.0])


@pytest.mark.parametrize("spec", [None, "from_dtype", [False, False], []])
def test_no_categories(spec):
    assert learn_categories(spec, [np.zeros((2, 2))], None) is None


@pytest.mark.parametrize("spec", ["dtype", [2], ["size"], [True], [0.5]])
def test_a_wrong_choice_is_refused(spec):
    with pytest.raises(ParameterError, match="categorical_features"):
        learn_categories(spec, [np.zeros((2, 2))], None)


def test_text_in_another_column_is_refused_by_name():
    table = pd.DataFrame({"a": ["x", "y"], "b": ["u", "v"]})
    found = learn_categories(["a"], [table], ["a", "b"])
    with pytest.raises(InputError, match=r"'b'.*categorical_features"):
        found.encode(table)
    with pytest.raises(InputError, match="Column 1"):
        Categories((np.array(["u"], dtype=object), None)).encode(np.array([["u", "v"]], dtype=object))


def test_width_must_match():
    with pytest.raises(InputError, match="3 features"):
        Categories((None, np.array([1.0]))).encode(np.zeros((1, 3)))
