r"""The Gaussian and the prior of its two parameters.

With known variance the conjugate prior of the mean is a :class:`Gaussian`:
:math:`\hat\mu = \frac{n\bar x/\sigma^2 + m_0/\sigma_0^2}{n/\sigma^2 + 1/\sigma_0^2}`. With known mean that of the
variance is an :class:`InverseGamma`, which grows to :math:`(k + \tfrac n2, s + \tfrac12\sum(x-\mu)^2)`. With both
unknown it is a :class:`NormalInverseGamma`. The predictive of the latter two is a :class:`StudentT`.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import special

from didact.core.errors import InputError, ParameterError
from didact.core.typing import AnyArray
from didact.distributions.base import Distribution, centred, checked, conjugate, require_positive, require_weight
from didact.distributions.heavy import StudentT
from didact.distributions.positive import InverseGamma
from didact.parts.families.log_densities import LOG_2PI, gaussian_log_density
from didact.parts.statistics.components import Components


class _Gaussian(NamedTuple):
    mean: AnyArray
    variance: AnyArray


class Gaussian(Distribution, _Gaussian):
    r"""The normal distribution: :math:`p(x) = (2\pi\sigma^2)^{-1/2}\exp(-(x-\mu)^2/2\sigma^2)`.

    :math:`\eta = (\mu/\sigma^2, -1/2\sigma^2)`, :math:`T = (x, x^2)`,
    :math:`a = -\eta_1^2/4\eta_2 - \tfrac12\log(-2\eta_2)`, :math:`b = (2\pi)^{-1/2}`. Maximum likelihood divides the
    sum of squares by n. Conjugate priors: a :class:`Gaussian` of the mean for a known `variance`, an
    :class:`InverseGamma` of the variance for a known `mean`, a :class:`NormalInverseGamma` of both. Cost O(n).

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, doi:10.1201/b16018.

    Examples
    --------
    >>> from didact.distributions import Gaussian
    >>> d = Gaussian.fit([1.0, 3.0, 5.0, 3.0])
    >>> float(d.mean), float(d.variance)
    (3.0, 2.0)
    >>> float(Gaussian.bayes([1.0, 3.0, 5.0, 3.0], Gaussian(0.0, 1.0), variance=4.0).mean)
    1.5
    """

    __slots__ = ()

    def __new__(cls, mean: AnyArray, variance: AnyArray) -> "Gaussian":
        require_positive(variance=variance)
        return super().__new__(cls, mean, variance)

    def log_prob(self, x: AnyArray) -> AnyArray:
        d = np.asarray(x, np.float64) - self.mean
        return gaussian_log_density(d * d / self.variance, np.log(self.variance))

    def _draw(self, rng: np.random.Generator, size: tuple[int, ...]) -> AnyArray:
        shape = np.broadcast_shapes(np.shape(self.mean), np.shape(self.variance))
        return self.mean + np.sqrt(self.variance) * rng.standard_normal(size + shape)

    @property
    def mode(self) -> AnyArray:
        return self.mean

    def entropy(self) -> AnyArray:
        return 0.5 * (LOG_2PI + 1 + np.log(self.variance)) + np.zeros(np.shape(self.mean))

    @classmethod
    def stats(cls, x: AnyArray, w: AnyArray = None) -> Components:
        return centred(*checked(x, w, "Gaussian"))

    @classmethod
    def from_stats(cls, stats: Components, mean: AnyArray = None) -> "Gaussian":
        n, average, scatter = stats.finished().sums
        require_weight(n)
        d = 0.0 if mean is None else average - mean
        variance = np.asarray(scatter / n + d * d)
        if not (variance > 0).all():
            raise InputError("All observations are the same: the likelihood grows without end as the variance shrinks.")
        return cls(average if mean is None else mean, variance)

    @classmethod
    def posterior(
        cls, stats: Components, prior: Any, variance: AnyArray = None, mean: AnyArray = None, **known: Any
    ) -> Any:
        _require_known(cls, prior, variance, mean)
        if isinstance(prior, NormalInverseGamma):
            return prior.updated(stats)
        n, average, scatter = stats.sums
        if isinstance(prior, InverseGamma):
            d = average - np.asarray(mean)
            return InverseGamma(prior.shape + 0.5 * n, prior.scale + 0.5 * (scatter + n * d * d))
        precision = n / np.asarray(variance) + 1 / np.asarray(prior.variance)
        return cls((n * average / variance + prior.mean / prior.variance) / precision, 1 / precision)

    @classmethod
    def _of_parameters(cls, values: Any, variance: AnyArray = None, mean: AnyArray = None, **known: Any) -> "Gaussian":
        if variance is None and mean is None:
            return cls(*values)
        return cls(values, variance) if mean is None else cls(mean, values)

    @classmethod
    def predictive(cls, posterior: Any, variance: AnyArray = None, mean: AnyArray = None, **known: Any) -> Distribution:
        _require_known(cls, posterior, variance, mean)
        if isinstance(posterior, NormalInverseGamma):
            m, kappa, k, s = posterior
            return StudentT(2 * np.asarray(k), m, np.sqrt(s * (np.asarray(kappa) + 1) / (k * np.asarray(kappa))))
        if isinstance(posterior, InverseGamma):
            k, s = (np.asarray(v, np.float64) for v in posterior)
            return StudentT(2 * k, mean, np.sqrt(s / k))
        return cls(posterior.mean, posterior.variance + np.asarray(variance))

    def natural(self) -> AnyArray:
        v = np.asarray(self.variance, np.float64)
        return np.stack(np.broadcast_arrays(self.mean / v, -0.5 / v), axis=-1)

    @classmethod
    def from_natural(cls, eta: AnyArray) -> "Gaussian":
        eta = np.asarray(eta, np.float64)
        return cls(-0.5 * eta[..., 0] / eta[..., 1], -0.5 / eta[..., 1])

    @classmethod
    def sufficient(cls, x: AnyArray) -> AnyArray:
        x = np.asarray(x, np.float64)
        return np.stack([x, x * x], axis=-1)

    def expected_sufficient(self) -> AnyArray:
        m = np.asarray(self.mean, np.float64)
        return np.stack(np.broadcast_arrays(m, m * m + self.variance), axis=-1)

    @classmethod
    def log_partition(cls, eta: AnyArray) -> AnyArray:
        eta = np.asarray(eta, np.float64)
        return -0.25 * eta[..., 0] ** 2 / eta[..., 1] - 0.5 * np.log(-2 * eta[..., 1])

    @classmethod
    def log_base(cls, x: AnyArray) -> AnyArray:
        return np.full(np.shape(x), -0.5 * LOG_2PI)


def _require_known(cls: type, belief: Any, variance: AnyArray, mean: AnyArray) -> None:
    """Raise if a prior or posterior does not cover exactly the unknown parameters."""
    conjugate(cls, belief, Gaussian, InverseGamma, NormalInverseGamma)
    if isinstance(belief, Gaussian) and (variance is None or mean is not None):
        raise ParameterError("A Gaussian prior is over the mean alone: give the known variance, as in variance=4.0.")
    if isinstance(belief, InverseGamma) and (mean is None or variance is not None):
        raise ParameterError("An inverse-gamma prior is over the variance alone: give the known mean, as in mean=0.0.")
    if isinstance(belief, NormalInverseGamma) and not (mean is None and variance is None):
        raise ParameterError("A normal-inverse-gamma prior is over mean and variance: neither of them is known.")


class _NormalInverseGamma(NamedTuple):
    location: AnyArray
    strength: AnyArray
    shape: AnyArray
    scale: AnyArray


class NormalInverseGamma(Distribution, _NormalInverseGamma):
    r"""A mean and a variance: σ² from InverseGamma(k, s), and :math:`\mu\mid\sigma^2 \sim N(m, \sigma^2/\kappa)`.

    The conjugate prior of a Gaussian: κ is the number of observations that the prior mean is worth, 2k the number that
    the prior variance s/k is worth. Values are pairs (μ, σ²) along the last axis. Cost O(1).

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, doi:10.1201/b16018.

    Examples
    --------
    >>> from didact.distributions import Gaussian, NormalInverseGamma
    >>> after = Gaussian.posterior(Gaussian.stats([1.0, 3.0]), NormalInverseGamma(0.0, 1.0, 2.0, 2.0))
    >>> float(after.location), float(after.scale)
    (1.3333333333333333, 4.333333333333333)
    """

    __slots__ = ()
    event_ndim = 1

    def __new__(cls, location: AnyArray, strength: AnyArray, shape: AnyArray, scale: AnyArray) -> "NormalInverseGamma":
        require_positive(strength=strength, shape=shape, scale=scale)
        return super().__new__(cls, location, strength, shape, scale)

    def updated(self, stats: Components) -> "NormalInverseGamma":
        """The posterior after a sample with these statistics."""
        m, kappa, k, s = self
        n, average, scatter = stats.sums
        d, total = average - np.asarray(m), np.asarray(kappa) + n
        scale = s + 0.5 * scatter + 0.5 * kappa * n * d * d / total
        return NormalInverseGamma(m + n * d / total, total, k + 0.5 * n, scale)

    def log_prob(self, x: AnyArray) -> AnyArray:
        x = np.asarray(x, np.float64)
        mu, v = x[..., 0], x[..., 1]
        inside = v > 0
        v = np.where(inside, v, 1.0)
        value = InverseGamma(self.shape, self.scale).log_prob(v)
        return np.where(inside, value + Gaussian(self.location, v / self.strength).log_prob(mu), -np.inf)

    def _draw(self, rng: np.random.Generator, size: tuple[int, ...]) -> AnyArray:
        size = size + np.broadcast_shapes(*(np.shape(p) for p in self))
        v = 1.0 / (rng.gamma(self.shape, size=size) / self.scale)
        return np.stack([self.location + np.sqrt(v / self.strength) * rng.standard_normal(size), v], axis=-1)

    @property
    def mean(self) -> tuple[AnyArray, AnyArray]:
        """E[μ] and E[σ²]."""
        return self.location, InverseGamma(self.shape, self.scale).mean

    @property
    def mode(self) -> tuple[AnyArray, AnyArray]:
        """The pair of greatest density: m and s/(k + 3/2)."""
        return self.location, self.scale / (np.asarray(self.shape) + 1.5)

    def entropy(self) -> AnyArray:
        inner = 0.5 * (LOG_2PI + 1 - np.log(self.strength) + np.log(self.scale) - special.digamma(self.shape))
        return InverseGamma(self.shape, self.scale).entropy() + inner + np.zeros(np.shape(self.location))
