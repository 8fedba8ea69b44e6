r"""Nonlinear least squares: minimise :math:`\tfrac12\|r(x)\|^2` by Levenberg–Marquardt or Gauss–Newton steps.

With the Jacobian J of the residuals, the Gauss–Newton step solves :math:`\min_p \|r + Jp\|`; Levenberg–Marquardt solves
it within a trust region :math:`\|Dp\| \le \Delta`, which is the same as

.. math:: p(\lambda) = -(J^TJ + \lambda D^2)^{-1} J^T r

for one damping λ ≥ 0: Gauss–Newton as λ → 0, the (scaled) gradient direction as λ → ∞. D holds the largest length so
far of each column of J, so that units do not matter. The region grows when the linear model predicts the decrease of
the sum well, and shrinks when it does not. Parameters at a bound that the gradient pushes against are fixed for a step;
the others are clipped to their bounds.

The rows enter only through the triangular factor R of [J r], which merges over blocks of rows: an iteration costs one
pass of 2 m n² operations, and each trial step a sum of squares and n³. It ends when the part of r that J can explain is
within the tolerance, relative to r, or when the predicted decrease is below the rounding error of the sum.

Moré (1978), The Levenberg–Marquardt algorithm: implementation and theory, doi:10.1007/BFb0067700;
Bates, Watts (1981), A relative offset orthogonality convergence criterion, doi:10.1080/00401706.1981.10486253.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from didact.core.typing import Array
from didact.engines.loop.iterate import Keep, Report, iterate
from didact.engines.loop.line_search import NOISE
from didact.engines.loop.result import Result

SUFFICIENT_SHARE = 1e-4  # share of the predicted decrease that a step has to reach
DAMPING_TRIALS = 60
DEPENDENT_DIRECTION = 1e-14  # singular value of the scaled Jacobian, relative to the largest, that counts as zero
EXACT_RESIDUAL = 1e-7  # residuals below this share of the fit are rounding, and count as that large


class LinearModel(NamedTuple):
    """Singular values of J/D, and the residuals in the basis of singular vectors: a step for any damping costs n²."""

    s: Array
    Vt: Array
    c: Array
    scale: Array

    def step(self, damping: float) -> Array:
        """−(JᵀJ + λD²)⁻¹Jᵀr; for λ = 0 the Gauss–Newton step, of least scaled length if J is deficient."""
        return -(self.Vt.T @ (self.s * self.c / (self.s**2 + damping))) / self.scale

    def damping(self, radius: float) -> float:
        """The λ for which the scaled step is about as long as the radius; 0 if the Gauss–Newton step is no longer."""
        if linalg.norm(self.c / self.s) <= 1.1 * radius:
            return 0.0
        damping = 0.0
        for _ in range(50):  # Newton on 1/‖q(λ)‖ − 1/Δ, which is nearly linear in λ
            below = self.s**2 + damping
            q = self.s * self.c / below
            length = float(linalg.norm(q))
            if abs(length - radius) <= 0.1 * radius:
                break
            bend = float(np.sum(q * q / below))
            if not (bend > 0.0 and radius > 0.0):  # beyond the smallest numbers
                break
            damping = max(damping + (length / radius - 1.0) * length**2 / bend, 0.0)
        return damping


def linear_model(J: Array, r: Array, scale: Array, dependent: float = DEPENDENT_DIRECTION) -> LinearModel:
    """The singular values of J/scale and the residuals' components along its left singular vectors."""
    if not J.shape[1]:
        return LinearModel(np.ones(0), np.empty((0, 0)), np.zeros(0), scale)
    U, s, Vt = linalg.svd(J / scale, full_matrices=False, check_finite=False)
    keep = s > dependent * max(s[0], np.finfo(float).tiny)
    return LinearModel(s[keep], Vt[keep], U.T[keep] @ r, scale)


