r"""Linear programming: minimise :math:`c^Tx` under linear constraints."""

from typing import Any

import numpy as np
from scipy import optimize

from didact.core.errors import ParameterError
from didact.core.parameters import whole
from didact.core.validation.entrance import entrance
from didact.engines.constrained.feasibility import least_violation
from didact.engines.constrained.kkt import Multipliers, residual
from didact.engines.loop.result import Result
from didact.optimize.linear_constraints import LinearConstraints, linear_constraints, vector

OPTIMAL, LIMIT, INFEASIBLE, UNBOUNDED, OTHER = range(5)  # SciPy's codes
VIOLATED, DOWN = 1e-7, 1e-6  # relative violation above which a program is infeasible, slope above which unbounded
FINEST, COARSEST = 1e-10, 1e-3  # the tolerances that HiGHS takes


@entrance(max_iter=whole(0))
def linear_program(
    c: Any,
    A_eq: Any = None,
    b_eq: Any = None,
    G: Any = None,
    h: Any = None,
    lower: Any = None,
    upper: Any = None,
    tol: float = 1e-9,
    max_iter: int = 1_000_000,
) -> Result:
    r"""Minimise a linear function under linear equalities, inequalities and bounds.

    .. math:: \min_x c^Tx \quad\text{such that}\quad A_{eq}x = b_{eq},\; Gx \le h,\; l \le x \le u.

    Parameters
    ----------
    c : array of shape (n,)
        The objective.
    A_eq, b_eq : arrays of shapes (p, n) and (p,), optional
        Equality constraints; the matrix may be sparse.
    G, h : arrays of shapes (m, n) and (m,), optional
        Inequality constraints; the matrix may be sparse.
    lower, upper : arrays of shape (n,) or numbers, optional
        Bounds; None and infinite entries are no bounds (SciPy's `linprog` takes x ≥ 0 by default).
    tol : float
        The primal and dual feasibility tolerance of HiGHS: 1e-10 to 1e-3.
    max_iter : int
        The largest number of simplex iterations.

    Returns
    -------
    Result
        With `x`, `value`, `status` ("converged", "infeasible", "unbounded", "iteration limit", "no progress"),
        `optimality` (the largest KKT residual) and `multipliers`: a tuple of `equalities`, `inequalities`, `lower` and
        `upper`, with :math:`c + A_{eq}^T\lambda + G^T\mu - \mu_l + \mu_u = 0` and all μ ≥ 0, so that the value is
        :math:`-b_{eq}^T\lambda - h^T\mu + l^T\mu_l - u^T\mu_u` (strong duality). Where there is no solution x is NaN,
        and the value ∞ (infeasible) or −∞ (unbounded).

    Notes
    -----
    The solver is HiGHS (presolve and dual simplex), in SciPy. The number of pivots is usually a small multiple of the
    number of constraints, though exponential in the worst case.

    References
    ----------
    Huangfu, Hall (2018), Parallelizing the dual revised simplex method, doi:10.1007/s12532-017-0130-5.

    Examples
    --------
    Sell x and y at 3 and 2 a piece; a piece takes 2 and 1 hours of 100, and 1 and 1 kg of 80:

    >>> from didact.optimize import linear_program
    >>> found = linear_program([-3, -2], G=[[2, 1], [1, 1]], h=[100, 80], lower=0)
    >>> found.x.tolist(), found.value, (found.multipliers.inequalities + 0).tolist()
    ([20.0, 60.0], -180.0, [1.0, 1.0])
    """
    if not FINEST <= tol <= COARSEST:
        raise ParameterError(f"tol must be between {FINEST:g} and {COARSEST:g}; it is {tol!r}.")
    c = vector(c, "c")
    constraints = linear_constraints(len(c), A_eq, b_eq, G, h, lower, upper, keep_sparse=True)
    if (constraints.lower > constraints.upper).any():
        return _without_solution(constraints, INFEASIBLE, 0)
    options = {"primal_feasibility_tolerance": tol, "dual_feasibility_tolerance": tol, "maxiter": max_iter}
    found = _highs(c, constraints, options)
    status = found.status
    if status == OTHER:  # presolve may not tell infeasible from unbounded
        status = _which(c, constraints, options)
    if found.x is None or status in (INFEASIBLE, UNBOUNDED):
        return _without_solution(constraints, status, found.nit)
    return _solution(c, constraints, found, status)


def _highs(c: Any, k: LinearConstraints, options: dict[str, Any]) -> Any:
    kept = np.isfinite(k.h)
    limits = np.column_stack([k.lower, k.upper])
    return optimize.linprog(c, k.G[kept], k.h[kept], k.A, k.b, limits, method="highs", options=options)


def _which(c: Any, k: LinearConstraints, options: dict[str, Any]) -> int:
    """The code for infeasible, unbounded, or a numerical difficulty."""
    kept = np.isfinite(k.h)
    size = 1.0 + np.max(np.abs(np.concatenate([k.h[kept], k.b])), initial=0.0)
    if least_violation(k.G[kept], k.h[kept], k.A, k.b, k.lower, k.upper) > VIOLATED * size:
        return INFEASIBLE
    lower, upper = np.where(np.isfinite(k.lower), 0.0, -1.0), np.where(np.isfinite(k.upper), 0.0, 1.0)
    cone = LinearConstraints(A=k.A, b=0.0 * k.b, G=k.G[kept], h=np.zeros(kept.sum()), lower=lower, upper=upper)
    ray = _highs(c, cone, options)
    return UNBOUNDED if ray.status == OPTIMAL and ray.fun < -DOWN * np.abs(c).max() else OTHER


def _solution(c: Any, k: LinearConstraints, found: Any, status: int) -> Result:
    """The result from SciPy's, whose marginals are derivatives by the right-hand sides: minus the multipliers."""
    mu = np.zeros(len(k.h))
    mu[np.isfinite(k.h)] = np.maximum(-found.ineqlin.marginals, 0.0)
    lower, upper = np.maximum(found.lower.marginals, 0.0), np.maximum(-found.upper.marginals, 0.0)
    multipliers = Multipliers(-found.eqlin.marginals, mu, lower, upper)
    pairs = (k.A @ found.x - k.b, k.A), (k.G @ found.x - k.h, k.G)
    optimality = residual(found.x, c, multipliers, *pairs, k.lower, k.upper).largest
    name = {OPTIMAL: "converged", LIMIT: "iteration limit"}.get(status, "no progress")
    return Result(found.x, float(found.fun), int(found.nit), name, optimality, [], multipliers)


def _without_solution(k: LinearConstraints, status: int, n_iter: int) -> Result:
    names = {INFEASIBLE: "infeasible", UNBOUNDED: "unbounded", LIMIT: "iteration limit"}
    value = {INFEASIBLE: np.inf, UNBOUNDED: -np.inf}.get(status, np.nan)
    nothing = Multipliers(*(np.full(len(v), np.nan) for v in (k.b, k.h, k.lower, k.upper)))
    return Result(nothing.lower.copy(), value, n_iter, names.get(status, "no progress"), np.inf, [], nothing)
