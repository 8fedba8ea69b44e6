"""The uniform distribution, the Pareto prior of its width, and the predictive of the two."""

from typing import Any, NamedTuple

import numpy as np

from didact.core.errors import InputError, ParameterError
from didact.core.typing import AnyArray
from didact.distributions.base import Distribution, Extremes, checked, conjugate, require_positive, require_weight


class _Uniform(NamedTuple):
    low: AnyArray
    high: AnyArray


class Uniform(Distribution, _Uniform):
    r"""Equal density on an interval: :math:`p(x) = 1/(h - l)` for l ≤ x ≤ h.

    Conjugate prior of the width h − l for known l (0 unless `low` is given): :class:`Pareto`. Not an exponential
    family, as the support depends on the parameters. Cost O(n).

    References
    ----------
    DeGroot (1970), Optimal Statistical Decisions, doi:10.1002/0471729000.

    Examples
    --------
    >>> from didact.distributions import Pareto, Uniform
    >>> float(Uniform.fit([2.0, 5.0, 3.0]).high)
    5.0
    >>> float(Uniform.bayes([2.0, 5.0, 3.0], Pareto(1.0, 1.0)).high)
    6.666666666666667
    """

    __slots__ = ()

    def __new__(cls, low: AnyArray, high: AnyArray) -> "Uniform":
        if not (np.asarray(low) < high).all():
            raise ParameterError("low must be below high.")
        return super().__new__(cls, low, high)

    def log_prob(self, x: AnyArray) -> AnyArray:
        x = np.asarray(x, np.float64)
        inside = (x >= self.low) & (x <= self.high)
        return np.where(inside, -np.log(np.asarray(self.high, np.float64) - self.low), -np.inf)

    def _draw(self, rng: np.random.Generator, size: tuple[int, ...]) -> AnyArray:
        return rng.uniform(self.low, self.high, size + np.broadcast_shapes(np.shape(self.low), np.shape(self.high)))

    @property
    def mean(self) -> AnyArray:
        return (np.asarray(self.low) + self.high) / 2

    @property
    def variance(self) -> AnyArray:
        return (np.asarray(self.high) - self.low) ** 2 / 12

    def entropy(self) -> AnyArray:
        return np.log(np.asarray(self.high, np.float64) - self.low)

    @classmethod
    def stats(cls, x: AnyArray, w: AnyArray = None) -> Extremes:
        x, w = checked(x, w, "Uniform")
        x = x[w > 0]
        require_weight(len(x))
        return Extremes(float(w.sum()), x.min(axis=0), x.max(axis=0))

    @classmethod
    def from_stats(cls, stats: Extremes) -> "Uniform":
        if not (np.asarray(stats.low) < stats.high).all():
            raise InputError("All observations are the same: the likelihood grows without end as the interval shrinks.")
        return cls(stats.low, stats.high)

    @classmethod
    def posterior(cls, stats: Extremes, prior: "Pareto", low: AnyArray = 0.0, **known: Any) -> "Pareto":
        conjugate(cls, prior, Pareto)
        if (np.asarray(stats.low) < low).any():
            raise InputError(f"An observation is below the known lower end {low}.")
        return Pareto(np.maximum(prior.scale, np.asarray(stats.high) - low), prior.shape + stats.weight)

    @classmethod
    def _of_parameters(cls, values: Any, low: AnyArray = 0.0, **known: Any) -> "Uniform":
        return cls(low, low + np.asarray(values))

    @classmethod
    def predictive(cls, posterior: "Pareto", low: AnyArray = 0.0, **known: Any) -> "ParetoUniform":
        conjugate(cls, posterior, Pareto)
        return ParetoUniform(low, posterior.scale, posterior.shape)


class _Pareto(NamedTuple):
    scale: AnyArray
    shape: AnyArray


