"""Margin losses: functions of y·z, y ∈ {−1, +1}, that penalise scores on the wrong side of the boundary, or near it."""

import math
from typing import Any

from didact.core.backend import namespace
from didact.core.typing import AnyArray
from didact.parts.noun import Loss, Plain, TargetSums, log_max, log_odds, logistic, mask

MINUS_PLUS = (-1.0, 1.0)


class Hinge(Loss, Plain):
    """The support vector machine's loss max(0, 1 − y·z), y ∈ {−1, +1} (doi:10.1007/BF00994018).

    >>> Hinge().value1(-1.0, 0.5), Hinge().grad1(-1.0, 0.5)
    (1.5, 1.0)
    """

    __slots__ = ()
    curvature = "one"
    classes = MINUS_PLUS

    def value_grad_hess(self, y: AnyArray, z: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
        """max(0, m), −y·[m ≥ 0] and 0, for m = 1 − y·z."""
        xp = namespace(z)
        m = 1.0 - y * z
        return xp.clip(m, 0.0, None), -y * mask(xp, m >= 0, m), xp.zeros_like(m)

    def value1(self, y: float, z: float) -> float:
        """max(0, 1 − y·z)."""
        return max(1.0 - y * z, 0.0)

    def grad1(self, y: float, z: float) -> float:
        """−y for y·z ≤ 1, 0 beyond."""
        return -y if y * z <= 1.0 else 0.0


class SquaredHinge(Loss, Plain):
    """The squared hinge max(0, 1 − y·z)², y ∈ {−1, +1} (doi:10.1214/aos/1079120130).

    >>> SquaredHinge().value1(-1.0, 0.5), SquaredHinge().grad1(-1.0, 0.5)
    (2.25, 3.0)
    """

    __slots__ = ()
    classes = MINUS_PLUS

    def value_grad_hess(self, y: AnyArray, z: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
        """m², −2y·m and 2·[m > 0], for m = max(0, 1 − y·z)."""
        xp = namespace(z)
        m = xp.clip(1.0 - y * z, 0.0, None)
        return m * m, -2.0 * y * m, 2.0 * mask(xp, m > 0, m)

    def value1(self, y: float, z: float) -> float:
        """max(0, 1 − y·z)²."""
        m = max(1.0 - y * z, 0.0)
        return m * m

    def grad1(self, y: float, z: float) -> float:
        """−2y·max(0, 1 − y·z)."""
        return -2.0 * y * max(1.0 - y * z, 0.0)

    def value_grad_hess1(self, y: float, z: float) -> tuple[float, float, float]:
        """m², −2y·m and 2·[m > 0], for m = max(0, 1 − y·z)."""
        m = max(1.0 - y * z, 0.0)
        return m * m, -2.0 * y * m, 2.0 if m > 0.0 else 0.0


class ModifiedHuber(Loss, Plain):
    """The squared hinge, linear below y·z = −1: max(0, 1 − y·z)², then −4y·z (doi:10.1145/1015330.1015332).

    >>> ModifiedHuber().value1(1.0, 0.5), ModifiedHuber().grad1(1.0, -3.0)
    (0.25, -4.0)
    """

    __slots__ = ()
    classes = MINUS_PLUS

    def mean(self, z: AnyArray) -> AnyArray:
        """(1 + z)/2, clipped to [0, 1]: for probability p, the expected loss is least at z = 2p − 1."""
        return 0.5 * (1.0 + namespace(z).clip(z, -1.0, 1.0))

    def value_grad_hess(self, y: AnyArray, z: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
        """m·(2m₀ − m) with m = min(m₀, 2), for m₀ = max(0, 1 − y·z); −2y·m and 2·[0 < m₀ < 2]."""
        xp = namespace(z)
        far = xp.clip(1.0 - y * z, 0.0, None)
        m = xp.clip(far, None, 2.0)
        return m * (2.0 * far - m), -2.0 * y * m, 2.0 * mask(xp, (far > 0) & (far < 2), far)

    def value1(self, y: float, z: float) -> float:
        """max(0, 1 − y·z)², and −4y·z for y·z < −1."""
        far = max(1.0 - y * z, 0.0)
        m = min(far, 2.0)
        return m * (2.0 * far - m)

    def grad1(self, y: float, z: float) -> float:
        """−2y·max(0, 1 − y·z), and −4y for y·z < −1."""
        return -2.0 * y * min(max(1.0 - y * z, 0.0), 2.0)


class ExponentialLoss(Loss, Plain):
    """AdaBoost's loss e^(−y·z), y ∈ {−1, +1}, with the exponent held below overflow (doi:10.1006/jcss.1997.1504).

    >>> ExponentialLoss().value1(1.0, 0.0), ExponentialLoss().grad1(1.0, 0.0)
    (1.0, -1.0)
    """

    __slots__ = ()
    classes = MINUS_PLUS
    steep = True

    def mean(self, z: AnyArray) -> AnyArray:
        """1/(1 + e^−2z): z is half the log-odds."""
        return logistic(2.0 * z)

    def best_constant(self, rows: TargetSums) -> Any:
        """Half the log-odds."""
        total, weight = rows.totals()
        return 0.5 * log_odds(0.5 * (1.0 + total / weight))

    def value_grad_hess(self, y: AnyArray, z: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
        """v = e^(−y·z), −y·v and v."""
        xp = namespace(z)
        v = xp.exp(xp.clip(-y * z, None, log_max(xp, z)))
        return v, -y * v, v

    def value1(self, y: float, z: float) -> float:
        """e^(−y·z)."""
        return math.exp(min(-y * z, 700.0))

    def grad1(self, y: float, z: float) -> float:
        """−y·e^(−y·z)."""
        return -y * math.exp(min(-y * z, 700.0))


class Perceptron(Loss, Plain):
    """The perceptron's loss max(0, −y·z), y ∈ {−1, +1} (doi:10.1037/h0042519).

    At z = 0 the gradient is −y, so that learning can leave the origin.

    >>> Perceptron().value1(-1.0, 0.5), Perceptron().grad1(1.0, 0.0)
    (0.5, -1.0)
    """

    __slots__ = ()
    curvature = "one"
    classes = MINUS_PLUS

    def value_grad_hess(self, y: AnyArray, z: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
        """max(0, m), −y·[m ≥ 0] and 0, for m = −y·z."""
        xp = namespace(z)
        m = -y * z
        return xp.clip(m, 0.0, None), -y * mask(xp, m >= 0, m), xp.zeros_like(m)

    def value1(self, y: float, z: float) -> float:
        """max(0, −y·z)."""
        return max(-y * z, 0.0)

    def grad1(self, y: float, z: float) -> float:
        """−y for a mistake (or no decision), 0 otherwise."""
        return -y if y * z <= 0.0 else 0.0
