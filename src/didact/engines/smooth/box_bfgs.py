r"""BFGS with a full matrix between bounds, for few variables and values that take long.

The curvature starts from a matrix that the caller knows, such as that of a sample of the rows, and is updated by every
step. Variables at a bound that the gradient pushes outwards stay there; the others take a Newton step, cut at the
bounds and halved (by a parabola) until the value falls enough. Powell's damping keeps the matrix positive definite.
Cost: d³ beside the value and gradient, of which most iterations take one.

Bertsekas (1982), doi:10.1137/0320018; Powell (1978), doi:10.1007/BFb0067703.
"""

import math
from typing import NamedTuple

import numpy as np

from didact.core.typing import Array
from didact.engines.loop.iterate import Report, iterate
from didact.engines.loop.result import Result
from didact.engines.smooth.lbfgs import Objective

ENOUGH = 1e-4  # share of the decrease that the gradient promises
DAMPED = 0.2  # share of the old curvature along a step that the new one has at least
BOX_TRIALS = 20


class _BoxState(NamedTuple):
    x: Array
    value: float
    gradient: Array
    curvature: Array
    bounds: Array
    longest: float
    decrease: float = math.inf  # that of the last step, if it was not shortened

    @property
    def optimality(self) -> float:
        """The decrease that the last step brought, or that the next one promises, relative to the value."""
        return min(self.decrease, -0.5 * float(self.gradient @ self.direction())) / max(abs(self.value), 1.0)

    def direction(self) -> Array:
        """The Newton step of the variables that are free to move, at most `longest` in each."""
        low, high = self.bounds.T
        free = np.flatnonzero(~((self.x <= low) & (self.gradient > 0) | (self.x >= high) & (self.gradient < 0)))
        step = np.zeros_like(self.x)
        if len(free):
            step[free] = -np.linalg.solve(self.curvature[np.ix_(free, free)], self.gradient[free])
        size = np.abs(step).max()
        return step * (self.longest / size) if size > self.longest else step


def box_bfgs(
    objective: Objective,
    x0: Array,
    bounds: Array,
    curvature: Array,
    tol: float,
    max_iter: int,
    longest: float = math.inf,
    report: Report | None = None,
) -> Result:
    """Minimise objective(x) -> (value, gradient) with bounds (d, 2), from a positive definite curvature at x0.

    It ends where a step lowers the value, or promises to, by at most tol·max(|value|, 1).
    """
    x0 = np.clip(x0, *bounds.T)
    value, slope = objective(x0)
    start = _BoxState(x=x0, value=value, gradient=slope, curvature=curvature, bounds=bounds, longest=longest)
    return iterate(start, lambda s: _box_step(objective, s), tol, max_iter, report)


def _box_step(objective: Objective, s: _BoxState) -> _BoxState | None:
    direction, share = s.direction(), 1.0
    for _ in range(BOX_TRIALS):
        x = np.clip(s.x + share * direction, *s.bounds.T)
        value, gradient = objective(x)
        moved = x - s.x
        promised = float(s.gradient @ moved)
        if value <= s.value + ENOUGH * promised:
            B = bfgs_update(s.curvature, moved, gradient - s.gradient)
            return s._replace(
                x=x,
                value=value,
                gradient=gradient,
                curvature=B,
                decrease=s.value - value if share == 1.0 else math.inf,
            )
        bend = value - s.value - promised
        share *= min(max(-0.5 * promised / bend, 0.1), 0.5) if math.isfinite(bend) and bend > 0 else 0.1
    return None


def bfgs_update(B: Array, moved: Array, change: Array) -> Array:
    """The curvature that agrees with the change of the gradient along a step, damped."""
    image = B @ moved
    old, new = float(moved @ image), float(moved @ change)
    if new < DAMPED * old:
        mix = (1.0 - DAMPED) * old / (old - new)
        change = mix * change + (1.0 - mix) * image
        new = float(moved @ change)
    if not (old > 0 and new > 0):
        return B
    return B - np.outer(image, image) / old + np.outer(change, change) / new
