"""One tree grown by threads that stay in compiled code: large nodes by all of them, then each subtree by one.

A round splits the large nodes that wait, or with a limit on the leaves the one of largest gain. Its steps::

    MARK    a task for each node      find the rows that go left
    MOVE_LINES    for pieces of its lines   partition sorted columns
    BEGIN   for each child            its sums, and what its rows bring side by side
    SCAN    for pieces of features    the best split of each; all features at once where they are drawn

Who finishes the last task of a step prepares the next one (see `didact.core.jit.atomics`). When no large node is left,
each small one is a task, the largest first: one thread grows what is below it. Nodes take their numbers as they come,
and are numbered anew in the end; draws follow from a node's path: threads change nothing.

Layout of what the team shares; `now` is one record::

    team.splits     [ node e         | node e + 1     | … ]   of this round, at most 4 for each thread
    team.children   [ right | left   | right | left   | … ]   theirs; then those that are scanned, in front
    team.left       [ how many of its rows go left    | … ]   or, where features are drawn, whether a child has a split
    team.pieces     [ of 0: f … g − 1 | of 0: g … p − 1 | of 1: … ]   tasks of this step: ranges of features
    team.found      (children, p, 4) and team.bits (children, p, words): the best split of each feature of a child
    team.waiting    [ large nodes whose split is known | room ];  team.subtrees: nodes for one thread, by falling size
    team.held       (threads) the ticket of the subtree that a thread has not finished, −1: none
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import dispatch, jit_unmanaged, record_type
from didact.core.jit.atomics import is_last, is_over, is_task, post, take_task, task_of, wait_for_step
from didact.core.typing import Array
from didact.engines.trees.growers.growth_loops import (
    NO_NODE,
    PATIENT_WORK,
    UNVARYING,
    Queue,
    TreeNodes,
    bound_children,
    grow_below,
    is_final,
    new_child,
    next_place,
    record_split,
    scan1,
    split_node,
    totals1,
    varies,
)
from didact.engines.trees.limits import Limits
from didact.engines.trees.splits.sorted_loops import NO_SCORE

MARK, MOVE_LINES, BEGIN_ROUND, SCAN, SUBTREES = range(5)
QUICK = 1 << 16  # codes of a node that one thread splits sooner than all of them
SUBTREE_DEPTH = 10  # levels of a subtree, more or less
MOST_SUBTREES = 1 << 19  # subtrees: a step has less than 2²⁰ tasks

begin1 = dispatch("begin1")
column1 = dispatch("column1")
mark1 = dispatch("mark1")
move1 = dispatch("move1")
moves1 = dispatch("moves1")

ROUND_STATE = record_type([(name, np.int64) for name in (
    "step", "tasks", "threads", "splits", "children", "waiting", "subtrees", "large"
)])  # fmt: skip
RANGE = record_type([(name, np.int64) for name in ("of", "start", "stop")])


class GrowthTeam(NamedTuple):
    """What the threads share: the state of the growth, the nodes of the round, the tasks of the step."""

    board: Array
    now: Array  # ROUND_STATE (1)
    numbered: Array  # int64 (1): how many nodes there are
    pieces: Array  # RANGE: the tasks of the step
    splits: Array  # int64
    left: Array  # int64
    children: Array  # int64
    found: Array
    bits: Array
    waiting: Array  # int64
    subtrees: Array  # int64
    held: Array  # int64


@jit_unmanaged
def grow_shared(
    me: int, scanner: Any, near: Any, nodes: TreeNodes, queue: Queue, limits: Limits, small: int, team: GrowthTeam
) -> bool:
    """Take tasks and grow subtrees; every thread does. False: call again, there may be more to do."""
    work, board = PATIENT_WORK, team.board
    while work > 0:
        ticket, root = team.held[me], NO_NODE
        if ticket < 0:
            ticket = take_task(board)
        if is_over(board, ticket):
            return True
        if not is_task(ticket):
            wait_for_step(board, ticket)
            continue
        k = task_of(ticket)
        if team.now[0].step == SUBTREES:
            if team.held[me] < 0:
                root = team.subtrees[k]
                work -= (nodes.at[root].stop - nodes.at[root].start) * scanner.table.monotone.shape[0] * SUBTREE_DEPTH
            team.held[me] = ticket
            if not grow_below(scanner, near, nodes, root, queue, team.numbered, limits, small):
                return False
            team.held[me] = -1
        else:
            work -= do_piece(k, scanner, nodes, limits, team)
        if is_last(board, ticket):
            next_round_step(scanner, nodes, limits, team)
            post(board, team.now[0].tasks)
    return False


@jit_unmanaged
def do_piece(k: int, scanner: Any, nodes: TreeNodes, limits: Limits, team: GrowthTeam) -> int:
    """One task of the present step; about how many codes it has looked at."""
    step, piece = team.now[0].step, team.pieces[k]
    if step == MARK:
        team.left[k] = mark1(scanner, nodes, team.splits[k])
        return 0
    if step == MOVE_LINES:
        for f in range(piece.start, piece.stop):
            move1(scanner, nodes, team.splits[piece.of], f)
        return 0
    if step == BEGIN_ROUND:
        child, f = team.children[k], 0
        if team.now[0].splits > 0:
            f = nodes.at[team.splits[k // 2]].feature
        totals1(scanner, nodes, child, f)
        if is_shared(nodes, child, limits, team) and limits.max_features == 0:
            begin1(scanner, nodes, child)
        return 0
    child, found, bits = team.children[piece.of], team.found[piece.of], team.bits[piece.of]
    if limits.max_features > 0:
        team.left[piece.of] = scan1(scanner, nodes, child, limits)
    else:
        for f in range(piece.start, piece.stop):
            found[f, 0], found[f, 1] = NO_SCORE, UNVARYING
            if varies(nodes.active[child], f):
                column1(scanner, nodes, child, f, found, bits, limits)
    return (nodes.at[child].stop - nodes.at[child].start) * (piece.stop - piece.start)


@jit_unmanaged
def is_shared(nodes: TreeNodes, node: int, limits: Limits, team: GrowthTeam) -> bool:
    """Whether all threads scan a node: it is large, or the tree is grown best-first."""
    return limits.max_leaf_nodes > 0 or nodes.at[node].stop - nodes.at[node].start >= team.now[0].large


@jit_unmanaged
def cut_pieces(team: GrowthTeam, of: int, stop: int, pieces: int) -> None:
    """Add tasks that are pieces of the range 0 … stop − 1."""
    for k in range(pieces):
        piece = team.pieces[team.now[0].tasks]
        piece.of, piece.start, piece.stop = of, stop * k // pieces, stop * (k + 1) // pieces
        team.now[0].tasks += 1


@jit_unmanaged
def next_round_step(scanner: Any, nodes: TreeNodes, limits: Limits, team: GrowthTeam) -> None:
    """What follows when all tasks of a step are done: the next step and its tasks; no tasks if the tree is finished."""
    now, p = team.now[0], scanner.table.monotone.shape[0]
    done, lines = now.step, moves1(scanner)
    now.tasks = 0
    if done == MARK:
        for e in range(now.splits):  # the right child is scanned first, as one thread does
            node, first = team.splits[e], team.numbered[0]
            team.numbered[0] += 2
            for k in range(2):
                new_child(nodes, node, first + k, k, team.left[e])
                team.children[2 * e + 1 - k] = first + k
            if lines > 0:
                cut_pieces(team, e, lines, min(lines, 2 * now.threads))
        now.step, now.children = MOVE_LINES, 2 * now.splits
    if now.tasks == 0 and done <= MOVE_LINES:
        now.step, now.tasks = BEGIN_ROUND, now.children
    if done == BEGIN_ROUND:
        plan_scans(scanner, nodes, p, limits, team)
    if done == SCAN:
        for slot in range(now.children):
            node = team.children[slot]
            if limits.max_features > 0:
                splits = team.left[slot] != 0
            else:
                for f in range(p):
                    scanner.order[f] = f
                splits = record_split(nodes, node, team.found[slot], team.bits[slot], scanner.order, limits)
            if splits:
                team.waiting[now.waiting] = node
                now.waiting += 1
    if now.tasks == 0 and done != SUBTREES:
        choose_splits(scanner, nodes, p, limits, team)


@jit_unmanaged
def plan_scans(scanner: Any, nodes: TreeNodes, p: int, limits: Limits, team: GrowthTeam) -> None:
    """Tasks that scan the children; small ones are subtrees."""
    now, many = team.now[0], 0
    for e in range(now.splits):
        bound_children(nodes, team.splits[e], scanner)
    for k in range(now.children):
        child = team.children[k]
        if is_final(nodes, child, limits):
            continue
        if is_shared(nodes, child, limits, team):
            team.children[many] = child
            cut_pieces(team, many, p, 1 if limits.max_features > 0 else min(p, 2 * now.threads))
            many += 1
        else:
            add_subtree(nodes, child, team)
    now.step, now.children = SCAN, many


@jit_unmanaged
def add_subtree(nodes: TreeNodes, node: int, team: GrowthTeam) -> None:
    """A node for one thread, in its place by size."""
    k, size = team.now[0].subtrees, nodes.at[node].stop - nodes.at[node].start
    while k > 0 and nodes.at[team.subtrees[k - 1]].stop - nodes.at[team.subtrees[k - 1]].start < size:
        team.subtrees[k] = team.subtrees[k - 1]
        k -= 1
    team.subtrees[k] = node
    team.now[0].subtrees += 1


@jit_unmanaged
def choose_splits(scanner: Any, nodes: TreeNodes, p: int, limits: Limits, team: GrowthTeam) -> None:
    """The splits of the next round; if no node waits, the subtrees."""
    now, best_first, most = team.now[0], limits.max_leaf_nodes > 0, team.splits.shape[0]
    now.splits = 0
    while now.waiting > 0 and now.splits < (1 if best_first else most):
        if best_first and team.numbered[0] // 2 + 1 >= limits.max_leaf_nodes:
            break
        place = next_place(nodes, team.waiting, now.waiting, best_first)
        node = team.waiting[place]
        now.waiting -= 1
        team.waiting[place] = team.waiting[now.waiting]
        if not best_first and now.subtrees > MOST_SUBTREES:
            add_subtree(nodes, node, team)
        elif best_first and (nodes.at[node].stop - nodes.at[node].start) * p < QUICK:
            first = split_node(scanner, nodes, node, team.numbered)
            for child in range(first + 1, first - 1, -1):
                if scan1(scanner, nodes, child, limits):
                    team.waiting[now.waiting] = child
                    now.waiting += 1
        else:
            team.splits[now.splits] = node
            now.splits += 1
    now.step, now.tasks = MARK, now.splits
    if now.splits == 0:
        now.step, now.tasks = SUBTREES, now.subtrees
