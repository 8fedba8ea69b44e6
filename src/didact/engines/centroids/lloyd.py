r"""k-means: centres that minimise :math:`\sum_i w_i \min_k \|x_i - c_k\|^2`, by Lloyd's iterations.

An iteration assigns each row to its nearest centre and moves each centre to the mean of its rows. Neither step can
increase the cost, and there are finitely many assignments, so the iteration ends. What crosses a block border are sums,
weights and cost of the clusters, so that rows may be in memory, in batches, on a cluster, or on a device. Dense rows in
memory keep bounds from pass to pass (`lloyd_loops`), which give the same centres for a fraction of the n p K products;
their cost follows from the sums, :math:`\sum_i w_i\|x_i-o\|^2 - 2\sum_k c_k\cdot S_k + \sum_k W_k\|c_k\|^2` about an
origin o. Centres without rows move to the rows that are farthest from their own centres.

Lloyd (1982), Least squares quantization in PCM, doi:10.1109/TIT.1982.1056489.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import is_sparse, is_tensor, like, namespace, row_weights, small_product, to_host, to_numpy
from didact.core.rows import Block, MemoryRows, Rows
from didact.core.rows.memory import block_by_block, compiled_pass, in_pieces
from didact.core.threads import blas_for, parallel_map
from didact.core.typing import Array
from didact.engines.centroids.passes import Pass
from didact.engines.centroids.starts import plus_plus
from didact.engines.centroids.tuning import SMALL_RUN
from didact.engines.loop.iterate import Report, iterate
from didact.engines.loop.result import Result
from didact.parts.statistics.components import Components, components

STILL = 16 * np.finfo(float).eps  # a relative step of this size is rounding


class Clusters(NamedTuple):
    """Sums and weights of the clusters, and the cost."""

    sums: Array  # (K, p)
    weights: Array  # (K,)
    cost: float

    def merge(self, other: "Clusters") -> "Clusters":
        """Add them."""
        return Clusters(self.sums + other.sums, self.weights + other.weights, self.cost + other.cost)

    def means(self, centers: Array) -> Array:
        """The means of the clusters; a centre without rows stays."""
        empty = self.weights <= 0
        new: Array = np.where(empty[:, None], centers, self.sums / np.where(empty, 1.0, self.weights)[:, None])
        return new


class Farthest(NamedTuple):
    """The rows farthest from their own centres, no two of them equal, and their squared distances."""

    rows: Array  # (m, p)
    distances: Array  # (m,), descending
    most: int

    def merge(self, other: "Farthest") -> "Farthest":
        """The farthest of both."""
        rows, distances = np.vstack([self.rows, other.rows]), np.concatenate([self.distances, other.distances])
        return _farthest(rows, distances, self.most)


class Assigned(NamedTuple):
    """The number of each row's centre, int32, its squared distance, and the cost."""

    labels: Array
    distances: Array
    cost: float

    def merge(self, other: "Assigned") -> "Assigned":
        """Those of the first rows, then those of the others."""
        labels, distances = np.concatenate([self.labels, other.labels]), [self.distances, other.distances]
        return Assigned(labels, np.concatenate(distances), self.cost + other.cost)


class LloydState(NamedTuple):
    """Centres, their clusters, the means to which they move, and the scale of the data."""

    x: Array
    clusters: Clusters
    means: Array
    scale: float

    @property
    def value(self) -> float:
        """The cost."""
        return self.clusters.cost

    @property
    def optimality(self) -> float:
        """Sum of the squared steps to the next centres, relative to the scale."""
        step = self.means - self.x
        step[np.abs(step) <= STILL * (np.abs(self.means) + np.abs(self.x))] = 0.0
        return float((step * step).sum()) / self.scale


@compiled_pass
def clusters_of(block: Block, centers: Array) -> Clusters:
    """The clusters of one block of rows."""
    X, w = block.X, block.weight
    if is_tensor(X) and X.is_cuda:
        from didact.engines.centroids.cuda import cluster_sums, lloyd_fits

        if lloyd_fits(X, len(centers)):
            return Clusters(*cluster_sums(X, w, centers))
    if not isinstance(X, np.ndarray):
        return block_by_block(_clusters_of, block, centers)
    origin = centers.mean(axis=0)
    found = Pass(X, w, origin)
    sums, weights = found.clusters(centers)
    cost = float(found.squares.sum() if w is None else w @ found.squares)
    return Clusters(sums + weights[:, None] * origin, weights, cost)


