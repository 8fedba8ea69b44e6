r"""Non-negative factors by multiplicative updates, for any β-divergence of X from WH.

.. math:: W \leftarrow W\odot\Big(\frac{(X\odot(WH)^{\beta-2})H^T}{(WH)^{\beta-1}H^T + \lambda_1 +
    \lambda_2W}\Big)^\gamma,\qquad
    d_\beta(x, y) = \frac{x^\beta + (\beta-1)y^\beta - \beta xy^{\beta-1}}{\beta(\beta-1)}

and likewise for H; β = 2 is half the squared error, 1 the Kullback–Leibler and 0 the Itakura–Saito divergence. With
γ = 1/(2 − β) for β < 1, 1/(β − 1) for β > 2 and 1 between, each update minimises a bound that touches the objective,
which therefore never rises. Functions work on blocks of rows in their array namespace; of sparse rows only the products
at the entries are formed, and where β needs all products, of some rows at a time.

Lee, Seung (2001), NeurIPS; Févotte, Idier (2011), doi:10.1162/NECO_a_00168.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from didact.core.backend import is_sparse, is_tensor, like, namespace, read_only, small_product, to_host
from didact.core.rows import Block, Rows
from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.engines.factors.nonnegative import FactorState, Penalties
from didact.engines.factors.nonnegative_loops import products_at
from didact.engines.factors.tuning import ENTRIES
from didact.engines.loop.iterate import Report, iterate
from didact.engines.loop.result import Result

EPSILON = float(np.finfo(np.float32).eps)  # least product that is divided by, or raised to a negative power
LEAST_FACTOR = float(np.finfo(np.float64).eps)  # smaller factors become 0 where β ≤ 1
LOOK = 10  # updates between two looks at the objective


def exponent(beta: float) -> float:
    """γ."""
    return 1.0 / (2.0 - beta) if beta < 1 else 1.0 / (beta - 1.0) if beta > 2 else 1.0


def products(X: Any, W: Any, H: Any) -> Any:
    """W H, of sparse rows at their entries only, as a matrix of the same entries."""
    if not is_sparse(X):
        return W @ H
    out, T = np.empty(X.nnz), np.ascontiguousarray(H.T)
    products_at(0, X.shape[0], read_only(X.indptr), read_only(X.indices), read_only(W), read_only(T), out)
    return with_entries(X, out)


def with_entries(X: Any, data: Array) -> Any:
    """A sparse matrix with the places of X and other numbers."""
    return sp.csr_array((data, X.indices, X.indptr), shape=X.shape)


def ratios(X: Any, W: Any, H: Any, beta: float) -> Any:
    """X ⊙ (WH)^(β−2)."""
    P = products(X, W, H)
    if is_sparse(X):
        return with_entries(X, X.data * np.maximum(P.data, EPSILON if beta < 2 else 0.0) ** (beta - 2.0))
    P = namespace(X).clip(P, min=EPSILON) if beta < 2 else P
    return X / P if beta == 1 else X * P ** (beta - 2.0)


def powers(W: Any, H: Any, beta: float, first: int, stop: int) -> Any:
    """(WH)^(β−1) of some rows."""
    P = W[first:stop] @ H
    return (namespace(P).clip(P, min=EPSILON) if beta < 1 else P) ** (beta - 1.0)


def product_ranges(W: Any, H: Any) -> list[tuple[int, int]]:
    """Ranges of rows of which all products are held at once."""
    step = W.shape[0] if is_tensor(W) else max(ENTRIES // max(H.shape[1], 1), 1)
    return [(a, min(a + step, W.shape[0])) for a in range(0, W.shape[0], max(step, 1))]


def _raised(share: Any, gamma: float) -> Any:
    return share if gamma == 1.0 else share**gamma


def _safe(below: Any) -> Any:
    return namespace(below).where(below == 0, below + EPSILON, below)


def updated_rows(X: Any, W: Any, H: Any, beta: float, l1: float, l2: float) -> Any:
    """W after one update."""
    if beta == 2:
        above, below = X @ H.T, W @ (H @ H.T)
    elif beta == 1:
        above, below = ratios(X, W, H, beta) @ H.T, H.sum(axis=1)[None, :] + 0.0 * W
    else:
        above = ratios(X, W, H, beta) @ H.T
        below = namespace(W).concat([powers(W, H, beta, a, b) @ H.T for a, b in product_ranges(W, H)])
    W = W * _raised(above / _safe(below + l1 + l2 * W), exponent(beta))
    return namespace(W).where(W < LEAST_FACTOR, 0.0 * W, W) if beta < 1 else W


class Updates(NamedTuple):
    """What the update of H is divided from: WᵀR above and, below, Wᵀ(WH)^(β−1), or WᵀW where β = 2; the objective."""

    above: Any
    below: Any
    value: float = 0.0

    def merge(self, other: "Updates") -> "Updates":
        """Add them."""
        return Updates(self.above + other.above, self.below + other.below, self.value + other.value)


def updates(X: Any, w: Any, W: Any, H: Any, beta: float) -> Updates:
    """The statistic of a block for H, given W."""
    V = W if w is None else W * w[:, None]
    R = X if beta == 2 else ratios(X, W, H, beta)
    above = (R.T @ V).T if is_sparse(X) else small_product(V.T, R)
    if beta == 2:
        return Updates(above, small_product(V.T, W))
    if beta == 1:
        return Updates(above, V.sum(axis=0)[:, None] + 0.0 * H)
    return Updates(above, sum(small_product(V[a:b].T, powers(W, H, beta, a, b)) for a, b in product_ranges(W, H)))


def updated_columns(H: Any, found: Updates, beta: float, l1: float, l2: float) -> Any:
    """H after one update."""
    below = found.below @ H if beta == 2 else found.below
    H = H * _raised(found.above / _safe(below + l1 + l2 * H), exponent(beta))
    return namespace(H).where(H < LEAST_FACTOR, 0.0 * H, H) if beta <= 1 else H


def divergences(X: Any, W: Any, H: Any, beta: float) -> Any:
    """The β-divergence of each row of X from that of W H."""
    if is_sparse(X):
        parts = parallel_map(lambda part: _sparse_divergences(part[1], W[part[0]], H, beta), _pieces(X, None))
        return np.concatenate(parts)
    ranges = product_ranges(W, H)
    parts = parallel_map(lambda some: _dense_divergences(X[slice(*some)], W[slice(*some)] @ H, beta), ranges)
    return namespace(X).concat(parts)


def _dense_divergences(x: Any, y: Any, beta: float) -> Any:
    xp = namespace(x)
    if beta == 2:
        y = x - y
        return 0.5 * xp.vecdot(y, y)
    y, there = xp.clip(y, min=EPSILON), x > EPSILON
    x = xp.where(there, x, xp.ones_like(x))
    if beta == 1:
        each = xp.where(there, x * xp.log(x / y) - x, xp.zeros_like(x)) + y
    elif beta == 0:
        each = xp.where(there, x / y - xp.log(x / y) - 1.0, xp.zeros_like(x))
    else:
        of_x = xp.where(there, x**beta - beta * x * y ** (beta - 1.0), xp.zeros_like(x))
        each = (of_x + (beta - 1.0) * y**beta) / (beta * (beta - 1.0))
    return xp.sum(each, axis=1)


def _sparse_divergences(X: Any, W: Array, H: Array, beta: float) -> Array:
    y = products(X, W, H).data
    if beta == 2:
        each, rest = X.data * (0.5 * X.data - y), 0.5 * np.einsum("ij,ij->i", W @ (H @ H.T), W)
    else:
        y, there = np.maximum(y, EPSILON), X.data > EPSILON
        x = np.where(there, X.data, 1.0)
        if beta == 1:
            each, rest = np.where(there, x * np.log(x / y) - x, 0.0), W @ H.sum(axis=1)
        elif beta == 0:
            each, rest = np.where(there, x / y - np.log(x / y) - 1.0, 0.0), 0.0
        else:
            scale = 1.0 / (beta * (beta - 1.0))
            each = scale * np.where(there, x**beta - beta * x * y ** (beta - 1.0), 0.0)
            full = [((W[a:b] @ H) ** beta).sum(axis=1) for a, b in product_ranges(W, H)]
            rest = np.concatenate(full) / beta
    return np.asarray(np.bincount(np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), each, X.shape[0]) + rest)


def objective(X: Any, w: Any, W: Any, H: Any, beta: float, penalties: Penalties) -> tuple[float, float]:
    """The divergence of all rows, and with what the penalties add."""
    each, V = divergences(X, W, H, beta), W if w is None else W * w[:, None]
    fit, total, squares = to_host((each if w is None else each * w).sum(), V.sum(), (V * W).sum())
    fit = max(float(fit), 0.0)
    return fit, fit + penalties.value(float(total), float(squares), H)


def multiplicative(
    X: Any, w: Any, W: Any, H: Any, beta: float, penalties: Penalties, tol: float, max_iter: int, report: Report
) -> Result:  # fmt: skip
    """Updates of both factors until ten of them lower the root of the objective by less than tol of the first."""
    pieces = _pieces(X, w)
    value = objective(X, w, W, H, beta, penalties)[1]
    first = before = np.sqrt(2.0 * value)
    count = 0

    def step(state: FactorState) -> FactorState:
        nonlocal before, count
        W, H = state.x

        def one(piece: tuple[slice, Any, Any]) -> tuple[Any, Updates]:
            part, x, v = piece
            new = updated_rows(x, W[part], H, beta, penalties.l1_w, penalties.l2_w)
            return new, updates(x, v, new, H, beta)

        done = parallel_map(one, pieces)
        W = namespace(W).concat([new for new, _ in done])
        total = done[0][1]
        for _, found in done[1:]:
            total = total.merge(found)
        H = updated_columns(H, total, beta, penalties.l1_h, penalties.l2_h)
        count += 1
        if count % LOOK:
            return FactorState((W, H), state.value, np.inf)
        value = objective(X, w, W, H, beta, penalties)[1]
        error = np.sqrt(2.0 * value)
        gain, before = (before - error) / first if first > 0 else 0.0, error
        return FactorState((W, H), value, gain)

    return iterate(FactorState((W, H), value, np.inf), step, tol, max_iter, report)


def _pieces(X: Any, w: Any) -> list[tuple[slice, Any, Any]]:
    """Ranges of rows with their rows and weights, for the threads; a tensor is one piece."""
    n = X.shape[0]
    size = X.nnz if is_sparse(X) else n * X.shape[1]
    number = 1 if is_tensor(X) else int(np.clip(size // ENTRIES, 1, min(16, n)))
    edges = np.linspace(0, n, number + 1).astype(int)
    cuts = [slice(int(a), int(b)) for a, b in pairwise(edges)]
    return [(cut, X[cut] if number > 1 else X, None if w is None else w[cut]) for cut in cuts]


def rows_by_updates(
    X: Any, H: Array, beta: float, l1: float, l2: float, tol: float, max_iter: int
) -> tuple[Any, int]:  # fmt: skip
    """W by updates given H, from the root of the mean of each row; and the updates that were made.

    A row rests once an update changes it by no more than `tol` of its largest number.
    """
    xp, other = namespace(X), like(H, X)
    mean = np.asarray(X.mean(axis=1)).reshape(-1) if is_sparse(X) else X.mean(axis=1)
    W = xp.sqrt(mean / len(H))[:, None] + 0.0 * like(np.ones((1, len(H))), X)
    moving = xp.ones_like(W[:, 0])
    for done in range(1, max_iter + 1):
        new = updated_rows(X, W, other, beta, l1, l2)
        step = xp.max(xp.abs(new - W), axis=1)
        W = xp.where(moving[:, None] > 0, new, W)
        moving = moving * xp.astype(step > tol * xp.max(W, axis=1), moving.dtype)
        if not bool((moving > 0).any()):
            return W, done
    return W, max_iter + 1


def passed_updates(block: Block, H: Array, beta: float, penalties: Penalties, tol: float, max_iter: int) -> Updates:
    """The statistic for H of a block whose W is found anew, and its share of the objective."""
    X, w, at = block.X, block.weight, like(H, block.X)
    W, _ = rows_by_updates(X, H, beta, penalties.l1_w, penalties.l2_w, tol, max_iter)
    found = updates(X, w, W, at, beta)
    _, value = objective(X, w, W, at, beta, penalties._replace(l1_h=0.0, l2_h=0.0))
    above, below = to_host(found.above, found.below)
    return Updates(above, below, value)


def blocks_multiplicative(
    rows: Rows, H: Array, beta: float, penalties: Penalties, tol: float, max_iter: int, report: Report
) -> Result:  # fmt: skip
    """Updates of H for rows of any kind, with W found anew in each pass; `x` is (None, H)."""

    def look(H: Array) -> tuple[Updates, float]:
        found = rows.reduce(passed_updates, H, beta, penalties, tol, 200)
        return found, found.value + penalties._replace(l1_w=0.0, l2_w=0.0).value(0.0, 0.0, H)

    now = [look(H)]
    first = np.sqrt(2.0 * max(now[0][1], 0.0))

    def step(state: FactorState) -> FactorState:
        new = updated_columns(state.x[1], now[0][0], beta, penalties.l1_h, penalties.l2_h)
        now[0] = look(new)
        value = now[0][1]
        gain = (np.sqrt(2.0 * max(state.value, 0.0)) - np.sqrt(2.0 * max(value, 0.0))) / first if first > 0 else 0.0
        return FactorState((None, new), value, float(gain))

    return iterate(FactorState((None, H), now[0][1], np.inf), step, tol, max_iter, report)
