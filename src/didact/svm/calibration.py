r"""Probabilities from decision values: a sigmoid for each pair of classes, and probabilities that fit all pairs best.

.. math:: P(i\mid x, i\text{ or }j) = r_{ij}(x) = \frac1{1+\exp(Af_{ij}(x)+B)},\qquad
    \min_p\ \sum_{i<j}(r_{ji}p_i - r_{ij}p_j)^2,\quad \sum_i p_i=1

A and B maximise the likelihood of decision values of rows that the machine has not seen (five folds), with targets
(N₊ + 1)/(N₊ + 2) and 1/(N₋ + 2) instead of 1 and 0.

Platt (1999); Lin, Lin, Weng (2007), doi:10.1007/s10994-007-5018-6; Wu, Lin, Weng (2004), JMLR 5.
"""

from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import expit

from didact.core.backend import like, to_numpy
from didact.core.typing import AnyArray, Array

STEPS, HALVINGS = 100, 40


def sigmoid(f: Array, positive: Array, w: Array) -> tuple[float, float]:
    """A and B of the sigmoid that fits labels best: Newton's method with step halving."""
    up, down = w[positive].sum(), w[~positive].sum()
    target = np.where(positive, (up + 1.0) / (up + 2.0), 1.0 / (down + 2.0))
    features = np.column_stack([f, np.ones(len(f))])
    theta = np.array([0.0, np.log((down + 1.0) / (up + 1.0))])

    def loss(theta: Array) -> float:
        z = features @ theta
        return float(w @ (np.logaddexp(0.0, z) - (1.0 - target) * z))

    value = loss(theta)
    for _ in range(STEPS):
        p = expit(features @ theta)  # of the negative side
        gradient = features.T @ (w * (p - (1.0 - target)))
        if np.abs(gradient).max() <= 1e-10 * max(w.sum(), 1.0):
            break
        hessian = (features * (w * p * (1.0 - p))[:, None]).T @ features
        step = np.linalg.solve(hessian + 1e-12 * max(np.trace(hessian), 1e-300) * np.eye(2), gradient)
        for k in range(HALVINGS):
            new = theta - 0.5**k * step
            if (there := loss(new)) < value:
                theta, value = new, there
                break
        else:
            break
    return float(theta[0]), float(theta[1])


def coupled(r: Array, K: int) -> Array:
    """Probabilities of K classes from those of all pairs (n, pairs), the first class of each pair being the event."""
    n = len(r)
    M = np.zeros((n, K + 1, K + 1))
    M[:, :K, K] = M[:, K, :K] = 1.0
    for k, (i, j) in enumerate(combinations(range(K), 2)):
        a, b = 1.0 - r[:, k], r[:, k]  # r_ji and r_ij
        M[:, i, i] += a * a
        M[:, j, j] += b * b
        M[:, i, j] -= a * b
        M[:, j, i] -= a * b
    right = np.zeros((n, K + 1, 1))
    right[:, K] = 1.0
    p = np.clip(np.linalg.solve(M, right)[:, :K, 0], 0.0, None)
    return p / p.sum(axis=1, keepdims=True)


def probabilities(values: AnyArray, A: Array, B: Array, K: int, pairs: bool) -> AnyArray:
    """P of each class from decision values (n, decisions); for two classes the second is the event."""
    f = to_numpy(values)
    r = np.clip(expit(-(A * f + B)), 1e-7, 1.0 - 1e-7)
    if K == 2:
        found = np.column_stack([1.0 - r[:, 0], r[:, 0]])
    else:
        found = coupled(r, K) if pairs else r / r.sum(axis=1, keepdims=True)
    return like(found.astype(f.dtype), values)


def folds(codes: Array, n_folds: int, seed: Any) -> list[tuple[Array, Array]]:
    """Training and held-out rows, each class spread evenly over the folds."""
    order = np.random.default_rng(seed).permutation(len(codes))
    fold = np.empty(len(codes), int)
    for c in np.unique(codes):
        rows = order[codes[order] == c]
        fold[rows] = np.arange(len(rows)) % n_folds
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)]
