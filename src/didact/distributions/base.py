r"""Base of the distributions: immutable values with density, draws, moments and estimators from mergeable sums.

Parameters may be arrays: a value is then an array of independent distributions, as in naive Bayes and mixtures.

* maximum likelihood: ``fit(x, w)`` is ``from_stats(stats(x, w))``; statistics of two samples ``merge``;
* Bayes: ``posterior(stats, prior)`` updates the conjugate prior; ``map`` and ``bayes`` take the mode and the mean of
  that posterior, and ``predictive(posterior)`` is the distribution of the next observation;
* exponential family: :math:`p(x) = b(x)\exp(\eta^TT(x) - a(\eta))`, with :math:`\nabla a = \mathrm E[T]` and
  :math:`\nabla^2a = \mathrm{Cov}[T]`.
"""

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from didact.core.errors import InputError, ParameterError
from didact.core.random import streams
from didact.core.rows import reduce_blocks
from didact.core.typing import AnyArray
from didact.core.validation.entrance import guard
from didact.parts.noun import Noun
from didact.parts.statistics.components import Components, components


class Distribution(Noun):
    """Base of the distributions, mixed into a NamedTuple of parameters. Abstract.

    All have `mean`, `variance` (for vectors the covariance matrix) and, if it is unique, `mode`.
    """

    __slots__ = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        guard(cls)

    event_ndim: ClassVar[int] = 0  # dimensions of one observation: 0 a number, 1 a vector

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(map(np.array_equal, self, other))  # type: ignore[call-overload]

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]  # parameters can be arrays

    def log_prob(self, x: AnyArray) -> AnyArray:
        """The logarithm of the density, or of the probability of a discrete value, at x."""
        raise NotImplementedError

    def prob(self, x: AnyArray) -> AnyArray:
        """The density, or the probability of a discrete value, at x."""
        return np.exp(self.log_prob(x))

    def sample(self, size: int | tuple[int, ...] = (), random_state: Any = None) -> AnyArray:
        """Independent draws, of shape `size` followed by the shape of the parameters."""
        size = (size,) if isinstance(size, (int, np.integer)) else tuple(size)
        return self._draw(generator(random_state), size)

    def _draw(self, rng: np.random.Generator, size: tuple[int, ...]) -> AnyArray:
        raise NotImplementedError

    def entropy(self) -> AnyArray:
        """The expected information −E[log p(x)], in nats."""
        raise NotImplementedError

    @classmethod
    def stats(cls, x: AnyArray, w: AnyArray = None) -> Any:
        """The sufficient statistic of a sample for `from_stats` and `posterior`; mergeable."""
        raise ParameterError(f"{cls.__name__} arises as a prior or as a predictive; it has no estimator here.")

    @classmethod
    def from_stats(cls, stats: Any) -> Any:
        """The maximum-likelihood distribution for a sample with these statistics."""
        raise ParameterError(f"{cls.__name__} arises as a prior or as a predictive; it has no estimator here.")

    @classmethod
    def fit(cls, x: AnyArray, sample_weight: AnyArray = None, **known: Any) -> Any:
        """The maximum-likelihood distribution; `known` parameters are held fixed where the class allows it.

        x is a sample in memory, `Batches` or a Dask array; statistics of blocks are merged.
        """
        return cls.from_stats(reduce_blocks(cls.stats, x, sample_weight), **known)

    @classmethod
    def posterior(cls, stats: Any, prior: Any, **known: Any) -> Any:
        """The conjugate prior, updated by the statistics of a sample."""
        raise ParameterError(f"{cls.__name__} has no conjugate prior among the distributions here.")

    @classmethod
    def predictive(cls, posterior: Any, **known: Any) -> "Distribution":
        """The distribution of the next observation, averaged over the posterior of the parameters."""
        raise ParameterError(f"{cls.__name__} has no posterior predictive among the distributions here.")

    @classmethod
    def _of_parameters(cls, values: Any, **known: Any) -> Any:
        """The distribution with these values of the parameters that the prior covers."""
        return cls(values)  # type: ignore[call-arg]

    @classmethod
    def _known(cls, stats: Any, **known: Any) -> dict[str, Any]:
        """The parameters that the prior does not cover, given or read off the sample."""
        return known

    @classmethod
    def bayes(cls, x: AnyArray, prior: Any, sample_weight: AnyArray = None, **known: Any) -> Any:
        """The Bayes estimate under squared loss: the mean of the posterior."""
        stats = reduce_blocks(cls.stats, x, sample_weight)
        return cls._of_parameters(cls.posterior(stats, prior, **known).mean, **cls._known(stats, **known))

    @classmethod
    def map(cls, x: AnyArray, prior: Any, sample_weight: AnyArray = None, **known: Any) -> Any:
        """The parameters of greatest posterior density: the mode of the posterior."""
        stats = reduce_blocks(cls.stats, x, sample_weight)
        return cls._of_parameters(cls.posterior(stats, prior, **known).mode, **cls._known(stats, **known))

    # As an exponential family; classes that are none raise an error.
    def natural(self) -> AnyArray:
        """The natural parameters η, along the last axis."""
        raise ParameterError(f"{type(self).__name__} is no exponential family in all of its parameters.")

    @classmethod
    def from_natural(cls, eta: AnyArray) -> Any:
        """The distribution with natural parameters η."""
        raise ParameterError(f"{cls.__name__} is no exponential family in all of its parameters.")

    @classmethod
    def sufficient(cls, x: AnyArray) -> AnyArray:
        """The sufficient statistic T(x), along the last axis."""
        raise ParameterError(f"{cls.__name__} is no exponential family in all of its parameters.")

    @classmethod
    def log_partition(cls, eta: AnyArray) -> AnyArray:
        """a(η), whose gradient is E[T] and whose second derivative is Cov[T]."""
        raise ParameterError(f"{cls.__name__} is no exponential family in all of its parameters.")

    def expected_sufficient(self) -> AnyArray:
        """E[T(x)], the gradient of the log partition function."""
        raise ParameterError(f"{type(self).__name__} is no exponential family in all of its parameters.")

    @classmethod
    def log_base(cls, x: AnyArray) -> AnyArray:
        """log b(x)."""
        return np.zeros(np.shape(x)[: np.ndim(x) - cls.event_ndim])


