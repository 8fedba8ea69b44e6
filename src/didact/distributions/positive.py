r"""Positive quantities: gamma and inverse gamma.

Maximum likelihood of a gamma's shape solves :math:`\log k - \psi(k) = \log\bar x - \overline{\log x}` by Newton
steps in 1/k, of which four or five suffice. Conjugate prior of a rate or scale, for known shape: :class:`Gamma`.

Minka (2002), Estimating a gamma distribution.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import special

from didact.core.errors import InputError, ParameterError
from didact.core.typing import AnyArray
from didact.distributions.base import Distribution, Weighted, checked, conjugate, require_positive
from didact.distributions.beta_prime import BetaPrime
from didact.parts.families.log_densities import log_gamma


def _positive(x: AnyArray) -> AnyArray:
    return x > 0


class _Gamma(NamedTuple):
    shape: AnyArray
    rate: AnyArray


class Gamma(Distribution, _Gamma):
    r"""Waiting times and rates: :math:`p(x) = \frac{r^k}{\Gamma(k)}x^{k-1}e^{-rx}`, x > 0.

    :math:`\eta = (k-1, -r)`, :math:`T = (\log x, x)`, :math:`a = \log\Gamma(k) - k\log r`. Conjugate prior of the rate
    for a known `shape`: :class:`Gamma`; the predictive is a :class:`BetaPrime`. Cost O(n), and a few Newton steps.

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, doi:10.1201/b16018.

    Examples
    --------
    >>> from didact.distributions import Gamma
    >>> d = Gamma(3.0, 2.0)
    >>> float(d.mean), float(d.variance), float(d.mode)
    (1.5, 0.75, 1.0)
    """

    __slots__ = ()

    def __new__(cls, shape: AnyArray, rate: AnyArray) -> "Gamma":
        require_positive(shape=shape, rate=rate)
        return super().__new__(cls, shape, rate)

    def log_prob(self, x: AnyArray) -> AnyArray:
        x = np.asarray(x, np.float64)
        k, r = (np.asarray(v, np.float64) for v in self)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = log_gamma(x, k, r)
        return np.where(x >= 0, value, -np.inf)

    def _draw(self, rng: np.random.Generator, size: tuple[int, ...]) -> AnyArray:
        shape = np.broadcast_shapes(np.shape(self.shape), np.shape(self.rate))
        return rng.gamma(self.shape, size=size + shape) / self.rate

    @property
    def mean(self) -> AnyArray:
        return np.asarray(self.shape, np.float64) / self.rate

    @property
    def variance(self) -> AnyArray:
        return np.asarray(self.shape, np.float64) / np.asarray(self.rate) ** 2

    @property
    def mode(self) -> AnyArray:
        return np.maximum(np.asarray(self.shape) - 1.0, 0.0) / self.rate

    def entropy(self) -> AnyArray:
        k, r = (np.asarray(v, np.float64) for v in self)
        return k - np.log(r) + special.gammaln(k) + (1 - k) * special.digamma(k)

    @classmethod
    def stats(cls, x: AnyArray, w: AnyArray = None) -> Weighted:
        x, w = checked(x, w, "Gamma", _positive, "positive numbers")
        return Weighted(w.sum(), (w @ x, w @ np.log(x)))

    @classmethod
    def from_stats(cls, stats: Weighted, shape: AnyArray = None) -> "Gamma":
        mean, mean_log = stats.means
        k = solve_gamma_shape(np.log(mean) - mean_log) if shape is None else shape
        return cls(k, k / mean)

    @classmethod
    def posterior(cls, stats: Weighted, prior: "Gamma", shape: AnyArray = None, **known: Any) -> "Gamma":
        conjugate(cls, prior, Gamma)
        return Gamma(prior.shape + _known_shape(shape) * stats.weight, prior.rate + stats.sums[0])

    @classmethod
    def _of_parameters(cls, values: Any, shape: AnyArray = None, **known: Any) -> "Gamma":
        return cls(_known_shape(shape), values)

    @classmethod
    def predictive(cls, posterior: "Gamma", shape: AnyArray = None, **known: Any) -> BetaPrime:
        conjugate(cls, posterior, Gamma)
        return BetaPrime(_known_shape(shape), posterior.shape, posterior.rate)

    def natural(self) -> AnyArray:
        return np.stack(np.broadcast_arrays(np.asarray(self.shape) - 1.0, -np.asarray(self.rate)), axis=-1)

    @classmethod
    def from_natural(cls, eta: AnyArray) -> "Gamma":
        eta = np.asarray(eta, np.float64)
        return cls(eta[..., 0] + 1, -eta[..., 1])

    @classmethod
    def sufficient(cls, x: AnyArray) -> AnyArray:
        x = np.asarray(x, np.float64)
        return np.stack([np.log(x), x], axis=-1)

    def expected_sufficient(self) -> AnyArray:
        return np.stack(
            np.broadcast_arrays(special.digamma(self.shape) - np.log(np.asarray(self.rate)), self.mean), axis=-1
        )

    @classmethod
    def log_partition(cls, eta: AnyArray) -> AnyArray:
        k, r = np.asarray(eta, np.float64)[..., 0] + 1, -np.asarray(eta, np.float64)[..., 1]
        return special.gammaln(k) - k * np.log(r)


def _known_shape(shape: AnyArray) -> AnyArray:
    if shape is None:
        raise ParameterError("The prior is over the rate or scale alone: give the known shape, as in shape=2.0.")
    require_positive(shape=shape)
    return shape


def solve_gamma_shape(gap: AnyArray) -> AnyArray:
    """The shape k with log k − ψ(k) = gap."""
    if not (np.asarray(gap) > 1e-14).all():
        raise InputError("All observations are the same: the likelihood grows without end as they concentrate.")
    k = (3 - gap + np.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)
    for _ in range(50):
        new = 1 / (1 / k + (special.digamma(k) - np.log(k) + gap) / (k**2 * (special.polygamma(1, k) - 1 / k)))
        if (np.abs(new - k) <= 1e-14 * k).all():
            break
        k = new
    return k


class _InverseGamma(NamedTuple):
    shape: AnyArray
    scale: AnyArray


class InverseGamma(Distribution, _InverseGamma):
    r"""One over a gamma, the usual prior of a variance: :math:`p(x) = \frac{s^k}{\Gamma(k)}x^{-k-1}e^{-s/x}`, x > 0.

    :math:`\eta = (-k-1, -s)`, :math:`T = (\log x, 1/x)`. Conjugate prior of the scale for a known `shape`:
    :class:`Gamma`; the predictive is a :class:`BetaPrime`. Cost O(n), and a few Newton steps.

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, doi:10.1201/b16018.

    Examples
    --------
    >>> from didact.distributions import InverseGamma
    >>> float(InverseGamma(3.0, 4.0).mean)
    2.0
    """

    __slots__ = ()

    def __new__(cls, shape: AnyArray, scale: AnyArray) -> "InverseGamma":
        require_positive(shape=shape, scale=scale)
        return super().__new__(cls, shape, scale)

    def log_prob(self, x: AnyArray) -> AnyArray:
        x = np.asarray(x, np.float64)
        k, s = (np.asarray(v, np.float64) for v in self)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = k * np.log(s) - special.gammaln(k) - (k + 1) * np.log(x) - s / x
        return np.where(x > 0, value, -np.inf)

    def _draw(self, rng: np.random.Generator, size: tuple[int, ...]) -> AnyArray:
        return 1.0 / Gamma(self.shape, self.scale).sample(size, rng)

    @property
    def mean(self) -> AnyArray:
        """s/(k−1); infinite for k ≤ 1."""
        k, s = (np.asarray(v, np.float64) for v in self)
        return np.where(k > 1, s / np.where(k > 1, k - 1, 1.0), np.inf)

    @property
    def variance(self) -> AnyArray:
        """s²/((k−1)²(k−2)); infinite for k ≤ 2."""
        k, s = (np.asarray(v, np.float64) for v in self)
        safe = np.where(k > 2, k, 3.0)
        return np.where(k > 2, s**2 / ((safe - 1) ** 2 * (safe - 2)), np.inf)

    @property
    def mode(self) -> AnyArray:
        return np.asarray(self.scale, np.float64) / (np.asarray(self.shape) + 1.0)

    def entropy(self) -> AnyArray:
        k, s = (np.asarray(v, np.float64) for v in self)
        return k + np.log(s) + special.gammaln(k) - (1 + k) * special.digamma(k)

    @classmethod
    def stats(cls, x: AnyArray, w: AnyArray = None) -> Weighted:
        x, w = checked(x, w, "InverseGamma", _positive, "positive numbers")
        return Weighted(w.sum(), (w @ (1 / x), -(w @ np.log(x))))

    @classmethod
    def from_stats(cls, stats: Weighted, shape: AnyArray = None) -> "InverseGamma":
        return cls(*Gamma.from_stats(stats, shape))

    @classmethod
    def posterior(cls, stats: Weighted, prior: Gamma, shape: AnyArray = None, **known: Any) -> Gamma:
        conjugate(cls, prior, Gamma)
        return Gamma.posterior(stats, prior, shape)

    @classmethod
    def _of_parameters(cls, values: Any, shape: AnyArray = None, **known: Any) -> "InverseGamma":
        return cls(_known_shape(shape), values)

    @classmethod
    def predictive(cls, posterior: Gamma, shape: AnyArray = None, **known: Any) -> BetaPrime:
        conjugate(cls, posterior, Gamma)
        return BetaPrime(posterior.shape, _known_shape(shape), 1.0 / np.asarray(posterior.rate))

    def natural(self) -> AnyArray:
        return np.stack(np.broadcast_arrays(-np.asarray(self.shape) - 1.0, -np.asarray(self.scale)), axis=-1)

    @classmethod
    def from_natural(cls, eta: AnyArray) -> "InverseGamma":
        eta = np.asarray(eta, np.float64)
        return cls(-eta[..., 0] - 1, -eta[..., 1])

    @classmethod
    def sufficient(cls, x: AnyArray) -> AnyArray:
        x = np.asarray(x, np.float64)
        return np.stack([np.log(x), 1 / x], axis=-1)

    def expected_sufficient(self) -> AnyArray:
        k, s = (np.asarray(v, np.float64) for v in self)
        return np.stack(np.broadcast_arrays(np.log(s) - special.digamma(k), k / s), axis=-1)

    @classmethod
    def log_partition(cls, eta: AnyArray) -> AnyArray:
        eta = np.asarray(eta, np.float64)
        k, s = -eta[..., 0] - 1, -eta[..., 1]
        return special.gammaln(k) - k * np.log(s)
