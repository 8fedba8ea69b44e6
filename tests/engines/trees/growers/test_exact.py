"""Exact growth: every split is the best of all (as in the plain CART), limits hold, the seed alone decides."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from didact.engines.trees.cart import best_test, grow_cart
from didact.engines.trees.growers import growth
from didact.engines.trees.growers.binned_loops import CodedColumns
from didact.engines.trees.growers.exact import grow_exact, grow_sorted, presort
from didact.engines.trees.growers.forest import exact_table, grow_from
from didact.engines.trees.limits import Limits
from didact.engines.trees.rows.targets import label_targets, value_targets
from didact.engines.trees.tree import LEAF, decision_path, depths
from didact.parts.criteria.impurity import (
    AbsoluteError,
    Entropy,
    Gini,
    Misclassification,
    PoissonDeviance,
    SquaredError,
)

CRITERIA = [Gini(), Entropy(), Misclassification(), SquaredError(), PoissonDeviance(), AbsoluteError()]


def data(seed=0, n=60, missing=False, categories=False, integers=False):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (n, 3)).astype(float) if integers else rng.normal(size=(n, 3))
    if categories:
        X[:, 1] = rng.integers(0, 5, n)
    if missing:
        X[rng.random((n, 3)) < 0.2] = np.nan
    return X


def target(X, criterion, outputs=1, classes=2, seed=1):
    rng = np.random.default_rng(seed)
    eta = np.nan_to_num(X, nan=1.5) @ rng.normal(size=(X.shape[1], outputs)) + rng.normal(size=(len(X), outputs))
    if criterion.labels:
        return np.searchsorted(np.quantile(eta, np.arange(1, classes) / classes), eta).reshape(eta.shape)
    return np.round(np.exp(0.5 * eta), 1) + 0.1


FREE = Limits()


def grown(X, y, criterion, w=None, limits=FREE, seed=0, categorical=None, monotone=None):
    if criterion.labels:
        targets = label_targets(y, int(y.max()) + 1, w, criterion)
    else:
        targets = value_targets(y, w, criterion)
    return grow_exact(presort(X, categorical), targets, limits, seed, monotone)


def assert_best(tree, X, y, w, criterion, categorical=None):
    """Impurities are those of the rows in the nodes, and every split is the best one; leaves cannot be split."""
    w = np.ones(len(X)) if w is None else w
    X, y, w = X[w > 0], y[w > 0], w[w > 0]
    total = tree.impurity * tree.weighted_n_node_samples
    for node, rows in enumerate(decision_path(tree, X).toarray().astype(bool).T):
        assert tree.n_node_samples[node] == rows.sum()
        assert tree.weighted_n_node_samples[node] == pytest.approx(w[rows].sum())
        assert tree.impurity[node] == pytest.approx(criterion.impurity(y[rows], w[rows]), abs=1e-10)
        codes = np.zeros(X.shape[1], int) if categorical is None else np.where(categorical, 5, 0)
        best = best_test(X[rows], y[rows], w[rows], criterion, FREE, codes)
        if tree.children_left[node] == LEAF:
            assert tree.impurity[node] == pytest.approx(0, abs=1e-12) or best is None
        else:
            children = [tree.children_left[node], tree.children_right[node]]
            assert total[node] - total[children].sum() == pytest.approx(best[0], abs=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("criterion", CRITERIA, ids=lambda c: type(c).__name__)
def test_every_split_is_the_best(criterion, missing, weighted):
    for integers in (False, True):
        X = data(missing=missing, integers=integers)
        y = target(X, criterion)
        w = np.random.default_rng(2).integers(0, 4, len(X)) * 0.7 if weighted else None
        assert_best(grown(X, y, criterion, w), X, y, w, criterion)


@pytest.mark.parametrize("limits", [FREE, Limits(min_samples_leaf=4), Limits(max_depth=3)])
@pytest.mark.parametrize("criterion", [Gini(), Entropy(), SquaredError()], ids=lambda c: type(c).__name__)
def test_the_tree_is_the_one_that_plain_python_grows(criterion, limits):
    X = data(missing=True, integers=True)
    y = target(X, criterion, classes=3)[:, 0]
    w = np.random.default_rng(2).uniform(0.5, 2.0, len(X))
    tree, plain = grown(X, y, criterion, w, limits), grow_cart(X, y, criterion, w, limits)
    assert tree.node_count > 7
    for name in ("children_left", "children_right", "feature", "threshold", "missing_go_to_left", "n_node_samples"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(plain, name), err_msg=name)
    np.testing.assert_allclose(tree.value, plain.value, atol=1e-12)
    np.testing.assert_allclose(tree.impurity, plain.impurity, atol=1e-12)
    np.testing.assert_allclose(tree.weighted_n_node_samples, plain.weighted_n_node_samples)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("criterion", [Gini(), Entropy(), SquaredError()], ids=lambda c: type(c).__name__)
def test_categories_get_the_best_of_all_sets(criterion, missing):
    X, categorical = data(missing=missing, categories=True), np.array([False, True, False])
    y = target(X, criterion)
    tree = grown(X, y, criterion, categorical=categorical)
    assert (tree.category_set >= 0).any()
    assert_best(tree, X, y, None, criterion, categorical)


def test_categories_with_medians_split_by_the_order_of_means():
    X, categorical = data(categories=True), np.array([False, True, False])
    y = 3.0 * np.isin(X[:, 1], [0, 3])[:, None] + 0.01 * np.random.default_rng(0).normal(size=(60, 1))
    tree = grown(X, y, AbsoluteError(), categorical=categorical, limits=Limits(max_depth=1))
    left = tree.category_sets[tree.category_set[0], 0]
    assert tree.feature[0] == 1
    assert int(left) in (0b01001, 0b10110)


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("criterion", CRITERIA, ids=lambda c: type(c).__name__)
def test_several_classes_and_outputs(criterion, outputs):
    X = data(missing=True, n=40)
    y = target(X, criterion, outputs, classes=3)
    w = np.random.default_rng(2).uniform(0.5, 2.0, len(X))
    assert_best(grown(X, y, criterion, w), X, y, w, criterion._replace(outputs=outputs))


@pytest.mark.parametrize(
    "limits",
    [
        Limits(max_leaf_nodes=6),
        Limits(max_depth=3),
        Limits(min_samples_leaf=5),
        Limits(min_samples_split=20),
        Limits(min_weight_leaf=6.0),
    ],
)
@pytest.mark.parametrize("criterion", [Gini(), SquaredError(), AbsoluteError()], ids=lambda c: type(c).__name__)
def test_limits_as_scikit_learn(criterion, limits):
    X = data(n=200)
    y = target(X, criterion, classes=3)[:, 0]
    model = DecisionTreeClassifier if criterion.labels else DecisionTreeRegressor
    name = {Gini: "gini", SquaredError: "squared_error", AbsoluteError: "absolute_error"}[type(criterion)]
    theirs = model(
        criterion=name,
        max_depth=None if limits.max_depth > 100 else limits.max_depth,
        max_leaf_nodes=limits.max_leaf_nodes or None,
        min_samples_leaf=limits.min_samples_leaf,
        min_samples_split=limits.min_samples_split,
        min_weight_fraction_leaf=limits.min_weight_leaf / 200,
        random_state=0,
    ).fit(X, y)
    tree = grown(X, y, criterion, limits=limits)
    assert abs(tree.node_count - theirs.tree_.node_count) <= (0 if limits.max_leaf_nodes else 8)
    loss = lambda t: (t.impurity * t.weighted_n_node_samples)[t.children_left == LEAF].sum()
    assert loss(tree) == pytest.approx(loss(theirs.tree_), rel=0.05)
    assert depths(tree).max() <= limits.max_depth
    if limits.max_leaf_nodes:
        assert tree.n_leaves == limits.max_leaf_nodes


@pytest.mark.parametrize("criterion", CRITERIA, ids=lambda c: type(c).__name__)
def test_random_splits_follow_the_seed_alone(criterion):
    X = data(missing=True, categories=True, n=80)
    y = target(X, criterion)
    how = {"limits": Limits(max_features=2, random_splits=True), "categorical": np.array([False, True, False])}
    trees = [grown(X, y, criterion, seed=s, **how) for s in (1, 1, 2)]
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(trees[0], trees[1]))
    assert trees[0].node_count != trees[2].node_count or not np.array_equal(trees[0].threshold, trees[2].threshold)
    leaf = trees[0].children_left == LEAF  # rows that differ in y alone stay together
    left_over = trees[0].weighted_n_node_samples[leaf] @ trees[0].impurity[leaf] / len(X)
    assert left_over < 0.1 * trees[0].impurity[0] + 1e-9
    order = np.random.default_rng(0).permutation(len(X))
    again = grown(X[order], y[order], criterion, seed=1, **how)
    np.testing.assert_allclose(again.value, trees[0].value)


def test_monotone_constraints_hold():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (300, 2))
    for criterion in (SquaredError(), Gini()):
        y = X[:, 0] + np.sin(3 * X[:, 0]) - X[:, 1] ** 3 + 0.3 * rng.normal(size=300)
        y = (y > 0).astype(int) if criterion.labels else y
        tree = grown(X, y, criterion, monotone=np.array([1, -1]), limits=Limits(min_samples_leaf=3))
        assert tree.n_leaves > 4
        grid = np.linspace(-2, 2, 60)
        for fixed in (-1.0, 0.3, 1.2):
            rise = tree.predict(np.column_stack([grid, np.full(60, fixed)]))[:, -1]
            fall = tree.predict(np.column_stack([np.full(60, fixed), grid]))[:, -1]
            assert (np.diff(rise) >= -1e-12).all()
            assert (np.diff(fall) <= 1e-12).all()


def test_thresholds_are_midpoints_even_of_neighbouring_floats():
    x = np.array([1.0, np.nextafter(1.0, 2.0)])
    tree = grown(x[:, None], np.array([0, 1]), Gini())
    assert x[0] <= tree.threshold[0] < x[1]
    tree = grown(np.array([[1.0], [2.0], [4.0], [8.0]]), np.array([0, 0, 1, 1]), Gini())
    assert tree.threshold[0] == 3.0


def test_presort_is_reused_with_other_weights():
    X, rng = data(), np.random.default_rng(0)
    y, table = target(X, Gini())[:, 0], presort(X)
    for _ in range(3):
        w = rng.integers(0, 3, len(X)).astype(float)
        one = grow_exact(table, label_targets(y, 2, w, Gini()), Limits())
        other = grown(X[w > 0], y[w > 0], Gini(), w[w > 0])
        np.testing.assert_array_equal(one.value, other.value)
        np.testing.assert_array_equal(one.threshold, other.threshold)


@pytest.mark.parametrize("criterion", [Gini(), SquaredError()])
def test_values_that_recur_give_the_same_tree_from_codes(criterion):
    rng = np.random.default_rng(7)
    X = np.column_stack([np.round(rng.normal(size=(9000, 3)), 1), rng.integers(0, 2, (9000, 4)), np.full(9000, 2.5)])
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0] * X[:, 4] + X[:, 1]) + rng.integers(-2, 3, 9000)
    y = y > 0.3 if criterion == Gini() else np.round(y * 8)
    w = rng.integers(0, 3, 9000).astype(float)
    made = label_targets(y.astype(int), 2, w, criterion) if criterion == Gini() else value_targets(y, w, criterion)
    table = exact_table(X, None, None, False)
    assert isinstance(table, CodedColumns)
    found, expected = (grow_from(t, made, Limits(max_depth=7, min_samples_leaf=3)) for t in (table, presort(X)))
    assert expected.node_count > 80
    np.testing.assert_array_equal(found.feature, expected.feature)
    np.testing.assert_array_equal(found.threshold, expected.threshold)  # the midpoints of each node's own values
    np.testing.assert_array_equal(found.n_node_samples, expected.n_node_samples)
    np.testing.assert_array_equal(found.missing_go_to_left, expected.missing_go_to_left)


def test_values_that_hardly_recur_are_sorted():
    X = np.random.default_rng(0).normal(size=(9000, 2))
    assert not isinstance(exact_table(X, None, None, False), CodedColumns)
    X[:, 0] = 1.0  # half the columns only: there would be a bin for every second value
    assert not isinstance(exact_table(X, None, None, False), CodedColumns)
    assert not isinstance(exact_table(np.round(X[:500], 1), None, None, False), CodedColumns)
    assert not isinstance(exact_table(np.round(X, 1), None, None, True), CodedColumns)


@pytest.mark.parametrize(
    "limits", [FREE, Limits(max_leaf_nodes=60), Limits(max_features=2), Limits(min_samples_leaf=9)]
)
@pytest.mark.parametrize("criterion", [Gini(), SquaredError(), AbsoluteError()], ids=lambda c: type(c).__name__)
def test_threads_do_not_change_a_tree(criterion, limits, monkeypatch):
    X = data(n=700, missing=True, categories=True)
    y, table = target(X, criterion, classes=3), presort(X, np.array([False, True, False]))
    made = label_targets(y, 3, None, criterion) if criterion.labels else value_targets(y, None, criterion)
    monkeypatch.setattr(growth, "LARGE_NODE", 50)
    one, *others = (grow_sorted(threads, table, made, limits, 7) for threads in (1, 2, 3))
    assert one.node_count > 100
    for other in others:
        for name in one._fields:
            np.testing.assert_array_equal(getattr(other, name), getattr(one, name), err_msg=name)


@pytest.mark.parametrize("threads", [1, 2])
def test_growth_that_lasts_lets_the_interpreter_look_for_an_interruption(threads, monkeypatch):
    """Compiled growth comes back after a bounded piece of work, and a call that fails leaves no thread waiting."""
    X = data(n=300)
    made, table, calls = value_targets(X[:, 0], None, SquaredError()), presort(X), []
    name = "grow_below" if threads == 1 else "grow_shared"
    through = getattr(growth, name)

    def interrupted(*args):
        calls.append(through(*args))
        raise KeyboardInterrupt

    monkeypatch.setattr(growth, name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        grow_sorted(threads, table, made, FREE)
    assert calls