class Pareto(Distribution, _Pareto):
    r"""A power law above a threshold: :math:`p(x) = k\,s^k/x^{k+1}` for x ≥ s; prior of a uniform's width. Cost O(1).

    References
    ----------
    Johnson, Kotz, Balakrishnan (1994), Continuous Univariate Distributions 1, chapter 20.

    Examples
    --------
    >>> from didact.distributions import Pareto
    >>> float(Pareto(1.0, 3.0).mean)
    1.5
    """

    __slots__ = ()

    def __new__(cls, scale: AnyArray, shape: AnyArray) -> "Pareto":
        require_positive(scale=scale, shape=shape)
        return super().__new__(cls, scale, shape)

    def log_prob(self, x: AnyArray) -> AnyArray:
        x = np.asarray(x, np.float64)
        s, k = (np.asarray(v, np.float64) for v in self)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.log(k) + k * np.log(s) - (k + 1) * np.log(x)
        return np.where(x >= s, value, -np.inf)

    def _draw(self, rng: np.random.Generator, size: tuple[int, ...]) -> AnyArray:
        shape = np.broadcast_shapes(np.shape(self.scale), np.shape(self.shape))
        return self.scale * np.exp(rng.exponential(1.0, size + shape) / self.shape)

    @property
    def mean(self) -> AnyArray:
        """k s/(k−1); infinite for k ≤ 1."""
        s, k = (np.asarray(v, np.float64) for v in self)
        return np.where(k > 1, k * s / np.where(k > 1, k - 1, 1.0), np.inf)

    @property
    def variance(self) -> AnyArray:
        """s² k/((k−1)²(k−2)); infinite for k ≤ 2."""
        s, k = (np.asarray(v, np.float64) for v in self)
        safe = np.where(k > 2, k, 3.0)
        return np.where(k > 2, s**2 * safe / ((safe - 1) ** 2 * (safe - 2)), np.inf)

    @property
    def mode(self) -> AnyArray:
        return self.scale

    def entropy(self) -> AnyArray:
        s, k = (np.asarray(v, np.float64) for v in self)
        return np.log(s / k) + 1 + 1 / k


class _ParetoUniform(NamedTuple):
    low: AnyArray
    scale: AnyArray
    shape: AnyArray


class ParetoUniform(Distribution, _ParetoUniform):
    r"""A uniform whose width is drawn from Pareto(s, k): flat up to s, then a power law; the predictive of uniform.

    .. math:: p(l + d) = \frac{k}{k+1}\,\frac1s\,\min\!\big(1, (s/d)^{k+1}\big), \quad d \ge 0

    Cost O(1).

    References
    ----------
    DeGroot (1970), Optimal Statistical Decisions, doi:10.1002/0471729000.

    Examples
    --------
    >>> from didact.distributions import ParetoUniform
    >>> float(ParetoUniform(0.0, 2.0, 1.0).prob(1.0))
    0.25
    """

    __slots__ = ()

    def log_prob(self, x: AnyArray) -> AnyArray:
        l, s, k = (np.asarray(v, np.float64) for v in self)  # noqa: E741
        d = np.asarray(x, np.float64) - l
        value = np.log(k / ((k + 1) * s)) + (k + 1) * np.minimum(0.0, np.log(s / np.maximum(d, s)))
        return np.where(d >= 0, value, -np.inf)

    def _draw(self, rng: np.random.Generator, size: tuple[int, ...]) -> AnyArray:
        width = Pareto(self.scale, self.shape).sample(size, rng)
        return self.low + width * rng.uniform(size=width.shape)

    @property
    def mean(self) -> AnyArray:
        return self.low + Pareto(self.scale, self.shape).mean / 2

    @property
    def variance(self) -> AnyArray:
        """Infinite for k ≤ 2."""
        s, k = (np.asarray(v, np.float64) for v in self[1:])
        width = Pareto(s, np.where(k > 2, k, 3.0))
        return np.where(k > 2, (width.variance + width.mean**2) / 3 - (width.mean / 2) ** 2, np.inf)

    def entropy(self) -> AnyArray:
        low, s, k = (np.asarray(v, np.float64) for v in self)
        return np.log((k + 1) * s / k) + 1 / k + np.zeros(low.shape)
