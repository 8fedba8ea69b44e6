r"""Linear quantile regression as a linear program, by an interior-point method in passes over the rows.

.. math:: \min_b \sum_i u_i r_i^+ + l_i r_i^-,\; r = y - Zb \qquad
          \max_d\; y^Td \quad\text{such that}\quad Z^Td = 0,\; -l \le d \le u

are dual to each other. With :math:`p - q = r`, s = u − d and t = l + d the central path ps = qt = μ → 0 is followed by
Newton's method (Frisch–Newton) with Mehrotra's second-order correction. Each iteration solves
:math:`(Z^T\mathrm{diag}(h)Z)\,\Delta b = Z^T(hg + d)` with :math:`1/h = p/s + q/t`: four passes, one of them of n k²
operations. The duality gap bounds the distance from the optimum. If the solution is a single vertex, the k rows with
the largest h lie on it, and the fit through them is taken if it is no worse. An L1 penalty is one more row for each
coefficient: α|b_j| is the loss of a row with x = e_j, y = 0 and u = l = α.

Koenker, Portnoy (1997), The Gaussian hare and the Laplacian tortoise, doi:10.1214/ss/1030037960; Mehrotra (1992), On
the implementation of a primal-dual interior point method, doi:10.1137/0802028.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from didact.core.rows import Rows
from didact.core.threads import blas_for, parallel_map
from didact.core.typing import Array
from didact.engines.constrained import quantile_loops
from didact.engines.constrained.quantile_table import Table, times_transposed
from didact.engines.constrained.tuning import STEP_ROWS
from didact.engines.loop.iterate import Report, iterate
from didact.engines.loop.result import Result
from didact.engines.smooth.newton import newton_direction

SHORT = 0.9995  # share of the way to the boundary that a step goes
NEGLIGIBLE = 1e-30  # strength of a penalty, relative to a mean loss of about 1, that counts as none
SETTLED = 1e-9  # relative gap below which a lack of progress counts as convergence: rounding allows no better
SOME_RESIDUALS = 1024  # of which a quantile is near that of all of them
FLOOR = 1e-14  # gap, relative to the size of y, that rounding leaves


class _Point(NamedTuple):
    """An interior point: p − q = r = y − Zb, and −l < d < u; entries of penalised coefficients come after the rows."""

    b: Array
    r: Array
    p: Array
    q: Array
    d: Array
    u: Array
    l: Array  # noqa: E741 - the lower slope, as in the formula
    table: Table
    penalised: Array  # coefficients with a penalty
    y: Array
    floor: float  # gap that rounding leaves
    gap: float  # the duality gap: a bound of how far the loss is above the minimum
    loss: float  # with its penalty, in units of y

    @property
    def x(self) -> Array:
        """Coefficients in the units of X."""
        return self.table.original(self.b)

    @property
    def value(self) -> float:
        """The mean loss with its penalty."""
        return self.table.target_unit * self.loss

    @property
    def inside(self) -> tuple[Array, ...]:
        """What says how far the point is from the boundary."""
        return self.p, self.q, self.d, self.u, self.l

    @property
    def activity(self) -> Array:
        """h: large for rows that the fit passes through, small for others."""
        return 1.0 / (self.p / (self.u - self.d) + self.q / (self.l + self.d))

    @property
    def optimality(self) -> float:
        """The gap relative to the loss."""
        return max(self.gap - self.floor, 0.0) / max(self.loss, self.floor, 1e-300)


def _loss(r: Array, u: Array, l: Array) -> float:  # noqa: E741
    return float(np.maximum(u * r, -l * r).sum())


def quantile_program(
    rows: Rows,
    quantile: float,
    alpha: float,
    fit_intercept: bool,
    tol: float = 1e-12,
    max_iter: int = 200,
    report: Report | None = None,
) -> Result:
    """Minimise the mean pinball loss of rows (X, y, w) plus α‖b‖₁; x holds coefficients and, last, the constant."""
    table = Table.of(rows, fit_intercept)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"), blas_for(table.width):
        end = _start(table, quantile, alpha)

        def step(now: _Point) -> _Point | None:
            nonlocal end
            new = _step(now)
            end = now if new is None else new
            return new

        result = iterate(end, step, tol, max_iter, report)
        vertex = _vertex(end)
    if vertex is not None:
        result.x, result.value, result.optimality = vertex.x, vertex.value, vertex.optimality
    result.optimality = max(result.optimality, _infeasibility(end))
    if result.status in ("no progress", "converged"):
        result.status = "converged" if result.optimality <= max(tol, SETTLED) else "no progress"
    return result


def _infeasibility(end: _Point) -> float:
    """A bound of what Zᵀd ≠ 0, beyond rounding, adds to the gap, relative to the loss."""
    off = np.abs(_sums(end.table.each(lambda Z, k: times_transposed(Z, end.d[k]), end.penalised))[0])
    off = np.maximum(off - FLOOR * float(np.abs(end.d).sum()), 0.0)  # entries of Z are below 2
    return float(off @ np.abs(end.b)) / max(end.loss, end.floor, 1e-300)


def _start(table: Table, quantile: float, alpha: float) -> _Point:
    """A feasible start: least squares or a constant for b, whichever has the lower loss, and d = 0."""
    y, w = (np.concatenate(parts) for parts in zip(*((y, w) for _, y, w in table.blocks()), strict=True))
    strength = alpha / table.units
    penalised = np.flatnonzero(strength > NEGLIGIBLE)
    u = np.concatenate([quantile * w, strength[penalised]])
    l = np.concatenate([(1.0 - quantile) * w, strength[penalised]])  # noqa: E741
    c, G = _sums(table.each(lambda Z, k: times_transposed(Z, (w * y)[k], w[k]), penalised[:0]))
    y = np.append(y, np.zeros(len(penalised)))
    constant = np.zeros(table.width)
    constant[len(table.units) :] = y[: len(w)] @ w
    starts = [(b, y - _product(table, penalised, b)) for b in (newton_direction(G, -c), constant)]
    b, r = min(starts, key=lambda start: _loss(start[1], u, l))
    # p and q start well inside, about a mean residual above their least values.
    size = float(np.abs(y[: len(w)]) @ w)
    spread = max(float(np.abs(r[: len(w)]) @ w), 1e-10 * size, 1e-100)
    p, q = np.maximum(r, 0.0) + spread, np.maximum(-r, 0.0) + spread
    return _measured(
        _Point(
            b=b,
            r=r,
            p=p,
            q=q,
            d=np.zeros(len(r)),
            u=u,
            l=l,
            table=table,
            penalised=penalised,
            y=y,
            floor=FLOOR * max(size, spread),
            gap=0.0,
            loss=0.0,
        )
    )


def _measured(now: _Point) -> _Point:
    """The point with its gap and loss."""
    gap = float(now.p @ (now.u - now.d) + now.q @ (now.l + now.d))
    return now._replace(gap=gap, loss=_loss(now.r, now.u, now.l))


def _product(table: Table, penalised: Array, b: Array) -> Array:
    return np.concatenate(table.each(lambda Z, k: Z @ b, penalised))


def _sums(parts: list[Any]) -> Any:
    """Sums over the pieces of each thing that a pass returns; None stays."""
    return tuple(None if column[0] is None else sum(column) for column in zip(*parts, strict=True))


class _Change(NamedTuple):
    """What a step needs beside the point, for all rows: each pass writes its rows while they are in the cache."""

    h: Array
    dp: Array
    dq: Array
    dd: Array
    above: Array  # the targets of p and q: μ/s and μ/t with their corrections
    below: Array
    fit: Array  # Zb
    along: Array  # Z·Δb


def _step(now: _Point) -> _Point | None:
    """One predictor–corrector step: Newton's, then one with second-order terms and centring; None if no gap falls."""
    to = _Change(*np.empty((len(_Change._fields), len(now.y))))

    def pass_over(fn: Any, *more: Any) -> list[Any]:
        return now.table.each(lambda Z, k: fn(now, to, Z, k, *more), now.penalised)

    c, G = _sums(pass_over(_weigh))
    db = _solve(G, c)
    if not np.isfinite(db).all():
        return None
    found = pass_over(_predict, db)
    a, e = (1.0 / max(float(f[k]) for f in found) for k in range(2))
    # Centring: the further the predictor reduces the mean gap, the smaller the μ that the corrector aims at.
    after = float(sum(f[2] for f in found) @ np.array([1.0, a, e, a * e]))
    mu = now.gap / (2 * len(now.y)) * min(max(after / now.gap, 0.0), 1.0) ** 3 if now.gap > 0 else 0.0
    db = _solve(G, sum(pass_over(_correct, mu)))
    if not np.isfinite(db).all():
        return None
    found = pass_over(_direct, db)
    steps = tuple(SHORT / max(float(f[k]) for f in found) for k in range(2))
    for lengths in (steps, (min(steps), min(steps))):  # equal steps are certain to lower the gap, except for rounding
        new = _moved(now, to, db, *lengths)
        if new.gap < now.gap:
            return new
    return None