guard(Distribution)


class Weighted(NamedTuple):
    """Total weight of a sample and the weighted sums of some functions of its entries; mergeable."""

    weight: AnyArray
    sums: tuple[AnyArray, ...]

    def merge(self, other: "Weighted") -> "Weighted":
        """Add the weights and the sums."""
        return Weighted(self.weight + other.weight, tuple(a + b for a, b in zip(self.sums, other.sums, strict=True)))

    @property
    def means(self) -> tuple[AnyArray, ...]:
        """The weighted averages."""
        require_weight(self.weight)
        return tuple(s / self.weight for s in self.sums)


class Extremes(NamedTuple):
    """Weight, smallest and largest value of a sample."""

    weight: float
    low: AnyArray
    high: AnyArray

    def merge(self, other: "Extremes") -> "Extremes":
        """The extremes of both samples together."""
        return Extremes(self.weight + other.weight, np.minimum(self.low, other.low), np.maximum(self.high, other.high))


class Sample(NamedTuple):
    """The sample itself, with weights: for estimators without a finite sufficient statistic."""

    x: AnyArray
    w: AnyArray

    @property
    def weight(self) -> float:
        """The total weight."""
        return float(self.w.sum())

    def merge(self, other: "Sample") -> "Sample":
        """The concatenation of both samples."""
        return Sample(np.concatenate([self.x, other.x]), np.concatenate([self.w, other.w]))


def generator(random_state: Any) -> np.random.Generator:
    """A random generator for one call."""
    return random_state if isinstance(random_state, np.random.Generator) else streams(random_state, 1)[0]


def checked(x: AnyArray, w: AnyArray, name: str, inside: Any = None, support: str = "") -> tuple[AnyArray, AnyArray]:
    """A sample as float64 with its weights; values that are not finite or outside the support raise an error."""
    x = np.asarray(x, dtype=np.float64)
    if x.ndim == 0:
        raise InputError(f"{name}.stats takes a sample: an array with one observation a row.")
    w = np.ones(len(x)) if w is None else np.asarray(w, dtype=np.float64)
    if w.shape != (len(x),) or not np.isfinite(w).all() or (w < 0).any():
        raise InputError(f"Weights must be {len(x)} finite numbers of at least 0, one for each observation.")
    if not np.isfinite(x).all() or (inside is not None and not inside(x).all()):
        raise InputError(f"An observation is not possible under {name}: its values are {support or 'finite numbers'}.")
    return x, w


def conjugate(cls: type, belief: Any, *kinds: type) -> None:
    """Raise if a prior or posterior is not conjugate to the distribution."""
    if not isinstance(belief, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise ParameterError(f"The conjugate prior of {cls.__name__} is {names}, not {type(belief).__name__}.")


def require_weight(weight: Any) -> None:
    """Raise if a sample is empty or has no weight."""
    if not np.all(np.asarray(weight) > 0):
        raise InputError("The sample is empty, or all of its weights are zero.")


def require_positive(**values: Any) -> None:
    """Raise if parameters are not positive and finite."""
    for name, value in values.items():
        value = np.asarray(value, dtype=np.float64)
        if not (np.isfinite(value) & (value > 0)).all():
            raise ParameterError(f"{name} must be positive and finite, not {value if value.ndim == 0 else 'as given'}.")


def centred(x: AnyArray, w: AnyArray) -> Components:
    """Mean and scatter of each entry of the observations, which may be of any shape."""
    S = components(x.reshape(len(x), math.prod(x.shape[1:])), None, "diagonal", w)
    one = (1,) * x.ndim
    shape = (1, *x.shape[1:])
    return S._replace(present=S.present.reshape(one), mean=S.mean.reshape(shape), scatter=S.scatter.reshape(shape))
