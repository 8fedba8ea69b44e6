"""Measures on weighted rows agree with scikit-learn's; bootstrap intervals with theory."""

import numpy as np
import pytest
from sklearn import metrics

from didact.study.measures import bootstrap, interval, measures, point
from didact.study.tasks import Task

RANDOM = np.random.default_rng(1)
N = 200
REFERENCE = {
    "log_loss": lambda y, p, w: metrics.log_loss(y, p, sample_weight=w),
    "accuracy": lambda y, p, w: metrics.accuracy_score(y, p.argmax(1), sample_weight=w),
    "balanced_accuracy": lambda y, p, w: metrics.balanced_accuracy_score(y, p.argmax(1), sample_weight=w),
    "roc_auc": lambda y, p, w: metrics.roc_auc_score(y, p[:, 1], sample_weight=w),
    "rmse": lambda y, p, w: metrics.root_mean_squared_error(y, p, sample_weight=w),
    "mae": lambda y, p, w: metrics.mean_absolute_error(y, p, sample_weight=w),
    "r2": lambda y, p, w: metrics.r2_score(y, p, sample_weight=w),
    "poisson_deviance": lambda y, p, w: metrics.mean_poisson_deviance(y, p, sample_weight=w),
}


def example(kind):
    if kind in ("binary", "multiclass"):
        classes = 2 if kind == "binary" else 4
        y = RANDOM.integers(0, classes, N)
        p = RANDOM.dirichlet(np.ones(classes), N).round(1) + 0.01  # rounded, so that there are ties
        return y, p / p.sum(axis=1, keepdims=True)
    y = RANDOM.poisson(3.0, N).astype(float)
    return y, y + RANDOM.uniform(0.1, 2.0, N)


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression", "count"])
def test_measures_agree_with_the_reference_for_any_weights(kind):
    y, prediction = example(kind)
    weights = RANDOM.integers(0, 4, size=(3, N)).astype(float)
    for measure in measures(Task(kind, "y", tuple(range(4)))):
        found = measure.of(y, prediction, weights)
        wanted = [REFERENCE[measure.key](y, prediction, w) for w in weights]
        np.testing.assert_allclose(found, wanted, rtol=1e-10, err_msg=measure.key)


def test_a_rate_below_zero_is_dear_but_finite():
    deviance = measures(Task("count", "y"))[0]
    y = np.array([0.0, 4.0])
    assert point(deviance, y, np.array([1.0, -1.0])) > point(deviance, y, np.array([1.0, 0.1]))


def test_the_area_has_no_meaning_with_one_class_and_the_interval_passes_over_it():
    area = measures(Task("binary", "y"))[1]
    y, p = np.array([1, 1, 0]), np.array([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]])
    assert np.isnan(area.of(y, p, np.array([[1.0, 1.0, 0.0]])))[0]
    replicates = bootstrap([area], y, {"m": p}, 0)["m"]["roc_auc"]
    assert np.isnan(replicates).any()
    assert interval(1.0, replicates).low == 1.0


def test_the_interval_of_a_mean_is_the_one_of_theory():
    y, prediction = np.zeros(400), RANDOM.exponential(1.0, 400)
    mae = measures(Task("regression", "y"))[1]
    found = interval(point(mae, y, prediction), bootstrap([mae], y, {"m": prediction}, 0)["m"]["mae"])
    half = 1.96 * prediction.std() / 20
    assert found.low == pytest.approx(prediction.mean() - half, abs=0.15 * half)
    assert found.high == pytest.approx(prediction.mean() + half, abs=0.15 * half)


def test_models_are_compared_on_the_same_resamples():
    y, prediction = example("regression")
    mae = measures(Task("regression", "y"))[1]
    both = bootstrap([mae], y, {"a": prediction, "b": prediction + 1.0}, 3)
    np.testing.assert_allclose(both["b"]["mae"] - both["a"]["mae"], 1.0)
