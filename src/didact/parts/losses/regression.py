"""Losses for regression: squared, absolute, Huber, quantile and ε-insensitive."""

from typing import Any, NamedTuple, Self

from didact.core.backend import namespace
from didact.core.typing import AnyArray
from didact.parts.noun import Loss, Plain, TargetSums, mask, require


class HalfSquared(Loss, Plain):
    """Half the squared error, ½(z − y)².

    >>> HalfSquared().value1(1.0, 4.0)
    4.5
    """

    __slots__ = ()
    curvature = "one"

    def best_constant(self, rows: TargetSums) -> Any:
        """The mean."""
        total, weight = rows.totals()
        return total / weight

    def value_grad_hess(self, y: AnyArray, z: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
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
    curvature, leaf_quantile = "one", 0.5

    def value_grad_hess(self, y: AnyArray, z: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
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
    curvature, leaf_quantile = "one", 0.5
    leaf_width = property(lambda self: self.delta)

    def __new__(cls, delta: float = 1.35) -> Self:
        """Check the parameter."""
        require(delta > 0, f"Huber's delta must be positive, got {delta!r}.")
        return super().__new__(cls, float(delta))

    def value_grad_hess(self, y: AnyArray, z: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
        """g·(r − ½g), g and [|r| ≤ δ], for r = z − y and g = r clipped to ±δ."""
        xp = namespace(z)
        r = z - y
        g = xp.clip(r, -self.delta, self.delta)
        return g * (r - 0.5 * g), g, mask(xp, g == r, r)

    def value1(self, y: float, z: float) -> float:
        """½r² for |r| ≤ δ, δ|r| − ½δ² beyond."""
        r = abs(z - y)
        return 0.5 * r * r if r <= self.delta else self.delta * (r - 0.5 * self.delta)

    def grad1(self, y: float, z: float) -> float:
        """The residual z − y, clipped to ±δ."""
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
    curvature = "one"
    leaf_quantile = property(lambda self: self.q)

    def __new__(cls, q: float = 0.5) -> Self:
        """Check the parameter."""
        require(0 < q < 1, f"A quantile q lies between 0 and 1, got {q!r}.")
        return super().__new__(cls, float(q))

    def value_grad_hess(self, y: AnyArray, z: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
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
    """The absolute error outside an insensitive zone, max(0, |z − y| − ε) (doi:10.1023/B:STCO.0000035301.49549.88).

    >>> EpsilonInsensitive(0.5).value1(0.0, 2.0)
    1.5
    """

    __slots__ = ()
    curvature = "one"

    def __new__(cls, epsilon: float = 0.1) -> Self:
        """Check the parameter."""
        require(epsilon >= 0, f"epsilon must be at least 0, got {epsilon!r}.")
        return super().__new__(cls, float(epsilon))

    def value_grad_hess(self, y: AnyArray, z: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
        """|x|, sign(x) and 0, for the excess x of z − y over ±ε."""
        xp = namespace(z)
        r = z - y
        r -= xp.clip(r, -self.epsilon, self.epsilon)
        return xp.abs(r), xp.sign(r), xp.zeros_like(r)

    def value1(self, y: float, z: float) -> float:
        """max(0, |z − y| − ε)."""
        return max(abs(z - y) - self.epsilon, 0.0)

    def grad1(self, y: float, z: float) -> float:
        """±1 outside the insensitive zone, 0 inside."""
        return 1.0 if z - y > self.epsilon else (-1.0 if y - z > self.epsilon else 0.0)


class SquaredEpsilonInsensitive(Loss, NamedTuple("SquaredEpsilonInsensitive", [("epsilon", float)])):
    """The squared error outside an insensitive zone, max(0, |z − y| − ε)² (doi:10.1023/B:STCO.0000035301.49549.88).

    >>> SquaredEpsilonInsensitive(0.5).value1(0.0, 2.0)
    2.25
    """

    __slots__ = ()

    def __new__(cls, epsilon: float = 0.1) -> Self:
        """Check the parameter."""
        require(epsilon >= 0, f"epsilon must be at least 0, got {epsilon!r}.")
        return super().__new__(cls, float(epsilon))

    def value_grad_hess(self, y: AnyArray, z: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
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

    def value_grad_hess1(self, y: float, z: float) -> tuple[float, float, float]:
        """x², 2x and 2·[x ≠ 0], for the excess x of z − y over ±ε."""
        x = z - y - min(max(z - y, -self.epsilon), self.epsilon)
        return x * x, 2.0 * x, 2.0 if x != 0.0 else 0.0
