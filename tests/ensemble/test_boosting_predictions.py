"""Predictions of boosting are the same for many rows at once and one by one, and follow the trees that are there."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

from didact.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor


def table(n=400, classes=0, seed=0):
    """Numbers and two columns of categories, with missing values; and a target."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, 2)), rng.integers(0, 40, n), rng.integers(5, 9, n)])
    y = X[:, 0] + np.sin(X[:, 2]) * X[:, 1] + (X[:, 3] == 6) + 0.3 * rng.normal(size=n)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.searchsorted(np.quantile(y, np.arange(1, classes) / classes), y) if classes else y


def new_rows(n=500, seed=1):
    """Rows with categories that no fit has seen, among them halves and negative ones."""
    rng = np.random.default_rng(seed)
    X = table(n, seed=seed)[0]
    strange = rng.random(n) < 0.2
    X[strange, 2] = rng.choice([-1.0, 0.5, 39.5, 41.0, 1e9], np.count_nonzero(strange))
    return X


@pytest.mark.parametrize("classes", [0, 2, 3])
@pytest.mark.parametrize("categorical", [None, [2, 3]])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_one_by_one_staged_and_all_at_once(classes, categorical, kind):
    X, y = table(classes=classes)
    cls = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    model = cls(max_iter=12, min_samples_leaf=5, categorical_features=categorical).fit(X, y)
    new = new_rows().astype(kind)
    ask = model.decision_function if classes else model.predict
    found = ask(new)
    np.testing.assert_array_equal(np.concatenate([ask(row[None]) for row in new]), found)
    *_, last = model.staged_decision_function(new) if classes else model.staged_predict(new)
    np.testing.assert_array_equal(last, found)
    if categorical is None:
        np.testing.assert_array_equal(ask(sp.csr_array(new)), found)


def test_added_trees_are_asked():
    X, y = table()
    grown = HistGradientBoostingRegressor(max_iter=5, warm_start=True, random_state=0).fit(X, y)
    before = grown.predict(X)
    grown.set_params(max_iter=15).fit(X, y)
    whole = HistGradientBoostingRegressor(max_iter=15, random_state=0).fit(X, y)
    assert np.abs(grown.predict(X) - before).max() > 0.1
    np.testing.assert_allclose(grown.predict(X), whole.predict(X), rtol=1e-12)


def test_what_is_made_ready_stays_out_of_the_model():
    X, y = table()
    model = HistGradientBoostingRegressor(max_iter=5).fit(X, y)
    attributes, size = set(vars(model)), len(pickle.dumps(model))
    found = model.predict(X)
    assert set(vars(model)) == attributes
    assert len(pickle.dumps(model)) == size
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), found)


def test_several_threads_may_ask_at_once():
    X, y = table(2000, classes=3)
    model = HistGradientBoostingClassifier(max_iter=10).fit(X, y)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: model.predict_proba(X), range(8)))
    assert all(np.array_equal(one, model.predict_proba(X)) for one in found)
