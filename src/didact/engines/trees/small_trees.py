"""Fast prediction by many small trees, with missing values and categories: every test is made for a block of rows.

The thresholds of all trees on a feature are bins of their own, as in `coded_walk`: ``x ≤ threshold k`` if and only if
``code(x) ≤ k``. A row goes left if its code, counted from the test's lowest one on around the circle of all codes, is
within the test's span: that makes room for missing values on either side. A set of categories is a table of codes.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.threads import parallel_map
from didact.engines.trees.bins import pack_cuts, search_order
from didact.engines.trees.packed import TASK, Packed, check_columns, predict_sum, rows_of
from didact.engines.trees.small_trees_loops import ROWS, SmallTrees, add_values, number_leaves

Array = np.ndarray[Any, Any]

LEAVES = 256  # most leaves of a tree: their numbers are bytes
TABLES = 1 << 25  # most bytes of the tables of categories
FEW = 128  # rows for which it is not worth while to make tests for a whole block
WIDE = 1 << 16  # codes of two bytes
WALK = 16  # steps of coding that take as long as the walk down one tree


class Trees(NamedTuple):
    """Trees ready for prediction: packed, and as tests of blocks of rows where they are small."""

    packed: Packed
    small: SmallTrees | None

    @classmethod
    def of(cls, packed: Packed) -> "Trees":
        """Make packed trees ready."""
        return cls(packed, small_trees(packed))

    def add(self, X: Any, out: Array) -> Array:
        """Add the values of all trees to out (n, columns), which is returned."""
        small = self.small
        if small is None or X.shape[0] < FEW or (small.levels + 1).sum() > WALK * len(small.starts):
            return predict_sum(self.packed, X, out)
        check_columns(self.packed, X)
        return add_small(small, X, out)


def add_small(trees: SmallTrees, X: Any, out: Array) -> Array:
    """Add the values of all trees to out (n, columns), which is returned."""
    size = TASK if isinstance(X, np.ndarray) else ROWS  # other kinds of rows become dense a few at a time

    def task(start: int) -> None:
        codes = np.zeros((len(trees.feature), ROWS), np.uint8 if trees.missing.max(initial=0) < 256 else np.uint16)
        place, aside = np.empty(ROWS, np.uint8), np.empty(ROWS, np.uint8)
        stop = min(start + TASK, X.shape[0])
        for a in range(start, stop, size):
            b = min(a + size, stop)
            add_values(trees, rows_of(X[a:b]), codes, place, aside, out[a:b])

    parallel_map(task, range(0, X.shape[0], TASK))
    return out


def small_trees(packed: Packed) -> SmallTrees | None:
    """Packed trees as tests; None if one has too many leaves, or there are too many thresholds or categories."""
    left, own = packed.nodes["left"].astype(np.int64), np.arange(len(packed.nodes))
    inner, leaf = np.flatnonzero(left > own), np.flatnonzero(left == own)
    if packed.values.shape[1] != 1 or not are_apart(packed.roots, left, inner):
        return None
    first, count = np.zeros(len(left), np.int64), np.ones(len(left), np.int64)
    number_leaves(left, first, count)
    found = code_tests(packed, inner) if count.max() <= LEAVES else None
    if found is None:
        return None
    *columns, tests, rights = found
    tests[:, 1], tests[:, 2] = first[inner], count[left[inner]]
    bounds = np.append(np.searchsorted(inner, packed.roots), len(inner))
    starts = np.cumsum(count[packed.roots]) - count[packed.roots]
    values = np.empty(len(leaf))
    values[starts[np.searchsorted(packed.roots, leaf, side="right") - 1] + first[leaf]] = packed.values[leaf, 0]
    return SmallTrees(
        *columns, tests, bounds, rights, values, starts.astype(np.uint64), packed.output.astype(np.uint64)
    )


def are_apart(roots: Array, left: Array, inner: Array) -> bool:
    """Whether trees follow each other and each node but the roots has one parent: files may say otherwise."""
    if not len(roots) or roots[0] != 0 or (np.diff(roots) <= 0).any():
        return False
    parents = np.bincount(np.concatenate([left[inner], left[inner] + 1]), minlength=len(left))
    parents[roots] += 1
    tree = np.searchsorted(roots, np.arange(len(left)), side="right")
    return bool((parents == 1).all() and (tree[inner] == tree[left[inner]]).all())


def code_tests(packed: Packed, inner: Array) -> tuple[Array, ...] | None:
    """Columns of codes, the tests of these inner nodes on them, and the tables of tests of categories."""
    nodes = packed.nodes[inner]
    sets = packed.sets[inner] if len(packed.sets) else np.full(len(inner), -1, np.int32)
    if np.count_nonzero(sets >= 0) * 64 * packed.category_sets.shape[1] > TABLES:
        return None
    bits = np.unpackbits(packed.category_sets.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    keys, column = np.unique((nodes["feature"].astype(np.int64) | 1) - (sets < 0), return_inverse=True)
    cuts, known, missing, places = [], [], [], []
    for c, key in enumerate(keys):
        here = np.flatnonzero(column == c)
        places.append(here)
        cuts.append(np.unique(nodes["threshold"][here]) if key & 1 == 0 else np.empty(0))
        known.append(np.flatnonzero(bits[sets[here]].any(axis=0)).max(initial=-1) + 1 if key & 1 else -1)
        missing.append(known[-1] + 1 if key & 1 else len(cuts[-1]) + 1)
    most = max(missing, default=0)
    if most >= WIDE:
        return None
    tests, to_left = np.zeros((len(inner), 6), np.uint32), nodes["feature"] & 1
    rights, rows = np.zeros((np.count_nonzero(sets >= 0), most + 1), np.uint8), np.cumsum(sets >= 0)
    tests[:, 0], tests[:, 5] = column, np.where(sets >= 0, rows, 0)
    for here, cut, count, nan in zip(places, cuts, known, missing, strict=True):
        if count < 0:
            tests[here, 3] = low = np.where(to_left[here], nan, 0)
            tests[here, 4] = (np.searchsorted(cut, nodes["threshold"][here]) - low) % (256 if most < 256 else WIDE)
        else:
            right = 1 - np.column_stack([bits[sets[here], :count], np.zeros(len(here), np.uint8), to_left[here]])
            rights[rows[here] - 1, : nan + 1] = 255 * right
    order = search_order(pack_cuts(cuts, [len(cut) + 1 for cut in cuts], keys & 1 == 1))
    return keys >> 1, np.asarray(known, np.int64), np.asarray(missing, np.int64), *order, tests, rights
