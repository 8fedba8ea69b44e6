r"""Counts of K values in n draws: multinomial and the Dirichlet-multinomial.

The conjugate prior of the probabilities is :class:`Dirichlet`, as that of :class:`Categorical` is.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import special

from didact.core.errors import InputError
from didact.core.typing import AnyArray
from didact.distributions.base import Distribution, Weighted, checked, conjugate, require_positive
from didact.distributions.bounded import Dirichlet
from didact.distributions.choices import Categorical, require_simplex
from didact.distributions.discrete import BetaBinomial, Binomial, whole


class _Multinomial(NamedTuple):
    n: int
    p: AnyArray


class Multinomial(Distribution, _Multinomial):
    r"""How often each of K values comes up in n draws: :math:`P(x) = \frac{n!}{\prod x_k!}\prod p_k^{x_k}`; n is known.

    For known n an exponential family with the natural parameters of :class:`Categorical`, T the first K−1 counts,
    :math:`a = n\log(1+\sum_k e^{\eta_k})` and :math:`b = n!/\prod x_k!`. Conjugate prior: :class:`Dirichlet`; the
    predictive is a :class:`DirichletMultinomial`. All estimators read n off the rows. Cost O(n K).

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, doi:10.1201/b16018.

    Examples
    --------
    >>> from didact.distributions import Multinomial
    >>> Multinomial.fit([[1, 3], [2, 2]], n=4).p
    array([0.375, 0.625])
    """

    __slots__ = ()
    event_ndim = 1

    def __new__(cls, n: int, p: AnyArray) -> "Multinomial":
        require_positive(n=n)
        require_simplex(p)
        return super().__new__(cls, n, np.asarray(p, np.float64))

    def log_prob(self, x: AnyArray) -> AnyArray:
        x = np.asarray(x, np.float64)
        inside = whole(x).all(axis=-1) & (x.sum(axis=-1) == self.n)
        x = np.where(inside[..., None], x, 0.0)
        value = special.gammaln(self.n + 1) + (special.xlogy(x, self.p) - special.gammaln(x + 1)).sum(axis=-1)
        return np.where(inside, value, -np.inf)

    def _draw(self, rng: np.random.Generator, size: tuple[int, ...]) -> AnyArray:
        return rng.multinomial(self.n, self.p, size or None).astype(np.float64)

    @property
    def mean(self) -> AnyArray:
        return self.n * self.p

    @property
    def variance(self) -> AnyArray:
        return self.n * Categorical(self.p).variance

    def entropy(self) -> AnyArray:
        values = np.arange(self.n + 1.0)
        factorials = Binomial(self.n, self.p[..., None]).prob(values) @ special.gammaln(values + 1)  # E[log x_k!]
        return -special.gammaln(self.n + 1) + (self.n * special.entr(self.p) + factorials).sum(axis=-1)

    @classmethod
    def stats(cls, x: AnyArray, w: AnyArray = None) -> Weighted:
        x, w = checked(x, w, "Multinomial", whole, "vectors of counts")
        if x.ndim != 2 or len(np.unique(x.sum(axis=1))) > 1:
            raise InputError("The observations of a multinomial are rows of counts with the same sum n.")
        return Weighted(w.sum(), (w @ x,))

    @classmethod
    def from_stats(cls, stats: Weighted, n: int | None = None) -> "Multinomial":
        mean = stats.means[0]
        return cls(_number(mean, n), mean / mean.sum())

    @classmethod
    def posterior(cls, stats: Weighted, prior: Dirichlet, **known: Any) -> Dirichlet:
        conjugate(cls, prior, Dirichlet)
        return Categorical.posterior(stats, prior)

    @classmethod
    def _known(cls, stats: Weighted, n: int | None = None, **known: Any) -> dict[str, Any]:
        return {"n": n if n is not None and stats.weight == 0 else _number(stats.means[0], n)}

    @classmethod
    def _of_parameters(cls, values: Any, n: int = 1, **known: Any) -> "Multinomial":
        return cls(n, values)

    @classmethod
    def predictive(cls, posterior: Dirichlet, n: int = 1, **known: Any) -> "DirichletMultinomial":
        conjugate(cls, posterior, Dirichlet)
        return DirichletMultinomial(n, posterior.alpha)

    def natural(self) -> AnyArray:
        return Categorical(self.p).natural()

    @classmethod
    def from_natural(cls, eta: AnyArray, n: int = 1) -> "Multinomial":
        """The distribution with natural parameters η, for the known n."""
        return cls(n, Categorical.from_natural(eta).p)

    @classmethod
    def sufficient(cls, x: AnyArray) -> AnyArray:
        return np.asarray(x, np.float64)[..., :-1]

    def expected_sufficient(self) -> AnyArray:
        return self.n * self.p[..., :-1]

    @classmethod
    def log_partition(cls, eta: AnyArray, n: int = 1) -> AnyArray:
        """a(η) for the known n."""
        return n * Categorical.log_partition(eta)

    @classmethod
    def log_base(cls, x: AnyArray) -> AnyArray:
        x = np.asarray(x, np.float64)
        return special.gammaln(x.sum(axis=-1) + 1) - special.gammaln(x + 1).sum(axis=-1)


def _number(mean: AnyArray, n: int | None) -> int:
    """The number of draws: the sum of each row of counts, the same for all."""
    total = round(float(mean.sum()))
    if n is not None and n != total:
        raise InputError(f"The counts add up to {total} in each row, not to n = {n}.")
    return total


class _DirichletMultinomial(NamedTuple):
    n: int
    alpha: AnyArray


class DirichletMultinomial(Distribution, _DirichletMultinomial):
    r"""A multinomial whose probabilities are drawn from Dirichlet(α): the predictive of :class:`Multinomial`.

    .. math:: P(x) = \frac{n!\,\Gamma(A)}{\Gamma(n+A)}\prod_k\frac{\Gamma(x_k+\alpha_k)}{x_k!\,\Gamma(\alpha_k)},
        \quad A = \sum_k\alpha_k

    Cost O(K) per density.

    References
    ----------
    Mosimann (1962), doi:10.1093/biomet/49.1-2.65.

    Examples
    --------
    >>> from didact.distributions import DirichletMultinomial
    >>> round(float(DirichletMultinomial(1, [1.0, 3.0]).prob([0, 1])), 3)
    0.75
    """

    __slots__ = ()
    event_ndim = 1

    def __new__(cls, n: int, alpha: AnyArray) -> "DirichletMultinomial":
        require_positive(n=n, alpha=alpha)
        return super().__new__(cls, n, np.asarray(alpha, np.float64))

    def log_prob(self, x: AnyArray) -> AnyArray:
        x = np.asarray(x, np.float64)
        inside = whole(x).all(axis=-1) & (x.sum(axis=-1) == self.n)
        x = np.where(inside[..., None], x, 0.0)
        terms = special.gammaln(x + self.alpha) - special.gammaln(self.alpha) - special.gammaln(x + 1)
        return np.where(inside, self._constant() + terms.sum(axis=-1), -np.inf)

    def _constant(self) -> float:
        total = self.alpha.sum()
        return float(special.gammaln(self.n + 1) + special.gammaln(total) - special.gammaln(self.n + total))

    def _draw(self, rng: np.random.Generator, size: tuple[int, ...]) -> AnyArray:
        return rng.multinomial(self.n, rng.dirichlet(self.alpha, size or None)).astype(np.float64)

    @property
    def mean(self) -> AnyArray:
        return self.n * self.alpha / self.alpha.sum()

    @property
    def variance(self) -> AnyArray:
        total = self.alpha.sum()
        return self.n * Categorical(self.alpha / total).variance * (self.n + total) / (1 + total)

    def entropy(self) -> AnyArray:
        values = np.arange(self.n + 1.0)
        total = -self._constant()
        for a in self.alpha:
            p = BetaBinomial(self.n, a, self.alpha.sum() - a).prob(values)
            total -= p @ (special.gammaln(values + a) - special.gammaln(a) - special.gammaln(values + 1))
        return total
