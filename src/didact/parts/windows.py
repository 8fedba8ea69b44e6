r"""Windows: radial kernels K(u) by which the points around a place count, for densities and smoothers.

A window knows its value as a function of u², in arrays (`value`) and in loops (`value1`); the logarithm of its integral
over D dimensions; and how to draw offsets from the density that it is when divided by that integral. Values are at most
1, at u = 0. A window with `tails` is positive everywhere, and its values can be taken relative to that at the nearest
point, K(u)/K(u₀): far from all points the plain ones are zero in floating point, these are not.

Silverman (1986), Density estimation for statistics and data analysis, doi:10.1007/978-1-4899-3324-9.
"""

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import betaln, gammaln

from didact.parts.exp_loops import exp1
from didact.parts.noun import Noun

Array = np.ndarray[Any, Any]


def log_ball(dimensions: int) -> float:
    """The logarithm of the volume of the unit ball, π^(D/2)/Γ(D/2 + 1).

    >>> round(math.exp(log_ball(3)) / math.pi, 6)
    1.333333
    """
    return float(0.5 * dimensions * math.log(math.pi) - gammaln(0.5 * dimensions + 1.0))


class Window(Noun):
    """A radial kernel. Abstract. `reach`: how far, in bandwidths, points count at all."""

    __slots__ = ()
    tails: ClassVar[bool] = False

    def value(self, squares: Array) -> Array:
        """K(u) for an array of u²."""
        raise NotImplementedError

    def log_value(self, squares: Array) -> Array:
        """log K(u) for an array of u², of a window with tails."""
        raise NotImplementedError

    def value1(self, square: float, nearest: float) -> float:
        """K(u) for u²; relative to K at u² = nearest, if the window has tails."""
        raise NotImplementedError

    def log_integral(self, dimensions: int) -> float:
        """The logarithm of the integral of K over D dimensions."""
        raise NotImplementedError

    def radii(self, rng: np.random.Generator, count: int, dimensions: int) -> Array:
        """Lengths of offsets drawn from the density K(u)/∫K."""
        raise NotImplementedError

    def offsets(self, rng: np.random.Generator, count: int, dimensions: int) -> Array:
        """Offsets drawn from the density K(u)/∫K: a direction and a length."""
        direction = rng.standard_normal((count, dimensions))
        length = np.sqrt((direction * direction).sum(axis=1))
        return direction * (self.radii(rng, count, dimensions) / length)[:, None]


class _Reach(NamedTuple):
    reach: float = 1.0


class Gaussian(Window, NamedTuple("Gaussian", [("reach", float)])):
    """exp(−u²/2).

    >>> round(float(Gaussian().value(np.asarray(2 * math.log(2)))), 6)
    0.5
    """

    __slots__ = ()
    tails = True

    def __new__(cls, reach: float = 8.5) -> "Gaussian":
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
        """The same by distances."""
        return math.exp(0.5 * (nearest * nearest - u * u))

    def log_integral(self, dimensions: int) -> float:
        """(2π)^(D/2)."""
        return 0.5 * dimensions * math.log(2.0 * math.pi)

    def radii(self, rng: np.random.Generator, count: int, dimensions: int) -> Array:
        """Lengths of normal vectors."""
        return np.sqrt(rng.chisquare(dimensions, count))


class Exponential(Window, NamedTuple("Exponential", [("reach", float)])):
    """exp(−u).

    >>> round(float(Exponential().value(np.asarray(math.log(2) ** 2))), 6)
    0.5
    """

    __slots__ = ()
    tails = True

    def __new__(cls, reach: float = 37.0) -> "Exponential":
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
        """Gamma-distributed."""
        return rng.gamma(dimensions, size=count)


class Tophat(Window, _Reach):
    """1 for u < 1: the uniform window.

    >>> Tophat().value(np.asarray([0.0, 0.9, 1.0])).tolist()
    [1.0, 1.0, 0.0]
    """

    __slots__ = ()

    def value(self, squares: Array) -> Array:
        """1 inside."""
        return (squares < 1.0).astype(np.float64)

    def value1(self, square: float, nearest: float) -> float:
        """1 inside."""
        return 1.0 if square < 1.0 else 0.0

    def log_integral(self, dimensions: int) -> float:
        """The volume of the unit ball."""
        return log_ball(dimensions)

    def radii(self, rng: np.random.Generator, count: int, dimensions: int) -> Array:
        """Uniform in the ball."""
        return rng.uniform(size=count) ** (1.0 / dimensions)


class Epanechnikov(Window, _Reach):
    """1 − u² for u < 1 (doi:10.1137/1114019).

    >>> Epanechnikov().value(np.asarray([0.0, 0.25, 2.0])).tolist()
    [1.0, 0.75, 0.0]
    """

    __slots__ = ()

    def value(self, squares: Array) -> Array:
        """1 − u² inside."""
        return np.maximum(1.0 - squares, 0.0)

    def value1(self, square: float, nearest: float) -> float:
        """1 − u² inside."""
        return max(1.0 - square, 0.0)

    def log_integral(self, dimensions: int) -> float:
        """2/(D + 2) of the ball."""
        return log_ball(dimensions) + math.log(2.0 / (dimensions + 2.0))

    def radii(self, rng: np.random.Generator, count: int, dimensions: int) -> Array:
        """u² is beta-distributed."""
        return np.sqrt(rng.beta(0.5 * dimensions, 2.0, count))


