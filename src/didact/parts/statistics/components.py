r"""Weight, mean and scatter of each component of the rows: of classes, clusters, the parts of a mixture.

.. math:: N_k = \sum_i r_{ik},\qquad \mu_k = \frac1{N_k}\sum_i r_{ik}x_i,\qquad
    S_k = \sum_i r_{ik}(x_i-\mu_k)(x_i-\mu_k)^T

R says how much of row i belongs to component k: labels (all of it to one), one-hot or soft responsibilities (n, K), or
None (a single component). Sample weights multiply R. The shape says which part of the scatter is kept:

=========== ============ ==================================================================== =========================
shape       scatter      what it is                                                           missing values
=========== ============ ==================================================================== =========================
full        (K, p, p)    :math:`S_k`                                                          their rows only count
tied        (1, p, p)    :math:`\sum_kS_k`                                                    their rows only count
diagonal    (K, p)       :math:`\mathrm{diag}\,S_k`                                           skipped one by one
spherical   (K, 1)       :math:`\mathrm{tr}\,S_k`                                             skipped one by one
=========== ============ ==================================================================== =========================

For full and tied, rows with missing values count in `weight`, but not in mean and scatter; `gaps` has the expected
contribution of such rows. Statistics of blocks merge by Chan's rule. Labels cost n p²/2 multiply-adds whatever their
number, responsibilities K times that (zeros cost nothing), variances n p K. An E step calls `components` on its block
of rows, and an M step reads `mean` and `covariances`.

Chan, Golub, LeVeque (1983), doi:10.1080/00031305.1983.10483115.
"""

from functools import reduce
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import is_sparse, is_tensor, namespace, small_product, to_host, to_numpy
from didact.core.errors import InputError
from didact.core.rows import Block
from didact.core.rows.memory import BLOCK_ROWS, TENSOR_BYTES
from didact.core.typing import Array
from didact.parts.statistics.chan import join, join_runs
from didact.parts.statistics.class_sums import one_hot
from didact.parts.statistics.components_loops import add_scatter, moments_by_component
from didact.parts.statistics.counts import Labelled, label_codes, label_counts
from didact.parts.statistics.members import NO_RESPONSIBILITY, Members, members
from didact.parts.statistics.moments import NARROW, SAFE_OFFSET

MATRICES, VARIANCES = ("full", "tied"), ("diagonal", "spherical")
PRODUCT_COLUMNS = 64  # columns up to which a compiled pass over all products is quicker than NumPy over single columns
GAPS_IN_TENSORS = "Missing values in tensors are not read: fill them first, or give the rows as a NumPy array."


class _Components(NamedTuple):
    labels: Array | None  # (K,) sorted; None: a single component without a label
    weight: Array  # (K,) weight of all rows
    present: Array  # (K, 1) weight of the rows in the sums; (K, p) where single values are missing
    mean: Array  # (K, p)
    scatter: Array  # by shape
    shape: str


