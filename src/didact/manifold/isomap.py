r"""Isomap: classical scaling of distances along the data, the shortest paths in the graph of neighbours.

1. Each row is joined to its nearest rows, or to all within a radius.
2. Shortest paths of all pairs, by elimination of rows or Dijkstra's algorithm from each.
3. Classical scaling of their lengths: the largest eigenpairs of :math:`-\tfrac12 JD^{2}J`.

Tenenbaum, de Silva, Langford (2000), doi:10.1126/science.290.5500.2319.
"""

import warnings
from typing import Any

import numpy as np
from sklearn.decomposition import KernelPCA

from didact.core.backend import is_sparse
from didact.core.errors import Disconnected, InputError, users_level
from didact.core.parameters import at_least, at_least_or_infinite, attr, is_precomputed, none, one_of, param, whole
from didact.core.progress import FitProgress
from didact.core.threads import blas_for
from didact.core.typing import Array
from didact.engines.neighbors import Index, build_index
from didact.engines.neighbors.all_pairs import distance_table, metric_param, metric_params_param, require_symmetric
from didact.engines.spectral.paths import bridges, linked_paths, parts_of, shortest_paths, undirected
from didact.engines.spectral.scaling import Scaling, classical_scaling, inner_products
from didact.manifold.base import SAME_VECTORS, _Neighborhoods, all_pairs, finite_rows, in_type, neighborhood
from didact.parts.distances import distance_named

IN_PARTS = "The number of connected components of the neighbors graph is {} > 1. "
JOINED = IN_PARTS + (
    "Completing the graph to fit Isomap might be slow. Increase the number of neighbors to avoid this issue."
)
OPEN = IN_PARTS + (
    "The graph cannot be completed with metric='precomputed', and Isomap cannot be fitted: increase the number of "
    "neighbors, or give the full distance matrix instead of a sparse graph."
)


def geodesics(index: Index, rows: Any, starts: Array, ends: Array, lengths: Array) -> Array:
    """The lengths of the shortest paths of all pairs of rows; parts of the graph are joined where they are nearest."""
    n = index.n_rows
    i = np.repeat(np.arange(n), np.diff(starts))
    graph = undirected(i, ends, lengths, n)
    count, labels = parts_of(graph)
    if count > 1:
        if index.way == "graph":
            raise Disconnected(OPEN.format(count))
        warnings.warn(JOINED.format(count), UserWarning, stacklevel=users_level())
        more = bridges(distance_table(index.distance, rows, rows), labels, count)
        i, ends, lengths = (np.append(old, new) for old, new in zip((i, ends, lengths), more, strict=True))
        graph = undirected(i, ends, lengths, n)
    return shortest_paths(graph)


def projected(X: Any, index: Index, k: int | None, radius: float | None, D: Array, scaling: Scaling) -> Array:
    """Coordinates of new rows, by the shortest paths through their neighbours."""
    if D.shape != (index.n_rows,) * 2 or D.dtype not in (np.float32, np.float64) or not D.flags.c_contiguous:
        raise InputError("dist_matrix_ makes no sense: it is no square matrix of the distances of the fitted rows.")
    paths = linked_paths(*neighborhood(index, X, k, radius), D)
    return in_type(scaling.new_points(np.square(paths, out=paths)), X)


