r"""Agglomerative clustering: every row a cluster; the two nearest clusters become one, again and again.

Distances of two clusters: of their nearest rows (single), of their farthest (complete), the mean over all pairs
(average), or by how much merging them raises the sum of squares within, :math:`\sqrt{\tfrac{2ab}{a+b}}\|m_a - m_b\|`
for a and b rows with means m (Ward).

1. Single linkage: a minimum spanning tree, whose edges are the merges. Others: a chain of nearest neighbours.
2. The tree as SciPy's linkage matrix; clusters are what is left of it below a cut.

Murtagh (1983), doi:10.1093/comjnl/26.4.354; Müllner (2013), doi:10.18637/jss.v053.i09.
"""

import inspect
import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_memory

from didact.cluster.hierarchy import CUTS, _Hierarchy, refuse_one_row
from didact.cluster.words import (
    _Words,
    distance_of,
    metric_param,
    numbers_or_words,
    refuse_no_numbers,
    takes_words,
)
from didact.core.errors import InputError, ParameterError, users_level
from didact.core.overflow import refuse_extreme, to_unit
from didact.core.parameters import (
    array_like,
    at_least,
    attr,
    has,
    is_bool,
    is_callable,
    none,
    one_of,
    param,
    sparse_matrix,
    whole,
)
from didact.core.progress import FitProgress
from didact.core.rows.gather import dense
from didact.core.rows.memory import refuse_square
from didact.core.rows.words import WordCheck
from didact.core.typing import Array
from didact.core.validation import given_rows
from didact.core.validation.entrance import entrance
from didact.engines.linkage.graphs import connected_edges, edge_lengths, graph_tree
from didact.engines.linkage.trees import chained, grown_tree, spanning_tree
from didact.engines.linkage.triangles import distance_triangle, lower_triangle
from didact.engines.neighbors.all_pairs import INFINITE_DISTANCE, metric_params_param, own_distances
from didact.engines.neighbors.tables import compiled
from didact.engines.neighbors.words.distances import of_words, offers
from didact.parts.distances import Euclidean, resized

LINKAGES = "ward", "complete", "average", "single"


def tree_of(X: Array, linkage: str, metric: Any, metric_params: Any, graph: Any = None) -> tuple[Array, int]:
    """The linkage matrix of rows X (or of a table X of distances) and the components of the graph, if there is one."""
    noun, X = _metric(X, metric, metric_params)
    X, scale = to_unit(X) if isinstance(noun, Euclidean) else (X, 0)
    noun, count = None if noun is None else resized(noun, X), 1
    if graph is not None:
        Z, count = _tree_along(graph, X, linkage, noun)
    elif linkage == "ward":
        Z = chained(linkage, X)
    elif linkage == "single" and of_words(noun):
        Z = grown_tree(len(X), offers(noun, X))
    elif linkage == "single":
        own = noun is None or not compiled(noun.inner)
        if own and noun is not None:
            refuse_square(len(X), "take a named metric, which needs no table of distances, or a sample of the rows", 1)
        table = X if noun is None else noun.pairwise(X, X) if own else noun.rows(X)
        Z = spanning_tree(None if own else noun.inner, np.ascontiguousarray(table))
        Z[:, 2] = Z[:, 2] if own else noun.finish(Z[:, 2])
    else:
        refuse_square(len(X), "use Ward or single linkage, which need no table of distances", 1)
        Z = chained(linkage, lower_triangle(X) if noun is None else distance_triangle(noun, X))
    Z[:, 2] = np.ldexp(Z[:, 2], scale)
    return Z, count


def _metric(X: Array, metric: Any, metric_params: Any) -> tuple[Any, Array]:
    """The distance and the rows; or no distance, and a table of distances."""
    if callable(metric) and not hasattr(metric, "between1") and _arguments(metric) == 1:
        refuse_square(len(X), "give a function of two rows, and single linkage or connectivity", 1)
        table = metric(X[:, 0].tolist() if X.dtype == object else X, **(metric_params or {}))
        return None, own_distances(dense(given_rows(table, "The table of metric")))
    if metric == "precomputed":
        return None, own_distances(X)
    if isinstance(metric, str) and metric == "cosine" and not X.any(axis=1).all():
        row = int(np.flatnonzero(~X.any(axis=1))[0])
        raise InputError(
            f"Cosine affinity cannot be used when X contains zero vectors: row {row} is one, and has no direction."
        )
    return distance_of(X, metric, metric_params), X


def _graph(connectivity: Any) -> Any:
    """Which rows are neighbours, as it was given; None: all are."""
    return None if connectivity is None else given_rows(connectivity, "connectivity")


def _arguments(function: Any) -> int:
    """How many arguments a function must be given: of one table, or of two rows."""
    try:
        found = inspect.signature(getattr(function, "py_func", function)).parameters.values()
    except (TypeError, ValueError):  # of some functions in C nothing is known
        return 2
    return sum(a.default is a.empty and a.kind in (a.POSITIONAL_ONLY, a.POSITIONAL_OR_KEYWORD) for a in found)


