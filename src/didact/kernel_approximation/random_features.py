r"""Random Fourier features: m cosines whose inner products are a kernel on average.

.. math:: z_j(x) = \sqrt{2/m}\,\cos(\omega_j^Tx + b_j),\qquad E[z(x)^Tz(x')] = k(x, x')

By Bochner's theorem a kernel of differences is the Fourier transform of a law of frequencies ω; b is uniform on a
circle. The error of m features is about 1/√m, whatever the number of columns.

Rahimi, Recht (2007), Random features for large-scale kernel machines, NIPS 20.
"""

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from didact.core.backend import float_type
from didact.core.estimator import Estimator
from didact.core.parameters import at_least, attr, is_callable, none, one_of, param, random_state, whole
from didact.core.progress import FitProgress
from didact.core.random import streams
from didact.engines.gram.features import FeatureMap, features_of, fourier
from didact.engines.gram.spread import entry_sums, scale_gamma
from didact.kernels import RBF, Cosines
from didact.kernels.radial import width_of_gamma


class RBFSampler(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    r"""Random Fourier features of the Gaussian kernel, or of another whose spectral law is known.

    .. math:: z_j(x) = \sqrt{2/m}\,\cos(\omega_j^Tx + b_j)

    Notes
    -----
    ω is Gaussian for RBF kernels, Cauchy for Laplacian, Student's t with 2ν degrees of freedom for Matérn, and a
    Gaussian of random width for rational quadratic ones. By Hoeffding's inequality an inner product of m features
    differs from the kernel by more than ε with probability at most 2 exp(−mε²/8). Draws differ from scikit-learn's.
    Cost: m·p multiply–adds and m cosines for each row. Shape of computation: map.

    References
    ----------
    Rahimi, Recht (2007), NIPS 20; Sutherland, Schneider (2015), doi:10.48550/arXiv.1506.02785.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.kernel_approximation import RBFSampler
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0]])
    >>> Z = RBFSampler(gamma=0.5, n_components=20_000, random_state=0).fit_transform(X)
    >>> bool(abs(Z[0] @ Z[1] - np.exp(-1.0)) < 0.03)
    True
    """

    _tensors = True
    _test_params = [{"n_components": 20, "random_state": 0}]
    _test_skips = {
        **dict.fromkeys(("constant_columns/constant", "constant_columns/zeros"), "More columns, other frequencies."),
        "constant_columns/shift": "Cosines of other angles: only their inner products stay the same, on average.",
    }

    gamma: Any = param(1.0, [one_of("scale"), at_least(0)], "γ of exp(−γ‖x − z‖²); 'scale': 1/(p · variance of X).")
    n_components: int = param(100, whole(1), "Number of features m.")
    random_state: Any = param(None, random_state, "Draws the frequencies.")
    kernel: Any = param(
        None,
        [is_callable, none],
        "Another kernel of didact.kernels: RBF, Laplacian, Matern or RationalQuadratic.",
    )

    _attrs = [
        attr("random_weights_", "(n_features, n_components)", "Frequencies ω, one in each column."),
        attr("random_offset_", "(n_components,)", "Phases b."),
        attr("scale_", "float", "The factor of the cosines."),
    ]

    def fit(self, X: Any, y: Any = None) -> "RBFSampler":
        """Draw frequencies for as many columns as X has."""
        rows = self._rows(X, target="none")
        with FitProgress(self, X=X, y=y):
            rows.reduce(entry_sums, 0.0)  # refuses what is not finite
            kernel = self.kernel
            if kernel is None:
                gamma = scale_gamma(rows) if self.gamma == "scale" else float(self.gamma)
                kernel = RBF(width_of_gamma(max(gamma, float(np.finfo(float).tiny))))
            found = fourier(kernel, rows.n_features, self.n_components, streams(self.random_state, 1)[0])
        dtype = float_type(rows)
        self.random_weights_ = found.vectors[:, :-1].T.astype(dtype)
        self.random_offset_, self.scale_ = found.vectors[:, -1].astype(dtype), found.kernel.scale
        return self

    @property
    def _n_features_out(self) -> int:
        return int(self.random_offset_.shape[0])

    def feature_map(self) -> FeatureMap:
        """The features as a function of rows."""
        return FeatureMap(Cosines(self.scale_), np.column_stack([self.random_weights_.T, self.random_offset_]))

    def transform(self, X: Any) -> Any:
        """The features (n, n_components) of each row."""
        return self._after_fit()._map_rows(X, features_of, self.feature_map())
