"""Losses for numbers: squared, robust, quantile and insensitive ones; Poisson, gamma and Tweedie with a log link."""

import math
from typing import NamedTuple, Self

from didact.core.backend import namespace
from didact.core.jit import dispatch
from didact.parts.exp_loops import exp1, ratio1
from didact.parts.noun import Array, Loss, Plain, log_max, mask, require

value_grad_fisher1 = dispatch("value_grad_fisher1")


class HalfSquared(Loss, Plain):
    """Half the squared error, ½(z − y)².

    >>> HalfSquared().value1(1.0, 4.0)
    4.5
    """

    __slots__ = ()

    def value_grad_hess(self, y: Array, z: Array) -> tuple[Array, Array, Array]:
        """½r², r and 1, for r = z − y."""
        r = z - y
        return 0.5 * r * r, r, namespace(z).ones_like(r)

    def value1(self, y: float, z: float) -> float:
        """½(z − y)²."""
        return 0.5 * (z - y) * (z - y)

    def grad1(self, y: float, z: float) -> float:
        """The residual z − y."""
        return z - y

    def value_grad_hess1(self, y: float, z: float) -> tuple[float, float, float]:
        """½r², r and 1, for r = z − y."""
        r = z - y
        return 0.5 * r * r, r, 1.0


class Absolute(Loss, Plain):
    """The absolute error |z − y|, whose best constant is the median (doi:10.2307/1913643).

    >>> Absolute().value1(1.0, -2.0)
    3.0
    """

    __slots__ = ()
    smooth = False

    def value_grad_hess(self, y: Array, z: Array) -> tuple[Array, Array, Array]:
        """|r|, sign(r) and 0, for r = z − y."""
        xp = namespace(z)
        r = z - y
        return xp.abs(r), xp.sign(r), xp.zeros_like(r)

    def value1(self, y: float, z: float) -> float:
        """|z − y|."""
        return abs(z - y)

    def grad1(self, y: float, z: float) -> float:
        """The sign of z − y."""
        return 1.0 if z > y else (-1.0 if z < y else 0.0)


class Huber(Loss, NamedTuple("Huber", [("delta", float)])):
    """Squared error up to delta, absolute beyond: ½r² if |r| ≤ δ, else δ|r| − ½δ² (doi:10.1214/aoms/1177703732).

    >>> Huber(1.0).value1(0.0, 3.0)
    2.5
    """

    __slots__ = ()

    def __new__(cls, delta: float = 1.35) -> Self:
        """Check the parameter."""
        require(delta > 0, f"Huber's delta must be positive, got {delta!r}.")
        return super().__new__(cls, float(delta))

    def value_grad_hess(self, y: Array, z: Array) -> tuple[Array, Array, Array]:
        """g·(r − ½g), g and [|r| ≤ δ], for r = z − y and g = r held within ±δ."""
        xp = namespace(z)
        r = z - y
        g = xp.clip(r, -self.delta, self.delta)
        return g * (r - 0.5 * g), g, mask(xp, g == r, r)

    def value1(self, y: float, z: float) -> float:
        """½r² near, δ|r| − ½δ² far."""
        r = abs(z - y)
        return 0.5 * r * r if r <= self.delta else self.delta * (r - 0.5 * self.delta)

    def grad1(self, y: float, z: float) -> float:
        """The residual held within ±δ."""
        return min(max(z - y, -self.delta), self.delta)

    def value_grad_hess1(self, y: float, z: float) -> tuple[float, float, float]:
        """g·(r − ½g), g and [|r| ≤ δ], for r = z − y and g = r held within ±δ."""
        r = z - y
        g = min(max(r, -self.delta), self.delta)
        return g * (r - 0.5 * g), g, 1.0 if g == r else 0.0


class Quantile(Loss, NamedTuple("Quantile", [("q", float)])):
    """The pinball loss, q(y − z) below the truth and (1 − q)(z − y) above it; its best constant is the q-quantile.

    Reference: doi:10.2307/1913643.

    >>> Quantile(0.75).value1(2.0, 0.0), Quantile(0.75).value1(0.0, 2.0)
    (1.5, 0.5)
    """

    __slots__ = ()
    smooth = False

    def __new__(cls, q: float = 0.5) -> Self:
        """Check the parameter."""
        require(0 < q < 1, f"A quantile q lies between 0 and 1, got {q!r}.")
        return super().__new__(cls, float(q))

    def value_grad_hess(self, y: Array, z: Array) -> tuple[Array, Array, Array]:
        """½|r| + (½ − q)r, its slope (0 at r = 0) and 0, for r = z − y."""
        xp = namespace(z)
        r = z - y
        s, tilt = xp.sign(r), 0.5 - self.q
        return r * (0.5 * s + tilt), s * (tilt * s + 0.5), xp.zeros_like(r)

    def value1(self, y: float, z: float) -> float:
        """The pinball loss of one row."""
        return max(self.q * (y - z), (1.0 - self.q) * (z - y))

    def grad1(self, y: float, z: float) -> float:
        """1 − q above the truth, −q below it."""
        return 1.0 - self.q if z > y else (-self.q if z < y else 0.0)


