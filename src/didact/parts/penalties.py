"""Penalties on coefficients: value, proximal operator and violation of optimality, separable in the coefficients, O(p).

`prox(v, step)` is argmin_u (u − v)²/(2·step) + penalty(u). Given the gradient of a smooth loss at w,
`violation(w, grad)` is the distance of −grad from the penalty's subdifferential, which is zero exactly for the optimal
coefficients. The caller leaves out the intercept. Reference for proximal operators: Parikh and Boyd,
doi:10.1561/2400000003.
"""

import math
from typing import Any, NamedTuple, Self

from didact.core.backend import namespace
from didact.core.typing import AnyArray
from didact.parts.noun import Noun, require


class Penalty(Noun):
    """A convex and separable function of the coefficients w."""

    __slots__ = ()

    def value(self, w: AnyArray) -> AnyArray:
        """The penalty, summed over all coefficients."""
        raise NotImplementedError

    def prox(self, v: AnyArray, step: AnyArray) -> AnyArray:
        """argmin_u (u − v)²/(2·step) + penalty(u); step > 0 is a number or one per coefficient."""
        raise NotImplementedError

    def violation(self, w: AnyArray, grad: AnyArray) -> AnyArray:
        """The distance of each −grad from the subdifferential at w."""
        raise NotImplementedError


def _check(alpha: float, l1_ratio: float = 0.0) -> None:
    require(alpha >= 0, f"A penalty's alpha must be at least 0, got {alpha!r}.")
    require(0 <= l1_ratio <= 1, f"l1_ratio lies between 0 and 1, got {l1_ratio!r}.")


def _soft(xp: Any, v: AnyArray, threshold: AnyArray) -> AnyArray:
    """Soft thresholding: v moved towards 0 by the threshold, but not past it."""
    return v - xp.clip(v, -threshold, threshold)


def _l1_violation(w: AnyArray, grad: AnyArray, l1: float) -> AnyArray:
    """The distance of −grad from l1·∂|w|."""
    xp = namespace(w)
    return xp.where(w == 0, xp.clip(xp.abs(grad) - l1, 0.0, None), xp.abs(grad + l1 * xp.sign(w)))


class L2(Penalty, NamedTuple("L2", [("alpha", float)])):
    """Ridge: ½α‖w‖² (doi:10.1080/00401706.1970.10488634).

    >>> L2(1.0).prox(4.0, 1.0)
    2.0
    """

    __slots__ = ()

    def __new__(cls, alpha: float = 1.0) -> Self:
        """Check the parameter."""
        _check(alpha)
        return super().__new__(cls, float(alpha))

    def value(self, w: AnyArray) -> AnyArray:
        """½α Σ w²."""
        return 0.5 * self.alpha * namespace(w).sum(w * w)

    def prox(self, v: AnyArray, step: AnyArray) -> AnyArray:
        """v/(1 + step·α)."""
        return v / (1.0 + step * self.alpha)

    def violation(self, w: AnyArray, grad: AnyArray) -> AnyArray:
        """|grad + αw|."""
        return namespace(w).abs(grad + self.alpha * w)


class L1(Penalty, NamedTuple("L1", [("alpha", float)])):
    """Lasso: α‖w‖₁, which sets coefficients to exactly 0 (doi:10.1111/j.2517-6161.1996.tb02080.x).

    >>> import numpy as np
    >>> L1(1.0).prox(np.array([4.0, -0.5]), 1.0)
    array([3., 0.])
    """

    __slots__ = ()

    def __new__(cls, alpha: float = 1.0) -> Self:
        """Check the parameter."""
        _check(alpha)
        return super().__new__(cls, float(alpha))

    def value(self, w: AnyArray) -> AnyArray:
        """α Σ |w|."""
        xp = namespace(w)
        return self.alpha * xp.sum(xp.abs(w))

    def prox(self, v: AnyArray, step: AnyArray) -> AnyArray:
        """v moved towards 0 by step·α: soft thresholding."""
        return _soft(namespace(v), v, step * self.alpha)

    def violation(self, w: AnyArray, grad: AnyArray) -> AnyArray:
        """|grad + α·sign(w)|, or max(0, |grad| − α) where w = 0."""
        return _l1_violation(w, grad, self.alpha)


