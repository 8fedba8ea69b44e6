"""Losses with kinks, rounded: 0 for u ≤ 0, u²/(2δ) up to the width δ, u − δ/2 beyond, which is u to within δ/2."""

from typing import NamedTuple, Self

from didact.core.backend import namespace
from didact.core.typing import AnyArray
from didact.parts.losses.margin import MINUS_PLUS
from didact.parts.noun import Loss, mask, require


def _ramp(u: AnyArray, width: float) -> tuple[AnyArray, AnyArray, AnyArray]:
    """The rounded max(0, u), its slope and its curvature."""
    xp = namespace(u)
    inside = xp.clip(u, 0.0, width)
    slope = inside / width
    return slope * (u - 0.5 * inside), slope, mask(xp, (u > 0) & (u < width), u) / width


def _check(width: float) -> None:
    require(0 < width < float("inf"), f"The width of a rounded kink is positive, not {width!r}.")


class RoundedHinge(Loss, NamedTuple("RoundedHinge", [("width", float)])):
    """The hinge max(0, 1 − y·z), y ∈ {−1, +1}, rounded over a width δ (doi:10.1162/neco.2007.19.5.1155).

    >>> RoundedHinge(0.5).value1(-1.0, 0.5), RoundedHinge(0.5).grad1(-1.0, 0.5)
    (1.25, 1.0)
    """

    __slots__ = ()
    classes = MINUS_PLUS

    def __new__(cls, width: float = 1e-3) -> Self:
        """A width above 0."""
        _check(width)
        return super().__new__(cls, float(width))

    def value_grad_hess(self, y: AnyArray, z: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
        """The ramp of u = 1 − y·z; slope −y·ramp′, curvature ramp″."""
        value, slope, curvature = _ramp(1.0 - y * z, self.width)
        return value, -y * slope, curvature

    def value1(self, y: float, z: float) -> float:
        """The ramp of 1 − y·z."""
        u = 1.0 - y * z
        inside = min(max(u, 0.0), self.width)
        return inside / self.width * (u - 0.5 * inside)

    def grad1(self, y: float, z: float) -> float:
        """−y times the slope of the ramp."""
        return -y * min(max(1.0 - y * z, 0.0), self.width) / self.width

    def value_grad_hess1(self, y: float, z: float) -> tuple[float, float, float]:
        """The ramp of u = 1 − y·z; slope −y·ramp′, curvature ramp″."""
        u = 1.0 - y * z
        inside = min(max(u, 0.0), self.width)
        slope = inside / self.width
        return slope * (u - 0.5 * inside), -y * slope, 1.0 / self.width if 0.0 < u < self.width else 0.0


class RoundedInsensitive(Loss, NamedTuple("RoundedInsensitive", [("epsilon", float), ("width", float)])):
    """The ε-insensitive loss max(0, |z − y| − ε), rounded over a width δ (doi:10.1162/neco.2007.19.5.1155).

    >>> RoundedInsensitive(0.5, 0.5).value1(0.0, 2.0), RoundedInsensitive(0.5, 0.5).grad1(0.0, 2.0)
    (1.25, 1.0)
    """

    __slots__ = ()
    leaf_quantile = 0.5

    def __new__(cls, epsilon: float = 0.1, width: float = 1e-3) -> Self:
        """ε of at least 0 and a width above 0."""
        require(0 <= epsilon < float("inf"), f"epsilon is at least 0; got {epsilon!r}.")
        _check(width)
        return super().__new__(cls, float(epsilon), float(width))

    def value_grad_hess(self, y: AnyArray, z: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
        """The ramp of u = |z − y| − ε; slope sign(z − y)·ramp′, curvature ramp″."""
        xp = namespace(z)
        value, slope, curvature = _ramp(xp.abs(z - y) - self.epsilon, self.width)
        return value, xp.sign(z - y) * slope, curvature

    def value1(self, y: float, z: float) -> float:
        """The ramp of |z − y| − ε."""
        u = abs(z - y) - self.epsilon
        inside = min(max(u, 0.0), self.width)
        return inside / self.width * (u - 0.5 * inside)

    def grad1(self, y: float, z: float) -> float:
        """The slope of the ramp, with the sign of z − y."""
        slope = min(max(abs(z - y) - self.epsilon, 0.0), self.width) / self.width
        return slope if z >= y else -slope

    def value_grad_hess1(self, y: float, z: float) -> tuple[float, float, float]:
        """The ramp of u = |z − y| − ε; slope sign(z − y)·ramp′, curvature ramp″."""
        u = abs(z - y) - self.epsilon
        inside = min(max(u, 0.0), self.width)
        slope = inside / self.width
        bend = 1.0 / self.width if 0.0 < u < self.width else 0.0
        return slope * (u - 0.5 * inside), slope if z >= y else -slope, bend
