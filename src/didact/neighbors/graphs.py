"""Graphs of neighbours as sparse matrices: each row and the k nearest others, or all within a radius."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from didact.core.errors import ParameterError
from didact.core.validation.entrance import entrance
from didact.neighbors.base import KNeighborsQueries, RadiusQueries
from didact.neighbors.nearest import NearestNeighbors


@entrance()
def kneighbors_graph(
    X: Any, n_neighbors: int, *, mode: str = "connectivity", metric: Any = "minkowski", p: float = 2.0,
    metric_params: Any = None, include_self: Any = False, n_jobs: int | None = None,
) -> Any:  # fmt: skip
    r"""The graph that leads from each row to the k nearest others: :math:`A_{ij} = 1` or :math:`d(x_i, x_j)`.

    Parameters
    ----------
    X : table of rows, or fitted model of neighbours
        The rows; of a fitted model those of its fit, with its metric.
    n_neighbors : int
        The number k of neighbours.
    mode : {"connectivity", "distance"}, default="connectivity"
        Whether entries are ones or distances.
    metric, p, metric_params
        The distance, as in `NearestNeighbors`.
    include_self : bool or "auto", default=False
        Whether each row is the first of its own neighbours; "auto": for "connectivity".
    n_jobs : int, optional
        Most threads, as in `NearestNeighbors`.

    Returns
    -------
    scipy.sparse.csr_matrix of shape (n, n)
        The graph.

    Notes
    -----
    Cost: that of the search (`NearestNeighbors`).

    References
    ----------
    Bentley (1975), doi:10.1145/361002.361007.

    Examples
    --------
    >>> from didact.neighbors import kneighbors_graph
    >>> kneighbors_graph([[0.0], [1.0], [3.0]], 1).toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 1., 0.]])
    """
    own = _included(include_self, mode)
    how = {"metric": metric, "p": p, "metric_params": metric_params, "n_jobs": n_jobs}
    model = _fitted(X, KNeighborsQueries, n_neighbors=n_neighbors, **how)
    if own and n_neighbors == 1:
        return _with_own(sp.csr_matrix((model.n_samples_fit_,) * 2), mode)
    graph = model.kneighbors_graph(None, n_neighbors - own, mode)
    return _with_own(graph, mode) if own else graph


@entrance()
def radius_neighbors_graph(
    X: Any, radius: float, *, mode: str = "connectivity", metric: Any = "minkowski", p: float = 2.0,
    metric_params: Any = None, include_self: Any = False, n_jobs: int | None = None,
) -> Any:  # fmt: skip
    r"""The graph that leads from each row to all others within a radius: :math:`A_{ij} = 1` or :math:`d(x_i, x_j)`.

    Parameters
    ----------
    radius : float
        The radius.
    X, mode, metric, p, metric_params, include_self, n_jobs
        As in `kneighbors_graph`.

    Returns
    -------
    scipy.sparse.csr_matrix of shape (n, n)
        The graph.

    Notes
    -----
    Cost: that of the search (`NearestNeighbors`).

    References
    ----------
    Bentley (1975), doi:10.1145/361002.361007.

    Examples
    --------
    >>> from didact.neighbors import radius_neighbors_graph
    >>> radius_neighbors_graph([[0.0], [1.0], [3.0]], 1.5, mode="distance").toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """
    own = _included(include_self, mode)
    how = {"metric": metric, "p": p, "metric_params": metric_params, "n_jobs": n_jobs}
    model = _fitted(X, RadiusQueries, radius=radius, **how)
    graph = model.radius_neighbors_graph(None, radius, mode)
    return _with_own(graph, mode) if own else graph


def _fitted(X: Any, kind: type, **options: Any) -> Any:
    """X itself if it is a model of this kind, else a model fitted to the rows X; the model's own metric holds."""
    if not isinstance(X, kind):
        return NearestNeighbors(**options).fit(X)
    for name, usual in (("metric", "minkowski"), ("p", 2.0), ("metric_params", None)):
        given, own = options[name], getattr(X, name, usual)
        if not _equal(given, usual) and not _equal(given, own):
            raise ParameterError(f"{name}={given!r} is not that of the fitted model, {own!r}: leave it out or refit.")
    return X


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(np.array_equal(a[key], b[key]) for key in a)
    return bool(a == b)


def _included(include_self: Any, mode: str) -> bool:
    if not isinstance(include_self, (bool, np.bool_)) and include_self != "auto":
        raise ParameterError(f"include_self is True, False or 'auto', not {include_self!r}.")
    return mode == "connectivity" if isinstance(include_self, str) else bool(include_self)


def _with_own(graph: Any, mode: str) -> Any:
    """The graph with each row as its own neighbour, at distance 0; zeros are stored."""
    n = graph.shape[0]
    entries = graph.tocoo()
    here = np.arange(n)
    data = np.append(np.full(n, float(mode == "connectivity")), entries.data)
    return sp.coo_matrix((data, (np.append(here, entries.row), np.append(here, entries.col))), (n, n)).tocsr()
