r"""k-means row by row, as a network of one layer: the unit nearest to a row fires, and its weights move towards it.

.. math:: k = \arg\min_l \|x - w_l\|,\qquad w_k \leftarrow w_k + \eta\,(x - w_k)

With `normalize`, rows and weights have length 1, and the unit with the largest activation :math:`x\cdot w_l` fires: as
:math:`\|x-w\|^2 = 2 - 2\,x\cdot w`, that is the nearest one (hard-max).

MacQueen (1967), Some methods for classification and analysis of multivariate observations; Kohonen (1982),
doi:10.1007/BF00337288.
"""

from typing import Any

import numpy as np

from didact.cluster.base import (
    _Centers,
    drawn,
    finite_spread,
    init_param,
    nearest,
    refuse_few_rows,
    warn_of_equal_centers,
)
from didact.core.backend import as_dense, float_type, local, read_only
from didact.core.errors import InputError
from didact.core.estimator import Ended, remember
from didact.core.parameters import attr, between, is_bool, one_of, param, random_state, whole
from didact.core.progress import FitProgress
from didact.core.random import seed_sequence
from didact.core.rows import Block, Rows
from didact.core.rows.memory import require_finite
from didact.core.typing import Array
from didact.engines.centroids.lloyd import assigned_of
from didact.engines.centroids.online_loops import online_steps


def unit_rows(X: Any) -> Any:
    """Rows of length 1; a row of zeros stays."""
    X = as_dense(local(X))
    length = np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64))
    return (X / np.where(length > 0, length, 1.0)[:, None]).astype(float_type(X))


def firing(X: Any, centers: Array, unit: bool) -> Array:
    """The number of the unit that fires for each row."""
    return nearest(unit_rows(X) if unit else X, centers)


def labelled(block: Block, centers: Array, unit: bool) -> Any:
    """Assigned and cost of a block."""
    return assigned_of(block._replace(X=unit_rows(block.X)) if unit else block, centers)


