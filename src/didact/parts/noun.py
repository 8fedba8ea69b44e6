"""Nouns: immutable values whose fields are their parameters, so that compiled loops can take them as arguments.

A noun is a NamedTuple with methods. Plain tuples would compare equal whatever their class (`HalfSquared() ==
Absolute()`) and be false without parameters; `Noun` corrects both. Array methods use only the array namespace (NumPy,
torch) and keep the dtype of their last argument; methods whose names end in 1 are the scalar forms for compiled loops,
in plain arithmetic on floats.
"""

import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from scipy.special import expit

from didact.core.backend import like, namespace, to_numpy
from didact.core.errors import ParameterError
from didact.core.typing import AnyArray
from didact.core.validation.entrance import beside_rows


class Noun:
    """Mixin for a NamedTuple: equality by class and parameters, and true as a condition."""

    __slots__ = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__new__" in vars(cls):
            cls.__new__ = beside_rows(cls.__new__)  # type: ignore[method-assign]

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
    """Raise a ParameterError with this sentence unless the condition holds."""
    if not holds:
        raise ParameterError(sentence)


def log_max(xp: Any, x: AnyArray) -> float:
    """The largest argument of exp that is safe in the dtype of x: 700 (double) or 87 (single), with a margin."""
    return math.floor(0.987 * math.log(float(xp.finfo(x.dtype).max)))


def mask(xp: Any, condition: AnyArray, x: AnyArray) -> AnyArray:
    """The condition as 0 and 1 in the dtype of x: a product with it is several times faster than `where`."""
    return xp.astype(condition, x.dtype)


def xlogy(y: AnyArray, x: AnyArray) -> AnyArray:
    """y·log(x) for x ≥ 0, and 0 where y = 0, for any x."""
    xp = namespace(x)
    return y * xp.log(x + mask(xp, y == 0, x))


def special(function: Callable[..., Any], *arrays: AnyArray) -> AnyArray:
    """A SciPy function of arrays, returned as the kind of array of the last one (tensors go through the CPU)."""
    return like(function(*(to_numpy(a) for a in arrays)), arrays[-1])


def logistic(z: AnyArray) -> AnyArray:
    """1/(1 + e^−z)."""
    xp = namespace(z)
    return expit(z) if xp is np else 1.0 / (1.0 + xp.exp(-z))


def log_odds(p: float) -> float:
    """log(p/(1 − p)), with p clipped to [ε, 1 − ε] for the machine precision ε."""
    eps = float(np.finfo(float).eps)
    p = min(max(p, eps), 1.0 - eps)
    return math.log(p / (1.0 - p))


def mean_bounds(kind: str, eps: float) -> tuple[float, float]:
    """The smallest and largest mean that is safe to invert, square and cube; `kind` is real, positive or unit."""
    if kind == "real":
        return -math.inf, math.inf
    return (eps, 1.0 - eps) if kind == "unit" else (eps**1.5, eps**-1.5)


SUPPORTS: dict[str, Callable[[Any, AnyArray], AnyArray]] = {
    "any number": lambda xp, y: xp.isfinite(y),
    "y ≥ 0": lambda xp, y: xp.isfinite(y) & (y >= 0),
    "y > 0": lambda xp, y: xp.isfinite(y) & (y > 0),
    "0 ≤ y ≤ 1": lambda xp, y: (y >= 0) & (y <= 1),
    "0 < y < 1": lambda xp, y: (y > 0) & (y < 1),
    "y is 0 or 1": lambda xp, y: (y == 0) | (y == 1),
}


class OfTargets(Noun):
    """Base of losses and families: which targets y are valid."""

    __slots__ = ()
    _support: ClassVar[str] = "any number"

    @property
    def support(self) -> str:
        """Which y are valid, in words: a key of `SUPPORTS`."""
        return self._support

    def in_domain(self, y: AnyArray) -> AnyArray:
        """Whether each y is valid."""
        return SUPPORTS[self.support](namespace(y), y)