class Components(Labelled, _Components):
    """Weight, mean and centred scatter of each component."""

    __slots__ = ()

    def _joined(self, other: "Components") -> "Components":
        present, mean, d, factor = join(self.present, self.mean, other.present, other.mean)
        if self.shape in MATRICES:
            scatter = np.empty_like(self.scatter)
            add_scatter(self.scatter, other.scatter, factor * d, d, scatter)
        else:
            gain = factor * d * d
            gain = gain.sum(axis=1, keepdims=True) if self.shape == "spherical" else gain
            scatter = self.scatter + other.scatter + gain
        return self._replace(weight=self.weight + other.weight, present=present, mean=mean, scatter=scatter)

    def among(self, labels: Array) -> "Components":
        """The statistic with entries for more labels, which have no rows."""
        weight, present, mean = (self.spread(part, labels) for part in (self.weight, self.present, self.mean))
        scatter = self.scatter if self.tied else self.spread(self.scatter, labels)
        return self._replace(labels=labels, weight=weight, present=present, mean=mean, scatter=scatter)

    def component(self, k: int) -> "Components":
        """One of the components, without a label; of a tied scatter it gets its share."""
        one, S = slice(k, k + 1), self._replace(shape="full") if self.tied else self
        weight, present, mean = self.weight[one], self.present[one], self.mean[one]
        scatter = self.covariances() * present if self.tied else self.scatter[one]
        return S._replace(labels=None, weight=weight, present=present, mean=mean, scatter=scatter)

    @property
    def sums(self) -> tuple[Any, Array, Array]:
        """Weight, mean and scatter as the distributions take them: without the axis K if there are no labels."""
        if self.labels is None:
            return float(self.weight[0]), self.mean[0], self.scatter[0]
        return self.present, self.mean, self.scatter

    @property
    def tied(self) -> bool:
        """Whether the components share a scatter."""
        return self.shape == "tied"

    @property
    def gaps(self) -> Array:
        """The weight of the rows of each component that are not in the sums, (K,)."""
        return self.weight - self.present[:, 0]

    @property
    def within(self) -> Array:
        """The scatter of all rows about the means of their components."""
        return self.scatter.sum(axis=0)

    @property
    def total(self) -> Array:
        """The scatter of all rows about their common mean, in the shape of one component."""
        if self.shape in MATRICES:
            d = self.mean - self.present[:, 0] @ self.mean / self.present.sum()
            return self.within + (self.present * d).T @ d
        present = np.broadcast_to(self.present, self.mean.shape)
        between = join_runs(present, self.mean, np.zeros_like(self.mean), np.array([0]))[2][0]
        return self.within + (between.sum(keepdims=True) if self.shape == "spherical" else between)

    def covariances(self, added: float = 0.0) -> Array:
        """Maximum-likelihood covariances, in the shape of the scatter, with `added` on their diagonals."""
        n = self.present.sum(axis=0, keepdims=True) if self.tied else self.present
        if self.shape in MATRICES:
            out = self.scatter / np.maximum(n, NO_RESPONSIBILITY)[:, :, None]
            return out + added * np.eye(out.shape[-1]) if added else out
        n = np.broadcast_to(n, self.mean.shape).sum(axis=1, keepdims=True) if self.shape == "spherical" else n
        return self.scatter / np.maximum(n, NO_RESPONSIBILITY) + added

    def pool(self) -> "Components":
        """The statistic with the scatter matrices summed into one: from "full" to "tied"."""
        return self._replace(scatter=self.within[None], shape="tied")

    @property
    def varies(self) -> Array:
        """Whether each component has rows that differ (K,); if tied, whether any has (1,)."""
        return np.array([S.any() for S in self.scatter])

    def seen(self) -> "Components":
        """The statistic without components of weight 0."""
        seen = self.weight > 0
        if self.labels is None or seen.all():
            return self
        scatter = self.scatter if self.tied else self.scatter[seen]
        labels, weight, present, mean = self.labels[seen], self.weight[seen], self.present[seen], self.mean[seen]
        return self._replace(labels=labels, weight=weight, present=present, mean=mean, scatter=scatter)

    def finished(self) -> "Components":
        """The statistic with exact zeros for columns that vary by rounding only, so that no solver divides by noise."""
        eps, scatter = np.finfo(float).eps, np.array(self.scatter)
        rounding = self.present * (4 * eps * self.mean) ** 2
        if self.shape in VARIANCES:  # their sums are about the mean of all rows
            total = np.maximum(self.present.sum(axis=0), NO_RESPONSIBILITY)
            way = self.mean - (self.present * self.mean).sum(axis=0) / total
            rounding = rounding + 64 * eps * self.present * way**2
            rounding = rounding.sum(axis=1, keepdims=True) if self.shape == "spherical" else rounding
            return self._replace(scatter=np.where(scatter <= rounding, 0.0, scatter))
        rounding = rounding.sum(axis=0, keepdims=True) if self.tied else rounding
        for S, least in zip(scatter, rounding, strict=True):
            constant = np.diag(S) <= least
            S[constant], S[:, constant] = 0.0, 0.0
        return self._replace(scatter=scatter)


