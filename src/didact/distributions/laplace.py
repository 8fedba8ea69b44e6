r"""Laplace's double exponential distribution, and its predictive."""

from typing import Any, NamedTuple

import numpy as np

from didact.core.errors import InputError, ParameterError
from didact.core.typing import AnyArray
from didact.distributions.base import Distribution, Sample, checked, conjugate, require_positive, require_weight
from didact.distributions.positive import InverseGamma
from didact.parts.statistics.weighted_quantile import weighted_quantile


class _Laplace(NamedTuple):
    location: AnyArray
    scale: AnyArray


class Laplace(Distribution, _Laplace):
    r"""Two exponentials back to back: :math:`p(x) = \frac{1}{2s}e^{-|x-m|/s}`.

    Maximum likelihood: the median, and the mean distance from it. For a known `location` an exponential family with
    :math:`\eta = -1/s`, :math:`T = |x-m|`, :math:`a = \log 2 - \log(-\eta)`. Conjugate prior of the scale then:
    :class:`InverseGamma`; the predictive is a :class:`DoubleLomax`. Cost O(n log n).

    References
    ----------
    Kotz, Kozubowski, Podgórski (2001), The Laplace Distribution and Generalizations, doi:10.1007/978-1-4612-0173-1.

    Examples
    --------
    >>> from didact.distributions import Laplace
    >>> d = Laplace.fit([1.0, 2.0, 6.0])
    >>> float(d.location), round(float(d.scale), 4)
    (2.0, 1.6667)
    """

    __slots__ = ()

    def __new__(cls, location: AnyArray, scale: AnyArray) -> "Laplace":
        require_positive(scale=scale)
        return super().__new__(cls, location, scale)

    def log_prob(self, x: AnyArray) -> AnyArray:
        s = np.asarray(self.scale, np.float64)
        return -np.log(2 * s) - np.abs(np.asarray(x, np.float64) - self.location) / s

    def _draw(self, rng: np.random.Generator, size: tuple[int, ...]) -> AnyArray:
        return rng.laplace(self.location, self.scale, size + np.broadcast_shapes(*(np.shape(p) for p in self)))

    @property
    def mean(self) -> AnyArray:
        return self.location

    @property
    def variance(self) -> AnyArray:
        return 2 * np.asarray(self.scale, np.float64) ** 2

    @property
    def mode(self) -> AnyArray:
        return self.location

    def entropy(self) -> AnyArray:
        return 1 + np.log(2 * np.asarray(self.scale, np.float64)) + np.zeros(np.shape(self.location))

    @classmethod
    def stats(cls, x: AnyArray, w: AnyArray = None) -> Sample:
        return Sample(*checked(x, w, "Laplace"))

    @classmethod
    def from_stats(cls, stats: Sample, location: AnyArray = None) -> "Laplace":
        require_weight(stats.weight)
        x = stats.x.reshape(len(stats.x), -1)
        middle = np.array([weighted_quantile(column, stats.w, 0.5) for column in x.T]).reshape(stats.x.shape[1:])
        m = middle if location is None else location
        scale = stats.w @ np.abs(stats.x - m) / stats.weight
        if not (np.asarray(scale) > 0).all():
            raise InputError("All observations are the same: the likelihood grows without end as the scale shrinks.")
        return cls(m, scale)

    @classmethod
    def posterior(cls, stats: Sample, prior: InverseGamma, location: AnyArray = None, **known: Any) -> InverseGamma:
        conjugate(cls, prior, InverseGamma)
        distance = stats.w @ np.abs(stats.x - _known_location(location))
        return InverseGamma(prior.shape + stats.weight, prior.scale + distance)

    @classmethod
    def _of_parameters(cls, values: Any, location: AnyArray = None, **known: Any) -> "Laplace":
        return cls(_known_location(location), values)

    @classmethod
    def predictive(cls, posterior: InverseGamma, location: AnyArray = None, **known: Any) -> "DoubleLomax":
        conjugate(cls, posterior, InverseGamma)
        return DoubleLomax(_known_location(location), posterior.shape, posterior.scale)

    def natural(self) -> AnyArray:
        return -1.0 / np.asarray(self.scale, np.float64)[..., None]

    @classmethod
    def from_natural(cls, eta: AnyArray, location: AnyArray = 0.0) -> "Laplace":
        """The distribution with natural parameter η, around the known location."""
        return cls(location, -1.0 / np.asarray(eta, np.float64)[..., 0])

    @classmethod
    def sufficient(cls, x: AnyArray, location: AnyArray = 0.0) -> AnyArray:
        """T(x), the distance from the known location."""
        return np.abs(np.asarray(x, np.float64) - location)[..., None]

    def expected_sufficient(self) -> AnyArray:
        return np.asarray(self.scale, np.float64)[..., None]

    @classmethod
    def log_partition(cls, eta: AnyArray) -> AnyArray:
        return np.log(2.0) - np.log(-np.asarray(eta, np.float64)[..., 0])


def _known_location(location: AnyArray) -> AnyArray:
    if location is None:
        raise ParameterError("The prior is over the scale alone: give the known location, as in location=0.0.")
    return location


class _DoubleLomax(NamedTuple):
    location: AnyArray
    shape: AnyArray
    scale: AnyArray


class DoubleLomax(Distribution, _DoubleLomax):
    r"""A Laplace whose scale is drawn from InverseGamma(k, s): :math:`p(x) = \frac{k}{2s}(1 + |x-m|/s)^{-k-1}`.

    Cost O(1).

    References
    ----------
    Kotz, Kozubowski, Podgórski (2001), The Laplace Distribution and Generalizations, doi:10.1007/978-1-4612-0173-1.

    Examples
    --------
    >>> from didact.distributions import DoubleLomax
    >>> float(DoubleLomax(0.0, 2.0, 1.0).prob(0.0))
    1.0
    """

    __slots__ = ()

    def __new__(cls, location: AnyArray, shape: AnyArray, scale: AnyArray) -> "DoubleLomax":
        require_positive(shape=shape, scale=scale)
        return super().__new__(cls, location, shape, scale)

    def log_prob(self, x: AnyArray) -> AnyArray:
        m, k, s = (np.asarray(p, np.float64) for p in self)
        return np.log(k / (2 * s)) - (k + 1) * np.log1p(np.abs(np.asarray(x, np.float64) - m) / s)

    def _draw(self, rng: np.random.Generator, size: tuple[int, ...]) -> AnyArray:
        shape = size + np.broadcast_shapes(*(np.shape(p) for p in self))
        distance = self.scale * np.expm1(rng.exponential(1.0, shape) / self.shape)
        return self.location + np.where(rng.uniform(size=shape) < 0.5, -distance, distance)

    @property
    def mean(self) -> AnyArray:
        """The location; undefined (NaN) for k ≤ 1."""
        return np.where(np.asarray(self.shape) > 1, self.location, np.nan)

    @property
    def variance(self) -> AnyArray:
        """2s²/((k−1)(k−2)); infinite for k ≤ 2."""
        _, k, s = (np.asarray(p, np.float64) for p in self)
        safe = np.where(k > 2, k, 3.0)
        return np.where(k > 2, 2 * s**2 / ((safe - 1) * (safe - 2)), np.inf)

    @property
    def mode(self) -> AnyArray:
        return self.location

    def entropy(self) -> AnyArray:
        m, k, s = (np.asarray(p, np.float64) for p in self)
        return np.log(2 * s / k) + (k + 1) / k + np.zeros(m.shape)
