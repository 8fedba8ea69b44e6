"""What models of crowded places share: the parameters of the distance, and the checked rows with it."""

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClusterMixin

from didact.cluster.words import _Words, distance_of, refuse_mixture
from didact.core.backend import float_type, is_sparse, to_numpy
from didact.core.errors import InputError, users_level
from didact.core.overflow import refuse_extreme, refuse_small
from didact.core.parameters import above_or_infinite, none, param
from didact.core.rows.gather import dense
from didact.core.rows.memory import finite_sum, refuse_non_finite
from didact.core.typing import Array
from didact.engines.neighbors import Index, build_index
from didact.engines.neighbors.all_pairs import SYMMETRIC, asymmetric, own_distances
from didact.engines.neighbors.graphs import NEGATIVE
from didact.engines.smoothing.kernel_sums import refuse_wide
from didact.parts.statistics.weights import in_cases

MISSING = ("gower", "nan_euclidean")  # metrics that handle missing values
ORDERED = "Clusters are numbered in the order of their first rows, so that the order of the rows matters."


def power_param() -> Any:
    """The parameter `p`."""
    return param(None, [above_or_infinite(0), none], "The exponent of the metric 'minkowski'; None: 2.")


def nearest_label(X: Any, index: Index | None, labels: Array, reach: Any, columns: Array | None) -> Array:
    """The label of each row's nearest indexed one, -1 where that is farther away than its reach.

    Without an index X holds distances, and `columns` are those from the labelled rows.
    """
    out = np.full(X.shape[0], -1)
    rows = X if is_sparse(X) or X.dtype == object else np.ascontiguousarray(to_numpy(X), np.float64)
    if not len(labels) or not X.shape[0]:
        return out
    if index is None:
        rows = stored_distances(rows[:, columns])
        near, d = rows.argmin(axis=1), rows.min(axis=1)
    else:
        d, near = (part[:, 0] for part in index.nearest(rows, 1))
    here = d <= (reach[near] if np.ndim(reach) else reach)
    out[here] = labels[near[here]]
    return out


def stored_distances(D: Any) -> Array:
    """Distances from a sparse matrix as an array; those that are not stored are infinite."""
    if not sp.issparse(D):
        return np.asarray(D)
    out, entries = np.full(D.shape, np.inf), sp.coo_array(D)
    out[entries.coords] = entries.data
    return out


class _Distances(ClusterMixin, _Words):
    """A model of rows and their distances. Abstract."""

    @property
    def _missing(self) -> bool:  # type: ignore[override]
        return isinstance(self.metric, str) and self.metric in MISSING

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse &= not self._missing
        return tags

    def _checked(self, X: Any, sample_weight: Any = None) -> tuple[Any, Array | None, Any]:
        """The rows (an array or CSR), their weights, and the distance."""
        block = self._rows(X, None, sample_weight, target="none").whole()
        rows, w = block.X if sp.issparse(block.X) else to_numpy(block.X), block.weight
        if not self._missing and rows.dtype != object:
            refuse_endless(rows, getattr(self, "feature_names_in_", None))
        if self.metric == "precomputed":
            rows = sparse_distances(rows) if sp.issparse(rows) else own_distances(rows)
        p = getattr(self, "p", None)
        if p is not None and "p" in (self.metric_params or {}):
            sentence = "Parameter p is found in metric_params. The corresponding parameter from __init__ is ignored."
            warnings.warn(sentence, SyntaxWarning, stacklevel=users_level())
        distance = distance_of(rows, self.metric, self.metric_params, 2.0 if p is None else p)
        return rows, None if w is None else to_numpy(w), distance

    def _labelled(self, X: Any, rows: Any, places: Array, labels: Array, reach: Any) -> Any:
        """The labels of new rows by the nearest of some fitted rows, whose numbers are `places`."""
        own = self.metric == "precomputed"
        index = None
        refuse_mixture(rows, self._distance)
        if len(labels) and not own:  # in float64, as the queries
            fixed = is_sparse(rows) or rows.dtype == object
            index = build_index(rows if fixed else rows.astype(np.float64, copy=False), self._distance)
            index.check()  # the distance may come from a file
        return self._map_rows(X, nearest_label, index, labels, reach, places)


def dense_counts(model: Any, X: Any, sample_weight: Any) -> tuple[Array, Array, Any]:
    """Rows for sums of windows, in float64, their weights as numbers of rows, and their own float type."""
    block = model._rows(X, None, sample_weight, target="none").whole()
    rows, names = dense(block.X, np.float64), getattr(model, "feature_names_in_", None)
    refuse_endless(rows, names)
    refuse_wide(rows.min(axis=0), rows.max(axis=0), 1.0, names)
    refuse_small(rows, names)
    if block.weight is None:
        return rows, np.ones(len(rows)), float_type(block.X)
    return rows, in_cases(np.asarray(to_numpy(block.weight), np.float64))[0], float_type(block.X)


def refuse_endless(rows: Any, names: Any) -> None:
    """Refuse missing, infinite and huge values; the error names the column."""
    if not finite_sum(rows):
        refuse_non_finite(rows, names)
        refuse_extreme(rows, names)


def sparse_distances(D: Any) -> Any:
    """A sparse matrix of distances, once it is known to be one; entries that are not stored are far."""
    if D.shape[0] != D.shape[1]:
        raise InputError(f"A distance matrix is square: this one has {D.shape[0]} rows and {D.shape[1]} columns.")
    D = sp.csr_array(D)
    if D.data.min(initial=0.0) < 0:
        raise InputError(NEGATIVE)
    other = sp.csr_array(D.T)
    both = (D != 0).multiply(other != 0)
    apart = abs(both.multiply(D) - both.multiply(other)).tocoo()
    if apart.data.max(initial=0.0) > SYMMETRIC * max(float(D.data.max(initial=0.0)), 1e-300):
        at = int(np.argmax(apart.data))
        raise asymmetric(D, int(apart.coords[0][at]), int(apart.coords[1][at]))
    return D
