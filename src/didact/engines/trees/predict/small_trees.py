"""Fast prediction by many small trees, with missing values and categories: every test is made for a block of rows.

The thresholds of all trees on a feature are bins of their own, as in `coded_walk`: ``x ≤ threshold k`` if and only if
``code(x) ≤ k``. A row goes left if its code, counted from the test's lowest one on around the circle of all codes, is
within the test's span: that makes room for missing values on either side. A set of categories is a few such runs of
codes, or a table.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.engines.trees.predict.packed import check_columns, predict_sum
from didact.engines.trees.predict.packed_loops import Packed
from didact.engines.trees.predict.small_trees_loops import (
    SMALL_BLOCK,
    SmallTrees,
    add_small_trees,
    block_buffers,
    number_leaves,
)
from didact.engines.trees.rows.bins import pack_cuts, search_order
from didact.engines.trees.tree import rows_of
from didact.engines.trees.tuning import FEW_TO_WALK, RUNS, TABLES

LEAVES = 256  # most leaves of a tree: their numbers are bytes
SMALL_TASK_ROWS = 8 * SMALL_BLOCK  # rows of one task
TWO_BYTES = 1 << 16  # codes of two bytes


@dataclass(frozen=True)
class Trees:
    """Trees ready for prediction: packed, and as tests of blocks of rows where they are small.

    No noun, so that no file of a model can hold it: the tests are trusted.
    """

    packed: Packed
    small: SmallTrees | None

    @classmethod
    def of(cls, packed: Packed) -> "Trees":
        """Make packed trees ready."""
        return cls(packed, small_trees(packed))

    def add(self, X: Any, out: Array) -> Array:
        """Add the values of all trees to out (n, columns), which is returned."""
        small = self.small
        if small is None or X.shape[0] < FEW_TO_WALK:
            return predict_sum(self.packed, X, out)
        check_columns(self.packed, X, out)
        return add_small(small, X, out)


class Sides(NamedTuple):
    """A column of codes, and which of them its tests send left."""

    cuts: Array  # thresholds
    known: int  # categories, −1 for numbers
    missing: int  # the code of NaN
    owner: Array  # of each run of codes that go left: its test, the first and the last code
    low: Array
    high: Array
    left: Array  # bool (tests, codes) for categories


def add_small(trees: SmallTrees, X: Any, out: Array) -> Array:
    """Add the values of all trees to out (n, columns), which is returned."""
    size = (
        SMALL_TASK_ROWS if isinstance(X, np.ndarray) else SMALL_BLOCK
    )  # other kinds of rows become dense a few at a time
    kind = np.uint8 if trees.missing.max(initial=0) < 256 else np.uint16

    def task(start: int) -> None:
        stop, space = min(start + SMALL_TASK_ROWS, X.shape[0]), block_buffers(len(trees.feature), kind)
        for a in range(start, stop, size):
            b = min(a + size, stop)
            add_small_trees(trees, rows_of(X[a:b]), space, out[a:b])

    parallel_map(task, range(0, X.shape[0], SMALL_TASK_ROWS))
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
    feature, known, missing, heaps, levels, tests, runs, tables = found
    tests[:, 1], tests[:, 2] = first[inner], count[left[inner]]
    bounds = np.append(np.searchsorted(inner, packed.roots), len(inner))
    starts = np.cumsum(count[packed.roots]) - count[packed.roots]
    values = np.empty(len(leaf))
    values[starts[np.searchsorted(packed.roots, leaf, side="right") - 1] + first[leaf]] = packed.values[leaf, 0]
    return SmallTrees(
        feature=feature, known=known, missing=missing, heaps=heaps, levels=levels, tests=tests, bounds=bounds,
        runs=runs, tables=tables, leaves=values, starts=starts.astype(np.uint64),
        output=packed.output.astype(np.uint64),
    )  # fmt: skip


def are_apart(roots: Array, left: Array, inner: Array) -> bool:
    """Whether trees follow each other and each node but the roots has one parent: files may say otherwise."""
    if not len(roots) or roots[0] != 0 or (np.diff(roots) <= 0).any():
        return False
    parents = np.bincount(np.concatenate([left[inner], left[inner] + 1]), minlength=len(left))
    parents[roots] += 1
    tree = np.searchsorted(roots, np.arange(len(left)), side="right")
    return bool((parents == 1).all() and (tree[inner] == tree[left[inner]]).all())


def code_tests(packed: Packed, inner: Array) -> tuple[Array, ...] | None:
    """Columns of codes, the tests of these inner nodes on them, and the runs and tables that the tests read."""
    nodes, words = packed.nodes[inner], packed.category_sets
    sets = packed.sets[inner] if len(packed.sets) else np.full(len(inner), -1, np.int32)
    if np.count_nonzero(sets >= 0) * 64 * words.shape[1] > TABLES:
        return None
    bits = np.unpackbits(np.ascontiguousarray(words, "<u8").view(np.uint8), axis=1, bitorder="little")
    to_left = nodes["feature"] & 1 == 1
    keys, column = np.unique((nodes["feature"].astype(np.int64) | 1) - (sets < 0), return_inverse=True)
    places = [np.flatnonzero(column == c) for c in range(len(keys))]
    sides = []
    for key, here in zip(keys, places, strict=True):
        side = of_categories(bits[sets[here]], to_left[here]) if key & 1 else of_numbers(nodes[here], to_left[here])
        sides.append(side)
    known, missing = (np.array([getattr(side, name) for side in sides], np.int64) for name in ("known", "missing"))
    if missing.max(initial=0) >= TWO_BYTES:
        return None
    order = search_order(pack_cuts([side.cuts for side in sides], [len(side.cuts) + 1 for side in sides], known >= 0))
    return keys >> 1, known, missing, *order, *number_runs(sides, places, column)


def number_runs(sides: list[Sides], places: list[Array], column: Array) -> tuple[Array, Array, Array]:
    """The tests with their codes, runs and tables filled in; a column's tests stand at its places."""
    widest = max((side.missing for side in sides), default=0)
    tests, n_runs, n_tables = np.zeros((len(column), 5), np.uint32), 0, 0
    runs, tables = [np.empty((0, 2), np.int64)], [np.empty((0, widest + 1), np.uint8)]
    tests[:, 0] = column
    for side, here in zip(sides, places, strict=True):
        counts = np.bincount(side.owner, minlength=len(here))
        tabled = (counts == 0) | (counts > RUNS)
        kept, counts = ~tabled[side.owner], np.where(tabled, 0, counts)
        ends = n_runs + np.cumsum(counts)
        numbers = n_tables + np.cumsum(tabled) - 1
        tests[here, 3], tests[here, 4] = np.where(tabled, numbers, ends - counts), np.where(tabled, numbers, ends)
        runs.append(np.column_stack([side.low, (side.high - side.low) % (256 if widest < 256 else TWO_BYTES)])[kept])
        table = np.full((np.count_nonzero(tabled), widest + 1), 255, np.uint8)
        table[:, : side.left.shape[1]] = np.where(side.left[tabled[: len(side.left)]], 0, 255)
        tables.append(table)
        n_runs, n_tables = n_runs + len(runs[-1]), n_tables + len(table)
    return tests, np.concatenate(runs).astype(np.uint32), np.concatenate(tables)


