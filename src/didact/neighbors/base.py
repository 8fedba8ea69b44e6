"""Base of the neighbour models: parameters of the metric and the index, fitting the index, and queries.

A model declares the parameters with the functions below, builds the index in its `fit` by `_index_rows`, and gets the
methods that it offers from `KNeighborsQueries` and `RadiusQueries`.
"""

import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import DistanceMetric
from sklearn.neighbors import BallTree, KDTree
from sklearn.utils.validation import check_is_fitted

from didact.core.errors import InputError, ParameterError, users_level
from didact.core.estimator import Estimator
from didact.core.parameters import above, above_or_infinite, array_like, attr, is_callable, none, one_of, param, whole
from didact.core.rows import Batches, Rows
from didact.core.rows.memory import require_finite
from didact.core.rows.words import word_rows
from didact.core.typing import Array
from didact.core.validation import require_table
from didact.engines.neighbors import Index, build_index
from didact.engines.neighbors.graphs import NEGATIVE
from didact.engines.neighbors.words.edit_index import edit_costs, index_words
from didact.neighbors.neighborhoods import Question
from didact.parts.distances import NAMES, distance_named
from didact.parts.distances.names import PLAIN
from didact.parts.statistics.weights import in_cases

# Checks of scikit-learn whose rows lie more than 1 apart, the default radius.
LONELY = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
MISSING = ("gower", "nan_euclidean")  # metrics that handle missing values


def algorithm_param() -> Any:
    """The parameter `algorithm`."""
    doc = "How neighbours are found: 'auto' chooses by the metric and the number of columns; the answer is the same."
    return param("auto", one_of("auto", "brute", "kd_tree", "ball_tree"), doc)


def leaf_size_param() -> Any:
    """The parameter `leaf_size`."""
    return param(128, whole(1), "The most rows in a leaf of a tree; a matter of speed alone.")


def metric_param() -> Any:
    """The parameter `metric`."""
    doc = (
        "The distance: a name of scikit-learn, 'gower', 'kernel', 'precomputed', 'edit' (X is a column of words), or a "
        "function of two rows."
    )
    return param("minkowski", [one_of(*NAMES, "edit"), is_callable, DistanceMetric], doc)


def p_param() -> Any:
    """The parameter `p`."""
    return param(
        2.0,
        [above_or_infinite(0), none],
        "The exponent of Minkowski's distance: 1 Manhattan, 2 Euclidean, inf Chebyshev.",
    )


def metric_params_param() -> Any:
    """The parameter `metric_params`."""
    doc = "More parameters of the metric: V or VI of 'mahalanobis', kernel and gamma of 'kernel', the costs of 'edit'."
    return param(None, [dict, none], doc)


def feature_weights_param() -> Any:
    """The parameter `feature_weights`."""
    return param(None, [array_like, none], "A weight w_j ≥ 0 for each column: Σ w_j|a − b|ᵖ and its like.")


def categorical_features_param() -> Any:
    """The parameter `categorical_features`."""
    doc = "For 'gower', the columns that hold categories: those of category type, a mask, or positions or names."
    return param("from_dtype", [one_of("from_dtype"), array_like, none], doc)


def weights_param() -> Any:
    """The parameter `weights`."""
    doc = "Weights of neighbours: equal, 1/d, exp(−d²/2h²) with h = bandwidth, or a function of an array of distances."
    return param("uniform", [one_of("uniform", "distance", "gaussian"), is_callable, none], doc)


def bandwidth_param() -> Any:
    """The parameter `bandwidth`."""
    doc = "Width h of Gaussian weights; None: half of the distance of the farthest neighbour, or half of the radius."
    return param(None, [above(0), none], doc)


class _Search(Estimator):
    """The parameters of a search for neighbours. Abstract."""

    algorithm: str = algorithm_param()
    leaf_size: int = leaf_size_param()
    p: float | None = p_param()
    metric: Any = metric_param()
    metric_params: Any = metric_params_param()
    feature_weights: Any = feature_weights_param()
    categorical_features: Any = categorical_features_param()


