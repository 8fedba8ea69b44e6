r"""Sequential minimal optimisation inside a working set, and updates with rows of the Gram matrix.

Layout: the variables of a working set are numbered 0 … q − 1. `K` (q, q) is the Gram matrix of their rows, `alpha`,
`sign` (±1), `bound` and `f` have one entry each, where f_i = sign_i · ∂objective/∂α_i. A step moves two variables so
that Σ sign_i α_i stays: α_i += sign_i δ, α_j −= sign_j δ. `rows` (slots, n) holds cached rows of the whole Gram matrix,
in float32 or float64.

Fan, Chen, Lin (2005), Working set selection using second order information, JMLR 6.
"""

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.typing import Array

LEAST_CURVATURE = 1e-12  # the least curvature along a step


@jit_unmanaged(fastmath={"contract"})
def pairs(
    K: Array, alpha: Array, sign: Array, bound: Array, f: Array, tol: float, max_steps: int
) -> tuple[int, float]:  # fmt: skip
    """Steps on pairs until no pair violates the optimality conditions by more than tol; how many, and the violation."""
    q = len(alpha)
    gap = np.inf
    for step in range(max_steps):
        i, least = -1, np.inf
        for k in range(q):
            free = alpha[k] < bound[k] if sign[k] > 0 else alpha[k] > 0.0
            if free and f[k] < least:
                i, least = k, f[k]
        largest = -np.inf
        j, gain = -1, 0.0
        for k in range(q):
            free = alpha[k] > 0.0 if sign[k] > 0 else alpha[k] < bound[k]
            if free:
                largest = max(largest, f[k])
                b = f[k] - least
                if b > 0.0 and i >= 0:
                    a = max(K[i, i] + K[k, k] - 2.0 * K[i, k], LEAST_CURVATURE)
                    if b * b > gain * a:
                        j, gain = k, b * b / a
        gap = largest - least
        if i < 0 or j < 0 or gap <= tol:
            return step, gap
        a = max(K[i, i] + K[j, j] - 2.0 * K[i, j], LEAST_CURVATURE)
        most_i = bound[i] - alpha[i] if sign[i] > 0 else alpha[i]
        most_j = alpha[j] if sign[j] > 0 else bound[j] - alpha[j]
        delta = (f[j] - f[i]) / a
        if delta >= most_i or delta >= most_j:
            delta = min(most_i, most_j)
        alpha[i] += sign[i] * delta
        alpha[j] -= sign[j] * delta
        if delta == most_i:  # exactly at the bound, whatever rounding says
            alpha[i] = bound[i] if sign[i] > 0 else 0.0
        if delta == most_j:
            alpha[j] = 0.0 if sign[j] > 0 else bound[j]
        for k in range(q):
            f[k] += delta * (K[i, k] - K[j, k])
    return max_steps, gap


@jit_unmanaged
def add_rows(rows: Array, slots: Array, weights: Array, begin: int, end: int, u: Array) -> None:
    """u[begin:end] += Σ_k weights_k · rows[slots_k, begin:end]."""
    for k in range(len(slots)):
        row = rows[slots[k]]
        w = weights[k]
        for i in range(begin, end):
            u[i] += w * row[i]


def warm() -> None:
    """Compile for the types that are used."""
    one = np.ones(2)
    pairs(np.eye(2), np.zeros(2), np.array([1.0, -1.0]), one, np.array([-1.0, 1.0]), 1e-3, 3)
    for dtype in (np.float32, np.float64):
        add_rows(np.zeros((1, 2), dtype), np.zeros(1, np.int64), np.ones(1), 0, 2, np.zeros(2))