class ElasticNet(Penalty, NamedTuple("ElasticNet", [("alpha", float), ("l1_ratio", float)])):
    """Lasso and ridge together: α·r‖w‖₁ + ½α(1 − r)‖w‖² with r = l1_ratio (doi:10.1111/j.1467-9868.2005.00503.x).

    >>> import numpy as np
    >>> ElasticNet(2.0, 0.5).prox(np.array([5.0]), 1.0)
    array([2.])
    """

    __slots__ = ()

    def __new__(cls, alpha: float = 1.0, l1_ratio: float = 0.5) -> Self:
        """Check the parameters."""
        _check(alpha, l1_ratio)
        return super().__new__(cls, float(alpha), float(l1_ratio))

    def value(self, w: AnyArray) -> AnyArray:
        """α Σ (r|w| + ½(1 − r)w²)."""
        xp = namespace(w)
        return self.alpha * xp.sum(self.l1_ratio * xp.abs(w) + (0.5 * (1.0 - self.l1_ratio)) * w * w)

    def prox(self, v: AnyArray, step: AnyArray) -> AnyArray:
        """Soft thresholding, then shrinkage."""
        l1, l2 = self.alpha * self.l1_ratio, self.alpha * (1.0 - self.l1_ratio)
        return _soft(namespace(v), v, step * l1) / (1.0 + step * l2)

    def violation(self, w: AnyArray, grad: AnyArray) -> AnyArray:
        """The lasso's violation at grad + α(1 − r)w."""
        return _l1_violation(w, grad + self.alpha * (1.0 - self.l1_ratio) * w, self.alpha * self.l1_ratio)


class PNorm(Penalty, NamedTuple("PNorm", [("alpha", float), ("p", float)])):
    """Bridge: (α/p) Σ |w|^p with p ≥ 1; p = 1 is the lasso, p = 2 ridge (doi:10.1080/00401706.1993.10485033).

    The proximal step solves u + c·u^(p−1) = |v|, c = step·α. For p < 2, substituting x = u^(p−1) turns it into
    x + x^q/c = |v|/c with q = 1/(p − 1) > 1. Both have the form x + C·x^q = A with a convex left side, so Newton's
    method from a point above the root decreases towards it: x ← (A + (q − 1)C·x^q)/(1 + qC·x^(q−1)), without
    cancellation.

    >>> import numpy as np
    >>> PNorm(1.0, 3.0).prox(np.array([6.0]), 1.0)
    array([2.])
    """

    __slots__ = ()

    def __new__(cls, alpha: float = 1.0, p: float = 2.0) -> Self:
        """Check the parameters."""
        _check(alpha)
        require(1 <= p < math.inf, f"The p-norm penalty is convex for 1 ≤ p < ∞, got p = {p!r}.")
        return super().__new__(cls, float(alpha), float(p))

    def value(self, w: AnyArray) -> AnyArray:
        """(α/p) Σ |w|^p."""
        xp = namespace(w)
        return (self.alpha / self.p) * xp.sum(xp.abs(w) ** self.p)

    def prox(self, v: AnyArray, step: AnyArray) -> AnyArray:
        """The root of u + step·α·sign(u)|u|^(p−1) = v."""
        xp, strength = namespace(v), step * self.alpha
        if self.p == 1 or self.alpha == 0:
            return _soft(xp, v, strength)
        size = xp.abs(v)
        if self.p >= 2:
            return xp.sign(v) * _root(xp, size, strength, self.p - 1.0)
        q = 1.0 / (self.p - 1.0)
        return xp.sign(v) * _root(xp, size / strength, 1.0 / strength, q) ** q

    def violation(self, w: AnyArray, grad: AnyArray) -> AnyArray:
        """|grad + α·sign(w)|w|^(p−1)|; the lasso's for p = 1."""
        if self.p == 1:
            return _l1_violation(w, grad, self.alpha)
        xp = namespace(w)
        return xp.abs(grad + self.alpha * xp.sign(w) * xp.abs(w) ** (self.p - 1.0))


def _root(xp: Any, a: AnyArray, c: AnyArray, q: float) -> AnyArray:
    """The root x ≥ 0 of x + c·x^q = a for q ≥ 1, by Newton's method from above."""
    x = xp.minimum(a, (a / c) ** (1.0 / q))
    close = 1.0 - 4.0 * float(xp.finfo(a.dtype).eps)
    for _ in range(100):
        t = c * x ** (q - 1.0)
        lower = (a + (q - 1.0) * t * x) / (1.0 + q * t)
        if bool(xp.all(lower >= x * close)):
            break
        x = xp.minimum(lower, x)
    return x
