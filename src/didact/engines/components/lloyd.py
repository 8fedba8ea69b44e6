r"""k-means: centres that minimise :math:`\sum_i w_i \min_k \|x_i - c_k\|^2`, by Lloyd's iterations.

An iteration assigns each row to its nearest centre and moves each centre to the mean of its rows. Neither step can
increase the cost, and there are finitely many assignments, so the iteration ends. Distances come from products of
blocks of rows with the centres (n p K multiply–adds at the speed of BLAS), taken about the mean of the centres so that
data far from the origin lose no accuracy. A centre without rows moves to the row farthest from its own centre. The
sufficient statistics of a block are sums, weights and cost of the clusters, so that rows may be in memory, in batches,
or on a cluster.

The start is greedy k-means++: a row is drawn as the next centre with probability proportional to its squared distance
from the nearest centre so far, the best of 2 + ln K draws. Rows are drawn in the order of their projections on a fixed
direction, so that neither the order of the rows nor repeating rows instead of weighting them changes the draws.

Lloyd (1982), Least squares quantization in PCM, doi:10.1109/TIT.1982.1056489; Arthur, Vassilvitskii (2007),
k-means++: the advantages of careful seeding, SODA.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import is_sparse, read_only
from didact.core.errors import InputError
from didact.core.rows import Block, MemoryRows, Rows
from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.engines.components.lloyd_loops import nearest_rows
from didact.engines.components.tuning import ASSIGNED_ROWS
from didact.engines.loop.iterate import Report, iterate
from didact.engines.loop.result import Result

STILL = 16 * np.finfo(float).eps  # a relative step of this size is rounding


class Clusters(NamedTuple):
    """Sums and weights of the clusters, the cost, and the row farthest from its centre."""

    sums: Array  # (K, p)
    weights: Array  # (K,)
    cost: float
    distance: float
    farthest: Array  # (p,)

    def merge(self, other: "Clusters") -> "Clusters":
        """Add the sums; keep the farther of the farthest rows."""
        far = self if self.distance >= other.distance else other
        return Clusters(self.sums + other.sums, self.weights + other.weights, self.cost + other.cost, *far[3:])

    def means(self, centers: Array) -> Array:
        """The new centres; the first without rows moves to the farthest row, other empty ones stay."""
        empty = self.weights <= 0
        new = np.where(empty[:, None], centers, self.sums / np.where(empty, 1.0, self.weights)[:, None])
        if empty.any() and self.distance > 0:
            new[np.argmax(empty)] = self.farthest
        return new


class LloydState(NamedTuple):
    """Centres, their clusters, and the scale of the data."""

    x: Array
    clusters: Clusters
    scale: float

    @property
    def value(self) -> float:
        """The cost."""
        return self.clusters.cost

    @property
    def optimality(self) -> float:
        """Sum of the squared steps to the next centres, relative to the scale."""
        new = self.clusters.means(self.x)
        step = new - self.x
        step[np.abs(step) <= STILL * (np.abs(new) + np.abs(self.x))] = 0.0
        return float((step * step).sum()) / self.scale


def clusters_of(block: Block, centers: Array) -> Clusters:
    """The clusters of one block of rows."""
    return _assigned(block.X, block.weight, centers)[2]


def assign(X: Any, centers: Array) -> tuple[Array, Array]:
    """The nearest centre of every row, int32, and its squared distance."""
    pieces = [slice(k, k + ASSIGNED_ROWS) for k in range(0, X.shape[0], ASSIGNED_ROWS)]
    found = parallel_map(lambda piece: _assigned(X[piece], None, centers)[:2], pieces)
    if not found:
        return np.empty(0, np.int32), np.empty(0)
    return np.concatenate([labels for labels, _ in found]), np.concatenate([distance for _, distance in found])


def _assigned(X: Any, w: Any, centers: Array) -> tuple[Array, Array, Clusters]:
    n, (K, p) = X.shape[0], centers.shape
    w = np.ones(n) if w is None else np.asarray(w, np.float64)
    if is_sparse(X):
        return _assigned_sparse(X, w, centers)
    shift = centers.mean(axis=0)
    Z, C = X - shift, centers - shift
    Z = Z.astype(np.float64, copy=False)
    labels, distances, sums, weights = np.empty(n, np.int32), np.empty(n), np.zeros((K, p)), np.zeros(K)
    cost = nearest_rows(
        read_only(Z), Z @ C.T, 0.5 * (C * C).sum(axis=1), C, read_only(w), labels, distances, sums, weights
    )
    sums += weights[:, None] * shift
    return labels, distances, Clusters(sums, weights, cost, *_farthest(X, w, distances))


def _assigned_sparse(X: Any, w: Array, centers: Array) -> tuple[Array, Array, Clusters]:
    import scipy.sparse as sp

    n, K = X.shape[0], len(centers)
    score = X @ centers.T - 0.5 * (centers * centers).sum(axis=1)
    labels = score.argmax(axis=1).astype(np.int32)
    squares = np.asarray(X.multiply(X).sum(axis=1), np.float64).ravel()
    distances = np.maximum(squares - 2 * score[np.arange(n), labels], 0.0)
    member = sp.csr_array((w, labels, np.arange(n + 1)), shape=(n, K))
    sums = np.asarray((member.T @ X).todense(), np.float64)
    return (
        labels,
        distances,
        Clusters(sums, np.bincount(labels, w, K), float(w @ distances), *_farthest(X, w, distances)),
    )


def _farthest(X: Any, w: Array, distances: Array) -> tuple[float, Array]:
    """The largest squared distance of a row of positive weight, and that row."""
    if not len(w):
        return -1.0, np.zeros(X.shape[1])
    i = int(np.argmax(np.where(w > 0, distances, -1.0)))
    row = X[[i]].toarray()[0] if is_sparse(X) else X[i]
    return (float(distances[i]) if w[i] > 0 else -1.0), np.asarray(row, np.float64)


def lloyd(rows: Rows, centers: Array, tol: float = 1e-4, max_iter: int = 300, report: Report | None = None,
          scale: float = 1.0) -> Result:  # fmt: skip
    """Lloyd's iterations from these centres until their squared steps sum to less than tol·scale."""

    def state(x: Array) -> LloydState:
        return LloydState(x, rows.reduce(clusters_of, x), scale)

    start = np.asarray(centers, np.float64)
    return iterate(state(start), lambda s: state(s.clusters.means(s.x)), tol, max_iter, report)


