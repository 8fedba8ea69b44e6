"""EM for components of one's own: bounds, restarts, hard assignments, and an M step that is not one."""

import numpy as np
import pytest
from scipy import linalg
from scipy.stats import norm, poisson
from sklearn.exceptions import ConvergenceWarning

from didact.core.errors import InputError
from didact.engines.components import low_rank, mixture
from didact.mixture import (
    BernoulliMixture,
    ExpectationMaximization,
    GaussianComponents,
    GaussianMixture,
    expectation_maximization,
)


class Poissons:
    n_components = 2

    def log_joint(self, X, theta):
        return np.log(theta[0]) + poisson.logpmf(X, theta[1])

    def statistics(self, X, R):
        return R.sum(axis=0), R.T @ X[:, 0]

    def maximize(self, weight, total):
        return weight / weight.sum(), total / weight


class Means:
    """Components N(μ_k, 1) with equal shares: hard EM is k-means (W15.1)."""

    n_components = 3

    def log_joint(self, X, theta):
        return norm.logpdf(X, theta) - np.log(3)

    def statistics(self, X, R):
        return R.sum(axis=0), R.T @ X[:, 0]

    def maximize(self, weight, total):
        return total / np.maximum(weight, 1e-300)


class Falling(Poissons):
    def maximize(self, weight, total):
        return np.array([0.5, 0.5]), 1.0 + 20 * np.random.default_rng(int(total[0])).uniform(size=2)


X = np.random.default_rng(0).poisson(np.repeat([2.0, 15.0], 80))[:, None].astype(float)


@pytest.mark.parametrize("seed", range(5))
def test_the_likelihood_never_falls_and_ends_where_the_m_step_stays(seed):
    model = ExpectationMaximization(Poissons(), tol=1e-13, random_state=seed).fit(X)
    assert (np.diff(model.log_likelihoods_) >= -1e-12).all()
    R = model.predict_proba(X)
    shares, rates = Poissons().maximize(*Poissons().statistics(X, R))
    np.testing.assert_allclose(model.parameters_[0], shares, rtol=1e-5)
    np.testing.assert_allclose(model.parameters_[1], rates, rtol=1e-5)


def test_the_bound_is_below_the_likelihood_and_touches_it_at_the_posterior():
    model = ExpectationMaximization(Poissons(), random_state=0).fit(X)
    value, R = model.score(X) * len(X), model.predict_proba(X)
    assert model.elbo(X) == pytest.approx(value, rel=1e-12)
    assert model.elbo(X, R) == pytest.approx(value, rel=1e-12)
    q = np.random.default_rng(1).dirichlet([1, 1], len(X))
    with np.errstate(divide="ignore"):
        divergence = np.where(q > 0, q * (np.log(q) - np.log(R)), 0.0).sum()
    assert model.elbo(X, q) == pytest.approx(value - divergence, rel=1e-9)
    with pytest.raises(InputError, match="q must have a row"):
        model.elbo(X, q[:3])


def test_hard_assignments_are_k_means():
    rng = np.random.default_rng(2)
    Z = np.concatenate([rng.normal(m, 0.5, size=(40, 1)) for m in (0.0, 5.0, 10.0)])
    model = ExpectationMaximization(Means(), hard=True, n_init=20, tol=0.0, random_state=0).fit(Z)
    labels = np.abs(Z - model.parameters_).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(Z), labels)
    for k in range(3):
        assert model.parameters_[k] == pytest.approx(Z[labels == k].mean())
    assert (np.diff(model.log_likelihoods_) >= 0).all()


def test_restarts_and_the_trace():
    runs = [ExpectationMaximization(Poissons(), random_state=s, max_iter=40).fit(X).log_likelihood_ for s in range(3)]
    best = ExpectationMaximization(Poissons(), random_state=0, n_init=5, keep_parameters=True).fit(X)
    assert best.log_likelihood_ >= min(runs) - 1e-9
    assert len(best.trace_) == len(best.log_likelihoods_) == best.n_iter_ + 1
    np.testing.assert_array_equal(best.trace_[-1][1], best.parameters_[1])


def test_an_m_step_that_is_none_is_found_out():
    with pytest.warns(ConvergenceWarning, match="lowered the log-likelihood, which no M step does"):
        model = ExpectationMaximization(Falling(), random_state=0).fit(X)
    assert (np.diff(model.log_likelihoods_) >= 0).all()


def test_the_default_is_a_gaussian_mixture():
    Z = np.concatenate([X, np.random.default_rng(3).normal(size=(160, 1))], axis=1)
    own = ExpectationMaximization(random_state=0, tol=1e-12, max_iter=3000).fit(Z)
    shares, means, covariances = own.parameters_
    how = {"weights_init": shares, "means_init": means, "precisions_init": np.linalg.inv(covariances)}
    mixture = GaussianMixture(2, reg_covar=0.0, tol=1e-12, **how).fit(Z)
    assert mixture.lower_bound_ == pytest.approx(own.log_likelihood_, abs=1e-9)