class EpsilonInsensitive(Loss, NamedTuple("EpsilonInsensitive", [("epsilon", float)])):
    """The absolute error beyond a free zone, max(0, |z − y| − ε) (doi:10.1023/B:STCO.0000035301.49549.88).

    >>> EpsilonInsensitive(0.5).value1(0.0, 2.0)
    1.5
    """

    __slots__ = ()
    smooth = False

    def __new__(cls, epsilon: float = 0.1) -> Self:
        """Check the parameter."""
        require(epsilon >= 0, f"epsilon must be at least 0, got {epsilon!r}.")
        return super().__new__(cls, float(epsilon))

    def value_grad_hess(self, y: Array, z: Array) -> tuple[Array, Array, Array]:
        """|x|, sign(x) and 0, for the excess x of z − y over ±ε."""
        xp = namespace(z)
        r = z - y
        r -= xp.clip(r, -self.epsilon, self.epsilon)
        return xp.abs(r), xp.sign(r), xp.zeros_like(r)

    def value1(self, y: float, z: float) -> float:
        """max(0, |z − y| − ε)."""
        return max(abs(z - y) - self.epsilon, 0.0)

    def grad1(self, y: float, z: float) -> float:
        """±1 outside the free zone, 0 inside."""
        return 1.0 if z - y > self.epsilon else (-1.0 if y - z > self.epsilon else 0.0)


class SquaredEpsilonInsensitive(Loss, NamedTuple("SquaredEpsilonInsensitive", [("epsilon", float)])):
    """The squared error beyond a free zone, max(0, |z − y| − ε)² (doi:10.1023/B:STCO.0000035301.49549.88).

    >>> SquaredEpsilonInsensitive(0.5).value1(0.0, 2.0)
    2.25
    """

    __slots__ = ()

    def __new__(cls, epsilon: float = 0.1) -> Self:
        """Check the parameter."""
        require(epsilon >= 0, f"epsilon must be at least 0, got {epsilon!r}.")
        return super().__new__(cls, float(epsilon))

    def value_grad_hess(self, y: Array, z: Array) -> tuple[Array, Array, Array]:
        """x², 2x and 2·[x ≠ 0], for the excess x of z − y over ±ε."""
        xp = namespace(z)
        x = z - y
        x -= xp.clip(x, -self.epsilon, self.epsilon)
        return x * x, 2.0 * x, 2.0 * mask(xp, x != 0, x)

    def value1(self, y: float, z: float) -> float:
        """max(0, |z − y| − ε)²."""
        x = max(abs(z - y) - self.epsilon, 0.0)
        return x * x

    def grad1(self, y: float, z: float) -> float:
        """Twice the excess over ±ε."""
        r = z - y
        return 2.0 * (r - min(max(r, -self.epsilon), self.epsilon))


class Poisson(Loss, Plain):
    """Poisson regression with z the log of the mean: e^z − y·z, half the deviance but for a term in y alone.

    The exponent is held below the dtype's limit, so that a wild step gives a large value instead of infinity.
    Reference: doi:10.2307/2344614.

    >>> Poisson().grad1(3.0, 0.0)
    -2.0
    """

    __slots__ = ()

    def value_grad_hess(self, y: Array, z: Array) -> tuple[Array, Array, Array]:
        """μ − y·z, μ − y and μ, for μ = e^z."""
        xp = namespace(z)
        mu = xp.exp(xp.clip(z, None, log_max(xp, z)))
        return mu - y * z, mu - y, mu

    def value1(self, y: float, z: float) -> float:
        """e^z − y·z."""
        return math.exp(min(z, 700.0)) - y * z

    def grad1(self, y: float, z: float) -> float:
        """e^z − y."""
        return math.exp(min(z, 700.0)) - y

    def value_grad_hess1(self, y: float, z: float) -> tuple[float, float, float]:
        """μ − y·z, μ − y and μ, for μ = e^z."""
        mu = exp1(min(z, 700.0))
        return mu - y * z, mu - y, mu


