"""Split criteria: scores against impurities by definition, additivity, scikit-learn's impurities."""

import math

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from didact.core.jit import dispatch, jit
from didact.parts.criteria.impurity import (
    CLASSIFICATION,
    REGRESSION,
    AbsoluteError,
    Entropy,
    Gini,
    Misclassification,
    PoissonDeviance,
    SquaredError,
)

LABELS = [Gini(), Entropy(), Misclassification()]
NUMBERS = [SquaredError(), PoissonDeviance()]
score1, score2, score_at1, value1 = (dispatch(name) for name in ("score1", "score2", "score_at1", "value1"))


@jit
def compiled(criterion, sums, n):
    return score1(criterion, sums, 0, n), value1(criterion, sums, 0, n)


def cases(criterion, outputs=1, classes=3, seed=0, n=40):
    """Targets (n, outputs) and weights."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, (n, outputs)) if criterion.labels else rng.poisson(2.0, (n, outputs)) + rng.random()
    return y, rng.uniform(0.1, 2.0, n)


def sums_of(criterion, y, w, classes=3):
    if criterion.labels:
        return np.concatenate([np.bincount(column, w, minlength=classes) for column in y.T])
    return np.append(w @ y, w.sum())


def base_of(criterion, y, w):
    return np.mean([sum(criterion.base2(a * b, b) for a, b in zip(column, w)) for column in y.T])


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("criterion", LABELS + NUMBERS, ids=lambda c: type(c).__name__)
def test_impurity_is_base_minus_score(criterion, outputs):
    criterion = criterion._replace(outputs=outputs)
    y, w = cases(criterion, outputs)
    sums = sums_of(criterion, y, w)
    n = len(sums) - (not criterion.labels)
    found = (base_of(criterion, y, w) - criterion.score1(sums, 0, n)) / w.sum()
    assert found == pytest.approx(criterion.impurity(y, w), abs=1e-12)
    assert criterion.impurities(sums[None], np.array([base_of(criterion, y, w)]))[0] == pytest.approx(found)
    shifted = np.concatenate([[7.0], sums])
    assert criterion.score1(shifted, 1, n) == criterion.score1(sums, 0, n) == compiled(criterion, sums, n)[0]


@pytest.mark.parametrize("criterion", LABELS + NUMBERS, ids=lambda c: type(c).__name__)
def test_gain_adds_up_and_is_never_negative(criterion):
    y, w = cases(criterion, n=60)
    left = np.arange(60) < 25
    parts = [sums_of(criterion, y[side], w[side]) for side in (left, ~left)]
    n = len(parts[0]) - (not criterion.labels)
    gain = sum(criterion.score1(p, 0, n) for p in parts) - criterion.score1(parts[0] + parts[1], 0, n)
    drop = w.sum() * criterion.impurity(y, w)
    drop -= sum(w[side].sum() * criterion.impurity(y[side], w[side]) for side in (left, ~left))
    assert gain == pytest.approx(drop, abs=1e-9)
    assert gain >= 0


@pytest.mark.parametrize("criterion", LABELS + NUMBERS, ids=lambda c: type(c).__name__)
def test_two_classes_and_one_target_in_registers(criterion):
    y, w = cases(criterion, classes=2)
    sums = sums_of(criterion, y, w, classes=2)
    s, total = (sums[1], sums.sum()) if criterion.labels else sums
    n = 2 if criterion.labels else 1
    assert criterion.score2(s, total) == pytest.approx(criterion.score1(sums, 0, n), rel=1e-13)
    mean = s / total
    assert criterion.value1(sums, 0, n) == pytest.approx(mean, rel=1e-14)
    assert criterion.score_at1(sums, 0, n, mean) == pytest.approx(criterion.score1(sums, 0, n), rel=1e-12)
    for other in (0.9 * mean, 1.05 * mean):
        assert criterion.score_at1(sums, 0, n, other) <= criterion.score1(sums, 0, n)


@pytest.mark.parametrize("name", ["gini", "entropy", "log_loss"])
def test_labels_as_scikit_learn(name):
    y, w = cases(Gini(), n=200)
    theirs = DecisionTreeClassifier(criterion=name, max_depth=1).fit(np.arange(200.0)[:, None], y[:, 0], w).tree_
    assert CLASSIFICATION[name]().impurity(y, w) == pytest.approx(theirs.impurity[0], rel=1e-12)


@pytest.mark.parametrize("name", sorted(set(REGRESSION) - {"friedman_mse"}))
def test_numbers_as_scikit_learn(name):
    y, w = cases(SquaredError(), n=200)
    theirs = DecisionTreeRegressor(criterion=name, max_depth=1).fit(np.arange(200.0)[:, None], y[:, 0], w).tree_
    assert REGRESSION[name]().impurity(y, w) == pytest.approx(theirs.impurity[0], rel=1e-10)


def test_course_values():
    """Two classes, half and half: one bit, Gini 1/2, error 1/2; a pure node has none of them."""
    even, pure = np.array([0, 1]), np.array([1, 1])
    assert [c.impurity(even) for c in LABELS] == [0.5, 1.0, 0.5]
    assert [c.impurity(pure) for c in LABELS] == [0.0, 0.0, 0.0]
    assert Entropy().impurity([0] * 9 + [1] * 5) == pytest.approx(0.940286, abs=1e-6)


def test_poisson_refuses_a_mean_of_zero():
    assert PoissonDeviance().score2(0.0, 3.0) == -math.inf


def test_values_are_shares_and_means():
    np.testing.assert_allclose(Gini(2).values(np.array([[1.0, 3.0, 2.0, 2.0]])), [[[0.25, 0.75], [0.5, 0.5]]])
    np.testing.assert_allclose(SquaredError(2).values(np.array([[2.0, 6.0, 2.0]])), [[[1.0], [3.0]]])


def test_absolute_errors_are_about_the_median():
    assert AbsoluteError().impurity([1.0, 2.0, 6.0]) == pytest.approx(5 / 3)
