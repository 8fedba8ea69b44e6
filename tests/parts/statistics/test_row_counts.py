"""Weights as numbers of rows: the rule, blocks of any cut, and every model that counts rows."""

import numpy as np
import pytest
from sklearn.base import is_classifier

from didact.core.rows import MemoryRows
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
from didact.parts.statistics.weights import in_cases, weight_range

MODELS = [
    HistogramDensity(), HistogramDensity(bins="scott"), HistogramDensity(bins="cv"), KernelDensity(bandwidth="scott"),
    KernelDensity(bandwidth="cv"), KernelDensityClassifier(), KernelSmoother(), KNeighborsClassifier(),
    KNeighborsDensity(), KNeighborsRegressor(), KNeighborsSmoother(), RadiusNeighborsClassifier(3.0),
    RadiusNeighborsRegressor(3.0), Regressogram(), RunningLine(), RunningMean(), RunningMedian(),
    LocallyWeightedRegression(span=20), LocallyWeightedRegression(span="cv"),
]  # fmt: skip


def test_the_rule():
    np.testing.assert_array_equal(in_cases(np.full(4, 1 / 3))[0], 1.0)
    np.testing.assert_array_equal(in_cases(np.array([5.0, 0.0, 5.0]))[0], [1.0, 0.0, 1.0])
    np.testing.assert_array_equal(in_cases(np.array([4.0, 0.0, 2.0]))[0], [2.0, 0.0, 1.0])
    np.testing.assert_allclose(in_cases(np.array([4.0, 0.0, 2.5]))[0], np.array([4.0, 0.0, 2.5]) / 3.25)
    np.testing.assert_allclose(in_cases(np.array([1e20, 3e20]))[0], [1.0, 3.0])
    np.testing.assert_array_equal(in_cases(np.zeros(2))[0], 0.0)


@pytest.mark.parametrize(
    "w", [[1.0, 2.0, 0.0, 5.0], [0.3] * 4, [0.1, 2.0, 0.73, 0.0], [0.2, 0.3, 0.1, 0.0], [2.0, 3.0, 2.0, 0.0]]
)
def test_blocks_of_any_cut_give_the_same_unit(w):
    w = np.array(w)
    rows = MemoryRows(np.zeros((4, 1)), None, w)
    for cut in range(5):
        parts = weight_range(w[:cut], cut).merge(weight_range(w[cut:], 4 - cut)).settled(rows)
        assert parts.unit == pytest.approx(in_cases(w)[1], rel=1e-15)
        assert parts.cases == pytest.approx(in_cases(w)[0].sum(), rel=1e-15)
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
def test_scaling_weights_changes_no_fit(model):
    w = np.random.default_rng(1).exponential(size=60)
    w[::9] = 0.0
    counts = np.random.default_rng(2).integers(0, 4, size=60)
    for scale in (0.001, 1000.0):
        np.testing.assert_allclose(answers(model, scale * w), answers(model, w), rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(answers(model, scale * counts), answers(model, counts), rtol=1e-7, atol=1e-9)
    for size in (1 / 60, 1000.0):
        np.testing.assert_allclose(answers(model, np.full(60, size)), answers(model, None), rtol=1e-9, atol=1e-12)
