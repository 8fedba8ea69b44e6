"""Objectives without a lower bound are called so, and soon; those that converge slowly, or far away, are not."""

import numpy as np
import pytest

from didact.optimize import minimize, minimize_constrained

BOTTOMLESS = {
    "linear": (lambda x: x[0] + 2 * x[1], lambda x: np.array([1.0, 2.0])),
    "nearly flat": (lambda x: 1e-3 * x[0] + x[1] ** 2, lambda x: np.array([1e-3, 2 * x[1]])),
    "concave": (lambda x: x[0] - x @ x, lambda x: np.array([1.0, 0.0]) - 2 * x),
    "falling": (lambda x: -x[1], lambda x: np.array([0.0, -1.0])),
    "saddle": (lambda x: x[0] ** 2 - x[1] ** 2 + x[1], lambda x: np.array([2 * x[0], 1 - 2 * x[1]])),
    "exponential": (lambda x: x[1] ** 2 - np.exp(x[0]), lambda x: np.array([-np.exp(x[0]), 2 * x[1]])),
}


@pytest.mark.parametrize("method", ["lbfgs", "cg"])
@pytest.mark.parametrize("search", [None, "weak-wolfe"])
@pytest.mark.parametrize("name", BOTTOMLESS)
def test_what_falls_for_ever_is_unbounded_within_some_hundred_evaluations(name, method, search):
    fun, jac = BOTTOMLESS[name]
    result = minimize(fun, [0.3, 0.7], method, jac, line_search=search)
    assert result.status == "unbounded"
    assert "no lower bound" in result.message
    assert result.evaluations < 500
    assert np.isfinite(result.x).all()


@pytest.mark.parametrize("method", ["gradient", "newton", "coordinate", "diagonal-newton"])
@pytest.mark.parametrize("name", ["concave", "saddle", "exponential"])
def test_other_methods_notice_too(name, method):
    fun, jac = BOTTOMLESS[name]
    result = minimize(fun, [0.3, 0.7], method, jac)
    assert result.status == "unbounded"
    assert result.n_iter < 1000


CONSTRAINED = {
    "half a plane": ("linear", {"inequalities": [lambda x: x[0] - 1]}),
    "a line": ("linear", {"equalities": [lambda x: x[0] - x[1]]}),
    "a quadrant": ("concave", {"bounds": ([0.0, 0.0], None)}),
    "a ray of exponentials": ("exponential", {"inequalities": [lambda x: 1 - x[0]]}),
    "a parabola": ("falling", {"inequalities": [lambda x: x[0] ** 2 - x[1]]}),
    "nothing": ("linear", {}),
}


@pytest.mark.parametrize("name", CONSTRAINED)
def test_constraints_that_do_not_hold_the_objective(name):
    objective, constraints = CONSTRAINED[name]
    result = minimize_constrained(BOTTOMLESS[objective][0], [0.3, 0.7], **constraints)
    assert result.status == "unbounded"
    assert result.evaluations < 5000


@pytest.mark.parametrize(
    ("fun", "constraints", "value"),
    [
        (lambda x: x[1] ** 2 - np.exp(x[0]), {"inequalities": [lambda x: x[0] - 3]}, -np.exp(3)),
        (lambda x: x[0] ** 3 + x[1] ** 2, {"inequalities": [lambda x: -2 - x[0]]}, -8.0),
        (lambda x: -x @ x, {"bounds": (-5.0, [5.0, 6.0])}, -61.0),
        (lambda x: x[0] + x[1], {"inequalities": [lambda x: -1e6 - x[0], lambda x: -1e6 - x[1]]}, -2e6),
    ],
)
def test_constraints_that_hold_an_objective_without_bound(fun, constraints, value):
    result = minimize_constrained(fun, [0.3, 0.7], **constraints)
    assert result.converged
    assert result.value == pytest.approx(value, rel=1e-6)


SPREAD = 10.0 ** np.linspace(-6, 3, 8)
BOUNDED = {
    "ill-conditioned": (lambda x: 0.5 * (SPREAD * x) @ x - 1e-2 * x.sum(), np.ones(8)),
    "a minimum far away": (lambda x: 1e-9 * (x - 1e6) @ (x - 1e6), np.zeros(2)),
    "a minimum at infinity": (lambda x: np.exp(-x[0]) + x[1] ** 2, np.array([0.0, 1.0])),
    "separable classes": (lambda x: np.logaddexp(0.0, -x[0] * np.arange(1.0, 5.0)).sum(), np.zeros(1)),
    "a flat bottom": (lambda x: (x**4).sum(), np.array([10.0, -3.0])),
    "values far below zero": (lambda x: x @ x - 1e60, np.array([3.0, 4.0])),
    "a deep hole": (lambda x: -1e40 * np.exp(-x @ x), np.ones(2)),
}


@pytest.mark.parametrize("method", ["lbfgs", "cg"])
@pytest.mark.parametrize("name", BOUNDED)
def test_slow_and_far_minima_are_not_called_unbounded(name, method):
    fun, x0 = BOUNDED[name]
    result = minimize(fun, x0, method, max_iter=3000)
    assert result.status in ("converged", "iteration limit", "no progress")
    assert result.value <= fun(x0)
