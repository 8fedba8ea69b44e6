"""Losses of positive means with z the log of the mean: half the deviances of the families whose variance is μ^power.

They are `GLMLoss(family, Log())`, but with the exact curvature instead of the expected one where it is never negative.
`GLMLoss` itself uses their fast forms for log links.
"""

import math
from typing import Any, NamedTuple, Self

from didact.core.backend import namespace
from didact.core.errors import InputError
from didact.core.jit import dispatch
from didact.core.typing import AnyArray
from didact.parts.exp_loops import exp1, ratio1
from didact.parts.noun import Loss, TargetSums, log_max, require

value_grad_fisher1 = dispatch("value_grad_fisher1")


class Tweedie(Loss, NamedTuple("Tweedie", [("power", float)])):
    """Half the Tweedie deviance with z the log of the mean, up to a term in y alone; the variance is μ^power.

    e^((2−p)z)/(2−p) − y·e^((1−p)z)/(1−p), where e^(az)/a becomes z for a = 0. It is convex for 1 ≤ p ≤ 2; elsewhere the
    curvature is the expected one. Exponents are clipped below the dtype's limit, so that a step too far gives a large
    value instead of infinity. Reference: doi:10.1111/j.2517-6161.1987.tb01685.x.

    >>> Tweedie(1.5).grad1(4.0, 0.0)
    -3.0
    """

    __slots__ = ()
    steep = True

    def __new__(cls, power: float = 1.5) -> Self:
        """Check the parameter."""
        require(not 0 < power < 1, f"There is no Tweedie distribution with power between 0 and 1, got {power!r}.")
        return super().__new__(cls, float(power))

    @property
    def support(self) -> str:
        """Any number up to power 0, y ≥ 0 below power 2, y > 0 from there on."""
        return "any number" if self.power <= 0 else ("y ≥ 0" if self.power < 2 else "y > 0")

    def mean(self, z: AnyArray) -> AnyArray:
        """e^z."""
        return namespace(z).exp(z)

    def best_constant(self, rows: TargetSums) -> Any:
        """The logarithm of the mean."""
        total, weight = rows.totals()
        if total <= 0:
            name = type(self).__name__.lower()
            raise InputError(f"loss={name!r} requires non-negative y and sum(y) > 0: all y that it is fitted to are 0.")
        return math.log(total / weight)

    def value_grad_hess(self, y: AnyArray, z: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
        """The loss, e^((2−p)z) − y·e^((1−p)z), and its derivative."""
        value, gradient, expected, pull = self._terms(y, z)
        if not 1 < self.power <= 2:
            return value, gradient, expected
        return value, gradient, pull if self.power == 2 else (2 - self.power) * expected + (self.power - 1) * pull

    def value_grad_fisher(self, y: AnyArray, z: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
        """The loss, its derivative and the expected curvature e^((2−p)z)."""
        return self._terms(y, z)[:3]

    def _terms(self, y: AnyArray, z: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
        """Value, gradient, e^((2−p)z) and y·e^((1−p)z), without computing an exponential whose exponent is 0."""
        xp, a, b = namespace(z), 1.0 - self.power, 2.0 - self.power
        limit = log_max(xp, z)
        mean = xp.exp(xp.clip(z if b == 1 else b * z, None, limit)) if b else xp.ones_like(z)
        pull = y * xp.exp(xp.clip(a * z, None, limit)) if a else y
        value = (mean if b == 1 else mean * (1.0 / b)) if b else z
        value = value - (pull * (1.0 / a) if a else y * z)
        return value, mean - pull, mean, pull

    def value1(self, y: float, z: float) -> float:
        """e^((2−p)z)/(2−p) − y·e^((1−p)z)/(1−p)."""
        a, b = 1.0 - self.power, 2.0 - self.power
        mean = math.exp(min(b * z, 700.0)) / b if b != 0.0 else z
        pull = math.exp(min(a * z, 700.0)) / a if a != 0.0 else z
        return mean - y * pull

    def grad1(self, y: float, z: float) -> float:
        """e^((2−p)z) − y·e^((1−p)z)."""
        a, b = 1.0 - self.power, 2.0 - self.power
        return math.exp(min(b * z, 700.0)) - y * math.exp(min(a * z, 700.0))

    def value_grad_hess1(self, y: float, z: float) -> tuple[float, float, float]:
        """The loss, its derivative, and its curvature (the expected one where it is not convex)."""
        value, gradient, expected = value_grad_fisher1(self, y, z)
        exact = (2.0 - self.power) * expected + (self.power - 1.0) * (expected - gradient)
        return value, gradient, exact if 1.0 <= self.power <= 2.0 else expected

    def value_grad_fisher1(self, y: float, z: float) -> tuple[float, float, float]:
        """Value, gradient and the expected curvature e^((2−p)z)."""
        a, b = 1.0 - self.power, 2.0 - self.power
        mean, pull = exp1(min(b * z, 700.0)), y * exp1(min(a * z, 700.0))
        value = (mean * ratio1(1.0, b) if b != 0.0 else z) - (pull * ratio1(1.0, a) if a != 0.0 else y * z)
        return value, mean - pull, mean


class Poisson(Tweedie):
    """Poisson regression with z the log of the mean, e^z − y·z: power 1 (doi:10.2307/2344614).

    >>> Poisson().grad1(3.0, 0.0)
    -2.0
    """

    __slots__ = ()

    def __new__(cls, power: float = 1.0) -> Self:
        """Refuse any other power: it is implied by the class."""
        require(power == 1, f"This loss has the power 1, not {power!r}.")
        return super().__new__(cls, power)

    def value_grad_hess1(self, y: float, z: float) -> tuple[float, float, float]:
        """μ − y·z, μ − y and μ, for μ = e^z."""
        mu = exp1(min(z, 700.0))
        return mu - y * z, mu - y, mu


class Gamma(Tweedie):
    """Gamma regression with z the log of the mean, z + y·e^−z: power 2 (doi:10.2307/2344614).

    >>> Gamma().grad1(3.0, 0.0)
    -2.0
    """

    __slots__ = ()

    def __new__(cls, power: float = 2.0) -> Self:
        """Refuse any other power: it is implied by the class."""
        require(power == 2, f"This loss has the power 2, not {power!r}.")
        return super().__new__(cls, power)

    def value_grad_hess1(self, y: float, z: float) -> tuple[float, float, float]:
        """z + t, 1 − t and t, for t = y·e^−z."""
        t = y * exp1(min(-z, 700.0))
        return z + t, 1.0 - t, t

    def value_grad_fisher1(self, y: float, z: float) -> tuple[float, float, float]:
        """Value, gradient and the expected curvature."""
        t = y * exp1(min(-z, 700.0))
        return z + t, 1.0 - t, 1.0