def components(X: Any, R: Any, shape: str, w: Any = None) -> Components:
    """The statistic of rows X (dense, sparse or a tensor) for labels (n,), responsibilities (n, K) or None.

    >>> import numpy as np
    >>> S = components(np.array([[0.0], [2.0], [9.0]]), np.array(["a", "a", "b"]), "diagonal")
    >>> S.labels.tolist(), S.mean.tolist(), S.covariances().tolist()
    (['a', 'b'], [[1.0], [9.0]], [[1.0], [0.0]])
    >>> soft = components(np.array([[0.0], [2.0], [9.0]]), np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]), "full")
    >>> soft.weight.tolist()
    [1.5, 1.5]
    """
    X = X.toarray() if is_sparse(X) else X
    n, p = X.shape
    if is_tensor(X):
        one = _variances if shape in VARIANCES else _matrices_of_tensor
        return _in_blocks(one, X, R, w, shape, max(BLOCK_ROWS, TENSOR_BYTES // (8 * p)))
    X = np.ascontiguousarray(X if X.dtype.kind == "f" else X.astype(np.float64))
    R, w = None if R is None else to_numpy(R), None if w is None else to_numpy(w).astype(np.float64, copy=False)
    if R is not None and R.ndim == 2:
        return _in_blocks(_variances if shape in VARIANCES else _matrices, X, R, w, shape, BLOCK_ROWS)
    if shape in MATRICES:
        return _matrices(X, R, w, shape)
    found = _few_variances(X, members(R, w, n), shape) if p <= PRODUCT_COLUMNS else None
    return _in_blocks(_variances, X, R, w, shape, BLOCK_ROWS) if found is None else found


def complete(labels: Array | None, weight: Array, mean: Array, scatter: Array, shape: str) -> Components:
    """The statistic of rows without missing values."""
    present = weight[:, None]
    return Components(labels=labels, weight=weight, present=present, mean=mean, scatter=scatter, shape=shape)


def _in_blocks(fn: Any, X: Any, R: Any, w: Any, shape: str, rows: int) -> Components:
    """The merged statistics fn(block) of blocks of rows that fit into the cache."""
    cuts = [slice(a, a + rows) for a in range(0, max(X.shape[0], 1), rows)]
    blocks = (fn(X[s], None if R is None else R[s], None if w is None else w[s], shape) for s in cuts)
    return reduce(Components.merge, blocks)


def _matrices(X: Array, R: Array | None, w: Array | None, shape: str) -> Components:
    """Means and scatter matrices of the complete rows; by a compiled pass for few columns, by BLAS for many."""
    if shape == "tied" and R is not None and R.ndim == 2 and (found := _soft_tied(X, R, w)) is not None:
        return found
    M = members(R, w, len(X))
    sums = moments_by_component if X.shape[1] <= NARROW else _wide_moments
    mean, scatter = sums(X, M.w, M.order, M.edges, shape == "tied")
    weight = present = M.weight
    if np.isnan(mean).any():
        M = M.keep(~np.asarray(np.isnan(X).any(axis=1))[M.order])
        mean, scatter = sums(X, M.w, M.order, M.edges, shape == "tied")
        present = M.weight
    return complete(M.labels, weight, mean, scatter, shape)._replace(present=present[:, None])


def _soft_tied(X: Array, R: Array, w: Array | None) -> Components | None:
    """The total scatter minus that of the component means: one matrix product instead of one for each component.

    None with missing values, and if the means lie so many standard deviations apart that the difference has cancelled.
    """
    H = R if w is None else R * w[:, None]
    weight, all_rows = H.sum(axis=0), _matrices(X, None, H.sum(axis=1), "full")
    D = X - all_rows.mean
    d = small_product(H.T, D) / np.maximum(weight, NO_RESPONSIBILITY)[:, None]
    between = (weight[:, None] * d).T @ d
    within = all_rows.scatter - between
    if not (np.diag(between) <= SAFE_OFFSET * np.diag(within[0])).all() or np.isnan(d).any():
        return None
    return complete(np.arange(len(weight)), weight, all_rows.mean + d, within, "tied")


def _few_variances(X: Array, M: Members, shape: str) -> Components | None:
    """Means and variances of few columns, by the compiled pass; None with missing values or many labels."""
    if (len(M.edges) - 1) * X.shape[1] > len(X) or np.isnan(X[:100]).any():  # a cheap check may save a pass
        return None
    mean, scatter = moments_by_component(X, M.w, M.order, M.edges, False)
    if np.isnan(mean).any():
        return None
    scatter = np.diagonal(scatter, axis1=1, axis2=2).copy()
    scatter = scatter.sum(axis=1, keepdims=True) if shape == "spherical" else scatter
    return complete(M.labels, M.weight, mean, scatter, shape)


def _wide_moments(X: Array, w: Array | None, order: Array, edges: Array, tied: bool) -> tuple[Array, Array]:
    """`moments_by_component` for many columns, by BLAS; copies at most about as many rows at a time as X has."""
    K, p = len(edges) - 1, X.shape[1]
    mean, scatter, first = np.zeros((K, p)), np.zeros((1 if tied else K, p, p)), 0
    while first < K:
        last = max(first + 1, int(np.searchsorted(edges, edges[first] + len(X), side="right")) - 1)
        some = slice(edges[first], edges[last])
        v, inner = None if w is None else w[some], edges[first : last + 1] - edges[first]
        D, mean[first:last] = centred_rows(X[order[some]], v, inner)
        D = D if v is None else np.sqrt(v)[:, None] * D
        if tied:
            scatter[0] += small_product(D.T, D)
        else:
            scatter[first:last] = [small_product(D[a:b].T, D[a:b]) for a, b in pairwise(inner)]
        first = last
    return mean, scatter


def centred_rows(X: Array, w: Array | None, edges: Array) -> tuple[Array, Array]:
    """Rows minus the means of their components (rows between two edges each), and the means; overwrites float64 X."""
    D, mean = X.astype(np.float64, copy=False), np.zeros((len(edges) - 1, X.shape[1]))
    for k, (a, b) in enumerate(pairwise(edges)):
        for _ in range(2 if b > a else 0):  # a second time to remove the rounding error of the mean
            way = np.average(D[a:b], axis=0, weights=None if w is None else w[a:b])
            D[a:b] -= way
            mean[k] += way
    return D, mean


def _matrices_of_tensor(X: Any, R: Any, w: Any, shape: str) -> Components:
    """Means and scatter matrices, computed on a tensor's own device."""
    xp = namespace(X)
    labels, H, _ = _shares(X, R, w)
    means, products, weight = [], [], []
    for k in range(H.shape[1]):
        D, v = X, H[:, k]
        if R is not None and R.ndim == 1:  # labels: each row is in one component only
            D, v = X[v > 0], v[v > 0]
        total = xp.clip(xp.sum(v), float(xp.finfo(v.dtype).tiny), None)
        mean = (v @ D) / total
        D = D - mean
        rest = (v @ D) / total  # the rounding error of the mean
        D = D - rest
        means.append(mean + rest)
        products.append((D * v[:, None]).T @ D)
        weight.append(xp.sum(v))
    mean, scatter, each = to_host(xp.stack(means), xp.stack(products), xp.stack(weight))
    if np.isnan(mean).any():
        raise InputError(GAPS_IN_TENSORS)
    scatter = scatter.sum(axis=0, keepdims=True) if shape == "tied" else scatter
    return complete(labels, each, mean, scatter, shape)


def _shares(X: Any, R: Any, w: Any) -> tuple[Array | None, Any, Any]:
    """Labels, the weights of rows in components (n, K), and their sample weights (n,), as the kind of array of X."""
    xp = namespace(X)
    kind = {"dtype": X.dtype} | ({"device": X.device} if is_tensor(X) else {})
    w = xp.ones(X.shape[0], **kind) if w is None else xp.asarray(w, **kind)
    if R is None:
        return None, w[:, None], w
    if R.ndim == 2:
        return np.arange(R.shape[1]), xp.asarray(R, **kind) * w[:, None], w
    labels = label_counts(Block(y=R)).values
    codes = label_codes(R, labels)
    if not is_tensor(X):
        return labels, one_hot(codes, w, len(labels)), w
    codes = xp.asarray(codes, device=X.device)
    return labels, xp.astype(codes[:, None] == xp.arange(len(labels), device=X.device), X.dtype) * w[:, None], w


def _variances(X: Any, R: Any, w: Any, shape: str) -> Components:
    """Means and variances of the columns, by two products with the responsibilities; NaN is skipped."""
    xp = namespace(X)
    X = xp.astype(X, xp.float64) if is_tensor(X) else np.asarray(X, np.float64)
    labels, H, v = _shares(X, R, w)
    weight = xp.sum(H, axis=0)
    centre = small_product(v, X) / xp.clip(xp.sum(v), NO_RESPONSIBILITY, None)
    if bool(xp.any(xp.isnan(centre))):
        there = xp.astype(~xp.isnan(X), xp.float64)
        X = xp.where(there > 0, X, 0.0)
        centre = small_product(v, X) / xp.clip(v @ there, NO_RESPONSIBILITY, None)
        D, present = (X - centre) * there, small_product(H.T, there)
    else:
        D, present = X - centre, weight[:, None]
    first = small_product(H.T, D)
    D *= D  # in place: allocating memory costs more than the product
    second = small_product(H.T, D)
    shift = first / xp.clip(present, NO_RESPONSIBILITY, None)
    scatter = xp.clip(second - present * shift * shift, 0.0, None)
    scatter = xp.sum(scatter, axis=1, keepdims=True) if shape == "spherical" else scatter
    weight, present, mean, scatter = to_host(weight, present, centre + shift, scatter)
    return complete(labels, weight, mean, scatter, shape)._replace(present=present)
