"""AdaBoost: worked numbers, the bound on the training error, the exponential loss, and scikit-learn's SAMME and R2."""

import numpy as np
import pytest
import sklearn.ensemble
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier as TheirTree
from sklearn.tree import DecisionTreeRegressor as TheirRegressor

import didact
from didact.ensemble import AdaBoostClassifier, AdaBoostRegressor
from didact.ensemble.adaboost import boost
from didact.ensemble.adaboost_regressor import relative_losses
from didact.ensemble.weak_learners import learner
from didact.linear_model import LogisticRegression
from didact.tree import DecisionTreeClassifier, DecisionTreeRegressor

X, Y = load_breast_cancer(return_X_y=True)
FLOWERS, KINDS = load_iris(return_X_y=True)
D, T = load_diabetes(return_X_y=True)


def wrong_on(rows, n):
    """A learner that errs on these of n rows of class 0, whatever the weights."""
    found = np.zeros(n, int)
    found[rows] = 1
    return lambda w, rng: (w, found)


@pytest.mark.parametrize(("algorithm", "vote"), [("binary", 0.423649), ("M1", 0.847298), ("SAMME", 0.847298)])
def test_one_round_as_in_the_courses(algorithm, vote):
    """Example 62: ten rows, three mistakes; identity 113: the three rules give the same weights."""
    seen = []

    def learn(w, rng):
        seen.append(w.copy())
        return wrong_on([0, 1, 2], 10)(w, rng)

    found = boost(learn, np.zeros(10, int), 2, np.ones(10), algorithm, 1.0, [None, None], lambda *a: False)
    assert found.errors[0] == pytest.approx(0.3)
    assert found.votes[0] == pytest.approx(vote, abs=5e-7)
    np.testing.assert_allclose(seen[1], np.where(np.arange(10) < 3, 1 / 6, 1 / 14))
    assert len(found.models) == 1, "the same mistakes have weight ½ in the second round: no better than chance"
    assert found.bounds[0] == pytest.approx(2 * np.sqrt(0.3 * 0.7))


@pytest.mark.parametrize("algorithm", ["binary", "M1", "SAMME"])
@pytest.mark.parametrize("rate", [1.0, 0.5])
def test_the_training_error_stays_below_the_bound(algorithm, rate):
    rng = np.random.default_rng(0)
    noisy = np.where(rng.uniform(size=len(Y)) < 0.1, 1 - Y, Y)
    model = AdaBoostClassifier(n_estimators=40, algorithm=algorithm, learning_rate=rate).fit(X, noisy)
    errors = [np.mean(found != noisy) for found in model.staged_predict(X)]
    assert (np.asarray(errors) <= model.error_bound_ + 1e-12).all()
    if rate == 1.0:
        e = model.estimator_errors_
        np.testing.assert_allclose(model.error_bound_, np.cumprod(2 * np.sqrt(e * (1 - e))))
    assert (np.diff(model.error_bound_) < 0).all()


def test_the_bound_holds_for_several_classes():
    for algorithm in ("M1", "SAMME"):
        base = TheirTree(max_depth=2, random_state=0)
        model = AdaBoostClassifier(base, n_estimators=10, algorithm=algorithm).fit(FLOWERS, KINDS)
        errors = [np.mean(found != KINDS) for found in model.staged_predict(FLOWERS)]
        assert (np.asarray(errors) <= model.error_bound_ + 1e-12).all()


def test_the_exponential_loss_is_the_product_of_the_normalisers():
    model = AdaBoostClassifier(n_estimators=25, algorithm="binary").fit(X, Y)
    total = np.cumsum(model.estimator_weights_)
    for t, decision in enumerate(model.staged_decision_function(X)):
        f = decision * total[t] / 2  # decision values are relative to all votes, and −2…2 as in scikit-learn
        assert np.exp(-(2 * Y - 1) * f).mean() == pytest.approx(model.error_bound_[t], rel=1e-9)


def test_each_vote_minimises_the_exponential_loss():
    """The vote α of a round is where Σ exp(−y (F + α h)) is least: any other is worse."""
    model = AdaBoostClassifier(n_estimators=8, algorithm="binary").fit(X, Y)
    H = np.array([2 * m.predict(X) - 1 for m in model.estimators_])
    F = (model.estimator_weights_[:-1, None] * H[:-1]).sum(axis=0)
    loss = lambda a: np.exp(-(2 * Y - 1) * (F + a * H[-1])).mean()
    best = model.estimator_weights_[-1]
    assert loss(best) < min(loss(best - 1e-3), loss(best + 1e-3))


