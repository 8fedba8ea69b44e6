"""The tasks of a growing tree (see `rounds_loops`), and what the threads share that work on them."""

from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.typing import Array
from didact.engines.trees.boosting.booster_loops import pack_ones, pack_pairs
from didact.engines.trees.growers.histogram_node_loops import Nodes, Sample, Space, Work, fill_table, search
from didact.engines.trees.rows.bundles_loops import count_rows
from didact.engines.trees.splits.histogram_loops import (
    UNIT,
    add_columns,
    add_rows,
    clear,
    part_outside,
    partition,
    subtract,
)

Int = int | np.integer[Any]

PACK, PART, MOVE, COUNT, ADD, MERGE, SEARCH = range(7)  # steps in their order

STATE = np.dtype([(name, np.int64) for name in (
    "step", "tasks", "threads", "splits", "nodes", "waiting", "free", "taken_up", "turn", "round"
)])  # fmt: skip
SPLIT = np.dtype([(name, np.int64) for name in ("node", "left", "right", "small", "hist")])
TASK = np.dtype([(name, np.int64) for name in ("of", "start", "stop", "left", "to_left", "to_right")])


class Source(NamedTuple):
    """Gradients of boosting, of which the first step makes words; none: the words are there."""

    g: Array  # float64 (n)
    h: Array
    slope: float  # the powers of two by which they become words
    curvature: float
    every: bool  # whether the tree is grown on all rows, which are then put in their order


class Team(NamedTuple):
    """What the threads share: the state of the growth, the splits of the round, the tasks of the step."""

    board: Array
    now: Array  # STATE (1)
    waiting: Array  # int64: nodes that can be split, and have not been taken up
    free: Array  # int64: histograms
    splits: Array  # SPLIT
    tasks: Array  # TASK
    best: Array  # BEST (tasks): what searches have found
    words: Array  # int64 (tasks, channels)
    bits: Array  # uint64 (tasks, words)
    hists: Array  # int64 (threads, slots, channels): part of a node's rows each
    used: Array  # int64 (threads): the last round in which a thread has used its histogram
    spare: Array  # uint32 (rows): for partitions
    source: Source


@jit_unmanaged
def do_task(
    k: Int, me: Int, sample: Sample, space: Space, limits: Any, criterion: Any, nodes: Nodes, hists: Array,
    team: Team, work: Work,
) -> Int:  # fmt: skip
    """One task of the present step; about how many codes it has looked at."""
    step, task = team.now[0].step, team.tasks[k]
    a, b, width = task.start, task.stop, sample.joint.first.shape[0]
    if step == PACK:
        _pack(a, b, sample, space, team.source)
        return b - a
    if step == PART:
        _part(task, sample, space, nodes, team, work)
        return b - a
    if step == MOVE:
        _move(task, sample.order, team.spare)
        return b - a
    if step == COUNT:
        return _count(team.splits[task.of], a, b, sample, space, nodes, hists) * (b - a)
    if step == ADD:
        hist = team.hists[me]
        if team.used[me] != team.now[0].round:
            team.used[me] = team.now[0].round
            clear(hist)
        add_rows(sample.joint.codes, sample.words, sample.labels, sample.order[a:b], sample.joint.first, hist)
        return (b - a) * width
    if step == MERGE:
        _merge(team.splits[task.of], a, b, sample, nodes, hists, team)
        return b - a
    if step == SEARCH:
        search(task.of, a, b, sample, space, limits, criterion, nodes, hists, work)
        team.best[k] = work.best[0]
        for c in range(work.words.shape[1]):
            team.words[k, c] = work.words[2, c]
        for word in range(work.bits.shape[0]):
            team.bits[k, word] = work.bits[word]
    return b - a


@jit_unmanaged
def _pack(a: Int, b: Int, sample: Sample, space: Space, source: Source) -> None:
    """Make words of the gradients of some rows, and put the rows in order."""
    g, h, words = source.g[a:b], source.h[a:b], sample.words[a:b]
    if space.how.kind == UNIT:
        pack_ones(g, source.slope, space.how.shift, words)
    else:
        pack_pairs(g, h, source.slope, source.curvature, space.how.shift, words)
    if source.every:
        order = sample.order[a:b]
        for r in range(b - a):
            order[r] = np.uint32(a + r)


@jit_unmanaged
def _part(task: Any, sample: Sample, space: Space, nodes: Nodes, team: Team, work: Work) -> None:
    """Part a tile of a node's rows; if it is the whole node, they come to their places at once."""
    node = team.splits[task.of].node
    here, rows, spare = nodes.at[node], sample.order[task.start : task.stop], team.spare[task.start : task.stop]
    fill_table(node, space, nodes, work.goes_left)
    column = sample.columns[here.feature]
    if task.stop - task.start == here.stop - here.start:
        task.left = partition(column, work.goes_left, rows, spare)
    else:
        task.left = part_outside(column, work.goes_left, rows, spare)


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
def _count(split: Any, a: Int, b: Int, sample: Sample, space: Space, nodes: Nodes, hists: Array) -> Int:
    """Count the smaller child's rows by the columns a … b − 1, and take them from the larger one's; how many rows."""
    child, first, hist = nodes.at[split.small], sample.joint.first, hists[split.hist]
    rows = sample.order[child.start : child.stop]
    start, stop = np.int64(0), hist.shape[0]
    if b - a == first.shape[0]:
        count_rows(sample.joint, sample.words, sample.labels, rows, space.slots, hist)
    else:
        start, stop = np.int64(first[a]), np.int64(first[b]) if b < first.shape[0] else stop
        clear(hist[start:stop])
        add_columns(sample.joint.codes, sample.words, sample.labels, rows, a, b, first, hist)
    if split.node >= 0:
        subtract(hists[nodes.at[split.node].hist][start:stop], hist[start:stop])
    return child.stop - child.start


@jit_unmanaged
def _merge(split: Any, a: Int, b: Int, sample: Sample, nodes: Nodes, hists: Array, team: Team) -> None:
    """Add up the slots a … b − 1 of the threads' histograms, and take them from the larger child's."""
    hist = hists[split.hist][a:b].reshape(-1)
    for k in range(hist.shape[0]):
        hist[k] = 0
    for t in range(team.used.shape[0]):
        if team.used[t] == team.now[0].round:
            part = team.hists[t][a:b].reshape(-1)
            for k in range(hist.shape[0]):
                hist[k] += part[k]
    if split.node >= 0 and sample.joint.starts.shape[0] == 1:
        subtract(hists[nodes.at[split.node].hist][a:b], hists[split.hist][a:b])