class Linear(Window, _Reach):
    """1 − u for u < 1.

    >>> Linear().value(np.asarray([0.0, 0.25, 2.0])).tolist()
    [1.0, 0.5, 0.0]
    """

    __slots__ = ()

    def value(self, squares: Array) -> Array:
        """1 − u inside."""
        return np.maximum(1.0 - np.sqrt(squares), 0.0)

    def value1(self, square: float, nearest: float) -> float:
        """1 − u inside."""
        return max(1.0 - math.sqrt(square), 0.0)

    def log_integral(self, dimensions: int) -> float:
        """1/(D + 1) of the ball."""
        return log_ball(dimensions) - math.log(dimensions + 1.0)

    def radii(self, rng: np.random.Generator, count: int, dimensions: int) -> Array:
        """Beta-distributed."""
        return rng.beta(dimensions, 2.0, count)


class Cosine(Window, _Reach):
    """cos(πu/2) for u < 1.

    >>> Cosine().value(np.asarray([0.0, 1.0])).round(9).tolist()
    [1.0, 0.0]
    """

    __slots__ = ()

    def value(self, squares: Array) -> Array:
        """cos(πu/2) inside."""
        return np.where(squares < 1.0, np.cos(0.5 * math.pi * np.sqrt(np.minimum(squares, 1.0))), 0.0)

    def value1(self, square: float, nearest: float) -> float:
        """cos(πu/2) inside."""
        return math.cos(0.5 * math.pi * math.sqrt(square)) if square < 1.0 else 0.0

    def log_integral(self, dimensions: int) -> float:
        """By Gauss's quadrature along the radius: exact to the last digits, as the integrand is smooth."""
        node, weight = np.polynomial.legendre.leggauss(20 + dimensions)
        r = 0.5 * (node + 1.0)
        mean = 0.5 * float(weight @ (np.cos(0.5 * math.pi * r) * r ** (dimensions - 1)))
        return log_ball(dimensions) + math.log(dimensions * mean)

    def radii(self, rng: np.random.Generator, count: int, dimensions: int) -> Array:
        """By rejection from Epanechnikov's window, which lies above: more than three in four stay."""
        kept = np.empty(0)
        while len(kept) < count:
            r = np.sqrt(rng.beta(0.5 * dimensions, 2.0, 2 * (count - len(kept)) + 8))
            stay = rng.uniform(size=len(r)) * (1.0 - r * r) < np.cos(0.5 * math.pi * r)
            kept = np.concatenate([kept, r[stay]])
        return kept[:count]


class Tricube(Window, _Reach):
    """(1 − u³)³ for u < 1 (doi:10.1080/01621459.1979.10481038).

    >>> Tricube().value(np.asarray([0.0, 1.0])).tolist()
    [1.0, 0.0]
    """

    __slots__ = ()

    def value(self, squares: Array) -> Array:
        """(1 − u³)³ inside."""
        return np.maximum(1.0 - squares * np.sqrt(squares), 0.0) ** 3

    def value1(self, square: float, nearest: float) -> float:
        """(1 − u³)³ inside."""
        t = max(1.0 - square * math.sqrt(square), 0.0)
        return t * t * t

    def weight1(self, u: float, nearest: float) -> float:
        """The same by distances below 1."""
        t = 1.0 - u * u * u
        return t * t * t

    def log_integral(self, dimensions: int) -> float:
        """D/3 · B(D/3, 4) of the ball."""
        return log_ball(dimensions) + math.log(dimensions / 3.0) + float(betaln(dimensions / 3.0, 4.0))

    def radii(self, rng: np.random.Generator, count: int, dimensions: int) -> Array:
        """u³ is beta-distributed."""
        return rng.beta(dimensions / 3.0, 4.0, count) ** (1.0 / 3.0)


class Nearest(Window, _Reach):
    """1 for the nearest point and all that are as near: what a smoother falls back on where its window is empty.

    >>> Nearest().value1(4.0, 4.0), Nearest().value1(5.0, 4.0)
    (1.0, 0.0)
    """

    __slots__ = ()

    def value1(self, square: float, nearest: float) -> float:
        """1 up to the nearest, with some room for rounding."""
        return 1.0 if square <= nearest * (1.0 + 1e-12) else 0.0


WINDOWS: dict[str, Any] = {
    "gaussian": Gaussian(),
    "tophat": Tophat(),
    "epanechnikov": Epanechnikov(),
    "exponential": Exponential(),
    "linear": Linear(),
    "cosine": Cosine(),
    "tricube": Tricube(),
}
