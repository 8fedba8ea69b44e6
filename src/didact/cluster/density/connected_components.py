r"""Connected components: clusters are what hangs together in a graph of neighbours.

.. math:: i\sim j \iff d(x_i,x_j)\le\varepsilon \qquad\text{or}\qquad
    i\sim j \iff x_i\in\text{kNN}(x_j)\ \text{and}\ x_j\in\text{kNN}(x_i)

The first is the ε-ball graph, the second that of mutual neighbours. Two rows are of one cluster if a path of edges
leads from one to the other: single linkage, cut at ε.

Brito, Chávez, Quiroz, Yukich (1997), Connectivity of the mutual k-nearest-neighbor graph in clustering and outlier
detection, doi:10.1016/S0167-7152(96)00213-1.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from didact.cluster.density.distances import ORDERED, _Distances, power_param
from didact.cluster.words import metric_param
from didact.core.errors import InputError
from didact.core.parameters import above, attr, one_of, param, whole
from didact.core.typing import Array
from didact.engines.neighbors import Index, build_index
from didact.engines.neighbors.all_pairs import metric_params_param
from didact.engines.neighbors.dense.cores import dense_clusters


def mutual_components(index: Index, k: int) -> tuple[Array, Array]:
    """The component of each indexed row in the graph of mutual neighbours, and its distance from its k-th neighbour.

    >>> from didact.parts.distances import Euclidean
    >>> mutual_components(build_index(np.array([[0.0], [1.0], [2.5]]), Euclidean()), 1)[0]
    array([0, 0, 1])
    """
    n = index.n_rows
    if k >= n:
        raise InputError(f"n_neighbors={k} should be < n_samples={n}: choose fewer neighbours, or give more rows.")
    distances, near = index.nearest(None, k)
    graph = sp.csr_array((np.ones(near.size, np.int8), near.ravel(), np.arange(0, near.size + 1, k)), shape=(n, n))
    labels = connected_components(graph.multiply(graph.T), directed=False)[1]
    first = np.unique(labels, return_index=True)[1]
    return np.argsort(np.argsort(first))[labels], distances[:, -1]


class ConnectedComponents(_Distances):
    r"""Clusters of any shape: the connected components of a graph of neighbours.

    .. math:: i\sim j \iff d(x_i,x_j)\le\varepsilon \qquad\text{or}\qquad
        i\sim j \iff x_i\in\text{kNN}(x_j)\ \text{and}\ x_j\in\text{kNN}(x_i)

    The smaller ε or k, the more clusters: from n of one row each to one of all. It finds shapes of any form that do not
    touch; a few rows between two clusters make one of them, where `DBSCAN` and `LevelSetClustering` ask for more.

    Notes
    -----
    Cost: for ε-balls that of `DBSCAN` with min_samples=1, of which it is a special case; for k neighbours a search and
    n k numbers. Equal rows have distance 0: with more than k of them, the lower row numbers count as nearer. Rows may
    be sparse, and distances given as a square matrix or a sparse one. Shape of computation: pairs.

    References
    ----------
    Brito, Chávez, Quiroz, Yukich (1997), doi:10.1016/S0167-7152(96)00213-1.

    Examples
    --------
    >>> from didact.cluster import ConnectedComponents
    >>> model = ConnectedComponents(eps=1.5).fit([[0.0], [1.0], [2.0], [5.0], [6.0]])
    >>> model.n_components_, model.labels_
    (2, array([0, 0, 0, 1, 1]))
    >>> model.predict([[2.5], [3.6]])
    array([0, 1])
    """

    graph: str = param("ball", one_of("ball", "knn"), "Which rows are joined: those within ε, or mutual neighbours.")
    eps: float = param(0.5, above(0), "The largest distance ε of joined rows, for the graph 'ball'.")
    n_neighbors: int = param(5, whole(1), "The number k of neighbours, for the graph 'knn'.")
    metric: Any = metric_param()
    metric_params: Any = metric_params_param()
    p: Any = power_param()

    _attrs = [
        attr("labels_", "(n_samples,)", "The component of each row, numbered by their first rows."),
        attr("n_components_", "int", "Number of components."),
        attr("reach_", "(n_samples,) or float", "How far new rows may be from a fitted one: ε, or its k-th neighbour."),
    ]
    _hidden = [
        attr("_known", "(n_samples, n_features) or (0, 0)", "The rows; empty: precomputed."),
    ]

    _test_params = [{"eps": 1.0}, {"graph": "knn", "n_neighbors": 3}]
    _test_skips = {"row_order": ORDERED}

    def fit(self, X: Any, y: Any = None) -> "ConnectedComponents":
        """Find the components of rows X; y is not used."""
        rows, _, self._distance = self._checked(X)
        if self.graph == "ball":
            self.labels_ = dense_clusters(rows, self._distance, self.eps, 1).labels
            self.reach_: Any = float(self.eps)
        else:
            self.labels_, self.reach_ = mutual_components(build_index(rows, self._distance), self.n_neighbors)
        self.n_components_ = int(self.labels_.max()) + 1
        self._known = np.empty((0, 0)) if self.metric == "precomputed" else rows
        return self

    def predict(self, X: Any) -> Any:
        """The component of each row's nearest fitted one, -1 if that is farther away than ε or its k-th neighbour."""
        places = np.arange(len(self._after_fit().labels_))
        return self._labelled(X, self._known, places, self.labels_, self.reach_)
