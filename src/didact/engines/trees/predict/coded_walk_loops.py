"""Compiled walks of coded rows down many trees; a slow twin stands beside their test.

A node is one number: how far its left child is ahead (the right one follows it), its feature, and the code up to which
rows go left, in 16 + 8 + 8 bits where that is enough and else in 32 + 16 + 16. A leaf leads to itself. Numbers have no
sign, as a signed index costs a test for a negative one. Sixteen rows go down side by side, their codes interleaved so
that one address serves eight of them, and whether all have arrived is asked every third level: less than a nanosecond a
row and level while the tree is in the second-level cache.

Layout of a node, and of the codes of eight rows at a time::

    uint32  [ left child − own place: 16 | feature: 8 | code: 8 ]      uint64  [ 32 | 16 | 16 ]
    block   [ feature 0 of rows 0 … 7 | feature 1 of rows 0 … 7 | … ]
"""

import numpy as np

from didact.core.jit import jit, jit_unmanaged
from didact.core.typing import Array


@jit
def group_thresholds(feature: Array, threshold: Array, places: Array, out: Array) -> None:
    """Write the thresholds of each feature from its place on, which moves on."""
    for node in range(feature.shape[0]):
        f = feature[node]
        if f >= 0:
            out[places[f]] = threshold[node]
            places[f] += 1


@jit
def code_of(x: float, heap: Array, depth: int) -> int:
    """The place of a threshold among those of its feature."""
    at, one = np.uint64(0), np.uint64(1)
    for _ in range(depth):
        at += at + one + np.uint64(heap[at] < x)
    return np.int64(at) - ((1 << depth) - 1)  # type: ignore[return-value]


