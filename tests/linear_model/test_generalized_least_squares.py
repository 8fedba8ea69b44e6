"""Generalized least squares: whitening, weighted least squares, statsmodels, the sampling covariance, refusals."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
import statsmodels.api as sm
from scipy import linalg

from didact import Batches
from didact.core.errors import InputError
from didact.linear_model import BayesianLinearRegression, GeneralizedLeastSquares, LinearRegression, Ridge
from didact.linear_model.generalized_least_squares import lower_factor


def problem(n=50, p=3, targets=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 2.0
    A = rng.normal(size=(n, n))
    covariance = A @ A.T / n + 0.1 * np.eye(n)
    noise = np.linalg.cholesky(covariance) @ rng.normal(size=(n, targets or 1))
    Y = X @ rng.normal(size=(p, targets or 1)) + 4.0 + noise
    return X, Y if targets else Y[:, 0], covariance


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("targets", [None, 2])
def test_gls_is_ordinary_least_squares_after_whitening(fit_intercept, targets):
    X, y, covariance = problem(targets=targets)
    root = np.linalg.inv(linalg.sqrtm(covariance).real)  # another square root than the model's own
    design = np.column_stack([X, np.ones(len(X))]) if fit_intercept else X
    expected = np.linalg.lstsq(root @ design, root @ y, rcond=None)[0].T
    model = GeneralizedLeastSquares(fit_intercept=fit_intercept).fit(X, y, covariance=covariance)
    np.testing.assert_allclose(model.coef_, expected[..., :3], rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, expected[..., 3] if fit_intercept else 0.0, rtol=1e-8)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_diagonal_covariance_is_weighted_least_squares(fit_intercept):
    X, y, _ = problem()
    variances = np.random.default_rng(1).uniform(0.2, 5.0, len(y))
    expected = LinearRegression(fit_intercept=fit_intercept).fit(X, y, sample_weight=1 / variances)
    model = GeneralizedLeastSquares(fit_intercept=fit_intercept)
    for covariance, factor in [
        (variances, False),
        (np.sqrt(variances), True),
        (np.diag(variances), False),
        (np.diag(np.sqrt(variances)), True),
        (list(variances), False),
    ]:
        model.fit(X, y, covariance=covariance, factor=factor)
        np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
        np.testing.assert_allclose(model.intercept_, expected.intercept_, rtol=1e-9)
    full, diagonal = model.coef_error_, GeneralizedLeastSquares(fit_intercept=fit_intercept).fit(X, y, variances)
    np.testing.assert_allclose(full, diagonal.coef_error_, rtol=1e-9)


def test_any_factor_gives_the_same_answer():
    X, y, covariance = problem()
    expected = GeneralizedLeastSquares().fit(X, y, covariance=covariance)
    values, V = np.linalg.eigh(covariance)
    wide = np.column_stack([np.linalg.cholesky(covariance - 0.05 * np.eye(len(y))), np.sqrt(0.05) * np.eye(len(y))])
    for R in (np.linalg.cholesky(covariance), V * np.sqrt(values), wide):
        np.testing.assert_allclose(R @ R.T, covariance, atol=1e-12)
        model = GeneralizedLeastSquares().fit(X, y, covariance=R, factor=True)
        np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-8)
        np.testing.assert_allclose(model.coef_error_, expected.coef_error_, rtol=1e-8)


def test_standard_errors_are_those_of_statsmodels():
    X, y, covariance = problem()
    peer = sm.GLS(y, sm.add_constant(X), sigma=covariance).fit()
    model = GeneralizedLeastSquares().fit(X, y, covariance=covariance)
    np.testing.assert_allclose(model.coef_, peer.params[1:], rtol=1e-9)
    np.testing.assert_allclose(model.coef_error_, peer.bse[1:], rtol=1e-9)
    np.testing.assert_allclose([model.intercept_error_, model.scale_], [peer.bse[0], peer.scale], rtol=1e-9)
    np.testing.assert_allclose(model.coef_covariance_, peer.cov_params()[1:, 1:], rtol=1e-8)
    exact = GeneralizedLeastSquares(scale=1.0).fit(X, y, covariance=covariance)
    np.testing.assert_allclose(exact.coef_error_, peer.bse[1:] / np.sqrt(peer.scale), rtol=1e-9)


def test_estimates_scatter_as_their_standard_errors_say():
    X, _, covariance = problem(n=30)
    L = np.linalg.cholesky(covariance)
    rng = np.random.default_rng(5)
    Y = (X @ [1.0, 2.0, 3.0])[:, None] + L @ rng.normal(size=(30, 4000))
    model = GeneralizedLeastSquares(scale=1.0).fit(X, Y, covariance=covariance)
    np.testing.assert_allclose(model.coef_.std(axis=0), model.coef_error_[0], rtol=0.05)
    np.testing.assert_allclose(model.intercept_.std(), model.intercept_error_[0], rtol=0.05)
    assert model.coef_error_.shape == (4000, 3)
    estimated = GeneralizedLeastSquares().fit(X, Y, covariance=covariance)
    np.testing.assert_allclose(estimated.scale_.mean(), 1.0, rtol=0.02)


@pytest.mark.parametrize("targets", [None, 2])
def test_a_known_mean_of_the_noise_is_taken_off(targets):
    X, y, covariance = problem(targets=targets)
    mean = np.linspace(-30.0, 50.0, len(y))
    shifted = y + (mean if targets is None else mean[:, None])
    for sigma in (covariance, np.diag(covariance).copy(), None):
        expected = GeneralizedLeastSquares().fit(X, y, covariance=sigma)
        model = GeneralizedLeastSquares().fit(X, shifted, covariance=sigma, noise_mean=mean)
        np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
        np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=1e-9)


def test_collections_and_sparse_rows_give_the_same():
    X, y, covariance = problem()
    variances, mean = np.diag(covariance).copy(), np.linspace(0.0, 3.0, len(y))
    expected = GeneralizedLeastSquares().fit(X, y, variances, noise_mean=mean)
    pieces = [slice(k, k + 13) for k in range(0, len(y), 13)]
    batches = Batches(lambda: ((X[s], y[s], None, variances[s], mean[s]) for s in pieces))
    columns = [da.from_array(c, chunks=20) for c in (X, y, variances, mean)]
    for model in (
        GeneralizedLeastSquares().fit(batches),
        GeneralizedLeastSquares().fit(*columns[:3], noise_mean=columns[3]),
        GeneralizedLeastSquares().fit(sp.csr_array(X), y, variances, noise_mean=mean),
    ):
        np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
        np.testing.assert_allclose(model.coef_error_, expected.coef_error_, rtol=1e-8)
    full = GeneralizedLeastSquares().fit(sp.csr_array(X), y, covariance=covariance)
    np.testing.assert_allclose(full.coef_, GeneralizedLeastSquares().fit(X, y, covariance).coef_, rtol=1e-9)
    with pytest.raises(InputError, match="in memory"):
        GeneralizedLeastSquares().fit(*columns[:2], covariance=covariance)


def test_exact_and_nearly_exact_fits_have_the_right_scale():
    """The residual sum of squares is not the small difference of two large sums."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y = 1e3 * (X @ [1.0, 2.0]) + 1e-4 * rng.normal(size=100)
    model = GeneralizedLeastSquares().fit(X, y)
    residual = y - model.predict(X)
    np.testing.assert_allclose(model.scale_, residual @ residual / 97, rtol=1e-3)


