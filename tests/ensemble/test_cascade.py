"""Cascades: thresholds on held-out rows, what each stage answers and costs, and detection of rare positives."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from didact.ensemble import CascadeClassifier, DetectionCascadeClassifier
from didact.ensemble.cascade import least_threshold
from didact.ensemble.detection_cascade import threshold_for
from didact.ensemble.held_out import split_rows
from didact.linear_model import LogisticRegression
from didact.tree import DecisionTreeClassifier

X, Y = load_digits(return_X_y=True)
ORDER = np.random.default_rng(0).permutation(len(Y))
X, Y = X[ORDER], Y[ORDER]  # neighbouring rows are of the same hand
TRAIN, TEST = slice(0, 1200), slice(1200, None)
STAGES = [("bayes", GaussianNB()), ("line", LogisticRegression(C=0.01)), ("near", KNeighborsClassifier())]


def test_the_least_threshold_with_the_accuracy_asked_for():
    confidence = np.array([0.9, 0.8, 0.7, 0.7, 0.6])
    right, w = np.array([True, True, False, True, True]), np.ones(5)
    assert least_threshold(confidence, right, w, 1.0) == 0.8
    assert least_threshold(confidence, right, w, 0.75) == 0.6
    assert least_threshold(confidence, right, w, 0.5) == 0.6
    assert least_threshold(confidence, ~right, w, 0.9) == np.inf
    assert least_threshold(confidence, right, np.array([1, 1, 0, 1, 1.0]), 1.0) == 0.6


def test_rows_are_answered_by_the_first_confident_stage():
    model = CascadeClassifier(STAGES, random_state=0).fit(X[TRAIN], Y[TRAIN])
    P = [m.predict_proba(X[TEST]) for m in model.estimators_]
    for i, stage in enumerate(model.predict_stage(X[TEST])):
        confident = [p[i].max() >= t for p, t in zip(P, model.thresholds_, strict=True)]
        assert stage == confident.index(True)
        np.testing.assert_allclose(model.predict_proba(X[TEST][i : i + 1])[0], P[stage][i])
    assert model.thresholds_[-1] == 0
    assert model.stage_shares_.sum() == pytest.approx(1)


def test_the_cost_is_that_of_all_stages_that_were_asked():
    model = CascadeClassifier(STAGES, costs=[1, 5, 50], random_state=0).fit(X[TRAIN], Y[TRAIN])
    stage = model.predict_stage(X[TEST])
    np.testing.assert_allclose(model.cost(X[TEST]), np.array([1, 6, 56])[stage])
    reach = 1 - np.concatenate([[0], np.cumsum(model.stage_shares_)[:-1]])
    assert model.mean_cost_ == pytest.approx(reach @ [1, 5, 50])
    assert model.mean_cost_ == pytest.approx(model.cost(X[TEST]).mean(), rel=0.25), "held-out rows and new ones agree"


def test_cheaper_than_the_last_stage_and_about_as_good():
    costs = [1, 5, 50]
    last = KNeighborsClassifier().fit(X[TRAIN], Y[TRAIN]).score(X[TEST], Y[TEST])
    model = CascadeClassifier(STAGES, costs=costs, random_state=0).fit(X[TRAIN], Y[TRAIN])
    assert model.mean_cost_ < 30
    assert model.score(X[TEST], Y[TEST]) > last - 0.03
    early = model.stage_accuracies_[:-1][model.stage_shares_[:-1] > 0]
    assert (early >= 0.97).all(), "early answers are as accurate as the last stage"
    loose = CascadeClassifier(STAGES, costs=costs, accuracy=0.5, random_state=0).fit(X[TRAIN], Y[TRAIN])
    assert loose.mean_cost_ < model.mean_cost_


def test_thresholds_can_be_given():
    model = CascadeClassifier(STAGES, thresholds=[0.999, np.inf], random_state=0).fit(X[TRAIN], Y[TRAIN])
    np.testing.assert_array_equal(model.thresholds_, [0.999, np.inf, 0])
    assert set(model.predict_stage(X[TEST])) == {0, 2}
    never = CascadeClassifier(STAGES, thresholds=[2.0, 2.0], random_state=0).fit(X[TRAIN], Y[TRAIN])
    assert (never.predict_stage(X[TEST]) == 2).all()
    one = CascadeClassifier([("tree", DecisionTreeClassifier())], random_state=0).fit(X[TRAIN], Y[TRAIN])
    assert one.mean_cost_ == 1


def test_later_stages_learn_from_what_is_left():
    """The first stage knows the left half; the second is fitted to the rows in which the first is not sure."""
    rng = np.random.default_rng(0)
    A = rng.uniform(-1, 1, size=(1000, 2))
    b = np.where(A[:, 0] < 0, 0, 1 + (A[:, 1] > 0))
    stages = [("stump", DecisionTreeClassifier(max_depth=1)), ("next", DecisionTreeClassifier(max_depth=1))]
    model = CascadeClassifier(stages, accuracy=0.97, random_state=0).fit(A, b)
    assert model.score(A, b) > 0.97
    assert model.estimators_[1].tree_.feature[0] == 1
    assert set(model.estimators_[1].classes_) == {1, 2}


def test_every_class_is_held_out_and_kept():
    codes = np.repeat([0, 1, 2], [50, 10, 2])
    train, held = split_rows(codes, None, 0.2, np.random.default_rng(0))
    assert np.bincount(codes[held], minlength=3).tolist() == [10, 2, 0]
    assert len(np.intersect1d(train, held)) == 0
    assert len(train) + len(held) == 62
    w = np.where(codes == 0, 0.0, 1.0)
    train, held = split_rows(codes, w, 0.5, np.random.default_rng(0))
    assert (codes[np.concatenate([train, held])] > 0).all()


def test_cascade_refusals():
    flowers, kinds = load_iris(return_X_y=True)
    for options, words in [
        ({"costs": [1.0]}, "costs must be 3 numbers"),
        ({"thresholds": [0.5]}, "thresholds must be 2 numbers"),
        ({"validation_fraction": 0.001}, "validation set is empty"),
        ({"estimators": []}, "at least one"),
    ]:
        with pytest.raises(ValueError, match=words):
            CascadeClassifier(**{"estimators": STAGES, **options}).fit(flowers, kinds)


def test_stages_without_probabilities_are_always_sure():
    model = CascadeClassifier([("p", Perceptron()), ("near", KNeighborsClassifier())], accuracy=0.0, random_state=0)
    assert (model.fit(X[TRAIN], Y[TRAIN]).predict_stage(X[TEST]) == 0).all()


# ------------------------------------------------------------------------------------------------ detection


def faces(n, seed):
    """Few positives near a centre in ten dimensions, many negatives."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, 10))
    positive = rng.uniform(size=n) < 0.1
    A[positive] = 0.5 * A[positive] + 1.0
    return A, positive


