"""Gaussians with missing values: conditionals and marginals, EM's likelihood, closed forms, optimality, refusals."""

import numpy as np
import pytest
from scipy import stats

from didact.core.errors import InputError
from didact.core.rows import MemoryRows
from didact.distributions import MultivariateGaussian
from didact.engines.components.gaps import fit_with_gaps
from didact.parts.statistics.gaps import Parameters, expected_components, fill_gaps, patterns
from didact.parts.statistics.row_components import row_components


def table(n=400, p=4, share=0.25, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(2, p, p))
    y = rng.integers(0, 2, n)
    X = np.einsum("ij,ijk->ik", rng.normal(size=(n, p)), A[y]) + 2.0 * y[:, None]
    X[rng.uniform(size=X.shape) < share] = np.nan
    return X, y


def learn(X, y, w=None, pooled=False, tol=1e-13, max_iter=3000):
    rows = MemoryRows(X, y, w, missing=True)
    return fit_with_gaps(rows, row_components(rows, "tied" if pooled else "full"), tol, max_iter)


def log_likelihood(X, means, covariances):
    """Of one class, row by row, by SciPy."""
    total = 0.0
    for row in X:
        o = ~np.isnan(row)
        if o.any():
            total += stats.multivariate_normal(means[o], covariances[np.ix_(o, o)]).logpdf(row[o])
    return total


def test_patterns_cover_the_rows_with_gaps():
    missing = np.array([[0, 0, 0], [1, 0, 0], [0, 0, 1], [1, 0, 0], [1, 1, 0], [1, 1, 1]], bool)
    found = {int(i): tuple(g.columns[k]) for g in patterns(missing) for i, k in zip(g.rows, g.pattern)}
    assert found == {1: (0,), 2: (2,), 3: (0,), 4: (0, 1), 5: (0, 1, 2)}


def test_filled_values_are_conditional_means_and_determinants_are_marginal():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(5, 5))
    d = MultivariateGaussian(rng.normal(size=5), A @ A.T + np.eye(5))
    X = d.sample(30, random_state=0)
    missing = rng.uniform(size=X.shape) < 0.4
    missing[0] = True
    P = np.linalg.inv(d.covariance)
    D = np.where(missing, 0.0, X - d.mean)
    log_dets, _ = fill_gaps(D, patterns(missing), P)
    for row, m, filled, more in zip(X, missing, D, log_dets):
        o = np.flatnonzero(~m)
        part = np.linalg.slogdet(d.covariance[np.ix_(o, o)])[1] if len(o) else 0.0
        assert more + np.linalg.slogdet(d.covariance)[1] == pytest.approx(part, abs=1e-10)
        if 0 < len(o) < 5:
            np.testing.assert_allclose(filled[m], d.conditional(o, row[o]).mean - d.mean[m], atol=1e-10)
            assert filled @ P @ filled == pytest.approx(d.marginal(o).mahalanobis(row[o]), rel=1e-9)


@pytest.mark.parametrize("pooled", [True, False])
def test_the_likelihood_never_falls_and_is_the_observed_one(pooled):
    X, y = table()
    S, result = learn(X, y, pooled=pooled, tol=1e-9)
    assert result.converged
    assert (np.diff(result.history) <= 1e-9 * abs(result.value)).all()
    assert result.history[0] - result.value > 1.0
    expected = sum(log_likelihood(X[y == k], S.mean[k], S.covariances()[0 if pooled else k]) for k in range(2))
    assert -result.value == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("pooled", [True, False])
def test_nothing_increases_the_likelihood_further(pooled):
    """The gradient of the observed likelihood, by differences, is zero in means and covariances."""
    X, y = table(150, 3)
    S, _ = learn(X, y, pooled=pooled)

    def value(step, what, a, b):
        mean, C = S.mean.copy(), S.covariances().copy()
        if what == "mean":
            mean[a, b] += step
        else:
            C[0, a, b] += step
            C[0, b, a] = C[0, a, b]
        return sum(log_likelihood(X[y == k], mean[k], C[0 if pooled else k]) for k in range(2))

    h = 1e-4
    for what, a, b in [("mean", 0, 0), ("mean", 1, 2), ("C", 0, 0), ("C", 0, 1), ("C", 1, 2)]:
        slope = (value(h, what, a, b) - value(-h, what, a, b)) / (2 * h)
        assert abs(slope) < 2e-3
        assert value(0, what, a, b) >= max(value(h, what, a, b), value(-h, what, a, b))


