r"""Compiled k-means++: from centre to centre threads stay in compiled code; and hashes of rows.

For each centre two steps are shared, one task for each tile of rows; who finishes the last task of a step goes on
alone:

- `COMPARE`: products of all candidates with the rows of a tile, in float32 and of bounded error, rule out most pairs;
  for those that are left the distance is computed from differences. Rows that a candidate would win are listed with
  their new distances. Then the candidate that lowers the cost most is the centre.
- `WIN`: rows on its lists get their new distances, and weights times distances are added up. Then the next candidates
  are drawn in proportion to these.

Layout, for n rows in the order in which they are drawn, T candidates and tiles of some hundred rows::

    X                       [ row 0 | row 1 | … ] or [ column 0 | … ]   x_ij at i·row_step + j·column_step
    order (n,)              the number in X of each row: places 0, 1, … of all that follows
    right[tile] (wide, tile)   float32, one row of the data in each column:
                            ┌ rows less the origin, in units of the farthest coordinate │ p lines
                            │ ones                                                      │ 1 line
                            └ zeros                                                     │ up to a multiple of 4
    left (T', wide)         candidate t [ x − origin, in these units | −½‖c‖² | 0 … ]   T' is even
    centers (T, p)          the candidates as they are;  half, near, w (n,)  ½‖x‖², squared distance, weight of a row
    won, how (T, n)         candidate t [ rows won in tile 0 | free ][ rows won in tile 1 | free ] …   and how near
                                          ^ edges[0]                   ^ edges[1]        counts[tile, t] of them
    gains (tiles, T), masses (tiles,)   Σ w (d − d'), Σ w d;  places (T,), chosen (K,), uniforms (K, T)  candidates as
                            places in the order, numbers of the centres, random numbers that candidates are drawn by
    hits (tile,), Z (T', tile), spare (2, tile)   of a thread: rows that a candidate may win; products; the largest one
                            of each row, and the least that counts

Memory: 4np bytes for each centre. Arithmetic: npT multiply-adds in float32 for each centre.

Arthur, Vassilvitskii (2007), k-means++: the advantages of careful seeding, SODA.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import REASSOCIATE, jit_unmanaged, prefetch, record_type
from didact.core.jit.atomics import (
    atomic_add,
    claim_task,
    is_last,
    is_over,
    is_task,
    post,
    take_task,
    wait_for_step,
)
from didact.core.typing import Array
from didact.engines.centroids.lloyd_loops import gap
from didact.engines.centroids.tuning import SEED_TILE
from didact.kernels.gaussian_loops import two_rows

HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)
NEAR_ROWS = 128  # of a tile, which are in the first cache while all candidates are multiplied by them
EXACT_AHEAD = 4  # rows that are compared exactly, asked for before they are needed: they lie anywhere
COMPARE, WIN, DRAW = range(3)  # steps; for the last one Python may have drawn the candidates
SEEDING = record_type(
    [(name, np.int64) for name in ("phase", "number", "candidates", "best", "centres")]
    + [(name, np.float64) for name in ("unit", "scale", "largest")]
)  # what is going on: centres so far, candidates, the best of them, centres until Python looks; error, unit, max ‖c‖²


class Seeding(NamedTuple):
    """Rows, candidates and centres of k-means++."""

    X: Array
    order: Array
    right: Array
    flat: Array  # `right` in one line
    half: Array
    near: Array
    w: Array
    origin: Array
    left: Array
    centers: Array
    won: Array
    how: Array
    counts: Array
    gains: Array
    masses: Array
    places: Array
    chosen: Array
    uniforms: Array


@jit_unmanaged
def hash_pass(
    turn: Array, edges: Array, X: Array, row_step: int, column_step: int, odd: Array, found: Array
) -> None:  # fmt: skip
    """Take pieces of the rows until there are no more: a number of each that follows from the bits of its values."""
    for _ in range(turn[1]):
        piece = atomic_add(turn, 0, 1)
        if piece + 1 >= edges.shape[0]:
            return
        for i in range(edges[piece], edges[piece + 1]):
            total, first = np.uint64(0), np.uint64(i * row_step)
            for j in range(odd.shape[0]):
                value = np.float64(X[first + np.uint64(j * column_step)]) + 0.0  # −0 becomes 0
                total += mixed1(np.float64(value).view(np.uint64)) * odd[j]
            found[i] = mixed1(total)


@jit_unmanaged
def mixed1(bits: Any) -> Any:
    """Bits every one of which follows from all of those given; 0 stays 0."""
    bits = (bits ^ (bits >> np.uint64(31))) * HASH_FACTOR
    return bits ^ (bits >> np.uint64(29))


@jit_unmanaged
def seed_off(
    board: Array, claims: Array, own: int, now: Array, edges: Array, row_step: int, column_step: int, s: Seeding,
    products: Any, Z: Array, spare: Array, hits: Array,
) -> None:  # fmt: skip
    """Tasks of this phase and of those that follow, until Python is wanted; in every step from tile `own` on."""
    tiles, at = edges.shape[0] - 1, own
    while True:
        ticket = take_task(board)
        if is_over(board, ticket):
            return
        if not is_task(ticket):
            wait_for_step(board, ticket)
            at = own
            continue
        tile = 0
        if now[0].phase != DRAW:
            tile = claim_task(claims, tiles, at)
            at = tile + 1 if tile + 1 < tiles else 0
        if now[0].phase == COMPARE:
            _gain(tile, edges[tile], edges[tile + 1], row_step, column_step, now[0], s, products, Z, spare, hits)
        elif now[0].phase == WIN:
            _win(tile, edges[tile], edges[tile + 1], now[0].best, s)
        if is_last(board, ticket):
            more, at = _next(now, edges, row_step, column_step, s), own
            for k in range(tiles):
                claims[k] = 0
            post(board, tiles if more else 0)


@jit_unmanaged(fastmath=REASSOCIATE)
def _four_rows(left: Array, t: int, flat: Array, tile: int, begin: int, end: int, Z: Array) -> None:
    """Products of four candidates with some rows of a tile; steps between lines are constants, which a compiler needs
    to see that lines do not overlap."""
    size, out, wide, n = np.uint64(SEED_TILE), Z.reshape(-1), left.shape[1], end - begin
    z, r = np.uint64(t) * size + np.uint64(begin), np.uint64(tile * wide) * size + np.uint64(begin)
    for i in range(n):
        m = z + np.uint64(i)
        out[m], out[m + size], out[m + size + size], out[m + size + size + size] = 0, 0, 0, 0
    for c in range(0, wide, 4):
        a0, a1, a2, a3 = left[t, c], left[t, c + 1], left[t, c + 2], left[t, c + 3]
        b0, b1, b2, b3 = left[t + 1, c], left[t + 1, c + 1], left[t + 1, c + 2], left[t + 1, c + 3]
        c0, c1, c2, c3 = left[t + 2, c], left[t + 2, c + 1], left[t + 2, c + 2], left[t + 2, c + 3]
        d0, d1, d2, d3 = left[t + 3, c], left[t + 3, c + 1], left[t + 3, c + 2], left[t + 3, c + 3]
        for i in range(n):
            j = np.uint64(i)
            k, m = r + j, z + j
            x0, x1, x2, x3 = flat[k], flat[k + size], flat[k + size + size], flat[k + size + size + size]
            out[m] += (a0 * x0 + a1 * x1) + (a2 * x2 + a3 * x3)
            out[m + size] += (b0 * x0 + b1 * x1) + (b2 * x2 + b3 * x3)
            out[m + size + size] += (c0 * x0 + c1 * x1) + (c2 * x2 + c3 * x3)
            out[m + size + size + size] += (d0 * x0 + d1 * x1) + (d2 * x2 + d3 * x3)
        r += size + size + size + size


@jit_unmanaged(inline="always")  # of one caller
def _gain(
    tile: int, begin: int, end: int, row_step: int, column_step: int, state: Any, s: Seeding, products: Any, Z: Array,
    spare: Array, hits: Array,
) -> None:  # fmt: skip
    """Gains, and lists of the rows that candidates would win, of one tile."""
    n, count, most, least = end - begin, state.candidates, spare[0], spare[1]
    inverse = 0.5 / (state.scale * state.scale)
    for r in range(n):
        i = np.uint64(begin) + np.uint64(r)
        half = s.half[i]
        least[r] = half - inverse * s.near[i] - 2.0 * state.unit * (2.0 * half + state.largest)
        most[r] = -np.inf
    for some in range(0, n, NEAR_ROWS):
        last = min(some + NEAR_ROWS, n)
        for t in range(0, count, 4):
            if count - t > 2:
                _four_rows(s.left, t, s.flat, tile, some, last, Z)
            else:
                two_rows(s.left, t, t + 1, s.right[tile], some, last, products, Z[t : t + 2, some:last])
    for t in range(count):
        for r in range(n):
            top, value = most[r], Z[t, r]
            most[r] = value if value > top else top
    for t in range(count):
        s.counts[tile, t], s.gains[tile, t] = 0, 0.0
    open_rows = 0
    for r in range(n):
        hits[open_rows] = r
        open_rows += most[r] > least[r]
    for k in range(open_rows):
        r = hits[k]
        i, before = begin + r, s.near[begin + r]
        if k + EXACT_AHEAD < open_rows:
            later = s.order[begin + hits[k + EXACT_AHEAD]] * row_step
            for j in range(0, s.origin.shape[0], 8):
                prefetch(s.X, np.uint64(0), np.uint64(later + j * column_step))
        for t in range(count):
            if Z[t, r] > least[r]:
                exact = gap(s.X, s.order[i] * row_step, column_step, s.centers, t)
                if exact < before:
                    place = begin + s.counts[tile, t]
                    s.won[t, place], s.how[t, place] = i, exact
                    s.counts[tile, t] += 1
                    if before < np.inf:
                        s.gains[tile, t] += s.w[i] * (before - exact)


@jit_unmanaged(inline="always")  # of one caller
def _win(tile: int, begin: int, end: int, best: int, s: Seeding) -> None:
    """Give the rows on the lists of a candidate to it, and add up weights times distances."""
    for k in range(begin, begin + s.counts[tile, best]):
        s.near[s.won[best, k]] = s.how[best, k]
    total = 0.0
    for i in range(begin, end):
        total += s.w[i] * s.near[i]
    s.masses[tile] = total


@jit_unmanaged(inline="always")  # of one caller
def _next(now: Array, edges: Array, row_step: int, column_step: int, s: Seeding) -> bool:
    """The best candidate after their gains; after its rows are won, the next candidates; whether threads go on.

    Candidates that Python has drawn are written down.
    """
    state, tiles = now[0], edges.shape[0] - 1
    if state.phase == COMPARE:
        state.best, top = 0, -np.inf
        for t in range(state.candidates):
            total = 0.0
            for k in range(tiles):
                total += s.gains[k, t]
            if total > top:
                state.best, top = t, total
        s.chosen[state.number] = s.order[s.places[state.best]]
        state.number += 1
        state.phase = WIN
        return True
    if state.phase == WIN:
        state.phase = DRAW
        state.centres -= 1
        total = 0.0
        for k in range(tiles):
            total += s.masses[k]
        if state.number == s.chosen.shape[0] or not total > 0.0:  # all rows are at centres
            return False
        for t in range(s.places.shape[0]):
            s.places[t] = _drawn(s.uniforms[state.number, t] * total, edges, s)
        state.candidates = s.places.shape[0]
    _set_candidates(now, row_step, column_step, s)
    return state.centres > 0


@jit_unmanaged(inline="always")  # of one caller
def _drawn(target: float, edges: Array, s: Seeding) -> int:
    """The first place up to which weights times distances sum to more than the target; else the last with any."""
    tile, place, upto = 0, 0, 0.0
    for k in range(edges.shape[0] - 1):
        if s.masses[k] > 0.0:
            tile = k
            if upto + s.masses[k] > target:
                break
            upto += s.masses[k]
    place = edges[tile]
    for i in range(edges[tile], edges[tile + 1]):
        mass = s.w[i] * s.near[i]
        if mass > 0.0:
            place = i
            upto += mass
            if upto > target:
                break
    return place


@jit_unmanaged(inline="always")  # of one caller
def _set_candidates(now: Array, row_step: int, column_step: int, s: Seeding) -> None:
    """Write the candidates at the first places, as they are and as products need them; their gains come next."""
    state, p = now[0], s.origin.shape[0]
    state.phase, state.largest = COMPARE, 0.0
    for t in range(state.candidates):
        first, total = s.order[s.places[t]] * row_step, 0.0
        for j in range(p):
            x = np.float64(s.X[first + j * column_step])
            s.centers[t, j] = x
            s.left[t, j] = (x - s.origin[j]) / state.scale
            total += np.float64(s.left[t, j]) * np.float64(s.left[t, j])
        s.left[t, p] = -0.5 * total
        state.largest = max(state.largest, total)


def warm() -> None:
    """Compile for both float types."""
    from didact.engines.centroids.starts import hashes, plus_plus

    for dtype in (np.float64, np.float32):
        X = np.arange(3.0, dtype=dtype)[:, None]
        plus_plus(X, None, 2, np.random.default_rng(0))
        hashes(X)
