"""Families of distributions for generalized linear models, and the loss that a family and a link make together.

All families are imported from here. `GLMLoss(family, link)` is half the deviance as a function of the linear
predictor, with its gradient and expected (Fisher) curvature: what a solver needs to fit a GLM.
"""

from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np

from didact.core.backend import namespace
from didact.core.errors import ParameterError
from didact.core.typing import AnyArray
from didact.core.validation.entrance import entrance
from didact.parts.families.power import Exponential, Gamma, Gaussian, InverseGaussian, Poisson, Tweedie
from didact.parts.families.unit import Bernoulli, Beta, Binomial, Multinomial, NegativeBinomial
from didact.parts.links import get_link
from didact.parts.noun import Family, Link, Loss, TargetSums, mean_bounds, root_of_slopes

__all__ = [
    "Bernoulli",
    "Beta",
    "Binomial",
    "Exponential",
    "Family",
    "GLMLoss",
    "Gamma",
    "Gaussian",
    "InverseGaussian",
    "Multinomial",
    "NegativeBinomial",
    "Poisson",
    "Tweedie",
    "get_family",
]

FAMILIES: dict[str, Family | Multinomial] = {
    "gaussian": Gaussian(),
    "bernoulli": Bernoulli(),
    "binomial": Binomial(),
    "poisson": Poisson(),
    "gamma": Gamma(),
    "exponential": Exponential(),
    "inverse_gaussian": InverseGaussian(),
    "tweedie": Tweedie(),
    "negative_binomial": NegativeBinomial(),
    "beta": Beta(),
    "multinomial": Multinomial(),
}


@entrance()
def get_family(family: str | Family | Multinomial) -> Family | Multinomial:
    """The family with this name (and its default parameter), or the family itself.

    >>> get_family("poisson"), get_family(Tweedie(1.2))
    (Poisson(), Tweedie(power=1.2))
    """
    if isinstance(family, (Family, Multinomial)):
        return family
    if family not in FAMILIES:
        raise ParameterError(
            f"Unknown family {family!r}: use one of {', '.join(FAMILIES)}, or one such as Tweedie(1.2)."
        )
    return FAMILIES[family]


@lru_cache(maxsize=256)
def _bounds(family: Family, link: Link, eps: float) -> tuple[float, float]:
    """The smallest and largest η whose mean is inside both the family's domain and the link's range."""
    ranges = [mean_bounds(kind, eps) for kind in (family.mean, link.mean)]
    low, high = max(r[0] for r in ranges), min(r[1] for r in ranges)
    if not np.isfinite(low):
        return low, high
    ends = link.link(np.array([low, high]))
    return float(min(ends)), float(max(ends))


class GLMLoss(Loss, NamedTuple("GLMLoss", [("family", Family), ("link", Link)])):
    """The loss of a generalized linear model: half the unit deviance of y at the mean link⁻¹(z), up to a term in y.

    The gradient is −score·μ′; the curvature is the expected one, information·μ′² (Fisher scoring), which equals the
    second derivative for canonical links. Where z implies an impossible mean (a negative one, a probability above 1),
    the loss is extrapolated by the parabola with the value, slope and curvature at the boundary, so that every z has a
    finite value and descent leads back inside. Common pairs have shortcuts without divisions, which clip the exponent
    instead. `value + constant(y)` is exactly half the deviance. Reference: doi:10.2307/2344614.

    >>> import numpy as np
    >>> GLMLoss("poisson", "log").gradient(np.array([3.0]), np.array([0.0]))
    array([-2.])
    """

    __slots__ = ()

    def __new__(cls, family: str | Family | Multinomial, link: str | Link | None = None) -> Self:
        """Look up names; the default link is the family's canonical one."""
        family = get_family(family)
        if not isinstance(family, Family):
            raise ParameterError("The multinomial family has no loss per row and column: use its own value_grad.")
        return super().__new__(cls, family, family.canonical if link is None else get_link(link))

    def value_grad_hess(self, y: AnyArray, z: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
        """½ deviance, −score·μ′ and information·μ′²."""
        if (shortcut := self.family.shortcut(self.link)) is not None:
            return shortcut.value_grad_hess(y, z)
        xp = namespace(z)
        inside = self._inside(z)
        mu, slope = self.link.inverse_derivative(inside)
        value = self.family.objective(y, mu)
        gradient = -self.family.score(y, mu) * slope
        curvature = self.family.information(mu) * slope * slope
        excess = z - inside
        if bool(xp.any(excess != 0)):
            top = float(xp.finfo(z.dtype).max)  # avoids ∞ · 0 = NaN where a power has overflowed
            bend = xp.clip(curvature, None, top) * excess
            value = value + (xp.clip(gradient, -top, top) + 0.5 * bend) * excess
            gradient = gradient + bend
        return value, gradient, curvature

    @property
    def scalar(self) -> Loss | None:
        """The shortcut's."""
        shortcut = self.family.shortcut(self.link)
        return None if shortcut is None else shortcut.scalar

    @property
    def support(self) -> str:
        """The support of the family."""
        return self.family.support

    def best_constant(self, rows: TargetSums) -> Any:
        """The best constant linear predictor, by Newton's method from the link of the mean of all y."""
        total, weight = rows.totals()
        z = float(self.start(np.asarray([total / weight]))[0])
        return root_of_slopes(rows.slopes, z)

    def mean(self, z: AnyArray) -> AnyArray:
        """The mean, clipped to the family's domain."""
        return self.link.inverse(self._inside(z))

    def start(self, y: AnyArray) -> AnyArray:
        """A linear predictor near each y, inside the domain."""
        return self._inside(self.link.link(self._possible(self.family.start(y))))

    def constant(self, y: AnyArray) -> AnyArray:
        """Half the deviance minus the value: a term that depends on y alone."""
        z = self.start(y)
        return 0.5 * self.family.deviance(y, self.mean(z)) - self.value(y, z)

    def _possible(self, mu: AnyArray) -> AnyArray:
        xp = namespace(mu)
        return xp.clip(mu, *mean_bounds(self.link.mean, float(xp.finfo(mu.dtype).eps)))

    def _inside(self, z: AnyArray) -> AnyArray:
        xp = namespace(z)
        low, high = _bounds(self.family, self.link, float(xp.finfo(z.dtype).eps))
        return xp.clip(z, low, high) if np.isfinite(low) else z
