"""Decision trees: scikit-learn's trees node by node, pruning paths, reduced error, categories, worked examples."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import tree as theirs
from sklearn.datasets import load_diabetes, load_wine, make_classification, make_regression

from didact import Batches
from didact.core.errors import InputError
from didact.ensemble import RandomForestClassifier
from didact.tree import C45Classifier, DecisionTreeClassifier, DecisionTreeRegressor


def assert_same_tree(ours, other):
    """The same nodes in the same order; thresholds of scikit-learn are midpoints of float32 values."""
    np.testing.assert_array_equal(ours.children_left, other.children_left)
    np.testing.assert_array_equal(ours.children_right, other.children_right)
    np.testing.assert_array_equal(ours.feature, other.feature)
    np.testing.assert_allclose(ours.threshold, other.threshold, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ours.impurity, other.impurity, atol=1e-9)
    np.testing.assert_array_equal(ours.n_node_samples, other.n_node_samples)
    np.testing.assert_allclose(ours.weighted_n_node_samples, other.weighted_n_node_samples)
    np.testing.assert_allclose(ours.value, other.value, atol=1e-9)
    assert (ours.node_count, ours.n_leaves, ours.max_depth) == (other.node_count, other.n_leaves, other.max_depth)


def numbers(n=400, p=6, seed=0, **how):
    X, y = make_regression(n, p, noise=10.0, random_state=seed, **how)
    return X.astype(np.float32).astype(np.float64), y


@pytest.mark.parametrize("criterion", ["squared_error", "poisson", "absolute_error"])
def test_regression_is_scikit_learns_tree(criterion):
    X, y = numbers()
    y = np.exp(y / y.std())
    depth = 3 if criterion == "absolute_error" else 5  # deeper down, medians tie
    for limits in (
        {"max_depth": depth, "min_samples_leaf": 5},
        {"max_depth": depth, "min_samples_leaf": 5, "min_impurity_decrease": 1e-3},
    ):
        ours = DecisionTreeRegressor(criterion=criterion, **limits).fit(X, y)
        other = theirs.DecisionTreeRegressor(criterion=criterion, random_state=0, **limits).fit(X, y)
        assert_same_tree(ours.tree_, other.tree_)
        np.testing.assert_allclose(ours.predict(X), other.predict(X))
        np.testing.assert_allclose(ours.feature_importances_, other.feature_importances_, atol=1e-10)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss"])
def test_classification_is_scikit_learns_tree(criterion):
    X, y = make_classification(500, 6, n_informative=4, n_classes=3, random_state=2)
    w = np.random.default_rng(0).uniform(0.5, 2.0, 500)
    X = X.astype(np.float32).astype(float)
    ours = DecisionTreeClassifier(criterion=criterion, max_depth=5, min_samples_leaf=4).fit(X, y, w)
    other = theirs.DecisionTreeClassifier(criterion=criterion, max_depth=5, min_samples_leaf=4, random_state=0)
    other.fit(X, y, w)
    assert_same_tree(ours.tree_, other.tree_)
    np.testing.assert_allclose(ours.predict_proba(X), other.predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(ours.apply(X), other.apply(X))
    assert (ours.decision_path(X) != other.decision_path(X)).nnz == 0


def test_sizes_of_a_tree_are_scikit_learns():
    X, y = make_classification(200, 6, n_informative=4, n_classes=3, random_state=2)
    Y = np.column_stack([y, X[:, 0] > 0, X[:, 1] > 0])
    pairs = [(DecisionTreeClassifier, theirs.DecisionTreeClassifier, t) for t in (y, Y, Y[:, 1:])]
    pairs += [(DecisionTreeRegressor, theirs.DecisionTreeRegressor, t) for t in (X[:, 0], X[:, :2])]
    for ours, other, target in pairs:
        found, expected = (kind(max_depth=2, max_features=9).fit(X, target).tree_ for kind in (ours, other))
        assert (found.n_features, found.n_outputs) == (expected.n_features, expected.n_outputs)
        np.testing.assert_array_equal(found.n_classes, expected.n_classes)
        np.testing.assert_allclose(
            found.compute_feature_importances(normalize=False),
            expected.compute_feature_importances(normalize=False),
            atol=1e-9,
        )
    binned = DecisionTreeClassifier(max_depth=2, max_bins=16)
    assert binned.fit(Batches(lambda: [(X, y)])).tree_.n_features == 6
    forest = RandomForestClassifier(2, random_state=0).fit(X, y)
    assert [tree.tree_.n_features for tree in forest.estimators_] == [6, 6]


def test_more_features_than_there_are_is_all_of_them():
    X, y = numbers()
    all_of_them = DecisionTreeRegressor(max_depth=3, max_features=99).fit(X, y)
    assert_same_tree(all_of_them.tree_, DecisionTreeRegressor(max_depth=3).fit(X, y).tree_)
    assert all_of_them.max_features_ == X.shape[1]


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
@pytest.mark.parametrize("signs", [[0, 0, 0, -1, 0, 0], [1, 0, -1, 0, 1, 0]])
def test_monotone_constraints_as_scikit_learn(criterion, signs):
    X, y = numbers(300)
    how = {"criterion": criterion, "monotonic_cst": signs, "max_depth": 3, "min_samples_leaf": 5}
    ours, other = DecisionTreeRegressor(**how).fit(X, y), theirs.DecisionTreeRegressor(random_state=0, **how).fit(X, y)
    assert_same_tree(ours.tree_, other.tree_)
    free = DecisionTreeRegressor(**(how | {"monotonic_cst": None})).fit(X, y)
    assert not np.array_equal(free.tree_.feature, ours.tree_.feature)


@pytest.mark.parametrize("how", [{}, {"max_bins": 16}, {"splitter": "random"}, {"splitter": "random", "max_bins": 16}])
def test_medians_obey_monotone_constraints(how):
    """Missing values, a category and weights are there, too; predictions never rise with the first column."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3)).round(2)
    X[:, 2] = rng.integers(0, 5, 300)
    y = X[:, 0] + np.sin(3 * X[:, 1]) + X[:, 2] + rng.normal(size=300)
    X[rng.random(300) < 0.2, 1] = np.nan
    model = DecisionTreeRegressor(
        criterion="absolute_error", monotonic_cst=[-1, 0, 0], categorical_features=[2], random_state=0, **how
    ).fit(X, y, rng.integers(1, 4, 300))
    assert model.get_n_leaves() > 10
    grid = np.repeat(X[:40], 50, axis=0)
    grid[:, 0] = np.tile(np.linspace(-3, 3, 50), 40)
    assert (np.diff(model.predict(grid).reshape(40, 50), axis=1) <= 1e-12).all()