def _clusters_of(block: Block, centers: Array) -> Clusters:
    """The clusters of one block of sparse rows, or of a tensor."""
    X, w = block.X, block.weight
    labels, distances = _nearest(X, centers)
    if is_tensor(X):
        R = _memberships(labels, X, len(centers))
        R = R if w is None else R * w[:, None]
        cost = distances.sum() if w is None else (w * distances).sum()
        sums, weights, cost = to_host(small_product(R.T, X), R.sum(axis=0), cost)
        return Clusters(sums, weights, float(cost))
    import scipy.sparse as sp

    n, w = X.shape[0], row_weights(w, X.shape[0])
    member = sp.csr_array((w, labels, np.arange(n + 1)), shape=(n, len(centers)))
    sums = np.asarray((member.T @ X).todense(), np.float64)
    return Clusters(sums, np.bincount(labels, w, len(centers)), float(w @ distances))


def _memberships(labels: Any, X: Any, K: int) -> Any:
    xp = namespace(X)
    return xp.astype(labels[:, None] == xp.arange(K, device=X.device)[None, :], X.dtype)


def _nearest(X: Any, centers: Array) -> tuple[Any, Any]:
    """The nearest centre of each row and its squared distance, for sparse rows and tensors."""
    if is_tensor(X):
        xp, C = namespace(X), like(centers, X)
        origin = xp.mean(C, axis=0)
        labels = xp.argmax((X - origin) @ (C - origin).T - 0.5 * xp.sum((C - origin) ** 2, axis=1), axis=1)
        return labels, xp.sum((X - C[labels]) ** 2, axis=1)
    score = X @ centers.T - 0.5 * (centers * centers).sum(axis=1)
    labels = score.argmax(axis=1).astype(np.int32)
    squares = np.asarray(X.multiply(X).sum(axis=1), np.float64).ravel()
    return labels, np.maximum(squares - 2 * score[np.arange(X.shape[0]), labels], 0.0)


@compiled_pass
def assigned_of(block: Block, centers: Array) -> Assigned:
    """The nearest centre of each row of a block, of equal ones the first."""
    X, w = block.X, block.weight
    if not isinstance(X, np.ndarray):
        return block_by_block(_assigned_of, block, centers)
    found = Pass(X, None, centers.mean(axis=0))
    found.clusters(centers)
    return Assigned(found.labels, found.squares, float(found.squares.sum() if w is None else w @ found.squares))


def _assigned_of(block: Block, centers: Array) -> Assigned:
    """The nearest centre of each sparse row, or of a tensor."""
    labels, distances = _nearest(block.X, centers)
    labels, distances = to_numpy(labels.int() if is_tensor(labels) else labels), to_numpy(distances)
    w, distances = block.weight, distances.astype(np.float64)
    return Assigned(
        labels.astype(np.int32), distances, float(distances.sum() if w is None else to_numpy(w) @ distances)
    )


def assign(X: Any, centers: Array) -> tuple[Array, Array]:
    """The nearest centre of every row, int32, and its squared distance."""
    found = assigned_of(Block(X), np.asarray(centers, np.float64))
    return found.labels, found.distances


def farthest_of(block: Block, centers: Array, most: int) -> Farthest:
    """So many rows of a block with positive weight that are farthest from their centres."""
    X, (_, distances, _) = block.X, assigned_of(block, centers)
    if block.weight is not None:
        distances = np.where(to_numpy(block.weight) > 0, distances, 0.0)
    # Equal rows count once, so some more are looked at; those at a centre are never farthest.
    there = np.argsort(-distances, kind="stable")[: max(8 * most, 256)]
    there = there[distances[there] > 0]
    rows = X[there].toarray() if is_sparse(X) else to_numpy(X[there])
    return _farthest(np.asarray(rows, np.float64), distances[there], most)


