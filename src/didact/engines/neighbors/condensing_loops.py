"""Compiled passes of Hart's condensing: every row stores its distances to the nearest kept rows.

Keeping one more row lowers these distances for some of the rows. The rows are stored in k-d trees whose nodes know the
largest distance within them: a node whose box is farther from the new row than that is pruned. With few columns a new
row is therefore compared with little more than the rows whose nearest kept row it becomes, n log n comparisons in all;
with many columns it is compared with all rows (n p operations). Rounded sums are monotone, so a box never seems farther
away than a row in it, and the distances are the same to the last bit as without trees.

Layout, for n rows of p columns. Rows are numbered tree by tree and leaf by leaf (`order` holds these numbers); the
table is stored by columns, so that a sweep over a leaf runs along contiguous values::

    columns (p, n)      [ tree 0: leaf | leaf | … | tree 1: leaf | … ]      one tree per class if k = 1, else one tree
    node i              [ rows start[i] … stop[i] − 1 ], box low[i] … high[i], children child[i] and child[i] + 1
    own, other (n,)     k = 1: squared distance of each row to the nearest kept row of its own class, of all others
    near[i] (k,)        k > 1: [ d² ≤ d² ≤ … ]   to the nearest kept rows
    votes[i] (k,)              [ c  | c  | … ]   and their classes (−1: none yet)
    far (2, nodes)      k = 1: the largest `own` and the largest `other` in each node, the bound for pruning
    far (nodes,)        k > 1: the largest near[:, k − 1] in each node
    strip, stack        squared distances of one leaf's rows from the new row; nodes still to be visited
"""

from typing import NamedTuple

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.typing import Array
from didact.engines.neighbors.tuning import CONDENSING_LEAF

STACK_NODES = 64


class Forest(NamedTuple):
    """k-d trees, one for each group of rows: the columns in leaf order, and the range and box of each node.

    Node i has the children child[i] and child[i] + 1; child[i] is −1 for a leaf.
    """

    columns: Array  # (p, n)
    roots: Array  # (groups,)
    start: Array  # (nodes,)
    stop: Array
    child: Array
    parent: Array  # -1 for roots
    low: Array  # (nodes, p)
    high: Array


@jit_unmanaged
def sweep(columns: Array, new: int, begin: int, stop: int, strip: Array) -> None:
    """Squared distances of rows begin … stop − 1 from row `new`; infinite for the row itself."""
    m = stop - begin
    for r in range(m):
        strip[r] = 0.0
    for j in range(columns.shape[0]):
        x = columns[j, new]
        column = columns[j, begin:stop]
        for r in range(m):
            d = column[r] - x
            strip[r] += d * d
    if begin <= new < stop:
        strip[new - begin] = np.inf


@jit_unmanaged(fastmath={"nnan", "nsz", "reassoc"})
def lower_strip(nearest: Array, strip: Array) -> float:
    """`nearest` becomes the smaller of itself and the strip; the largest of these numbers (none of them is NaN)."""
    most = 0.0
    for r in range(nearest.shape[0]):
        value = strip[r] if strip[r] < nearest[r] else nearest[r]
        nearest[r] = value
        most = value if value > most else most
    return most


@jit_unmanaged
def row_reaches(forest: Forest, node: int, new: int, far: float) -> bool:
    """Whether row `new` is nearer than `far` (squared) to a node's box; the terms are summed as in a sweep."""
    total = 0.0
    for j in range(forest.columns.shape[0]):
        x = forest.columns[j, new]
        gap = max(forest.low[node, j] - x, x - forest.high[node, j], 0.0)
        total += gap * gap
    return total < far


@jit_unmanaged
def settle_leaf(forest: Forest, far: Array, leaf: int, value: float) -> None:
    """far[leaf] becomes a smaller value, and so do those of the nodes above as far as it was theirs."""
    far[leaf] = value
    node = forest.parent[leaf]
    while node >= 0:
        value = max(far[forest.child[node]], far[forest.child[node] + 1])
        if value >= far[node]:
            break
        far[node] = value
        node = forest.parent[node]


@jit_unmanaged
def next_leaf(forest: Forest, new: int, far: Array, stack: Array, top: int) -> tuple[int, int]:
    """The next leaf in which row `new` may lower a distance (−1: none), and the height of the remaining stack."""
    while top > 0:
        top -= 1
        node = stack[top]
        if row_reaches(forest, node, new, far[node]):
            if forest.child[node] < 0:
                return node, top
            stack[top], stack[top + 1] = forest.child[node], forest.child[node] + 1
            top += 2
    return -1, 0


@jit_unmanaged
def lower(forest: Forest, root: int, new: int, nearest: Array, far: Array, strip: Array, stack: Array) -> None:
    """Update the squared distances of a tree's rows from their nearest kept row after row `new` is kept."""
    stack[0] = root
    leaf, top = next_leaf(forest, new, far, stack, 1)
    while leaf >= 0:
        begin, stop = forest.start[leaf], forest.stop[leaf]
        sweep(forest.columns, new, begin, stop, strip)
        most = lower_strip(nearest[begin:stop], strip)
        if most < far[leaf]:
            settle_leaf(forest, far, leaf, most)
        leaf, top = next_leaf(forest, new, far, stack, top)


