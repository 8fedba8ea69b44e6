"""The beta prime distribution, the predictive of a gamma of unknown rate; a = 1 is the Lomax distribution."""

from typing import NamedTuple

import numpy as np
from scipy import special

from didact.core.typing import AnyArray
from didact.distributions.base import Distribution, require_positive


class _BetaPrime(NamedTuple):
    a: AnyArray
    b: AnyArray
    scale: AnyArray


class BetaPrime(Distribution, _BetaPrime):
    r"""A ratio of two gammas: :math:`p(x) = \frac{1}{s\,B(a,b)}(x/s)^{a-1}(1+x/s)^{-a-b}`, x > 0.

    The predictive of a gamma with known shape a and rate drawn from Gamma(b, s); with a = 1 the Lomax (Pareto II)
    distribution, the predictive of an exponential. Cost O(1).

    References
    ----------
    Johnson, Kotz, Balakrishnan (1995), Continuous Univariate Distributions 2, chapter 25.

    Examples
    --------
    >>> from didact.distributions import BetaPrime
    >>> float(BetaPrime(1.0, 3.0, 4.0).mean)
    2.0
    """

    __slots__ = ()

    def __new__(cls, a: AnyArray, b: AnyArray, scale: AnyArray = 1.0) -> "BetaPrime":
        require_positive(a=a, b=b, scale=scale)
        return super().__new__(cls, a, b, scale)

    def log_prob(self, x: AnyArray) -> AnyArray:
        a, b, s = (np.asarray(v, np.float64) for v in self)
        z = np.asarray(x, np.float64) / s
        with np.errstate(divide="ignore", invalid="ignore"):
            value = special.xlogy(a - 1, z) - (a + b) * np.log1p(z) - special.betaln(a, b) - np.log(s)
        return np.where(z >= 0, value, -np.inf)

    def _draw(self, rng: np.random.Generator, size: tuple[int, ...]) -> AnyArray:
        shape = size + np.broadcast_shapes(*(np.shape(v) for v in self))
        return self.scale * rng.gamma(self.a, size=shape) / rng.gamma(self.b, size=shape)

    @property
    def mean(self) -> AnyArray:
        """s a/(b−1); infinite for b ≤ 1."""
        a, b, s = (np.asarray(v, np.float64) for v in self)
        return np.where(b > 1, s * a / np.where(b > 1, b - 1, 1.0), np.inf)

    @property
    def variance(self) -> AnyArray:
        """s² a(a+b−1)/((b−1)²(b−2)); infinite for b ≤ 2."""
        a, b, s = (np.asarray(v, np.float64) for v in self)
        safe = np.where(b > 2, b, 3.0)
        return np.where(b > 2, s**2 * a * (a + safe - 1) / ((safe - 1) ** 2 * (safe - 2)), np.inf)

    def entropy(self) -> AnyArray:
        a, b, s = (np.asarray(v, np.float64) for v in self)
        up, down, both = special.digamma(a), special.digamma(b), special.digamma(a + b)
        return special.betaln(a, b) + np.log(s) - (a - 1) * (up - down) + (a + b) * (both - down)