def plus_plus(X: Any, w: Array | None, count: int, rng: np.random.Generator) -> Array:
    """Initial centres (count, p), float64, drawn from the rows of X by greedy k-means++."""
    n = X.shape[0]
    w = np.ones(n) if w is None else np.asarray(w, np.float64)
    if np.count_nonzero(w) < count:
        raise InputError(f"There are {np.count_nonzero(w)} rows with weight: too few for {count} clusters.")
    trials = 2 + int(np.log(count))
    centers, order = np.empty((count, X.shape[1])), _by_place(X)
    centers[0] = _row(X, _drawn(w, order, 1, rng)[0])
    nearest = _distances(X, centers[:1])[:, 0]
    for k in range(1, count):
        chance = w * nearest
        candidates = _drawn(chance if chance.any() else w, order, trials, rng)
        found = np.minimum(nearest[:, None], _distances(X, np.stack([_row(X, c) for c in candidates])))
        best = int(np.argmin(w @ found))
        centers[k], nearest = _row(X, candidates[best]), found[:, best]
    return centers


def _by_place(X: Any) -> Array:
    """The rows in the order of their projections on a fixed direction: equal rows are adjacent."""
    direction = np.random.default_rng(0).normal(size=X.shape[1])
    with np.errstate(all="ignore"):
        return np.argsort(X @ direction.astype(X.dtype, copy=False), kind="stable")


def _drawn(chance: Array, order: Array, count: int, rng: np.random.Generator) -> Array:
    """Rows drawn with these relative probabilities, accumulated in the given order."""
    upto = np.cumsum(chance[order])
    place = np.searchsorted(upto, rng.uniform(size=count) * upto[-1], side="right")
    return order[np.minimum(place, np.searchsorted(upto, upto[-1]))]


def _row(X: Any, i: int) -> Array:
    return np.asarray(X[[i]].toarray()[0] if is_sparse(X) else X[i], np.float64)


def _distances(X: Any, centers: Array) -> Array:
    """Squared distances of rows from a few centres, (n, len(centers)); never negative."""
    if is_sparse(X):
        squares = np.asarray(X.multiply(X).sum(axis=1), np.float64).ravel()
        return np.maximum(squares[:, None] - 2 * (X @ centers.T) + (centers * centers).sum(axis=1), 0.0)
    out = np.empty((len(X), len(centers)))
    for k, center in enumerate(centers):
        step = X - center
        out[:, k] = np.einsum("ij,ij->i", step, step, dtype=np.float64)
    return out


def kmeans(rows: MemoryRows, count: int, seeds: list[Any], tol: float = 1e-4, max_iter: int = 300) -> Result:
    """The best of several runs, one for each seed; `x` of the result are the centres, `value` is the cost."""
    X, w = rows.X, rows.columns.weight
    share = np.full(X.shape[0], 1.0 / X.shape[0]) if w is None else w / w.sum()
    mean = np.asarray(share @ X, np.float64).ravel()
    squares = np.asarray(share @ X.multiply(X)).ravel() - mean * mean if is_sparse(X) else share @ (X - mean) ** 2
    scale = float(np.sum(squares)) / X.shape[1] or 1.0

    def run(seed: Any) -> Result:
        start = plus_plus(X, w, count, np.random.default_rng(seed))
        return lloyd(rows, start, tol, max_iter, scale=scale)

    return min(parallel_map(run, seeds), key=lambda result: result.value)
