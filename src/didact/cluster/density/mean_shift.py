r"""Mean shift: each row climbs to a mode of the density, and the rows of one mode are a cluster.

.. math:: x \leftarrow \sum_i p(i\mid x)\,x_i,\qquad
    p(i\mid x) = \frac{w_i K(\|x-x_i\|/h)}{\sum_j w_j K(\|x-x_j\|/h)}

1. A bandwidth h: given, or from the distances of the rows.
2. All starts (rows, points of a grid, or given ones) climb until a move is shorter than `tol` h.
3. Ends close to each other are one mode: with the flat window the one with the most rows within h stands for all ends
   within h of it; with the Gaussian window ends that hang together at a tenth of h are one, the highest.
4. A row belongs to the nearest mode (flat), or to that which it climbs to (Gaussian).

Fukunaga, Hostetler (1975), doi:10.1109/TIT.1975.1055330; Comaniciu, Meer (2002), doi:10.1109/34.1000236.
"""

import warnings
from typing import Any

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.exceptions import ConvergenceWarning

from didact.cluster.base import nearest
from didact.cluster.density.bandwidth import bin_seeds, mean_reach
from didact.cluster.density.distances import dense_counts
from didact.core.backend import to_numpy
from didact.core.errors import InputError, ParameterError, users_level
from didact.core.estimator import Ended, Estimator, remember
from didact.core.parameters import above, array_like, at_least, attr, is_bool, none, one_of, param, whole
from didact.core.rows.gather import dense
from didact.core.typing import Array
from didact.core.validation.entrance import entrance
from didact.engines.neighbors.dense.cores import dense_clusters
from didact.engines.smoothing.mean_shift import Climbs, climb_from, hills_of
from didact.parts.distances import Euclidean

QUANTILE = 0.3  # share of the rows that an estimated bandwidth is to hold
SAME = 0.1  # bandwidths: ends of Gaussian climbs that are closer are of one mode


def falling(ends: Array, height: Array) -> Array:
    """The order of ends by height, the highest first; of equally high ones by their columns, the largest first."""
    return np.lexsort((*ends.T[::-1], height))[::-1]


def flat_modes(climbs: Climbs, h: float) -> Array:
    """The ends with the most rows around them; others within h of one of these are left out."""
    ends, height = climbs.ends[climbs.height > 0], climbs.height[climbs.height > 0]
    left, modes = ends[falling(ends, height)], []
    while len(left):
        modes.append(left[0])
        left = left[np.sqrt(((left - left[0]) ** 2).sum(axis=1)) > h]
    return np.array(modes)


def gaussian_modes(climbs: Climbs, h: float) -> Array:
    """The highest end of each group that hangs together."""
    order = falling(climbs.ends, climbs.height)
    labels = dense_clusters(climbs.ends[order], Euclidean(), SAME * h, 1).labels
    return climbs.ends[order][np.unique(labels, return_index=True)[1]]


def climbed(X: Any, centers: Array, hills: Any, h: float, tol: float, max_iter: int) -> Array:
    """The number of the mode that each row climbs to."""
    rows = dense(X, np.float64)
    ends = climb_from(rows, hills, "gaussian", h, tol * h, max_iter).ends if len(rows) else rows
    return nearest(ends, centers)