@jit_unmanaged
def keep_one(
    forest: Forest, c: int, new: int, own: Array, other: Array, far: Array, strip: Array, stack: Array
) -> None:
    """Keep row `new`, of class c: update `own` in the tree of its class, and `other` in all other trees."""
    for k in range(forest.roots.shape[0]):
        if k == c:
            lower(forest, forest.roots[k], new, own, far[0], strip, stack)
        else:
            lower(forest, forest.roots[k], new, other, far[1], strip, stack)


@jit_unmanaged
def condense_nearest(
    forest: Forest,
    codes: Array,
    order: Array,
    kept: Array,
    own: Array,
    other: Array,
    far: Array,
    place: int,
    budget: int,
    strip: Array,
    stack: Array,
) -> tuple[int, int]:
    """Continue a pass at `place`: keep each row that is not nearer to its own class, up to `budget` of them.

    Returns the place at which the pass has arrived and the number of rows kept.
    """
    added = 0
    while place < order.shape[0] and added < budget:
        i = order[place]
        place += 1
        if not kept[i] and not own[i] < other[i]:
            kept[i] = True
            added += 1
            keep_one(forest, codes[i], i, own, other, far, strip, stack)
    return place, added


@jit_unmanaged
def keep_among(
    forest: Forest, codes: Array, new: int, near: Array, votes: Array, far: Array, strip: Array, stack: Array
) -> None:
    """Keep row `new`: insert it into the lists (n, k) of the nearest kept rows wherever it is near enough."""
    last = near.shape[1] - 1
    stack[0] = forest.roots[0]
    leaf, top = next_leaf(forest, new, far, stack, 1)
    while leaf >= 0:
        begin, stop = forest.start[leaf], forest.stop[leaf]
        sweep(forest.columns, new, begin, stop, strip)
        most = 0.0
        for r in range(stop - begin):
            i = begin + r
            if strip[r] < near[i, last]:  # insertion sort: the lists are short
                slot = last
                while slot > 0 and near[i, slot - 1] > strip[r]:
                    near[i, slot], votes[i, slot] = near[i, slot - 1], votes[i, slot - 1]
                    slot -= 1
                near[i, slot], votes[i, slot] = strip[r], codes[new]
            most = max(most, near[i, last])
        if most < far[leaf]:
            settle_leaf(forest, far, leaf, most)
        leaf, top = next_leaf(forest, new, far, stack, top)


@jit_unmanaged
def wins(votes: Array, code: int) -> bool:
    """Whether a class has strictly more votes than any other; entries of −1 are empty."""
    mine = 0
    for v in votes:
        mine += v == code
    for v in votes:
        if v != code and v >= 0:
            count = 0
            for u in votes:
                count += u == v
            if count >= mine:
                return False
    return mine > 0


@jit_unmanaged
def condense_votes(
    forest: Forest,
    codes: Array,
    order: Array,
    kept: Array,
    near: Array,
    votes: Array,
    far: Array,
    place: int,
    budget: int,
    strip: Array,
    stack: Array,
) -> tuple[int, int]:
    """Continue a pass like `condense_nearest`; rows whose class loses the vote of their k nearest are kept."""
    added = 0
    while place < order.shape[0] and added < budget:
        i = order[place]
        place += 1
        if not kept[i] and not wins(votes[i], codes[i]):
            kept[i] = True
            added += 1
            keep_among(forest, codes, i, near, votes, far, strip, stack)
    return place, added


@jit_unmanaged
def count_wins(codes: Array, votes: Array) -> int:
    """The number of rows whose own class wins the vote."""
    total = 0
    for i in range(codes.shape[0]):
        total += wins(votes[i], codes[i])
    return total


def warm() -> None:
    """Compile on two rows."""
    one, none = np.zeros(1, np.int64), np.full(1, -1)
    forest = Forest(
        columns=np.zeros((1, 2)),
        roots=one,
        start=one,
        stop=one + 2,
        child=none,
        parent=none,
        low=np.zeros((1, 1)),
        high=np.zeros((1, 1)),
    )
    codes, order, buffers = np.array([0, 1]), np.arange(2), (np.empty(CONDENSING_LEAF), np.empty(STACK_NODES, np.int64))
    far, kept = np.full(2, np.inf), np.zeros(2, bool)
    condense_nearest(forest, codes, order, kept, far, far.copy(), np.full((2, 1), np.inf), 0, 0, *buffers)
    keep_one(forest, 0, 0, far, far.copy(), np.full((2, 1), np.inf), *buffers)
    near, votes = np.full((2, 1), np.inf), np.full((2, 1), -1)
    condense_votes(forest, codes, order, kept, near, votes, np.full(1, np.inf), 0, 0, *buffers)
    keep_among(forest, codes, 0, near, votes, np.full(1, np.inf), *buffers)
    count_wins(codes, votes)
