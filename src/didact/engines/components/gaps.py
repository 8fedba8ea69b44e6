r"""Gaussian components of rows with missing values, by maximum likelihood (EM).

The E step computes the expected statistic of the rows with gaps (`parts.statistics.gaps`) and merges it with that of
the complete rows, which was computed once; the M step reads means and covariances off it.

Little, Rubin (2019), Statistical Analysis with Missing Data, doi:10.1002/9781119482260.
"""

from typing import Any

import numpy as np
from scipy import linalg

from didact.core.errors import InputError, ParameterError
from didact.core.rows import Block, Rows
from didact.core.typing import Array
from didact.distributions.multivariate import factor, log_det
from didact.engines.components.em import em
from didact.engines.loop.iterate import Report
from didact.engines.loop.result import Result
from didact.parts.families.log_densities import gaussian_log_density
from didact.parts.statistics.components import Components
from didact.parts.statistics.gaps import Expected, Parameters, expected_components, outer
from didact.parts.statistics.row_components import require_values, variance_rows


def expected_rows(block: Block, theta: Parameters) -> Expected:
    """The E step of a block's rows with gaps."""
    return expected_components(block.X, block.y, theta, block.weight)


def fit_with_gaps(
    rows: Rows, S: Components, tol: float, max_iter: int, report: Report | None = None
) -> tuple[Components, Result]:
    """Maximum-likelihood means and covariances, as the statistic of completed rows; tied if S is.

    EM stops when a step gains at most `tol` per unit of weight.
    """
    names = [f"class {label!r}" for label in S.labels.tolist()] if not S.tied else ["all classes"]
    incomplete = rows.only(with_gaps)

    def expect(now: Components) -> tuple[float, Components]:
        inverses = [invert(C, name) for C, name in zip(now.covariances(), names, strict=True)]
        theta = Parameters(S.labels, now.mean, np.stack([i for i, _ in inverses]), np.array([d for _, d in inverses]))
        return expected_of(incomplete, S, theta)

    start = first_guess(rows, S._replace(present=S.weight[:, None]))
    result = em(expect, lambda now, found: found, start, tol * float(S.weight.sum()), max_iter, report, further)
    return result.x, result


def expected_of(incomplete: Rows, S: Components, theta: Parameters) -> tuple[float, Components]:
    """The log-likelihood of all rows, and their expected statistic, given S, that of the complete ones among them."""
    value, expected = incomplete.reduce(expected_rows, theta)
    complete, d = S._replace(weight=S.present[:, 0]), S.mean - theta.mean
    squares = (theta.precision * (S.scatter + outer(S.present * d, d, S.tied))).sum(axis=(1, 2))
    count = complete.weight.sum(keepdims=True) if S.tied else complete.weight
    value += float(gaussian_log_density(squares, count * theta.log_det, count * d.shape[1]).sum())
    return value, complete.merge(expected)


def further(old: Components, new: Components, share: float) -> Components:
    """A longer or shorter step than that of EM, or EM's own if a covariance would not stay positive definite."""
    mean = old.mean + share * (new.mean - old.mean)
    scatter = old.scatter + share * (new.scatter - old.scatter)
    if not np.isfinite(scatter).all():
        return new
    least = np.linalg.eigvalsh(scatter)[:, 0]
    bound = 1e-3 * np.linalg.eigvalsh(new.scatter)[:, 0]
    return new._replace(mean=mean, scatter=scatter) if (least > bound).all() else new


def invert(covariance: Array, name: str) -> tuple[Array, float]:
    """The inverse of a covariance and its log determinant; an InputError names a singular one."""
    try:
        L = factor(covariance)
    except ParameterError as error:
        raise InputError(
            f"The covariance of {name} is singular, so that EM cannot go on from the values that are there: drop "
            "constant columns and sums of others, fill the gaps first, or use fewer columns."
        ) from error
    return linalg.cho_solve((L, True), np.eye(len(L))), log_det(L)


def with_gaps(X: Array) -> Any:
    """Which rows have gaps: those EM visits in each step."""
    return np.isnan(X).any(axis=1)


def first_guess(rows: Rows, S: Components) -> Components:
    """A start for EM: means and variances of the values that are present, no covariances."""
    M = rows.reduce(variance_rows, "diagonal").seen()
    require_values(M, rows)
    present, scatter = np.broadcast_to(M.present, M.mean.shape), M.scatter
    if S.tied:
        present, scatter = present.sum(axis=0, keepdims=True), scatter.sum(axis=0, keepdims=True)
    weight = S.weight.sum(keepdims=True) if S.tied else S.weight
    return S._replace(mean=M.mean, scatter=np.stack([np.diag(v) for v in weight[:, None] * scatter / present]))