def test_dependent_columns_give_the_solution_of_least_norm():
    X, y, covariance = problem()
    model = GeneralizedLeastSquares().fit(np.column_stack([X, X[:, 0]]), y, covariance=covariance)
    single = GeneralizedLeastSquares().fit(X, y, covariance=covariance)
    np.testing.assert_allclose(model.coef_[[0, 3]], single.coef_[0] / 2, rtol=1e-8)
    np.testing.assert_allclose(model.predict(np.column_stack([X, X[:, 0]])), single.predict(X), rtol=1e-8)


@pytest.mark.parametrize(
    ("covariance", "factor", "sentence"),
    [
        (np.eye(4), False, r"shape \(4, 4\), but there are 3 rows"),
        (np.array([1.0, 2.0, 0.0]), False, "must be positive"),
        (np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), False, "not positive definite"),
        (np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), False, "not symmetric"),
        (np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), True, "no full row rank"),
        (np.diag([1.0, np.nan, 1.0]), False, "NaN"),
        (np.ones((1, 1, 3)), False, "3 dimensions"),
        (np.ones(4), False, "4"),
    ],
)
def test_bad_covariances_are_refused_in_words(covariance, factor, sentence):
    with pytest.raises(InputError, match=sentence):
        GeneralizedLeastSquares().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 3.0], covariance, factor)


