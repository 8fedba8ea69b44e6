"""Links for means between 0 and 1: the quantile functions of the logistic, normal, Gumbel and Cauchy distributions."""

import math

from scipy.special import ndtr, ndtri

from didact.core.backend import namespace
from didact.core.typing import AnyArray
from didact.parts.noun import Link, Plain, mean_bounds, special


class Logit(Link, Plain):
    """η = log(μ/(1 − μ)), the log-odds.

    >>> import numpy as np
    >>> Logit().inverse(np.array([0.0]))
    array([0.5])
    """

    __slots__ = ()
    mean = "unit"

    def link(self, mu: AnyArray) -> AnyArray:
        """log μ − log(1 − μ)."""
        xp = namespace(mu)
        return xp.log(mu) - xp.log1p(-mu)

    def inverse(self, eta: AnyArray) -> AnyArray:
        """1/(1 + e^−η)."""
        xp = namespace(eta)
        limit = -math.log(float(xp.finfo(eta.dtype).eps))
        return 1.0 / (1.0 + xp.exp(-xp.clip(eta, -limit, limit)))

    def derivative(self, eta: AnyArray) -> AnyArray:
        """μ(1 − μ)."""
        return self.inverse_derivative(eta)[1]

    def inverse_derivative(self, eta: AnyArray) -> tuple[AnyArray, AnyArray]:
        """μ and μ(1 − μ)."""
        mu = self.inverse(eta)
        return mu, mu * (1.0 - mu)


class Probit(Link, Plain):
    """η = Φ⁻¹(μ), the normal quantile.

    >>> import numpy as np
    >>> Probit().inverse(np.array([0.0, 1.96])).round(3)
    array([0.5  , 0.975])
    """

    __slots__ = ()
    mean = "unit"

    def link(self, mu: AnyArray) -> AnyArray:
        """Φ⁻¹(μ)."""
        return special(ndtri, mu)

    def inverse(self, eta: AnyArray) -> AnyArray:
        """Φ(η)."""
        xp = namespace(eta)
        return xp.clip(special(ndtr, eta), *mean_bounds("unit", float(xp.finfo(eta.dtype).eps)))

    def derivative(self, eta: AnyArray) -> AnyArray:
        """The normal density at η."""
        return namespace(eta).exp(-0.5 * eta * eta) * (1.0 / math.sqrt(2.0 * math.pi))


class CLogLog(Link, Plain):
    """η = log(−log(1 − μ)), the complementary log-log: events in continuous time, observed by intervals.

    >>> import numpy as np
    >>> CLogLog().inverse(np.array([0.0])).round(6)
    array([0.632121])
    """

    __slots__ = ()
    mean = "unit"

    def link(self, mu: AnyArray) -> AnyArray:
        """log(−log(1 − μ))."""
        xp = namespace(mu)
        return xp.log(-xp.log1p(-mu))

    def inverse(self, eta: AnyArray) -> AnyArray:
        """1 − exp(−e^η)."""
        xp = namespace(eta)
        low = math.log(float(xp.finfo(eta.dtype).eps))
        return -xp.expm1(-xp.exp(xp.clip(eta, low, math.log(-low))))

    def derivative(self, eta: AnyArray) -> AnyArray:
        """exp(η − e^η)."""
        xp = namespace(eta)
        low = math.log(float(xp.finfo(eta.dtype).eps))
        eta = xp.clip(eta, low, math.log(-low))
        return xp.exp(eta - xp.exp(eta))


class Cauchit(Link, Plain):
    """η = tan(π(μ − ½)), the Cauchy quantile: heavy tails, robust to outlying labels.

    >>> import numpy as np
    >>> Cauchit().inverse(np.array([1.0])).round(6)
    array([0.75])
    """

    __slots__ = ()
    mean = "unit"

    def link(self, mu: AnyArray) -> AnyArray:
        """−1/tan(πμ), which is accurate near μ = 0."""
        return -1.0 / namespace(mu).tan(math.pi * mu)

    def inverse(self, eta: AnyArray) -> AnyArray:
        """½ + atan(η)/π; for η < −1, atan(−1/η)/π, which is accurate near 0. Clipping at ¼ keeps the join monotone."""
        xp = namespace(eta)
        near = xp.clip(0.5 + xp.atan(eta) * (1.0 / math.pi), 0.25, None)
        far = xp.clip(xp.atan(-1.0 / xp.clip(eta, None, -1.0)) * (1.0 / math.pi), None, 0.25)
        mu = xp.where(eta < -1.0, far, near)
        return xp.clip(mu, *mean_bounds("unit", float(xp.finfo(eta.dtype).eps)))

    def derivative(self, eta: AnyArray) -> AnyArray:
        """1/(π(1 + η²))."""
        return 1.0 / (math.pi * (1.0 + eta * eta))
