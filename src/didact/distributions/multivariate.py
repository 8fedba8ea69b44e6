r"""The Gaussian in several dimensions: density, draws, marginals, conditionals, affine maps and products, by Cholesky.

.. math:: x_a \mid x_b \sim N\big(\mu_a + \Sigma_{ab}\Sigma_{bb}^{-1}(x_b-\mu_b),\;
    \Sigma_{aa} - \Sigma_{ab}\Sigma_{bb}^{-1}\Sigma_{ba}\big)

Petersen, Pedersen (2012), The Matrix Cookbook.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from didact.core.errors import InputError, ParameterError
from didact.core.typing import AnyArray
from didact.distributions.base import Distribution, checked, conjugate, require_weight
from didact.parts.families.log_densities import LOG_2PI, gaussian_log_density
from didact.parts.statistics.components import Components, components


def factor(matrix: AnyArray, name: str = "covariance") -> AnyArray:
    """The lower Cholesky factor, or an error that says why there is none."""
    try:
        L = linalg.cholesky(matrix, lower=True)
    except linalg.LinAlgError:
        L = np.zeros_like(matrix)
    if (np.diag(L) ** 2 <= 4 * len(L) * np.finfo(float).eps * np.diag(matrix)).any():  # zero up to rounding
        raise ParameterError(
            f"The {name} is not positive definite: columns are constant or linear combinations of others, or there are "
            "too few rows. Drop columns, or add a little to the diagonal."
        )
    return L


def log_det(L: AnyArray) -> float:
    """log |LLᵀ|."""
    return 2.0 * float(np.log(np.diag(L)).sum())


class _MultivariateGaussian(NamedTuple):
    mean: AnyArray
    covariance: AnyArray


class MultivariateGaussian(Distribution, _MultivariateGaussian):
    r"""The normal distribution of a vector, :math:`|2\pi\Sigma|^{-1/2}\exp(-\tfrac12(x-\mu)^T\Sigma^{-1}(x-\mu))`.

    :math:`\eta = (\Sigma^{-1}\mu, -\tfrac12\Sigma^{-1})` (the matrix row by row), :math:`T = (x, xx^T)`. Conjugate
    priors: a :class:`MultivariateGaussian` of the mean for a known `covariance`, a :class:`NormalInverseWishart` of
    both. Cost O(n p² + p³).

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, doi:10.1201/b16018.

    Examples
    --------
    >>> from didact.distributions import MultivariateGaussian
    >>> d = MultivariateGaussian([1.0, 2.0], [[4.0, 3.0], [3.0, 9.0]])
    >>> given = d.conditional([1], [5.0])
    >>> given.mean, given.covariance
    (array([2.]), array([[3.]]))
    """

    __slots__ = ()
    event_ndim = 1

    def __new__(cls, mean: AnyArray, covariance: AnyArray) -> "MultivariateGaussian":
        mean, covariance = np.asarray(mean, np.float64), np.asarray(covariance, np.float64)
        if mean.ndim != 1 or covariance.shape != (len(mean), len(mean)):
            raise ParameterError(f"A mean of shape {mean.shape} does not go with a covariance of {covariance.shape}.")
        if not np.allclose(covariance, covariance.T, rtol=1e-8, atol=1e-12 * np.abs(covariance).max(initial=1e-300)):
            raise ParameterError("The covariance must be symmetric.")
        factor(covariance)
        return super().__new__(cls, mean, covariance)

    @property
    def variance(self) -> AnyArray:
        """The covariance matrix."""
        return self.covariance

    @property
    def mode(self) -> AnyArray:
        return self.mean

    def mahalanobis(self, x: AnyArray) -> AnyArray:
        """The squared distance (x−μ)ᵀΣ⁻¹(x−μ) of each row."""
        d = np.asarray(x, np.float64) - self.mean
        z = linalg.solve_triangular(factor(self.covariance), d.reshape(-1, len(self.mean)).T, lower=True)
        return (z * z).sum(axis=0).reshape(d.shape[:-1])

    def log_prob(self, x: AnyArray) -> AnyArray:
        return gaussian_log_density(self.mahalanobis(x), log_det(factor(self.covariance)), len(self.mean))

    def _draw(self, rng: np.random.Generator, size: tuple[int, ...]) -> AnyArray:
        return self.mean + rng.standard_normal(size + self.mean.shape) @ factor(self.covariance).T

    def entropy(self) -> float:
        return 0.5 * (len(self.mean) * (LOG_2PI + 1) + log_det(factor(self.covariance)))

    # ------------------------------------------------------------------------------------------ algebra

    def marginal(self, columns: Any) -> "MultivariateGaussian":
        """The distribution of some of the coordinates."""
        keep = np.atleast_1d(np.asarray(columns, np.intp))
        return MultivariateGaussian(self.mean[keep], self.covariance[np.ix_(keep, keep)])

    def conditional(self, columns: Any, values: Any) -> "MultivariateGaussian":
        """The distribution of the other coordinates, in their order, when `columns` have the given values."""
        b = np.atleast_1d(np.asarray(columns, np.intp)) % len(self.mean)
        a = np.setdiff1d(np.arange(len(self.mean)), b)
        values = np.atleast_1d(np.asarray(values, np.float64))
        if values.shape != b.shape or not len(a):
            raise InputError(f"{len(b)} columns need {len(b)} values, and at least one column must be left.")
        S = self.covariance
        half = linalg.solve_triangular(factor(S[np.ix_(b, b)]), S[np.ix_(b, a)], lower=True)
        shift = linalg.solve_triangular(factor(S[np.ix_(b, b)]), values - self.mean[b], lower=True)
        return MultivariateGaussian(self.mean[a] + half.T @ shift, S[np.ix_(a, a)] - half.T @ half)

    def affine(self, A: Any, b: Any = 0.0, noise: Any = None) -> "MultivariateGaussian":
        """The distribution of Ax + b, with independent Gaussian noise of covariance `noise` added."""
        A = np.atleast_2d(np.asarray(A, np.float64))
        covariance = A @ self.covariance @ A.T
        covariance = 0.5 * (covariance + covariance.T) + (0.0 if noise is None else np.asarray(noise, np.float64))
        return MultivariateGaussian(A @ self.mean + b, covariance)

    def product(self, other: "MultivariateGaussian") -> tuple["MultivariateGaussian", float]:
        """The normalised product of two densities, and the logarithm of the integral of the product."""
        total = MultivariateGaussian(other.mean, self.covariance + other.covariance)
        L = factor(total.covariance)
        gain = linalg.cho_solve((L, True), self.covariance).T
        covariance = self.covariance - gain @ self.covariance
        mean = self.mean + gain @ (other.mean - self.mean)
        return MultivariateGaussian(mean, 0.5 * (covariance + covariance.T)), float(total.log_prob(self.mean))

    # ------------------------------------------------------------------------------------------ estimates

    @classmethod
    def stats(cls, x: AnyArray, w: AnyArray = None) -> Components:
        x, w = checked(x, w, "MultivariateGaussian")
        if x.ndim != 2:
            raise InputError("The observations of a multivariate Gaussian are rows of numbers.")
        return components(x, None, "full", w)

    @classmethod
    def from_stats(cls, stats: Components) -> "MultivariateGaussian":
        n, mean, scatter = stats.finished().sums
        require_weight(n)
        return cls(mean, scatter / n)

    @classmethod
    def posterior(cls, stats: Components, prior: Any, covariance: Any = None, **known: Any) -> Any:
        if not isinstance(prior, MultivariateGaussian):
            _require_wishart(cls, prior)
            return prior.updated(stats)
        if covariance is None:
            raise ParameterError("A Gaussian prior is over the mean alone: give the known covariance.")
        n, mean, _ = stats.sums
        if n == 0:
            return prior
        sample = MultivariateGaussian(mean, np.asarray(covariance, np.float64) / n)
        return prior.product(sample)[0]

    @classmethod
    def _of_parameters(cls, values: Any, covariance: Any = None, **known: Any) -> "MultivariateGaussian":
        return cls(*values) if covariance is None else cls(values, covariance)

    @classmethod
    def predictive(cls, posterior: Any, covariance: Any = None, **known: Any) -> Distribution:
        if not isinstance(posterior, MultivariateGaussian):
            _require_wishart(cls, posterior)
            return posterior.predictive_of_data()
        if covariance is None:
            raise ParameterError("A Gaussian posterior is over the mean alone: give the known covariance.")
        return cls(posterior.mean, posterior.covariance + np.asarray(covariance, np.float64))

    # ------------------------------------------------------------------------------------------ exponential family

    def natural(self) -> AnyArray:
        P = linalg.cho_solve((factor(self.covariance), True), np.eye(len(self.mean)))
        return np.concatenate([P @ self.mean, (-0.5 * P).ravel()])

    @classmethod
    def from_natural(cls, eta: AnyArray) -> "MultivariateGaussian":
        h, P = _split(eta)
        covariance = linalg.cho_solve((factor(P, "precision"), True), np.eye(len(h)))
        return cls(covariance @ h, 0.5 * (covariance + covariance.T))

    @classmethod
    def sufficient(cls, x: AnyArray) -> AnyArray:
        x = np.asarray(x, np.float64)
        outer = x[..., :, None] * x[..., None, :]
        return np.concatenate([x, outer.reshape(x.shape[:-1] + (-1,))], axis=-1)

    def expected_sufficient(self) -> AnyArray:
        return np.concatenate([self.mean, (self.covariance + np.outer(self.mean, self.mean)).ravel()])

    @classmethod
    def log_partition(cls, eta: AnyArray) -> float:
        h, P = _split(eta)
        L = factor(P, "precision")
        return 0.5 * float(h @ linalg.cho_solve((L, True), h)) - 0.5 * log_det(L)

    @classmethod
    def log_base(cls, x: AnyArray) -> AnyArray:
        x = np.asarray(x)
        return np.full(x.shape[:-1], -0.5 * x.shape[-1] * LOG_2PI)


def _require_wishart(cls: type, belief: Any) -> None:
    from didact.distributions.wishart import NormalInverseWishart  # imported here: that module imports this one

    conjugate(cls, belief, MultivariateGaussian, NormalInverseWishart)


def _split(eta: AnyArray) -> tuple[AnyArray, AnyArray]:
    """The vector Σ⁻¹μ and the matrix Σ⁻¹ of natural parameters."""
    eta = np.asarray(eta, np.float64)
    p = round((math.sqrt(1 + 4 * len(eta)) - 1) / 2)
    P = -2 * eta[p:].reshape(p, p)
    return eta[:p], 0.5 * (P + P.T)
