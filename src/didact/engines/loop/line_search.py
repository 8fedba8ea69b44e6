r"""Line searches: step lengths along a descent direction d from x, with :math:`\varphi(a) = f(x + ad)`.

* `Fixed`: a given length, accepted without a test;
* `Armijo`: shorten until :math:`\varphi(a) \le \varphi(0) + c_1 a\varphi'(0)`;
* `WeakWolfe`: bisect until also :math:`\varphi'(a) \ge c_2\varphi'(0)`, which a quasi-Newton update needs;
* `StrongWolfe`: interpolate by cubics until also :math:`|\varphi'(a)| \le c_2|\varphi'(0)|`, which conjugate gradients
  need, with :math:`c_1 < c_2 < \tfrac12`.

A search is a NamedTuple of its constants, called with the objective, the state it starts from (x, value, gradient),
the direction and the first length to try. Near a solution rounding hides the decrease, so all of them accept an
increase within the rounding error of the objective.

Nocedal, Wright (2006), Numerical Optimization, chapter 3, doi:10.1007/978-0-387-40065-5;
Lewis, Overton (2013), Nonsmooth optimization via quasi-Newton methods, doi:10.1007/s10107-012-0514-2.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.linalg.blas import daxpy, ddot

from didact.core.typing import Array

AnyObjective = Callable[[Array], tuple[Any, ...]]

DECREASE, CURVATURE = 1e-4, 0.9
NOISE = 8 * float(np.finfo(float).eps)
SEARCH_TRIALS = 40
LONGER_TRIALS = 15  # trials after which steps grow by factors of 10, 100, …
WIDE_INTERVAL = 100.0  # ratio of the ends of an interval above which it is bisected on a logarithmic scale
SERIAL = 10_000  # entries up to which BLAS runs on one thread


class Point(Protocol):
    """The point from which a line search starts."""

    @property
    def x(self) -> Array:
        """The point."""
        ...

    @property
    def value(self) -> float:
        """The objective there."""
        ...

    @property
    def gradient(self) -> Array:
        """Its gradient there."""
        ...


class Step(NamedTuple):
    """The result of a line search: the length, and the point with all that the objective returned there."""

    length: float
    point: tuple[Any, ...]  # x, value, gradient, …


class LineSearch(Protocol):
    """A rule for the length of a step; returns None when it finds no acceptable length."""

    def __call__(
        self, objective: AnyObjective, start: Point, direction: Array, length: float = 1.0, noise: float = NOISE
    ) -> Step | None:
        """Search from the start along the direction, trying `length` first."""
        ...


def inner(a: Array, b: Array) -> float:
    """aᵀb on one thread: for long vectors BLAS would start all its threads for microseconds of work."""
    return float(ddot(a, b)) if a.size <= SERIAL else float(np.einsum("i,i->", a, b))


def add_scaled(a: float, y: Array, x: Array) -> Array:
    """x + a·y, in place where x is a float64 array."""
    if x.size <= SERIAL:
        return np.asarray(daxpy(y, x, a=a))
    x += a * y
    return x


def largest(x: Array) -> float:
    """The largest absolute value."""
    return float(np.abs(x).max()) if x.size else 0.0


class Fixed(NamedTuple):
    """A fixed multiple of every direction, without a test of the objective.

    >>> from didact.optimize import Fixed, minimize
    >>> result = minimize(lambda x: (x - 3) @ (x - 3), [0.0], method="gradient", line_search=Fixed(0.25))
    >>> result.x.round(3)
    array([3.])
    """

    step: float

    def __call__(
        self, objective: AnyObjective, start: Point, direction: Array, length: float = 1.0, noise: float = NOISE
    ) -> Step | None:
        """The point at the fixed step length."""
        point = start.x + self.step * direction
        return Step(self.step, (point, *objective(point)))


class Armijo(NamedTuple):
    """Backtracking: shorten the step until the objective falls by a given share of what the slope predicts.

    >>> from didact.optimize import Armijo, minimize
    >>> result = minimize(lambda x: (x - 3) @ (x - 3), [0.0], method="gradient", line_search=Armijo())
    >>> result.x.round(3)
    array([3.])
    """

    decrease: float = DECREASE
    shrink: float = 0.5
    trials: int = 30

    def __call__(
        self, objective: AnyObjective, start: Point, direction: Array, length: float = 1.0, noise: float = NOISE
    ) -> Step | None:
        """The first trial point with a sufficient decrease."""
        value, slope = start.value, inner(start.gradient, direction)
        for _ in range(self.trials):
            point = start.x + length * direction
            found = (point, *objective(point))
            if found[1] <= value + self.decrease * length * slope:
                return Step(length, found)
            # Near the solution rounding hides the decrease: a smaller gradient is then accepted as a sign of progress.
            if found[1] <= value + noise * (1.0 + abs(value)) and largest(found[2]) < largest(start.gradient):
                return Step(length, found)
            length *= self.shrink
        return None


class WeakWolfe(NamedTuple):
    """Bisection to a step with a sufficient decrease at which the slope has risen enough (weak Wolfe conditions).

    >>> from didact.optimize import WeakWolfe, minimize
    >>> result = minimize(lambda x: (x - 3) @ (x - 3), [0.0], method="gradient", line_search=WeakWolfe())
    >>> result.x.round(3)
    array([3.])
    """

    decrease: float = DECREASE
    curvature: float = CURVATURE
    trials: int = SEARCH_TRIALS

    def __call__(
        self, objective: AnyObjective, start: Point, direction: Array, length: float = 1.0, noise: float = NOISE
    ) -> Step | None:
        """A point that satisfies the weak Wolfe conditions, else the farthest with a sufficient decrease."""
        low, high = 0.0, math.inf
        value, slope = start.value, inner(start.gradient, direction)
        noise *= 1.0 + abs(value)
        best = None
        for trial in range(self.trials):
            point = start.x + length * direction
            found = (point, *objective(point))
            if not found[1] <= value + self.decrease * length * slope + noise:  # also when it is not a number
                high = length
            elif inner(found[2], direction) < self.curvature * slope:
                low, best = length, Step(length, found)
            else:
                return Step(length, found)
            if found[1] == -math.inf:
                break
            length = _halfway(low, high) if high < math.inf else _longer(low, trial, 2.0)
        return best


class _End(NamedTuple):
    """One end of an interval of lengths, with value and slope of the objective."""

    length: float
    value: float
    slope: float


class StrongWolfe(NamedTuple):
    """Safeguarded cubic interpolation to a step at which the slope is nearly zero (strong Wolfe conditions).

    >>> from didact.optimize import StrongWolfe, minimize
    >>> result = minimize(lambda x: (x - 3) @ (x - 3), [0.0], method="gradient", line_search=StrongWolfe())
    >>> result.x.round(3)
    array([3.])
    """

    decrease: float = DECREASE
    curvature: float = CURVATURE
    trials: int = SEARCH_TRIALS

    def __call__(
        self, objective: AnyObjective, start: Point, direction: Array, length: float = 1.0, noise: float = NOISE
    ) -> Step | None:
        """A point that satisfies the strong Wolfe conditions, else the lowest with a sufficient decrease."""
        low: _End = _End(0.0, start.value, inner(start.gradient, direction))
        high: _End | None = None
        origin, best = low, None
        noise *= 1.0 + abs(origin.value)
        for trial in range(self.trials):
            point = start.x + length * direction
            found = (point, *objective(point))
            new = _End(length, found[1], inner(found[2], direction))
            falls = new.value <= origin.value + self.decrease * length * origin.slope + noise
            if falls and abs(new.slope) <= -self.curvature * origin.slope:
                return Step(length, found)
            # Between low, the best point so far, and high lies a minimum of φ: replace the end that keeps it inside.
            if not falls or new.value > low.value + noise or math.isnan(new.slope):
                high = new
            else:
                if (high is None and new.slope >= 0) or (high and new.slope * (high.length - low.length) >= 0):
                    high = low
                low, best = new, Step(length, found)
            if new.value == -math.inf:
                break
            length = _longer(low.length, trial, 2.5) if high is None else _between(low, high)
        return best if best is not None and best.point[1] < origin.value else None


def _longer(low: float, trial: int, factor: float) -> float:
    """A longer trial step while φ still falls; after many trials by growing factors, to detect unbounded objectives."""
    return low * (factor if trial <= LONGER_TRIALS else 10.0 ** (trial - LONGER_TRIALS))


def _halfway(low: float, high: float) -> float:
    """The midpoint; the geometric mean if the ends differ by orders of magnitude."""
    return math.sqrt(low) * math.sqrt(high) if 0 < WIDE_INTERVAL * low < high else 0.5 * (low + high)


def _between(low: _End, high: _End) -> float:
    """The minimiser of the cubic through both ends, kept away from the ends themselves."""
    width = high.length - low.length
    if low.length > 0 and high.length > WIDE_INTERVAL * low.length:
        return _halfway(low.length, high.length)
    if math.isfinite(high.value) and math.isfinite(high.slope):
        d = low.slope + high.slope - 3.0 * (high.value - low.value) / width
        root = math.sqrt(max(d * d - low.slope * high.slope, 0.0)) * math.copysign(1.0, width)
        below = high.slope - low.slope + 2.0 * root
        share = 1.0 - (high.slope + root - d) / below if below else 0.5
    else:
        share = 0.5
    return low.length + min(max(share, 0.1), 0.9) * width
