"""Families whose variance is a power of the mean: Gaussian, Poisson, gamma, exponential, inverse Gaussian, Tweedie.

V(μ) = μ^p with p = 0, 1, 2, 2, 3 and any p outside (0, 1). All array methods are a few passes, O(n). References: Nelder
and Wedderburn, doi:10.2307/2344614; Jørgensen, doi:10.1111/j.2517-6161.1987.tb01685.x.
"""

import math
from typing import NamedTuple, Self

import numpy as np

from didact.core.backend import namespace
from didact.core.errors import ParameterError
from didact.core.typing import AnyArray
from didact.parts import losses
from didact.parts.families.log_densities import gaussian_log_density, log_gamma, log_poisson
from didact.parts.families.tweedie_density import tweedie_log_density
from didact.parts.links import Identity, Inverse, InverseSquared, Log, Power
from didact.parts.losses.expected import ExpectedLoss
from didact.parts.noun import Family, Link, Loss, Plain, require, xlogy


class Gaussian(Family, Plain):
    """The normal distribution: V(μ) = 1, the dispersion is the variance.

    >>> import numpy as np
    >>> Gaussian().deviance(np.array([3.0]), np.array([1.0]))
    array([4.])
    """

    __slots__ = ()
    _mean = "real"
    _support = "any number"

    @property
    def canonical(self) -> Link:
        """The identity."""
        return Identity()

    def variance(self, mu: AnyArray) -> AnyArray:
        """1."""
        return namespace(mu).ones_like(mu)

    def deviance(self, y: AnyArray, mu: AnyArray) -> AnyArray:
        """(y − μ)²."""
        r = y - mu
        return r * r

    def shortcut(self, link: Link) -> Loss | None:
        """With the identity ½(η − y)²; with the log link ½e^2η − y·e^η."""
        if link == Identity():
            return losses.HalfSquared()
        return ExpectedLoss(losses.Tweedie(0.0)) if link == Log() else None

    def start(self, y: AnyArray) -> AnyArray:
        """y itself."""
        return y

    def log_density(self, y: AnyArray, mu: AnyArray, dispersion: float) -> AnyArray:
        """The log density of each y."""
        return gaussian_log_density((y - mu) ** 2 / dispersion, math.log(dispersion))


class Poisson(Family, Plain):
    """Counts of independent events: V(μ) = μ. Fractions are allowed, as rates with exposure weights give them.

    >>> import numpy as np
    >>> Poisson().deviance(np.array([0.0]), np.array([1.5]))
    array([3.])
    """

    __slots__ = ()
    _support = "y ≥ 0"
    fixed_dispersion = True

    @property
    def canonical(self) -> Link:
        """The logarithm."""
        return Log()

    def variance(self, mu: AnyArray) -> AnyArray:
        """μ."""
        return mu

    def deviance(self, y: AnyArray, mu: AnyArray) -> AnyArray:
        """2(y·log(y/μ) − y + μ)."""
        return 2.0 * (xlogy(y, y / mu) - (y - mu))

    def shortcut(self, link: Link) -> Loss | None:
        """With the log link: e^η − y·η."""
        return losses.Poisson() if link == Log() else None

    def log_density(self, y: AnyArray, mu: AnyArray, dispersion: float) -> AnyArray:
        """The log density of each y."""
        return log_poisson(y, mu)


class _GammaShape(Family):
    """What the gamma and the exponential family share: V(μ) = μ²."""

    __slots__ = ()

    @property
    def canonical(self) -> Link:
        """1/μ."""
        return Inverse()

    def variance(self, mu: AnyArray) -> AnyArray:
        """μ²."""
        return mu * mu

    def deviance(self, y: AnyArray, mu: AnyArray) -> AnyArray:
        """2(y/μ − 1 − log(y/μ))."""
        ratio = y / mu
        return 2.0 * (ratio - 1.0 - namespace(mu).log(ratio))

    def shortcut(self, link: Link) -> Loss | None:
        """With the log link: η + y·e^−η, expected curvature 1."""
        return ExpectedLoss(losses.Gamma()) if link == Log() else None

    def log_density(self, y: AnyArray, mu: AnyArray, dispersion: float) -> AnyArray:
        """The log density of each y."""
        return log_gamma(y, 1 / dispersion, 1 / (dispersion * mu))


class Gamma(_GammaShape, Plain):
    """Positive amounts with a constant coefficient of variation: V(μ) = μ²; the shape is 1/dispersion.

    >>> import numpy as np
    >>> Gamma().variance(np.array([3.0]))
    array([9.])
    """

    __slots__ = ()