def test_two_classes_are_decided_alike_by_all_rules():
    models = [AdaBoostClassifier(n_estimators=20, algorithm=a).fit(X, Y) for a in ("SAMME", "M1", "binary")]
    for model in models[1:]:
        np.testing.assert_allclose(model.estimator_errors_, models[0].estimator_errors_, rtol=1e-8)
        np.testing.assert_allclose(model.decision_function(X), models[0].decision_function(X), rtol=1e-7)


@pytest.mark.parametrize(("data", "depth"), [((X, Y), 1), ((FLOWERS, KINDS), 1), ((FLOWERS, KINDS), 2)])
@pytest.mark.parametrize("rate", [1.0, 0.3])
def test_samme_is_scikit_learn_s_on_the_same_learners(data, depth, rate):
    base = TheirTree(max_depth=depth, random_state=0)

    class Same(TheirTree):  # without a seed of its own for each round
        def set_params(self, **params):
            return self

    ours = AdaBoostClassifier(Same(max_depth=depth, random_state=0), n_estimators=15, learning_rate=rate).fit(*data)
    theirs = sklearn.ensemble.AdaBoostClassifier(base, n_estimators=15, learning_rate=rate, random_state=0).fit(*data)
    if np.array_equal([m.tree_.feature[0] for m in ours.estimators_], [m.tree_.feature[0] for m in theirs.estimators_]):
        np.testing.assert_allclose(ours.estimator_errors_, theirs.estimator_errors_[: len(ours.estimators_)], rtol=1e-6)
        np.testing.assert_allclose(ours.decision_function(data[0]), theirs.decision_function(data[0]), atol=1e-8)
        np.testing.assert_allclose(ours.predict_proba(data[0]), theirs.predict_proba(data[0]), atol=1e-8)
    assert abs(ours.score(*data) - theirs.score(*data)) < 0.02


def test_samme_is_scikit_learn_s_with_a_linear_learner():
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    base = LogisticRegression(C=1e-3)
    ours = AdaBoostClassifier(base, n_estimators=10).fit(Z, Y)
    theirs = sklearn.ensemble.AdaBoostClassifier(base, n_estimators=10).fit(Z, Y)
    np.testing.assert_allclose(ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-6)
    np.testing.assert_allclose(ours.decision_function(Z), theirs.decision_function(Z), atol=1e-9)
    np.testing.assert_allclose(ours.predict_proba(Z), theirs.predict_proba(Z), atol=1e-9)
    staged = zip(ours.staged_predict_proba(Z), theirs.staged_predict_proba(Z), strict=True)
    assert all(np.allclose(a, b, atol=1e-9) for a, b in staged)


def test_a_perfect_learner_ends_it():
    model = AdaBoostClassifier(TheirTree(random_state=0), n_estimators=5).fit(X, Y)
    assert len(model.estimators_) == 1
    assert model.estimator_errors_[0] == 0
    assert model.score(X, Y) == 1


def test_learners_without_weights_see_drawn_rows():
    model = AdaBoostClassifier(KNeighborsClassifier(15), n_estimators=10, random_state=0).fit(X, Y)
    assert model.score(X, Y) > 0.93
    assert len(model.estimators_) > 1
    with pytest.raises(ValueError, match=r"KNeighborsClassifier doesn't support sample_weight.*resample"):
        AdaBoostClassifier(KNeighborsClassifier(), weighting="reweight").fit(X, Y)


def test_resampling_is_about_as_good_as_weights():
    train = np.arange(len(Y)) % 2 == 0
    scores = [
        AdaBoostClassifier(n_estimators=50, weighting=how, random_state=0)
        .fit(X[train], Y[train])
        .score(X[~train], Y[~train])
        for how in ("reweight", "resample")
    ]
    assert min(scores) > 0.93


