r"""Compiled pass of k-means: rows whose nearest centre can have changed are looked at, and the sums of clusters follow.

A row keeps an upper bound u of the distance from its own centre and, for each group of centres, a lower bound of the
distances from the others. When centres move, the bounds move with them: they are stored less (or plus) the ways of all
steps so far, so that a row that stays where it is costs one comparison and no write. A row stays for certain if u is at
most the lowest bound, or half the way from its centre to the nearest other one. Else its distance from its own centre
is computed, and then those from the groups whose bounds are below it.

Distances from a group come from products, :math:`x\cdot c - \tfrac12\|c\|^2`, of which the error is at most e; whatever
is within that of the best is computed again from differences, so that a row goes to the nearest centre in float64, of
equal ones to the first. Sums are kept in two numbers (Dekker, Knuth), so that carrying them along is as good as adding
all rows anew.

Layout, for n rows, G groups of `width` centres each (filled up to a multiple of 4), tiles of some dozens of rows::

    X                       [ row 0 | row 1 | … ] or [ column 0 | … ]   x_ij at i·row_step + j·column_step
    centers, names          [ group 0 | group 1 | … ], each [ place 0 | … | place width − 1 ]   (G·width, p) centres and
                            (G·width,) their numbers, −1 at places that none has
    table (G·(p + 1), width)   a tall block for each group, a column for each of its places:
        group g             ┌ centres less the origin │ lines g·(p + 1) …, one for each column of X
                            └ −½‖c‖²                  │ line g·(p + 1) + p
    ways, group_ways, most_way   how far centres have moved in all: each place, the farthest of a group, of all
    places, squares (n,)    the place of each row's centre, −1: not known yet; the squared distance, where asked for
    upper, lowest (n,), lower (n, G)   bounds: u − way, min l + most_way, l + group_way
    A (tile, p + 1), Z (width, tile)   of a thread: rows [ x − origin | 1 ], filled up; their scores, row t in column t
    pending (G + 1, span + 1)   of a thread, for some hundred rows:
        list g              [ rows to be compared with group g | free | how many ]   the last list: with any group
    sums[piece] (2, G·width, p + 1)   [ Σ w (x − origin) | Σ w ] of each place: changes, and what rounding took of them

Memory: 20 bytes of a row that stays; X once for those that do not. Arithmetic: npK multiply-adds for the latter.

Ding, Zhao, Shen, Musuvathi, Mytkowicz (2015), Yinyang k-means, ICML; Hamerly (2010), doi:10.1137/1.9781611972801.12.
"""

import math
from typing import NamedTuple

import numpy as np

from didact.core.jit import REASSOCIATE, jit_unmanaged
from didact.core.jit.atomics import atomic_add
from didact.core.jit.simd import LANES
from didact.core.typing import Array
from didact.engines.linear.softmax_loops import set_all_scores

UNKNOWN = -1


class Centres(NamedTuple):
    """Centres in their places, and what follows from them."""

    centers: Array
    names: Array
    origin: Array
    table: Array
    half_gaps: Array  # (G·width,) half the way to the nearest other centre
    unit: float  # the error of a product is at most unit (‖x‖² + largest)
    largest: float  # ‖c − origin‖² of the farthest centre


class Ways(NamedTuple):
    """How far centres have moved since the bounds began."""

    ways: Array
    group_ways: Array
    most_way: float
    slack: float  # what rounding can have added to the bounds


class RowBounds(NamedTuple):
    """The place of each row's centre, and bounds; what is not asked for is empty."""

    places: Array
    squares: Array  # squared distances from the nearest centres
    upper: Array
    lowest: Array
    lower: Array


class Room(NamedTuple):
    """What a thread needs for a tile."""

    A: Array
    Z: Array
    pending: Array  # (G + 1, span + 1), the last number of a group is the length of its list
    found: Array  # (2, span): squared distance from the nearest centre so far, and its place
    spare: Array  # (5, tile): squared lengths, bounds from the best and the second score, the best score, errors


