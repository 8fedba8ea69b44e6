r"""The duals of linear support vector machines by coordinate descent over the rows.

.. math:: \min_\beta\ \tfrac12\Big\|\sum_i\beta_i(x_i, c)\Big\|^2 + \sum_i\big(\tfrac12 D_i\beta_i^2 - t_i\beta_i
    + \varepsilon|\beta_i|\big),\qquad l_i\le\beta_i\le u_i

The constant column c makes the intercept c·w_last, which is penalised with the other weights; there is then no
constraint that ties the variables together, and each of them can be minimised alone. The losses differ in the bounds:

=============================  ============  ==================  =========
loss                           t             bounds of β         D
=============================  ============  ==================  =========
hinge                          y = ±1        0 ≤ yβ ≤ C          0
squared hinge                  y = ±1        0 ≤ yβ              1/(2C)
ε-insensitive                  y             −C ≤ β ≤ C          0
squared ε-insensitive          y             none                1/(2C)
=============================  ============  ==================  =========

1. Sweeps over the rows in random order (`dual_loops`), each of which costs one product with every row. Rows that stay
   at a bound are left out, until what is left is optimal; then all are looked at again.
2. Where sweeps creep, Newton steps on the variables between their bounds, if these are few.

For all classes jointly a row has a variable for each class, and a step minimises the objective in all of them that are
in play; iterations count passes over as many rows as there are, since most sweeps look at few of them.

Hsieh et al. (2008), doi:10.1145/1390156.1390208; for all classes jointly Crammer, Singer (2001), JMLR 2, and Keerthi et
al. (2008), doi:10.1145/1401890.1401942.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import is_sparse
from didact.core.threads import blas_for
from didact.core.typing import Array
from didact.engines.gram.dual_loops import sweep_classes, sweep_rows
from didact.engines.gram.smo import CHEAP, FACES, lifted_solve
from didact.engines.loop.iterate import Report
from didact.engines.loop.line_search import inner
from didact.engines.loop.result import Result

FIRST_SEED = 88172645463325252  # of the order of rows, the same in every fit: any order leads to the optimum
SWEEPS_BETWEEN = 20  # sweeps between two attempts to step on all free variables at once
MOST_FREE = 1000  # variables in such a step


class Box(NamedTuple):
    """A dual: targets t, bounds of β, D, ε and the constant column c."""

    target: Array
    lower: Array
    upper: Array
    ridge: Array
    epsilon: float
    constant: float


def box_of_classes(sign: Array, bound: Array, squared: bool, constant: float) -> Box:
    """The dual of the hinge loss with the price `bound` of each row; a price of 0 leaves a row out."""
    reach, ridge = reach_and_ridge(bound, squared)
    up, down = np.where(sign > 0, reach, 0.0), np.where(sign < 0, -reach, 0.0)
    return Box(target=sign, lower=down, upper=up, ridge=ridge, epsilon=0.0, constant=constant)


def box_of_targets(y: Array, bound: Array, epsilon: float, squared: bool, constant: float) -> Box:
    """The dual of the ε-insensitive loss."""
    reach, ridge = reach_and_ridge(bound, squared)
    return Box(target=y, lower=-reach, upper=reach, ridge=ridge, epsilon=epsilon, constant=constant)


def reach_and_ridge(bound: Array, squared: bool) -> tuple[Array, Array]:
    """How far β may go, and D."""
    if not squared:
        return bound, np.zeros(len(bound))
    counts = bound > 0
    return np.where(counts, np.inf, 0.0), np.divide(0.5, bound, out=np.zeros(len(bound)), where=counts)


def row_squares(X: Any, constant: float) -> Array:
    """|x_i|² + c²."""
    if is_sparse(X):
        squares = np.asarray(X.astype(np.float64).power(2).sum(axis=1)).ravel()
    else:
        squares = np.einsum("ij,ij->i", X, X, dtype=np.float64)
    return squares + constant * constant


def descend_rows(X: Any, design: Any, norm: Array, box: Box, tol: float, max_iter: int,
                 report: Report | None = None) -> Result:  # fmt: skip
    """Minimise a dual: x is w with the constant's weight last, `multipliers` β, `optimality` the violation left."""
    beta, w = np.zeros(len(norm)), np.zeros(X.shape[1] + 1)
    order = np.flatnonzero(box.lower < box.upper)
    active, seed, threshold = np.array([len(order)]), np.array([FIRST_SEED], np.uint64), np.inf
    status, step, worst = "iteration limit", 0, np.inf
    while step < max_iter:
        step += 1
        worst = sweep_rows(design, *box[:4], norm, *box[4:], beta, w, order, active, threshold, seed)
        if report is not None and report(step, partial(dual_value, box, beta, w), w):
            status = "stopped"
            break
        if worst <= tol:
            if active[0] == len(order) and not np.isinf(worst):
                status = "converged"
                break
            active[0], threshold = len(order), np.inf
            continue
        threshold = worst
        if step % SWEEPS_BETWEEN == 0:
            with blas_for(MOST_FREE):
                if newton_on_face(X, box, beta, w):
                    active[0], threshold = len(order), np.inf
    return Result(w, dual_value(box, beta, w), step, status, worst, multipliers=beta)


