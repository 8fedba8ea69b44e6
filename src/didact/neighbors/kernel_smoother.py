r"""Kernel smoother (Nadaraya–Watson): a mean of the targets in which near rows have more weight.

.. math:: \hat y(x) = \frac{\sum_i w_i\,K(\|x-x_i\|/h)\,y_i}{\sum_i w_i\,K(\|x-x_i\|/h)}

It is the conditional mean of a kernel density of (x, y).

1. `fit` keeps the rows and chooses h, where needed, by leave-one-out squared errors: the distances of pairs are
   computed once for all candidates together; wide Gaussians in one or two columns need no pairs.
2. Where no window reaches, the prediction is the mean of the nearest rows, which is also the limit for the Gaussian.

Nadaraya (1964), On estimating regression, doi:10.1137/1109020.
"""

from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from didact.core.backend import float_type, like
from didact.core.beside import beside
from didact.core.errors import InputError
from didact.core.estimator import Estimator
from didact.core.parameters import above, array_like, attr, is_bool, none, one_of, param
from didact.core.typing import Array
from didact.engines.smoothing.kernel_sums import Points, kernel_sums, prepare, refuse_wide, squared_scales
from didact.neighbors.bandwidths import candidates, given, rule, spreads, typical_width
from didact.neighbors.gathered import queries
from didact.parts.statistics.weights import in_cases
from didact.parts.windows import WINDOWS


def smoothed(window: Any, points: Points, Q: Array | None, grid: Array) -> Array:
    """Weighted means of the targets by bandwidth, at the rows of Q or (None) at every row without itself."""
    sums = kernel_sums(window, points, Q, squared_scales(grid), empty=True)
    return sums.columns / sums.weight[:, :, None]


def predict_smooth(
    X: Any, points: Points, kernel: str, bandwidth: float, units: Array, offset: Array, one: bool
) -> Any:
    """Predictions at rows X."""
    means = smoothed(WINDOWS[kernel], points, queries(X) / units, np.array([bandwidth]))[0] + offset
    return like((means[:, 0] if one else means).astype(float_type(X)), X)


