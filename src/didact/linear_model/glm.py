"""The generalized linear models by name: any family and link, and the three that scikit-learn users know.

The objective and its fit are in `glm_base`; a class here says which family and link it stands for.
"""

from typing import Any

from didact.core.parameters import above, at_least, attr, between, one_of, param
from didact.linear_model.glm_base import _GLM, ESTIMATED
from didact.parts.families import FAMILIES, Family, Gamma, Multinomial, Poisson, Tweedie, get_family
from didact.parts.links import LINKS, Identity, Log, get_link
from didact.parts.noun import Link


class GeneralizedLinearRegressor(_GLM):
    r"""Generalized linear model with any family and link.

    .. math:: g(E[y\mid x]) = x^Tb + b_0 + o

    Notes
    -----
    A binomial y is a proportion with the number of trials as `sample_weight`; a multinomial y has one column of counts
    or proportions for each class. `offset` is added to the linear predictor; `exposure`, with a log link, multiplies
    the mean. Where the family does not fix φ, or with ``dispersion="estimate"``, `dispersion_` is Pearson's estimate
    :math:`\sum w(y-\mu)^2/V(\mu)/(n-k)` with n = Σw (a binomial's rows) and k coefficients that are not zero; NaN if
    n ≤ k. Cost: n p² a step of Fisher scoring, n p a step of L-BFGS. Shape of computation: iterate.

    References
    ----------
    McCullagh, Nelder (1989), Generalized Linear Models, doi:10.1007/978-1-4899-3242-6.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.linear_model import GeneralizedLinearRegressor
    >>> model = GeneralizedLinearRegressor(family="poisson").fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 4.0])
    >>> np.exp(model.coef_).round(5)
    array([2.])
    """

    _test_params = [{}, {"family": "poisson"}, {"family": "gaussian", "alpha": 0.1, "l1_ratio": 0.5, "tol": 1e-9}]

    family: Any = param(
        "gaussian", [one_of(*FAMILIES), Family, Multinomial], "Distribution of y: a name, or one such as Tweedie(1.2)."
    )
    link: Any = param("auto", [one_of("auto", *LINKS), Link], "Link between mean and Xb; 'auto' is the canonical one.")
    dispersion: Any = param(
        "auto",
        [one_of("auto", "estimate"), above(0)],
        "The negative binomial's overdispersion or the beta's precision: estimated if the family is given by name "
        "('auto'), always ('estimate'), or this number. For other families what dispersion_ becomes: 1 where the "
        "family fixes it, else Pearson's estimate ('auto'), always the estimate, or this number.",
    )

    _attrs = [
        attr("coef_", "(n_features,)", "Coefficients; (n_classes, n_features) for a multinomial."),
        attr("intercept_", "float", "Constant term; (n_classes,) for a multinomial."),
        attr("loss_", "GLMLoss", "The family, with its parameter if that was estimated, and link."),
        attr("dispersion_", "float", "The φ of var(y) = φV(μ): 1 where the family fixes it, else estimated."),
    ]

    def _model(self) -> tuple[Any, Link | None]:
        family = get_family(self.family)
        kind: Any = type(family)
        if kind in ESTIMATED and not isinstance(self.dispersion, str):
            family = kind(float(self.dispersion))
        if isinstance(family, Multinomial):
            return family, None
        return family, family.canonical if isinstance(self.link, str) and self.link == "auto" else get_link(self.link)

    def _estimates(self, family: Any) -> bool:
        given = self.dispersion == "auto" and not isinstance(self.family, str)
        return type(family) in ESTIMATED and isinstance(self.dispersion, str) and not given


class PoissonRegressor(_GLM):
    r"""Counts: Poisson family, log link.

    .. math:: \log E[y\mid x] = x^Tb + b_0

    Notes
    -----
    Cost and solvers as for `GeneralizedLinearRegressor`, which it equals with ``family="poisson"``; `alpha` is 1 here,
    as in scikit-learn.

    References
    ----------
    McCullagh, Nelder (1989), Generalized Linear Models, doi:10.1007/978-1-4899-3242-6.

    Examples
    --------
    >>> from didact.linear_model import PoissonRegressor
    >>> PoissonRegressor(alpha=0).fit([[0.0], [0.0]], [2.0, 4.0]).predict([[0.0]]).round(6)
    array([3.])
    """

    alpha: float = param(1.0, at_least(0), "Strength of the penalty.")

    _attrs = [attr("dispersion_", "float", "1: the variance is the mean.")]

    def _model(self) -> tuple[Any, Link | None]:
        return Poisson(), Log()


class GammaRegressor(_GLM):
    r"""Positive numbers with a constant coefficient of variation: gamma family, log link.

    .. math:: \log E[y\mid x] = x^Tb + b_0

    Notes
    -----
    Cost and solvers as for `GeneralizedLinearRegressor`, which it equals with ``family="gamma", link="log"``; `alpha`
    is 1 here, as in scikit-learn.

    References
    ----------
    McCullagh, Nelder (1989), Generalized Linear Models, doi:10.1007/978-1-4899-3242-6.

    Examples
    --------
    >>> from didact.linear_model import GammaRegressor
    >>> GammaRegressor(alpha=0).fit([[0.0], [0.0]], [1.0, 3.0]).predict([[0.0]]).round(6)
    array([2.])
    """

    alpha: float = param(1.0, at_least(0), "Strength of the penalty.")

    _attrs = [
        attr("dispersion_", "float", "Pearson's estimate of φ in var(y) = φμ², as in `GeneralizedLinearRegressor`.")
    ]

    def _model(self) -> tuple[Any, Link | None]:
        return Gamma(), Log()


class TweedieRegressor(_GLM):
    r"""Variance proportional to a power of the mean: normal (0), Poisson (1), gamma (2), inverse Gaussian (3), between.

    .. math:: \mathrm{var}(y) = \phi\mu^{\mathrm{power}}

    Notes
    -----
    Powers between 1 and 2 are compound Poisson–gamma distributions with a mass at zero. Cost and solvers as for
    `GeneralizedLinearRegressor`; `alpha` is 1 here, as in scikit-learn.

    References
    ----------
    Jørgensen (1987), Exponential dispersion models, doi:10.1111/j.2517-6161.1987.tb01685.x.

    Examples
    --------
    >>> from didact.linear_model import TweedieRegressor
    >>> TweedieRegressor(power=1.5, alpha=0).fit([[0.0], [0.0]], [0.0, 3.0]).predict([[0.0]]).round(6)
    array([1.5])
    """

    _test_params = [{}, {"power": 1.5}]

    alpha: float = param(1.0, at_least(0), "Strength of the penalty.")
    power: float = param(
        0.0, between(float("-inf"), float("inf"), "neither"), "Power of the mean in the variance; not between 0 and 1."
    )
    link: str = param("auto", one_of("auto", "identity", "log"), "Link; 'auto': identity for power ≤ 0, else log.")

    _attrs = [
        attr("dispersion_", "float", "Pearson's estimate of φ, as in `GeneralizedLinearRegressor`; 1 for Poisson.")
    ]

    def _model(self) -> tuple[Any, Link | None]:
        identity = self.link == "identity" or (self.link == "auto" and self.power <= 0)
        return Tweedie(self.power), Identity() if identity else Log()
