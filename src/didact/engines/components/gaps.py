r"""Gaussians and rows with missing values: the columns that are there, and maximum likelihood by EM.

With the precision :math:`P = \Sigma^{-1}`, the deviation :math:`d = x - \mu` of a row, and its missing columns m,

.. math:: \hat d_m = -P_{mm}^{-1}P_{mo}d_o,\qquad \mathrm{Cov}(x_m\mid x_o) = P_{mm}^{-1},\qquad
    d_o^T\Sigma_{oo}^{-1}d_o = \hat d^TP\hat d,\qquad \log|\Sigma_{oo}| = \log|\Sigma| + \log|P_{mm}|,

so that a row costs a matrix of the size of its gaps. Rows are grouped by the pattern of these; patterns with the same
number of missing columns are inverted together. EM takes for each row with gaps the expected :math:`d` and
:math:`dd^T`, sums them up by class, and adds what the complete rows say, which was summed up once.

Little, Rubin (2019), Statistical Analysis with Missing Data, doi:10.1002/9781119482260.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from didact.core.errors import InputError, ParameterError
from didact.core.rows import Block, MemoryRows, Rows
from didact.distributions.multivariate import LOG_2PI, factor, log_det
from didact.engines.components.em import em
from didact.engines.loop.iterate import Report
from didact.engines.loop.result import Result
from didact.parts.statistics.class_scatter import ClassScatter
from didact.parts.statistics.class_sums import ClassMoments, moments_by_class
from didact.parts.statistics.moments import Sums, label_codes

Array = np.ndarray[Any, Any]


class Group(NamedTuple):
    """Rows with the same number of missing columns."""

    rows: Array  # (r,)
    pattern: Array  # (r,) which of the patterns each has
    columns: Array  # (patterns, m) the missing columns of each


def patterns(missing: Array) -> list[Group]:
    """Rows with gaps, grouped by the pattern of their missing columns (n, p), and by how many these are."""
    bits = np.ascontiguousarray(np.packbits(missing, axis=1))
    keys = bits.view(np.dtype((np.void, bits.shape[1]))).ravel()
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    kinds = missing[first]
    count = kinds.sum(axis=1)
    groups = []
    for m in np.unique(count[count > 0]):
        chosen = count == m
        place = np.cumsum(chosen) - 1
        rows = np.flatnonzero(chosen[which])
        columns = np.nonzero(kinds[chosen])[1].reshape(-1, m)
        groups.append(Group(rows, place[which[rows]], columns))
    return groups


def fill(D: Array, groups: list[Group], P: Array) -> tuple[Array, list[Array]]:
    """Put into deviations D, in place, the expected value of what is missing (0 so far); log |P_mm| and P_mm⁻¹."""
    V = D @ P
    log_dets, inverses = np.zeros(len(D)), []
    for rows, pattern, columns in groups:
        block = P[columns[:, :, None], columns[:, None, :]]
        L = np.linalg.cholesky(block)
        inverse = np.linalg.inv(block)
        where = columns[pattern]
        known = np.take_along_axis(V[rows], where, axis=1)
        D[rows[:, None], where] = -(inverse[pattern] @ known[:, :, None])[:, :, 0]
        log_dets[rows] = 2 * np.log(np.diagonal(L, axis1=1, axis2=2)).sum(axis=1)[pattern]
        inverses.append(inverse)
    return log_dets, inverses


def spread_of_gaps(groups: list[Group], inverses: list[Array], w: Array, p: int) -> Array:
    """Σ w Cov(x_m | x_o), each in its place among p × p."""
    total = np.zeros(p * p)
    for (rows, pattern, columns), inverse in zip(groups, inverses, strict=True):
        weight = np.bincount(pattern, w[rows], len(columns))
        cells = columns[:, :, None] * p + columns[:, None, :]
        total += np.bincount(cells.ravel(), (weight[:, None, None] * inverse).ravel(), p * p)
    return total.reshape(p, p)


def expected_rows(block: Block, classes: Array, means: Array, precisions: Array, log_dets: Array) -> Sums:
    """The E step of a block's rows with gaps: log-likelihood, Σ w d by class, Σ w E[ddᵀ] by covariance."""
    X, y, w = block.X, block.y, block.weight
    w = np.ones(len(X)) if w is None else np.asarray(w, np.float64)
    chosen = np.isnan(X).any(axis=1) & (w > 0)
    X, w = np.asarray(X[chosen], np.float64), w[chosen]
    codes = np.asarray(label_codes(np.asarray(y)[chosen], classes)).astype(np.int64)
    value, first, second = 0.0, np.zeros_like(means), np.zeros_like(precisions)
    for g, P in enumerate(precisions):
        mine = np.arange(len(X)) if len(precisions) == 1 else np.flatnonzero(codes == g)
        if not len(mine):
            continue
        missing, v = np.isnan(X[mine]), w[mine]
        D = np.where(missing, 0.0, X[mine] - means[codes[mine]])
        groups = patterns(missing)
        gained, inverses = fill(D, groups, P)
        squares = np.einsum("ij,ij->i", D @ P, D)
        value -= 0.5 * float(v @ (squares + gained + log_dets[g] + (~missing).sum(axis=1) * LOG_2PI))
        np.add.at(first, codes[mine], v[:, None] * D)
        second[g] = (v[:, None] * D).T @ D + spread_of_gaps(groups, inverses, v, X.shape[1])
    return Sums((value, first, second))


