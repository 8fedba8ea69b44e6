r"""Joint log probabilities of Gaussian classes, with full, shared or diagonal covariances.

.. math:: \log P(k, x) = \log\pi_k - \tfrac12\big(p\log 2\pi + \log|\Sigma_k| + \|W_k^T(x-\mu_k)\|^2\big),\qquad
    W_kW_k^T = \Sigma_k^{-1}

The cost is one product of a block of rows with each :math:`W_k`. Rows with missing values are scored by the marginal
density of their present columns, which is Gaussian, too.
"""

from typing import Any

import numpy as np

from didact.core.backend import is_sparse, is_tensor, like, namespace, to_numpy
from didact.core.errors import InputError
from didact.core.typing import Array
from didact.engines.components.low_rank import LowRank, Whitener
from didact.engines.scores.score_tables import diagonal_tables, scored_by, whitened_tables
from didact.parts.families.log_densities import gaussian_log_density
from didact.parts.statistics.components import GAPS_IN_TENSORS
from didact.parts.statistics.gaps import fill_gaps, patterns


@scored_by(whitened_tables)
def gaussian_joint(X: Any, log_prior: Array, means: Array, whiten: Array, log_dets: Array) -> Any:
    """log P(k, x) (n, K); `whiten` holds one W per class, or a single one for a shared covariance."""
    xp = namespace(X)
    if len(whiten) == len(means):
        columns = [_squares((X - like(m, X)) @ like(W, X)) for m, W in zip(means, whiten, strict=True)]
        squares = xp.stack(columns, axis=1)
    else:
        centre = means.mean(axis=0)
        Z, M = (X - like(centre, X)) @ like(whiten[0], X), (means - centre) @ whiten[0]
        squares = _squares(Z)[:, None] - 2 * (Z @ like(M.T, X)) + like(_squares(M), X)
    joint = like(log_prior + gaussian_log_density(0.0, log_dets, X.shape[1]), X) - 0.5 * squares
    hole = xp.isnan(squares[:, 0])
    if bool(xp.any(hole)):
        if is_tensor(X):
            raise InputError(GAPS_IN_TENSORS)
        hole &= np.isnan(X).any(axis=1)  # rows with gaps, not those that overflowed
        joint[hole] = joint_of_gaps(X[hole], log_prior, means, whiten, log_dets)
    return joint


def _squares(Z: Any) -> Any:
    """‖z‖² of each row."""
    return namespace(Z).sum(Z * Z, axis=1) if is_tensor(Z) else np.einsum("ij,ij->i", Z, Z)


def joint_of_gaps(X: Array, log_prior: Array, means: Array, whiten: Array, log_dets: Array) -> Array:
    """log P(k, x) (n, K) of rows with missing values, by the marginal density of their present columns."""
    missing = np.isnan(X)
    groups = patterns(missing)
    there = (~missing).sum(axis=1)
    out = np.empty((len(X), len(means)))
    for k, m in enumerate(means):
        g = min(k, len(whiten) - 1)
        D = np.where(missing, 0.0, X - m)
        gained, _ = fill_gaps(D, groups, whiten[g] @ whiten[g].T)
        out[:, k] = log_prior[k] + gaussian_log_density(_squares(D @ whiten[g]), log_dets[g] + gained, there)
    return out


def wide_joint(X: Any, log_prior: Array, means: Array, covariances: list[LowRank], whiteners: list[Whitener]) -> Any:
    """log P(k, x) (n, K) for low-rank covariances, one per class or a shared one, which are never formed."""
    given, X = X, np.asarray(to_numpy(X), np.float64)
    out = np.empty((len(X), len(means)))
    missing = np.isnan(X)
    for rows, pattern, columns in [*patterns(missing), (np.flatnonzero(~missing.any(axis=1)), None, None)]:
        for u, absent in enumerate([np.zeros(0, np.intp)] if columns is None else columns):
            chosen = rows if pattern is None else rows[pattern == u]
            there = np.setdiff1d(np.arange(X.shape[1]), absent)
            parts = [Whitener.of(C.of_columns(there)) for C in covariances] if len(absent) else whiteners
            D = X[np.ix_(chosen, there)]
            for k, m in enumerate(means):
                V = parts[min(k, len(parts) - 1)]
                density = gaussian_log_density(V.squares(D - m[there]), V.log_det, len(there))
                out[chosen, k] = log_prior[k] + density
    return like(out, given)


@scored_by(diagonal_tables)
def diagonal_joint(X: Any, log_prior: Array, mean: Array, variance: Array) -> Any:
    """log P(k) + Σ_j log N(x_j; μ_kj, σ²_kj), summed over the columns that are present."""
    given, X = X, np.asarray(X.toarray() if is_sparse(X) else to_numpy(X), np.float64)
    out = np.empty((X.shape[0], len(mean)))
    missing = np.isnan(X)
    some = bool(missing.any())
    X = np.where(missing, 0.0, X) if some else X
    for k in range(len(mean)):
        d = X - mean[k]
        d *= d
        logs = np.log(variance[k])
        log_det, there = logs.sum(), X.shape[1]
        if some:
            d[missing] = 0.0
            log_det, there = ~missing @ logs, (~missing).sum(axis=1)
        out[:, k] = log_prior[k] + gaussian_log_density(d @ (1.0 / variance[k]), log_det, there)
    return like(out, given)
