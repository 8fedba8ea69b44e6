r"""The lasso from cross-products: :math:`\min_u \tfrac12 u^TGu - c^Tu + \lambda_1\|u\|_1 + \tfrac12\lambda_2\|u\|^2`.

Coordinate descent on the Gram matrix costs k² a sweep. Sweeps alternate with leaps: a Newton step on the support, or
Anderson's extrapolation of the last iterates; the duality gap ends them.

Several targets that share their features have a row of coefficients for each feature, and its length in the penalty
where one target has the size of a number, :math:`\lambda_1\sum_j\|u_j\|_2`: the same functions, with `magnitude` and
`direction` for size and sign, and T·k² a sweep.

Bertrand, Massias (2021), Anderson acceleration of coordinate descent, doi:10.48550/arXiv.2011.10065.
"""

import numpy as np
from scipy import linalg

from didact.core.threads import one_blas_thread
from didact.core.typing import Array
from didact.engines.linear.coordinate_descent_loops import descend, descend_blocks, submatrix
from didact.engines.linear.tuning import NEWTON_SWEEPS
from didact.engines.loop.iterate import Report, Standstill
from didact.engines.loop.result import Result
from didact.parts.statistics.moments import Moments

EXTRAPOLATED = 5  # iterates combined by Anderson's extrapolation
NEWTON_DAMPING = 100.0  # of the gap is what the damping of a Newton step may cost at a step as long as the coefficients
ROUNDS_WITHOUT_GAIN = 3  # after which a solver ends: each has made some hundred sweeps, or taken in new columns
STANDSTILL = 4 * float(np.finfo(np.float64).eps)  # of the length of y: a change of the fit that is rounding
SMALLEST = float(np.finfo(np.float64).tiny)


class MomentLassoSolver:
    """The lasso problem from cross-products alone: for many more rows than columns, out of core and on a cluster."""

    def __init__(self, S: Moments, target: int | slice, positive: bool = False):
        self.gram, self.product = S.xx / S.weight, S.xy[:, target] / S.weight
        self.square_y, self.positive = float(np.sum(S.yy[target]) / S.weight), positive

    def strongest(self) -> float:
        """The smallest λ₁ at which all coefficients are zero."""
        return float(np.max(self.product if self.positive else magnitude(self.product), initial=0.0))

    def value_gap(self, b: Array, l1: float, l2: float) -> tuple[float, float]:
        """The objective at b, and its distance to the minimum at most."""
        image = self.gram @ b
        inner_y = self.square_y - float(np.vdot(self.product, b))
        squares = max(inner_y - float(np.vdot(self.product, b)) + float(np.vdot(b, image)), 0.0)
        return duality_gap(b, squares, inner_y, self.product - image, l1, l2, self.positive, self.gram.diagonal())

    def solve(
        self, l1: float, l2: float, start: Array, tol: float, max_rounds: int, report: Report | None = None
    ) -> Result:
        """Coefficients with a duality gap of at most tol · Σ w y²."""
        goal = tol * self.square_y
        b, bound, status, ending = start, 0.3 * goal, "iteration limit", Ending(report)
        H = self.gram if l2 == 0 else self.gram + l2 * np.eye(len(start))
        history: list[float] = []
        for _ in range(max_rounds):
            with one_blas_thread:
                b = solve_gram(H, self.product, l1, l2, b, self.positive, self.square_y, bound, 200)
            value, gap = self.value_gap(b, l1, l2)
            history.append(value)
            if (ended := ending(value, gap, gap <= goal, len(history), b)) is not None:
                status = ended
                break
            bound *= 0.1
        return Result(b, value, len(history), status, gap, history)


class Ending:
    """Why a solver has to end after a round."""

    def __init__(self, report: Report | None):
        self.report, self.standstill = report, Standstill(ROUNDS_WITHOUT_GAIN)

    def __call__(self, value: float, gap: float, within: bool, rounds: int, b: Array) -> str | None:
        """The status; None to go on."""
        stop = self.report is not None and self.report(rounds, value, b)
        if not np.isfinite(value):
            return "not finite"
        stands = self.standstill(value, gap)
        return "converged" if within else "stopped" if stop else "no progress" if stands else None


def unmoved(before: Array, b: Array, curvature: Array, square_y: float) -> bool:
    """Whether what the coefficients add to the fit is as it was but for rounding: then nothing more can be gained."""
    return float(curvature @ magnitude(b - before) ** 2) <= STANDSTILL**2 * square_y


def magnitude(b: Array) -> Array:
    """The size of each coefficient, or the length of each row of coefficients."""
    return np.abs(b) if b.ndim == 1 else np.sqrt(np.einsum("jt,jt->j", b, b))


def direction(b: Array) -> Array:
    """The sign of each coefficient, or each row of coefficients divided by its length."""
    if b.ndim == 1:
        return np.sign(b)
    length = magnitude(b)[:, None]
    return np.divide(b, length, out=np.zeros_like(b), where=length > 0)


