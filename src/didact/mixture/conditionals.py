r"""Gaussian mixtures given the values of some columns: another mixture, and the expectation of what is missing."""

from typing import Any

import numpy as np
from scipy import linalg

from didact.core.backend import is_tensor, like, to_numpy
from didact.core.typing import Array
from didact.engines.components.posterior import posterior
from didact.parts.families.log_densities import gaussian_log_density
from didact.parts.statistics.gaps import fill_gaps, patterns


def conditioned(
    log_weights: Array, means: Array, covariances: Array, given: Array, values: Array
) -> tuple[Array, Array, Array]:
    """Weights, means and covariances of the other columns, where the columns `given` have these values."""
    other = np.setdiff1d(np.arange(means.shape[1]), given)
    joint, centres, matrices = [], [], []
    for log_weight, m, C in zip(log_weights, means, covariances, strict=True):
        L = linalg.cholesky(C[np.ix_(given, given)], lower=True)
        z = linalg.solve_triangular(L, values - m[given], lower=True)
        H = linalg.solve_triangular(L, C[np.ix_(given, other)], lower=True)
        joint.append(log_weight + gaussian_log_density(z @ z, 2 * np.log(np.diag(L)).sum(), len(given)))
        centres.append(m[other] + H.T @ z)
        rest = C[np.ix_(other, other)] - H.T @ H
        matrices.append(0.5 * (rest + rest.T))
    shares = np.exp(np.array(joint) - np.max(joint))
    return shares / shares.sum(), np.stack(centres), np.stack(matrices)


def expected_rows(X: Any, fn: Any, args: tuple[Array, ...]) -> Any:
    """Rows with E[x_m | x_o] in place of what is missing; `args` are those of `gaussian_joint`."""
    given, out = X, np.array(to_numpy(X), np.float64)
    missing = np.isnan(out)
    hole = missing.any(axis=1)
    if not hole.any():
        return given
    rows, gap = out[hole], missing[hole]
    _, means, whiten, _ = args
    R, groups, total = posterior(rows, fn, *args), patterns(gap), np.zeros_like(rows)
    for k, (m, W) in enumerate(zip(means, whiten, strict=True)):
        D = np.where(gap, 0.0, rows - m)
        fill_gaps(D, groups, W @ W.T)
        total += R[:, k, None] * (m + D)
    out[hole] = np.where(gap, total, rows)
    return like(out, given) if is_tensor(given) else out.astype(given.dtype, copy=False)
