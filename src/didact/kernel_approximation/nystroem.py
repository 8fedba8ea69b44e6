r"""The Nyström method: features of a kernel from landmarks among the rows.

.. math:: z(x) = K_{LL}^{-1/2}\,k(L, x),\qquad z(x)^Tz(x') = k(x, L)\,K_{LL}^{+}\,k(L, x')

is the kernel of the projections onto the span of the landmarks: exact if all rows are landmarks, or lie in their span.

Williams, Seeger (2000), Using the Nyström method to speed up kernel machines, NIPS 13; Drineas, Mahoney (2005),
JMLR 6, 2153–2175.
"""

from numbers import Real
from typing import Any

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from didact.core.backend import float_type
from didact.core.errors import ParameterError
from didact.core.estimator import Estimator
from didact.core.parameters import at_least, attr, is_callable, none, one_of, param, random_state, whole
from didact.core.progress import FitProgress
from didact.core.rows import Rows
from didact.engines.gram.features import LANDMARKS, FeatureMap, features_of, landmark_map, warn_landmarks
from didact.engines.gram.pairwise import PAIRWISE_NAMES, GivenColumns, pairwise_kernel
from didact.engines.gram.rows import rows_or_strings


class Nystroem(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    r"""Features of any kernel from landmarks among the rows.

    .. math:: z(x) = K_{LL}^{-1/2}\,k(L, x)

    Notes
    -----
    Landmarks are drawn uniformly, or far apart in the features of the kernel (k-means++) among twenty times as many
    rows. With no more rows than `n_components` all of them are landmarks, and inner products of features are the
    kernel. Draws differ from scikit-learn's. Cost: m³ for the landmarks, m evaluations and m² multiply–adds a row.
    Shape of computation: map.

    References
    ----------
    Nyström (1930), doi:10.1007/BF02547521; Williams, Seeger (2000), NIPS 13.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.kernel_approximation import Nystroem
    >>> from didact.kernels import RBF
    >>> X = np.arange(6.0)[:, None]
    >>> Z = Nystroem(RBF(1.0), n_components=6, random_state=0).fit_transform(X)
    >>> bool(np.allclose(Z @ Z.T, RBF(1.0)(X)))
    True
    """

    _tensors = True
    _test_params = [
        {"gamma": 0.2, "n_components": 10, "random_state": 0},
        {"gamma": 0.2, "n_components": 5, "landmarks": "kmeans++", "random_state": 0},
    ]

    _test_skips = {"row_order": "Rows in another order are other landmarks."}

    kernel: Any = param(
        "rbf",
        [one_of(*PAIRWISE_NAMES), is_callable],
        "A name, any kernel of didact.kernels, a function of two rows or of two sets of rows, or 'precomputed': X then "
        "has values with the fitted rows.",
    )
    gamma: Any = param(None, [at_least(0), none], "γ of kernels that have one; None: 1/p, and 1 for 'chi2'.")
    coef0: Any = param(None, [Real, none], "The constant of polynomial and sigmoid kernels; None: 1.")
    degree: Any = param(None, [at_least(1), none], "Degree of the polynomial kernel; None: 3.")
    kernel_params: Any = param(None, [dict, none], "More arguments of a function.")
    n_components: int = param(100, whole(1), "Number of landmarks m.")
    random_state: Any = param(None, random_state, "Draws the landmarks.")
    landmarks: str = param("uniform", one_of(*LANDMARKS), "How landmarks are drawn.")

    _attrs = [
        attr("components_", "(n_components, n_features)", "The landmarks."),
        attr("component_indices_", "(n_components,)", "Their numbers among the rows of the fit."),
        attr("normalization_", "(n_components, n_components)", "The inverse root of their matrix."),
        attr("kernel_", "kernel or callable", "The kernel."),
    ]

    def _rows(self, X: Any, *columns: Any, **how: Any) -> Rows:
        read = rows_or_strings if callable(self.kernel) else Estimator._rows
        return read(self, X, *columns, **how)

    def fit(self, X: Any, y: Any = None) -> "Nystroem":
        """Draw landmarks from the rows."""
        rows = self._rows(X, target="none")
        given = any(value is not None for value in (self.gamma, self.coef0, self.degree))
        if given and (callable(self.kernel) or self.kernel == "precomputed"):
            raise ParameterError(
                "Don't pass gamma, coef0 or degree to Nystroem if the kernel is precomputed or a function: these have "
                "none of them; arguments of a function are kernel_params."
            )
        with FitProgress(self, X=X, y=y):
            degree, coef0 = 3 if self.degree is None else self.degree, 1.0 if self.coef0 is None else self.coef0
            kernel = pairwise_kernel(self.kernel, self.gamma, degree, coef0, self.kernel_params, rows.n_features)
            found = landmark_map(kernel, rows, self.n_components, self.random_state, self.landmarks)
        warn_landmarks(self, found)
        self.kernel_, self.components_, self.component_indices_ = kernel, found.vectors, found.numbers
        self.normalization_ = found.mixing.astype(float_type(rows))
        return self

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def feature_map(self) -> FeatureMap:
        """The features as a function of rows."""
        kernel = GivenColumns(self.component_indices_) if isinstance(self.kernel_, str) else self.kernel_
        return FeatureMap(kernel, self.components_, self.normalization_, self.component_indices_)

    def transform(self, X: Any) -> Any:
        """The features (n, n_components) of each row."""
        return self._after_fit()._map_rows(X, features_of, self.feature_map())
