"""Evidence maximisation: the density of y by brute force, slopes by differences, a maximum, rounds that never fall."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from didact.engines.linear.evidence import Isotropic, Relevance, Scales, maximise


def problem(n=25, p=4, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = X[:, : p // 2] @ rng.normal(size=p // 2) + noise * rng.normal(size=n)
    R = np.linalg.qr(np.column_stack([X, y]), mode="r")
    return X, y, (R[:p, :p], R[:p, p], float((R[p:, p] ** 2).sum()), float(n))


def density(X, y, noise, prior):
    """log N(y; 0, σ²I + X diag(v) Xᵀ)."""
    C = noise * np.eye(len(y)) + (X * prior) @ X.T
    return multivariate_normal(np.zeros(len(y)), C).logpdf(y)


def posterior(X, y, noise, prior):
    A = X.T @ X / noise + np.diag(1 / np.broadcast_to(prior, X.shape[1]))
    return np.linalg.solve(A, X.T @ y / noise), np.linalg.inv(A)


@given(st.integers(0, 1000), st.sampled_from([(25, 4), (6, 4), (4, 7), (1, 1)]))
def test_summary_and_posterior_equal_brute_force(seed, shape):
    X, y, parts = problem(*shape, seed=seed)
    rng = np.random.default_rng(seed)
    noise, one, each = rng.uniform(0.1, 2.0), rng.uniform(0.1, 2.0), rng.uniform(0.1, 2.0, shape[1])
    for model, prior in ((Isotropic.of(*parts), one), (Relevance(*parts), each)):
        scales = Scales(noise, prior)
        s = model.summary(scales)
        mean, covariance = model.posterior(scales)
        expected = posterior(X, y, noise, prior)
        np.testing.assert_allclose(s.log_evidence, density(X, y, noise, prior), rtol=1e-9)
        np.testing.assert_allclose(mean, expected[0], atol=1e-9)
        np.testing.assert_allclose(covariance, expected[1], atol=1e-9)
        np.testing.assert_allclose(s.squares, np.sum((y - X @ mean) ** 2), rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(s.free, shape[0] - np.sum(s.known), atol=1e-9)
        np.testing.assert_allclose(np.sum(s.known) + np.sum(s.unknown), shape[1], atol=1e-9)


def test_slopes_equal_differences_of_the_evidence():
    X, y, parts = problem()
    each = np.array([0.5, 2.0, 0.1, 1.0])
    s = Relevance(*parts).summary(Scales(0.7, each))
    step = 1e-5
    for j in range(4):
        up, down = each.copy(), each.copy()
        up[j] *= np.exp(step)
        down[j] *= np.exp(-step)
        slope = (density(X, y, 0.7, up) - density(X, y, 0.7, down)) / (2 * step)
        np.testing.assert_allclose(0.5 * (s.explained - s.known)[j], slope, atol=1e-6)
    slope = (density(X, y, 0.7 * np.exp(step), each) - density(X, y, 0.7 * np.exp(-step), each)) / (2 * step)
    np.testing.assert_allclose(0.5 * (s.squares / 0.7 - s.free), slope, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", [Isotropic.of, Relevance])
def test_no_scales_nearby_have_more_evidence(kind, seed):
    X, y, parts = problem(seed=seed)
    result = maximise(kind(*parts), None, None, 1e-9, 1000)
    assert result.converged
    noise, prior = result.x
    best = density(X, y, noise, prior)
    np.testing.assert_allclose(-result.value * 25, best, rtol=1e-9)
    for factor in (0.7, 0.97, 1.03, 1.5):
        assert density(X, y, noise * factor, prior) < best + 1e-9
        for j in range(4):
            other = np.broadcast_to(prior, 4).copy()
            other[j if kind is Relevance else slice(None)] *= factor
            assert density(X, y, noise, other) < best + 1e-9
    if kind is Relevance:  # what was found irrelevant would lower the evidence with any variance of its own
        for j in np.flatnonzero(prior == 0):
            for small in (1e-4, 1e-2):
                assert density(X, y, noise, prior + small * (np.arange(4) == j)) < best


@given(st.integers(0, 10_000), st.sampled_from([(25, 4), (6, 4), (4, 7)]), st.booleans())
def test_rounds_never_lower_the_evidence(seed, shape, ard):
    _, _, parts = problem(*shape, seed=seed, noise=10 ** np.random.default_rng(seed).uniform(-3, 1))
    result = maximise((Relevance if ard else Isotropic.of)(*parts), None, None, 1e-6, 200)
    assert np.diff(result.history).max(initial=0.0) <= 1e-13 * (1 + np.abs(result.history).max())
    assert result.status in ("converged", "iteration limit")


def test_given_scales_stay():
    _, _, parts = problem()
    result = maximise(Isotropic.of(*parts), 0.3, None, 1e-9, 500)
    assert result.x.noise == 0.3
    assert result.converged
    result = maximise(Isotropic.of(*parts), None, 2.0, 1e-9, 500)
    assert result.x.prior == 2.0
    assert result.converged
    assert maximise(Isotropic.of(*parts), 0.3, 2.0, 1e-9, 500).n_iter == 0


def test_an_exact_fit_ends_at_the_least_noise():
    X, _, _ = problem()
    R = np.linalg.qr(np.column_stack([X, X @ np.ones(4)]), mode="r")
    result = maximise(Isotropic.of(R[:4, :4], R[:4, 4], 0.0, 25.0), None, None, 1e-9, 500)
    assert result.converged
    assert 0 < result.x.noise < 1e-10
