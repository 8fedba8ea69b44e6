"""Growing one tree of best cuts from codes, on one thread or on several.

With several, nodes of many rows are scanned column by column, shared among the threads, and then each subtree is a
task. A node's draws follow from its path and nodes are numbered anew at the end: neither threads nor the order in which
they come to work change a tree.
"""

from typing import Any

import numpy as np

from didact.core.threads import parallel_map, thread_count
from didact.core.typing import Array
from didact.engines.trees.growers.binned_loops import Bench, Coded, Desk, grow_binned, scan_node, split_best
from didact.engines.trees.growers.exact import capacity, empty_nodes, finished, open_nodes
from didact.engines.trees.growers.exact_loops import SET, START, STOP, Nodes, assess
from didact.engines.trees.limits import Limits
from didact.engines.trees.rows.targets import Targets, few_rows
from didact.engines.trees.splits.median_loops import Absolute
from didact.engines.trees.tree import Tree

Part = tuple[int, Array]  # a node, and which features may vary in it

MANY = 20_000  # rows from which one tree is grown on several threads
LARGE = 1 << 14  # rows from which threads may share the columns of a node
CACHE = 1 << 18  # bytes of codes that stay near a core
COMMON = 0.5  # share of the rows from which one code of a column is common


def grow_from_bins(table: Coded, targets: Targets, limits: Limits, seed: int = 0) -> Tree:
    """Grow one tree; rows of weight 0 are left out. All draws follow from the seed."""
    alone = table.codes.shape[1] < MANY or limits.max_leaf_nodes > 0
    alone |= isinstance(targets.stat, Absolute)  # which has buffers of its own
    return grow_on(1 if alone else thread_count(), table, targets, limits, seed)


def grow_on(threads: int, table: Coded, targets: Targets, limits: Limits, seed: int = 0) -> Tree:
    """Grow a tree on so many threads."""
    p, n = table.codes.shape
    rows = np.arange(n, dtype=np.int32) if targets.keep is None else np.flatnonzero(targets.keep).astype(np.int32)
    nodes = empty_nodes(capacity(len(rows), limits), targets.channels, set_words(table), seed)
    nodes.links[0, STOP] = len(rows)
    common = common_codes(table, targets)
    benches = [make_bench(table, targets, rows, len(rows), common) for _ in range(threads)]
    desks = [make_desk(table, targets, limits, common) for _ in range(threads)]
    if threads == 1:
        opened = open_nodes(p, set_words(table))
        count = grow_binned(table, nodes, opened, targets.stat, limits, benches[0], desks[0])
    else:
        count, parts = grow_top(table, nodes, targets.stat, limits, benches)
        count = grow_parts(table, nodes, count, parts, targets, limits, list(zip(benches, desks, strict=True)))
    return finished(nodes, count, targets)


