r"""Quadratic programs from a guess of the binding constraints: the primal–dual active-set method.

With the set F of binding rows given, min ½xᵀPx + qᵀx subject to Ax = b, R_F x = r_F is one saddle system. Rows of F
with a negative multiplier leave, violated rows enter, and this repeats; when neither happens the KKT conditions hold,
to rounding. From a good guess two to five rounds do (it is Newton's method on min(z, r − Rx) = 0); from a bad one it may
cycle, so it ends as soon as the number of wrong rows no longer falls.

Hintermüller, Ito, Kunisch (2002), The primal–dual active set strategy as a semismooth Newton method,
doi:10.1137/S1052623401383558.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.engines.kkt import largest
from didact.engines.quadratic_form import Standard
from didact.engines.saddle import add_gram, cholesky, saddle

Array = np.ndarray[Any, Any]

ROUNDS = 12
REFINEMENTS = 5
WRONG = 1e-12  # what counts as a sign, relative to the largest multiplier or to the row's bound


class Measure(NamedTuple):
    """The KKT conditions at a point: residuals, and one relative number for all of them."""

    value: float
    dual: Array
    equal: Array
    slack: Array
    optimality: float


def measure(p: Standard, x: Array, y: Array, z: Array, slack: Array | None = None) -> Measure:
    """The KKT residuals at x with multipliers y and z ≥ 0, relative to the size of what they are sums of."""
    Px, pulled, lifted = p.P @ x, p.pull(z), p.A.T @ y
    dual, equal, room = Px + p.q + pulled + lifted, p.A @ x - p.b, p.r - p.rows(x)
    value = float(x @ (0.5 * Px + p.q))
    scale = p.scale
    optimality = max(
        largest(dual) / max(scale, largest(Px), largest(pulled), largest(lifted)),
        largest(equal / (1.0 + np.abs(p.b))),
        float(np.max(-room / (1.0 + np.abs(p.r)), initial=0.0)),
        largest(z * (room if slack is None else slack)) / (scale + abs(value)),
    )
    return Measure(value, dual, equal, room, optimality)


def solve_active(p: Standard, L: Array | None, x: Array, y: Array, z: Array, tol: float) -> Any:
    """x, y, z and their measure from the guess that rows with z > 0 bind; None where the guess leads nowhere.

    L is the lower Cholesky factor of P, or None where P is singular.
    """
    fewest = np.inf
    for _ in range(ROUNDS):
        active = np.flatnonzero(z > 0)
        if len(active) + len(p.b) > 2 * len(p.q) + 10:
            return None
        found = _solve_equalities(p, L, active, x, y, z[active])
        if found is None:
            return None
        x, y, binding = found
        slack = p.r - p.rows(x)
        slack[active] = 0.0
        wrong_sign = binding < -WRONG * largest(binding)
        violated = slack < -WRONG * (1.0 + np.abs(p.r))
        wrong = int(wrong_sign.sum() + violated.sum())
        z = np.zeros(len(p.r))
        z[active] = np.maximum(binding, 0.0)
        if not wrong:
            end = measure(p, x, y, z)
            return (x, y, z, end) if end.optimality <= tol else None
        if wrong >= fewest:
            return None
        fewest = wrong
        z[violated] = np.finfo(float).tiny
    return None


def _solve_equalities(p: Standard, L: Array | None, active: Array, x: Array, y: Array, z: Array) -> Any:
    """The minimum on Ax = b and the active rows as equalities: x, y and the rows' multipliers, refined."""
    B = np.concatenate([p.A, p.take(active)])
    c = np.concatenate([p.b, p.r[active]])
    rho = 0.0
    if L is None:
        rho = p.scale
        L = cholesky(add_gram(p.P, B, rho))
    system = None if L is None else saddle(L, B, rho)
    if system is None:
        return None
    both, error = np.concatenate([y, z]), np.inf
    for _ in range(REFINEMENTS):
        r, e = -(p.P @ x + p.q + B.T @ both), c - B @ x
        now = max(largest(r) / p.scale, largest(e))
        if now > 0.1 * error:
            break
        error = now
        dx, dy = system.solve(r, e)
        x, both = x + dx, both + dy
    return (x, both[: len(p.b)], both[len(p.b) :]) if np.isfinite(x).all() else None
