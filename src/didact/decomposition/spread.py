r"""The covariance of the rows for models of few hidden factors: a p × p matrix, or of fewer rows than columns the rows.

.. math:: S = \frac1W\sum_iw_i(x_i-\mu)(x_i-\mu)^T = A^TA

The largest eigenvalues of a scaled :math:`S` are those of the n × n matrix :math:`AA^T` where n < p: n² p operations in
place of p³, and no matrix p × p.
"""

from typing import NamedTuple

import numpy as np

from didact.core.errors import InputError
from didact.core.overflow import refuse_overflow, refuse_vanished
from didact.core.rows import Rows
from didact.core.rows.memory import refuse_non_finite
from didact.core.typing import Array
from didact.engines.spectral.eigen import by_tridiagonal
from didact.engines.spectral.principal import cases_of, covariance_of


class Spread(NamedTuple):
    """Mean and variances of the rows, and their covariance as a matrix or as centred rows A with S = AᵀA.

    `weight` is the number of rows that the weights stand for (`parts.statistics.weights`).
    """

    weight: float
    mean: Array
    variances: Array
    matrix: Array | None
    rows: Array | None

    @property
    def gaps(self) -> bool:
        """Whether values are missing, so that the mean is NaN."""
        return bool(np.isnan(self.mean).any())

    def top(self, count: int, scale: Array) -> tuple[Array, Array, float]:
        """The largest eigenvalues of D⁻¹SD⁻¹, falling, their vectors (p, count), and its trace; D = diag(scale)."""
        trace = float((self.variances / scale**2).sum())
        if count == 0:
            return np.zeros(0), np.zeros((len(scale), 0)), trace
        if self.matrix is not None:
            M = self.matrix / np.outer(scale, scale)
            values, vectors = by_tridiagonal(M, count, largest=True)
            return values[::-1], vectors[:, ::-1], trace
        A = np.asarray(self.rows) / scale
        few = min(count, len(A))
        values, U = by_tridiagonal(A @ A.T, few, largest=True)
        values, U = np.maximum(values[::-1], 0.0), U[:, ::-1]
        vectors = A.T @ (U / np.sqrt(np.where(values > 0, values, 1.0)))
        short = count - few
        return np.append(values, np.zeros(short)), np.hstack([vectors, np.zeros((len(scale), short))]), trace


def spread_of(rows: Rows) -> Spread:
    """The covariance of rows, in one pass; if values are missing and the model takes such rows, there is none."""
    found = _of_few_rows(rows) if rows.is_wide else _of_many_rows(rows)
    if rows.missing and found.gaps:
        return found
    refuse_overflow(rows, (found.mean, found.variances))
    refuse_vanished(rows, found.variances)
    require_variance(found.variances)
    return found


def require_variance(variances: Array) -> None:
    """Refuse rows that do not vary."""
    if not variances.any():
        raise InputError("All rows are equal, as with n_samples = 1: there is no variance to explain.")


def _of_many_rows(rows: Rows) -> Spread:
    cases, mean, matrix = covariance_of(rows)
    return Spread(weight=cases, mean=mean, variances=np.diag(matrix).copy(), matrix=matrix, rows=None)


def _of_few_rows(rows: Rows) -> Spread:
    X, _, w = rows.gather(np.float64)
    with np.errstate(all="ignore"):
        mean = np.average(X, axis=0, weights=w)
        A = X - mean
        rest = np.average(A, axis=0, weights=w)  # the rounding error of the mean
        A = np.sqrt(w / w.sum())[:, None] * (A - rest)
        variances = (A * A).sum(axis=0)
    if not (rows.missing or np.isfinite(variances).all()):
        refuse_non_finite(X, rows.names)
    return Spread(weight=cases_of(rows), mean=mean + rest, variances=variances, matrix=None, rows=A)
