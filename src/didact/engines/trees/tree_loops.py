"""Compiled walks down one tree; a slow NumPy twin stands beside their test.

A row at a node goes left if its value is at most the threshold, or if the bit of its category is set; a missing value
(NaN) goes where the node says. One dependent read of memory per level and row: rows go in turn, nodes stay in cache.

Layout: the arrays of `Tree`, an entry for each node, parents before their children, −1 for none::

    node         0             children_left    [  1 |  2 | −1 | −1 | −1 ]
               1   4           children_right   [  4 |  3 | −1 | −1 | −1 ]
              2 3              category_set     [ −1 |  0 | −1 | −1 | −1 ]   node 1 sends the first set left:
                               category_sets[0] [ codes 0 … 63 | 64 … 127 | … ]   bit c & 63 of word c >> 6
    indices    [ nodes from the root to the leaf of row 0 | of row 1 | … ]
                 ^ indptr[0]                                ^ indptr[1]
"""

from typing import NamedTuple

import numpy as np

from didact.core.jit import jit
from didact.core.typing import Array


class Walk(NamedTuple):
    """The arrays of a tree that a walk reads, all read-only, so that each loop has one variant."""

    children_left: Array
    children_right: Array
    feature: Array
    threshold: Array
    missing_go_to_left: Array
    category_set: Array
    category_sets: Array


@jit
def goes_left(walk: Walk, node: int, x: float) -> bool:
    """Whether the value x of the node's feature leads to the left child."""
    if np.isnan(x):
        return walk.missing_go_to_left[node] != 0
    s = walk.category_set[node]
    if s < 0:
        return x <= walk.threshold[node]
    code = int(x)
    if code < 0 or code >= 64 * walk.category_sets.shape[1]:
        return False
    return (walk.category_sets[s, code >> 6] >> np.uint64(code & 63)) & np.uint64(1) != 0


@jit
def apply_rows(X: Array, walk: Walk, out: Array) -> None:
    """The leaf of every row."""
    left, right, feature = walk.children_left, walk.children_right, walk.feature
    for i in range(X.shape[0]):
        node = 0
        while left[node] >= 0:
            node = left[node] if goes_left(walk, node, X[i, feature[node]]) else right[node]
        out[i] = node


@jit
def node_depths(left: Array, right: Array, depths: Array) -> None:
    """The number of edges from the root to every node; parents stand before their children."""
    for node in range(left.shape[0]):
        if left[node] >= 0:
            depths[left[node]] = depths[right[node]] = depths[node] + 1


@jit
def reach(left: Array, right: Array, reached: Array) -> None:
    """Mark every node below the root that can still be reached."""
    reached[0] = True
    for node in range(left.shape[0]):
        if reached[node] and left[node] >= 0:
            reached[left[node]] = reached[right[node]] = True


@jit
def path_nodes(leaves: Array, parents: Array, indptr: Array, indices: Array) -> None:
    """The nodes from the root to each leaf, in increasing order, as the columns of csr rows."""
    for i in range(leaves.shape[0]):
        node = leaves[i]
        for k in range(indptr[i + 1] - 1, indptr[i] - 1, -1):
            indices[k] = node
            node = parents[node]


def warm() -> None:
    """Compile every loop for the types in use."""
    ints, floats = np.full(1, -1, np.int32), np.zeros(1)
    walk: list[Array] = [ints, ints, ints, floats, np.zeros(1, np.uint8), ints, np.zeros((0, 1), np.uint64)]
    arrays = Walk(*(frozen(a) for a in walk))
    for kind in (np.float32, np.float64):
        apply_rows(frozen(np.zeros((1, 1), kind)), arrays, np.zeros(1, np.int32))
    node_depths(arrays.children_left, arrays.children_right, np.zeros(1, np.int64))
    reach(ints, ints, np.zeros(1, np.bool_))
    leaves = np.zeros(1, np.int32)
    path_nodes(leaves, ints, np.array([0, 1]), np.zeros(1, np.int32))


def frozen(array: Array) -> Array:
    """A read-only, C-ordered view."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
