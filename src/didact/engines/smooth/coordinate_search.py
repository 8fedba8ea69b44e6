r"""Coordinate descent, one variable at a time: :math:`x_j \leftarrow \arg\min_t f(x_1,\dots,t,\dots,x_n)`.

Each one-dimensional problem is bracketed and solved by Brent's method; the first trial step is the last change of that
coordinate. A sweep costs some ten evaluations per variable and needs no gradient; the gradient is evaluated once per
sweep, to decide when to stop. Sweeps converge linearly, and fast where variables interact little.

Brent (1973), Algorithms for Minimization without Derivatives, chapter 5; Wright (2015), Coordinate descent algorithms,
doi:10.1007/s10107-015-0892-3.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import optimize

from didact.core.typing import Array
from didact.engines.loop.iterate import Keep, Report, iterate
from didact.engines.loop.line_search import largest
from didact.engines.loop.result import Result

FIRST_STEP = 0.1  # first trial step, as a share of a variable's size
PRECISION = 1e-9  # relative precision of one-dimensional minimisers: about what function values can resolve


class _State(NamedTuple):
    x: Array
    value: float
    gradient: Array
    reach: Array  # first trial step of each coordinate

    @property
    def optimality(self) -> float:
        return largest(self.gradient)


def coordinate_search(
    value: Callable[[Array], float],
    gradient: Callable[[Array], Array],
    x0: Array,
    tol: float,
    max_iter: int,
    report: Report | None = None,
    keep: Keep = None,
) -> Result:
    """Minimise value(x) from x0 by sweeps over the coordinates; the gradient only decides when to stop."""

    def sweep(s: _State) -> _State | None:
        x, best, reach = s.x.copy(), s.value, s.reach.copy()
        for j in range(len(x)):
            before = x[j]
            moved, found = line_minimum(partial(_along, value, x, j), before, reach[j])
            if found < best:
                x[j], best = moved, found
            reach[j] = max(abs(x[j] - before), 0.1 * reach[j], 1e-10 * max(abs(before), 1.0))
        if not best < s.value:
            return None
        return _State(x, best, gradient(x), reach)

    reach = FIRST_STEP * np.maximum(np.abs(x0), 1.0)
    return iterate(_State(x0, value(x0), gradient(x0), reach), sweep, tol, max_iter, report, keep)


def line_minimum(f: Callable[[float], float], start: float, reach: float) -> tuple[float, float]:
    """A local minimum of a function of one variable near the start, and its value."""

    def finite(t: float) -> float:
        value = f(t)
        return math.inf if math.isnan(value) else value

    try:
        low, middle, high, *values = optimize.bracket(finite, start, start + reach, maxiter=60)[:6]
    except RuntimeError:  # no bracket: the function falls without end
        return start, -math.inf
    if -math.inf in values:
        return float((low, middle, high)[values.index(-math.inf)]), -math.inf
    found = optimize.minimize_scalar(finite, bracket=(low, middle, high), tol=PRECISION)
    return float(found.x), float(found.fun)


def _along(value: Callable[[Array], float], x: Array, j: int, t: float) -> float:
    """The value at x with coordinate j replaced by t."""
    moved = x.copy()
    moved[j] = t
    return value(moved)
