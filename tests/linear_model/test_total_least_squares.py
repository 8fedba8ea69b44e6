"""Total least squares: the smallest change, both closed forms, orthogonal distances, data without a solution."""

import numpy as np
import pytest
from scipy.optimize import minimize

from didact import Batches
from didact.core.errors import InputError
from didact.linear_model import LinearRegression, TotalLeastSquares


def problem(n=60, p=3, targets=2, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 2.0
    Y = X @ rng.normal(size=(p, targets)) + 1.0
    return X + noise * rng.normal(size=X.shape), Y + noise * rng.normal(size=Y.shape)


def test_one_feature():
    """Worked example 59."""
    x, y = np.array([[1.0], [2.0], [3.0]]), np.array([1.0, 3.0, 2.0])
    model = TotalLeastSquares(fit_intercept=False).fit(x, y)
    np.testing.assert_allclose(model.coef_, [1.0], rtol=1e-12)
    np.testing.assert_allclose(model.singular_values_[-1] ** 2, 1.0, rtol=1e-12)
    np.testing.assert_allclose(LinearRegression(fit_intercept=False).fit(x, y).coef_, [13 / 14])


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_both_closed_forms_agree(fit_intercept):
    """Worked example 87."""
    X, Y = problem(targets=1)
    y = Y[:, 0]
    model = TotalLeastSquares(fit_intercept=fit_intercept).fit(X, y)
    A, b = (X - X.mean(axis=0), y - y.mean()) if fit_intercept else (X, y)
    smallest = np.linalg.svd(np.column_stack([A, b]))[1][-1]
    np.testing.assert_allclose(model.coef_, np.linalg.solve(A.T @ A - smallest**2 * np.eye(3), A.T @ b), rtol=1e-8)
    np.testing.assert_allclose(model.distance_, smallest, rtol=1e-10)
    if fit_intercept:
        np.testing.assert_allclose(model.predict(X.mean(axis=0, keepdims=True)), y.mean(), rtol=1e-12)


def test_no_smaller_change_makes_the_data_linear():
    """The change (E, F) that belongs to B is the projection onto the normal space of [B; −I]."""
    X, Y = problem()
    model = TotalLeastSquares(fit_intercept=False).fit(X, Y)

    def change(B):
        N = np.linalg.qr(np.vstack([B, -np.eye(2)]))[0]
        return np.linalg.norm(np.column_stack([X, Y]) @ N)

    B = model.coef_.T
    np.testing.assert_allclose(change(B), model.distance_, rtol=1e-10)
    rng = np.random.default_rng(0)
    for _ in range(50):
        assert change(B + 0.01 * rng.normal(size=B.shape)) > model.distance_
    E = np.column_stack([X, Y]) @ np.linalg.qr(np.vstack([B, -np.eye(2)]))[0]
    fixed = np.column_stack([X, Y]) - E @ np.linalg.qr(np.vstack([B, -np.eye(2)]))[0].T
    np.testing.assert_allclose(fixed[:, :3] @ B, fixed[:, 3:], atol=1e-10)


def test_a_line_minimises_the_orthogonal_distances():
    X, Y = problem(p=1, targets=1)
    x, y = X[:, 0], Y[:, 0]

    def squares(beta):
        return np.sum((y - beta[0] * x - beta[1]) ** 2) / (1 + beta[0] ** 2)

    found = minimize(squares, [1.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    model = TotalLeastSquares().fit(X, y)
    np.testing.assert_allclose([model.coef_[0], model.intercept_], found.x, rtol=1e-6)
    np.testing.assert_allclose(model.distance_**2, found.fun, rtol=1e-9)


def test_errors_in_the_features_do_not_bias_it():
    rng = np.random.default_rng(2)
    x = rng.normal(size=20_000)
    y = 2.0 * x + 0.5 * rng.normal(size=x.size)
    X = (x + 0.5 * rng.normal(size=x.size))[:, None]
    np.testing.assert_allclose(TotalLeastSquares().fit(X, y).coef_, [2.0], atol=0.03)
    assert LinearRegression().fit(X, y).coef_[0] < 1.7


def test_exact_data_give_exact_coefficients():
    X, _ = problem()
    B = np.arange(6.0).reshape(3, 2)
    model = TotalLeastSquares().fit(X, X @ B + [1.0, -1.0])
    np.testing.assert_allclose(model.coef_, B.T, atol=1e-10)
    np.testing.assert_allclose(model.intercept_, [1.0, -1.0], atol=1e-9)
    assert model.distance_ < 1e-9


def test_more_features_than_rows_and_dependent_features_have_least_norm():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5, 9)), rng.normal(size=5)
    model = TotalLeastSquares(fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, np.linalg.lstsq(X, y, rcond=None)[0], atol=1e-9)
    X, Y = problem()
    twice = TotalLeastSquares().fit(np.column_stack([X, X[:, 0]]), Y)
    np.testing.assert_allclose(twice.coef_[:, 0], twice.coef_[:, 3], rtol=1e-8)


def test_weights_and_blocks():
    X, Y = problem()
    w = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = TotalLeastSquares(fit_intercept=False).fit(X, Y, sample_weight=w)
    repeated = TotalLeastSquares(fit_intercept=False).fit(np.repeat(X, w, axis=0), np.repeat(Y, w, axis=0))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9)
    batches = Batches(lambda: ((X[k : k + 7], Y[k : k + 7], w[k : k + 7]) for k in range(0, 60, 7)))
    np.testing.assert_allclose(TotalLeastSquares(fit_intercept=False).fit(batches).coef_, weighted.coef_, rtol=1e-9)


def test_data_without_a_solution_are_refused_in_words():
    x = np.array([[1.0], [0.0]])
    with pytest.raises(InputError, match="V_YY is singular"):
        TotalLeastSquares(fit_intercept=False).fit(x, [0.0, 2.0])
    with pytest.raises(InputError, match="not unique"):
        TotalLeastSquares(fit_intercept=False).fit(x, [0.0, 1.0])
    model = TotalLeastSquares(fit_intercept=False).fit(2 * x, [0.0, 1.0])
    np.testing.assert_allclose(model.coef_, [0.0], atol=1e-12)
