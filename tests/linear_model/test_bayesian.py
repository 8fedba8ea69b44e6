"""Bayesian linear regression: closed forms, Ridge, scikit-learn, intervals that cover, draws that agree, refusals."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as peer

from didact import Batches
from didact.core.errors import InputError, ParameterError
from didact.linear_model import BayesianLinearRegression, LinearRegression, Ridge


def problem(n=40, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + np.arange(p)
    return X, X @ np.linspace(-1.0, 2.0, p) + 3.0 + 0.5 * rng.normal(size=n)


def test_a_line_through_the_origin():
    """Worked example 57."""
    model = BayesianLinearRegression(prior_covariance=1.0, noise_variance=1.0, fit_intercept=False)
    model.fit([[1.0], [2.0]], [1.0, 3.0])
    np.testing.assert_allclose([model.coef_[0], model.sigma_[0, 0]], [7 / 6, 1 / 6], rtol=1e-12)
    mean, std = model.predict([[3.0]], return_std=True)
    np.testing.assert_allclose([mean[0], std[0] ** 2], [3.5, 2.5], rtol=1e-12)
    # The Gaussian process with the kernel τ²xz.
    K, k = np.outer([1, 2], [1, 2]) + np.eye(2), 3.0 * np.array([1.0, 2.0])
    np.testing.assert_allclose(mean[0], k @ np.linalg.solve(K, [1.0, 3.0]))
    np.testing.assert_allclose(std[0] ** 2, 9.0 + 1.0 - k @ np.linalg.solve(K, k))


def test_both_forms_of_the_mean_with_a_full_prior():
    """Worked example 86."""
    X, y = problem()
    rng = np.random.default_rng(1)
    mu, A = rng.normal(size=4), rng.normal(size=(4, 4))
    S = A @ A.T + 0.5 * np.eye(4)
    model = BayesianLinearRegression(prior_mean=mu, prior_covariance=S, noise_variance=1.0, fit_intercept=False)
    model.fit(X, y)
    H = X.T @ X + np.linalg.inv(S)
    np.testing.assert_allclose(model.coef_, mu + np.linalg.solve(H, X.T @ (y - X @ mu)), rtol=1e-9)
    np.testing.assert_allclose(model.coef_, np.linalg.solve(H, X.T @ y + np.linalg.solve(S, mu)), rtol=1e-9)
    np.testing.assert_allclose(model.sigma_, np.linalg.inv(H), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(model.lambda_, np.linalg.inv(S), rtol=1e-8)
    q = X[:3] + 5.0
    K, cross = X @ S @ X.T + np.eye(len(X)), q @ S @ X.T
    mean, std = model.predict(q, return_std=True)
    np.testing.assert_allclose(mean, q @ mu + cross @ np.linalg.solve(K, y - X @ mu), rtol=1e-8)
    variance = 1.0 + np.diag(q @ S @ q.T - cross @ np.linalg.solve(K, cross.T))
    np.testing.assert_allclose(std**2, variance, rtol=1e-7)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_known_scales_are_ridge_regression(fit_intercept):
    X, y = problem()
    model = BayesianLinearRegression(prior_covariance=0.5, noise_variance=2.0, fit_intercept=fit_intercept).fit(X, y)
    ridge = Ridge(alpha=2.0 / 0.5, fit_intercept=fit_intercept).fit(X, y)
    np.testing.assert_allclose(model.coef_, ridge.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, ridge.intercept_, rtol=1e-9, atol=1e-12)
    wide = BayesianLinearRegression(prior_covariance=1e12, noise_variance=2.0, fit_intercept=fit_intercept).fit(X, y)
    np.testing.assert_allclose(wide.coef_, LinearRegression(fit_intercept=fit_intercept).fit(X, y).coef_, rtol=1e-8)
    diagonal = BayesianLinearRegression(prior_covariance=np.full(4, 0.5), noise_variance=2.0,
                                        fit_intercept=fit_intercept).fit(X, y)  # fmt: skip
    np.testing.assert_allclose(diagonal.coef_, model.coef_, rtol=1e-10)


def test_the_flat_prior_of_the_constant_is_the_limit_of_a_wide_one():
    X, y = problem()
    flat = BayesianLinearRegression(prior_covariance=0.5, noise_variance=2.0).fit(X, y)
    design = np.column_stack([X, np.ones(len(X))])
    wide = BayesianLinearRegression(prior_covariance=[0.5] * 4 + [1e8], noise_variance=2.0, fit_intercept=False)
    wide.fit(design, y)
    np.testing.assert_allclose(flat.coef_, wide.coef_[:4], rtol=1e-6)
    np.testing.assert_allclose(flat.intercept_, wide.coef_[4], rtol=1e-6)
    for a, b in zip(flat.predict(X, return_std=True), wide.predict(design, return_std=True), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    # A density of 1 is √(2π·1e8) times the density of the wide prior near 0.
    shift = 0.5 * np.log(2 * np.pi * 1e8)
    np.testing.assert_allclose(flat.log_evidence_, wide.log_evidence_ + shift, rtol=1e-6)


@pytest.mark.parametrize("shape", [(60, 5), (25, 20)])
def test_evidence_maximisation_agrees_with_scikit_learn(shape):
    rng = np.random.default_rng(3)
    X = rng.normal(size=shape)
    y = X[:, :3] @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=shape[0])
    theirs = peer.BayesianRidge(tol=1e-12, max_iter=5000, alpha_1=0, alpha_2=0, lambda_1=0, lambda_2=0,
                                fit_intercept=False, compute_score=True).fit(X, y)  # fmt: skip
    ours = BayesianLinearRegression(tol=1e-10, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose([ours.alpha_, ours.lambda_], [theirs.alpha_, theirs.lambda_], rtol=1e-4)
    np.testing.assert_allclose(ours.sigma_, theirs.sigma_, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(ours.log_evidence_, theirs.scores_[-1], rtol=1e-6)
    np.testing.assert_allclose(
        ours.predict(X[:5], return_std=True)[1], theirs.predict(X[:5], return_std=True)[1], rtol=1e-4
    )
    assert len(ours.scores_) == ours.n_iter_ + 1
    assert np.diff(ours.scores_).min() > -1e-9


def test_relevance_is_found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 12))
    y = 2.0 * X[:, 1] - X[:, 7] + 0.3 * rng.normal(size=200)
    model = BayesianLinearRegression(ard=True).fit(X, y)
    others = np.setdiff1d(np.arange(12), [1, 7])
    assert (model.coef_[others] == 0).sum() >= 4
    np.testing.assert_allclose(model.coef_[[1, 7]], [2.0, -1.0], atol=0.07)
    np.testing.assert_allclose(model.coef_[others], 0.0, atol=0.05)
    assert np.isinf(model.lambda_[model.coef_ == 0]).all()
    assert model.log_evidence_ > BayesianLinearRegression().fit(X, y).log_evidence_
    theirs = peer.ARDRegression(fit_intercept=False, threshold_lambda=1e12, tol=1e-10, max_iter=3000).fit(X, y)
    ours = BayesianLinearRegression(ard=True, fit_intercept=False, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=5e-3)  # theirs has a prior on the scales


def test_intervals_cover_and_widen_away_from_the_data():
    rng = np.random.default_rng(1)
    hits, means = [], []
    for _ in range(300):
        w = rng.normal(size=3)
        X, q = rng.normal(size=(15, 3)), rng.normal(size=(20, 3))
        model = BayesianLinearRegression(prior_covariance=1.0, noise_variance=0.25, fit_intercept=False)
        model.fit(X, X @ w + 0.5 * rng.normal(size=15))
        low, high = model.predict_interval(q, level=0.8).T
        y = q @ w + 0.5 * rng.normal(size=20)
        hits.append(np.mean((low < y) & (y < high)))
        low, high = model.predict_interval(q, level=0.8, noise=False).T
        means.append(np.mean((low < q @ w) & (q @ w < high)))
    np.testing.assert_allclose([np.mean(hits), np.mean(means)], 0.8, atol=0.02)
    far = model.predict(np.outer([0.0, 1.0, 5.0], np.ones(3)), return_std=True)[1]
    assert (np.diff(far) > 0).all()


def test_draws_have_the_moments_of_the_posterior():
    X, y = problem()
    model = BayesianLinearRegression().fit(X, y)
    coef, intercept = model.sample_coef(40_000, random_state=0)
    np.testing.assert_allclose(coef.mean(axis=0), model.coef_, atol=0.02)
    np.testing.assert_allclose(np.cov(coef.T), model.sigma_, atol=0.02 * np.abs(model.sigma_).max())
    np.testing.assert_allclose(intercept.mean(), model.intercept_, atol=0.02)
    draws = model.sample_y(X[:3] + 2.0, 40_000, random_state=1)
    mean, std = model.predict(X[:3] + 2.0, return_std=True)
    assert draws.shape == (3, 40_000)
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=0.03)
    np.testing.assert_allclose(draws.std(axis=1), std, rtol=0.02)
    quiet = model.sample_y(X[:3] + 2.0, 40_000, random_state=1, noise=False)
    np.testing.assert_allclose(quiet.var(axis=1), std**2 - 1 / model.alpha_, rtol=0.04)
    np.testing.assert_array_equal(model.sample_y(X[:3], 5, random_state=7), model.sample_y(X[:3], 5, random_state=7))


def test_predictions_of_collections_and_sparse_rows():
    X, y = problem()
    X[np.abs(X) < 0.7] = 0.0
    model = BayesianLinearRegression().fit(X, y)
    mean, std = model.predict(X, return_std=True)
    sparse = BayesianLinearRegression().fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.predict(sp.csr_array(X), return_std=True), (mean, std), rtol=1e-9)
    batches = Batches(lambda: (X[k : k + 15] for k in range(0, 40, 15)))
    parts = [np.concatenate(list(part)) for part in model.predict(batches, return_std=True)]
    np.testing.assert_allclose(parts, (mean, std), rtol=1e-12)
    lines = np.concatenate(list(model.sample_y(batches, 3, random_state=0, noise=False)))
    np.testing.assert_allclose(lines, model.sample_y(X, 3, random_state=0, noise=False))
    with pytest.raises(InputError, match="noise=False"):
        model.sample_y(batches, 3)


def test_ill_conditioned_polynomials_are_solved_from_the_rows():
    """Cross-products of the powers have condition 1e20: a triangular factor of the rows keeps the digits."""
    x = np.linspace(1.0, 2.0, 50)
    X = x[:, None] ** np.arange(1, 9)
    rng = np.random.default_rng(0)
    y = np.sin(3 * x) + 1e-3 * rng.normal(size=50)
    model = BayesianLinearRegression(prior_covariance=1e10, noise_variance=1e-6).fit(X, y)
    D = np.column_stack([np.ones(50), X])
    augmented = np.vstack([D / 1e-3, np.diag([0.0] + [1e-5] * 8)])
    expected = np.linalg.lstsq(augmented, np.append(y / 1e-3, np.zeros(9)), rcond=None)[0]
    np.testing.assert_allclose(model.predict(X), D @ expected, atol=1e-8)


def test_degenerate_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    for ard in (False, True):
        model = BayesianLinearRegression(ard=ard).fit(X, np.full(20, 3.0))
        np.testing.assert_allclose(model.predict(X), 3.0)
        model = BayesianLinearRegression(ard=ard).fit(np.ones((20, 2)), X[:, 0])
        np.testing.assert_allclose(model.predict(np.ones((1, 2))), X[:, 0].mean())
        np.testing.assert_allclose(1 / model.alpha_, X[:, 0].var(ddof=1), rtol=1e-4)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"prior_mean": [1.0, 2.0]}, "prior_mean has shape"),
        ({"prior_covariance": np.eye(3)}, "prior_covariance has shape"),
        ({"prior_covariance": [1.0, 0.0, 1.0, 1.0]}, "must be positive"),
        ({"prior_covariance": -np.eye(4)}, "positive definite"),
        ({"prior_covariance": np.triu(np.ones((4, 4)))}, "not symmetric"),
        ({"prior_covariance": 1.0, "ard": True}, "takes no prior_covariance"),
    ],
)
def test_bad_priors_are_refused_in_words(parameters, sentence):
    with pytest.raises(ParameterError, match=sentence):
        BayesianLinearRegression(**parameters).fit(*problem())
    with pytest.raises(ParameterError, match="level"):
        BayesianLinearRegression().fit(*problem()).predict_interval(problem()[0], level=95)
