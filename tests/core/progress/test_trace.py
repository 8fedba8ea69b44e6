"""The states that a fit goes through: one for each iteration, the last of them the model itself."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LinearRegression as Theirs

import didact
from didact.cluster import KMeans
from didact.core.errors import InputError
from didact.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from didact.linear_model import LogisticRegression, Ridge
from didact.tree import (
    C45Classifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ModelTreeRegressor,
    ObliqueTreeClassifier,
)

FLOWERS, NUMBERS = load_iris(return_X_y=True), load_diabetes(return_X_y=True)
LINE = np.linspace(-1.0, 1.0, 90)[:, None]
BENT = LINE, np.abs(LINE[:, 0]) + (LINE[:, 0] > 0.5)


def test_a_solver_is_seen_step_by_step():
    X, y = FLOWERS
    model = LogisticRegression()
    states = didact.trace(model, X, y)
    assert [state.iteration for state in states] == list(range(1, model.n_iter_[0] + 1))
    np.testing.assert_allclose([state.value for state in states], model.objective_history_[1:], rtol=1e-12)
    np.testing.assert_array_equal(states[-1].attributes["coef_"], model.coef_)
    scores = [state.model.score(X, y) for state in states]
    assert scores[0] < scores[-1] == model.score(X, y)


def test_steps_of_the_means_are_means():
    X = np.random.default_rng(0).normal(size=(60, 2))
    states = didact.trace(KMeans(3, init=X[:3]), X)
    labels = ((X[:, None] - X[:3]) ** 2).sum(axis=2).argmin(axis=1)
    first = np.stack([X[labels == k].mean(axis=0) for k in range(3)])
    np.testing.assert_allclose(states[0].attributes["cluster_centers_"], first, rtol=1e-10)


@pytest.mark.parametrize(
    ("model", "data", "leaves"),
    [
        (DecisionTreeClassifier(max_depth=4), FLOWERS, lambda m: m.tree_.n_leaves),
        (DecisionTreeRegressor(max_leaf_nodes=6), NUMBERS, lambda m: m.tree_.n_leaves),
        (ObliqueTreeClassifier(max_depth=3), FLOWERS, lambda m: m.tree_.n_leaves),
        (ModelTreeRegressor(max_depth=3), BENT, lambda m: m.tree_.n_leaves),
    ],
)
def test_a_tree_is_seen_split_by_split(model, data, leaves):
    states = didact.trace(model, *data)
    assert [leaves(state.model) for state in states] == list(range(2, leaves(model) + 1))
    assert (np.diff([state.value for state in states]) <= 1e-12).all(), "no split raises the impurity"
    np.testing.assert_array_equal(states[-1].model.predict(data[0]), model.predict(data[0]))


def test_branches_of_categories_come_together():
    X, y = FLOWERS
    model = C45Classifier()
    states = didact.trace(model, X, y)
    nodes = [state.model.tree_.node_count for state in states]
    assert nodes == sorted(nodes)
    assert nodes[-1] == model.tree_.node_count


def test_the_node_of_largest_gain_is_split_first():
    X, y = NUMBERS
    states = didact.trace(DecisionTreeRegressor(max_leaf_nodes=8), X, y)
    for k, state in enumerate(states, start=2):
        small = DecisionTreeRegressor(max_leaf_nodes=k).fit(X, y)
        np.testing.assert_array_equal(state.model.predict(X), small.predict(X))


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (RandomForestClassifier(5, random_state=0), FLOWERS),
        (BaggingClassifier(n_estimators=4, random_state=0), FLOWERS),
        (AdaBoostClassifier(n_estimators=4, random_state=0), FLOWERS),
        (AdaBoostRegressor(n_estimators=4, random_state=0), NUMBERS),
        (HistGradientBoostingRegressor(max_iter=4, early_stopping=False), NUMBERS),
    ],
)
def test_an_ensemble_is_seen_round_by_round(model, data):
    X, y = data
    states = didact.trace(model, X, y)
    name = "max_iter" if hasattr(model, "max_iter") else "n_estimators"
    for k, state in enumerate(states, start=1):
        first = type(model)(**(model.get_params() | {name: k})).fit(X, y)
        np.testing.assert_allclose(state.model.predict(X), first.predict(X), rtol=1e-10)
    assert len(states) == getattr(model, name)


def test_a_fit_in_one_step_has_its_end_alone():
    X, y = NUMBERS
    model = Ridge()
    (state,) = didact.trace(model, X, y, sample_weight=np.ones(len(y)))
    np.testing.assert_array_equal(state.model.coef_, model.coef_)
    assert state.model is not model


def test_callbacks_are_as_they_were():
    X, y = FLOWERS
    log = didact.EarlyStopping(patience=1, min_delta=1e9)
    model = LogisticRegression().set_callbacks(log)
    assert len(didact.trace(model, X, y)) == 2
    assert model._skl_callbacks == [log]


def test_models_of_others_tell_nothing():
    with pytest.raises(InputError, match="A LinearRegression tells nothing of its iterations"):
        didact.trace(Theirs(), *NUMBERS)
