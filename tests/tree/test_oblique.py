"""Oblique trees: cuts by brute force, Fisher's direction, and rotated data, where single features do worse."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression

from didact.engines.trees.variants.oblique import fisher, least_squares, principal
from didact.engines.trees.variants.oblique_loops import best_projected_cut
from didact.parts.criteria.impurity import Entropy, Gini, SquaredError
from didact.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    export_rules,
    export_text,
)
from didact.tree.rules import _met


@pytest.mark.parametrize("criterion", [Gini(), Entropy(), SquaredError()])
def test_cuts_are_those_of_an_exhaustive_search(criterion):
    rng = np.random.default_rng(0)
    z, w = rng.integers(0, 15, 40).astype(float), rng.integers(1, 4, 40).astype(float)
    y = rng.integers(0, 3, 40)
    sums = np.eye(3)[y] * w[:, None] if criterion.labels else np.column_stack([w * y, w])
    n = 3 if criterion.labels else 1
    order = np.argsort(z, kind="stable")
    best, place = best_projected_cut(criterion, z, order, sums, n, 5, 0.0)

    def loss(cut):
        sides = [z <= cut, z > cut]
        if min(s.sum() for s in sides) < 5:
            return np.inf
        return sum(w[s].sum() * criterion.impurity(y[s], w[s]) for s in sides)

    cuts = np.unique(z)[:-1]
    np.testing.assert_allclose(loss(z[order[place]]), min(map(loss, cuts)), rtol=1e-12)
    assert np.isfinite(best)


def test_fisher_s_direction_is_that_of_linear_discriminant_analysis():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3))
    group = rng.uniform(size=200) < 0.4
    X[group] += [1.0, -1.0, 0.5]
    theirs = LinearDiscriminantAnalysis().fit(X, group).coef_[0]
    ours = fisher(X, np.ones(200), group, 0.0)
    np.testing.assert_allclose(ours, theirs / np.linalg.norm(theirs), rtol=1e-6)
    y = X @ [1.0, 2.0, 0.0] + rng.normal(size=200)
    line = LinearRegression().fit(X, y).coef_
    np.testing.assert_allclose(least_squares(X, np.ones(200), y, 0.0), line / np.linalg.norm(line), rtol=1e-6)


def rotated(n, seed, p=4):
    """Boxes in another system of coordinates."""
    turn = np.linalg.qr(np.random.default_rng(99).normal(size=(p, p)))[0]
    Z = np.random.default_rng(seed).normal(size=(n, p))
    return Z @ turn.T, (Z[:, 0] > 0.3).astype(int) + (Z[:, 1] > 0.5)


@pytest.mark.parametrize(("depth", "margin"), [(2, 0.03), (4, 0.1), (None, 0.08)])
def test_better_than_single_features_on_rotated_data(depth, margin):
    (X, y), (X_new, y_new) = rotated(1000, 0), rotated(2000, 1)
    oblique = ObliqueTreeClassifier(max_depth=depth).fit(X, y)
    single = DecisionTreeClassifier(max_depth=depth).fit(X, y)
    assert oblique.score(X_new, y_new) > single.score(X_new, y_new) + margin
    assert oblique.get_n_leaves() <= single.get_n_leaves()


def test_numbers_better_than_single_features_on_rotated_data():
    (X, y), (X_new, y_new) = rotated(1000, 2), rotated(2000, 3)
    oblique = ObliqueTreeRegressor(max_depth=4).fit(X, y)
    single = DecisionTreeRegressor(max_depth=4).fit(X, y)
    assert oblique.score(X_new, y_new) > single.score(X_new, y_new) + 0.1


def test_single_features_are_kept_where_they_are_right():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(500, 4))
    y = (X[:, 2] > 0.1).astype(int)
    model = ObliqueTreeClassifier().fit(X, y)
    assert model.get_n_leaves() == 2
    assert model.tree_.tree.feature[0] == 2
    assert len(model.tree_.directions) == 0


def test_one_linear_boundary_is_one_split():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 3))
    z = X @ [1.0, -2.0, 0.5]
    y = z > 0
    X[:, 0] += np.where(y, 1.0, -1.0)  # a gap, so that the discriminant separates
    X[:, 1] -= np.where(y, 2.0, -2.0)
    model = ObliqueTreeClassifier().fit(X, y)
    assert model.get_n_leaves() == 2
    assert model.score(X, y) == 1.0


def test_missing_values_count_as_the_mean_of_their_column():
    X, y = rotated(400, 6)
    X[::5, 1] = np.nan
    model = ObliqueTreeClassifier(max_depth=4).fit(X, y)
    full = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    np.testing.assert_array_equal(model.predict_proba(X), model.predict_proba(full))
    np.testing.assert_array_equal(
        model.predict_proba(X), ObliqueTreeClassifier(max_depth=4).fit(full, y).predict_proba(X)
    )


def test_rules_and_text_name_the_directions():
    X, y = rotated(600, 7)
    model = ObliqueTreeClassifier(max_depth=3).fit(X, y)
    rules = export_rules(model)
    met = np.array([_met(rule.tests, X) for rule in rules])
    np.testing.assert_array_equal(met.sum(axis=0), 1)
    said = np.array([rule.outcome for rule in rules])[met.argmax(axis=0)]
    np.testing.assert_array_equal(said, model.predict(X).astype(str))
    assert "·feature_" in export_text(model)


def test_pruning_and_limits():
    X, y = rotated(500, 8)
    noisy = np.where(np.random.default_rng(0).uniform(size=500) < 0.2, 0, y)
    full = ObliqueTreeClassifier().fit(X, noisy)
    assert full.score(X, noisy) == 1.0
    pruned = ObliqueTreeClassifier(ccp_alpha=0.01).fit(X, noisy)
    assert 1 < pruned.get_n_leaves() < full.get_n_leaves()

    def cost(model):
        tree = model.tree_.tree
        leaf = tree.children_left < 0
        return tree.impurity[leaf] @ tree.weighted_n_node_samples[leaf] / 500 + 0.01 * leaf.sum()

    assert cost(pruned) < cost(full)
    big = ObliqueTreeClassifier(min_samples_leaf=30).fit(X, noisy)
    assert np.unique(big.apply(X), return_counts=True)[1].min() >= 30
    assert ObliqueTreeClassifier(min_impurity_decrease=0.05).fit(X, noisy).get_n_leaves() < full.get_n_leaves()


def test_principal_axes_are_the_edges_of_a_turned_box():
    turn = np.array([[np.cos(0.6), -np.sin(0.6)], [np.sin(0.6), np.cos(0.6)]])
    Z = np.random.default_rng(0).uniform(-1, 1, size=(4000, 2)) * [3.0, 1.0]
    axes = np.stack(principal(Z @ turn.T, np.ones(4000)))
    np.testing.assert_allclose(np.abs(axes @ turn), np.eye(2), atol=0.03)
    flat = np.column_stack([Z[:, 0], 2 * Z[:, 0], np.full(4000, 7.0)])
    (line,) = principal(flat, np.ones(4000))
    np.testing.assert_allclose(line, np.array([1.0, 2.0, 0.0]) / np.sqrt(5), atol=1e-9)


@pytest.mark.parametrize("unit", [1e-9, 1e9, 1e100])
def test_units_of_columns_do_not_count(unit):
    """The direction is that of the other unit, and nothing is said of ill-conditioned matrices."""
    rng = np.random.default_rng(5)
    X, w = rng.normal(size=(100, 3)), np.ones(100)
    y, units = X @ [1.0, -1.0, 2.0] + rng.normal(size=100), np.array([unit, 1.0, 1.0])
    for find, target in ((fisher, y > 0), (least_squares, y)):
        direction = find(X * units, w, target, 1e-3) * units  # as seen in the old units
        np.testing.assert_allclose(direction / np.linalg.norm(direction), find(X, w, target, 1e-3), rtol=1e-9)
    for model in (ObliqueTreeClassifier(max_depth=3), ObliqueTreeRegressor(max_depth=3)):
        label = (y > 0).astype(int)
        assert model.fit(X * units, label).score(X * units, label) > 0.5


@pytest.mark.parametrize("huge", [1e150, 1e154])
def test_rows_beside_a_huge_one_are_read_without_a_warning(huge):
    rng = np.random.default_rng(6)
    X = rng.uniform(1, 5, size=(90, 3))
    y = np.arange(90) // 30
    X[0, 0], X[60, 1] = huge, -huge
    for model in (ObliqueTreeClassifier(), ObliqueTreeRegressor()):
        assert np.isfinite(model.fit(X, y).predict(X)).all()


@pytest.mark.parametrize("factor", [1e-9, 0.001, 1000.0])
def test_a_constant_factor_of_the_weights_changes_nothing(factor):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    for model, y in (
        (ObliqueTreeClassifier(), (X.sum(axis=1) + rng.normal(size=80) > 0).astype(int)),
        (ObliqueTreeRegressor(max_depth=4), X.sum(axis=1) + rng.normal(size=80)),
    ):
        for w in (np.ones(80), rng.integers(0, 4, 80), rng.uniform(size=80)):
            one = model.fit(X, y, sample_weight=w).tree_
            other = model.fit(X, y, sample_weight=factor * w).tree_
            np.testing.assert_allclose(other.tree.threshold, one.tree.threshold, rtol=1e-6, atol=1e-9)
            np.testing.assert_allclose(other.tree.value, one.tree.value, rtol=1e-9, atol=1e-12)
            weights = one.tree.weighted_n_node_samples
            np.testing.assert_allclose(other.tree.weighted_n_node_samples, factor * weights, rtol=1e-9)


@pytest.mark.parametrize("columns", [[0], [0, 1, 2]])
@pytest.mark.parametrize("power", [513, 1000, 1023])
def test_huge_values_give_the_tree_of_their_multiples(power, columns):
    """Multiples by a power of two are exact, and so are the questions about one column."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(60, 3))
    huge = X.copy()
    huge[:, columns] *= 2.0**power
    for model, y in (
        (ObliqueTreeClassifier(), (X[:, 0] + X[:, 1] > 0).astype(int)),
        (ObliqueTreeRegressor(), X[:, 0] + X[:, 1]),
    ):
        scores = [model.fit(Z, y).score(Z, y) for Z in (X, huge)]
        assert scores[1] >= scores[0] - 0.02
        assert np.isfinite(model.predict(huge)).all()
    with pytest.raises(ValueError, match="squares or sums overflow"):
        ObliqueTreeRegressor().fit(X, X[:, 0] * 1e200)
