"""Exact growth: every split is the best of all possible ones (brute force), limits hold, the seed alone decides."""

import itertools

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from didact.engines.trees.growers.binned_loops import Coded
from didact.engines.trees.growers.exact import grow_exact, presort
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


def all_sides(x, is_category):
    """Every way to send the rows of a column left."""
    seen, missing = np.unique(x[~np.isnan(x)]), np.isnan(x)
    sides = []
    if is_category:
        groups = [x == v for v in seen] + ([missing] if missing.any() else [])
        for k in range(1, len(groups)):
            sides += [np.any(chosen, axis=0) for chosen in itertools.combinations(groups, k)]
        return sides
    for t in seen[:-1]:
        sides += [x <= t, (x <= t) | missing] if missing.any() else [x <= t]
    return sides + ([~missing] if missing.any() and len(seen) else [])


def best_decrease(X, y, w, criterion, categorical):
    """The largest decrease of weight × impurity over all splits."""
    whole, best = w.sum() * criterion.impurity(y, w), -np.inf
    for j in range(X.shape[1]):
        for left in all_sides(X[:, j], categorical is not None and categorical[j]):
            if left.any() and not left.all():
                if isinstance(criterion, PoissonDeviance) and min((w @ y)[0], 1) <= 0:
                    continue
                parts = sum(w[s].sum() * criterion.impurity(y[s], w[s]) for s in (left, ~left))
                best = max(best, whole - parts)
    return best


def assert_best(tree, X, y, w, criterion, categorical=None):
    """Impurities are those of the rows in the nodes, and every split is the best one; leaves cannot be split."""
    w = np.ones(len(X)) if w is None else w
    X, y, w = X[w > 0], y[w > 0], w[w > 0]
    total = tree.impurity * tree.weighted_n_node_samples
    for node, rows in enumerate(decision_path(tree, X).toarray().astype(bool).T):
        assert tree.n_node_samples[node] == rows.sum()
        assert tree.weighted_n_node_samples[node] == pytest.approx(w[rows].sum())
        assert tree.impurity[node] == pytest.approx(criterion.impurity(y[rows], w[rows]), abs=1e-10)
        best = best_decrease(X[rows], y[rows], w[rows], criterion, categorical)
        if tree.children_left[node] == LEAF:
            assert tree.impurity[node] == pytest.approx(0, abs=1e-12) or best == -np.inf
        else:
            children = [tree.children_left[node], tree.children_right[node]]
            assert total[node] - total[children].sum() == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("criterion", CRITERIA, ids=lambda c: type(c).__name__)
def test_every_split_is_the_best(criterion, missing, weighted):
    for integers in (False, True):
        X = data(missing=missing, integers=integers)
        y = target(X, criterion)
        w = np.random.default_rng(2).integers(0, 4, len(X)) * 0.7 if weighted else None
        assert_best(grown(X, y, criterion, w), X, y, w, criterion)


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
    assert isinstance(table, Coded)
    found, expected = (grow_from(t, made, Limits(max_depth=7, min_samples_leaf=3)) for t in (table, presort(X)))
    assert expected.node_count > 80
    np.testing.assert_array_equal(found.feature, expected.feature)
    np.testing.assert_array_equal(found.threshold, expected.threshold)  # the midpoints of each node's own values
    np.testing.assert_array_equal(found.n_node_samples, expected.n_node_samples)
    np.testing.assert_array_equal(found.missing_go_to_left, expected.missing_go_to_left)


def test_values_that_hardly_recur_are_sorted():
    X = np.random.default_rng(0).normal(size=(9000, 2))
    assert not isinstance(exact_table(X, None, None, False), Coded)
    X[:, 0] = 1.0  # half the columns only: there would be a bin for every second value
    assert not isinstance(exact_table(X, None, None, False), Coded)
    assert not isinstance(exact_table(np.round(X[:500], 1), None, None, False), Coded)
    assert not isinstance(exact_table(np.round(X, 1), None, None, True), Coded)