def test_missing_values_as_scikit_learn():
    X, y = numbers()
    X[np.random.default_rng(0).random(X.shape) < 0.15] = np.nan
    ours = DecisionTreeRegressor(max_depth=4, min_samples_leaf=5).fit(X, y)
    other = theirs.DecisionTreeRegressor(max_depth=4, min_samples_leaf=5, random_state=0).fit(X, y)
    np.testing.assert_array_equal(ours.tree_.feature, other.tree_.feature)
    np.testing.assert_allclose(ours.predict(X), other.predict(X))


def test_several_outputs_as_scikit_learn():
    X, y = numbers(n_targets=3)
    ours = DecisionTreeRegressor(max_depth=4).fit(X, y)
    other = theirs.DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, y)
    assert_same_tree(ours.tree_, other.tree_)
    labels = np.column_stack([np.where(y[:, 0] > 0, "up", "down"), np.where(y[:, 1] > 50, "x", "y")])
    ours = DecisionTreeClassifier(max_depth=4).fit(X, labels)
    other = theirs.DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, labels)
    np.testing.assert_array_equal(ours.predict(X), other.predict(X))
    for a, b in zip(ours.predict_proba(X), other.predict_proba(X), strict=True):
        np.testing.assert_allclose(a, b)
    assert ours.n_classes_ == [2, 2]