class _Neighbors(Estimator):
    """An index of the training rows. Abstract."""

    _attrs = [
        attr("n_samples_fit_", "int", "Number of fitted rows."),
        attr("effective_metric_", "str or callable", 'The metric; "minkowski" with p = 1, 2, ∞ under its own name.'),
        attr("effective_metric_params_", "dict", "Its parameters."),
        attr("categories_", "Categories or None", 'The values of the categorical columns, for the metric "gower".'),
    ]
    _hidden = [
        attr("_codes", "(n_samples_fit_, n_outputs)", "Numbers of the classes of the rows."),
        attr("_y", "(n_samples_fit_, n_outputs)", "Targets of the rows."),
        attr("_sample_weight", "(n_samples_fit_,) or None", "Their weights."),
    ]

    @property
    def _missing(self) -> bool:  # type: ignore[override]
        return isinstance(self.metric, str) and self.metric in MISSING

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.metric not in (*MISSING, "edit")
        tags.input_tags.string = self.metric == "edit"
        return tags

    def _rows(self, X: Any, y: Any = None, sample_weight: Any = None, **how: Any) -> Rows:
        """The checked data; for the edit distance a column of words."""
        if self.metric == "edit":
            return word_rows(self, X, y, sample_weight, how["target"], how.get("reset", True))
        return super()._rows(X, y, sample_weight, **how)

    def _index_rows(self, X: Any, y: Any = None, sample_weight: Any = None, target: str = "none") -> tuple[Any, Any]:
        """Check the training data, build the index of its rows, and return y and the weights as counts (None: ones).

        Rows of weight zero are left out, except from a table of distances; `_labels` holds their labels, too.
        """
        mixed, X = self.metric == "gower", rows_of_index(X)
        rows = self._rows(X, y, sample_weight, target=target, categories=self.categorical_features if mixed else None)
        X, y, w, *_ = rows.whole()
        if target == "label columns":
            self._labels = [np.unique(column) for column in y.reshape(len(y), -1).T]
        if w is not None and self.metric != "precomputed" and (w == 0).any():
            X, y, w = X[w > 0], y[w > 0], w[w > 0]
        w = None if w is None else in_cases(w)[0]
        w = None if w is None or (w == 1.0).all() else w
        if self.metric == "edit":
            self._index: Any = index_words(X, edit_costs(self.metric_params))
        else:
            self._index = build_index(X, self._distance(X, w, rows.names), self.algorithm, self.leaf_size)
        self.n_samples_fit_ = self._index.n_rows
        self.effective_metric_, self.effective_metric_params_ = effective(self.metric, self.p, self.metric_params)
        return y, w

    def _distance(self, X: Any, w: Any, names: Any) -> Any:
        """The distance for the rows X of weights w, after a check for values that it cannot handle."""
        if not self._missing:
            require_finite(X, names)
        if self.metric == "precomputed":
            _check_table(X)
        metric = metric_name(self.metric)
        given = weighted_variances(metric, dict(self.metric_params or {}), X, w)
        known = getattr(self, "categories_", None)
        if self.metric == "gower" and known is not None:
            given["categorical"] = known.mask
        return distance_named(metric, 2.0 if self.p is None else self.p, given, X, self.feature_weights)

    def _queries(self, X: Any) -> Any:
        """New rows, checked; None for None."""
        check_is_fitted(self)
        return None if X is None else self._rows(X, target="none", reset=False).map(_same)

    def _answer(self: Any, X: Any, fn: Any, *args: Any) -> Any:
        """fn of rows X, the question and the arguments; X None: of the fitted rows, each without itself."""
        ask = Question(
            index=self._index,
            weights=self.weights,
            bandwidth=self.bandwidth,
            sample_weight=self._sample_weight,
            k=getattr(self, "n_neighbors", None),
            radius=getattr(self, "radius", None),
        )
        return fn(None, ask, *args) if X is None else self._map_rows(X, fn, ask, *args)

    def indexed_rows(self) -> Any:
        """The fitted rows, those of weight zero left out, in the order of the numbers that queries answer with."""
        check_is_fitted(self)
        return self._index.rows

    def _cast(self, distances: Array) -> Array:
        """Distances in the float type of the training rows."""
        return distances.astype(np.float32) if self._index.rows.dtype == np.float32 else distances