def test_boosting_turns_stumps_into_a_strong_learner():
    """Ten Gaussians, class by their radius: no stump is good, two hundred are."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4000, 10))
    b = (A**2).sum(axis=1) > 9.34
    train = slice(0, 2000)
    model = AdaBoostClassifier(n_estimators=200).fit(A[train], b[train])
    errors = 1 - np.asarray(list(model.staged_score(A[2000:], b[2000:])))
    assert errors[0] > 0.4
    assert errors[-1] < 0.2
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_early_stopping_ends_the_rounds():
    stopped = AdaBoostClassifier(n_estimators=30).set_callbacks(didact.EarlyStopping(patience=1, min_delta=1e9))
    assert len(stopped.fit(X, Y).estimators_) == 2


@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
def test_losses_of_r2(loss):
    e, w = np.array([0.0, -1.0, 2.0, 4.0, 9.0]), np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    share = np.array([0.0, 0.25, 0.5, 1.0, 1.0])
    expected = {"linear": share, "square": share**2, "exponential": 1 - np.exp(-share)}[loss]
    np.testing.assert_allclose(relative_losses(e, w, loss), expected)


def test_r2_weights_by_hand():
    model = AdaBoostRegressor(TheirRegressor(max_depth=3, random_state=0), n_estimators=3, weighting="reweight").fit(
        D, T
    )
    w = np.full(len(T), 1 / len(T))
    for t in range(3):
        e = np.abs(T - model.estimators_[t].predict(D))
        e /= e.max()
        mean = w @ e
        beta = mean / (1 - mean)
        assert model.estimator_errors_[t] == pytest.approx(mean)
        assert model.estimator_weights_[t] == pytest.approx(np.log(1 / beta))
        w = w * beta ** (1 - e)
        w /= w.sum()


@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
def test_r2_is_as_good_as_scikit_learn_s(loss):
    train = np.arange(len(T)) % 2 == 0
    ours, theirs = (
        np.mean([m(random_state=s, loss=loss).fit(D[train], T[train]).score(D[~train], T[~train]) for s in range(5)])
        for m in (AdaBoostRegressor, sklearn.ensemble.AdaBoostRegressor)
    )
    assert ours == pytest.approx(theirs, abs=0.04)


def test_stages_of_r2():
    model = AdaBoostRegressor(n_estimators=8, random_state=0).fit(D, T)
    *_, last = model.staged_predict(D)
    np.testing.assert_array_equal(last, model.predict(D))
    assert len(list(model.staged_score(D, T))) == len(model.estimators_)
    assert model.feature_importances_.shape == (10,)


def test_refusals():
    with pytest.raises(ValueError, match="two classes, but y has 3"):
        AdaBoostClassifier(algorithm="binary").fit(FLOWERS, KINDS)
    with pytest.raises(ValueError, match="one class only"):
        AdaBoostClassifier().fit(X[:5], np.zeros(5))
    with pytest.raises(ValueError, match="worse than random"):
        AdaBoostClassifier().fit(np.ones((10, 1)), np.arange(10) % 2)
    with pytest.raises(ValueError, match="zero"):
        AdaBoostClassifier().fit(X, Y, sample_weight=np.zeros(len(Y)))


@pytest.mark.parametrize("depth", [1, 3])
def test_presorted_trees_are_those_of_fit(depth):
    """Rounds that share sorted columns grow the same trees as `fit` does, also with rows of weight 0."""
    rng = np.random.default_rng(0)
    w = rng.integers(0, 4, len(Y)) * rng.uniform(size=len(Y))
    for base, data, target in (
        (DecisionTreeClassifier(max_depth=depth), X, Y),
        (DecisionTreeClassifier(max_depth=depth, criterion="entropy"), X.astype(np.float32), (Y + 1) * (w > 0.5)),
        (DecisionTreeRegressor(max_depth=depth), X, X[:, 3] + rng.normal(size=len(Y))),
    ):
        model, found = learner(base, data, target, "reweight", {})(w, rng)
        alone = clone(base).fit(data, target, sample_weight=w)
        for name in ("feature", "threshold", "children_left", "value"):  # weights are in other units there
            np.testing.assert_allclose(getattr(model.tree_, name), getattr(alone.tree_, name), rtol=1e-12)
        predicted = alone.predict(data)
        np.testing.assert_allclose(found, predicted, rtol=1e-12)
        np.testing.assert_array_equal(model.predict(data), found)


def test_trees_with_classes_weighed_are_fitted_as_they_are():
    base = DecisionTreeClassifier(max_depth=1, class_weight="balanced")
    model = AdaBoostClassifier(base, n_estimators=3).fit(X, Y)
    assert model.score(X, Y) > 0.85


def test_trees_with_categories_named_by_a_mask():
    rng = np.random.default_rng(0)
    A = np.column_stack([rng.integers(0, 6, 300), rng.normal(size=(300, 3))])
    b = np.isin(A[:, 0], [1, 4]).astype(int)
    stump = DecisionTreeClassifier(max_depth=1, categorical_features=np.array([True, False, False, False]))
    assert AdaBoostClassifier(stump, n_estimators=1, random_state=0).fit(A, b).score(A, b) == 1.0
    tree = DecisionTreeRegressor(max_depth=1, categorical_features=[0])
    assert AdaBoostRegressor(tree, n_estimators=1, random_state=0).fit(A, b.astype(float)).score(A, b) > 0.99


def test_stumps_of_two_bins_have_one_threshold_in_a_feature():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(300, 3))
    b = (A.sum(axis=1) > 0.3).astype(int)
    for bins, most in ((2, 1), (None, 300)):
        stump = DecisionTreeClassifier(max_depth=1, max_bins=bins)
        model = AdaBoostClassifier(stump, n_estimators=30, random_state=0).fit(A, b)
        found = {(int(m.tree_.feature[0]), float(m.tree_.threshold[0])) for m in model.estimators_}
        assert {f for f, _ in found} == {0, 1, 2}
        assert (len(found) == 3) == (most == 1)
