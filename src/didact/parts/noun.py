"""What every noun is: an immutable value whose fields are its parameters, so that compiled loops can take it, too.

A noun is a NamedTuple with methods. Bare tuples would compare equal whatever their class (`HalfSquared() ==
Absolute()`) and be false when they have no parameter; `Noun` mends both. Array methods are pure in the array namespace
(NumPy, torch) and keep the dtype of their last argument; methods whose names end in 1 are their scalar forms for
compiled loops, in plain arithmetic on floats.
"""

import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from didact.core.backend import like, namespace, to_numpy
from didact.core.errors import ParameterError

Array = Any


class Noun:
    """Equality by class and parameters; always true. Mixed into a NamedTuple."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((type(self).__qualname__, super().__hash__()))

    def __bool__(self) -> bool:
        return True


class Plain(NamedTuple):
    """The fields of a noun without parameters."""


def require(holds: bool, sentence: str) -> None:
    """Refuse a parameter without meaning."""
    if not holds:
        raise ParameterError(sentence)


def log_max(xp: Any, x: Array) -> float:
    """The largest exponent that is safe in the dtype of x: 700 (double) or 87 (single), with some room."""
    return math.floor(0.987 * math.log(float(xp.finfo(x.dtype).max)))


def mask(xp: Any, condition: Array, x: Array) -> Array:
    """The condition as 0 and 1 in the dtype of x: several times faster than `where`, which branches."""
    return xp.astype(condition, x.dtype)


def xlogy(y: Array, x: Array) -> Array:
    """y·log(x) for x ≥ 0, and 0 where y = 0, whatever x is there."""
    xp = namespace(x)
    return y * xp.log(x + mask(xp, y == 0, x))


def special(function: Callable[..., Any], *arrays: Array) -> Array:
    """A SciPy function of arrays, in the kind of array that the last one is (tensors go through the CPU)."""
    return like(function(*(to_numpy(a) for a in arrays)), arrays[-1])


def mean_bounds(kind: str, eps: float) -> tuple[float, float]:
    """The smallest and largest mean that is safe to divide by, square and cube: real, positive or unit means."""
    if kind == "real":
        return -math.inf, math.inf
    return (eps, 1.0 - eps) if kind == "unit" else (eps**1.5, eps**-1.5)


class Loss(Noun):
    """The price of predicting z where y is true, row by row; weights are the caller's business.

    A loss writes `value_grad_hess` and the scalars `value1` and `grad1`, where linear models are fitted with it also
    `value_grad_hess1`; the rest follows. The curvature is never
    negative: it is the second derivative where the loss is convex in z, and the expected (Fisher, Gauss–Newton)
    curvature where the class says so. At a kink the gradient is one of the subgradients and the curvature is 0.
    """

    __slots__ = ()
    smooth: ClassVar[bool] = True
    classes: ClassVar[tuple[float, float] | None] = None

    def value_grad_hess(self, y: Array, z: Array) -> tuple[Array, Array, Array]:
        """The loss, its derivative in z and its curvature, in as few passes as they need together."""
        raise NotImplementedError

    def value_grad(self, y: Array, z: Array) -> tuple[Array, Array]:
        """The loss and its derivative in z."""
        return self.value_grad_hess(y, z)[:2]

    def grad_hess(self, y: Array, z: Array) -> tuple[Array, Array]:
        """The derivative in z and the curvature."""
        return self.value_grad_hess(y, z)[1:]

    def value(self, y: Array, z: Array) -> Array:
        """The loss of each row."""
        return self.value_grad_hess(y, z)[0]

    def gradient(self, y: Array, z: Array) -> Array:
        """The derivative in z of each row's loss."""
        return self.value_grad_hess(y, z)[1]

    @property
    def scalar(self) -> "Loss | None":
        """The same loss with the scalar form `value_grad_hess1`, if there is one."""
        return self if hasattr(self, "value_grad_hess1") else None

    def value1(self, y: float, z: float) -> float:
        """The loss of one row."""
        raise NotImplementedError

    def grad1(self, y: float, z: float) -> float:
        """The derivative of one row's loss."""
        raise NotImplementedError


