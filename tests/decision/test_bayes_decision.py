"""Decisions around classifiers: losses, reject option, thresholds, doubt, known densities, texts, refusals."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression as TheirLogisticRegression
from sklearn.linear_model import Perceptron
from sklearn.model_selection import StratifiedKFold, TunedThresholdClassifierCV, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB as TheirGaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import didact
from didact.core.errors import InputError, ParameterError
from didact.decision import BayesDecision
from didact.distributions import Gaussian, MultivariateGaussian, Poisson
from didact.feature_extraction.text import CountVectorizer
from didact.linear_model import LogisticRegression
from didact.naive_bayes import GaussianNB, MultinomialNB

X3, y3 = load_iris(return_X_y=True)
X2, y2 = make_classification(600, 6, n_informative=3, weights=[0.8], flip_y=0.1, random_state=0)


# ------------------------------------------------------------------------------------------------ losses


@pytest.mark.parametrize("estimator", [None, GaussianNB(), TheirGaussianNB(), DecisionTreeClassifier(max_depth=2)])
def test_zero_one_loss_takes_the_most_probable_class(estimator):
    model = BayesDecision(estimator).fit(X3, y3)
    P = model.predict_proba(X3)
    np.testing.assert_array_equal(model.predict(X3), model.classes_[P.argmax(axis=1)])
    np.testing.assert_allclose(model.risks(X3), 1 - P, atol=1e-12)
    assert model.score(X3, y3) == pytest.approx(1 - model.risk(X3, y3))
    assert model.expected_risk(X3) == pytest.approx((1 - P.max(axis=1)).mean())
    assert model.share_rejected(X3) == 0.0


def test_a_loss_matrix_moves_the_threshold():
    names = np.array(["healthy", "ill"])[y2]
    model = BayesDecision(loss=[[0, 9], [1, 0]]).fit(X2, names)
    p = model.predict_proba(X2)[:, 1]
    np.testing.assert_array_equal(model.predict(X2), np.where(p > 0.1, "ill", "healthy"))
    plain = BayesDecision().fit(X2, names)
    missed = [(m.predict(X2)[names == "ill"] == "healthy").mean() for m in (model, plain)]
    assert missed[0] < 0.5 * missed[1]
    costs = {"healthy": {"healthy": 0, "ill": 9}, "ill": {"healthy": 1, "ill": 0}}
    slow = np.mean([costs[a][k] for a, k in zip(model.predict(X2), names, strict=True)])
    assert model.risk(X2, names) == pytest.approx(slow)


def test_named_actions_need_not_be_the_classes():
    loss = [[0, 10, 30], [4, 1, 12], [6, 5, 0], [3, 3, 3]]
    names = ["discharge", "observe", "operate", "ask"]
    model = BayesDecision(GaussianNB(), loss=loss, actions=names, reject_cost=2.5).fit(X3, y3)
    R = model.predict_proba(X3) @ np.vstack([loss, np.full(3, 2.5)]).T
    np.testing.assert_array_equal(model.predict(X3), np.array([*names, "reject"])[R.argmin(axis=1)])
    assert model.risks(X3).shape == (150, 5)
    assert set(model.predict(X3)) >= {"discharge", "operate", "reject"}
    assert 0 < model.score(X3, y3) <= 1


def test_expected_and_empirical_risk_agree_where_probabilities_are_right():
    rng = np.random.default_rng(0)
    y = rng.choice(2, size=200_000, p=[0.7, 0.3])
    X = rng.normal(loc=2.0 * y)[:, None]
    for cost in (None, 0.2):
        model = BayesDecision.from_densities(
            [Gaussian(0.0, 1.0), Gaussian(2.0, 1.0)], [0.7, 0.3], loss=[[0, 3], [1, 0]], reject_cost=cost
        )
        assert model.expected_risk(X) == pytest.approx(model.risk(X, y), rel=0.03)
    half = np.where(y == 1, 2.0, 1.0)
    assert model.risk(X, y, sample_weight=half) == pytest.approx(
        model.risk(np.repeat(X, half.astype(int), axis=0), np.repeat(y, half.astype(int)))
    )


# ------------------------------------------------------------------------------------------------ reject


@pytest.mark.parametrize("cost", [0.05, 0.2, 0.4])
def test_chow_s_rule(cost):
    model = BayesDecision(GaussianNB(), reject_cost=cost).fit(X3, y3)
    sure = model.predict_proba(X3).max(axis=1)
    answer = model.predict(X3)
    np.testing.assert_array_equal(answer == -1, sure < 1 - cost)
    assert model.share_rejected(X3) == pytest.approx((sure < 1 - cost).mean())
    np.testing.assert_array_equal(answer[answer >= 0], BayesDecision(GaussianNB()).fit(X3, y3).predict(X3)[answer >= 0])


def test_a_dear_reject_option_is_never_used():
    assert BayesDecision(GaussianNB(), reject_cost=2 / 3 + 1e-9).fit(X3, y3).share_rejected(X3) == 0.0


def test_rejecting_lowers_the_error_of_what_is_left():
    X, y = load_breast_cancer(return_X_y=True)
    model = BayesDecision(GaussianNB(), reject_cost=0.01).fit(X[::2], y[::2])
    answer = model.predict(X[1::2])
    kept = answer >= 0
    plain = BayesDecision(GaussianNB()).fit(X[::2], y[::2]).predict(X[1::2])
    assert (answer[kept] == y[1::2][kept]).mean() > (plain == y[1::2]).mean()


def test_reject_labels():
    words = np.array(["a", "b", "c"])[y3]
    assert BayesDecision(reject_cost=0.0).fit(X3, words).actions_.tolist() == ["a", "b", "c", "reject"]
    assert BayesDecision(reject_cost=0.0).fit(X3, y3).predict(X3[:2]).tolist() == [-1, -1]
    assert BayesDecision(reject_cost=0.0, reject_label="?").fit(X3, y3).predict(X3[:2]).tolist() == ["?", "?"]
    assert BayesDecision(reject_cost=0.0, reject_label=99).fit(X3, words).predict(X3[:1]).tolist() == [99]
    mixed = BayesDecision(reject_cost=0.3, reject_label="ask").fit(X3, y3).predict(X3)
    assert set(mixed) <= {0, 1, 2, "ask"}
    with pytest.raises(ParameterError, match="reject_label"):
        BayesDecision(reject_cost=0.1).fit(X3, np.where(y3 == 0, -1, 1))
    with pytest.raises(ParameterError, match="reject_label"):
        BayesDecision(reject_cost=0.1, reject_label="a").fit(X3, words)


def test_reject_costs_by_class():
    costs = [0.3, 0.01, 0.2]
    model = BayesDecision(GaussianNB(), reject_cost=costs).fit(X3, y3)
    P = model.predict_proba(X3)
    np.testing.assert_array_equal(model.predict(X3) == -1, P @ np.array(costs) < (1 - P).min(axis=1) - 1e-15)


# ------------------------------------------------------------------------------------------------ thresholds


def test_given_thresholds():
    model = BayesDecision(thresholds=0.3).fit(X2, y2)
    p = model.predict_proba(X2)[:, 1]
    np.testing.assert_array_equal(model.predict(X2), (p > 0.3).astype(int))
    three = BayesDecision(GaussianNB(), thresholds=[0.9, 0.8, 0.95], reject_cost=0.1).fit(X3, y3)
    P = three.predict_proba(X3)
    best = (P / [0.9, 0.8, 0.95]).argmax(axis=1)
    reached = P[np.arange(150), best] >= np.array([0.9, 0.8, 0.95])[best]
    np.testing.assert_array_equal(three.predict(X3), np.where(reached, best, -1))


def test_tuned_threshold_is_the_best_on_cross_validated_probabilities():
    loss = np.array([[0.0, 8.0], [1.0, 0.0]])
    folds = StratifiedKFold(4)
    model = BayesDecision(TheirGaussianNB(), loss=loss, thresholds="tune", cv=folds).fit(X2, y2)
    p = cross_val_predict(TheirGaussianNB(), X2, y2, cv=folds, method="predict_proba")[:, 1]
    costs = [np.mean(np.where(y2 == 1, 8.0 * (p <= t), 1.0 * (p > t))) for t in np.append(0.0, np.unique(p))]
    assert model.validation_risk_ == pytest.approx(min(costs))
    assert np.mean(np.where(y2 == 1, 8.0 * (p <= model.thresholds_[1]), p > model.thresholds_[1])) == pytest.approx(
        min(costs)
    )
    assert model.thresholds_.sum() == pytest.approx(1.0)


def test_tuned_threshold_agrees_with_scikit_learn():
    def gain(y, answer):
        return -np.mean(np.where(y == 1, 5.0 * (answer == 0), 1.0 * (answer == 1)))

    from sklearn.metrics import make_scorer

    train, test = slice(0, 400), slice(400, None)
    theirs = TunedThresholdClassifierCV(
        TheirLogisticRegression(), scoring=make_scorer(gain), thresholds=400, cv=StratifiedKFold(5)
    ).fit(X2[train], y2[train])
    ours = BayesDecision(TheirLogisticRegression(), loss=[[0, 5], [1, 0]], thresholds="tune").fit(X2[train], y2[train])
    assert ours.risk(X2[test], y2[test]) <= 1.1 * -gain(y2[test], theirs.predict(X2[test]))


def test_tuning_helps_where_probabilities_are_too_sure():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 2000)
    signal = rng.normal(loc=0.7 * y, size=2000)
    X = np.column_stack([signal] * 8) + 0.05 * rng.normal(size=(2000, 8))  # eight copies of one column
    loss = [[0, 1], [6, 0]]
    train, test = slice(0, 1000), slice(1000, None)
    plain = BayesDecision(GaussianNB(), loss=loss).fit(X[train], y[train])
    tuned = BayesDecision(GaussianNB(), loss=loss, thresholds="tune").fit(X[train], y[train])
    assert tuned.risk(X[test], y[test]) < 0.9 * plain.risk(X[test], y[test])


def test_tuned_thresholds_with_a_reject_option_and_three_classes():
    model = BayesDecision(GaussianNB(), thresholds="tune", reject_cost=0.2).fit(X3, y3)
    plain = BayesDecision(GaussianNB(), reject_cost=0.2).fit(X3, y3)
    assert model.thresholds_.shape == (3,)
    assert model.validation_risk_ <= plain.risk(X3, y3) + 0.05
    assert set(model.predict(X3)) <= {-1, 0, 1, 2}


def test_tuning_with_weights_equals_repeated_rows_on_the_same_folds():
    folds = [(np.arange(0, 300), np.arange(300, 600)), (np.arange(300, 600), np.arange(0, 300))]
    w = np.random.default_rng(0).integers(1, 3, size=600)
    where = np.repeat(np.arange(600), w)
    again = [(np.flatnonzero(np.isin(where, a)), np.flatnonzero(np.isin(where, b))) for a, b in folds]
    one = BayesDecision(GaussianNB(), thresholds="tune", cv=folds, loss=[[0, 3], [1, 0]])
    two = BayesDecision(GaussianNB(), thresholds="tune", cv=again, loss=[[0, 3], [1, 0]])
    one.fit(X2, y2, sample_weight=w), two.fit(X2[where], y2[where])
    np.testing.assert_allclose(one.thresholds_, two.thresholds_, rtol=1e-7)
    assert one.validation_risk_ == pytest.approx(two.validation_risk_)


# ------------------------------------------------------------------------------------------------ fitted models, texts


def test_a_fitted_classifier_stays_as_it_is():
    inner = GaussianNB().fit(X2[:300], y2[:300])
    before = inner.theta_.copy()
    model = BayesDecision(FrozenEstimator(inner), loss=[[0, 4], [1, 0]], thresholds="tune").fit(X2[300:], y2[300:])
    np.testing.assert_array_equal(inner.theta_, before)
    p = inner.predict_proba(X2[300:])[:, 1]
    costs = [np.mean(np.where(y2[300:] == 1, 4.0 * (p <= t), p > t)) for t in np.append(0.0, np.unique(p))]
    assert model.validation_risk_ == pytest.approx(min(costs))
    assert model.risk(X2[300:], y2[300:]) == pytest.approx(min(costs))


def test_a_frozen_classifier_must_be_fitted():
    with pytest.raises(NotFittedError):
        BayesDecision(FrozenEstimator(GaussianNB())).fit(X2, y2)


def test_answers_for_batches_and_sparse_rows():
    counts = sp.csr_array(np.floor(np.abs(2 * X3)))
    model = BayesDecision(MultinomialNB(), reject_cost=0.3).fit(counts, y3)
    np.testing.assert_array_equal(model.predict(counts), model.predict(counts.toarray()))
    pieces = didact.Batches(lambda: (X3[k : k + 40] for k in range(0, 150, 40)))
    rule = BayesDecision(GaussianNB(), reject_cost=0.1).fit(X3, y3)
    assert rule.expected_risk(pieces) == pytest.approx(rule.expected_risk(X3))
    assert rule.share_rejected(pieces) == pytest.approx(rule.share_rejected(X3))
    assert rule.risk(pieces, y3) == pytest.approx(rule.risk(X3, y3))


def test_texts_and_pipelines_are_read_as_they_are():
    texts = ["cheap pills", "win cash now", "lunch at noon", "minutes of meeting", "cash prize win", "see you at lunch"]
    labels = ["spam", "spam", "mail", "mail", "spam", "mail"]
    words = make_pipeline(CountVectorizer(), MultinomialNB())
    model = BayesDecision(words, loss=[[0, 1], [20, 0]], reject_cost=0.5).fit(texts, labels)
    assert model.predict(["lunch meeting", "win cash pills cheap win cash", "cash"]).tolist() == [
        "mail", "spam", "reject",
    ]  # fmt: skip
    for kind in (np.array(texts), np.array(texts, dtype=object), pd.Series(texts)):
        np.testing.assert_array_equal(BayesDecision(words).fit(kind, labels).predict(kind), labels)
    tuned = BayesDecision(words, thresholds="tune", cv=3).fit(pd.Series(texts), labels)
    assert tuned.risk(texts, labels) <= 0.5
    scaled = make_pipeline(StandardScaler(), LogisticRegression())
    frame = pd.DataFrame(X3)
    np.testing.assert_array_equal(
        BayesDecision(scaled).fit(frame, y3).predict(frame), scaled.fit(frame, y3).predict(frame)
    )


def test_saved_with_densities_and_thresholds(tmp_path):
    rule = BayesDecision.from_densities([Gaussian(0.0, 1.0), Gaussian(2.0, 1.0)], [0.5, 0.5], reject_cost=0.2)
    didact.save(rule, tmp_path / "rule.didact")
    x = np.linspace(-3, 5, 30)[:, None]
    np.testing.assert_array_equal(didact.load(tmp_path / "rule.didact").predict(x), rule.predict(x))


# ------------------------------------------------------------------------------------------------ doubt


def test_doubt_where_none_or_several_fire():
    rest = OneVsRestClassifier(LinearSVC(random_state=0))
    model = BayesDecision(rest, doubt=True, reject_label="doubt").fit(X3, np.array(["s", "v", "w"])[y3])
    fires = model.estimator_.decision_function(X3) > 0
    expected = np.where(fires.sum(axis=1) == 1, np.array(["s", "v", "w"])[fires.argmax(axis=1)], "doubt")
    np.testing.assert_array_equal(model.predict(X3), expected)
    assert 0 < model.share_rejected(X3) < 0.5
    assert model.share_rejected(X3) == pytest.approx((expected == "doubt").mean())
    assert model.risk(X3, np.array(["s", "v", "w"])[y3]) == pytest.approx(
        (expected != np.array(["s", "v", "w"])[y3]).mean()
    )


def test_doubt_by_the_probabilities_of_each_classifier():
    model = BayesDecision(OneVsRestClassifier(GaussianNB()), doubt=True).fit(X3, y3)
    fires = np.column_stack([part.predict_proba(X3)[:, 1] > 0.5 for part in model.estimator_.estimators_])
    np.testing.assert_array_equal(model.predict(X3), np.where(fires.sum(axis=1) == 1, fires.argmax(axis=1), -1))
    strict = BayesDecision(GaussianNB(), doubt=True, thresholds=[0.9, 0.9, 0.9], reject_cost=0.3).fit(X3, y3)
    np.testing.assert_array_equal(strict.predict(X3) == -1, strict.predict_proba(X3).max(axis=1) < 0.9)
    assert strict.loss_[-1].tolist() == [0.3, 0.3, 0.3]


def test_a_perceptron_has_scores_but_no_probabilities():
    model = BayesDecision(Perceptron(), doubt=True).fit(X3, y3)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(ParameterError, match="no probabilities"):
        model.expected_risk(X3)


# ------------------------------------------------------------------------------------------------ known densities


def test_rule_for_known_gaussians_in_one_dimension():
    """Equal variances: the boundary is at (μ₀+μ₁)/2 + σ² ln(P₀λ₁₀/(P₁λ₀₁))/(μ₁−μ₀)."""
    rule = BayesDecision.from_densities([Gaussian(0.0, 1.5), Gaussian(3.0, 1.5)], [0.8, 0.2], loss=[[0, 5], [2, 0]])
    edge = 1.5 + 1.5 * np.log(0.8 * 2 / (0.2 * 5)) / 3.0
    assert rule.predict([[edge - 1e-6], [edge + 1e-6]]).tolist() == [0, 1]


def test_posterior_of_known_densities_is_bayes_rule():
    x = np.linspace(-4, 6, 50)
    rule = BayesDecision.from_densities([Gaussian(0.0, 1.0), Gaussian(1.0, 4.0)], [0.3, 0.7])
    a, b = 0.3 * stats.norm.pdf(x, 0, 1), 0.7 * stats.norm.pdf(x, 1, 2)
    np.testing.assert_allclose(rule.predict_proba(x[:, None])[:, 1], b / (a + b), rtol=1e-12)
    corner = MultivariateGaussian([1.0, 0.0], [[1.0, 0.5], [0.5, 2.0]])
    plane = BayesDecision.from_densities([MultivariateGaussian([0.0, 0.0], np.eye(2)), corner], classes=["a", "b"])
    Z = np.random.default_rng(0).normal(size=(30, 2))
    a = stats.multivariate_normal.pdf(Z, [0, 0], np.eye(2))
    b = stats.multivariate_normal.pdf(Z, [1, 0], [[1, 0.5], [0.5, 2]])
    np.testing.assert_allclose(plane.predict_proba(Z)[:, 0], a / (a + b), rtol=1e-10)
    assert set(plane.predict(Z)) == {"a", "b"}


def test_the_known_rule_is_better_than_any_learnt_one():
    rng = np.random.default_rng(3)
    y = rng.choice(2, size=20_000, p=[0.5, 0.5])
    X = rng.normal(scale=np.where(y == 1, 2.0, 1.0))[:, None]
    rule = BayesDecision.from_densities([Gaussian(0.0, 1.0), Gaussian(0.0, 4.0)])
    assert rule.risk(X, y) < BayesDecision().fit(X, y).risk(X, y) - 0.05
    assert rule.risk(X, y) <= BayesDecision(GaussianNB()).fit(X, y).risk(X, y) + 0.002


def test_counts_that_no_class_can_have_made_get_the_prior():
    rule = BayesDecision.from_densities([Poisson(2.0), Poisson(9.0)], [0.25, 0.75])
    np.testing.assert_allclose(rule.predict_proba([[1.5]]), [[0.25, 0.75]])
    a, b = 0.25 * stats.poisson.pmf(4, 2), 0.75 * stats.poisson.pmf(4, 9)
    np.testing.assert_allclose(rule.predict_proba([[4.0]])[0, 0], a / (a + b), rtol=1e-10)


def test_classes_of_known_densities_keep_their_order():
    rule = BayesDecision.from_densities(
        [Gaussian(0.0, 1.0), Gaussian(4.0, 1.0)], classes=["z", "a"], loss=[[0, 7], [1, 0]]
    )
    assert rule.classes_.tolist() == ["z", "a"]
    x, y = np.array([[0.0], [4.0], [2.0]]), ["z", "z", "z"]
    assert rule.predict(x).tolist() == ["z", "a", "a"]
    assert rule.risk(x, y) == pytest.approx(2 / 3)


# ------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (BayesDecision(loss=[[0, 1], [1, 0]]), r"loss has the shape \(2, 2\)"),
        (BayesDecision(loss=[[0, 1, 1], [1, 0, 1], [1, 1, 0], [2, 2, 2]]), "name other actions"),
        (BayesDecision(reject_cost=-0.5), "reject_cost"),
        (BayesDecision(reject_cost=[0.1, 0.2]), "reject_cost is one number or 3"),
        (BayesDecision(LinearSVC()), "LinearSVC gives no probabilities"),
        (BayesDecision(thresholds=[0.5, 0.5]), "thresholds must be 3"),
        (BayesDecision(thresholds=0.5), "thresholds must be 3"),
        (BayesDecision(thresholds=[0.5, 0.5, 0.0]), "thresholds must be 3"),
        (BayesDecision(thresholds="tune", doubt=True), "not with named actions"),
        (BayesDecision(actions=["x", "y"], loss=[[0, 1, 1], [1, 0, 1]], thresholds="tune"), "not with named actions"),
        (BayesDecision(actions=["x", "y"]), "need a loss"),
    ],
)
def test_parameters_that_are_refused(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X3, y3)


def test_data_that_are_refused():
    with pytest.raises(InputError, match="does not know"):
        BayesDecision().fit(X3, y3).risk(X3, y3 + 1)
    with pytest.raises(InputError, match="one row only"):
        BayesDecision(thresholds="tune").fit(X3[:52], np.append(np.zeros(51), 1.0))
    with pytest.raises(InputError, match="y is None"):
        BayesDecision(make_pipeline(StandardScaler(), LogisticRegression())).fit(X3)
    with pytest.raises(InputError, match="weights"):
        BayesDecision(make_pipeline(StandardScaler(), LogisticRegression())).fit(X3, y3, sample_weight=0 * y3)


@pytest.mark.parametrize(
    "arguments",
    [
        {"distributions": [Gaussian(0.0, 1.0)]},
        {"distributions": [Gaussian(0.0, 1.0), "normal"]},
        {"distributions": [Gaussian(0.0, 1.0)] * 2, "priors": [0.5, 0.6]},
        {"distributions": [Gaussian(0.0, 1.0)] * 2, "priors": [1.0]},
        {"distributions": [Gaussian(0.0, 1.0)] * 2, "classes": ["a", "a"]},
        {"distributions": [Gaussian(0.0, 1.0)] * 2, "loss": [[0, 1]]},
        {"distributions": [Gaussian(0.0, 1.0)] * 2, "thresholds": "tune"},
    ],
)
def test_densities_that_are_refused(arguments):
    with pytest.raises(ParameterError):
        BayesDecision.from_densities(**arguments)
