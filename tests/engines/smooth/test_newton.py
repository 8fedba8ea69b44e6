"""Newton's method: one step on a quadratic, squared errors near the solution, singular and badly scaled curvature."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact.engines.smooth.newton import newton, newton_direction


def quadratic(A, b):
    return lambda x: (0.5 * x @ A @ x - b @ x, A @ x - b, A)


def positive(p, seed=0, condition=10.0):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(p, p)))[0]
    return (Q * np.geomspace(1, condition, p)) @ Q.T, rng.normal(size=p)


@given(st.integers(1, 8), st.integers(0, 100))
def test_one_step_on_a_quadratic(p, seed):
    A, b = positive(p, seed)
    result = newton(quadratic(A, b), np.random.default_rng(seed).normal(size=p), tol=1e-9, max_iter=10)
    assert (result.status, result.n_iter) == ("converged", 1)
    np.testing.assert_allclose(result.x, np.linalg.solve(A, b), rtol=1e-8, atol=1e-10)


def test_errors_square_near_the_solution():
    """f(x) = eˣ − 2x with the minimum log 2: worked example 91, ε → ε²."""
    points = []
    newton(
        lambda x: (float(np.exp(x[0]) - 2 * x[0]), np.exp(x) - 2, np.exp(x)[:, None]),
        np.array([1.2]), 1e-15, 20, report=lambda i, value, x: points.append(x[0]),
    )  # fmt: skip
    errors = np.abs(np.array(points) - np.log(2))
    errors = errors[errors > 1e-12]
    assert len(errors) >= 3
    assert (errors[1:] <= 0.6 * errors[:-1] ** 2 + 1e-15).all()  # the constant is f‴/2f″ = ½


def test_damping_where_the_full_step_overshoots():
    """√(1 + x²): the full step from |x| > 1 diverges."""
    f = lambda x: (float(np.sqrt(1 + x[0] ** 2)), x / np.sqrt(1 + x**2), ((1 + x**2) ** -1.5)[:, None])
    result = newton(f, np.array([5.0]), 1e-10, 100)
    assert result.converged
    assert abs(result.x[0]) < 1e-9
    assert all(b <= a for a, b in zip(result.history[:-1], result.history[1:], strict=True))


def test_values_that_overflow_are_backed_away_from():
    f = lambda x: (float(np.exp(-50 * x[0]) + x[0]), -50 * np.exp(-50 * x) + 1, 2500 * np.exp(-50 * x)[:, None])
    with np.errstate(over="ignore"):
        result = newton(f, np.array([-10.0]), 1e-8, 1000)
    assert result.converged
    np.testing.assert_allclose(result.x, np.log(50) / 50, rtol=1e-6)


def test_singular_curvature_gives_the_least_norm_step():
    A = np.array([[1.0, 1.0], [1.0, 1.0]])
    np.testing.assert_allclose(newton_direction(A, np.array([-2.0, -2.0])), [1.0, 1.0], rtol=1e-12)
    result = newton(quadratic(A, np.array([3.0, 3.0])), np.zeros(2), 1e-10, 5)
    assert result.n_iter == 1
    np.testing.assert_allclose(result.x, [1.5, 1.5], rtol=1e-12)
    np.testing.assert_array_equal(newton_direction(np.zeros((2, 2)), np.zeros(2)), [0.0, 0.0])


@pytest.mark.parametrize("scale", [1e3, 1e6, 1e8])
def test_singular_and_badly_scaled_curvature(scale):
    """Two equal columns beside a large one: the step must still solve for the small ones.

    As in a softmax fit (whose curvature is always singular) with one column in large units.
    """
    Z = np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 1.0, scale]
    Z = np.column_stack([Z, Z[:, 0]])
    A = Z.T @ Z
    b = A @ np.array([1.0, -2.0, 3.0 / scale, 0.0])
    direction = newton_direction(A, -b)
    np.testing.assert_allclose(A @ direction, b, rtol=1e-6, atol=1e-6 * np.abs(b[:2]).min())


@pytest.mark.parametrize("scale", [1.0, 1e4, 1e8])
def test_units_do_not_matter(scale):
    A, b = positive(4)
    D = np.array([1.0, scale, 1 / scale, 1.0])
    direction = newton_direction(A * D[:, None] * D, b * D)
    np.testing.assert_allclose(direction * D, -np.linalg.solve(A, b), rtol=1e-7)


def test_no_progress_is_said():
    """A gradient that points the wrong way: no step lowers the value."""
    f = lambda x: (float(x @ x), -2 * x, np.eye(len(x)))
    assert newton(f, np.ones(2), 1e-10, 10).status == "no progress"