class KNeighborsQueries:
    """Methods that return the k nearest rows."""

    n_neighbors: Any
    _index: Index

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """Distances and row numbers (m, k) of the nearest training rows, nearest first; equal ones by row number.

        Without X, the neighbours of the training rows, each without itself. For `Batches` the answer is `Batches` of
        distances and row numbers, a batch at a time.
        """
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
            raise TypeError(f"n_neighbors must be a whole number of at least 1, not {k!r}.")
        if k < 1:
            raise ParameterError(f"Expected n_neighbors > 0. Got {k}")
        check_is_fitted(self)

        def ask(Q: Any) -> Any:
            if isinstance(X, Batches) and Q.dtype.kind == "f" and not self._missing:  # type: ignore[attr-defined]
                require_finite(Q, getattr(self, "feature_names_in_", None))
            distances, rows = self._index.nearest(Q, int(k))
            return (self._cast(distances), rows) if return_distance else rows  # type: ignore[attr-defined]

        return self._map_rows(X, ask) if isinstance(X, Batches) else ask(self._queries(X))  # type: ignore[attr-defined]

    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> Any:
        """The nearest training rows as a sparse matrix (m, n) of ones ("connectivity") or distances ("distance")."""
        require_table(X, "kneighbors_graph")
        distances, rows = self.kneighbors(X, n_neighbors)
        edges = np.arange(0, rows.size + 1, rows.shape[1])
        return _graph(edges, rows.ravel(), distances.ravel(), mode, self._index.n_rows)


class RadiusQueries:
    """Methods that return all rows within a radius."""

    radius: Any
    _index: Index

    def radius_neighbors(
        self, X: Any = None, radius: float | None = None, return_distance: bool = True, sort_results: bool = False
    ) -> Any:
        """Arrays of arrays of the distances and numbers of all training rows at most `radius` away, for each query.

        The radius is one number, or one for each query. Neighbours are sorted by row number or, with `sort_results`, by
        distance. Without X, the neighbours of the training rows, each without itself.
        """
        if sort_results and not return_distance:
            raise ParameterError("return_distance must be True if sort_results is True.")
        edges, rows, distances = self._within(X, radius, sort_results)
        parts = [_ragged(edges, rows)] if not return_distance else [_ragged(edges, distances), _ragged(edges, rows)]
        return tuple(parts) if return_distance else parts[0]

    def radius_neighbors_graph(
        self, X: Any = None, radius: float | None = None, mode: str = "connectivity", sort_results: bool = False
    ) -> Any:
        """Training rows within the radius as a sparse matrix (m, n) of ones ("connectivity") or of distances."""
        edges, rows, distances = self._within(X, radius, sort_results)
        return _graph(edges, rows, distances, mode, self._index.n_rows)

    def _within(self, X: Any, radius: float | None, sort_results: bool) -> tuple[Array, Array, Array]:
        """Edges, rows and distances of the neighbours within the radius."""
        check_is_fitted(self)
        require_table(X, "radius_neighbors")
        bounds = np.asarray(self.radius if radius is None else radius, np.float64)
        if not (bounds >= 0).all():
            raise ParameterError(f"radius must be at least 0, got {self.radius if radius is None else radius}.")
        queries = self._queries(X)  # type: ignore[attr-defined]
        edges, rows, distances = self._index.within(queries, float(bounds.max(initial=0.0)))
        if bounds.ndim:  # one for each query
            edges, rows, distances = _nearer(edges, rows, distances, bounds)
        if sort_results:
            order = np.lexsort((rows, distances, np.repeat(np.arange(len(edges) - 1), np.diff(edges))))
            rows, distances = rows[order], distances[order]
        return edges, rows, self._cast(distances)  # type: ignore[attr-defined]