def of_numbers(nodes: Array, to_left: Array) -> Sides:
    """The codes that thresholds send left: those up to its own, and that of missing values before them or not."""
    cuts, place = np.unique(nodes["threshold"], return_inverse=True)
    missing, nothing = len(cuts) + 1, np.empty((0, 0), bool)
    return Sides(cuts=cuts, known=-1, missing=missing, owner=np.arange(len(nodes)), low=np.where(to_left, missing, 0),
                 high=place, left=nothing)  # fmt: skip


def of_categories(bits: Array, to_left: Array) -> Sides:
    """The codes that sets of categories send left; behind those in any set come one for others and one for missing."""
    known = int(np.flatnonzero(bits.any(axis=0)).max(initial=-1)) + 1
    missing = known + 1
    ring = np.column_stack([to_left, bits[:, :known], np.zeros(len(bits))]).astype(np.int8)  # no run passes its end
    edges = np.diff(ring, axis=1, prepend=np.int8(0))
    (owner, begin), (_, end) = np.nonzero(edges == 1), np.nonzero(edges == -1)
    codes = np.roll(np.arange(missing + 1), 1)
    return Sides(cuts=np.empty(0), known=known, missing=missing, owner=owner, low=codes[begin], high=codes[end - 1],
                 left=np.roll(ring, -1, axis=1) == 1)  # fmt: skip
