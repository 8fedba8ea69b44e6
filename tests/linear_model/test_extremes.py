"""Extreme but finite values: the answer that the mathematics gives, or one sentence; never NaN, and never for ever."""

import numpy as np
import pytest
import scipy.sparse as sp

from didact import Batches
from didact.core.errors import InputError
from didact.linear_model import (
    BayesianLinearRegression,
    ElasticNetCV,
    GammaRegressor,
    GeneralizedLeastSquares,
    GeneralizedLinearRegressor,
    GeneralizedLinearRegressorCV,
    HuberRegressor,
    LogisticRegression,
    PoissonRegressor,
    TotalLeastSquares,
)

UNIT = 2.0**600
FREE = {"alpha": 0, "tol": 1e-9}
MODELS = [
    GeneralizedLinearRegressor(**FREE),
    GeneralizedLinearRegressor(**FREE, solver="lbfgs"),
    GeneralizedLinearRegressor(**FREE, fit_intercept=False),
    PoissonRegressor(**FREE),
    GammaRegressor(**FREE),
    GeneralizedLinearRegressorCV(alphas=[0.0], cv=2, tol=1e-9),
    HuberRegressor(**FREE),
]


def problem(n=60, p=12):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    return X, np.exp(0.3 * X[:, 0] - 0.2 * X[:, 1]) + rng.uniform(0.5, 1.0, n)


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("kind", ["dense", "sparse", "one cell"])
def test_a_column_in_extreme_units_has_a_coefficient_in_the_inverse_units(model, kind):
    """Without a penalty, X·D has the coefficients D⁻¹b and the same predictions."""
    X, y = problem()
    unit = np.where(np.arange(X.shape[1]) == 1, 2.0**531, 1.0)
    if kind == "one cell":
        X[:, 1] = np.where(np.arange(len(X)) == 3, 1.4, X[:, 1] / unit[1])  # 1e160 in one row
    make = sp.csr_array if kind == "sparse" else np.asarray
    expected = model.fit(make(X), y)
    coef, means = expected.coef_, expected.predict(make(X))
    found = model.fit(make(X * unit), y)
    np.testing.assert_allclose(found.coef_ * unit, coef, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(found.predict(make(X * unit)), means, rtol=1e-6)


@pytest.mark.parametrize("model", MODELS[:1] + MODELS[3:], ids=repr)
def test_the_largest_numbers_that_there_are(model):
    X, y = problem(p=2)
    signs = np.where(X > 0, 1.0, -1.0)
    expected = model.fit(signs, y).predict(signs)
    np.testing.assert_allclose(model.fit(1e308 * signs, y).predict(1e308 * signs), expected, rtol=1e-6)


def test_penalties_and_batches_follow_the_units():
    """A penalty on the column in extreme units has no weight; the others keep theirs."""
    X, y = problem(p=4)
    big = X * np.array([1.0, UNIT, 1.0, 1.0])
    for penalty in ({"l1_ratio": 0.0}, {"l1_ratio": 0.7}):
        model = GeneralizedLinearRegressor(alpha=0.1, tol=1e-10, **penalty).fit(big, y)
        gradient = X.T @ (y - model.predict(big)) / len(y)
        free = np.array([0.0, model.coef_[1], 0.0, 0.0]) != 0
        smooth = 0.1 * (1 - model.l1_ratio) * model.coef_ * ~free
        sharp = 0.1 * model.l1_ratio * ~free
        excess = np.where(model.coef_ != 0, gradient - smooth - sharp * np.sign(model.coef_), 0.0)
        assert np.abs(excess).max() < 1e-9
        assert (np.abs(gradient) <= sharp + np.abs(smooth) + 1e-9).all()
        batches = Batches(lambda: ((big[s], y[s]) for s in (slice(0, 20), slice(20, None))))
        again = GeneralizedLinearRegressor(alpha=0.1, tol=1e-10, **penalty).fit(batches)
        np.testing.assert_allclose(again.coef_, model.coef_, rtol=1e-7, atol=0)


def test_logistic_regression_in_extreme_units():
    X, _ = problem(n=200, p=3)
    labels = (X[:, 0] + np.random.default_rng(1).logistic(size=200) > 0).astype(int)
    for y in (labels, labels + (X[:, 1] > 0.8)):
        small = LogisticRegression(C=np.inf, tol=1e-9).fit(X, y)
        big = LogisticRegression(C=np.inf, tol=1e-9).fit(X * UNIT, y)
        np.testing.assert_allclose(big.coef_ * UNIT, small.coef_, rtol=1e-5)
        np.testing.assert_allclose(big.predict_proba(X * UNIT), small.predict_proba(X), rtol=1e-6)
        assert np.isfinite(LogisticRegression().fit(X * 1e307, y).predict_proba(X * 1e307)).all()


@pytest.mark.parametrize(
    "model", [*MODELS, GeneralizedLeastSquares(), BayesianLinearRegression(), TotalLeastSquares()], ids=repr
)
def test_targets_whose_sums_overflow_are_refused_in_a_sentence(model):
    X, y = problem()
    with pytest.raises(InputError, match=r"y has values up to 1e\+308|loss overflows at the start"):
        model.fit(X, np.where(y > 2, 1e308, 1e307))


@pytest.mark.parametrize("model", [GeneralizedLeastSquares(), BayesianLinearRegression()], ids=repr)
@pytest.mark.parametrize("value", [1e160, 1e308])
def test_columns_whose_squares_overflow_are_refused_by_name(model, value):
    X, y = problem(p=3)
    X[4, 2] = value
    with pytest.raises(InputError, match="Input X in column 2 has values up to"):
        model.fit(X, y)


def test_inference_in_extreme_units_is_refused_by_name():
    X, y = problem(p=3)
    X[:, 2] *= UNIT
    with pytest.raises(InputError, match="Input X in column 2"):
        PoissonRegressor(alpha=0).fit(X, y).inference(X, y)


def test_weights_at_the_end_of_numbers_are_refused_in_a_sentence():
    X, y = problem(p=3)
    with pytest.raises(InputError, match="weights below 1e-300"):
        LogisticRegression().fit(X, y > 2, np.full(len(y), 5e-324))


def test_folds_without_weight_are_refused_in_a_sentence():
    X, y = problem(p=3)
    with pytest.raises(InputError, match="validation rows of a fold have no weight"):
        ElasticNetCV(cv=5).fit(X, y, np.arange(len(y)) >= len(y) // 5)


def test_weights_whose_product_with_c_is_zero_are_refused_in_a_sentence():
    X, y = problem(p=3)
    with pytest.raises(InputError, match="times C, are too small"):
        LogisticRegression(C=1e-10).fit(X, y > 2, np.full(len(y), 5e-324))
