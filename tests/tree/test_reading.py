"""Trees of bags, which saw some columns and some classes only, are read in the columns and classes of the bag."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier as SklearnBagging
from sklearn.tree import DecisionTreeClassifier as SklearnTree

from didact.engines.trees.outline import joined
from didact.ensemble import BaggingClassifier, BaggingRegressor
from didact.tree import (
    C45Classifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ID3Classifier,
    ModelTreeRegressor,
    ObliqueTreeClassifier,
    export_rules,
    shap_values,
)
from didact.tree.reading import read
from didact.tree.rules import _met


def noise_and_signal(n=300):
    X = np.random.default_rng(0).normal(size=(n, 4))
    return X, (X[:, 3] > 0).astype(int)


def leaves(places):
    """The conditions of the path to each leaf, and the leaf."""
    waiting = [(0, ())]
    while waiting:
        i, tests = waiting.pop()
        if not places[i].branches:
            yield tests, places[i]
        waiting += [(child, joined(tests, condition)) for condition, child in places[i].branches]


def test_rules_of_a_bag_name_the_columns_that_its_trees_ask_about():
    X, y = noise_and_signal()
    bag = BaggingClassifier(DecisionTreeClassifier(max_depth=1), max_features=2, random_state=0).fit(X, y)
    rules = export_rules(bag, feature_names=["n0", "n1", "n2", "signal"])
    assert {"signal"} == {c.split()[0] for rule in rules if rule.confidence > 0.95 for c in rule.conditions}
    asked = {drawn[tree.tree_.feature[0]] for drawn, tree in zip(bag.estimators_features_, bag.estimators_)}
    assert {test.feature for rule in rules for test in rule.tests} <= asked
    best = export_rules(bag, X, y)[0]
    mask = _met(best.tests, X)
    assert best.tests[0].feature == 3
    assert best.confidence == np.mean(y[mask].astype(str) == best.outcome) > 0.95


@pytest.mark.parametrize(
    "base",
    [
        DecisionTreeClassifier(max_depth=3),
        DecisionTreeClassifier(max_depth=3, categorical_features=[0]),
        C45Classifier(),
        C45Classifier(categorical_features=[0], pruning=None),
        ID3Classifier(n_bins=3, max_depth=3),
        ObliqueTreeClassifier(max_depth=3),
    ],
)
@pytest.mark.parametrize("again", [False, True])
def test_paths_lead_to_what_the_members_of_a_bag_predict(base, again):
    """Columns with and without repetition, and draws of twelve rows that miss one of three classes."""
    rng = np.random.default_rng(1)
    X = rng.integers(3, 7, (60, 4)) / 2.0
    y = (X[:, 1] > 2) + (X[:, 2] > 2.2)
    bag = BaggingClassifier(base, 12, max_samples=12, max_features=3, bootstrap_features=again, random_state=0)
    bag.fit(X, y)
    assert min(len(member.classes_) for member in bag.estimators_) < 3
    outlines, _ = read(bag, None, None, 2)
    for places, member, drawn in zip(outlines, bag.estimators_, bag.estimators_features_):
        said, part = np.full(len(X), -1), X[:, drawn]
        for tests, leaf in leaves(places):
            said[_met(tests, X)] = leaf.value[0].argmax()
        seen = np.isin(part[:, 0], member.categories_.values[0]) if "categorical_features=[0]" in str(base) else True
        met = (said >= 0) & seen  # a category that the draw had not has no path of its own
        assert met.mean() > 0.3
        np.testing.assert_array_equal(said[met], member.predict(part)[met])


def test_linear_leaves_of_a_bag():
    X, _ = noise_and_signal()
    y = np.abs(X[:, 3]) + X[:, 1]
    X[::7, 3] = np.nan
    bag = BaggingRegressor(ModelTreeRegressor(max_depth=2), 5, max_features=3, random_state=0).fit(X, y)
    outlines, _ = read(bag, None, None, 2)
    for places, member, drawn in zip(outlines, bag.estimators_, bag.estimators_features_):
        said = np.zeros(len(X))
        for tests, leaf in leaves(places):
            said += _met(tests, X) * leaf.numbers(X)
        np.testing.assert_allclose(said, member.predict(X[:, drawn]), atol=1e-9)


@pytest.mark.parametrize("kind", [BaggingClassifier, SklearnBagging])
def test_shapley_values_of_a_bag_with_column_draws(kind):
    X, y = load_iris(return_X_y=True)
    base = DecisionTreeClassifier(max_depth=3) if kind is BaggingClassifier else SklearnTree(max_depth=3)
    bag = kind(base, 10, max_samples=6, max_features=2, random_state=3).fit(X, y)
    assert min(len(member.classes_) for member in bag.estimators_) == (2 if kind is BaggingClassifier else 3)
    found = shap_values(bag, X)
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, bag.predict_proba(X), atol=1e-9)
    numbers = BaggingRegressor(DecisionTreeRegressor(max_depth=3), 4, max_features=2, random_state=0).fit(X, y)
    unused = sorted(set(range(4)) - {j for drawn in numbers.estimators_features_ for j in drawn})
    assert (shap_values(numbers, X).values[:, unused] == 0).all()
