r"""Newton's method with damping (for likelihoods: Fisher scoring, iteratively reweighted least squares).

Each step solves :math:`Hd = -g` (for the d of least norm if H is singular) and halves d until the decrease is
sufficient. One evaluation gives value, gradient and curvature together, so an accepted step costs one pass over the
data. Convergence is quadratic near a solution.

Nocedal, Wright (2006), Numerical Optimization, chapter 3, doi:10.1007/978-0-387-40065-5.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from didact.core.threads import blas_for
from didact.core.typing import Array
from didact.engines.loop.iterate import Keep, Report, iterate
from didact.engines.loop.line_search import DECREASE, NOISE, Armijo, LineSearch
from didact.engines.loop.result import Result

Objective = Callable[[Array], tuple[float, Array, Array]]

SUFFICIENT_DECREASE = DECREASE  # share of the predicted decrease that a step has to reach
STEP_HALVINGS = 30
SINGULAR_CURVATURE = 1e-11  # reciprocal condition below which a curvature matrix counts as singular


class NewtonState(NamedTuple):
    """A point with the local quadratic model of the objective."""

    x: Array
    value: float
    gradient: Array
    hessian: Any = None

    @property
    def optimality(self) -> float:
        """Largest entry of the gradient."""
        return float(np.max(np.abs(self.gradient), initial=0.0))


def newton(
    objective: Callable[[Array], tuple[Any, ...]],
    x0: Array,
    tol: float,
    max_iter: int,
    report: Report | None = None,
    noise: float = NOISE,
    search: LineSearch = Armijo(SUFFICIENT_DECREASE, 0.5, STEP_HALVINGS),  # noqa: B008 - an immutable tuple of constants
    hessian: Callable[[Array], Array] | None = None,
    keep: Keep = None,
) -> Result:
    """Minimise objective(x) -> (value, gradient, hessian) from x0; noise is the objective's relative rounding error.

    Where a Hessian costs much more than a gradient, pass it as a function of its own: it is then evaluated at accepted
    points only, and the objective returns value and gradient.
    """

    def step(s: NewtonState) -> NewtonState | None:
        direction = newton_direction(s.hessian if hessian is None else hessian(s.x), s.gradient)
        if not np.isfinite(direction).all():
            return s._replace(value=math.nan)  # the curvature has overflowed: "not finite"
        found = search(objective, s, direction, 1.0, noise)
        return None if found is None else NewtonState(*found.point)

    return iterate(NewtonState(x0, *objective(x0)), step, tol, max_iter, report, keep)


def newton_direction(hessian: Array, gradient: Array) -> Array:
    """−H⁻¹g by Cholesky; where H is singular in working precision, the step of least norm.

    Along directions of negative curvature its absolute value is used, so that the step descends. NaN if H or g are
    not finite: LAPACK must not see these, as its eigenvalue iterations may never end.
    """
    scale = np.sqrt(np.abs(np.diag(hessian)))
    scale[scale == 0] = 1.0
    with np.errstate(all="ignore"):
        scaled = hessian / scale[:, None] / scale
    if not (np.isfinite(scaled).all() and np.isfinite(gradient).all()):
        return np.full_like(gradient, np.nan)
    with blas_for(len(scale)):
        factor, failed = linalg.lapack.dpotrf(scaled, lower=1, clean=0)
        if not failed:
            reciprocal, _ = linalg.lapack.dpocon(factor, np.abs(scaled).sum(axis=0).max(), uplo="L")
            if reciprocal > SINGULAR_CURVATURE:
                solution, _ = linalg.lapack.dpotrs(factor, -gradient / scale, lower=1)
                return solution / scale
        values, V = linalg.eigh(scaled, check_finite=False)
        size = np.abs(values)
        keep = size > SINGULAR_CURVATURE * max(size.max(), np.finfo(float).tiny)
        solution = -((V[:, keep] / size[keep]) @ (V[:, keep].T @ (gradient / scale))) / scale
        # Of least norm in the given units, too: the scaled null space is projected out.
        null = np.linalg.qr(V[:, ~keep] / scale[:, None])[0]
        return solution - null @ (null.T @ solution)