def test_nested_gaps_have_a_closed_form():
    """Only the second column has gaps: regress it on the first. Anderson (1957), doi:10.1080/01621459.1957.10501379."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=200)
    z = 2 * x + rng.normal(size=200) + 1
    X = np.column_stack([x, z])
    X[120:, 1] = np.nan
    S, _ = learn(np.vstack([X, X + 5]), np.repeat([0, 1], 200))
    slope, intercept = np.polyfit(x[:120], z[:120], 1)
    residual = np.mean((z[:120] - slope * x[:120] - intercept) ** 2)
    np.testing.assert_allclose(S.mean[0], [x.mean(), intercept + slope * x.mean()], rtol=1e-5)
    v = x.var()
    expected = [[v, slope * v], [slope * v, residual + slope**2 * v]]
    np.testing.assert_allclose(S.covariances()[0], expected, rtol=1e-5)


@pytest.mark.parametrize("pooled", [True, False])
def test_without_gaps_it_is_the_estimate_from_complete_rows(pooled):
    X, y = table(share=0.0)
    rows = MemoryRows(X, y, None, missing=True)
    complete = row_components(rows, "tied" if pooled else "full")
    S, result = fit_with_gaps(rows, complete, 1e-12, 50)
    assert result.n_iter <= 2
    np.testing.assert_allclose(S.mean, complete.mean, rtol=1e-12)
    np.testing.assert_allclose(S.covariances(), complete.covariances(), rtol=1e-10)


def test_weights_are_repeated_rows():
    X, y = table(200)
    w = np.random.default_rng(4).integers(0, 4, 200)
    weighted, _ = learn(X, y, w.astype(float), tol=1e-9)
    repeated, _ = learn(np.repeat(X, w, axis=0), np.repeat(y, w), tol=1e-9)
    np.testing.assert_allclose(weighted.mean, repeated.mean, rtol=1e-7)
    np.testing.assert_allclose(weighted.covariances(), repeated.covariances(), rtol=1e-7)


def test_a_column_without_values_and_a_singular_covariance_are_refused():
    X, y = table()
    bad = X.copy()
    bad[y == 1, 2] = np.nan
    with pytest.raises(InputError, match="Column 2 has no value in class 1"):
        learn(bad, y)
    bad = X.copy()
    bad[:, 3] = 7.0
    with pytest.raises(InputError, match="class 0 is singular"):
        learn(bad, y)


@pytest.mark.parametrize("shape", ["full", "tied"])
def test_expected_components_of_responsibilities_are_those_of_weighted_labels(shape):
    """One-hot responsibilities are labels, and a row that is shared is two rows with its shares as weights."""
    X, y = table(60)
    rng = np.random.default_rng(5)
    A = rng.normal(size=(2, 4, 4))
    C = A @ A.transpose(0, 2, 1) + np.eye(4)
    C = C[:1] if shape == "tied" else C
    theta = Parameters(np.arange(2), rng.normal(size=(2, 4)), np.linalg.inv(C), np.linalg.slogdet(C)[1])
    hard, one_hot = expected_components(X, y, theta), expected_components(X, np.eye(2)[y], theta)
    share = rng.uniform(size=60)
    R = np.column_stack([share, 1 - share])
    soft = expected_components(X, R, theta)
    apart = expected_components(np.vstack([X, X]), np.repeat([0, 1], 60), theta, R.T.ravel())
    for a, b in ((hard, one_hot), (soft, apart)):
        assert a.value == pytest.approx(b.value, rel=1e-12)
        for x, z in zip(a.statistic[1:5], b.statistic[1:5]):
            np.testing.assert_allclose(x, z, rtol=1e-10, atol=1e-12)
    parts = [expected_components(X[s], R[s], theta) for s in (slice(0, 25), slice(25, 60))]
    merged = parts[0].merge(parts[1])
    for x, z in zip(merged.statistic[1:5], soft.statistic[1:5]):
        np.testing.assert_allclose(x, z, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("pooled", [True, False])
def test_one_gaussian_never_becomes_less_likely_and_without_gaps_is_the_covariance(pooled):
    X, _ = table(150, 3)
    S, result = learn(X, np.zeros(150, int), pooled=pooled, tol=1e-10)
    assert (np.diff(result.history) <= 1e-9 * abs(result.value)).all()
    assert -result.value == pytest.approx(log_likelihood(X, S.mean[0], S.covariances()[0]), rel=1e-9)
    whole = X[~np.isnan(X).any(axis=1)]
    S, _ = learn(whole, np.zeros(len(whole), int), pooled=pooled)
    np.testing.assert_allclose(S.covariances()[0], np.cov(whole.T, ddof=0), rtol=1e-10)
