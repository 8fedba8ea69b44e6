r"""Nonlinear constraints by the augmented Lagrangian: min f(x) such that h(x) = 0, g(x) ≤ 0.

Each round minimises by L-BFGS, without constraints,

.. math:: f(x) + \sum_i \frac{(\lambda_i + \rho h_i(x))^2 - \lambda_i^2}{2\rho}
          + \sum_j \frac{\max(0, \mu_j + \rho g_j(x))^2 - \mu_j^2}{2\rho},

and then takes :math:`\lambda + \rho h` and :math:`\max(0, \mu + \rho g)` as the multipliers; ρ grows if the
constraints do not improve enough. The terms in ρ add the curvature :math:`\rho J^TJ` across the constraints; L-BFGS is
preconditioned with the inverse of that plus σI, so that a large ρ does not slow it down. The multipliers converge
linearly, the faster the larger ρ is.

A round may leave the bounds, and beyond them end in a local minimum of the violation far from all feasible points. So
if the rounds end without a feasible point, the violation itself is minimised within the bounds (Levenberg–Marquardt,
from the start and from the end of the rounds). If that finds a feasible point, the rounds restart from there with a
larger ρ; otherwise the problem is reported as infeasible.

Hestenes (1969), Multiplier and gradient methods, doi:10.1007/BF00927673; Andreani, Birgin, Martínez, Schuverdt (2008),
On augmented Lagrangian methods with general lower-level constraints, doi:10.1137/060654797.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from didact.core.typing import Array
from didact.engines.loop.iterate import Report, iterate
from didact.engines.loop.line_search import largest
from didact.engines.loop.result import Result
from didact.engines.smooth.lbfgs import lbfgs
from didact.engines.smooth.levenberg_marquardt import levenberg_marquardt

Objective = Callable[[Array], tuple[float, Array]]
Constraints = Callable[[Array], tuple[Array, Array]]

INNER_ITERATIONS = 1000  # iterations of L-BFGS in a round
PENALTY_GROWTH, SUFFICIENT_FALL = 10.0, 0.25  # ρ grows where the violation does not fall to this share
STEEP_PENALTY, STEEPEST_PENALTY = 1e8, 1e12  # ρ beyond which the violation may be, and is, at a minimum of its own
FLAT_SLOPE = 1e-3  # its slope there, relative to that of the constraints
LARGEST_MULTIPLIER = 1e15  # multipliers are held within this, values above its negative
STUCK = 3  # rounds in a row without any gain that end it
SCALES = 1e-8, 1e3  # factors for f and for each constraint
SMALLEST_PENALTY, LARGEST_PENALTY = 1e-3, 1e3  # limits of the first ρ, and of the curvature σ
GIVEN_UP = "infeasible", "no progress"
FIRMER = 1e2, 1e4, 1e6  # factors of the first ρ when the rounds restart from a feasible point


class _State(NamedTuple):
    """A point with its multipliers and KKT residuals, of the scaled problem."""

    x: Array
    value: float
    m: Array
    rho: float
    stationarity: float
    violation: float  # of the constraints and their complementarity
    gradient: Array
    c: Array
    J: Array
    precision: float = 0.0  # of the next round
    stuck: int = 0
    fate: str = ""

    @property
    def optimality(self) -> float:
        return max(self.stationarity, self.violation)

    def feasible(self, tol: float, equalities: int) -> bool:
        """Whether the constraints hold within √tol."""
        return max(largest(self.c[:equalities]), float(np.max(self.c[equalities:], initial=0.0))) <= math.sqrt(tol)


class Lagrangian(NamedTuple):
    """f with its constraints c; the first `equalities` of them are equalities, the others are c ≤ 0."""

    objective: Objective
    constraints: Constraints
    equalities: int
    box: tuple[Any, Any] = (-math.inf, math.inf)  # the bounds, which are also among the constraints
    unit: float = 1.0  # f and c are multiplied by these
    units: Any = 1.0

    def scaled(self, x: Array) -> "Lagrangian":
        """The problem scaled so that all gradients have a largest entry of about 1 at x."""
        _, gradient = self.objective(x)
        _, J = self.constraints(x)
        sizes = np.append(np.max(np.abs(J), axis=1, initial=0.0), largest(gradient))
        units = np.where(sizes > 0, np.clip(1.0 / np.where(sizes > 0, sizes, 1.0), *SCALES), 1.0)
        return self._replace(unit=float(units[-1]), units=units[:-1])

    def all(self, x: Array) -> tuple[float, Array, Array, Array]:
        """f, its gradient, c and its Jacobian, of the scaled problem."""
        (value, gradient), (c, J) = self.objective(x), self.constraints(x)
        return self.unit * value, self.unit * gradient, self.units * c, (self.units * J.T).T

    def excess(self, c: Array) -> Array:
        """The violation: c, but 0 for inequalities that hold."""
        return np.concatenate([c[: self.equalities], np.maximum(c[self.equalities :], 0.0)])

    def multipliers(self, c: Array, m: Array, rho: float) -> Array:
        """The updated multipliers: m + ρc, at least 0 for inequalities."""
        return np.clip(self.excess(m + rho * c), -LARGEST_MULTIPLIER, LARGEST_MULTIPLIER)

    def augmented(self, x: Array, m: Array, rho: float) -> tuple[float, Array]:
        """Value and gradient of the augmented Lagrangian."""
        value, gradient, c, J = self.all(x)
        new = self.multipliers(c, m, rho)
        return value + float(new @ new - m @ m) / (2.0 * rho), gradient + J.T @ new

    def state(self, x: Array, m: Array, rho: float) -> "_State":
        """The point x with updated multipliers (for ρ = 0 with m itself) and its KKT residuals."""
        value, gradient, c, J = self.all(x)
        m = self.multipliers(c, m, rho) if rho else m
        pull = J.T @ m
        stationarity = largest(gradient + pull) / (1.0 + max(largest(gradient), largest(pull)))
        # min(−g, μ) is 0 where a constraint binds or its multiplier vanishes.
        slack = np.minimum(-c[self.equalities :], m[self.equalities :])
        violation = max(largest(c[: self.equalities]), largest(slack))
        return _State(
            x=x,
            value=value / self.unit,
            m=m,
            rho=rho,
            stationarity=stationarity,
            violation=violation,
            gradient=gradient,
            c=c,
            J=J,
        )


def augmented_lagrangian(
    problem: Lagrangian, x0: Array, tol: float, max_iter: int, report: Report | None = None
) -> Result:
    """Minimise under constraints from x0; the result's `multipliers` are in the order of the constraints."""
    problem = problem.scaled(x0)
    result = _rounds(problem, x0, 1.0, tol, max_iter, report)
    end = problem.state(result.x, result.multipliers, 0.0)
    if result.status not in GIVEN_UP or end.feasible(tol, problem.equalities):
        return _unscaled(problem, result)
    nearest = _least_violation(problem, (x0, result.x))
    if nearest is None:
        return _unscaled(problem, result)
    if not problem.state(nearest, result.multipliers, 0.0).feasible(tol, problem.equalities):
        result.status, result.x, result.value = "infeasible", nearest, problem.objective(nearest)[0]
        return _unscaled(problem, result)
    problem = problem.scaled(nearest)
    for firmness in FIRMER:
        done, history = result.n_iter, result.history
        further = None if report is None else lambda i, value, x, done=done: report(done + i, value, x)
        result = _rounds(problem, nearest, firmness, tol, max(max_iter - done, 0), further)
        result.n_iter, result.history = result.n_iter + done, [*history, *result.history[1:]]
        if result.status not in GIVEN_UP:
            return _unscaled(problem, result)
    result.status = "no progress"  # a feasible point was found, so the problem is not infeasible
    return _unscaled(problem, result)


