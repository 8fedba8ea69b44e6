r"""Kernel density estimates: a window of probability on every row.

.. math:: \hat p(x) = \frac1{\sum_i w_i}\sum_i \frac{w_i}{|H_i|}\,\frac{K(\|H_i^{-1}(x-x_i)\|)}{\int K},\qquad
    H_i = h\,\lambda_i\,F

with K a window, h the bandwidth, F the frame (the columns as they are, their standard deviations, or a factor of their
covariance) and λ_i an adaptive width (1, or wider where points are sparse), or H_i from a covariance of each point.

1. `fit` keeps the rows and chooses h where needed: by a rule, or as the candidate with the largest
   :math:`\sum_i w_i\log\hat p_{-i}(x_i)`, the density at each row without its own window. One pass serves all
   candidates; adaptive widths depend on h and take one more pass for each.
2. Sums run over a k-d tree; they are exact (1e-11), or within `rtol` and `atol`.

Rosenblatt (1956), doi:10.1214/aoms/1177728190; Parzen (1962), doi:10.1214/aoms/1177704472.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import DensityMixin
from sklearn.neighbors import BallTree, KDTree
from sklearn.utils.validation import check_is_fitted

from didact.core.backend import float_type, like
from didact.core.beside import beside
from didact.core.errors import InputError, ParameterError
from didact.core.estimator import Estimator
from didact.core.parameters import above, array_like, at_least, attr, between, is_callable, none, one_of, param, whole
from didact.core.random import streams
from didact.core.rows import Batches
from didact.core.typing import Array
from didact.engines.smoothing.kernel_sums import (
    Points,
    kernel_sums,
    log_sums,
    prepare,
    refuse_wide,
    shaped_sums,
    squared_scales,
)
from didact.neighbors.bandwidths import abramson, candidates, frame, given, in_units, log_volume, rule, typical_width
from didact.neighbors.base import weighted_variances
from didact.neighbors.gathered import queries
from didact.neighbors.local_covariance import local_factors
from didact.neighbors.metric_sums import METRICS, log_metric_sums
from didact.neighbors.metric_sums import log_volume as metric_volume
from didact.neighbors.metric_sums import offsets as metric_offsets
from didact.parts.distances import Euclidean, distance_named
from didact.parts.statistics.weights import in_cases
from didact.parts.windows import WINDOWS


class Ready(NamedTuple):
    """The prepared estimate, in units of the frame: all that is needed at a query."""

    window: Any
    F: Array
    h: float
    points: Points | None
    shapes: Any  # rows, weights over volumes, triangles: a covariance for each row
    log_unit: float  # subtracted from the logarithm of a sum of windows
    total: float
    metric: tuple[Any, Array, Array] | None = None  # the distance, rows and weights, if it is not the Euclidean one


def log_density(X: Any, ready: Ready, rtol: float, atol: float) -> Any:
    """log p̂ at rows X."""
    Q, scales = in_units(queries(X), ready.F), squared_scales(ready.h)
    if ready.metric is not None:
        logs = log_metric_sums(ready.window, *ready.metric, Q, scales)[0] - ready.log_unit
        return like(logs.astype(float_type(X)), X)
    if ready.points is None:
        rows, weights, triangles = ready.shapes
        sums = shaped_sums(ready.window, rows, weights, triangles, Q, scales)
    else:
        allowed = atol * math.exp(min(ready.log_unit, 700.0))
        sums = kernel_sums(ready.window, ready.points, Q, scales, rtol, allowed)
    logs = log_sums(ready.window, sums, scales)[0] - ready.log_unit
    return like(logs.astype(float_type(X)), X)


class KernelDensity(DensityMixin, Estimator):
    r"""Density of the rows as a sum of windows, one on each row (Parzen windows).

    .. math:: \hat p(x) = \frac1{n h^D}\sum_{i=1}^n K\Big(\frac{\|x-x_i\|}h\Big)

    Notes
    -----
    Cost: a query visits the rows within about seven bandwidths (Gaussian), about 1 ns per row and core; fewer with a
    tolerance. A covariance for each point takes D² operations for every row. Cross-validation leaves out a row's own
    window; the adaptive widths or covariances of the others stay those of all rows. Rows are kept, dense and in memory.
    Far from all rows the log density of a window with tails (gaussian, exponential) stays finite and accurate; that of
    the others is −∞ where no window reaches. "scott" and "silverman" are in units of the frame, as in scikit-learn:
    with shape="full" they give SciPy's `gaussian_kde`. The cosine window integrates to one in every dimension; that of
    scikit-learn does so only in odd ones. Metrics other than the Euclidean one evaluate every pair. Under a norm
    (Minkowski's with any p, "seuclidean", "mahalanobis") the density integrates to one, unlike scikit-learn's; under
    other metrics, which have no volume, it is a density up to a factor, as there. Sample weights are turned into
    numbers of rows: in units of the smallest one above zero if all are whole multiples of it, else so that their mean
    is 1. Shape of computation: pairs.

    References
    ----------
    Rosenblatt (1956), doi:10.1214/aoms/1177728190; Parzen (1962), doi:10.1214/aoms/1177704472; Abramson (1982),
    doi:10.1214/aos/1176345986; Gray, Moore (2003), doi:10.1137/1.9781611972733.19.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.neighbors import KernelDensity
    >>> X = np.random.default_rng(0).normal(size=(500, 1))
    >>> model = KernelDensity(bandwidth="cv").fit(X)
    >>> np.exp(model.score_samples([[0.0], [2.0]])).round(2), round(float(model.score_samples([[100.0]])[0]))
    (array([0.36, 0.06]), -47735)
    """

    _sparse = False
    _test_params = [{"bandwidth": 0.4}, {"bandwidth": "silverman"}]
    _test_skips = {
        "constant_columns/constant": "a column more is a dimension more, also if all rows agree in it",
        "constant_columns/zeros": "a column more is a dimension more, also if all rows agree in it",
    }

    bandwidth: Any = param(
        1.0,
        [above(0), array_like, one_of("scott", "silverman", "cv")],
        "Bandwidth: a number, one for each column, a rule of thumb, or 'cv' for likelihood cross-validation.",
    )
    kernel: str = param("gaussian", one_of(*WINDOWS), "Window.")
    shape: str = param(
        "spherical",
        one_of("spherical", "diagonal", "full", "local"),
        "Units of the bandwidth: the columns as they are, their standard deviations, their covariance, or a covariance "
        "for each row, of the rows around it.",
    )
    adaptive: float = param(
        0.0, between(0, 1), "Exponent α of the rows' own widths, wider where rows are rare; 0.5 is Abramson's rule."
    )
    n_neighbors: int = param(50, whole(2), "Rows around a row that its covariance comes from (shape='local').")
    grid: Any = param(None, [array_like, none], "Candidates for 'cv'; None: 20 around Scott's rule.")
    algorithm: str = param(
        "auto",
        one_of("auto", "kd_tree", "ball_tree", "brute"),
        "'brute' looks at every pair; the others use a k-d tree, with the same answer.",
    )
    metric: Any = param(
        "euclidean", [one_of(*METRICS), is_callable], "Distance: a name of scikit-learn, or a function of two rows."
    )
    atol: float = param(0.0, at_least(0), "Absolute error of the density that is allowed.")
    rtol: float = param(0.0, at_least(0), "Relative error of the density that is allowed; 0: exact.")
    leaf_size: int = param(256, whole(1), "Rows in a leaf of the tree; it changes the time, not the answer.")
    metric_params: Any = param(None, [dict, none], "Parameters of the metric: p of 'minkowski', V of 'mahalanobis', …")

    _attrs = [
        attr("X_fit_", "(n_samples, n_features)", "The rows of positive weight."),
        attr("sample_weight_", "(n_samples,)", "Their weights."),
        attr("bandwidth_", "float or (n_features,)", "The bandwidth, given, by a rule or chosen, in units of frame_."),
        attr("frame_", "(n_features[, n_features])", "The unit of bandwidths: ones, deviations or a lower triangle."),
        attr("widths_", "(n_samples,)", "The rows' own factors of the bandwidth (all 1 unless adaptive)."),
        attr("tree_", "KDTree or BallTree", "The rows in scikit-learn's index, made when asked for."),
        attr("grid_", "ndarray", "Candidates of cross-validation.", when="bandwidth='cv'"),
        attr("cv_scores_", "ndarray", "Their mean leave-one-out log densities.", when="bandwidth='cv'"),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KernelDensity":
        """Keep the rows X and choose the bandwidth; sample_weight counts rows, y is ignored."""
        rows = self._rows(X, None, sample_weight, target="none")
        kept, _, w = rows.gather()
        return self._estimate(kept, in_cases(w)[0])

    def fit_counts(self, X: Array, w: Array) -> "KernelDensity":
        """Keep the rows X, each of which counts w times; the weights are not rescaled."""
        self._rows(X, target="none")
        return self._estimate(X, w)

    def _estimate(self, kept: Array, w: Array) -> "KernelDensity":
        self.X_fit_, self.sample_weight_ = kept, w
        rows = kept.astype(np.float64)
        refuse_wide(rows.min(axis=0), rows.max(axis=0), names=getattr(self, "feature_names_in_", None))
        self._check()
        self.frame_ = frame(self.shape, rows, w, getattr(self, "feature_names_in_", None))
        self.bandwidth_ = self._choose(rows, w)
        self.widths_ = self._own_widths(rows, w)
        self._kept_ready()
        return self

    def _check(self) -> None:
        if self.shape == "local" and self.adaptive > 0:
            raise ParameterError("adaptive widths and shape='local' are two ways to the same end: use one of them.")
        if self._other_metric and (self.shape != "spherical" or self.adaptive > 0):
            raise ParameterError(
                "Shapes and adaptive widths are for the Euclidean metric: leave them at their defaults."
            )

    @property
    def tree_(self) -> Any:
        """The rows in scikit-learn's own index, made when asked for: a k-d tree if it has the metric, or a ball tree.

        Densities here come from an index of our own; this one is for programs that query it.
        """
        check_is_fitted(self)
        known = isinstance(self.metric, str) and self.metric in KDTree.valid_metrics
        kind = KDTree if self.algorithm != "ball_tree" and known else BallTree
        rows = self.X_fit_.astype(np.float64)
        return kind(rows, metric=self.metric, leaf_size=self.leaf_size, **(self.metric_params or {}))

    @property
    def _other_metric(self) -> bool:
        return not isinstance(self._distance(None, None), Euclidean)

    def _distance(self, X: Any, w: Any) -> Any:
        """The distance between rows, or None if it depends on the rows and X is None; w are the weights of X."""
        if X is None and self.metric in ("mahalanobis", "seuclidean", "hamming"):
            return None
        more = weighted_variances(self.metric, dict(self.metric_params or {}), X, w)
        return distance_named(self.metric, 2.0, more, X)

    def _choose(self, X: Array, w: Array) -> Any:
        D = X.shape[1]
        if self.bandwidth in ("scott", "silverman") if isinstance(self.bandwidth, str) else False:
            return rule(self.bandwidth, float(w.sum()), D)
        if not isinstance(self.bandwidth, str):
            return given(self.bandwidth, D)
        if w.sum() <= 1.0:
            raise InputError("Cross-validation leaves out one row, and n_samples = 1: give a bandwidth.")
        start = rule("scott", float(w.sum()), D) * (1.0 if WINDOWS[self.kernel].tails else math.sqrt(D + 4.0))
        start *= typical_width(X, w) if self.shape == "spherical" else 1.0
        self.grid_ = candidates(self.grid, start)
        self.cv_scores_ = self._left_out(X, w, self.grid_)
        best = self.cv_scores_.max()
        return float(self.grid_[np.argmax(self.cv_scores_)] if np.isfinite(best) else self.grid_.max())

    def _left_out(self, X: Array, w: Array, grid: Array) -> Array:
        """Mean log densities of the rows, each without itself, for all bandwidths."""
        D, F = X.shape[1], self.frame_
        volume = metric_volume(self._distance(X, w), D) if self._other_metric else log_volume(F)
        unit = WINDOWS[self.kernel].log_integral(D) + volume + math.log(w.sum() - 1.0) + D * np.log(grid)
        with np.errstate(invalid="ignore"):
            return np.average(self._left_out_logs(X, w, squared_scales(grid)) - unit[:, None], axis=1, weights=w)

    def _left_out_logs(self, X: Array, w: Array, scales: Array) -> Array:
        """Logarithms of the sums of windows at the rows, each without its own, by squared scale and row."""
        window = WINDOWS[self.kernel]
        if self._other_metric:
            return log_metric_sums(window, self._distance(X, w), X, w, None, scales)
        if self.shape == "local":
            A, logs = local_factors(X, w, self.n_neighbors)
            return log_sums(window, shaped_sums(window, X, w * np.exp(logs), A, None, scales), scales)
        X = in_units(X, self.frame_)
        points = prepare(X, w, leaf=self.leaf_size)
        if not self.adaptive:
            return log_sums(window, kernel_sums(window, points, None, scales, self.rtol), scales)
        each = []
        for widths, scale in zip(abramson(window, points, w, scales, self.adaptive), scales[:, None], strict=True):
            wide = prepare(X, w, widths=widths, leaf=self.leaf_size)
            each.append(log_sums(window, kernel_sums(window, wide, None, scale, self.rtol), scale)[0])
        return np.stack(each)

    def _own_widths(self, X: Array, w: Array) -> Array:
        if not self.adaptive:
            return np.ones(len(X))
        F, h = self._units()
        points = prepare(in_units(X, F), w, leaf=self.leaf_size)
        return abramson(WINDOWS[self.kernel], points, w, squared_scales(h), self.adaptive)[0]

    def _units(self) -> tuple[Array, float]:
        """The frame and the bandwidth; bandwidths of the columns become part of the frame."""
        if isinstance(self.bandwidth_, float):
            return self.frame_, self.bandwidth_
        return (self.frame_ * self.bandwidth_ if self.frame_.ndim == 1 else self.frame_ * self.bandwidth_[:, None]), 1.0

    @property
    def _ready(self) -> Ready:
        check_is_fitted(self)
        return self._kept_ready()

    def _kept_ready(self) -> Ready:
        return beside(self, self._prepare, self.X_fit_, self.sample_weight_, self.frame_, self.bandwidth_, self.widths_)

    def _prepare(self) -> Ready:
        """The prepared estimate: a tree of the rows, or their covariances."""
        window, w, total = WINDOWS[self.kernel], self.sample_weight_, float(self.sample_weight_.sum())
        F, h = self._units()
        X = in_units(self.X_fit_.astype(np.float64), F)
        D = X.shape[1]
        if self._other_metric:
            noun = self._distance(X, w)
            unit = window.log_integral(D) + metric_volume(noun, D) + log_volume(F) + D * math.log(h) + math.log(total)
            return Ready(
                window=window, F=F, h=h, points=None, shapes=None, log_unit=unit, total=total, metric=(noun, X, w)
            )
        log_unit = window.log_integral(D) + log_volume(F) + D * math.log(h) + math.log(total)
        if self.shape == "local":
            A, logs = local_factors(X, w, self.n_neighbors)
            return Ready(
                window=window, F=F, h=h, points=None, shapes=(X, w * np.exp(logs), A), log_unit=log_unit, total=total
            )
        leaf = len(X) if self.algorithm == "brute" else self.leaf_size
        points = prepare(X, w, widths=self.widths_ if self.adaptive else None, leaf=leaf)
        return Ready(window=window, F=F, h=h, points=points, shapes=None, log_unit=log_unit, total=total)

    def score_samples(self, X: Any) -> Any:
        """The logarithm of the density at each row of X."""
        return self._after_fit()._map_rows(X, log_density, self._ready, self.rtol, self.atol)

    def score(self, X: Any, y: Any = None) -> float:
        """The sum of the log densities of the rows X."""
        return total_of(self.score_samples(X))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Array:
        """Rows drawn from the density: a row of the data, chosen by weight, and an offset drawn from its window."""
        check_is_fitted(self)
        rng, w, D = streams(random_state, 1)[0], self.sample_weight_, self.n_features_in_
        F, h = self._units()
        chosen = rng.choice(len(w), size=n_samples, p=w / w.sum())
        noun = self._ready.metric[0] if self._ready.metric is not None else Euclidean()
        drawn = metric_offsets(WINDOWS[self.kernel], noun, rng, n_samples, D)
        offsets = drawn * (h * self.widths_[chosen])[:, None]
        if self.shape == "local":
            A = self._ready.shapes[2][chosen]
            offsets = np.linalg.solve(A, offsets[:, :, None])[:, :, 0]
        moved = offsets * F if F.ndim == 1 else offsets @ F.T
        return (self.X_fit_[chosen] + moved).astype(self.X_fit_.dtype)


def total_of(logs: Any) -> float:
    """The sum of log densities, given as an array, `Batches` or a Dask array."""
    if isinstance(logs, Batches):
        return float(sum(part.sum() for part in logs))
    total = logs.sum()
    return float(total.compute() if hasattr(total, "compute") else total)
