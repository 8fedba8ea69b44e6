"""The variance of all entries of X, from which the width of a kernel comes, for rows of any kind."""

import numpy as np

from didact.core.backend import is_sparse, namespace, to_host, to_numpy
from didact.core.overflow import refuse_extreme, refuse_overflow
from didact.core.rows import Block, Rows
from didact.kernels.base import constant_like
from didact.kernels.radial import spread_of_rows
from didact.parts.statistics.moments import Sums


def entry_sums(block: Block, mean: float) -> Sums:
    """The number of entries, and the sums of their differences from a mean and of the squares, with weights."""
    X, w = block.X, block.weight
    w = constant_like(1.0, X, X.shape[0]) if w is None else w
    if is_sparse(X):
        X = X.toarray()
    away = X - mean
    xp = namespace(away)
    total, first, second = to_host(xp.sum(w), xp.sum(w @ away), xp.sum(w @ (away * away)))
    return Sums((total * X.shape[1], first, second))


def spread(rows: Rows) -> float:
    """The variance of all entries of X; of rows that are not in memory by two passes."""
    if rows.memory:
        return spread_of_rows(rows.memory.X, rows.memory.columns.weight)
    total, first, _ = rows.reduce(entry_sums, 0.0).parts
    return float(rows.reduce(entry_sums, float(first / total)).parts[2] / total)


def scale_gamma(rows: Rows) -> float:
    """γ = 1/(p · variance of X), and 1 if X is constant; columns whose squares overflow or vanish are refused."""
    with np.errstate(all="ignore"):
        variance = spread(rows)
    if not np.isfinite(to_numpy(variance)):
        rows.reduce(entry_sums, 0.0)  # names columns with NaN
    refuse_overflow(rows, variance)
    with np.errstate(all="ignore"):
        gamma = float(1.0 / np.float64(rows.n_features * variance)) if variance > 0 else 1.0
    if rows.memory and not (variance > 0 and np.isfinite(gamma)):
        refuse_extreme(rows.memory.X, rows.names)
    return gamma
