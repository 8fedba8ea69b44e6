"""What users bring, for every estimator: types, layouts, constant columns, and data that must be refused."""

import dask
import dask.array as da
import numpy as np
import pytest
from registry_cases import (
    all_instances,
    assert_same,
    coefficients,
    excuse,
    fitted,
    label,
    one_of_each,
    outputs,
    over_registry,
    precise,
    problem,
    state,
    takes,
)
from sklearn.base import clone
from sklearn.utils import get_tags

from didact import Batches
from didact.core.errors import InputError, ParameterError

MODELS = all_instances()
WEIGHTED = [model for model in MODELS if takes(model, "sample_weight")]
CLASS_WEIGHTED = [model for model in MODELS if "class_weight" in model.get_params(deep=False)]


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
@over_registry(one_of_each(MODELS), "float32")
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
def test_constant_columns_change_no_prediction(model):
    _assert_more_columns_change_nothing(model, 0.1, 300.0)


@over_registry(MODELS, "constant_columns/zeros")
def test_columns_of_zeros_change_no_prediction(model):
    _assert_more_columns_change_nothing(model, 0.0)


def _assert_more_columns_change_nothing(model, *constants):
    X, y = problem(model)
    more = np.column_stack([X, *(np.full(len(X), constant) for constant in constants)])
    got, expected = clone(model).fit(more, y), fitted(model, tight=True)
    assert_same(_up_to_a_constant(got, more), _up_to_a_constant(expected, X), rtol=1e-4)


@over_registry(MODELS, "constant_columns/shift")
def test_a_shifted_column_changes_the_constant_term_only(model):
    X, y = problem(model)
    far = X + [0.0, 100.0, 0.0, 0.0, 0.0]
    shifted, plain = clone(model).fit(far, y), fitted(model, tight=True)
    assert_same(_up_to_a_constant(shifted, far), _up_to_a_constant(plain, X), rtol=1e-4)
    if hasattr(plain, "coef_"):
        assert_same({"coef_": shifted.coef_}, {"coef_": plain.coef_}, rtol=1e-4)


# ------------------------------------------------------------------------------------------------ refusals


@over_registry(one_of_each([m for m in MODELS if get_tags(m).target_tags.required]), "target_refused")
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


@over_registry(one_of_each(WEIGHTED), "collections")
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


@pytest.mark.parametrize("model", one_of_each(CLASS_WEIGHTED), ids=label)
def test_class_weights_that_leave_nothing_are_refused(model):
    X, y = problem(model)
    labels = np.unique(y).tolist()
    for bad in (dict.fromkeys(labels, 0), {labels[0]: -1.0}, {labels[0]: np.nan}, {labels[0]: np.inf}):
        with pytest.raises(ParameterError, match="class_weight"):
            clone(model).set_params(class_weight=bad).fit(X, y)


@pytest.mark.parametrize("model", one_of_each([m for m in MODELS if excuse(m, "collections")]), ids=label)
def test_collections_that_cannot_be_fitted_are_refused_in_words(model):
    """What the reason on the class says is also what the user reads."""
    X, y = problem(model)
    with pytest.raises(InputError, match="in memory"):
        clone(model).fit(Batches(lambda: [(X, y)]))
    with pytest.raises(InputError, match="in memory"):
        clone(model).fit(da.from_array(X), da.from_array(y))


@over_registry(one_of_each(MODELS), "empty_refused")
def test_empty_data_are_refused(model):
    X, y = problem(model)
    for empty in (X[:0], X[:, :0]):
        with pytest.raises(ValueError, match=r"0 (sample|feature)\(s\)"):
            clone(model).fit(empty, y[: len(empty)])
    with pytest.raises(ValueError, match="empty"):
        clone(model).fit(Batches(lambda: []))
    with pytest.raises(ValueError, match="empty"):
        clone(model).fit(Batches(lambda: [(X[:0], y[:0])]))
