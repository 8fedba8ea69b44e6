r"""Steps of t-SNE's descent by threads that stay in compiled code.

.. math:: \frac{\partial C}{\partial y_i} = \frac{2(\nu+1)}{\nu}\Big(a\sum_j p_{ij}t_{ij}(y_i-y_j)
    - \frac1Z\sum_j k_{ij}t_{ij}(y_i-y_j)\Big),\qquad Z = \sum_{i\ne j}k_{ij}

with the exaggeration a; steps have momentum and a gain for each coordinate, which grows while its steps keep their
direction (Jacobs). The tasks of each step of the descent (see `didact.core.jit.atomics`)::

    DIVIDE       one          divide the points down to a level, every REBUILD steps
    MEASURE      a subtree    divide what is below, or leave it; copy the points, boxes and means
    REPEL        a subtree    sums over the tree for its groups, and their share of Z
    MOVE_POINTS  a subtree    attraction by the neighbours, the gradient, the step

Layout, for n points in d columns::

    Y           [ side 0: where points are | side 1: where they go ]   (2, n, d), exchanged after each step
    values      [ p of row 0      | p of row 1 | … ]   affinities
    indices     [ its neighbours  | …              ]
                  ^ indptr[0]       ^ indptr[1]
    R, velocity, gains, gradient (n, d)   by row number: repulsion without its factor, and what steps keep
    parts       subtree k [ Z | squared length of the step's gradient | Σ p log(1 + d²/ν) ]   shares; totals (3): sums
"""

from typing import NamedTuple

import numpy as np

from didact.core.jit import REASSOCIATE, jit_unmanaged
from didact.core.jit.atomics import is_last, is_over, is_task, post, take_task, task_of, wait_for_step
from didact.core.typing import Array
from didact.engines.embedding.tree_loops import (
    LIST_ROOM,
    ONE_F,
    ZERO_SINGLE,
    Division,
    Lists,
    divide_below,
    divide_top,
    measure_below,
    measure_top,
    repel_group,
)
from didact.engines.embedding.tuning import REBUILD
from didact.engines.neighbors.partitions.boxes_loops import edge
from didact.parts.exp_loops import log1

DIVIDE, MEASURE, REPEL, MOVE_POINTS = range(4)
NOW_STEP, NOW_SIDE, NOW_DONE, NOW_FRESH, NOW_TOTAL = range(5)  # places in `now`
GAIN_UP, GAIN_DOWN, LEAST_GAIN = 0.2, 0.8, 0.01
LEAST_SUM = 1e-30  # of points so far apart that no force is left


class Graph(NamedTuple):
    """Affinities of neighbours."""

    indptr: Array
    indices: Array
    values: Array


class Motion(NamedTuple):
    """What the threads share: tasks, places of the points, and what moves them."""

    board: Array
    now: Array
    Y: Array
    R: Array
    velocity: Array
    gains: Array
    gradient: Array
    parts: Array
    totals: Array


class Stage(NamedTuple):
    """How to move; `moving` 0 computes gradient and sums and leaves the points where they are."""

    top: int
    group: int
    angle: float
    freedom: int
    exaggeration: float
    momentum: float
    rate: float
    steps: int
    moving: int


@jit_unmanaged
def descend_together(tree: Division, graph: Graph, motion: Motion, stage: Stage, lists: Lists) -> None:
    """Take tasks until all steps are made; every thread does."""
    board, now = motion.board, motion.now
    while True:
        ticket = take_task(board)
        if is_over(board, ticket):
            return
        if not is_task(ticket):
            wait_for_step(board, ticket)
            continue
        k, step, Y = task_of(ticket), now[NOW_STEP], motion.Y[now[NOW_SIDE]]
        if step == DIVIDE:
            divide_top(Y, tree, stage.top)
        elif step == MEASURE:
            if now[NOW_FRESH] != 0:
                divide_below(Y, tree, stage.top, k)
            measure_below(Y, tree, stage.top, k)
        elif step == REPEL:
            repel_subtree(k, tree, motion, stage, lists)
        else:
            move_subtree(k, tree, graph, motion, stage, lists)
        if is_last(board, ticket):
            post(board, next_stage_step(tree, motion, stage))


@jit_unmanaged
def next_stage_step(tree: Division, motion: Motion, stage: Stage) -> int:
    """Sum up what the tasks of a step have left, and begin the next one: its number of tasks, 0 at the end."""
    now, tasks = motion.now, 1 << stage.top
    step = now[NOW_STEP]
    if step == DIVIDE:
        now[NOW_FRESH] = 1
    elif step == MEASURE:
        measure_top(tree, stage.top)
    else:
        for c in range(3):
            if (c == 0) == (step == REPEL):
                motion.totals[c] = 0.0
                for k in range(tasks):
                    motion.totals[c] += motion.parts[k, c]
    if step == REPEL:
        motion.totals[0] = max(motion.totals[0], LEAST_SUM)
    if step < MOVE_POINTS:
        now[NOW_STEP] = step + 1
        return tasks
    now[NOW_SIDE] = (now[NOW_SIDE] + stage.moving) % 2
    now[NOW_DONE] += 1
    now[NOW_TOTAL] += stage.moving
    now[NOW_FRESH] = 0
    now[NOW_STEP] = DIVIDE if now[NOW_TOTAL] % REBUILD == 0 else MEASURE
    if now[NOW_DONE] >= stage.steps:
        return 0
    return 1 if now[NOW_STEP] == DIVIDE else tasks


