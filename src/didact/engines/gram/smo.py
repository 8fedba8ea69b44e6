r"""The dual of support vector machines by sequential minimal optimisation on working sets.

.. math:: \min_\alpha\ \tfrac12\,\beta^T K \beta + \sum_i p_i\alpha_i,\qquad \beta_r = \sum_{i:\,r_i=r} s_i\alpha_i,
    \qquad 0\le\alpha_i\le C_i,\quad \sum_i s_i\alpha_i\ \text{fixed}

Variable i belongs to row r_i with sign s_i = ±1: one for each row in classification (p = −1) and one-class machines
(p = 0), two in regression (p = ε ∓ y). With u = Kβ and f_i = u_{r_i} + s_i p_i, α is optimal if and only if

.. math:: \max_{i\ \text{may fall}} f_i - \min_{i\ \text{may rise}} f_i \le \mathrm{tol}

(a variable "may rise" if s_iα_i can grow). Repeat:

1. A working set: half of the last one, and the variables that violate the condition most.
2. Rows of the Gram matrix for it, by matrix products, from a cache where they are known.
3. Pairs inside the working set by second-order choice, compiled (`smo_loops.pairs`), until it is optimal to a tenth.
4. u += K Δβ, on all threads. Now and then rows whose variables all stay at a bound are left out (shrinking).

Rows are cached in float32 unless tol is small. At the end u is computed in float64 for all rows; what is not optimal
then goes on, with float64 rows. So the result is optimal for the kernel itself to tol, or says that it is not.

Platt (1999); Joachims (1999), Making large-scale SVM learning practical; Fan, Chen, Lin (2005), JMLR 6.
"""

import time
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from didact.core.backend import is_tensor
from didact.core.threads import blas_for
from didact.core.typing import AnyArray, Array
from didact.engines.gram.rows import GivenGram, GramRows, images
from didact.engines.gram.smo_loops import pairs
from didact.engines.gram.tuning import SHRINK_EVERY, SHRINK_SHARE, WORKING_SET
from didact.engines.loop.iterate import Report

SINGLE = 1e-5  # a tolerance for which float32 rows suffice at first, relative to the size of the kernel
SHARE_INSIDE = 0.1  # a working set is solved to this share of the violation outside
STEPS_EACH = 10  # steps for each variable of a working set, before Newton steps on all of them
LINGERING = 40  # working sets in a row after which a violation that stays the same is rounding
AT_ROUNDING = "as far as rounding allows"
FACES = 20  # Newton steps in a row, each of which ends at a bound; more if they cost fewer than
CHEAP = 1e9  # multiply–adds together
RIDGE = 1e-12  # of the mean of k(x, x): Gram matrices of few columns are singular


class Dual(NamedTuple):
    """The variables of a dual problem: rows r_i, signs s_i, linear terms p_i, bounds C_i, starting values α_i."""

    row: Array
    sign: Array
    linear: Array
    bound: Array
    start: Array


class Search(NamedTuple):
    """How a dual is solved: tolerance, steps at most (−1: no limit), seconds at most, cache in MB, shrinking."""

    tol: float = 1e-3
    max_iter: int = -1
    seconds: float = np.inf
    cache_size: float = 200.0
    shrinking: bool = True


class Solved(NamedTuple):
    """α, u = Kβ of all rows, the constant ρ (decision u − ρ), the violation left, steps made, and why it ended."""

    alpha: Array
    u: Array
    rho: float
    gap: float
    n_iter: int
    status: str

    @property
    def converged(self) -> bool:
        """Whether the violation is below the tolerance."""
        return self.status == "converged"


def solve_dual(kernel: Any, X: AnyArray, dual: Dual, how: Search, report: Report | None = None) -> Solved:
    """Minimise the dual on rows X seen through a kernel, or on a `GivenGram` matrix."""
    n = X.shape[0]
    alpha, deadline = dual.start.copy(), time.monotonic() + how.seconds
    u, steps, last = _images(kernel, X, coefficients(dual, alpha, n)), 0, np.inf
    dtype: Any = np.float32 if how.tol >= SINGLE and not isinstance(kernel, GivenGram) else np.float64
    while True:
        loop = _WorkingSets(kernel, X, dual, how, dtype, alpha, u, report, deadline, steps)
        status, steps = loop.run(), loop.steps
        u = _images(kernel, X, coefficients(dual, alpha, n))
        gap, rho = violation(dual, alpha, u)
        if gap <= how.tol:
            status = "converged"
        elif status == "converged" and gap >= last and dtype is np.float64:  # no better than before
            status = AT_ROUNDING
        elif status == "converged":
            status = ""
        if status:
            return Solved(alpha=alpha, u=u, rho=rho, gap=gap, n_iter=steps, status=status)
        if not loop.shrunk or gap >= last:
            dtype = np.float64
        last = gap


