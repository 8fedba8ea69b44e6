"""Families of proportions and of overdispersed counts: Bernoulli, binomial, negative binomial, beta, multinomial.

All array methods are a few passes, O(n). References: McCullagh and Nelder, doi:10.1007/978-1-4899-3242-6; Lawless
(negative binomial), doi:10.2307/3314912; Ferrari and Cribari-Neto (beta), doi:10.1080/0266476042000214501.
"""

from typing import ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import betaln, digamma, expit, gammaln, zeta
from scipy.special import xlogy as scipy_xlogy

from didact.core.backend import namespace, to_numpy
from didact.core.typing import AnyArray
from didact.parts.families.log_densities import log_beta, log_choose, log_failures, log_hits
from didact.parts.links import Log, Logit
from didact.parts.losses import expected
from didact.parts.losses.classification import Logistic, Softmax
from didact.parts.noun import Family, Link, Loss, Noun, Plain, require, special, xlogy


class _Proportion(Family):
    """What the Bernoulli and the binomial family share: V(μ) = μ(1 − μ)."""

    __slots__ = ()
    _mean = "unit"
    fixed_dispersion = True

    @property
    def canonical(self) -> Link:
        """The log-odds."""
        return Logit()

    def variance(self, mu: AnyArray) -> AnyArray:
        """μ(1 − μ)."""
        return mu * (1.0 - mu)

    def deviance(self, y: AnyArray, mu: AnyArray) -> AnyArray:
        """2(y·log(y/μ) + (1 − y)·log((1 − y)/(1 − μ)))."""
        return 2.0 * (xlogy(y, y / mu) + xlogy(1.0 - y, (1.0 - y) / (1.0 - mu)))

    def shortcut(self, link: Link) -> Loss | None:
        """With the log-odds: log(1 + e^η) − y·η."""
        return Logistic() if link == Logit() else None

    def start(self, y: AnyArray) -> AnyArray:
        """Halfway between y and ½."""
        return 0.5 * y + 0.25

    def log_density(self, y: AnyArray, mu: AnyArray, dispersion: float) -> AnyArray:
        """The log density of each y."""
        return log_hits(y, 1 - y, mu)


class Bernoulli(_Proportion, Plain):
    """One trial: y is 0 or 1, and μ the probability of 1.

    >>> import numpy as np
    >>> Bernoulli().variance(np.array([0.5]))
    array([0.25])
    """

    __slots__ = ()
    _support = "y is 0 or 1"


class Binomial(_Proportion, Plain):
    """Successes in several trials: y is the proportion of successes, the weight is the number of trials.

    >>> import numpy as np
    >>> Binomial().log_likelihood(np.array([0.5]), np.array([0.5]), w=np.array([2.0])).round(6)
    array([-0.693147])
    """

    __slots__ = ()
    _support = "0 ≤ y ≤ 1"

    def log_likelihood(self, y: AnyArray, mu: AnyArray, w: AnyArray = 1.0, dispersion: float = 1.0) -> AnyArray:
        """The log probability of w·y successes in w trials."""
        y, mu, w = (np.asarray(to_numpy(a), dtype=np.float64) for a in (y, mu, w))
        hits = w * y
        return log_choose(w, hits) + log_hits(hits, w - hits, mu)


class NegativeBinomial(Family, NamedTuple("NegativeBinomial", [("alpha", float)])):
    """Counts that vary more than Poisson ones: V(μ) = μ + α·μ² (the form called NB2); the limit α → 0 is Poisson.

    >>> import numpy as np
    >>> NegativeBinomial(0.5).variance(np.array([2.0]))
    array([4.])
    """

    __slots__ = ()
    _support = "y ≥ 0"
    fixed_dispersion = True

    def __new__(cls, alpha: float = 1.0) -> Self:
        """Check the parameter."""
        require(alpha > 0, f"The negative binomial's alpha must be positive (0 is the Poisson family), got {alpha!r}.")
        return super().__new__(cls, float(alpha))

    @property
    def canonical(self) -> Link:
        """The usual log link; the canonical link log(αμ/(1 + αμ)) is not used in practice."""
        return Log()

    def variance(self, mu: AnyArray) -> AnyArray:
        """μ + α·μ²."""
        return mu + self.alpha * mu * mu

    def deviance(self, y: AnyArray, mu: AnyArray) -> AnyArray:
        """2(y·log(y/μ) − (y + 1/α)·log((1 + αy)/(1 + αμ)))."""
        xp, a = namespace(mu), self.alpha
        return 2.0 * (xlogy(y, y / mu) - (y + 1.0 / a) * (xp.log1p(a * y) - xp.log1p(a * mu)))

    def shortcut(self, link: Link) -> Loss | None:
        """With the log link: (y + 1/α)·log(1 + αe^η) − y·η."""
        return expected.NegativeBinomial(self.alpha) if link == Log() else None

    def log_density(self, y: AnyArray, mu: AnyArray, dispersion: float) -> AnyArray:
        """The log density of each y."""
        n = 1 / self.alpha
        return log_failures(y, n) - (n + y) * np.log1p(self.alpha * mu) + scipy_xlogy(y, self.alpha * mu)


