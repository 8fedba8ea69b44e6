r"""Smooth objectives with an L1 penalty: :math:`\min_x f(x) + \sum_j \lambda_j |x_j|`.

Proximal Newton: the quadratic model of f plus the penalty is minimised by coordinate descent, more exactly the nearer
the solution is, and a step along the difference is halved until the sum falls. For many features only a working set
is in play: the present support and the worst violators of the optimality condition
:math:`|\nabla_j f| \le \lambda_j` where :math:`x_j=0`; it grows until no feature outside violates it.

Lee, Sun, Saunders (2014), Proximal Newton-type methods, doi:10.1137/130921428.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from didact.core.typing import Array
from didact.engines.linear.tuning import FIRST_FEATURES
from didact.engines.loop.iterate import Report, iterate
from didact.engines.loop.line_search import NOISE
from didact.engines.loop.result import Result
from didact.engines.smooth.newton import STEP_HALVINGS, SUFFICIENT_DECREASE, Objective

MOST_ROUNDS = 50  # of working sets


class _State(NamedTuple):
    x: Array
    value: float
    gradient: Array
    hessian: Array
    optimality: float


def violations(x: Array, gradient: Array, l1: Array) -> Array:
    """Distance of −gradient to the subdifferential of Σ l1|x|, per coordinate."""
    return np.where(x != 0, np.abs(gradient + l1 * np.sign(x)), np.maximum(np.abs(gradient) - l1, 0.0))


def proximal_newton(
    objective: Objective,
    l1: Array,
    x0: Array,
    tol: float,
    max_iter: int,
    report: Report | None = None,
    noise: float = NOISE,
) -> Result:
    """Minimise objective(x) + Σ l1|x| from x0; objective(x) gives value, gradient and curvature matrix."""
    from didact.engines.linear.coordinate_descent_loops import descend

    def evaluate(x: Array) -> _State:
        value, gradient, hessian = objective(x)
        worst = float(np.max(violations(x, gradient, l1), initial=0.0))
        return _State(x=x, value=value + float(l1 @ np.abs(x)), gradient=gradient, hessian=hessian, optimality=worst)

    def step(s: _State) -> _State | None:
        if not np.isfinite(s.hessian).all():
            return s._replace(value=math.nan)  # the curvature has overflowed: "not finite"
        hessian = s.hessian + 1e-12 * np.mean(np.diag(s.hessian)) * np.eye(len(s.x))
        target, q = s.x.copy(), s.gradient.copy()
        descend(hessian, target, q, l1, False, min(0.1 * s.optimality, 10 * tol) * 0.1, 1000)
        direction = target - s.x
        slope = float(s.gradient @ direction + l1 @ (np.abs(target) - np.abs(s.x)))
        length = 1.0
        for _ in range(STEP_HALVINGS):
            # The full step keeps the exact zeros of coordinate descent.
            new = evaluate(target if length == 1.0 else s.x + length * direction)
            if new.value <= s.value + SUFFICIENT_DECREASE * length * slope:
                return new
            if new.value <= s.value + noise * (1.0 + abs(s.value)) and new.optimality < s.optimality:
                return new
            length *= 0.5
        return None

    return iterate(evaluate(x0), step, tol, max_iter, report)


def working_sets(
    gradient: Callable[[Array], Array],
    restricted: Callable[[Array, Array], Result],
    features: Array,
    l1: Array,
    x0: Array,
    tol: float,
) -> Result:
    """Solve on growing sets of features.

    `features` gives each coordinate's feature (−1: always in play); `restricted(coordinates, start)` solves for those
    coordinates with all others at 0; `gradient(x)` is the smooth part's gradient everywhere.
    """
    x, iterations, result = x0, 0, None
    size = FIRST_FEATURES
    for _ in range(MOST_ROUNDS):
        wrong = violations(x, gradient(x), l1)
        worst = float(np.max(wrong, initial=0.0))
        if result is not None and (worst <= tol or not result.converged):
            break
        badness = np.zeros(features.max() + 1)
        outside = features >= 0
        np.maximum.at(badness, features[outside], np.where(x != 0, np.inf, wrong)[outside])
        size = max(size, 2 * int(np.isinf(badness).sum()))
        chosen = np.argsort(-badness, kind="stable")[:size]
        coordinates = np.flatnonzero(np.isin(features, chosen) | ~outside)
        result = restricted(coordinates, x[coordinates])
        x = np.zeros_like(x0)
        x[coordinates] = result.x
        iterations += result.n_iter
    assert result is not None
    status = result.status if worst <= tol or not result.converged else "iteration limit"
    return Result(x, result.value, iterations, status, worst, result.history)