@jit_unmanaged
def lloyd_pass(
    turn: Array, edges: Array, X: Array, row_step: int, column_step: int, w: Array, C: Centres, D: Ways, B: RowBounds,
    room: Room, sums: Array, changes: Array,
) -> None:  # fmt: skip
    """Take pieces of the rows until there are no more: set places and bounds, and add what changes in the sums."""
    for _ in range(turn[1]):
        piece = atomic_add(turn, 0, 1)
        if piece + 1 >= edges.shape[0]:
            return
        span, changes[piece] = room.found.shape[1], 0
        flat = sums[piece].reshape(-1)
        for j in range(flat.shape[0]):
            flat[j] = 0.0
        for start in range(edges[piece], edges[piece + 1], span):
            rows = min(span, edges[piece + 1] - start)
            compared = _look(start, rows, X, row_step, column_step, C, D, B, room)
            if compared > 0:
                for g in range(room.pending.shape[0] - 1):
                    for first in range(0, room.pending[g, span], room.spare.shape[1]):
                        _group(start, g, first, X, row_step, column_step, C, D, B, room)
                changes[piece] += _finish(start, compared, X, row_step, column_step, w, C, D, B, room, sums[piece])


@jit_unmanaged
def add_changes(sums: Array, changes: Array, total: Array) -> int:
    """Add the sums of the pieces that have changed, in their order, to the sums of all rows; how many rows have."""
    changed = 0
    for piece in range(changes.shape[0]):
        changed += changes[piece]
        if changes[piece] > 0:
            for k in range(total.shape[1]):
                for j in range(total.shape[2]):
                    value, before = sums[piece, 0, k, j], total[0, k, j]
                    after = before + value
                    part = after - before
                    total[1, k, j] += (before - (after - part)) + (value - part) + sums[piece, 1, k, j]
                    total[0, k, j] = after
    return changed


@jit_unmanaged
def _restless(start: int, rows: int, C: Centres, D: Ways, B: RowBounds, doubtful: Array) -> np.int64:
    """List the rows of a tile whose single bound does not keep them where they are, without branches; how many."""
    if B.upper.shape[0] == 0 or B.places[start] == UNKNOWN:  # nothing is known of any row
        for r in range(rows):
            doubtful[r] = r
        return np.int64(rows)
    found, begin, grown = np.uint64(0), np.uint64(start), 1.0 + C.unit
    for r in range(np.uint64(rows)):
        i = begin + r
        a = np.uint64(B.places[i])
        stays = grown * (B.upper[i] + D.ways[a]) + D.slack <= max(B.lowest[i] - D.most_way, C.half_gaps[a])
        doubtful[found] = r
        found += np.uint64(not stays)
    return np.int64(found)


@jit_unmanaged
def _look(
    start: int, rows: int, X: Array, row_step: int, column_step: int, C: Centres, D: Ways, B: RowBounds, room: Room
) -> int:  # fmt: skip
    """How many rows of a tile have to be compared with centres; they are put on the lists of those groups, and on the
    last one."""
    groups, span, near, places = room.pending.shape[0] - 1, room.found.shape[1], room.found[0], room.found[1]
    doubtful, found, bounded = room.pending[groups], 0, B.upper.shape[0] > 0
    for g in range(groups):
        room.pending[g, span] = 0
    for at in range(_restless(start, rows, C, D, B, doubtful)):
        r = doubtful[at]
        i = start + r
        a, limit = B.places[i], np.inf
        near[r], places[r] = np.inf, a
        if bounded and a >= 0:
            u, half, low = B.upper[i] + D.ways[a], C.half_gaps[a], np.inf
            u += C.unit * u + D.slack
            for g in range(groups):
                low = min(low, B.lower[i, g] - D.group_ways[g])
            B.lowest[i] = low + D.most_way
            if u > max(low, half):
                near[r] = gap(X, i * row_step, column_step, C.centers, a)
                u = math.sqrt(near[r])
                B.upper[i] = u - D.ways[a]
                u += C.unit * u + D.slack
            if u <= max(low, half):
                continue
            limit = u
        doubtful[found] = r
        found += 1
        for g in range(groups):
            if not limit < np.inf or B.lower[i, g] - D.group_ways[g] < limit:
                room.pending[g, room.pending[g, span]] = r
                room.pending[g, span] += 1
    return found