class Beta(Family, NamedTuple("Beta", [("precision", float)])):
    """Fractions strictly between 0 and 1: y ~ Beta(μφ, (1 − μ)φ) with given precision φ; V(μ) = μ(1 − μ)/(1 + φ).

    It is not an exponential family in y: the best mean for a single y is not y itself, so `deviance` searches for it.
    Digamma functions come from SciPy, so tensors go through the CPU.

    >>> import numpy as np
    >>> Beta(2.0).log_likelihood(np.array([0.3]), np.array([0.5])).round(6) + 0.0
    array([0.])
    """

    __slots__ = ()
    _mean = "unit"
    _support = "0 < y < 1"
    fixed_dispersion = True

    def __new__(cls, precision: float = 1.0) -> Self:
        """Check the parameter."""
        require(precision > 0, f"The beta family's precision must be positive, got {precision!r}.")
        return super().__new__(cls, float(precision))

    @property
    def canonical(self) -> Link:
        """The usual logit link."""
        return Logit()

    def variance(self, mu: AnyArray) -> AnyArray:
        """μ(1 − μ)/(1 + φ)."""
        return mu * (1.0 - mu) * (1.0 / (1.0 + self.precision))

    def objective(self, y: AnyArray, mu: AnyArray) -> AnyArray:
        """−log f up to a term in y alone: log B(μφ, (1 − μ)φ) − μφ·logit(y)."""
        a = self.precision * mu
        return special(betaln, a, self.precision - a) - a * Logit().link(y)

    def deviance(self, y: AnyArray, mu: AnyArray) -> AnyArray:
        """2(log f(y; best mean) − log f(y; μ)); the best mean is found by bisection in log-odds."""
        odds = Logit().link(y)
        low = namespace(y).zeros_like(y) - 750.0
        high = -low
        for _ in range(60):
            middle = 0.5 * (low + high)
            below = self._expected_logit(special(expit, middle), special(expit, -middle)) < odds
            low = namespace(y).where(below, middle, low)
            high = namespace(y).where(below, high, middle)
        return 2.0 * (self.objective(y, mu) - self.objective(y, self.inside(special(expit, low))))

    def _expected_logit(self, mu: AnyArray, rest: AnyArray) -> AnyArray:
        """E[logit y] = ψ(μφ) − ψ((1 − μ)φ)."""
        return special(digamma, self.precision * mu) - special(digamma, self.precision * rest)

    def score(self, y: AnyArray, mu: AnyArray) -> AnyArray:
        """φ(logit(y) − E[logit y])."""
        return self.precision * (Logit().link(y) - self._expected_logit(mu, 1.0 - mu))

    def information(self, mu: AnyArray) -> AnyArray:
        """φ²(ψ′(μφ) + ψ′((1 − μ)φ)), where ψ′(x) = ζ(2, x)."""
        phi = self.precision
        return phi * phi * (_trigamma(phi * mu) + _trigamma(phi * (1.0 - mu)))

    def log_density(self, y: AnyArray, mu: AnyArray, dispersion: float) -> AnyArray:
        """The log density of each y."""
        a, b = self.precision * mu, self.precision * (1 - mu)
        return log_beta(y, a, b)


def _trigamma(x: AnyArray) -> AnyArray:
    return special(lambda values: zeta(2.0, values), x)


class Multinomial(Noun, Plain):
    """One of K classes, or proportions of them: y and μ are (n, K) with rows that sum to 1, η is (n, K).

    Its inverse link is the softmax, which mixes the columns, so it has an interface of its own: `inverse(eta)` returns
    the probabilities, `value_grad(y, eta)` half the deviance (up to a term in y alone) and its gradient μ − y; the
    Fisher information of a row in η is diag(μ) − μμᵀ. The weight is the number of trials.

    >>> import numpy as np
    >>> Multinomial().inverse(np.zeros((1, 4)))
    array([[0.25, 0.25, 0.25, 0.25]])
    """

    __slots__ = ()
    fixed_dispersion: ClassVar[bool] = True
    mean: ClassVar[str] = "simplex"
    support: ClassVar[str] = "rows y ≥ 0 that sum to 1"

    def inverse(self, eta: AnyArray) -> AnyArray:
        """The probabilities (n, K) of linear predictors."""
        return Softmax().probabilities(eta)

    def value_grad(self, y: AnyArray, eta: AnyArray) -> tuple[AnyArray, AnyArray]:
        """log Σ e^η − y·η per row (n,), and μ − y (n, K)."""
        return Softmax().value_grad(y, eta)

    def deviance(self, y: AnyArray, mu: AnyArray) -> AnyArray:
        """2 Σₖ yₖ·log(yₖ/μₖ) per row."""
        return 2.0 * namespace(mu).sum(xlogy(y, y / mu), axis=1)

    def in_domain(self, y: AnyArray) -> AnyArray:
        """Whether each row holds proportions that sum to 1."""
        xp = namespace(y)
        slack = 10.0 * float(xp.finfo(y.dtype).eps) * y.shape[1]
        return xp.all(y >= 0, axis=1) & (xp.abs(xp.sum(y, axis=1) - 1.0) <= slack)

    def start(self, y: AnyArray) -> AnyArray:
        """Halfway between y and equal probabilities."""
        return 0.5 * y + 0.5 / y.shape[1]

    def log_likelihood(self, y: AnyArray, mu: AnyArray, w: AnyArray = 1.0, dispersion: float = 1.0) -> AnyArray:
        """The log probability of the counts w·y in w trials, per row."""
        y, mu, w = (np.asarray(to_numpy(a), dtype=np.float64) for a in (y, mu, w))
        counts = w[..., None] * y
        return gammaln(w + 1) + np.sum(scipy_xlogy(counts, mu) - gammaln(counts + 1), axis=1)
