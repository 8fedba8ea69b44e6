"""One tree grown by threads that stay in compiled code, in rounds of steps with tasks for all of them.

A round splits one large node or some small ones. Its steps: part the nodes' rows by tiles, and move them to their
places; count the smaller children, by rows into a histogram for each thread, which are then merged, or by columns;
search the children's best splits by features. Who finishes the last task of a step prepares the next one (see
`didact.core.jit.atomics`). One thread has one task a step.

With a limit of leaves the leaf of largest gain is split first. Where that is small, others are split in the same round
that come next by what is known; the tree takes up splits in the order in which one thread would make them, so that
threads do not change it, and those that it does not come to are undone. Without a limit the last child is split first.
"""

from typing import Any

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.jit.atomics import is_last, is_over, is_task, post, take_task, task_of, wait_for_step
from didact.core.typing import Array
from didact.engines.trees.growers.histogram_node_loops import Nodes, Sample, Space, Work, make_children, record
from didact.engines.trees.growers.task_loops import ADD, COUNT, MERGE, MOVE, PACK, PART, SEARCH, Team, do_task
from didact.engines.trees.rows.bundles_loops import spread
from didact.engines.trees.splits.histogram_loops import add_totals, subtract

Int = int | np.integer[Any]

FEW = 64  # rows below which histograms are not worth keeping
TILE = 4096  # rows of a task of parting, at least
SHARE = 1024  # rows of a task of counting, at least
ROUND = 2048  # rows of a round for each thread, if its nodes are small
PATIENCE = 1 << 28  # codes that a thread counts before it lets the interpreter look for Ctrl-C


@jit_unmanaged
def grow_together(
    me: Int, sample: Sample, space: Space, limits: Any, criterion: Any, nodes: Nodes, hists: Array, team: Team,
    work: Work,
) -> bool:  # fmt: skip
    """What each thread does, from the root on, whose record is there; False: call again, there may be more to do."""
    counted = np.int64(0)
    while counted < PATIENCE:
        ticket = take_task(team.board)
        if is_over(team.board, ticket):
            return True
        if not is_task(ticket):
            wait_for_step(team.board, ticket)
            continue
        counted += do_task(task_of(ticket), me, sample, space, limits, criterion, nodes, hists, team, work)
        if is_last(team.board, ticket):
            _next_step(sample, space, limits, nodes, hists, team)
            post(team.board, team.now[0].tasks)
    return False