def _unscaled(problem: Lagrangian, result: Result) -> Result:
    result.multipliers = result.multipliers * problem.units / problem.unit
    return result


def _least_violation(problem: Lagrangian, starts: tuple[Array, ...]) -> Array | None:
    """The best local minimum of the violation within the bounds that the starts lead to; None if there is none."""
    lower, upper = problem.box
    if np.any(np.asarray(lower) > upper):
        return None

    def violation(x: Array) -> tuple[Array, Array]:
        _, _, c, J = problem.all(x)
        out = problem.excess(c)
        return out, np.where((out != 0)[:, None], J, 0.0)

    def half_sum(x: Array) -> float:
        v = violation(x)[0]
        return 0.5 * float(v @ v)

    def factor(x: Array) -> Array:
        v, J = violation(x)
        table = np.column_stack([J, v])
        extra = np.zeros((max(0, table.shape[1] - len(table)), table.shape[1]))
        return np.asarray(linalg.qr(np.concatenate([table, extra]), mode="r", check_finite=False)[0])[: table.shape[1]]

    def descend(x: Array) -> Array:
        # The solver's tolerance for rounding follows the steepest point it has seen: restart as long as that helps.
        before = np.inf
        while half_sum(x) < 0.5 * before and np.isfinite(factor(x)).all():
            before = half_sum(x)
            x = levenberg_marquardt(half_sum, factor, x, 0.0, INNER_ITERATIONS, bounds=problem.box).x
        return x

    inside = (np.clip(start, lower, upper) for start in starts)
    ends = [descend(x) for x in inside if np.isfinite(factor(x)).all()]
    return min(ends, key=half_sum, default=None)


