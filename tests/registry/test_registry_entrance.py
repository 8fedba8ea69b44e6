"""The one entrance for data: layouts, frames, batches of frames, and text and missing values refused by column.

All kinds of input for one model of each shape of computation; one of each kind for every other class, which shows that
it comes in by the same entrance.
"""

import itertools
import re

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from registry_cases import (
    REPRESENTATIVES,
    about,
    all_instances,
    answer,
    assert_same,
    coefficients,
    dealt,
    excuse,
    fitted,
    fitted_state,
    label,
    one_of_each,
    over_registry,
    precise,
    problem,
    representatives,
    state,
    target_columns,
)
from sklearn.base import clone
from sklearn.utils import get_tags

from didact import Batches

MODELS = all_instances()
FULL = representatives(MODELS)
OTHERS = one_of_each([m for m in MODELS if type(m) not in {type(model) for model in FULL}])
NAMES = ["size", "weight", "age", "height", "sex"]
FRAMES = {
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "pyarrow": lambda X: pa.table(dict(zip(NAMES, X.T, strict=True))),
}
TEXT = ("pandas str", "pandas object", "polars", "pyarrow")
BAD = {
    "frame": lambda X: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "array": lambda X: X,
    "sparse": sp.csr_array,
}
VALUES = (np.nan, np.inf, -np.inf)
BLOCKS = ("batches", "dask")


def takes_sparse(model):
    return get_tags(model).input_tags.sparse


def takes_collections(model):
    return not excuse(model, "collections")


def test_every_shape_of_computation_is_represented():
    assert set(REPRESENTATIVES) <= {label(model) for model in MODELS}
    for trait in ("_missing", "_infinite", "_tensors", "_sparse"):
        assert {bool(getattr(m, trait)) for m in FULL} == {bool(getattr(m, trait)) for m in MODELS}, trait
    assert not all(takes_collections(m) for m in FULL)
    assert any("categorical_features" in m.get_params() for m in FULL)


@over_registry(OTHERS, "entrance")
def test_every_class_goes_through_the_one_entrance(model):
    """Which frame, which bad value and so on, differs between classes."""
    assert_layouts_do_not_matter(model)
    kind = dealt(model, FRAMES)
    with about(kind):
        assert_frames_give_names_and_the_same_answer(model, kind)
    with about(f"text of {kind}"):
        assert_refused_by_name(model, dealt(model, TEXT))
    bad = itertools.product([kind for kind in BAD if kind != "sparse" or takes_sparse(model)], VALUES)
    kind, value = dealt(model, bad)
    with about(f"{value} in {kind}"):
        assert_refused_by_column(model, kind, value)
    if takes_collections(model):
        assert_batches_of_frames(model, dealt(model, FRAMES))
        assert_text_in_a_dask_frame_is_refused(model)
        with about(f"NaN in {dealt(model, BLOCKS)}"):
            assert_missing_values_in_blocks(model, dealt(model, BLOCKS))


@over_registry(FULL, "inputs_untouched")
def test_strided_views_and_lists(model):
    assert_layouts_do_not_matter(model)


@pytest.mark.parametrize("kind", FRAMES)
@over_registry(FULL, "frames")
def test_frames_give_names_and_the_same_answer(model, kind):
    assert_frames_give_names_and_the_same_answer(model, kind)


@pytest.mark.parametrize("kind", FRAMES)
@over_registry(FULL, "collections")
def test_batches_of_frames(model, kind):
    assert_batches_of_frames(model, kind)


@pytest.mark.parametrize("kind", TEXT)
@over_registry(FULL, "text_refused/text")
def test_text_is_refused_by_name(model, kind):
    assert_refused_by_name(model, kind)


@over_registry(one_of_each(MODELS), "text_refused/category")
def test_categories_are_refused_by_name(model):
    assert_refused_by_name(model, "pandas category")


@over_registry([m for m in FULL if takes_collections(m)], "text_refused/dask")
def test_text_in_a_dask_frame_is_refused_by_name(model):
    assert_text_in_a_dask_frame_is_refused(model)


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("kind", ["frame", "polars", "array"])
@over_registry(FULL, "missing_refused/rows")
def test_missing_values_are_refused_by_column(model, kind, value):
    assert_refused_by_column(model, kind, value)


@pytest.mark.parametrize("value", VALUES)
@over_registry([m for m in FULL if takes_sparse(m)], "missing_refused/sparse")
def test_missing_values_in_sparse_rows_are_refused_by_column(model, value):
    assert_refused_by_column(model, "sparse", value)


@pytest.mark.parametrize("kind", BLOCKS)
@over_registry(FULL, "collections")
def test_missing_values_in_blocks_are_refused_by_column(model, kind):
    assert_missing_values_in_blocks(model, kind)


# ------------------------------------------------------------------------------------------------ the same answer


def assert_layouts_do_not_matter(model):
    X, y = problem(model)
    wide = np.zeros((2 * len(X), 2 * X.shape[1]))
    wide[::2, ::2] = X
    expected = fitted_state(model)
    with about("a strided view"):
        assert_same(state(clone(model).fit(wide[::2, ::2], y), wide[::2, ::2]), expected, rtol=1e-9)
    with about("a list"):
        assert_same(state(clone(model).fit(X.tolist(), y.tolist()), X.tolist()), expected, rtol=1e-9)