class LeastSquaresState(NamedTuple):
    """A point with the linear model of the residuals there."""

    x: Array
    value: float
    R: Array  # triangular factor of [J r]
    scale: Array
    free: Array  # which parameters are not held at a bound
    model: LinearModel  # in the free parameters
    size: float  # ‖D·x‖, about the size of the fitted values
    radius: float

    @property
    def gradient(self) -> Array:
        """Jᵀr."""
        return np.asarray(self.R[:, :-1].T @ self.R[:, -1])

    @property
    def optimality(self) -> float:
        """Length of the residuals' projection on the columns of J, relative to their own: 0 at a solution."""
        size = math.sqrt(2.0 * self.value) + EXACT_RESIDUAL * self.size
        return float(linalg.norm(self.model.c)) / size if size > 0 else 0.0

    @property
    def noise(self) -> float:
        """Rounding error of the value: residuals are differences of numbers of about the size of D·x."""
        length = math.sqrt(2.0 * self.value)
        return NOISE * length * (length + self.size)


class Bounds(NamedTuple):
    """Lower and upper limits of the parameters."""

    lower: Array
    upper: Array

    def free(self, x: Array, gradient: Array) -> Array:
        """The parameters that no bound holds against the gradient."""
        return np.asarray(~(((x <= self.lower) & (gradient > 0)) | ((x >= self.upper) & (gradient < 0))))


def levenberg_marquardt(
    half_sum: Callable[[Array], float],
    factor: Callable[[Array], Array],
    x0: Array,
    tol: float,
    max_iter: int,
    report: Report | None = None,
    keep: Keep = None,
    bounds: tuple[Any, Any] = (-math.inf, math.inf),
    damped: bool = True,
    radius: float = 1.0,
    dependent: float = DEPENDENT_DIRECTION,
) -> Result:
    """Minimise half_sum(x) = ½‖r(x)‖²; factor(x) is the triangular factor of [J(x) r(x)].

    The first trust region is `radius` times the scaled length of x0. Without damping the steps are Gauss–Newton's,
    halved until the sum falls. `dependent` is the relative error of J: smaller singular values count as zero.
    """
    box = Bounds(*(np.broadcast_to(np.asarray(b, np.float64), x0.shape) for b in bounds))
    settled = False

    def state(x: Array, value: float, old: LeastSquaresState | None, radius: float) -> LeastSquaresState:
        R = factor(x)
        lengths = np.sqrt((R[:, :-1] ** 2).sum(axis=0))
        scale = lengths if old is None else np.maximum(old.scale, lengths)
        scale = np.where(scale > 0, scale, 1.0)
        free = box.free(x, R[:, :-1].T @ R[:, -1])
        model = linear_model(R[:, :-1][:, free], R[:, -1], scale[free], dependent)
        return LeastSquaresState(
            x=x,
            value=value,
            R=R,
            scale=scale,
            free=free,
            model=model,
            size=float(linalg.norm(scale * x)),
            radius=radius,
        )

    def step(s: LeastSquaresState) -> LeastSquaresState | None:
        nonlocal settled
        radius = s.radius
        for k in range(DAMPING_TRIALS):
            damping = s.model.damping(radius) if damped else 0.0
            x = s.x.copy()
            x[s.free] += s.model.step(damping) * (1.0 if damped else 0.5**k)
            x = np.clip(x, *box)
            image = s.R[:, :-1] @ (x - s.x)
            predicted = -float(s.R[:, -1] @ image) - 0.5 * float(image @ image)
            value = half_sum(x)
            actual = s.value - value
            ratio = actual / predicted if predicted > 0 and math.isfinite(value) else -1.0
            radius = new_radius(radius, float(linalg.norm(s.scale * (x - s.x))), ratio)
            if ratio >= SUFFICIENT_SHARE:
                return state(x, value, s, radius)
            # Decreases below rounding say nothing: such a step is accepted only if the optimality improves.
            if abs(actual) <= s.noise and predicted <= s.noise:
                new = state(x, value, s, radius)
                settled = s.optimality <= math.sqrt(tol)
                return new if new.optimality < s.optimality else None
        return None

    start = state(x0, half_sum(x0), None, 1.0)
    result = iterate(start._replace(radius=radius * (start.size or 1.0)), step, tol, max_iter, report, keep)
    if result.status == "no progress" and settled:
        result.status = "converged"
    return result


def new_radius(radius: float, length: float, ratio: float) -> float:
    """A quarter of the step's length after a bad prediction, twice its length after a good one."""
    if ratio < 0.25:
        return 0.25 * min(radius, length)
    return max(2.0 * length, radius) if ratio > 0.75 else radius
