"""Factor analysis and probabilistic PCA of rows with missing values: likelihood, conditionals, special rows."""

import warnings

import numpy as np
import pytest
from scipy import linalg
from scipy.optimize import minimize

from didact.core.errors import InputError
from didact.core.rows import Batches, MemoryRows
from didact.decomposition import FactorAnalysis, ProbabilisticPCA
from didact.decomposition.factor_analysis import inner_fit
from didact.decomposition.incomplete import fit_incomplete
from didact.decomposition.probabilistic_pca import density_of
from didact.decomposition.spread import Spread

MODELS = [FactorAnalysis(2, tol=1e-6), ProbabilisticPCA(2, tol=1e-8)]


def with_gaps(n=120, p=6, k=2, share=0.25, seed=1):
    """Rows of k factors with columns of their own, so that the noise of no column vanishes."""
    rng = np.random.default_rng(seed)
    loadings = (np.arange(p) % k == np.arange(k)[:, None]) * rng.uniform(0.8, 1.4, p)
    X = rng.normal(size=(n, k)) @ loadings + rng.uniform(0.6, 1.0, p) * rng.normal(size=(n, p)) + 3.0
    return np.where(rng.random(X.shape) < share, np.nan, X)


def observed(X, mean, covariance):
    """The log density of the values that each row has, one row at a time."""
    out = np.zeros(len(X))
    for i, (x, t) in enumerate(zip(X, ~np.isnan(X), strict=True)):
        C, d = covariance[np.ix_(t, t)], x[t] - mean[t]
        out[i] = -0.5 * (t.sum() * np.log(2 * np.pi) + np.linalg.slogdet(C)[1] + d @ np.linalg.solve(C, d))
    return out


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_the_likelihood_of_what_is_there_never_falls(share):
    X = with_gaps(share=share)
    model = FactorAnalysis(2, tol=1e-6).fit(X)
    assert len(model.loglike_) > 3
    assert (np.diff(model.loglike_) >= -1e-12 * abs(model.loglike_[0])).all()
    assert model.loglike_[-1] == pytest.approx(observed(X, model.mean_, model.get_covariance()).sum(), rel=1e-9)
    other = ProbabilisticPCA(2).fit(X)
    assert other.log_likelihood_ == pytest.approx(observed(X, other.mean_, other.get_covariance()).mean(), rel=1e-9)
    steps = [ProbabilisticPCA(2, tol=0.0, max_iter=m) for m in (1, 2, 4, 8, 16)]
    with pytest.warns(UserWarning, match="iteration limit"):
        values = [step.fit(X).log_likelihood_ for step in steps]
    assert (np.diff(values) >= -1e-12).all()
    assert values[-1] <= other.log_likelihood_ + 1e-9


@pytest.mark.parametrize("own", [True, False])
def test_the_end_is_where_a_numeric_search_ends(own):
    """Among all means, loadings and noises, own for each column or one for all."""
    X = with_gaps(n=60, p=4, k=1)
    p = X.shape[1]
    model = (FactorAnalysis(1, tol=1e-11) if own else ProbabilisticPCA(1, tol=1e-13)).fit(X)

    def covariance(theta):
        return np.outer(theta[p : 2 * p], theta[p : 2 * p]) + np.diag(np.ones(p) * np.exp(theta[2 * p :]))

    def loss(theta):
        return -observed(X, theta[:p], covariance(theta)).sum()

    start = np.concatenate(
        [model.mean_, model.components_[0], np.log(model.noise_variance_) * np.ones(p if own else 1)]
    )
    best = minimize(loss, start + 0.05 * np.random.default_rng(0).normal(size=len(start)), method="BFGS")
    assert loss(start) <= best.fun + 1e-6
    np.testing.assert_allclose(best.x[:p], model.mean_, atol=2e-3)
    np.testing.assert_allclose(covariance(best.x), model.get_covariance(), atol=1e-2)


