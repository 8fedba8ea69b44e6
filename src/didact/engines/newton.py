r"""Newton's method with damping (for likelihoods: Fisher scoring, iteratively reweighted least squares).

Each step solves :math:`Hd = -g` (of least norm, where H is singular) and halves d until the objective falls enough.
One evaluation gives value, gradient and curvature together, so an accepted step costs one pass over the data. Near a
solution errors square from step to step.

Nocedal, Wright (2006), Numerical Optimization, chapter 3, doi:10.1007/978-0-387-40065-5.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from didact.engines.loop import Report, iterate
from didact.engines.result import Result

Array = np.ndarray[Any, Any]
Objective = Callable[[Array], tuple[float, Array, Array]]

ENOUGH = 1e-4  # share of the predicted decrease that a step has to reach
HALVINGS = 30
ROUNDING = 8 * float(np.finfo(float).eps)
SINGULAR = 1e-11  # reciprocal condition below which a curvature matrix counts as singular


class NewtonState(NamedTuple):
    """A point with the local quadratic model of the objective."""

    x: Array
    value: float
    gradient: Array
    hessian: Array

    @property
    def optimality(self) -> float:
        """Largest entry of the gradient."""
        return float(np.max(np.abs(self.gradient), initial=0.0))


def newton(
    objective: Objective, x0: Array, tol: float, max_iter: int, report: Report | None = None, noise: float = ROUNDING
) -> Result:
    """Minimise objective(x) -> (value, gradient, hessian) from x0; noise is the objective's relative rounding error."""

    def step(s: NewtonState) -> NewtonState | None:
        direction = newton_direction(s.hessian, s.gradient)
        slope = float(s.gradient @ direction)
        length = 1.0
        for _ in range(HALVINGS):
            new = NewtonState(s.x + length * direction, *objective(s.x + length * direction))
            # Near the solution rounding hides the decrease: a smaller gradient is then as good a sign.
            if new.value <= s.value + ENOUGH * length * slope:
                return new
            if new.value <= s.value + noise * (1.0 + abs(s.value)) and new.optimality < s.optimality:
                return new
            length *= 0.5
        return None

    return iterate(NewtonState(x0, *objective(x0)), step, tol, max_iter, report)


def newton_direction(hessian: Array, gradient: Array) -> Array:
    """−H⁻¹g by Cholesky; where H is singular in working precision, the step of least norm."""
    scale = np.sqrt(np.maximum(np.diag(hessian), np.finfo(float).tiny))
    scaled = hessian / scale[:, None] / scale
    factor, failed = linalg.lapack.dpotrf(scaled, lower=1, clean=0)
    if not failed:
        reciprocal, _ = linalg.lapack.dpocon(factor, np.abs(scaled).sum(axis=0).max(), uplo="L")
        if reciprocal > SINGULAR:
            solution, _ = linalg.lapack.dpotrs(factor, -gradient / scale, lower=1)
            return solution / scale
    values, V = linalg.eigh(hessian, check_finite=False)
    keep = values > SINGULAR * max(values[-1], np.finfo(float).tiny)
    return -(V[:, keep] / values[keep]) @ (V[:, keep].T @ gradient)
