r"""Windows (smoothing kernels): radial functions K(u) that weight points by distance, for densities and smoothers.

A window defines its value as a function of u², in arrays (`value`) and in loops (`value1`); the logarithm of its
integral over D dimensions; and random offsets from the density K/∫K. Values are at most 1, at u = 0. A window with
`tails` is positive everywhere. Its values can be taken relative to that of the nearest point, K(u)/K(u₀), which do not
underflow to zero far from all points as the plain values do.

Silverman (1986), Density estimation for statistics and data analysis, doi:10.1007/978-1-4899-3324-9.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from didact.core.typing import Array
from didact.parts.exp_loops import exp1
from didact.parts.windows.base import Window, log_ball
from didact.parts.windows.compact import CosineWindow, Epanechnikov, Linear, Nearest, Tophat, Tricube

__all__ = [
    "WINDOWS",
    "CosineWindow",
    "Epanechnikov",
    "ExponentialWindow",
    "GaussianWindow",
    "Linear",
    "Nearest",
    "Tophat",
    "Tricube",
    "Window",
    "log_ball",
]


class GaussianWindow(Window, NamedTuple("GaussianWindow", [("reach", float)])):
    """exp(−u²/2).

    >>> round(float(GaussianWindow().value(np.asarray(2 * math.log(2)))), 6)
    0.5
    """

    __slots__ = ()
    tails = True

    def __new__(cls, reach: float = 8.5) -> "GaussianWindow":
        """The default reach leaves out what is less than 1e-16 of the nearest point's value."""
        return super().__new__(cls, reach)

    def value(self, squares: Array) -> Array:
        """exp(−u²/2)."""
        return np.exp(-0.5 * squares)

    def log_value(self, squares: Array) -> Array:
        """−u²/2."""
        return -0.5 * squares

    def value1(self, square: float, nearest: float) -> float:
        """exp(−(u² − u₀²)/2)."""
        return exp1(0.5 * (nearest - square))

    def weight1(self, u: float, nearest: float) -> float:
        """exp(−(u² − u₀²)/2), as a function of the distances u and u₀."""
        return math.exp(0.5 * (nearest * nearest - u * u))

    def log_integral(self, dimensions: int) -> float:
        """(2π)^(D/2)."""
        return 0.5 * dimensions * math.log(2.0 * math.pi)

    def radii(self, rng: np.random.Generator, count: int, dimensions: int) -> Array:
        """Lengths of standard normal vectors."""
        return np.sqrt(rng.chisquare(dimensions, count))


class ExponentialWindow(Window, NamedTuple("ExponentialWindow", [("reach", float)])):
    """exp(−u).

    >>> round(float(ExponentialWindow().value(np.asarray(math.log(2) ** 2))), 6)
    0.5
    """

    __slots__ = ()
    tails = True

    def __new__(cls, reach: float = 37.0) -> "ExponentialWindow":
        """The default reach leaves out what is less than 1e-16 of the nearest point's value."""
        return super().__new__(cls, reach)

    def value(self, squares: Array) -> Array:
        """exp(−u)."""
        return np.exp(-np.sqrt(squares))

    def log_value(self, squares: Array) -> Array:
        """−u."""
        return -np.sqrt(squares)

    def value1(self, square: float, nearest: float) -> float:
        """exp(−(u − u₀))."""
        return exp1(math.sqrt(nearest) - math.sqrt(square))

    def log_integral(self, dimensions: int) -> float:
        """The surface of the unit sphere times Γ(D)."""
        return log_ball(dimensions) + math.log(dimensions) + float(gammaln(dimensions))

    def radii(self, rng: np.random.Generator, count: int, dimensions: int) -> Array:
        """Gamma-distributed lengths with shape D."""
        return rng.gamma(dimensions, size=count)


WINDOWS: dict[str, Any] = {
    "gaussian": GaussianWindow(),
    "tophat": Tophat(),
    "epanechnikov": Epanechnikov(),
    "exponential": ExponentialWindow(),
    "linear": Linear(),
    "cosine": CosineWindow(),
    "tricube": Tricube(),
}