class OnlineKMeans(_Centers):
    r"""k-means that learns from one row after the other: a competitive layer of K units.

    .. math:: k = \arg\min_l \|x - w_l\|,\qquad w_k \leftarrow w_k + \eta\,(x - w_k)

    Notes
    -----
    With ``learning_rate="mean"`` η is one over the number of rows that the unit has won: weights are means of them, and
    after one pass this is MacQueen's k-means. With ``"constant"`` η is `eta0`, and old rows are forgotten, so that the
    units follow data that drift. A weight counts as so many steps. The order of rows matters: `fit` shuffles them
    before each pass, `Batches` and Dask collections within each block. Cost: n p K multiply-adds a pass. Shape of
    computation: stream.

    References
    ----------
    MacQueen (1967), Berkeley Symposium 5.1; Kohonen (1982), doi:10.1007/BF00337288.

    Examples
    --------
    >>> from didact.cluster import OnlineKMeans
    >>> X = [[1.0], [2.0], [3.0], [10.0], [11.0], [12.0]]
    >>> model = OnlineKMeans(n_clusters=2, random_state=0).fit(X)
    >>> sorted(model.cluster_centers_.ravel().round(6).tolist())
    [2.0, 11.0]
    """

    _sparse = False
    _tensors = False

    n_clusters: int = param(8, whole(1), "Number of clusters.")
    learning_rate: str = param(
        "mean", one_of("mean", "constant"), "Rate η: one over the rows that a unit has won so far, or `eta0`."
    )
    eta0: float = param(0.1, between(0, 1, "right"), "The constant rate.")
    normalize: bool = param(False, is_bool, "Whether rows and weights are put to length 1 (activation x·w).")
    n_epochs: int = param(10, whole(1), "Passes over the rows.")
    shuffle: bool = param(True, is_bool, "Whether to shuffle the rows before each pass.")
    random_state: Any = param(None, random_state, "Seed of the start and of the shuffling.")
    init: Any = init_param()

    _attrs = [
        attr("cluster_centers_", "(n_clusters, n_features)", "Weights of the units: centres."),
        attr("labels_", "(n_samples,)", "The number of the unit that fires for each row."),
        attr("inertia_", "float", "The cost Σ w min‖x − w‖² of the rows."),
        attr("n_iter_", "int", "Passes over the rows."),
        attr("cluster_weights_", "(n_clusters,)", "Weight of the rows that each unit has won, over all passes."),
    ]

    _test_params = [{"n_clusters": 2, "random_state": 0, "shuffle": False}]
    _test_skips = {"row_order": "Weights change row by row, so that the order of the rows matters."}

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "OnlineKMeans":
        """Learn from rows X, pass after pass; y is not used."""
        rows, seed = self._rows(X, None, sample_weight, target="none"), seed_sequence(self.random_state)
        refuse_few_rows(rows, self.n_clusters)
        W, dtype = self._start(rows, seed), float_type(rows)
        counts, known = np.zeros(len(W)), lambda x: {"cluster_centers_": x.astype(dtype)}
        with FitProgress(self, self.n_epochs, X=X, attributes=known) as progress:
            for epoch in range(1, self.n_epochs + 1):
                if progress.report(epoch, self._pass(rows, W, counts, seed, epoch), W):
                    break
        self._store(rows, W, counts, epoch)
        remember(self, Ended("stopped" if progress.stopped else "iteration limit"))
        warn_of_equal_centers(self.cluster_centers_, self.labels_)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "OnlineKMeans":
        """Make one pass over more rows, from where the last one ended; from given centres on, also row by row."""
        first = not hasattr(self, "cluster_centers_")
        rows = self._rows(X, None, sample_weight, target="none", reset=first)
        seed = seed_sequence(self.random_state)
        W = self._start(rows, seed) if first else np.array(self.cluster_centers_, np.float64, order="C")
        counts = np.zeros(len(W)) if first else np.array(self.cluster_weights_, np.float64)
        if not W.size or W.shape[1] != rows.n_features or counts.shape != W.shape[:1]:
            raise InputError(
                f"cluster_centers_ {W.shape} and cluster_weights_ {counts.shape} are not of the same clusters of rows "
                f"with {rows.n_features} columns, as partial_fit needs: fit the model anew."
            )
        self._pass(rows, W, counts, seed, 1)
        self._store(rows, W, counts, 1 if first else self.n_iter_ + 1)
        return self

    def _start(self, rows: Rows, seed: Any) -> Array:
        finite_spread(rows)
        start = drawn(rows, self.init, self.n_clusters, np.random.default_rng(seed))
        return np.ascontiguousarray(unit_rows(start) if self.normalize else start, np.float64)

    def _pass(self, rows: Rows, W: Array, counts: Array, seed: Any, epoch: int) -> float:
        """One pass; the cost of the rows, each before its own step."""
        rate, total = self.eta0 if self.learning_rate == "constant" else 0.0, 0.0
        for number, block in enumerate(rows.stream()):
            X = read_only(block.X)
            require_finite(X, rows.names)
            key = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, epoch, number))
            order = np.random.default_rng(key).permutation(len(X)) if self.shuffle else np.arange(len(X))
            w = read_only(np.zeros(0) if block.weight is None else np.asarray(block.weight, np.float64))
            total += online_steps(X, order, w, rate, self.normalize, np.zeros(X.shape[1]), W, counts)
        return total

    def _store(self, rows: Rows, W: Array, counts: Array, epochs: int) -> None:
        self.cluster_centers_, self.cluster_weights_ = W.astype(float_type(rows)), counts
        found = rows.reduce(labelled, self.cluster_centers_.astype(np.float64), self.normalize)
        self.labels_, self.inertia_, self.n_iter_ = found.labels, found.cost, epochs

    def predict(self, X: Any) -> Any:
        """The number of the unit that fires for each row."""
        return self._after_fit()._map_rows(X, firing, self.cluster_centers_, self.normalize)
