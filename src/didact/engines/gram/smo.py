r"""The dual of support vector machines by sequential minimal optimisation on working sets.

.. math:: \min_\alpha\ \tfrac12\,\beta^T K \beta + \sum_i p_i\alpha_i,\qquad \beta_r = \sum_{i:\,r_i=r} s_i\alpha_i,
    \qquad 0\le\alpha_i\le C_i,\quad \sum_i s_i\alpha_i\ \text{fixed}

Variable i belongs to row r_i with sign s_i = ±1: one for each row in classification (p = −1) and one-class machines
(p = 0), two in regression (p = ε ∓ y). With u = Kβ and f_i = u_{r_i} + s_i p_i, α is optimal if and only if

.. math:: \max_{i\ \text{may fall}} f_i - \min_{i\ \text{may rise}} f_i \le \mathrm{tol}

(a variable "may rise" if s_iα_i can grow). Repeat:

1. A working set: half of the last one, and the variables that violate the condition most.
2. Rows of the Gram matrix for it, by matrix products, from a cache where they are known.
3. Pairs inside the working set by second-order choice, until it is optimal to a tenth.
4. u += K Δβ. Now and then rows whose variables all stay at a bound are left out (shrinking).

All of it is compiled (`smo_loops`): threads share 2 and 4, and stay in the loop from set to set.

Rows are cached in float32 unless tol is small. At the end u is computed in float64 for all rows; what is not optimal
then goes on, with float64 rows; where pairs make no progress, from an interior point (`leap`). So the result is
optimal for the kernel itself to tol, or says that it is not.

Platt (1999); Joachims (1999), Making large-scale SVM learning practical; Fan, Chen, Lin (2005), JMLR 6.
"""

import time
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from didact.core.backend import rows_at, to_numpy
from didact.core.jit.atomics import new_board
from didact.core.threads import blas_for, parallel_map, thread_count
from didact.core.threads.pool import refuse_abandoned
from didact.core.typing import AnyArray, Array
from didact.engines.constrained.low_rank_program import interior_point
from didact.engines.constrained.violation_loops import Variables
from didact.engines.gram.rows import MOST_RANK, GivenGram, GramRows, images, low_rank_features, not_finite, square_gram
from didact.engines.gram.smo_loops import (
    ADD_ROWS,
    CHOOSE,
    FILL,
    LINGERS,
    LOOK_AGAIN,
    NEWTON,
    NO_STEPS,
    OPTIMAL,
    SEARCH_FIELDS,
    SUM,
    WANTS_ROWS,
    WorkingSet,
    work_off,
)
from didact.engines.gram.tuning import LEAST_TILE, LOOK_SECONDS, MOST_TILE, SHRINK_EVERY, SHRINK_SHARE, WORKING_SET
from didact.engines.loop.iterate import Report
from didact.kernels.gaussian_loops import precision_of

SINGLE = 1e-5  # a tolerance for which float32 rows suffice at first, relative to the size of the kernel
NO_PROGRESS = "no further progress"
ENDS = {OPTIMAL: "converged", LINGERS: NO_PROGRESS, NO_STEPS: "iteration limit"}
FACES = 20  # Newton steps in a row, each of which ends at a bound; more if they cost fewer than
CHEAP = 1e9  # multiply–adds together
POLISHES = 3  # Newton steps after an interior point, each from exact values of u
RIDGE = 1e-12  # of the mean of k(x, x): Gram matrices of few columns are singular


class Dual(NamedTuple):
    """The variables of a dual problem: rows r_i, signs s_i, linear terms p_i, bounds C_i, starting values α_i."""

    row: Array
    sign: Array
    linear: Array
    bound: Array
    start: Array


