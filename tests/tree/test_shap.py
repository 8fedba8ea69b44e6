"""Shapley values against their definition, summed over all subsets of the features."""

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import AdaBoostRegressor as SklearnAdaBoost
from sklearn.ensemble import RandomForestClassifier as SklearnForest
from sklearn.ensemble import RandomForestRegressor as SklearnForestRegressor
from sklearn.tree import DecisionTreeRegressor as SklearnTree

from didact.core.errors import InputError
from didact.engines.trees.predict.shap import shap_of_trees
from didact.engines.trees.predict.unpack import unpacked
from didact.engines.trees.tree import TreeBuilder
from didact.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestClassifier
from didact.tree import (
    C45Classifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    permutation_importance,
    shap_values,
)


def coalition(tree, x, known, node=0):
    """The prediction when only the features in `known` are: both children of other splits count, by weight."""
    left, right = tree.children_left[node], tree.children_right[node]
    if left < 0:
        return tree.value[node].ravel()
    j = tree.feature[node]
    if j in known:
        if np.isnan(x[j]):
            goes_left = tree.missing_go_to_left[node]
        elif getattr(tree, "category_set", np.full(99, -1))[node] >= 0:
            words = tree.category_sets[tree.category_set[node]]
            code = int(x[j])
            goes_left = code < 64 * len(words) and (int(words[code >> 6]) >> (code & 63)) & 1
        else:
            goes_left = x[j] <= tree.threshold[node]
        return coalition(tree, x, known, left if goes_left else right)
    w = tree.weighted_n_node_samples
    parts = [w[child] * coalition(tree, x, known, child) for child in (left, right)]
    return (parts[0] + parts[1]) / w[node]


def by_definition(tree, x):
    p = len(x)
    phi = np.zeros((p, tree.value[0].size))
    for j in range(p):
        others = [k for k in range(p) if k != j]
        for size in range(p):
            factor = math.factorial(size) * math.factorial(p - size - 1) / math.factorial(p)
            for subset in combinations(others, size):
                phi[j] += factor * (coalition(tree, x, {*subset, j}) - coalition(tree, x, set(subset)))
    return phi


def random_tree(rng, p=4, depth=5, categorical=1):
    """Any splits at all, the same feature several times on a path, missing values either way, sets of categories."""
    builder = TreeBuilder(n_words=2)

    def grow(parent, is_left, weight, level):
        node = builder.add(parent, is_left, 0.0, 1, weight, rng.normal(size=(1, 2)))
        if level and rng.uniform() < 0.85:
            j = int(rng.integers(p))
            if j < categorical:
                builder.split(node, j, 0.0, bool(rng.integers(2)), rng.choice(70, 30, replace=False).tolist())
            else:
                builder.split(node, j, rng.normal(), bool(rng.integers(2)))
            part = rng.uniform(0.1, 0.9)
            grow(node, True, part * weight, level - 1)
            grow(node, False, (1 - part) * weight, level - 1)

    grow(-1, False, 10.0, depth)
    return builder.build()


@pytest.mark.parametrize("seed", range(8))
def test_values_are_shapley_s_by_definition(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    X = rng.normal(size=(6, 4))
    X[:, 0] = rng.integers(0, 140, 6)
    X[0, 0] = X[1, 2] = X[2, 1] = np.nan
    found, base = shap_of_trees([tree], [tree.value[:, 0]], 1.0, X)
    np.testing.assert_allclose(found, [by_definition(tree, x) for x in X], atol=1e-12)
    np.testing.assert_allclose(base, coalition(tree, X[0], set()), atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1) + base, tree.predict(X), atol=1e-12)


def test_trees_of_scikit_learn():
    X, y = load_diabetes(return_X_y=True)
    X = X[:, :6]
    model = SklearnTree(max_depth=4, random_state=0).fit(X, y)
    found = shap_values(model, X)
    few = X[:3].astype(np.float32).astype(float)
    np.testing.assert_allclose(found.values[:3], [by_definition(model.tree_, x)[:, 0] for x in few], atol=1e-8)
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, model.predict(X))
    np.testing.assert_allclose(found.base_values, y.mean())


def test_forests_add_up_by_class_and_for_numbers():
    X, y = load_iris(return_X_y=True)
    forest = SklearnForest(10, random_state=0).fit(X, y)
    found = shap_values(forest, X)
    assert found.values.shape == (150, 4, 3)
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, forest.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(found.values.sum(axis=2), 0.0, atol=1e-12)
    assert set(found.importances.sum(axis=1).argsort()[:2]) == {0, 1}, "petals matter"
    X, y = load_diabetes(return_X_y=True)
    numbers = SklearnForestRegressor(5, random_state=0).fit(X, y)
    found = shap_values(numbers, X)
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, numbers.predict(X), rtol=1e-7)


