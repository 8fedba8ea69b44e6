r"""Information, in bits or nats: of events and distributions, and divergences between distributions.

.. math:: I(x) = -\log p(x), \quad H(p) = -\sum p\log p, \quad H(p, q) = -\sum p\log q, \quad
    D(p\|q) = \sum p\log\frac pq, \quad I(X;Y) = D\big(p(x,y)\,\|\,p(x)p(y)\big)

Discrete distributions are given by counts or probabilities, others as values of `didact.distributions`. For a value
with arrays of parameters (independent distributions) the result is the sum over its entries.

Cover, Thomas (2005), Elements of Information Theory, doi:10.1002/047174882X.
"""

import math
from typing import Any

import numpy as np
from scipy import special

from didact.core.errors import InputError, ParameterError
from didact.core.typing import Array
from didact.core.validation.entrance import entrance
from didact.distributions.base import Distribution
from didact.distributions.choices import Categorical
from didact.distributions.counts import Poisson
from didact.distributions.discrete import Bernoulli, Binomial
from didact.distributions.laplace import Laplace
from didact.distributions.multinomial import Multinomial
from didact.distributions.multivariate import MultivariateGaussian, factor, log_det
from didact.distributions.uniform import Uniform

UNITS = {"bits": math.log(2), "nats": 1.0}


@entrance()
def information_content(p: Any, unit: str = "bits") -> Any:
    """The information −log p of an event of probability p: 3 bits for 1/8. Cost O(1).

    References
    ----------
    Cover, Thomas (2005), doi:10.1002/047174882X.

    Examples
    --------
    >>> from didact.distributions.information import information_content
    >>> float(information_content(1 / 8))
    3.0
    """
    p = np.asarray(p, np.float64)
    if not ((p >= 0) & (p <= 1)).all():
        raise InputError("A probability must lie between 0 and 1.")
    with np.errstate(divide="ignore"):
        return -np.log(p) / _unit(unit)


@entrance()
def entropy(p: Any, unit: str = "bits") -> float:
    """The expected information of a distribution, given by counts, probabilities or a distribution. Cost O(K).

    References
    ----------
    Cover, Thomas (2005), doi:10.1002/047174882X.

    Examples
    --------
    >>> from didact.distributions.information import entropy
    >>> round(entropy([5, 4]), 6)
    0.991076
    """
    return float(np.sum(_entropies(p))) / _unit(unit)


@entrance()
def cross_entropy(p: Any, q: Any, unit: str = "bits") -> float:
    """The expected length −Σ p log q of a message from p in a code that is optimal for q. Cost O(K).

    References
    ----------
    Cover, Thomas (2005), doi:10.1002/047174882X.

    Examples
    --------
    >>> from didact.distributions.information import cross_entropy
    >>> cross_entropy([0.5, 0.5], [0.25, 0.75]) > cross_entropy([0.5, 0.5], [0.5, 0.5]) == 1.0
    True
    """
    return float(np.sum(_entropies(p) + _divergences(p, q))) / _unit(unit)


@entrance()
def kl_divergence(p: Any, q: Any, unit: str = "bits") -> float:
    r"""The Kullback–Leibler divergence Σ p log p/q ≥ 0 of q from p; 0 only if they are equal.

    Two distributions of the same exponential family have
    :math:`D = (\eta_p-\eta_q)^T\mathrm E_p[T] - a(\eta_p) + a(\eta_q)`. Cost O(K).

    References
    ----------
    Kullback, Leibler (1951), doi:10.1214/aoms/1177729694.

    Examples
    --------
    >>> from didact.distributions import Gaussian
    >>> from didact.distributions.information import kl_divergence
    >>> kl_divergence(Gaussian(0.0, 1.0), Gaussian(1.0, 1.0), unit="nats")
    0.5
    """
    return float(np.sum(_divergences(p, q))) / _unit(unit)


def _entropies(p: Any) -> Any:
    """The entropy in nats, of each entry of an array of distributions."""
    return p.entropy() if isinstance(p, Distribution) else special.entr(_probabilities(p)).sum()