class Exponential(_GammaShape, Plain):
    """Waiting times: the gamma family with its dispersion fixed at 1.

    >>> import numpy as np
    >>> Exponential().log_likelihood(np.array([2.0]), np.array([1.0]))
    array([-2.])
    """

    __slots__ = ()
    fixed_dispersion = True

    def log_density(self, y: AnyArray, mu: AnyArray, dispersion: float) -> AnyArray:
        """The log density of each y."""
        return log_gamma(y, 1.0, 1 / mu)


class InverseGaussian(Family, Plain):
    """First-passage times: V(μ) = μ³.

    >>> import numpy as np
    >>> InverseGaussian().deviance(np.array([1.0]), np.array([2.0]))
    array([0.25])
    """

    __slots__ = ()

    @property
    def canonical(self) -> Link:
        """1/μ²."""
        return InverseSquared()

    def variance(self, mu: AnyArray) -> AnyArray:
        """μ³."""
        return mu * mu * mu

    def deviance(self, y: AnyArray, mu: AnyArray) -> AnyArray:
        """(y − μ)²/(y μ²)."""
        r = (y - mu) / mu
        return r * r / y

    def shortcut(self, link: Link) -> Loss | None:
        """With the log link: ½y·e^−2η − e^−η."""
        return ExpectedLoss(losses.Tweedie(3.0)) if link == Log() else None

    def log_density(self, y: AnyArray, mu: AnyArray, dispersion: float) -> AnyArray:
        """The log density of each y."""
        return gaussian_log_density(self.deviance(y, mu) / dispersion, np.log(dispersion * y**3))


_NAMED: dict[float, Family] = {0.0: Gaussian(), 1.0: Poisson(), 2.0: Gamma(), 3.0: InverseGaussian()}


class Tweedie(Family, NamedTuple("Tweedie", [("power", float)])):
    """V(μ) = μ^power. Between 1 and 2: the sum of a Poisson number of gamma amounts, with a point mass at 0.

    The powers 0, 1, 2, 3 are the Gaussian, Poisson, gamma and inverse Gaussian families; none exists for (0, 1).
    Likelihoods exist for these four and between 1 and 2.

    >>> import numpy as np
    >>> Tweedie(1.5).variance(np.array([4.0]))
    array([8.])
    """

    __slots__ = ()

    def __new__(cls, power: float = 1.5) -> Self:
        """Check the parameter."""
        require(not 0 < power < 1, f"There is no Tweedie distribution with power between 0 and 1, got {power!r}.")
        return super().__new__(cls, float(power))

    @property
    def mean(self) -> str:
        """Real for power 0, positive otherwise."""
        return "real" if self.power == 0 else "positive"

    @property
    def support(self) -> str:
        """Any number up to power 0, y ≥ 0 below power 2, y > 0 from there on."""
        return "any number" if self.power <= 0 else ("y ≥ 0" if self.power < 2 else "y > 0")

    @property
    def canonical(self) -> Link:
        """μ^(1 − power), or the logarithm for power 1."""
        return _NAMED[self.power].canonical if self.power in (0, 1, 2) else Power(1 - self.power)

    def variance(self, mu: AnyArray) -> AnyArray:
        """μ^power."""
        return mu**self.power

    def deviance(self, y: AnyArray, mu: AnyArray) -> AnyArray:
        """2(y₊^(2−p)/((1−p)(2−p)) − y·μ^(1−p)/(1−p) + μ^(2−p)/(2−p))."""
        if self.power in _NAMED:
            return _NAMED[self.power].deviance(y, mu)
        a, b = 1.0 - self.power, 2.0 - self.power
        best = namespace(y).clip(y, 0.0, None) ** b / (a * b)
        return 2.0 * (best - y * mu**a / a + mu**b / b)

    def shortcut(self, link: Link) -> Loss | None:
        """With the log link: e^((2−p)η)/(2−p) − y·e^((1−p)η)/(1−p)."""
        if self.power in _NAMED:
            return _NAMED[self.power].shortcut(link)
        return ExpectedLoss(losses.Tweedie(self.power)) if link == Log() else None

    def log_density(self, y: AnyArray, mu: AnyArray, dispersion: float) -> AnyArray:
        """The log density of each y."""
        if self.power in _NAMED:
            return _NAMED[self.power].log_density(y, mu, dispersion)
        if not 1 < self.power < 2:
            raise ParameterError(f"The Tweedie density with power {self.power} is not available: use 1 to 2, 0 or 3.")
        return tweedie_log_density(y, mu, dispersion, self.power)
