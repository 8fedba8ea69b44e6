"""Link functions: a monotone curve between a mean μ and the linear predictor η = link(μ).

`link(mu)`, `inverse(eta)` and `derivative(eta)` = dμ/dη cost one or two passes over the rows, O(n). The inverse clips
the mean strictly inside the link's range (0 < μ, or 0 < μ < 1), so that logarithms and variances stay finite for every
η that a solver tries. Reference for all: McCullagh and Nelder, Generalized Linear Models,
doi:10.1007/978-1-4899-3242-6.
"""

import math
from typing import Any, NamedTuple, Self

from didact.core.backend import namespace
from didact.core.errors import ParameterError
from didact.core.typing import AnyArray
from didact.core.validation.entrance import entrance
from didact.parts.links.unit import Cauchit, CLogLog, Logit, Probit
from didact.parts.noun import Link, Plain, log_max, require

__all__ = [
    "CLogLog",
    "Cauchit",
    "Identity",
    "Inverse",
    "InverseSquared",
    "Link",
    "Log",
    "Logit",
    "Power",
    "Probit",
    "Sqrt",
    "get_link",
]


def _inside(eta: AnyArray, p: float) -> tuple[Any, AnyArray]:
    """The namespace, and η = μ^p clipped to the range in which μ is a safe positive mean."""
    xp = namespace(eta)
    bound = float(xp.finfo(eta.dtype).eps) ** min(1.5 * abs(p), 4.0)
    return xp, xp.clip(eta, bound, 1.0 / bound)


class Identity(Link, Plain):
    """η = μ.

    >>> import numpy as np
    >>> Identity().inverse(np.array([-1.5]))
    array([-1.5])
    """

    __slots__ = ()
    mean = "real"

    def link(self, mu: AnyArray) -> AnyArray:
        """μ itself."""
        return mu

    def inverse(self, eta: AnyArray) -> AnyArray:
        """η itself."""
        return eta

    def derivative(self, eta: AnyArray) -> AnyArray:
        """1."""
        return namespace(eta).ones_like(eta)


class Log(Link, Plain):
    """η = log μ.

    >>> import numpy as np
    >>> Log().inverse(np.array([0.0]))
    array([1.])
    """

    __slots__ = ()

    def link(self, mu: AnyArray) -> AnyArray:
        """log μ."""
        return namespace(mu).log(mu)

    def inverse(self, eta: AnyArray) -> AnyArray:
        """e^η, with η clipped to ±700 (double) or ±87 (single precision)."""
        xp = namespace(eta)
        limit = log_max(xp, eta)
        return xp.exp(xp.clip(eta, -limit, limit))

    def derivative(self, eta: AnyArray) -> AnyArray:
        """e^η."""
        return self.inverse(eta)

    def inverse_derivative(self, eta: AnyArray) -> tuple[AnyArray, AnyArray]:
        """e^η, which is both the mean and its derivative: one array, returned twice."""
        mu = self.inverse(eta)
        return mu, mu


class Power(Link, NamedTuple("Power", [("p", float)])):
    """η = μ^p for positive means, p ≠ 0 (the limit p → 0 is the log link).

    >>> import numpy as np
    >>> Power(2).inverse(np.array([9.0]))
    array([3.])
    """

    __slots__ = ()

    def __new__(cls, p: float = 1.0) -> Self:
        """Check the parameter."""
        require(math.isfinite(p) and p != 0, f"A power link needs a finite p other than 0 (0 is 'log'), got {p!r}.")
        return super().__new__(cls, float(p))

    def link(self, mu: AnyArray) -> AnyArray:
        """μ^p."""
        return mu**self.p

    def inverse(self, eta: AnyArray) -> AnyArray:
        """η^(1/p)."""
        return _inside(eta, self.p)[1] ** (1.0 / self.p)

    def derivative(self, eta: AnyArray) -> AnyArray:
        """η^(1/p − 1)/p."""
        return _inside(eta, self.p)[1] ** (1.0 / self.p - 1.0) * (1.0 / self.p)


class Inverse(Link, Plain):
    """η = 1/μ for positive means: the gamma family's canonical link.

    >>> import numpy as np
    >>> Inverse().inverse(np.array([4.0]))
    array([0.25])
    """

    __slots__ = ()

    def link(self, mu: AnyArray) -> AnyArray:
        """1/μ."""
        return 1.0 / mu

    def inverse(self, eta: AnyArray) -> AnyArray:
        """1/η."""
        return 1.0 / _inside(eta, 1.0)[1]

    def derivative(self, eta: AnyArray) -> AnyArray:
        """−1/η²."""
        return self.inverse_derivative(eta)[1]

    def inverse_derivative(self, eta: AnyArray) -> tuple[AnyArray, AnyArray]:
        """1/η and −1/η²."""
        mu = self.inverse(eta)
        return mu, -mu * mu


class InverseSquared(Link, Plain):
    """η = 1/μ² for positive means: the inverse Gaussian family's canonical link.

    >>> import numpy as np
    >>> InverseSquared().inverse(np.array([4.0]))
    array([0.5])
    """

    __slots__ = ()

    def link(self, mu: AnyArray) -> AnyArray:
        """1/μ²."""
        return 1.0 / (mu * mu)

    def inverse(self, eta: AnyArray) -> AnyArray:
        """1/√η."""
        xp, eta = _inside(eta, 2.0)
        return 1.0 / xp.sqrt(eta)

    def derivative(self, eta: AnyArray) -> AnyArray:
        """−½ η^(−3/2)."""
        mu = self.inverse(eta)
        return -0.5 * mu * mu * mu


class Sqrt(Link, Plain):
    """η = √μ for positive means.

    >>> import numpy as np
    >>> Sqrt().inverse(np.array([3.0]))
    array([9.])
    """

    __slots__ = ()

    def link(self, mu: AnyArray) -> AnyArray:
        """√μ."""
        return namespace(mu).sqrt(mu)

    def inverse(self, eta: AnyArray) -> AnyArray:
        """η²."""
        _, eta = _inside(eta, 0.5)
        return eta * eta

    def derivative(self, eta: AnyArray) -> AnyArray:
        """2η."""
        return 2.0 * _inside(eta, 0.5)[1]


LINKS: dict[str, Link] = {
    "identity": Identity(),
    "log": Log(),
    "logit": Logit(),
    "probit": Probit(),
    "cloglog": CLogLog(),
    "cauchit": Cauchit(),
    "inverse": Inverse(),
    "inverse_squared": InverseSquared(),
    "sqrt": Sqrt(),
}


@entrance()
def get_link(link: str | Link) -> Link:
    """The link with this name, or the link itself.

    >>> get_link("logit"), get_link(Power(0.5))
    (Logit(), Power(p=0.5))
    """
    if isinstance(link, Link):
        return link
    if link not in LINKS:
        raise ParameterError(f"Unknown link {link!r}: use one of {', '.join(LINKS)}, or a link such as Power(p).")
    return LINKS[link]