class Search(NamedTuple):
    """How a dual is solved: tolerance, steps at most (−1: no limit), when to end, cache in MB, shrinking."""

    tol: float = 1e-3
    max_iter: int = -1
    deadline: float = np.inf  # as `time.monotonic` counts
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
    alpha = dual.start.copy()
    dtype: Any = np.float32 if how.tol >= SINGLE and not isinstance(kernel, GivenGram) else np.float64
    u, steps, last, creeps = _images(kernel, X, coefficients(dual, alpha, n), dtype), 0, np.inf, True
    while True:
        loop = _WorkingSets(kernel, X, dual, how, dtype, alpha, u, report, steps)
        status, steps = loop.run(), loop.steps
        u = _images(kernel, X, coefficients(dual, alpha, n))
        gap, rho = violation(dual, alpha, u)
        if gap <= how.tol:
            status = "converged"
        elif status == "converged" and gap >= last and dtype is np.float64:  # no better than before
            status = NO_PROGRESS
        elif status == "converged":
            status = ""
        if status == NO_PROGRESS and creeps:
            creeps = False
            nearer = leap(kernel, X, dual, how)
            if nearer is not None and nearer.gap < gap:
                alpha, u, gap, rho, dtype = nearer.alpha, nearer.u, nearer.gap, nearer.rho, np.float64
                status = "converged" if gap <= how.tol else ""
        if status:
            return Solved(alpha=alpha, u=u, rho=rho, gap=gap, n_iter=steps, status=status)
        if not loop.shrunk or gap >= last:
            dtype = np.float64
        last = gap


def leap(kernel: Any, X: AnyArray, dual: Dual, how: Search) -> Solved | None:
    """Where steps on pairs make no progress: an interior point, and Newton steps on the variables that it leaves free.

    None if the Gram matrix has a high rank.
    """
    alpha = interior_start(kernel, X, dual, how.deadline)
    if alpha is None:
        return None
    for step in range(POLISHES + 1):
        u = _images(kernel, X, coefficients(dual, alpha, X.shape[0]))
        gap, rho = violation(dual, alpha, u)
        free = np.flatnonzero((alpha > 0.0) & (alpha < dual.bound))
        if gap <= how.tol or step == POLISHES or len(free) > MOST_RANK:
            break
        rows = dual.row[free]
        some = None if isinstance(kernel, GivenGram) else rows_at(X, rows)
        K = kernel.K[np.ix_(rows, rows)] if some is None else square_gram(kernel, some)
        part, f = alpha[free], u[rows] + dual.sign[free] * dual.linear[free]
        newton_on_free(to_numpy(K), part, dual.sign[free], dual.bound[free], f)
        alpha[free] = part
    return Solved(alpha=alpha, u=u, rho=rho, gap=gap, n_iter=0, status="")


def interior_start(kernel: Any, X: AnyArray, dual: Any, deadline: float) -> Array | None:
    """α near the optimum, with the variables at their bounds that belong there; None if the rank is high.

    Features are centred, which changes nothing where Σ s_iα_i is fixed, but for a linear term. A variable is at a bound
    if its multiplier outweighs its curvature.
    """
    used = np.flatnonzero(dual.bound > 0.0)
    features = low_rank_features(kernel, X, len(used), deadline)
    if features is None:
        return None
    row, sign, bound = dual.row[used], dual.sign[used], dual.bound[used]
    level, mean = float(dual.sign @ dual.start), features.mean(axis=1, keepdims=True)
    features -= mean
    linear = dual.linear[used] + sign * (level * (mean.T @ features)[0])[row]
    A = np.vstack([features[:, row] * sign, sign])
    with blas_for(len(A)):
        end = interior_point(A, linear, bound, level, deadline)
    if end is None:
        return None
    curvature = np.maximum((A[:-1] ** 2).sum(axis=0), np.finfo(float).tiny)
    found = np.where(end.high < end.low, bound - end.high, end.low)
    found[end.at_low > curvature * end.low] = 0.0
    upper = end.at_high > curvature * end.high
    found[upper] = bound[upper]
    levelled = _levelled(found, sign, bound, level)
    if levelled is None:
        return None
    alpha = np.zeros(len(dual.bound))
    alpha[used] = levelled
    return alpha


