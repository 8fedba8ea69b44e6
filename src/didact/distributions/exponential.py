"""The exponential distribution: a gamma of shape 1."""

from typing import Any, NamedTuple

import numpy as np

from didact.core.errors import InputError
from didact.core.typing import AnyArray
from didact.distributions.base import Distribution, Weighted, checked, conjugate, require_positive
from didact.distributions.beta_prime import BetaPrime
from didact.distributions.positive import Gamma


class _Exponential(NamedTuple):
    rate: AnyArray


class Exponential(Distribution, _Exponential):
    r"""The time to the next event at a constant rate: :math:`p(x) = re^{-rx}`, x ≥ 0.

    η = −r, T = x, :math:`a = -\log(-\eta)`. Conjugate prior: :class:`Gamma`; the predictive is a :class:`BetaPrime`
    with a = 1 (Lomax). Cost O(n).

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, doi:10.1201/b16018.

    Examples
    --------
    >>> from didact.distributions import Exponential
    >>> float(Exponential.fit([1.0, 3.0]).rate)
    0.5
    """

    __slots__ = ()

    def __new__(cls, rate: AnyArray) -> "Exponential":
        require_positive(rate=rate)
        return super().__new__(cls, rate)

    def log_prob(self, x: AnyArray) -> AnyArray:
        x, r = np.asarray(x, np.float64), np.asarray(self.rate, np.float64)
        return np.where(x >= 0, np.log(r) - r * x, -np.inf)

    def _draw(self, rng: np.random.Generator, size: tuple[int, ...]) -> AnyArray:
        return rng.exponential(1.0, size + np.shape(self.rate)) / self.rate

    @property
    def mean(self) -> AnyArray:
        return 1.0 / np.asarray(self.rate, np.float64)

    @property
    def variance(self) -> AnyArray:
        return self.mean**2

    @property
    def mode(self) -> AnyArray:
        return np.zeros(np.shape(self.rate))

    def entropy(self) -> AnyArray:
        return 1.0 - np.log(np.asarray(self.rate, np.float64))

    @classmethod
    def stats(cls, x: AnyArray, w: AnyArray = None) -> Weighted:
        x, w = checked(x, w, "Exponential", lambda v: v >= 0, "numbers of at least 0")
        return Weighted(w.sum(), (w @ x,))

    @classmethod
    def from_stats(cls, stats: Weighted) -> "Exponential":
        mean = np.asarray(stats.means[0])
        if (mean == 0).any():
            raise InputError("All observations are 0: the likelihood grows without end as the rate does.")
        return cls(1.0 / mean)

    @classmethod
    def posterior(cls, stats: Weighted, prior: Gamma, **known: Any) -> Gamma:
        conjugate(cls, prior, Gamma)
        return Gamma(prior.shape + stats.weight, prior.rate + stats.sums[0])

    @classmethod
    def predictive(cls, posterior: Gamma, **known: Any) -> BetaPrime:
        conjugate(cls, posterior, Gamma)
        return BetaPrime(1.0, posterior.shape, posterior.rate)

    def natural(self) -> AnyArray:
        return -np.asarray(self.rate, np.float64)[..., None]

    @classmethod
    def from_natural(cls, eta: AnyArray) -> "Exponential":
        return cls(-np.asarray(eta, np.float64)[..., 0])

    @classmethod
    def sufficient(cls, x: AnyArray) -> AnyArray:
        return np.asarray(x, np.float64)[..., None]

    def expected_sufficient(self) -> AnyArray:
        return self.mean[..., None]

    @classmethod
    def log_partition(cls, eta: AnyArray) -> AnyArray:
        return -np.log(-np.asarray(eta, np.float64)[..., 0])
