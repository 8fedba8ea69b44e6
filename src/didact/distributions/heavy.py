r"""Heavy tails around a centre: Student's t, Laplace, and the predictive of the latter.

Student's t by EM: each observation has the weight :math:`u = (\nu+1)/(\nu + (x-m)^2/s^2)`, and ν solves
:math:`\log(\nu/2) - \psi(\nu/2) + 1 + \overline{\log u - u} + \psi\big(\tfrac{\nu+1}2\big) - \log\tfrac{\nu+1}2 = 0`.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import optimize, special

from didact.core.errors import InputError, ParameterError
from didact.distributions.base import Array, Distribution, Sample, checked, require_positive, require_weight
from didact.distributions.positive import InverseGamma

MAX_DOF = 1e6


class _StudentT(NamedTuple):
    dof: Array
    location: Array
    scale: Array


class StudentT(Distribution, _StudentT):
    r"""Student's t: :math:`p(x) \propto \big(1 + \tfrac{(x-m)^2}{\nu s^2}\big)^{-(\nu+1)/2}`.

    A Gaussian whose variance is drawn from InverseGamma(ν/2, νs²/2): the predictive of a Gaussian with unknown mean and
    variance. Maximum likelihood by EM, for fixed `dof` or all three parameters; no conjugate prior. Cost O(n) an
    iteration.

    References
    ----------
    Liu, Rubin (1995), ML estimation of the t distribution using EM and its extensions, ECM and ECME.

    Examples
    --------
    >>> from didact.distributions import StudentT
    >>> float(StudentT(4.0, 1.0, 2.0).variance)
    8.0
    """

    __slots__ = ()

    def __new__(cls, dof: Array, location: Array, scale: Array) -> "StudentT":
        require_positive(dof=dof, scale=scale)
        return super().__new__(cls, dof, location, scale)

    def log_prob(self, x: Array) -> Array:
        v, m, s = (np.asarray(p, np.float64) for p in self)
        z = (np.asarray(x, np.float64) - m) / s
        constant = special.gammaln((v + 1) / 2) - special.gammaln(v / 2) - 0.5 * np.log(v * np.pi) - np.log(s)
        return constant - (v + 1) / 2 * np.log1p(z * z / v)

    def _draw(self, rng: np.random.Generator, size: tuple[int, ...]) -> Array:
        shape = size + np.broadcast_shapes(*(np.shape(p) for p in self))
        return self.location + self.scale * rng.standard_t(self.dof, shape)

    @property
    def mean(self) -> Array:
        """The location; undefined (NaN) for ν ≤ 1."""
        return np.where(np.asarray(self.dof) > 1, self.location, np.nan)

    @property
    def variance(self) -> Array:
        """s² ν/(ν−2); infinite for 1 < ν ≤ 2, undefined below."""
        v, _, s = (np.asarray(p, np.float64) for p in self)
        return np.where(v > 2, s**2 * v / np.where(v > 2, v - 2, 1.0), np.where(v > 1, np.inf, np.nan))

    @property
    def mode(self) -> Array:
        return self.location

    def entropy(self) -> Array:
        v, _, s = (np.asarray(p, np.float64) for p in self)
        half = (v + 1) / 2
        return (
            half * (special.digamma(half) - special.digamma(v / 2))
            + np.log(np.sqrt(v) * s)
            + special.betaln(v / 2, 0.5)
        )

    @classmethod
    def stats(cls, x: Array, w: Array = None) -> Sample:
        return Sample(*checked(x, w, "StudentT"))

    @classmethod
    def from_stats(cls, stats: Sample, dof: float | None = None) -> "StudentT":
        """Maximum likelihood by EM; `dof` may be known. Several columns are fitted one by one."""
        require_weight(stats.weight)
        x = stats.x.reshape(len(stats.x), -1)
        fits = np.array([_fit_student(column, stats.w, dof) for column in x.T])
        return cls(*(fits[:, k].reshape(stats.x.shape[1:]) for k in range(3)))


def _fit_student(x: Array, w: Array, dof: float | None) -> tuple[float, float, float]:
    x, w = x[w > 0], w[w > 0] / w.sum()
    m = weighted_median(x, w)
    s = float(np.sqrt(w @ (x - m) ** 2))
    if not s > 0:
        raise InputError("All observations are the same: the likelihood grows without end as the scale shrinks.")
    v = 5.0 if dof is None else float(dof)
    for _ in range(5000):
        last = np.array([v, m, s])
        u = (v + 1) / (v + ((x - m) / s) ** 2)
        m = float((w * u) @ x / (w @ u))
        s = float(np.sqrt((w * u) @ (x - m) ** 2))
        if not s > 0:
            raise InputError(
                "Too many observations are the same: the likelihood grows without end as the scale shrinks."
            )
        if dof is None:
            v = _best_dof(((x - m) / s) ** 2, w)
        if (np.abs(last - [v, m, s]) <= 1e-12 * np.array([v, s, s])).all():
            break
    return v, m, s


def _best_dof(squares: Array, w: Array) -> float:
    """The degrees of freedom of greatest likelihood for given standardised squares (ECME)."""

    def slope(v: float) -> float:
        u = (v + 1) / (v + squares)
        half = (v + 1) / 2
        return float(
            special.digamma(half) - special.digamma(v / 2) + np.log(v) - np.log(v + 1) + 1 + w @ (np.log(u) - u)
        )

    if slope(MAX_DOF) > 0:
        return MAX_DOF
    low = 1e-2
    return low if slope(low) < 0 else float(optimize.brentq(slope, low, MAX_DOF, xtol=1e-10, rtol=1e-13))


def weighted_median(x: Array, w: Array) -> float:
    """The middle of the values at which half of the weight lies on either side."""
    order = np.argsort(x, kind="stable")
    x, sums = x[order], np.cumsum(w[order])
    half = 0.5 * sums[-1]
    low = x[np.searchsorted(sums, half * (1 - 1e-12))]
    high = x[min(np.searchsorted(sums, half * (1 + 1e-12), side="right"), len(x) - 1)]
    return float(0.5 * (low + high))


class _Laplace(NamedTuple):
    location: Array
    scale: Array


class Laplace(Distribution, _Laplace):
    r"""Two exponentials back to back: :math:`p(x) = \frac{1}{2s}e^{-|x-m|/s}`.

    Maximum likelihood: the median, and the mean distance from it. Conjugate prior of the scale for a known `location`:
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

    def __new__(cls, location: Array, scale: Array) -> "Laplace":
        require_positive(scale=scale)
        return super().__new__(cls, location, scale)

    def log_prob(self, x: Array) -> Array:
        s = np.asarray(self.scale, np.float64)
        return -np.log(2 * s) - np.abs(np.asarray(x, np.float64) - self.location) / s

    def _draw(self, rng: np.random.Generator, size: tuple[int, ...]) -> Array:
        return rng.laplace(self.location, self.scale, size + np.broadcast_shapes(*(np.shape(p) for p in self)))

    @property
    def mean(self) -> Array:
        return self.location

    @property
    def variance(self) -> Array:
        return 2 * np.asarray(self.scale, np.float64) ** 2

    @property
    def mode(self) -> Array:
        return self.location

    def entropy(self) -> Array:
        return 1 + np.log(2 * np.asarray(self.scale, np.float64))

    @classmethod
    def stats(cls, x: Array, w: Array = None) -> Sample:
        return Sample(*checked(x, w, "Laplace"))

    @classmethod
    def from_stats(cls, stats: Sample, location: Array = None) -> "Laplace":
        require_weight(stats.weight)
        x = stats.x.reshape(len(stats.x), -1)
        middle = np.array([weighted_median(column, stats.w) for column in x.T]).reshape(stats.x.shape[1:])
        m = middle if location is None else location
        scale = stats.w @ np.abs(stats.x - m) / stats.weight
        if not (np.asarray(scale) > 0).all():
            raise InputError("All observations are the same: the likelihood grows without end as the scale shrinks.")
        return cls(m, scale)

    @classmethod
    def posterior(cls, stats: Sample, prior: InverseGamma, location: Array = None, **known: Any) -> InverseGamma:
        distance = stats.w @ np.abs(stats.x - _known_location(location))
        return InverseGamma(prior.shape + stats.weight, prior.scale + distance)

    @classmethod
    def _of_parameters(cls, values: Any, location: Array = None, **known: Any) -> "Laplace":
        return cls(_known_location(location), values)

    @classmethod
    def predictive(cls, posterior: InverseGamma, location: Array = None, **known: Any) -> "DoubleLomax":
        return DoubleLomax(_known_location(location), posterior.shape, posterior.scale)


