"""Compiled coordinate descent with an L1 penalty; slow NumPy twins stand beside the tests.

Coordinate j is minimised exactly: with curvature h and gradient q it moves from u to soft(u − q/h, l1/h), cut at zero
where coefficients must not be negative.

Layout; u, q, U, Q and the residuals r change in place::

    H (p, p)    row j [ h_j0 | h_j1 | … ] · d   symmetric: row j is read as column j
    q (p,)          + [ q_0  | q_1  | … ]       the gradient after u_j has moved by d
    U, Q (p, T)       [ u_j0 … u_j,T−1  ]       the T outputs of a feature side by side, for blocks
    data        [ values of column 0 | values of column 1 | … ]   sparse columns (CSC)
    indices     [ their rows         | …                      ]
                  ^ indptr[0]          ^ indptr[1]
"""

import math

import numpy as np

from didact.core.jit import jit
from didact.core.typing import Array


@jit
def soft_threshold(target: float, bound: float, positive: bool) -> float:
    """The soft threshold of a number, or its non-negative form."""
    if target > bound:
        return target - bound
    if target < -bound and not positive:
        return target + bound
    return 0.0


@jit
def descend(H: Array, u: Array, q: Array, l1: Array, positive: bool, tol: float, max_sweeps: int) -> int:
    """Minimise ½ uᵀHu + … + Σ l1ⱼ|uⱼ| in place, coordinate by coordinate; returns the number of sweeps.

    q is the gradient of the smooth part at u and is kept up to date: moving uⱼ by d adds d·H[j] to it. H is symmetric,
    so its row j serves as column j. A sweep that moves no uⱼ by more than tol in units of the gradient ends it.
    """
    p = u.shape[0]
    for sweep in range(max_sweeps):
        largest = 0.0
        for j in range(p):
            curvature = H[j, j]
            if curvature <= 0.0:
                continue
            new = soft_threshold(u[j] - q[j] / curvature, l1[j] / curvature, positive)
            d = new - u[j]
            if d != 0.0:
                u[j] = new
                for k in range(p):
                    q[k] += d * H[j, k]
                largest = max(largest, abs(d) * curvature)
        if largest <= tol:
            return sweep + 1
    return max_sweeps


@jit
def descend_blocks(H: Array, U: Array, Q: Array, l1: float, sweeps: int) -> None:
    """Minimise ½ tr(UᵀHU) + … + l1 Σ‖U[j]‖₂ in place, row by row of U; Q is the gradient of the smooth part.

    With curvature h and g = h·U[j] − Q[j] the best row is g·max(0, 1 − l1/‖g‖)/h: g shortened by l1, divided by h.
    """
    p, T = U.shape
    d = np.empty(T)
    for _ in range(sweeps):
        for j in range(p):
            curvature = H[j, j]
            if curvature <= 0.0:
                continue
            square = 0.0
            for t in range(T):
                d[t] = curvature * U[j, t] - Q[j, t]
                square += d[t] * d[t]
            length = math.sqrt(square)
            factor = (1.0 - l1 / length) / curvature if length > l1 else 0.0
            moved = False
            for t in range(T):
                new = factor * d[t] if factor > 0.0 else 0.0
                d[t] = new - U[j, t]
                U[j, t] = new
                moved = moved or d[t] != 0.0
            if moved:
                for k in range(p):
                    h = H[j, k]
                    for t in range(T):
                        Q[k, t] += h * d[t]


@jit
def submatrix(G: Array, at: Array) -> Array:
    """The rows and columns `at` of a matrix: several times faster than an index of pairs."""
    out = np.empty((at.shape[0], at.shape[0]))
    for i in range(at.shape[0]):
        row = G[at[i]]
        for j in range(at.shape[0]):
            out[i, j] = row[at[j]]
    return out


@jit
def combine(rows: Array, at: Array, u: Array) -> Array:
    """Σ uₖ · rows[atₖ], without a copy of the rows."""
    out = np.zeros(rows.shape[1])
    for k in range(at.shape[0]):
        row = rows[at[k]]
        for i in range(row.shape[0]):
            out[i] += u[k] * row[i]
    return out


@jit
def descend_sparse(
    data: Array, indices: Array, indptr: Array, mean: Array, square: Array, w: Array, u: Array, r: Array, shift: float,
    l1: float, l2: float, positive: bool, sweeps: int,
) -> float:  # fmt: skip
    """Sweeps over sparse columns with means taken out in thought: residuals are r − shift; returns the last shift.

    The objective is ½ Σ w (residual)² + l1 Σ|u| + ½ l2 Σu², with w scaled to sum to 1 over the rows. Moving uⱼ by d
    takes d·xⱼ from r and d·meanⱼ from the shift. `square` holds the columns' weighted squared lengths after centring.
    """
    for _ in range(sweeps):
        for j in range(u.shape[0]):
            curvature = square[j] + l2
            if curvature <= 0.0:
                continue
            inner = 0.0
            for k in range(indptr[j], indptr[j + 1]):
                i = indices[k]
                inner += data[k] * w[i] * r[i]
            inner -= shift * mean[j]  # Σ w x = mean, as w sums to 1
            new = soft_threshold(u[j] + (inner - l2 * u[j]) / curvature, l1 / curvature, positive)
            d = new - u[j]
            if d != 0.0:
                u[j] = new
                for k in range(indptr[j], indptr[j + 1]):
                    r[indices[k]] -= d * data[k]
                shift -= d * mean[j]
    return shift


def warm() -> None:
    """Compile for the types that callers use."""
    descend(np.eye(2), np.zeros(2), np.ones(2), np.zeros(2), False, 1e-3, 2)
    descend_blocks(np.eye(2), np.zeros((2, 2)), np.ones((2, 2)), 0.1, 2)
    combine(np.eye(2), np.zeros(1, np.intp), np.ones(1))
    submatrix(np.eye(2), np.zeros(1, np.intp))
    for index in (np.int32, np.int64):
        descend_sparse(
            np.ones(1), np.zeros(1, index), np.array([0, 1], index), np.zeros(1), np.ones(1), np.ones(1), np.zeros(1),
            np.zeros(1), 0.0, 0.1, 0.0, False, 1,
        )  # fmt: skip
