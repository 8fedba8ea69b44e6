"""The tasks of a growing tree (see `rounds_loops`), and what the threads share that work on them.

Layout of the rows of a node while three tiles of them are parted, with l for left and r for right::

    order  [ tile 0 | tile 1 | tile 2 ]   PART writes   spare  [ l l r r | l r r | l l l r ]   (r's from the end on)
    order  [ l l l l l l | r r r r r  ]   MOVE copies each tile's ends to their places; so does ADD, which counts one

and of histograms: `hists` (numbered, of nodes that wait) and `shared.hists` (one a thread, of a part of a node's rows),
both (slots, channels) int64 each.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import flat, jit_unmanaged, record_type
from didact.core.typing import Array
from didact.engines.trees.boosting.ahead_loops import TreesAhead
from didact.engines.trees.boosting.booster_loops import (
    PASS_ROWS,
    Passes,
    add_leaves,
    sizes_of,
    to_fixed_point,
    write_gradients,
)
from didact.engines.trees.growers.histogram_node_loops import (
    NodeTable,
    Sample,
    Space,
    ThreadBuffers,
    fill_table,
    search_node,
)
from didact.engines.trees.rows.bundles import Bundles
from didact.engines.trees.rows.bundles_loops import clear_columns, column_slots, unbundle
from didact.engines.trees.rows.fixed_point_loops import ZERO
from didact.engines.trees.splits.histogram_loops import Int, count_columns, part, set_zero

BEGIN, SLOPES, FIX, PART, MOVE, COUNT, ADD, MERGE, UNBUNDLE, SEARCH = range(10)  # steps in their order

STATE_FIELDS = record_type([(name, np.int64) for name in (
    "step", "tasks", "threads", "splits", "nodes", "waiting", "free", "taken_up", "turn", "round", "tree",
    "whole"
)])  # fmt: skip
SPLIT_FIELDS = record_type([(name, np.int64) for name in ("node", "left", "right", "small", "hist")])
TASK_FIELDS = record_type([(name, np.int64) for name in ("of", "start", "stop", "left", "to_left", "to_right")])


class TreeBuffers(NamedTuple):
    """What the threads share: the state of the growth, the splits of the round, the tasks of the step."""

    board: Array
    now: Array  # STATE_FIELDS (1)
    waiting: Array  # int64: nodes that can be split, and have not been taken up
    free: Array  # int64: histograms
    splits: Array  # SPLIT_FIELDS
    tasks: Array  # TASK_FIELDS
    claims: Array  # int64 (tasks): see `claim_task`
    best: Array  # BEST (tasks, 2): what searches have found for the left and the right child
    fixed: Array  # int64 (tasks, 2, channels)
    bits: Array  # uint64 (tasks, 2, words)
    hists: Array  # int64 (threads, slots, channels): part of a node's rows each
    used: Array  # int64 (threads): the last round in which a thread has used its histogram
    spare: Array  # uint32 (rows): for partitions
    passes: Passes
    ahead: TreesAhead


@jit_unmanaged(inline="always")  # of one caller: compiled once with it
def do_task(
    k: Int, me: Int, sample: Sample, space: Space, limits: Any, criterion: Any, nodes: NodeTable, hists: Array,
    shared: TreeBuffers, mine: ThreadBuffers,
) -> Int:  # fmt: skip
    """One task of the present step; about how many codes it has looked at."""
    step, task, bundles = shared.now[0].step, shared.tasks[k], sample.bundles
    a, b, order = task.start, task.stop, sample.order
    if step < PART:
        return _pass(step, a, b, order, sample.fixed, space.how.shift, space.inverse, shared.passes)
    if step == PART:
        node = shared.splits[task.of].node
        here = nodes.at[node]
        fill_table(node, space.features, space.member.shape[1], nodes.at, nodes.masks, mine.goes_left)
        whole = b - a == here.stop - here.start
        task.left = part(sample.columns[here.feature], mine.goes_left, order[a:b], shared.spare[a:b], whole)
    elif step == MOVE:
        _move(task, order, shared.spare)
    elif step == ADD:
        hist = shared.hists[me]
        if shared.used[me] != shared.now[0].round:
            shared.used[me] = shared.now[0].round
            set_zero(hist)
        rows, width = order[a:b], bundles.first.shape[0]
        if task.to_left >= 0:  # a tile that has just been parted
            split, middle = shared.splits[task.of], a + task.left
            rows = shared.spare[a:middle] if split.small == split.left else shared.spare[middle:b]
            _move(task, order, shared.spare)
        count_columns(bundles.codes, sample.fixed, sample.labels, rows, ZERO, width, bundles.first, hist)
        return rows.shape[0] * width
    else:
        split, looked, now = shared.splits[task.of], b - a, shared.now[0]
        counts, first, stop = step in (COUNT, MERGE), a, b  # the features' places
        if counts:
            first, stop = bundles.starts[a], bundles.starts[b]
        if split.hist >= 0:
            hist = hists[split.hist]
            parent = hists[nodes.at[split.node].hist] if split.node >= 0 else hist[:0]
            if step == COUNT:
                child = nodes.at[split.small]
                rows = order[child.start : child.stop]
                clear_columns(a, b, space.features, bundles, hist)
                count_columns(bundles.codes, sample.fixed, sample.labels, rows, a, b, bundles.first, hist)
                looked *= rows.shape[0]
            elif step == MERGE:
                _merge(a, b, space.features, bundles, shared.hists, shared.used, now.round, hist)
            if step == UNBUNDLE or (counts and (now.whole != 0 or bundles.n_codes == 0)):
                unbundle(first, stop, space.features, bundles, hist, parent)
        for side in range(2 if searches(step, now.whole, split.node) else 0):
            child = split.left if side == 0 else split.right
            if child >= 0 and task.left != 1 - side:
                search_node(child, first, stop, sample, space, limits, criterion, nodes, hists, mine)
                _keep_found(k, side, mine, shared)
        return looked
    return b - a


@jit_unmanaged
def searches(step: Int, whole: Int, node: Int) -> bool:
    """Whether tasks of a step search the children of a node: not the root's, whose sums are not known before."""
    return bool(step == SEARCH or (step >= COUNT and step != ADD and whole != 0 and node >= 0))


