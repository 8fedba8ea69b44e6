r"""Convex quadratic programs: an interior point finds the binding constraints, an active set gives the exact solution.

For min ½xᵀPx + qᵀx subject to Ax = b, Rx + s = r, s ≥ 0 with multipliers y and z ≥ 0, Mehrotra's predictor–corrector
takes Newton steps on the KKT conditions with :math:`s_iz_i = \sigma\mu`. Eliminating s and z leaves

.. math:: (P + R^TDR)\,dx + A^Tdy = \ldots, \quad A\,dx = \ldots, \qquad D = \mathrm{diag}(z_i/s_i):

mn²/2 + n³/6 multiply–adds an iteration, in single precision as long as that is precise enough. When the set of rows with
large z_i/s_i settles, the active-set method tries to finish from it; it usually does half-way, and to rounding.

Mehrotra (1992), On the implementation of a primal–dual interior point method, doi:10.1137/0802028;
El-Bakry, Tapia, Zhang (1994), A study of indicators for identifying zero variables, doi:10.1137/1036005.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from didact.engines.active_set import Measure, measure, solve_active
from didact.engines.kkt import Multipliers, largest
from didact.engines.loop import Report, iterate
from didact.engines.quadratic_form import Program, Standard, standard
from didact.engines.result import Result
from didact.engines.saddle import cholesky, saddle

Array = np.ndarray[Any, Any]

SINGLE_FROM = 1e6  # multiply–adds of an iteration from which single precision pays
DRIFT = 1e-2  # how much worse than predicted the dual residual may get before single precision is given up
BACK = 0.99  # how much of the way to the boundary a step may go
SETTLED = 0.25  # how much of the guessed active set may have changed for the active-set method to be tried
PATIENCE = 12  # iterations without a better point after which the constraints are looked at
SINGULAR = 1e-10


class _State(NamedTuple):
    """An interior point: s > 0 and z > 0 (or, at the end, the exact solution)."""

    x: Array
    y: Array
    s: Array
    z: Array
    at: Measure
    active: Array
    single: bool
    best: float = np.inf
    waited: int = 0

    @property
    def value(self) -> float:
        return self.at.value

    @property
    def optimality(self) -> float:
        return self.at.optimality


def solve_quadratic(
    program: Program, tol: float, max_iter: int, x0: Array | None = None, report: Report | None = None
) -> Result:
    """Minimise a convex quadratic under linear constraints; the rows that bind at x0 are tried first."""
    p = standard(program)
    if p is None:
        return _without_solution(program, "infeasible")
    L = _strict_factor(p.P)
    x, y, z = _first_guess(p, L, x0)
    found = solve_active(p, L, x, y, z, tol)
    if found is not None:
        x, y, z, at = found
        return _finish(program, p, Result(x, at.value, 0, "converged", at.optimality, [at.value]), y, z)
    last: list[_State] = []

    def step(state: _State) -> _State | None:
        new = _step(p, L, state, tol)
        last[:] = [state if new is None else new]
        return new

    start = _start(p, L)
    result = iterate(start, step, tol, max_iter if len(p.r) else 0, report)
    if not result.converged and result.status != "stopped":
        status = _diagnose(program, L)
        if status is not None:
            return _without_solution(program, status, result)
    end = last[0] if last else start
    return _finish(program, p, result, end.y, end.z)


def _strict_factor(P: Array) -> Array | None:
    """The lower Cholesky factor of P, or None where P is singular in working precision."""
    L = cholesky(np.array(P, order="F"), shifted=False)
    if L is None or not len(P):
        return L
    pivots = np.diag(L)
    return L if (pivots**2 > SINGULAR * np.diag(P)).all() else None


def _first_guess(p: Standard, L: Array | None, x0: Array | None) -> tuple[Array, Array, Array]:
    """The rows that bind at x0, as rows with a tiny multiplier; none of them where there is no x0."""
    y, z = np.zeros(len(p.b)), np.zeros(len(p.r))
    if x0 is None:
        return np.zeros(len(p.q)), y, z
    x = x0[p.free]
    z[p.r - p.rows(x) <= 1e-6 * (1.0 + np.abs(p.r))] = np.finfo(float).tiny
    return x, y, z


def _weight(p: Standard) -> float:
    """The curvature of the objective, or its slope: how multipliers compare with slacks before anything is known."""
    return 10.0 * float(np.trace(p.P)) / len(p.q) or largest(p.q) or 1.0


def _start(p: Standard, L: Array | None) -> _State:
    """The minimum with quadratic penalties in place of constraints; slacks and multipliers moved well inside."""
    weight, m = _weight(p), len(p.r)
    single = len(p.q) ** 2 * m > SINGLE_FROM
    system = _newton_system(p, np.full(m, weight), single)
    x, y = np.zeros(len(p.q)), np.zeros(len(p.b))
    if system is not None:
        x, y = system.solve(weight * p.pull(p.r) - p.q, p.b)
    room = p.r - p.rows(x)
    inside = float(np.mean(np.abs(room))) if m else 0.0
    inside = inside or 1.0
    s, z = np.maximum(room, 0.0) + inside, weight * (np.maximum(-room, 0.0) + inside)
    return _State(x, y, s, z, measure(p, x, y, z, s), np.ones(m, bool), single)


def _newton_system(p: Standard, d: Array, single: bool) -> Any:
    """The factorised system of the Newton steps for weights d of the rows."""
    kind = np.float32 if single else np.float64
    H, G, A = (np.asarray(a, dtype=kind) for a in (p.P, p.G, p.A))
    rho = p.scale if len(A) else 0.0
    if rho:
        H = H + kind(rho) * (A.T @ A)
    L = cholesky(p.add_gram(H, G, d))
    return None if L is None else saddle(L, p.A, rho)


def _step(p: Standard, L: Array | None, now: _State, tol: float) -> _State | None:
    """One predictor–corrector step, then perhaps the finish by active sets."""
    system = _newton_system(p, now.z / now.s, now.single)
    if system is None:
        return now._replace(single=False) if now.single else None
    s, z, dual, equal = now.s, now.z, now.at.dual, now.at.equal
    primal = s - now.at.slack
    mu = float(s @ z) / len(s)

    def direction(centre: Array, refine: int) -> tuple[Array, Array, Array, Array]:
        right = -dual - p.pull((z * primal - centre) / s)
        dx, dy = system.solve(right, -equal)
        for _ in range(refine):
            left = p.P @ dx + p.pull(z / s * p.rows(dx)) + p.A.T @ dy
            ex, ey = system.solve(right - left, -equal - p.A @ dx)
            dx, dy = dx + ex, dy + ey
        ds = -primal - p.rows(dx)
        return dx, dy, ds, -(centre + z * ds) / s

    _, _, ds, dz = direction(s * z, 0)
    length = min(_room(s, ds), _room(z, dz))
    sigma = (float((s + length * ds) @ (z + length * dz)) / len(s) / mu) ** 3
    dx, dy, ds, dz = direction(s * z + ds * dz - sigma * mu, 1)
    length = min(1.0, BACK * min(_room(s, ds), _room(z, dz)))
    x, y, s, z = now.x + length * dx, now.y + length * dy, s + length * ds, z + length * dz
    at = measure(p, x, y, z, s)
    if not np.isfinite(at.value + at.optimality):
        return now._replace(single=False) if now.single else None
    new = _judge(now, _State(x, y, s, z, at, _indicators(now, s, z), now.single), length)
    return None if new is None else _try_active(p, L, now, new, tol)


def _judge(now: _State, new: _State, length: float) -> _State | None:
    """Give up single precision where it drifts, and the iteration where it does not come closer any more."""
    drift = largest(new.at.dual - (1.0 - length) * now.at.dual) > DRIFT * largest(now.at.dual)
    best = min(now.best, new.optimality)
    waited = 0 if best < 0.9 * now.best else now.waited + 1
    if waited > PATIENCE:
        return None
    return new._replace(single=now.single and not drift, best=best, waited=waited)


def _room(v: Array, dv: Array) -> float:
    """The longest step, up to 1, that keeps v + step·dv ≥ 0."""
    return 1.0 / max(1.0, float(np.max(-dv / v, initial=0.0)))


def _indicators(now: _State, s: Array, z: Array) -> Array:
    """Which rows seem to bind: z large beside s, and s falling faster than z."""
    return (z * np.mean(s) > s * np.mean(z)) & (z * now.s > s * now.z)


def _try_active(p: Standard, L: Array | None, now: _State, new: _State, tol: float) -> _State:
    """The exact solution, if the guess of the binding rows has settled and leads to it; else the interior point."""
    changed = int((new.active != now.active).sum())
    if new.optimality > tol and changed > SETTLED * new.active.sum() + 2:
        return new
    found = solve_active(p, L, new.x, new.y, np.where(new.active, new.z, 0.0), min(tol, new.optimality))
    if found is None:
        return new
    x, y, z, at = found
    return new._replace(x=x, y=y, s=at.slack, z=z, at=at)


def _finish(program: Program, p: Standard, result: Result, y: Array, z: Array) -> Result:
    """The result in the terms of the program."""
    result.x, result.multipliers = p.restore(program, result.x, y, z)
    shift = program.value(result.x) - result.value
    result.history = [value + shift for value in result.history]
    result.value += shift
    return result


def _diagnose(program: Program, L: Array | None) -> str | None:
    """Whether the constraints contradict each other, or a ray leads down without end, by linear programs; else None."""
    P, q, A, b, G, h, lower, upper = program
    bounds = np.column_stack([lower, upper])
    kept = np.isfinite(h)
    rows = {"A_ub": G[kept], "A_eq": A, "bounds": bounds}
    if optimize.linprog(np.zeros_like(q), b_ub=h[kept], b_eq=b, **rows).status == 2:
        return "infeasible"
    if L is not None:
        return None
    flat = P / (largest(P) or 1.0)
    cone = np.column_stack([np.where(np.isfinite(lower), 0.0, -1.0), np.where(np.isfinite(upper), 0.0, 1.0)])
    ray = optimize.linprog(
        q / (largest(q) or 1.0), G[kept], np.zeros(kept.sum()), np.vstack([A, flat]), np.zeros(len(A) + len(P)), cone
    )
    return "unbounded" if ray.status == 0 and ray.fun < -1e-6 else None


def _without_solution(program: Program, status: str, tried: Result | None = None) -> Result:
    """No point: the least value of an empty set is ∞, and that of an unbounded problem −∞."""
    x = np.full(len(program.q), np.nan)
    multipliers = Multipliers(*(np.full(len(v), np.nan) for v in (program.b, program.h, x, x)))
    value = np.inf if status == "infeasible" else -np.inf
    history = [] if tried is None else tried.history
    return Result(x, value, 0 if tried is None else tried.n_iter, status, np.inf, history, multipliers)
