"""The functions that optimisers are given: value and gradient together, in NumPy alone."""

from collections.abc import Callable

import numpy as np

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]


def rosenbrock(x: np.ndarray) -> tuple[float, np.ndarray]:
    """Σ 100 (xᵢ₊₁ − xᵢ²)² + (1 − xᵢ)²."""
    bend, rest = x[1:] - x[:-1] ** 2, 1 - x[:-1]
    gradient = np.zeros_like(x)
    gradient[:-1] = -400 * x[:-1] * bend - 2 * rest
    gradient[1:] += 200 * bend
    return float(100 * bend @ bend + rest @ rest), gradient


def logistic(X: np.ndarray, y: np.ndarray) -> Function:
    """Mean of log(1 + eᶻ) − y z plus ½‖w‖²/n, for z = X w + b and θ = (w, b)."""
    n = len(y)

    def function(theta: np.ndarray) -> tuple[float, np.ndarray]:
        w = theta[:-1]
        z = X @ w + theta[-1]
        e = np.exp(-np.abs(z))
        value = np.maximum(z, 0.0).sum() + np.log1p(e).sum() - y @ z + 0.5 * w @ w
        residual = np.where(z >= 0, 1.0, e) / (1.0 + e) - y
        return float(value) / n, np.append(residual @ X + w, residual.sum()) / n

    return function
