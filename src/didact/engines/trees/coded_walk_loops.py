"""Compiled walks of coded rows down many trees; a slow twin stands beside their test.

A node is one 64-bit number: left child (the right one follows it), feature, and the code up to which rows go left. A
leaf leads to itself. Numbers have no sign, as a signed index costs a test for a negative one. Eight rows go down side
by side, and whether all of them have arrived is asked every second level: about a nanosecond a row and level while the
tree and the block's codes are in the second-level cache.
"""

from typing import Any

import numpy as np

from didact.core.jit import jit

Array = np.ndarray[Any, Any]


@jit
def arrange(left: Array, right: Array, feature: Array, code: Array, start: int, order: Array, nodes: Array) -> None:
    """Pack a tree level by level, siblings side by side, from node `start` on; `order` gets the old numbers."""
    many = 1
    order[0] = 0
    for k in range(left.shape[0]):
        node = order[k]
        if left[node] < 0:
            nodes[start + k] = (start + k) << 32 | 0xFFFF
            continue
        order[many], order[many + 1] = left[node], right[node]
        nodes[start + k] = (start + many) << 32 | np.int64(feature[node]) << 16 | code[node]
        many += 2


@jit
def down(nodes: Array, row: Array, node: np.uint64) -> np.uint64:
    """The child to which a row goes; a leaf stays."""
    packed = nodes[node]
    code = np.uint64(row[(packed >> np.uint64(16)) & np.uint64(0xFFFF)])
    return (packed >> np.uint64(32)) + np.uint64(code > (packed & np.uint64(0xFFFF)))


@jit
def leaves_of(nodes: Array, root: np.uint64, codes: Array, found: Array) -> None:
    """The leaf of every coded row in the tree that begins at `root`."""
    n, i = codes.shape[0], 0
    while i + 8 <= n:
        r, s, t, u = codes[i], codes[i + 1], codes[i + 2], codes[i + 3]
        v, w, x, y = codes[i + 4], codes[i + 5], codes[i + 6], codes[i + 7]
        a = b = c = d = e = f = g = h = root
        while True:
            a1, b1, c1, d1 = down(nodes, r, a), down(nodes, s, b), down(nodes, t, c), down(nodes, u, d)
            e1, f1, g1, h1 = down(nodes, v, e), down(nodes, w, f), down(nodes, x, g), down(nodes, y, h)
            a, b, c, d = down(nodes, r, a1), down(nodes, s, b1), down(nodes, t, c1), down(nodes, u, d1)
            e, f, g, h = down(nodes, v, e1), down(nodes, w, f1), down(nodes, x, g1), down(nodes, y, h1)
            moved = (a ^ a1) | (b ^ b1) | (c ^ c1) | (d ^ d1) | (e ^ e1) | (f ^ f1) | (g ^ g1) | (h ^ h1)
            if moved == np.uint64(0):
                break
        found[i], found[i + 1], found[i + 2], found[i + 3] = a, b, c, d
        found[i + 4], found[i + 5], found[i + 6], found[i + 7] = e, f, g, h
        i += 8
    for k in range(i, n):
        node, new = root, down(nodes, codes[k], root)
        while new != node:
            node, new = new, down(nodes, codes[k], new)
        found[k] = node


@jit
def add_coded(nodes: Array, roots: Array, values: Array, codes: Array, found: Array, out: Array) -> None:
    """Add the values of all trees' leaves to the rows of a block."""
    n, width = codes.shape[0], values.shape[1]
    for t in range(roots.shape[0]):
        leaves_of(nodes, roots[t], codes, found)
        if width == 1:
            for i in range(n):
                out[i, 0] += values[found[i], 0]
        else:
            for i in range(n):
                for v in range(width):
                    out[i, v] += values[found[i], v]


def warm() -> None:
    """Compile for the types in use."""
    nodes, found, out, leaf = np.zeros(1, np.uint64), np.zeros(1, np.uint64), np.zeros((1, 1)), np.full(1, -1, np.int32)
    arrange(leaf, leaf, leaf, np.zeros(1, np.int64), 0, np.zeros(1, np.int64), nodes)
    for kind in (np.uint8, np.uint16):
        add_coded(nodes, np.zeros(1, np.uint64), np.zeros((1, 1)), np.zeros((1, 1), kind), found, out)