@jit_unmanaged(fastmath=REASSOCIATE)
def gap(X: Array, first: int, column_step: int, centers: Array, k: int) -> float:
    """The squared distance of the row that begins at `first` from a centre, from differences."""
    total, begin = 0.0, np.uint64(first)
    if column_step == 1:
        for j in range(centers.shape[1]):
            step = np.float64(X[begin + np.uint64(j)]) - centers[k, j]
            total += step * step
    else:
        for j in range(centers.shape[1]):
            step = np.float64(X[begin + np.uint64(j * column_step)]) - centers[k, j]
            total += step * step
    return total


@jit_unmanaged(fastmath=REASSOCIATE)
def gather_rows(
    X: Array, first: int, row_step: int, column_step: int, rows: Array, count: int, origin: Array, A: Array,
    squares: Array,
) -> None:  # fmt: skip
    """Write some rows less the origin, and a 1 behind each, to A; their squared lengths to `squares`."""
    p = origin.shape[0]
    for t in range(count):
        begin, total = np.uint64(first + rows[t] * row_step), 0.0
        if column_step == 1:
            for j in range(p):
                x = X[begin + np.uint64(j)] - origin[j]
                A[t, j] = x
                total += x * x
        else:
            for j in range(p):
                x = X[begin + np.uint64(j * column_step)] - origin[j]
                A[t, j] = x
                total += x * x
        A[t, p] = 1.0
        squares[t] = total


@jit_unmanaged
def _two_best(
    Z: Array, count: int, unit: float, largest: float, squares: Array, best: Array, second: Array, tops: Array,
    errors: Array,
) -> None:  # fmt: skip
    """Lower bounds of the two least squared distances of each column, from its two largest scores, without branches.

    Errors are kept where the two scores cannot be told apart, `tops` are the largest."""
    for t in range(count):
        best[t], second[t] = Z[0, t], -np.inf
    for c in range(1, Z.shape[0]):
        for t in range(count):
            value, top, low = Z[c, t], best[t], second[t]
            lesser = value if value < top else top
            second[t] = lesser if lesser > low else low
            best[t] = value if value > top else top
    for t in range(count):
        error = 2.0 * unit * (squares[t] + largest)
        errors[t] = error if second[t] >= best[t] - error else 0.0
        low, next_low = squares[t] - 2.0 * (best[t] + error), squares[t] - 2.0 * (second[t] + error)
        tops[t] = best[t]
        best[t] = low if not low < 0.0 else 0.0
        second[t] = next_low if not next_low < 0.0 else 0.0


@jit_unmanaged
def _group(
    start: int, g: int, first: int, X: Array, row_step: int, column_step: int, C: Centres, D: Ways, B: RowBounds,
    room: Room,
) -> None:  # fmt: skip
    """Compare a tile of the rows on a group's list with its centres: the nearest so far, and the lower bounds."""
    width, span, p, bounded = C.table.shape[1], room.found.shape[1], C.origin.shape[0], B.lower.shape[0] > 0
    count = min(room.pending[g, span] - first, room.spare.shape[1])
    rows = room.pending[g, first : first + count]
    near, places, squares, best = room.found[0], room.found[1], room.spare[0], room.spare[1]
    second, tops, errors = room.spare[2], room.spare[3], room.spare[4]
    gather_rows(X, start * row_step, row_step, column_step, rows, count, C.origin, room.A, squares)
    table = C.table[g * (p + 1) : (g + 1) * (p + 1)]
    for t in range(0, count, LANES):
        set_all_scores(room.A, t, table, room.Z)
    _two_best(room.Z, count, C.unit, C.largest, squares, best, second, tops, errors)
    for t in range(count):
        r = rows[t]
        i, least = start + r, best[t]
        if least <= near[r]:
            k, now, place, others = 0, near[r], np.int64(places[r]), second[t]
            while k + 1 < width and room.Z[k, t] != tops[t]:
                k += 1
            k += g * width
            if errors[t] > 0.0:  # the two best are too close for their products to tell
                square, k = _nearest(X, i * row_step, column_step, C, g * width, room.Z, t, tops[t] - errors[t])
                others = least
            elif k == place and now < np.inf:
                square = now
            else:
                square = gap(X, i * row_step, column_step, C.centers, k)
            least = square
            if k == place:
                near[r], least = square, others
            elif square < now or (square == now and (place < 0 or C.names[k] < C.names[place])):
                if place >= 0 and bounded:
                    other = place // width
                    B.lower[i, other] = min(B.lower[i, other], math.sqrt(now) * (1.0 - C.unit) + D.group_ways[other])
                near[r], places[r], least = square, k, others
        if bounded:
            B.lower[i, g] = math.sqrt(least) * (1.0 - C.unit) + D.group_ways[g]


