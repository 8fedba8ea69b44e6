"""Hart's condensing: rows are kept until the kept ones classify all the others as they are labelled.

Passes over the rows in a given order; a row that the rows kept so far do not give its own class is kept, too. A tie
counts as wrong. The passes end when one of them adds nothing. The result depends on the order.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from didact.engines.neighbors.condensing_loops import (
    STRIP,
    condense_nearest,
    condense_votes,
    count_wins,
    keep_among,
    keep_one,
)

Array = np.ndarray[Any, Any]
WORK = 1 << 28  # multiply-adds of one call of a loop: below 0.2 s, so that it can be interrupted


class Condensed(NamedTuple):
    """Which rows are kept, the passes it took, and the share of all rows that the kept ones classify rightly.

    In that share a kept row does not vote for itself.
    """

    kept: Array
    passes: int
    accuracy: float


def condense(X: Array, codes: Array, start: Array, candidates: Array, k: int = 1) -> Condensed:
    """Condense rows by Euclidean distance: `start` are kept from the outset, `candidates` visited in their order."""
    by_class = np.argsort(codes, kind="stable")
    place = np.empty(len(codes), np.int64)
    place[by_class] = np.arange(len(codes))
    columns = np.ascontiguousarray(np.asarray(X, np.float64)[by_class].T)
    state = (_Nearest if k == 1 else _Votes)(columns, codes[by_class], k)
    kept = np.zeros(len(codes), bool)
    for i in place[start]:
        kept[i] = True
        state.keep(i)
    order, passes, added = place[candidates], 0, 1
    budget = max(1, WORK // max(1, columns.size))
    while added:
        passes, added, at = passes + 1, 0, 0
        while at < len(order):
            at, more = state.go_on(order, kept, at, budget)
            added += more
    found = np.zeros(len(codes), bool)
    found[by_class] = kept
    return Condensed(found, passes, state.right() / len(codes))


class _Nearest:
    """Distances from the nearest kept row of the own class, and of any other."""

    def __init__(self, columns: Array, codes: Array, k: int):
        self.columns, self.codes = columns, codes
        self.edges = np.concatenate([[0], np.cumsum(np.bincount(codes))])
        self.own, self.other = np.full(len(codes), np.inf), np.full(len(codes), np.inf)
        self.strip = np.empty(STRIP)

    def keep(self, i: int) -> None:
        first, last = self.edges[self.codes[i]], self.edges[self.codes[i] + 1]
        keep_one(self.columns, first, last, i, self.own, self.other, self.strip)

    def go_on(self, order: Array, kept: Array, at: int, budget: int) -> tuple[int, int]:
        state = self.own, self.other, at, budget, self.strip
        return condense_nearest(self.columns, self.codes, self.edges, order, kept, *state)

    def right(self) -> int:
        return int((self.own < self.other).sum())


class _Votes:
    """The k nearest kept rows: their distances and classes."""

    def __init__(self, columns: Array, codes: Array, k: int):
        self.columns, self.codes = columns, codes
        self.near, self.votes = np.full((len(codes), k), np.inf), np.full((len(codes), k), -1)
        self.strip = np.empty(STRIP)

    def keep(self, i: int) -> None:
        keep_among(self.columns, self.codes, i, self.near, self.votes, self.strip)

    def go_on(self, order: Array, kept: Array, at: int, budget: int) -> tuple[int, int]:
        state = self.near, self.votes, at, budget, self.strip
        return condense_votes(self.columns, self.codes, order, kept, *state)

    def right(self) -> int:
        return int(count_wins(self.codes, self.votes))


def condense_by(column: Callable[[int], Array], codes: Array, start: Array, candidates: Array) -> Condensed:
    """Condense by any distance: `column(i)` are the distances of all rows from row i. The nearest kept row decides."""
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
            left = candidates[at:]
            wrong = ~kept[left] & ~(own[left] < other[left])
            if not wrong.any():
                break
            at += int(np.argmax(wrong)) + 1
            keep(candidates[at - 1])
            added += 1
    return Condensed(kept, passes, float((own < other).mean()))