def _divergences(p: Any, q: Any) -> Any:
    """The divergence in nats, of each entry of an array of distributions."""
    if not isinstance(p, Distribution) and not isinstance(q, Distribution):
        a, b = _probabilities(p), _probabilities(q)
        if a.shape != b.shape:
            raise InputError(f"The two distributions have {a.size} and {b.size} values.")
        return special.rel_entr(a, b).sum()
    if type(p) is not type(q):
        raise ParameterError("The divergence needs two distributions of the same kind, or two tables.")
    if isinstance(p, Uniform):
        inside = (np.asarray(q.low) <= p.low) & (np.asarray(p.high) <= q.high)
        return np.where(inside, q.entropy() - p.entropy(), np.inf)
    if isinstance(p, Poisson):
        return special.kl_div(p.rate, q.rate)
    if isinstance(p, Laplace):
        d, s, t = np.abs(np.asarray(p.location) - q.location), np.asarray(p.scale), np.asarray(q.scale)
        return np.log(t / s) + (s * np.exp(-d / s) + d) / t - 1
    if isinstance(p, (Bernoulli, Binomial, Categorical, Multinomial)):
        return _draws(p, q) * special.rel_entr(*_values(p, q)).sum(axis=-1)
    here, there = p.natural(), q.natural()
    return ((here - there) * p.expected_sufficient()).sum(axis=-1) - p.log_partition(here) + p.log_partition(there)


def _draws(p: Any, q: Any) -> Any:
    """The number of draws per observation, which must be the same for both."""
    n, m = np.asarray(getattr(p, "n", 1)), np.asarray(getattr(q, "n", 1))
    if (n != m).any():
        raise ParameterError(f"The divergence needs two distributions of equally many draws, not n = {n} and n = {m}.")
    return n


def _values(p: Any, q: Any) -> tuple[Array, Array]:
    """Probabilities of the values of one draw, along the last axis (natural parameters do not exist if one is 0)."""
    a, b = np.asarray(p.p, np.float64), np.asarray(q.p, np.float64)
    if isinstance(p, (Bernoulli, Binomial)):
        return np.stack([a, 1 - a], axis=-1), np.stack([b, 1 - b], axis=-1)
    if a.shape[-1] != b.shape[-1]:
        raise InputError(f"The two distributions have {a.shape[-1]} and {b.shape[-1]} values.")
    return a, b


@entrance()
def mutual_information(joint: Any, columns: Any = None, unit: str = "bits") -> float:
    r"""The information that X has about Y: the divergence of the joint distribution from the product of its margins.

    From a table of counts or probabilities, or from a :class:`~didact.distributions.MultivariateGaussian` with the
    `columns` that form X: :math:`\tfrac12\log\frac{|\Sigma_{xx}||\Sigma_{yy}|}{|\Sigma|}`. Cost O(cells).

    References
    ----------
    Cover, Thomas (2005), doi:10.1002/047174882X.

    Examples
    --------
    >>> from didact.distributions.information import mutual_information
    >>> mutual_information([[2, 0], [0, 2]])
    1.0
    """
    if isinstance(joint, MultivariateGaussian):
        if columns is None:
            raise ParameterError("Say which columns X stands for, as in columns=[0].")
        chosen = np.atleast_1d(np.asarray(columns, np.intp)) % len(joint.mean)
        rest = np.setdiff1d(np.arange(len(joint.mean)), chosen)
        parts = [log_det(factor(joint.marginal(c).covariance)) for c in (chosen, rest)]
        return 0.5 * (sum(parts) - log_det(factor(joint.covariance))) / _unit(unit)
    table = _probabilities(joint)
    if table.ndim != 2:
        raise InputError(
            "Mutual information needs a table with one row for each value of X and a column for each of Y."
        )
    product = np.outer(table.sum(axis=1), table.sum(axis=0))
    return float(special.rel_entr(table, product).sum()) / _unit(unit)


def _probabilities(values: Any) -> Array:
    """Counts or probabilities, normalised to sum 1."""
    values = np.asarray(values, np.float64)
    if values.ndim == 0 or not np.isfinite(values).all() or (values < 0).any() or not values.sum() > 0:
        raise InputError("Counts or probabilities must be finite and at least 0, and not all of them 0.")
    return values / values.sum()


def _unit(unit: str) -> float:
    if unit not in UNITS:
        raise ParameterError(f"unit must be 'bits' or 'nats', not {unit!r}.")
    return UNITS[unit]
