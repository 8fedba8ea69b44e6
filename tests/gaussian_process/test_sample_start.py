"""Searches that begin at a sample's best parameters: the same optimum in fewer values, and when they do not."""

import numpy as np
import pytest

from didact.gaussian_process import GaussianProcessRegressor, regression_targets, sample_start
from didact.kernels import RBF, White


@pytest.fixture
def values(monkeypatch):
    """Numbers of rows of all values that a fit takes."""
    seen, whole = [], regression_targets.evidence

    def counted(kernel, X, *more):
        seen.append(len(X))
        return whole(kernel, X, *more)

    monkeypatch.setattr(regression_targets, "evidence", counted)
    return seen


def surface(n, p, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, p))
    return X, np.sin(2 * np.pi * X).sum(axis=1) + 0.3 * rng.standard_normal(n)


def fitted(X, y, kernel, monkeypatch, sampled, **options):
    monkeypatch.setattr(sample_start, "LEAST_ROWS", 600 if sampled else 10**9)
    return GaussianProcessRegressor(kernel, **options).fit(X, y)


@pytest.mark.parametrize("mean", ["zero", "linear"])
def test_the_optimum_is_the_same_and_takes_fewer_values(monkeypatch, values, mean):
    X, y = surface(640, 3)
    kernel = 1.0 * RBF(np.ones(3)) + White(0.5)
    plain = fitted(X, y, kernel, monkeypatch, False, mean=mean)
    many = values.count(640)
    values.clear()
    found = fitted(X, y, kernel, monkeypatch, True, mean=mean)
    assert set(values) == {160, 640}
    assert values.count(640) < 0.6 * many
    value = plain.log_marginal_likelihood_value_
    assert found.log_marginal_likelihood_value_ >= value - 1e-8 * abs(value)
    np.testing.assert_allclose(found.kernel_.theta, plain.kernel_.theta, atol=2e-3)
    _, slope = found.log_marginal_likelihood(found.kernel_.theta, eval_gradient=True)
    assert np.abs(slope).max() < 0.1  # of a curvature of hundreds


def test_what_a_sample_does_not_determine_begins_where_it_was_told_to(monkeypatch, values):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((640, 3))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(640)  # two widths grow without end
    kernel = 1.0 * RBF(np.ones(3)) + White(0.5)
    found = fitted(X, y, kernel, monkeypatch, True)
    plain = fitted(X, y, kernel, monkeypatch, False)
    assert 160 in values
    assert found.log_marginal_likelihood_value_ == plain.log_marginal_likelihood_value_


def test_few_rows_given_optimizers_and_inducing_points_take_no_sample(values):
    def optimizer(objective, theta, bounds):
        return theta, objective(theta)[0]

    kernel = 1.0 * RBF(1.0) + White(0.5)
    GaussianProcessRegressor(kernel).fit(*surface(400, 2))
    GaussianProcessRegressor(kernel, optimizer=optimizer).fit(*surface(640, 2))
    GaussianProcessRegressor(kernel, inducing=10, random_state=0).fit(*surface(640, 2))
    assert set(values) == {400, 640}


def test_noise_of_each_row_goes_with_its_row(monkeypatch):
    X, y = surface(640, 2, seed=1)
    noise = np.linspace(0.01, 0.5, 640)
    kernel = 1.0 * RBF(1.0)
    found, plain = (fitted(X, y, kernel, monkeypatch, sampled, alpha=noise) for sampled in (True, False))
    np.testing.assert_allclose(found.kernel_.theta, plain.kernel_.theta, atol=2e-3)
