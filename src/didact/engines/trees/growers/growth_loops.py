"""The growth of a tree, written once: nodes that wait, their splits, their children, the tree in preorder.

What is particular to sorted columns, to codes and to random cuts is a `Scanner`, a noun with these methods::

    totals1(nodes, node, f)      sums, score, basis and weight of a node, the child of a split on feature f
    scan1(nodes, node, limits)   write the best split into the node's record; whether there is one
    divide1(nodes, node)         carry a node's split out on its rows; how many go left
    bring1(nodes, node, near)    copy a node's rows to another scanner of this kind, where they are side by side

and the fields `stat` (what rows add to a node) and `table` (with the signs of monotone constraints). Depth-first the
last node that came to wait is split next, so that few wait at a time; with a limit on the leaves it is the one of
largest gain. Each node has a random key of its own that follows from its path: the order of growth changes nothing.

Layout::

    nodes.at[k]   [ start stop | depth left right | feature cut missing_left | key | gain threshold | score … high ]
                  128 bytes a node, in the order of growth: its rows, a range of the scanner's rows, which a split
                  partitions; children, −1 while it is a leaf; the best split found, whether it is carried out or not;
                  score, basis, weight with W · impurity = basis − score; low, high: bounds of its value (monotone)
    nodes.sums    (nodes, channels)   what its rows add up to
    nodes.active  (nodes, ⌈p/64⌉)     bit f: feature f may vary in it; what is constant in a node is so below it
    nodes.sets    (nodes, words)      the categories that its split sends left
    queue.nodes   [ nodes that wait … → | free | ← small nodes, put off ]
                    many[0] of them              many[1] of them
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import dispatch, jit, jit_unmanaged, record_type
from didact.core.jit.atomics import atomic_add
from didact.core.typing import Array
from didact.engines.trees.limits import Limits
from didact.engines.trees.splits.coded_loops import ONE
from didact.engines.trees.splits.random_loops import child_state
from didact.engines.trees.splits.sorted_loops import NO_SCORE, SCORE_TIE, Needs

ROUNDING = 1e-11  # a gain of 0 may come out slightly negative, most of all with medians
PURE = 4e-15  # an impurity that is smaller, relative to its parts, is rounding
UNVARYING = -2  # the cut of a feature that does not vary in a node
NO_NODE: Any = np.int64(-1)
NO_LIMIT_OF_ROWS: Any = np.int64(0)
PATIENT_WORK: Any = np.int64(1 << 30)  # codes that a thread looks at before it lets the interpreter look for Ctrl-C

TREE_NODE = record_type(
    [(name, np.int64) for name in ("start", "stop", "depth", "left", "right", "feature", "cut", "missing_left")]
    + [("key", np.uint64)]
    + [(name, np.float64) for name in ("gain", "threshold", "score", "basis", "weight", "low", "high")]
)

totals1 = dispatch("totals1", inline=True)
scan1 = dispatch("scan1", inline=True)
divide1 = dispatch("divide1", inline=True)
bring1 = dispatch("bring1")
value1 = dispatch("value1")


class TreeNodes(NamedTuple):
    """The nodes of a growing tree, with room for all of them."""

    at: Array  # TREE_NODE
    sums: Array
    active: Array  # uint64
    sets: Array  # uint64


class Queue(NamedTuple):
    """The nodes that one thread has still to split."""

    nodes: Array  # int64
    many: Array  # int64 (2): how many wait in front, how many are put off at the back


@jit_unmanaged
def is_pure(base: float, score: float) -> bool:
    """Whether no score can be better: nothing is left of the impurity but rounding."""
    return base - score <= PURE * (abs(base) + abs(score))


@jit_unmanaged
def is_final(nodes: TreeNodes, node: int, limits: Limits) -> bool:
    """Whether a node stays a leaf whatever its features are: limits, or no impurity that is left."""
    here = nodes.at[node]
    n = here.stop - here.start
    if here.depth >= limits.max_depth or n < limits.min_samples_split or n < 2 * limits.min_samples_leaf:
        return True
    return here.weight < 2.0 * limits.min_weight_leaf or is_pure(here.basis, here.score)


@jit_unmanaged
def node_tie(nodes: TreeNodes, node: int) -> float:
    """Scores of a node that differ by less count as equal."""
    return SCORE_TIE * (abs(nodes.at[node].basis) + abs(nodes.at[node].score))


@jit_unmanaged
def node_bounds(nodes: TreeNodes, node: int, sign: int, limits: Limits) -> Needs:
    """What the children of a node must have, if it is split on a feature with this monotone sign."""
    here = nodes.at[node]
    return Needs(
        min_samples=limits.min_samples_leaf,
        min_weight=limits.min_weight_leaf,
        sign=int(sign),
        low=here.low,
        high=here.high,
    )


@jit_unmanaged
def varies(active: Array, f: int) -> bool:
    """Whether a feature may vary in a node."""
    return (active[f >> 6] >> np.uint64(f & 63)) & ONE != 0


@jit_unmanaged
def record_split(nodes: TreeNodes, node: int, found: Array, bits: Array, order: Array, limits: Limits) -> bool:
    """Write the best of the splits that were found for features, in this order, into a node; whether it will do.

    Of equal scores the first counts. Features that were found constant stop being active.
    """
    here, tie, best, f = nodes.at[node], node_tie(nodes, node), NO_SCORE, np.int64(-1)
    for k in range(order.shape[0]):
        g = order[k]
        if found[g, 1] == UNVARYING:
            nodes.active[node, g >> 6] &= ~(ONE << np.uint64(g & 63))
        elif found[g, 0] > best + tie:
            best, f = found[g, 0], g
    if f < 0 or best - here.score < limits.min_gain - ROUNDING * (abs(here.basis) + abs(here.score)):
        return False
    here.gain, here.feature, here.cut = best - here.score, f, np.int64(found[f, 1])
    here.missing_left, here.threshold = np.int64(found[f, 2]), found[f, 3]
    if nodes.sets.shape[0] > 1:
        for j in range(bits.shape[1]):
            nodes.sets[node, j] = bits[f, j]
    return True


@jit_unmanaged
def new_child(nodes: TreeNodes, node: int, child: int, k: int, left: int) -> None:
    """A leaf below a node whose first `left` rows go left: the left child if k is 0, else the right one."""
    here, new = nodes.at[node], nodes.at[child]
    if k == 0:
        here.left, new.start, new.stop = child, here.start, here.start + left
    else:
        here.right, new.start, new.stop = child, here.start + left, here.stop
    new.left, new.right, new.depth, new.low, new.high = -1, -1, here.depth + 1, here.low, here.high
    new.key = child_state(here.key, k)
    for j in range(nodes.active.shape[1]):
        nodes.active[child, j] = nodes.active[node, j]


@jit_unmanaged
def bound_children(nodes: TreeNodes, node: int, scanner: Any) -> None:
    """Keep the means below two siblings apart, if they may only rise or fall with the feature of their parent."""
    here = nodes.at[node]
    sign = scanner.table.monotone[here.feature]
    if sign != 0:
        middle = 0.5 * (value1(scanner.stat, nodes.sums[here.left]) + value1(scanner.stat, nodes.sums[here.right]))
        rising, falling = (here.left, here.right) if sign > 0 else (here.right, here.left)
        nodes.at[rising].high = min(nodes.at[rising].high, middle)
        nodes.at[falling].low = max(nodes.at[falling].low, middle)


@jit_unmanaged
def next_place(nodes: TreeNodes, waiting: Array, many: int, best_first: bool) -> int:
    """Which of the waiting nodes is split next: the last, or that of largest gain, of equal gains the older one."""
    place = many - 1
    if best_first:
        for k in range(many - 1, -1, -1):
            if nodes.at[waiting[k]].gain >= nodes.at[waiting[place]].gain:
                place = k
    return place


@jit_unmanaged(forceinline=True)
def split_node(scanner: Any, nodes: TreeNodes, node: int, count: Array) -> int:
    """Carry out the split of a node; the number of its left child, after which comes the right one."""
    first, left = atomic_add(count, 0, 2), divide1(scanner, nodes, node)
    for k in range(2):
        new_child(nodes, node, first + k, k, left)
        totals1(scanner, nodes, first + k, nodes.at[node].feature)
    bound_children(nodes, node, scanner)
    return first


@jit_unmanaged
def grow_waiting(scanner: Any, nodes: TreeNodes, node: int, queue: Queue, count: Array, limits: Limits, small: int,
                 work: int) -> int:  # fmt: skip
    """Scan a node, if it is not −1, and split nodes until none waits or the work is done; how much work is left.

    Nodes of at most `small` rows are put off. The number of nodes, `count`, is shared: each split takes the next two.
    All is in one loop, so that a scanner's methods can be compiled into it: a call hands over all fields of a scanner.
    """
    waiting, many, later = queue.nodes, queue.many[0], queue.many[1]
    best_first, p = limits.max_leaf_nodes > 0, scanner.table.monotone.shape[0]
    first, after = node, node + (node >= 0)
    while True:
        for child in range(after - 1, first - 1, -1):
            n = nodes.at[child].stop - nodes.at[child].start
            if n > small:
                work -= n * p
                if scan1(scanner, nodes, child, limits):
                    waiting[many] = child
                    many += 1
            elif not is_final(nodes, child, limits):
                later += 1
                waiting[waiting.shape[0] - later] = child
        if many == 0 or work <= 0 or (best_first and count[0] // 2 + 1 >= limits.max_leaf_nodes):
            break
        place, many = next_place(nodes, waiting, many, best_first), many - 1
        node = waiting[place]
        waiting[place] = waiting[many]
        first = split_node(scanner, nodes, node, count)
        after = first + 2
    queue.many[0], queue.many[1] = many, later
    return work


@jit_unmanaged
def grow_below(scanner: Any, near: Any, nodes: TreeNodes, node: int, queue: Queue, count: Array, limits: Limits,
               small: int) -> bool:  # fmt: skip
    """Grow what is below a node, or go on with it if node is −1; False: call again, there is more to do.

    Subtrees of at most `small` rows are grown by `near`, to which their rows are copied.
    """
    if count[0] == 0:  # the root
        count[0] = 1
        totals1(scanner, nodes, node, 0)
    work = grow_waiting(scanner, nodes, node, queue, count, limits, small, PATIENT_WORK)
    while queue.many[1] > 0 and work > 0:
        child = queue.nodes[queue.nodes.shape[0] - queue.many[1]]
        queue.many[1] -= 1
        bring1(scanner, nodes, child, near)
        work -= PATIENT_WORK - grow_waiting(near, nodes, child, queue, count, limits, NO_LIMIT_OF_ROWS, PATIENT_WORK)
    return bool(work > 0)


class Written(NamedTuple):
    """The arrays of a tree in preorder."""

    sums: Array
    left: Array
    right: Array
    feature: Array
    threshold: Array
    missing_left: Array
    category_set: Array
    impurity: Array
    samples: Array
    weight: Array
    sets: Array  # of each set of categories, the node that has it


@jit
def write_preorder(nodes: TreeNodes, categorical: Array, out: Written) -> int:
    """Write the nodes in the order root, left subtree, right subtree; the number of sets of categories."""
    stack, above, many, sets = np.empty(out.left.shape[0], np.int64), np.empty(out.left.shape[0], np.int64), 1, 0
    stack[0], above[0] = 0, -1
    for k in range(out.left.shape[0]):
        many -= 1
        node, parent = stack[many], above[many]  # the parent's new number, for a right child
        here = nodes.at[node]
        if parent >= 0:
            out.right[parent] = k
        out.left[k], out.right[k], out.feature[k], out.threshold[k] = -1, -1, -2, -2.0
        out.missing_left[k], out.category_set[k] = 0, -1
        out.impurity[k] = 0.0 if is_pure(here.basis, here.score) else (here.basis - here.score) / here.weight
        out.samples[k], out.weight[k] = here.stop - here.start, here.weight
        for j in range(out.sums.shape[1]):
            out.sums[k, j] = nodes.sums[node, j]
        if here.left >= 0:
            out.left[k], out.feature[k], out.missing_left[k] = k + 1, here.feature, here.missing_left
            out.threshold[k] = here.threshold
            if categorical[here.feature]:
                out.category_set[k], out.threshold[k], out.sets[sets] = sets, np.nan, node
                sets += 1
            stack[many], stack[many + 1] = here.right, here.left
            above[many], above[many + 1] = k, -1
            many += 2
    return sets


def warm() -> None:
    """Compile growth from sorted columns for one target or two classes, and for several classes."""
    from didact.engines.trees.growers.exact import grow_exact, presort
    from didact.engines.trees.rows.targets import label_targets
    from didact.parts.criteria.impurity import Gini

    table = presort(np.arange(4.0)[:, None])
    for classes in (2, 3):
        grow_exact(table, label_targets(np.arange(4) % classes, classes, None, Gini()), Limits())
