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

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy import linalg

from didact.core.backend import is_sparse, row_weights, to_numpy
from didact.core.overflow import Largest, largest_entries, largest_target
from didact.core.rows import Block, Rows
from didact.core.threads import blas_for, parallel_map, stable_order
from didact.core.typing import Array
from didact.engines.constrained.tuning import MOST_PIECES, PIECE_NUMBERS
from didact.engines.loop.iterate import Report, iterate
from didact.engines.loop.result import Result
from didact.engines.smooth.newton import newton_direction
from didact.parts.statistics.moments import Sums, gram

SHORT = 0.9995  # share of the way to the boundary that a step goes
NEGLIGIBLE = 1e-30  # strength of a penalty, relative to a mean loss of about 1, that counts as none
SETTLED = 1e-9  # relative gap below which a lack of progress counts as convergence: rounding allows no better
CONSTANT = 1e-13  # spread of a column, relative to its size, up to which it counts as constant
FLOOR = 1e-14  # gap, relative to the size of y, that rounding leaves


class Table(NamedTuple):
    """Rows of positive weight as (Z, y, w): columns scaled to about 1 (dense ones also centred), a constant last."""

    rows: Any  # Rows, or blocks kept in memory
    fit_intercept: bool
    centre: Array
    units: Array
    target_unit: float
    weight: float
    varies: Array  # whether a column differs from its centre by more than rounding

    @classmethod
    def of(cls, rows: Rows, fit_intercept: bool) -> "Table":
        """Units, means and spreads of the columns, from one pass each."""
        counted = rows.prepared(_with_weight)
        units = _powers(counted.reduce(largest_entries).sizes)
        target_unit = float(_powers(counted.reduce(largest_target).sizes)[0])
        weight, sums, sparse = counted.reduce(_weighted_sums, units).parts
        centre = sums / weight * (fit_intercept and not sparse)
        varies = counted.reduce(_spreads, units, centre).sizes > CONSTANT
        table = cls(counted, fit_intercept, centre, units, target_unit, weight, varies)
        return table._replace(rows=_Kept(_pieces(*next(table.blocks())))) if counted.n_rows is not None else table

    @property
    def width(self) -> int:
        """The number of parameters."""
        return len(self.units) + self.fit_intercept

    def blocks(self) -> Iterator[tuple[Any, Array, Array]]:
        """The blocks (Z, y, w) of one pass over the rows."""
        if isinstance(self.rows, _Kept):
            yield from self.rows.blocks
            return
        for X, y, w, *_ in self.rows.stream():
            Z, t = _divided(X, self.units), np.asarray(to_numpy(y), np.float64) / self.target_unit
            each = row_weights(w, len(t)) / self.weight
            ones = np.ones((len(t), int(self.fit_intercept)))
            if is_sparse(Z):
                yield sp.hstack([Z, sp.csr_array(ones)], format="csr"), t, each
            else:
                yield np.hstack([(Z - self.centre) * self.varies, ones]), t, each

    def product(self, b: Array) -> Array:
        """Zb."""
        return np.concatenate(self._each(lambda Z, rows: Z @ b))

    def transposed(self, v: Array, h: Array | None = None) -> tuple[Array, Any]:
        """Zᵀv, and Zᵀdiag(h)Z if h is given."""
        parts = self._each(lambda Z, rows: (Z.T @ v[rows], None if h is None else gram(Z, h[rows])))
        return sum(out for out, _ in parts), None if h is None else sum(G for _, G in parts)

    def _each(self, fn: Callable[[Any, slice], Any]) -> list[Any]:
        """fn(Z, numbers of its rows) of each block; of blocks in memory on the library's threads."""
        if not isinstance(self.rows, _Kept):
            stop = 0
            return [fn(Z, slice(stop, stop := stop + len(y))) for Z, y, _ in self.blocks()]
        stops = np.cumsum([len(y) for _, y, _ in self.rows.blocks]).tolist()
        pieces = zip(self.rows.blocks, pairwise([0, *stops]), strict=True)
        return parallel_map(lambda piece: fn(piece[0][0], slice(*piece[1])), pieces)

    def chosen(self, index: Array) -> Array:
        """The rows of Z with these (sorted) numbers, dense."""
        found, start = [], 0
        for Z, y, _ in self.blocks():
            here = index[(index >= start) & (index < start + len(y))] - start
            found.append(Z[here].toarray() if is_sparse(Z) else Z[here])
            start += len(y)
        return np.concatenate(found)

    def original(self, b: Array) -> Array:
        """Coefficients in the units of X and y, the constant term last."""
        coef = b[: len(self.units)] / self.units * self.target_unit
        if not self.fit_intercept:
            return coef
        return np.append(coef, (b[-1] - self.centre @ b[:-1]) * self.target_unit)


