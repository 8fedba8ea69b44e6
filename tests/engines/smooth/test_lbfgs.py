"""L-BFGS: Rosenbrock, quadratics with and without a preconditioner, and the Wolfe conditions of each step."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import rosen, rosen_der

from didact.engines.smooth.lbfgs import lbfgs, two_loops


def rosenbrock(x):
    return float(rosen(x)), rosen_der(x)


def quadratic(p=20, condition=1e4, seed=0):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(p, p)))[0]
    A = (Q * np.geomspace(1, condition, p)) @ Q.T
    b = rng.normal(size=p)
    return A, b, lambda x: (float(0.5 * x @ A @ x - b @ x), A @ x - b)


@pytest.mark.parametrize("p", [2, 5, 20])
def test_rosenbrock(p):
    result = lbfgs(rosenbrock, np.tile([-1.2, 1.0], p)[:p], 1e-8, 500)
    assert result.converged
    np.testing.assert_allclose(result.x, 1.0, rtol=1e-6)
    assert all(b <= a + 1e-12 for a, b in zip(result.history[:-1], result.history[1:], strict=True))


@given(st.integers(1, 12), st.integers(0, 50))
def test_quadratics(p, seed):
    A, b, f = quadratic(p, 100.0, seed)
    result = lbfgs(f, np.zeros(p), 1e-9, 500)
    assert result.converged
    np.testing.assert_allclose(result.x, np.linalg.solve(A, b), rtol=1e-6, atol=1e-8)


def test_the_exact_preconditioner_solves_a_quadratic_in_one_step():
    A, _, f = quadratic()
    result = lbfgs(f, np.zeros(20), 1e-8, 50, precondition=lambda g: np.linalg.solve(A, g))
    assert (result.status, result.n_iter) == ("converged", 1)


def test_a_good_preconditioner_saves_passes():
    A, b, f = quadratic(p=50, condition=1e4)
    counts = []
    for precondition in (None, lambda g: np.linalg.solve(A + 0.1 * np.eye(50), g)):
        calls = []
        result = lbfgs(lambda x, c=calls: (c.append(1), f(x))[1], np.zeros(50), 1e-5, 2000, precondition=precondition)
        assert result.converged
        np.testing.assert_allclose(A @ result.x, b, atol=1e-4)
        counts.append(len(calls))
    assert counts[1] < counts[0] / 5


def test_an_iteration_near_the_solution_costs_one_pass():
    _, _, f = quadratic(p=10, condition=50.0)
    calls = []
    result = lbfgs(lambda x: (calls.append(1), f(x))[1], np.zeros(10), 1e-10, 200)
    assert len(calls) <= 1.3 * result.n_iter + 5


def test_two_loops_satisfy_the_secant_equation():
    """The newest pair is mapped exactly: H y = s."""
    rng = np.random.default_rng(0)
    A, _, _ = quadratic(p=6)
    pairs = []
    for _ in range(4):
        s = rng.normal(size=6)
        y = A @ s
        pairs.append((s, y, 1.0 / float(s @ y)))
    for precondition in (None, lambda g: g / np.diag(A)):
        np.testing.assert_allclose(two_loops(pairs[-1][1], tuple(pairs), precondition), pairs[-1][0], rtol=1e-8)


def test_infinite_values_are_backed_away_from():
    f = lambda x: (float(x[0] - np.log(x[0])) if x[0] > 0 else np.inf, 1 - 1 / x)
    result = lbfgs(f, np.array([0.1]), 1e-10, 100)
    assert result.converged
    np.testing.assert_allclose(result.x, 1.0, rtol=1e-8)


def test_an_unbounded_objective_ends():
    result = lbfgs(lambda x: (float(-x.sum()), -np.ones(2)), np.zeros(2), 1e-8, 30)
    assert not result.converged


def test_wrong_gradient_makes_no_progress():
    assert lbfgs(lambda x: (float(x @ x), -2 * x), np.ones(3), 1e-8, 30).status == "no progress"
