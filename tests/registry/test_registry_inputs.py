"""What users bring, for every estimator: types, layouts, frames, sparse matrices, and data that must be refused."""

import re

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from registry_cases import (
    all_instances,
    answer,
    assert_same,
    coefficients,
    excuse,
    label,
    outputs,
    over_registry,
    precise,
    problem,
    state,
    takes,
    target_columns,
)
from sklearn.base import clone
from sklearn.utils import get_tags

from didact import Batches
from didact.core.errors import InputError, ParameterError

MODELS = all_instances()
WEIGHTED = [model for model in MODELS if takes(model, "sample_weight")]
SPARSE = [model for model in MODELS if get_tags(model).input_tags.sparse]
NAMES = ["size", "weight", "age", "height", "sex"]


@over_registry(MODELS, "float32")
def test_float32_is_kept_and_agrees_with_float64(model):
    X, y = problem(model)
    X = X.astype(np.float32)
    single, double = precise(model).fit(X, y), precise(model).fit(X.astype(np.float64), y)
    got, expected = state(single, X), state(double, X.astype(np.float64))
    for name, value in got.items():
        assert value.dtype == (np.float32 if expected[name].dtype == np.float64 else expected[name].dtype), name
    # Sums are in float64, so that only the last rounding of the coefficients and of the outputs is in float32.
    assert_same(coefficients(single), coefficients(double), rtol=1e-6)
    assert_same(got, expected, rtol=2e-5)


@pytest.mark.filterwarnings("ignore:SGDRegressor.*far above that of a model with all weights 0")
@over_registry(MODELS, "float32")
def test_whole_numbers_become_float64(model):
    X, y = problem(model)
    X = np.round(4 * X).astype(np.int32)
    fitted = clone(model).fit(X, y)
    expected = clone(model).fit(X.astype(np.float64), y)
    assert_same(state(fitted, X), state(expected, X.astype(np.float64)), rtol=1e-12)
    assert all(v.dtype == np.float64 for v in coefficients(fitted).values())


