r"""k-medoids: k-means for any distance, whose centres are rows, the medoids.

.. math:: \min_{M\subset\{1..n\},\,|M|=K}\ \sum_i w_i\min_{m\in M} d(x_i, x_m)

1. All distances, n² of them, unless they are given.
2. A start: medoids drawn as in k-means++, greedily chosen, or given.
3. FasterPAM: a row takes the place of a medoid as soon as that lowers the loss, until no swap does.

Schubert, Rousseeuw (2021), doi:10.1016/j.is.2021.101804; Kaufman, Rousseeuw (1990), doi:10.1002/9780470316801.
"""

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin

from didact.cluster.base import counting, refuse_few, warn_of_equal_rows
from didact.cluster.words import _Words, distance_of, metric_param, numbers_or_words, refuse_mixture, refuse_no_numbers
from didact.core.backend import float_type, row_weights, to_numpy
from didact.core.errors import ParameterError
from didact.core.estimator import report_convergence
from didact.core.parameters import array_like, attr, one_of, param, random_state, whole
from didact.core.progress import FitProgress
from didact.core.random import seed_sequence
from didact.core.rows.gather import dense
from didact.core.rows.memory import refuse_square
from didact.core.typing import Array
from didact.engines.centroids.medoids import build, drawn_medoids, medoids
from didact.engines.centroids.starts import by_place
from didact.engines.neighbors.all_pairs import distance_table, finite_distances, metric_params_param


def to_medoids(X: Any, metric: Any, rows: Array, chosen: Array) -> Array:
    """Distances of new rows from the medoids, (n, K)."""
    if metric is None:
        return np.ascontiguousarray(dense(X, np.float64)[:, chosen])
    return distance_table(metric, numbers_or_words(X), rows)


def nearest_medoid(X: Any, metric: Any, rows: Array, chosen: Array) -> Array:
    """The number of the nearest medoid of each row."""
    return to_medoids(X, metric, rows, chosen).argmin(axis=1).astype(np.int32)


def medoid_distances(X: Any, metric: Any, rows: Array, chosen: Array) -> Array:
    """Distances of new rows from the medoids in their float type."""
    return to_medoids(X, metric, rows, chosen).astype(float_type(X))


def by_word(rows: Array) -> Array:
    """The order of a column of words, in which equal ones are neighbours."""
    return np.array(sorted(range(len(rows)), key=lambda i: str(rows[i, 0])), np.int64)