@pytest.mark.parametrize("wide", [False, True])
def test_without_gaps_it_is_the_fit_of_complete_rows(wide):
    X = with_gaps(n=15 if wide else 80, p=20 if wide else 6, share=0.0)
    rows, quiet, tol = MemoryRows(X, None, None, missing=True), lambda *_: False, 1e-5 if wide else 1e-6
    plain = FactorAnalysis(2, tol=tol).fit(X)
    found = fit_incomplete(rows, inner_fit(2, None, tol), tol, 1000, quiet)
    assert -found.value == pytest.approx(plain.loglike_[-1], rel=tol)
    if not wide:
        np.testing.assert_allclose(found.x.covariance.dense(), plain.get_covariance(), rtol=1e-4, atol=1e-4)
    axes = ProbabilisticPCA(2).fit(X)
    found = fit_incomplete(rows, lambda S, _, v: density_of(S, 2, v), 1e-9, 1000, quiet)
    np.testing.assert_allclose(found.x.covariance.dense(), axes.get_covariance(), rtol=1e-9, atol=1e-9)
    assert -found.value == pytest.approx(len(X) * axes.log_likelihood_, rel=1e-9)


@pytest.mark.parametrize("model", [*MODELS, FactorAnalysis(2, rotation="promax")], ids=["own", "one", "promax"])
def test_scores_densities_and_values_are_conditional(model):
    X = with_gaps()
    model.fit(X)
    L, C, mean = model.components_, model.get_covariance(), model.mean_
    phi = getattr(model, "factor_correlation_", np.eye(2))
    np.testing.assert_allclose(model.score_samples(X), observed(X, mean, C), rtol=1e-8)
    assert model.score(X) == pytest.approx(observed(X, mean, C).mean(), rel=1e-9)
    Z, filled = model.transform(X), model.fill(X)
    for x, z, full in zip(X[:30], Z, filled, strict=False):
        t = ~np.isnan(x)
        weights = np.linalg.solve(C[np.ix_(t, t)], x[t] - mean[t])
        np.testing.assert_allclose(z, phi @ L[:, t] @ weights, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(full[~t], mean[~t] + C[np.ix_(~t, t)] @ weights, rtol=1e-7)
        np.testing.assert_array_equal(full[t], x[t])
    np.testing.assert_allclose(model.transform(filled), Z, rtol=1e-7, atol=1e-9)  # E E[z | x] = E[z | what is there]
    assert np.isfinite(model.inverse_transform(Z)).all()


def test_bartlett_scores_are_those_of_the_columns_that_are_there():
    model = FactorAnalysis(2, scores="bartlett").fit(with_gaps())
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(6, 2))
    X = model.inverse_transform(Z)
    X[np.arange(6), rng.integers(0, 6, 6)] = np.nan
    np.testing.assert_allclose(model.transform(X), Z, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(model.transform(np.full((1, 6), np.nan)), np.zeros((1, 2)))


@pytest.mark.parametrize("model", MODELS, ids=["own", "one"])
def test_rows_without_values_say_nothing(model):
    X = with_gaps()
    model.fit(X)
    covariance, mean, score = model.get_covariance(), model.mean_, model.score(X)
    more = np.vstack([np.full((2, 6), np.nan), X, np.full((3, 6), np.nan)])
    model.fit(more)
    np.testing.assert_allclose(model.get_covariance(), covariance, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(model.mean_, mean, rtol=1e-4)
    nothing = more[:1]
    np.testing.assert_array_equal(model.transform(nothing), np.zeros((1, 2)))
    np.testing.assert_array_equal(model.fill(nothing)[0], model.mean_)
    assert model.score_samples(nothing)[0] == 0.0
    assert model.score(more) == pytest.approx(score * len(X) / len(more), rel=1e-6)


@pytest.mark.parametrize("model", MODELS, ids=["own", "one"])
def test_weights_repetitions_and_batches_agree(model):
    """Up to where EM ends: a gain of 1e-6 of a log-likelihood is a way of about 1e-4."""
    X = with_gaps(n=60)
    w = np.random.default_rng(2).integers(0, 4, size=60)
    one = model.fit(X, sample_weight=w).get_covariance()
    np.testing.assert_allclose(model.fit(np.repeat(X, w, axis=0)).get_covariance(), one, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(model.fit(X, sample_weight=0.001 * w).get_covariance(), one, rtol=1e-4, atol=1e-4)
    whole = model.fit(X).get_covariance()
    parts = Batches(lambda: iter([(X[:25],), (X[25:],)]))
    np.testing.assert_allclose(model.fit(parts).get_covariance(), whole, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("model", MODELS, ids=["own", "one"])
def test_what_cannot_be_fitted_is_said_in_one_sentence(model):
    X = with_gaps()
    X[:, 2] = np.nan
    with pytest.raises(InputError, match="Column 2 has no value in any row: drop it"):
        model.fit(X)
    with pytest.raises(InputError, match="Column 0 has no value in any row"):
        model.fit(np.full((4, 3), np.nan))
    with pytest.raises(InputError, match="infinity"):
        model.fit(np.where(np.arange(6) == 1, np.inf, with_gaps()))
    constant = np.where(np.isnan(with_gaps()), np.nan, 1.0)
    with pytest.raises(InputError, match="All rows are equal"):
        model.fit(constant)


def test_noise_has_a_floor_also_where_expected_variances_shrink():
    """A constant column: its missing values are as certain as its noise is small, and so on."""
    X = np.column_stack([with_gaps(p=3), np.ones(120)])
    X[::7, 3] = np.nan
    model = FactorAnalysis(1).fit(X)
    assert model.noise_variance_[3] == pytest.approx(1e-6)
    assert np.isfinite(model.score(X))
    np.testing.assert_allclose(model.fill(X)[:, 3], 1.0, rtol=1e-6)


def test_few_rows_that_can_be_fitted_exactly():
    """Three factors for five rows with gaps: the noise ends at its floor, and nothing overflows."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((5, 20)) < 0.3, np.nan, rng.normal(size=(5, 20)))
    model = ProbabilisticPCA(3, tol=1e-4).fit(X)
    assert model.noise_variance_ >= 1e-7
    assert np.isfinite(model.score(X))


def test_steps_do_not_grow_without_end():
    """Where a longer step would leave the cone of covariances EM's own is taken, however often: no length overflows."""
    X = np.array([[1.0, np.nan, 2.0], [3.0, 1.0, np.nan], [1.0, 2.0, 3.0]])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = ProbabilisticPCA(1, max_iter=1800).fit(X)
    assert not [w for w in caught if issubclass(w.category, RuntimeWarning)]
    assert np.isfinite(model.score(X))


def few_rows(share, seed=0):
    rng = np.random.default_rng(seed)
    return np.where(rng.random((5, 60)) < share, np.nan, rng.normal(size=(5, 60)))


def test_few_rows_with_many_gaps_end_soon_at_a_stationary_point():
    """Plain EM takes 10,000 steps and more: its steps are short where most of the information is missing."""
    X = few_rows(0.4)
    X = X[:, ~np.isnan(X).all(axis=0)]
    model = ProbabilisticPCA(1).fit(X)
    assert model.n_iter_ < 1000
    W, mean, noise = model.components_[0], model.mean_, model.noise_variance_

    def value(v, step):
        return observed(X, mean, np.outer(W + step * v, W + step * v) + noise * np.exp(step) * np.eye(len(W))).sum()

    rng, scale = np.random.default_rng(1), np.abs(W).mean()
    for _ in range(5):
        v = scale * rng.normal(size=len(W))
        slope, bend = (
            (value(v, 1e-4) - value(v, -1e-4)) / 2e-4,
            (value(v, 1e-4) + value(v, -1e-4) - 2 * value(v, 0.0)) / 1e-8,
        )
        assert abs(slope) < 1e-2 * abs(bend)


def test_factors_that_fit_all_values_end_at_the_least_noise():
    X = few_rows(0.3)
    X = X[:, ~np.isnan(X).all(axis=0)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        models = [ProbabilisticPCA(k).fit(X) for k in (4, 8)]
    for model in models:
        assert model.n_iter_ < 100
        assert model.noise_variance_ == pytest.approx(1e-6 * np.nanvar(X, axis=0).mean())
        there = ~np.isnan(X)
        fitted = model.transform(X) @ model.components_ + model.mean_
        np.testing.assert_allclose(fitted[there], X[there], atol=0.02)


def test_a_decomposition_that_gives_up_is_done_by_another(monkeypatch):
    """LAPACK's quickest one fails on some covariances of which most eigenvalues are equal."""
    S = Spread(
        weight=9.0, mean=np.zeros(4), variances=np.arange(1.0, 5.0), matrix=np.diag(np.arange(1.0, 5.0)), rows=None
    )
    quickest = linalg.eigh

    def eigh(M, subset_by_index=None, **options):
        if subset_by_index is not None:
            raise np.linalg.LinAlgError("Internal Error.")
        return quickest(M, **options)

    expected = S.top(2, np.ones(4))
    monkeypatch.setattr("didact.engines.spectral.eigen.linalg.eigh", eigh)
    found = S.top(2, np.ones(4))
    np.testing.assert_allclose(found[0], expected[0])
    np.testing.assert_allclose(np.abs(found[1]), np.abs(expected[1]), atol=1e-12)
