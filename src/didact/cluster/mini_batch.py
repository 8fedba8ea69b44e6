r"""k-means on small batches: centres are running means of the rows that came to them.

A batch assigns its rows to the nearest centres, and each centre moves to the mean of all rows that it ever got,
:math:`c_k \leftarrow c_k + \frac{1}{N_k}\sum_{i\in B_k} w_i(x_i - c_k)`, with N_k the weight of all of them.

Sculley (2010), Web-scale k-means clustering, doi:10.1145/1772690.1772862.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np

from didact.cluster.base import (
    _Centers,
    drawn,
    finite_spread,
    init_param,
    number_of_runs,
    refuse_few,
    warn_of_equal_centers,
)
from didact.core.backend import float_type
from didact.core.errors import users_level
from didact.core.estimator import Ended, remember
from didact.core.parameters import at_least, attr, is_bool, none, one_of, param, random_state, whole
from didact.core.progress import FitProgress
from didact.core.random import seed_sequence
from didact.core.rows import Block, MemoryRows, Rows
from didact.core.rows.gather import rebatched
from didact.core.typing import Array
from didact.engines.centroids.lloyd import assigned_of, clusters_of, mean_variance
from didact.engines.centroids.starts import sample_of
from didact.parts.statistics.components import Components

HASHED = "The rows from which the start is drawn are those whose values have the least hashes."


class Running(NamedTuple):
    """Centres, and the weight of the rows that each has got."""

    centers: Array
    weights: Array


def learn(state: Running, block: Block) -> tuple[Running, float, float]:
    """The centres after one more batch, the cost of its rows before for a unit of weight, and their weight."""
    found = clusters_of(block, state.centers)
    weights = state.weights + found.weights
    step = (found.sums - found.weights[:, None] * state.centers) / np.where(weights > 0, weights, 1.0)[:, None]
    total = float(found.weights.sum())
    return Running(state.centers + step, weights), found.cost / (total or 1.0), total


def reassigned(state: Running, block: Block, ratio: float, rng: np.random.Generator) -> Running:
    """Centres that got less than a share `ratio` of the most weight of one begin anew at rows of the batch."""
    few = np.flatnonzero(state.weights < ratio * state.weights.max())
    X, n = block.X, block.X.shape[0]
    few = few[np.argsort(state.weights[few], kind="stable")[: n // 2]]
    if not len(few):
        return state
    centers, weights = state.centers.copy(), state.weights.copy()
    rows = X[np.sort(rng.permutation(n)[: len(few)])]
    centers[few] = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows, np.float64)
    kept = np.delete(weights, few)
    weights[few] = kept.min() if len(kept) else 1.0
    return Running(centers, weights)


def warn_of_size(size: int, count: int) -> None:
    """Say that a start needs more rows."""
    sentence = f"init_size={size} should be larger than n_clusters={count}: starts are drawn from {3 * count} rows."
    warnings.warn(sentence, RuntimeWarning, stacklevel=users_level())


class MiniBatchKMeans(_Centers):
    r"""k-means that learns from small batches of rows, for data that are many or arrive bit by bit.

    .. math:: c_k \leftarrow c_k + \frac{1}{N_k}\sum_{i\in B_k} w_i (x_i - c_k), \qquad N_k \leftarrow N_k + W(B_k)

    Notes
    -----
    The centres are a little worse than those of `KMeans`, which with bounds is often as quick. Rows in memory are
    shuffled for each pass; batches and Dask collections come in order: the order of rows matters, and a weight counts
    in the batch of its row alone. Cost: n p K multiply-adds a pass. Shape of computation: stream.

    References
    ----------
    Sculley (2010), doi:10.1145/1772690.1772862.

    Examples
    --------
    >>> from didact.cluster import MiniBatchKMeans
    >>> X = [[1.0, 2.0], [1.0, 4.0], [1.0, 0.0], [10.0, 2.0], [10.0, 4.0], [10.0, 0.0]]
    >>> model = MiniBatchKMeans(n_clusters=2, random_state=0, batch_size=6).fit(X)
    >>> sorted(model.cluster_centers_.round(6).tolist())
    [[1.0, 2.0], [10.0, 2.0]]
    """

    _tensors = False

    n_clusters: int = param(8, whole(1), "Number of clusters.")
    max_iter: int = param(100, whole(1), "Most passes over the rows.")
    batch_size: int = param(1024, whole(1), "Rows of a batch.")
    compute_labels: bool = param(True, is_bool, "Whether to find labels and cost of all rows after the fit.")
    random_state: Any = param(None, random_state, "Seed of the start and of the batches.")
    tol: float = param(0.0, at_least(0), "Squared step of the centres that ends the fit, of the mean variance; 0: off.")
    max_no_improvement: Any = param(
        10, [whole(0), none], "Batches without a lower smoothed cost that end the fit; None: off."
    )
    init_size: Any = param(None, [whole(1), none], "Rows from which starts are drawn; None: three batches.")
    n_init: Any = param("auto", [one_of("auto"), whole(1)], "Starts that are tried; 'auto': 1, or 3 for random ones.")
    shuffle: bool = param(True, is_bool, "Whether to shuffle rows in memory for each pass; collections come in order.")
    reassignment_ratio: float = param(
        0.01, at_least(0), "Centres with a lower share of the most weight of one begin anew, now and then."
    )
    init: Any = init_param()

    _attrs = [
        attr("cluster_centers_", "(n_clusters, n_features)", "Centres."),
        attr("labels_", "(n_samples,)", "The number of each row's centre.", "compute_labels"),
        attr("inertia_", "float", "The cost Σ w min‖x − c‖²: of the rows, of the last ones.", "compute_labels"),
        attr("n_iter_", "int", "Passes over the rows, the last of them begun."),
        attr("n_steps_", "int", "Batches."),
        attr("cluster_weights_", "(n_clusters,)", "Weight of the rows that each centre has got."),
    ]

    _test_params = [{"n_clusters": 3, "random_state": 0, "batch_size": 48, "shuffle": False}]
    _test_skips = {
        "callbacks/limit": "It ends at max_iter without a word, as scikit-learn's: one pass is often enough.",
        "row_order": "Centres move after each batch, so that the order of the rows matters.",
        "weights_equal_repetition": "Repeated rows fill batches, a weight does not.",
        "constant_columns/constant": HASHED,
        "constant_columns/shift": HASHED,
    }

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "MiniBatchKMeans":
        """Find the centres of rows X, batch by batch; sample_weight counts rows, y is not used."""
        rows = self._rows(X, None, sample_weight, target="none")
        spread = finite_spread(rows)
        dtype, rng = float_type(rows), np.random.default_rng(seed_sequence(self.random_state))
        stop = _Stop(self, spread)
        with FitProgress(self, X=X, attributes=lambda x: {"cluster_centers_": x.astype(dtype)}) as progress:
            state, self.n_iter_, self.n_steps_ = self._learn(rows, self._start(rows, rng), stop, rng, progress)
        self._store(rows, state)
        remember(self, Ended("converged" if stop.rests else "stopped" if progress.stopped else "iteration limit"))
        if self.compute_labels:
            warn_of_equal_centers(self.cluster_centers_, self.labels_)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "MiniBatchKMeans":
        """Learn from one more batch of rows."""
        first = not hasattr(self, "cluster_centers_")
        rows = self._rows(X, None, sample_weight, target="none", reset=first)
        finite_spread(rows)
        rng = np.random.default_rng(seed_sequence(self.random_state))
        state = self._start(rows, rng) if first else self._running()
        for block in rows.stream():
            state = learn(state, block)[0]
        self.n_steps_, self.n_iter_ = (0 if first else self.n_steps_) + 1, 1 if first else self.n_iter_ + 1
        self._store(rows, state)
        return self

    def _running(self) -> Running:
        return Running(self.cluster_centers_.astype(np.float64), self.cluster_weights_.astype(np.float64))

    def _start(self, rows: Rows, rng: np.random.Generator) -> Running:
        """The best of some starts, drawn from a sample of the rows and tried on it."""
        count, size = self.n_clusters, self.init_size or 3 * self.batch_size
        if size < count:
            warn_of_size(size, count)
        runs = number_of_runs(self.init, self.n_init, 3)
        if rows.memory:
            refuse_few(rows.memory.X, rows.memory.columns.weight, count)
        found = rows.reduce(sample_of, max(size, 3 * count))
        some = MemoryRows(found.rows, None, found.weights) if len(found.rows) >= count else rows
        starts = [drawn(some, self.init, count, rng) for _ in range(runs)]
        costs = [some.reduce(clusters_of, start).cost for start in starts] if runs > 1 else [0.0]
        return Running(starts[int(np.argmin(costs))], np.zeros(count))

    def _learn(self, rows: Rows, state: Running, stop: "_Stop", rng: np.random.Generator, progress: FitProgress) -> Any:
        """Passes until the smoothed cost, or the centres, rest: the state, the passes and the batches."""
        steps, since, shuffling = 0, 0, rng if self.shuffle and rows.memory else None
        for epoch in range(1, self.max_iter + 1):
            for block in rebatched(rows, self.batch_size, shuffling):
                before, (state, cost, weight) = state.centers, learn(state, block)
                steps, since = steps + 1, since + block.X.shape[0]
                if self.reassignment_ratio > 0 and since >= 10 * self.n_clusters:
                    state, since = reassigned(state, block, self.reassignment_ratio, rng), 0
                if stop.seen(cost, float(((state.centers - before) ** 2).sum()), weight):
                    progress.report(epoch, stop.smooth, state.centers)
                    return state, epoch, steps
            if progress.report(epoch, stop.smooth, state.centers):
                break
        return state, epoch, steps

    def _store(self, rows: Rows, state: Running) -> None:
        self.cluster_centers_, self.cluster_weights_ = state.centers.astype(float_type(rows)), state.weights
        if self.compute_labels:
            found = rows.reduce(assigned_of, self.cluster_centers_.astype(np.float64))
            self.labels_, self.inertia_ = found.labels, found.cost


class _Stop:
    """When batches no longer help: a cost smoothed over about the last pass that does not fall, or short steps."""

    def __init__(self, model: Any, spread: Components) -> None:
        self.patience, self.waited, self.smooth, self.least = model.max_no_improvement, 0, float("nan"), float("inf")
        self.tol = model.tol * mean_variance(spread)
        self.total, self.count, self.rests = float(spread.weight.sum()), 0, False

    def seen(self, cost: float, step: float, weight: float) -> bool:
        """Whether to stop after one more batch."""
        self.count += 1
        self.rests = self.count > 1 and self._rests(cost, step, weight)  # the start is not yet a mean of anything
        return self.rests

    def _rests(self, cost: float, step: float, weight: float) -> bool:
        share = min(1.0, 2.0 * weight / self.total)
        self.smooth = cost if self.smooth != self.smooth else self.smooth * (1 - share) + cost * share
        if self.tol > 0 and step <= self.tol:
            return True
        self.waited = 0 if self.smooth < self.least else self.waited + 1
        self.least = min(self.least, self.smooth)
        return self.patience is not None and self.waited >= self.patience
