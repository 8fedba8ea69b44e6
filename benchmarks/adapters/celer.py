"""celer's cross-validated models: celer 0.7.4 does not start with scikit-learn 1.9, whose ``n_alphas`` has gone.

Folds and grid are scikit-learn's, as in celer's own classes; the paths and the last fit are celer's.
"""

from typing import Any

import celer
import sklearn.linear_model


def path(X: Any, y: Any, *, alphas: Any, tol: float, X_offset: Any, X_scale: Any, **others: Any) -> Any:
    ratio = others.get("l1_ratio", 1.0)
    ways = {"max_iter": 100, "prune": True, "X_offset": X_offset, "X_scale": X_scale}  # as celer.LassoCV has them
    return celer.celer_path(X, y, "lasso", alphas=alphas, l1_ratio=ratio, tol=tol, **ways)


class LassoCV(sklearn.linear_model.LassoCV):
    path = staticmethod(path)

    def _get_estimator(self) -> Any:
        return celer.Lasso()


class ElasticNetCV(sklearn.linear_model.ElasticNetCV):
    path = staticmethod(path)

    def _get_estimator(self) -> Any:
        return celer.ElasticNet()
