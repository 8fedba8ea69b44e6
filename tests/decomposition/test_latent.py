"""Factor analysis and probabilistic PCA: optimality, scikit-learn, the closed form, rotations, few rows."""

import warnings

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA
from sklearn.decomposition import FactorAnalysis as Theirs

from didact.core.errors import InputError, ParameterError
from didact.decomposition import FactorAnalysis, ProbabilisticPCA
from didact.decomposition.factor_analysis import profile
from didact.decomposition.rotations import SHARE, criterion, orthogonal
from didact.decomposition.spread import Spread


def factors(n=400, p=8, k=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, k)) @ rng.normal(size=(k, p)) + rng.uniform(0.5, 1.5, p) * rng.normal(size=(n, p)) + 3.0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("tol", [1e-2, 1e-8])
def test_the_likelihood_is_at_least_that_of_scikit_learn(seed, tol):
    X = factors(seed=seed)
    ours = FactorAnalysis(2, tol=tol).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = Theirs(2, tol=tol, svd_method="lapack").fit(X)
    assert ours.score(X) >= theirs.score(X) - 1e-9
    assert (np.diff(ours.loglike_) >= -1e-9 * abs(ours.loglike_[0])).all()
    assert ours.loglike_[-1] == pytest.approx(len(X) * ours.score(X), rel=1e-9)
    if tol < 1e-4:
        np.testing.assert_allclose(ours.get_covariance(), theirs.get_covariance(), rtol=1e-3, atol=1e-3)


def test_the_end_is_stationary():
    """Lawley and Maxwell: diag(S) = diag(ΛᵀΛ + Ψ), and (S − Σ) Ψ⁻¹Λᵀ = 0."""
    X = factors(seed=5)
    model = FactorAnalysis(2, tol=1e-10).fit(X)
    S, C = np.cov(X.T, bias=True), model.get_covariance()
    np.testing.assert_allclose(np.diag(S), np.diag(C), rtol=1e-5)
    np.testing.assert_allclose((S - C) @ (model.components_ / model.noise_variance_).T, 0.0, atol=1e-4)


def test_the_profile_slope_is_that_of_differences():
    from didact.decomposition.factor_analysis import scored

    X = factors(seed=6)
    matrix = np.cov(X.T, bias=True)
    S = Spread(weight=1.0, mean=X.mean(axis=0), variances=np.diag(matrix).copy(), matrix=matrix, rows=None)
    noise = np.random.default_rng(0).uniform(0.4, 1.0, 8)
    value, found = profile(S, noise, 2)
    slope = 1.0 - S.variances / noise - found.axes**2 @ (1.0 - found.values)
    for j in range(8):
        moved = noise * np.exp(1e-5 * (np.arange(8) == j))
        assert (profile(S, moved, 2)[0] - value) / 1e-5 == pytest.approx(-0.5 * slope[j], abs=1e-4)
    assert profile(S, scored(S, noise, found, 1e-6 * S.variances), 2)[0] > value


