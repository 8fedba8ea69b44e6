r"""Compiled loops of running smoothers: means, lines and medians of ranges of sorted rows.

Means and lines come from a segment tree whose nodes hold the moments of their rows about their own mean, merged by
Chan's rule: a range is the merger of at most 2 log₂ n nodes, so rows outside of it cannot affect its rounding
(differences of cumulative sums would let one huge y spoil all others). Medians come from a Fenwick tree of weights by
the rank of y; rows enter and leave it as the window moves: O(log n) per row, whatever the width of the window.

To leave out a row is to leave out one copy of it: what remains of the window are the range to its left, the range to
its right, and the rest of the row's own weight.

Layout, for n rows::

    tree (2n, 5)   [ unused | root | … inner nodes … | leaf of row 0 | leaf of row 1 | … ]
                     0        1                        n               n + 1
                   node i has the children 2i and 2i + 1
    tree[i]        [ weight | mean of x | mean of y | centred Σ w x² | centred Σ w x y ]
    sums (n + 1,)  [ unused | rank 0 | ranks 0, 1 | rank 2 | ranks 0 … 3 | … ]   Fenwick tree: weight of the ranks
                     0        1        2            3        4                   i − (i & −i) … i − 1 in cell i
"""

import numpy as np

from didact.core.jit import jit
from didact.core.typing import Array

WEIGHT_ROUNDING = 1e-12  # relative rounding error of sums of weights


@jit
def merge(node: Array, w: float, x: float, y: float, xx: float, xy: float) -> None:
    """Merge rows with these moments (weight, means, centred sums) into a node (Chan's rule)."""
    if w <= 0.0:
        return
    total = node[0] + w
    part, dx, dy = w / total, x - node[1], y - node[2]
    cross = node[0] * part
    node[3] += xx + cross * dx * dx
    node[4] += xy + cross * dx * dy
    node[1] += part * dx
    node[2] += part * dy
    node[0] = total


@jit
def build_nodes(x: Array, y: Array, w: Array, tree: Array) -> None:
    """Compute the moments of all nodes: the leaves from n on, then each parent from its two children."""
    n = x.shape[0]
    for i in range(n):
        tree[n + i, 0], tree[n + i, 1], tree[n + i, 2], tree[n + i, 3], tree[n + i, 4] = w[i], x[i], y[i], 0.0, 0.0
    for i in range(n - 1, 0, -1):
        a, b = tree[2 * i], tree[2 * i + 1]
        for c in range(5):
            tree[i, c] = a[c]
        merge(tree[i], b[0], b[1], b[2], b[3], b[4])


@jit
def add_range(tree: Array, start: int, stop: int, node: Array) -> None:
    """Merge the rows start … stop − 1 into a node: on each level at most one tree node at either end."""
    n = tree.shape[0] // 2
    a, b = start + n, stop + n
    while a < b:
        if a & 1:
            t = tree[a]
            merge(node, t[0], t[1], t[2], t[3], t[4])
            a += 1
        if b & 1:
            b -= 1
            t = tree[b]
            merge(node, t[0], t[1], t[2], t[3], t[4])
        a >>= 1
        b >>= 1


@jit
def node_value(node: Array, q: float, line: bool) -> float:
    """The mean of y in a node, or its regression line at q."""
    if line and node[3] > 0.0:
        return node[2] + node[4] / node[3] * (q - node[1])
    return node[2]


@jit
def averages(tree: Array, q: Array, start: Array, stop: Array, line: bool, first: int, last: int, out: Array) -> None:
    """Means or lines at q[first:last], each over its rows start[i] … stop[i] − 1."""
    node = np.empty(5)
    for i in range(first, last):
        node[:] = 0.0
        add_range(tree, start[i], stop[i], node)
        out[i] = node_value(node, q[i], line)


@jit
def averages_without(
    tree: Array, q: Array, left: Array, row: Array, start: Array, stop: Array, line: bool, first: int, last: int,
    out: Array,
) -> None:  # fmt: skip
    """Means or lines at q[first:last] with one copy of row[i] left out, of which the weight left[i] remains."""
    node, n = np.empty(5), tree.shape[0] // 2
    for i in range(first, last):
        node[:] = 0.0
        r = row[i]
        if start[i] <= r < stop[i]:
            add_range(tree, start[i], r, node)
            add_range(tree, r + 1, stop[i], node)
            merge(node, left[i], tree[n + r, 1], tree[n + r, 2], 0.0, 0.0)
        else:
            add_range(tree, start[i], stop[i], node)
        out[i] = node_value(node, q[i], line)


@jit
def add_weight(sums: Array, rank: int, w: float) -> None:
    """Add weight at a rank (from 0) to a Fenwick tree."""
    i = rank + 1
    while i < sums.shape[0]:
        sums[i] += w
        i += i & -i


@jit
def rank_reaching(sums: Array, target: float) -> int:
    """The first rank at which the cumulative weight reaches the target, by descent of the Fenwick tree."""
    step = 1
    while 2 * step < sums.shape[0]:
        step *= 2
    place, rest = 0, target
    while step > 0:
        if place + step < sums.shape[0] and sums[place + step] < rest:
            place += step
            rest -= sums[place]
        step //= 2
    return min(place, sums.shape[0] - 2)


@jit
def middle_value(sums: Array, total: float, values: Array) -> float:
    """The weighted median of values in order of rank: the mean of two if half of the weight lies on either side."""
    low = rank_reaching(sums, 0.5 * total * (1.0 - WEIGHT_ROUNDING))
    high = rank_reaching(sums, 0.5 * total * (1.0 + WEIGHT_ROUNDING))
    return 0.5 * (values[low] + values[high])


@jit
def medians(
    values: Array, rank: Array, w: Array, start: Array, stop: Array, row: Array, left: Array, first: int, last: int,
    sums: Array, out: Array,
) -> None:  # fmt: skip
    """Medians of the rows start … stop − 1, without one copy of row[i] unless that is −1; fast if windows move little.

    `values` are the sorted y, `rank` the place of each row's y among them, `sums` an empty Fenwick tree.
    """
    a = b = start[first] if first < last else 0
    total = 0.0
    for i in range(first, last):
        # The tree holds the rows a … b − 1: grow to the window of i, then shrink, so that a never passes b.
        while b < stop[i]:
            add_weight(sums, rank[b], w[b])
            total += w[b]
            b += 1
        while a > start[i]:
            a -= 1
            add_weight(sums, rank[a], w[a])
            total += w[a]
        while b > stop[i]:
            b -= 1
            add_weight(sums, rank[b], -w[b])
            total -= w[b]
        while a < start[i]:
            add_weight(sums, rank[a], -w[a])
            total -= w[a]
            a += 1
        r = row[i]
        if r >= a and r < b:
            gone = w[r] - left[i]
            add_weight(sums, rank[r], -gone)
            out[i] = middle_value(sums, total - gone, values)
            add_weight(sums, rank[r], gone)
        else:
            out[i] = middle_value(sums, total, values)


def warm() -> None:
    """Compile for the types that callers use."""
    x, places = np.arange(4.0), np.arange(4)
    tree, out, whole = np.empty((8, 5)), np.empty(4), np.full(4, 4)
    build_nodes(x, x, np.ones(4), tree)
    averages(tree, x, places, whole, True, 0, 4, out)
    averages_without(tree, x, x, places, places, whole, True, 0, 4, out)
    medians(x, places, np.ones(4), places, whole, places, x, 0, 4, np.zeros(5), out)
