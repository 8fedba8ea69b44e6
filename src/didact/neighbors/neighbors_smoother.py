r"""The nearest-neighbour smoother: a weighted mean of the y of the k nearest rows.

.. math:: \hat y(x) = \frac{\sum_{i\in N_k(x)} K(d_i/d_k)\,y_i}{\sum_{i\in N_k(x)} K(d_i/d_k)}

d_k is the distance of the k-th neighbour, so that the window narrows where there are many rows. k is chosen by
leave-one-out errors: the neighbours of each row among the others, found once, serve all candidates.

Stone (1977), Consistent nonparametric regression, doi:10.1214/aos/1176343886.
"""

from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from didact.core.backend import float_type, is_sparse, like, to_numpy
from didact.core.errors import InputError, ParameterError
from didact.core.parameters import array_like, attr, none, one_of, param, whole
from didact.core.progress import FitProgress
from didact.core.typing import Array
from didact.engines.neighbors import Index
from didact.neighbors.base import (
    KNeighborsQueries,
    _Neighbors,
    algorithm_param,
    categorical_features_param,
    feature_weights_param,
    leaf_size_param,
    metric_param,
    metric_params_param,
    p_param,
)
from didact.neighbors.gathered import as_columns
from didact.neighbors.neighborhoods import PAIRS, blocks, nearest_by_weight, up_to

CANDIDATES, MOST = 20, 256  # numbers of neighbours that are tried, and the largest of them


def kernel_weights(distances: Array, kernel: str, w: Array | None = None) -> Array:
    """K(d/d_k) w of neighbours in ascending order; w alone where all of them would vanish."""
    width = distances[:, -1:] if w is None else np.where(w > 0, distances, 0.0).max(axis=1, keepdims=True)
    u = np.divide(distances, width, out=np.zeros_like(distances), where=width > 0)
    if kernel == "uniform":
        weights = np.ones_like(u)
    elif kernel == "gaussian":
        weights = np.exp(-2.0 * u * u)
    else:
        weights = np.maximum((1.0 - u**3) ** 3 if kernel == "tricube" else 1.0 - u * u, 0.0)
    if w is not None:
        weights *= w
    none = weights.sum(axis=1) <= 0
    weights[none] = 1.0 if w is None else w[none]
    return weights


def averages(distances: Array, rows: Array, Y: Array, kernel: str, w: Array | None = None) -> Array:
    """The weighted means (m, outputs) of the neighbours' y."""
    weights = kernel_weights(np.asarray(distances, np.float64), kernel, w)
    return np.einsum("mk,mkt->mt", weights, Y[rows]) / weights.sum(axis=1, keepdims=True)


def predict_neighbors(X: Any, index: Index, y: Array, w: Array | None, k: int, kernel: str, missing: bool) -> Array:
    """The smooth at the rows X, in their float type."""
    Y = as_columns(y)
    words = X.dtype == object
    if not missing and not words and not np.isfinite(float(X.sum())):  # the caller raises the error
        return np.zeros(X.shape[0])
    found = nearest_by_weight(index, w, X if is_sparse(X) else to_numpy(X), k)
    parts = [averages(distances, rows, Y, kernel, taken) for distances, rows, taken in found]
    out = np.concatenate(parts).astype(np.float64 if words else float_type(X))
    return like(out if y.ndim == 2 else out[:, 0], X)


def left_out(index: Index, Y: Array, w: Array | None, candidates: list[int], kernel: str) -> list[Array]:
    """For each k what the k nearest other rows say of each row (n, outputs)."""
    ((distances, rows, weights),) = nearest_by_weight(index, w, None, max(candidates))
    found = [np.empty_like(Y) for _ in candidates]
    for block in blocks(np.arange(index.n_rows), rows.shape[1], PAIRS):
        for out, k in zip(found, candidates, strict=True):
            if weights is None:
                out[block] = averages(distances[block, :k], rows[block, :k], Y, kernel)
            else:
                out[block] = averages(distances[block], rows[block], Y, kernel, up_to(k, weights[block]))
    return found


