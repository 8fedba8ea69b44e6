r"""Unbounded counts: Poisson and the negative binomial.

The conjugate prior of a Poisson's rate is :class:`Gamma`; the predictive is a :class:`NegativeBinomial`.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import special

from didact.core.typing import AnyArray
from didact.distributions.base import Distribution, Weighted, checked, conjugate, require_positive
from didact.distributions.discrete import entropy_of_counts, require_probability, whole
from didact.distributions.positive import Gamma
from didact.parts.families.log_densities import log_failures, log_hits, log_poisson


class _Poisson(NamedTuple):
    rate: AnyArray


class Poisson(Distribution, _Poisson):
    r"""Events at a constant rate λ: :math:`P(x) = e^{-\lambda}\lambda^x/x!`.

    :math:`\eta = \log\lambda`, T = x, :math:`a = e^\eta`, b = 1/x!. Conjugate prior: :class:`Gamma`. Cost O(n).

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, doi:10.1201/b16018.

    Examples
    --------
    >>> from didact.distributions import Gamma, Poisson
    >>> float(Poisson.fit([1, 3, 2]).rate), float(Poisson.bayes([1, 3, 2], Gamma(2, 1)).rate)
    (2.0, 2.0)
    """

    __slots__ = ()

    def __new__(cls, rate: AnyArray) -> "Poisson":
        require_positive(rate=np.maximum(rate, np.finfo(float).tiny))  # a rate of 0: nothing ever happens
        return super().__new__(cls, rate)

    def log_prob(self, x: AnyArray) -> AnyArray:
        x = np.asarray(x, np.float64)
        with np.errstate(invalid="ignore"):
            value = log_poisson(x, self.rate)
        return np.where(whole(x), value, -np.inf)

    def _draw(self, rng: np.random.Generator, size: tuple[int, ...]) -> AnyArray:
        return rng.poisson(self.rate, size + np.shape(self.rate)).astype(np.float64)

    @property
    def mean(self) -> AnyArray:
        return self.rate

    @property
    def variance(self) -> AnyArray:
        return self.rate

    @property
    def mode(self) -> AnyArray:
        return np.floor(self.rate)

    def entropy(self) -> AnyArray:
        return entropy_of_counts(self, np.max(self.rate) + 40 * np.sqrt(np.max(self.rate)) + 50)

    @classmethod
    def stats(cls, x: AnyArray, w: AnyArray = None) -> Weighted:
        x, w = checked(x, w, "Poisson", whole, "0, 1, 2, …")
        return Weighted(w.sum(), (w @ x,))

    @classmethod
    def from_stats(cls, stats: Weighted) -> "Poisson":
        return cls(stats.means[0])

    @classmethod
    def posterior(cls, stats: Weighted, prior: Gamma, **known: Any) -> Gamma:
        conjugate(cls, prior, Gamma)
        return Gamma(prior.shape + stats.sums[0], prior.rate + stats.weight)

    @classmethod
    def predictive(cls, posterior: Gamma, **known: Any) -> "NegativeBinomial":
        conjugate(cls, posterior, Gamma)
        return NegativeBinomial(posterior.shape, posterior.rate / (posterior.rate + 1.0))

    def natural(self) -> AnyArray:
        return np.log(np.asarray(self.rate, np.float64))[..., None]

    @classmethod
    def from_natural(cls, eta: AnyArray) -> "Poisson":
        return cls(np.exp(np.asarray(eta)[..., 0]))

    @classmethod
    def sufficient(cls, x: AnyArray) -> AnyArray:
        return np.asarray(x, np.float64)[..., None]

    def expected_sufficient(self) -> AnyArray:
        return np.asarray(self.rate, np.float64)[..., None]

    @classmethod
    def log_partition(cls, eta: AnyArray) -> AnyArray:
        return np.exp(np.asarray(eta)[..., 0])

    @classmethod
    def log_base(cls, x: AnyArray) -> AnyArray:
        return -special.gammaln(np.asarray(x, np.float64) + 1)


class _NegativeBinomial(NamedTuple):
    shape: AnyArray
    p: AnyArray


class NegativeBinomial(Distribution, _NegativeBinomial):
    r"""Failures before the r-th success, for real r: :math:`P(x) = \frac{\Gamma(x+r)}{\Gamma(r)\,x!}p^r(1-p)^x`.

    A Poisson whose rate is drawn from Gamma(r, p/(1−p)): the predictive of :class:`Poisson`. Cost O(1) per density.

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, doi:10.1201/b16018.

    Examples
    --------
    >>> from didact.distributions import NegativeBinomial
    >>> round(float(NegativeBinomial(1.0, 0.5).prob(2)), 6)
    0.125
    """

    __slots__ = ()

    def __new__(cls, shape: AnyArray, p: AnyArray) -> "NegativeBinomial":
        require_positive(shape=shape, p=p)
        require_probability(p)
        return super().__new__(cls, shape, p)

    def log_prob(self, x: AnyArray) -> AnyArray:
        x = np.asarray(x, np.float64)
        r, p = (np.asarray(v, np.float64) for v in self)
        with np.errstate(invalid="ignore"):
            value = log_failures(x, r) + log_hits(r, x, p)
        return np.where(whole(x), value, -np.inf)

    def _draw(self, rng: np.random.Generator, size: tuple[int, ...]) -> AnyArray:
        shape = np.broadcast_shapes(np.shape(self.shape), np.shape(self.p))
        return rng.negative_binomial(self.shape, self.p, size + shape).astype(np.float64)

    @property
    def mean(self) -> AnyArray:
        return self.shape * (1 - np.asarray(self.p)) / self.p

    @property
    def variance(self) -> AnyArray:
        return self.mean / self.p

    def entropy(self) -> AnyArray:
        most = np.max(self.mean) + 60 * np.sqrt(np.max(self.variance)) + 40 / np.min(self.p) + 50
        return entropy_of_counts(self, most)
