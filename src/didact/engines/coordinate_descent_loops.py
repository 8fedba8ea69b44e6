"""Compiled coordinate descent on a quadratic with an L1 penalty; a slow NumPy twin stands beside its test."""

from typing import Any

import numpy as np

from didact.core.jit import jit

Array = np.ndarray[Any, Any]


@jit
def descend(H: Array, u: Array, q: Array, l1: Array, tol: float, max_sweeps: int) -> int:
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
            target = u[j] - q[j] / curvature
            bound = l1[j] / curvature
            if target > bound:
                new = target - bound
            elif target < -bound:
                new = target + bound
            else:
                new = 0.0
            d = new - u[j]
            if d != 0.0:
                u[j] = new
                for k in range(p):
                    q[k] += d * H[j, k]
                change = abs(d) * curvature
                if change > largest:
                    largest = change
        if largest <= tol:
            return sweep + 1
    return max_sweeps


def warm() -> None:
    """Compile for the one type that callers use."""
    descend(np.eye(2), np.zeros(2), np.ones(2), np.zeros(2), 1e-3, 2)