def dual_value(box: Box, beta: Array, w: Array) -> float:
    """The objective of the dual."""
    squares = inner(w, w) + inner(box.ridge, beta * beta)
    return 0.5 * squares - inner(box.target, beta) + box.epsilon * float(np.abs(beta).sum())


def newton_on_face(X: Any, box: Box, beta: Array, w: Array) -> bool:
    """Newton steps on the variables that are neither at a bound nor at a kink, in place; whether there were any.

    Each minimises the objective over these variables, and goes as far as the first bound or kink.
    """
    free = np.flatnonzero((beta > box.lower) & (beta < box.upper) & ((beta != 0.0) | (box.epsilon == 0.0)))
    if not 0 < len(free) <= MOST_FREE:
        return False
    rows = X[free].toarray() if is_sparse(X) else X[free]
    A = np.column_stack([rows, np.full(len(free), box.constant)]).astype(np.float64, copy=False)
    K = A @ A.T
    K.flat[:: len(K) + 1] += box.ridge[free]
    moved, inside = False, np.arange(len(free))
    for _ in range(int(max(FACES, CHEAP / len(free) ** 3))):
        i = free[inside]
        b, side = beta[i], np.sign(beta[i])
        g = A[inside] @ w - box.target[i] + box.ridge[i] * b + box.epsilon * side
        solved = lifted_solve(K[np.ix_(inside, inside)], -g[:, None])
        if solved is None or not float(g @ solved[:, 0]) < 0.0:
            return moved
        d = solved[:, 0]
        kink = np.where(box.epsilon > 0.0, np.where(side > 0, 0.0, -np.inf), -np.inf)
        end = np.where(d > 0, np.where((box.epsilon > 0.0) & (side < 0), 0.0, box.upper[i]),
                       np.maximum(box.lower[i], kink))  # fmt: skip
        share = np.divide(end - b, d, out=np.full(len(d), np.inf), where=d != 0)
        t = min(1.0, float(share.min()))
        new = np.where(share <= t, end, b + t * d)
        w += A[inside].T @ (new - b)
        beta[i], moved = new, True
        inside = inside[share > t]
        if t == 1.0 or not len(inside):
            return moved
    return moved


def descend_classes(X: Any, design: Any, norm: Array, codes: Array, bound: Array, constant: float, tol: float,
                    max_iter: int, report: Report | None = None) -> Result:  # fmt: skip
    """All classes jointly: x is W (p + 1, K), `multipliers` β (n, K); codes are 0 … K − 1."""
    K, n = int(codes.max()) + 1, len(norm)
    beta, W, order = np.zeros((n, K)), np.zeros((X.shape[1] + 1, K)), np.flatnonzero(bound > 0)
    live, count, active = np.tile(np.arange(K), (n, 1)), np.full(n, K), np.array([len(order)])
    seed, scratch = np.array([FIRST_SEED], np.uint64), (np.zeros((4, K)), np.zeros(K, np.int64))
    status, looked, worst, enough, whole = "iteration limit", 0, np.inf, max(10.0 * tol, 1.0), True
    while looked < max_iter * len(order) and status == "iteration limit":
        begun = looked // len(order)
        most = len(order) - looked % len(order)
        worst, more = sweep_classes(design, codes, bound, norm, constant, beta, W, order, active, live, count, enough,
                                    most, seed, *scratch)  # fmt: skip
        looked += more
        whole_pass = looked // len(order) > begun
        if (
            whole_pass
            and report is not None
            and report(looked // len(order), partial(value_of_classes, codes, beta, W), W)
        ):
            status = "stopped"
        elif worst <= tol and whole and more == len(order):
            status = "converged"
        elif worst < enough or active[0] == 0:  # what is left is good enough: all are looked at again
            count[:], active[0], whole, enough = K, len(order), True, max(0.5 * enough, tol)
        else:
            whole = False
    step = max(1, looked // max(1, len(order)))  # passes over as many rows as there are
    return Result(W, value_of_classes(codes, beta, W), step, status, worst, multipliers=beta)


def value_of_classes(codes: Array, beta: Array, W: Array) -> float:
    """The objective of the dual of all classes."""
    return 0.5 * float(np.sum(W * W)) - float(beta[np.arange(len(codes)), codes].sum())