@jit_unmanaged(cold=True)
def _keep_found(k: Int, side: Int, mine: ThreadBuffers, shared: TreeBuffers) -> None:
    """Leave the best split that task k has found for a child where others see it."""
    shared.best[k, side] = mine.best[0]
    for c in range(mine.fixed.shape[1]):
        shared.fixed[k, side, c] = mine.fixed[2, c]
    for word in range(mine.bits.shape[0]):
        shared.bits[k, side, word] = mine.bits[word]


@jit_unmanaged
def _pass(step: Int, a: Int, b: Int, order: Array, fixed: Array, shift: Int, inverse: Array, passes: Passes) -> Int:
    """What boosting does with some rows, or pieces of them, before a tree is grown; how many rows."""
    if step == SLOPES:
        add_leaves(passes.starts, passes.stops, passes.values, order, a * PASS_ROWS, b * PASS_ROWS, passes.raw)
        for k in range(a, b):
            i, j = k * PASS_ROWS, min(k * PASS_ROWS + PASS_ROWS, passes.g.shape[0])
            g, h = passes.g[i:j], passes.h[i:j]
            write_gradients(passes.loss, passes.y[i:j], passes.w[i:j], passes.raw[i:j], g, h)
            passes.sizes[k, 0], passes.sizes[k, 1] = sizes_of(g, h)
        return (b - a) * PASS_ROWS
    if step == FIX:
        to_fixed_point(passes.g[a:b], passes.h[a:b], inverse, shift, fixed[a:b])
        for r in range(a if passes.every else b, b):
            order[r] = np.uint32(r)
    return b - a


@jit_unmanaged
def _move(task: Any, order: Array, parted: Array) -> None:
    """Bring the rows of a parted tile to their places."""
    if task.to_left < 0:
        return
    left, others = task.left, task.stop - task.start - task.left
    lefts, to = parted[task.start : task.start + left], order[task.to_left : task.to_left + left]
    for r in range(left):
        to[r] = lefts[r]
    rights, to = parted[task.start + left : task.stop], order[task.to_right : task.to_right + others]
    last, one = np.uint64(others - 1), np.uint64(1)
    for r in range(others):
        to[np.uint64(r)] = rights[last]
        last -= one


@jit_unmanaged
def _merge(
    a: Int, b: Int, features: Array, bundles: Bundles, parts: Array, used: Array, now: Int, out: Array
) -> None:  # fmt: skip
    """Add up the columns a … b − 1 of the histograms that threads have used in this round."""
    clear_columns(a, b, features, bundles, out)
    for t in range(used.shape[0]):
        if used[t] != now:
            continue
        for column in range(a, b):
            start, stop = column_slots(column, features, bundles)
            hist, part = flat(out[start:stop]), flat(parts[t][start:stop])
            for k in range(hist.shape[0]):
                hist[k] += part[k]
