"""Growing one tree with the scanners of its kind, on one thread or several: node buffers, and the finished tree."""

from typing import Any

import numpy as np

from didact.core.jit.atomics import new_board, stop_all
from didact.core.threads import parallel_map, thread_count
from didact.core.typing import Array
from didact.engines.trees.growers.growth_loops import TREE_NODE, Queue, TreeNodes, Written, grow_below, write_preorder
from didact.engines.trees.growers.together_loops import BEGIN_ROUND, RANGE, ROUND_STATE, GrowthTeam, grow_shared
from didact.engines.trees.limits import Limits
from didact.engines.trees.rows.targets import Targets
from didact.engines.trees.tree import Tree
from didact.engines.trees.tree_loops import frozen
from didact.engines.trees.tuning import LARGE_NODE, PER_THREAD


def tree_threads(n: int, p: int) -> int:
    """The number of threads that growing a tree of n rows keeps busy."""
    return max(1, min(thread_count(), n * p // PER_THREAD))


def capacity(n: int, limits: Limits) -> int:
    """The most nodes that a tree of n rows can have under the limits."""
    leaves = max(1, n // max(limits.min_samples_leaf, 1))
    if limits.max_leaf_nodes:
        leaves = min(leaves, limits.max_leaf_nodes)
    if limits.max_depth < 31:
        leaves = min(leaves, 1 << limits.max_depth)
    return 2 * leaves + 1


def signs(p: int, monotone: Array | None) -> Array:
    """The monotone constraint of each feature: 1, −1 or 0."""
    return frozen(np.zeros(p, np.int8) if monotone is None else np.asarray(monotone, np.int8))


def set_words(sizes: Array, categorical: Array) -> int:
    """The number of 64-bit words that hold a set of categories of any column; 0 without categorical columns."""
    return -(-int(sizes[categorical].max(initial=0)) // 64)


def new_nodes(n: int, limits: Limits, channels: int, active: int, words: int, seed: int) -> TreeNodes:
    """Buffers for the nodes of a tree of n rows, with the root, in which all `active` features may vary."""
    room = capacity(n, limits)
    nodes = TreeNodes(
        np.empty(room, TREE_NODE),
        np.empty((room, channels)),
        np.empty((room, -(-active // 64)), np.uint64),
        np.zeros((room if words else 1, max(words, 1)), np.uint64),
    )
    root = nodes.at[0]
    root["start"], root["stop"], root["depth"], root["key"] = 0, n, 0, np.uint64(seed)
    root["left"], root["right"], root["low"], root["high"] = -1, -1, -np.inf, np.inf
    nodes.active[0] = ~np.uint64(0)
    return nodes


def grow_tree(
    scanners: list[Any], nears: list[Any], nodes: TreeNodes, targets: Targets, limits: Limits, small: int = 0
) -> Tree:
    """Grow a tree, each of the scanners on a thread of its own; small subtrees by those of `nears`."""
    room, count = len(nodes.at), np.zeros(1, np.int64)
    queues = [Queue(np.empty(room, np.int64), np.zeros(2, np.int64)) for _ in scanners]
    small = 0 if limits.max_leaf_nodes else small
    if len(scanners) == 1:
        node = 0
        while not grow_below(scanners[0], nears[0], nodes, node, queues[0], count, limits, small):
            node = -1
    else:
        team = new_team(len(scanners), nodes, scanners[0], count)

        def join(k: int) -> None:
            try:
                while not grow_shared(k, scanners[k], nears[k], nodes, queues[k], limits, small, team):
                    pass
            except BaseException:  # Ctrl-C between two calls; others may wait for this thread's task
                stop_all(team.board)
                raise

        parallel_map(join, range(len(scanners)))
    return finish_tree(nodes, int(count[0]), targets, scanners[0].table.categorical)


def new_team(threads: int, nodes: TreeNodes, scanner: Any, count: Array) -> GrowthTeam:
    """What the threads share, before the first step of a tree, which begins with the root."""
    room, p, most, now = len(nodes.at), len(scanner.order), 4 * threads, np.zeros(1, ROUND_STATE)
    count[0] = 1
    now["step"], now["tasks"], now["children"], now["threads"] = BEGIN_ROUND, 1, 1, threads
    now["large"] = max(LARGE_NODE, int(nodes.at[0]["stop"]) // (8 * threads))
    return GrowthTeam(
        board=new_board(1),
        now=now,
        numbered=count,
        pieces=np.zeros(2 * most * min(p, 2 * threads) + 1, RANGE),
        splits=np.zeros(most, np.int64),
        left=np.zeros(2 * most, np.int64),
        children=np.zeros(2 * most, np.int64),
        found=np.empty((2 * most, p, 4)),
        bits=np.zeros((2 * most, p, nodes.sets.shape[1]), np.uint64),
        waiting=np.empty(room, np.int64),
        subtrees=np.empty(room, np.int64),
        held=np.full(threads, -1),
    )


def finish_tree(nodes: TreeNodes, count: int, targets: Targets, categorical: Array) -> Tree:
    """The tree in preorder, with values and impurities."""
    whole, real = np.int32, np.float64
    kinds = (whole, whole, whole, real, np.uint8, whole, real, np.int64, real, np.int64)
    out = Written(np.empty((count, targets.channels)), *(np.empty(count, kind) for kind in kinds))
    sets = write_preorder(nodes, categorical, out)
    return Tree(
        children_left=out.left,
        children_right=out.right,
        feature=out.feature,
        threshold=out.threshold,
        missing_go_to_left=out.missing_left,
        category_set=out.category_set,
        category_sets=nodes.sets[out.sets[:sets]],
        impurity=out.impurity,
        n_node_samples=out.samples,
        weighted_n_node_samples=out.weight,
        value=targets.values(out.sums),
    )