def test_our_forest_adds_up():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(8, random_state=0).fit(X, y)
    found = shap_values(forest, X)
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, forest.predict_proba(X), atol=1e-9)


def test_our_trees_with_categories_and_missing_values():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": rng.normal(size=200), "b": rng.normal(size=200), "c": pd.Categorical(rng.choice(list("uvwx"), 200))}
    )
    frame.loc[::9, "a"] = np.nan
    y = frame["a"].fillna(2.0) + (frame["c"] == "u") + 0.1 * frame["b"]
    model = DecisionTreeRegressor(max_depth=4).fit(frame, y)
    found = shap_values(model, frame)
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, model.predict(frame), atol=1e-10)
    codes = model.categories_.encode(frame)
    np.testing.assert_allclose(found.values[:12], [by_definition(model.tree_, x)[:, 0] for x in codes[:12]], atol=1e-12)
    labels = DecisionTreeClassifier(max_depth=3).fit(frame, y > 0.3)
    shares = shap_values(labels, frame)
    np.testing.assert_allclose(shares.values.sum(axis=1) + shares.base_values, labels.predict_proba(frame), atol=1e-12)


def test_a_feature_that_is_not_used_gets_nothing_and_equal_features_get_the_same():
    X = np.array([[0, 0, 5.0], [0, 1, 3.0], [1, 0, 4.0], [1, 1, 5.0]])
    model = DecisionTreeRegressor(max_depth=2).fit(X, X[:, 0] * X[:, 1])
    values = shap_values(model, X).values
    np.testing.assert_array_equal(values[:, 2], 0.0)
    np.testing.assert_allclose(values[3, :2].sum(), 0.75)


def test_models_that_do_not_add_up_are_refused_in_words():
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(InputError, match="does not add up"):
        shap_values(SklearnAdaBoost(n_estimators=5, random_state=0).fit(X, y), X)
    with pytest.raises(InputError, match="no binary splits"):
        shap_values(C45Classifier().fit(X, y > 150), X)


def test_permutation_importance_is_at_hand():
    X, y = load_diabetes(return_X_y=True)
    model = DecisionTreeRegressor(max_depth=3).fit(X, y)
    found = permutation_importance(model, X, y, random_state=0)
    used = np.zeros(X.shape[1], bool)
    used[model.tree_.feature[model.tree_.feature >= 0]] = True
    assert (found.importances_mean[used] > 0).all()
    np.testing.assert_array_equal(found.importances_mean[~used], 0.0)


def test_boosting_adds_up_to_its_raw_scores():
    X, y = load_diabetes(return_X_y=True)
    X = X[:200, :4]
    numbers = HistGradientBoostingRegressor(max_iter=3, max_leaf_nodes=5, early_stopping=False).fit(X, y[:200])
    found = shap_values(numbers, X[:5], background=X)
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, numbers.predict(X[:5]), rtol=1e-9)
    np.testing.assert_allclose(found.base_values, numbers.predict(X).mean(), rtol=1e-9)
    trained = shap_values(numbers, X[:5])  # the weights of the branches are those of the training rows
    np.testing.assert_allclose(trained.values, found.values, rtol=1e-9)
    np.testing.assert_allclose(trained.base_values, found.base_values, rtol=1e-9)
    trees = unpacked(numbers._packed, X)
    expected = [sum(by_definition(tree, x)[:, 0] for tree in trees) for x in X[:5]]
    np.testing.assert_allclose(found.values, expected, atol=1e-9)
    labels = np.digitize(y[:200], [100, 180])
    for classes in (labels > 0, labels):
        model = HistGradientBoostingClassifier(max_iter=4, early_stopping=False).fit(X, classes)
        scores = shap_values(model, X)
        np.testing.assert_allclose(
            scores.values.sum(axis=1) + scores.base_values, model.decision_function(X), rtol=1e-7
        )


@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
def test_boosting_has_kept_the_weights_of_its_branches(loss):
    X, y = load_diabetes(return_X_y=True)
    X, labels = X[:, :4], y > 150
    w = np.random.default_rng(0).integers(1, 4, len(X))
    model = HistGradientBoostingClassifier(loss=loss, max_iter=5, early_stopping=False, warm_start=True)
    model.fit(X, labels, sample_weight=w).set_params(max_iter=8).fit(X, labels, sample_weight=w)
    one = shap_values(model, X[:1])
    assert np.abs(one.values).max() > 0.01
    again = shap_values(model, X[:1], background=np.repeat(X, w, axis=0))
    np.testing.assert_allclose(one.values, again.values, rtol=1e-9)
    np.testing.assert_allclose(one.base_values, np.average(model.decision_function(X), weights=w), rtol=1e-9)
