r"""k-modes: k-means for categories, with the number of columns that differ as the distance and modes as centres.

.. math:: \min_{m_1,\dots,m_K}\sum_i w_i\min_k\sum_j [x_{ij}\ne m_{kj}]

Each row goes to the nearest mode, each mode becomes the most frequent value of every column among its rows; neither
increases the cost.

Huang (1998), Extensions to the k-means algorithm for clustering large data sets with categorical values,
doi:10.1023/A:1009769707641.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin

from didact.cluster.base import counting, given, refuse_few, refuse_few_rows, warn_of_few
from didact.core.backend import float_type, row_weights
from didact.core.estimator import Estimator, report_convergence, tagged
from didact.core.parameters import array_like, attr, none, one_of, param, random_state, whole
from didact.core.progress import FitProgress
from didact.core.random import seed_sequence
from didact.core.rows import Block, Rows
from didact.core.rows.gather import dense
from didact.core.typing import Array
from didact.engines.centroids.starts import distinct, rows_to_draw
from didact.engines.loop.iterate import iterate
from didact.engines.loop.result import Result
from didact.engines.neighbors.all_pairs import distance_table
from didact.parts.distances import Hamming


def mismatches(X: Any, modes: Array) -> Array:
    """The number of columns in which each row differs from each mode, (n, K)."""
    rows, p = dense(X, np.float64), modes.shape[1]
    return np.rint(distance_table(Hamming(np.ones(p), float(p)), rows, modes) * p)


def nearest_mode(X: Any, modes: Array) -> Array:
    """The number of each row's nearest mode, of equal ones the first."""
    return mismatches(X, modes).argmin(axis=1).astype(np.int32)


def differences(X: Any, modes: Array) -> Array:
    """The number of columns that differ, in the float type of the rows."""
    return mismatches(X, modes).astype(float_type(X))


class Counts(NamedTuple):
    """Of every column the values and their weights in each cluster; the cost; the labels of the rows."""

    values: tuple[Array, ...]
    weights: tuple[Array, ...]  # (K, values) each
    cost: float
    labels: Array

    def merge(self, other: "Counts") -> "Counts":
        """The counts of both."""
        values, weights = [], []
        for a, b, wa, wb in zip(self.values, other.values, self.weights, other.weights, strict=True):
            known = np.union1d(a, b)
            total = np.zeros((len(wa), len(known)))
            total[:, np.searchsorted(known, a)] += wa
            total[:, np.searchsorted(known, b)] += wb
            values.append(known)
            weights.append(total)
        labels = np.concatenate([self.labels, other.labels])
        return Counts(tuple(values), tuple(weights), self.cost + other.cost, labels)

    def modes(self, before: Array) -> Array:
        """The most frequent value of each column and cluster, of equal ones the least; an empty cluster stays."""
        new = before.copy()
        for j, (values, weights) in enumerate(zip(self.values, self.weights, strict=True)):
            there = weights.sum(axis=1) > 0
            new[there, j] = values[weights[there].argmax(axis=1)]
        return new


def counts_of(block: Block, modes: Array) -> Counts:
    """The counts of one block."""
    X, K = dense(block.X, np.float64), len(modes)
    D = mismatches(X, modes)
    labels = D.argmin(axis=1)
    w = row_weights(block.weight, len(X))
    values, weights = [], []
    for column in X.T:
        known, codes = np.unique(column, return_inverse=True)
        values.append(known)
        weights.append(np.bincount(labels * len(known) + codes, w, K * len(known)).reshape(K, -1))
    cost = float(w @ D[np.arange(len(X)), labels])
    return Counts(tuple(values), tuple(weights), cost, labels.astype(np.int32))


class ModesState(NamedTuple):
    """Modes, and the counts of their clusters."""

    x: Array
    counts: Counts

    @property
    def value(self) -> float:
        """The cost."""
        return self.counts.cost

    @property
    def optimality(self) -> float:
        """How many values of modes change in the next step."""
        return float((self.counts.modes(self.x) != self.x).sum())


def drawn_modes(X: Any, w: Array | None, count: int, rng: np.random.Generator) -> Array:
    """Rows drawn with probability proportional to the number of columns in which they differ from those so far."""
    rows = dense(X, np.float64)
    weights = np.ones(len(rows)) if w is None else w
    order, first, total = distinct(rows, weights, count)
    places, chance, chosen = order[first], total.copy(), []
    for _ in range(count):
        upto = np.cumsum(chance if chance.any() else total)
        place = np.searchsorted(upto, rng.uniform() * upto[-1], side="right")
        chosen.append(places[min(int(place), int(np.searchsorted(upto, upto[-1])))])
        chance = total * mismatches(rows[places], rows[chosen]).min(axis=1)
    return rows[chosen]


