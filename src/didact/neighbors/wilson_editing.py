"""Editing: rows that their neighbours outvote are removed (Wilson 1972)."""

from typing import Any

import numpy as np

from didact.core.parameters import attr, none, one_of, param, whole
from didact.core.typing import Array
from didact.engines.neighbors import build_index
from didact.neighbors.neighborhoods import class_votes, flat
from didact.neighbors.selection import Selected, _RowSelection


def agrees(rows: Array, codes: Array, kind: str) -> Array:
    """For each row, given (n, k) neighbours, whether all ("all") or most ("mode", ties included) have its class."""
    if kind == "all":
        return (codes[rows] == codes[:, None]).all(axis=1)
    votes = class_votes(flat(rows, rows), None, codes, codes.max() + 1)
    return votes[np.arange(len(codes)), codes] == votes.max(axis=1)


def edit_once(X: Any, codes: Array, may_go: Array, k: int, kind: str, distance: Any) -> tuple[Array, Array]:
    """Which rows stay, and which have a nearest neighbour of their own class. A class never loses all of its rows."""
    k = min(k, len(codes) - 1)
    if k == 0:
        return np.ones(len(codes), bool), np.zeros(len(codes), bool)
    _, rows = build_index(X, distance, "auto", k=k).nearest(None, k)
    stays = agrees(rows, codes, kind) | ~may_go
    for c in np.unique(codes):
        stays[codes == c] |= not stays[codes == c].any()
    return stays, codes[rows[:, 0]] == codes


class EditedNearestNeighbors(_RowSelection):
    r"""Rows whose k nearest neighbours do not give them their own class are removed.

    .. math:: \text{remove } x_i \text{ if } y_i \notin \arg\max_c \#\{j\in N_k(x_i): y_j=c\}

    This removes noise from the overlap between classes. For many rows the error of the nearest-neighbour rule on the
    edited rows is near that of the best classifier; on all rows it is up to twice as large.

    Notes
    -----
    Within a pass all rows are judged by all rows, so the order of the rows does not matter. A row wins a tie between
    its own class and others. A class that would lose all its rows in a pass keeps them. Cost: one search for the
    neighbours of all rows per pass. As a classifier it predicts by the nearest remaining row. Condensing afterwards
    (`CondensedNearestNeighbor`) keeps only the rows along the border. Shape of computation: pairs; rows are gathered in
    memory.

    References
    ----------
    Wilson (1972), doi:10.1109/TSMC.1972.4309137. Repeated editing: Tomek (1976), doi:10.1109/TSMC.1976.4309523.

    Examples
    --------
    >>> from didact.neighbors import EditedNearestNeighbors
    >>> X = [[0.0], [0.1], [0.2], [0.3], [0.15], [2.0], [2.1], [2.2], [2.3]]
    >>> y = ["a", "a", "a", "a", "b", "b", "b", "b", "b"]
    >>> EditedNearestNeighbors().fit(X, y).sample_indices_
    array([0, 1, 2, 3, 5, 6, 7, 8])
    """

    n_neighbors: int = param(3, whole(1), "Neighbours that are asked about a row.")
    kind_sel: str = param(
        "mode", one_of("mode", "all"), "Whether a row needs most of its neighbours on its side, or all of them."
    )
    n_passes: Any = param(1, [whole(1), none], "Number of passes; None: until nothing is removed.")

    _attrs = [
        attr("sample_indices_", "(n_kept,)", "Numbers of the rows that are left, in increasing order."),
        attr("accuracy_before_", "float", "Share of rows that the nearest of all others classifies rightly."),
        attr("accuracy_after_", "float", "Share of rows that the nearest other row left classifies rightly."),
        attr("n_iter_", "int", "Number of passes."),
    ]

    def _select(self, X: Any, codes: Array, distance: Any) -> Selected:
        may_go = self._sampled(codes)[codes]
        left, passes, before = np.arange(len(codes)), 0, 0.0
        while self.n_passes is None or passes < self.n_passes:
            stays, right = edit_once(X[left], codes[left], may_go[left], self.n_neighbors, self.kind_sel, distance)
            before = before if passes else float(right.mean())
            passes, left = passes + 1, left[stays]
            if stays.all():
                break
        kept = np.zeros(len(codes), bool)
        kept[left] = True
        return Selected(kept, before, _share_right(X, codes, kept, distance), passes)


def _share_right(X: Any, codes: Array, kept: Array, distance: Any) -> float:
    """The share of rows whose nearest kept row, other than itself, has its class."""
    index, labels = build_index(X[kept], distance, "auto"), codes[kept]
    right = 0
    if kept.sum() > 1:
        right += int((labels[index.nearest(None, 1)[1][:, 0]] == labels).sum())
    if not kept.all():
        right += int((labels[index.nearest(X[~kept], 1)[1][:, 0]] == codes[~kept]).sum())
    return right / len(codes)
