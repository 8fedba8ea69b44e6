r"""Quadratic programs from a guess of the binding constraints: the primal–dual active-set method.

Given the set F of binding rows, min ½xᵀPx + qᵀx subject to Ax = b, R_F x = r_F is one saddle system. Rows of F with a
negative multiplier leave, violated rows enter, and this repeats; when neither happens, the KKT conditions hold up to
rounding. It is Newton's method on min(z, r − Rx) = 0: from a good guess a few rounds suffice. Without a guess, it
cycles if all violated rows enter at once and there are about as many of them as variables; if only the worse half
enters, some ten rounds suffice for up to twice as many rows as variables. As it may cycle even then, the number of
wrong rows has to fall, and hopeless guesses are abandoned at once.

Hintermüller, Ito, Kunisch (2002), The primal–dual active set strategy as a semismooth Newton method,
doi:10.1137/S1052623401383558.
"""

from typing import NamedTuple

import numpy as np

from didact.core.typing import Array
from didact.engines.constrained.quadratic_form import Standard
from didact.engines.constrained.saddle import Saddle, add_gram, cholesky, half_solve, saddle
from didact.engines.constrained.tuning import ACTIVE_ROUNDS, FEW_VIOLATED, FIRST_MET, MOST_VIOLATED, SINGLE_VARIABLES
from didact.engines.loop.line_search import largest

REFINEMENTS = 4
EXTRA = 10  # binding rows allowed beyond the number of variables, for degenerate vertices
HOPELESS = 0.3  # share of negative multipliers above which a guess is abandoned
WRONG = {"d": 1e-12, "f": 1e-5}  # smallest value that has a sign, relative to the largest multiplier or the row's bound
WAIT = 1  # rounds in which the number of wrong rows need not fall
SURE = 1e-12  # residual of a refined solution below which signs found in single precision are certain


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
    history: list[float]  # the values of all rounds


def measure(p: Standard, x: Array, y: Array, z: Array, slack: Array | None = None) -> Measure:
    """The KKT residuals at x with multipliers y and z ≥ 0, relative to the size of their terms."""
    Px, pulled, lifted = p.P @ x, p.pull(z), p.A.T @ y
    dual, equal, room = Px + p.q + pulled + lifted, p.A @ x - p.b, p.r - p.rows(x)
    value = float(x @ (0.5 * Px + p.q))
    optimality = max(
        largest(dual) / max(1.0, largest(Px), largest(pulled), largest(lifted)),
        largest(equal / (1.0 + np.abs(p.b))),
        float(np.max(-room / (1.0 + np.abs(p.r)), initial=0.0)),
        largest(z * (room if slack is None else slack)) / (1.0 + abs(value)),
    )
    return Measure(value=value, dual=dual, equal=equal, slack=room, optimality=optimality)


class _Rows(NamedTuple):
    """[A; R] of a program as a linear operator: bounds cost n, not n²."""

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


class _Round(NamedTuple):
    """The minimum for one guess of the binding rows, and what is wrong with the guess."""

    x: Array
    y: Array
    active: Array
    binding: Array  # the multipliers of the active rows
    room: Array  # the slacks of all rows
    violated: Array  # the numbers of rows
    negative: int  # how many multipliers
    system: Saddle

    @property
    def wrong(self) -> int:
        """The number of rows that are missing from the guess or should leave it."""
        return self.negative + len(self.violated)

    @property
    def hopeless(self) -> bool:
        """Whether the guess is so wrong that another round does not pay."""
        return self.negative > HOPELESS * len(self.active) + 2 or not np.isfinite(self.x).all()

    def keep(self, entering: Array) -> Array:
        """Multipliers of the next guess: rows with negative ones leave, and these rows enter."""
        z = np.zeros(len(self.room))
        z[self.active] = np.maximum(self.binding, 0.0)
        z[entering] = np.finfo(float).tiny
        return z