def test_the_threshold_keeps_the_share_of_positives():
    scores = np.array([3.0, 1.0, 2.0, 0.0])
    assert threshold_for(scores, np.ones(4), 1.0) == 0.0
    assert threshold_for(scores, np.ones(4), 0.75) == 1.0
    assert threshold_for(scores, np.array([1.0, 1.0, 1.0, 0.0]), 1.0) == 1.0


def test_stages_reach_their_targets_on_held_out_rows():
    A, b = faces(6000, 0)
    model = DetectionCascadeClassifier(min_detection=0.99, max_false_positive=0.4, random_state=0).fit(A, b)
    assert (model.detection_rates_ >= 0.99).all()
    reached = model.stage_costs_ < 50
    assert (model.false_positive_rates_[reached] <= 0.4).all()
    new, truth = faces(6000, 1)
    found = model.predict(new)
    assert np.mean(found[truth]) > 0.9, "detections"
    assert np.mean(found[~truth]) < 0.1, "false alarms"
    assert model.mean_cost_ < 0.5 * model.stage_costs_.sum(), "most negatives are rejected early"
    assert model.cost(new[~truth]).mean() < model.cost(new[truth]).mean()


def test_a_row_is_positive_when_it_passes_all_stages():
    A, b = faces(3000, 2)
    model = DetectionCascadeClassifier(random_state=0, n_stages=3).fit(A, b)
    passed = np.ones(len(b), dtype=bool)
    for (learners, votes), threshold in zip(model.stages_, model.thresholds_, strict=True):
        passed &= sum(v * (2.0 * m.predict(A) - 1) for m, v in zip(learners, votes, strict=True)) >= threshold - 1e-12
    np.testing.assert_array_equal(model.predict(A), passed)
    np.testing.assert_array_equal(model.decision_function(A) > 0, passed)
    stage = model.predict_stage(A)
    decision = model.decision_function(A)
    assert decision[stage == 0].max() < decision[(stage == 1) & ~passed].min(), "the earlier rejected, the lower"


def test_detection_refusals():
    A, _ = faces(300, 0)
    with pytest.raises(ValueError, match="two classes, but y has 10"):
        DetectionCascadeClassifier().fit(X, Y)
    with pytest.raises(ValueError, match="lacks one class"):
        DetectionCascadeClassifier().fit(A, np.arange(300) == 0)
