r"""Non-negative factors of rows by coordinate descent: :math:`X \approx WH` with :math:`W, H \ge 0`.

.. math:: \min_{W, H\ge0}\ \tfrac12\sum_i\omega_i\|x_i - w_iH\|^2 + \sum_i\omega_i\big(\lambda_1\|w_i\|_1 +
    \tfrac12\lambda_2\|w_i\|^2\big) + \mu_1\|H\|_1 + \tfrac12\mu_2\|H\|^2

Rows of W do not depend on each other given H, nor columns of H given :math:`W^TX` and :math:`W^TW`. Every step of a
coordinate goes to its minimum, so the objective never rises. Dense rows are passed once an iteration
(`nonnegative_loops`), sparse ones by rows and by columns, rows that are fewer than the parts by their residuals
(`residual_loops`); tensors by array functions on their device.
Rows that are not in memory have no W that could be kept: each pass finds it anew, to its minimum, from H alone.

Cichocki, Phan (2009), Fast local algorithms for large scale nonnegative matrix and tensor factorizations,
doi:10.1587/transfun.E92.A.708.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import is_sparse, is_tensor, like, namespace, small_product, to_host
from didact.core.rows import Block, Rows
from didact.core.typing import Array
from didact.engines.factors.nonnegative_loops import (
    DenseSteps,
    solve_rows,
    sparse_buffers,
    sparse_products,
    sparse_step,
)
from didact.engines.factors.residual_loops import ResidualSteps
from didact.engines.loop.iterate import Report, iterate
from didact.engines.loop.result import Result

CLOSER = 1e-2  # tolerance for W of rows that are not in memory, relative to that of the whole


class Penalties(NamedTuple):
    """λ₁, λ₂ of each row of W, and μ₁, μ₂ of H."""

    l1_w: float = 0.0
    l2_w: float = 0.0
    l1_h: float = 0.0
    l2_h: float = 0.0

    def value(self, W_sum: float, W_squares: float, H: Any) -> float:
        """What they add to the objective."""
        total = self.l1_w * W_sum + 0.5 * self.l2_w * W_squares
        total += self.l1_h * float(H.sum()) if self.l1_h else 0.0
        return total + (0.5 * self.l2_h * float((H * H).sum()) if self.l2_h else 0.0)


class FactorState(NamedTuple):
    """Both factors, which the next step overwrites, the objective, and the slopes relative to the first."""

    x: tuple[Any, Any]
    value: float
    optimality: float


FactorStep = Callable[[Any, Any], tuple[float, float]]  # of orders for W and H: sizes of slopes, and the objective


def coordinate_descent(
    step: FactorStep, factors: tuple[Any, Any], value: float, tol: float, max_iter: int, order: Callable[[], Array],
    report: Report,
) -> Result:  # fmt: skip
    """Steps until the sizes of the slopes are `tol` of the first ones, or within rounding errors."""
    first: list[float] = []
    rest = slopes_at_rest(*factors)

    def next_state(state: FactorState) -> FactorState:
        slopes, value = step(order(), order())
        first.append(slopes)
        return FactorState(state.x, value, slopes / first[0] if slopes > rest else 0.0)

    return iterate(FactorState(factors, value, np.inf), next_state, tol, max_iter, report)


def slopes_at_rest(W: Any, H: Any) -> float:
    """What rounding errors in products of all rows and columns may add to the sizes of slopes."""
    xp, (n, k), p = namespace(W), W.shape, H.shape[1]
    left, right = float((W * W).sum()) ** 0.5, float((H * H).sum()) ** 0.5
    return float(xp.finfo(W.dtype).eps) * left * right * (right * (n * k) ** 0.5 + left * (p * k) ** 0.5)


def steps_of(X: Any, w: Any, W: Any, H: Any, penalties: Penalties, squares: float) -> FactorStep:
    """The step for these rows, which changes W and H in place; `squares` is Σ ω x².

    Of sparse rows H is best laid out column by column.
    """
    if is_tensor(X):
        return _tensor_steps(X, w, W, H, penalties, squares)
    if len(W) < len(H):  # then rows are fewer numbers than H, sparse or not
        return _residual_steps(X.toarray() if is_sparse(X) else X, w, W, H, penalties)
    return (_sparse_steps if is_sparse(X) else _dense_steps)(X, w, W, H, penalties, squares)


def with_diagonal(G: Any, l2: float) -> Any:
    """G + λ₂ I."""
    return G + l2 * like(np.eye(G.shape[0]), G) if l2 else G


def _dense_steps(X: Array, w: Any, W: Array, H: Array, penalties: Penalties, squares: float) -> FactorStep:
    dense = DenseSteps(X, w, W, H)

    def step(order: Array, other: Array) -> tuple[float, float]:
        slopes, gram = dense.rows(with_diagonal(H @ H.T, penalties.l2_w), penalties.l1_w, order)
        more, cross = dense.lines(with_diagonal(gram, penalties.l2_h), penalties.l1_h, other)
        fit = 0.5 * (squares - 2.0 * cross + float((gram * (H @ H.T)).sum()))
        total = float(dense.weight_sums().sum()) if penalties.l1_w else 0.0
        return slopes + more, max(fit, 0.0) + penalties.value(total, float(np.trace(gram)), H)

    return step


def _residual_steps(X: Array, w: Any, W: Array, H: Array, penalties: Penalties) -> FactorStep:
    steps = ResidualSteps(X, w, W, H)

    def step(order: Array, other: Array) -> tuple[float, float]:
        slopes = steps.rows(penalties.l1_w, penalties.l2_w, order)
        more, fit = steps.lines(penalties.l1_h, penalties.l2_h, other)
        total, size = float(steps.w @ W.sum(axis=1)), float(steps.w @ (W * W).sum(axis=1))
        return slopes + more, fit + penalties.value(total, size, H)

    return step


def _sparse_steps(X: Any, w: Any, W: Array, H: Array, penalties: Penalties, squares: float) -> FactorStep:
    turned, T, weight = X.T.tocsr(), np.ascontiguousarray(H.T), None if w is None else np.asarray(w)[:, None]
    own, buffers = T.T @ T, sparse_buffers(W.shape[1])  # H Hᵀ, from each step for the next one

    def step(order: Array, other: Array) -> tuple[float, float]:
        nonlocal own
        slopes, _, gram = sparse_step(X, w, T, with_diagonal(own, penalties.l2_w), penalties.l1_w, order, W, buffers)
        weighed = W if weight is None else weight * W
        G = with_diagonal(gram, penalties.l2_h)
        more, cross, own = sparse_step(turned, None, weighed, G, penalties.l1_h, other, T, buffers)
        if not np.may_share_memory(T, H):
            H[:] = T.T
        fit = 0.5 * (squares - 2.0 * cross + float((gram * own).sum()))
        total = float(weighed.sum()) if penalties.l1_w else 0.0
        return slopes + more, max(fit, 0.0) + penalties.value(total, float(np.trace(gram)), H)

    return step


def _tensor_steps(X: Any, w: Any, W: Any, H: Any, penalties: Penalties, squares: float) -> FactorStep:
    weight = 1.0 if w is None else w[:, None]

    def step(order: Array, other: Array) -> tuple[float, float]:
        slopes = coordinate_sweep(X @ H.T - penalties.l1_w, with_diagonal(H @ H.T, penalties.l2_w), W, order)
        weighed = W * weight
        cross, gram = small_product(weighed.T, X), small_product(weighed.T, W)
        more = coordinate_sweep(cross.T - penalties.l1_h, with_diagonal(gram, penalties.l2_h), H.T, other)
        fit, total, size, slopes, more = (
            float(part)
            for part in to_host(
                0.5 * (squares - 2.0 * (cross * H).sum() + (gram * (H @ H.T)).sum()),
                weighed.sum(),
                (weighed * W).sum(),
                slopes.sum() if w is None else (slopes * w).sum(),
                more.sum(),
            )
        )
        return slopes + more, max(fit, 0.0) + penalties.value(total, size, H)

    return step


def coordinate_sweep(N: Any, G: Any, W: Any, order: Array, moving: Any = 1.0) -> Any:
    """One step of every coordinate of the rows of W, in place, given products N less λ₁; the slopes' sizes by row.

    The array form of the compiled loops, for tensors and tests.
    """
    xp, total = namespace(N), 0.0
    for t in order:
        slope, v, curve = W @ G[:, t] - N[:, t], W[:, t], float(G[t, t])
        total = total + moving * xp.where(v > 0, xp.abs(slope), xp.clip(-slope, min=0.0))
        if curve > 0:
            W[:, t] = xp.clip(v - moving * slope / curve, min=0.0)
    return total


def rows_given(X: Any, H: Array, l1: float, l2: float, tol: float, max_iter: int) -> tuple[Any, int]:
    """W of least cost given H, from W = 0, each row by itself; and the most sweeps that a row took."""
    order = np.arange(len(H))
    if not is_tensor(X):
        W = np.zeros((X.shape[0], len(H)))
        N = sparse_products(X, H.T) if is_sparse(X) else X @ H.T
        sweeps = solve_rows(N, with_diagonal(H @ H.T, l2), l1, order, W, tol, max_iter)
        return W, sweeps
    xp, H = namespace(X), like(H, X)
    N, G = X @ H.T - l1, with_diagonal(H @ H.T, l2)
    W, moving = xp.zeros_like(N), xp.ones_like(N[:, 0])
    first = coordinate_sweep(N, G, W, order)
    for sweeps in range(2, max_iter + 1):
        size = coordinate_sweep(N, G, W, order, moving)
        moving = xp.astype(size > tol * first, X.dtype)
        if not bool(moving.any()):
            return W, sweeps
    return W, max_iter + 1


class Passed(NamedTuple):
    """WᵀX, WᵀW and Σ ω(x²/2 + λ₁w + λ₂w²/2) of rows whose W has been found."""

    products: Array
    gram: Array
    value: float

    def merge(self, other: "Passed") -> "Passed":
        """Add them."""
        return Passed(self.products + other.products, self.gram + other.gram, self.value + other.value)


def passed(block: Block, H: Array, penalties: Penalties, tol: float, max_iter: int) -> Passed:
    """The statistic of a block, W found anew."""
    X, w = block.X, block.weight
    W, _ = rows_given(X, H, penalties.l1_w, penalties.l2_w, tol, max_iter)
    weighed = W if w is None else W * w[:, None]
    squares = X.power(2).sum(axis=1) if is_sparse(X) else (X * X).sum(axis=1)
    squares, total = squares.sum() if w is None else (squares * w).sum(), weighed.sum()
    products = (X.T @ weighed).T if is_sparse(X) else small_product(weighed.T, X)
    products, gram, squares, total = to_host(products, small_product(weighed.T, W), squares, total)
    rows = penalties.l1_w * float(total) + 0.5 * penalties.l2_w * float(np.trace(gram))
    return Passed(products, gram, 0.5 * float(squares) + rows)


def blocks_descent(
    rows: Rows, H: Array, penalties: Penalties, tol: float, max_iter: int, order: Callable[[], Array], report: Report
) -> Result:  # fmt: skip
    """H (K, p) of rows of any kind: W of a pass from H alone, then sweeps over H; `x` is H."""
    T = np.ascontiguousarray(H.T)

    def look(T: Array) -> tuple[Passed, float]:
        found = rows.reduce(passed, np.ascontiguousarray(T.T), penalties, CLOSER * tol, 1000)
        fit = found.value - float((found.products * T.T).sum()) + 0.5 * float((found.gram * (T.T @ T)).sum())
        return found, max(fit, 0.0) + penalties._replace(l1_w=0.0, l2_w=0.0).value(0.0, 0.0, T)

    first: list[float] = []
    now = [look(T)]

    def next_state(state: FactorState) -> FactorState:
        found, _ = now[0]
        G, N = with_diagonal(found.gram, penalties.l2_h), found.products.T
        new = np.ascontiguousarray(state.x[1].T)
        slopes = float(np.sum(coordinate_sweep(N - penalties.l1_h, G, new.copy(), np.arange(len(H)))))
        solve_rows(N, G, penalties.l1_h, order(), new, CLOSER, 100)
        first.append(slopes)
        now[0] = look(new)
        return FactorState((None, new.T), now[0][1], slopes / first[0] if first[0] > 0 else 0.0)

    return iterate(FactorState((None, T.T), now[0][1], np.inf), next_state, tol, max_iter, report)
