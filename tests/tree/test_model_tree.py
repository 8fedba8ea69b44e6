"""Model trees: a piecewise linear function comes back exactly; cuts by brute force; pruning and smoothing."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge

from didact.engines.trees.variants.model_tree import ModelGrowth, best_split, unexplained
from didact.tree import DecisionTreeRegressor, ModelTreeRegressor, export_rules, export_text


def piecewise(n=600, seed=0):
    """Three planes that do not meet, divided by x0 and x1."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 3))
    left = 3.0 - 1.0 * X[:, 0] + 2.0 * X[:, 2]
    upper, lower = -1.0 + 4.0 * X[:, 1], 1.0 + 0.5 * X[:, 0] - 3.0 * X[:, 2]
    return X, np.where(X[:, 0] <= -0.2, left, np.where(X[:, 1] <= 0.3, lower, upper))


def test_a_piecewise_linear_function_is_found_exactly():
    X, y = piecewise()
    model = ModelTreeRegressor().fit(X, y)
    assert model.get_n_leaves() == 3
    np.testing.assert_allclose(model.predict(X), y, atol=1e-8)
    X_new, y_new = piecewise(500, 1)
    clear = (np.abs(X_new[:, 0] + 0.2) > 0.02) & (np.abs(X_new[:, 1] - 0.3) > 0.02)
    np.testing.assert_allclose(model.predict(X_new[clear]), y_new[clear], atol=1e-8)
    tree = model.tree_
    leaves = np.flatnonzero(tree.tree.children_left < 0)
    found = {tuple(np.round([tree.intercept[i], *tree.coef[i]], 6) + 0.0) for i in leaves}
    assert found == {(3.0, -1.0, 0.0, 2.0), (-1.0, 0.0, 4.0, 0.0), (1.0, 0.5, 0.0, -3.0)}


def test_unexplained_squares_are_those_of_ridge_regression():
    rng = np.random.default_rng(2)
    X, y, w = rng.normal(size=(50, 3)), rng.normal(size=50), rng.integers(1, 4, 50).astype(float)
    A = np.column_stack([np.ones(50), X, y])
    G = (A.T @ (A * w[:, None]))[None]
    ridge = Ridge(alpha=2.0 + 1e-9 * w.sum()).fit(X, y, sample_weight=w)
    objective = w @ (y - ridge.predict(X)) ** 2 + ridge.alpha * ridge.coef_ @ ridge.coef_
    np.testing.assert_allclose(unexplained(G, 2.0)[0], objective, rtol=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_splits_are_those_of_an_exhaustive_search(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 2)).round(1)
    y = np.abs(X[:, 0] - 0.4) + 0.05 * rng.normal(size=80)

    def loss(j, cut):
        sides = [X[:, j] <= cut, X[:, j] > cut]
        if min(s.sum() for s in sides) < 10:
            return np.inf
        return sum(((y[s] - LinearRegression().fit(X[s], y[s]).predict(X[s])) ** 2).sum() for s in sides)

    every = {(j, cut): loss(j, cut) for j in range(2) for cut in np.unique(X[:, j])[:-1]}
    cost, j, threshold = best_split(X, y, np.ones(80), ModelGrowth(np.inf, 10, 0.0))
    np.testing.assert_allclose(cost, min(every.values()), rtol=1e-5)
    np.testing.assert_allclose(loss(j, threshold), min(every.values()), rtol=1e-9)


def test_a_linear_function_is_one_leaf_and_least_squares():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 4))
    y = X @ [1.0, 2.0, 0.0, -1.0] + rng.normal(size=300)
    model = ModelTreeRegressor().fit(X, y)
    assert model.get_n_leaves() == 1, "pruning sees that more models only fit noise"
    np.testing.assert_allclose(model.predict(X), LinearRegression().fit(X, y).predict(X), atol=1e-9)
    assert ModelTreeRegressor(pruning=False).fit(X, y).get_n_leaves() > 5