@pytest.mark.parametrize("kind", ["regression", "classes"])
def test_pruning_path_is_scikit_learns(kind):
    X, y = load_diabetes(return_X_y=True) if kind == "regression" else load_wine(return_X_y=True)
    X = X.astype(np.float32).astype(float)
    if kind == "regression":
        ours, other = DecisionTreeRegressor(min_samples_leaf=3), theirs.DecisionTreeRegressor(min_samples_leaf=3)
    else:
        ours, other = DecisionTreeClassifier(), theirs.DecisionTreeClassifier()
    other.set_params(random_state=0)
    found, expected = ours.cost_complexity_pruning_path(X, y), other.cost_complexity_pruning_path(X, y)
    np.testing.assert_allclose(found.ccp_alphas[-5:], expected.ccp_alphas[-5:], rtol=1e-7)
    np.testing.assert_allclose(found.impurities[-5:], expected.impurities[-5:], rtol=1e-7)
    assert (np.diff(found.ccp_alphas) >= 0).all()
    np.testing.assert_array_equal(found["ccp_alphas"], found.ccp_alphas)
    assert list(found) == list(expected)
    for alpha in (found.ccp_alphas[-3] * 1.01, found.ccp_alphas[-2] * 1.01):
        leaves = ours.set_params(ccp_alpha=alpha).fit(X, y).get_n_leaves()
        assert leaves == other.set_params(ccp_alpha=alpha).fit(X, y).get_n_leaves()
        assert leaves < 12


def test_pruned_tree_minimises_risk_plus_price():
    """Against all subtrees of a small tree, by enumeration."""
    X, y = numbers(n=60, p=2)
    model = DecisionTreeRegressor(max_depth=4).fit(X, y)
    tree = model.tree_
    risk = tree.impurity * tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]

    def best(node, alpha):
        own = risk[node] + alpha
        if tree.children_left[node] < 0:
            return own
        return min(own, best(tree.children_left[node], alpha) + best(tree.children_right[node], alpha))

    for alpha in np.geomspace(1, risk[0], 12):
        small = DecisionTreeRegressor(max_depth=4, ccp_alpha=alpha).fit(X, y).tree_
        leaf = small.children_left < 0
        cost = (small.impurity * small.weighted_n_node_samples)[leaf].sum() / 60 + alpha * leaf.sum()
        assert cost == pytest.approx(best(0, alpha))


@pytest.mark.parametrize("labels", [False, True])
def test_reduced_error_pruning_finds_the_best_subtree(labels):
    X, y = numbers(n=300, p=3)
    y = np.where(y + np.random.default_rng(1).normal(0, 60, 300) > 0, "yes", "no") if labels else y
    model = (DecisionTreeClassifier if labels else DecisionTreeRegressor)(random_state=0)
    loss = (lambda a, b: (a != b).sum()) if labels else (lambda a, b: ((a - b) ** 2).sum())
    before = model.fit(X[:200], y[:200]).get_n_leaves()
    unpruned = loss(model.predict(X[200:]), y[200:])
    model.prune(X[200:], y[200:])
    after = loss(model.predict(X[200:]), y[200:])
    assert model.get_n_leaves() < before
    assert after <= unpruned
    tree = model.tree_
    for node in np.flatnonzero(tree.children_left >= 0):  # each remaining split earns its place
        rows = model.decision_path(X[200:])[:, [node]].toarray().ravel() > 0
        value = model.classes_[tree.value[node, 0].argmax()] if labels else tree.value[node, 0, 0]
        assert loss(model.predict(X[200:][rows]), y[200:][rows]) < loss(np.full(rows.sum(), value), y[200:][rows])


def test_unseen_labels_in_the_held_out_set_are_errors():
    model = DecisionTreeClassifier().fit([[0.0], [1.0]], ["a", "b"])
    with pytest.raises(ValueError, match="None of the held-out labels"):
        model.prune([[0.0], [1.0]], ["c", "c"])
    assert model.get_n_leaves() == 2
    assert model.prune([[0.0], [1.0]], ["a", "c"]).get_n_leaves() == 1


def test_categories_and_unseen_ones():
    colour = pd.Series(["red", "green", "blue", "green", "red", "blue", "red", "green"], dtype="category")
    X = pd.DataFrame({"colour": colour, "x": np.arange(8.0)})
    y = np.where(colour == "green", "yes", "no")
    model = DecisionTreeClassifier().fit(X, y)
    assert model.get_n_leaves() == 2
    assert model.tree_.category_set[0] == 0
    assert (model.predict(X) == y).all()
    new = pd.DataFrame({"colour": pd.Series(["violet", None, "green"], dtype="category"), "x": [1.0, 2.0, 3.0]})
    assert model.predict(new).tolist() == ["no", "no", "yes"]  # unknown: to the larger side


