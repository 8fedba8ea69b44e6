"""Measures on weighted rows agree with scikit-learn's; bootstrap intervals with theory."""

import numpy as np
import pytest
from sklearn import metrics

from didact.study.intervals import bca
from didact.study.measures import judge, leave_out, measures, point, resamples, values
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


def test_a_probability_of_zero_is_dear_but_one_row_does_not_decide():
    log_loss = measures(Task("binary", "y"))[0]
    y = np.array([0, 1])
    assert point(log_loss, y, np.array([[1.0, 0.0], [1.0, 0.0]])) == pytest.approx(np.log(1000) / 2)


def bootstrap(measure, y, predictions, seed=0):
    found = values([measure], y, predictions, resamples(len(y), seed))
    return {name: by[measure.key] for name, by in found.items()}


def test_the_area_has_no_meaning_with_one_class_and_the_interval_passes_over_it():
    area = measures(Task("binary", "y"))[1]
    y, p = np.array([1, 1, 0]), np.array([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]])
    assert np.isnan(area.of(y, p, np.array([[1.0, 1.0, 0.0]])))[0]
    replicates = bootstrap(area, y, {"m": p})["m"]
    assert np.isnan(replicates).any()
    assert bca(1.0, replicates, np.ones(3)).low == 1.0


def test_the_interval_of_a_mean_is_the_one_of_theory():
    y, prediction = np.zeros(400), RANDOM.exponential(1.0, 400)
    mae = measures(Task("regression", "y"))[1]
    found = judge([mae], y, prediction, prediction + 1, 0)[0]["mae"]
    half = 1.96 * prediction.std() / 20
    assert found.low == pytest.approx(prediction.mean() - half, abs=0.2 * half)
    assert found.high == pytest.approx(prediction.mean() + half, abs=0.2 * half)


def test_models_are_compared_on_the_same_resamples():
    y, prediction = example("regression")
    mae = measures(Task("regression", "y"))[1]
    both = bootstrap(mae, y, {"a": prediction, "b": prediction + 1.0}, 3)
    np.testing.assert_allclose(both["b"] - both["a"], 1.0)


@pytest.mark.parametrize("rows", [7, 200, 1001])
def test_every_row_is_left_out_once(rows):
    blocks = np.concatenate(list(leave_out(rows)))
    assert (np.sum(blocks == 0, axis=0) == 1).all()
    assert len(blocks) == min(rows, 200)


def test_a_gain_over_the_dummy_is_paired_and_nothing_gains_over_itself():
    y, p = example("binary")
    dummy = np.full((N, 2), 0.5)
    chosen = measures(Task("binary", "y"))
    best, base, gain = judge(chosen, y, p, dummy, 0)
    for m in chosen:
        sign = 1 if m.higher else -1
        assert gain[m.key].value == pytest.approx(sign * (best[m.key].value - base[m.key].value))
        assert gain[m.key].low <= gain[m.key].value <= gain[m.key].high
    for key in ("roc_auc", "balanced_accuracy"):  # of a constant guess, these are known without any rows
        assert base[key].low == base[key].high == 0.5
    same = judge(chosen, y, dummy, dummy, 0)[2]
    assert all((same[m.key].low, same[m.key].value, same[m.key].high) == (0, 0, 0) for m in chosen)
