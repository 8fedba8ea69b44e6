"""The distances of all pairs of rows as one table: of a metric, or given by the user and checked."""

from typing import Any

import numpy as np

from didact.core.errors import InputError
from didact.core.overflow import refuse_extreme, refuse_small
from didact.core.parameters import is_callable, none, one_of, param
from didact.core.rows.memory import finite_sum
from didact.core.rows.pairs import asymmetry
from didact.core.typing import Array
from didact.engines.neighbors.tables import each_block, tables
from didact.engines.neighbors.words.distances import EditDistance
from didact.parts.distances import NAMES, resized

PAIR_ROWS = 256
SYMMETRIC = 1e-8  # of two distances that should be equal
INFINITE_DISTANCE = (
    "A distance is not finite: the metric must return a number for every pair of rows. Values so large that powers of "
    "them overflow: divide them by a power of ten."
)


def metric_param(default: str = "euclidean") -> Any:
    """The parameter `metric` of a model of all pairs of rows."""
    doc = "The distance: a name, 'precomputed' (X is a table of distances), or a function of two rows."
    return param(default, [one_of(*NAMES), is_callable], doc)


def metric_params_param() -> Any:
    """The parameter `metric_params`."""
    return param(None, [dict, none], "More parameters of the metric.")


def distance_table(noun: Any, Q: Any, X: Any) -> Array:
    """The distances of all rows of Q from all rows of X."""
    if isinstance(noun, EditDistance):  # letters are numbered once for all pairs
        return noun.pairwise(Q, X)
    noun = resized(noun, X, Q)
    out, inner = np.empty((Q.shape[0], X.shape[0])), noun.inner
    Q, X = noun.rows(Q), noun.rows(X)

    def piece(edges: tuple[int, int]) -> None:
        here = slice(*edges)
        for first, D in tables(inner, Q[here], X):
            out[here, first : first + D.shape[1]] = noun.finish(D)

    each_block(inner, piece, Q.shape[0], PAIR_ROWS)
    return out


def own_distances(X: Array) -> Array:
    """A matrix of distances, once it is known to be one: square, symmetric, and at least 0."""
    if X.shape[0] != X.shape[1]:
        raise InputError(f"Distance matrix should be square, got matrix of shape {X.shape}.")
    D = np.ascontiguousarray(X, np.float64)
    if D.min() < 0:
        raise InputError("The distance matrix has negative entries: distances are at least 0.")
    require_symmetric(D)
    return D


def finite_distances(noun: Any, rows: Array, names: Any) -> Array:
    """The distances of all pairs of rows; without a noun the rows are such a matrix. All are numbers."""
    if noun is None:
        return own_distances(rows)
    D = distance_table(noun, rows, rows)
    if not finite_sum(D):
        refuse_extreme(rows, names)
        raise InputError(INFINITE_DISTANCE)
    if D.max(initial=0.0) < np.finfo(float).tiny:
        refuse_small(rows, names)
    return D


def require_symmetric(D: Array) -> None:
    """Refuse a table of distances that differs from its transpose by more than rounding."""
    apart, i, j = asymmetry(D)
    if apart > 0 and apart > max(SYMMETRIC, 8 * float(np.finfo(D.dtype).eps)) * float(D.max()):
        raise asymmetric(D, i, j)


def asymmetric(D: Any, i: int, j: int) -> InputError:
    """The error of a matrix with two distances between the same rows."""
    return InputError(
        f"The distance matrix is not symmetric: entry ({i}, {j}) is {D[i, j]:.6g} and entry ({j}, {i}) is "
        f"{D[j, i]:.6g}. Pass (D + D.T)/2 if both stand for the same distance."
    )