def test_sample_weights_in_batches_are_refused():
    with pytest.raises(InputError, match="no sample_weight"):
        GeneralizedLeastSquares().fit(Batches(lambda: [(np.eye(3), np.ones(3), np.ones(3))]))


def test_lower_factor_reproduces_the_covariance():
    _, _, covariance = problem(n=12)
    L = lower_factor(covariance, 12, False)
    np.testing.assert_allclose(L @ L.T, covariance, atol=1e-12)
    assert not np.triu(L, 1).any()


def test_a_factor_in_the_place_of_the_covariance_is_refused():
    X, y, L = [[0.0], [1.0], [2.0]], [0.0, 1.0, 3.0], np.diag([1.0, 2.0, 5.0])
    for wrong in ({"factor": L}, {"factor": L.tolist()}, {"factor": True}, {"covariance": L, "factor": L}):
        with pytest.raises(InputError, match="covariance=L, factor=True"):
            GeneralizedLeastSquares().fit(X, y, **wrong)
    a = GeneralizedLeastSquares().fit(X, y, covariance=L, factor=np.True_)
    np.testing.assert_allclose(a.coef_, GeneralizedLeastSquares().fit(X, y, covariance=L @ L).coef_, rtol=1e-12)


def test_more_columns_than_rows_need_no_square_matrix():
    """The shortest of all solutions, with its standard errors, from factors as thin as the rows."""
    rng = np.random.default_rng(0)
    X, y, variances = rng.normal(size=(4, 7)), rng.normal(size=4), np.array([1.0, 2.0, 0.5, 1.0])
    model = GeneralizedLeastSquares(scale=2.0).fit(X, y, covariance=variances)
    full = GeneralizedLeastSquares(scale=2.0).fit(X, y, covariance=np.diag(variances))
    np.testing.assert_allclose(model.coef_, full.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.coef_covariance_, full.coef_covariance_, rtol=1e-9)
    np.testing.assert_allclose(model.coef_error_**2, np.diag(model.coef_covariance_), rtol=1e-12)
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-9)
    wide = rng.normal(size=(2, 100_000))
    model.fit(wide, y[:2])
    np.testing.assert_allclose(model.predict(wide), y[:2], rtol=1e-9)


def test_a_matrix_beyond_the_memory_is_refused_in_a_sentence(monkeypatch):
    monkeypatch.setattr("os.sysconf", lambda name: 100)
    X, y = np.random.default_rng(0).normal(size=(2, 60)), np.ones(2)
    with pytest.raises(InputError, match=r"60 × 60 numbers.*may use: coef_error_"):
        _ = GeneralizedLeastSquares().fit(X, y).coef_covariance_
    for model in (BayesianLinearRegression(), Ridge(positive=True)):
        with pytest.raises(InputError, match=r"60 × 60 numbers.*may use: "):
            model.fit(X, y)
