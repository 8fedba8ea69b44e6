"""What embeddings share: rows that are finite and numerous enough, neighbourhoods by number or radius, column names."""

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.neighbors import NearestNeighbors

from didact.core.backend import float_type, like
from didact.core.errors import InputError, ParameterError
from didact.core.estimator import Estimator
from didact.core.parameters import is_precomputed
from didact.core.rows.gather import dense
from didact.core.rows.memory import refuse_square, require_finite
from didact.core.typing import Array
from didact.engines.neighbors import Index
from didact.engines.neighbors.all_pairs import finite_distances
from didact.parts.distances import distance_named

ALL_PAIRS = "embed a sample of the rows, and transform the others"
SAME_VECTORS = "No effect: the way goes by the size and the form of the graph, and all find the same vectors."


def finite_rows(model: Any, X: Any) -> Any:
    """The rows of a fit, all in memory, checked once: numbers, and two rows at least."""
    rows = model._rows(X, target="none").whole().X
    require_finite(rows, getattr(model, "feature_names_in_", None))
    if (n := rows.shape[0]) < 2:
        raise InputError(f"Found array with {n} sample(s), n_samples = {n}: an embedding needs at least 2.")
    return rows


def all_pairs(X: Any) -> None:
    """Refuse rows of which two tables of all pairs do not fit in memory."""
    refuse_square(X.shape[0], ALL_PAIRS, 2)


def all_distances(model: Any, rows: Any, metric: Any) -> tuple[Any, Array]:
    """The distance of a model (None if distances are given), and those of all pairs of rows, float64."""
    all_pairs(rows)
    points = dense(rows, np.float64)
    noun = None if is_precomputed(metric) else distance_named(metric, 2.0, model.metric_params, points)
    return noun, finite_distances(noun, points, getattr(model, "feature_names_in_", None))


def neighborhood(index: Index, Q: Any, k: int | None, radius: float | None) -> tuple[Array, Array, Array]:
    """The neighbours of queries among the indexed rows (Q None: of those, each without itself), row by row in line.

    Edges (m + 1,) of the queries, row numbers and distances: of the k nearest, or of all within the radius.
    """
    if k is not None:
        distances, rows = index.nearest(Q, k)
        return np.arange(0, rows.size + 1, k), rows.ravel(), distances.ravel()
    starts, rows, distances = index.within(Q, float(radius or 0.0))
    lonely = np.flatnonzero(np.diff(starts) == 0)
    if len(lonely) and Q is not None:
        raise InputError(f"Row {lonely[0]} has no fitted row within the radius {radius:g}: enlarge the radius.")
    return starts, rows, distances


def refuse_both(model: Any) -> None:
    """Refuse a number of neighbours and a radius at once."""
    if model.n_neighbors is not None and model.radius is not None:
        raise ParameterError(
            f"Both n_neighbors and radius are provided. Use {type(model).__name__}(radius={model.radius}, "
            "n_neighbors=None) if intended to use radius-based neighbors."
        )


class _Embedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """An embedding that new rows can be brought into. Abstract."""

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit, and the coordinates of the same rows."""
        return like(self.fit(X).embedding_, X)


class _Neighborhoods(_Embedding):
    """An embedding from the neighbourhoods of the rows, by number or by radius. Abstract."""

    def _one_way(self, n: int) -> None:
        """Refuse both a number and a radius, or neither, and more neighbours than there are rows."""
        refuse_both(self)
        if self.n_neighbors is None and self.radius is None:
            raise ParameterError("Neither n_neighbors nor radius is given: give one of them.")
        if self.n_neighbors is not None and self.n_neighbors >= n:
            raise InputError(
                f"Expected n_neighbors < n_samples, but n_samples = {n}, n_neighbors = {self.n_neighbors}: give more "
                "rows, or ask for fewer neighbours."
            )

    def _neighbors(self, Q: Any = None) -> tuple[Array, Array, Array]:
        """Edges, row numbers and distances of the neighbours of queries, or of the fitted rows."""
        return neighborhood(self._index, Q, self.n_neighbors, self.radius)

    @property
    def nbrs_(self) -> NearestNeighbors:
        """scikit-learn's search for neighbours of the fitted rows, made on request."""
        metric = {name: getattr(self, name) for name in ("metric", "p", "metric_params") if hasattr(self, name)}
        radius = 1.0 if self.radius is None else self.radius
        found = NearestNeighbors(n_neighbors=self.n_neighbors or 5, radius=radius, **metric)
        return found.fit(self._after_fit()._index.rows)


def in_type(values: Array, X: Any) -> Array:
    """Values in the float type of the rows."""
    return values.astype(float_type(X), copy=False)