def _rounds(
    problem: Lagrangian, x0: Array, firmness: float, tol: float, max_iter: int, report: Report | None
) -> Result:
    """The rounds from x0, on the scaled problem; the first ρ is `firmness` times the usual one."""
    start = problem.state(x0, np.zeros(len(problem.constraints(x0)[0])), 0.0)
    excess = problem.excess(start.c)
    rho = 10.0 * max(1.0, abs(problem.unit * start.value)) / max(1.0, 0.5 * float(excess @ excess))
    precision = max(tol, 1e-2 * min(1.0, start.stationarity))
    end = start = start._replace(rho=firmness * min(max(rho, SMALLEST_PENALTY), LARGEST_PENALTY), precision=precision)

    def step(now: _State) -> _State | None:
        nonlocal end
        end = _round(problem, now, tol)
        return None if end.fate else end

    result = iterate(start, step, tol, max_iter, report)
    if result.status == "no progress" and end.fate:
        result = Result(end.x, end.value, result.n_iter, end.fate, end.optimality, result.history)
    result.multipliers = end.m
    return result


def _round(problem: Lagrangian, now: _State, tol: float) -> _State:
    """One round: a minimisation, then the update of multipliers and ρ."""
    inner = lbfgs(
        lambda x: problem.augmented(x, now.m, now.rho),
        now.x,
        now.precision * (1.0 + largest(now.J.T @ now.m)),
        INNER_ITERATIONS,
        report=lambda _, value, x: value < -LARGEST_MULTIPLIER or largest(x) > LARGEST_MULTIPLIER,
        precondition=_preconditioner(problem, now),
    )
    if inner.status in ("stopped", "unbounded", "not finite"):
        end = problem.state(inner.x, now.m, 0.0)
        if problem.unit * end.value < -LARGEST_MULTIPLIER and end.feasible(tol, problem.equalities):
            return end._replace(fate="unbounded")
        # With too small a ρ the objective outweighs the constraints: retry from the same point with a larger one.
        fate = "unbounded" if inner.status != "not finite" else "no progress"
        return now._replace(rho=now.rho * PENALTY_GROWTH**2, fate=fate if now.rho > STEEPEST_PENALTY else "")
    new = problem.state(inner.x, now.m, now.rho)
    gained = new.violation <= max(SUFFICIENT_FALL * now.violation, 0.1 * tol)
    new = new._replace(
        rho=now.rho if gained else PENALTY_GROWTH * now.rho,
        precision=max(0.1 * min(now.precision, new.optimality), 0.1 * tol),
        stuck=now.stuck + 1 if new.optimality > 0.9 * now.optimality and not inner.converged else 0,
    )
    return new._replace(fate=_fate(problem, new, tol))


def _fate(problem: Lagrangian, s: _State, tol: float) -> str:
    """The status with which the rounds end here, or an empty string if they go on."""
    if s.optimality <= tol:
        return ""
    violated = problem.excess(s.c)
    far = largest(violated) > math.sqrt(tol)
    flat = largest(s.J.T @ violated) <= FLAT_SLOPE * largest(s.J) * largest(violated)
    if s.rho > STEEPEST_PENALTY or (far and flat and s.rho > STEEP_PENALTY):
        return "infeasible" if far else "no progress"
    return "no progress" if s.stuck >= STUCK else ""


def _preconditioner(problem: Lagrangian, s: _State) -> Callable[[Array], Array] | None:
    """g ↦ (σI + ρJᵀJ)⁻¹g with the rows of J that are active at the start of the round."""
    acting = problem.multipliers(s.c, s.m, s.rho) != 0
    if not acting.any():
        return None
    _, values, V = linalg.svd(s.J[acting], full_matrices=False, check_finite=False)
    sigma = _curvature(problem, s, V)
    share = s.rho * values**2 / (sigma + s.rho * values**2)
    return lambda g: (g - V.T @ (share * (V @ g))) / sigma


def _curvature(problem: Lagrangian, s: _State, V: Array) -> float:
    """The curvature of the Lagrangian along its projected gradient within the constraints, by one difference."""
    first = s.gradient + s.J.T @ s.m
    along = first - V.T @ (V @ first)
    size = float(np.linalg.norm(along))
    if size <= 1e-12 * (1.0 + largest(first)):
        return 1.0
    short = 1e-6 * (1.0 + largest(s.x)) / size
    _, gradient, _, J = problem.all(s.x - short * along)
    bend = abs(float(along @ (gradient + J.T @ s.m - first))) / (short * size**2)
    return min(max(bend, SMALLEST_PENALTY), LARGEST_PENALTY) if math.isfinite(bend) else 1.0