class Isomap(_Neighborhoods):
    r"""Isomap: coordinates that keep distances along the data, as the shortest paths between neighbours measure them.

    .. math:: \min_Z \|\tfrac12 J D^{2} J + ZZ^T\|_F, \quad
        D_{ij} = \text{length of the shortest path from } x_i \text{ to } x_j

    Unrolls what is bent without being torn. Neighbourhoods are the `n_neighbors` nearest rows, or all within `radius`
    (with ``n_neighbors=None``). New rows are linked to their neighbours and placed by the paths from there. Too few
    neighbours leave a graph of several parts, which are joined where they are nearest, with a warning; too many lead
    paths across gaps.

    Notes
    -----
    Cost: a search of neighbours; for the paths n² log n or, if an order of the rows has all neighbours of a row at most
    some hundred places away, 2n² times that number, on all threads; 8n² bytes for their lengths and as many for the
    inner products; for new rows n_neighbors·n each. `nbrs_` and `kernel_pca_` are scikit-learn's objects, made on
    request. Shape of computation: pairs.

    References
    ----------
    Tenenbaum, de Silva, Langford (2000), doi:10.1126/science.290.5500.2319.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.manifold import Isomap
    >>> t = np.linspace(0.0, 3.0, 31)
    >>> X = np.column_stack([np.cos(t), np.sin(t)])
    >>> z = Isomap(n_neighbors=2, n_components=1).fit_transform(X)[:, 0]
    >>> round(float(abs(z[-1] - z[0])), 2)
    3.0
    """

    n_neighbors: Any = param(5, [whole(1), none], "Number of neighbours of a row; None with a radius.")
    radius: Any = param(None, [at_least_or_infinite(0), none], "Radius of a neighbourhood, with n_neighbors=None.")
    n_components: int = param(2, whole(1), "Number of coordinates.")
    eigen_solver: str = param("auto", one_of("auto", "arpack", "dense"), SAME_VECTORS)
    tol: float = param(0, at_least(0), "Relative accuracy of the eigenvalues; 0: that of the machine.")
    max_iter: Any = param(None, [whole(1), none], "No effect: iterations go on until the eigenvalues are found.")
    path_method: str = param("auto", one_of("auto", "FW", "D"), "No effect: all ways find the same paths.")
    neighbors_algorithm: str = param(
        "auto", one_of("auto", "brute", "kd_tree", "ball_tree"), "How neighbours are found; the answer is the same."
    )
    metric: Any = metric_param("minkowski")
    p: float = param(2, at_least(1), "The exponent of Minkowski's distance.")
    metric_params: Any = metric_params_param()

    _attrs = [
        attr("embedding_", "(n_samples, n_components)", "Coordinates of the fitted rows."),
        attr("nbrs_", "NearestNeighbors", "scikit-learn's search for neighbours, made on request."),
        attr("kernel_pca_", "KernelPCA", "scikit-learn's kernel principal components of the paths, made on request."),
        attr("dist_matrix_", "(n_samples, n_samples)", "Lengths of the shortest paths."),
    ]
    _hidden = [
        attr("_index.rows", "(n_samples, …)", "The rows in the index of neighbours."),
        attr("_means", "(n_samples,)", "Means of squared distances."),
        attr("_values", "(n_components,)", "Eigenvalues."),
    ]

    _test_params = [{"n_neighbors": 8}, {"n_neighbors": None, "radius": 4.0, "n_components": 1}]
    _test_skips = {"callbacks": "max_iter is scikit-learn's: the eigenproblem is solved without limit"}

    def fit(self, X: Any, y: Any = None) -> "Isomap":
        """Find the coordinates of rows X; y is not used."""
        rows = finite_rows(self, X)
        all_pairs(rows)
        self._one_way(rows.shape[0])
        if is_precomputed(self.metric) and not is_sparse(rows):
            require_symmetric(np.asarray(rows))
        with FitProgress(self, X=X), blas_for(rows.shape[0]):
            distance = distance_named(self.metric, self.p, self.metric_params, rows)
            self._index: Any = build_index(rows, distance, self.neighbors_algorithm)
            D = geodesics(self._index, rows, *self._neighbors())
            scaling = classical_scaling(D, self.n_components, tol=self.tol)
        self.dist_matrix_, self.embedding_ = in_type(D, rows), in_type(scaling.coordinates, rows)
        self._values, self._means = scaling.values, scaling.means
        return self

    def transform(self, X: Any) -> Any:
        """Coordinates of rows X, by their neighbours among the fitted rows and the paths from there."""
        scaling = Scaling(self._after_fit()._values, self.embedding_.astype(np.float64), self._means)
        given = self._index, self.n_neighbors, self.radius, self.dist_matrix_, scaling
        return self._map_rows(X, projected, *given)

    def reconstruction_error(self) -> float:
        r"""The error :math:`\|B - ZZ^T\|_F/n` of the inner products B that the lengths of the paths stand for."""
        B, _ = inner_products(self._after_fit().dist_matrix_)
        return float(np.sqrt(max(np.sum(B * B) - np.sum(self._values**2), 0.0)) / len(B))

    @property
    def kernel_pca_(self) -> KernelPCA:
        """scikit-learn's kernel principal components of the paths, made on request."""
        D = self._after_fit().dist_matrix_
        return KernelPCA(n_components=self.n_components, kernel="precomputed").fit(-0.5 * D**2)
