r"""Heavy tails around a centre: Student's t.

Fitted by EM: each observation has the weight :math:`u = (\nu+1)/(\nu + (x-m)^2/s^2)`, and ν solves
:math:`\log(\nu/2) - \psi(\nu/2) + 1 + \overline{\log u - u} + \psi\big(\tfrac{\nu+1}2\big) - \log\tfrac{\nu+1}2 = 0`.
"""

from typing import NamedTuple

import numpy as np
from scipy import optimize, special

from didact.core.errors import InputError
from didact.core.typing import AnyArray
from didact.distributions.base import Distribution, Sample, checked, require_positive, require_weight
from didact.parts.statistics.weighted_quantile import weighted_quantile

MAX_DOF = 1e6


class _StudentT(NamedTuple):
    dof: AnyArray
    location: AnyArray
    scale: AnyArray


class StudentT(Distribution, _StudentT):
    r"""Student's t: :math:`p(x) \propto \big(1 + \tfrac{(x-m)^2}{\nu s^2}\big)^{-(\nu+1)/2}`.

    A Gaussian whose variance is drawn from InverseGamma(ν/2, νs²/2): the predictive of a Gaussian with unknown mean and
    variance. Maximum likelihood by EM, for fixed `dof` or all three parameters; no conjugate prior. Cost O(n) an
    iteration.

    References
    ----------
    Liu, Rubin (1995), ML estimation of the t distribution using EM and its extensions, ECM and ECME.

    Examples
    --------
    >>> from didact.distributions import StudentT
    >>> float(StudentT(4.0, 1.0, 2.0).variance)
    8.0
    """

    __slots__ = ()

    def __new__(cls, dof: AnyArray, location: AnyArray, scale: AnyArray) -> "StudentT":
        require_positive(dof=dof, scale=scale)
        return super().__new__(cls, dof, location, scale)

    def log_prob(self, x: AnyArray) -> AnyArray:
        v, m, s = (np.asarray(p, np.float64) for p in self)
        z = (np.asarray(x, np.float64) - m) / s
        constant = special.gammaln((v + 1) / 2) - special.gammaln(v / 2) - 0.5 * np.log(v * np.pi) - np.log(s)
        return constant - (v + 1) / 2 * np.log1p(z * z / v)

    def _draw(self, rng: np.random.Generator, size: tuple[int, ...]) -> AnyArray:
        shape = size + np.broadcast_shapes(*(np.shape(p) for p in self))
        return self.location + self.scale * rng.standard_t(self.dof, shape)

    @property
    def mean(self) -> AnyArray:
        """The location; undefined (NaN) for ν ≤ 1."""
        return np.where(np.asarray(self.dof) > 1, self.location, np.nan)

    @property
    def variance(self) -> AnyArray:
        """s² ν/(ν−2); infinite for 1 < ν ≤ 2, undefined below."""
        v, _, s = (np.asarray(p, np.float64) for p in self)
        return np.where(v > 2, s**2 * v / np.where(v > 2, v - 2, 1.0), np.where(v > 1, np.inf, np.nan))

    @property
    def mode(self) -> AnyArray:
        return self.location

    def entropy(self) -> AnyArray:
        v, m, s = (np.asarray(p, np.float64) for p in self)
        half = (v + 1) / 2
        return (
            half * (special.digamma(half) - special.digamma(v / 2))
            + np.log(np.sqrt(v) * s)
            + special.betaln(v / 2, 0.5)
            + np.zeros(m.shape)
        )

    @classmethod
    def stats(cls, x: AnyArray, w: AnyArray = None) -> Sample:
        return Sample(*checked(x, w, "StudentT"))

    @classmethod
    def from_stats(cls, stats: Sample, dof: float | None = None) -> "StudentT":
        """Maximum likelihood by EM; `dof` may be known. Several columns are fitted one by one."""
        require_weight(stats.weight)
        x = stats.x.reshape(len(stats.x), -1)
        fits = np.array([_fit_student(column, stats.w, dof) for column in x.T])
        return cls(*(fits[:, k].reshape(stats.x.shape[1:]) for k in range(3)))


def _fit_student(x: AnyArray, w: AnyArray, dof: float | None) -> tuple[float, float, float]:
    x, w = x[w > 0], w[w > 0] / w.sum()
    m = weighted_quantile(x, w, 0.5)
    s = float(np.sqrt(w @ (x - m) ** 2))
    if not s > 0:
        raise InputError("All observations are the same: the likelihood grows without end as the scale shrinks.")
    v = 5.0 if dof is None else float(dof)
    for _ in range(5000):
        last = np.array([v, m, s])
        u = (v + 1) / (v + ((x - m) / s) ** 2)
        m = float((w * u) @ x / (w @ u))
        s = float(np.sqrt((w * u) @ (x - m) ** 2))
        if not s > 0:
            raise InputError(
                "Too many observations are the same: the likelihood grows without end as the scale shrinks."
            )
        if dof is None:
            v = _best_dof(((x - m) / s) ** 2, w)
        if (np.abs(last - [v, m, s]) <= 1e-12 * np.array([v, s, s])).all():
            break
    return v, m, s


def _best_dof(squares: AnyArray, w: AnyArray) -> float:
    """The degrees of freedom of greatest likelihood for given standardised squares (ECME)."""

    def slope(v: float) -> float:
        u = (v + 1) / (v + squares)
        half = (v + 1) / 2
        return float(
            special.digamma(half) - special.digamma(v / 2) + np.log(v) - np.log(v + 1) + 1 + w @ (np.log(u) - u)
        )

    if slope(MAX_DOF) > 0:
        return MAX_DOF
    low = 1e-2
    return low if slope(low) < 0 else float(optimize.brentq(slope, low, MAX_DOF, xtol=1e-10, rtol=1e-13))
