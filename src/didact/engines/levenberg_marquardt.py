r"""Nonlinear least squares: minimise :math:`\tfrac12\|r(x)\|^2` by Levenberg–Marquardt or Gauss–Newton steps.

With the Jacobian J of the residuals, the Gauss–Newton step solves :math:`\min_p \|r + Jp\|`; Levenberg–Marquardt solves
it within a trust region :math:`\|Dp\| \le \Delta`, which is the same as

.. math:: p(\lambda) = -(J^TJ + \lambda D^2)^{-1} J^T r

for one damping λ ≥ 0: Gauss–Newton as λ → 0, the (scaled) gradient direction as λ → ∞. D holds the largest length so
far of each column of J, so that units do not matter. The region grows when the linear model predicts well the fall of
the sum, and shrinks when it does not.

All that is needed of the rows is the triangular factor R of [J r], which merges over blocks of rows: an iteration
costs a pass of 2 m n² operations, and each trial step a sum of squares and n³.

Moré (1978), The Levenberg–Marquardt algorithm: implementation and theory, doi:10.1007/BFb0067700;
Nocedal, Wright (2006), Numerical Optimization, chapter 10, doi:10.1007/978-0-387-40065-5.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from didact.engines.line_search import ROUNDING
from didact.engines.loop import Keep, Report, iterate
from didact.engines.result import Result

Array = np.ndarray[Any, Any]

ENOUGH = 1e-4  # share of the predicted fall of the sum that a step has to reach
TRIALS = 60
DEPENDENT = 1e-14  # singular value of the scaled Jacobian, relative to the largest, that counts as zero
EXACT = 1e-7  # residuals of this share of the fit's size are taken for at least that: below, rounding rules


class LeastSquaresState(NamedTuple):
    """A point with the linear model of the residuals there."""

    x: Array
    value: float
    R: Array  # triangular factor of [J r]
    scale: Array
    radius: float
    lower: Array
    upper: Array

    @property
    def gradient(self) -> Array:
        """Jᵀr."""
        return self.R[:, :-1].T @ self.R[:, -1]

    @property
    def free(self) -> Array:
        """Which parameters are not held by a bound."""
        g = self.gradient
        return ~(((self.x <= self.lower) & (g > 0)) | ((self.x >= self.upper) & (g < 0)))

    @property
    def noise(self) -> float:
        """Rounding error of the value: residuals are differences of numbers of about the size of D·x."""
        length = math.sqrt(2.0 * self.value)
        return ROUNDING * length * (length + float(linalg.norm(self.scale * self.x)))

    @property
    def optimality(self) -> float:
        """Length of the residuals' projection on the columns of J, relative to their own: 0 at a solution."""
        J, r = self.R[:, :-1][:, self.free], self.R[:, -1]
        model = linear_model(J, r, self.scale[self.free])
        size = math.sqrt(r @ r) + EXACT * float(linalg.norm(self.scale * self.x))
        return float(linalg.norm(model.c)) / size if size > 0 else 0.0


class LinearModel(NamedTuple):
    """Singular values of J/D with the residuals in their basis: steps for any damping cost n²."""

    s: Array
    Vt: Array
    c: Array
    scale: Array

    def step(self, damping: float) -> Array:
        """−(JᵀJ + λD²)⁻¹Jᵀr; for λ = 0 the Gauss–Newton step, of least scaled length if J is deficient."""
        return -(self.Vt.T @ (self.s * self.c / (self.s**2 + damping))) / self.scale

    def damping(self, radius: float) -> float:
        """The λ for which the scaled step has the length of the radius; 0 if Gauss–Newton's is shorter."""
        if linalg.norm(self.c / self.s) <= 1.1 * radius:
            return 0.0
        damping = 0.0
        for _ in range(50):  # Newton on 1/‖q(λ)‖ − 1/Δ, which is nearly linear in λ
            below = self.s**2 + damping
            q = self.s * self.c / below
            length = float(linalg.norm(q))
            if damping > 0 and abs(length - radius) <= 0.1 * radius:
                break
            damping = max(damping + (length / radius - 1.0) * length**2 / float(np.sum(q * q / below)), 0.0)
        return damping


def linear_model(J: Array, r: Array, scale: Array) -> LinearModel:
    """The singular values of J/scale and the residuals' components along its left singular vectors."""
    if not J.shape[1]:
        return LinearModel(np.ones(0), np.empty((0, 0)), np.zeros(0), scale)
    U, s, Vt = linalg.svd(J / scale, full_matrices=False, check_finite=False)
    keep = s > DEPENDENT * max(s[0], np.finfo(float).tiny)
    return LinearModel(s[keep], Vt[keep], U.T[keep] @ r, scale)


def levenberg_marquardt(
    half_sum: Callable[[Array], float],
    factor: Callable[[Array], Array],
    x0: Array,
    tol: float,
    max_iter: int,
    report: Report | None = None,
    keep: Keep = None,
    bounds: tuple[Any, Any] = (-math.inf, math.inf),
    radius: float = 100.0,
) -> Result:
    """Minimise half_sum(x) = ½‖r(x)‖²; factor(x) is the triangular factor of [J(x) r(x)].

    The first trust region is `radius` times the scaled length of x0.
    """
    lower, upper = (np.broadcast_to(np.asarray(b, np.float64), x0.shape) for b in bounds)

    def state(x: Array, value: float, old: LeastSquaresState | None, radius: float) -> LeastSquaresState:
        R = factor(x)
        lengths = np.sqrt((R[:, :-1] ** 2).sum(axis=0))
        scale = lengths if old is None else np.maximum(old.scale, lengths)
        return LeastSquaresState(x, value, R, np.where(scale > 0, scale, 1.0), radius, lower, upper)

    def step(s: LeastSquaresState) -> LeastSquaresState | None:
        free, radius = s.free, s.radius
        J, r = s.R[:, :-1][:, free], s.R[:, -1]
        model = linear_model(J, r, s.scale[free])
        for _ in range(TRIALS):
            x = s.x.copy()
            damping = model.damping(radius)
            x[free] = np.clip(x[free] + model.step(damping), lower[free], upper[free])
            moved = x - s.x
            image = J @ moved[free]
            predicted = -float(r @ image) - 0.5 * float(image @ image)
            value = half_sum(x)
            actual = s.value - value
            ratio = actual / predicted if predicted > 0 and math.isfinite(value) else -1.0
            length = float(linalg.norm(s.scale * moved))
            radius = _new_radius(radius, length, ratio, damping, actual, predicted)
            if ratio >= ENOUGH:
                return state(x, value, s, radius)
            if abs(actual) <= s.noise and predicted <= s.noise:
                new = state(x, value, s, radius)
                return new if new.optimality < s.optimality else None
        return None

    start = state(x0, half_sum(x0), None, 1.0)
    size = float(linalg.norm(start.scale * x0))
    return iterate(start._replace(radius=radius * (size or 1.0)), step, tol, max_iter, report, keep)


def _new_radius(
    radius: float, length: float, ratio: float, damping: float, actual: float, predicted: float
) -> float:
    """Half or less after a bad prediction (the minimiser of the parabola through what is known), twice after a good."""
    if ratio < 0.25:
        return 0.25 * min(radius, length)
    if ratio > 0.75 or damping == 0:
        return max(2.0 * length, radius) if ratio > 0.75 else radius
    return radius