class MeanShift(ClusterMixin, Estimator):
    r"""Clusters as hills of the density: each row climbs to a mode; their number follows from the bandwidth.

    .. math:: x \leftarrow \frac{\sum_i w_i K(\|x-x_i\|/h)\,x_i}{\sum_i w_i K(\|x-x_i\|/h)}

    The wider the window, the fewer the modes: one in the end, and each row its own at the beginning. With the flat
    window the modes are scikit-learn's, and a row belongs to the nearest one; with the Gaussian window, the one of the
    textbooks, to that which it climbs to, and so does a new row.

    Notes
    -----
    Cost: for each start and move the rows within the bandwidth (Gaussian: nine bandwidths); nodes of a k-d tree that
    lie within a flat window enter as a whole. The estimate of the bandwidth takes n² distances. Sample weights are
    turned into numbers of rows: in units of the smallest one above zero if all are whole multiples of it, else so that
    their mean is 1. Rows are dense and in memory; a model with the Gaussian window keeps them. Shape of computation:
    pairs.

    References
    ----------
    Fukunaga, Hostetler (1975), doi:10.1109/TIT.1975.1055330; Comaniciu, Meer (2002), doi:10.1109/34.1000236;
    Carreira-Perpiñán (2007), doi:10.1109/TPAMI.2007.1057.

    Examples
    --------
    >>> from didact.cluster import MeanShift
    >>> X = [[1.0, 1.0], [2.0, 1.0], [1.0, 0.0], [4.0, 7.0], [3.0, 5.0], [3.0, 6.0]]
    >>> model = MeanShift(bandwidth=2).fit(X)
    >>> model.labels_, model.predict([[0.0, 0.0], [5.0, 5.0]]).tolist()
    (array([1, 1, 1, 0, 0, 0]), [1, 0])
    """

    bandwidth: Any = param(None, [above(0), none], "The width h of the window; None: that of `estimate_bandwidth`.")
    seeds: Any = param(None, [array_like, none], "The starts; None: the rows, or the points of a grid.")
    bin_seeding: bool = param(False, is_bool, "Whether to start from the points of a grid of width h next to rows.")
    min_bin_freq: int = param(1, whole(1), "The least number of rows next to a point of the grid.")
    cluster_all: bool = param(True, is_bool, "Whether rows farther than h from their mode belong to it, or get -1.")
    max_iter: int = param(300, whole(0), "Most moves of a start.")
    kernel: str = param("flat", one_of("flat", "gaussian"), "The window K.")
    tol: Any = param(
        None, [at_least(0), none], "The move, in bandwidths, that ends a climb; None: 1e-3, Gaussian 1e-5."
    )
    keep_paths: bool = param(False, is_bool, "Whether to keep the way of each start in `paths_`.")

    _sparse = False
    _attrs = [
        attr("cluster_centers_", "(n_clusters, n_features)", "The modes, the highest first."),
        attr("labels_", "(n_samples,)", "The number of each row's mode; -1 for rows that belong to none."),
        attr("n_iter_", "int", "Moves of the longest climb."),
        attr("bandwidth_", "float", "The bandwidth."),
        attr("paths_", "list of (n_moves, n_features)", "The way of each start, both ends included.", "keep_paths"),
    ]
    _hidden = [
        attr("_known.0", "(n_known, n_features)", "Rows with a weight."),
        attr("_known.1", "(n_known,)", "Their weights."),
    ]

    _test_params = [{"bandwidth": 1.5}, {"bandwidth": 0.8, "kernel": "gaussian"}]
    _test_skips = dict.fromkeys(
        ("callbacks/iterations", "callbacks/model", "callbacks/stop"),
        "Every start climbs by itself, in one compiled call for all: there is no iteration to report.",
    )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "MeanShift":
        """Find the modes of rows X; sample_weight counts rows, y is not used."""
        rows, w, dtype = dense_counts(self, X, sample_weight)
        self._known = rows[w > 0], w[w > 0]
        self._climb(*self._known, dtype)
        self.labels_ = self._labels(rows)
        if self.kernel == "flat":
            del self._known
        return self

    def _climb(self, rows: Array, w: Array, dtype: Any) -> None:
        """Find the modes of rows and their weights."""
        gaussian = self.kernel == "gaussian"
        h = self.bandwidth_ = float(self.bandwidth or mean_reach(rows, None if (w == 1).all() else w, QUANTILE))
        if gaussian and h == 0.0:
            raise InputError("The estimated bandwidth is 0, as too many rows are equal: give a bandwidth above 0.")
        how = self.kernel, h, self._tol * h, self.max_iter, self.keep_paths
        found = climb_from(self._starts(rows, w, h), hills_of(rows, w), *how)
        if not gaussian and not (found.height > 0).any():
            raise InputError(
                f"No point was within bandwidth={h:f} of any seed. Try a different seeding strategy or increase the "
                "bandwidth."
            )
        self.cluster_centers_ = (gaussian_modes if gaussian else flat_modes)(found, h).astype(dtype)
        self.n_iter_ = min(int(found.steps.max()), self.max_iter)
        if self.keep_paths:
            self.paths_ = found.paths
        moving = int((found.steps > self.max_iter).sum())
        remember(self, Ended("iteration limit" if moving else "converged"))
        if moving:
            sentence = (
                f"{moving} of {len(found.steps)} starts had not come to rest after max_iter={self.max_iter} moves."
            )
            warnings.warn(f"{sentence} Increase max_iter or tol.", ConvergenceWarning, stacklevel=users_level())

    @property
    def _tol(self) -> float:
        return (1e-5 if self.kernel == "gaussian" else 1e-3) if self.tol is None else float(self.tol)

    def _starts(self, rows: Array, w: Array, h: float) -> Array:
        if self.seeds is None:
            return bin_seeds(rows, w, h, self.min_bin_freq) if self.bin_seeding else rows
        seeds = np.asarray(to_numpy(self.seeds), np.float64)
        if seeds.ndim != 2 or seeds.shape[1] != rows.shape[1] or not len(seeds):
            raise ParameterError(
                f"seeds has shape {seeds.shape}, and X has {rows.shape[1]} columns: give rows of starts."
            )
        if not np.isfinite(seeds).all():
            raise ParameterError("seeds contain NaN or infinity: give numbers.")
        return seeds

    def _labels(self, rows: Array) -> Array:
        """The mode of each row, or -1 if it is too far away."""
        assign, *arguments = self._assignment()
        labels = np.asarray(assign(rows, *arguments), np.int64)
        if not self.cluster_all:
            apart = rows - self.cluster_centers_[labels]
            labels[np.sqrt((apart * apart).sum(axis=1)) > self.bandwidth_] = -1
        return labels

    def _assignment(self) -> tuple[Any, ...]:
        """The function that finds the modes of rows, and its further arguments."""
        if self.kernel == "flat":
            return nearest, self.cluster_centers_
        return climbed, self.cluster_centers_, hills_of(*self._known), self.bandwidth_, self._tol, self.max_iter

    def predict(self, X: Any) -> Any:
        """The number of each row's mode: the nearest one (flat), or that which it climbs to (Gaussian)."""
        return self._after_fit()._map_rows(X, *self._assignment())


