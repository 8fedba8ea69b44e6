"""Decisions between pairs of classes: their coefficients in scikit-learn's form, and votes."""

from itertools import combinations
from typing import Any

import numpy as np

from didact.core.backend import to_numpy
from didact.core.threads import one_blas_thread
from didact.core.typing import Array


def arranged(table: Array, codes: Array, K: int, strategy: str) -> Array:
    """Coefficients (n_SV, n_decisions) as (K − 1, n_SV), a row for each other class in order; or transposed."""
    if K == 2 or strategy == "ovr":
        return table.T.copy()
    return np.take_along_axis(table, pairs_of(K)[codes], axis=1).T.copy()


def spread(dual_coef: Array, codes: Array, K: int, strategy: str) -> Array:
    """The inverse of `arranged`."""
    if K == 2 or strategy == "ovr":
        return dual_coef.T
    out = np.zeros((len(codes), K * (K - 1) // 2))
    np.put_along_axis(out, pairs_of(K)[codes], dual_coef.T, axis=1)
    return out


def pairs_of(K: int) -> Array:
    """The numbers of the pairs in which each class takes part (K, K − 1), in the order of the other class."""
    number = np.zeros((K, K), np.int64)
    number[np.triu_indices(K, 1)] = np.arange(K * (K - 1) // 2)
    return (number + number.T)[~np.eye(K, dtype=bool)].reshape(K, K - 1)


def votes(pairs: Array, K: int) -> Array:
    """How many pairs each class wins."""
    first, second = (np.eye(K)[one] for one in np.triu_indices(K, 1))
    with one_blas_thread:
        return np.asarray((pairs > 0).astype(np.float64) @ (first - second) + second.sum(axis=0))


def by_class(pairs: Any, K: int) -> Array:
    """Votes, and the sum of confidences squashed to less than half a vote, which breaks ties."""
    values = to_numpy(pairs)
    total = np.zeros((len(values), K))
    for k, (i, j) in enumerate(combinations(range(K), 2)):
        total[:, i] += values[:, k]
        total[:, j] -= values[:, k]
    return np.asarray(votes(values, K) + total / (3.0 * (np.abs(total) + 1.0)), values.dtype)
