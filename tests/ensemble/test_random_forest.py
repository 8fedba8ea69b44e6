"""Forests: quality beside scikit-learn, seeds and threads, out-of-bag estimates, quantiles, single trees."""

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble as theirs
from sklearn.datasets import load_diabetes, make_classification, make_friedman1
from sklearn.exceptions import NotFittedError

import didact
from didact.core.errors import ParameterError
from didact.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from didact.ensemble.forest_quantiles import Members
from didact.tree import DecisionTreeClassifier, DecisionTreeRegressor


def classes(n=2000, seed=0, k=2):
    X, y = make_classification(n, 12, n_informative=6, n_classes=k, random_state=seed, flip_y=0.05)
    return X[: n // 2], y[: n // 2], X[n // 2 :], y[n // 2 :]


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("name", ["RandomForestClassifier", "ExtraTreesClassifier"])
def test_accuracy_is_scikit_learns(name, k):
    X, y, Xt, yt = classes(k=k)
    ours = getattr(didact.ensemble, name)(60, random_state=0).fit(X, y).score(Xt, yt)
    other = getattr(theirs, name)(60, random_state=0).fit(X, y).score(Xt, yt)
    assert ours == pytest.approx(other, abs=0.02)


@pytest.mark.parametrize("name", ["RandomForestRegressor", "ExtraTreesRegressor"])
def test_error_is_scikit_learns(name):
    X, y = make_friedman1(1200, noise=1.0, random_state=0)
    ours = getattr(didact.ensemble, name)(60, random_state=0).fit(X[:600], y[:600]).score(X[600:], y[600:])
    other = getattr(theirs, name)(60, random_state=0).fit(X[:600], y[:600]).score(X[600:], y[600:])
    assert ours == pytest.approx(other, abs=0.02)


def test_a_forest_of_one_tree_on_all_rows_is_the_tree():
    """Few distinct values, so bins lose nothing; both are then the same exact tree."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 20, (300, 4)).astype(float)
    y = X @ [1.0, 2.0, -1.0, 0.5] + rng.normal(size=300)
    one = DecisionTreeRegressor().fit(X, y)
    for bins in ("auto", None):
        forest = RandomForestRegressor(1, bootstrap=False, max_bins=bins).fit(X, y)
        np.testing.assert_allclose(forest.predict(X), one.predict(X))
        np.testing.assert_array_equal(forest.trees_[0].feature, one.tree_.feature)
        np.testing.assert_allclose(forest.trees_[0].impurity, one.tree_.impurity, atol=1e-12)
    labels = (y > 10).astype(int) + (y > 20)
    forest = RandomForestClassifier(1, bootstrap=False, max_features=None).fit(X, labels)
    np.testing.assert_array_equal(forest.trees_[0].feature, DecisionTreeClassifier().fit(X, labels).tree_.feature)


def test_prediction_is_the_mean_of_the_trees(two_threads):
    X, y, Xt, _ = classes(k=3)
    forest = RandomForestClassifier(15, random_state=0).fit(X, y)
    each = [tree.predict_proba(Xt) for tree in forest.estimators_]
    np.testing.assert_allclose(forest.predict_proba(Xt), np.mean(each, axis=0), atol=1e-14)
    Xt = Xt.copy()
    Xt[::7, 2] = np.nan
    each = [tree.predict_proba(Xt) for tree in forest.estimators_]
    np.testing.assert_allclose(forest.predict_proba(Xt), np.mean(each, axis=0), atol=1e-14)
    votes = RandomForestClassifier(15, random_state=0, combine="vote").fit(X, y)
    shares = np.mean([np.eye(3)[p.argmax(axis=1)] for p in each], axis=0)
    np.testing.assert_allclose(votes.predict_proba(Xt), shares, atol=1e-14)
    median = RandomForestRegressor(15, random_state=0, combine="median").fit(X, y)
    np.testing.assert_allclose(median.predict(Xt), np.median([t.predict(Xt) for t in median.estimators_], axis=0))


def test_the_number_of_threads_changes_nothing(two_threads):
    X, y, Xt, _ = classes()
    found = []
    for count in (1, 2):
        didact.set_threads(count)
        found.append(RandomForestClassifier(8, random_state=3).fit(X, y).predict_proba(Xt))
    np.testing.assert_array_equal(found[0], found[1])


def test_out_of_bag_is_the_mean_over_trees_that_have_not_seen_a_row():
    X, y, Xt, yt = classes()
    forest = RandomForestClassifier(40, random_state=0, oob_score=True).fit(X, y)
    assert forest.oob_score_ == pytest.approx(forest.score(Xt, yt), abs=0.03)
    total, count = np.zeros((len(X), 2)), np.zeros(len(X))
    for k, tree in enumerate(forest.estimators_):
        rows = forest._out_of_bag(k)
        total[rows] += tree.predict_proba(X[rows])
        count[rows] += 1
    np.testing.assert_allclose(forest.oob_decision_function_, total / count[:, None])
    assert np.mean([len(forest._out_of_bag(k)) for k in range(40)]) / len(X) == pytest.approx(np.exp(-1), abs=0.02)


def test_out_of_bag_trees_are_combined_as_in_predictions():
    X, y, _, _ = classes(400, k=3)
    vote = RandomForestClassifier(60, combine="vote", max_depth=3, oob_score=True, random_state=0).fit(X, y)
    median = RandomForestRegressor(60, combine="median", oob_score=True, random_state=0).fit(X, X[:, 0] * y)
    both = RandomForestRegressor(60, combine="median", oob_score=True, random_state=0).fit(X, X[:, :2])
    votes, numbers = np.full((2, 60, len(X), 3), np.nan)
    for k in range(60):
        rows = vote._out_of_bag(k)
        votes[k, rows] = np.eye(3)[vote.estimators_[k].predict(X[rows])]
        numbers[k, rows, 0] = median.estimators_[k].predict(X[rows])
        numbers[k, rows, 1:] = both.estimators_[k].predict(X[rows])
    np.testing.assert_allclose(vote.oob_decision_function_, np.nanmean(votes, axis=0))
    assert vote.oob_score_ == np.mean(np.nanmean(votes, axis=0).argmax(axis=1) == y)
    np.testing.assert_allclose(median.oob_prediction_, np.nanmedian(numbers, axis=0)[:, 0])
    np.testing.assert_allclose(both.oob_prediction_, np.nanmedian(numbers, axis=0)[:, 1:])


@pytest.mark.parametrize(("model", "how"), [(RandomForestClassifier, "vote"), (RandomForestRegressor, "median")])
def test_a_score_of_ones_own_sees_only_rows_with_a_prediction(model, how):
    X, y, _, _ = classes(400)
    for combine in ("mean", how):
        given = []
        forest = model(2, random_state=0, combine=combine, oob_score=lambda a, b, to=given: to.extend([a, b]) or 0.5)
        with pytest.warns(UserWarning, match="Some inputs do not have OOB scores"):
            forest.fit(X, y)
        seen = np.union1d(forest._out_of_bag(0), forest._out_of_bag(1))
        assert 0 < len(seen) < len(X)
        np.testing.assert_array_equal(given[0], y[seen])
        assert given[1].shape == seen.shape
        assert forest.oob_score_ == 0.5


def test_another_combination_of_the_same_trees():
    X, y, Xt, _ = classes(400, k=3)
    forest = RandomForestClassifier(7, max_depth=3, random_state=0).fit(X, y)
    mean = forest.predict_proba(Xt)
    votes = np.mean([np.eye(3)[t.predict(Xt)] for t in forest.estimators_], axis=0)
    np.testing.assert_allclose(forest.set_params(combine="vote").predict_proba(Xt), votes)
    np.testing.assert_array_equal(forest.set_params(combine="mean").predict_proba(Xt), mean)


def test_one_class_is_certain():
    forest = RandomForestClassifier(3, random_state=0).fit([[0.0], [1.0]], ["a", "a"])
    np.testing.assert_array_equal(forest.predict_proba([[0.0], [5.0]]), [[1.0], [1.0]])
    np.testing.assert_array_equal(forest.predict([[0.0]]), ["a"])


def test_out_of_bag_importances_find_what_matters():
    X, y = make_friedman1(600, n_features=10, noise=0.5, random_state=0)
    found = RandomForestRegressor(30, random_state=0).fit(X, y).oob_permutation_importances(X, y)
    assert set(np.argsort(found.importances_mean)[-4:]) == {0, 1, 3, 4} or found.importances_mean[:5].min() > (
        found.importances_mean[5:].max()
    )
    assert found.importances.shape == (10, 30)
    forest = RandomForestClassifier(20, random_state=0).fit(X, y > 15)
    assert forest.oob_permutation_importances(X, y > 15).importances_mean[3] > 0.02


def test_quantiles_against_weights_by_hand():
    X, y = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(12, random_state=0, min_samples_leaf=5, quantiles=True).fit(X[:300], y[:300])
    levels = np.array([0.9, 0.1, 0.5])
    found = forest.predict_quantiles(X[300:330], levels)
    leaves, inside = forest.apply(X[300:330]), forest.apply(X[:300])
    from didact.engines.trees.growers.forest import draw_counts

    counts = np.stack([draw_counts(seed, 300, 300) for seed in forest._seeds], axis=1)
    order = np.argsort(y[:300], kind="stable")
    for i in range(30):
        same = (inside == leaves[i]) * counts
        weight = (same / same.sum(axis=0)).mean(axis=1)[order]
        below = np.cumsum(weight)
        expected = [y[:300][order][np.searchsorted(below, q * (1 - 1e-9))] for q in levels]
        np.testing.assert_array_equal(found[i], expected)
    covered = (forest.predict_quantiles(X[300:], [0.05])[:, 0] <= y[300:]).mean()
    assert covered > 0.85


def test_warm_start_adds_the_trees_that_a_larger_forest_has():
    X, y, Xt, _ = classes()
    grown = RandomForestClassifier(5, random_state=1, warm_start=True).fit(X, y)
    grown.set_params(n_estimators=9).fit(X, y)
    whole = RandomForestClassifier(9, random_state=1).fit(X, y)
    np.testing.assert_array_equal(grown.predict_proba(Xt), whole.predict_proba(Xt))
    with pytest.raises(ValueError, match="must be larger or equal to"):
        grown.set_params(n_estimators=3).fit(X, y)


@pytest.mark.parametrize("weights", ["balanced", "balanced_subsample"])
def test_weights_that_follow_the_rows_of_a_call_are_doubted_with_warm_start(weights):
    X, y, *_ = classes(200)
    with pytest.warns(UserWarning, match=f"{weights}.*warm_start.*dict"):
        RandomForestClassifier(2, class_weight=weights, warm_start=True, random_state=0).fit(X, y)
    RandomForestClassifier(2, class_weight={0: 1.0, 1: 2.0}, warm_start=True, random_state=0).fit(X, y)


def test_warm_start_refuses_another_problem_and_stays_as_it_was():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"c": pd.Categorical(rng.choice(list("pq"), 200)), "x": rng.normal(size=200), "z": 1.0})
    y = np.where((X.c == "p") ^ (X.x > 0), "yes", "no")
    forest = RandomForestClassifier(5, random_state=0, warm_start=True).fit(X, y)
    before = forest.predict_proba(X)
    forest.set_params(n_estimators=8)
    renamed = X.assign(c=X.c.cat.rename_categories({"p": "r"}))
    for data, labels, words in [
        (X[["c", "x"]], y, "X has 2 columns instead of 3"),
        (X.rename(columns={"z": "w"}), y, "column 2 of X is 'w' instead of 'z'"),
        (renamed, y, r"column 'c' of X holds the categories \['r', 'q'\] instead of the categories \['p', 'q'\]"),
        (X.assign(c=X.x), y, "column 'c' of X holds numbers instead of the categories"),
        (X, np.where(X.x > 1, "perhaps", y), r"classes \['no', 'perhaps', 'yes'\] instead of \['no', 'yes'\]"),
        (X, np.column_stack([y, y]), "y has 2 outputs instead of 1"),
    ]:
        with pytest.raises(ValueError, match=f"^warm_start continues the same problem, but .*{words}.*: refit without"):
            forest.fit(data, labels)
        np.testing.assert_array_equal(forest.predict_proba(X), before)
    assert len(forest.fit(X, y).trees_) == 8
    numbers = ExtraTreesRegressor(3, random_state=0, warm_start=True).fit(X, X.x).set_params(n_estimators=4)
    with pytest.raises(ValueError, match="y has 2 outputs instead of 1"):
        numbers.fit(X, X[["x", "z"]])
    both = RandomForestClassifier(3, random_state=0, warm_start=True).fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match=r"classes \['maybe', 'yes'\] instead of \['no', 'yes'\]"):
        both.fit(X, np.column_stack([y, np.where(y == "no", "maybe", y)]))
    assert len(numbers.set_params(warm_start=False).fit(X, X[["x", "z"]]).trees_) == 4


def test_balanced_weights():
    X, y = make_classification(1500, 8, weights=[0.95], random_state=0, flip_y=0.0)
    plain, *balanced = (
        RandomForestClassifier(25, random_state=0, max_depth=4, class_weight=c).fit(X, y).predict(X).mean()
        for c in (None, "balanced", "balanced_subsample")
    )
    assert min(balanced) > plain


def test_categories_missing_values_and_several_outputs():
    rng = np.random.default_rng(0)
    colour = rng.integers(0, 6, 500)
    x = np.where(rng.random(500) < 0.2, np.nan, rng.normal(size=500))
    X = pd.DataFrame({"colour": pd.Series(list("abcdef"))[colour].to_numpy(), "x": x}).astype({"colour": "category"})
    y = np.isin(colour, [1, 4]) * 2.0 + np.isnan(x)
    for model in (RandomForestRegressor, ExtraTreesRegressor):
        assert model(30, random_state=0).fit(X, y).score(X, y) > 0.9
    labels = np.column_stack([np.isin(colour, [1, 4]), np.isnan(x)])
    found = ExtraTreesClassifier(30, random_state=0).fit(X, labels)
    assert (found.predict(X) == labels).mean() > 0.97
    assert [p.shape for p in found.predict_proba(X)] == [(500, 2), (500, 2)]
    assert (
        RandomForestRegressor(10, random_state=0, max_features=None).fit(X, np.column_stack([y, -y])).predict(X)[:, 0]
        > -1
    ).all()


def test_monotone_forest():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (600, 2))
    y = X[:, 0] + np.sin(4 * X[:, 0]) + X[:, 1] ** 2
    forest = RandomForestRegressor(10, random_state=0, monotonic_cst=[1, 0], min_samples_leaf=5).fit(X, y)
    grid = np.linspace(-2, 2, 80)
    for z in (-1.0, 0.5):
        assert (np.diff(forest.predict(np.column_stack([grid, np.full(80, z)]))) >= -1e-12).all()


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"bootstrap": False, "oob_score": True}, "bootstrap=True"),
        ({"bootstrap": False, "max_samples": 0.5}, "bootstrap=True"),
        ({"monotonic_cst": [5]}, "-1, 0 or 1"),
    ],
)
def test_bad_parameters_in_one_sentence(params, words):
    with pytest.raises(ValueError, match=words):
        RandomForestRegressor(2, **params).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0])


def test_quantiles_have_to_be_asked_for():
    forest = RandomForestRegressor(2, random_state=0).fit([[0.0], [1.0]], [0.0, 1.0])
    with pytest.raises(ValueError, match="quantiles=True"):
        forest.predict_quantiles([[0.0]])


def test_members_of_leaves_that_do_not_fit_together_are_refused():
    whole, ranks = np.array([0, 2]), np.array([0, 1], np.int32)
    sound = Members(offsets=whole[:1], starts=whole, ranks=ranks, weights=np.ones(2), values=np.array([1.0, 2.0]))
    sound.check()
    for bad in ({"ranks": ranks + np.int32(1)}, {"starts": np.array([0, 3])}, {"weights": np.ones(3)}):
        with pytest.raises(ParameterError, match=r"model file is damaged.*Fit the model anew"):
            sound._replace(**bad).check()


FORESTS = [RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor]


@pytest.mark.parametrize("bins", ["auto", None])
@pytest.mark.parametrize("kind", FORESTS)
def test_rows_without_weight_are_not_there(kind, bins):
    """Only rows with weight are drawn, so the forest is that of these rows alone."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 3)), rng.integers(0, 3, 100)
    for few in ([3], [3, 40, 41, 90]):
        w = np.zeros(100)
        w[few] = 2.0
        forest = kind(7, bootstrap=True, max_bins=bins, random_state=0).fit(X, y, sample_weight=w)
        alone = kind(7, bootstrap=True, max_bins=bins, random_state=0).fit(X[few], y[few])
        np.testing.assert_allclose(forest.predict(X), alone.predict(X))
        assert all(np.isin(rows, few).all() and len(rows) == len(few) for rows in forest.estimators_samples_)


def test_out_of_bag_scores_leave_out_rows_without_weight():
    X, y, _, _ = classes(k=3)
    w = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    wrong = np.where(w == 0, (y + 1) % 3, y)
    one, other = (RandomForestClassifier(40, oob_score=True, random_state=0).fit(X, t, w) for t in (y, wrong))
    assert one.oob_score_ == other.oob_score_
    assert one.oob_decision_function_[w == 0].sum(axis=1) == pytest.approx(1.0)
    one.set_params(oob_score=False).fit(X, y)
    assert not hasattr(one, "oob_score_")


def test_out_of_bag_of_several_outputs_as_scikit_learn():
    """Shapes are scikit-learn's; the score is that of `score`: all outputs of a row must be right."""
    X, y, _, _ = classes(n=1200, k=2)
    Y = np.column_stack([y, X[:, 0] > 0, X[:, 1] > 1]).astype(int)
    ours = RandomForestClassifier(60, oob_score=True, random_state=0).fit(X, Y)
    other = theirs.RandomForestClassifier(60, oob_score=True, random_state=0).fit(X, Y)
    assert ours.oob_decision_function_.shape == other.oob_decision_function_.shape == (600, 2, 3)
    guess = ours.oob_decision_function_.argmax(axis=1)
    assert ours.oob_score_ == pytest.approx((guess == Y).all(axis=1).mean())
    assert ours.oob_score_ == pytest.approx(other.oob_score_, abs=0.05)
    names = np.array(["no", "yes"])[Y]
    assert RandomForestClassifier(60, oob_score=True, random_state=0).fit(X, names).oob_score_ == ours.oob_score_


def test_draws_without_a_count_do_not_predict_zero():
    """Two thirds of the trees see no positive count, and some see one: all of them predict a rate."""
    X, y = np.arange(40.0).reshape(20, 2), np.zeros(20)
    y[7] = 3.0
    forest = RandomForestRegressor(30, criterion="poisson", max_samples=8, random_state=0).fit(X, y)
    drawn = np.array([7 in rows for rows in forest.estimators_samples_])
    assert 0 < drawn.sum() < 30
    values = np.array([tree.predict(X) for tree in forest])
    assert values.min() > 0
    np.testing.assert_allclose(values[~drawn], y.mean())


@pytest.mark.parametrize("kind", FORESTS)
def test_members_are_models_with_the_forests_parameters(kind):
    X, y, _, _ = classes(n=400, k=3)
    params = {"max_depth": 4, "min_samples_leaf": 2, "ccp_alpha": 1e-4, "max_features": 0.5, "max_bins": 40}
    forest = kind(6, random_state=0, **params).fit(X, y)
    assert len(forest) == 6
    assert [tree.tree_ for tree in forest] == forest.trees_
    assert forest[2].tree_ is forest[-4].tree_ is forest.trees_[2]
    assert [tree.tree_ for tree in forest[1:3]] == forest.trees_[1:3]
    params["splitter"] = "random" if kind.__name__.startswith("Extra") else "best"
    for tree in forest:
        assert type(tree).__name__ == kind.__name__.replace("RandomForest", "DecisionTree").replace("Trees", "Tree")
        assert params.items() <= tree.get_params().items()
        assert tree.max_features_ == 6
        assert tree.fit(X, y).tree_.max_depth <= 4
    assert len({tree.random_state for tree in forest}) == 6
    with pytest.raises(NotFittedError):
        len(kind())
    assert not hasattr(kind(), "estimators_")


def test_rows_of_each_tree_are_those_it_was_grown_from():
    X, y, _, _ = classes(n=200)
    forest = RandomForestClassifier(5, max_samples=60, random_state=0).fit(X, y)
    for tree, rows in zip(forest.trees_, forest.estimators_samples_, strict=True):
        assert len(rows) == 60
        np.testing.assert_allclose(tree.value[0, 0], np.bincount(y[rows]) / 60)
        assert tree.n_node_samples[0] == len(np.unique(rows))
    whole = ExtraTreesClassifier(2, random_state=0).fit(X, y)
    assert all((rows == np.arange(100)).all() for rows in whole.estimators_samples_)
