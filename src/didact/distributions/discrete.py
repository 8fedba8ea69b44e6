r"""Coins: Bernoulli, binomial and the beta-binomial.

The conjugate prior of the probability is :class:`Beta`. With a flat prior the Bayes estimate is Laplace's rule
:math:`(k+1)/(n+2)`.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import special

from didact.core.errors import InputError, ParameterError
from didact.core.typing import AnyArray
from didact.distributions.base import Distribution, Weighted, checked, conjugate, require_positive
from didact.distributions.bounded import Beta
from didact.parts.families.log_densities import log_choose, log_hits


def require_probability(p: AnyArray) -> None:
    """Raise if a value is not a probability."""
    p = np.asarray(p, dtype=np.float64)
    if not ((p >= 0) & (p <= 1)).all():
        raise ParameterError("A probability must lie between 0 and 1.")


def _binary(x: AnyArray) -> AnyArray:
    return (x == 0) | (x == 1)


def whole(x: AnyArray) -> AnyArray:
    """Which entries are counts: integers of at least 0."""
    return (x >= 0) & (x == np.floor(x))


class _Bernoulli(NamedTuple):
    p: AnyArray


class Bernoulli(Distribution, _Bernoulli):
    r"""A coin that shows 1 with probability p: :math:`P(x) = p^x(1-p)^{1-x}`.

    Natural parameter :math:`\eta = \log\frac{p}{1-p}`, :math:`T = x`, :math:`a = \log(1+e^\eta)`, b = 1. Conjugate
    prior: :class:`Beta`. Cost O(n).

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, doi:10.1201/b16018.

    Examples
    --------
    >>> from didact.distributions import Bernoulli, Beta
    >>> x = [1, 1, 1, 0, 0, 0, 0, 0]
    >>> float(Bernoulli.fit(x).p), float(Bernoulli.bayes(x, Beta(1, 1)).p)
    (0.375, 0.4)
    """

    __slots__ = ()

    def __new__(cls, p: AnyArray) -> "Bernoulli":
        require_probability(p)
        return super().__new__(cls, p)

    def log_prob(self, x: AnyArray) -> AnyArray:
        x = np.asarray(x, np.float64)
        value = log_hits(x, 1 - x, np.asarray(self.p, np.float64))
        return np.where(_binary(x), value, -np.inf)

    def _draw(self, rng: np.random.Generator, size: tuple[int, ...]) -> AnyArray:
        return (rng.uniform(size=size + np.shape(self.p)) < self.p).astype(np.float64)

    @property
    def mean(self) -> AnyArray:
        return self.p

    @property
    def variance(self) -> AnyArray:
        return self.p * (1 - np.asarray(self.p))

    @property
    def mode(self) -> AnyArray:
        return (np.asarray(self.p) > 0.5).astype(np.float64)

    def entropy(self) -> AnyArray:
        p = np.asarray(self.p, np.float64)
        return special.entr(p) + special.entr(1 - p)

    @classmethod
    def stats(cls, x: AnyArray, w: AnyArray = None) -> Weighted:
        x, w = checked(x, w, "Bernoulli", _binary, "0 and 1")
        return Weighted(w.sum(), (w @ x,))

    @classmethod
    def from_stats(cls, stats: Weighted) -> "Bernoulli":
        return cls(stats.means[0])

    @classmethod
    def posterior(cls, stats: Weighted, prior: Beta, **known: Any) -> Beta:
        conjugate(cls, prior, Beta)
        return Beta(prior.a + stats.sums[0], prior.b + stats.weight - stats.sums[0])

    @classmethod
    def predictive(cls, posterior: Beta, **known: Any) -> "Bernoulli":
        conjugate(cls, posterior, Beta)
        return cls(posterior.mean)

    def natural(self) -> AnyArray:
        return np.asarray(special.logit(self.p))[..., None]

    @classmethod
    def from_natural(cls, eta: AnyArray) -> "Bernoulli":
        return cls(special.expit(np.asarray(eta)[..., 0]))

    @classmethod
    def sufficient(cls, x: AnyArray) -> AnyArray:
        return np.asarray(x, np.float64)[..., None]

    def expected_sufficient(self) -> AnyArray:
        return np.asarray(self.p, np.float64)[..., None]

    @classmethod
    def log_partition(cls, eta: AnyArray) -> AnyArray:
        return np.logaddexp(0.0, np.asarray(eta)[..., 0])


class _Binomial(NamedTuple):
    n: AnyArray
    p: AnyArray


class Binomial(Distribution, _Binomial):
    r"""The number of ones in n tosses: :math:`P(x) = \binom nx p^x(1-p)^{n-x}`; n is known.

    For known n an exponential family with the natural parameter of :class:`Bernoulli`, :math:`a = n\log(1+e^\eta)` and
    :math:`b = \binom nx`. Conjugate prior: :class:`Beta`; the predictive is a :class:`BetaBinomial`. Cost O(n).

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, doi:10.1201/b16018.

    Examples
    --------
    >>> from didact.distributions import Binomial
    >>> round(float(Binomial.fit([2, 4, 3], n=10).p), 3)
    0.3
    """

    __slots__ = ()

    def __new__(cls, n: AnyArray, p: AnyArray) -> "Binomial":
        require_positive(n=n)
        require_probability(p)
        return super().__new__(cls, n, p)

    def log_prob(self, x: AnyArray) -> AnyArray:
        x, n = np.asarray(x, np.float64), np.asarray(self.n, np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            value = log_choose(n, x) + log_hits(x, n - x, np.asarray(self.p, np.float64))
        return np.where(whole(x) & (x <= n), value, -np.inf)

    def _draw(self, rng: np.random.Generator, size: tuple[int, ...]) -> AnyArray:
        shape = np.broadcast_shapes(np.shape(self.n), np.shape(self.p))
        return rng.binomial(np.asarray(self.n, np.int64), self.p, size + shape).astype(np.float64)

    @property
    def mean(self) -> AnyArray:
        return self.n * np.asarray(self.p)

    @property
    def variance(self) -> AnyArray:
        return self.n * np.asarray(self.p) * (1 - np.asarray(self.p))

    @property
    def mode(self) -> AnyArray:
        return np.floor((np.asarray(self.n) + 1.0) * self.p).clip(0, self.n)

    def entropy(self) -> AnyArray:
        return entropy_of_counts(self, np.max(self.n))

    @classmethod
    def stats(cls, x: AnyArray, w: AnyArray = None) -> Weighted:
        x, w = checked(x, w, "Binomial", whole, "whole numbers from 0 to n")
        return Weighted(w.sum(), (w @ x,))

    @classmethod
    def from_stats(cls, stats: Weighted, n: AnyArray = 1) -> "Binomial":
        return cls(n, _within(stats, n) / np.asarray(n))

    @classmethod
    def posterior(cls, stats: Weighted, prior: Beta, n: AnyArray = 1, **known: Any) -> Beta:
        conjugate(cls, prior, Beta)
        _within(stats, n)
        return Beta(prior.a + stats.sums[0], prior.b + stats.weight * np.asarray(n) - stats.sums[0])

    @classmethod
    def _of_parameters(cls, values: Any, n: AnyArray = 1, **known: Any) -> "Binomial":
        return cls(n, values)

    @classmethod
    def predictive(cls, posterior: Beta, n: AnyArray = 1, **known: Any) -> "BetaBinomial":
        conjugate(cls, posterior, Beta)
        return BetaBinomial(n, posterior.a, posterior.b)

    def natural(self) -> AnyArray:
        p, _ = np.broadcast_arrays(self.p, self.n)
        return Bernoulli(p).natural()

    @classmethod
    def from_natural(cls, eta: AnyArray, n: AnyArray = 1) -> "Binomial":
        """The distribution with natural parameter η, for the known n."""
        return cls(n, Bernoulli.from_natural(eta).p)

    @classmethod
    def sufficient(cls, x: AnyArray) -> AnyArray:
        return np.asarray(x, np.float64)[..., None]

    def expected_sufficient(self) -> AnyArray:
        return np.asarray(self.mean, np.float64)[..., None]

    @classmethod
    def log_partition(cls, eta: AnyArray, n: AnyArray = 1) -> AnyArray:
        """a(η) for the known n."""
        return np.asarray(n) * Bernoulli.log_partition(eta)

    @classmethod
    def log_base(cls, x: AnyArray, n: AnyArray = 1) -> AnyArray:
        """log b(x) for the known n."""
        return log_choose(np.asarray(n, np.float64), np.asarray(x, np.float64))


def _within(stats: Weighted, n: AnyArray) -> AnyArray:
    mean = stats.means[0]
    if (np.asarray(mean) > n).any():
        raise InputError("An observation is not possible under Binomial: it is larger than the number of tosses n.")
    return mean


def entropy_of_counts(d: Any, most: float) -> AnyArray:
    """−Σ p log p over 0 … most."""
    shape = np.broadcast_shapes(*(np.shape(v) for v in d))
    values = np.arange(int(most) + 1.0).reshape((-1,) + (1,) * len(shape))
    return special.entr(d.prob(values)).sum(axis=0)


class _BetaBinomial(NamedTuple):
    n: AnyArray
    a: AnyArray
    b: AnyArray


class BetaBinomial(Distribution, _BetaBinomial):
    r"""A binomial whose probability is drawn from Beta(a, b): the predictive of :class:`Binomial`.

    .. math:: P(x) = \binom nx \frac{B(x+a,\, n-x+b)}{B(a, b)}

    Cost O(n).

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, doi:10.1201/b16018.

    Examples
    --------
    >>> from didact.distributions import BetaBinomial
    >>> round(float(BetaBinomial(4, 1.0, 1.0).prob(2)), 3)
    0.2
    """

    __slots__ = ()

    def __new__(cls, n: AnyArray, a: AnyArray, b: AnyArray) -> "BetaBinomial":
        require_positive(n=n, a=a, b=b)
        return super().__new__(cls, n, a, b)

    def log_prob(self, x: AnyArray) -> AnyArray:
        x, n = np.asarray(x, np.float64), np.asarray(self.n, np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            value = log_choose(n, x) + special.betaln(x + self.a, n - x + self.b) - special.betaln(self.a, self.b)
        return np.where(whole(x) & (x <= n), value, -np.inf)

    def _draw(self, rng: np.random.Generator, size: tuple[int, ...]) -> AnyArray:
        shape = np.broadcast_shapes(*(np.shape(v) for v in self))
        return rng.binomial(np.asarray(self.n, np.int64), rng.beta(self.a, self.b, size + shape)).astype(np.float64)

    @property
    def mean(self) -> AnyArray:
        return self.n * Beta(self.a, self.b).mean

    @property
    def variance(self) -> AnyArray:
        n, a, b = (np.asarray(v, np.float64) for v in self)
        return n * a * b * (a + b + n) / ((a + b) ** 2 * (a + b + 1))

    def entropy(self) -> AnyArray:
        return entropy_of_counts(self, np.max(self.n))
