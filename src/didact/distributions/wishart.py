r"""The conjugate prior of a multivariate Gaussian and what it predicts: normal-inverse-Wishart and Student's t.

Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, special

from didact.core.errors import ParameterError
from didact.core.typing import AnyArray
from didact.distributions.base import Distribution, require_positive
from didact.distributions.multivariate import MultivariateGaussian, factor, log_det
from didact.parts.statistics.components import Components


class _NormalInverseWishart(NamedTuple):
    location: AnyArray
    strength: float
    scale: AnyArray
    dof: float


class NormalInverseWishart(Distribution, _NormalInverseWishart):
    r"""A mean and a covariance: :math:`\Sigma\sim IW(\Psi, \nu)`, :math:`\mu\mid\Sigma\sim N(m, \Sigma/\kappa)`.

    The conjugate prior of a multivariate Gaussian: κ observations' worth of belief in the mean m, ν in the covariance
    Ψ/(ν−p−1). Values are pairs (μ, Σ). Cost O(p³).

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, doi:10.1201/b16018.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.distributions import MultivariateGaussian, NormalInverseWishart
    >>> prior = NormalInverseWishart(np.zeros(2), 1.0, np.eye(2), 4.0)
    >>> MultivariateGaussian.bayes([[2.0, 0.0], [4.0, 0.0]], prior).mean
    array([2., 0.])
    """

    __slots__ = ()

    def __new__(cls, location: AnyArray, strength: float, scale: AnyArray, dof: float) -> "NormalInverseWishart":
        location, scale = np.asarray(location, np.float64), np.asarray(scale, np.float64)
        require_positive(strength=strength)
        if not dof > len(location) - 1:
            raise ParameterError(f"dof must be above p − 1 = {len(location) - 1}, not {dof}.")
        factor(scale, "scale matrix")
        return super().__new__(cls, location, strength, scale, dof)

    def updated(self, stats: Components) -> "NormalInverseWishart":
        """The posterior after a sample with these statistics."""
        n, average, scatter = stats.sums
        d, total = average - self.location, self.strength + n
        scale = self.scale + scatter + self.strength * n / total * np.outer(d, d)
        return NormalInverseWishart(self.location + n / total * d, total, scale, self.dof + n)

    def predictive_of_data(self) -> "MultivariateStudentT":
        """The distribution of an observation whose mean and covariance are drawn from this."""
        dof = self.dof - len(self.location) + 1
        return MultivariateStudentT(dof, self.location, self.scale * (self.strength + 1) / (self.strength * dof))

    def log_prob(self, x: tuple[AnyArray, AnyArray]) -> float:
        """The log density at a pair (μ, Σ)."""
        mu, S = x
        p, L = len(self.location), factor(np.asarray(S, np.float64))
        wishart = (
            0.5 * self.dof * log_det(factor(self.scale))
            - 0.5 * self.dof * p * math.log(2)
            - special.multigammaln(0.5 * self.dof, p)
            - 0.5 * (self.dof + p + 1) * log_det(L)
            - 0.5 * float(np.trace(linalg.cho_solve((L, True), self.scale)))
        )
        return float(wishart + MultivariateGaussian(self.location, np.asarray(S) / self.strength).log_prob(mu))

    def sample(self, size: Any = (), random_state: Any = None) -> tuple[AnyArray, AnyArray]:
        """Draws of means and of covariances, by Bartlett's decomposition."""
        return super().sample(size, random_state)

    def _draw(self, rng: np.random.Generator, size: tuple[int, ...]) -> tuple[AnyArray, AnyArray]:
        p, L = len(self.location), factor(self.scale)
        count = int(np.prod(size, dtype=int))
        means, covariances = np.empty((count, p)), np.empty((count, p, p))
        for k in range(count):
            A = np.tril(rng.standard_normal((p, p)), -1)
            A[np.diag_indices(p)] = np.sqrt(rng.chisquare(self.dof - np.arange(p)))
            half = linalg.solve_triangular(A, L.T, lower=True).T  # Σ = L (AAᵀ)⁻¹ Lᵀ
            covariances[k] = half @ half.T
            means[k] = self.location + half @ rng.standard_normal(p) / math.sqrt(self.strength)
        return means.reshape(*size, p), covariances.reshape(*size, p, p)

    @property
    def mean(self) -> tuple[AnyArray, AnyArray]:
        """E[μ] and E[Σ] = Ψ/(ν−p−1), which needs ν > p+1."""
        spare = self.dof - len(self.location) - 1
        if not spare > 0:
            raise ParameterError("The expected covariance is infinite for dof ≤ p + 1.")
        return self.location, self.scale / spare

    @property
    def mode(self) -> tuple[AnyArray, AnyArray]:
        """The pair of greatest density: m and Ψ/(ν+p+2)."""
        return self.location, self.scale / (self.dof + len(self.location) + 2)


class _MultivariateStudentT(NamedTuple):
    dof: float
    location: AnyArray
    scale: AnyArray


class MultivariateStudentT(Distribution, _MultivariateStudentT):
    r"""Student's t of a vector: :math:`p(x) \propto \big(1+\tfrac1\nu(x-m)^TS^{-1}(x-m)\big)^{-(\nu+p)/2}`.

    The predictive of a multivariate Gaussian with unknown mean and covariance. Cost O(n p² + p³).

    References
    ----------
    Kotz, Nadarajah (2004), Multivariate t Distributions, doi:10.1017/CBO9780511550683.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.distributions import MultivariateStudentT
    >>> MultivariateStudentT(4.0, np.zeros(2), np.eye(2)).variance
    array([[2., 0.],
           [0., 2.]])
    """

    __slots__ = ()
    event_ndim = 1

    def __new__(cls, dof: float, location: AnyArray, scale: AnyArray) -> "MultivariateStudentT":
        require_positive(dof=dof)
        location, scale = np.asarray(location, np.float64), np.asarray(scale, np.float64)
        factor(scale, "scale matrix")
        return super().__new__(cls, dof, location, scale)

    def log_prob(self, x: AnyArray) -> AnyArray:
        v, p = self.dof, len(self.location)
        squares = MultivariateGaussian(self.location, self.scale).mahalanobis(x)
        return self._constant() - 0.5 * (v + p) * np.log1p(squares / v)

    def _constant(self) -> float:
        v, p = self.dof, len(self.location)
        logs = special.gammaln((v + p) / 2) - special.gammaln(v / 2) - 0.5 * p * math.log(v * math.pi)
        return float(logs - 0.5 * log_det(factor(self.scale)))

    def _draw(self, rng: np.random.Generator, size: tuple[int, ...]) -> AnyArray:
        z = rng.standard_normal((*size, len(self.location))) @ factor(self.scale).T
        return self.location + z / np.sqrt(rng.chisquare(self.dof, size) / self.dof)[..., None]

    @property
    def mean(self) -> AnyArray:
        """The location, for ν > 1."""
        return self.location if self.dof > 1 else np.full_like(self.location, np.nan)

    @property
    def variance(self) -> AnyArray:
        """S ν/(ν−2), for ν > 2."""
        return self.scale * self.dof / (self.dof - 2) if self.dof > 2 else np.full_like(self.scale, np.inf)

    @property
    def mode(self) -> AnyArray:
        return self.location

    def entropy(self) -> float:
        v, p = self.dof, len(self.location)
        tail = 0.5 * (v + p) * (special.digamma((v + p) / 2) - special.digamma(v / 2))
        return float(tail - self._constant())
