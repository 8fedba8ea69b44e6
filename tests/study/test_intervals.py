"""Intervals hold the truth as often as they say, also where the bootstrap shrinks to a point."""

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from didact.study.intervals import Interval, area, bca, difference, mean_share, wilson
from didact.study.measures import judge, measures
from didact.study.tasks import Task

# Closed forms cover 95 % within 2 points here; 2,000 draws have a standard error of half a point.
CLOSED = (0.93, 0.985)


def coverage(intervals, truth):
    return np.mean([interval.low <= truth <= interval.high for interval in intervals])


@pytest.mark.parametrize(("right", "rows"), [(0, 30), (29, 30), (30, 30), (59, 67), (400, 1000)])
def test_wilson_s_interval_is_the_one_of_scipy(right, rows):
    found = wilson(right / rows, rows)
    reference = binomtest(right, rows).proportion_ci(method="wilson")
    np.testing.assert_allclose([found.low, found.high], [reference.low, reference.high], atol=1e-12)


def test_all_right_is_not_certainty():
    y = np.arange(60) % 2
    perfect = np.eye(2)[y] * 0.98 + 0.01
    best, _, gain = judge(measures(Task("binary", "y")), y, perfect, np.full((60, 2), 0.5), 0)
    for key in ("accuracy", "balanced_accuracy", "roc_auc"):
        assert best[key].value == best[key].high == 1.0
        assert 0.85 < best[key].low < 0.98
        assert gain[key].low < gain[key].value


@pytest.mark.parametrize("share", [0.5, 0.9, 0.97])
def test_the_interval_of_a_share_holds_the_truth(share):
    random = np.random.default_rng(0)
    shares = random.binomial(67, share, 2000) / 67
    assert CLOSED[0] < coverage([wilson(s, 67) for s in shares], share) < CLOSED[1]


@pytest.mark.parametrize("shares", [(0.9, 0.6), (0.97, 0.97), (0.5, 0.5), (0.95, 0.8, 0.99, 0.9)])
def test_the_interval_of_balanced_accuracy_holds_the_truth(shares):
    random = np.random.default_rng(1)
    rows = np.array([40, 25, 60, 15])[: len(shares)]
    found = [mean_share(drawn / rows, rows) for drawn in random.binomial(rows, shares, (2000, len(shares)))]
    assert CLOSED[0] < coverage(found, np.mean(shares)) < 0.99


@pytest.mark.parametrize("shift", [0.5, 1.5, 2.5])
def test_the_interval_of_the_area_holds_the_truth(shift):
    random = np.random.default_rng(2)
    low, high = random.normal(size=(1000, 30, 1)), shift + random.normal(size=(1000, 1, 35))
    found = [area(value, 30, 35) for value in np.mean(low < high, axis=(1, 2))]
    assert CLOSED[0] < coverage(found, norm.cdf(shift / np.sqrt(2))) < 0.99


def test_the_interval_of_a_paired_difference_holds_the_truth():
    """Two models that are right together more often than chance."""
    random = np.random.default_rng(3)
    common, own = random.random((1000, 80)), random.random((2, 1000, 80))
    a, b = (0.5 * common + 0.5 * o < level for o, level in zip(own, (0.7, 0.5), strict=True))
    truth = a.mean() - b.mean()
    found = []
    for right_a, right_b in zip(a, b, strict=True):
        correlation = np.corrcoef(right_a, right_b)[0, 1]
        found.append(difference(wilson(right_a.mean(), 80), wilson(right_b.mean(), 80), correlation))
    assert CLOSED[0] < coverage(found, truth) < CLOSED[1]


@pytest.mark.parametrize(("key", "truth"), [("rmse", np.sqrt(2)), ("mae", 1.0)])
def test_the_bootstrap_interval_of_skewed_errors_holds_the_truth(key, truth):
    """Of errors with an exponential law; the fourth moment of 100 rows is the limit of any bootstrap, hence 90 %."""
    random = np.random.default_rng(4)
    measure = next(m for m in measures(Task("regression", "y")) if m.key == key)
    found = []
    for seed in range(200):
        errors = random.exponential(size=100)
        found.append(judge([measure], errors, np.zeros(100), np.ones(100), seed)[0][key])
    assert 0.89 < coverage(found, truth) < 0.99


def test_the_other_sample_s_score_lies_in_the_interval_in_83_of_100_cases():
    """What the interval is not: the range of the score on as many other rows (2 Φ(1.96 / √2) − 1 = 0.834)."""
    random = np.random.default_rng(5)
    shares = random.binomial(500, 0.7, (2000, 2)) / 500
    inside = [found.low <= other <= found.high for found, other in ((wilson(a, 500), b) for a, b in shares)]
    assert np.mean(inside) == pytest.approx(2 * norm.cdf(1.96 / np.sqrt(2)) - 1, abs=0.03)


def test_replicates_without_a_finite_value_give_no_interval():
    found = bca(0.5, np.array([np.nan]), np.ones(3))
    assert np.isnan([found.low, found.high]).all()
    assert bca(2.0, np.full(50, 2.0), np.full(5, 2.0)) == Interval(2.0, 2.0, 2.0)