def test_better_than_constant_leaves_on_smooth_functions():
    rng = np.random.default_rng(4)
    X, X_new = rng.uniform(-2, 2, size=(2, 800, 2))

    def f(X):
        return np.sin(2 * X[:, 0]) + X[:, 1] ** 2

    y = f(X) + 0.1 * rng.normal(size=800)
    lines = ModelTreeRegressor().fit(X, y)
    constants = DecisionTreeRegressor(min_samples_leaf=5).fit(X, y)
    errors = [np.mean((m.predict(X_new) - f(X_new)) ** 2) for m in (lines, constants)]
    assert errors[0] < errors[1] / 2
    assert lines.get_n_leaves() < constants.get_n_leaves()


def test_smoothing_mixes_models_along_the_path():
    x = np.linspace(-1, 1, 81)[:, None]
    y = np.abs(x[:, 0])
    plain, mixed = ModelTreeRegressor(max_depth=1).fit(x, y), ModelTreeRegressor(max_depth=1, smoothing=15.0).fit(x, y)
    line = LinearRegression().fit(x, y)
    n = np.bincount(plain.apply(x))[plain.apply(x)]
    expected = (n * plain.predict(x) + 15 * line.predict(x)) / (n + 15)
    np.testing.assert_allclose(mixed.predict(x), expected, atol=1e-9)


def test_missing_constant_and_collinear_columns():
    X, y = piecewise(400, 5)
    more = np.column_stack([X, np.full(400, 7.0), X[:, 0]])
    model = ModelTreeRegressor(max_depth=2).fit(more, y)
    np.testing.assert_allclose(model.predict(more), ModelTreeRegressor(max_depth=2).fit(X, y).predict(X), atol=1e-5)
    more[::7, 1] = np.nan
    again = ModelTreeRegressor(max_depth=2).fit(more, y)
    full = np.where(np.isnan(more), np.nanmean(more, axis=0), more)
    np.testing.assert_allclose(again.predict(more), again.predict(full), rtol=1e-12)


def test_text_and_rules_show_the_lines():
    X, y = piecewise()
    model = ModelTreeRegressor().fit(X, y)
    assert "y = 3.00 − 1.00·feature_0 + 2.00·feature_2" in export_text(model)
    rules = export_rules(model)
    assert {rule.outcome for rule in rules} == {
        "3.00 − 1.00·feature_0 + 2.00·feature_2",
        "-1.00 + 4.00·feature_1",
        "1.00 + 0.50·feature_0 − 3.00·feature_2",
    }
    np.testing.assert_allclose([rule.deviation for rule in rules], 0.0, atol=1e-5)


@pytest.mark.parametrize("factor", [1e-9, 0.001, 1000.0])
def test_a_constant_factor_of_the_weights_changes_nothing(factor):
    X, y = piecewise(200)
    y = y + np.random.default_rng(1).normal(scale=0.1, size=200)
    for params in ({}, {"alpha": 1.0, "smoothing": 15.0}):
        for w in (np.ones(200), np.random.default_rng(0).uniform(size=200)):
            one = ModelTreeRegressor(**params).fit(X, y, sample_weight=w)
            other = ModelTreeRegressor(**params).fit(X, y, sample_weight=factor * w)
            np.testing.assert_allclose(other.predict(X), one.predict(X), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("power", [513, 1000, 1023])
def test_huge_columns_are_found_exactly_too(power):
    X, y = piecewise(200)
    plain = ModelTreeRegressor().fit(X, y)
    for columns in ([0], [0, 1, 2]):
        huge = X.copy()
        huge[:, columns] *= 2.0**power
        model = ModelTreeRegressor().fit(huge, y)
        np.testing.assert_allclose(model.predict(huge), plain.predict(X), rtol=1e-7, atol=1e-7)
    with pytest.raises(ValueError, match="squares or sums overflow"):
        ModelTreeRegressor().fit(X, y * 1e200)
