"""One tree grown by threads that stay in compiled code, in rounds of steps with tasks for all of them.

A round splits one large node or some small ones. Its steps: part the nodes' rows by tiles, and move them to their
places; count the smaller children, by columns, or tile by tile as rows are moved into a histogram for each thread,
which are then merged; search the children's best splits by features. Where all features are searched, the tasks that
merge or count columns also search their features (`whole`): the histograms are in the core's cache then, and there is
one step less. Where features are drawn, those that were counted in bundles get their sums in a step before. Who
finishes the last task of a step prepares the next one (see `didact.core.jit.atomics`). One thread has one task a step.

With a limit of leaves the leaf of largest gain is split first. Where that is small, others are split in the same round
that come next by what is known; the tree takes up splits in the order in which one thread would make them, so that
threads do not change it, and those that it does not come to are undone. Without a limit the last child is split first.

Layout of `shared`, what the threads have together; the state of the growth is its one record `now`::

    splits   [ split 0                         | split 1            | … ]   nodes of this round
    tasks    [ of 0: a … b − 1 | 0: b … c − 1  | of 1: d … e − 1    | … ]   of this step: ranges of the rows, columns,
                                                                          slots or features of a split or node
    waiting  [ node | node | … | room ]   now.waiting nodes that can be split
    free     [ hist | hist | … | room ]   now.free numbers of histograms that no node holds: a stack
"""

from typing import Any

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.jit.atomics import claim_task, is_last, is_over, is_task, post, take_task, wait_for_step
from didact.core.typing import Array
from didact.engines.trees.boosting.ahead_loops import hand_over
from didact.engines.trees.boosting.booster_loops import GIVEN
from didact.engines.trees.growers.histogram_node_loops import (
    NodeTable,
    Sample,
    Space,
    ThreadBuffers,
    make_children,
    record,
)
from didact.engines.trees.growers.task_loops import (
    ADD,
    BEGIN,
    COUNT,
    FIX,
    MERGE,
    MOVE,
    PART,
    SEARCH,
    SLOPES,
    UNBUNDLE,
    TreeBuffers,
    do_task,
    searches,
)
from didact.engines.trees.rows.fixed_point_loops import ZERO, Reading, write_units
from didact.engines.trees.splits.histogram_cut_loops import is_better
from didact.engines.trees.splits.histogram_loops import Int, add_totals

LEAST_KEPT = 64  # rows of nodes whose histograms are kept, at least
TILE_ROWS = 4096  # rows of a task of parting, at least
SHARE_ROWS = 1024  # rows of a task of counting, at least
SHARE_CODES = 8192  # codes of a task that counts some bundles, at least
ROUND_ROWS = 2048  # rows of a round for each thread, if its nodes are small
PATIENCE = 1 << 28  # codes that a thread counts before it lets the interpreter look for Ctrl-C


