"""Ridge: three equal forms, the course's identities, a penalty per target, bias and covariance in closed form."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import linear_model as reference

from didact import Batches
from didact.core.errors import ParameterError
from didact.linear_model import LinearRegression, Ridge, ridge_bias_covariance

SOLVERS = ["auto", "cholesky", "dual", "svd", "sparse_cg"]


def data(n=60, p=5, k=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + rng.normal(size=p)
    B = rng.normal(size=(p, k)) if k else rng.normal(size=p)
    return X, X @ B + 1.5 + rng.normal(size=(n, k) if k else n)


def formula(X, y, alpha, fit_intercept=True, w=None):
    """(XᵀWX + αI)⁻¹XᵀWy on centred data."""
    w = np.ones(len(X)) if w is None else w
    if fit_intercept:
        X, y = X - np.average(X, axis=0, weights=w), y - np.average(y, axis=0, weights=w)
    return np.linalg.solve((X.T * w) @ X + alpha * np.eye(X.shape[1]), (X.T * w) @ y)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", [(60, 5), (8, 30)])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_solver_gives_the_formula(solver, shape, fit_intercept, weighted):
    """Worked example 83: (XᵀX+λI)⁻¹Xᵀy = Xᵀ(XXᵀ+λI)⁻¹y."""
    X, y = data(*shape)
    w = np.random.default_rng(1).uniform(0.1, 3, size=len(y)) if weighted else None
    model = Ridge(alpha=0.7, solver=solver, fit_intercept=fit_intercept, tol=1e-13).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(model.coef_, formula(X, y, 0.7, fit_intercept, w), rtol=1e-8, atol=1e-10)
    if fit_intercept:
        expected = np.average(y - X @ model.coef_, weights=w)
        np.testing.assert_allclose(model.intercept_, expected, rtol=1e-9)
    else:
        assert model.intercept_ == 0


@pytest.mark.parametrize("solver", ["auto", "cholesky", "svd", "sparse_cg"])
def test_sparse_data(solver):
    X, y = data(k=2)
    X = np.where(np.abs(X) > 0.8, X, 0.0)
    model = Ridge(alpha=0.7, solver=solver, tol=1e-13).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(model.coef_.T, formula(X, y, 0.7), rtol=1e-8, atol=1e-10)


def test_wide_sparse_data_by_conjugate_gradients():
    rng = np.random.default_rng(0)
    X = sp.random_array((400, 2000), density=0.01, rng=rng, format="csr")
    y = rng.normal(size=(400, 2))
    model = Ridge(alpha=[0.3, 2.0], tol=1e-12).fit(X, y)
    assert model.solver_ == "sparse_cg"
    assert model.n_iter_ > 1
    D = X.toarray() - X.toarray().mean(axis=0)
    for j, alpha in enumerate((0.3, 2.0)):
        gradient = D.T @ (D @ model.coef_[j] - (y[:, j] - y[:, j].mean())) + alpha * model.coef_[j]
        assert np.abs(gradient).max() < 1e-9


@pytest.mark.parametrize("solver", ["auto", "cholesky", "dual", "svd", "sparse_cg"])
def test_a_penalty_for_each_target(solver):
    X, Y = data(k=3)
    alphas = np.array([0.1, 5.0, 0.1])
    model = Ridge(alpha=alphas, solver=solver, tol=1e-13).fit(X, Y)
    for j, alpha in enumerate(alphas):
        np.testing.assert_allclose(model.coef_[j], formula(X, Y[:, j], alpha), rtol=1e-8, atol=1e-10)


def test_wrong_penalties_are_refused():
    X, Y = data(k=3)
    with pytest.raises(ParameterError, match="alpha"):
        Ridge(alpha=[1.0, -1.0, 1.0]).fit(X, Y)
    with pytest.raises(ValueError, match="alpha"):
        Ridge(alpha=[1.0, 2.0]).fit(X, Y)
    with pytest.raises(ParameterError, match="2 != 1"):
        Ridge(alpha=[1.0, 2.0]).fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="alpha"):
        Ridge(alpha=-1.0).fit(X, Y)


# ------------------------------------------------------------------------------------------------ identities


def test_ridge_is_the_map_of_a_gaussian_prior():
    """Worked example 82: noise variance σ², prior N(h₀, σ_h²): ridge with σ²/σ_h² of what is left of h₀."""
    X, y = data()
    noise, prior, h0 = 0.7, 0.3, np.random.default_rng(3).normal(size=5)
    coef = h0 + Ridge(alpha=noise / prior, fit_intercept=False).fit(X, y - X @ h0).coef_

    def negative_log_posterior(b):
        return np.sum((y - X @ b) ** 2) / (2 * noise) + np.sum((b - h0) ** 2) / (2 * prior)

    gradient = -X.T @ (y - X @ coef) / noise + (coef - h0) / prior
    np.testing.assert_allclose(gradient, 0.0, atol=1e-9)
    for step in 1e-3 * np.random.default_rng(4).normal(size=(20, 5)):
        assert negative_log_posterior(coef + step) > negative_log_posterior(coef)


def test_ridge_is_least_squares_on_more_rows():
    """√α·I below X and zeros below y."""
    X, y = data()
    more = LinearRegression(fit_intercept=False).fit(
        np.vstack([X, np.sqrt(2.0) * np.eye(5)]), np.concatenate([y, np.zeros(5)])
    )
    np.testing.assert_allclose(Ridge(alpha=2.0, fit_intercept=False).fit(X, y).coef_, more.coef_, rtol=1e-9)


def test_no_penalty_is_least_squares_also_when_deficient():
    X, y = data()
    np.testing.assert_allclose(Ridge(alpha=0.0).fit(X, y).coef_, LinearRegression().fit(X, y).coef_, rtol=1e-9)
    for deficient in (np.column_stack([X, X[:, 0]]), np.column_stack([X, np.full(60, 0.1)])):
        ridge, least = Ridge(alpha=0.0).fit(deficient, y), LinearRegression().fit(deficient, y)
        np.testing.assert_allclose(ridge.predict(deficient), least.predict(deficient), rtol=1e-8)
        np.testing.assert_allclose(ridge.coef_, least.coef_, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("solver", SOLVERS)
def test_no_penalty_on_few_rows_is_the_least_norm(solver, fit_intercept, convert):
    """Columns of unequal length: steps scaled by them would lead elsewhere. Two rows are alike, with unlike targets."""
    X, y = data(8, 30)
    X = X * np.linspace(0.3, 3, 30)
    X[1] = X[0]
    Xc, yc = (X - X.mean(axis=0), y - y.mean()) if fit_intercept else (X, y)
    model = Ridge(alpha=0.0, solver=solver, fit_intercept=fit_intercept, tol=1e-12).fit(convert(X), y)
    np.testing.assert_allclose(model.coef_, np.linalg.pinv(Xc, rtol=1e-10) @ yc, rtol=1e-7, atol=1e-9)


def test_no_penalty_on_wide_sparse_rows_is_the_least_norm():
    X = sp.random_array((40, 2000), density=0.05, rng=np.random.default_rng(0), format="csr")
    X = sp.csr_array(X * np.geomspace(0.1, 10, 2000))
    y = np.random.default_rng(1).normal(size=40)
    Xc = X.toarray() - X.mean(axis=0)
    expected = np.linalg.pinv(Xc, rtol=1e-10) @ (y - y.mean())
    for model in (Ridge(alpha=0.0, tol=1e-12), LinearRegression(tol=1e-12)):
        np.testing.assert_allclose(model.fit(X, y).coef_, expected, rtol=1e-6, atol=1e-9)


def test_few_rows_in_batches_take_little_memory():
    """p × p would be 800 MB."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6, 10_000)) + 3.0, rng.normal(size=6)
    batches = Batches(lambda: ((X[i : i + 2], y[i : i + 2]) for i in range(0, 6, 2)))
    tracemalloc.start()
    model = Ridge(alpha=2.0).fit(batches)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6
    np.testing.assert_allclose(model.coef_, Ridge(alpha=2.0).fit(X, y).coef_, rtol=1e-9, atol=1e-12)


