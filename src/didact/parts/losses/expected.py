"""Losses with the expected curvature, as Fisher scoring wants it: behind the log links of generalized linear models."""

from typing import Any, NamedTuple

from didact.core.backend import namespace
from didact.core.jit import dispatch
from didact.core.typing import AnyArray
from didact.parts.exp_loops import exp1, log1, log1p1, ratio1
from didact.parts.noun import Loss, log_max

value_grad_fisher1 = dispatch("value_grad_fisher1")


class NegativeBinomial(Loss, NamedTuple("NegativeBinomial", [("alpha", float)])):
    """Overdispersed counts with z the log of the mean: (y + 1/α)·log(1 + αe^z) − y·z; the variance is μ + αμ².

    The curvature is the expected one. Reference: doi:10.2307/3314912.

    >>> import numpy as np
    >>> NegativeBinomial(1.0).gradient(np.array([3.0]), np.array([0.0]))
    array([-1.])
    """

    __slots__ = ()

    def value_grad_hess(self, y: AnyArray, z: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
        """The loss, (μ − y)/(1 + αμ) and μ/(1 + αμ), for μ = e^z."""
        xp = namespace(z)
        mu = xp.exp(xp.clip(z, None, log_max(xp, z)))
        grown = self.alpha * mu
        value = (y + 1.0 / self.alpha) * xp.log1p(grown) - y * z
        shrink = 1.0 / (1.0 + grown)
        return value, (mu - y) * shrink, mu * shrink

    def value_grad_hess1(self, y: float, z: float) -> tuple[float, float, float]:
        """Value, gradient and expected curvature of one row."""
        mu = exp1(min(z, 700.0))
        grown = self.alpha * mu
        logarithm = log1p1(grown) if grown <= 1.0 else log1(1.0 + grown)
        shrink = ratio1(1.0, 1.0 + grown)
        return (y + ratio1(1.0, self.alpha)) * logarithm - y * z, (mu - y) * shrink, mu * shrink


class ExpectedLoss(Loss, NamedTuple("ExpectedLoss", [("loss", Any)])):
    """A loss with the expected curvature (Fisher scoring) instead of its own.

    >>> import numpy as np
    >>> from didact.parts.losses import Gamma
    >>> ExpectedLoss(Gamma()).grad_hess(np.array([3.0]), np.array([0.0]))
    (array([-2.]), array([1.]))
    """

    __slots__ = ()

    def value_grad_hess(self, y: AnyArray, z: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
        """The loss, its derivative and the expected curvature."""
        return self.loss.value_grad_fisher(y, z)

    def value_grad_hess1(self, y: float, z: float) -> tuple[float, float, float]:
        """Value, gradient and expected curvature of one row."""
        return value_grad_fisher1(self.loss, y, z)