@jit_unmanaged
def _next_step(sample: Sample, space: Space, limits: Any, nodes: Nodes, hists: Array, team: Team) -> None:
    """What follows when all tasks of a step are done: the next step and its tasks."""
    now = team.now[0]
    done, tasks = now.step, now.tasks
    now.tasks = 0
    if done == PACK and hists.shape[0] == 0:
        add_totals(sample.words, sample.labels, sample.order, nodes.words[0, 0])
    elif done == SEARCH:
        now.tasks = tasks
        _record_all(space, nodes, team)
        _take_up(limits, nodes, team)
        _choose(limits, nodes, hists, team)
    elif done == PART and _place_children(tasks, space, nodes, team):
        now.step, now.tasks = MOVE, tasks
    elif done == ADD:
        now.step = MERGE
        _cut(team, 0, 0, hists.shape[1], min(now.threads, hists.shape[1] // 64 + 1))
    elif done in (COUNT, MERGE):
        _hand_on(done, sample, space, nodes, hists, team)
    if now.tasks == 0 and done < COUNT:
        _plan_counts(sample, nodes, hists, team)
    if now.tasks == 0 and done < SEARCH:
        _plan_search(space, limits, team)


@jit_unmanaged
def _cut(team: Team, of: Int, start: Int, stop: Int, pieces: Int) -> None:
    """Tasks that are pieces of a range."""
    now = team.now[0]
    for k in range(pieces):
        task = team.tasks[now.tasks]
        task.of, task.start = of, start + (stop - start) * k // pieces
        task.stop = start + (stop - start) * (k + 1) // pieces
        now.tasks += 1


@jit_unmanaged
def _place_children(tasks: Int, space: Space, nodes: Nodes, team: Team) -> bool:
    """Make the children of nodes whose tiles have been parted; whether rows have still to be moved to their places."""
    cut, k = False, 0
    while k < tasks:
        of = team.tasks[k].of
        split, first, left = team.splits[of], k, np.int64(0)
        here = nodes.at[split.node]
        while k < tasks and team.tasks[k].of == of:
            left += team.tasks[k].left
            k += 1
        to_left, to_right = here.start, here.start + left
        make_children(split.node, split.left, split.right, to_right, space, nodes)
        split.small = split.left if 2 * left <= here.stop - here.start else split.right
        cut |= k - first > 1
        for j in range(first, k):
            task = team.tasks[j]
            task.to_left, task.to_right = to_left, to_right
            if k - first == 1:
                task.to_left = -1
            to_left += task.left
            to_right += task.stop - task.start - task.left
    return cut


@jit_unmanaged
def _plan_counts(sample: Sample, nodes: Nodes, hists: Array, team: Team) -> None:
    """Tasks that count the smaller children: by rows where a node is large beside its histograms, else by columns."""
    now, first = team.now[0], sample.joint.first
    joint, many = sample.joint.starts.shape[0] > 1, 0
    for e in range(now.splits):
        many += team.splits[e].hist >= 0
    for e in range(now.splits):
        split = team.splits[e]
        if split.hist < 0:
            continue
        rows = nodes.at[split.small].stop - nodes.at[split.small].start
        if now.splits == 1 and now.threads > 1 and rows > (hists.shape[1] // 4 if joint else 2 * hists.shape[1]):
            now.step = ADD
            now.round += 1
            start, pieces = nodes.at[split.small].start, min(rows // SHARE + 1, 4 * now.threads)
            _cut(team, e, start, start + rows, pieces)
        else:
            now.step = COUNT
            pieces = 1 if joint else min((now.threads + many - 1) // many, first.shape[0])
            _cut(team, e, 0, first.shape[0], pieces)


@jit_unmanaged
def _hand_on(done: Int, sample: Sample, space: Space, nodes: Nodes, hists: Array, team: Team) -> None:
    """The children get their histograms."""
    joint = sample.joint
    for e in range(team.now[0].splits):
        split = team.splits[e]
        if split.hist < 0:
            continue
        hist = hists[split.hist]
        if done == MERGE and joint.starts.shape[0] > 1:
            spread(space.slots, joint.starts, joint.targets, hist)
            if split.node >= 0:
                subtract(hists[nodes.at[split.node].hist], hist)
        nodes.at[split.small].hist = split.hist
        if split.node >= 0:
            large = split.left + split.right - split.small
            nodes.at[large].hist = nodes.at[split.node].hist
        else:
            for c in range(hist.shape[1]):
                nodes.words[0, 0, c] = 0
                for slot in range(space.features[0].n_bins + 1):
                    nodes.words[0, 0, c] += hist[slot, c]


@jit_unmanaged
def _plan_search(space: Space, limits: Any, team: Team) -> None:
    """Tasks that search the children's best splits."""
    now, places = team.now[0], space.chosen.shape[0]
    now.step = SEARCH
    pieces = min((now.threads + 2 * now.splits - 1) // (2 * now.splits), max(places, 1))
    for e in range(now.splits):
        split = team.splits[e]
        for child in (split.left, split.right):
            if child >= 0:
                _cut(team, child, 0, places, 1 if limits.max_features > 0 else pieces)


@jit_unmanaged
def _record_all(space: Space, nodes: Nodes, team: Team) -> None:
    """Write the best splits that were found into the nodes' records; histograms that will not serve are free."""
    now, k = team.now[0], 0
    while k < now.tasks:
        node, best = team.tasks[k].of, k
        while k < now.tasks and team.tasks[k].of == node:
            if team.best[k].gain > team.best[best].gain:
                best = k
            k += 1
        record(node, team.best[best], team.words[best], team.bits[best], space, nodes)
        here = nodes.at[node]
        if here.hist >= 0 and (here.feature < 0 or here.stop - here.start < FEW):
            team.free[now.free] = here.hist
            now.free += 1
            here.hist = -1


@jit_unmanaged
def _push(node: Int, nodes: Nodes, team: Team) -> None:
    """A node of the tree waits, if it can be split."""
    now, here = team.now[0], nodes.at[node]
    here.turn = now.turn
    now.turn += 1
    if here.feature >= 0:
        team.waiting[now.waiting] = node
        now.waiting += 1


@jit_unmanaged
def _best_waiting(unsplit: bool, nodes: Nodes, team: Team) -> Int:
    """The place of the waiting node of largest gain, of equal ones the first that came; −1 if there is none."""
    best, gain, turn = np.int64(-1), -np.inf, np.int64(0)
    for k in range(team.now[0].waiting):
        node = nodes.at[team.waiting[k]]
        if unsplit and node.left >= 0:
            continue
        if best < 0 or node.gain > gain or (node.gain == gain and node.turn < turn):
            best, gain, turn = np.int64(k), node.gain, node.turn
    return best


@jit_unmanaged
def _take_up(limits: Any, nodes: Nodes, team: Team) -> None:
    """Take the splits of the round up into the tree: their children wait. With a limit of leaves, best gain first."""
    now = team.now[0]
    now.tasks = 0
    for e in range(now.splits):
        split = team.splits[e]
        if split.node < 0:
            _push(split.left, nodes, team)
        elif limits.max_leaf_nodes == 0:
            _push(split.right, nodes, team)
            _push(split.left, nodes, team)
    while limits.max_leaf_nodes > 0 and now.taken_up + 1 < limits.max_leaf_nodes:
        place = _best_waiting(False, nodes, team)
        if place < 0 or nodes.at[team.waiting[place]].left < 0:
            break
        node = nodes.at[team.waiting[place]]
        now.waiting -= 1
        team.waiting[place] = team.waiting[now.waiting]
        now.taken_up += 1
        _push(node.left, nodes, team)
        _push(node.right, nodes, team)


@jit_unmanaged
def _choose(limits: Any, nodes: Nodes, hists: Array, team: Team) -> None:
    """The splits of the next round, and the tasks of parting their rows; no tasks if the tree is finished."""
    now, best_first, rows = team.now[0], limits.max_leaf_nodes > 0, np.int64(0)
    now.splits, now.step = 0, PART
    left = limits.max_leaf_nodes - 1 - now.taken_up if best_first else np.int64(0)
    while now.splits < (min(left, team.splits.shape[0]) if best_first else team.splits.shape[0]):
        place = _best_waiting(True, nodes, team) if best_first else now.waiting - 1
        if place < 0 or now.nodes + 2 > nodes.at.shape[0]:
            break
        node = team.waiting[place]
        here = nodes.at[node]
        rows += here.stop - here.start
        # The first one is wanted for certain; others must leave room for those that will be.
        if now.splits > 0 and (
            rows > ROUND * now.threads
            or now.nodes + 2 * (left + 1) > nodes.at.shape[0]
            or (here.hist >= 0 and now.free <= min(left, hists.shape[0] // 2))
        ):
            break
        if not best_first:
            now.waiting -= 1
        split = team.splits[now.splits]
        split.node, split.left, split.right, split.hist = node, now.nodes, now.nodes + 1, -1
        here.left, here.right = split.left, split.right
        if here.hist >= 0 and now.free > 0:  # the larger child will get its histogram, the smaller one a free one
            now.free -= 1
            split.hist = team.free[now.free]
        elif here.hist >= 0:
            team.free[now.free] = here.hist
            now.free += 1
            here.hist = -1
        now.nodes += 2
        now.splits += 1
        size = here.stop - here.start
        pieces = max(min(size // TILE, 4 * now.threads), 1) if now.threads > 1 else np.int64(1)
        _cut(team, now.splits - 1, here.start, here.stop, pieces)
