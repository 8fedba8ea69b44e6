"""Extreme but finite values: the answer that the mathematics gives, or one sentence; never NaN, and never for ever."""

import numpy as np
import pytest
import scipy.sparse as sp

from didact import Batches
from didact.core.errors import InputError
from didact.engines.linear.fit import fit_linear
from didact.linear_model import (
    BayesianLinearRegression,
    ElasticNetCV,
    GammaRegressor,
    GeneralizedLeastSquares,
    GeneralizedLinearRegressor,
    GeneralizedLinearRegressorCV,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    MultiTaskElasticNet,
    MultiTaskLasso,
    MultiTaskLassoCV,
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


FAR = [LogisticRegression(solver=solver, tol=1e-8) for solver in ("newton-cholesky", "newton-cg", "lbfgs")]
FAR += [LogisticRegression(loss="squared", tol=1e-8), LogisticRegression(C=0.1, l1_ratio=0.5, tol=1e-8)]
FAR += [PoissonRegressor(alpha=0.1, tol=1e-8), GammaRegressor(alpha=0.1, tol=1e-8), HuberRegressor(tol=1e-8)]


@pytest.mark.parametrize("model", FAR, ids=repr)
@pytest.mark.parametrize("distance", [1e5, 1e6, 1e8])
def test_rows_far_from_0_have_the_coefficients_of_rows_about_0(model, distance):
    """A constant added to columns is taken up by the intercept: the gradient at the answer says so, and no warning."""
    X, y = problem(p=4)
    far = X + distance
    X = far - distance  # what rounding has left of it: this difference is exact
    if isinstance(model, LogisticRegression):
        y = np.digitize(y, [1.5, 2.0]) if "lbfgs" in model.solver else (y > 1.7).astype(int)
    expected = model.fit(X, y).coef_
    found = model.fit(far, y)
    np.testing.assert_allclose(found.coef_, expected, rtol=1e-5, atol=1e-6)
    batches = Batches(lambda: ((far[s], y[s]) for s in (slice(0, 20), slice(20, None))))
    np.testing.assert_allclose(model.fit(batches).coef_, expected, rtol=1e-5, atol=1e-6)
    if distance == 1e6 and isinstance(model, LogisticRegression) and model.solver.startswith("newton"):
        surplus = found.predict_proba(far)[:, 1] - y
        assert abs(surplus.mean()) < 1e-6
        assert np.abs(surplus @ X + found.coef_[0]).max() < 1e-6 * len(X)


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


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("far", ["large", "constant"])
@pytest.mark.parametrize(
    "model",
    [
        GeneralizedLinearRegressor(alpha=1.0),
        GeneralizedLinearRegressor(alpha=1.0, solver="lbfgs"),
        GeneralizedLinearRegressor(alpha=1.0, l1_ratio=0.5),
        LogisticRegression(),
        MultiTaskLasso(),
        MultiTaskElasticNet(),
    ],
    ids=repr,
)
def test_a_tolerance_below_the_rounding_of_a_gradient_is_noticed_early(model, far):
    """Gradients by columns of 1e18 round to hundreds: no solver goes on to its limit of a thousand iterations."""
    X, y = problem(p=4)
    X = np.round(np.abs(X) + 1) * 2.0**61 if far == "large" else X + 1e16
    target = y > 2 if isinstance(model, LogisticRegression) else y
    target = np.column_stack([y, -y]) if isinstance(model, (MultiTaskLasso, MultiTaskElasticNet)) else target
    assert np.max(model.fit(X, target).n_iter_) < 300
    assert np.isfinite(model.coef_).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", [GeneralizedLinearRegressor(), Lasso(), MultiTaskLasso()], ids=repr)
def test_columns_of_1e18_are_solved_as_far_as_the_numbers_allow(model):
    """A penalty has no weight there: the means are those of least squares, whether or not the gradient rounds to 0."""
    X, y = problem(p=4)
    X = np.round(np.abs(X) + 1)
    target = np.column_stack([y, y]) if isinstance(model, MultiTaskLasso) else y
    found = model.fit(X * 2.0**61, target).predict(X * 2.0**61)
    expected = LinearRegression().fit(X, y).predict(X)
    np.testing.assert_allclose(found.T[-1] if found.ndim == 2 else found, expected, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", [GeneralizedLinearRegressorCV(alphas=5, cv=2), LogisticRegressionCV(Cs=5, cv=2)])
def test_folds_of_columns_far_away_take_few_iterations(model, monkeypatch):
    X, y = problem(p=4)
    taken = []
    for module in ("glm_base", "logistic_cv"):
        at = f"didact.linear_model.{module}.fit_linear"
        monkeypatch.setattr(at, lambda *a, **k: taken.append(fit_linear(*a, **k)) or taken[-1])
    model.fit(X + 1e16, y > 2 if isinstance(model, LogisticRegressionCV) else y)
    assert len(taken) >= 10
    assert max(result.n_iter for result in taken) < 300


@pytest.mark.parametrize(
    "model",
    [LinearRegression(), TotalLeastSquares(), Lasso(alpha=0.01), MultiTaskLassoCV(alphas=[0.01], cv=2)],
    ids=repr,
)
@pytest.mark.parametrize("kind", ["rows", "sparse", "batches"])
def test_predictions_beyond_all_numbers_are_refused_by_name(model, kind):
    """10 × 1e308 is no number; the slope of 1 still has an answer there."""
    x = np.arange(40.0)[:, None]
    target = (lambda y: y[:, None] * np.ones(2)) if isinstance(model, MultiTaskLassoCV) else np.asarray
    far = np.array([[1.0], [-1e308]])
    new = {"rows": far, "sparse": sp.csr_array(far), "batches": Batches(lambda: [far])}[kind]
    with pytest.raises(InputError, match=r"X in column 0 has values up to 1e\+308"):
        found = model.fit(x, target(10 * x[:, 0])).predict(new)
        list(found) if kind == "batches" else None
    found = model.fit(x, target(x[:, 0])).predict(new)
    found = next(iter(found)) if kind == "batches" else found
    np.testing.assert_allclose(found[1] / -1e308, np.ones_like(found[1]), rtol=0.01)
