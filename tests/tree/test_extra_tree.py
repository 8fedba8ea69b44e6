"""Single extra trees: scikit-learn's defaults and quality, and the trees that forests of them are made of."""

import inspect

import numpy as np
import pytest
from sklearn import tree as theirs
from sklearn.datasets import make_classification, make_friedman1

import didact.tree
from didact.tree import DecisionTreeClassifier, ExtraTreeClassifier, ExtraTreeRegressor


@pytest.mark.parametrize("name", ["ExtraTreeClassifier", "ExtraTreeRegressor"])
def test_parameters_have_scikit_learns_defaults(name):
    ours, other = (inspect.signature(getattr(module, name)).parameters for module in (didact.tree, theirs))
    assert {k: p.default for k, p in other.items()} == {k: ours[k].default for k in other}


def test_it_is_the_tree_with_random_thresholds():
    X, y = make_classification(200, 6, n_informative=4, random_state=0)
    one = ExtraTreeClassifier(random_state=3).fit(X, y)
    same = DecisionTreeClassifier(splitter="random", max_features="sqrt", random_state=3).fit(X, y)
    np.testing.assert_array_equal(one.tree_.feature, same.tree_.feature)
    np.testing.assert_array_equal(one.tree_.threshold, same.tree_.threshold)


def test_quality_is_scikit_learns():
    """The mean over many seeds: one random tree says little."""
    X, y = make_friedman1(400, noise=1.0, random_state=0)
    ours, other = (
        np.mean([kind(random_state=k).fit(X[:200], y[:200]).score(X[200:], y[200:]) for k in range(40)])
        for kind in (ExtraTreeRegressor, theirs.ExtraTreeRegressor)
    )
    assert ours == pytest.approx(other, abs=0.1)
