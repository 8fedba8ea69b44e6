"""The base of windows (smoothing kernels), radial functions K(u) that weight points, and the volume of balls."""

import math
from typing import ClassVar

import numpy as np
from scipy.special import gammaln

from didact.core.parameters import whole
from didact.core.typing import Array
from didact.core.validation.entrance import entrance
from didact.parts.noun import Noun


@entrance(dimensions=whole(0))
def log_ball(dimensions: int) -> float:
    """The logarithm of the volume of the unit ball, π^(D/2)/Γ(D/2 + 1).

    >>> round(math.exp(log_ball(3)) / math.pi, 6)
    1.333333
    """
    return float(0.5 * dimensions * math.log(math.pi) - gammaln(0.5 * dimensions + 1.0))


class Window(Noun):
    """A radial weight function. Abstract. `reach`: the distance, in bandwidths, beyond which points are ignored."""

    __slots__ = ()
    tails: ClassVar[bool] = False

    def value(self, squares: Array) -> Array:
        """K(u) for an array of u²."""
        raise NotImplementedError

    def log_value(self, squares: Array) -> Array:
        """log K(u) for an array of u²; for windows with tails."""
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
