"""What embeddings of neighbours share: distances of a fit in units of their size, affinities, starts, new rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from didact.core.backend import like, local, to_numpy
from didact.core.errors import InputError, ParameterError, WrongType
from didact.core.parameters import array_like, one_of, param
from didact.core.random import streams
from didact.core.typing import Array
from didact.engines.embedding.affinities import conditional, joint, joint_dense, joint_table, neighbor_count
from didact.engines.embedding.pairs import squared_distances
from didact.engines.embedding.starts import principal_start, random_start
from didact.engines.neighbors import Index, build_index
from didact.engines.neighbors.all_pairs import distance_table, require_symmetric
from didact.manifold.base import all_pairs, in_type
from didact.parts.distances import distance_named

NEW_PERPLEXITY = 5.0  # of new rows, which belong to their nearest


def init_param() -> Any:
    """The parameter `init`."""
    doc = "The start: small principal components, small random places, or places (n_samples, n_components)."
    return param("pca", [one_of("pca", "random"), array_like], doc)


def check_rows(model: Any, X: Any) -> None:
    """Refuse rows and parameters that do not fit together."""
    if model.perplexity >= X.shape[0]:
        raise ParameterError(
            f"perplexity ({model.perplexity}) must be less than n_samples ({X.shape[0]}): it is a number of neighbours."
        )
    if model.metric != "precomputed":
        return
    if isinstance(model.init, str) and model.init == "pca":
        raise ParameterError(
            'The parameter init="pca" cannot be used with metric="precomputed": use init="random", or give places.'
        )
    if X.shape[0] != X.shape[1]:
        raise InputError(f"X should be a square distance matrix, and has {X.shape[0]} rows and {X.shape[1]} columns.")
    if (X.data if sp.issparse(X) else X).min() < 0:
        raise InputError("With metric='precomputed', X should contain positive distances: Negative values in data.")
    if sp.issparse(X):
        if model.method == "exact":
            raise WrongType(
                'method="exact" does not accept a sparse precomputed distance matrix: use method="barnes_hut", or give '
                "the dense distance matrix."
            )
        return
    require_symmetric(to_numpy(X))


def index_of(model: Any, X: Any) -> Index:
    """The index of the fitted rows."""
    X = local(X)
    found = build_index(X, distance_named(model.metric, 2.0, model.metric_params, X))
    if callable(model.metric) and distance_table(found.distance, X[:2], X[:2]).min() < 0:
        raise InputError("All distances should be positive, the metric given is not correct.")
    return found


def neighbor_affinities(index: Index, perplexity: float) -> Any:
    """The symmetric affinities of nearest neighbours, a sparse matrix."""
    distances, rows = index.nearest(None, neighbor_count(perplexity, index.n_rows - 1))
    return joint(conditional(in_units(distances), perplexity), rows, index.n_rows)


def all_affinities(index: Index, X: Any, perplexity: float) -> Any:
    """The symmetric affinities of all pairs (n, n); on the device of a tensor."""
    all_pairs(X)
    Q = local(X)
    plain = getattr(type(index.distance), "__name__", "") == "Euclidean"
    if Q is not X and plain:
        top = abs(X).max()
        return joint_table(squared_distances(X / top, X / top) if float(top) > 0 else X @ X.T, perplexity)
    D = np.array(Q, np.float64) if index.way == "tables" and _given(index) else distance_table(index.distance, Q, Q)
    if D.min() < 0:
        raise InputError("All distances should be positive, the metric given is not correct.")
    P = joint_dense(D, perplexity)
    return P if Q is X else like(P, X)


def _given(index: Index) -> bool:
    return type(index.distance).__name__ == "Precomputed"


def in_units(distances: Array) -> Array:
    """Squared distances in units of the largest of each row, which affinities do not depend on."""
    top = distances.max(axis=1, keepdims=True)
    return np.square(np.divide(distances, top, out=np.zeros(distances.shape), where=top > 0))


def start_of(model: Any, X: Any) -> Array:
    """The places at which the descent begins."""
    n, d = X.shape[0], model.n_components
    (rng,) = streams(model.random_state, 1)
    if isinstance(model.init, str):
        return principal_start(local(X), d, rng) if model.init == "pca" else random_start(n, d, rng)
    Y = np.array(to_numpy(model.init), np.float64)
    if Y.shape != (n, d) or not np.isfinite(Y).all():
        raise ParameterError(f"init must hold finite places of shape ({n}, {d}), not of shape {Y.shape}.")
    return Y


def fitted_places(Y: Any, index: Index) -> Array:
    """The places of the fitted rows in double precision; those of a forged file are refused."""
    if not isinstance(Y, np.ndarray) or Y.dtype.kind != "f" or Y.ndim != 2 or Y.shape[0] != index.n_rows:
        raise InputError("embedding_ makes no sense: it must hold one place for each fitted row.")
    return np.array(Y, np.float64, order="C")


def new_places(X: Any, index: Index, Y: Array, perplexity: float, place: Callable[[Array, Array, Array], Array]) -> Any:
    """Places of new rows among those of the fitted ones; a row that equals a fitted one has its place."""
    Y = fitted_places(Y, index)
    rows, P, known = new_affinities(X, index, perplexity)
    found = place(Y, rows, P)
    found[known] = Y[rows[known, 0]]
    return like(in_type(found, X), X)


def new_affinities(X: Any, index: Index, perplexity: float) -> tuple[Array, Array, Array]:
    """Neighbours of new rows among the fitted ones, affinities, and whether the nearest is the row itself."""
    distances, rows = index.nearest(local(X), neighbor_count(min(perplexity, NEW_PERPLEXITY), index.n_rows))
    return rows, conditional(in_units(distances), min(perplexity, NEW_PERPLEXITY)), distances[:, 0] == 0