def test_fewer_rows_than_columns_give_what_the_matrix_gives():
    """The covariance is never formed, but the answer is that of it."""
    X = factors(n=30, p=50, seed=7)
    wide = FactorAnalysis(2, tol=1e-6).fit(X)
    wide_ppca = ProbabilisticPCA(2).fit(X)
    again = np.vstack([X, X])  # more rows than columns, and the same covariance
    tall, tall_ppca = FactorAnalysis(2, tol=2e-6).fit(again), ProbabilisticPCA(2).fit(again)
    np.testing.assert_allclose(wide.get_covariance(), tall.get_covariance(), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(wide_ppca.get_covariance(), tall_ppca.get_covariance(), rtol=1e-9, atol=1e-9)
    assert np.isfinite(wide.score(X))


@pytest.mark.parametrize("rotation", [None, "promax"])
def test_factors_beyond_the_rows_cost_nothing_and_change_nothing(rotation):
    X = np.random.default_rng(3).normal(size=(5, 40)) @ np.diag(np.linspace(0.5, 2.0, 40))
    few, many = (FactorAnalysis(k, rotation=rotation, tol=1e-8).fit(X) for k in (4, 40))
    for k, model in ((4, few), (40, many)):
        assert model.transform(X).shape == (5, k)
        loadings, noise, phi = model.components_, model.noise_variance_, np.eye(k)
        phi = getattr(model, "factor_correlation_", phi)
        precision = np.linalg.inv(phi) + loadings / noise @ loadings.T
        expected = np.linalg.solve(precision, loadings / noise @ (X - model.mean_).T).T
        np.testing.assert_allclose(model.transform(X), expected, rtol=1e-8, atol=1e-10)
        _, covariance, whitener = model._density()
        assert whitener.axes.shape[1] <= len(X)  # p × k before: 30 s of predictions for 2 × 3,000
        np.testing.assert_allclose(covariance.dense(), loadings.T @ phi @ loadings + np.diag(noise), rtol=1e-9)
    np.testing.assert_allclose(many.score_samples(X), few.score_samples(X), rtol=1e-6)


def test_weights_are_repetitions_and_scores_are_expectations():
    X = factors(n=60)
    w = np.random.default_rng(1).integers(0, 4, size=60)
    for make in (lambda: FactorAnalysis(2, tol=1e-9), lambda: ProbabilisticPCA(2)):
        weighted, repeated = make().fit(X, sample_weight=w), make().fit(np.repeat(X, w, axis=0))
        np.testing.assert_allclose(weighted.get_covariance(), repeated.get_covariance(), rtol=1e-7, atol=1e-8)
    model = FactorAnalysis(2).fit(X)
    L, C = model.components_, model.get_covariance()
    np.testing.assert_allclose(model.transform(X), (X - model.mean_) @ np.linalg.solve(C, L.T), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.score_samples(X[:5]), multivariate_normal(model.mean_, C).logpdf(X[:5]), rtol=1e-9)
    np.testing.assert_allclose(model.get_precision() @ C, np.eye(8), atol=1e-9)


def test_bartlett_scores_are_unbiased():
    """Noise apart, they are the factors: rows μ + Λᵀz have the scores z."""
    model = FactorAnalysis(2, scores="bartlett").fit(factors())
    Z = np.random.default_rng(2).normal(size=(10, 2))
    np.testing.assert_allclose(model.transform(model.inverse_transform(Z)), Z, rtol=1e-8, atol=1e-10)
    shrunk = FactorAnalysis(2).fit(factors())
    assert (np.abs(shrunk.transform(shrunk.inverse_transform(Z))) < np.abs(Z)).mean() > 0.5


@pytest.mark.parametrize("method", ["varimax", "quartimax", "promax"])
def test_rotations_keep_the_density(method):
    X = factors(k=3, seed=8)
    plain, turned = FactorAnalysis(3).fit(X), FactorAnalysis(3, rotation=method).fit(X)
    np.testing.assert_allclose(turned.get_covariance(), plain.get_covariance(), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(turned.score_samples(X), plain.score_samples(X), rtol=1e-9)
    if method == "promax":
        np.testing.assert_allclose(np.diag(turned.factor_correlation_), 1.0)
        return
    gamma, L = SHARE[method], plain.components_.T
    best = criterion(turned.components_.T, gamma)
    rng = np.random.default_rng(0)
    assert best >= max(criterion(L @ np.linalg.qr(rng.normal(size=(3, 3)))[0], gamma) for _ in range(50))
    R = orthogonal(L, method)
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-12)


def test_promax_finds_correlated_factors():
    rng = np.random.default_rng(9)
    z = rng.multivariate_normal([0, 0], [[1.0, 0.5], [0.5, 1.0]], size=5000)
    X = z @ np.kron(np.eye(2), np.ones((1, 4))) + 0.5 * rng.normal(size=(5000, 8))
    model = FactorAnalysis(2, rotation="promax").fit(X)
    assert abs(model.factor_correlation_[0, 1]) == pytest.approx(0.5, abs=0.08)
    small = np.sort(np.abs(model.components_), axis=1)[:, :4]
    assert small.max() < 0.1  # each factor loads on its own four columns


def test_em_leads_to_the_closed_form():
    X = factors(k=3, seed=10)
    exact = ProbabilisticPCA(3).fit(X)
    iterated = ProbabilisticPCA(3, solver="em", tol=0.0, random_state=0).fit(X)
    np.testing.assert_allclose(iterated.get_covariance(), exact.get_covariance(), atol=1e-5)
    assert iterated.log_likelihood_ == pytest.approx(exact.log_likelihood_, abs=1e-11)
    assert exact.log_likelihood_ == pytest.approx(exact.score(X), rel=1e-12)
    theirs = PCA(3).fit(X)  # its noise divides by n − 1
    assert exact.noise_variance_ == pytest.approx(theirs.noise_variance_ * (len(X) - 1) / len(X))
    axes = exact.components_ / np.linalg.norm(exact.components_, axis=1, keepdims=True)
    np.testing.assert_allclose(np.abs((axes * theirs.components_).sum(axis=1)), 1.0, atol=1e-9)


def test_a_draw_has_the_covariance():
    model = ProbabilisticPCA(2).fit(factors())
    np.testing.assert_allclose(np.cov(model.sample(50_000, random_state=0).T), model.get_covariance(), atol=0.15)


def test_bad_input_in_one_sentence():
    X = factors(n=20, p=3)
    with pytest.raises(ParameterError, match="n_components=4 is more than the 3 columns"):
        FactorAnalysis(4).fit(X)
    with pytest.raises(ParameterError, match="leaves nothing for the noise"):
        ProbabilisticPCA(3).fit(X)
    with pytest.raises(InputError, match="All rows are equal"):
        FactorAnalysis(1).fit(np.ones((5, 3)))
    with pytest.raises(ParameterError, match="must have 3 numbers"):
        FactorAnalysis(1, noise_variance_init=[1.0]).fit(X)
    with pytest.raises(InputError, match="rows of 1 factors"):
        FactorAnalysis(1).fit(X).inverse_transform(X)


def test_only_proportions_of_weights_count():
    X = factors(n=60)
    one, other = FactorAnalysis(2).fit(X), FactorAnalysis(2).fit(X, sample_weight=np.full(60, 0.001))
    np.testing.assert_allclose(other.get_covariance(), one.get_covariance(), rtol=1e-10)
    np.testing.assert_allclose(other.loglike_, one.loglike_, rtol=1e-10)


def test_columns_without_noise_of_their_own():
    """Columns that are multiples of one another: all noise is at its floor, and no direction is left to go."""
    model = FactorAnalysis(1).fit(np.arange(12.0).reshape(6, 2))
    variances = np.arange(0.0, 12.0, 2.0).var() * np.ones(2)
    np.testing.assert_allclose(np.diag(model.get_covariance()), variances, rtol=1e-5)
    assert (model.noise_variance_ >= 1e-6 * variances * (1 - 1e-12)).all()
