"""A gradient check finds planted errors, in the right coordinate, and accepts what is right."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import rosen, rosen_der

from didact.optimize import check_gradient


def f(x):
    return np.sin(x[0]) * np.exp(x[1]) + x[2] ** 3 / (1 + x[0] ** 2)


def gradient(x):
    return np.array([
        np.cos(x[0]) * np.exp(x[1]) - 2 * x[0] * x[2] ** 3 / (1 + x[0] ** 2) ** 2,
        np.sin(x[0]) * np.exp(x[1]),
        3 * x[2] ** 2 / (1 + x[0] ** 2),
    ])  # fmt: skip


X = np.array([0.3, -0.7, 1.9])


@given(st.integers(0, 100))
def test_right_gradients_pass(seed):
    x = np.random.default_rng(seed).normal(size=5) * 3
    found = check_gradient(rosen, rosen_der, x)
    assert found.ok, found.relative_error
    assert len(found.wrong) == 0


@pytest.mark.parametrize("j", [0, 1, 2])
@pytest.mark.parametrize("size", [1e-3, -0.5, 10.0])
def test_a_planted_error_is_found_where_it_is(j, size):
    def wrong(x):
        g = gradient(x)
        g[j] *= 1 + size
        return g

    found = check_gradient(f, wrong, X)
    assert not found.ok
    assert found.wrong.tolist() == [j]
    np.testing.assert_allclose(found.relative_error[j], abs(size) / max(1, 1 + size), rtol=1e-5)
    assert found.worst == found.relative_error[j]
    assert check_gradient(f, wrong, X, tol=100.0).ok


def test_the_complex_step_is_exact():
    found = check_gradient(f, gradient, X)
    assert found.method.tolist() == ["complex"] * 3
    assert found.worst < 1e-14


def test_functions_that_take_no_complex_numbers_are_differenced():
    def real(x):
        return float(f(np.asarray(x, dtype=float)))

    found = check_gradient(real, gradient, X)
    assert found.method.tolist() == ["central"] * 3
    assert found.ok
    assert 0 < found.worst < 1e-7


def test_functions_that_pass_complex_numbers_on_wrongly_are_differenced():
    """abs drops the imaginary part: the complex step gives 0 there."""
    found = check_gradient(
        lambda x: np.abs(x[0]) + x[1] ** 2, lambda x: np.array([np.sign(x[0]), 2 * x[1]]), [0.5, 2.0]
    )
    assert found.method.tolist() == ["central", "complex"]
    assert found.ok


def test_jacobians_are_checked_too():
    r = lambda x: np.array([x[0] * x[1], np.sin(x[0]), x[1] ** 2])
    J = lambda x: np.array([[x[1], x[0]], [np.cos(x[0]), 0.0], [0.0, 2 * x[1]]])
    assert check_gradient(r, J, [0.4, 1.5]).ok
    wrong = check_gradient(r, lambda x: J(x) + np.array([[0, 0], [0, 0], [0, 0.1]]), [0.4, 1.5])
    assert wrong.wrong.tolist() == [1]
    assert (wrong.relative_error > 1e-5).tolist() == [[False, False], [False, False], [False, True]]


def test_zero_derivatives_and_constants():
    assert check_gradient(lambda x: x[0] ** 2 + 0 * x[1], lambda x: np.array([2 * x[0], 0.0]), [3.0, 4.0]).ok
    assert check_gradient(lambda x: 5.0, lambda x: np.zeros(2), [3.0, 4.0]).ok
    assert not check_gradient(lambda x: 5.0, lambda x: np.ones(2), [3.0, 4.0]).ok


def test_nan_in_a_gradient_is_wrong():
    assert check_gradient(f, lambda x: np.array([1.0, np.nan, 1.0]), X).wrong.tolist() == [0, 1, 2]


def test_numbers_in_place_of_a_function():
    assert check_gradient(f, gradient(X), X).ok


def test_bad_input_gets_a_sentence():
    with pytest.raises(ValueError, match=r"shape \(2,\); the function's has \(3,\)"):
        check_gradient(f, lambda x: np.ones(2), X)
    with pytest.raises(ValueError, match="finite real numbers"):
        check_gradient(lambda x: np.nan, gradient, X)
    with pytest.raises(ValueError, match="x must be finite"):
        check_gradient(f, gradient, [1.0, np.nan, 2.0])