@jit_unmanaged
def repel_subtree(k: int, tree: Division, motion: Motion, stage: Stage, lists: Lists) -> None:
    """The repulsion of the points of a subtree, group by group."""
    n, d, total, deeper = tree.order.shape[0], tree.S.shape[0], 0.0, stage.group - stage.top
    for place in range(k << deeper, (k + 1) << deeper):
        start = edge(n, tree.levels, stage.group, place)
        points = repel_group(tree, stage.group, place, stage.angle, stage.freedom, lists)
        for i in range(points):
            total += lists.F[d, i]
            for c in range(d):
                motion.R[tree.order[start + i], c] = lists.F[c, i]
    motion.parts[k, 0] = total


@jit_unmanaged
def move_subtree(k: int, tree: Division, graph: Graph, motion: Motion, stage: Stage, lists: Lists) -> None:
    """The gradient for the points of a subtree, and their step."""
    n, d, side = tree.order.shape[0], tree.S.shape[0], motion.now[NOW_SIDE]
    Y, new, pull = motion.Y[side], motion.Y[1 - side], lists.box[0]
    factor = 2.0 * (stage.freedom + 1.0) / stage.freedom
    length, logs = 0.0, 0.0
    wanted = stage.moving == 0 or motion.now[NOW_DONE] + 1 == stage.steps
    for at in range(edge(n, tree.levels, stage.top, k), edge(n, tree.levels, stage.top, k + 1)):
        i = tree.order[at]
        logs += attract(Y, i, graph, stage.freedom, wanted, lists, pull)
        for c in range(d):
            g = factor * (stage.exaggeration * pull[c] - motion.R[i, c] / motion.totals[0])
            motion.gradient[i, c] = g
            if stage.moving == 0:
                length += g * g
                continue
            v, gain = motion.velocity[i, c], motion.gains[i, c]
            gain = max(gain + GAIN_UP if v * g < 0.0 else gain * GAIN_DOWN, LEAST_GAIN)
            g *= gain
            length += g * g
            v = stage.momentum * v - stage.rate * g
            motion.gains[i, c], motion.velocity[i, c] = gain, v
            new[i, c] = Y[i, c] + v
    motion.parts[k, 1], motion.parts[k, 2] = length, logs


@jit_unmanaged
def attract(Y: Array, i: int, graph: Graph, freedom: int, wanted: bool, lists: Lists, pull: Array) -> float:
    """Put Σ p t (y_i − y_j) into `pull`; the sum Σ p log(1 + d²/ν) if it is wanted, else 0."""
    d, logs = Y.shape[1], 0.0
    for c in range(d):
        pull[c] = 0.0
    for start in range(graph.indptr[i], graph.indptr[i + 1], LIST_ROOM):
        count = min(graph.indptr[i + 1] - start, LIST_ROOM)
        if d == 2:
            take_plane(Y, i, graph.indices, start, count, lists.B)
        else:
            for k in range(count):
                j = np.uint64(graph.indices[start + k])
                for c in range(d):
                    lists.B[c, k] = np.float32(Y[i, c] - Y[j, c])
        add_pull(lists.B, graph.values, start, count, d, freedom, lists.T, pull)
        if wanted:
            logs += weighted_logs(graph.values, start, count, lists.T)
    return logs


@jit_unmanaged
def take_plane(Y: Array, i: int, indices: Array, start: int, count: int, B: Array) -> None:
    """Differences of a point from some others, for two columns."""
    a, b = Y[i, 0], Y[i, 1]
    for k in range(count):
        j = np.uint64(indices[start + k])
        B[0, k], B[1, k] = np.float32(a - Y[j, 0]), np.float32(b - Y[j, 1])


@jit_unmanaged(fastmath=REASSOCIATE)
def weighted_logs(values: Array, start: int, count: int, T: Array) -> float:
    """Σ p log T of some neighbours."""
    total = 0.0
    for k in range(count):
        total += values[start + k] * log1(np.float64(T[0, k]))
    return total


@jit_unmanaged(fastmath=REASSOCIATE, error_model="numpy")
def add_pull(B: Array, values: Array, start: int, count: int, d: int, freedom: int, T: Array, pull: Array) -> None:
    """Add the attraction by some neighbours at the differences B; leaves 1 + d²/ν in the first line of T.

    No loop both sums and stores: such a loop has a second form for arrays side by side in memory, which sums otherwise.
    """
    inverse = ONE_F / np.float32(freedom)
    if d == 2:
        x, y = ZERO_SINGLE, ZERO_SINGLE
        for k in range(count):
            T[0, k] = ONE_F + (B[0, k] * B[0, k] + B[1, k] * B[1, k]) * inverse
        for k in range(count):
            w = values[start + k] / T[0, k]
            x += w * B[0, k]
            y += w * B[1, k]
        pull[0] += x
        pull[1] += y
        return
    for k in range(count):
        T[0, k] = ONE_F
    for c in range(d):
        for k in range(count):
            T[0, k] += B[c, k] * B[c, k] * inverse
    for k in range(count):
        T[1, k] = values[start + k] / T[0, k]
    for c in range(d):
        x = ZERO_SINGLE
        for k in range(count):
            x += T[1, k] * B[c, k]
        pull[c] += x


def warm() -> None:
    """Compile."""
    from didact.engines.embedding.descent import warm_descent

    warm_descent()