@jit_unmanaged
def _nearest(
    X: Array, first: int, column_step: int, C: Centres, begin: int, Z: Array, t: int, limit: float
) -> tuple[float, int]:  # fmt: skip
    """The nearest of a group's centres with a score of at least the limit, by differences; of ties the first."""
    least, place = np.inf, begin
    for c in range(Z.shape[0]):
        if Z[c, t] >= limit and C.names[begin + c] >= 0:
            square = gap(X, first, column_step, C.centers, begin + c)
            if square < least or (square == least and C.names[begin + c] < C.names[place]):
                least, place = square, begin + c
    return least, place


@jit_unmanaged
def _finish(
    start: int, compared: int, X: Array, row_step: int, column_step: int, w: Array, C: Centres, D: Ways, B: RowBounds,
    room: Room, sums: Array,
) -> int:  # fmt: skip
    """Store places and bounds of the rows that were compared; how many have changed."""
    changed, rows = 0, room.pending[room.pending.shape[0] - 1]
    for at in range(compared):
        r = rows[at]
        i = start + r
        place = max(int(room.found[1, r]), 0)  # a row that is no number has no nearest centre: its sums will say so
        if B.upper.shape[0] > 0:
            B.upper[i] = math.sqrt(room.found[0, r]) - D.ways[place]
            low = np.inf
            for g in range(B.lower.shape[1]):
                low = min(low, B.lower[i, g] - D.group_ways[g])
            B.lowest[i] = low + D.most_way
        if B.squares.shape[0] > 0:
            B.squares[i] = room.found[0, r]
        before = B.places[i]
        if before != place:
            weight = w[i] if w.shape[0] > 0 else 1.0
            add_member(X, i * row_step, column_step, C.origin, weight, sums, place)
            if before >= 0:
                add_member(X, i * row_step, column_step, C.origin, -weight, sums, before)
            B.places[i] = place
            changed += 1
    return changed


@jit_unmanaged
def add_member(X: Array, first: int, column_step: int, origin: Array, weight: float, sums: Array, k: int) -> None:
    """Add weight·(x − origin) and the weight to a cluster's sums; sums[1] gathers what rounding takes from sums[0]."""
    p, begin = origin.shape[0], np.uint64(first)
    for j in range(p):
        value = weight * (X[begin + np.uint64(j * column_step)] - origin[j])
        before = sums[0, k, j]
        after = before + value
        part = after - before
        sums[1, k, j] += (before - (after - part)) + (value - part)
        sums[0, k, j] = after
    before = sums[0, k, p]
    after = before + weight
    part = after - before
    sums[1, k, p] += (before - (after - part)) + (weight - part)
    sums[0, k, p] = after


def warm() -> None:
    """Compile for both float types."""
    from didact.engines.centroids.passes import Pass

    for dtype in (np.float64, np.float32):
        Pass(np.ones((1, 1), dtype), None, np.zeros(1)).clusters(np.zeros((1, 1)))