def test_sparse_and_dense_give_the_same_tree():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5)) * (rng.random((200, 5)) < 0.3)
    y = X @ [1.0, -2.0, 0.5, 0.0, 3.0]
    dense, sparse = (DecisionTreeRegressor().fit(data, y) for data in (X, sp.csr_array(X)))
    np.testing.assert_array_equal(dense.tree_.threshold, sparse.tree_.threshold)
    np.testing.assert_array_equal(dense.predict(X), sparse.predict(sp.csr_array(X)))


def test_weights_of_classes():
    X, y = make_classification(300, 5, weights=[0.9], random_state=0)
    balanced = DecisionTreeClassifier(max_depth=3, class_weight="balanced").fit(X, y)
    factors = len(y) / (2 * np.bincount(y))
    given = DecisionTreeClassifier(max_depth=3).fit(X, y, sample_weight=factors[y])
    np.testing.assert_array_equal(balanced.tree_.value, given.tree_.value)
    named = DecisionTreeClassifier(max_depth=3, class_weight=dict(enumerate(factors))).fit(X, y)
    np.testing.assert_array_equal(named.tree_.value, given.tree_.value)


def test_batches_give_the_tree_of_memory():
    X, y = numbers()
    batches = Batches(lambda: ((X[k : k + 64], y[k : k + 64]) for k in range(0, len(y), 64)))
    np.testing.assert_array_equal(
        DecisionTreeRegressor().fit(batches).tree_.value, DecisionTreeRegressor().fit(X, y).tree_.value
    )


def test_stump_by_hand():
    """Ten points, one error left: gain of x ≤ 4.5 is 1/2 − (4/10·0 + 6/10·2·(1/6)(5/6))."""
    x, y = np.arange(1.0, 11.0)[:, None], np.array([0, 0, 0, 0, 1, 1, 1, 1, 0, 1])
    tree = DecisionTreeClassifier(max_depth=1).fit(x, y).tree_
    assert tree.threshold[0] == 4.5
    assert tree.impurity[0] == pytest.approx(0.5)
    assert tree.impurity.tolist()[1:] == pytest.approx([0.0, 2 * (1 / 6) * (5 / 6)])


def test_play_tennis_by_information_gain():
    """Quinlan's table: entropy 0.940 bits, and the best binary test is outlook = overcast."""
    outlook = ["s", "s", "o", "r", "r", "r", "o", "s", "s", "r", "s", "o", "o", "r"]
    humidity = ["h", "h", "h", "h", "n", "n", "n", "h", "n", "n", "n", "h", "n", "h"]
    wind = ["w", "s", "w", "w", "w", "s", "s", "w", "w", "w", "s", "s", "w", "s"]
    play = ["n", "n", "y", "y", "y", "n", "y", "n", "y", "y", "y", "y", "y", "n"]
    X = pd.DataFrame({"outlook": outlook, "humidity": humidity, "wind": wind}).astype("category")
    model = DecisionTreeClassifier(criterion="entropy").fit(X, play)
    tree = model.tree_
    assert tree.impurity[0] == pytest.approx(0.940286, abs=1e-6)
    assert model.feature_names_in_[tree.feature[0]] == "outlook"
    overcast = model.categories_.values[0].tolist().index("o")
    assert int(tree.category_sets[tree.category_set[0], 0]) in (1 << overcast, 7 ^ (1 << overcast))
    assert (model.predict(X) == play).all()


@pytest.mark.parametrize(
    ("params", "X", "y", "words"),
    [
        ({"criterion": "poisson"}, [[0.0], [1.0]], [-1.0, 1.0], "of y are negative.* y ≥ 0"),
        ({"criterion": "poisson"}, [[0.0], [1.0]], [0.0, 0.0], "Sum of y is not positive.* y ≥ 0"),
        ({"monotonic_cst": [1, 2]}, [[0.0], [1.0]], [0.0, 1.0], "has shape"),
    ],
)
def test_bad_parameters_in_one_sentence(params, X, y, words):
    with pytest.raises(ValueError, match=words):
        DecisionTreeRegressor(**params).fit(X, y)


def test_bad_input_in_one_sentence():
    X, y = np.array([[0.0], [1.0]]), ["a", "b"]
    with pytest.raises(ValueError, match="weight"):
        DecisionTreeClassifier().fit(X, y, sample_weight=[0.0, 0.0])
    model = DecisionTreeClassifier().fit(X, y)
    for tree in (model, DecisionTreeRegressor().fit(X, [0.0, 1.0]), C45Classifier().fit(X, y)):
        with pytest.raises(InputError, match="validation set is empty"):
            tree.prune(X[:0], [])
    with pytest.raises(ValueError, match="class_weight names 'c'"):
        DecisionTreeClassifier(class_weight={"c": 1.0}).fit(X, y)
    both = np.array([[0, 0], [1, 1]])
    with pytest.raises(ValueError, match="no row with a positive weight"):
        DecisionTreeClassifier(class_weight=[{0: 0.0}, {1: 0.0}]).fit(X, both)


