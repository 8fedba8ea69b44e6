r"""Gaussian rows with missing values: expected sums and densities, given the observed values.

With the precision :math:`P = \Sigma^{-1}`, the deviation :math:`d = x - \mu` of a row, its missing columns m and its
observed columns o,

.. math:: \hat d_m = -P_{mm}^{-1}P_{mo}d_o,\qquad \mathrm{Cov}(x_m\mid x_o) = P_{mm}^{-1},\qquad
    d_o^T\Sigma_{oo}^{-1}d_o = \hat d^TP\hat d,\qquad \log|\Sigma_{oo}| = \log|\Sigma| + \log|P_{mm}|,

so a row needs a matrix of the size of its missing columns only. Rows are grouped by their pattern of missing columns,
and the matrices of patterns with the same number of them are inverted together. The expected :math:`d` and
:math:`dd^T` of rows with missing values are the sufficient statistics of an E step: `components` that merge with those
of complete rows.

Little, Rubin (2019), Statistical Analysis with Missing Data, doi:10.1002/9781119482260.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import small_product, to_numpy
from didact.core.typing import Array
from didact.parts.families.log_densities import gaussian_log_density
from didact.parts.statistics.components import Components, complete
from didact.parts.statistics.members import members


class Group(NamedTuple):
    """Rows with the same number of missing columns."""

    rows: Array  # (r,)
    pattern: Array  # (r,) the pattern of each row, as a row number of `columns`
    columns: Array  # (patterns, m) the missing columns of each pattern


def patterns(missing: Array) -> list[Group]:
    """The rows of a mask (n, p) that have missing columns, grouped by their number and numbered by pattern."""
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


def fill_gaps(D: Array, groups: list[Group], P: Array) -> tuple[Array, list[Array]]:
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
    """Σ w Cov(x_m | x_o) over rows, each covariance in the rows and columns m of a p × p matrix."""
    total = np.zeros(p * p)
    for (rows, pattern, columns), inverse in zip(groups, inverses, strict=True):
        weight = np.bincount(pattern, w[rows], len(columns))
        cells = columns[:, :, None] * p + columns[:, None, :]
        total += np.bincount(cells.ravel(), (weight[:, None, None] * inverse).ravel(), p * p)
    return total.reshape(p, p)


class Parameters(NamedTuple):
    """The Gaussians of an E step: labels, means, and the inverse and log determinant of each covariance."""

    labels: Array  # (K,)
    mean: Array  # (K, p)
    precision: Array  # (K, p, p), or (1, p, p) if tied
    log_det: Array  # (K,) or (1,)


class Expected(NamedTuple):
    """The log-likelihood of rows with missing values, and the expected statistic of their components."""

    value: float
    statistic: Components

    def merge(self, other: "Expected") -> "Expected":
        """The result for both sets of rows together."""
        return Expected(self.value + other.value, self.statistic.merge(other.statistic))


def expected_components(X: Array, R: Any, theta: Parameters, w: Any = None) -> Expected:
    """The E step for the rows of a block that have missing values, for labels (n,) or responsibilities (n, K)."""
    hole = np.asarray(np.isnan(X).any(axis=1))
    M = members(to_numpy(R), None if w is None else np.asarray(w, np.float64), len(X))
    M = M.keep(hole[M.order])
    K, p = theta.mean.shape
    place = np.searchsorted(theta.labels, np.asarray(M.labels))
    code = np.repeat(place, np.diff(M.edges))  # the component of each member
    v = np.ones(len(code)) if M.w is None else M.w
    value, first, second = 0.0, np.zeros((K, p)), np.zeros_like(theta.precision)
    # One turn per covariance: all members at once if it is tied, else those of component g. `first` and `second` are
    # the expected Σ w d and Σ w d dᵀ about the given means; they are moved to the new means at the end.
    for g, P in enumerate(theta.precision):
        mine = np.arange(len(code)) if len(theta.precision) == 1 else np.flatnonzero(code == g)
        if not len(mine):
            continue
        rows = np.asarray(X[M.order[mine]], np.float64)
        missing, share = np.isnan(rows), v[mine]
        D = np.where(missing, 0.0, rows - theta.mean[code[mine]])
        groups = patterns(missing)
        gained, inverses = fill_gaps(D, groups, P)
        squares = np.einsum("ij,ij->i", D @ P, D)
        value += float(share @ gaussian_log_density(squares, gained + theta.log_det[g], (~missing).sum(axis=1)))
        np.add.at(first, code[mine], share[:, None] * D)
        second[g] = small_product((share[:, None] * D).T, D) + spread_of_gaps(groups, inverses, share, p)
    weight = np.bincount(code, v, K)
    shift = first / np.where(weight > 0, weight, 1.0)[:, None]
    tied = len(theta.precision) < K
    scatter = second - outer(first, shift, tied)
    shape = "tied" if tied else "full"
    return Expected(value, complete(theta.labels, weight, theta.mean + shift, scatter, shape))


def outer(a: Array, b: Array, tied: bool) -> Array:
    """a bᵀ of each component (K, p, p), or their sum (1, p, p)."""
    return (a.T @ b)[None] if tied else a[:, :, None] * b[:, None, :]
