r"""Convex quadratic programs: active sets for the exact solution, interior points where a guess is needed.

The active-set method runs first: if P is positive definite and there are not many times more rows than variables, it
usually succeeds alone. Otherwise, for min ½xᵀPx + qᵀx subject to Ax = b, Rx + s = r, s ≥ 0 with multipliers y, z ≥ 0,
Mehrotra's predictor–corrector takes Newton steps on the KKT conditions with :math:`s_iz_i = \sigma\mu`. Eliminating s
and z leaves

.. math:: (P + R^TDR)\,dx + A^Tdy = \ldots, \quad A\,dx = \ldots, \qquad D = \mathrm{diag}(z_i/s_i):

mn²/2 + n³/6 multiply–adds per iteration, in single precision as long as that is accurate enough. As soon as binding
and slack rows can be told apart, the active-set method tries to finish; it usually succeeds about half-way, with an
error of rounding only. If no solution is found, two linear programs decide whether one exists.

Mehrotra (1992), On the implementation of a primal–dual interior point method, doi:10.1137/0802028;
El-Bakry, Tapia, Zhang (1994), A study of indicators for identifying zero variables, doi:10.1137/1036005.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, optimize

from didact.core.typing import Array
from didact.engines.constrained.active_set import ActiveSets, Measure, measure
from didact.engines.constrained.feasibility import least_violation
from didact.engines.constrained.kkt import Multipliers
from didact.engines.constrained.quadratic_form import Program, Standard, standard
from didact.engines.constrained.saddle import Saddle, cholesky, saddle
from didact.engines.constrained.tuning import SINGLE_WORK
from didact.engines.loop.iterate import iterate
from didact.engines.loop.line_search import largest
from didact.engines.loop.result import Result

DRIFT = 1e-2  # relative error of the predicted dual residual above which single precision is given up
BACK = 0.99  # largest share of the way to the boundary that a step may go
SPLIT = 0.1  # mean(sz) over mean(s)·mean(z) below which binding and slack rows can be told apart
AGAIN = 0.2  # factor by which that must fall before the active-set method is tried again
WITHOUT_PROGRESS = 12  # iterations without a better point after which the problem is diagnosed
SINGULAR_PIVOT = 1e-10  # squared pivot, relative to the diagonal, below which P counts as singular
VIOLATED = 1e-7  # violation, relative to the right-hand sides, above which a problem is infeasible
DOWN = 1e-6  # slope of a ray, relative to q, above which the objective is unbounded along it


class _State(NamedTuple):
    """An interior point: s > 0 and z > 0 (or, at the end, the exact solution)."""

    x: Array
    y: Array
    s: Array
    z: Array
    at: Measure
    single: bool
    best: float = np.inf
    waited: int = 0
    split: float = SPLIT

    @property
    def value(self) -> float:
        return self.at.value

    @property
    def optimality(self) -> float:
        return self.at.optimality


def solve_quadratic(program: Program, tol: float, max_iter: int, x0: Array | None = None) -> Result:
    """Minimise a convex quadratic under linear constraints; the rows that bind at x0 are the first guess.

    `n_iter` counts interior-point iterations, or changes of the active set if that method succeeded alone.
    """
    p = standard(program)
    if p is None:
        return _without_solution(program, "infeasible")
    sets = ActiveSets(p, _strict_factor(p.P))
    found = sets.alone(*_first_guess(p, x0), tol, max_iter)
    if found is not None:
        n_iter = len(found.history) - 1
        result = Result(found.x, found.at.value, n_iter, "converged", found.at.optimality, found.history)
        return _finish(program, p, result, found.y, found.z)
    # The active-set method found no solution by itself: interior points, which hand over to it as soon as they can.
    newton = _NewtonSystems(p)
    end = start = _start(p, newton)

    def step(state: _State) -> _State | None:
        nonlocal end
        new = _step(p, newton, state)
        new = None if new is None else _try_active(sets, state, new, tol)
        end = state if new is None else new
        return new

    result = iterate(start, step, tol, max_iter if len(p.r) else 0)
    if not result.converged and result.status != "stopped":
        status = _diagnose(p, strict=sets.strict is not None)
        if status is not None:
            return _without_solution(program, status, result)
    return _finish(program, p, result, end.y, end.z)


def _strict_factor(P: Array) -> Array | None:
    """The lower Cholesky factor of P, or None if P is singular in working precision."""
    L = cholesky(P, shifted=False)
    return None if L is None or not (np.diag(L) ** 2 > SINGULAR_PIVOT * np.diag(P)).all() else L


def _first_guess(p: Standard, x0: Array | None) -> tuple[Array, Array, Array]:
    """A point, with a tiny multiplier for each row that binds there; without x0 no row does."""
    y, z = np.zeros(len(p.b)), np.zeros(len(p.r))
    if x0 is None:
        return np.zeros(len(p.q)), y, z
    x = x0[p.free] / p.units
    z[p.r - p.rows(x) <= 1e-6 * (1.0 + np.abs(p.r))] = np.finfo(float).tiny
    return x, y, z


class _NewtonSystems:
    """The systems of the Newton steps of one program, in single or double precision."""

    def __init__(self, p: Standard) -> None:
        self.p = p
        self.rho = 1.0 if len(p.A) else 0.0
        self.parts: dict[Any, tuple[Array, Array]] = {}

    def __call__(self, d: Array, single: bool) -> Saddle | None:
        """The factorised system for weights d of the rows; None if it cannot be factorised."""
        kind = np.float32 if single else np.float64
        if kind not in self.parts:
            H = self.p.P + self.p.A.T @ self.p.A if self.rho else self.p.P
            self.parts[kind] = H.astype(kind, order="F"), self.p.G.astype(kind, copy=False)
        L = cholesky(self.p.add_gram(*self.parts[kind], d))
        return None if L is None else saddle(L, self.p.A, self.rho)


def _start(p: Standard, newton: _NewtonSystems) -> _State:
    """The minimum under quadratic penalties instead of constraints, with slacks and multipliers moved well inside."""
    n, m = len(p.q), len(p.r)
    weight = 10.0 * float(np.trace(p.P)) / max(n, 1) or largest(p.q) or 1.0
    single = n**2 * m > SINGLE_WORK
    system = newton(np.full(m, weight), single)
    x, y = np.zeros(n), np.zeros(len(p.b))
    if system is not None:
        x, y = system.solve(weight * p.pull(p.r) - p.q, p.b)
    room = p.r - p.rows(x)
    inside = float(np.mean(np.abs(room))) if m else 0.0
    inside = inside or 1.0
    s, z = np.maximum(room, 0.0) + inside, weight * (np.maximum(-room, 0.0) + inside)
    return _State(x=x, y=y, s=s, z=z, at=measure(p, x, y, z, s), single=single)


def _step(p: Standard, newton: _NewtonSystems, now: _State) -> _State | None:
    """One predictor–corrector step; None if none is possible."""
    system = newton(now.z / now.s, now.single)
    if system is None:
        return now._replace(single=False) if now.single else None
    mu = float(np.mean(now.s * now.z))
    # The predictor aims at sz = 0; how far it gets sets the centring σ of the corrector (Mehrotra).
    ds, dz = _direction(p, system, now, now.s * now.z, refine=False)[2:]
    length = min(_room(now.s, ds), _room(now.z, dz))
    sigma = (float(np.mean((now.s + length * ds) * (now.z + length * dz))) / mu) ** 3
    dx, dy, ds, dz = _direction(p, system, now, now.s * now.z + ds * dz - sigma * mu, refine=True)
    length = min(1.0, BACK * min(_room(now.s, ds), _room(now.z, dz)))
    x, y, s, z = now.x + length * dx, now.y + length * dy, now.s + length * ds, now.z + length * dz
    at = measure(p, x, y, z, s)
    if not np.isfinite(at.value + at.optimality):
        return now._replace(single=False) if now.single else None
    drift = largest(at.dual - (1.0 - length) * now.at.dual) > DRIFT * largest(now.at.dual)
    best = min(now.best, at.optimality)
    waited = 0 if best < 0.9 * now.best else now.waited + 1
    if waited > WITHOUT_PROGRESS:
        return None
    return _State(x=x, y=y, s=s, z=z, at=at, single=now.single and not drift, best=best, waited=waited, split=now.split)


def _direction(
    p: Standard, system: Saddle, now: _State, centre: Array, refine: bool
) -> tuple[Array, Array, Array, Array]:
    """The Newton step on the KKT conditions with sz moved by −centre.

    Rounding errors in slacks near 0 are amplified by z/s: without refinement the dual residual would stay above 1e-8.
    """
    s, z = now.s, now.z
    primal = s - now.at.slack
    right = -now.at.dual - p.pull((z * primal - centre) / s)
    dx, dy = system.solve(right, -now.at.equal)
    if refine:
        left = p.P @ dx + p.pull(z / s * p.rows(dx)) + p.A.T @ dy
        ex, ey = system.solve(right - left, -now.at.equal - p.A @ dx)
        dx, dy = dx + ex, dy + ey
    ds = -primal - p.rows(dx)
    return dx, dy, ds, -(centre + z * ds) / s


def _room(v: Array, dv: Array) -> float:
    """The longest step, up to 1, that keeps v + step·dv ≥ 0."""
    return 1.0 / max(1.0, float(np.max(-dv / v, initial=0.0)))


def _try_active(sets: ActiveSets, now: _State, new: _State, tol: float) -> _State:
    """The exact solution if the guess of the binding rows leads to it; else the interior point."""
    s, z = new.s, new.z
    split = float(np.mean(s * z) / (np.mean(s) * np.mean(z)))
    if new.optimality > tol and split > new.split:
        return new
    # A row binds if z is large compared with s, and s falls faster than z.
    binding = (z * np.mean(s) > s * np.mean(z)) & (z * now.s > s * now.z)
    found = sets.near(new.x, new.y, np.where(binding, z, 0.0), s, min(tol, new.optimality))
    if found is None:
        return new._replace(split=AGAIN * min(split, new.split))
    return new._replace(x=found.x, y=found.y, s=found.at.slack, z=found.z, at=found.at)


def _finish(program: Program, p: Standard, result: Result, y: Array, z: Array) -> Result:
    """The result in the variables of the original program."""
    result.x, result.multipliers = p.restore(program, result.x, y, z)
    if result.converged:  # bounds hold up to rounding: make them hold exactly
        result.x = np.clip(result.x, program.lower, program.upper)
    value = program.value(result.x)
    constant = value - p.scale * result.value
    result.value, result.history = value, [p.scale * v + constant for v in result.history]
    return result


def _diagnose(p: Standard, strict: bool) -> str | None:
    """Decide by linear programs: "infeasible", "unbounded" (the objective falls along a ray), or None."""
    n, m, a = len(p.q), len(p.G), len(p.G) + len(p.above)
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    upper[p.above], lower[p.below] = p.r[m:a], -p.r[a:]
    if least_violation(p.G, p.r[:m], p.A, p.b, lower, upper) > VIOLATED * (1.0 + largest(p.r) + largest(p.b)):
        return "infeasible"
    if strict:
        return None
    curvature, V = linalg.eigh(p.P)
    flat = V[:, curvature <= SINGULAR_PIVOT]
    slope = p.q @ flat / (largest(p.q) or 1.0)
    rows = p.dense() @ flat
    ray = optimize.linprog(slope, rows, np.zeros(len(rows)), p.A @ flat, np.zeros(len(p.b)), (-1.0, 1.0))
    return "unbounded" if ray.status == 0 and ray.fun < -DOWN else None


def _without_solution(program: Program, status: str, tried: Result | None = None) -> Result:
    """A result without a point: the value is ∞ if nothing is feasible, and −∞ if the problem is unbounded."""
    x = np.full(len(program.q), np.nan)
    multipliers = Multipliers(*(np.full(len(v), np.nan) for v in (program.b, program.h, x, x)))
    n_iter, history = (0, []) if tried is None else (tried.n_iter, tried.history)
    value = np.inf if status == "infeasible" else -np.inf
    return Result(x, value, n_iter, status, np.inf, history, multipliers)
