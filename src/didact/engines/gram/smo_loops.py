r"""Sequential minimal optimisation on working sets, with threads that stay in compiled code from set to set.

One set after the other, in four steps. `FILL` and `ADD_ROWS` are tasks for all threads, one for each tile of columns of
the Gram matrix; who finishes the last task of a step goes on alone (`advance`) until the next that is shared:

- `CHOOSE` (alone): f of all variables, the violation, the set, places for its rows among those that are kept;
- `FILL` (shared): rows of the Gram matrix that are missing, and the matrix of the set;
- `SOLVE` (alone): steps on pairs inside the set (`constrained.pair_loops`);
- `ADD_ROWS` (shared): u += K Δβ.

`work_off` returns to Python when the number of sets is used up, when all is optimal, and for what Python has to do
itself (`wants`): rows of kernels that have no loop, Newton steps, sums on a device. When it is called again for a step
that is done alone, the first one has a task without content.

Layout, for m active variables, the n active rows they belong to, and working sets of q variables::

    KeptRows.table (slots, n)    slot s [ tile 0   | tile 1   | … ]   row row_of[s] of the Gram matrix; slot_of[row] = s
    Variables.u (n,)                    [ tile 0   | tile 1   | … ]   Kβ; a task has the columns of a tile
                                          ^ edges[0] ^ edges[1]
    Variables   [ 0 | 1 | … | m − 1 ]   row, sign, linear, bound, α, f_i = sign_i ∂objective/∂α_i and key of each
    WorkingSet  [ 0 | 1 | … | q − 1 ]   `chosen` points to variables, `rows` to rows, `slots` to the table; copies of
                                        sign, bound, α, f; K (q, q); `moved`, `weights`: slots and steps that are not 0
    KeptRows    `again` marks slots used since the hand came by that looks for a free one; left, places, right as in
                `gaussian_loops`, empty if the kernel has no loop;  now: the state, one record of SEARCH_FIELDS
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import jit_unmanaged, record_type
from didact.core.jit.atomics import is_last, is_over, is_task, post, take_task, task_of, wait_for_step
from didact.core.typing import Array
from didact.engines.constrained.pair_loops import pairs
from didact.engines.constrained.violation_loops import Variables, set_keys, take_worst
from didact.kernels.gaussian_loops import two_values

SHARE_INSIDE = 0.1  # a working set is solved to this share of the violation outside
STEPS_EACH = 10  # steps for each variable of a working set, before Newton steps on all of them
LINGERING = 40  # working sets in a row, and one more for each q variables, without progress: the end
BETTER = 1e-8  # of all that the objective has fallen: so much more is progress, too, while there were less than
STEPS_ENOUGH = 500  # steps for each variable, of a thousand at least; after these only a smaller violation is progress
OVERWRITTEN = -2  # the place of a row that was known once; −1: never
CHOOSE, FILL, SOLVE, CARRY_OVER, ADD_ROWS = range(5)  # steps
NOT_WANTED, OPTIMAL, LINGERS, NO_STEPS, LOOK_AGAIN, WANTS_ROWS, NEWTON, SUM = range(8)  # why Python is wanted
SEARCH_FIELDS = record_type(
    [(name, np.int64) for name in (
        "phase", "wants", "size", "last", "missing", "moved", "steps", "most", "sets", "rounds", "idle", "hand", "open",
        "on_device",
    )] + [(name, np.float64) for name in ("gap", "low", "high", "best", "tol", "goal", "left", "fallen", "noted")]
)  # fmt: skip


class WorkingSet(NamedTuple):
    """The variables of a working set."""

    chosen: Array
    rows: Array
    slots: Array
    missing: Array  # places in the set of rows to be computed
    sign: Array
    bound: Array
    alpha: Array
    f: Array
    K: Array
    columns: Array  # (wide, q): those of `right` that belong to the rows
    lines: Array  # (5, q) for `pairs`
    moved: Array  # slots
    weights: Array


class KeptRows(NamedTuple):
    """Rows of the Gram matrix in memory."""

    table: Array
    row_of: Array  # slot -> row
    slot_of: Array  # row -> slot, −1 or OVERWRITTEN
    again: Array  # int8 (slots)
    left: Array
    places: Array
    right: Array


@jit_unmanaged
def advance(now: Array, v: Variables, chosen: WorkingSet, kept: KeptRows) -> bool:
    """From the phase that is due to the next one that threads share (true), or that Python has to do (false)."""
    state = now[0]
    state.wants = NOT_WANTED
    while True:
        if state.phase == CHOOSE:
            return _choose(now, v, chosen, kept)
        if state.phase == SOLVE:
            share = SHARE_INSIDE if state.size < v.row.shape[0] else 0.0  # a set of all variables is solved at once
            state.goal = max(share * state.gap, 0.5 * state.tol)
            limit = min(STEPS_EACH * chosen.chosen.shape[0], state.most - state.steps)
            steps, state.left = pairs(
                chosen.K, state.size, chosen.alpha, chosen.sign, chosen.bound, chosen.f, chosen.lines, state.goal, limit
            )
            state.steps += steps
            state.phase = CARRY_OVER
            if state.left > state.goal:
                state.wants = NEWTON
                return False
        if state.phase == CARRY_OVER:
            _move(now, v, chosen, _is_whole(now, v, kept))
            state.phase = ADD_ROWS
            if state.on_device:
                state.wants = SUM
            return not state.on_device
        state.phase = CHOOSE if state.phase == ADD_ROWS else SOLVE


@jit_unmanaged(inline="always")  # of one caller
def _choose(now: Array, v: Variables, chosen: WorkingSet, kept: KeptRows) -> bool:
    """The violation and, unless it is small, the next set; whether threads can go on with it."""
    state = now[0]
    state.low, high = set_keys(v)
    state.high, state.gap = -high, max(-high - state.low, 0.0)
    if state.gap <= state.tol:
        state.wants = OPTIMAL
    elif state.idle > LINGERING + v.row.shape[0] // chosen.chosen.shape[0]:
        state.wants = LINGERS
    elif state.steps >= state.most:
        state.wants = NO_STEPS
    elif state.sets == 0:
        state.wants = LOOK_AGAIN
    if state.wants != NOT_WANTED:
        return False
    state.sets -= 1
    state.rounds += 1
    state.idle += 1
    early = state.steps < STEPS_ENOUGH * max(v.row.shape[0], 1000)
    if state.gap < 0.9 * state.best or (early and state.fallen - state.noted > BETTER * state.fallen):
        state.best, state.noted, state.idle = min(state.gap, state.best), state.fallen, 0
    _select(now, v, chosen)
    for k in range(state.size):
        i = chosen.chosen[k]
        chosen.rows[k], chosen.sign[k], chosen.bound[k] = v.row[i], v.sign[i], v.bound[i]
        chosen.alpha[k], chosen.f[k] = v.alpha[i], v.f[i]
        _turn(kept.left, kept.places, v.row[i], chosen.columns, k)
    if _is_whole(now, v, kept):
        state.missing = 0
    else:
        place_rows(now, chosen, kept)
    state.phase = SOLVE if state.on_device else FILL
    if state.on_device or (state.missing > 0 and kept.left.shape[0] == 0):
        state.wants = WANTS_ROWS
        return False
    return True


@jit_unmanaged(inline="always")  # of one caller
def _select(now: Array, v: Variables, chosen: WorkingSet) -> None:
    """Up to half of the last set, those that entered it last; the rest are the worst violators on either side."""
    state, m, q = now[0], v.row.shape[0], chosen.chosen.shape[0]
    if m <= q:
        for i in range(m):
            chosen.chosen[i] = i
        state.size = m
        return
    kept = min(state.last, q // 2)
    for k in range(kept):
        i = chosen.chosen[k]
        v.keys[0, i] = v.keys[1, i] = np.inf
        chosen.missing[k] = i  # for a moment
    room = (q - kept) // 2
    size = take_worst(v, 0, room, chosen.chosen, 0, chosen.lines[0])
    size = take_worst(v, 1, room, chosen.chosen, size, chosen.lines[0])
    for k in range(kept):
        chosen.chosen[size + k] = chosen.missing[k]
    state.size = state.last = size + kept


@jit_unmanaged
def _turn(left: Array, places: Array, row: int, columns: Array, k: int) -> None:
    """Column k from a row of `left`: as in `right`, where the first two numbers have changed places."""
    if places.shape[0] == 0:
        for c in range(left.shape[1]):
            columns[1 - c if c < 2 else c, k] = left[row, c]
    else:
        for c in range(columns.shape[0]):
            columns[c, k] = 0
        for n in range(left.shape[1]):
            c = places[row, n]
            if left[row, n] != 0:
                columns[1 - c if c < 2 else c, k] = left[row, n]


@jit_unmanaged
def place_rows(now: Array, chosen: WorkingSet, kept: KeptRows) -> None:
    """A slot for each row of the set; those that have none get one that was not used for long, and are missing.

    Slots are opened one by one, for rows that come back after they were overwritten: memory that is touched for the
    first time costs as much as the values of some rows.
    """
    state = now[0]
    for k in range(state.size):
        slot = kept.slot_of[chosen.rows[k]]
        if slot >= 0:
            kept.again[slot] = 2
    state.missing = 0
    for k in range(state.size):
        slot = kept.slot_of[chosen.rows[k]]
        if slot < 0:
            if slot == OVERWRITTEN and state.open < kept.again.shape[0]:
                slot = state.open
                state.open += 1
            else:
                slot = state.hand
                while kept.again[slot] > 0:
                    kept.again[slot] -= kept.again[slot] == 1
                    slot = slot + 1 if slot + 1 < state.open else 0
                state.hand = slot
            if kept.row_of[slot] >= 0:
                kept.slot_of[kept.row_of[slot]] = OVERWRITTEN
            kept.row_of[slot], kept.slot_of[chosen.rows[k]], kept.again[slot] = chosen.rows[k], slot, 2
            chosen.missing[state.missing] = k
            state.missing += 1
        chosen.slots[k] = slot
    for k in range(state.size):
        kept.again[chosen.slots[k]] = 1


@jit_unmanaged(inline="always")  # of one caller
def _move(now: Array, v: Variables, chosen: WorkingSet, whole: bool) -> None:
    """Write α back, list the rows whose coefficients have changed, and sum up how far the objective has fallen."""
    count, fall = 0, 0.0
    for k in range(now[0].size):
        i = chosen.chosen[k]
        change = chosen.sign[k] * (chosen.alpha[k] - v.alpha[i])
        v.alpha[i] = chosen.alpha[k]
        if whole:
            v.u[v.row[i]] = chosen.f[k] - v.sign[i] * v.linear[i]
        elif change != 0.0:
            chosen.moved[count], chosen.weights[count] = chosen.slots[k], change
            count += 1
        fall -= 0.5 * change * (v.f[i] + chosen.f[k])
    now[0].moved = count
    now[0].fallen += fall


@jit_unmanaged
def _is_whole(now: Array, v: Variables, kept: KeptRows) -> bool:
    """Whether the set has all variables, so that f of the set tells all of u, and no row has to be kept for it."""
    return now[0].size == v.row.shape[0] and kept.left.shape[0] > 0


@jit_unmanaged
def work_off(
    board: Array, now: Array, edges: Array, v: Variables, chosen: WorkingSet, kept: KeptRows, precision: Any,
    spare: Array, members: Array,
) -> None:  # fmt: skip
    """Tasks of this phase and of those that follow, until Python is wanted."""
    while True:
        ticket = take_task(board)
        if is_over(board, ticket):
            return
        if not is_task(ticket):
            wait_for_step(board, ticket)
            continue
        tile, tiles, size = task_of(ticket), edges.shape[0] - 1, now[0].size
        begin, end = edges[tile], edges[tile + 1]
        if now[0].phase == FILL and kept.left.shape[0] > 0:
            _fill(begin, end, now[0].missing, chosen, kept, precision, spare)
            _square(size * tile // tiles, size * (tile + 1) // tiles, size, chosen, kept, precision, spare)
        elif now[0].phase == FILL:
            _collect(begin, end, size, chosen, kept.table, members)
        elif now[0].phase == ADD_ROWS:
            _add(begin, end, now[0].moved, chosen, kept.table, v.u)
        if is_last(board, ticket):
            post(board, tiles if advance(now, v, chosen, kept) else 0)


@jit_unmanaged(inline="always")  # of one caller
def _fill(
    begin: int, end: int, missing: int, chosen: WorkingSet, kept: KeptRows, precision: Any, spare: Array
) -> None:  # fmt: skip
    """Compute a tile of the rows that are missing."""
    for k in range(0, missing, 2):
        one, two = chosen.missing[k], chosen.missing[min(k + 1, missing - 1)]
        two_values(kept.left, kept.places, chosen.rows[one], chosen.rows[two], kept.right, begin, end, precision, spare)
        for r in range(2 if two != one else 1):
            to = kept.table[chosen.slots[two if r else one], begin:end]
            for j in range(end - begin):
                to[j] = spare[r, j]


@jit_unmanaged(inline="always")  # of one caller
def _square(
    begin: int, end: int, size: int, chosen: WorkingSet, kept: KeptRows, precision: Any, spare: Array
) -> None:  # fmt: skip
    """Compute some lines of the set's own matrix: quicker than to look for its numbers among the rows."""
    for k in range(begin, end, 2):
        other = min(k + 1, end - 1)
        two_values(
            kept.left, kept.places, chosen.rows[k], chosen.rows[other], chosen.columns, 0, size, precision, spare
        )
        for r in range(other - k + 1):
            for j in range(size):
                chosen.K[k + r, j] = spare[r, j]


