r"""The Karush–Kuhn–Tucker conditions of min f(x) subject to h(x) = 0, g(x) ≤ 0, l ≤ x ≤ u.

With the Lagrangian :math:`L = f + \lambda^T h + \mu^T g + \mu_l^T(l - x) + \mu_u^T(x - u)` a solution satisfies

* stationarity :math:`\nabla f + J_h^T\lambda + J_g^T\mu - \mu_l + \mu_u = 0`,
* primal feasibility h = 0, g ≤ 0, l ≤ x ≤ u, and dual feasibility μ ≥ 0,
* complementarity :math:`\mu_i g_i = 0`: a multiplier is positive only where its constraint binds.

They are sufficient in convex problems, where the best dual value d* ≤ p* then equals the primal value p*.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.typing import Array
from didact.engines.loop.line_search import largest


class Multipliers(NamedTuple):
    """One multiplier for each constraint; those of inequalities and bounds are ≥ 0, and 0 where there is no bound.

    >>> from didact.optimize import linear_program
    >>> linear_program([1.0, 2.0], A_eq=[[1.0, 1.0]], b_eq=[3.0], lower=0).multipliers.equalities.tolist()
    [-1.0]
    """

    equalities: Array
    inequalities: Array
    lower: Array
    upper: Array


class KKTResidual(NamedTuple):
    """Residuals of the four conditions at a point with its multipliers: largest absolute entries, 0 at a solution.

    >>> from didact.optimize import KKTResidual
    >>> found = KKTResidual(stationarity=1e-9, primal_feasibility=0.0, dual_feasibility=0.0, complementarity=2e-9)
    >>> found.largest, found.satisfied(1e-8)
    (2e-09, True)
    """

    stationarity: float
    primal_feasibility: float
    dual_feasibility: float
    complementarity: float

    @property
    def largest(self) -> float:
        """The largest of the four."""
        return max(self)

    def satisfied(self, tol: float) -> bool:
        """Whether all four conditions hold within tol."""
        return self.largest <= tol


def residual(
    x: Array,
    gradient: Array,
    multipliers: Multipliers,
    equalities: tuple[Array, Any],
    inequalities: tuple[Array, Any],
    lower: Array,
    upper: Array,
) -> KKTResidual:
    """The four residuals; equalities and inequalities are pairs of values at x and their Jacobian (dense or sparse)."""
    (h, J_h), (g, J_g) = equalities, inequalities
    below, above = np.isfinite(lower), np.isfinite(upper)
    rows = np.concatenate([g, (lower - x)[below], (x - upper)[above]])
    mu = np.concatenate([multipliers.inequalities, multipliers.lower[below], multipliers.upper[above]])
    lagrangian = gradient + J_h.T @ multipliers.equalities + J_g.T @ multipliers.inequalities
    return KKTResidual(
        stationarity=largest(lagrangian - multipliers.lower + multipliers.upper),
        primal_feasibility=max(largest(h), float(np.max(rows, initial=0.0))),
        dual_feasibility=float(np.max(-mu, initial=0.0)),
        complementarity=largest(mu[mu != 0] * rows[mu != 0]),  # 0 where a row has no bound
    )
