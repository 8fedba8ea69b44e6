r"""Exact growth: every midpoint between neighbouring values of a node is a candidate.

`presort` sorts each column once; the result serves any number of fits with other targets or weights (bagging,
boosting). A level of the tree then costs two passes over n·p packed numbers, one to scan and one to partition, and no
node sorts again. With several threads the features of large nodes are scanned side by side, and the subtrees below
are grown side by side; the result does not depend on the number of threads.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.engines.trees.growers.exact_loops import Nodes, Open, Table, assess
from didact.engines.trees.growers.growth_loops import Written, grow_tree, write_preorder
from didact.engines.trees.limits import Limits
from didact.engines.trees.rows.targets import Targets
from didact.engines.trees.tree import Tree

SLOTS = 256


class Sorted(NamedTuple):
    """Columns in order: lines (p, n) of rank << 32 | row, and the distinct values of each feature one after the other.

    A missing value has the rank after the last; the rank of a category is its code.
    """

    lines: Array
    values: Array
    starts: Array
    categorical: Array


def presort(X: Any, categorical: Array | None = None) -> Sorted:
    """Sort every column of X (dense or sparse; NaN is missing); `categorical` marks columns of codes."""
    n, p = X.shape
    marked = np.zeros(p, bool) if categorical is None else np.asarray(categorical, bool)
    lines = np.empty((p, n), np.int64)
    columns: Any = X.tocsc() if sp.issparse(X) else np.asarray(X)

    def piece(j: int) -> Array:
        x = columns[:, [j]].toarray().ravel() if sp.issparse(columns) else columns[:, j]
        return sort_column(np.ascontiguousarray(x), bool(marked[j]), lines[j])

    distinct = parallel_map(piece, range(p))
    starts = np.concatenate([[0], np.cumsum([len(d) for d in distinct])]).astype(np.int64)
    return Sorted(lines, np.concatenate(distinct).astype(np.float64), starts, marked)


def sort_column(x: Array, is_category: bool, line: Array) -> Array:
    """Write a column's packed ranks and rows in order; its distinct values."""
    order = np.argsort(x)
    ordered = x[order]
    present = len(x) - int(np.count_nonzero(np.isnan(ordered)))
    if is_category:
        top = int(ordered[present - 1]) + 1 if present else 0
        ranks = np.where(np.isnan(ordered), top, ordered).astype(np.int64)
        distinct = np.arange(top, dtype=np.float64)
    else:
        new = np.ones(len(x), bool)
        np.not_equal(ordered[1:present], ordered[: max(present - 1, 0)], out=new[1 : max(present, 1)])
        new[present + 1 :] = False
        ranks = np.cumsum(new) - 1
        distinct = ordered[:present][new[:present]]
    np.left_shift(ranks, 32, out=line)
    line |= order
    return distinct


def kept_lines(table: Sorted, keep: Array | None) -> Array:
    """The lines, copied, with the rows that count."""
    if keep is None or keep.all():
        return table.lines.copy()
    n = int(keep.sum())
    lines = np.empty((len(table.lines), n), np.int64)

    def piece(j: int) -> None:
        line = table.lines[j]
        lines[j] = line[keep[line & 0xFFFFFFFF]]

    parallel_map(piece, range(len(lines)))
    return lines


def capacity(n: int, limits: Limits) -> int:
    """The most nodes that a tree of n rows can have under the limits."""
    leaves = max(1, n // max(limits.min_samples_leaf, 1))
    if limits.max_leaf_nodes:
        leaves = min(leaves, limits.max_leaf_nodes)
    if limits.max_depth < 31:
        leaves = min(leaves, 1 << limits.max_depth)
    return 2 * leaves + 1


def empty_nodes(room: int, channels: int, words: int, seed: int) -> Nodes:
    """Room for nodes, with a root of no rows."""
    nodes = Nodes(
        np.empty((room, 7), np.int64),
        np.empty((room, 5)),
        np.empty(room),
        np.empty(room, np.int64),
        np.empty(room, np.uint64),
        np.empty((room, channels)),
        np.empty((room if words else 1, max(words, 1)), np.uint64),
    )
    nodes.links[0] = (-1, -1, -2, 0, -1, 0, 0)
    nodes.numbers[0] = (0.0, 0.0, 0.0, -np.inf, np.inf)
    nodes.threshold[0], nodes.depth[0], nodes.state[0] = -2.0, 0, np.uint64(seed)
    return nodes


def open_nodes(p: int, words: int) -> Open:
    """Room for open nodes; in the first all features may vary."""
    return Open(
        np.zeros(SLOTS, np.int64),
        np.empty((SLOTS, 5)),
        np.ones((SLOTS, p), np.uint8),
        np.zeros((SLOTS, max(words, 1)), np.uint64),
    )


def grow_exact(table: Sorted, targets: Targets, limits: Limits, seed: int = 0, monotone: Array | None = None) -> Tree:
    """Grow one tree from sorted columns; rows of weight 0 are left out. Random choices follow from the seed alone."""
    lines = kept_lines(table, targets.keep)
    p, n = lines.shape
    signs = np.zeros(p, np.int8) if monotone is None else np.asarray(monotone, np.int8)
    sizes = np.diff(table.starts)[table.categorical]
    words = max(1, -(-int(sizes.max()) // 64)) if len(sizes) else 0
    loops_table = Table(lines, table.values, table.starts, table.categorical, signs)
    nodes = empty_nodes(capacity(n, limits), targets.channels, words, seed)
    nodes.links[0, 6] = n
    assess(nodes, 0, lines[0], targets.stat)
    side, spare = np.zeros(table.lines.shape[1], np.uint8), np.empty(n, np.int64)
    count = grow_tree(loops_table, nodes, open_nodes(p, words), targets.stat, limits, side, spare)
    return finished(nodes, count, targets)


def finished(nodes: Nodes, count: int, targets: Targets) -> Tree:
    """The tree in preorder, with values and impurities."""
    whole, real = np.int32, np.float64
    kinds = (whole, whole, whole, real, np.uint8, whole, real, np.int64, real, np.int64)
    arrays = [np.empty(count, kind) for kind in kinds]
    out = Written(np.empty((count, targets.channels)), *arrays)
    sets = write_preorder(nodes, out)
    return Tree(*out[1:7], nodes.sets[out.sets[:sets]], *out[7:10], targets.values(out.sums))