def coefficients(dual: Dual, alpha: Array, n: int) -> Array:
    """β: the signed sums of the variables of each row."""
    return np.bincount(dual.row, dual.sign * alpha, minlength=n)


def _images(kernel: Any, X: AnyArray, beta: Array) -> Array:
    """u = Kβ, from the rows that count alone, in float64 where the rows are."""
    used = np.flatnonzero(beta)
    if not len(used):
        return np.zeros(len(beta))
    if isinstance(kernel, GivenGram):
        return np.asarray(kernel.K[:, used] @ beta[used])
    return images(kernel, X, X[used.tolist()] if is_tensor(X) else X[used], beta[used])


def movable(dual: Dual, alpha: Array) -> tuple[Array, Array]:
    """Which variables may rise, and which may fall, in units of s_iα_i."""
    low, high = alpha > 0.0, alpha < dual.bound
    plus = dual.sign > 0
    return np.where(plus, high, low), np.where(plus, low, high)


def violation(dual: Dual, alpha: Array, u: Array) -> tuple[float, float]:
    """max f (may fall) − min f (may rise), and ρ: the mean f of free variables, or the middle of what is allowed."""
    f = u[dual.row] + dual.sign * dual.linear
    rise, fall = movable(dual, alpha)
    least, largest = f[rise].min(initial=np.inf), f[fall].max(initial=-np.inf)
    free = rise & fall
    ends = [float(v) for v in (least, largest) if np.isfinite(v)]
    rho = float(f[free].mean()) if free.any() else float(np.mean(ends)) if ends else 0.0
    return float(max(largest - least, 0.0)), rho


class _WorkingSets:
    """The loop over working sets for one precision; changes alpha in place."""

    def __init__(
        self, kernel: Any, X: AnyArray, dual: Dual, how: Search, dtype: Any, alpha: Array, u: Array,
        report: Report | None, deadline: float, steps: int,
    ):  # fmt: skip
        self.dual, self.how, self.alpha, self.report = dual, how, alpha, report
        self.deadline, self.steps = deadline, steps
        self.q = min(WORKING_SET, len(alpha))
        self.rows = GramRows(kernel, X, dtype, how.cache_size, self.q)
        self.u = u.copy()
        self.place = np.arange(X.shape[0])  # row -> position among the active ones
        self.variables = np.arange(len(alpha))  # active variables
        self.shrunk, self.gap, self.best, self.idle = False, np.inf, np.inf, 0

    def run(self) -> str:
        """Working sets until the active variables are optimal, or a limit is reached."""
        last = np.empty(0, np.int64)
        rounds = 0
        while True:
            v = self.variables
            f = self.u[self.place[self.dual.row[v]]] + self.dual.sign[v] * self.dual.linear[v]
            rise, fall = movable(self._some(v), self.alpha[v])
            low, high = f[rise].min(initial=np.inf), f[fall].max(initial=-np.inf)
            self.gap = max(high - low, 0.0)
            if self.report is not None and self.report(rounds, self.gap, None):
                return "stopped"
            if self.gap <= self.how.tol:
                return "converged"
            if self.idle > LINGERING:
                return AT_ROUNDING
            if 0 <= self.how.max_iter <= self.steps or time.monotonic() > self.deadline:
                return "iteration limit"
            rounds += 1
            if self.how.shrinking and rounds % SHRINK_EVERY == 0:
                self._shrink(f, rise, fall, low, high)
                if len(self.variables) < len(v):
                    last = last[np.isin(last, self.variables)]
                    continue
            last = self._solve(f, rise, fall, last)

    def _some(self, v: Array) -> Dual:
        d = self.dual
        return Dual(row=d.row[v], sign=d.sign[v], linear=d.linear[v], bound=d.bound[v], start=d.start[v])

    def _solve(self, f: Array, rise: Array, fall: Array, last: Array) -> Array:
        """Optimise a working set, and bring u up to date; returns the set, those that entered it last first."""
        v = self.variables
        chosen = working_set(f, rise, fall, np.searchsorted(v, last), self.q)
        these = v[chosen]
        d = self._some(these)
        rows = self.place[d.row]
        different, index = np.unique(rows, return_inverse=True)
        slots = self.rows.slots(different)
        K = self.rows.square(slots, different)
        K = K if len(different) == len(rows) and (index == np.arange(len(rows))).all() else K[np.ix_(index, index)]
        alpha, values = self.alpha[these], f[chosen].copy()
        limit = min(STEPS_EACH * self.q, limit_of(self.how, self.steps))
        share = SHARE_INSIDE if len(these) < len(v) else 0.0  # a set of all variables is solved at once
        goal = max(share * self.gap, 0.5 * self.how.tol)
        steps, left = pairs(K, alpha, d.sign, d.bound, values, goal, limit)
        self.steps += steps
        if left > goal:
            with blas_for(len(K)):
                newton_on_free(K, alpha, d.sign, d.bound, values)
        self.best, self.idle = (self.gap, 0) if self.gap < 0.9 * self.best else (self.best, self.idle + 1)
        change = np.bincount(index, d.sign * (alpha - self.alpha[these]), minlength=len(different))
        self.alpha[these] = alpha
        moved = np.flatnonzero(change)
        self.rows.add(slots[moved], change[moved], self.u)
        return these

    def _shrink(self, f: Array, rise: Array, fall: Array, low: float, high: float) -> None:
        """Leave out rows whose variables are all at a bound, and better there than anything that may move."""
        idle = (rise & ~fall & (f > high)) | (fall & ~rise & (f < low))
        position = self.place[self.dual.row[self.variables]]
        busy = np.bincount(position, ~idle, minlength=self.rows.n) > 0
        if busy.sum() > SHRINK_SHARE * self.rows.n or busy.sum() < self.q:
            return
        self.variables = self.variables[busy[position]]
        keep = np.flatnonzero(busy)
        self.rows = self.rows.some(keep, self.how.cache_size, self.q)
        number = np.full(len(busy), -1)
        number[keep] = np.arange(len(keep))
        active = self.place >= 0
        self.place[active] = number[self.place[active]]
        self.u = self.u[keep]
        self.shrunk = True