@jit_unmanaged(inline="always")  # of one caller
def _collect(begin: int, end: int, size: int, chosen: WorkingSet, table: Array, members: Array) -> None:
    """Lines of the set's own matrix for those of its rows that lie in a tile."""
    count = 0
    for k in range(size):
        if begin <= chosen.rows[k] < end:
            members[count] = k
            count += 1
    for i in range(size):
        row = table[chosen.slots[i]]
        for c in range(count):
            k = members[c]
            chosen.K[k, i] = row[chosen.rows[k]]


@jit_unmanaged(fastmath={"contract", "reassoc"})
def _add(begin: int, end: int, moved: int, chosen: WorkingSet, table: Array, u: Array) -> None:
    """u += Σ weights · rows, in a tile; four rows at a time."""
    part, slots, w = u[begin:end], chosen.moved, chosen.weights
    whole = moved // 4 * 4
    for k in range(0, whole, 4):
        r0, r1 = table[slots[k], begin:end], table[slots[k + 1], begin:end]
        r2, r3 = table[slots[k + 2], begin:end], table[slots[k + 3], begin:end]
        w0, w1, w2, w3 = w[k], w[k + 1], w[k + 2], w[k + 3]
        for j in range(end - begin):
            part[j] += (w0 * r0[j] + w1 * r1[j]) + (w2 * r2[j] + w3 * r3[j])
    for k in range(whole, moved):
        r0, w0 = table[slots[k], begin:end], w[k]
        for j in range(end - begin):
            part[j] += w0 * r0[j]


def warm() -> None:
    """Compile for the types that are used."""
    from didact.engines.gram.smo import Dual, Search, solve_dual
    from didact.kernels import RBF

    one, X = np.ones(2), np.eye(2)
    dual = Dual(row=np.arange(2), sign=np.array([1.0, -1.0]), linear=-one, bound=one, start=np.zeros(2))
    for tol in (1e-3, 1e-9):
        solve_dual(RBF(1.0), X, dual, Search(tol=tol))
