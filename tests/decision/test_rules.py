"""Rules against brute force: least risk, Chow's rule, tuned thresholds, one-against-all firing."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from didact.core.errors import ParameterError
from didact.decision.rules import by_firing, by_thresholds, expected_risks, least_risk, loss_matrix, reject_row
from didact.decision.thresholds import mean_loss, start, tune


def posteriors(n, K, seed, sharp=1.0):
    return np.random.default_rng(seed).dirichlet(np.full(K, sharp), size=n)


def with_reject(loss, cost):
    return np.vstack([loss, np.full(loss.shape[1], cost)])


def test_cancer_example():
    """Worked example 12: losses [[0, 1000], [1, 0]], P(no cancer | x) = 0.8."""
    loss = loss_matrix([[0, 1000], [1, 0]], 2, None)
    P = np.array([[0.8, 0.2]])
    np.testing.assert_allclose(expected_risks(P, loss), [[200.0, 0.8]], rtol=1e-14)
    assert least_risk(P, loss).tolist() == [1]
    for p, chosen in [(1 / 1001 + 1e-9, 1), (1 / 1001 - 1e-9, 0)]:
        assert least_risk(np.array([[1 - p, p]]), loss).tolist() == [chosen]


def test_reject_example():
    """Worked example 56: posterior (0.8, 0.2), 0/1 loss, reject costs 0.1 and 0.3."""
    P = np.array([[0.8, 0.2]])
    assert least_risk(P, with_reject(loss_matrix(None, 2, None), 0.1)).tolist() == [2]
    assert least_risk(P, with_reject(loss_matrix(None, 2, None), 0.3)).tolist() == [0]


@given(st.integers(2, 6), st.floats(0.0, 1.0), st.integers(0, 999))
@settings(max_examples=40, deadline=None)
def test_chow(K, cost, seed):
    P = posteriors(200, K, seed)
    chosen = least_risk(P, with_reject(loss_matrix("zero_one", K, None), cost))
    largest = P.max(axis=1)
    clear = np.abs(largest - (1 - cost)) > 1e-12
    np.testing.assert_array_equal((chosen == K)[clear], (largest < 1 - cost)[clear])
    np.testing.assert_array_equal(chosen[chosen < K], P.argmax(axis=1)[chosen < K])
    if cost > 1 - 1 / K + 1e-12:
        assert (chosen < K).all()


def test_extreme_reject_costs():
    P = posteriors(500, 3, 1)
    loss = loss_matrix(None, 3, None)
    assert (least_risk(P, with_reject(loss, 0.0)) == 3).all()
    assert (least_risk(P, with_reject(loss, 1.0)) < 3).all()


@given(st.floats(0.01, 100.0), st.floats(0.01, 100.0))
@settings(max_examples=40, deadline=None)
def test_two_classes_have_one_threshold(false_alarm, missed):
    loss = np.array([[0.0, missed], [false_alarm, 0.0]])
    p = np.linspace(0.0, 1.0, 301)
    t = false_alarm / (false_alarm + missed)
    clear = np.abs(p - t) > 1e-9
    P = np.column_stack([1 - p, p])
    np.testing.assert_array_equal((least_risk(P, loss) == 1)[clear], (p > t)[clear])
    np.testing.assert_allclose(start(loss, False), [1 - t, t], rtol=1e-12)
    np.testing.assert_array_equal(by_thresholds(P, start(loss, False), False)[clear], least_risk(P, loss)[clear])


@given(st.floats(0.5, 20.0), st.floats(0.5, 20.0), st.floats(0.01, 0.49))
@settings(max_examples=40, deadline=None)
def test_the_start_of_two_classes_is_the_least_risk_with_a_reject_option(false_alarm, missed, cost):
    loss = with_reject(np.array([[0.0, missed], [false_alarm, 0.0]]), cost)
    p = np.linspace(0.0, 1.0, 401)
    P = np.column_stack([1 - p, p])
    R = expected_risks(P, loss)
    two = np.sort(R, axis=1)
    clear = two[:, 1] - two[:, 0] > 1e-9
    np.testing.assert_array_equal(by_thresholds(P, start(loss, True), True)[clear], least_risk(P, loss)[clear])


def test_absolute_loss_takes_the_median_class():
    P = posteriors(300, 5, 3)
    median = (P.cumsum(axis=1) < 0.5).sum(axis=1)
    np.testing.assert_array_equal(least_risk(P, loss_matrix("absolute", 5, None)), median)


def test_least_risk_is_least_among_all_actions_by_brute_force():
    rng = np.random.default_rng(0)
    P, loss = posteriors(100, 3, 4), rng.normal(size=(5, 3))
    slow = [min(range(5), key=lambda i: sum(loss[i, k] * p[k] for k in range(3))) for p in P]
    np.testing.assert_array_equal(least_risk(P, loss), slow)


def test_one_must_fire():
    fires = np.array([[1, 0, 0], [0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]], bool)
    assert by_firing(fires).tolist() == [0, 3, 3, 2, 3]


# ------------------------------------------------------------------------------------------------ tuning


def two_class_rows(seed, n=40):
    rng = np.random.default_rng(seed)
    p = np.round(rng.uniform(size=n), 2)  # with ties
    codes = (rng.uniform(size=n) < p**2).astype(int)
    return np.column_stack([1 - p, p]), codes, rng.integers(1, 4, size=n).astype(float)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("cost", [None, 0.1, 0.3, 0.6])
def test_two_thresholds_are_the_best_of_all(seed, cost):
    P, codes, w = two_class_rows(seed)
    loss = np.array([[0.0, 1.0], [4.0, 0.0]]) if seed % 2 else np.array([[0.0, 1.0], [1.0, 0.0]])
    loss = loss if cost is None else with_reject(loss, cost)
    t = tune(P, codes, w, loss)
    found = mean_loss(by_thresholds(P, t, cost is not None), codes, w, loss)
    edges = np.unique(np.concatenate([P[:, 1] - 1e-6, P[:, 1] + 1e-6]))
    p = P[:, 1]
    slow = [
        mean_loss(np.where(p > b, 1, np.where(p < a, 0, len(loss) - 1)), codes, w, loss)
        for a, b in product(edges, edges)
        if (a == b if cost is None else a <= b)
    ]
    assert found == pytest.approx(min(slow), abs=1e-12)


@pytest.mark.parametrize("cost", [None, 0.3])
@pytest.mark.parametrize("K", [3, 5])
def test_tuning_never_loses_on_its_own_rows_and_repairs_wrong_priors(K, cost):
    rng = np.random.default_rng(K)
    codes = rng.choice(K, size=600, p=np.arange(1, K + 1) / np.arange(1, K + 1).sum())
    right = np.exp(2.0 * (np.eye(K)[codes] + rng.normal(size=(600, K)) * 0.7)) * np.arange(1, K + 1)
    wrong = right / np.arange(1, K + 1) ** 3
    P = wrong / wrong.sum(axis=1, keepdims=True)
    loss = loss_matrix(None, K, None) if cost is None else with_reject(loss_matrix(None, K, None), cost)
    t = tune(P, codes, None, loss)
    w = np.ones(600)
    tuned = mean_loss(by_thresholds(P, t, cost is not None), codes, w, loss)
    assert tuned < 0.9 * mean_loss(least_risk(P, loss), codes, w, loss)
    for k in range(K):  # no single threshold can be moved to a better place
        for factor in (0.5, 0.8, 0.9, 1.1, 1.3, 2.0):
            moved = t.copy()
            moved[k] *= factor
            assert mean_loss(by_thresholds(P, moved, cost is not None), codes, w, loss) >= tuned - 1e-12


@pytest.mark.parametrize("cost", [None, 0.3])
@pytest.mark.parametrize("swap", [False, True])
def test_probabilities_that_are_one_to_the_last_digit(cost, swap):
    """Half of the rows say 1, of which the smaller ones of the other class still tell who is who."""
    other = np.array([1e-40, 1e-30, 1e-25, 1e-20, 0.3, 0.6])
    P = np.column_stack([other, np.where(other < 0.1, 1.0, 1 - other)])
    codes = np.array([1, 1, 0, 0, 0, 0])
    P, codes = (P[:, ::-1], 1 - codes) if swap else (P, codes)
    loss = loss_matrix(None, 2, None) if cost is None else with_reject(loss_matrix(None, 2, None), cost)
    t = tune(P, codes, None, loss)
    assert mean_loss(by_thresholds(P, t, cost is not None), codes, np.ones(6), loss) == 0.0 or cost is not None
    certain = np.array([[0.0, 1.0], [1.0, 0.0]])[[0, 1, 0, 1]]
    for always in (0, 1):  # whatever the probabilities say, the class is always the same
        t = tune(certain, np.full(4, always), None, loss)
        assert (by_thresholds(certain, t, cost is not None) == always).all()


def test_weights_are_repetition_in_the_tuning():
    P, codes, w = two_class_rows(5)
    loss = with_reject(loss_matrix(None, 2, None), 0.2)
    times = w.astype(int)
    np.testing.assert_allclose(
        tune(P, codes, w, loss), tune(np.repeat(P, times, axis=0), np.repeat(codes, times), None, loss)
    )


# ------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("loss", "actions", "message"),
    [
        ([[0, 1, 1], [1, 0, 1]], None, r"shape \(2, 3\)"),
        ([0, 1], None, "shape"),
        ([[0, np.nan], [1, 0]], None, "finite"),
        (None, 3, "need a loss"),
    ],
)
def test_losses_that_are_refused(loss, actions, message):
    with pytest.raises(ParameterError, match=message):
        loss_matrix(loss, 2, actions)


@pytest.mark.parametrize("cost", [-0.1, [0.1, -0.1], [0.1, 0.1, 0.1], np.inf])
def test_reject_costs_that_are_refused(cost):
    with pytest.raises(ParameterError, match="reject_cost"):
        reject_row(cost, loss_matrix(None, 2, None), False)
