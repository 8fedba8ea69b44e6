r"""Distributions of probabilities: beta and Dirichlet.

Maximum likelihood of a Dirichlet (a beta is one with two values) solves :math:`\psi(\alpha_k) - \psi(\sum_j\alpha_j) =
\overline{\log x_k}` by Newton's method, whose Hessian is diagonal plus a constant: O(K) per step.

Minka (2000), Estimating a Dirichlet distribution.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from didact.core.errors import InputError, ParameterError
from didact.core.typing import AnyArray
from didact.distributions.base import Distribution, Weighted, checked, require_positive
from didact.parts.families.log_densities import log_beta


class _Beta(NamedTuple):
    a: AnyArray
    b: AnyArray


class Beta(Distribution, _Beta):
    r"""A probability: :math:`p(x) = x^{a-1}(1-x)^{b-1}/B(a,b)` on (0, 1).

    :math:`\eta = (a-1, b-1)`, :math:`T = (\log x, \log(1-x))`, log partition :math:`\log B(a, b)`. The conjugate prior
    of Bernoulli and binomial probabilities; it has none itself that could be normalised. Cost O(n), and a few Newton
    steps.

    References
    ----------
    Johnson, Kotz, Balakrishnan (1995), Continuous Univariate Distributions 2, chapter 25.

    Examples
    --------
    >>> from didact.distributions import Beta
    >>> d = Beta(2.0, 3.0)
    >>> float(d.mean), float(d.variance)
    (0.4, 0.04)
    """

    __slots__ = ()

    def __new__(cls, a: AnyArray, b: AnyArray) -> "Beta":
        require_positive(a=a, b=b)
        return super().__new__(cls, a, b)

    def log_prob(self, x: AnyArray) -> AnyArray:
        x = np.asarray(x, np.float64)
        a, b = (np.asarray(v, np.float64) for v in self)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = log_beta(x, a, b)
        return np.where((x >= 0) & (x <= 1), value, -np.inf)

    def _draw(self, rng: np.random.Generator, size: tuple[int, ...]) -> AnyArray:
        return rng.beta(self.a, self.b, size + np.broadcast_shapes(np.shape(self.a), np.shape(self.b)))

    @property
    def mean(self) -> AnyArray:
        return np.asarray(self.a, np.float64) / (np.asarray(self.a) + self.b)

    @property
    def variance(self) -> AnyArray:
        total = np.asarray(self.a, np.float64) + self.b
        return self.a * np.asarray(self.b) / (total**2 * (total + 1))

    @property
    def mode(self) -> AnyArray:
        """(a−1)/(a+b−2) for a, b ≥ 1, not both 1; elsewhere the density has no peak inside."""
        a, b = (np.asarray(v, np.float64) for v in self)
        if not ((a >= 1) & (b >= 1) & (a + b > 2)).all():
            raise ParameterError("A beta density has a single peak only for a, b ≥ 1 that are not both 1.")
        return (a - 1) / (a + b - 2)

    def entropy(self) -> AnyArray:
        a, b = (np.asarray(v, np.float64) for v in self)
        return (
            special.betaln(a, b)
            - (a - 1) * special.digamma(a)
            - (b - 1) * special.digamma(b)
            + (a + b - 2) * special.digamma(a + b)
        )

    @classmethod
    def stats(cls, x: AnyArray, w: AnyArray = None) -> Weighted:
        x, w = checked(x, w, "Beta", lambda v: (v > 0) & (v < 1), "numbers strictly between 0 and 1")
        return Weighted(w.sum(), (w @ np.log(x), w @ np.log1p(-x)))

    @classmethod
    def from_stats(cls, stats: Weighted) -> "Beta":
        alpha = solve_dirichlet(np.stack(stats.means, axis=-1))
        return cls(alpha[..., 0], alpha[..., 1])

    def natural(self) -> AnyArray:
        return np.stack(np.broadcast_arrays(np.asarray(self.a) - 1.0, np.asarray(self.b) - 1.0), axis=-1)

    @classmethod
    def from_natural(cls, eta: AnyArray) -> "Beta":
        eta = np.asarray(eta, np.float64)
        return cls(eta[..., 0] + 1, eta[..., 1] + 1)

    @classmethod
    def sufficient(cls, x: AnyArray) -> AnyArray:
        x = np.asarray(x, np.float64)
        return np.stack([np.log(x), np.log1p(-x)], axis=-1)

    def expected_sufficient(self) -> AnyArray:
        both = special.digamma(self.natural() + 1)
        return both - special.digamma(np.asarray(self.a, np.float64) + self.b)[..., None]

    @classmethod
    def log_partition(cls, eta: AnyArray) -> AnyArray:
        eta = np.asarray(eta, np.float64)
        return special.betaln(eta[..., 0] + 1, eta[..., 1] + 1)


class _Dirichlet(NamedTuple):
    alpha: AnyArray


class Dirichlet(Distribution, _Dirichlet):
    r"""Probabilities of K values, :math:`\frac{\Gamma(\sum\alpha_k)}{\prod\Gamma(\alpha_k)}\prod x_k^{\alpha_k-1}`.

    :math:`\eta = \alpha - 1`, :math:`T = \log x`. The conjugate prior of categorical and multinomial probabilities; it
    has none itself that could be normalised. Cost O(n K), and a few Newton steps of O(K).

    References
    ----------
    Kotz, Balakrishnan, Johnson (2000), Continuous Multivariate Distributions 1, doi:10.1002/0471722065.

    Examples
    --------
    >>> from didact.distributions import Dirichlet
    >>> Dirichlet([1.0, 2.0, 1.0]).mean
    array([0.25, 0.5 , 0.25])
    """

    __slots__ = ()
    event_ndim = 1

    def __new__(cls, alpha: AnyArray) -> "Dirichlet":
        require_positive(alpha=alpha)
        if np.ndim(alpha) == 0:
            raise ParameterError("alpha must have one entry for each of the K values.")
        return super().__new__(cls, np.asarray(alpha, np.float64))

    def log_prob(self, x: AnyArray) -> AnyArray:
        x = np.asarray(x, np.float64)
        inside = (x >= 0).all(axis=-1) & np.isclose(x.sum(axis=-1), 1.0, rtol=0, atol=1e-8)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = special.xlogy(self.alpha - 1, x).sum(axis=-1) - self.log_partition(self.alpha - 1)
        return np.where(inside, value, -np.inf)

    def _draw(self, rng: np.random.Generator, size: tuple[int, ...]) -> AnyArray:
        g = rng.gamma(self.alpha, size=size + self.alpha.shape)
        return g / g.sum(axis=-1, keepdims=True)

    @property
    def mean(self) -> AnyArray:
        return self.alpha / self.alpha.sum(axis=-1, keepdims=True)

    @property
    def variance(self) -> AnyArray:
        m = self.mean
        spread = m[..., :, None] * (np.eye(m.shape[-1]) - m[..., None, :])
        return spread / (self.alpha.sum(axis=-1) + 1.0)[..., None, None]

    @property
    def mode(self) -> AnyArray:
        """(α−1)/(Σα−K), for α ≥ 1 that are not all 1."""
        K = self.alpha.shape[-1]
        if not ((self.alpha >= 1).all() and (self.alpha.sum(axis=-1) > K).all()):
            raise ParameterError("A Dirichlet density has a single peak only for alpha ≥ 1 that are not all 1.")
        return (self.alpha - 1) / (self.alpha.sum(axis=-1, keepdims=True) - K)

    def entropy(self) -> AnyArray:
        return self.log_partition(self.alpha - 1) - ((self.alpha - 1) * self.expected_sufficient()).sum(axis=-1)

    @classmethod
    def stats(cls, x: AnyArray, w: AnyArray = None) -> Weighted:
        x, w = checked(x, w, "Dirichlet", lambda v: v > 0, "rows of positive numbers that add up to 1")
        if x.ndim < 2 or not np.allclose(x.sum(axis=-1), 1.0, atol=1e-8):
            raise InputError("The observations of a Dirichlet are rows of positive numbers that add up to 1.")
        return Weighted(w.sum(), (np.tensordot(w, np.log(x), axes=1),))

    @classmethod
    def from_stats(cls, stats: Weighted) -> "Dirichlet":
        return cls(solve_dirichlet(stats.means[0]))

    def natural(self) -> AnyArray:
        return self.alpha - 1

    @classmethod
    def from_natural(cls, eta: AnyArray) -> "Dirichlet":
        return cls(np.asarray(eta) + 1)

    @classmethod
    def sufficient(cls, x: AnyArray) -> AnyArray:
        return np.log(np.asarray(x, np.float64))

    def expected_sufficient(self) -> AnyArray:
        return special.digamma(self.alpha) - special.digamma(self.alpha.sum(axis=-1, keepdims=True))

    @classmethod
    def log_partition(cls, eta: AnyArray) -> AnyArray:
        alpha = np.asarray(eta, np.float64) + 1
        return special.gammaln(alpha).sum(axis=-1) - special.gammaln(alpha.sum(axis=-1))


def solve_dirichlet(mean_logs: AnyArray) -> AnyArray:
    """The α of greatest likelihood for given averages of log x, by Newton steps that stay positive."""
    K = mean_logs.shape[-1]
    gap = -(mean_logs.mean(axis=-1, keepdims=True) + np.log(K))  # 0 if all observations are equal in all entries
    if not (gap > 1e-14).all() and not (np.exp(mean_logs).sum(axis=-1) < 1 - 1e-12).all():
        raise InputError("All observations are the same: the likelihood grows without end as they concentrate.")
    alpha = np.exp(mean_logs) / np.maximum(1.0 - np.exp(mean_logs).sum(axis=-1, keepdims=True), 1e-10)
    for _ in range(200):
        total = alpha.sum(axis=-1, keepdims=True)
        g = special.digamma(total) - special.digamma(alpha) + mean_logs
        q, z = -special.polygamma(1, alpha), special.polygamma(1, total)
        shared = (g / q).sum(axis=-1, keepdims=True) / (1 / z + (1 / q).sum(axis=-1, keepdims=True))
        step = (g - shared) / q
        new = alpha - step
        new = np.where(new <= 0, 0.5 * alpha, new)
        if (np.abs(new - alpha) <= 1e-13 * alpha).all():
            return new
        alpha = new
    return alpha