def assert_frames_give_names_and_the_same_answer(model, kind):
    X, y = problem(model)
    frame = FRAMES[kind](X)
    found = precise(model).fit(frame, y)
    np.testing.assert_array_equal(found.feature_names_in_, NAMES)
    assert_same(state(found, frame), fitted_state(model, tight=True), rtol=1e-9)
    if answer(model).startswith("fit_"):
        return
    with pytest.raises(ValueError, match="feature names"):
        getattr(found, answer(model))(pd.DataFrame(X, columns=NAMES[::-1]))


def assert_batches_of_frames(model, kind):
    X, y = problem(model)
    pieces = [slice(k, k + 80) for k in range(0, len(y), 80)]
    found = precise(model).fit(Batches(lambda: ((FRAMES[kind](X[s]), y[s]) for s in pieces)))
    np.testing.assert_array_equal(found.feature_names_in_, NAMES)
    assert_same(coefficients(found), coefficients(fitted(model, tight=True)), rtol=1e-8)
    if answer(model).startswith("fit_"):
        return
    renamed = Batches(lambda: (pd.DataFrame(X[s], columns=NAMES[::-1]) for s in pieces))
    with pytest.raises(ValueError, match="columns"):
        list(getattr(found, answer(model))(renamed))


# ------------------------------------------------------------------------------------------------ refusals


def frame_with_text(kind, X):
    words = np.where(X[:, 2] > 0, "tall", "short")
    if kind.startswith("pandas"):
        frame = pd.DataFrame(X, columns=NAMES)
        frame["age"] = pd.Series(words, dtype=kind.partition(" ")[2])
        return frame
    if kind == "polars":
        return pl.DataFrame(X, schema=NAMES).with_columns(age=pl.Series(words))
    return pa.table(dict(zip(NAMES, X.T, strict=True)) | {"age": words})


def remedy(model):
    """What the sentence on a column of text recommends: to name it, where the model reads categories."""
    named = "categorical_features" in model.get_params()
    return rf"'age'.*{'categorical_features' if named else 'didact.preprocessing'}"


def assert_refused_by_name(model, kind):
    X, y = problem(model)
    frame = frame_with_text(kind, X)
    if model._text_codes:  # a model of categories
        assert clone(model).fit(frame, y).categories_.mask.sum() == 1
        return
    with pytest.raises(ValueError, match=remedy(model)):
        clone(model).fit(frame, y)
    with pytest.raises(ValueError, match=remedy(model)):
        clone(model).fit(Batches(lambda: [(frame, y)]))


def assert_text_in_a_dask_frame_is_refused(model):
    X, y = problem(model)
    targets, target = target_columns(y)
    frame = dd.from_pandas(frame_with_text("pandas str", X).assign(**targets), npartitions=2)
    with dask.config.set(scheduler="synchronous"):
        if model._text_codes:
            assert clone(model).fit(frame[NAMES], frame[target]).categories_.mask.sum() == 1
            return
        with pytest.raises(ValueError, match=remedy(model)):
            clone(model).fit(frame[NAMES], frame[target])


def assert_refused_by_column(model, kind, value):
    """In a fit, and by a model that was fitted to good rows of the same kind; some models read such values."""
    X, y = problem(model)
    good = clone(model).fit(BAD[kind](X), y)
    X[17, 3] = value
    bad = BAD[kind](X)
    if (np.isnan(value) and model._missing) or model._infinite:
        assert_read(clone(model).fit(bad, y), bad)
        return
    column = "'height'" if kind in ("frame", "polars") else "3"
    cure = "didact.impute" if np.isnan(value) else ""
    for method, arguments in [("fit", (bad, y)), (answer(model), (bad,))]:
        with pytest.raises(ValueError, match=r"(NaN|infinity)") as caught:
            getattr(good, method)(*arguments)
        assert re.search(rf"columns? {column}\b|columns? {column}", str(caught.value)), str(caught.value)
        assert cure in str(caught.value)


def assert_missing_values_in_blocks(model, kind):
    X, y = problem(model)
    good = clone(model).fit(pd.DataFrame(X, columns=NAMES), y)
    X[-1, 3] = np.nan
    frame = pd.DataFrame(X, columns=NAMES)
    if kind == "batches":
        pieces = [slice(0, 100), slice(100, None)]
        data = (Batches(lambda: ((frame[s], y[s]) for s in pieces)),)
        new = Batches(lambda: (frame[s] for s in pieces))
    else:
        targets, target = target_columns(y)
        table = dd.from_pandas(frame.assign(**targets), npartitions=2)
        data, new = (table[NAMES], table[target]), table[NAMES]
    with dask.config.set(scheduler="synchronous"):
        if model._missing:
            assert_read(clone(model).fit(*data), frame)
            return
        with pytest.raises(ValueError, match=r"'height'.*didact\.impute"):
            clone(model).fit(*data)
        with pytest.raises(ValueError, match=r"'height'.*didact\.impute"):
            found = getattr(good, answer(model))(new)
            list(found) if kind == "batches" else found.compute()


def assert_read(model, X):
    """A model that reads missing values answers for rows that have some."""
    found = np.asarray(getattr(model, answer(model))(X))
    assert len(found) == X.shape[0]
    assert found.dtype.kind != "f" or np.isfinite(found).all()