def _at(rows: slice, *vectors: Array) -> list[Any]:
    """Some rows of vectors that have an entry for each."""
    return [v[rows] for v in vectors]


def _weigh(now: _Point, to: _Change, Z: Any, k: slice) -> Any:
    """Zᵀ(hr + d) and ZᵀhZ."""
    h, v = to.h[k], np.empty(k.stop - k.start)
    quantile_loops.weights(h, v, *_at(k, now.r, *now.inside))
    return times_transposed(Z, v, h)


def _predict(now: _Point, to: _Change, Z: Any, k: slice, db: Array) -> Any:
    """Newton's step: what limits it, and the sums of which the gap after steps of any lengths a and e is made."""
    vectors = _at(k, now.r, *now.inside, to.h, to.dp, to.dq, to.dd)
    primal, dual, *sums = quantile_loops.predictor(SHORT, Z @ db, *vectors)
    return primal, dual, np.array(sums)


def _correct(now: _Point, to: _Change, Z: Any, k: slice, mu: float) -> Array:
    """The targets with second-order terms, and Zᵀ(hg + d)."""
    v = np.empty(k.stop - k.start)
    quantile_loops.targets(mu, v, *_at(k, now.r, now.d, now.u, now.l, *to[:6]))
    return times_transposed(Z, v)[0]


