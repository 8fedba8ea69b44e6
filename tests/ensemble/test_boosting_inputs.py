"""What boosting reads: infinite values, codes below zero, and validation sets that are named when they are at fault."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.ensemble

from didact import Batches
from didact.core.errors import InputError
from didact.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor


def table(n=600, seed=0):
    """Columns with both infinities and missing values, which the target knows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = X[:, 0] + X[:, 1] ** 2
    for value in (np.inf, -np.inf, np.nan):
        X[rng.random(X.shape) < 0.05] = value
    X[:, 3] = np.where(rng.random(n) < 0.5, np.inf, -np.inf)  # nothing but infinities
    return X, y + 3 * (X[:, 2] == np.inf) - 2 * (X[:, 2] == -np.inf) + (X[:, 3] > 0)


@pytest.mark.parametrize("n", [100, 600])  # a bin for each value, or quantiles
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_infinite_values_are_values_beyond_all_others(n, dtype):
    """Trees only ask for the order of values, so that any number above or below all others is the same."""
    X, y = table(n)
    finite = np.clip(X, -1e3, 1e3).astype(dtype)
    for kind, target in ((HistGradientBoostingRegressor, y), (HistGradientBoostingClassifier, y > 1)):
        model = kind(max_iter=8, min_samples_leaf=3)
        with_infinity = model.fit(X.astype(dtype), target).predict(X.astype(dtype))
        without = model.fit(finite, target).predict(finite)
        np.testing.assert_array_equal(with_infinity, without)


def test_infinite_values_in_blocks_and_in_sparse_rows():
    X, y = table(301)
    model = HistGradientBoostingRegressor(max_iter=5)
    expected = model.fit(X, y).predict(X)
    batches = Batches(lambda: [(X[:100], y[:100]), (X[100:], y[100:])])
    np.testing.assert_array_equal(model.fit(batches).predict(X), expected)
    chunks = da.from_array(X, chunks=(100, 4)), da.from_array(y, chunks=100)
    np.testing.assert_array_equal(model.fit(*chunks).predict(X), expected)
    some = np.where(
        np.random.default_rng(1).random(X.shape) < 0.5, np.nan_to_num(X, posinf=np.inf, neginf=-np.inf), 0.0
    )
    dense = model.fit(some, y).predict(some)
    np.testing.assert_array_equal(model.fit(sp.csr_array(some), y).predict(sp.csr_array(some)), dense)


def test_infinite_values_of_new_rows():
    X, y = table()
    X = np.clip(np.nan_to_num(X), -5, 5)
    model = HistGradientBoostingRegressor(max_iter=5).fit(X, y)
    new = np.array([[np.inf] * 4, [-np.inf] * 4])
    np.testing.assert_array_equal(model.predict(new), model.predict(np.clip(new, -1e9, 1e9)))


@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_codes_below_zero_are_missing_values(dtype):
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 6, size=(500, 2)).astype(dtype)
    y = np.array([0, 3, 1, 0, 2, 5.0])[np.maximum(X[:, 0], 0).astype(int)] + 9 * (X[:, 0] < 0)
    params = {"max_iter": 10, "categorical_features": [0]}
    model = HistGradientBoostingRegressor(**params).fit(X, y)
    assert model.categories_.values[0].tolist() == [0, 1, 2, 3, 4, 5]
    theirs = sklearn.ensemble.HistGradientBoostingRegressor(**params).fit(X, y)
    np.testing.assert_allclose(model.predict(X), theirs.predict(X), rtol=1e-6, atol=1e-6)
    missing = np.where((X < 0) & [True, False], np.nan, X)
    np.testing.assert_array_equal(model.predict(missing), model.predict(X))
    batches = Batches(lambda: [(X[:200], y[:200]), (X[200:], y[200:])])
    np.testing.assert_array_equal(HistGradientBoostingRegressor(**params).fit(batches).predict(X), model.predict(X))
    frame = pd.DataFrame(X, columns=["a", "b"])
    np.testing.assert_array_equal(
        HistGradientBoostingRegressor(**params).fit(frame, y).predict(frame), model.predict(X)
    )
    model.set_params(warm_start=True, max_iter=12).fit(X, y)
    assert model.n_iter_ == 12


def test_values_below_zero_that_a_category_type_lists_are_categories():
    frame = pd.DataFrame({"a": pd.Categorical(np.tile([-2, -1, 4], 60))})
    y = np.tile([1.0, 5.0, 3.0], 60)
    model = HistGradientBoostingRegressor(learning_rate=1.0, max_iter=2).fit(frame, y)
    np.testing.assert_allclose(model.predict(frame), y)
    assert model.categories_.values[0].tolist() == [-2, -1, 4]


@pytest.mark.parametrize("kind", [HistGradientBoostingRegressor, HistGradientBoostingClassifier])
def test_a_validation_set_at_fault_is_named(kind):
    X, y = np.arange(60.0).reshape(-1, 1), np.tile([0, 1], 30)
    model = kind(max_iter=3)
    for empty in (X[:0], pd.DataFrame(X[:0]), [], sp.csr_array(X[:0])):
        with pytest.raises(InputError, match="validation set is empty: X_val has no rows"):
            model.fit(X, y, X_val=empty, y_val=y[:0])
    for X_val, y_val, w, word in (
        (X[:5], y[:4], None, "inconsistent"),
        (np.ones((5, 2)), y[:5], None, "features"),
        (X[:5], y[:5], np.zeros(5), "weight"),
    ):
        with pytest.raises(InputError, match=f"(?s)In the validation set.*{word}"):
            model.fit(X, y, X_val=X_val, y_val=y_val, sample_weight_val=w)
