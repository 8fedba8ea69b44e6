r"""Linear discriminants of rows from the means of the classes and the covariance that they share.

.. math:: g_k(x) = x^T\Sigma^{-1}\mu_k - \tfrac12\mu_k^T\Sigma^{-1}\mu_k + \log\pi_k

A row with gaps has the discriminants of the columns that are there, and its place in the projection is the expected
one. Where the covariance is singular, directions without variance are left out.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, special

from didact.core.backend import is_tensor, like, namespace
from didact.core.errors import InputError
from didact.core.threads import blas_for
from didact.core.typing import Array
from didact.engines.components.low_rank import LowRank, Whitener
from didact.engines.components.posterior import class_scores
from didact.engines.components.scores import joint_of_gaps
from didact.engines.scores.score_loops import Tables
from didact.engines.scores.score_tables import line_tables, scored_by
from didact.engines.spectral.eigen import fixed_signs
from didact.parts.statistics.components import GAPS_IN_TENSORS
from didact.parts.statistics.gaps import fill_gaps, patterns
from didact.parts.statistics.shrinkage import scales


class Shared(NamedTuple):
    """What rows with gaps are scored by: the covariance within classes, what whitens it, means and log priors."""

    covariance: Any  # (p, p), or a LowRank
    whiten: Array  # (p, rank); none if the covariance is a LowRank with an inverse
    means: Array
    log_prior: Array
    tol: float


def whitening(covariance: Any, tol: float) -> Array:
    """W (p, rank) with WᵀΣW = I; left out are directions of deviation at most tol in columns scaled to variance 1."""
    if isinstance(covariance, LowRank):
        whole = bool(covariance.diagonal.all())  # then nothing is left out, and W would be p × p
        return np.zeros((len(covariance.diagonal), 0)) if whole else _whitening_of_rows(covariance.factor, tol)
    scale = scales(covariance)
    with blas_for(len(scale)):
        values, vectors = linalg.eigh(covariance / np.outer(scale, scale))
    least = max(tol * tol, 4 * len(values) * np.finfo(float).eps * float(values[-1]))
    keep = np.flatnonzero(values > least)[::-1]
    return vectors[:, keep] / np.sqrt(values[keep]) / scale[:, None]


def _whitening_of_rows(F: Array, tol: float) -> Array:
    """W with WᵀΣW = I for Σ = F Fᵀ, from the singular values of F, without forming Σ."""
    deviation = np.sqrt(np.einsum("ij,ij->i", F, F))
    scale = np.where(deviation > 0, deviation, 1.0)
    U, s, _ = linalg.svd(F / scale[:, None], full_matrices=False, check_finite=False)
    keep = s > max(tol, np.sqrt(4 * len(F) * np.finfo(float).eps) * s[0])
    return U[:, keep] / s[keep] / scale[:, None]


def precisions(covariance: Any, whiten: Array, means: Array) -> Array:
    """The rows of means times the inverse of the covariance, or the pseudo-inverse that W gives."""
    if isinstance(covariance, LowRank) and covariance.diagonal.all():
        return Whitener.of(covariance).solve(means)
    return means @ whiten @ whiten.T


def score_tables(coef: Array, intercept: Array, shared: Shared) -> Tables | None:
    """The tables of `linear_scores`."""
    return line_tables(coef, intercept, classes=2)


@scored_by(score_tables)
def linear_scores(X: Any, coef: Array, intercept: Array, shared: Shared) -> Any:
    """Discriminants of the classes (n, K), up to a number for each row; of two classes the first has 0."""
    xp = namespace(X)
    scores = X @ like(coef.T, X) + like(intercept, X)
    if scores.shape[1] == 1:
        scores = xp.concat([0 * scores, scores], axis=1)
    hole = xp.isnan(scores[:, 0])
    if bool(xp.any(hole)):
        if is_tensor(X):
            raise InputError(GAPS_IN_TENSORS)
        hole &= np.isnan(X).any(axis=1)  # not where numbers overflow
        scores[hole] = scores_of_gaps(np.asarray(X[hole], np.float64), shared)
    return scores


def scores_of_gaps(X: Array, shared: Shared) -> Array:
    """Discriminants (n, K) of rows with missing values, each row from the columns that it has."""
    covariance, W, means, log_prior, tol = shared
    if W.shape[0] == W.shape[1]:
        return joint_of_gaps(X, log_prior, means, W[None], np.zeros(1))
    out = np.tile(log_prior, (len(X), 1))
    for rows, pattern, columns in patterns(np.isnan(X)):
        for u, missing in enumerate(columns):
            there = np.setdiff1d(np.arange(X.shape[1]), missing)
            if len(there):
                chosen = rows[pattern == u]
                wide = isinstance(covariance, LowRank)
                part = covariance.of_columns(there) if wide else covariance[np.ix_(there, there)]
                coef = precisions(part, whitening(part, tol), means[:, there])
                out[chosen] += X[np.ix_(chosen, there)] @ coef.T - 0.5 * (means[:, there] * coef).sum(axis=1)
    return out


def most_apart(total: Any, shared: Shared, size: int) -> tuple[Array, Array]:
    """How far the classes lie apart, for each direction as a share of all, and the directions, falling."""
    if isinstance(total, LowRank) and shared.covariance.diagonal.all():
        shares, vectors = Whitener.of(shared.covariance).directions(total, shared.covariance, size)
        return shares, fixed_signs(vectors)
    W, within = shared.whiten, shared.covariance
    wide = isinstance(total, LowRank)
    values, vectors = linalg.eigh(total.form(W) - within.form(W) if wide else W.T @ (total - within) @ W)
    return values[::-1] / (float(values.sum()) or 1.0), fixed_signs(W @ vectors[:, ::-1])


def decision(X: Any, fn: Any, *args: Any) -> Any:
    """Scores, for two classes those of the second less the first."""
    scores = class_scores(X, fn, *args)
    return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


def project(X: Any, scalings: Array, xbar: Array, shared: Shared) -> Any:
    """(x − x̄) times the scalings; rows with gaps are filled first, where the covariance has an inverse."""
    out = (X - like(xbar, X)) @ like(scalings, X)
    hole = namespace(X).isnan(X).any(axis=1) if shared.whiten.shape[0] == shared.whiten.shape[1] else None
    if hole is not None and bool(hole.any()):
        if is_tensor(X):
            raise InputError(GAPS_IN_TENSORS)
        out[hole] = (filled(np.asarray(X[hole], np.float64), shared) - xbar) @ scalings
    return out


def filled(X: Array, shared: Shared) -> Array:
    """Rows with what is expected in their gaps: under each class, weighed by the probability of the class."""
    missing = np.isnan(X)
    groups = patterns(missing)
    share = special.softmax(scores_of_gaps(X, shared), axis=1)
    out = np.where(missing, 0.0, X)
    for k, mean in enumerate(shared.means):
        D = np.where(missing, 0.0, X - mean)
        fill_gaps(D, groups, shared.whiten @ shared.whiten.T)
        out += np.where(missing, share[:, k : k + 1] * (mean + D), 0.0)
    return out