def _direct(now: _Point, to: _Change, Z: Any, k: slice, db: Array) -> tuple[float, float]:
    """The step to those targets, and what limits it."""
    to.fit[k], to.along[k] = Z @ now.b, Z @ db
    return quantile_loops.corrector(SHORT, to.along[k], *_at(k, now.r, *now.inside, *to[:6]))


def _moved(now: _Point, to: _Change, db: Array, a: float, e: float) -> _Point:
    """The point after steps of lengths a and e."""
    r, p, q, d = np.empty((4, len(now.y)))

    def move(begin: int, end: int) -> tuple[float, float]:
        vectors = now.y, *now.inside, to.fit, to.along, to.dp, to.dq, to.dd, r, p, q, d
        return quantile_loops.take_step(a, e, *_at(slice(begin, end), *vectors))

    edges = np.linspace(0, len(now.y), len(now.y) // STEP_ROWS + 2).astype(int).tolist()
    gap, loss = _sums(parallel_map(lambda edge: move(*edge), list(pairwise(edges))))
    return now._replace(b=now.b + a * db, r=r, p=p, q=q, d=d, gap=gap, loss=loss)


def _solve(G: Array, c: Array) -> Array:
    """G⁻¹c by Cholesky even if ill-conditioned (rows far from the fit do no harm); of least norm if singular."""
    scale = np.sqrt(np.maximum(np.diag(G), np.finfo(float).tiny))
    scaled = G / scale[:, None] / scale
    if not np.isfinite(scaled).all():
        return np.full_like(c, np.nan)
    factor, failed = linalg.lapack.dpotrf(scaled, lower=1)
    if failed or np.min(np.diag(factor)) < 1e-7:  # its square is the share of a column that the others do not explain
        return newton_direction(G, -c)
    x = linalg.cho_solve((factor, True), c / scale, check_finite=False)
    x += linalg.cho_solve((factor, True), c / scale - scaled @ x, check_finite=False)
    return x / scale


def _vertex(end: _Point) -> _Point | None:
    """The fit through as many of the rows with the largest h as there are parameters, if it exists and is no worse."""
    h, n = end.activity, len(end.y) - len(end.penalised)
    columns = np.flatnonzero(np.append(end.table.varies, np.ones(end.table.width - len(end.table.varies), bool)))
    k = len(columns)
    if not np.isfinite(h).all():
        return None
    index = _largest(h, 3 * end.table.width)
    inside = index < n
    unit = np.eye(end.table.width)[end.penalised[index[~inside] - n]]
    M = np.concatenate([end.table.chosen(index[inside]), unit])[:, columns]
    # Pivoted QR chooses independent rows, those with large h first.
    R, order = linalg.qr((M * np.sqrt(h[index] / h.max())[:, None]).T, mode="r", pivoting=True)
    order = order[:k]
    if len(M) < k or R[k - 1, k - 1] == 0 or np.linalg.cond(M[order]) > 1e12:
        return None
    zero = end.penalised[index[order[~inside[order]]] - n]  # these coefficients are exactly 0
    free, through = ~np.isin(columns, zero), order[inside[order]]
    b = np.zeros(end.table.width)
    b[columns[free]] = np.linalg.solve(M[np.ix_(through, np.flatnonzero(free))], end.y[index[through]])
    r = end.y - _product(end.table, end.penalised, b)
    r[index[order]] = 0.0
    if end.table.fit_intercept:
        lowest = lowest_constant(r[:n], end.u[:n], end.l[:n])
        b[-1] += lowest
        r[:n] -= lowest
    worse = _loss(r, end.u, end.l) - end.loss
    if not worse <= end.floor:
        return None
    return _measured(end._replace(b=b, r=r, p=np.maximum(r, 0.0), q=np.maximum(-r, 0.0)))


def _largest(h: Array, count: int) -> Array:
    """The numbers of the largest entries, in order; of equal ones the first."""
    if count < len(h):
        near = np.flatnonzero(h >= np.partition(h, len(h) - count)[len(h) - count])
        return np.sort(near[np.argsort(-h[near], kind="stable")[:count]])
    return np.arange(len(h))


def lowest_constant(r: Array, u: Array, l: Array) -> float:  # noqa: E741
    """The smallest optimal constant for these residuals: of several quantiles the lowest, for any order of the rows."""
    share = float(u.sum() / (u.sum() + l.sum())) * (1.0 - 1e-12)
    some = np.sort(r[:: max(len(r) // SOME_RESIDUALS, 1)])
    place, near = int(share * len(some)), len(some) // 16 + 1
    bottom = some[place - near] if place >= near else -np.inf
    top = some[place + near] if place + near < len(some) else np.inf
    weight = u + l
    below, inside = float(weight[r < bottom].sum()), np.flatnonzero((r >= bottom) & (r <= top))
    reached = share * float(weight.sum())
    if not below < reached <= below + float(weight[inside].sum()):
        below, inside = 0.0, np.arange(len(r))
    order = inside[np.argsort(r[inside], kind="stable")]
    up_to = below + np.cumsum(weight[order])  # weight of rows up to each
    return float(r[order[min(int(np.searchsorted(up_to, reached)), len(order) - 1)]])