class TargetSums(Protocol):
    """The sums over rows from which a loss finds its best constant prediction, wherever the rows are stored."""

    def totals(self) -> tuple[Any, float]:
        """The weighted sum of the targets (or the weight of each class), and the sum of the weights."""

    def quantile_at(self, q: float) -> float:
        """A quantile of the targets."""

    def slopes(self, z: float) -> tuple[float, float]:
        """The sums of gradients and curvatures at a constant prediction."""


def root_of_slopes(slopes: Callable[[float], tuple[float, float]], z: float) -> float:
    """The minimiser of a convex function, from its slope and curvature: Newton steps, safeguarded by bisection."""
    low, high = -math.inf, math.inf
    for k in range(150):
        g, h = slopes(z)
        low, high = (z, high) if g < 0 else (low, z)
        step = min(max(g / max(h, np.finfo(float).tiny), -10.0), 10.0)
        last, z = z, z - step * 2.0 ** max(k - 20, 0)
        if not low <= z <= high or (k > 20 and math.isfinite(high - low)):
            z = 0.5 * (low + high)
        if abs(z - last) <= 1e-10 * max(1.0, abs(z)):
            break
    return float(z)


class Loss(OfTargets):
    """The cost of predicting z where y is true, row by row; the caller applies sample weights.

    A loss writes `value_grad_hess` and the scalars `value1` and `grad1`, where linear models are fitted with it also
    `value_grad_hess1`, for their compiled passes; all else has a default. The curvature is never
    negative: it is the second derivative where the loss is convex in z, and the expected (Fisher, Gauss–Newton)
    curvature where the class says so. At a kink the gradient is one of the subgradients and the curvature is 0.

    Models ask the loss for what depends on it: which targets are valid (`support`, `in_domain`), what z predicts
    (`mean`), the constant of least loss (`best_constant`), and the two numbers that encode two classes (`classes`). For
    boosting it states which curvature a Newton step uses (`curvature`: "exact", its own, or "one", an upper bound),
    whether its third derivative is at most the second (`steep`: long steps are then shortened), and whether the values
    of leaves are recomputed from their residuals (`leaf_quantile`, `leaf_width`).
    """

    __slots__ = ()
    classes: ClassVar[tuple[float, float] | None] = None
    curvature: ClassVar[str] = "exact"
    steep: ClassVar[bool] = False
    leaf_quantile: ClassVar[Any] = None  # None: leaves are Newton steps
    leaf_width: ClassVar[Any] = (
        0.0  # a leaf averages residuals clipped this far from its quantile; 0: its value is the quantile
    )

    def mean(self, z: AnyArray) -> AnyArray:
        """What z predicts: the number z itself or, for two classes, the probability of the second."""
        return z if self.classes is None else logistic(z)

    def best_constant(self, rows: TargetSums) -> Any:
        """The constant z of least loss; for losses with a `leaf_quantile`, that quantile."""
        if self.leaf_quantile is not None:
            return rows.quantile_at(self.leaf_quantile)
        return root_of_slopes(rows.slopes, 0.0 if self.classes else rows.quantile_at(0.5))

    def for_classes(self) -> Any:
        """The loss of scores (n, K) whose special case for K = 2 classes is this one; None if there is none."""
        return None

    def value_grad_hess(self, y: AnyArray, z: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
        """The loss, its derivative in z and its curvature, computed together."""
        raise NotImplementedError

    def value_grad(self, y: AnyArray, z: AnyArray) -> tuple[AnyArray, AnyArray]:
        """The loss and its derivative in z."""
        return self.value_grad_hess(y, z)[:2]

    def grad_hess(self, y: AnyArray, z: AnyArray) -> tuple[AnyArray, AnyArray]:
        """The derivative in z and the curvature."""
        return self.value_grad_hess(y, z)[1:]

    def value(self, y: AnyArray, z: AnyArray) -> AnyArray:
        """The loss of each row."""
        return self.value_grad_hess(y, z)[0]

    def gradient(self, y: AnyArray, z: AnyArray) -> AnyArray:
        """The derivative in z of each row's loss."""
        return self.value_grad_hess(y, z)[1]

    @property
    def scalar(self) -> "Loss | None":
        """This loss with the scalar form `value_grad_hess1`, if there is one."""
        return self if hasattr(self, "value_grad_hess1") else None

    def value1(self, y: float, z: float) -> float:
        """The loss of one row."""
        raise NotImplementedError

    def grad1(self, y: float, z: float) -> float:
        """The derivative of one row's loss."""
        raise NotImplementedError


class Link(Noun):
    """A curve η = link(μ) with its inverse and the inverse's derivative; `mean` says which μ are valid."""

    __slots__ = ()
    mean: ClassVar[str] = "positive"

    def link(self, mu: AnyArray) -> AnyArray:
        """The linear predictor of a mean."""
        raise NotImplementedError

    def inverse(self, eta: AnyArray) -> AnyArray:
        """The mean of a linear predictor."""
        raise NotImplementedError

    def derivative(self, eta: AnyArray) -> AnyArray:
        """dμ/dη at the linear predictor."""
        raise NotImplementedError

    def inverse_derivative(self, eta: AnyArray) -> tuple[AnyArray, AnyArray]:
        """The mean and dμ/dη."""
        return self.inverse(eta), self.derivative(eta)


class Family(OfTargets):
    """A distribution of y around a mean μ, as maximum likelihood needs it.

    `deviance`, `score` = ∂ log f/∂μ and `information` = E[score²] are per row, at dispersion 1 and frequency 1, in the
    array's own namespace and dtype. `log_likelihood` is for reports: NumPy, double precision. `mean` says which μ are
    valid (real, positive, unit), `support` which y, `fixed_dispersion` whether the mean determines the variance.
    """

    __slots__ = ()
    fixed_dispersion: ClassVar[bool] = False
    _mean: ClassVar[str] = "positive"
    _support: ClassVar[str] = "y > 0"

    @property
    def mean(self) -> str:
        """Which means are valid: real, positive or unit."""
        return self._mean

    @property
    def canonical(self) -> Link:
        """The link for which XᵀY is a sufficient statistic (or the usual link, if that one is not used in practice)."""
        raise NotImplementedError

    def variance(self, mu: AnyArray) -> AnyArray:
        """The variance at dispersion 1."""
        raise NotImplementedError

    def deviance(self, y: AnyArray, mu: AnyArray) -> AnyArray:
        """The unit deviance 2·(log f(y; best mean) − log f(y; μ)) of each row."""
        raise NotImplementedError

    def objective(self, y: AnyArray, mu: AnyArray) -> AnyArray:
        """Half the deviance, up to a term in y alone."""
        return 0.5 * self.deviance(y, mu)

    def score(self, y: AnyArray, mu: AnyArray) -> AnyArray:
        """∂ log f/∂μ = (y − μ)/V(μ) in an exponential family."""
        return (y - mu) / self.variance(mu)

    def information(self, mu: AnyArray) -> AnyArray:
        """E[score²] = 1/V(μ) in an exponential family."""
        return 1.0 / self.variance(mu)

    def shortcut(self, link: Link) -> Loss | None:
        """Half the deviance as a loss in η with the expected curvature, where there is a form without divisions."""
        return None

    def start(self, y: AnyArray) -> AnyArray:
        """A starting mean for each y, inside the domain: halfway between y and the average."""
        xp = namespace(y)
        return self.inside(0.5 * (y + xp.mean(y)))

    def inside(self, mu: AnyArray) -> AnyArray:
        """Means, clipped strictly inside the domain."""
        xp = namespace(mu)
        return xp.clip(mu, *mean_bounds(self.mean, float(xp.finfo(mu.dtype).eps)))

    def log_likelihood(self, y: AnyArray, mu: AnyArray, w: AnyArray = 1.0, dispersion: float = 1.0) -> AnyArray:
        """w times the log density (or log probability) of each y; w is a frequency."""
        y, mu, w = (np.asarray(to_numpy(a), dtype=np.float64) for a in (y, mu, w))
        return w * self.log_density(y, mu, dispersion)

    def log_density(self, y: AnyArray, mu: AnyArray, dispersion: float) -> AnyArray:
        """The log density (or log probability) of each y, as NumPy arrays."""
        raise NotImplementedError