class KNeighborsSmoother(MultiOutputMixin, RegressorMixin, KNeighborsQueries, _Neighbors):
    r"""The mean of the k nearest rows, equal or weighted by distance, with k by cross-validation.

    .. math:: \hat y(x) = \frac{\sum_{i\in N_k(x)} K(d_i/d_k)\,y_i}{\sum_{i\in N_k(x)} K(d_i/d_k)}

    Notes
    -----
    Kernels: uniform 1; tricube (1 − u³)³; Epanechnikov 1 − u²; Gaussian exp(−2u²), whose standard deviation is half the
    distance of the k-th neighbour. Where all weights would vanish (k = 1, or all equally far) they are equal. Of rows
    at equal distances the one with the lower number comes first. Between data points the curve jumps where one
    neighbour replaces another, except with the compact kernels, under which neighbours fade out. Sample weights are
    turned into numbers of rows: in units of the smallest one above zero if all are whole multiples of it, else so that
    their mean is 1. A row that counts twice fills two of the k places, the last row as many as are left; leaving out a
    row removes one of the rows that a weight stands for. Cost: that of the neighbour search, plus O(n k) for each
    candidate. Shape of computation: pairs.

    References
    ----------
    Stone (1977), doi:10.1214/aos/1176343886; Altman (1992), doi:10.1080/00031305.1992.10475879.

    Examples
    --------
    >>> from didact.neighbors import KNeighborsSmoother
    >>> model = KNeighborsSmoother(n_neighbors=2).fit([[0.0], [1.0], [3.0]], [1.0, 2.0, 6.0])
    >>> model.predict([[0.2], [2.5]])
    array([1.5, 4. ])
    """

    _test_params = [{"n_neighbors": 5}, {"n_neighbors": 4, "kernel": "tricube"}, {"grid": [1, 2, 4]}]

    n_neighbors: Any = param(
        "cv", [whole(1), one_of("cv")], "The number of nearest rows; 'cv': chosen by leave-one-out errors."
    )
    kernel: str = param(
        "uniform",
        one_of("uniform", "tricube", "epanechnikov", "gaussian"),
        "Weights by distance, over that of the k-th.",
    )
    grid: Any = param(None, [array_like, none], "Candidates for 'cv'; None: 20 from 1 to 256 or to n − 1.")

    _attrs = [
        attr("n_neighbors_", "int", "The number of neighbours, given or chosen."),
        attr("y_fit_", "(n_samples,) or (n_samples, n_outputs)", "Targets of the training rows."),
        attr("sample_weight_", "(n_samples,) or None", "Weights of the training rows; None: all are 1."),
        attr("n_samples_fit_", "int", "The number of training rows."),
        attr("grid_", "ndarray", "Candidates of cross-validation.", when="n_neighbors='cv'"),
        attr("cv_errors_", "ndarray", "Their mean squared leave-one-out errors.", when="n_neighbors='cv'"),
    ]
    algorithm: str = algorithm_param()
    leaf_size: int = leaf_size_param()
    metric: Any = metric_param()
    p: float | None = p_param()
    metric_params: Any = metric_params_param()
    feature_weights: Any = feature_weights_param()
    categorical_features: Any = categorical_features_param()

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KNeighborsSmoother":
        """Index the rows X with targets y (one or several columns), and choose k; sample_weight counts rows."""
        targets, self.sample_weight_ = self._index_rows(X, y, sample_weight, target="outputs")
        self.y_fit_ = np.asarray(targets, np.float64)
        candidates = self._candidates()
        errors = np.zeros(1)
        with FitProgress(self, 0, X=X, y=y):
            if self.n_neighbors == "cv":
                errors = self._errors(candidates)
                self.grid_, self.cv_errors_ = np.array(candidates), errors
        self.n_neighbors_ = candidates[int(np.argmin(errors))]
        return self

    def _candidates(self) -> list[int]:
        n = self.n_samples_fit_ if self.sample_weight_ is None else int(self.sample_weight_.sum() * (1 + 1e-12))
        if self.n_neighbors != "cv":
            wanted = [int(self.n_neighbors)]
        elif self.grid is None:
            most = max(min(n - 1, MOST, max(32, 4 * PAIRS // max(n, 1))), 1)
            wanted = np.unique(np.geomspace(1, most, CANDIDATES).round().astype(int)).tolist()
        else:
            wanted = [int(k) for k in self.grid]
            if not wanted or min(wanted) < 1:
                raise ParameterError("grid must hold numbers of neighbours from 1 on.")
        most = n - (self.n_neighbors == "cv")
        if max(wanted) > most:
            raise InputError(f"{max(wanted)} neighbours are asked for, but there are {most} (n_samples = {n}).")
        return wanted

    def _errors(self, candidates: list[int]) -> Array:
        Y = as_columns(self.y_fit_)
        found = left_out(self._index, Y, self.sample_weight_, candidates, self.kernel)
        return np.array([np.average(((Y - values) ** 2).mean(axis=1), weights=self.sample_weight_) for values in found])

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """Distances and row numbers (m, k) of the nearest training rows, nearest first; by default n_neighbors_."""
        check_is_fitted(self)
        return super().kneighbors(X, self.n_neighbors_ if n_neighbors is None else n_neighbors, return_distance)

    def predict(self, X: Any) -> Any:
        """The smooth at each row of X."""
        return self._after_fit()._map_rows(
            X,
            predict_neighbors,
            self._index,
            self.y_fit_,
            self.sample_weight_,
            self.n_neighbors_,
            self.kernel,
            self._missing,
        )