@entrance()
def mean_shift(
    X: Any, *, bandwidth: Any = None, seeds: Any = None, bin_seeding: bool = False, min_bin_freq: int = 1,
    cluster_all: bool = True, max_iter: int = 300, n_jobs: int | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    r"""The modes and the labels of `MeanShift`: :math:`x \leftarrow \sum_i p(i\mid x)\,x_i` from each start.

    Parameters
    ----------
    X : table of rows
        The rows.
    bandwidth, seeds, bin_seeding, min_bin_freq, cluster_all, max_iter, n_jobs
        As in `MeanShift`.

    Returns
    -------
    cluster_centers : array of shape (n_clusters, n_features)
        The modes.
    labels : array of shape (n_samples,)
        The number of each row's mode.

    Notes
    -----
    Cost: that of `MeanShift`.

    References
    ----------
    Comaniciu, Meer (2002), doi:10.1109/34.1000236.

    Examples
    --------
    >>> from didact.cluster import mean_shift
    >>> mean_shift([[0.0], [1.0], [8.0], [9.0]], bandwidth=2)[1]
    array([1, 1, 0, 0])
    """
    model: Any = MeanShift(
        bandwidth=bandwidth, seeds=seeds, bin_seeding=bin_seeding, min_bin_freq=min_bin_freq, cluster_all=cluster_all,
        max_iter=max_iter, n_jobs=n_jobs,
    )  # fmt: skip
    model.fit(X)
    return model.cluster_centers_, model.labels_
