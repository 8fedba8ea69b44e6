"""Passes of k-means over dense rows in memory: centres in groups, bounds that are carried along, sums that change."""

from typing import Any

import numpy as np

from didact.core.threads import share_pieces
from didact.core.typing import Array
from didact.engines.centroids.lloyd_loops import UNKNOWN, Centres, Room, RowBounds, Ways, add_changes, lloyd_pass
from didact.engines.centroids.tuning import (
    GROUP_CENTRES,
    MOST_GROUPS,
    MOST_LLOYD_PIECES,
    MOST_SPAN,
    ONE_GROUP,
    PIECE_ROWS,
    SCORED_NUMBERS,
    SPAN_NUMBERS,
)
from didact.engines.linear.pass_loops import TILE, flat_view, number_column, whole_vectors
from didact.parts.statistics.moment_loops import NEAR, aligned_zeros

NOWHERE = -1e300  # score of a place without a centre
NO_VALUES, NO_BOUNDS = np.zeros(0), np.zeros((0, 0))


class Pass:
    """Passes over rows X (n, p) with weights w; `bounded` ones keep what the next pass can spare from.

    `places` and `labels` say where rows are after a pass, `squares` their squared distances if there are no bounds.
    """

    def __init__(self, X: Array, w: Any, origin: Array, bounded: bool = False) -> None:
        self.X, self.shape, self.w = flat_view(X), X.shape, number_column(w)
        self.origin, self.bounded = np.ascontiguousarray(origin, np.float64), bounded
        self.before: Array | None = None

    def clusters(self, centers: Array) -> tuple[Array, Array]:
        """Σ w (x − origin) (K, p) and Σ w (K,) of the rows nearest to each centre."""
        p = self.shape[1]
        if self.before is None or not self.bounded:
            self._begin(centers)
        C, D = self._centres(centers), self._ways(centers)
        sums, changes = self.changes
        tile = min(max(min(SCORED_NUMBERS // (2 * (p + 1)), NEAR // self.width) // 4 * 4, 16), TILE)
        span = max(tile, min(SPAN_NUMBERS // max(p, 1), MOST_SPAN))

        def loop(turn: Array) -> None:
            room = Room(
                A=aligned_zeros(tile, whole_vectors(p + 1)),
                Z=aligned_zeros(self.width, tile),
                pending=np.zeros((self.groups + 1, span + 1), np.int64),
                found=aligned_zeros(2, span),
                spare=aligned_zeros(5, tile),
            )
            lloyd_pass(turn, self.edges, *self.X, self.w, C, D, self.bounds, room, sums, changes)

        share_pieces(len(sums), loop)
        self.before, self.changed = centers.copy(), add_changes(sums, changes, self.sums)
        found = np.empty((len(centers), p + 1))
        found[self.centres_there] = self.sums.sum(axis=0)[self.there]
        return found[:, :p], found[:, p]

    @property
    def labels(self) -> Array:
        """The number of each row's centre, int32."""
        found: Array = self.names[self.bounds.places]
        return found

    @property
    def squares(self) -> Array:
        """The squared distance of each row from its centre."""
        return self.bounds.squares

    def _begin(self, centers: Array) -> None:
        """Put centres in their places; nothing is known of the rows."""
        (n, p), K = self.shape, len(centers)
        self.groups = 1 if K <= ONE_GROUP or not self.bounded else min(-(-K // GROUP_CENTRES), MOST_GROUPS)
        self.width = whole_vectors(-(-K // self.groups))
        self.names = np.full(self.groups * self.width, -1, np.int32)
        for g, group in enumerate(neighbourhoods(centers, self.groups)):
            self.names[g * self.width : g * self.width + len(group)] = group
        self.there = np.flatnonzero(self.names >= 0)
        self.centres_there = self.names[self.there]
        pieces = int(np.clip(n // max(PIECE_ROWS, 8 * K), 1, MOST_LLOYD_PIECES))
        self.edges = np.linspace(0, n, pieces + 1).astype(np.int64)
        kept = (
            (np.empty(n), np.empty(n), np.empty((n, self.groups)))
            if self.bounded
            else (NO_VALUES, NO_VALUES, NO_BOUNDS)
        )
        self.bounds = RowBounds(np.full(n, UNKNOWN, np.int32), NO_VALUES if self.bounded else np.empty(n), *kept)
        self.sums = np.zeros((2, len(self.names), p + 1))  # and what rounding took from them
        self.changes = np.empty((pieces, *self.sums.shape)), np.empty(pieces, np.int64)
        self.ways, self.group_ways = np.zeros(len(self.names)), np.zeros(self.groups)
        self.most, self.steps = 0.0, 0

    def _centres(self, centers: Array) -> Centres:
        n, p = self.shape
        there, here = self.there, self.centres_there
        placed = np.zeros((len(self.names), p))
        placed[there] = centers[here]
        near = placed - self.origin
        squares = np.einsum("ij,ij->i", near, near)[there]
        scores, half = np.full(len(self.names), NOWHERE), np.full(len(self.names), -1.0)
        scores[there] = -0.5 * squares
        table = aligned_zeros(self.groups * (p + 1), self.width).reshape(self.groups, p + 1, self.width)
        table[:, :p] = near.reshape(self.groups, self.width, p).transpose(0, 2, 1)
        table[:, p] = scores.reshape(self.groups, self.width)
        if self.bounded and len(centers) ** 2 <= n:
            half[there] = half_gaps(centers)[here]
        return Centres(
            centers=placed,
            names=self.names,
            origin=self.origin,
            table=table.reshape(-1, self.width),
            half_gaps=half,
            unit=1.1 * (p + 8) * 2.0**-53,
            largest=float(squares.max()),
        )

    def _ways(self, centers: Array) -> Ways:
        """Add the step from the centres of the last pass to the ways; bounds stay valid, a little too wide."""
        if self.bounded and self.before is not None:
            step = np.append(np.sqrt(((centers - self.before) ** 2).sum(axis=1)) * (1.0 + 1e-12), 0.0)
            moved = step[self.names]  # the last one, 0, where there is no centre
            self.ways += moved
            self.group_ways += moved.reshape(self.groups, self.width).max(axis=1)
            self.most, self.steps = self.most + float(moved.max()), self.steps + 1
        size = float(np.abs(centers - self.origin).max(initial=0.0)) + self.most
        return Ways(self.ways, self.group_ways, self.most, 1e-14 * (4 + self.steps) * size)


def half_gaps(centers: Array) -> Array:
    """Half the distance of each centre from the nearest other one, rounded down."""
    near = centers - centers.mean(axis=0)
    squares = np.einsum("ij,ij->i", near, near)
    found = squares[:, None] + squares - 2.0 * (near @ near.T)
    found -= 1e-13 * (squares[:, None] + squares) * (1 + centers.shape[1] / 100)
    np.fill_diagonal(found, np.inf)
    nearest = np.sqrt(np.maximum(found.min(axis=1), 0.0)) if len(centers) > 1 else np.full(len(centers), np.inf)
    return np.asarray(0.5 * nearest)


def neighbourhoods(centers: Array, groups: int) -> list[Array]:
    """The numbers of the centres in groups of about equal size, halved again and again along their longest axis."""
    parts = [(np.arange(len(centers), dtype=np.int32), groups)]
    done: list[Array] = []
    while parts:
        members, count = parts.pop()
        if count == 1:
            done.append(np.sort(members))
            continue
        near = centers[members] - centers[members].mean(axis=0)
        axis = np.linalg.svd(near, full_matrices=False)[2][0]
        order, left = members[np.argsort(near @ axis, kind="stable")], count // 2
        cut = len(members) * left // count
        parts += [(order[cut:], count - left), (order[:cut], left)]
    return done
