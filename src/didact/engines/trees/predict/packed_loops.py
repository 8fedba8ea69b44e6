"""Compiled walks of many rows down many trees; a slow twin stands beside their test.

A node is 16 bytes: threshold, left child (the right one follows it), and the feature with the side of missing values.
A leaf leads to itself, so eight rows can go down side by side without a branch that might be guessed wrongly: the
processor works on eight independent chains instead of waiting for one. Cost: about two nanoseconds a row, tree and
level on one core while the tree is in the cache.

Layout of a node, and of many trees::

    node     [ threshold: float64 | left child: int32 | 2·feature + (1 if missing values go left): int32 ]
    nodes    [ root of tree 0 | … | left | right | … | leaf … ][ root of tree 1 | … ] …
               ^ roots[0]                                        ^ roots[1]

A leaf has an infinite threshold and itself as its left child. Values, sets and weights lie beside the nodes, in their
order.
"""

from typing import NamedTuple, Self

import numpy as np

from didact.core.backend import of_types
from didact.core.errors import InputError
from didact.core.jit import jit, record_type
from didact.core.typing import Array
from didact.engines.trees.splits.histogram_loops import Int

PACKED_NODE = record_type([("threshold", np.float64), ("left", np.int32), ("feature", np.int32)])


class _Arrays(NamedTuple):
    """The arrays of packed trees."""

    nodes: Array  # PACKED_NODE; left is absolute; feature = 2·feature + (missing goes left)
    roots: Array  # int64
    output: Array  # int64
    values: Array  # float64 (nodes, width)
    sets: Array  # int32 (nodes): row of category_sets, −1 for thresholds; empty if there are no categories
    category_sets: Array  # uint64
    weights: Array  # float64 (nodes): the training weight that passed


PACKED_TYPES = PACKED_NODE, np.int64, np.int64, np.float64, np.int32, np.uint64, np.float64


class Packed(_Arrays):
    """Many trees in one piece: tree t begins at node roots[t] and adds values[leaf] to the columns from output[t]."""

    __slots__ = ()

    def __new__(cls, *arrays: Array) -> Self:
        """Refuse arrays that a walk could leave: they may come from a file."""
        new = super().__new__(cls, *arrays)
        if not sound(new):
            raise InputError("These trees make no sense: a node leads nowhere.")
        return new


def sound(trees: _Arrays) -> bool:
    """Whether every walk ends at a leaf inside the arrays, which have the types that walks are compiled for."""
    if not of_types(trees, PACKED_TYPES) or trees.values.ndim != 2 or trees.category_sets.ndim != 2:
        return False
    nodes, sets = trees.nodes, trees.sets
    n, own = len(nodes), np.arange(len(nodes))
    left, feature = nodes["left"].astype(np.int64), nodes["feature"]
    leaf = (left == own) & np.isposinf(nodes["threshold"]) & (feature & 1 == 1)
    inner = (left > own) & (left + 1 < n)  # always onwards, so that every walk ends
    if len(sets):
        leaf &= sets == -1
        inner &= (sets >= -1) & (sets < len(trees.category_sets))
    inside = (trees.roots >= 0) & (trees.roots < n) & (trees.output >= 0)
    lengths = (
        len(trees.values) == len(trees.weights) == n and len(sets) in (0, n) and len(trees.output) == len(trees.roots)
    )
    return lengths and bool(((leaf | inner) & (feature >= 0)).all() and inside.all())


@jit
def step(nodes: Array, sets: Array | None, bits: Array, X: Array, i: Int, node: Int) -> Int:
    """The child to which row i goes; a leaf stays. `sets` is None, when compiled, for trees without categories."""
    here = nodes[node]
    code = here.feature
    x = X[i, code >> 1]
    stays = x <= here.threshold
    if sets is not None:  # without a branch that might be guessed wrongly
        s, known = sets[node], (x >= 0) & (x < 64 * bits.shape[1])
        k = np.uint64(x) if known else np.uint64(0)
        word = bits[max(s, 0), k >> np.uint64(6)]
        inside = known & ((word >> (k & np.uint64(63))) & np.uint64(1) == np.uint64(1))
        stays = inside if s >= 0 else stays
    stays |= (x != x) & ((code & 1) == 1)
    return np.int64(here.left) + (1 - np.int64(stays))


@jit
def walk_eight(nodes: Array, sets: Array | None, bits: Array, root: Int, X: Array, i: Int, found: Array) -> None:
    """The leaves of rows i … i + 7."""
    a = b = c = d = e = f = g = h = root
    while True:
        a1, b1 = step(nodes, sets, bits, X, i, a), step(nodes, sets, bits, X, i + 1, b)
        c1, d1 = step(nodes, sets, bits, X, i + 2, c), step(nodes, sets, bits, X, i + 3, d)
        e1, f1 = step(nodes, sets, bits, X, i + 4, e), step(nodes, sets, bits, X, i + 5, f)
        g1, h1 = step(nodes, sets, bits, X, i + 6, g), step(nodes, sets, bits, X, i + 7, h)
        moved = (a ^ a1) | (b ^ b1) | (c ^ c1) | (d ^ d1) | (e ^ e1) | (f ^ f1) | (g ^ g1) | (h ^ h1)
        a, b, c, d, e, f, g, h = a1, b1, c1, d1, e1, f1, g1, h1
        if moved == 0:
            break
    found[i], found[i + 1], found[i + 2], found[i + 3] = a, b, c, d
    found[i + 4], found[i + 5], found[i + 6], found[i + 7] = e, f, g, h


@jit
def walk_rows(nodes: Array, sets: Array | None, bits: Array, root: Int, X: Array, found: Array) -> None:
    """The leaf of every row of a block in one tree."""
    whole = X.shape[0] // 8 * 8
    for i in range(0, whole, 8):
        walk_eight(nodes, sets, bits, root, X, i, found)
    for i in range(whole, X.shape[0]):
        node, new = root, step(nodes, sets, bits, X, i, root)
        while new != node:
            node, new = new, step(nodes, sets, bits, X, i, new)
        found[i] = node


@jit
def walk_tree(packed: Packed, t: Int, X: Array, found: Array) -> None:
    """The leaf of every row of a block in tree t."""
    if packed.sets.shape[0] == 0:
        walk_rows(packed.nodes, None, packed.category_sets, packed.roots[t], X, found)
    else:
        walk_rows(packed.nodes, packed.sets, packed.category_sets, packed.roots[t], X, found)


@jit
def add_predictions(packed: Packed, first: Int, last: Int, X: Array, found: Array, out: Array) -> None:
    """Add the values of trees first … last − 1 to the rows of a block."""
    n, values, width = X.shape[0], packed.values, packed.values.shape[1]
    for t in range(first, last):
        walk_tree(packed, t, X, found)
        column = packed.output[t]
        if width == 1:
            for i in range(n):
                out[i, column] += values[found[i], 0]
        else:
            for i in range(n):
                for v in range(width):
                    out[i, column + v] += values[found[i], v]


def warm() -> None:
    """Compile for the types in use."""
    nodes = np.zeros(1, PACKED_NODE)
    nodes["threshold"], nodes["feature"] = np.inf, 1
    packed = Packed(nodes, np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros((1, 1)), np.empty(0, np.int32),
                    np.empty((0, 1), np.uint64), np.ones(1))  # fmt: skip
    for kind in (np.float32, np.float64):
        X = np.zeros((1, 1), kind)
        X.flags.writeable = False
        add_predictions(packed, 0, 1, X, np.zeros(1, np.int64), np.zeros((1, 1)))
