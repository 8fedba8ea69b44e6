r"""Quadratic programs from a guess of the binding constraints: the primal–dual active-set method.

With the set F of binding rows given, min ½xᵀPx + qᵀx subject to Ax = b, R_F x = r_F is one saddle system. Rows of F
with a negative multiplier leave, violated rows enter, and this repeats; when neither happens the KKT conditions hold,
to rounding. From a good guess a few rounds do (it is Newton's method on min(z, r − Rx) = 0); from a bad one it may
cycle, so the number of rounds is small, and hopeless guesses are left at once.

Hintermüller, Ito, Kunisch (2002), The primal–dual active set strategy as a semismooth Newton method,
doi:10.1137/S1052623401383558.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.engines.line_search import largest
from didact.engines.quadratic_form import Standard
from didact.engines.saddle import Saddle, add_gram, cholesky, half_solve, saddle

Array = np.ndarray[Any, Any]

ROUNDS = 8
REFINEMENTS = 4
EXTRA = 10  # binding rows beyond the number of variables, as degenerate corners have
FIRST = 5.0  # rows that are met within this multiple of the way to the first of them enter together
HOPELESS = 0.25  # share of negative multipliers from which a guess is not worth another round
WRONG = 1e-12  # what counts as a sign, relative to the largest multiplier or to the row's bound


class Measure(NamedTuple):
    """The KKT conditions at a point: residuals, and one relative number for all of them."""

    value: float
    dual: Array
    equal: Array
    slack: Array
    optimality: float


class Solution(NamedTuple):
    """A solution with its multipliers and its residuals."""

    x: Array
    y: Array
    z: Array
    at: Measure


def measure(p: Standard, x: Array, y: Array, z: Array, slack: Array | None = None) -> Measure:
    """The KKT residuals at x with multipliers y and z ≥ 0, relative to the size of what they are sums of."""
    Px, pulled, lifted = p.P @ x, p.pull(z), p.A.T @ y
    dual, equal, room = Px + p.q + pulled + lifted, p.A @ x - p.b, p.r - p.rows(x)
    value = float(x @ (0.5 * Px + p.q))
    optimality = max(
        largest(dual) / max(1.0, largest(Px), largest(pulled), largest(lifted)),
        largest(equal / (1.0 + np.abs(p.b))),
        float(np.max(-room / (1.0 + np.abs(p.r)), initial=0.0)),
        largest(z * (room if slack is None else slack)) / (1.0 + abs(value)),
    )
    return Measure(value, dual, equal, room, optimality)


class _Rows(NamedTuple):
    """[A; R] of a program as an operator: bounds cost n, not n²."""

    p: Standard

    def __matmul__(self, x: Array) -> Array:
        return np.concatenate([self.p.A @ x, self.p.rows(x)])

    @property
    def T(self) -> "_Pull":
        return _Pull(self.p)


class _Pull(NamedTuple):
    """The transpose of [A; R]."""

    p: Standard

    def __matmul__(self, y: Array) -> Array:
        return np.asarray(self.p.A.T @ y[: len(self.p.b)] + self.p.pull(y[len(self.p.b) :]))


class ActiveSets:
    """The equality-constrained solutions of one program, with what they can share kept.

    Where P is positive definite, L⁻¹R_Fᵀ and R_F P⁻¹R_Fᵀ are kept for all rows that were ever asked for.
    """

    def __init__(self, p: Standard, L: Array | None) -> None:
        self.p, self.L = p, L
        self.place = np.full(len(p.b) + len(p.r), -1)
        self.W = np.empty((len(p.q), 0), order="F")
        self.K = np.empty((0, 0))
        self.count = 0

    def system(self, active: Array) -> Saddle | None:
        """The factorised saddle system for Ax = b and these rows as equalities."""
        p, only = self.p, self.p.only(active)
        if self.L is None:
            B = np.concatenate([p.A, only.dense()])
            L = cholesky(add_gram(p.P, B))
            system = None if L is None else saddle(L, B, 1.0)
            return None if system is None else system._replace(B=_Rows(only))
        numbers = np.concatenate([np.arange(len(p.b)), len(p.b) + active])
        new = self.place[numbers] < 0
        if new.any():
            rows = p.only(active[new[len(p.b) :]]).dense()
            self._extend(self.L, numbers[new], np.concatenate([p.A[new[: len(p.b)]], rows]))
        index = self.place[numbers]
        K = cholesky(self.K.take(index, 0).take(index, 1).T)
        return None if K is None else Saddle(self.L, _Rows(only), K)

    def _extend(self, L: Array, numbers: Array, rows: Array) -> None:
        """W and K for rows that are new."""
        old, now = self.count, self.count + len(numbers)
        if now > len(self.K):
            room = min(len(self.place), max(2 * len(self.K), now + len(self.p.q) // 2))
            W, K = np.empty((len(self.p.q), room), order="F"), np.empty((room, room))
            W[:, :old], K[:old, :old] = self.W[:, :old], self.K[:old, :old]
            self.W, self.K = W, K
        self.place[numbers], self.count = np.arange(old, now), now
        self.W[:, old:now] = half_solve(L, rows)
        W = self.W[:, old:now]
        self.K[old:now, :old] = W.T @ self.W[:, :old]
        self.K[:old, old:now] = self.K[old:now, :old].T
        self.K[old:now, old:now] = W.T @ W  # a product with itself takes half the time

    def solve(self, x: Array, y: Array, z: Array, slack: Array | None, tol: float) -> Solution | None:
        """The solution from the guess that rows with z > 0 bind; None where the guess leads nowhere.

        `slack` > 0 are the rows' slacks at an interior point: of the violated rows those enter that one meets first on
        the way from there. Without it all of them do, and the number of wrong rows has to fall.
        """
        p, fewest = self.p, np.inf
        most = len(p.q) + EXTRA if slack is not None else len(p.q) // 2 + EXTRA
        for _ in range(ROUNDS):
            active = np.flatnonzero(z > 0)
            if len(active) + len(p.b) > most:
                return None
            system = self.system(active)
            if system is None:
                return None
            x, both = _refine(p, system, x, np.concatenate([y, z[active]]), 1)
            y, binding = both[: len(p.b)], both[len(p.b) :]
            room = p.r - p.rows(x)
            room[active] = 0.0
            violated = np.flatnonzero(room < -WRONG * (1.0 + np.abs(p.r)))
            negative = int((binding < -WRONG * largest(binding)).sum())
            if not negative + len(violated):
                return self._end(system, active, x, both, tol)
            if slack is None and negative + len(violated) >= fewest:
                return None
            if negative > HOPELESS * len(active) + 2 or not np.isfinite(x).all():
                return None
            fewest = negative + len(violated)
            z = np.zeros(len(p.r))
            z[active] = np.maximum(binding, 0.0)
            z[_entering(violated, room, slack)] = np.finfo(float).tiny
        return None

    def _end(self, system: Saddle, active: Array, x: Array, both: Array, tol: float) -> Solution | None:
        """The refined solution, if it satisfies the KKT conditions to tol."""
        p, z = self.p, np.zeros(len(self.p.r))
        x, both = _refine(p, system, x, both, REFINEMENTS)
        z[active] = np.maximum(both[len(p.b) :], 0.0)
        at = measure(p, x, both[: len(p.b)], z)
        return Solution(x, both[: len(p.b)], z, at) if at.optimality <= tol else None


def _refine(p: Standard, system: Saddle, x: Array, y: Array, times: int) -> tuple[Array, Array]:
    """x and all multipliers, corrected by solves with the factorised system until that helps no more."""
    c, error = np.concatenate([p.b, system.B.p.r]), np.inf
    for _ in range(times):
        r, e = -(p.P @ x + p.q + system.B.T @ y), c - system.B @ x
        now = max(largest(r), largest(e))
        if not now < 0.1 * error:
            break
        error = now
        dx, dy = system.solve(r, e)
        x, y = x + dx, y + dy
    return x, y


def _entering(violated: Array, room: Array, slack: Array | None) -> Array:
    """Which of the violated rows enter."""
    if slack is None or not len(violated):
        return violated
    meets = slack[violated] / (slack[violated] - room[violated])
    return violated[meets <= FIRST * meets.min()]