class _Kept(NamedTuple):
    """Blocks that stay in memory between passes."""

    blocks: list[tuple[Any, Array, Array]]


def _pieces(Z: Any, y: Array, w: Array) -> list[tuple[Any, Array, Array]]:
    """A block as several ones."""
    numbers = Z.nnz if is_sparse(Z) else Z.size
    edges = np.linspace(0, len(y), min(numbers // PIECE_NUMBERS + 1, MOST_PIECES, len(y)) + 1).astype(int)
    return [(Z[a:b], y[a:b], w[a:b]) for a, b in pairwise(edges.tolist())]


def _powers(sizes: Array) -> Array:
    """Powers of two of about these sizes."""
    return 2.0 ** np.floor(np.log2(np.where(sizes > 0, sizes, 1.0)))


def _with_weight(block: Block) -> Block:
    """A block without its rows of weight zero."""
    if block.weight is None:
        return block
    keep = np.flatnonzero(to_numpy(block.weight) > 0)
    return block.each(lambda column: column[keep])


def _divided(X: Any, units: Array) -> Any:
    if not is_sparse(X):
        return np.asarray(to_numpy(X), np.float64) / units
    return sp.csr_array((X.data / units[X.indices], X.indices, X.indptr), shape=X.shape)


def _spreads(block: Block, units: Array, centre: Array) -> Largest:
    """The largest distance of each column from its centre, in these units."""
    X = block.X
    return largest_entries(Block(_divided(X, units) - centre)) if not is_sparse(X) else Largest(np.ones(X.shape[1]))


def _weighted_sums(block: Block, units: Array) -> Sums:
    """Σw, Σwx in these units, and the number of sparse blocks."""
    X, w = block.X, block.weight
    each = row_weights(w, X.shape[0])
    return Sums((float(each.sum()), np.asarray(each @ _divided(X, units)), int(is_sparse(X))))


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

    @property
    def x(self) -> Array:
        """Coefficients in the units of X."""
        return self.table.original(self.b)

    @property
    def value(self) -> float:
        """The mean loss with its penalty."""
        return self.table.target_unit * _loss(self.r, self.u, self.l)

    @property
    def gap(self) -> float:
        """The duality gap: a bound of how far the value is above the minimum."""
        return float(self.p @ (self.u - self.d) + self.q @ (self.l + self.d))

    @property
    def activity(self) -> Array:
        """h: large for rows that the fit passes through, small for others."""
        return 1.0 / (self.p / (self.u - self.d) + self.q / (self.l + self.d))

    @property
    def optimality(self) -> float:
        """The gap relative to the loss."""
        return max(self.gap - self.floor, 0.0) / max(_loss(self.r, self.u, self.l), self.floor, 1e-300)


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
    off = np.abs(_transposed(end, end.d)[0])
    off = np.maximum(off - FLOOR * float(np.abs(end.d).sum()), 0.0)  # entries of Z are below 2
    return float(off @ np.abs(end.b)) / max(_loss(end.r, end.u, end.l), end.floor, 1e-300)


def _start(table: Table, quantile: float, alpha: float) -> _Point:
    """A feasible start: least squares or a constant for b, whichever has the lower loss, and d = 0."""
    y, w = (np.concatenate(parts) for parts in zip(*((y, w) for _, y, w in table.blocks()), strict=True))
    strength = alpha / table.units
    penalised = np.flatnonzero(strength > NEGLIGIBLE)
    u = np.concatenate([quantile * w, strength[penalised]])
    l = np.concatenate([(1.0 - quantile) * w, strength[penalised]])  # noqa: E741
    c, G = table.transposed(w * y, w)
    y = np.append(y, np.zeros(len(penalised)))
    constant = np.zeros(table.width)
    constant[len(table.units) :] = y[: len(w)] @ w
    starts = [(b, y - _product(table, penalised, b)) for b in (newton_direction(G, -c), constant)]
    b, r = min(starts, key=lambda start: _loss(start[1], u, l))
    # p and q start well inside, about a mean residual above their least values.
    size = float(np.abs(y[: len(w)]) @ w)
    spread = max(float(np.abs(r[: len(w)]) @ w), 1e-10 * size, 1e-100)
    p, q = np.maximum(r, 0.0) + spread, np.maximum(-r, 0.0) + spread
    return _Point(
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
    )


def _product(table: Table, penalised: Array, b: Array) -> Array:
    return np.concatenate([table.product(b), b[penalised]])


def _transposed(now: _Point, v: Array, h: Array | None = None) -> tuple[Array, Any]:
    n = len(v) - len(now.penalised)
    out, G = now.table.transposed(v[:n], None if h is None else h[:n])
    out[now.penalised] += v[n:]
    if h is not None:
        G[now.penalised, now.penalised] += h[n:]
    return out, G


def _step(now: _Point) -> _Point | None:
    """One predictor–corrector step: Newton's, then one with second-order terms and centring; None if no gap falls."""
    s, t = now.u - now.d, now.l + now.d
    h = now.activity
    c, G = _transposed(now, h * now.r + now.d, h)
    guess = _direction(now, s, t, h, G, c, now.r)
    if guess is None:
        return None
    _, dp, dq, dd = guess
    a, e = _room((now.p, dp), (now.q, dq)), _room((s, -dd), (t, dd))
    # Centring: the further the predictor reduces the mean gap, the smaller the μ that the corrector aims at.
    middle = now.gap / (2 * len(h))
    after = float((now.p + a * dp) @ (s - e * dd) + (now.q + a * dq) @ (t + e * dd)) / (2 * len(h))
    mu = middle * min(max(after / middle, 0.0), 1.0) ** 3 if middle > 0 else 0.0
    above, below = (mu + dp * dd) / s, (mu - dq * dd) / t
    g = now.r - above + below
    final = _direction(now, s, t, h, G, _transposed(now, h * g + now.d)[0], g, above, below)
    if final is None:
        return None
    db, dp, dq, dd = final
    steps = SHORT * _room((now.p, dp), (now.q, dq)), SHORT * _room((s, -dd), (t, dd))
    fit, change = _product(now.table, now.penalised, np.column_stack([now.b, db])).T
    for a, e in (steps, (min(steps), min(steps))):  # equal steps are certain to lower the gap, except for rounding
        b, r = now.b + a * db, now.y - (fit + a * change)
        new = now._replace(b=b, r=r, p=now.p + a * dp, q=now.q + a * dq, d=now.d + e * dd)
        if new.gap < now.gap:
            return new
    return None


def _direction(
    now: _Point, s: Array, t: Array, h: Array, G: Array, c: Array, g: Array, above: Any = 0.0, below: Any = 0.0
) -> tuple[Array, Array, Array, Array] | None:
    """Changes of b, p, q and d; `above` and `below` are the targets of p and q: μ/s and μ/t with their corrections."""
    db = _solve(G, c)
    if not np.isfinite(db).all():
        return None
    dd = h * (g - _product(now.table, now.penalised, db))
    return db, above - now.p + now.p / s * dd, below - now.q - now.q / t * dd, dd


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


def _room(*pairs: tuple[Array, Array]) -> float:
    """The longest step, at most 1/SHORT, that keeps all numbers positive."""
    return 1.0 / max(float(np.fmax.reduce(-dx / x, initial=SHORT)) for x, dx in pairs)


def _vertex(end: _Point) -> _Point | None:
    """The fit through as many of the rows with the largest h as there are parameters, if it exists and is no worse."""
    h, n = end.activity, len(end.y) - len(end.penalised)
    columns = np.flatnonzero(np.append(end.table.varies, np.ones(end.table.width - len(end.table.varies), bool)))
    k = len(columns)
    if not np.isfinite(h).all():
        return None
    index = np.sort(stable_order(-h)[: 3 * end.table.width])
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
        lowest = _lowest_constant(r[:n], end.u[:n], end.l[:n])
        b[-1] += lowest
        r[:n] -= lowest
    worse = _loss(r, end.u, end.l) - _loss(end.r, end.u, end.l)
    if not worse <= end.floor:
        return None
    return end._replace(b=b, r=r, p=np.maximum(r, 0.0), q=np.maximum(-r, 0.0))


def _lowest_constant(r: Array, u: Array, l: Array) -> float:  # noqa: E741
    """The smallest optimal constant for these residuals: of several quantiles the lowest, for any order of the rows."""
    order = stable_order(r)
    below = np.cumsum((u + l)[order])  # weight of rows up to each
    share = float(u.sum() / below[-1]) * (1.0 - 1e-12)
    return float(r[order[min(int(np.searchsorted(below, share * below[-1])), len(r) - 1)]])