class ActiveSets:
    """The equality-constrained solutions of one program, which share factors.

    If P = LLᵀ is positive definite, L⁻¹R_Fᵀ and R_F P⁻¹R_Fᵀ are cached for all rows that were ever active, at first in
    single precision.
    """

    def __init__(self, p: Standard, L: Array | None) -> None:
        self.p, self.strict = p, L
        self.single = L is not None and len(L) >= SINGLE_VARIABLES
        self._empty()

    def _empty(self) -> None:
        """Clear the cache, in the precision that holds from now on."""
        kind, n = np.float32 if self.single else np.float64, len(self.p.q)
        self.L = None if self.strict is None else self.strict.astype(kind, copy=False)
        self.place = np.full(len(self.p.b) + len(self.p.r), -1)
        self.W, self.K = np.empty((n, 0), kind, "F"), np.empty((0, 0), kind)
        self.count = 0

    def double(self) -> None:
        """Switch to double precision."""
        if self.single:
            self.single = False
            self._empty()

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
            self._extend(self.L, numbers[new], np.concatenate([p.A[new[: len(p.b)]], rows]) if len(p.b) else rows)
        index = self.place[numbers]
        K = cholesky(self.K.take(index, 0).take(index, 1).T)
        return None if K is None else Saddle(self.L, _Rows(only), K)

    def _extend(self, L: Array, numbers: Array, rows: Array) -> None:
        """Add new rows to the cached W = L⁻¹Rᵀ and K = WᵀW; the arrays grow geometrically."""
        old, now = self.count, self.count + len(numbers)
        if now > len(self.K):
            room = min(len(self.place), max(2 * len(self.K), now + len(self.p.q) // 2))
            W, K = np.empty((len(self.p.q), room), L.dtype, "F"), np.empty((room, room), L.dtype)
            W[:, :old], K[:old, :old] = self.W[:, :old], self.K[:old, :old]
            self.W, self.K = W, K
        self.place[numbers], self.count = np.arange(old, now), now
        self.W[:, old:now] = half_solve(L, rows)
        W = self.W[:, old:now]
        self.K[old:now, :old] = W.T @ self.W[:, :old]
        self.K[:old, old:now] = self.K[old:now, :old].T
        self.K[old:now, old:now] = W.T @ W  # BLAS takes half the time for a product with itself

    def alone(self, x: Array, y: Array, z: Array, tol: float, rounds: int) -> Solution | None:
        """The solution from the guess that rows with z > 0 bind; None if the rounds do not lead to it.

        As long as many rows are violated only the worse half of them enters. The number of wrong rows has to fall.
        """
        n, history, fewest, waited = len(self.p.q), list[float](), np.inf, 0
        few = FEW_VIOLATED * n + 4
        most = few if self.strict is None else MOST_VIOLATED * n
        while True:
            now = self._round(x, y, z, n)
            if now is None or now.hopeless or len(now.violated) > most:
                return None
            history.append(self.p.value(now.x))
            if not now.wrong:
                found = self._end(now, SURE if self.single else tol, history)
                if found is not None or not self.single:
                    return found
            waited, fewest = waited + (now.wrong >= fewest), min(fewest, now.wrong)
            if len(history) > rounds or (waited > WAIT and not (self.single and now.wrong <= few)):
                return None
            if not now.wrong or waited > WAIT:  # signs are not certain in single precision
                self.double()
                waited, fewest = 0, np.inf
            entering = now.violated
            if len(entering) > few:
                half = len(entering) // 2
                entering = entering[np.argpartition(now.room[entering], half)[:half]]
            x, y, z = now.x, now.y, now.keep(entering)

    def near(self, x: Array, y: Array, z: Array, slack: Array, tol: float) -> Solution | None:
        """The solution from an interior point with these slacks and the guess that rows with z > 0 bind; or None.

        Of the violated rows those enter that are hit first on the way from the interior point.
        """
        self.double()
        for _ in range(ACTIVE_ROUNDS):
            now = self._round(x, y, z, len(self.p.q) + EXTRA)
            if now is None or now.hopeless:
                return None
            if not now.wrong:
                return self._end(now, tol, [])
            meets = slack[now.violated] / (slack[now.violated] - now.room[now.violated])
            x, y, z = now.x, now.y, now.keep(now.violated[meets <= FIRST_MET * np.min(meets, initial=np.inf)])
        return None

    def _round(self, x: Array, y: Array, z: Array, most: int) -> _Round | None:
        """The minimum with the rows that have z > 0 as equalities; None if there are more than `most`."""
        p, active = self.p, np.flatnonzero(z > 0)
        if len(active) + len(p.b) > most:
            return None
        system = self.system(active)
        if system is None:
            return None
        x, both = _refine(p, system, x, np.concatenate([y, z[active]]), 1)
        y, binding = both[: len(p.b)], both[len(p.b) :]
        room = p.r - p.rows(x)
        room[active] = 0.0  # these rows hold as equalities: what is left is rounding, no violation
        sign = WRONG[system.L.dtype.char]
        violated = np.flatnonzero(room < -sign * (1.0 + np.abs(p.r)))
        return _Round(
            x=x,
            y=y,
            active=active,
            binding=binding,
            room=room,
            violated=violated,
            negative=int((binding < -sign * largest(binding)).sum()),
            system=system,
        )

    def _end(self, now: _Round, tol: float, history: list[float]) -> Solution | None:
        """The refined solution, if it satisfies the KKT conditions to tol."""
        p, z = self.p, np.zeros(len(self.p.r))
        x, both = _refine(p, now.system, now.x, np.concatenate([now.y, now.binding]), REFINEMENTS)
        z[now.active] = np.maximum(both[len(p.b) :], 0.0)
        at = measure(p, x, both[: len(p.b)], z)
        return (
            Solution(x=x, y=both[: len(p.b)], z=z, at=at, history=[*history[:-1], at.value])
            if at.optimality <= tol
            else None
        )


def _refine(p: Standard, system: Saddle, x: Array, y: Array, times: int) -> tuple[Array, Array]:
    """Iterative refinement of x and all multipliers with the factorised system, as long as it helps."""
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