class Link(Noun):
    """A curve η = link(μ) with its inverse and the inverse's derivative; `mean` says what μ may be."""

    __slots__ = ()
    mean: ClassVar[str] = "positive"

    def link(self, mu: Array) -> Array:
        """The linear predictor of a mean."""
        raise NotImplementedError

    def inverse(self, eta: Array) -> Array:
        """The mean of a linear predictor."""
        raise NotImplementedError

    def derivative(self, eta: Array) -> Array:
        """dμ/dη at the linear predictor."""
        raise NotImplementedError

    def inverse_derivative(self, eta: Array) -> tuple[Array, Array]:
        """The mean and dμ/dη."""
        return self.inverse(eta), self.derivative(eta)


class Family(Noun):
    """A distribution of y around a mean μ: what fitting by maximum likelihood needs to know about it.

    `deviance`, `score` = ∂ log f/∂μ and `information` = E[score²] are per row, at dispersion 1 and frequency 1, in the
    array's own namespace and dtype. `log_likelihood` is for reports: NumPy, double precision. `mean` says what μ may be
    (real, positive, unit), `support` what y may be, `fixed_dispersion` whether the variance is known given the mean.
    """

    __slots__ = ()
    fixed_dispersion: ClassVar[bool] = False
    _mean: ClassVar[str] = "positive"
    _support: ClassVar[str] = "y > 0"

    @property
    def mean(self) -> str:
        """Which means are possible: real, positive or unit."""
        return self._mean

    @property
    def support(self) -> str:
        """Which y are possible, in words."""
        return self._support

    @property
    def canonical(self) -> Link:
        """The link with which XᵀY is sufficient (or, where that one is never used, the customary link)."""
        raise NotImplementedError

    def variance(self, mu: Array) -> Array:
        """The variance at dispersion 1."""
        raise NotImplementedError

    def deviance(self, y: Array, mu: Array) -> Array:
        """The unit deviance 2·(log f(y; best mean) − log f(y; μ)) of each row."""
        raise NotImplementedError

    def objective(self, y: Array, mu: Array) -> Array:
        """Half the deviance, but for a term in y alone."""
        return 0.5 * self.deviance(y, mu)

    def score(self, y: Array, mu: Array) -> Array:
        """∂ log f/∂μ = (y − μ)/V(μ) in an exponential family."""
        return (y - mu) / self.variance(mu)

    def information(self, mu: Array) -> Array:
        """E[score²] = 1/V(μ) in an exponential family."""
        return 1.0 / self.variance(mu)

    def shortcut(self, link: Link) -> Loss | None:
        """Half the deviance as a loss in η with the expected curvature, where there is a form without divisions."""
        return None

    def in_domain(self, y: Array) -> Array:
        """Whether each y is possible."""
        raise NotImplementedError

    def start(self, y: Array) -> Array:
        """A mean near each y, inside the domain: halfway to the average."""
        xp = namespace(y)
        return self.inside(0.5 * (y + xp.mean(y)))

    def inside(self, mu: Array) -> Array:
        """Means held strictly inside the domain."""
        xp = namespace(mu)
        return xp.clip(mu, *mean_bounds(self.mean, float(xp.finfo(mu.dtype).eps)))

    def log_likelihood(self, y: Array, mu: Array, w: Array = 1.0, dispersion: float = 1.0) -> Array:
        """w times the log density (or log probability) of each y; w is a frequency."""
        y, mu, w = (np.asarray(to_numpy(a), dtype=np.float64) for a in (y, mu, w))
        return w * self._log_density(y, mu, dispersion)

    def _log_density(self, y: Array, mu: Array, dispersion: float) -> Array:
        raise NotImplementedError
