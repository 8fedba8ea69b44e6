r"""Coordinate descent, one variable at a time: :math:`x_j \leftarrow \arg\min_t f(x_1,\dots,t,\dots,x_n)`.

Each one-dimensional problem is bracketed and solved by Brent's method, from the length that the last sweep moved in
that coordinate. A sweep costs some ten evaluations per variable and needs no gradient; the gradient is looked at once
a sweep, to tell when to stop. Sweeps converge linearly, fast where variables interact little.

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
PRECISION = 1e-9  # of one-dimensional minimisers: a little above what values can tell


class _State(NamedTuple):
    x: Array
    value: float
    gradient: Array
    reach: Array  # how far each coordinate looks first

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
    """Minimise value(x) from x0 by sweeps over the coordinates; the gradient only says when to stop."""

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
    except RuntimeError:  # no bracket: the function falls on and on
        return start, -math.inf
    if -math.inf in values:
        return float((low, middle, high)[values.index(-math.inf)]), -math.inf
    found = optimize.minimize_scalar(finite, bracket=(low, middle, high), tol=PRECISION)
    return float(found.x), float(found.fun)


def _along(value: Callable[[Array], float], x: Array, j: int, t: float) -> float:
    """The value with t in place of one coordinate."""
    moved = x.copy()
    moved[j] = t
    return value(moved)