def test_bernoulli_mixtures_never_fall_and_are_stationary():
    rng = np.random.default_rng(4)
    p = np.array([[0.9, 0.8, 0.1, 0.2], [0.1, 0.3, 0.9, 0.7]])
    Z = (rng.uniform(size=(300, 4)) < p[rng.integers(2, size=300)]).astype(float)
    Z[rng.uniform(size=Z.shape) < 0.1] = np.nan
    for alpha in (0.0, 1.0):
        model = BernoulliMixture(2, tol=1e-13, max_iter=5000, alpha=alpha, random_state=0).fit(Z)
        assert (np.diff(model.lower_bounds_) >= -1e-12).all()
        R, there = model.predict_proba(Z), ~np.isnan(Z)
        ones = R.T @ np.where(there, Z, 0.0) + alpha
        np.testing.assert_allclose(model.means_, ones / (R.T @ there + 2 * alpha), rtol=1e-5)


def test_bernoulli_densities_by_brute_force():
    """All 2^p rows have a total probability of 1, and a marginal is a sum over the missing column."""
    Z = (np.random.default_rng(5).uniform(size=(100, 3)) < 0.4).astype(float)
    model = BernoulliMixture(2, random_state=0, binarize=None).fit(Z)
    rows = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)], float)
    density = np.exp(model.score_samples(rows))
    assert density.sum() == pytest.approx(1.0)
    half = np.exp(model.score_samples([[0.0, np.nan, 1.0]]))[0]
    assert half == pytest.approx(density[1] + density[3])
    with pytest.raises(InputError, match="row 1 has 2 in column 0"):
        BernoulliMixture(binarize=None).fit([[1.0], [2.0]])
    drawn, _ = model.sample(20_000)
    np.testing.assert_allclose(drawn.mean(axis=0), model.weights_ @ model.means_, atol=0.02)


@pytest.mark.parametrize("init", ["kmeans", "random"])
def test_more_bernoulli_components_than_distinct_rows(init):
    X = np.repeat([[0.0, 1, 1], [1, 0, 0], [1, 1, 1]], 6, axis=0)
    w = np.repeat([1.0, 2.0, 0.0], 6)
    for rows, weights, kinds in ((X, None, 3), (X, w, 2)):
        with pytest.warns(ConvergenceWarning, match=rf"only {kinds} distinct row\(s\).*n_components={kinds + 1}"):
            model = BernoulliMixture(kinds + 1, init_params=init, random_state=0).fit(rows, sample_weight=weights)
        assert np.isfinite(model.score_samples(X)).all()
        BernoulliMixture(kinds, init_params=init, random_state=0).fit(rows, sample_weight=weights)
    X[0, 0] = np.nan  # a row of its own
    BernoulliMixture(4, random_state=0).fit(X)


def test_a_threshold_is_used_in_fit_and_prediction():
    Z = np.random.default_rng(6).normal(size=(200, 3)) + 5
    high = BernoulliMixture(2, binarize=5.0, random_state=0).fit(Z)
    binary = BernoulliMixture(2, binarize=None, random_state=0).fit((Z > 5).astype(float))
    np.testing.assert_allclose(high.means_, binary.means_, rtol=1e-9)
    np.testing.assert_allclose(high.score_samples(Z), binary.score_samples((Z > 5).astype(float)), rtol=1e-9)


def test_few_rows_of_many_columns_take_no_decomposition_of_a_whole_covariance(monkeypatch):
    wide = np.random.default_rng(1).normal(size=(12, 320)) * np.linspace(0.1, 3.0, 320)
    expected = wide_fit(monkeypatch, wide, lambda C, least=0.0: None)
    monkeypatch.undo()
    for owner, name in ((np.linalg, "eigh"), (linalg, "cholesky"), (linalg, "solve_triangular")):
        monkeypatch.setattr(owner, name, None)
    found = wide_fit(monkeypatch, wide, low_rank.low_rank_of)
    np.testing.assert_allclose(found.log_likelihoods_, expected.log_likelihoods_, rtol=1e-8)
    np.testing.assert_allclose(found.parameters_[2], expected.parameters_[2], atol=1e-9)
    np.testing.assert_allclose(found.predict_proba(wide), expected.predict_proba(wide), atol=1e-9)


def wide_fit(monkeypatch, rows, thin):
    for place in (mixture, expectation_maximization):
        monkeypatch.setattr(place, "low_rank_of", thin)
    return ExpectationMaximization(GaussianComponents(2, 1e-3), random_state=0).fit(rows)
