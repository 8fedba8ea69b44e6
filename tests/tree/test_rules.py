"""Rules say how far off they are, where missing values belong, and what is wrong with their arguments."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor as SklearnRegressor

from didact import Batches
from didact.core.errors import InputError, ParameterError
from didact.ensemble import RandomForestRegressor
from didact.tree import (
    C45Classifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ModelTreeRegressor,
    export_rules,
    plot_tree,
)
from didact.tree.rules import _met


def numbers(n=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    return X, np.abs(X[:, 0]) + 0.1 + 0.3 * rng.uniform(size=n)


def assert_deviations(rules, model, X, y):
    for rule in rules:
        mask = _met(rule.tests, X)
        off = y[mask] - model.predict(X[mask])
        assert rule.deviation == pytest.approx(np.sqrt(np.mean(off**2)), rel=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(max_depth=2),
        SklearnRegressor(max_depth=2),
        ModelTreeRegressor(max_depth=2),
    ],
)
def test_stored_deviations_are_those_of_the_training_rows(model):
    X, y = numbers()
    X = X.astype(np.float32).astype(float)
    model.fit(X, y)
    assert_deviations(export_rules(model, simplify=False), model, X, y)


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(max_depth=2, criterion="absolute_error"),
        DecisionTreeRegressor(max_depth=2, criterion="poisson"),
        DecisionTreeRegressor(max_depth=3, monotonic_cst=[0, 0, 0, 1]),
        ModelTreeRegressor(max_depth=2, smoothing=15.0),
        SklearnRegressor(max_depth=2, criterion="poisson"),
    ],
)
def test_deviations_that_the_tree_has_not_stored_are_left_out_without_rows(model):
    X, y = numbers()
    X = X.astype(np.float32).astype(float)
    model.fit(X, y)
    assert all(rule.deviation is None for rule in export_rules(model))
    assert "deviation" not in str(export_rules(model)[0])
    assert_deviations(export_rules(model, X, y, simplify=False), model, X, y)


def test_linear_leaves_are_measured_as_linear_functions():
    X, y = numbers()
    X[::5, 0] = np.nan
    model = ModelTreeRegressor(max_depth=2).fit(X, y)
    rules = export_rules(model, X, y, simplify=False)
    assert_deviations(rules, model, X, y)
    assert sum(rule.support for rule in rules) == pytest.approx(1.0), "each row meets one rule, missing values or not"


def test_linear_leaves_are_not_merged_into_a_mean():
    x = np.linspace(0, 1, 40)[:, None]
    model = ModelTreeRegressor(max_depth=1, pruning=False).fit(x, 0.001 * np.sin(9 * x[:, 0]))
    assert model.get_n_leaves() == 2
    assert len(export_rules(model, decimals=0)) == 2


def test_words_say_where_missing_values_belong():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] > 0.3).astype(int)
    X[y == 1, 0] = np.where(rng.uniform(size=y.sum()) < 0.4, np.nan, X[y == 1, 0])
    model = DecisionTreeClassifier(max_depth=1).fit(X, y)
    low, high = export_rules(model, X, y, feature_names=["a", "b"])
    assert (low.conditions, high.conditions) == (("a ≤ 0.30",), ("a > 0.30 or missing",))
    assert not low.tests[0].missing
    assert high.tests[0].missing
    assert export_rules(model)[1].conditions == ("feature_0 > 0.30",)
    assert export_rules(model, show_missing=True)[1].conditions == ("feature_0 > 0.30 or missing",)
    assert export_rules(model, X, y, show_missing=False)[1].conditions == ("feature_0 > 0.30",)
    known = np.isfinite(X[:, 0])
    assert export_rules(model, X[known], y[known])[1].conditions == ("feature_0 > 0.30",)


def test_a_split_of_missing_values_alone_is_put_into_words():
    X = np.where(np.arange(40) % 4 == 0, np.nan, np.arange(40.0))[:, None]
    model = DecisionTreeClassifier(max_depth=1).fit(X, np.isnan(X[:, 0]).astype(int))
    conditions = {rule.outcome: rule.conditions for rule in export_rules(model, X, np.isnan(X[:, 0]).astype(int))}
    assert conditions == {"0": ("feature_0 is there",), "1": ("feature_0 is missing",)}
    texts = [text.get_text() for text in plot_tree(model)]
    assert {"is there", "is missing"} <= set(texts)


@pytest.mark.parametrize("bad", [0, -1, 2.5, True, "3"])
def test_max_rules_is_a_whole_number_from_1_on(bad):
    X, y = numbers()
    model = DecisionTreeRegressor(max_depth=2).fit(X, y)
    with pytest.raises(ParameterError, match="max_rules must be a whole number"):
        export_rules(model, max_rules=bad)
    assert len(export_rules(model, max_rules=np.int64(3))) == 3


def test_rows_that_do_not_fit_together_are_refused():
    X, y = numbers()
    model = RandomForestRegressor(2, max_depth=2, random_state=0).fit(X, y)
    for rows in ((X,), (None, y), (None, None, y)):
        with pytest.raises(InputError, match="give both X and y"):
            export_rules(model, *rows)
    with pytest.raises(InputError, match="X has 300 rows, but y has the shape"):
        export_rules(model, X, y[:10])
    with pytest.raises(InputError, match="X has 300 rows, but sample_weight has the shape"):
        export_rules(model, X, y, y[:10])
    with pytest.raises(InputError, match="not all of them 0"):
        export_rules(model, X, y, 0 * y)
    with pytest.raises(InputError, match="rows in memory"):
        export_rules(model, Batches(lambda: [X]), y)
    assert export_rules(C45Classifier().fit(X, y > 0.9), X, (y > 0.9)[:, None])[0].confidence > 0.9
