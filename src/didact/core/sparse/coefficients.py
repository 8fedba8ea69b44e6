"""Coefficients kept as a sparse matrix: for linear models whose L1 penalty has left few of them."""

from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from didact.core.backend import is_sparse, like, to_numpy
from didact.core.parameters import attr
from didact.core.rows.gather import dense


class SparseCoefficients:
    """Mixed into linear models with `coef_`: `sparsify` and `densify`."""

    _attrs: ClassVar[Any] = [attr("n_iter_", "int", "Passes over the rows.")]
    coef_: Any

    def sparsify(self) -> Any:
        """Keep coef_ as a sparse matrix, of shape (1, n_features) where it was a vector: less memory if few are not 0.

        Where half of them or more are not zero, it takes more. Predictions are the same; `fit` makes an array again.
        """
        check_is_fitted(self)
        if not is_sparse(self.coef_):
            self._vector = np.ndim(self.coef_) == 1
            self.coef_ = sparse.csr_matrix(self.coef_)
        return self

    def densify(self) -> Any:
        """Keep coef_ as an array again."""
        check_is_fitted(self)
        if is_sparse(self.coef_):
            self.coef_ = dense(self.coef_)[0] if self._vector else dense(self.coef_)
        return self


def sparse_scores(X: Any, coef: Any, intercept: Any, dtype: Any) -> Any:
    """X·coefᵀ + intercept for rows of any kind and sparse coefficients (k, p)."""
    product = (X if is_sparse(X) else to_numpy(X)) @ coef.T.astype(dtype)
    scores = product.toarray() if is_sparse(product) else np.asarray(product)
    return like(scores + np.asarray(intercept, dtype), X)
