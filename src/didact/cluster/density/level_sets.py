r"""Level-set clustering: clusters are the connected parts of the places where the density exceeds a level.

.. math:: L_\theta = \{x : \hat p(x) > \theta\},\qquad
    \hat p(x) = \frac1{n h^D}\sum_i K\Big(\frac{\|x-x_i\|}h\Big)

1. The density at each row, by a window of bandwidth h on every row.
2. Rows in the level set are joined where they are within a radius: the components of the union of balls around them,
   which estimate those of the level set.
3. Rows below the level belong to no cluster.

Hartigan (1975), Clustering Algorithms; Cuevas, Febrero, Fraiman (2001), Cluster analysis: a further approach based on
density estimation, doi:10.1016/S0167-9473(00)00052-9.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClusterMixin

from didact.cluster.density.distances import dense_counts, nearest_label
from didact.cluster.density.mean_shift import falling
from didact.core.estimator import Estimator
from didact.core.parameters import above, at_least, attr, between, none, one_of, param
from didact.core.rows.gather import dense
from didact.core.typing import Array
from didact.engines.neighbors import Index, build_index
from didact.engines.neighbors.dense.cores import dense_clusters
from didact.engines.smoothing.kernel_sums import Points, kernel_sums, log_sums, prepare, squared_scales
from didact.parts.distances import Euclidean
from didact.parts.windows import WINDOWS

LARGEST_LOG = 709.0  # of a density that a float holds
ROUNDING = 1e-9  # of two logarithms of a density that should be equal


class Level(NamedTuple):
    """A density, its level, and the rows above it: all that is needed at a new row."""

    window: Any
    points: Points
    h: float
    total: float
    log_level: float
    above: Index | None  # of the rows above the level
    labels: Array
    radius: float


def log_density(Q: Array, window: Any, points: Points, h: float, total: float) -> Array:
    """log p̂ at rows Q."""
    scales, D = squared_scales(h), Q.shape[1]
    sums = log_sums(window, kernel_sums(window, points, Q, scales), scales)[0]
    return sums - (math.log(total) + D * math.log(h) + window.log_integral(D))


def silverman(X: Array, w: Array) -> float:
    """Silverman's rule of thumb with the root of the columns' mean variance; 1 if all rows are equal.

    >>> round(silverman(np.array([[0.0], [2.0]]), np.ones(2)), 3)
    0.922
    """
    n, D = float(w.sum()), X.shape[1]
    apart = X - w @ X / n
    spread = math.sqrt(float((w @ (apart * apart)).mean()) / n)
    return (spread or 1.0) * (n * (D + 2.0) / 4.0) ** (-1.0 / (D + 4.0))


def level_of(logs: Array, w: Array, quantile: float) -> float:
    """The logarithm of the highest density that at most this share of the rows does not exceed; -∞ if there is none.

    >>> level_of(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]), 0.5)
    1.0
    """
    order = np.argsort(logs, kind="stable")
    rising, upto = logs[order], np.cumsum(w[order])
    last = np.append(np.diff(rising) > ROUNDING, True)  # of rows with one density: all of them or none
    below = np.flatnonzero(last & (upto <= quantile * upto[-1] * (1 + 1e-12)))
    return float(rising[below[-1]]) if len(below) else -math.inf


def level_clusters(rows: Array, logs: Array, radius: float) -> tuple[Array, Array]:
    """Rows by falling density and their clusters, numbered by their highest rows."""
    rows = np.ascontiguousarray(rows[falling(rows, logs.round(9))])
    return rows, dense_clusters(rows, Euclidean(), radius, 1).labels if len(rows) else np.empty(0, np.int64)


def level_labels(X: Any, level: Level) -> Array:
    """The cluster of each row, -1 below the level."""
    rows = dense(X, np.float64)
    labels = nearest_label(rows, level.above, level.labels, level.radius, None)
    here = np.flatnonzero(labels >= 0)
    if len(here):
        logs = log_density(rows[here], level.window, level.points, level.h, level.total)
        labels[here[logs <= level.log_level + ROUNDING]] = -1
    return labels


class LevelSetClustering(ClusterMixin, Estimator):
    r"""Clusters of any shape: the connected parts of where a kernel density estimate exceeds a level.

    .. math:: L_\theta = \{x : \hat p(x) > \theta\},\qquad
        \hat p(x) = \frac1{n h^D}\sum_i K\Big(\frac{\|x-x_i\|}h\Big)

    Rows above the level that are within `radius` of each other are of one cluster; rows below it are of none. The
    higher the level, the more of a cluster's outskirts are lost, and the better are clusters parted that touch. With
    the window "tophat" and radius=bandwidth=ε the clusters are those of the cores of `DBSCAN`.

    Notes
    -----
    Cost: that of the density at n rows (a query visits the rows within the reach of its window), and of `DBSCAN` with
    min_samples=1 for the rows above the level. Sample weights are turned into numbers of rows, as in `MeanShift`. Rows
    are dense, in memory, and kept. Shape of computation: pairs.

    References
    ----------
    Cuevas, Febrero, Fraiman (2001), doi:10.1016/S0167-9473(00)00052-9.

    Examples
    --------
    >>> from didact.cluster import LevelSetClustering
    >>> X = [[0.0], [0.3], [0.5], [2.0], [4.0], [4.2], [4.4]]
    >>> model = LevelSetClustering(bandwidth=0.5, quantile=0.15).fit(X)
    >>> model.labels_, model.predict([[0.1], [2.0], [4.3]])
    (array([ 1,  1,  1, -1,  0,  0,  0]), array([ 1, -1,  0]))
    """

    bandwidth: Any = param(None, [above(0), none], "The bandwidth h; None: by Silverman's rule, which is wide.")
    kernel: str = param("gaussian", one_of(*WINDOWS), "The window K.")
    threshold: Any = param(None, [at_least(0), none], "The level θ, a density; None: by `quantile`.")
    quantile: float = param(0.1, between(0, 1), "Largest share of the rows below the level, if `threshold` is None.")
    radius: Any = param(None, [above(0), none], "The largest distance of joined rows; None: the bandwidth.")

    _sparse = False
    _attrs = [
        attr(
            "labels_",
            "(n_samples,)",
            "The cluster of each row, numbered by their highest densities; -1: below the level.",
        ),
        attr("n_clusters_", "int", "Number of clusters."),
        attr("log_density_", "(n_samples,)", "The logarithm of the density at each row."),
        attr("threshold_", "float", "The level θ."),
        attr("bandwidth_", "float", "The bandwidth."),
    ]
    _hidden = [
        attr("_known.0", "(n_known, n_features)", "Rows with a weight."),
        attr("_known.1", "(n_known,)", "Their weights."),
        attr("_above", "(n_above, n_features)", "Those above the level, by falling density."),
        attr("_labels_above", "(n_above,)", "Their clusters."),
    ]

    _test_params = [{"bandwidth": 1.0}, {"bandwidth": 1.5, "kernel": "epanechnikov", "quantile": 0.3}]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "LevelSetClustering":
        """Find the clusters of rows X; sample_weight counts rows, y is not used."""
        rows, w, _ = dense_counts(self, X, sample_weight)
        self._known = rows[w > 0], w[w > 0]
        self.bandwidth_ = float(self.bandwidth or silverman(*self._known))
        density = WINDOWS[self.kernel], prepare(*self._known), self.bandwidth_, float(w.sum())
        self.log_density_ = log_density(rows, *density)
        own = level_of(self.log_density_[w > 0], self._known[1], self.quantile)
        self._log_level = own if self.threshold is None else math.log(self.threshold) if self.threshold else -math.inf
        self.threshold_ = math.exp(min(self._log_level, LARGEST_LOG))
        above = (self.log_density_ > self._log_level + ROUNDING) & (w > 0)
        self._above, self._labels_above = level_clusters(rows[above], self.log_density_[above], self._radius)
        self.n_clusters_ = int(self._labels_above.max(initial=-1)) + 1
        self.labels_ = level_labels(rows, self._level())
        return self

    @property
    def _radius(self) -> float:
        return float(self.radius or self.bandwidth_)

    def _level(self) -> Level:
        rows, w = self._known
        return Level(
            window=WINDOWS[self.kernel],
            points=prepare(rows, w),
            h=self.bandwidth_,
            total=float(w.sum()),
            log_level=self._log_level,
            above=build_index(self._above, Euclidean()) if len(self._above) else None,
            labels=self._labels_above,
            radius=self._radius,
        )

    def predict(self, X: Any) -> Any:
        """The cluster of each row's nearest one above the level, -1 if that is too far or the row below the level."""
        return self._after_fit()._map_rows(X, level_labels, self._level())