def set_words(table: Coded) -> int:
    """Words of 64 bits that hold a set of categories; 0 if there are none."""
    return -(-int(table.n_bins[table.categorical].max(initial=0)) // 64)


def common_codes(table: Coded, targets: Targets) -> Array:
    """The code that most rows have in each column, if sums are whole numbers: a difference has no rounding then."""
    codes = table.codes[:, :: max(table.codes.shape[1] // 2048, 1)]
    found = np.full(len(codes), -1)
    for f in range(len(codes) if targets.whole else 0):
        counts = np.bincount(codes[f])
        if counts.max() >= COMMON * counts.sum():
            found[f] = counts.argmax()
    return found


def make_bench(table: Coded, targets: Targets, rows: Array, size: int, common: Array) -> Bench:
    """Buffers for nodes of up to `size` of these rows."""
    top, p, channels = int(table.n_bins.max()), len(table.n_bins), targets.channels
    return Bench(
        rows,
        np.empty(size, np.int32),
        np.empty(size, np.int64),
        np.empty((2, size)),
        np.empty(channels),
        np.empty(channels + 1, np.int64),
        np.zeros((top + 3, channels)),
        np.zeros(top + 1, np.int64),
        np.zeros(top // 64 + 1, np.uint64),
        np.empty(p, np.int64),
        np.empty(p, np.uint8),
        np.empty((p, 4)),
        np.zeros((p, max(set_words(table), 1)), np.uint64),
        common,
    )


def make_desk(table: Coded, targets: Targets, limits: Limits, common: Array) -> Desk:
    """Room for subtrees of so few rows that their codes fit into a core's own cache."""
    p, n = table.codes.shape
    size = min(max(CACHE // (p * table.codes.itemsize), 256), n)
    if 0 < limits.max_features < p // 8:  # most columns would be brought in vain
        size = 0
    near = table._replace(codes=np.empty((p, size), table.codes.dtype))
    bench = make_bench(table, targets, np.empty(size, np.int32), size, common)
    return Desk(near, few_rows(targets.stat, size), bench, open_nodes(p, set_words(table)), size)


def grow_top(table: Coded, nodes: Nodes, stat: Any, limits: Limits, benches: list[Bench]) -> tuple[int, list[Part]]:
    """Split the nodes of many rows on all threads; the number of nodes, and those from which to go on."""
    first, threads, p = benches[0], len(benches), len(table.codes)
    shared = [b._replace(order=first.order, found=first.found, bits=first.bits) for b in benches]
    assess(nodes, 0, first.rows, stat)
    large, opened = max(LARGE, len(first.rows) // (4 * threads)), open_nodes(p, set_words(table))
    waiting: list[Part] = [(0, np.ones(p, np.uint8))]
    parts, count = [], 1
    while waiting:
        node, active = waiting.pop()
        if nodes.links[node, STOP] - nodes.links[node, START] < large:
            parts.append((node, active))
            continue
        opened.active[0] = active

        def share(k: int, node: int = node) -> int:
            return scan_node(table, nodes, node, opened.active[0], stat, limits, shared[k], k, threads)

        many = parallel_map(share, range(threads))[0]
        if split_best(table, nodes, node, count, opened, stat, limits, first, many):
            waiting += [(count, first.active.copy()), (count + 1, first.active.copy())]
            count += 2
    return count, parts


def grow_parts(
    table: Coded, nodes: Nodes, count: int, parts: list[Part], targets: Targets, limits: Limits,
    places: list[tuple[Bench, Desk]],
) -> int:  # fmt: skip
    """Grow the subtrees, the largest first, and put them in; the number of nodes."""
    words, sizes = (
        set_words(table),
        {node: int(nodes.links[node, STOP] - nodes.links[node, START]) for node, _ in parts},
    )
    parts = sorted(parts, key=lambda part: -sizes[part[0]])

    def grow(part: Part) -> Nodes:
        own = empty_nodes(capacity(sizes[part[0]], limits), targets.channels, words, 0)
        opened = open_nodes(len(table.codes), words)
        for mine, whole in zip(own[:6], nodes, strict=False):
            mine[0] = whole[part[0]]
        opened.active[0] = part[1]
        bench, desk = places.pop()
        try:
            many = grow_binned(table, own, opened, targets.stat, limits, bench, desk)
        finally:
            places.append((bench, desk))
        return Nodes(*(mine[:many] for mine in own))

    for (node, _), own in zip(parts, parallel_map(grow, parts), strict=True):
        attach(nodes, node, own, count, words > 0)
        count += len(own.links) - 1
    return count


def attach(nodes: Nodes, node: int, own: Nodes, count: int, sets: bool) -> None:
    """Put a subtree in the place of a node: its root there, the others after the nodes so far."""
    number = np.arange(count - 1, count - 1 + len(own.links))
    number[0] = node
    links = own.links[:, :2]
    links[links >= 0] = number[links[links >= 0]]
    own.links[:, SET] = np.where(own.links[:, SET] >= 0, number, -1)
    for mine, whole in zip(own if sets else own[:6], nodes, strict=False):
        whole[number] = mine
