"""Compiled clusters of dense rows over a k-d tree: who is a core, which cores hang together, who lies at their border.

A node is *whole* if the diagonal of its box is no longer than the radius: all its rows are neighbours of each other. If
their weight is enough, all of them are cores, without a single distance, and its cores are one set; between two whole
nodes the first pair within the radius settles the matter, and nodes whose sets are one already are passed over. So
crowded rows cost less than sparse ones, and no list of neighbours is ever made. Totals of boxes bound those of rows to
the last bit (`walk_loops`), so that the answer is that of comparing all pairs.

A pass is made of pieces, the subtrees of one level. Threads take them in turn and share nothing but the forest.

Layout: the tree as in `walk_loops`; places are the rows in its order::

    places                  [ leaf 0 | leaf 1 | leaf 2 | leaf 3 ]   a node has the places start … stop − 1
                            [ piece 0         | piece 1         ]   subtrees that threads take, here of level 1
    start, stop, whole, lead (nodes,)   a node's places; 1 if it is whole, else 0; the place of one of its cores, or -1
    core (n,)               1 at places of cores, else 0
    weight (n,) or (0,)     weights by place; none: ones
    parent, claims (n,)     the forest of the cores (`union_loops`), by place; the rank is the row number
    found (n,)              by row number: the lowest row number of a core in its cluster, or -1
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import read_only
from didact.core.jit import dispatch, jit, jit_unmanaged
from didact.core.jit.atomics import atomic_add
from didact.core.typing import Array
from didact.engines.neighbors.dense.union_loops import find_root, unite
from didact.engines.neighbors.partitions.walk_loops import add_columns, box_total
from didact.parts.distances import Canberra, Chebyshev, Euclidean, Hamming, Manhattan, Minkowski

step1 = dispatch("step1")
expand1 = dispatch("expand1")
reduce1 = dispatch("reduce1")

MARK_NODES, MARK_CORES, GATHER_GROUPS, JOIN_GROUPS, LABEL_ROWS = range(5)  # the passes


class Crowd(NamedTuple):
    """The tree, and what is known of its nodes and rows."""

    rows: Array  # (n, p) float64
    order: Array
    points: Array
    low: Array
    high: Array
    start: Array
    stop: Array
    whole: Array
    lead: Array
    weight: Array
    core: Array
    parent: Array
    claims: Array
    found: Array


@jit_unmanaged
def far_total(noun: Any, q: Array, low: Array, high: Array) -> float:
    """The total of the corner of a box that is farthest from q."""
    total = 0.0
    for j in range(q.shape[0]):
        total = max(step1(noun, total, q[j], low[j], j), step1(noun, total, q[j], high[j], j))
    return total


@jit_unmanaged
def gap_total(noun: Any, crowd: Crowd, a: int, b: int) -> float:
    """The total between the nearest points of two boxes."""
    total = 0.0
    for j in range(crowd.low.shape[1]):
        x = max(crowd.low[a, j], min(crowd.high[a, j], crowd.low[b, j]))
        total = step1(noun, total, x, min(max(x, crowd.low[b, j]), crowd.high[b, j]), j)
    return total


@jit_unmanaged
def weight_of(crowd: Crowd, start: int, stop: int) -> float:
    """The weight of the rows of some places."""
    if crowd.weight.shape[0] == 0:
        return 1.0 * (stop - start)
    total = 0.0
    for t in range(start, stop):
        total += crowd.weight[t]
    return total


@jit_unmanaged
def read_row(crowd: Crowd, place: int, q: Array) -> None:
    """Copy the row of a place."""
    row = crowd.order[place]
    for j in range(q.shape[0]):
        q[j] = crowd.rows[row, j]


@jit_unmanaged
def set_leaf_totals(noun: Any, crowd: Crowd, q: Array, leaf: int, totals: Array) -> int:
    """The totals of the rows of a leaf from q; their number."""
    p, start, stop = q.shape[0], crowd.start[leaf], crowd.stop[leaf]
    add_columns(noun, q, crowd.points[start * p : stop * p], stop - start, totals)
    return stop - start


@jit_unmanaged
def weight_near(noun: Any, crowd: Crowd, q: Array, radius: float, limit: float, need: float, stack: Array,
                totals: Array) -> float:  # fmt: skip
    """The weight of the rows within the radius of q, or of so many of them that it is at least `need`."""
    leaves = crowd.low.shape[0] // 2
    total = 0.0
    stack[0], depth = 0, 1
    while depth > 0 and total < need:
        depth -= 1
        node = stack[depth]
        if expand1(noun, far_total(noun, q, crowd.low[node], crowd.high[node])) <= radius:
            total += weight_of(crowd, crowd.start[node], crowd.stop[node])
        elif node < leaves:  # the nearer child first, so that enough is found soon
            left = 2 * node + 1
            a = box_total(noun, q, crowd.low[left], crowd.high[left])
            b = box_total(noun, q, crowd.low[left + 1], crowd.high[left + 1])
            far = left if a > b else left + 1
            if max(a, b) <= limit:
                stack[depth] = far
                depth += 1
            if min(a, b) <= limit:
                stack[depth] = 2 * left + 1 - far
                depth += 1
        else:
            width = set_leaf_totals(noun, crowd, q, node, totals)
            for i in range(width):
                if totals[i] <= limit and expand1(noun, totals[i]) <= radius:
                    total += 1.0 if crowd.weight.shape[0] == 0 else crowd.weight[crowd.start[node] + i]
    return total


@jit_unmanaged
def count_group(noun: Any, crowd: Crowd, node: int, radius: float, limit: float, need: float, q: Array, stack: Array,
                totals: Array) -> None:  # fmt: skip
    """Find the cores of a leaf, or of a whole node that has enough weight: there all are."""
    start, stop = crowd.start[node], crowd.stop[node]
    enough = crowd.whole[node] == 1 and weight_of(crowd, start, stop) >= need
    for t in range(start, stop):
        if not enough:
            read_row(crowd, t, q)
        if enough or weight_near(noun, crowd, q, radius, limit, need, stack, totals) >= need:
            crowd.core[t] = 1


@jit_unmanaged
def gather_group(noun: Any, crowd: Crowd, node: int, radius: float, limit: float, q: Array, totals: Array) -> None:
    """Join the cores of a leaf or of a whole node; no other thread is at them."""
    start, stop = crowd.start[node], crowd.stop[node]
    if crowd.whole[node] == 1:
        first = -1
        for t in range(start, stop):
            if crowd.core[t] == 1 and (first < 0 or crowd.order[t] < crowd.order[first]):
                first = t
        for t in range(start, stop):
            if crowd.core[t] == 1:
                crowd.parent[t] = first
        return
    for t in range(start, stop):
        if crowd.core[t] == 1:
            read_row(crowd, t, q)
            set_leaf_totals(noun, crowd, q, node, totals)
            for u in range(t + 1, stop):
                if crowd.core[u] == 1 and totals[u - start] <= limit and expand1(noun, totals[u - start]) <= radius:
                    unite(crowd.parent, crowd.claims, crowd.order, t, u)


@jit_unmanaged
def same_set(crowd: Crowd, a: int, b: int) -> bool:
    """Whether two places are known to be of one set."""
    return find_root(crowd.parent, a) == find_root(crowd.parent, b)


@jit_unmanaged
def join_leaf(noun: Any, crowd: Crowd, group: int, leaf: int, radius: float, limit: float, q: Array,
              totals: Array) -> None:  # fmt: skip
    """Join the cores of a group with those of a leaf."""
    whole, start = crowd.whole[leaf] == 1, crowd.start[leaf]
    for t in range(crowd.start[group], crowd.stop[group]):
        if crowd.core[t] == 0:
            continue
        read_row(crowd, t, q)
        if box_total(noun, q, crowd.low[leaf], crowd.high[leaf]) > limit:
            continue
        if whole and same_set(crowd, t, crowd.lead[leaf]):
            continue
        width = set_leaf_totals(noun, crowd, q, leaf, totals)
        for i in range(width):
            if crowd.core[start + i] == 1 and totals[i] <= limit and expand1(noun, totals[i]) <= radius:
                unite(crowd.parent, crowd.claims, crowd.order, t, start + i)
                if whole and crowd.whole[group] == 1:
                    return
                if whole:
                    break


@jit_unmanaged
def join_group(noun: Any, crowd: Crowd, group: int, radius: float, limit: float, q: Array, stack: Array,
               totals: Array) -> None:  # fmt: skip
    """Join the cores of a group with those at later places."""
    leaves, last = crowd.low.shape[0] // 2, crowd.stop[group]
    if crowd.lead[group] < 0:
        return
    stack[0], depth = 0, 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        if crowd.lead[node] < 0 or crowd.stop[node] <= last or gap_total(noun, crowd, group, node) > limit:
            continue
        if crowd.whole[group] * crowd.whole[node] == 1 and same_set(crowd, crowd.lead[group], crowd.lead[node]):
            continue
        if node < leaves:
            stack[depth], stack[depth + 1] = 2 * node + 2, 2 * node + 1
            depth += 2
        else:
            join_leaf(noun, crowd, group, node, radius, limit, q, totals)


@jit_unmanaged
def border_of(noun: Any, crowd: Crowd, q: Array, radius: float, limit: float, stack: Array, totals: Array) -> int:
    """The lowest row number of a set of which a core is within the radius of q, or -1."""
    leaves, n = crowd.low.shape[0] // 2, crowd.order.shape[0]
    best = n
    stack[0], depth = 0, 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        if crowd.lead[node] < 0 or box_total(noun, q, crowd.low[node], crowd.high[node]) > limit:
            continue
        if crowd.whole[node] == 1 and crowd.order[find_root(crowd.parent, crowd.lead[node])] >= best:
            continue
        if node < leaves:
            stack[depth], stack[depth + 1] = 2 * node + 2, 2 * node + 1
            depth += 2
            continue
        width = set_leaf_totals(noun, crowd, q, node, totals)
        for i in range(width):
            place = crowd.start[node] + i
            if crowd.core[place] == 1 and totals[i] <= limit and expand1(noun, totals[i]) <= radius:
                best = min(best, crowd.order[find_root(crowd.parent, place)])
    return best if best < n else -1


@jit_unmanaged
def label_group(noun: Any, crowd: Crowd, node: int, radius: float, limit: float, q: Array, stack: Array,
                totals: Array) -> None:  # fmt: skip
    """Write for each row of a group what its cluster is found by."""
    for t in range(crowd.start[node], crowd.stop[node]):
        if crowd.core[t] == 1:
            crowd.found[crowd.order[t]] = crowd.order[find_root(crowd.parent, t)]
        else:
            read_row(crowd, t, q)
            crowd.found[crowd.order[t]] = border_of(noun, crowd, q, radius, limit, stack, totals)


@jit_unmanaged
def mark_node(noun: Any, crowd: Crowd, node: int, radius: float, q: Array) -> None:
    """Say whether a node is whole."""
    for j in range(q.shape[0]):
        q[j] = crowd.low[node, j]
    if expand1(noun, far_total(noun, q, crowd.low[node], crowd.high[node])) <= radius:
        crowd.whole[node] = 1


@jit_unmanaged
def lead_nodes(crowd: Crowd) -> None:
    """Find one core of each node, from the leaves upwards."""
    leaves = crowd.low.shape[0] // 2
    for node in range(crowd.low.shape[0] - 1, -1, -1):
        crowd.lead[node] = -1
        if node < leaves:
            left = crowd.lead[2 * node + 1]
            crowd.lead[node] = left if left >= 0 else crowd.lead[2 * node + 2]
            continue
        for t in range(crowd.start[node], crowd.stop[node]):
            if crowd.core[t] == 1:
                crowd.lead[node] = t
                break


@jit
def crowd_pass(noun: Any, crowd: Crowd, radius: float, need: float, kind: int, pieces: int, turn: Array) -> None:
    """Work on subtrees, one after the other, until none is left: the nodes numbered pieces - 1 and following."""
    p, nodes = crowd.rows.shape[1], crowd.low.shape[0]
    leaves, limit = nodes // 2, reduce1(noun, radius)
    q, totals = np.empty(p), np.empty(np.max(crowd.stop[leaves:] - crowd.start[leaves:]))
    own, stack = np.empty(128, np.int64), np.empty(128, np.int64)
    done = 0
    while done < turn[1]:
        piece = atomic_add(turn, 0, 1)
        if piece >= pieces:
            return
        done += 1
        own[0], depth = pieces - 1 + piece, 1
        while depth > 0:
            depth -= 1
            node = own[depth]
            if kind == MARK_NODES:  # of the pieces alone: there, cores of whole nodes are joined before others are met
                mark_node(noun, crowd, node, radius, q)
            group = node >= leaves or (crowd.whole[node] == 1 and kind != MARK_NODES)
            if group and kind == MARK_CORES and node < leaves:  # whole, but perhaps not enough
                group = weight_of(crowd, crowd.start[node], crowd.stop[node]) >= need
            if not group:
                own[depth], own[depth + 1] = 2 * node + 2, 2 * node + 1
                depth += 2
            elif kind == MARK_CORES:
                count_group(noun, crowd, node, radius, limit, need, q, stack, totals)
            elif kind == GATHER_GROUPS:
                gather_group(noun, crowd, node, radius, limit, q, totals)
            elif kind == JOIN_GROUPS:
                join_group(noun, crowd, node, radius, limit, q, stack, totals)
            elif kind == LABEL_ROWS:
                label_group(noun, crowd, node, radius, limit, q, stack, totals)


def warm() -> None:
    """Compile for every distance that is summed column by column."""
    one, long, flag = np.zeros((1, 2)), np.zeros(1, np.int64), np.zeros(1, np.int8)
    tree = {"order": read_only(long), "points": read_only(np.zeros(2)), "low": read_only(one), "high": read_only(one)}
    for noun in (Euclidean(), Manhattan(), Chebyshev(), Minkowski(3.0), Canberra(), Hamming(np.ones(2), 2.0)):
        crowd = Crowd(
            rows=one, **tree, start=long, stop=long + 1, whole=flag.copy(),
            lead=long.copy(), weight=np.zeros(0), core=flag.copy(), parent=long.copy(), claims=long.copy(),
            found=long.copy(),
        )  # fmt: skip
        lead_nodes(crowd)
        crowd_pass(noun, crowd, 1.0, 1.0, MARK_CORES, 1, np.array([0, 1]))
