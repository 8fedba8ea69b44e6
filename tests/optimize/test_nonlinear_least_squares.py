"""Nonlinear least squares for users: agreement with SciPy, covariance, bounds, and what must be refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize as scipy_optimize

from didact.optimize import least_squares

T = np.linspace(0, 4, 25)


def curve(t, a, b, c):
    return a * np.exp(-b * t) + c


def data(seed=0, noise=0.05):
    return curve(T, 2.5, 1.3, 0.5) + noise * np.random.default_rng(seed).normal(size=len(T))


def jacobian(b):
    e = np.exp(-b[1] * T)
    return np.column_stack([e, -b[0] * T * e, np.ones_like(T)])


@pytest.mark.parametrize("method", ["lm", "gauss-newton"])
@pytest.mark.parametrize("jac", [None, "central", "forward", "complex", jacobian])
@given(st.integers(0, 20))
def test_equals_scipy(method, jac, seed):
    y = data(seed)
    expected, covariance = scipy_optimize.curve_fit(curve, T, y, p0=[1, 1, 1], jac=lambda t, *b: jacobian(b))
    result = least_squares(lambda b: curve(T, *b) - y, [1.0, 1.0, 1.0], jac, method)
    assert result.converged
    np.testing.assert_allclose(result.x, expected, rtol=1e-5)
    np.testing.assert_allclose(result.covariance, covariance, rtol=1e-4)
    np.testing.assert_allclose(result.jacobian, jacobian(result.x), atol=1e-6)
    r = curve(T, *result.x) - y
    np.testing.assert_allclose(result.value, 0.5 * r @ r, rtol=1e-12)
    assert np.abs(jacobian(result.x).T @ r).max() < 1e-5


def test_both_methods_take_one_step_on_a_linear_problem():
    A = np.random.default_rng(0).normal(size=(8, 3))
    b = np.arange(8.0)
    for method in ("lm", "gauss-newton"):
        result = least_squares(lambda x: A @ x - b, np.full(3, 10.0), lambda x: A, method)
        assert (result.status, result.n_iter) == ("converged", 1)
        np.testing.assert_allclose(result.x, np.linalg.lstsq(A, b, rcond=None)[0], rtol=1e-9)


@pytest.mark.parametrize("start", [[-1.2, 1.0], [0.0, 0.0], [30.0, -7.0]])
def test_rosenbrock_as_least_squares(start):
    r = lambda x: np.array([1 - x[0], 10 * (x[1] - x[0] ** 2)])
    result = least_squares(r, start)
    assert result.converged
    np.testing.assert_allclose(result.x, 1.0, rtol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_bounds_equal_scipys(seed):
    y = data(seed, 0.2)
    bounds = ([0.0, 0.0, 0.6], [2.0, 5.0, np.inf])
    expected = scipy_optimize.least_squares(
        lambda b: curve(T, *b) - y, [1, 1, 1], bounds=bounds, xtol=1e-14, ftol=1e-14
    )
    result = least_squares(lambda b: curve(T, *b) - y, [1.0, 1.0, 1.0], bounds=bounds)
    assert result.converged
    assert (result.x >= bounds[0]).all()
    assert (result.x <= bounds[1]).all()
    np.testing.assert_allclose(result.value, expected.cost, rtol=1e-6)
    np.testing.assert_allclose(result.x, expected.x, rtol=1e-3, atol=1e-3)


def test_the_function_is_not_asked_outside_the_bounds():
    seen = []

    def r(b):
        seen.append(b.copy())
        return np.sqrt(b[0]) * T + np.log(b[1]) - 2 * T - 1

    result = least_squares(r, [0.1, 0.1], bounds=(1e-8, np.inf))
    assert min(np.min(b) for b in seen) >= 1e-8
    np.testing.assert_allclose(result.x, [4.0, np.e], rtol=1e-6)


def test_parameters_that_are_not_determined_have_infinite_variance():
    y = data()
    r = lambda b: curve(T, b[0] * b[3], b[1], b[2]) - y  # only the product b₀b₃ is known
    result = least_squares(r, [1.0, 1.0, 1.0, 1.0])
    plain = least_squares(lambda b: curve(T, *b) - y, [1.0, 1.0, 1.0])
    assert result.converged
    assert np.isinf(np.diag(result.covariance)[[0, 3]]).all()
    np.testing.assert_allclose(result.covariance[1:3, 1:3] * 21 / 22, plain.covariance[1:, 1:], rtol=1e-4)
    few = least_squares(lambda b: np.array([b[0] + b[1] - 1]), [0.0, 0.0])
    assert few.converged
    assert np.isinf(few.covariance).all()


def test_stopping_and_callbacks():
    y = data()
    heard = []
    result = least_squares(
        lambda b: curve(T, *b) - y, [1.0, 9.0, 1.0], callback=lambda i, value, x: heard.append(value) or i == 2
    )
    assert (result.status, result.n_iter) == ("stopped", 2)
    assert heard == result.history[1:]
    assert least_squares(lambda b: curve(T, *b) - y, [1.0, 9.0, 1.0], max_iter=1).status == "iteration limit"


def test_evaluations_are_counted():
    calls = []
    y = data()
    result = least_squares(lambda b: (calls.append(1), curve(T, *b) - y)[1], [1.0, 1.0, 1.0])
    assert result.evaluations == len(calls)
    exact = least_squares(lambda b: (calls.append(1), curve(T, *b) - y)[1], [1.0, 1.0, 1.0], jacobian)
    assert exact.evaluations <= exact.n_iter + 4, "one for each trial"


def test_residuals_that_are_not_finite():
    with pytest.raises(ValueError, match=r"fun returned nan as residual 1 at the start x0 = \(1\)"):
        least_squares(lambda x: np.array([1.0, np.nan]), [1.0])
    # Farther on they are backed away from: log of a negative number.
    result = least_squares(lambda b: np.log(b[0]) - np.array([0.9, 1.1]), [0.01])
    assert result.converged
    np.testing.assert_allclose(result.x, np.e, rtol=1e-6)
    blind = least_squares(lambda b: np.ones(2) if b[0] == 1 else np.full(2, np.nan), [1.0], lambda b: np.ones((2, 1)))
    assert not blind.converged
    with pytest.raises(ValueError, match="Jacobian has numbers that are not finite"):
        least_squares(lambda b: b - 1, [3.0], lambda b: np.array([[np.nan]]))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"jac": lambda b: np.ones((3, 25))}, r"the shape \(25, 3\); it returned \(3, 25\)"),
        ({"jac": "backward"}, "jac must be"),
        ({"method": "newton"}, "no method 'newton'"),
        ({"bounds": (0, 1, 2)}, "bounds must be a pair"),
        ({"bounds": ([0, 0], [1, 1])}, "bounds must be a pair"),
        ({"bounds": (1, 1)}, "below its upper bound"),
        ({"bounds": (2, 3)}, r"within the bounds; its entry 0 is 1"),
    ],
)
def test_bad_arguments_get_a_sentence(arguments, sentence):
    y = data()
    with pytest.raises(ValueError, match=sentence):
        least_squares(lambda b: curve(T, *b) - y, [1.0, 1.0, 1.0], **arguments)


def test_residuals_of_the_wrong_shape():
    with pytest.raises(ValueError, match=r"vector of numbers; it returned an array of shape \(2, 2\)"):
        least_squares(lambda x: np.ones((2, 2)), [1.0])
    sizes = iter([3, 3, 4, 4, 4])
    with pytest.raises(ValueError, match=r"3 numbers, as at the start; it returned an array of shape \(4,\)"):
        least_squares(lambda x: np.ones(next(sizes)) * x[0], [1.0])
    with pytest.raises(ValueError, match="fun must be a function"):
        least_squares(None, [1.0])
