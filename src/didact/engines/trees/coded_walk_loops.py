"""Compiled walks of coded rows down many trees; a slow twin stands beside their test.

A node is one number: how far its left child is ahead (the right one follows it), its feature, and the code up to which
rows go left, in 16 + 8 + 8 bits where that is enough and else in 32 + 16 + 16. A leaf leads to itself. Numbers have no
sign, as a signed index costs a test for a negative one. Eight rows go down side by side, and whether all of them have
arrived is asked every second level: about a nanosecond a row and level while the tree and the block's codes are in the
second-level cache.
"""

from typing import Any

import numpy as np

from didact.core.jit import jit

Array = np.ndarray[Any, Any]


@jit
def arrange(left: Array, right: Array, feature: Array, code: Array, order: Array, nodes: Array) -> None:
    """Pack a tree level by level, siblings side by side; `order` gets the old numbers."""
    many = 1
    order[0] = 0
    for k in range(left.shape[0]):
        node = order[k]
        if left[node] < 0:
            nodes[k] = 0xFFFF
            continue
        order[many], order[many + 1] = left[node], right[node]
        nodes[k] = np.int64(many - k) << 32 | np.int64(feature[node]) << 16 | code[node]
        many += 2


@jit
def down(nodes: Array, row: Array, node: np.uint64, half: np.uint64, mask: np.uint64) -> np.uint64:
    """The child to which a row goes; a leaf stays."""
    packed = np.uint64(nodes[node])
    code = np.uint64(row[(packed >> half) & mask])
    return node + (packed >> (half + half)) + np.uint64(code > (packed & mask))


@jit
def leaves_of(nodes: Array, root: np.uint64, codes: Array, half: np.uint64, mask: np.uint64, found: Array) -> None:
    """The leaf of every coded row in the tree that begins at `root`."""
    n, i, o, m = codes.shape[0], 0, half, mask
    while i + 8 <= n:
        r, s, t, u = codes[i], codes[i + 1], codes[i + 2], codes[i + 3]
        v, w, x, y = codes[i + 4], codes[i + 5], codes[i + 6], codes[i + 7]
        a = b = c = d = e = f = g = h = root
        while True:
            a1, b1, c1 = down(nodes, r, a, o, m), down(nodes, s, b, o, m), down(nodes, t, c, o, m)
            d1, e1, f1 = down(nodes, u, d, o, m), down(nodes, v, e, o, m), down(nodes, w, f, o, m)
            g1, h1 = down(nodes, x, g, o, m), down(nodes, y, h, o, m)
            a, b, c = down(nodes, r, a1, o, m), down(nodes, s, b1, o, m), down(nodes, t, c1, o, m)
            d, e, f = down(nodes, u, d1, o, m), down(nodes, v, e1, o, m), down(nodes, w, f1, o, m)
            g, h = down(nodes, x, g1, o, m), down(nodes, y, h1, o, m)
            moved = (a ^ a1) | (b ^ b1) | (c ^ c1) | (d ^ d1) | (e ^ e1) | (f ^ f1) | (g ^ g1) | (h ^ h1)
            if moved == np.uint64(0):
                break
        found[i], found[i + 1], found[i + 2], found[i + 3] = a, b, c, d
        found[i + 4], found[i + 5], found[i + 6], found[i + 7] = e, f, g, h
        i += 8
    for k in range(i, n):
        node, new = root, down(nodes, codes[k], root, o, m)
        while new != node:
            node, new = new, down(nodes, codes[k], new, o, m)
        found[k] = node


@jit
def add_coded(nodes: Array, roots: Array, values: Array, codes: Array, half: np.uint64, found: Array,
              out: Array) -> None:  # fmt: skip
    """Add the values of all trees' leaves to the rows of a block; features and codes have `half` bits each."""
    n, width, mask = codes.shape[0], values.shape[1], (np.uint64(1) << half) - np.uint64(1)
    for t in range(roots.shape[0]):
        leaves_of(nodes, roots[t], codes, half, mask, found)
        if width == 1:
            for i in range(n):
                out[i, 0] += values[found[i], 0]
        else:
            for i in range(n):
                for v in range(width):
                    out[i, v] += values[found[i], v]


def warm() -> None:
    """Compile for the types in use."""
    leaf, number, root = np.full(1, -1, np.int32), np.zeros(1, np.int64), np.zeros(1, np.uint64)
    arrange(leaf, leaf, leaf, number, np.zeros(1, np.int64), np.zeros(1, np.uint64))
    for node, kind in ((np.uint32, np.uint8), (np.uint64, np.uint8), (np.uint64, np.uint16)):
        half = np.uint64(8 if node is np.uint32 else 16)
        nodes, codes = np.zeros(1, node), np.zeros((1, 1), kind)
        add_coded(nodes, root, np.zeros((1, 1)), codes, half, np.zeros(1, np.uint32), np.zeros((1, 1)))
