r"""Voting of regressors: the (weighted) mean or median of what different models predict.

The mean of L independent errors of variance σ² has the variance σ²/L; the median is the better choice when some of the
models can be far off. scikit-learn's class has the mean.
"""

from typing import Any

import numpy as np
import sklearn.ensemble
from sklearn.utils.validation import check_is_fitted

from didact.core.errors import ParameterError
from didact.core.sparse import check_sparse
from didact.core.typing import Array
from didact.parts.statistics.weighted_quantile import weighted_quantile


class VotingRegressor(sklearn.ensemble.VotingRegressor):
    r"""Different regressors on the same rows, combined by the mean or the median of their predictions.

    .. math:: f(x) = \frac{\sum_l w_l f_l(x)}{\sum_l w_l} \quad\text{or}\quad \mathrm{median}\{f_l(x);\ w_l\}

    scikit-learn's class with one more parameter.

    Parameters
    ----------
    estimators : list of (str, regressor) tuples
        The models; "drop" leaves one out.
    weights : array-like of shape (n_regressors,), default=None
        Weights of the models; None: all equal.
    n_jobs : int, default=None
        Processes that fit the models.
    verbose : bool, default=False
        Whether to print the time of each fit.
    combine : {"mean", "median"}, default="mean"
        How predictions are combined. The median of an even number of equal weights is the mean of the middle two.

    Attributes
    ----------
    estimators_ : list of regressors
        The fitted models.
    named_estimators_ : Bunch
        The same by name.

    Notes
    -----
    Cost: the fits of the models. Shape of computation: map.

    References
    ----------
    Breiman (1996), Bagging predictors, doi:10.1007/BF00058655.

    Examples
    --------
    >>> from didact.ensemble import VotingRegressor
    >>> from didact.linear_model import LinearRegression, Ridge
    >>> from sklearn.dummy import DummyRegressor
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]
    >>> models = [("line", LinearRegression()), ("ridge", Ridge(0.01)), ("far", DummyRegressor(strategy="constant",
    ...           constant=100.0))]
    >>> VotingRegressor(models, combine="median").fit(X, y).predict([[2.0]]).round(6)
    array([2.])
    """

    _parameter_constraints = {**sklearn.ensemble.VotingRegressor._parameter_constraints, "combine": "no_validation"}

    def __init__(
        self, estimators: Any, *, weights: Any = None, n_jobs: Any = None, verbose: Any = False, combine: str = "mean"
    ) -> None:
        super().__init__(estimators, weights=weights, n_jobs=n_jobs, verbose=verbose)
        self.combine = combine

    def fit(self, X: Any, y: Any, **fit_params: Any) -> "VotingRegressor":
        """Fit all models to rows X with targets y; metadata such as sample_weight go to the models."""
        if self.combine not in ("mean", "median"):
            raise ParameterError(f"combine must be 'mean' or 'median', not {self.combine!r}.")
        check_sparse(X)
        return super().fit(X, y, **fit_params)

    def _predict(self, X: Any) -> Array:
        """What the models predict, which may be scikit-learn's: they look at no index."""
        check_sparse(X)
        return super()._predict(X)

    def predict(self, X: Any) -> Array:
        """The mean or the median of the models' predictions."""
        if self.combine == "mean":
            return super().predict(X)
        check_is_fitted(self)
        columns = self.transform(X)
        if self._weights_not_none is None:
            return np.median(columns, axis=1)
        return weighted_quantile(columns, np.asarray(self._weights_not_none, np.float64), 0.5, averaged=False)