@over_registry(WEIGHTED, "inputs_untouched")
def test_inputs_are_untouched(model):
    X, y = problem(model)
    w = np.random.default_rng(1).uniform(0.5, 2.0, size=len(y))
    expected = state(clone(model).fit(X.copy(), y.copy(), sample_weight=w.copy()), X.copy())
    arrays = [np.asfortranarray(X), y.copy(), w.copy()]
    copies = [a.copy() for a in arrays]
    for array in arrays:
        array.flags.writeable = False
    fitted = clone(model).fit(arrays[0], arrays[1], sample_weight=arrays[2])
    assert_same(state(fitted, arrays[0]), expected, rtol=1e-7)
    for array, copy in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(array, copy)
    writable = [c.copy() for c in copies]
    outputs(clone(model).fit(writable[0], writable[1], sample_weight=writable[2]), writable[0])
    for array, copy in zip(writable, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


@over_registry(MODELS, "inputs_untouched")
def test_strided_views_and_lists(model):
    X, y = problem(model)
    expected = state(clone(model).fit(X, y), X)
    wide = np.zeros((2 * len(X), 2 * X.shape[1]))
    wide[::2, ::2] = X
    assert_same(state(clone(model).fit(wide[::2, ::2], y), wide[::2, ::2]), expected, rtol=1e-9)
    assert_same(state(clone(model).fit(X.tolist(), y.tolist()), X.tolist()), expected, rtol=1e-9)


FRAMES = {
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "pyarrow": lambda X: pa.table(dict(zip(NAMES, X.T, strict=True))),
}


@pytest.mark.parametrize("kind", FRAMES)
@over_registry(MODELS, "frames")
def test_frames_give_names_and_the_same_answer(model, kind):
    X, y = problem(model)
    frame = FRAMES[kind](X)
    fitted = precise(model).fit(frame, y)
    np.testing.assert_array_equal(fitted.feature_names_in_, NAMES)
    expected = precise(model).fit(X, y)
    assert_same(coefficients(fitted), coefficients(expected), rtol=1e-9)
    assert_same(outputs(fitted, frame), outputs(expected, X), rtol=1e-9)
    with pytest.raises(ValueError, match="feature names"):
        getattr(fitted, answer(model))(pd.DataFrame(X, columns=NAMES[::-1]))


@pytest.mark.parametrize("kind", FRAMES)
@over_registry(MODELS, "collections")
def test_batches_of_frames(model, kind):
    X, y = problem(model)
    pieces = [slice(k, k + 80) for k in range(0, len(y), 80)]
    batches = Batches(lambda: ((FRAMES[kind](X[s]), y[s]) for s in pieces))
    fitted = precise(model).fit(batches)
    np.testing.assert_array_equal(fitted.feature_names_in_, NAMES)
    assert_same(coefficients(fitted), coefficients(precise(model).fit(X, y)), rtol=1e-8)
    renamed = Batches(lambda: (pd.DataFrame(X[s], columns=NAMES[::-1]) for s in pieces))
    with pytest.raises(ValueError, match="columns"):
        list(getattr(fitted, answer(model))(renamed))


def _up_to_a_constant(model, X):
    """Outputs, with the scores of several classes centred: a number added to all of them means nothing."""
    found = outputs(model, X)
    scores = found.get("decision_function")
    return (
        found
        if scores is None or scores.ndim == 1
        else found | {"decision_function": scores - scores.mean(axis=1)[:, None]}
    )


@over_registry(MODELS, "constant_columns/constant")
@pytest.mark.parametrize("constant", [0.1, 300.0])
def test_constant_columns_change_no_prediction(model, constant):
    _assert_one_column_changes_nothing(model, constant)


@over_registry(MODELS, "constant_columns/zeros")
def test_columns_of_zeros_change_no_prediction(model):
    _assert_one_column_changes_nothing(model, 0.0)


def _assert_one_column_changes_nothing(model, constant):
    X, y = problem(model)
    more = np.column_stack([X, np.full(len(X), constant)])
    got, expected = clone(model).fit(more, y), precise(model).fit(X, y)
    assert_same(_up_to_a_constant(got, more), _up_to_a_constant(expected, X), rtol=1e-4)


@over_registry(MODELS, "constant_columns/shift")
def test_a_shifted_column_changes_the_constant_term_only(model):
    X, y = problem(model)
    far = X + [0.0, 100.0, 0.0, 0.0, 0.0]
    shifted, plain = clone(model).fit(far, y), precise(model).fit(X, y)
    assert_same(_up_to_a_constant(shifted, far), _up_to_a_constant(plain, X), rtol=1e-4)
    if hasattr(plain, "coef_"):
        assert_same({"coef_": shifted.coef_}, {"coef_": plain.coef_}, rtol=1e-4)


# ------------------------------------------------------------------------------------------------ refusals


def _frame_with_text(kind, X):
    words = np.where(X[:, 2] > 0, "tall", "short")
    if kind.startswith("pandas"):
        frame = pd.DataFrame(X, columns=NAMES)
        frame["age"] = pd.Series(words, dtype=kind.partition(" ")[2])
        return frame
    if kind == "polars":
        return pl.DataFrame(X, schema=NAMES).with_columns(age=pl.Series(words))
    columns = dict(zip(NAMES, X.T, strict=True)) | {"age": words}
    return pa.table(columns)


@pytest.mark.parametrize("kind", ["pandas str", "pandas object", "polars", "pyarrow"])
@over_registry(MODELS, "text_refused/text")
def test_text_is_refused_by_name(model, kind):
    _assert_refused_by_name(model, kind)


@over_registry(MODELS, "text_refused/category")
def test_categories_are_refused_by_name(model):
    _assert_refused_by_name(model, "pandas category")


def _assert_refused_by_name(model, kind):
    X, y = problem(model)
    frame = _frame_with_text(kind, X)
    with pytest.raises(ValueError, match=remedy(model)):
        clone(model).fit(frame, y)
    with pytest.raises(ValueError, match=remedy(model)):
        clone(model).fit(Batches(lambda: [(frame, y)]))


def remedy(model):
    """What the sentence on a column of text recommends: to name it, where the model reads categories."""
    named = "categorical_features" in model.get_params()
    return rf"'age'.*{'categorical_features' if named else 'didact.preprocessing'}"


@over_registry([m for m in MODELS if not excuse(m, "collections")[0]], "text_refused/dask")
def test_text_in_a_dask_frame_is_refused_by_name(model):
    X, y = problem(model)
    targets, target = target_columns(y)
    frame = dd.from_pandas(_frame_with_text("pandas str", X).assign(**targets), npartitions=2)
    with dask.config.set(scheduler="synchronous"), pytest.raises(ValueError, match=remedy(model)):
        clone(model).fit(frame[NAMES], frame[target])


BAD = {
    "frame": lambda X: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "array": lambda X: X,
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@over_registry(MODELS, "missing_refused/rows")
def test_missing_values_are_refused_by_column(model, kind, value):
    _assert_refused_by_column(model, kind, BAD[kind], value)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@over_registry(SPARSE, "missing_refused/sparse")
def test_missing_values_in_sparse_rows_are_refused_by_column(model, value):
    _assert_refused_by_column(model, "sparse", sp.csr_array, value)


def _assert_refused_by_column(model, kind, table, value):
    X, y = problem(model)
    fitted = clone(model).fit(table(X), y)
    X = X.copy()
    X[17, 3] = value
    bad = table(X)
    if (np.isnan(value) and model._missing) or model._infinite:
        assert_read(clone(model).fit(bad, y), bad)
        return
    column = "'height'" if kind in ("frame", "polars") else "3"
    cure = "didact.impute" if np.isnan(value) else ""
    for method, arguments in [("fit", (bad, y)), (answer(model), (bad,))]:
        with pytest.raises(ValueError, match=r"(NaN|infinity)") as caught:
            getattr(fitted, method)(*arguments)
        assert re.search(rf"columns? {column}\b|columns? {column}", str(caught.value)), str(caught.value)
        assert cure in str(caught.value)


def assert_read(model, X):
    """A model that reads missing values answers for rows that have some."""
    found = np.asarray(getattr(model, answer(model))(X))
    assert len(found) == X.shape[0]
    assert found.dtype.kind != "f" or np.isfinite(found).all()


@pytest.mark.parametrize("kind", ["batches", "dask"])
@over_registry(MODELS, "collections")
def test_missing_values_in_blocks_are_refused_by_column(model, kind):
    X, y = problem(model)
    good = clone(model).fit(pd.DataFrame(X, columns=NAMES), y)
    X = X.copy()
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


@over_registry([m for m in MODELS if get_tags(m).target_tags.required], "target_refused")
def test_missing_targets_and_weights_are_refused(model):
    X, y = problem(model)
    if y.dtype.kind == "f":
        bad = y.copy()
        bad[3] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            clone(model).fit(X, bad)
        with pytest.raises(ValueError, match="NaN"):
            clone(model).fit(Batches(lambda: [(X, bad)]))
    with pytest.raises(ValueError, match="y"):
        clone(model).fit(X, None)
    if takes(model, "sample_weight"):
        for bad in (np.full(len(y), np.nan), -np.ones(len(y)), np.ones(len(y) - 1)):
            with pytest.raises(ValueError):
                clone(model).fit(X, y, sample_weight=bad)


@over_registry(WEIGHTED, "collections")
def test_a_block_may_have_no_weight_but_not_all(model):
    X, y = problem(model)
    w = np.repeat([1.0, 0.0, 2.0], len(y) // 3)
    pieces = [slice(k, k + 40) for k in range(0, len(y), 40)]
    fitted = precise(model).fit(Batches(lambda: ((X[s], y[s], w[s]) for s in pieces)))
    assert_same(state(fitted, X), state(precise(model).fit(X, y, sample_weight=w), X), rtol=1e-8)
    with pytest.raises(ValueError, match=r"[Ww]eight"):
        clone(model).fit(X, y, sample_weight=0 * w)
    with pytest.raises(ValueError, match=r"[Ww]eight"):
        clone(model).fit(Batches(lambda: ((X[s], y[s], 0 * w[s]) for s in pieces)))
    with dask.config.set(scheduler="synchronous"), pytest.raises(ValueError, match=r"[Ww]eight"):
        clone(model).fit(*(da.from_array(c, chunks=40) for c in (X, y)), sample_weight=da.from_array(0 * w, chunks=40))


@pytest.mark.parametrize("model", [m for m in MODELS if "class_weight" in m.get_params(deep=False)], ids=label)
def test_class_weights_that_leave_nothing_are_refused(model):
    X, y = problem(model)
    labels = np.unique(y).tolist()
    for bad in (dict.fromkeys(labels, 0), {labels[0]: -1.0}, {labels[0]: np.nan}, {labels[0]: np.inf}):
        with pytest.raises(ParameterError, match="class_weight"):
            clone(model).set_params(class_weight=bad).fit(X, y)


@pytest.mark.parametrize("model", [m for m in MODELS if excuse(m, "collections")[0]], ids=label)
def test_collections_that_cannot_be_fitted_are_refused_in_words(model):
    """What the reason on the class says is also what the user reads."""
    X, y = problem(model)
    with pytest.raises(InputError, match="in memory"):
        clone(model).fit(Batches(lambda: [(X, y)]))
    with pytest.raises(InputError, match="in memory"):
        clone(model).fit(da.from_array(X), da.from_array(y))


@over_registry(MODELS, "empty_refused")
def test_empty_data_are_refused(model):
    X, y = problem(model)
    for empty in (X[:0], X[:, :0]):
        with pytest.raises(ValueError, match=r"0 (sample|feature)\(s\)"):
            clone(model).fit(empty, y[: len(empty)])
    with pytest.raises(ValueError, match="empty"):
        clone(model).fit(Batches(lambda: []))
    with pytest.raises(ValueError, match="empty"):
        clone(model).fit(Batches(lambda: [(X[:0], y[:0])]))
