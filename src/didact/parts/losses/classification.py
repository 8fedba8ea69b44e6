"""Losses for probabilities of classes: logistic and softmax, by maximum likelihood and by least squares."""

import math
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from didact.core.backend import namespace
from didact.core.typing import AnyArray
from didact.parts.exp_loops import exp1, log1p1, ratio1
from didact.parts.noun import Loss, Noun, Plain, TargetSums, log_odds, mask

ZERO_ONE = (0.0, 1.0)


def _tail(y: AnyArray, z: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
    """e = exp(−|z|), the smaller probability q = e/(1+e), t = [z ≥ 0] − y, and p − y for p = 1/(1+exp(−z)).

    One exponential serves all four. By way of q and t, p − y keeps its relative precision where p is almost y.
    """
    xp = namespace(z)
    e = xp.exp(-xp.abs(z))
    q = e / (e + 1.0)
    side = mask(xp, z >= 0, z)
    t = side - y
    side *= -2.0
    side += 1.0
    side *= q
    side += t
    return e, q, t, side


class Logistic(Loss, Plain):
    """The negative log-likelihood of a class y ∈ {0, 1} with log-odds z: log(1 + e^z) − y·z.

    y may also be a proportion. Reference: doi:10.1111/j.2517-6161.1958.tb00292.x.

    >>> round(Logistic().value1(1.0, 0.0), 6), Logistic().grad1(1.0, 0.0)
    (0.693147, -0.5)
    """

    __slots__ = ()
    classes = ZERO_ONE
    steep = True

    def best_constant(self, rows: TargetSums) -> Any:
        """The log-odds."""
        total, weight = rows.totals()
        return log_odds(total / weight)

    def for_classes(self) -> "Softmax":
        """The softmax loss."""
        return Softmax()

    def value_grad_hess(self, y: AnyArray, z: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
        """log(1 + e^z) − y·z, p − y and p(1 − p), finite for every finite z."""
        e, q, t, gradient = _tail(y, z)
        value = namespace(z).log1p(e)
        t *= z
        value += t
        q -= q * q
        return value, gradient, q

    def value1(self, y: float, z: float) -> float:
        """log(1 + e^z) − y·z."""
        return log1p1(exp1(-abs(z))) + (1.0 - y if z >= 0.0 else -y) * z

    def grad1(self, y: float, z: float) -> float:
        """p − y, for the probability p of class 1."""
        e = exp1(-abs(z))  # as in value1, so that the compiler computes it once in loops that call both
        return 1.0 - y - e / (1.0 + e) if z >= 0.0 else e / (1.0 + e) - y

    def value_grad_hess1(self, y: float, z: float) -> tuple[float, float, float]:
        """log(1 + e^z) − y·z, p − y and p(1 − p)."""
        e, side = exp1(-abs(z)), 1.0 if z >= 0.0 else 0.0
        q, t = ratio1(e, 1.0 + e), side - y
        return log1p1(e) + t * z, t + (1.0 - 2.0 * side) * q, q - q * q


class SquaredLogistic(Loss, Plain):
    """Half the squared error of the logistic curve, ½(p − y)² with p = 1/(1 + e^−z) and y ∈ {0, 1}.

    For logistic regression trained by least squares. It is not convex in z; the curvature is that of Gauss–Newton,
    (p(1 − p))². Reference: doi:10.1093/biomet/61.3.439.

    >>> SquaredLogistic().value1(1.0, 0.0), SquaredLogistic().grad1(1.0, 0.0)
    (0.125, -0.125)
    """

    __slots__ = ()
    classes = ZERO_ONE

    def value_grad_hess(self, y: AnyArray, z: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
        """½r², r·p(1 − p) and (p(1 − p))², for r = p − y."""
        _, q, _, r = _tail(y, z)
        q -= q * q
        value = 0.5 * r * r
        r *= q
        q *= q
        return value, r, q

    def value1(self, y: float, z: float) -> float:
        """½(p − y)²."""
        e = math.exp(-abs(z))
        r = 1.0 - y - e / (1.0 + e) if z >= 0.0 else e / (1.0 + e) - y
        return 0.5 * r * r

    def grad1(self, y: float, z: float) -> float:
        """(p − y)·p(1 − p)."""
        e = math.exp(-abs(z))
        q = e / (1.0 + e)
        return (1.0 - y - q if z >= 0.0 else q - y) * q * (1.0 - q)

    def value_grad_hess1(self, y: float, z: float) -> tuple[float, float, float]:
        """½r², r·p(1 − p) and (p(1 − p))², for r = p − y."""
        e, side = exp1(-abs(z)), 1.0 if z >= 0.0 else 0.0
        q = ratio1(e, 1.0 + e)
        r, s = side - y + (1.0 - 2.0 * side) * q, q - q * q
        return 0.5 * r * r, r * s, s * s


class ClassLoss(Noun):
    """A loss of class scores z (n, K). Subclasses define `value_grad`, `probabilities` and `pair_curvature`."""

    __slots__ = ()
    classes: ClassVar[tuple[float, float] | None] = None
    curvature: ClassVar[str] = "exact"
    steep: ClassVar[bool] = False
    leaf_quantile: ClassVar[Any] = None

    def value_grad(self, y: AnyArray, z: AnyArray) -> tuple[AnyArray, AnyArray]:
        """The loss of each row (n,) and its derivatives in its K scores (n, K)."""
        raise NotImplementedError

    def value(self, y: AnyArray, z: AnyArray) -> AnyArray:
        """The loss of each row."""
        return self.value_grad(y, z)[0]

    def gradient(self, y: AnyArray, z: AnyArray) -> AnyArray:
        """The derivative of each row's loss in its K scores."""
        return self.value_grad(y, z)[1]

    def mean(self, z: AnyArray) -> AnyArray:
        """The probabilities e^(zₖ)/Σⱼ e^(zⱼ) of the classes (n, K)."""
        return Softmax().probabilities(z)

    def best_constant(self, rows: TargetSums) -> Any:
        """The logarithms of the class shares, centred."""
        total, weight = rows.totals()
        logs = np.log(np.maximum(total / weight, np.finfo(float).eps))
        return logs - logs.mean()


class Softmax(ClassLoss, Plain):
    """The negative log-likelihood of class y among K with scores z (n, K): log Σₖ e^(zₖ) − z_y.

    y holds class codes 0…K−1 (n,), or one-hot rows or proportions that sum to 1 (n, K). The curvature diag(p) − ppᵀ is
    not elementwise, so solvers compute it from `probabilities`. With NumPy and few classes, scores in column order
    (such as `(W @ X.T).T`) are about twice as fast. Reference: doi:10.1007/BF00048682.

    >>> import numpy as np
    >>> Softmax().value(np.array([2]), np.zeros((1, 4))).round(6)
    array([1.386294])
    """

    __slots__ = ()
    steep = True

    def for_classes(self) -> "Softmax":
        """Itself."""
        return self

    def value_grad(self, y: AnyArray, z: AnyArray) -> tuple[AnyArray, AnyArray]:
        """The loss of each row (n,) and its gradient p − onehot(y) (n, K); one temporary of the size of z."""
        xp = namespace(z)
        e = z - _row_max(xp, z)
        if y.ndim == 2:
            truth = xp.sum(y * e, axis=1)
        else:
            at = xp.arange(z.shape[0], device=z.device), y
            truth = e[at]
        total = _exp_normalise(xp, e)
        if y.ndim == 2:
            e -= y
        else:
            e[at] -= 1.0
        return xp.log(total) - truth, e

    def probabilities(self, z: AnyArray) -> AnyArray:
        """The probabilities e^(zₖ)/Σⱼ e^(zⱼ) of the classes (n, K)."""
        xp = namespace(z)
        e = z - _row_max(xp, z)
        _exp_normalise(xp, e)
        return e

    def pair_curvature(self, P: AnyArray, k: int, m: int) -> AnyArray:
        """The second derivative of each row's loss in scores k and m, from the probabilities P."""
        return P[:, k] * (float(k == m) - P[:, m])


class SquaredSoftmax(ClassLoss, Plain):
    """Half the squared error of the softmax probabilities, ½ Σₖ (pₖ − [y = k])², for scores z (n, K).

    For softmax regression trained by least squares. It is not convex in z; the curvature is that of Gauss–Newton, J²
    with the softmax's derivative J = diag(p) − ppᵀ. y holds class codes. Reference: doi:10.1093/biomet/61.3.439.

    >>> import numpy as np
    >>> SquaredSoftmax().value(np.array([0]), np.zeros((1, 2)))
    array([0.25])
    """

    __slots__ = ()

    def value_grad(self, y: AnyArray, z: AnyArray) -> tuple[AnyArray, AnyArray]:
        """½‖p − onehot(y)‖² of each row (n,), and its gradient J(p − onehot(y)) (n, K)."""
        xp = namespace(z)
        P = Softmax().probabilities(z)
        _, R = Softmax().value_grad(y, z)
        inner = xp.sum(P * R, axis=1)
        return 0.5 * xp.sum(R * R, axis=1), P * (R - inner[:, None])

    def probabilities(self, z: AnyArray) -> AnyArray:
        """The probabilities of the classes (n, K)."""
        return Softmax().probabilities(z)

    def pair_curvature(self, P: AnyArray, k: int, m: int) -> AnyArray:
        """Entry (k, m) of Gauss–Newton's curvature J² of each row, from the probabilities P."""
        xp = namespace(P)
        a, b = P[:, k], P[:, m]
        return a * b * (xp.sum(P * P, axis=1) - a - b) + float(k == m) * a * a


def _row_max(xp: Any, z: AnyArray) -> AnyArray:
    """The largest score of each row (n, 1); NumPy's own reduction is slow on short rows."""
    if xp is np and 0 < z.shape[1] <= 32:
        return reduce(np.maximum, z.T)[:, None]
    return xp.max(z, axis=1, keepdims=True)


def _exp_normalise(xp: Any, e: AnyArray) -> AnyArray:
    """Replace e by exp(e) divided by its row sums, and return these; a product with ones sums short rows quickly."""
    xp.exp(e, out=e)
    total = e @ xp.ones((e.shape[1],), dtype=e.dtype, device=e.device)
    e *= (1.0 / total)[:, None]
    return total