@jit
def arrange(left: Array, right: Array, feature: Array, threshold: Array, heaps: Array, levels: Array, near: int,
            order: Array, nodes: Array) -> None:  # fmt: skip
    """Pack a tree, siblings side by side: subtrees of at most `near` nodes together, the nodes above level by level.

    `order` gets the old numbers. Parents stand before their children in the old order, too.
    """
    count = left.shape[0]
    size, first, waiting = np.ones(count, np.int64), np.zeros(count, np.int64), np.empty(count, np.int64)
    for node in range(count - 1, -1, -1):
        if left[node] >= 0:
            size[node] += size[left[node]] + size[right[node]]
    order[0], place, many = 0, 1, 0
    done = 0
    while done < place:  # from the top, until subtrees are small
        node = order[done]
        done += 1
        if left[node] < 0:
            continue
        if size[node] <= near:
            waiting[many] = node
            many += 1
            continue
        first[node], order[place], order[place + 1] = place, left[node], right[node]
        place += 2
    for k in range(many // 2):
        waiting[k], waiting[many - 1 - k] = waiting[many - 1 - k], waiting[k]
    while many > 0:  # the last one waiting comes next, its children before others
        many -= 1
        node = waiting[many]
        first[node], order[place], order[place + 1] = place, left[node], right[node]
        place += 2
        for child in (right[node], left[node]):
            if left[child] >= 0:
                waiting[many] = child
                many += 1
    for k in range(count):
        node = order[k]
        nodes[k] = 0xFFFF
        if left[node] >= 0:
            f = np.int64(feature[node])
            nodes[k] = (first[node] - k) << 32 | f << 16 | code_of(threshold[node], heaps[f], levels[f])


@jit
def interleave(codes: Array, blocks: Array) -> None:
    """Codes (n, p) of eight rows at a time side by side: (groups, 8p)."""
    n, p = codes.shape
    for i in range(n):
        block, lane = blocks[i >> 3], i & 7
        for f in range(p):
            block[8 * f + lane] = codes[i, f]


@jit_unmanaged(forceinline=True)
def down(nodes: Array, block: Array, lane: int, node: np.uint64, half: np.uint64) -> np.uint64:
    """The child to which a row of a block goes; a leaf stays."""
    packed, mask = np.uint64(nodes[node]), (np.uint64(1) << half) - np.uint64(1)
    code = np.uint64(block[((packed >> half & mask) << np.uint64(3)) + np.uint64(lane)])
    return node + (packed >> (half + half)) + np.uint64(code > (packed & mask))


@jit_unmanaged(forceinline=True)
def walk(nodes: Array, root: np.uint64, A: Array, B: Array, half: np.uint64, found: Array) -> None:
    """The leaves of the sixteen rows of two blocks."""
    a = b = c = d = e = f = g = h = i = j = k = m = n = o = p = q = root
    while True:
        a1, b1, c1 = down(nodes, A, 0, a, half), down(nodes, A, 1, b, half), down(nodes, A, 2, c, half)
        d1, e1, f1 = down(nodes, A, 3, d, half), down(nodes, A, 4, e, half), down(nodes, A, 5, f, half)
        g1, h1, i1 = down(nodes, A, 6, g, half), down(nodes, A, 7, h, half), down(nodes, B, 0, i, half)
        j1, k1, m1 = down(nodes, B, 1, j, half), down(nodes, B, 2, k, half), down(nodes, B, 3, m, half)
        n1, o1, p1 = down(nodes, B, 4, n, half), down(nodes, B, 5, o, half), down(nodes, B, 6, p, half)
        q1 = down(nodes, B, 7, q, half)
        a2, b2, c2 = down(nodes, A, 0, a1, half), down(nodes, A, 1, b1, half), down(nodes, A, 2, c1, half)
        d2, e2, f2 = down(nodes, A, 3, d1, half), down(nodes, A, 4, e1, half), down(nodes, A, 5, f1, half)
        g2, h2, i2 = down(nodes, A, 6, g1, half), down(nodes, A, 7, h1, half), down(nodes, B, 0, i1, half)
        j2, k2, m2 = down(nodes, B, 1, j1, half), down(nodes, B, 2, k1, half), down(nodes, B, 3, m1, half)
        n2, o2, p2 = down(nodes, B, 4, n1, half), down(nodes, B, 5, o1, half), down(nodes, B, 6, p1, half)
        q2 = down(nodes, B, 7, q1, half)
        a, b, c = down(nodes, A, 0, a2, half), down(nodes, A, 1, b2, half), down(nodes, A, 2, c2, half)
        d, e, f = down(nodes, A, 3, d2, half), down(nodes, A, 4, e2, half), down(nodes, A, 5, f2, half)
        g, h, i = down(nodes, A, 6, g2, half), down(nodes, A, 7, h2, half), down(nodes, B, 0, i2, half)
        j, k, m = down(nodes, B, 1, j2, half), down(nodes, B, 2, k2, half), down(nodes, B, 3, m2, half)
        n, o, p = down(nodes, B, 4, n2, half), down(nodes, B, 5, o2, half), down(nodes, B, 6, p2, half)
        q = down(nodes, B, 7, q2, half)
        moved = (a ^ a2) | (b ^ b2) | (c ^ c2) | (d ^ d2) | (e ^ e2) | (f ^ f2) | (g ^ g2) | (h ^ h2)
        moved |= (i ^ i2) | (j ^ j2) | (k ^ k2) | (m ^ m2) | (n ^ n2) | (o ^ o2) | (p ^ p2) | (q ^ q2)
        if moved == np.uint64(0):
            break
    found[0], found[1], found[2], found[3] = a, b, c, d
    found[4], found[5], found[6], found[7] = e, f, g, h
    found[8], found[9], found[10], found[11] = i, j, k, m
    found[12], found[13], found[14], found[15] = n, o, p, q


@jit_unmanaged(forceinline=True)
def add_coded(nodes: Array, roots: Array, values: Array, blocks: Array, half: np.uint64, found: Array,
              out: Array) -> None:  # fmt: skip
    """Add the values of all trees' leaves to the rows of pairs of blocks; features and codes have `half` bits each."""
    width = values.shape[1]
    for t in range(roots.shape[0]):
        for start in range(0, out.shape[0], 16):
            block = start >> 3
            walk(nodes, roots[t], blocks[block], blocks[block + 1], half, found)
            many = min(16, out.shape[0] - start)
            if width == 1:
                for i in range(many):
                    out[start + i, 0] += values[found[i], 0]
            else:
                for i in range(many):
                    for v in range(width):
                        out[start + i, v] += values[found[i], v]


@jit
def add_narrow(nodes: Array, roots: Array, values: Array, blocks: Array, found: Array, out: Array) -> None:
    """`add_coded` for nodes of 32 bits."""
    add_coded(nodes, roots, values, blocks, np.uint64(8), found, out)


@jit
def add_wide(nodes: Array, roots: Array, values: Array, blocks: Array, found: Array, out: Array) -> None:
    """`add_coded` for nodes of 64 bits."""
    add_coded(nodes, roots, values, blocks, np.uint64(16), found, out)


def warm() -> None:
    """Compile for the types in use."""
    leaf, number, root = np.full(1, -1, np.int32), np.zeros(1, np.int64), np.zeros(1, np.uint64)
    group_thresholds(leaf, np.zeros(1), number, np.zeros(1))
    arrange(leaf, leaf, leaf, np.zeros(1), np.zeros((1, 2)), number, 1, np.zeros(1, np.int64), np.zeros(1, np.uint64))
    byte, real = np.uint8, np.float64
    for add, node, kind, value in (
        (add_narrow, np.uint32, byte, real),
        (add_narrow, np.uint32, byte, byte),
        (add_wide, np.uint64, byte, real),
        (add_wide, np.uint64, np.uint16, real),
    ):
        blocks, values = np.zeros((2, 8), kind), np.zeros((1, 1), value)
        interleave(np.zeros((1, 1), kind), blocks)
        add(np.full(1, 0xFF, node), root, values, blocks, np.zeros(16, np.uint32), np.zeros((1, 1)))
