"""Hart's condensing: keep rows until the kept ones classify all others correctly.

Each pass visits the rows in a given order and keeps those that the rows kept so far do not assign to their own class. A
tie counts as wrong. The passes end when one of them keeps nothing. The result depends on the order.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from didact.core.typing import Array
from didact.engines.neighbors.condensing_loops import (
    STACK_NODES,
    Forest,
    condense_nearest,
    condense_votes,
    count_wins,
    keep_among,
    keep_one,
)
from didact.engines.neighbors.partitions.boxes import boxes
from didact.engines.neighbors.tuning import CONDENSING_LEAF, CONDENSING_WORK

BY_COLUMN = 32  # rows in a leaf for each column: the more columns, the fewer nodes can be passed over


class Condensed(NamedTuple):
    """Which rows are kept, the number of passes, and the share of all rows that the kept ones classify correctly.

    For that share a kept row does not vote for itself.
    """

    kept: Array
    passes: int
    accuracy: float


def condense(X: Array, codes: Array, start: Array, candidates: Array, k: int = 1) -> Condensed:
    """Condense rows by Euclidean distance: `start` is kept from the outset, `candidates` are visited in their order."""
    X = np.ascontiguousarray(X, np.float64)
    forest, rows = plant(X, codes if k == 1 else np.zeros(len(codes), np.int64))
    place = np.empty(len(codes), np.int64)
    place[rows] = np.arange(len(codes))
    state = (_Nearest if k == 1 else _Votes)(forest, codes[rows], k)
    kept = np.zeros(len(codes), bool)
    for i in place[start]:
        kept[i] = True
        state.keep(i)
    order, passes, added = place[candidates], 0, 1
    budget = max(1, CONDENSING_WORK // max(1, X.size))
    while added:
        passes, added, at = passes + 1, 0, 0
        while at < len(order):
            at, more = state.go_on(order, kept, at, budget)
            added += more
    found = np.zeros(len(codes), bool)
    found[rows] = kept
    return Condensed(found, passes, state.right() / len(codes))


def plant(X: Array, groups: Array) -> tuple[Forest, Array]:
    """A k-d tree for each group 0, 1, … of the rows (none may be empty), and the row numbers in leaf order."""
    members = np.split(np.argsort(groups, kind="stable"), np.cumsum(np.bincount(groups))[:-1])
    leaf = min(CONDENSING_LEAF, BY_COLUMN * X.shape[1])
    trees = [boxes(X[rows], leaf) for rows in members]
    sizes, counts = [len(t.low) for t in trees], [len(t.order) for t in trees]
    # The trees are laid one after the other: numbers of nodes are offset by `roots`, ranges of rows by `begins`.
    roots, begins = np.cumsum([0, *sizes[:-1]]), np.cumsum([0, *counts[:-1]])
    places = [np.arange(size) for size in sizes]
    inner = [i < size // 2 for i, size in zip(places, sizes, strict=True)]
    edges = [t.ranges() for t in trees]
    rows = np.concatenate([m[t.order] for m, t in zip(members, trees, strict=True)])

    def joined(parts: Any, offsets: Array) -> Array:
        return np.concatenate([part + offset for part, offset in zip(parts, offsets, strict=True)])

    forest = Forest(
        columns=np.ascontiguousarray(X[rows].T),
        roots=roots,
        start=joined((e[0] for e in edges), begins),
        stop=joined((e[1] for e in edges), begins),
        child=np.concatenate([np.where(a, r + 2 * i + 1, -1) for a, i, r in zip(inner, places, roots, strict=True)]),
        parent=np.concatenate([np.where(i > 0, r + (i - 1) // 2, -1) for i, r in zip(places, roots, strict=True)]),
        low=np.concatenate([t.low for t in trees]),
        high=np.concatenate([t.high for t in trees]),
    )
    return forest, rows


class _Nearest:
    """State for k = 1: squared distances to the nearest kept row of the own class and of the others."""

    def __init__(self, forest: Forest, codes: Array, k: int):
        self.forest, self.codes = forest, codes
        self.own, self.other = np.full(len(codes), np.inf), np.full(len(codes), np.inf)
        self.far = np.full((2, len(forest.start)), np.inf)
        self.buffers = np.empty(CONDENSING_LEAF), np.empty(STACK_NODES, np.int64)

    def keep(self, i: int) -> None:
        keep_one(self.forest, self.codes[i], i, self.own, self.other, self.far, *self.buffers)

    def go_on(self, order: Array, kept: Array, at: int, budget: int) -> tuple[int, int]:
        state = self.own, self.other, self.far, at, budget, *self.buffers
        return condense_nearest(self.forest, self.codes, order, kept, *state)

    def right(self) -> int:
        return int((self.own < self.other).sum())


class _Votes:
    """State for k > 1: squared distances and classes of the k nearest kept rows."""

    def __init__(self, forest: Forest, codes: Array, k: int):
        self.forest, self.codes = forest, codes
        self.near, self.votes = np.full((len(codes), k), np.inf), np.full((len(codes), k), -1)
        self.far = np.full(len(forest.start), np.inf)
        self.buffers = np.empty(CONDENSING_LEAF), np.empty(STACK_NODES, np.int64)

    def keep(self, i: int) -> None:
        keep_among(self.forest, self.codes, i, self.near, self.votes, self.far, *self.buffers)

    def go_on(self, order: Array, kept: Array, at: int, budget: int) -> tuple[int, int]:
        state = self.near, self.votes, self.far, at, budget, *self.buffers
        return condense_votes(self.forest, self.codes, order, kept, *state)

    def right(self) -> int:
        return int(count_wins(self.codes, self.votes))


def condense_by(column: Callable[[int], Array], codes: Array, start: Array, candidates: Array) -> Condensed:
    """Condense by any distance and k = 1: `column(i)` returns the distances of all rows from row i."""
    n = len(codes)
    own, other, kept = np.full(n, np.inf), np.full(n, np.inf), np.zeros(n, bool)

    def keep(i: int) -> None:
        kept[i] = True
        d, same = column(i), codes == codes[i]
        same[i] = False
        np.minimum(own, d, out=own, where=same)
        np.minimum(other, d, out=other, where=codes != codes[i])

    for i in start:
        keep(i)
    passes, added = 0, 1
    while added:
        passes, added, at = passes + 1, 0, 0
        while at < len(candidates):
            left = candidates[at:]  # skip at once to the next row that is classified wrongly
            wrong = ~kept[left] & ~(own[left] < other[left])
            if not wrong.any():
                break
            at += int(np.argmax(wrong)) + 1
            keep(candidates[at - 1])
            added += 1
    return Condensed(kept, passes, float((own < other).mean()))
