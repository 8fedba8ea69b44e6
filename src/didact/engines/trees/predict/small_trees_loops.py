"""Compiled prediction by many small trees without walking; a slow twin stands beside its test.

Leaves are numbered from left to right. A row begins at leaf 0; a test of the node whose leaves begin at `first` moves
the rows that stand there and go right past the leaves on the left. Once all tests of a tree are made, parents before
children, each row stands at its leaf. So a test is a few instructions on whole registers of codes, a byte a row, and no
branch: with 30 tests about a nanosecond a row and tree, half of it to add the leaf's value.

Layout, for blocks of 1024 rows::

    codes[c]   [ row 0 | row 1 | … | row 1023 ]   one line for each column, which a test reads; bytes, or two each
    place      [ leaf  | leaf  | …            ]   bytes: where each row stands in the present tree
    tests[q]   [ column | first leaf | leaves on the left | first run | end of runs ]   q: bounds[t] … bounds[t + 1] − 1
    leaves     [ values of tree 0 | values of tree 1 | … ]   a row gets leaves[starts[t] + place]
                 ^ starts[0]        ^ starts[1]
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import jit, jit_unmanaged
from didact.core.typing import Array
from didact.engines.trees.rows.bins_loops import SEARCH_ROWS, search_heap

SMALL_BLOCK = 1024  # enough that the next test finds the rows' places written, few enough for the nearest caches


class SmallTrees(NamedTuple):
    """Many trees as tests of columns of codes. A column is a feature, as numbers or as categories."""

    feature: Array  # int64 (columns)
    known: Array  # int64 (columns): the number of categories, −1 for numbers
    missing: Array  # int64 (columns): the code of NaN
    heaps: Array  # (columns, 2^k): thresholds in the order of a search, and its steps
    levels: Array
    tests: Array  # uint32 (tests, 5): column, first leaf, leaves on the left, first and end of its runs
    bounds: Array  # int64 (trees + 1): tests of each tree
    runs: Array  # uint32 (runs, 2): a code that goes left, and how many more behind it do; after the last code comes 0
    tables: Array  # uint8: 255 for codes that go right; a test that has no runs reads the table of that number
    leaves: Array  # float64: values of the leaves
    starts: Array  # uint64 (trees): the first leaf of each
    output: Array  # uint64 (trees): the column to which a tree adds


class BlockBuffers(NamedTuple):
    """Buffers for a block of rows."""

    codes: Array  # uint8 or uint16 (columns, SMALL_BLOCK)
    place: Array  # uint8 (SMALL_BLOCK): the leaf of each row
    aside: Array  # uint8 (SMALL_BLOCK): 255 where a row goes right
    values: Array  # float64 (SEARCH_ROWS): values to be coded
    at: Array  # uint64 (SEARCH_ROWS): and their codes


def block_buffers(columns: int, kind: Any) -> BlockBuffers:
    """Buffers for codes of this type."""
    codes, (place, aside) = np.zeros((columns, SMALL_BLOCK), kind), np.zeros((2, SMALL_BLOCK), np.uint8)
    return BlockBuffers(codes=codes, place=place, aside=aside, values=np.zeros(SEARCH_ROWS),
                        at=np.zeros(SEARCH_ROWS, np.uint64))  # fmt: skip


@jit
def number_leaves(left: Array, first: Array, count: Array) -> None:
    """The leaves below every node, and the number of the first of them within its tree; both are 0 and 1 at first."""
    for node in range(left.shape[0] - 1, -1, -1):
        if left[node] > node:
            count[node] = count[left[node]] + count[left[node] + 1]
    for node in range(left.shape[0]):
        if left[node] > node:
            first[left[node]] = first[node]
            first[left[node] + 1] = first[node] + count[left[node]]


@jit_unmanaged(forceinline=True)
def code_rows(trees: SmallTrees, X: Array, start: int, many: int, values: Array, at: Array, codes: Array) -> None:
    """Write the codes (columns, rows) of rows start … start + many − 1; they are few enough for the nearest cache."""
    place = start % SMALL_BLOCK
    for c in range(trees.feature.shape[0]):
        f, line, known, missing = np.uint64(trees.feature[c]), codes[c], trees.known[c], np.uint64(trees.missing[c])
        for i in range(many):
            values[i] = X[np.uint64(start + i), f]
        if known < 0:
            search_heap(values, trees.heaps[c], trees.levels[c], at)
        else:
            for i in range(many):
                x = values[i]
                at[i] = np.uint64(x) if x >= 0 and x < known else np.uint64(known)
        for i in range(many):
            line[np.uint64(place + i)] = missing if np.isnan(values[i]) else at[i]


@jit_unmanaged(forceinline=True)
def find_leaves(trees: SmallTrees, t: int, codes: Array, place: Array, aside: Array) -> None:
    """The leaves, numbered within tree t, of all rows of a block."""
    none, all_bits, kind = np.uint8(0), np.uint8(255), codes.dtype.type
    for i in range(SMALL_BLOCK):
        place[i] = none
    for q in range(trees.bounds[t], trees.bounds[t + 1]):
        test = trees.tests[q]
        line, first, skip = codes[np.uint64(test[0])], np.uint8(test[1]), np.uint8(test[2])
        begin, end = np.uint64(test[3]), np.uint64(test[4])
        if begin == end:
            table = trees.tables[begin]
            for i in range(SMALL_BLOCK):
                aside[i] = table[np.uint64(line[i])]
        else:
            low, span = kind(trees.runs[begin, 0]), kind(trees.runs[begin, 1])
            if end - begin == np.uint64(1):
                for i in range(SMALL_BLOCK):
                    goes = (place[i] == first) & (kind(line[i] - low) > span)
                    place[i] = np.uint8(place[i] + (skip if goes else none))
                continue
            for i in range(SMALL_BLOCK):
                aside[i] = all_bits if kind(line[i] - low) > span else none
            for r in range(begin + np.uint64(1), end):
                low, span = kind(trees.runs[r, 0]), kind(trees.runs[r, 1])
                for i in range(SMALL_BLOCK):
                    before = aside[i]  # read in any case: AVX2 has no instruction that reads some bytes only
                    aside[i] = before if kind(line[i] - low) > span else none
        for i in range(SMALL_BLOCK):
            step = skip & aside[i]
            place[i] = np.uint8(place[i] + (step if place[i] == first else none))


@jit_unmanaged
def add_small_trees(trees: SmallTrees, X: Array, room: BlockBuffers, out: Array) -> None:
    """Add the values of all trees to the rows of out."""
    n, codes, place, aside = X.shape[0], room.codes, room.place, room.aside
    for start in range(0, n, SMALL_BLOCK):
        many = min(SMALL_BLOCK, n - start)
        for near in range(start, start + many, SEARCH_ROWS):
            code_rows(trees, X, near, min(SEARCH_ROWS, start + many - near), room.values, room.at, codes)
        for t in range(trees.starts.shape[0]):
            find_leaves(trees, t, codes, place, aside)
            base, column = trees.starts[t], trees.output[t]
            for i in range(many):
                out[np.uint64(start + i), column] += trees.leaves[base + np.uint64(place[i])]


def warm() -> None:
    """Compile for the types in use."""
    one, none = np.zeros(1, np.int64), np.zeros(1, np.uint64)
    number_leaves(one, one.copy(), np.ones(1, np.int64))
    trees = SmallTrees(
        feature=one, known=one, missing=one + 1, heaps=np.zeros((1, 2)), levels=one, tests=np.zeros((0, 5), np.uint32),
        bounds=np.zeros(2, np.int64), runs=np.zeros((0, 2), np.uint32), tables=np.zeros((0, 2), np.uint8),
        leaves=np.zeros(1), starts=none, output=none,
    )  # fmt: skip
    for kind in (np.float32, np.float64):
        for code in (np.uint8, np.uint16):
            X = np.zeros((1, 1), kind)
            X.flags.writeable = False
            add_small_trees(trees, X, block_buffers(1, code), np.zeros((1, 1)))
