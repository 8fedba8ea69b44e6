"""Distances by scikit-learn's names of metrics and their parameters."""

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from didact.core.errors import InputError, ParameterError
from didact.core.validation.entrance import entrance
from didact.parts.distances.columns import Canberra, Chebyshev, Distance, Euclidean, Hamming, Manhattan, Minkowski
from didact.parts.distances.functions import KernelDistance, Precomputed, UserMetric
from didact.parts.distances.mapped import (
    Correlation,
    Cosine,
    Mahalanobis,
    Scaled,
    SquaredEuclidean,
    weighted,
    whitening,
)
from didact.parts.distances.rows import BINARY, Binary, BrayCurtis, Gower, Haversine, Jaccard, NanEuclidean

PLAIN: dict[str, Any] = {
    "euclidean": Euclidean, "l2": Euclidean, "sqeuclidean": SquaredEuclidean, "manhattan": Manhattan,
    "cityblock": Manhattan, "l1": Manhattan, "chebyshev": Chebyshev, "infinity": Chebyshev, "canberra": Canberra,
    "braycurtis": BrayCurtis, "jaccard": Jaccard, "cosine": Cosine, "haversine": Haversine, "precomputed": Precomputed,
    "correlation": Correlation, "nan_euclidean": NanEuclidean,
} | {name: partial(Binary, kind) for kind, name in enumerate(BINARY)}  # fmt: skip
NAMES = (*PLAIN, "minkowski", "p", "hamming", "mahalanobis", "seuclidean", "gower", "kernel")
ZERO_EIGENVALUE = 1e-12  # eigenvalues of a covariance below this share of the largest count as zero


@entrance()
def distance_named(
    metric: Any, p: float = 2.0, metric_params: dict[str, Any] | None = None, X: Any = None, feature_weights: Any = None
) -> Distance:
    """The distance with this name (or by this function of two rows) and these parameters.

    What depends on the data is computed from the rows X: the covariance of "mahalanobis" (unless `metric_params` has
    "V" or its inverse "VI"), the variances "V" of "seuclidean", the ranges of "gower" (which takes "categorical", a
    mask or a list of columns). "kernel" takes "kernel" and its parameters, which are tried on the first row.

    >>> distance_named("minkowski", 1)
    Manhattan()
    """
    # Each branch takes its own parameters out of `given`: what is left at the end is an error of the user.
    given = dict(metric_params or {})
    if isinstance(metric, Distance):
        found, given = metric, {}
    elif callable(metric):
        found, given = UserMetric(metric, given), {}
    elif metric in ("minkowski", "p"):
        found = minkowski(given.pop("p", p))
    elif metric in _FROM_ROWS:
        found = _FROM_ROWS[metric](given, X)
    elif metric in PLAIN:
        if metric == "haversine" and sp.issparse(X):
            raise InputError("Metric 'haversine' not valid for sparse input.")
        if metric == "haversine" and X is not None and X.shape[1] != 2:
            raise InputError(
                "Haversine distance only valid in 2 dimensions, latitude and longitude, and X has "
                f"{X.shape[1]} column(s)."
            )
        if metric == "nan_euclidean" and sp.issparse(X):
            raise InputError("The metric 'nan_euclidean' is for dense tables, not for sparse ones.")
        found = PLAIN[metric]()
    else:
        raise ParameterError(f"There is no metric {metric!r}; there are {', '.join(NAMES)}, and functions of two rows.")
    if (w := given.pop("w", None)) is not None:
        found = _weighted(found, w, X)
    if given:
        raise ParameterError(f"The metric {metric!r} has no parameter {next(iter(given))!r}.")
    return found if feature_weights is None else _weighted(found, feature_weights, X)


def minkowski(p: float) -> Distance:
    """Minkowski's distance: for p = 1, 2 and ∞ as the faster Manhattan, Euclidean or Chebyshev distance."""
    special: dict[float, Any] = {1: Manhattan, 2: Euclidean, float("inf"): Chebyshev}
    return special.get(p, partial(Minkowski, p))()


def _weighted(distance: Distance, weights: Any, X: Any) -> Distance:
    if X is not None and np.shape(weights) != (X.shape[1],):
        raise InputError(f"There are {np.size(weights)} feature weights, and X has {X.shape[1]} columns.")
    return weighted(distance, weights)


def _hamming(given: dict[str, Any], X: Any) -> Distance:
    return Hamming(np.ones(X.shape[1]), float(X.shape[1]))


def _mahalanobis(given: dict[str, Any], X: Any) -> Distance:
    dense = not sp.issparse(X)
    centre = np.asarray(X.mean(axis=0), np.float64).ravel() if dense else np.zeros(X.shape[1])
    if given.get("VI") is not None:
        root = whitening(np.asarray(given.pop("VI"), np.float64))
        given.pop("V", None)
    else:
        given.pop("VI", None)
        V = given.pop("V", None)
        V = np.atleast_2d(np.cov(X if dense else X.toarray(), rowvar=False)) if V is None else np.asarray(V, np.float64)
        values, vectors = np.linalg.eigh(V)
        if values[0] <= ZERO_EIGENVALUE * values[-1]:
            raise InputError(
                "The covariance matrix of the Mahalanobis distance is singular: drop columns that follow from others, "
                "or give metric_params={'VI': ...}."
            )
        root = vectors / np.sqrt(values)
    if root.shape[0] != X.shape[1]:
        raise InputError(f"The matrix of the Mahalanobis distance is for {root.shape[0]} columns, X has {X.shape[1]}.")
    return Mahalanobis(root, centre)


def _seuclidean(given: dict[str, Any], X: Any) -> Distance:
    V = given.pop("V", None)
    V = np.var(X.toarray() if sp.issparse(X) else X, axis=0, ddof=1) if V is None else np.asarray(V, np.float64)
    if V.shape != (X.shape[1],) or not (V > 0).all():
        raise InputError("The variances of the metric 'seuclidean' are positive numbers, one for each column.")
    return Scaled(Euclidean(), 1.0 / np.sqrt(V, dtype=np.float64))


def _gower(given: dict[str, Any], X: Any) -> Distance:
    if sp.issparse(X):
        raise InputError("Gower's distance is for dense tables, not for sparse ones.")
    X = np.asarray(X, np.float64)
    chosen = given.pop("categorical", None)
    categorical = np.zeros(X.shape[1], bool)
    if chosen is not None:
        categorical[np.asarray(chosen)] = True
    ranges = given.pop("ranges", None)
    if ranges is None:
        low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
        ranges = np.nan_to_num(high - low, nan=0.0)
    ranges = np.asarray(ranges, np.float64)
    scale = np.divide(1.0, ranges, out=np.zeros(X.shape[1]), where=ranges > 0)
    return Gower(np.where(categorical, 0.0, scale), categorical, np.ones(X.shape[1]))


def _kernel(given: dict[str, Any], X: Any) -> Distance:
    kernel = given.pop("kernel", "rbf")
    found = KernelDistance(kernel, dict(given))
    given.clear()
    if not callable(kernel) and kernel not in found.names():
        raise ParameterError(f"There is no kernel {kernel!r}; there are {', '.join(found.names())}, and functions.")
    if X is not None:
        row = X[:1].toarray() if sp.issparse(X) else X[:1]
        try:
            found.products(row, row)
        except (TypeError, ValueError) as error:
            raise ParameterError(f"The kernel {kernel!r} with the other metric_params fails: {error}") from error
    return found


_FROM_ROWS = {
    "kernel": _kernel,
    "hamming": _hamming,
    "mahalanobis": _mahalanobis,
    "seuclidean": _seuclidean,
    "gower": _gower,
}