def _farthest(rows: Array, distances: Array, most: int) -> Farthest:
    first = np.sort(np.unique(rows, axis=0, return_index=True)[1]) if len(rows) else np.zeros(0, np.int64)
    # Of equally far ones the order is that of their numbers, whatever the order of the rows.
    keys = (*rows[first].T[::-1], -distances[first])
    order = first[np.lexsort(keys)][:most] if len(first) else first
    return Farthest(rows[order], distances[order], most)


def repaired(rows: Rows, x: Array, clusters: Clusters) -> Array:
    """The next centres: means, and for those without rows the rows farthest from their centres, if any are apart."""
    means, empty = clusters.means(x), np.flatnonzero(clusters.weights <= 0)
    if len(empty) and clusters.cost > 0:
        found = rows.reduce(farthest_of, x, len(empty)).rows
        means[empty[: len(found)]] = found
    return means


@in_pieces
def spread_of(block: Block) -> Components:
    """Weight, mean and scatter of the rows of a block."""
    return components(block.X, None, "spherical", block.weight)


@compiled_pass
def bounded_pass(block: Block, run: Pass, centers: Array, scatter: float) -> Clusters:
    """The clusters of all rows, from those of the last pass; `scatter` is that of the rows about the origin."""
    sums, weights = run.clusters(centers)
    near = (centers - run.origin).astype(np.longdouble)
    cost = scatter - 2 * (near * sums).sum() + weights @ (near * near).sum(axis=1)
    return Clusters(sums + weights[:, None] * run.origin, weights, max(float(cost), 0.0))


def lloyd(rows: Rows, centers: Array, tol: float = 1e-4, max_iter: int = 300, report: Report | None = None,
          scale: float = 1.0, spread: Components | None = None, bounds: bool = True) -> Result:  # fmt: skip
    """Lloyd's iterations from these centres until their squared steps sum to less than tol·scale.

    `spread` is the statistic `spread_of` of the rows, if it is known already; without `bounds` every pass compares all
    rows with all centres.
    """
    start = np.array(centers, np.float64)
    if bounds and rows.memory and isinstance(rows.memory.X, np.ndarray):
        spread = rows.reduce(spread_of) if spread is None else spread
        block, origin, scatter = rows.whole(), spread.mean[0].astype(np.float64), float(spread.scatter[0, 0])
        run = Pass(block.X, block.weight, origin, bounded=True)

        def clusters(x: Array) -> Clusters:
            return rows.reduce(bounded_pass, run, x, scatter)
    else:

        def clusters(x: Array) -> Clusters:
            return rows.reduce(clusters_of, x)

    last: list[LloydState] = []

    def state(x: Array) -> LloydState:
        found = clusters(x)
        last[:] = [LloydState(x, found, repaired(rows, x, found), scale)]
        return last[0]

    with blas_for(len(start)):  # threads of BLAS that wait for more would take the cores from the passes
        result = iterate(state(start), lambda s: state(s.means), tol, max_iter, report)
    if result.converged and result.optimality > 0 and result.n_iter < max_iter:  # the short step costs nothing more
        end = state(last[0].means)
        result.x, result.value, result.n_iter = end.x, end.value, result.n_iter + 1
        result.history.append(end.value)
        if report is not None:
            report(result.n_iter, end.value, end.x)
    return result


def mean_variance(spread: Components) -> float:
    """The mean of the variances of the columns, by which a tolerance is scaled; 1 for constant columns."""
    total = float(spread.weight.sum()) * spread.mean.shape[1]
    return float(spread.scatter[0, 0]) / total if total > 0 and spread.scatter[0, 0] > 0 else 1.0


def kmeans(rows: MemoryRows, count: int, seeds: list[Any], tol: float = 1e-4, max_iter: int = 300) -> Result:
    """The best of several runs, one for each seed; `x` of the result are the centres, `value` is the cost."""
    X, w, spread = rows.X, rows.columns.weight, rows.reduce(spread_of)

    def run(seed: Any) -> Result:
        start = plus_plus(X, w, count, np.random.default_rng(seed))
        return lloyd(rows, start, tol, max_iter, scale=mean_variance(spread), spread=spread)

    small = X.shape[0] * X.shape[1] * count <= SMALL_RUN
    return min(parallel_map(run, seeds) if small else map(run, seeds), key=lambda result: result.value)
