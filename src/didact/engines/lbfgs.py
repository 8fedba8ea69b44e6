r"""Limited-memory BFGS.

The inverse curvature is a start matrix (the identity, a diagonal, or any positive definite preconditioner) updated by
the last m pairs of steps s and gradient changes y, applied by the two-loop recursion in 4 m p operations. The line
search brackets a step that satisfies the weak Wolfe conditions; near the solution the first trial nearly always does,
so an iteration costs one pass over the data.

Liu, Nocedal (1989), On the limited memory BFGS method, doi:10.1007/BF01589116;
Lewis, Overton (2013), Nonsmooth optimization via quasi-Newton methods, doi:10.1007/s10107-012-0514-2.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from didact.engines.loop import Report, iterate
from didact.engines.newton import ROUNDING
from didact.engines.result import Result

Array = np.ndarray[Any, Any]
Objective = Callable[[Array], tuple[float, Array]]

MEMORY = 10
DECREASE, CURVATURE = 1e-4, 0.9
TRIALS = 40


class _State(NamedTuple):
    x: Array
    value: float
    gradient: Array
    pairs: tuple[tuple[Array, Array, float], ...] = ()

    @property
    def optimality(self) -> float:
        return float(np.max(np.abs(self.gradient), initial=0.0))


def lbfgs(
    objective: Objective,
    x0: Array,
    tol: float,
    max_iter: int,
    report: Report | None = None,
    precondition: Callable[[Array], Array] | None = None,
    noise: float = ROUNDING,
) -> Result:
    """Minimise objective(x) -> (value, gradient) from x0; precondition(g) applies an approximate inverse curvature."""

    def step(s: _State) -> _State | None:
        direction = -two_loops(s.gradient, s.pairs, precondition)
        slope = inner(s.gradient, direction)
        if not s.pairs and precondition is None:
            direction *= 1.0 / max(1.0, math.sqrt(inner(s.gradient, s.gradient)))
            slope = inner(s.gradient, direction)
        if slope >= 0:
            return s._replace(pairs=()) if s.pairs else None
        found = wolfe(objective, s.x, direction, s.value, slope, noise)
        if found is None:
            return s._replace(pairs=()) if s.pairs else None
        x, value, gradient = found
        moved, change = x - s.x, gradient - s.gradient
        curvature = inner(moved, change)
        pairs = s.pairs
        if curvature > 1e-12 * math.sqrt(inner(moved, moved) * inner(change, change)):
            pairs = (*pairs[-(MEMORY - 1) :], (moved, change, 1.0 / curvature))
        return _State(x, value, gradient, pairs)

    return iterate(_State(x0, *objective(x0)), step, tol, max_iter, report)


def inner(a: Array, b: Array) -> float:
    """aᵀb on this thread: BLAS would wake all its threads for microseconds of work, and wait for them."""
    return float(np.einsum("i,i->", a, b))


def two_loops(
    gradient: Array, pairs: tuple[tuple[Array, Array, float], ...], precondition: Callable[[Array], Array] | None
) -> Array:
    """The product of the inverse-curvature estimate with a gradient."""
    q = gradient.copy()
    weights = []
    for moved, change, rho in reversed(pairs):
        a = rho * inner(moved, q)
        q -= a * change
        weights.append(a)
    r = q if precondition is None else precondition(q)
    if pairs:
        _, change, rho = pairs[-1]
        image = change if precondition is None else precondition(change)
        r = r / (rho * inner(change, image))
    for (moved, change, rho), a in zip(pairs, reversed(weights), strict=True):
        r = r + (a - rho * inner(change, r)) * moved
    return r


def wolfe(
    objective: Objective, x: Array, direction: Array, value: float, slope: float, noise: float = ROUNDING
) -> tuple[Array, float, Array] | None:
    """A point along the direction that satisfies the weak Wolfe conditions, by bisection; None if none is found."""
    low, high, length = 0.0, np.inf, 1.0
    best = None
    noise *= 1.0 + abs(value)
    for _ in range(TRIALS):
        point = x + length * direction
        new, gradient = objective(point)
        if not np.isfinite(new) or new > value + DECREASE * length * slope + noise:
            high = length
        elif inner(gradient, direction) < CURVATURE * slope:
            low, best = length, (point, new, gradient)
        else:
            return point, new, gradient
        length = 0.5 * (low + high) if np.isfinite(high) else 2.0 * low
    return best
