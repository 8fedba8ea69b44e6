"""BFGS between bounds: a quadratic with a known solution, Rosenbrock's valley, bounds, and matrices."""

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der

from didact.engines.smooth.box_bfgs import bfgs_update, box_bfgs

FREE = np.tile([-np.inf, np.inf], (3, 1))


def quadratic(H, c):
    return lambda x: (0.5 * float(x @ H @ x) - float(c @ x), H @ x - c)


def test_the_exact_curvature_needs_one_step():
    H, c = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]]), np.array([1.0, -2.0, 3.0])
    found = box_bfgs(quadratic(H, c), np.zeros(3), FREE, H, 1e-12, 10)
    assert found.converged
    assert found.n_iter == 1
    np.testing.assert_allclose(found.x, np.linalg.solve(H, c), rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_a_wrong_curvature_still_finds_the_valley(scale):
    bounds = np.tile([-5.0, 5.0], (2, 1))
    found = box_bfgs(lambda x: (rosen(x), rosen_der(x)), np.array([-1.2, 1.0]), bounds, scale * np.eye(2), 1e-16, 500)
    np.testing.assert_allclose(found.x, 1.0, atol=1e-5)


def test_variables_at_their_bounds_satisfy_the_conditions_of_an_optimum():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((6, 6))
    H, c = A @ A.T + np.eye(6), 3.0 * rng.standard_normal(6)
    bounds = np.tile([-0.3, 0.3], (6, 1))
    found = box_bfgs(quadratic(H, c), np.zeros(6), bounds, np.eye(6), 1e-15, 200)
    slope = H @ found.x - c
    assert (np.abs(found.x) <= 0.3).all()
    assert (np.abs(found.x) == 0.3).any()
    inside = np.abs(found.x) < 0.3
    np.testing.assert_allclose(slope[inside], 0.0, atol=1e-6)
    assert (slope[~inside] * found.x[~inside] <= 0).all()


def test_steps_are_no_longer_than_allowed():
    seen = []

    def objective(x):
        seen.append(x.copy())
        return float((x - 50) @ (x - 50)), 2.0 * (x - 50)

    box_bfgs(objective, np.zeros(3), FREE, 2.0 * np.eye(3), 1e-12, 100, longest=2.0)
    assert np.abs(np.diff(seen, axis=0)).max() <= 2.0 + 1e-12


def test_a_region_without_values_is_left():
    def objective(x):  # −∞ of a likelihood where a matrix is not positive definite
        return (np.inf, np.zeros(1)) if x[0] > 2 else (float((x[0] - 1.9) ** 2), 2 * (x - 1.9))

    found = box_bfgs(objective, np.zeros(1), FREE[:1], np.array([[0.5]]), 1e-14, 50)
    np.testing.assert_allclose(found.x, 1.9, atol=1e-5)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_update_stays_positive_definite_and_agrees_with_a_positive_change(sign):
    rng = np.random.default_rng(1)
    B, s = np.diag([1.0, 2.0, 3.0]), rng.standard_normal(3)
    change = sign * (2.5 * s)
    new = bfgs_update(B, s, change)
    assert np.linalg.eigvalsh(new)[0] > 0
    if sign > 0:
        np.testing.assert_allclose(new @ s, change)