def test_a_large_penalty_gives_the_mean():
    X, y = data()
    model = Ridge(alpha=1e15).fit(X, y)
    np.testing.assert_allclose(model.coef_, 0.0, atol=1e-10)
    np.testing.assert_allclose(model.intercept_, y.mean(), rtol=1e-10)


def test_coefficients_shrink_along_the_path():
    X, y = data()
    norms = [np.linalg.norm(Ridge(alpha=a).fit(X, y).coef_) for a in np.geomspace(1e-3, 1e4, 12)]
    assert (np.diff(norms) < 0).all()


@pytest.mark.parametrize("k", [None, 2])
def test_positive_satisfies_the_kkt_conditions(k):
    X, y = data(k=k)
    w = np.random.default_rng(1).uniform(0.1, 3, size=len(y))
    alpha = 0.8 if k is None else np.array([0.8, 3.0])
    model = Ridge(alpha=alpha, positive=True).fit(X, y, sample_weight=w)
    coef = np.atleast_2d(model.coef_).T
    residual = np.reshape(model.predict(X) - y, (len(y), -1))
    gradient = (X.T * w) @ residual + alpha * coef
    assert (coef >= 0).all()
    assert (coef == 0).any()
    assert (gradient >= -1e-8).all()
    np.testing.assert_allclose(coef * gradient, 0.0, atol=1e-8)


