"""scikit-learn's own tools take our models: searches, selections, calibration, stacking, inspection, plots of trees."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from sklearn import tree as their_tree
from sklearn.base import is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.ensemble import StackingClassifier
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import RANSACRegressor
from sklearn.model_selection import GridSearchCV

from didact.core.errors import ParameterError
from didact.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from didact.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from didact.neighbors import KNeighborsClassifier
from didact.tree import DecisionTreeClassifier, DecisionTreeRegressor

matplotlib.use("Agg")
X, y = load_iris(return_X_y=True)


@pytest.mark.parametrize("model", [DecisionTreeClassifier(max_depth=2), DecisionTreeRegressor(max_depth=2)], ids=repr)
def test_plot_tree_and_export_text_read_our_trees(model):
    model.fit(X, y)
    theirs = getattr(their_tree, type(model).__name__)(max_depth=2, random_state=0).fit(X, y)
    drawn, expected = their_tree.plot_tree(model), their_tree.plot_tree(theirs)
    assert len(drawn) == len(expected)
    if is_classifier(model):  # of equal splits, theirs takes one by lot
        assert their_tree.export_text(model).count("class: ") == model.get_n_leaves()
    depth = [[line.count("|") for line in their_tree.export_text(one).splitlines()] for one in (model, theirs)]
    assert depth[0] == depth[1]
    assert their_tree.export_graphviz(model).count("->") == model.tree_.node_count - 1


def test_kinds_of_models():
    assert is_classifier(LogisticRegression())
    assert is_regressor(Ridge())
    assert not is_classifier(Ridge())


def test_html_shows_parameters_and_what_differs():
    html = Lasso(alpha=0.5)._repr_html_()
    assert all(word in html for word in ("Lasso", "alpha", "copy_X"))


def test_select_from_model():
    noise = np.random.default_rng(0).normal(size=(150, 3))
    wide = np.column_stack([X, noise])
    kept = SelectFromModel(Lasso(alpha=0.05)).fit(wide, y).get_support()
    assert not kept[4:].any()
    assert kept[:4].any()
    assert SelectFromModel(RandomForestClassifier(20, random_state=0)).fit(wide, y).get_support()[2:4].all()


def test_recursive_feature_elimination():
    wide = np.column_stack([X, np.random.default_rng(0).normal(size=(150, 2))])
    assert RFE(LogisticRegression(), n_features_to_select=2).fit(wide, y).support_[[2, 3]].all()


def test_permutation_importance():
    found = permutation_importance(KNeighborsClassifier().fit(X, y), X, y, n_repeats=3, random_state=0)
    assert set(np.argsort(found.importances_mean)[-2:]) == {2, 3}


@pytest.mark.parametrize("model", [HistGradientBoostingRegressor(max_iter=5), Ridge()], ids=repr)
def test_partial_dependence(model):
    model.fit(X[:, :3], X[:, 3])
    found = partial_dependence(model, X[:, :3], [2], grid_resolution=5, method="brute")
    grid = found["grid_values"][0]
    expected = [model.predict(np.column_stack([X[:, :2], np.full(150, value)])).mean() for value in grid]
    np.testing.assert_allclose(found["average"][0], expected)


@pytest.mark.parametrize("features", [[2], [0, 2]])
def test_partial_dependence_of_a_tree_by_its_nodes(features):
    ours, theirs = DecisionTreeRegressor(max_depth=3), their_tree.DecisionTreeRegressor(max_depth=3, random_state=0)
    found, expected = (
        partial_dependence(model.fit(X[:, :3], X[:, 3]), X[:, :3], features, grid_resolution=5, method="recursion")
        for model in (ours, theirs)
    )
    np.testing.assert_allclose(found["average"], expected["average"], rtol=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(),
        RandomForestRegressor(n_estimators=5),
        HistGradientBoostingRegressor(max_iter=5),
        HistGradientBoostingClassifier(max_iter=5),
    ],
    ids=repr,
)
def test_partial_dependence_of_all_features_is_the_prediction(model):
    """By the nodes of the trees, which is what `method="auto"` asks; boosting leaves out where it starts."""
    classes = is_classifier(model)
    model.fit(X[:, :3], y if classes else X[:, 3])
    values = {j: np.quantile(X[:, j], [0.2, 0.5, 0.8]) for j in range(3)}
    found = partial_dependence(model, X[:, :3], [0, 1, 2], custom_values=values)
    points = np.stack(np.meshgrid(*found["grid_values"], indexing="ij"), axis=-1).reshape(-1, 3)
    raw = model.decision_function(points).T if classes else model.predict(points)[None]
    start = raw - found["average"].reshape(len(raw), -1)
    np.testing.assert_allclose(start, np.repeat(start[:, :1], 27, axis=1), atol=1e-9)
    if not isinstance(model, (HistGradientBoostingRegressor, HistGradientBoostingClassifier)):
        np.testing.assert_allclose(start, 0.0, atol=1e-9)


def test_partial_dependence_of_a_category_and_of_a_median():
    colour = pd.Series(np.array(["red", "green", "blue"])[y], dtype="category")
    table = pd.DataFrame({"colour": colour, "x": X[:, 0]})
    model = HistGradientBoostingRegressor(max_iter=20, min_samples_leaf=5).fit(table, y.astype(float))
    found = partial_dependence(model, table, ["colour"], categorical_features=["colour"])
    dependence = dict(zip(found["grid_values"][0], found["average"][0], strict=True))
    assert dependence["blue"] > dependence["green"] + 0.5 > dependence["red"] + 1.0
    median = RandomForestRegressor(n_estimators=3, combine="median").fit(X[:, :3], X[:, 3])
    with pytest.raises(ParameterError, match="method='brute'"):
        partial_dependence(median, X[:, :3], [0])


def test_ransac_knows_what_linear_regression_needs():
    rng = np.random.default_rng(0)
    target = X @ [1.0, -2.0, 0.5, 3.0]
    target[::10] += rng.uniform(50, 100, 15)
    found = RANSACRegressor(LinearRegression(), random_state=0).fit(X, target)
    np.testing.assert_allclose(found.estimator_.coef_, [1.0, -2.0, 0.5, 3.0], atol=1e-9)
    assert type(found.estimator_) is LinearRegression


def test_calibration():
    model = CalibratedClassifierCV(HistGradientBoostingClassifier(max_iter=5), cv=3).fit(X, y)
    assert model.score(X, y) > 0.9


def test_stacking():
    members = [("tree", DecisionTreeClassifier(max_depth=3, random_state=0)), ("near", KNeighborsClassifier(n_jobs=1))]
    assert StackingClassifier(members, final_estimator=LogisticRegression(), cv=3).fit(X, y).score(X, y) > 0.9


def test_grid_search():
    grid = {"C": [0.01, 1.0], "solver": ["lbfgs", "liblinear", "saga"]}
    found = GridSearchCV(LogisticRegression(random_state=0, verbose=0), grid, cv=3).fit(X, y).cv_results_
    scores = found["mean_test_score"].reshape(2, 3)
    np.testing.assert_allclose(scores, scores[:, :1] * np.ones(3), atol=0.01)
    assert (scores[1] > scores[0]).all()
