r"""Descent along (scaled) gradients: :math:`x \leftarrow x - a\,S\nabla f(x)` with the length a from a line search.

S is the identity (steepest descent) or diagonal, for instance :math:`1/(|h_j|+\mu)` with the diagonal h of the Hessian:
a step size for each variable. For a quadratic with eigenvalues between m and L each step of fixed length γ multiplies
the distance of the value from its minimum by at most :math:`\max(|1-\gamma m|, |1-\gamma L|)^2`; the best γ = 2/(m + L)
gives :math:`((Q-1)/(Q+1))^2` with Q = L/m.

Nocedal, Wright (2006), Numerical Optimization, chapter 3, doi:10.1007/978-0-387-40065-5;
Becker, LeCun (1989), Improving the convergence of back-propagation learning with second order methods.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from didact.core.typing import Array
from didact.engines.loop.iterate import Keep, Report, iterate
from didact.engines.loop.line_search import NOISE, Armijo, LineSearch, inner, largest
from didact.engines.loop.result import Result

Objective = Callable[[Array], tuple[float, Array]]

STEP_GROWTH = 2.0  # how much longer the first trial is than the last step


class _State(NamedTuple):
    x: Array
    value: float
    gradient: Array
    length: float = 0.0  # to try first

    @property
    def optimality(self) -> float:
        return largest(self.gradient)


def gradient_descent(
    objective: Objective,
    x0: Array,
    tol: float,
    max_iter: int,
    report: Report | None = None,
    search: LineSearch = Armijo(),  # noqa: B008 - an immutable tuple of constants
    scale: Callable[[Array], Array] | None = None,
    noise: float = NOISE,
    keep: Keep = None,
) -> Result:
    """Minimise objective(x) -> (value, gradient) from x0; scale(x) > 0 multiplies the gradient's entries at x."""

    def step(s: _State) -> _State | None:
        direction = -s.gradient if scale is None else -scale(s.x) * s.gradient
        first = s.length or 1.0 / math.sqrt(inner(direction, direction) or 1.0)
        found = search(objective, s, direction, 1.0 if scale is not None else first, noise)
        if found is None:
            return None
        x, value, gradient = found.point
        # A search that can only shorten must be offered more than the last length, or it would never grow.
        return _State(x, value, gradient, STEP_GROWTH * found.length)

    return iterate(_State(x0, *objective(x0)), step, tol, max_iter, report, keep)


class Spectrum(NamedTuple):
    """The extreme curvatures of a quadratic, and the rates of steps of fixed length that follow from them."""

    least: float
    most: float

    @property
    def best_step(self) -> float:
        """2/(m + L)."""
        return 2.0 / (self.least + self.most)

    def rate(self, step: float) -> float:
        """The factor by which each step of gradient descent reduces the distance of the value from its minimum."""
        return max(abs(1.0 - step * self.least), abs(1.0 - step * self.most)) ** 2

    @property
    def best_momentum(self) -> tuple[float, float]:
        """Polyak's step and decay for the heavy ball: 4/(√m + √L)² and ((√Q − 1)/(√Q + 1))²."""
        m, L = math.sqrt(self.least), math.sqrt(self.most)
        return 4.0 / (m + L) ** 2, ((L - m) / (L + m)) ** 2


def spectrum(hessian: Array) -> Spectrum:
    """Smallest and largest eigenvalue of a symmetric matrix."""
    values = np.linalg.eigvalsh(hessian)
    return Spectrum(float(values[0]), float(values[-1]))