def _tree_along(graph: Any, X: Array, linkage: str, noun: Any) -> tuple[Array, int]:
    """`tree_of` with merges along a graph alone."""

    def distances(a: Array, b: Array) -> Array:
        return X[np.ix_(a, b)] if noun is None else np.asarray(noun.pairwise(X[a], X[b]))

    i, j, count = connected_edges(graph, X.shape, distances)
    if count > 1:
        warnings.warn(
            f"the number of connected components of the connectivity matrix is {count} > 1. Completing it to avoid "
            "stopping the tree early.",
            UserWarning,
            stacklevel=users_level(),
        )
    d = np.empty(0) if linkage == "ward" else edge_lengths(i, j, distances)
    return graph_tree(linkage, len(X), i, j, d, X), count


class AgglomerativeClustering(_Hierarchy, _Words):
    r"""Hierarchical clustering from the rows up, by single, complete, average or Ward linkage.

    .. math:: \delta(A, B) = \min_{a\in A,\,b\in B} d(a, b),\quad \max d(a, b),\quad
        \operatorname{mean} d(a, b)\quad\text{or}\quad \sqrt{\tfrac{2|A||B|}{|A|+|B|}}\,\|m_A - m_B\|

    The two clusters with the least δ become one until one is left. `linkage_` is the whole tree in SciPy's form;
    `cut` gives the clusters at another number or distance without a new fit, `plot_dendrogram` draws the tree.

    Notes
    -----
    Cost: n²/2 distances for single and 3/2 n² for Ward linkage in (p + 4) n numbers of memory; complete and average
    linkage, and metrics that are Python functions, keep n²/2 distances in memory and read them three times. On all
    threads. Of equally near clusters the first in the order of rows merge first. Rows must fit in memory and have no
    weights: each is a leaf. With `connectivity` only clusters that an edge joins merge. Shape of computation: pairs.

    References
    ----------
    Murtagh (1983), doi:10.1093/comjnl/26.4.354. Müllner (2013), doi:10.18637/jss.v053.i09.

    Examples
    --------
    >>> from didact.cluster import AgglomerativeClustering
    >>> X = [[1.0, 2.0], [1.0, 4.0], [1.0, 0.0], [4.0, 2.0], [4.0, 4.0], [4.0, 0.0]]
    >>> model = AgglomerativeClustering().fit(X)
    >>> model.labels_
    array([1, 1, 1, 0, 0, 0])
    >>> model.cut(distance_threshold=2.5).max() + 1
    np.int64(4)
    """

    n_clusters: Any = param(2, [whole(1), none], "Number of clusters; None with `distance_threshold`.")
    metric: Any = metric_param(" (or one of all rows that returns their table)")
    memory: Any = param(None, [str, has("cache"), none], "Folder, or `joblib.Memory`, that keeps trees.")
    connectivity: Any = param(
        None,
        [array_like, sparse_matrix, is_callable, none],
        "Which rows are neighbours, (n, n), or a function of X that says so; only neighbours merge. None: all are.",
    )
    compute_full_tree: Any = param(
        "auto",
        [one_of("auto"), is_bool],
        "With `connectivity`: whether `children_` goes on beyond `n_clusters`; 'auto': if these are fewer than 100 or "
        "2 % of the rows. The tree in `linkage_` is always whole.",
    )
    linkage: str = param("ward", one_of(*LINKAGES), "The distance of two clusters.")
    distance_threshold: Any = param(None, [at_least(0), none], "Merging at this distance or farther do not merge.")
    compute_distances: bool = param(False, is_bool, "Whether to set `distances_` without a threshold.")
    metric_params: Any = metric_params_param()

    _attrs = [
        attr("n_connected_components_", "int", "Components of `connectivity`; 1 without."),
        attr("children_", "(n_samples - 1, 2)", "The clusters that each merge joins: rows, or n_samples + a merge."),
        attr("distances_", "(n_samples - 1,)", "The distance of each merge, if asked for.", "_with_distances"),
    ]

    _test_params = [{"n_clusters": 3}, {"n_clusters": 3, "linkage": "average", "metric": "manhattan"}]

    def fit(self, X: Any, y: Any = None) -> "AgglomerativeClustering":
        """Build the tree of rows X and cut it; y is not used."""
        rows = numbers_or_words(self._rows(X, target="none").whole().X)
        self._refuse(rows)
        with FitProgress(self, X=X):
            keep = check_memory(self.memory).cache(tree_of)
            Z, count = keep(rows, self.linkage, self.metric, self.metric_params, self._graph(rows))
        self.n_connected_components_ = count
        self._refuse_infinite(Z, rows)
        return self._cut_off(Z)

    def _refuse(self, rows: Array) -> None:
        """Refuse parameters that do not go together, and too few rows."""
        if (self.n_clusters is None) == (self.distance_threshold is None):
            raise ParameterError(f"{CUTS} has to be set, and the other needs to be None.")
        if self.distance_threshold is not None and not self.compute_full_tree:
            raise ParameterError("compute_full_tree must be True if distance_threshold is set.")
        if self.linkage == "ward" and self.metric not in ("euclidean", "l2"):
            raise ParameterError(
                f"{self.metric} was provided as metric. Ward can only work with euclidean distances (i.e. 'euclidean' "
                "and 'l2')."
            )
        refuse_one_row(rows)
        refuse_no_numbers(rows, getattr(self, "feature_names_in_", None))

    def _graph(self, rows: Array) -> Any:
        """The neighbours of each row, if they are restricted."""
        return _graph(self.connectivity(rows) if callable(self.connectivity) else self.connectivity)

    def _refuse_infinite(self, Z: Array, rows: Array) -> None:
        if not np.isfinite(Z).all():
            if self.metric != "precomputed":
                refuse_extreme(rows, getattr(self, "feature_names_in_", None))
            raise InputError(INFINITE_DISTANCE)

    def _with_distances(self) -> bool:
        return bool(self.compute_distances or self.distance_threshold is not None)

    def _cut_off(self, Z: Array) -> "AgglomerativeClustering":
        """Set what follows from the tree."""
        n = len(Z) + 1
        self.linkage_, self.n_leaves_ = Z, n
        self.labels_ = self.cut(self.n_clusters, self.distance_threshold)
        self.n_clusters_ = int(self.labels_.max()) + 1
        whole_tree = self.compute_full_tree
        if whole_tree == "auto":
            whole_tree = self.n_clusters is None or self.n_clusters < max(100, 0.02 * n)
        merges = n - 1 if self.connectivity is None or whole_tree else n - self.n_clusters_
        self.children_ = Z[:merges, :2].astype(np.int64)
        if self._with_distances():
            self.distances_ = Z[:merges, 2].copy()
        return self