class Gamma(Loss, Plain):
    """Gamma regression with z the log of the mean: z + y·e^−z, half the deviance but for a term in y alone; y > 0.

    Reference: doi:10.2307/2344614.

    >>> Gamma().grad1(3.0, 0.0)
    -2.0
    """

    __slots__ = ()

    def value_grad_hess(self, y: Array, z: Array) -> tuple[Array, Array, Array]:
        """z + t, 1 − t and t, for t = y·e^−z."""
        t = self._ratio(y, z)
        return z + t, 1.0 - t, t

    def value_grad_fisher(self, y: Array, z: Array) -> tuple[Array, Array, Array]:
        """The same with the expected curvature, which is 1 in every row."""
        t = self._ratio(y, z)
        return z + t, 1.0 - t, namespace(z).ones_like(t)

    def _ratio(self, y: Array, z: Array) -> Array:
        xp = namespace(z)
        return y * xp.exp(-xp.clip(z, -log_max(xp, z), None))

    def value1(self, y: float, z: float) -> float:
        """z + y·e^−z."""
        return z + y * math.exp(min(-z, 700.0))

    def grad1(self, y: float, z: float) -> float:
        """1 − y·e^−z."""
        return 1.0 - y * math.exp(min(-z, 700.0))

    def value_grad_hess1(self, y: float, z: float) -> tuple[float, float, float]:
        """z + t, 1 − t and t, for t = y·e^−z."""
        t = y * exp1(min(-z, 700.0))
        return z + t, 1.0 - t, t

    def value_grad_fisher1(self, y: float, z: float) -> tuple[float, float, float]:
        """The same with the expected curvature."""
        t = y * exp1(min(-z, 700.0))
        return z + t, 1.0 - t, 1.0


class Tweedie(Loss, NamedTuple("Tweedie", [("power", float)])):
    """Half the Tweedie deviance with z the log of the mean, but for a term in y alone; the variance is μ^power.

    e^((2−p)z)/(2−p) − y·e^((1−p)z)/(1−p), where a zero exponent turns e^(az)/a into z: p = 1 is `Poisson`, p = 2
    `Gamma`. It is convex for 1 ≤ p ≤ 2; elsewhere the curvature is the expected one. Reference:
    doi:10.1111/j.2517-6161.1987.tb01685.x.

    >>> Tweedie(1.5).grad1(4.0, 0.0)
    -3.0
    """

    __slots__ = ()

    def __new__(cls, power: float = 1.5) -> Self:
        """Check the parameter."""
        require(not 0 < power < 1, f"There is no Tweedie distribution with power between 0 and 1, got {power!r}.")
        return super().__new__(cls, float(power))

    def value_grad_hess(self, y: Array, z: Array) -> tuple[Array, Array, Array]:
        """The loss, e^((2−p)z) − y·e^((1−p)z), and its derivative."""
        value, gradient, expected, pull = self._terms(y, z)
        if not 1 <= self.power <= 2:
            return value, gradient, expected
        return value, gradient, (2 - self.power) * expected + (self.power - 1) * pull

    def value_grad_fisher(self, y: Array, z: Array) -> tuple[Array, Array, Array]:
        """The same with the expected curvature e^((2−p)z)."""
        return self._terms(y, z)[:3]

    def _terms(self, y: Array, z: Array) -> tuple[Array, Array, Array, Array]:
        """Value, gradient, e^((2−p)z) and y·e^((1−p)z)."""
        xp, a, b = namespace(z), 1.0 - self.power, 2.0 - self.power
        limit = log_max(xp, z)
        mean = xp.exp(xp.clip(b * z, None, limit))
        pull = y * xp.exp(xp.clip(a * z, None, limit))
        value = (mean * (1.0 / b) if b else z) - (pull * (1.0 / a) if a else y * z)
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
        """The same with the expected curvature e^((2−p)z)."""
        a, b = 1.0 - self.power, 2.0 - self.power
        mean, pull = exp1(min(b * z, 700.0)), y * exp1(min(a * z, 700.0))
        value = (mean * ratio1(1.0, b) if b != 0.0 else z) - (pull * ratio1(1.0, a) if a != 0.0 else y * z)
        return value, mean - pull, mean
