r"""A choice among K values: the categorical distribution.

The conjugate prior of the probabilities is :class:`Dirichlet`; with a flat one the Bayes estimate is Laplace's rule
:math:`(n_k+1)/(n+K)`.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from didact.core.errors import InputError, ParameterError
from didact.core.rows import reduce_blocks
from didact.core.typing import AnyArray
from didact.distributions.base import Distribution, Weighted, checked, conjugate
from didact.distributions.bounded import Dirichlet
from didact.distributions.discrete import require_probability, whole


def require_simplex(p: AnyArray) -> None:
    """Raise if the entries are not probabilities that sum to 1."""
    require_probability(p)
    if np.ndim(p) == 0 or not np.allclose(np.sum(p, axis=-1), 1.0, atol=1e-8):
        raise ParameterError("The probabilities of a categorical distribution must add up to 1.")


class _Categorical(NamedTuple):
    p: AnyArray


class Categorical(Distribution, _Categorical):
    r"""A choice among K values 0 … K−1 with probabilities p (along the last axis): :math:`P(x=k) = p_k`.

    :math:`\eta_k = \log(p_k/p_K)` for k < K, T the indicators of the first K−1 values,
    :math:`a = \log(1+\sum_k e^{\eta_k})`. Conjugate prior: :class:`Dirichlet`. Cost O(n).

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, doi:10.1201/b16018.

    Examples
    --------
    >>> from didact.distributions import Categorical, Dirichlet
    >>> Categorical.fit([0, 1, 1, 2], n_values=4).p
    array([0.25, 0.5 , 0.25, 0.  ])
    >>> Categorical.bayes([0, 1, 1, 2], Dirichlet([1.0] * 4)).p
    array([0.25 , 0.375, 0.25 , 0.125])
    """

    __slots__ = ()

    def __new__(cls, p: AnyArray) -> "Categorical":
        require_simplex(p)
        return super().__new__(cls, np.asarray(p, np.float64))

    def log_prob(self, x: AnyArray) -> AnyArray:
        x = np.asarray(x, np.float64)
        K = self.p.shape[-1]
        inside = whole(x) & (x < K)
        code = np.where(inside, x, 0).astype(np.intp)
        with np.errstate(divide="ignore"):
            logs = np.log(self.p)
        value = logs[code] if logs.ndim == 1 else np.take_along_axis(
            np.broadcast_to(logs, code.shape + (K,)), code[..., None], axis=-1
        )[..., 0]  # fmt: skip
        return np.where(inside, value, -np.inf)

    def _draw(self, rng: np.random.Generator, size: tuple[int, ...]) -> AnyArray:
        u = rng.uniform(size=size + self.p.shape[:-1])
        edges = np.cumsum(self.p, axis=-1)[..., :-1]
        return (u[..., None] >= edges).sum(axis=-1).astype(np.float64)

    @property
    def mean(self) -> AnyArray:
        """The probabilities: the expected indicators."""
        return self.p

    @property
    def variance(self) -> AnyArray:
        """The covariance matrix of the indicators."""
        return self.p[..., :, None] * (np.eye(self.p.shape[-1]) - self.p[..., None, :])

    @property
    def mode(self) -> AnyArray:
        return self.p.argmax(axis=-1).astype(np.float64)

    def entropy(self) -> AnyArray:
        return special.entr(self.p).sum(axis=-1)

    @classmethod
    def stats(cls, x: AnyArray, w: AnyArray = None, n_values: int | None = None) -> Weighted:
        x, w = checked(x, w, "Categorical", whole, "the numbers 0, 1, 2, …")
        K = int(x.max(initial=-1.0)) + 1 if n_values is None else n_values
        if x.size and x.max() >= K:
            raise InputError(f"An observation is {int(x.max())}, but there are only {K} values 0 … {K - 1}.")
        flat = x.reshape(len(x), -1).astype(np.intp)
        counts = np.stack([np.bincount(column, w, K) for column in flat.T])
        return Weighted(w.sum(), (counts.reshape(x.shape[1:] + (K,)),))

    @classmethod
    def fit(
        cls, x: AnyArray, sample_weight: AnyArray = None, n_values: int | None = None, **known: Any
    ) -> "Categorical":
        """The relative frequencies; `n_values` is the number of possible values, including those that do not occur."""
        return cls.from_stats(reduce_blocks(partial(cls.stats, n_values=n_values), x, sample_weight))

    @classmethod
    def from_stats(cls, stats: Weighted) -> "Categorical":
        return cls(stats.means[0])

    @classmethod
    def posterior(cls, stats: Weighted, prior: Dirichlet, **known: Any) -> Dirichlet:
        conjugate(cls, prior, Dirichlet)
        counts = stats.sums[0]
        room = prior.alpha.shape[-1] - counts.shape[-1]
        if room < 0:
            raise InputError(f"The prior knows {prior.alpha.shape[-1]} values, the sample has {counts.shape[-1]}.")
        return Dirichlet(prior.alpha + np.pad(counts, [(0, 0)] * (counts.ndim - 1) + [(0, room)]))

    @classmethod
    def predictive(cls, posterior: Dirichlet, **known: Any) -> "Categorical":
        conjugate(cls, posterior, Dirichlet)
        return cls(posterior.mean)

    def natural(self) -> AnyArray:
        with np.errstate(divide="ignore"):
            return np.log(self.p[..., :-1]) - np.log(self.p[..., -1:])

    @classmethod
    def from_natural(cls, eta: AnyArray) -> "Categorical":
        eta = np.asarray(eta, np.float64)
        return cls(special.softmax(np.concatenate([eta, np.zeros(eta.shape[:-1] + (1,))], axis=-1), axis=-1))

    @classmethod
    def sufficient(cls, x: AnyArray, n_values: int | None = None) -> AnyArray:
        x = np.asarray(x, np.float64)
        K = int(x.max()) + 1 if n_values is None else n_values
        return (x[..., None] == np.arange(K - 1)).astype(np.float64)

    def expected_sufficient(self) -> AnyArray:
        return self.p[..., :-1]

    @classmethod
    def log_partition(cls, eta: AnyArray) -> AnyArray:
        eta = np.asarray(eta, np.float64)
        return special.logsumexp(np.concatenate([eta, np.zeros(eta.shape[:-1] + (1,))], axis=-1), axis=-1)
