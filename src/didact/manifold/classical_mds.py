r"""Classical scaling: coordinates whose inner products are nearest to those that the distances stand for.

1. The squared distances of all pairs, centred in rows and columns: :math:`B = -\tfrac12 J D^{2} J`.
2. Its largest eigenpairs: :math:`Z = V\Lambda^{1/2}` (`engines/spectral/scaling`).

Torgerson (1952), doi:10.1007/BF02288916; Gower (1966), doi:10.1093/biomet/53.3-4.325.
"""

from typing import Any

import numpy as np

from didact.core.errors import InputError
from didact.core.parameters import attr, param, whole
from didact.core.progress import FitProgress
from didact.core.rows.gather import dense
from didact.core.typing import Array
from didact.engines.neighbors.all_pairs import distance_table, metric_param, metric_params_param
from didact.engines.spectral.scaling import Scaling, classical_scaling
from didact.manifold.base import _Embedding, all_distances, finite_rows, in_type


def placed(X: Any, noun: Any, points: Array | None, scaling: Scaling) -> Array:
    """Coordinates of new rows by their distances from the fitted ones."""
    Q = dense(X, np.float64)
    D = Q if points is None else distance_table(noun, Q, points)
    if D.shape[1] != len(scaling.coordinates):
        raise InputError(f"Distances from {len(scaling.coordinates)} fitted rows are needed, not from {D.shape[1]}.")
    return in_type(scaling.new_points(D * D), X)


class ClassicalMDS(_Embedding):
    r"""Classical multidimensional scaling: a map on which distances are as near as possible to given ones.

    .. math:: \min_Z \|B - ZZ^T\|_F, \quad B = -\tfrac12 J D^{2} J, \quad J = I - \tfrac1n 11^T

    Exact if the distances are Euclidean in `n_components` dimensions; of Euclidean distances of rows it gives the
    principal components. New rows are placed by their distances from the fitted ones (Gower's formula):
    :math:`z = \tfrac12\Lambda^{-1}Z^T(\bar s - s)`, with s their squared distances.

    Notes
    -----
    Cost: n² distances and some dozen products with the n × n matrix B; 16n² bytes. Distances
    are of any metric, or given (``metric="precomputed"``); `transform` then takes distances from the fitted rows.
    Eigenvalues that are not positive, of distances that are not Euclidean, count as 0. Shape of computation: pairs.

    References
    ----------
    Torgerson (1952), doi:10.1007/BF02288916; Gower (1968), doi:10.1093/biomet/55.3.582.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.manifold import ClassicalMDS
    >>> D = np.array([[0.0, 3.0, 5.0], [3.0, 0.0, 4.0], [5.0, 4.0, 0.0]])
    >>> Z = ClassicalMDS(metric="precomputed").fit_transform(D)
    >>> round(float(np.linalg.norm(Z[0] - Z[2])), 6)
    5.0
    """

    n_components: int = param(2, whole(1), "Number of coordinates.")
    metric: Any = metric_param()
    metric_params: Any = metric_params_param()

    _attrs = [
        attr("embedding_", "(n_samples, n_components)", "Coordinates of the fitted rows."),
        attr("dissimilarity_matrix_", "(n_samples, n_samples)", "The distances of all pairs."),
        attr("eigenvalues_", "(n_components,)", "Eigenvalues of B: the squared lengths of the coordinates."),
    ]
    _hidden = [
        attr("_points", "(n_samples, n_features) or None", "The rows."),
        attr("_means", "(n_samples,)", "Means of squared distances."),
    ]

    def fit(self, X: Any, y: Any = None) -> "ClassicalMDS":
        """Find the coordinates of rows X; y is not used."""
        rows = finite_rows(self, X)
        with FitProgress(self, X=X):
            self._noun, D = all_distances(self, rows, self.metric)
            scaling = classical_scaling(D, self.n_components)
        self.embedding_, self.dissimilarity_matrix_ = in_type(scaling.coordinates, rows), in_type(D, rows)
        self.eigenvalues_, self._means = scaling.values, scaling.means
        self._points = None if self._noun is None else dense(rows, np.float64)
        return self

    def transform(self, X: Any) -> Any:
        """Coordinates of rows X by their distances from the fitted rows; given distances are (n, n_samples_fitted)."""
        scaling = Scaling(self._after_fit().eigenvalues_, self.embedding_.astype(np.float64), self._means)
        return self._map_rows(X, placed, self._noun, self._points, scaling)
