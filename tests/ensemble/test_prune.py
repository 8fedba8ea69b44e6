"""Pruning: selection by hand, the ensemble's own combination and weights, copies that predict as their score says."""

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from didact.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    VotingClassifier,
    VotingRegressor,
    prune_ensemble,
)
from didact.linear_model import LogisticRegression, Ridge
from didact.tree import DecisionTreeClassifier, DecisionTreeRegressor

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
D, T = load_diabetes(return_X_y=True)
DIGITS, NUMBERS = load_digits(return_X_y=True)
BAG = BaggingClassifier(n_estimators=25, max_features=0.5, random_state=0).fit(DIGITS[:800], NUMBERS[:800])


@pytest.mark.parametrize("replacement", [False, True])
def test_forward_selection_by_hand(replacement):
    A, b = DIGITS[800:1200], NUMBERS[800:1200]
    found = prune_ensemble(BAG, A, b, replacement=replacement, max_learners=6)
    P = np.array([m.predict_proba(A[:, f]) for m, f in zip(BAG.estimators_, BAG.estimators_features_, strict=True)])
    taken = []
    for step in range(6):
        scores = {
            k: np.mean(P[[*taken, k]].mean(axis=0).argmax(axis=1) == b)
            for k in range(25)
            if replacement or k not in taken
        }
        taken.append(max(scores, key=scores.get))
        assert found.scores[step] == pytest.approx(scores[taken[-1]])
    assert found.indices.tolist() == taken[: int(np.argmax(found.scores)) + 1]
    assert found.full_score == pytest.approx(BAG.score(A, b))
    assert found.scores.max() == pytest.approx(found.ensemble.score(A, b))


def test_a_pruned_ensemble_is_smaller_and_about_as_good():
    found = prune_ensemble(BAG, DIGITS[800:1200], NUMBERS[800:1200])
    assert len(found.ensemble.estimators_) < 25
    assert found.ensemble.score(DIGITS[1200:], NUMBERS[1200:]) > BAG.score(DIGITS[1200:], NUMBERS[1200:]) - 0.02
    assert len(BAG.estimators_) == 25, "the ensemble itself is as it was"
    samples = found.ensemble.estimators_samples_
    np.testing.assert_array_equal(samples[0], BAG.estimators_samples_[found.indices[0]])


def test_correlations_between_learners():
    bag = BaggingRegressor(n_estimators=6, random_state=0).fit(D[:200], T[:200])
    found = prune_ensemble(bag, D[200:], T[200:])
    np.testing.assert_allclose(found.correlations, np.corrcoef([m.predict(D[200:]) for m in bag.estimators_]))
    kept = np.unique(found.indices)
    C = found.correlations[np.ix_(kept, kept)]
    assert found.mean_correlation == pytest.approx(C[np.triu_indices(len(kept), 1)].mean())
    linear = BaggingRegressor(Ridge(), n_estimators=6, random_state=0).fit(D[:200], T[:200])
    assert prune_ensemble(linear, D[200:], T[200:]).mean_correlation > found.mean_correlation + 0.2, "stable learners"


def test_lists_of_models_and_other_scores():
    models = [
        GaussianNB().fit(X, NAMES),
        KNeighborsClassifier().fit(X[Y > 0], NAMES[Y > 0]),
        LogisticRegression().fit(X, NAMES),
    ]
    found = prune_ensemble(models, X, NAMES, max_learners=2)
    assert found.ensemble == [models[k] for k in found.indices]
    least = prune_ensemble([Ridge().fit(D, T)], D, T, score=lambda y, f, sample_weight: -np.mean(np.abs(y - f)))
    assert least.scores[0] == pytest.approx(-np.mean(np.abs(T - Ridge().fit(D, T).predict(D))))


def test_pruning_refusals():
    with pytest.raises(ValueError, match="validation set is empty"):
        prune_ensemble(BAG, DIGITS[:0], NUMBERS[:0])
    with pytest.raises(ValueError, match="1 to 25"):
        prune_ensemble(BAG, DIGITS, NUMBERS, max_learners=26)
    with pytest.raises(ValueError, match="estimators_"):
        prune_ensemble(GaussianNB(), X, Y)
    C, c = load_breast_cancer(return_X_y=True)
    with pytest.raises(ValueError, match="stop earlier"):
        prune_ensemble(AdaBoostClassifier(n_estimators=3).fit(C, c), C, c)
    stack = StackingClassifier([("a", GaussianNB()), ("b", DecisionTreeClassifier())], GaussianNB()).fit(X, Y)
    with pytest.raises(ValueError, match="bagging, forest or voting"):
        prune_ensemble(stack, X, Y)
    forest = RandomForestClassifier(3, random_state=0).fit(X, np.column_stack([Y, Y]))
    with pytest.raises(ValueError, match="one column of labels"):
        prune_ensemble(forest, X, np.column_stack([Y, Y]))


def check_scores(ensemble, A, b, **options):
    """What forward selection says of the ensemble and of its pruned copy is what these say of themselves."""
    found = prune_ensemble(ensemble, A, b, **options)
    assert found.full_score == pytest.approx(ensemble.score(A, b), abs=1e-12)
    assert found.scores.max() == pytest.approx(found.ensemble.score(A, b), abs=1e-12)
    assert len(found.ensemble.estimators_) == len(found.indices)
    return found


