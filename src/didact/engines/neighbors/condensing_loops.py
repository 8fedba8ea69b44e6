"""Compiled passes of Hart's condensing: each row knows how far its nearest kept rows are.

A row that is kept changes these distances for some of the rows. The rows stand in k-d trees, of which each node knows
the largest distance in it: a node that lies farther away from the new row is passed over. So with few columns a new row
is compared with not many more rows than come to have it as their nearest, n log n in all, and with many columns with
all rows (n p operations). Rounded sums are monotone: a box is never farther away than a row in it, and the distances
are the same to the last bit as without trees.

The rows come as columns (p, n), leaf by leaf: a sweep over a leaf runs along whole vectors.
"""

from typing import NamedTuple

import numpy as np

from didact.core.jit import jit_unmanaged
from didact.core.typing import Array
from didact.engines.neighbors.tuning import CONDENSING_LEAF

STACK_NODES = 64


class Forest(NamedTuple):
    """Rows in k-d trees, one for each group of them: columns leaf by leaf, and range and box of each node.

    Node i has the children child[i] and child[i] + 1, or none (-1).
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
    """Squared distances of rows begin … stop from row `new`; that from itself does not count."""
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
    """The next leaf that row `new` may change, and the height of the stack of nodes left; −1 if there is none."""
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
    """Squared distances of the rows of a tree from their nearest kept row, now that row `new` is kept."""
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
    """Row `new`, of class c, is kept. The trees are those of the classes; far (2, nodes) are for own and other."""
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
    """Go on with a pass at `place`: keep each row that is not nearer to its own class, up to `budget` of them.

    Returns the place where the pass stands and the number of rows kept.
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
    """Row `new` is kept: it enters the lists of the k nearest kept rows, (n, k) distances and classes."""
    last = near.shape[1] - 1
    stack[0] = forest.roots[0]
    leaf, top = next_leaf(forest, new, far, stack, 1)
    while leaf >= 0:
        begin, stop = forest.start[leaf], forest.stop[leaf]
        sweep(forest.columns, new, begin, stop, strip)
        most = 0.0
        for r in range(stop - begin):
            i = begin + r
            if strip[r] < near[i, last]:
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
    """Whether a class has more votes than any other; −1 is no vote."""
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
    """As condense_nearest, by the vote of the k nearest kept rows."""
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
    """For how many rows the own class wins the vote."""
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
