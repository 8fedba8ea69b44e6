"""Base of editing and condensing: which classes lose rows, and a classifier by the remaining rows."""

from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import ClassifierMixin

from didact.core.backend import is_sparse
from didact.core.errors import InputError, ParameterError
from didact.core.estimator import Estimator
from didact.core.frames import column_names, is_arrow
from didact.core.parameters import above, array_like, is_callable, none, one_of, param, whole
from didact.core.rows import Batches, is_dask
from didact.core.rows.memory import require_finite
from didact.core.typing import Array
from didact.engines.neighbors import build_index
from didact.neighbors.neighborhoods import class_votes, flat
from didact.parts.distances import NAMES, distance_named

METRICS = tuple(name for name in NAMES if name not in ("gower", "precomputed"))
STRATEGIES = ("all", "auto", "majority", "not majority", "not minority")


class Selected(NamedTuple):
    """Which rows remain, and the share of all rows that the others classify correctly, before and after."""

    kept: Array
    before: float
    after: float
    passes: int


class _RowSelection(ClassifierMixin, Estimator):
    """A classifier by some of its rows. Abstract: `_select` of a model decides which rows remain."""

    _voters: ClassVar[int | None] = 1  # number of neighbours that classify a new row; None: n_neighbors

    n_neighbors: int = param(1, whole(1), "Neighbours that are asked about a row.")
    sampling_strategy: Any = param(
        "all",
        [one_of(*STRATEGIES), array_like],
        "Classes that lose rows: their labels, or 'all', 'majority', 'not majority', 'not minority' ('auto').",
    )
    metric: Any = param("minkowski", [one_of(*METRICS), is_callable], "Distance: a name, or a function of two rows.")
    p: float = param(2.0, above(0), "Power of Minkowski's distance.")
    metric_params: Any = param(None, [dict, none], "Parameters of the metric.")
    feature_weights: Any = param(None, [array_like, none], "Weights of the columns in the distance.")

    def _select(self, X: Any, codes: Array, distance: Any) -> Selected:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> Any:
        """Select the rows X, with labels y, that remain."""
        rows = self._rows(X, y, target="labels")
        X, y, *_ = rows.whole()
        require_finite(X, rows.names)
        if self.n_neighbors >= len(y):
            raise InputError(f"n_neighbors is {self.n_neighbors}: it must be less than n_samples = {len(y)}.")
        self.classes_, codes = np.unique(y, return_inverse=True)
        distance = distance_named(self.metric, self.p, self.metric_params, X, self.feature_weights)
        found = self._select(X, codes, distance)
        self.sample_indices_ = np.flatnonzero(found.kept)
        self.accuracy_before_, self.accuracy_after_, self.n_iter_ = found.before, found.after, found.passes
        self._codes = codes[self.sample_indices_]
        self._index = build_index(X[self.sample_indices_], distance, "auto", k=self._asked)
        return self

    def fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        """The remaining rows, in the kind of table that was given, and their labels."""
        if isinstance(X, Batches) or is_dask(X):
            raise InputError(
                "fit_resample takes rows in memory; fit takes any, and sample_indices_ says which are left."
            )
        self.fit(X, y)
        return take(X, self.sample_indices_), take(y, self.sample_indices_)

    def predict(self, X: Any) -> Any:
        """The label of the nearest remaining row."""
        return self._after_fit()._map_rows(X, nearest_label, self._index, self._codes, self.classes_, self._asked)

    @property
    def _asked(self) -> int:
        return min(self._voters or self.n_neighbors, len(self._codes))

    def _sampled(self, codes: Array) -> Array:
        """For each class whether it loses rows."""
        return sampled(self.sampling_strategy, self.classes_, np.bincount(codes, minlength=len(self.classes_)))


def sampled(strategy: Any, classes: Array, counts: Array) -> Array:
    """For each class whether it loses rows; of equally large classes the first counts as smallest and as largest."""
    if not isinstance(strategy, str):
        unknown = [label for label in strategy if label not in classes]
        if unknown:
            raise ParameterError(f"sampling_strategy names the class {unknown[0]!r}, which is not in y.")
        return np.isin(classes, np.asarray(strategy))
    number = np.arange(len(classes))
    if strategy == "all":
        return np.ones(len(classes), bool)
    if strategy in ("majority", "not majority"):
        return (number == counts.argmax()) == (strategy == "majority")
    return number != counts.argmin()


def nearest_label(X: Any, index: Any, codes: Array, classes: Array, k: int) -> Array:
    """The label that most of the k nearest rows have; ties go to the first of the classes."""
    votes = class_votes(flat(*index.nearest(X, k)), None, codes, len(classes))
    return classes[votes.argmax(axis=1)]


def take(values: Any, rows: Array) -> Any:
    """Some rows of a table or of a column of any kind."""
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    if is_arrow(values):
        return values.take(rows)
    if column_names(values) is not None or type(values).__module__.startswith("polars"):
        return values[rows]
    values = values.tocsr() if is_sparse(values) else values
    return values[rows] if hasattr(values, "shape") and hasattr(values, "dtype") else np.asarray(values)[rows]