def duality_gap(
    b: Array, squares: float, inner_y: float, c: Array, l1: float, l2: float, positive: bool, curvature: Array
) -> tuple[float, float]:
    """The objective at b, and a bound on its distance to the minimum.

    squares is Σ w r², inner_y is Σ w r y, and c holds Σ w x r of the columns, for the residual r. The bound is the
    distance to the dual value of the scaled residual or, by strong convexity, ‖violation‖²/(2 l2), if that is less.
    Without any penalty there is no bound of this kind: then the distance is estimated by what steps along the single
    columns, of squared lengths `curvature`, gain together, which is exact for orthogonal columns and 0 at minima only.
    """
    squares += l2 * float(np.vdot(b, b))
    inner = c - l2 * b
    size = inner if positive else magnitude(inner)
    worst = float(np.max(size, initial=0.0))
    s = 1.0 if worst <= l1 else l1 / worst
    sizes = magnitude(b)
    length = l1 * float(sizes.sum())
    gap = 0.5 * (1.0 + s * s) * squares + length - s * inner_y
    if l2 > 0 or l1 == 0:
        wrong = np.where(sizes != 0, magnitude(inner - l1 * direction(b)), np.maximum(size - l1, 0.0))
        if l2 > 0:
            gap = min(gap, float(wrong @ wrong) / (2.0 * l2))
        else:
            gap = 0.5 * float(wrong @ np.divide(wrong, curvature, out=np.zeros_like(wrong), where=curvature > 0))
    return 0.5 * squares + length, gap


def extrapolate(iterates: list[Array]) -> Array | None:
    """Anderson's combination of iterates: the weights that make the combined step shortest."""
    steps = np.diff(np.stack(iterates), axis=0).reshape(len(iterates) - 1, -1)
    M = steps @ steps.T
    try:
        weights = linalg.solve(M + 1e-12 * np.trace(M) * np.eye(len(M)), np.ones(len(M)), assume_a="pos")
    except (linalg.LinAlgError, ValueError):
        return None
    total = weights.sum()
    if not np.isfinite(total) or total == 0:
        return None
    return np.tensordot(weights / total, np.stack(iterates[1:]), 1)


def solve_gram(
    H: Array,
    c: Array,
    l1: float,
    l2: float,
    u: Array,
    positive: bool,
    square_y: float,
    goal: float,
    max_rounds: int = 200,
) -> Array:
    """Minimise ½uᵀHu − cᵀu + l1‖u‖₁ to a duality gap of `goal`, the target's mean square being square_y.

    H is the Gram matrix with l2 on its diagonal. Sweeps alternate with leaps: a Newton step as soon as the sweeps since
    the last one have cost as much as it will, so that both together cost at most twice the better of the two; else
    Anderson's extrapolation of the last iterates, which is the only leap for rows of coefficients.
    """
    u = np.array(u, order="C")
    q = np.ascontiguousarray(H @ u - c)
    bounds = np.full(len(u), l1)
    curvature = H.diagonal()
    sweeps = 0

    def value_gap() -> tuple[float, float]:
        image = q + c - l2 * u
        inner_y = square_y - float(np.vdot(c, u))
        squares = max(inner_y - float(np.vdot(c, u)) + float(np.vdot(u, image)), 0.0)
        return duality_gap(u, squares, inner_y, c - image, l1, l2, positive, curvature)

    for _ in range(max_rounds):
        iterates = [u.copy()]
        for _ in range(EXTRAPOLATED):
            if u.ndim == 1:
                sweeps += descend(H, u, q, bounds, positive, 0.0, 2)
            else:
                descend_blocks(H, u, q, l1, 2)
            iterates.append(u.copy())
        value, gap = value_gap()
        if gap <= goal or unmoved(iterates[0], u, curvature, square_y):
            break
        if u.ndim == 1 and NEWTON_SWEEPS * sweeps >= np.count_nonzero(u):
            u, sweeps = newton_step(H, q, l1, u, positive, NEWTON_DAMPING * gap / max(float(u @ u), SMALLEST)), 0
            q = H @ u - c
        elif (guess := extrapolate(iterates)) is not None and not (positive and (guess < 0).any()):
            kept = u, q
            u, q = guess, H @ guess - c
            if value_gap()[0] > value:
                u, q = kept
    return u


def newton_step(H: Array, q: Array, l1: float, u: Array, positive: bool, damping: float) -> Array:
    """From u towards the minimum for the present signs, to the lowest point of the objective on that line.

    On the line the objective is quadratic but for a kink of 2·l1·|d| in its slope where a coefficient changes its sign;
    coefficients that must not be negative end the step there. q is the gradient Hu − c of the smooth part; damping is
    added to the diagonal of H, so that directions in which the objective is all but flat do not fill the step.
    """
    support = np.flatnonzero(u)
    here = u[support]
    slope = q[support] + l1 * np.sign(here)
    damped = submatrix(H, support)
    damped.flat[:: len(support) + 1] += damping
    try:
        factor = linalg.cho_factor(damped, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return u
    d = -linalg.cho_solve(factor, slope, check_finite=False)
    start = float(slope @ d)
    curvature = -start - damping * float(d @ d)  # dᵀHd, as (H + damping)d = −slope
    if not (start < 0.0 < curvature < np.inf):
        return u
    crossing = np.flatnonzero(here * d < 0)
    at = -here[crossing] / d[crossing]
    order = np.argsort(at)
    at, crossing = at[order], crossing[order]
    jumps = np.full(len(at), np.inf) if positive else 2.0 * l1 * np.abs(d[crossing])
    after = start + np.cumsum(jumps)
    before = np.concatenate([[start], after])[:-1]
    rising = np.flatnonzero(curvature * at + after >= 0)  # the slope behind each kink
    out = u.copy()
    if not len(rising):
        out[support] = here - (after[-1] if len(at) else start) / curvature * d
        return out
    k = rising[0]
    length = -float(before[k]) / curvature
    out[support] = here + min(length, at[k]) * d
    if length >= at[k]:
        out[support[crossing[k]]] = 0.0
    return out
