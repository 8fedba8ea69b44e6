r"""Covariances of few rows and many columns, never formed: a diagonal plus a factor with one column per row.

.. math:: \Sigma = \mathrm{diag}(\delta) + FF^T,\qquad \mathrm{diag}(\delta)^{-1/2}F = U\,\mathrm{diag}(s)\,V^T,\qquad
    \Sigma^{-1} = \mathrm{diag}(\delta)^{-1/2}\Big(I - U\,\mathrm{diag}\frac{s^2}{1+s^2}\,U^T\Big)
    \mathrm{diag}(\delta)^{-1/2}

With n rows and p columns the cost is n² p and the memory n p; p × p matrices would take p³ and p².

Woodbury (1950), Inverting modified matrices; Golub, Van Loan (2013), Matrix Computations, 2.1.4.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, eigsh

from didact.core.backend import to_numpy
from didact.core.errors import Singular
from didact.core.overflow import all_finite, refuse_overflow
from didact.core.rows import Rows
from didact.core.typing import Array
from didact.parts.statistics.components import centred_rows
from didact.parts.statistics.members import members
from didact.parts.statistics.moments import NARROW
from didact.parts.statistics.shrinkage import estimated_share


class LowRank(NamedTuple):
    """The covariance diag(δ) + F Fᵀ."""

    diagonal: Array  # (p,)
    factor: Array  # (p, r)

    def dense(self) -> Array:
        """The matrix (p, p)."""
        return np.diag(self.diagonal) + self.factor @ self.factor.T

    def of_columns(self, columns: Array) -> "LowRank":
        """The covariance of some of the columns."""
        return LowRank(self.diagonal[columns], self.factor[columns])

    def form(self, W: Array) -> Array:
        """Wᵀ Σ W."""
        half = self.factor.T @ W
        return (W.T * self.diagonal) @ W + half.T @ half

    def __matmul__(self, V: Array) -> Array:
        return (self.diagonal * V.T).T + self.factor @ (self.factor.T @ V)


def low_rank_of(C: Array, least: float = 0.0) -> LowRank | None:
    """A matrix that differs from least·I by few directions, none negative, in their form; None for all others.

    Columns of the factor are those of a Cholesky decomposition that begins with the largest variance, until nothing is
    left but rounding: p r² and a look at the whole. The covariance of n rows has r < n.
    """
    p, left = len(C), np.diagonal(C) - least
    known = p * np.finfo(float).eps * float(np.abs(np.diagonal(C)).max(initial=0.0))
    most = p // 8 if p > NARROW and np.isfinite(known) else 0
    F = np.zeros((p, most))
    for r in range(most):
        i = int(left.argmax())
        if not left[i] > known:
            rest = C - F[:, :r] @ F[:, :r].T
            rest.flat[:: p + 1] -= least
            return LowRank(np.full(p, least), F[:, :r]) if np.abs(rest).max() <= known else None
        column = C[:, i] - F[:, :r] @ F[i, :r]
        column[i] = left[i]
        F[:, r] = column / np.sqrt(left[i])
        left = left - F[:, r] ** 2
    return None


class Whitener(NamedTuple):
    """The inverse of a `LowRank` covariance with a positive diagonal, and its square root."""

    root: Array  # (p,) δ^-1/2
    axes: Array  # (p, r) U
    gain: Array  # (r,) s²

    @classmethod
    def of(cls, covariance: LowRank) -> "Whitener":
        """From a covariance, by one singular value decomposition of a p × r matrix."""
        if not ((covariance.diagonal > 0).all() and all_finite(covariance)):  # LAPACK would not come back
            raise Singular("A covariance cannot be inverted: its diagonal is not positive, or not all of it is finite.")
        root = 1.0 / np.sqrt(covariance.diagonal)
        U, s, _ = linalg.svd(root[:, None] * covariance.factor, full_matrices=False, check_finite=False)
        return cls(root, U, s * s)

    @property
    def log_det(self) -> float:
        """log |Σ|."""
        return float(np.log1p(self.gain).sum() - 2.0 * np.log(self.root).sum())

    def squares(self, D: Array) -> Array:
        """dᵀ Σ⁻¹ d of each row of D."""
        E = D * self.root
        C = E @ self.axes
        E -= C @ self.axes.T
        return np.einsum("ij,ij->i", E, E) + C**2 @ (1.0 / (1.0 + self.gain))

    def solve(self, M: Array) -> Array:
        """M Σ⁻¹ for rows M."""
        E = M * self.root
        return (E - (E @ self.axes * (self.gain / (1.0 + self.gain))) @ self.axes.T) * self.root

    def half(self, V: Array) -> Array:
        """R V with R = (I + U diag((1 + s²)^-1/2 − 1) Uᵀ) diag(δ)^-1/2, so that R Σ Rᵀ = I."""
        E = (V.T * self.root).T
        return E + self.axes @ ((self.axes.T @ E).T * (1.0 / np.sqrt(1.0 + self.gain) - 1.0)).T

    def half_transposed(self, V: Array) -> Array:
        """Rᵀ V."""
        E = V + self.axes @ ((self.axes.T @ V).T * (1.0 / np.sqrt(1.0 + self.gain) - 1.0)).T
        return (E.T * self.root).T

    def directions(self, total: LowRank, within: LowRank, size: int) -> tuple[Array, Array]:
        """The `size` largest eigenvalues of Σ⁻¹(T − W), as shares of their sum, and the vectors (p, size)."""
        p = len(self.root)
        operator = LinearOperator(
            (p, p), dtype=np.float64, matvec=lambda v: self.half((total @ (u := self.half_transposed(v))) - within @ u)
        )
        start = self.half(total.factor @ np.ones(total.factor.shape[1]))
        values, vectors = eigsh(operator, size, which="LA", v0=start, tol=1e-12)
        order = np.argsort(-values)
        inverse = self.root**2 * (1.0 - self.axes**2 @ (self.gain / (1.0 + self.gain)))  # the diagonal of Σ⁻¹
        sums = [float(inverse @ C.diagonal) + float((self.half(C.factor) ** 2).sum()) for C in (total, within)]
        return values[order] / ((sums[0] - sums[1]) or 1.0), self.half_transposed(vectors[:, order])


class WideScatter(NamedTuple):
    """The statistic of fewer rows than columns: labels, weights and means of the classes, and the centred rows."""

    labels: Array
    weight: Array  # (K,)
    mean: Array  # (K, p)
    roots: Array  # (n,) √w, one class after the other
    rows: Array  # (n, p) √w (x − μ)
    edges: Array  # (K + 1,) where each class begins and the last one ends

    @property
    def gaps(self) -> Array:
        """The weight of rows with missing values: zero, as rows here are complete."""
        return np.zeros(len(self.labels))

    def seen(self) -> "WideScatter":
        """The statistic itself: all its classes have weight."""
        return self

    @property
    def varies(self) -> Array:
        """For each class whether its rows differ (K,)."""
        return np.array([self.rows[a:b].any() for a, b in pairwise(self.edges)])

    def covariance(self, k: int, shrinkage: Any, pooling: float = 0.0) -> LowRank:
        """The covariance of class k, mixed with that of all classes and shrunk."""
        part = slice(self.edges[k], self.edges[k + 1])
        if not pooling:
            return shrunk_rows(self.rows[part], self.roots[part], float(self.weight[k]), shrinkage)
        share = np.full(len(self.rows), pooling)
        share[part] = 1.0
        weight = (1.0 - pooling) * float(self.weight[k]) + pooling * float(self.weight.sum())
        roots = np.sqrt(share)
        return shrunk_rows(self.rows * roots[:, None], self.roots * roots, weight, shrinkage)

    def within(self, shrinkage: Any) -> LowRank:
        """The covariance about the means of the classes, shrunk."""
        return shrunk_rows(self.rows, self.roots, float(self.weight.sum()), shrinkage)

    def mixed(self, shares: Array, shrinkage: Any) -> LowRank:
        """The mean of the classes' covariances with these shares, each shrunk separately."""
        parts = [self.covariance(k, shrinkage) for k in range(len(self.labels))]
        diagonal = sum(share * part.diagonal for share, part in zip(shares, parts, strict=True))
        factor = [np.sqrt(share) * part.factor for share, part in zip(shares, parts, strict=True)]
        return LowRank(np.asarray(diagonal), np.hstack(factor))

    def total(self, shrinkage: Any) -> LowRank:
        """The covariance of all rows about their mean, shrunk."""
        n = float(self.weight.sum())
        shift = np.repeat(self.mean - self.weight @ self.mean / n, np.diff(self.edges), axis=0)
        return shrunk_rows(self.rows + self.roots[:, None] * shift, self.roots, n, shrinkage)


