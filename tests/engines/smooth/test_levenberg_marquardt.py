"""Levenberg–Marquardt: the direction's limits (worked example 92), the trust region, deficient and exact problems."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact.engines.smooth.levenberg_marquardt import levenberg_marquardt, linear_model, new_radius


def random_model(seed=0, m=12, n=4):
    rng = np.random.default_rng(seed)
    J, r, D = rng.normal(size=(m, n)) * rng.uniform(0.1, 10, size=n), rng.normal(size=m), rng.uniform(0.5, 2, size=n)
    return J, r, D, linear_model(J, r, D)


@given(st.integers(0, 100), st.floats(1e-8, 1e8))
def test_the_step_solves_the_damped_normal_equations(seed, damping):
    J, r, D, model = random_model(seed)
    residual = (J.T @ J + damping * np.diag(D**2)) @ model.step(damping) + J.T @ r
    np.testing.assert_allclose(residual, 0.0, atol=1e-9 * np.abs(J.T @ r).max() * (1 + damping))


def test_example_92_gauss_newton_without_damping_and_the_gradient_with_much():
    J, r, _, _ = random_model()
    model = linear_model(J, r, np.ones(4))
    gauss_newton = -np.linalg.solve(J.T @ J, J.T @ r)
    np.testing.assert_allclose(model.step(0.0), gauss_newton, rtol=1e-10)
    np.testing.assert_allclose(model.step(1e-12), gauss_newton, rtol=1e-8)
    gradient = J.T @ r
    step = model.step(1e12)
    np.testing.assert_allclose(step * 1e12, -gradient, rtol=1e-8)
    cosines = [-model.step(d) @ gradient / np.linalg.norm(model.step(d)) for d in 10.0 ** np.arange(-6, 9)]
    assert (np.diff(cosines) >= -1e-9).all(), "it turns towards the gradient"
    lengths = [np.linalg.norm(model.step(d)) for d in 10.0 ** np.arange(-6, 9)]
    assert (np.diff(lengths) < 0).all(), "and becomes shorter"


@given(st.integers(0, 100), st.floats(1e-6, 0.9))
def test_the_damping_keeps_the_step_within_the_region(seed, share):
    _, _, D, model = random_model(seed)
    full = np.linalg.norm(D * model.step(0.0))
    length = np.linalg.norm(D * model.step(model.damping(share * full)))
    assert 0.89 * share * full <= length <= 1.11 * share * full
    assert model.damping(2 * full) == 0.0


def test_the_region_grows_and_shrinks():
    assert new_radius(1.0, 0.8, 0.9) == 1.6
    assert new_radius(1.0, 0.8, 0.5) == 1.0
    assert new_radius(1.0, 0.8, 0.1) == pytest.approx(0.2)
    assert new_radius(1.0, 5.0, -1.0) == 0.25


def solve(r, J, x0, **how):
    factor = lambda x: np.linalg.qr(np.column_stack([J(x), r(x)]), mode="r")
    return levenberg_marquardt(lambda x: 0.5 * float(r(x) @ r(x)), factor, np.asarray(x0), 1e-10, 500, **how)


@pytest.mark.parametrize("damped", [True, False])
def test_a_linear_problem_takes_one_step(damped):
    J, b, _, _ = random_model()
    result = solve(lambda x: J @ x - b, lambda x: J, np.ones(4), damped=damped, radius=1e3)
    assert (result.status, result.n_iter) == ("converged", 1)
    np.testing.assert_allclose(result.x, np.linalg.lstsq(J, b, rcond=None)[0], rtol=1e-9)


@given(st.integers(0, 60))
def test_units_do_not_matter(seed):
    """The same steps, whatever each parameter is measured in."""
    rng = np.random.default_rng(seed)
    t, unit = np.linspace(0, 3, 10), 10.0 ** rng.integers(-6, 7, size=2)
    y = 2 * np.exp(-0.7 * t) + 0.05 * rng.normal(size=10)
    r = lambda x: x[0] * np.exp(-x[1] * t) - y
    J = lambda x: np.column_stack([np.exp(-x[1] * t), -x[0] * t * np.exp(-x[1] * t)])
    plain = solve(r, J, [1.0, 1.5])
    scaled = solve(lambda z: r(z * unit), lambda z: J(z * unit) * unit, np.array([1.0, 1.5]) / unit)
    assert plain.converged
    assert scaled.converged
    np.testing.assert_allclose(scaled.x * unit, plain.x, rtol=1e-7)
    np.testing.assert_allclose(scaled.history[:4], plain.history[:4], rtol=1e-6)


def test_a_deficient_jacobian_gives_the_least_step():
    J = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    result = solve(lambda x: J @ x - [1.0, 2.0, 3.0], lambda x: J, np.zeros(2), radius=1e3)
    assert result.converged
    np.testing.assert_allclose(result.x, [1.0, 1.0], rtol=1e-9)


def test_exact_data_converge_though_the_residuals_become_rounding():
    t = np.linspace(0, 3, 10)
    y = 2 * np.exp(-0.7 * t)
    r = lambda x: x[0] * np.exp(-x[1] * t) - y
    J = lambda x: np.column_stack([np.exp(-x[1] * t), -x[0] * t * np.exp(-x[1] * t)])
    for damped in (True, False):
        result = solve(r, J, [1.0, 1.0], damped=damped)
        assert result.converged
        np.testing.assert_allclose(result.x, [2.0, 0.7], rtol=1e-12)


def test_a_sum_that_only_rises_makes_no_progress():
    assert solve(lambda x: 1 + x * x, lambda x: -1 - x[:, None], [1.0]).status == "no progress"


def test_bounds_hold_and_the_rest_is_solved():
    A = np.array([[2.0, 1.0], [1.0, 3.0], [0.5, -1.0]])
    b = np.array([4.0, 1.0, 3.0])
    free = np.linalg.lstsq(A, b, rcond=None)[0]
    assert free[1] < 0
    result = solve(lambda x: A @ x - b, lambda x: A, [1.0, 1.0], bounds=(0.0, np.inf))
    assert result.converged
    assert result.x[1] == 0.0
    np.testing.assert_allclose(result.x[0], (A[:, 0] @ b) / (A[:, 0] @ A[:, 0]), rtol=1e-8)