def limit_of(how: Search, steps: int) -> int:
    """How many steps may still be made."""
    return how.max_iter - steps if how.max_iter >= 0 else 1 << 62


def newton_on_free(K: Array, alpha: Array, sign: Array, bound: Array, f: Array) -> None:
    """Newton steps on the variables between their bounds, in place; where pairs creep, as on columns of unequal size.

    Each step minimises the objective over β of the free variables with Σ Δβ = 0, and goes as far as the first bound.
    """
    for step in range(len(alpha)):
        free = np.flatnonzero((alpha > 0.0) & (alpha < bound))
        if len(free) < 2 or step >= max(FACES, CHEAP / len(free) ** 3):
            return
        n = len(free)
        move = level_step(K[np.ix_(free, free)], f[free])
        way = sign[free] * move
        room = np.where(way > 0, bound[free] - alpha[free], alpha[free])
        share = np.divide(room, np.abs(way), out=np.full(n, np.inf), where=way != 0)
        t = min(1.0, float(share.min()))
        if not t * float(f[free] @ move) < 0.0:
            return
        alpha[free] += t * way
        ended = free[share <= t]
        alpha[ended] = np.where(way[share <= t] > 0, bound[ended], 0.0)
        f += K[:, free] @ (t * move)
        if t == 1.0:
            return


def level_step(K: Array, f: Array) -> Array:
    """The step with sum zero after which f is the same everywhere: −K⁻¹(f − ρ); zero if K has no such solution."""
    solved = lifted_solve(K, np.column_stack([f - f.mean(), np.ones(len(f))]))
    if solved is None:
        return np.zeros(len(f))
    move = solved[:, 1] * (solved[:, 0].sum() / solved[:, 1].sum()) - solved[:, 0]
    return np.asarray(move - move.mean())


def lifted_solve(K: Array, right: Array) -> Array | None:
    """K⁻¹ times a matrix, where K is lifted off singularity; None if it is not positive semidefinite even then."""
    M = K.copy()
    M.flat[:: len(M) + 1] += RIDGE * np.trace(K) / len(K)
    try:
        factor = linalg.cho_factor(M, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:  # the kernel is indefinite, or so nearly that rounding makes it so
        return None
    return np.asarray(linalg.cho_solve(factor, right, check_finite=False))


def working_set(f: Array, rise: Array, fall: Array, last: Array, q: int) -> Array:
    """Positions of q variables: up to half of them from the last set, and the worst violators on either side."""
    if len(f) <= q:
        return np.arange(len(f))
    taken = np.zeros(len(f), bool)
    kept = last[: q // 2] if len(last) > q // 2 else last
    taken[kept] = True
    room = q - len(kept)
    for may, values in ((rise, f), (fall, -f)):
        candidates = np.flatnonzero(may & ~taken)
        count = min(room // 2, len(candidates))
        if count:
            best = candidates[np.argpartition(values[candidates], count - 1)[:count]]
            taken[best] = True
    taken[kept] = False
    fresh = np.flatnonzero(taken)
    return np.concatenate([fresh, kept])
