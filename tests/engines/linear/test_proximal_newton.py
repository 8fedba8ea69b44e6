"""L1-penalised smooth objectives: optimality conditions, the lasso, working sets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Lasso

from didact.engines.linear.proximal_newton import proximal_newton, violations, working_sets
from didact.engines.loop.result import Result


def least_squares(X, y):
    n = len(y)
    H = X.T @ X / n
    return lambda x: (0.5 * float(np.mean((X @ x - y) ** 2)), X.T @ (X @ x - y) / n, H)


def logistic(X, y):
    n = len(y)

    def f(x):
        z = X @ x
        p = 1 / (1 + np.exp(-z))
        value = float(np.mean(np.logaddexp(0, z) - y * z))
        return value, X.T @ (p - y) / n, (X.T * (p * (1 - p))) @ X / n

    return f


def data(n=80, p=10, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, X @ (rng.normal(size=p) * (rng.uniform(size=p) < 0.4)) + 0.5 * rng.normal(size=n)


def assert_optimal(x, gradient, l1, tol):
    """−∇f is in the subdifferential of Σ λ|x|: the KKT conditions."""
    for j in range(len(x)):
        if x[j] != 0:
            assert abs(gradient[j] + l1[j] * np.sign(x[j])) <= tol
        else:
            assert abs(gradient[j]) <= l1[j] + tol


# ------------------------------------------------------------------------------------------------ proximal Newton


@pytest.mark.parametrize("strength", [0.0, 0.01, 0.1, 1.0])
@pytest.mark.parametrize("make", [least_squares, logistic])
def test_optimality_conditions(make, strength):
    X, y = data()
    f = make(X, y if make is least_squares else (y > 0).astype(float))
    l1 = np.full(10, strength)
    l1[0] = 0.0  # as an intercept
    if make is logistic and strength == 0.0:
        return
    result = proximal_newton(f, l1, np.zeros(10), 1e-9, 200)
    assert result.converged
    assert_optimal(result.x, f(result.x)[1], l1, 2e-9)
    assert result.value == pytest.approx(f(result.x)[0] + l1 @ np.abs(result.x), rel=1e-12)


def test_equals_the_lasso():
    X, y = data()
    result = proximal_newton(least_squares(X, y), np.full(10, 0.1), np.zeros(10), 1e-10, 100)
    reference = Lasso(alpha=0.1, fit_intercept=False, tol=1e-13, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(result.x, reference.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(result.x == 0, reference.coef_ == 0)


def test_a_strong_penalty_gives_exact_zeros():
    X, y = data()
    strongest = np.abs(X.T @ y / len(y)).max()
    assert not proximal_newton(least_squares(X, y), np.full(10, 1.001 * strongest), np.zeros(10), 1e-10, 50).x.any()
    just = proximal_newton(least_squares(X, y), np.full(10, 0.999 * strongest), np.zeros(10), 1e-10, 50).x
    assert (just != 0).sum() == 1


def test_without_a_penalty_it_is_newton():
    X, y = data()
    result = proximal_newton(least_squares(X, y), np.zeros(10), np.zeros(10), 1e-9, 50)
    np.testing.assert_allclose(result.x, np.linalg.lstsq(X, y)[0], rtol=1e-6)


def test_violations():
    x = np.array([1.0, -1.0, 0.0, 0.0, 0.0])
    gradient = np.array([-0.5, 0.2, 0.3, -0.9, 0.5])
    l1 = np.full(5, 0.5)
    np.testing.assert_allclose(violations(x, gradient, l1), [0.0, 0.3, 0.0, 0.4, 0.0])


# ------------------------------------------------------------------------------------------------ working sets


@given(st.integers(0, 20))
def test_working_sets_equal_the_full_problem(seed):
    """600 features, of which 200 are in play at first."""
    rng = np.random.default_rng(seed)
    n, p = 60, 600
    X = rng.normal(size=(n, p)) / np.sqrt(n)
    y = X[:, :5] @ rng.normal(size=5) * 5 + 0.1 * rng.normal(size=n)
    l1 = np.full(p, 0.3 * np.abs(X.T @ y / n).max())
    features = np.arange(p)

    def restricted(coordinates, start):
        return proximal_newton(least_squares(X[:, coordinates], y), l1[coordinates], start, 1e-11, 200)

    f = least_squares(X, y)
    result = working_sets(lambda x: f(x)[1], restricted, features, l1, np.zeros(p), 1e-9)
    assert result.converged
    assert_optimal(result.x, f(result.x)[1], l1, 2e-9)
    reference = Lasso(alpha=l1[0], fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(result.x, reference.coef_, rtol=1e-5, atol=1e-6)


def test_working_sets_keep_what_is_always_in_play_and_grow_with_the_support():
    rng = np.random.default_rng(0)
    n, p = 260, 300
    X = np.column_stack([rng.normal(size=(n, p)), np.ones(n)])
    y = X[:, :210] @ rng.normal(size=210) + 7.0
    l1 = np.append(np.full(p, 1e-3), 0.0)
    features = np.append(np.arange(p), -1)
    sizes = []

    def restricted(coordinates, start):
        sizes.append(len(coordinates))
        assert p in coordinates
        return proximal_newton(least_squares(X[:, coordinates], y), l1[coordinates], start, 1e-9, 500)

    f = least_squares(X, y)
    result = working_sets(lambda x: f(x)[1], restricted, features, l1, np.zeros(p + 1), 1e-7)
    assert result.converged
    assert_optimal(result.x, f(result.x)[1], l1, 1e-6)
    assert sizes[0] == 201
    assert sizes[-1] > 201


def test_working_sets_pass_failure_on():
    failed = Result(np.zeros(3), 0.0, 5, "iteration limit", 1.0)
    result = working_sets(lambda x: np.full(3, 9.0), lambda c, s: failed, np.arange(3), np.ones(3), np.zeros(3), 1e-9)
    assert result.status == "iteration limit"
    assert result.n_iter == 5