def test_one_class_and_a_column_of_missing_values_are_no_error():
    model = DecisionTreeClassifier().fit([[1.0], [2.0]], ["only", "only"])
    assert model.predict([[5.0]]).tolist() == ["only"]
    assert model.predict_proba([[5.0]]).tolist() == [[1.0]]
    X = np.column_stack([np.full(6, np.nan), np.arange(6.0)])
    assert DecisionTreeRegressor().fit(X, np.arange(6.0)).score(X, np.arange(6.0)) == 1.0


def test_bins_lose_nothing_where_values_are_few():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 30, (500, 3)).astype(float), rng.normal(size=500)
    exact, binned = (DecisionTreeRegressor(max_bins=bins, max_depth=6).fit(X, y) for bins in (None, 64))
    np.testing.assert_array_equal(exact.tree_.feature, binned.tree_.feature)
    np.testing.assert_allclose(exact.predict(X), binned.predict(X))
    more = DecisionTreeRegressor(max_bins=100_000, max_depth=6).fit(X, y)  # more bins than values
    np.testing.assert_allclose(exact.predict(X), more.predict(X))


def test_coarse_bins_are_nearly_as_good():
    X, y = numbers(n=2000)
    exact, binned = (DecisionTreeRegressor(max_bins=bins, max_depth=6).fit(X, y).score(X, y) for bins in (None, 32))
    assert exact >= binned > 0.9 * exact


@pytest.mark.parametrize("how", [{}, {"max_bins": 16}, {"splitter": "random"}, {"max_leaf_nodes": 20}])
@pytest.mark.parametrize("outputs", [1, 2])
def test_poisson_trees_never_predict_zero(outputs, how):
    """Against a rate of 0 every count has an infinite deviance: no side of a split may have zeros alone."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(150, 3))
        y = np.stack([rng.poisson(np.exp(X[:, 0] - 1)), rng.poisson(1.0, 150)], axis=1)[:, :outputs] * 0.1
        for w in (None, rng.uniform(0.1, 1.0, 150)):
            model = DecisionTreeRegressor(criterion="poisson", random_state=0, **how).fit(X, y, w)
            assert model.predict(X).min() > 1e-9
            np.testing.assert_allclose(model.tree_.value[0, :, 0], np.average(y, axis=0, weights=w), rtol=1e-12)


@pytest.mark.parametrize("factor", [1e-160, 0.001, 1000.0])
@pytest.mark.parametrize("params", [{"max_bins": 8}, {"ccp_alpha": 0.01}, {"min_weight_fraction_leaf": 0.05}])
def test_a_constant_factor_of_the_weights_changes_nothing(params, factor):
    X, y = make_classification(200, 5, n_informative=3, flip_y=0.2, random_state=0)
    target = X[:, 0] + y
    for w in (np.ones(200), np.random.default_rng(0).integers(0, 4, 200)):
        for model, answers in ((DecisionTreeClassifier(**params), y), (DecisionTreeRegressor(**params), target)):
            one = model.fit(X, answers, sample_weight=w).tree_
            other = model.fit(X, answers, sample_weight=factor * w).tree_
            np.testing.assert_array_equal(other.feature, one.feature)
            np.testing.assert_array_equal(other.threshold, one.threshold)
            np.testing.assert_allclose(other.weighted_n_node_samples, factor * one.weighted_n_node_samples)


def test_targets_whose_squares_overflow_are_refused():
    X = np.arange(8.0)[:, None]
    with pytest.raises(ValueError, match="squares or sums overflow"):
        DecisionTreeRegressor().fit(X, X[:, 0] * 1e200)
    with pytest.raises(ValueError, match="squares vanish"):
        DecisionTreeRegressor().fit(X, X[:, 0] * 1e-200)
    model = DecisionTreeRegressor(criterion="absolute_error").fit(X, X[:, 0] * 1e200)
    np.testing.assert_array_equal(model.predict(X), X[:, 0] * 1e200)
