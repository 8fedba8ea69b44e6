"""Windows with compact support: tophat (uniform), Epanechnikov, linear, cosine, tricube; zero for u ≥ 1."""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import betaln

from didact.core.typing import Array
from didact.parts.windows.base import Window, log_ball


class _Reach(NamedTuple):
    reach: float = 1.0


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
        """2/(D + 2) of the volume of the unit ball."""
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
        """1/(D + 1) of the volume of the unit ball."""
        return log_ball(dimensions) - math.log(dimensions + 1.0)

    def radii(self, rng: np.random.Generator, count: int, dimensions: int) -> Array:
        """u is beta-distributed."""
        return rng.beta(dimensions, 2.0, count)


class CosineWindow(Window, _Reach):
    """cos(πu/2) for u < 1.

    >>> CosineWindow().value(np.asarray([0.0, 1.0])).round(9).tolist()
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
        """By Gaussian quadrature along the radius, which is exact to the last digits as the integrand is smooth."""
        node, weight = np.polynomial.legendre.leggauss(20 + dimensions)
        r = 0.5 * (node + 1.0)
        mean = 0.5 * float(weight @ (np.cos(0.5 * math.pi * r) * r ** (dimensions - 1)))
        return log_ball(dimensions) + math.log(dimensions * mean)

    def radii(self, rng: np.random.Generator, count: int, dimensions: int) -> Array:
        """By rejection sampling from Epanechnikov's window, which lies above: more than three in four are accepted."""
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
        """(1 − u³)³ as a function of the distance u < 1."""
        t = 1.0 - u * u * u
        return t * t * t

    def log_integral(self, dimensions: int) -> float:
        """D/3 · B(D/3, 4) of the volume of the unit ball."""
        return log_ball(dimensions) + math.log(dimensions / 3.0) + float(betaln(dimensions / 3.0, 4.0))

    def radii(self, rng: np.random.Generator, count: int, dimensions: int) -> Array:
        """u³ is beta-distributed."""
        return rng.beta(dimensions / 3.0, 4.0, count) ** (1.0 / 3.0)


class Nearest(Window, _Reach):
    """1 for the nearest point and all that are as near: the fallback of a smoother whose window is empty.

    >>> Nearest().value1(4.0, 4.0), Nearest().value1(5.0, 4.0)
    (1.0, 0.0)
    """

    __slots__ = ()

    def value1(self, square: float, nearest: float) -> float:
        """1 up to the distance of the nearest point, with a margin for rounding."""
        return 1.0 if square <= nearest * (1.0 + 1e-12) else 0.0