def _levelled(alpha: Array, sign: Array, bound: Array, level: float) -> Array | None:
    """α with Σ s_iα_i as it was: what is missing is spread over the free variables by their room; None if more is."""
    missing, room = level - float(sign @ alpha), np.minimum(bound - alpha, alpha)
    share = abs(missing) / max(float(room.sum()), np.finfo(float).tiny)
    return alpha + np.sign(missing) * share * sign * room if share < 1.0 else None


def coefficients(dual: Dual, alpha: Array, n: int) -> Array:
    """β: the signed sums of the variables of each row."""
    return np.bincount(dual.row, dual.sign * alpha, minlength=n)


def _images(kernel: Any, X: AnyArray, beta: Array, dtype: Any = np.float64) -> Array:
    """u = Kβ, from the rows that count alone; values of the kernel in float64, or in float32 where that is quicker."""
    used = np.flatnonzero(beta)
    if not len(used):
        return np.zeros(len(beta))
    if isinstance(kernel, GivenGram):
        return np.asarray(kernel.K[:, used] @ beta[used])
    u = images(kernel, X, rows_at(X, used), beta[used], dtype, used)
    if not np.isfinite(u).all():
        raise not_finite(used)
    return u


def movable(dual: Any, alpha: Array) -> tuple[Array, Array]:
    """Which variables of a `Dual`, or of `Variables`, may rise, and which may fall, in units of s_iα_i."""
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
        report: Report | None, steps: int,
    ):  # fmt: skip
        self.how, self.alpha, self.report = how, alpha, report
        self.shrunk, self.looked, q = False, 0, min(WORKING_SET, len(alpha))
        self.rows = GramRows(kernel, X, dtype, how.cache_size, q)
        whole, real = (lambda: np.zeros(q, np.int64)), (lambda: np.zeros(q))
        self.chosen = WorkingSet(
            chosen=whole(), rows=whole(), slots=whole(), missing=whole(), sign=real(), bound=real(), alpha=real(),
            f=real(), K=np.zeros((q, q)), columns=np.zeros((self.rows.kept.right.shape[0], q), dtype),
            lines=np.zeros((5, q)), moved=whole(), weights=real(),
        )  # fmt: skip
        self.numbers = np.arange(len(alpha))  # of the active variables
        self.variables = Variables(
            row=dual.row.astype(np.int64), sign=dual.sign.copy(), linear=dual.linear.copy(), bound=dual.bound.copy(),
            alpha=alpha.copy(),
            f=np.empty(len(alpha)), keys=np.empty((2, len(alpha))), which=np.empty(len(alpha), np.int64),
            near=np.empty(len(alpha)), u=u.copy(),
        )  # fmt: skip
        self.now = np.zeros(1, SEARCH_FIELDS)
        self.now["most"] = how.max_iter if how.max_iter >= 0 else 1 << 62
        self.now["steps"], self.now["tol"], self.now["best"] = steps, how.tol, np.inf
        self.now["on_device"], self.now["open"] = self.rows.on_device, self.rows.opened(q, 0)

    @property
    def steps(self) -> int:
        """Steps on pairs."""
        return int(self.now["steps"][0])

    def run(self) -> str:
        """Working sets until the active variables are optimal, or a limit is reached."""
        begun, status = time.monotonic(), ""
        while not status:
            self._share()
            refuse_abandoned()
            wants = int(self.now["wants"][0])
            if wants in (WANTS_ROWS, NEWTON, SUM):
                self._serve(wants)
            elif self.report is not None and self.report(int(self.now["rounds"][0]), float(self.now["gap"][0]), None):
                status = "stopped"
            elif wants != LOOK_AGAIN:
                status = ENDS[wants]
            elif time.monotonic() > self.how.deadline:
                status = "time limit"
            else:
                begun = self._go_on(begun)
        self.alpha[self.numbers] = self.variables.alpha
        return status

    def _share(self) -> None:
        """Have threads go on until Python is wanted."""
        n, threads, kept = self.rows.n, thread_count(), self.rows.kept
        tile = int(np.clip(n // (2 * threads), LEAST_TILE, MOST_TILE))
        edges = np.linspace(0, n, -(-n // tile) + 1).astype(np.int64)
        tiles, precision = len(edges) - 1, precision_of(kept.table.dtype)
        board = new_board(tiles if self.now["phase"][0] in (FILL, ADD_ROWS) else 1)

        def work(_: int) -> None:
            q = len(self.chosen.rows)
            spare, members = np.empty((2, max(tile + 1, q)), kept.table.dtype), np.empty(q, np.int64)
            work_off(board, self.now, edges, self.variables, self.chosen, kept, precision, spare, members)

        parallel_map(work, range(1 if self.rows.on_device else min(threads, tiles)))

    def _serve(self, wants: int) -> None:
        """What loops cannot do."""
        size, chosen = int(self.now["size"][0]), self.chosen
        if wants == WANTS_ROWS:
            missing = chosen.missing[: int(self.now["missing"][0])]
            if len(missing):
                self.rows.fill(chosen.rows[missing], chosen.slots[missing])
            if self.rows.on_device:
                self.rows.collect(chosen, size)
        elif wants == NEWTON:
            with blas_for(size):
                K = np.ascontiguousarray(chosen.K[:size, :size])
                newton_on_free(K, chosen.alpha[:size], chosen.sign[:size], chosen.bound[:size], chosen.f[:size])
        else:
            moved = int(self.now["moved"][0])
            self.rows.add(chosen.moved[:moved], chosen.weights[:moved], self.variables.u)
            self.now["phase"] = CHOOSE

    def _go_on(self, begun: float) -> float:
        """Leave out rows if it is time for that, and say how many sets may come before Python looks again."""
        now, rounds = time.monotonic(), int(self.now["rounds"][0])
        if self.how.shrinking and rounds and rounds % SHRINK_EVERY == 0:
            self._shrink()
        share = LOOK_SECONDS / max(now - begun, 1e-6)
        soon = max(int(share * (rounds - self.looked)), 1)
        self.now["sets"], self.looked = min(SHRINK_EVERY - rounds % SHRINK_EVERY, soon), rounds
        return now

    def _shrink(self) -> None:
        """Leave out rows whose variables are all at a bound, and better there than anything that may move."""
        v, f = self.variables, self.variables.f
        rise, fall = movable(v, v.alpha)
        idle = (rise & ~fall & (f > self.now["high"][0])) | (fall & ~rise & (f < self.now["low"][0]))
        busy = np.bincount(v.row, ~idle, minlength=self.rows.n) > 0
        if busy.sum() > SHRINK_SHARE * self.rows.n or busy.sum() < len(self.chosen.rows):
            return
        stay, keep = busy[v.row], np.flatnonzero(busy)
        self.alpha[self.numbers] = v.alpha
        last = self.chosen.chosen[: int(self.now["last"][0])]
        last = (np.cumsum(stay) - 1)[last[stay[last]]]
        self.chosen.chosen[: len(last)], self.now["last"] = last, len(last)
        self.numbers = self.numbers[stay]
        touched, q = int(self.now["open"][0]) * self.rows.n, len(self.chosen.rows)
        self.rows = self.rows.some(keep, self.how.cache_size, q)
        self.now["hand"], self.now["open"] = 0, self.rows.opened(q, touched)
        parts = {name: getattr(v, name)[..., stay] for name in v._fields if name not in ("row", "u")}
        self.variables = Variables(row=(np.cumsum(busy) - 1)[v.row[stay]], u=v.u[keep], **parts)
        self.shrunk = True


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