@entrance(n_clusters=[whole(1), none])
def linkage_tree(
    X: Any, connectivity: Any = None, n_clusters: int | None = None, linkage: str = "complete",
    affinity: Any = "euclidean", return_distance: bool = False,
) -> tuple[Any, ...]:  # fmt: skip
    """The tree of rows X by complete, average or single linkage, as scikit-learn's function of this name gives it.

    Returns children, the number of components of the graph, the number of rows, the parents of all nodes (None without
    connectivity), and the distances if asked for. With connectivity and `n_clusters` it ends when so many are left.

    Notes
    -----
    Cost: that of `AgglomerativeClustering`, which builds the same tree.

    Examples
    --------
    >>> from didact.cluster import linkage_tree
    >>> linkage_tree([[0.0], [1.0], [5.0]], linkage="single", return_distance=True)[::4]
    (array([[0, 1],
           [2, 3]]), array([1., 4.]))
    """
    words = takes_words(affinity, X)
    if words:
        rows = WordCheck("none", callable(affinity))(X).X
    else:
        rows = dense(given_rows(np.reshape(X, (-1, 1)) if np.ndim(X) == 1 else X), np.float64)
    if linkage not in LINKAGES:
        raise ParameterError(f"Unknown linkage option, linkage should be one of {LINKAGES}, but {linkage} was given")
    refuse_one_row(rows)
    if not words and not np.isfinite(rows).all():
        raise InputError("X contains NaN or infinity: give numbers.")
    graph = _graph(connectivity)
    n = len(rows)
    if n_clusters is not None and graph is None:
        sentence = "The tree is built whole without connectivity, and n_clusters has no effect."
        warnings.warn(sentence, UserWarning, stacklevel=users_level())
    if n_clusters is not None and not 1 <= n_clusters <= n:
        raise ParameterError(
            f"Cannot provide more clusters than samples. {n_clusters} n_clusters was asked, and there are {n} samples."
        )
    Z, count = tree_of(rows, linkage, affinity, None, graph)
    merges = n - (n_clusters if n_clusters is not None and graph is not None else 1)
    children, parents = Z[:merges, :2].astype(np.int64), np.arange(n + merges)
    parents[children] = np.arange(n, n + merges)[:, None]
    found = children, count, n, None if graph is None else parents
    return (*found, Z[:merges, 2].copy()) if return_distance else found


@entrance(n_clusters=[whole(1), none])
def ward_tree(X: Any, *, connectivity: Any = None, n_clusters: int | None = None, return_distance: bool = False) -> Any:
    """The tree of rows X by Ward linkage, as scikit-learn's function of this name gives it; see `linkage_tree`.

    Notes
    -----
    Cost: 3/2 n² distances between means, in (p + 4) n numbers of memory.

    Examples
    --------
    >>> from didact.cluster import ward_tree
    >>> ward_tree([[0.0], [1.0], [5.0]])[0].tolist()
    [[0, 1], [2, 3]]
    """
    return linkage_tree(X, connectivity, n_clusters, "ward", "euclidean", return_distance)
