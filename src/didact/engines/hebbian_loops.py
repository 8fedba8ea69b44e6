"""Compiled Hebbian learning of a layer of linear neurons; a slow NumPy twin stands beside its test."""

from typing import Any

import numpy as np

from didact.core.jit import jit

Array = np.ndarray[Any, Any]


@jit
def hebb(X: Array, order: Array, eta: float, decay: float, W: Array, answer: Array) -> float:
    """Hebb's rule W ← W + η(y xᵀ − decay·W) with y = Wx, row by row; minus the sum of all y²."""
    total = 0.0
    for i in order:
        for k in range(W.shape[0]):
            y = 0.0
            for j in range(W.shape[1]):
                y += W[k, j] * X[i, j]
            answer[k] = y
            total -= y * y
        for k in range(W.shape[0]):
            for j in range(W.shape[1]):
                W[k, j] += eta * (answer[k] * X[i, j] - decay * W[k, j])
    return total


@jit
def oja(X: Array, order: Array, eta: float, W: Array, rest: Array, answer: Array) -> float:
    """Oja's rule, for several neurons Sanger's: wₖ ← wₖ + η yₖ (x − Σ_{l ≤ k} y_l w_l); the sum of the last rests²."""
    total = 0.0
    for i in order:
        for k in range(W.shape[0]):
            y = 0.0
            for j in range(W.shape[1]):
                y += W[k, j] * X[i, j]
            answer[k] = y
        for j in range(W.shape[1]):
            rest[j] = X[i, j]
        for k in range(W.shape[0]):
            for j in range(W.shape[1]):
                rest[j] -= answer[k] * W[k, j]
                W[k, j] += eta * answer[k] * rest[j]
        for j in range(W.shape[1]):
            total += rest[j] * rest[j]
    return total


def warm() -> None:
    """Compile for the type that is used most."""
    X = np.ones((1, 1))
    X.flags.writeable = False
    order, W = np.zeros(1, np.int64), np.ones((1, 1))
    hebb(X, order, 0.1, 0.0, W, np.zeros(1))
    oja(X, order, 0.1, W, np.zeros(1), np.zeros(1))
