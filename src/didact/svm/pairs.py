"""Decisions between pairs of classes: their coefficients in scikit-learn's form, and votes."""

from itertools import combinations
from typing import Any

import numpy as np

from didact.core.backend import to_numpy
from didact.core.typing import Array


def arranged(table: Array, codes: Array, K: int, strategy: str) -> Array:
    """Coefficients (n_SV, n_decisions) as (K − 1, n_SV), a row for each other class in order; or transposed."""
    if K == 2 or strategy == "ovr":
        return table.T.copy()
    out = np.zeros((K - 1, len(table)))
    for k, (i, j) in enumerate(combinations(range(K), 2)):
        out[j - 1, codes == i] = table[codes == i, k]
        out[i, codes == j] = table[codes == j, k]
    return out


def spread(dual_coef: Array, codes: Array, K: int, strategy: str) -> Array:
    """The inverse of `arranged`."""
    if K == 2 or strategy == "ovr":
        return dual_coef.T
    out = np.zeros((len(codes), K * (K - 1) // 2))
    for k, (i, j) in enumerate(combinations(range(K), 2)):
        out[codes == i, k] = dual_coef[j - 1, codes == i]
        out[codes == j, k] = dual_coef[i, codes == j]
    return out


def votes(pairs: Array, K: int) -> Array:
    """How many pairs each class wins."""
    found = np.zeros((len(pairs), K))
    for k, (i, j) in enumerate(combinations(range(K), 2)):
        first = pairs[:, k] > 0
        found[:, i] += first
        found[:, j] += ~first
    return found


def by_class(pairs: Any, K: int) -> Array:
    """Votes, and the sum of confidences squashed to less than half a vote, which breaks ties."""
    values = to_numpy(pairs)
    total = np.zeros((len(values), K))
    for k, (i, j) in enumerate(combinations(range(K), 2)):
        total[:, i] += values[:, k]
        total[:, j] -= values[:, k]
    return np.asarray(votes(values, K) + total / (3.0 * (np.abs(total) + 1.0)), values.dtype)
