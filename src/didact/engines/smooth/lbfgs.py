r"""Limited-memory BFGS.

The inverse curvature is a start matrix (the identity, a diagonal, or any positive definite preconditioner) updated by
the last m pairs of steps s and gradient changes y, applied by the two-loop recursion in 4 m p operations. The line
search finds a step that satisfies the Wolfe conditions; near the solution the first trial nearly always does, so that
an iteration costs one pass over the data.

Liu, Nocedal (1989), On the limited memory BFGS method, doi:10.1007/BF01589116.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from didact.core.typing import Array
from didact.engines.loop.iterate import Keep, Report, iterate
from didact.engines.loop.line_search import NOISE, LineSearch, WeakWolfe, add_scaled, inner, largest
from didact.engines.loop.result import Result

Objective = Callable[[Array], tuple[float, Array]]

LBFGS_PAIRS = 10


class _State(NamedTuple):
    x: Array
    value: float
    gradient: Array
    pairs: tuple[tuple[Array, Array, float], ...] = ()

    @property
    def optimality(self) -> float:
        return largest(self.gradient)


def lbfgs(
    objective: Objective,
    x0: Array,
    tol: float,
    max_iter: int,
    report: Report | None = None,
    precondition: Callable[[Array], Array] | None = None,
    noise: float = NOISE,
    search: LineSearch = WeakWolfe(),  # noqa: B008 - an immutable tuple of constants
    memory: int = LBFGS_PAIRS,
    keep: Keep = None,
) -> Result:
    """Minimise objective(x) -> (value, gradient) from x0; precondition(g) applies an approximate inverse curvature."""

    def step(s: _State) -> _State | None:
        direction = -two_loops(s.gradient, s.pairs, precondition)
        slope = inner(s.gradient, direction)
        if not s.pairs and precondition is None and slope < 0:
            direction *= 1.0 / math.sqrt(-slope)  # the first step has length 1
        found = search(objective, s, direction, 1.0, noise) if slope < 0 else None
        if found is None:
            return s._replace(pairs=()) if s.pairs else None
        x, value, gradient = found.point
        moved, change = x - s.x, gradient - s.gradient
        curvature = inner(moved, change)
        pairs = s.pairs
        # Pairs without positive curvature would make the estimate indefinite.
        if curvature > 1e-12 * math.sqrt(inner(moved, moved) * inner(change, change)):
            pairs = (*pairs[len(pairs) + 1 > memory :], (moved, change, 1.0 / curvature))
        return _State(x, value, gradient, pairs)

    return iterate(_State(x0, *objective(x0)), step, tol, max_iter, report, keep)


def two_loops(
    gradient: Array, pairs: tuple[tuple[Array, Array, float], ...], precondition: Callable[[Array], Array] | None
) -> Array:
    """The product of the inverse-curvature estimate with a gradient."""
    q = gradient.copy()
    weights = []
    for moved, change, rho in reversed(pairs):
        a = rho * inner(moved, q)
        q = add_scaled(-a, change, q)
        weights.append(a)
    r = q if precondition is None else precondition(q)
    if pairs:
        _, change, rho = pairs[-1]
        image = change if precondition is None else precondition(change)
        r = r / (rho * inner(change, image))
    for (moved, change, rho), a in zip(pairs, reversed(weights), strict=True):
        r = add_scaled(a - rho * inner(change, r), moved, r)
    return r