def _known_location(location: Array) -> Array:
    if location is None:
        raise ParameterError("The prior is over the scale alone: give the known location, as in location=0.0.")
    return location


class _DoubleLomax(NamedTuple):
    location: Array
    shape: Array
    scale: Array


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

    def __new__(cls, location: Array, shape: Array, scale: Array) -> "DoubleLomax":
        require_positive(shape=shape, scale=scale)
        return super().__new__(cls, location, shape, scale)

    def log_prob(self, x: Array) -> Array:
        m, k, s = (np.asarray(p, np.float64) for p in self)
        return np.log(k / (2 * s)) - (k + 1) * np.log1p(np.abs(np.asarray(x, np.float64) - m) / s)

    def _draw(self, rng: np.random.Generator, size: tuple[int, ...]) -> Array:
        shape = size + np.broadcast_shapes(*(np.shape(p) for p in self))
        distance = self.scale * np.expm1(rng.exponential(1.0, shape) / self.shape)
        return self.location + np.where(rng.uniform(size=shape) < 0.5, -distance, distance)

    @property
    def mean(self) -> Array:
        """The location; undefined (NaN) for k ≤ 1."""
        return np.where(np.asarray(self.shape) > 1, self.location, np.nan)

    @property
    def variance(self) -> Array:
        """2s²/((k−1)(k−2)); infinite for k ≤ 2."""
        _, k, s = (np.asarray(p, np.float64) for p in self)
        safe = np.where(k > 2, k, 3.0)
        return np.where(k > 2, 2 * s**2 / ((safe - 1) * (safe - 2)), np.inf)

    @property
    def mode(self) -> Array:
        return self.location

    def entropy(self) -> Array:
        _, k, s = (np.asarray(p, np.float64) for p in self)
        return np.log(2 * s / k) + (k + 1) / k