@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize("names", [Y, NAMES, Y == 1], ids=["codes", "names", "two"])
@pytest.mark.parametrize("model", [RandomForestClassifier, ExtraTreesClassifier])
def test_forests_are_pruned(model, names, replacement):
    for combine in ("mean", "vote"):
        forest = model(9, max_depth=2, max_features=1, combine=combine, random_state=0).fit(X[::2], names[::2])
        found = check_scores(forest, X[1::2], names[1::2], replacement=replacement)
        each = np.array([tree.predict_proba(X[1::2]) for tree in forest.estimators_])
        each = np.eye(each.shape[2])[each.argmax(axis=2)] if combine == "vote" else each
        np.testing.assert_allclose(found.ensemble.predict_proba(X[1::2]), each[found.indices].mean(axis=0), atol=1e-12)
        assert len(forest.trees_) == 9, "the forest itself is as it was"


@pytest.mark.parametrize("combine", ["mean", "median"])
@pytest.mark.parametrize("model", [RandomForestRegressor, ExtraTreesRegressor])
def test_forests_of_regressors_are_pruned(model, combine):
    for target in (T, np.column_stack([T, D[:, 2]])):
        forest = model(7, max_depth=4, combine=combine, random_state=0).fit(D[:200], target[:200])
        found = check_scores(forest, D[200:], target[200:])
        each = np.array([tree.predict(D[200:]) for tree in forest.estimators_])[found.indices]
        expected = each.mean(axis=0) if combine == "mean" else np.median(each, axis=0)
        np.testing.assert_allclose(found.ensemble.predict(D[200:]), expected)


def test_a_pruned_forest_keeps_the_draws_and_leaves_of_its_trees():
    forest = RandomForestRegressor(25, oob_score=True, quantiles=True, min_samples_leaf=5, random_state=0)
    forest.fit(D[:300], T[:300])
    pruned = prune_ensemble(forest, D[300:], T[300:], max_learners=8, replacement=True)
    for k, tree in enumerate(pruned.indices):
        np.testing.assert_array_equal(pruned.ensemble._out_of_bag(k), forest._out_of_bag(tree))
    assert not hasattr(pruned.ensemble, "oob_score_"), "it was the score of all trees"
    small = RandomForestRegressor(1, random_state=0).fit(D[:300], T[:300])
    small.trees_, small._seeds = [forest.trees_[k] for k in pruned.indices], [forest._seeds[k] for k in pruned.indices]
    small.quantiles = True
    small._keep_members(D[:300], T[:300], None)
    np.testing.assert_array_equal(pruned.ensemble.predict_quantiles(D[300:]), small.predict_quantiles(D[300:]))


def test_forests_of_category_frames_are_pruned():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"c": pd.Categorical(rng.choice(list("xyz"), 300)), "x": rng.normal(size=300)})
    b = np.where((frame.c == "x") ^ (frame.x > 0.5), "yes", "no")
    forest = RandomForestClassifier(7, max_depth=2, max_features=1, random_state=0).fit(frame[:150], b[:150])
    check_scores(forest, frame[150:], b[150:])
    voting = VotingClassifier([("a", forest), ("b", DecisionTreeClassifier(max_depth=2))]).fit(frame[:150], b[:150])
    check_scores(voting, frame[150:], b[150:])


@pytest.mark.parametrize("replacement", [False, True])
def test_votes_and_medians_are_counted_as_the_ensemble_counts_them(replacement):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(300, 4))
    b = np.array(["low", "middle", "high"])[np.digitize(A[:, 0], [-0.5, 0.5])]
    stump = DecisionTreeClassifier(max_depth=1)
    bag = BaggingClassifier(stump, n_estimators=9, combine="vote", max_features=2, random_state=0).fit(A, b)
    voted = check_scores(bag, A, b, replacement=replacement).full_score
    assert abs(voted - bag.set_params(combine="mean").score(A, b)) > 0.02, "votes of stumps know two classes of three"
    bag = BaggingRegressor(n_estimators=6, combine="median", max_features=3, random_state=0).fit(D[:200], T[:200])
    found = check_scores(bag, D[200:], T[200:], replacement=replacement, max_learners=4)
    each = np.array([m.predict(D[200:][:, f]) for m, f in zip(bag.estimators_, bag.estimators_features_, strict=True)])
    np.testing.assert_allclose(found.ensemble.predict(D[200:]), np.median(each[found.indices], axis=0))


@pytest.mark.parametrize("weights", [None, [1, 5, 1, 2, 0]])
@pytest.mark.parametrize("replacement", [False, True])
def test_voting_keeps_its_weights_and_its_names(weights, replacement):
    models = [(f"d{k}", DecisionTreeClassifier(max_depth=k, max_features=1, random_state=k)) for k in (1, 2, 3, 4)]
    models = [models[0], ("out", "drop"), *models[1:]]
    for voting in ("hard", "soft"):
        model = VotingClassifier(models, voting=voting, weights=weights).fit(X[::2], NAMES[::2])
        pruned = check_scores(model, X[1::2], NAMES[1::2], replacement=replacement, max_learners=3).ensemble
        assert list(pruned.named_estimators_.values()) == pruned.estimators_
        assert pruned.fit(X, NAMES).score(X, NAMES) > 0.8, "names are distinct"
    numbers = [("out", "drop"), *((f"a{k}", DecisionTreeRegressor(max_depth=k)) for k in (1, 2, 3)), ("r", Ridge())]
    for combine in ("mean", "median"):
        model = VotingRegressor(numbers, combine=combine, weights=weights).fit(D[:200], T[:200])
        check_scores(model, D[200:], T[200:], replacement=replacement, max_learners=3)


def test_scikit_learns_own_ensembles_are_pruned():
    for name in ("RandomForest", "ExtraTrees", "Bagging"):
        model = getattr(sklearn.ensemble, name + "Classifier")(n_estimators=7, random_state=0).fit(X[::2], NAMES[::2])
        check_scores(model, X[1::2], NAMES[1::2])
        model = getattr(sklearn.ensemble, name + "Regressor")(n_estimators=7, random_state=0).fit(D[:200], T[:200])
        check_scores(model, D[200:], T[200:])