def dense_covariance(covariance: Any) -> Array:
    """A covariance as a matrix."""
    return covariance.dense() if isinstance(covariance, LowRank) else covariance


def wide_scatter(rows: Rows) -> WideScatter | None:
    """The statistic of complete dense rows in memory with more columns than rows; None for all others."""
    if not rows.is_wide or rows.n_features <= NARROW or rows.on_device or rows.is_sparse:
        return None
    X, y, w, *_ = rows.whole()
    if not np.isfinite(X).all():
        return None
    M = members(to_numpy(y), None if w is None else to_numpy(w).astype(np.float64), len(X))
    v = np.ones(len(M.order)) if M.w is None else M.w
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused below
        D, mean = centred_rows(X[M.order], v, M.edges)
        for k, (a, b) in enumerate(pairwise(M.edges)):
            least = M.weight[k] * (4 * np.finfo(float).eps * mean[k]) ** 2
            D[a:b, v[a:b] @ D[a:b] ** 2 <= least] = 0.0  # columns that vary by rounding only are constant
        D *= np.sqrt(v)[:, None]
        refuse_overflow(rows, (mean, np.einsum("ij,ij->j", D, D)))
    seen = M.weight > 0
    edges = np.append(M.edges[:-1][seen], M.edges[-1])
    labels, weight, mean = np.asarray(M.labels)[seen], M.weight[seen], mean[seen]
    return WideScatter(labels=labels, weight=weight, mean=mean, roots=np.sqrt(v), rows=D, edges=edges)


def shrunk_rows(D: Array, roots: Array, weight: float, shrinkage: Any) -> LowRank:
    """DᵀD / weight for rows D = √w (x − μ), drawn towards a diagonal one as `shrinkage.shrunk` and `auto_shrunk` do."""
    p, share = D.shape[1], 0.0 if shrinkage is None or isinstance(shrinkage, str) else float(shrinkage)
    variance = np.einsum("ij,ij->j", D, D) / weight
    target = np.full(p, variance.mean())
    if isinstance(shrinkage, str):
        scale = np.where(variance > 0, variance, 1.0)
        E = D / np.sqrt(scale)
        lengths = np.einsum("ij,ij->i", E, E)
        trace, squares = float(lengths.sum()) / weight, float(((E @ E.T) ** 2).sum()) / weight**2
        fourth = float((lengths**2 / roots**2).sum()) if shrinkage == "auto" else None
        share, target = estimated_share(p, trace, squares, weight, fourth), scale * trace / p
    return LowRank(share * target, np.sqrt((1.0 - share) / weight) * D.T)