class KernelSmoother(MultiOutputMixin, RegressorMixin, Estimator):
    r"""Regression by local means, weighted by a window (Nadaraya–Watson).

    .. math:: \hat y(x) = \sum_i \frac{K(\|x-x_i\|/h)}{\sum_j K(\|x-x_j\|/h)}\,y_i

    Notes
    -----
    Cost: a prediction visits the rows within about seven bandwidths (Gaussian), about 1 ns per row and core;
    cross-validation visits each pair of rows within reach once for all candidates: n² for wide windows. In one or two
    columns wide Gaussian windows over many rows are summed over cells instead, at a cost that grows like n and with the
    same relative error of at most 1e-11; with more columns, and for other windows, sums run over pairs. Rows are kept,
    dense and in memory. Sample weights are turned into numbers of rows: in units of the smallest one above zero if all
    are whole multiples of it, else so that their mean is 1; leaving out a row removes one of the rows that a weight
    stands for. Shape of computation: pairs.

    References
    ----------
    Nadaraya (1964), doi:10.1137/1109020.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.neighbors import KernelSmoother
    >>> x = np.linspace(0.0, 6.0, 400)
    >>> model = KernelSmoother(bandwidth=0.1).fit(x[:, None], np.sin(x))
    >>> model.predict([[1.0], [4.0], [1000.0]]).round(2), np.sin([1.0, 4.0, 6.0]).round(2)
    (array([ 0.84, -0.75, -0.28]), array([ 0.84, -0.76, -0.28]))
    """

    _sparse = False
    _test_params = [{"bandwidth": 0.4}, {"bandwidth": 1.5, "kernel": "epanechnikov", "scale": True}]

    bandwidth: Any = param(
        "cv",
        [above(0), array_like, one_of("cv")],
        "Bandwidth: a number, one for each column, or 'cv' to choose one by leave-one-out errors.",
    )
    kernel: str = param("gaussian", one_of(*WINDOWS), "Window.")
    grid: Any = param(None, [array_like, none], "Candidates for 'cv'; None: 20 around Scott's rule.")
    scale: bool = param(
        False, is_bool, "Whether to divide features by their standard deviations first (constant ones stay)."
    )

    _attrs = [
        attr("X_fit_", "(n_samples, n_features)", "The rows of positive weight."),
        attr("y_fit_", "(n_samples,) or (n_samples, n_outputs)", "Their targets."),
        attr("sample_weight_", "(n_samples,)", "Their weights."),
        attr("bandwidth_", "float or (n_features,)", "The bandwidth, given or chosen, in units of scale_."),
        attr("scale_", "(n_features,)", "What features are divided by."),
        attr("grid_", "ndarray", "Candidates of cross-validation.", when="bandwidth='cv'"),
        attr("cv_errors_", "ndarray", "Their mean squared leave-one-out errors.", when="bandwidth='cv'"),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KernelSmoother":
        """Keep the rows X with targets y and choose the bandwidth; sample_weight counts rows."""
        rows = self._rows(X, y, sample_weight, target="outputs")
        self.X_fit_, self.y_fit_, self.sample_weight_ = rows.gather()
        self.sample_weight_ = w = in_cases(self.sample_weight_)[0]
        kept = self.X_fit_.astype(np.float64)
        refuse_wide(kept.min(axis=0), kept.max(axis=0), names=rows.names)
        self.scale_ = spreads(kept, w) if self.scale else np.ones(rows.n_features)
        self.bandwidth_ = self._choose(kept / self.scale_, w)
        return self

    def _choose(self, X: Array, w: Array) -> Any:
        if not isinstance(self.bandwidth, str):
            return given(self.bandwidth, X.shape[1])
        if w.sum() <= 1.0:
            raise InputError("Cross-validation leaves out one row, and n_samples = 1: give a bandwidth.")
        start = rule("scott", float(w.sum()), X.shape[1]) * typical_width(X, w) if self.grid is None else 1.0
        self.grid_ = candidates(self.grid, start if WINDOWS[self.kernel].tails else 2.0 * start)
        targets = self._targets()[0]
        points = prepare(X, w, targets)
        left_out = smoothed(WINDOWS[self.kernel], points, None, self.grid_)
        self.cv_errors_ = np.average(((left_out - targets) ** 2).mean(axis=2), axis=1, weights=w)
        return float(self.grid_[np.argmin(self.cv_errors_)])

    def _targets(self) -> tuple[Array, Array]:
        """Centred targets (n, k), and their means."""
        Y = self.y_fit_.astype(np.float64).reshape(len(self.X_fit_), -1)
        mean = np.average(Y, axis=0, weights=self.sample_weight_)
        return Y - mean, mean

    @property
    def _units(self) -> Array:
        return self.scale_ * (1.0 if isinstance(self.bandwidth_, float) else self.bandwidth_)

    @property
    def _width(self) -> float:
        return self.bandwidth_ if isinstance(self.bandwidth_, float) else 1.0

    @property
    def _offset(self) -> Array:
        return self._targets()[1]

    @property
    def _one(self) -> bool:
        return self.y_fit_.ndim == 1

    @property
    def _points(self) -> Points:
        def made() -> Points:
            return prepare(self.X_fit_.astype(np.float64) / self._units, self.sample_weight_, self._targets()[0])

        return beside(self, made, self.X_fit_, self.y_fit_, self.sample_weight_, self.scale_, self.bandwidth_)

    def predict(self, X: Any) -> Any:
        """The local mean at each row of X."""
        return self._after_fit()._map_rows(
            X, predict_smooth, self._points, self.kernel, self._width, self._units, self._offset, self._one
        )

    def leave_one_out(self) -> Array:
        """Leave-one-out predictions of y_fit_; of a row of weight above 1 one copy is left out."""
        check_is_fitted(self)
        means = smoothed(WINDOWS[self.kernel], self._points, None, np.array([self._width]))[0] + self._offset
        return means[:, 0] if self._one else means