@pytest.mark.parametrize("shift", [1e3, 1e6])
@pytest.mark.parametrize("solver", ["cholesky", "dual", "svd"])
def test_data_far_from_zero(shift, solver):
    X, y = data()
    far = Ridge(solver=solver).fit(X + shift, y + shift)
    np.testing.assert_allclose(far.coef_, formula(X, y, 1.0), rtol=max(1e-8, 1e3 * shift * np.finfo(float).eps))


def test_conjugate_gradients_centre_in_thought_only():
    """Which costs (mean/deviation)² units of rounding: a thousand is what is promised."""
    X, y = data()
    far = Ridge(solver="sparse_cg", tol=1e-12).fit(sp.csr_array(X + 1e3), y + 1e3)
    np.testing.assert_allclose(far.coef_, formula(X, y, 1.0), rtol=1e-6)


@pytest.mark.parametrize("kwargs", [{}, {"fit_intercept": False}, {"positive": True}, {"alpha": 30.0}])
def test_equals_scikit_learn(kwargs):
    X, y = data()
    w = np.random.default_rng(1).uniform(0.1, 3, size=len(y))
    ours = Ridge(**kwargs).fit(X, y, sample_weight=w)
    theirs = reference.Ridge(**kwargs, tol=1e-12).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-5 if "positive" in kwargs else 1e-9, atol=1e-6)


def test_the_dual_needs_rows_in_memory():
    from didact import Batches

    X, y = data()
    with pytest.raises(ParameterError, match="dual"):
        Ridge(solver="dual").fit(Batches(lambda: [(X, y)]))


# ------------------------------------------------------------------------------------------------ bias and covariance


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_bias_and_covariance_are_those_of_the_linear_map(fit_intercept):
    """The estimate is A·y for a fixed A: bias A·E[y] − b, covariance τ²AAᵀ, without any simulation."""
    X, _ = data(n=30)
    b, noise, alpha = np.array([1.0, -2.0, 0.5, 0.0, 3.0]), 0.4, 2.5
    A = np.column_stack([Ridge(alpha=alpha, fit_intercept=fit_intercept).fit(X, e).coef_ for e in np.eye(30)])
    result = ridge_bias_covariance(X, alpha, b, noise, fit_intercept=fit_intercept)
    np.testing.assert_allclose(result.bias, A @ (X @ b + 7.0 * fit_intercept) - b, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(result.covariance, noise * A @ A.T, rtol=1e-8, atol=1e-10)
    expected = np.trace(result.covariance) + result.bias @ result.bias
    assert result.mean_squared_error == pytest.approx(expected, rel=1e-12)


def test_bias_and_covariance_as_the_course_writes_them():
    """Worked example 84: mean U diag(σ²/(σ²+λ))Uᵀθ*, covariance U diag(τ²σ²/(σ²+λ)²)Uᵀ."""
    X, _ = data(n=30)
    b, noise, alpha = np.array([1.0, -2.0, 0.5, 0.0, 3.0]), 0.4, 2.5
    values, U = np.linalg.eigh(X.T @ X)
    result = ridge_bias_covariance(X, alpha, b, noise, fit_intercept=False)
    np.testing.assert_allclose(b + result.bias, (U * (values / (values + alpha))) @ U.T @ b, rtol=1e-9)
    np.testing.assert_allclose(result.covariance, (U * (noise * values / (values + alpha) ** 2)) @ U.T, rtol=1e-9)


def test_bias_and_covariance_with_weights():
    """Rows with noise variance τ²/w: the covariance of A·y is A diag(τ²/w) Aᵀ."""
    X, _ = data(n=30)
    w = np.random.default_rng(1).uniform(0.2, 3, size=30)
    b, noise, alpha = np.arange(5.0), 0.4, 2.5
    A = np.column_stack([Ridge(alpha=alpha).fit(X, e, sample_weight=w).coef_ for e in np.eye(30)])
    result = ridge_bias_covariance(X, alpha, b, noise, sample_weight=w)
    np.testing.assert_allclose(result.bias, A @ X @ b - b, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(result.covariance, (A * (noise / w)) @ A.T, rtol=1e-8, atol=1e-10)


def test_without_a_penalty_there_is_no_bias_and_some_penalty_is_better():
    X, _ = data(n=12)
    b = np.array([0.3, -0.2, 0.1, 0.0, 0.3])
    errors = [ridge_bias_covariance(X, a, b, 1.0) for a in (0.0, 0.5)]
    np.testing.assert_allclose(errors[0].bias, 0.0, atol=1e-12)
    assert errors[1].mean_squared_error < errors[0].mean_squared_error
