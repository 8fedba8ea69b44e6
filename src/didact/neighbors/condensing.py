"""Condensing: the rows that the nearest-neighbour rule needs to classify all the others (Hart 1968)."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from didact.core.errors import ParameterError
from didact.core.parameters import attr, is_bool, param, random_state, whole
from didact.core.random import streams
from didact.core.typing import Array
from didact.engines.neighbors import build_index
from didact.engines.neighbors.condensing import Condensed, condense, condense_by
from didact.neighbors.neighborhoods import class_votes, flat
from didact.neighbors.selection import Selected, _RowSelection
from didact.parts.distances import Euclidean


def visits(codes: Array, sampled: Array, n_seeds: int, shuffled: np.random.Generator | None) -> tuple[Array, Array]:
    """The rows that are kept from the outset, and the others in the order of their visits."""
    order = np.arange(len(codes)) if shuffled is None else shuffled.permutation(len(codes))
    visited = codes[order]
    start = ~sampled[visited]
    for c in np.flatnonzero(sampled):
        start[np.flatnonzero(visited == c)[:n_seeds]] = True
    return order[start], order[~start]


def condense_rows(X: Any, codes: Array, start: Array, order: Array, k: int, distance: Any) -> Condensed:
    """Condense by any distance; compiled loops serve those that are Euclidean between transformed rows."""
    inner = distance.rows(X)
    if isinstance(distance.inner, Euclidean) and not sp.issparse(inner):
        return condense(inner, codes, start, order, k)
    if k > 1:
        raise ParameterError("Condensing by the vote of several neighbours is for dense rows and Euclidean distances.")
    if isinstance(distance.inner, Euclidean):
        squares = np.asarray(inner.multiply(inner).sum(axis=1), np.float64).ravel()

        def column(i: int) -> Array:
            product = (inner @ inner[[i]].T).toarray().ravel()
            return np.maximum(squares + squares[i] - 2.0 * product, 0.0)

        return condense_by(column, codes, start, order)
    dense = X.toarray() if sp.issparse(X) else X
    return condense_by(lambda i: distance.pairwise(dense, dense[i : i + 1])[:, 0], codes, start, order)


class CondensedNearestNeighbor(_RowSelection):
    r"""The rows that the nearest-neighbour rule needs: each row that those kept so far get wrong is kept, too.

    Begin with one row of each class, visit the others in order, keep each of them that the kept rows do not assign to
    its own class, and repeat this until a pass keeps nothing:

    .. math:: \text{keep } x_i \text{ unless }
        \min_{j\in S,\,y_j=y_i} d(x_i, x_j) < \min_{j\in S,\,y_j\neq y_i} d(x_i, x_j)

    Then the nearest kept row of every row has its label.

    Notes
    -----
    **The kept rows depend on the order of the rows**; with `shuffle` that is random. A tie counts as wrong, so that
    equal rows with different labels are all kept. Noise is kept, too: edit first (`EditedNearestNeighbors`). Each row
    stores its distances to the nearest kept row of its own and of other classes. For Euclidean distances of dense rows
    these are updated along k-d trees when a row is kept: about O(n p log n) in all with few columns, and at most O(n p)
    for each kept row, as with other distances, whatever the number of passes; plus one search for accuracy_before_.
    As a classifier it predicts by the kept rows. With ``sampling_strategy="not minority"`` all rows of the smallest
    class are kept from the outset, as in imbalanced-learn. Shape of computation: pairs; rows are gathered in memory.

    References
    ----------
    Hart (1968), doi:10.1109/TIT.1968.1054155.

    Examples
    --------
    >>> from didact.neighbors import CondensedNearestNeighbor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], ["a", "a", "a", "b", "b", "b"]
    >>> model = CondensedNearestNeighbor().fit(X, y)
    >>> model.sample_indices_, model.predict([[2.2], [2.9]])
    (array([0, 2, 3]), array(['a', 'b'], dtype='<U1'))
    """

    _voters = None

    n_seeds: int = param(1, whole(1), "Rows of each class that loses rows that are kept at the outset.")
    shuffle: bool = param(False, is_bool, "Whether the rows are visited in a drawn order instead of the given one.")
    random_state: Any = param(None, random_state, "Seed of the order.")

    _attrs = [
        attr("sample_indices_", "(n_kept,)", "Numbers of the rows that are kept, in increasing order."),
        attr("accuracy_before_", "float", "Share of rows that the nearest others classify rightly (leave one out)."),
        attr("accuracy_after_", "float", "Share of rows that the nearest other kept rows classify rightly."),
        attr("n_iter_", "int", "Number of passes; the last one keeps nothing."),
    ]

    def _select(self, X: Any, codes: Array, distance: Any) -> Selected:
        drawn = streams(self.random_state, 1)[0] if self.shuffle else None
        start, order = visits(codes, self._sampled(codes), self.n_seeds, drawn)
        found = condense_rows(X, codes, start, order, self.n_neighbors, distance)
        return Selected(found.kept, _share_right(X, codes, self.n_neighbors, distance), found.accuracy, found.passes)


def _share_right(X: Any, codes: Array, k: int, distance: Any) -> float:
    """The share of rows whose own class the k nearest other rows choose."""
    found = flat(*build_index(X, distance, "auto", k=k).nearest(None, k))
    votes = class_votes(found, None, codes, codes.max() + 1)
    return float((votes.argmax(axis=1) == codes).mean())