class KMedoids(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, _Words):
    r"""k-medoids clustering with any distance, by FasterPAM: centres are rows of the data.

    .. math:: \min_{m_1,\dots,m_K} \sum_i w_i \min_k d(x_i, x_{m_k})

    Less sensitive to outliers than k-means, as distances are not squared, and at home wherever two rows can be
    compared: any metric of `didact.neighbors`, a function of two rows, a matrix of distances
    (``metric="precomputed"``), or words (``metric="edit"``), of which the medoids are words again.

    Notes
    -----
    Cost: n² distances in memory, 8n² bytes, and n² operations a round of swaps; two to five rounds are usual. Rows must
    fit in memory. Candidates come in an order that follows from the values of the rows. Shape of computation: pairs.

    References
    ----------
    Schubert, Rousseeuw (2021), doi:10.1016/j.is.2021.101804.

    Examples
    --------
    >>> from didact.cluster import KMedoids
    >>> X = [[0.0], [1.0], [2.0], [50.0], [51.0], [99.0]]
    >>> model = KMedoids(n_clusters=2, metric="manhattan", random_state=0).fit(X)
    >>> sorted(model.medoid_indices_.tolist()), model.inertia_
    ([1, 4], 51.0)
    >>> words = KMedoids(n_clusters=2, metric="edit", random_state=0).fit(["cat", "cats", "cut", "horse"])
    >>> sorted(words.cluster_centers_[:, 0].tolist())
    ['cat', 'horse']
    """

    n_clusters: int = param(8, whole(1), "Number of clusters.")
    metric: Any = metric_param()
    metric_params: Any = metric_params_param()
    init: Any = param(
        "k-medoids++",
        [one_of("k-medoids++", "build"), array_like],
        "The start: rows drawn in proportion to their distances, chosen greedily, or the numbers of rows.",
    )
    n_init: int = param(1, whole(1), "Runs from different draws; the best counts.")
    max_iter: int = param(100, whole(1), "Most rounds of swaps.")
    random_state: Any = param(None, random_state, "Seed of the draws.")

    _attrs = [
        attr("medoid_indices_", "(n_clusters,)", "The rows that are medoids."),
        attr("cluster_centers_", "(n_clusters, n_features)", "The medoids; of a matrix of distances, its rows."),
        attr("labels_", "(n_samples,)", "The number of each row's medoid."),
        attr("inertia_", "float", "The loss Σ w min d."),
        attr("n_iter_", "int", "Rounds of the best run."),
    ]

    _test_params = [{"n_clusters": 3, "random_state": 0}]

    @property
    def _n_features_out(self) -> int:
        return len(self.medoid_indices_)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KMedoids":
        """Find the medoids of rows X; sample_weight counts rows, y is not used."""
        block = self._rows(X, None, sample_weight, target="none").whole()
        rows, w = numbers_or_words(block.X), None if block.weight is None else to_numpy(block.weight)
        refuse_few(rows, w, self.n_clusters)
        D = self._distances(rows)
        with FitProgress(self, X=X, attributes=lambda x: self._fitted(x, rows, block.X)) as progress:
            result = self._best(D, row_weights(w, len(D)), rows, progress)
        report_convergence(self, result)
        self.__dict__.update(self._fitted(result.x, rows, block.X))
        self.labels_, self.inertia_ = D[result.x].argmin(axis=0).astype(np.int32), float(result.value)
        warn_of_equal_rows(self.labels_, self.n_clusters)
        return self

    def _distances(self, rows: Array) -> Array:
        """All distances of the rows, once these are looked at; sets the metric."""
        names = getattr(self, "feature_names_in_", None)
        refuse_no_numbers(rows, names)
        refuse_square(len(rows), "cluster a sample of the rows, or use KMeans", 2)
        own = self.metric == "precomputed"
        self._noun = None if own else distance_of(rows, self.metric, self.metric_params)
        return finite_distances(self._noun, rows, names)

    def _best(self, D: Array, w: Array, rows: Array, progress: FitProgress) -> Any:
        """The run of least loss."""
        order = (
            by_word(rows) if rows.dtype == object else by_place(np.sort(D, axis=1) if self._noun is None else rows)[0]
        )
        drawn, found = isinstance(self.init, str) and self.init == "k-medoids++", []  # type: tuple[bool, list[Any]]
        for seed in seed_sequence(self.random_state).spawn(self.n_init if drawn else 1):
            if drawn:
                start = drawn_medoids(D, w, self.n_clusters, order, np.random.default_rng(seed))
            else:
                start = build(D, w, self.n_clusters) if isinstance(self.init, str) else self._given(len(D))
            found.append(medoids(D, w, order, start, self.max_iter, counting(progress, found)))
        return min(found, key=lambda result: result.value)

    def _given(self, n: int) -> Array:
        start = np.asarray(to_numpy(self.init))
        fine = start.shape == (self.n_clusters,) and start.dtype.kind in "iu" and len(np.unique(start)) == len(start)
        if not fine or not 0 <= start.min() <= start.max() < n:
            raise ParameterError(f"init must hold the numbers of {self.n_clusters} different rows, from 0 to {n - 1}.")
        return start

    def _fitted(self, chosen: Array, rows: Array, X: Any) -> dict[str, Any]:
        chosen = np.array(chosen)
        centers = rows[chosen] if rows.dtype == object else rows[chosen].astype(float_type(X))
        return {"medoid_indices_": chosen, "cluster_centers_": centers}

    def _fitted_distance(self) -> Any:
        return self._noun

    def _arguments(self) -> tuple[Any, ...]:
        refuse_mixture(self._after_fit().cluster_centers_, self._noun)
        return self._noun, numbers_or_words(self.cluster_centers_), self.medoid_indices_

    def predict(self, X: Any) -> Any:
        """The number of each row's nearest medoid; of a matrix of distances from the fitted rows, likewise."""
        return self._map_rows(X, nearest_medoid, *self._arguments())

    def transform(self, X: Any) -> Any:
        """The distances of each row from the medoids, (n, n_clusters)."""
        return self._map_rows(X, medoid_distances, *self._arguments())