def fit_with_gaps(
    rows: Rows, S: ClassScatter, tol: float, max_iter: int, report: Report | None = None
) -> tuple[ClassScatter, Result]:
    """The statistic of complete rows that have the means and covariances of greatest likelihood; pooled as S is.

    `tol` is what a step may still gain for each unit of weight.
    """
    total = S.weight + S.gaps
    names = [f"class {label!r}" for label in S.classes.tolist()] if not S.pooled else ["all classes"]
    incomplete = rows_with_gaps(rows)

    def expect(now: ClassScatter) -> tuple[float, Any]:
        inverses = [invert(C, name) for C, name in zip(now.covariances, names, strict=True)]
        P, log_dets = np.stack([i for i, _ in inverses]), np.array([d for _, d in inverses])
        value, first, second = incomplete.reduce(expected_rows, S.classes, now.mean, P, log_dets).parts
        d = S.mean - now.mean
        moved = S.weight[:, None] * d
        own = S.scatter + _outer(moved, d, S.pooled)
        count = S.weight.sum(keepdims=True) if S.pooled else S.weight
        value -= 0.5 * float((count * (log_dets + d.shape[1] * LOG_2PI)).sum() + (P * own).sum())
        return value, (moved + first, own + second)

    def maximize(now: ClassScatter, sums: Any) -> ClassScatter:
        shift = sums[0] / total[:, None]
        return now._replace(mean=now.mean + shift, scatter=sums[1] - _outer(sums[0], shift, S.pooled))

    start = first_guess(rows, S._replace(weight=total, gaps=np.zeros_like(total)))
    result = em(expect, maximize, start, tol * float(total.sum()), max_iter, report, further)
    return result.x, result


def further(old: ClassScatter, new: ClassScatter, share: float) -> ClassScatter:
    """A longer or shorter step than that of EM; its own where a longer one would leave the positive definite."""
    mean = old.mean + share * (new.mean - old.mean)
    scatter = old.scatter + share * (new.scatter - old.scatter)
    least = np.linalg.eigvalsh(scatter)[:, 0]
    bound = 1e-3 * np.linalg.eigvalsh(new.scatter)[:, 0]
    return new._replace(mean=mean, scatter=scatter) if (least > bound).all() else new


def _outer(a: Array, b: Array, pooled: bool) -> Array:
    """a bᵀ class by class (K, p, p), or their sum (1, p, p)."""
    return (a.T @ b)[None] if pooled else a[:, :, None] * b[:, None, :]


def invert(covariance: Array, name: str) -> tuple[Array, float]:
    """The inverse and the logarithm of the determinant; refuses a singular one by name."""
    try:
        L = factor(covariance)
    except ParameterError as error:
        raise InputError(
            f"The covariance of {name} is singular, so that EM cannot go on from the values that are there: drop "
            "constant columns and sums of others, fill the gaps first, or use fewer columns."
        ) from error
    return linalg.cho_solve((L, True), np.eye(len(L))), log_det(L)


def rows_with_gaps(rows: Rows) -> Rows:
    """In memory only the rows that EM has to visit in each step; other sources are read as they are."""
    if not isinstance(rows, MemoryRows):
        return rows
    hole = np.isnan(rows.X).any(axis=1)
    return rows.some(hole)


def first_guess(rows: Rows, S: ClassScatter) -> ClassScatter:
    """Means and variances of the values that are there."""
    M: ClassMoments = rows.reduce(moments_by_class)
    seen = np.isin(M.classes, S.classes)
    present, mean, scatter = np.broadcast_to(M.present, M.mean.shape)[seen], M.mean[seen], M.scatter[seen]
    if (present == 0).any():
        k, j = np.argwhere(present == 0)[0]
        column = rows.names[j] if rows.names is not None else int(j)
        raise InputError(
            f"Column {column!r} has no value in class {S.classes.tolist()[k]!r}, so it has no mean there: "
            "drop or fill the column."
        )
    if S.pooled:
        present, scatter = present.sum(axis=0, keepdims=True), scatter.sum(axis=0, keepdims=True)
    weight = S.weight.sum(keepdims=True) if S.pooled else S.weight
    return S._replace(mean=mean, scatter=np.stack([np.diag(v) for v in weight[:, None] * scatter / present]))
