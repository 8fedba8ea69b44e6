"""Regression by the mean of neighbours: the k nearest rows, or all rows within a radius."""

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from didact.core.estimator import tagged
from didact.core.parameters import at_least_or_infinite, none, one_of, param, whole
from didact.core.typing import Array
from didact.core.validation import SUMS
from didact.neighbors.base import (
    LONELY,
    KNeighborsQueries,
    RadiusQueries,
    _Neighbors,
    _Search,
    bandwidth_param,
    weights_param,
)
from didact.neighbors.neighborhoods import means


@tagged(target_tags__multi_output=True)
class MeanAnswers:
    """Fitting values and predicting by means, for both regressors."""

    _outlier_values: Any = np.nan

    def _learn_values(self: Any, X: Any, y: Any, sample_weight: Any) -> Any:
        y, self._sample_weight = self._index_rows(X, y, sample_weight, target="outputs")
        self._several = y.ndim == 2
        self._y = y.reshape(len(y), -1)
        return self

    def predict(self: Any, X: Any) -> Any:
        """The weighted mean of the values of each row's neighbours; X None: of the fitted rows, each by the others."""
        return self._after_fit()._answer(X, means, self._y, self._several, self._outlier_values)


class KNeighborsRegressor(KNeighborsQueries, MeanAnswers, RegressorMixin, _Search, _Neighbors):
    r"""The mean of the values of the k nearest rows.

    .. math:: \hat y(x) = \sum_{i\in N_k(x)} w(d_i)\,y_i \Big/ \sum_{i\in N_k(x)} w(d_i)

    Notes
    -----
    Ties in distance are broken by row number. With sample weights, neighbours are added until their weights reach k;
    the last one counts in part. Weights count in units of the smallest one if all are whole multiples of it, else so
    that their mean is 1 (see `KNeighborsClassifier`). Rows of weight 0 are not indexed (row numbers are then those of
    the remaining rows). Cost: that of the search (`NearestNeighbors`). Fitted rows are kept in memory, queries are
    processed in blocks. Shape of computation: pairs.

    References
    ----------
    Stone (1977), doi:10.1214/aos/1176343886.

    Examples
    --------
    >>> from didact.neighbors import KNeighborsRegressor
    >>> model = KNeighborsRegressor(n_neighbors=2).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 4.0, 9.0])
    >>> model.predict([[1.4]])
    array([2.5])
    >>> model.set_params(weights="distance").predict([[1.25], [2.0]])
    array([1.75, 4.  ])
    """

    _largest_target = SUMS
    _test_params = [{}, {"weights": "distance"}, {"weights": "gaussian", "p": 1.0}]

    n_neighbors: int = param(5, whole(1), "Number of neighbours that are averaged.")
    weights: Any = weights_param()
    bandwidth: float | None = bandwidth_param()

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Index rows X with values y (several columns: several outputs); sample_weight counts rows."""
        return self._learn_values(X, y, sample_weight)


class RadiusNeighborsRegressor(RadiusQueries, MeanAnswers, RegressorMixin, _Search, _Neighbors):
    r"""The mean of the values of all rows within a radius.

    .. math:: \hat y(x) = \sum_{d_i\le r} w(d_i)\,y_i \Big/ \sum_{d_i\le r} w(d_i)

    Notes
    -----
    A row without neighbours gets `outlier_value`; where that is NaN, a warning says so. Sample weights multiply those
    of the neighbours, and only their ratios matter. Fitted rows are kept in memory, queries are processed in blocks.
    Shape of computation: pairs.

    References
    ----------
    Nadaraya (1964), doi:10.1137/1109020; uniform weights are its rectangular window.

    Examples
    --------
    >>> from didact.neighbors import RadiusNeighborsRegressor
    >>> model = RadiusNeighborsRegressor(radius=1.0, outlier_value="mean")
    >>> model.fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 4.0, 9.0]).predict([[1.0], [50.0]]).round(2)
    array([1.67, 3.5 ])
    """

    _largest_target = SUMS
    _test_params = [
        {"radius": 0.5, "outlier_value": "mean"},
        {"radius": 0.5, "outlier_value": "mean", "weights": "gaussian"},
    ]

    @property
    def _test_skips(self) -> dict[str, str]:  # type: ignore[override]
        reason = "Rows of the check have no other within the distance 1: NaN with a warning."
        return {} if self.outlier_value == "mean" else dict.fromkeys(LONELY, reason)

    radius: float = param(1.0, at_least_or_infinite(0), "Distance within which rows are averaged.")
    weights: Any = weights_param()
    bandwidth: float | None = bandwidth_param()
    outlier_value: Any = param(
        None, [Real, one_of("mean"), none], "Answer for rows without neighbours: a number, 'mean' of all; None: NaN."
    )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Index rows X with values y (several columns: several outputs); sample_weight counts rows."""
        return self._learn_values(X, y, sample_weight)

    @property
    def _outlier_values(self) -> Array:
        if self.outlier_value == "mean":
            return np.average(self._y, axis=0, weights=self._sample_weight)
        return np.full(self._y.shape[1], np.nan if self.outlier_value is None else float(self.outlier_value))
