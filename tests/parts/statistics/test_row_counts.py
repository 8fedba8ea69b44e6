"""Weights as numbers of rows: the rule, blocks of any cut, and every model that counts rows."""

import numpy as np
import pytest
from sklearn.base import is_classifier

from didact.linear_model import LocallyWeightedRegression
from didact.neighbors import (
    HistogramDensity,
    KernelDensity,
    KernelDensityClassifier,
    KernelSmoother,
    KNeighborsClassifier,
    KNeighborsDensity,
    KNeighborsRegressor,
    KNeighborsSmoother,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
    Regressogram,
    RunningLine,
    RunningMean,
    RunningMedian,
)
from didact.parts.statistics.row_counts import row_counts, weight_range

MODELS = [
    HistogramDensity(), HistogramDensity(bins="scott"), HistogramDensity(bins="cv"), KernelDensity(bandwidth="scott"),
    KernelDensity(bandwidth="cv"), KernelDensityClassifier(), KernelSmoother(), KNeighborsClassifier(),
    KNeighborsDensity(), KNeighborsRegressor(), KNeighborsSmoother(), RadiusNeighborsClassifier(3.0),
    RadiusNeighborsRegressor(3.0), Regressogram(), RunningLine(), RunningMean(), RunningMedian(),
    LocallyWeightedRegression(span=20), LocallyWeightedRegression(span="cv"),
]  # fmt: skip


def test_the_rule():
    np.testing.assert_array_equal(row_counts(np.full(4, 1 / 3)), 1.0)
    np.testing.assert_array_equal(row_counts(np.array([5.0, 0.0, 5.0])), [1.0, 0.0, 1.0])
    np.testing.assert_array_equal(row_counts(np.array([4.0, 0.0, 2.0])), [4.0, 0.0, 2.0])
    np.testing.assert_allclose(row_counts(np.array([4.0, 0.0, 2.5])), np.array([4.0, 0.0, 2.5]) / 3.25)
    np.testing.assert_allclose(row_counts(np.array([1e20, 3e20])), [0.5, 1.5])


@pytest.mark.parametrize("w", [[1.0, 2.0, 0.0, 5.0], [0.3, 0.3, 0.3, 0.3], [0.1, 2.0, 0.7, 0.0]])
def test_blocks_of_any_cut_give_the_same_unit(w):
    w = np.array(w)
    for cut in range(5):
        parts = weight_range(w[:cut], cut).merge(weight_range(w[cut:], 4 - cut))
        assert parts.unit == pytest.approx(weight_range(w, 4).unit, rel=1e-15)
    assert weight_range(None, 4).merge(weight_range(None, 0)).unit == 1.0


def answers(model, w):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(60, 1))
    y = np.sin(2 * x[:, 0]) + 0.2 * rng.normal(size=60)
    fitted = model.fit(x, y > 0 if is_classifier(model) else y, sample_weight=w)
    new = np.linspace(-1.5, 1.5, 25)[:, None]
    name = next(n for n in ("predict_proba", "score_samples", "predict") if hasattr(fitted, n))
    return getattr(fitted, name)(new)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: str(m).split("(")[0])
def test_scaling_relative_weights_changes_no_fit(model):
    w = np.random.default_rng(1).exponential(size=60)
    w[::9] = 0.0
    for scale in (0.001, 1000.0):
        np.testing.assert_allclose(answers(model, scale * w), answers(model, w), rtol=1e-7, atol=1e-9)
    for size in (1 / 60, 1000.0):
        np.testing.assert_allclose(answers(model, np.full(60, size)), answers(model, None), rtol=1e-9, atol=1e-12)