def _nearer(edges: Array, rows: Array, distances: Array, bounds: Array) -> tuple[Array, Array, Array]:
    """Of the neighbours of each query those within its own bound."""
    if bounds.shape != (len(edges) - 1,):
        raise ParameterError(f"radius is a number or one for each query: it has shape {bounds.shape}.")
    owner = np.repeat(np.arange(len(bounds)), np.diff(edges))
    kept = distances <= bounds[owner]
    ends = np.concatenate([[0], np.cumsum(np.bincount(owner[kept], minlength=len(bounds)))])
    return ends.astype(edges.dtype), rows[kept], distances[kept]


def metric_name(metric: Any) -> Any:
    """A metric; in place of one of scikit-learn's `DistanceMetric` objects without parameters, its name."""
    if not isinstance(metric, DistanceMetric):
        return metric
    name = type(metric).__name__.rstrip("0123456789").removesuffix("Distance").lower()
    if name not in PLAIN:
        raise ParameterError(f"Give the metric {type(metric).__name__} by its name, with its metric_params.")
    return name


def effective(metric: Any, p: float | None, metric_params: Any) -> tuple[Any, dict[str, Any]]:
    """The metric and its parameters; Minkowski's with p = 1, 2 and ∞ under their own names."""
    given = dict(metric_params or {})
    if "p" in given and p is not None:
        ignored = "Parameter p is found in metric_params. The corresponding parameter from __init__ is ignored."
        warnings.warn(ignored, SyntaxWarning, stacklevel=users_level())
    if metric != "minkowski":
        return metric, given
    power, w = given.pop("p", 2.0 if p is None else p), given.pop("w", None)
    own = {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}.get(power)
    return (own, given) if own and w is None else (metric, given | {"p": power, "w": w})


def weighted_variances(metric: Any, given: dict[str, Any], X: Any, w: Any) -> dict[str, Any]:
    """Metric parameters with weighted (co)variances, if the metric would compute unweighted ones from the rows."""
    if w is None or metric not in ("mahalanobis", "seuclidean") or not given.keys().isdisjoint({"V", "VI"}):
        return given
    if w.sum() <= 1.0:
        raise InputError(f"The metric {metric!r} needs the spread of at least two rows, and n_samples = 1: give V.")
    X = np.asarray(X.toarray() if sp.issparse(X) else X, np.float64)
    D = X - np.average(X, axis=0, weights=w)
    V = (D.T * w) @ D / (w.sum() - 1)
    return given | {"V": V if metric == "mahalanobis" else np.diag(V).copy()}


def _same(X: Any) -> Any:
    return X


def _check_table(X: Any) -> None:
    if X.shape[0] != X.shape[1]:
        raise InputError(
            f"Precomputed distances must be a square matrix (rows by rows), not {X.shape[0]}×{X.shape[1]}."
        )
    if (X.data if sp.issparse(X) else X).min(initial=0.0) < 0:
        raise InputError(NEGATIVE)


def rows_of_index(X: Any) -> Any:
    """The fitted rows of a neighbour model, or of a tree of scikit-learn's, in whose place they may be given."""
    if isinstance(X, (KDTree, BallTree)):
        return np.asarray(X.data)
    if isinstance(X, _Neighbors):
        return X.indexed_rows()
    return X


def _graph(edges: Array, rows: Array, distances: Array, mode: str, n: int) -> Any:
    if mode not in ("connectivity", "distance"):
        raise ParameterError(
            f'Unsupported mode, must be one of "connectivity", or "distance" but got "{mode}" instead.'
        )
    data = np.ones(len(rows)) if mode == "connectivity" else distances
    return sp.csr_matrix((data, rows, edges), shape=(len(edges) - 1, n))


def _ragged(edges: Array, values: Array) -> Array:
    out = np.empty(len(edges) - 1, dtype=object)
    for i, (a, b) in enumerate(pairwise(edges)):
        out[i] = values[a:b]
    return out