@jit_unmanaged(cold=True)
def grow_together(
    me: Int, sample: Sample, space: Space, limits: Any, criterion: Any, nodes: NodeTable, hists: Array,
    shared: TreeBuffers, mine: ThreadBuffers,
) -> bool:  # fmt: skip
    """Take tasks, from the root on, whose record is there; every thread does. False: call again, there may be more."""
    counted = np.int64(0)
    while counted < PATIENCE:
        ticket = take_task(shared.board)
        if is_over(shared.board, ticket):
            return True
        if not is_task(ticket):
            wait_for_step(shared.board, ticket)
            continue
        tasks, threads = shared.now[0].tasks, shared.now[0].threads
        k = claim_task(shared.claims, tasks, me * tasks // threads)
        counted += do_task(k, me, sample, space, limits, criterion, nodes, hists, shared, mine)
        if is_last(shared.board, ticket):
            _next_step(sample, space, limits, nodes, hists, shared)
            if shared.now[0].tasks == 0:
                _next_tree(hists.shape[0], space.how, space.inverse, criterion, nodes, shared, mine.sums)
            for j in range(shared.now[0].tasks):
                shared.claims[j] = 0
            post(shared.board, shared.now[0].tasks)
    return False


@jit_unmanaged(inline="always")  # of one caller: compiled once with it
def _next_step(sample: Sample, space: Space, limits: Any, nodes: NodeTable, hists: Array, shared: TreeBuffers) -> None:
    """What follows when all tasks of a step are done: the next step and its tasks."""
    now, tasks, splits, features = shared.now[0], shared.tasks, shared.splits, space.features
    bundles, passes, slots = sample.bundles, shared.passes, hists.shape[1]
    bundled, width = bundles.n_codes > 0, bundles.first.shape[0]
    done, count, searched = now.step, now.tasks, searches(now.step, now.whole, splits[0].node)
    whole = now.whole != 0 and splits[0].node >= 0
    now.tasks = 0
    if done < FIX:
        if done == SLOPES:
            _set_units(passes.sizes, space.how, space.inverse)
        pieces = passes.sizes.shape[0] if done < SLOPES and passes.loss != GIVEN else 0
        _plan_passes(pieces, passes.g.shape[0], now, tasks)
    elif done == FIX and hists.shape[0] == 0:
        add_totals(sample.fixed, sample.labels, sample.order, nodes.fixed[0, 0])
    elif searched:
        _record_all(count, space.member.shape[1], nodes, shared)
        _take_up(limits.max_leaf_nodes, nodes.at, splits, shared.waiting, now)
        _choose(limits.max_leaf_nodes, hists.shape[0], nodes.at, splits, shared.waiting, shared.free, now, tasks)
    elif done == PART and _place_children(count, features, space.member, nodes, splits, tasks):
        now.step, now.tasks = MOVE, count
        if _counts_rows(bundled, slots, nodes.at, splits[0], now):
            now.step = ADD
            now.round += 1
            if whole:
                _hand_on(ZERO, nodes, hists, splits, now)
    elif done == ADD:
        now.step = MERGE
        _cut(now, tasks, ZERO, ZERO, width, min(now.threads, width))
    elif done >= COUNT:  # or merged, or unbundled
        if bundled and done != UNBUNDLE and now.whole == 0:
            now.step = UNBUNDLE
            for e in range(now.splits):
                pieces = min((now.threads + now.splits - 1) // now.splits, features.shape[0])
                _cut(now, tasks, e, ZERO, features.shape[0], pieces if splits[e].hist >= 0 else 0)
        else:
            _hand_on(features[0].n_bins + 1, nodes, hists, splits, now)
    if now.tasks == 0 and done < COUNT:
        _plan_counts(bundled, whole, width, slots, nodes.at, splits, now, tasks)
        if whole:  # the search follows in the same tasks
            _hand_on(ZERO, nodes, hists, splits, now)
    if now.tasks == 0 and not searched:
        _plan_search(space.chosen, features, limits.max_features > 0, splits, now, tasks)


@jit_unmanaged(cold=True)
def _next_tree(
    n_hists: Int, how: Reading, inverse: Array, criterion: Any, nodes: NodeTable, shared: TreeBuffers, sums: Array
) -> None:
    """Begin the tree after one that is finished, if another is to follow."""
    now, passes, ahead = shared.now[0], shared.passes, shared.ahead
    if now.tree + 1 >= ahead.seeds.shape[0]:
        return
    waiting = shared.waiting[: now.waiting]
    hand_over(now.tree, now.nodes, waiting, nodes, how, inverse, criterion, passes, ahead, sums)
    now.tree += 1
    now.step, now.tasks, now.splits, now.nodes = BEGIN, 1, 1, 1
    now.waiting = now.taken_up = now.turn = 0
    now.free = max(n_hists - 1, 0)
    for k in range(n_hists):
        shared.free[k] = n_hists - 1 - k
    split, root = shared.splits[0], nodes.at[0]
    split.node, split.left, split.right, split.small, split.hist = -1, 0, -1, 0, min(n_hists, 1) - 1
    root.start, root.left, root.right, root.hist, root.key = 0, -1, -1, -1, ahead.seeds[now.tree]
    for c in range(nodes.fixed.shape[2]):
        nodes.fixed[0, 0, c] = 0


@jit_unmanaged(cold=True)
def _plan_passes(pieces: Int, rows: Int, now: Any, tasks: Array) -> None:
    """Tasks of the next pass of boosting over the rows; without one, the step of fixed point has nothing to do."""
    count = 4 * now.threads if now.threads > 1 else np.int64(1)
    if pieces > 0:
        now.step, rows, count = SLOPES, pieces, min(count, pieces)
    else:
        now.step = FIX
    _cut(now, tasks, ZERO, ZERO, rows, count)


@jit_unmanaged(inline="always")  # of one caller, as above
def _set_units(sizes: Array, how: Reading, inverse: Array) -> None:
    """The powers of two by which gradients and curvatures become whole numbers, from their sums over all rows."""
    slopes = curvatures = 0.0
    for k in range(sizes.shape[0]):
        slopes += sizes[k, 0]
        curvatures += sizes[k, 1]
    write_units(slopes, curvatures, how, inverse)


@jit_unmanaged(cold=True)
def _cut(now: Any, tasks: Array, of: Int, start: Int, stop: Int, pieces: Int) -> None:
    """Add tasks that are pieces of a range."""
    for k in range(pieces):
        task = tasks[now.tasks]
        task.of, task.start = of, start + (stop - start) * k // pieces
        task.stop, task.left, task.to_left = start + (stop - start) * (k + 1) // pieces, -1, -1
        now.tasks += 1


@jit_unmanaged(cold=True)
def _place_children(count: Int, features: Array, member: Array, nodes: NodeTable, splits: Array, tasks: Array) -> bool:
    """Make the children of nodes whose tiles have been parted; whether rows have still to be moved to their places."""
    cut, k = False, 0
    while k < count:
        of = tasks[k].of
        split, first, left = splits[of], k, np.int64(0)
        here = nodes.at[split.node]
        while k < count and tasks[k].of == of:
            left += tasks[k].left
            k += 1
        to_left, to_right = here.start, here.start + left
        make_children(split.node, split.left, split.right, to_right, features, member, nodes)
        split.small = split.left if 2 * left <= here.stop - here.start else split.right
        cut |= k - first > 1
        for j in range(first, k):
            task = tasks[j]
            task.to_left, task.to_right = to_left, to_right
            if k - first == 1:
                task.to_left = -1
            to_left += task.left
            to_right += task.stop - task.start - task.left
    return cut


@jit_unmanaged(cold=True)
def _counts_rows(bundled: bool, slots: Int, at: Array, split: Any, now: Any) -> bool:
    """Whether threads share the rows of a smaller child: it is the only one, and large beside its histograms."""
    rows = at[split.small].stop - at[split.small].start
    return now.splits == 1 and split.hist >= 0 and now.threads > 1 and rows > (slots // 4 if bundled else 2 * slots)


@jit_unmanaged(cold=True)
def _plan_counts(
    bundled: bool, whole: bool, width: Int, slots: Int, at: Array, splits: Array, now: Any, tasks: Array
) -> None:
    """Tasks that count the smaller children: by rows where a node is large beside its histograms, else by columns.

    If these tasks also search (`whole`), there are some for each split.
    """
    many = 0
    for e in range(now.splits):
        many += whole or splits[e].hist >= 0
    for e in range(now.splits):
        split = splits[e]
        if split.hist < 0 and not whole:
            continue
        start, rows = at[split.small].start, at[split.small].stop - at[split.small].start
        if _counts_rows(bundled, slots, at, split, now):
            now.step = ADD
            now.round += 1
            _cut(now, tasks, e, start, start + rows, min(rows // SHARE_ROWS + 1, 4 * now.threads))
        else:
            now.step = COUNT
            most = min(max(rows * width // SHARE_CODES, 1), width) if bundled and not whole else width
            _cut(now, tasks, e, ZERO, width, min((now.threads + many - 1) // many, most))


@jit_unmanaged(cold=True)
def _hand_on(first: Int, nodes: NodeTable, hists: Array, splits: Array, now: Any) -> None:
    """The children get their histograms; the root its sums, from the slots of the first feature."""
    for e in range(now.splits):
        split = splits[e]
        if split.hist < 0:
            continue
        nodes.at[split.small].hist = split.hist
        if split.node >= 0:
            large = split.left + split.right - split.small
            nodes.at[large].hist = nodes.at[split.node].hist
        else:
            for c in range(hists.shape[2]):
                nodes.fixed[0, 0, c] = 0
                for slot in range(first):
                    nodes.fixed[0, 0, c] += hists[split.hist, slot, c]


@jit_unmanaged(cold=True)
def _plan_search(chosen: Array, features: Array, drawn: bool, splits: Array, now: Any, tasks: Array) -> None:
    """Tasks that search the children's best splits, with about as many slots each; one if features are drawn."""
    now.step = SEARCH
    places, slots = chosen.shape[0], np.int64(0)
    pieces = 1 if drawn else min((now.threads + now.splits - 1) // now.splits, max(places, 1))
    for j in range(places):
        slots += features[chosen[j]].n_bins + 1
    for e in range(now.splits):
        for side in range(2 if drawn else 1):
            start, seen, done = np.int64(0), np.int64(0), np.int64(0)
            for j in range(places):
                seen += features[chosen[j]].n_bins + 1
                if seen * pieces >= slots * (done + 1):
                    _cut(now, tasks, e, start, j + 1, 1)
                    start, done = np.int64(j + 1), seen * pieces // slots
            if places == 0:
                _cut(now, tasks, e, ZERO, ZERO, 1)
            tasks[now.tasks - 1].left = side if drawn else -1


@jit_unmanaged(cold=True)
def _record_all(count: Int, groups: Int, nodes: NodeTable, shared: TreeBuffers) -> None:
    """Write the best splits that tasks have found into the nodes' records; histograms that will not serve are free."""
    tasks, found, now, k = shared.tasks, shared.best, shared.now[0], 0
    while k < count:
        first, of = k, tasks[k].of
        while k < count and tasks[k].of == of:
            k += 1
        for side in range(2):
            node, best = shared.splits[of].left if side == 0 else shared.splits[of].right, -1
            for j in range(first, k if node >= 0 else first):
                one = found[j, side]
                if tasks[j].left != 1 - side and (best < 0 or is_better(one.gain, one.feature, found[best, side])):
                    best = j
            if best < 0:
                continue
            record(node, found[best, side], shared.fixed[best, side], shared.bits[best, side], groups, nodes)
            here = nodes.at[node]
            if here.hist >= 0 and (here.feature < 0 or here.stop - here.start < LEAST_KEPT):
                shared.free[now.free] = here.hist
                now.free += 1
                here.hist = -1


@jit_unmanaged(cold=True)
def _push(node: Int, at: Array, waiting: Array, now: Any) -> None:
    """A node of the tree waits, if it can be split."""
    here = at[node]
    here.turn = now.turn
    now.turn += 1
    if here.feature >= 0:
        waiting[now.waiting] = node
        now.waiting += 1


@jit_unmanaged(cold=True)
def best_waiting(unsplit: Int, at: Array, waiting: Array, count: Int) -> Int:
    """The place of the waiting node of largest gain, of equal ones the first that came; −1 if there is none."""
    best, gain, turn = np.int64(-1), -np.inf, np.int64(0)
    for k in range(count):
        node = at[waiting[k]]
        if unsplit != 0 and node.left >= 0:
            continue
        if best < 0 or node.gain > gain or (node.gain == gain and node.turn < turn):
            best, gain, turn = np.int64(k), node.gain, node.turn
    return best


@jit_unmanaged(cold=True)
def _take_up(most: Int, at: Array, splits: Array, waiting: Array, now: Any) -> None:
    """Take the splits of the round up into the tree: their children wait. With a limit of leaves, best gain first."""
    now.tasks = 0
    for e in range(now.splits):
        split = splits[e]
        if split.node < 0:
            _push(split.left, at, waiting, now)
        elif most == 0:
            _push(split.right, at, waiting, now)
            _push(split.left, at, waiting, now)
    while most > 0 and now.taken_up + 1 < most:
        place = best_waiting(ZERO, at, waiting, now.waiting)
        if place < 0 or at[waiting[place]].left < 0:
            break
        node = at[waiting[place]]
        now.waiting -= 1
        waiting[place] = waiting[now.waiting]
        now.taken_up += 1
        _push(node.left, at, waiting, now)
        _push(node.right, at, waiting, now)


@jit_unmanaged(cold=True)
def _choose(
    most: Int, n_hists: Int, at: Array, splits: Array, waiting: Array, free: Array, now: Any, tasks: Array
) -> None:
    """The splits of the next round, and the tasks of parting their rows; no tasks if the tree is finished."""
    best_first, rows = most > 0, np.int64(0)
    now.splits, now.step = 0, PART
    left = most - 1 - now.taken_up if best_first else np.int64(0)
    while now.splits < (min(left, splits.shape[0]) if best_first else splits.shape[0]):
        place = best_waiting(ZERO + 1, at, waiting, now.waiting) if best_first else now.waiting - 1
        if place < 0 or now.nodes + 2 > at.shape[0]:
            break
        node = waiting[place]
        here = at[node]
        rows += here.stop - here.start
        # The first one is wanted for certain; others must leave room for those that will be.
        if now.splits > 0 and (
            rows > ROUND_ROWS * now.threads
            or now.nodes + 2 * (left + 1) > at.shape[0]
            or (here.hist >= 0 and now.free <= min(left, n_hists // 2))
        ):
            break
        if not best_first:
            now.waiting -= 1
        split = splits[now.splits]
        split.node, split.left, split.right, split.hist = node, now.nodes, now.nodes + 1, -1
        here.left, here.right = split.left, split.right
        if here.hist >= 0 and now.free > 0:  # the larger child will get its histogram, the smaller one a free one
            now.free -= 1
            split.hist = free[now.free]
        elif here.hist >= 0:
            free[now.free] = here.hist
            now.free += 1
            here.hist = -1
        now.nodes += 2
        now.splits += 1
        size = here.stop - here.start
        pieces = max(min(size // TILE_ROWS, 4 * now.threads), 1) if now.threads > 1 else np.int64(1)
        _cut(now, tasks, now.splits - 1, here.start, here.stop, pieces)