def modes(rows: Rows, start: Array, max_iter: int, report: Any = None) -> Result:
    """Iterations from these modes until none changes."""

    def state(x: Array) -> ModesState:
        return ModesState(x, rows.reduce(counts_of, x))

    return iterate(state(start), lambda s: state(s.counts.modes(s.x)), 0.0, max_iter, report)


@tagged(input_tags__categorical=True)
class KModes(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Estimator):
    r"""k-modes clustering of categories: the distance is the number of columns that differ, a centre is a mode.

    .. math:: \min_{m_1,\dots,m_K} \sum_i w_i \min_k \sum_j [x_{ij} \ne m_{kj}]

    Notes
    -----
    Columns of numbers are compared for equality. Columns of text or of category type become codes, which `categories_`
    explains; a value that the fit has not seen differs from all modes. Cost: n p K comparisons an iteration. Shape of
    computation: iterate.

    References
    ----------
    Huang (1998), doi:10.1023/A:1009769707641.

    Examples
    --------
    >>> from didact.cluster import KModes
    >>> X = [[0, 0, 0], [0, 0, 1], [0, 0, 2], [3, 3, 3], [3, 3, 4], [3, 3, 5]]
    >>> model = KModes(n_clusters=2, random_state=0).fit(X)
    >>> sorted(model.cluster_centers_[:, :2].tolist()), model.inertia_
    ([[0.0, 0.0], [3.0, 3.0]], 4.0)
    """

    n_clusters: int = param(8, whole(1), "Number of clusters.")
    init: Any = param(
        "k-modes++", [one_of("k-modes++"), array_like], "The start: rows drawn far apart, or modes (n_clusters, p)."
    )
    n_init: int = param(1, whole(1), "Runs from different draws; the best counts.")
    max_iter: int = param(100, whole(1), "Most iterations of a run.")
    random_state: Any = param(None, random_state, "Seed of the draws.")
    categorical_features: Any = param(
        "from_dtype", [one_of("from_dtype"), array_like, none], "Columns of text or categories that become codes."
    )

    _attrs = [
        attr("cluster_centers_", "(n_clusters, n_features)", "Modes, as numbers or codes."),
        attr("labels_", "(n_samples,)", "The number of each row's mode."),
        attr("inertia_", "float", "The cost: weighted number of differing values."),
        attr("n_iter_", "int", "Iterations of the best run."),
        attr("categories_", "Categories or None", "The values of the categorical columns."),
    ]

    _text_codes = _new_codes = True
    _test_params = [{"n_clusters": 3, "random_state": 0}]
    _test_skips = {
        "check_clustering": "Its rows are numbers of which no two are equal: no category groups them.",
    }

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KModes":
        """Find the modes of rows X; sample_weight counts rows, y is not used."""
        rows = self._rows(X, None, sample_weight, target="none", categories=self.categorical_features)
        dtype = float_type(rows)
        with FitProgress(self, X=X, attributes=lambda x: {"cluster_centers_": x.astype(dtype)}) as progress:
            result = self._best(rows, progress)
        report_convergence(self, result)
        self.cluster_centers_ = result.x.astype(dtype)
        found = rows.reduce(counts_of, self.cluster_centers_.astype(np.float64))
        self.labels_, self.inertia_ = found.labels, found.cost
        warn_of_few(self, *rows_to_draw(rows, self.n_clusters))
        return self

    def _best(self, rows: Rows, progress: FitProgress) -> Result:
        drawn, found = isinstance(self.init, str), []  # type: tuple[bool, list[Result]]
        for seed in seed_sequence(self.random_state).spawn(self.n_init if drawn else 1):
            if drawn:
                X, w = rows_to_draw(rows, self.n_clusters)
                refuse_few(X, w, self.n_clusters)
                start = drawn_modes(X, w, self.n_clusters, np.random.default_rng(seed))
            else:
                refuse_few_rows(rows, self.n_clusters)
                start = given(self.init, rows, self.n_clusters)
            found.append(modes(rows, start, self.max_iter, counting(progress, found)))
        return min(found, key=lambda result: result.value)

    def predict(self, X: Any) -> Any:
        """The number of each row's nearest mode, of equal ones the first."""
        return self._after_fit()._map_rows(X, nearest_mode, self.cluster_centers_.astype(np.float64))

    def transform(self, X: Any) -> Any:
        """The number of columns in which each row differs from each mode, (n, n_clusters)."""
        return self._after_fit()._map_rows(X, differences, self.cluster_centers_.astype(np.float64))
