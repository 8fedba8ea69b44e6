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
from didact.engines.trees.growers.exact_loops import RandomSortedScanner, SortedColumns, SortedScanner
from didact.engines.trees.growers.growth import grow_tree, new_nodes, set_words, signs, tree_threads
from didact.engines.trees.limits import Limits
from didact.engines.trees.rows.targets import Targets
from didact.engines.trees.tree import Tree
from didact.engines.trees.tree_loops import frozen


class Presorted(NamedTuple):
    """Columns in order: lines (p, n) of rank << 32 | row, and the distinct values of each feature one after the other.

    A missing value has the rank after the last; the rank of a category is its code.
    """

    lines: Array
    values: Array
    starts: Array
    categorical: Array


def presort(X: Any, categorical: Array | None = None) -> Presorted:
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
    return Presorted(lines, np.concatenate(distinct).astype(np.float64), starts, marked)


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


def kept_lines(table: Presorted, keep: Array | None) -> Array:
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


def grow_exact(
    table: Presorted, targets: Targets, limits: Limits, seed: int = 0, monotone: Array | None = None
) -> Tree:
    """Grow one tree from sorted columns; rows of weight 0 are left out. Random choices follow from the seed alone."""
    return grow_sorted(tree_threads(*table.lines.T.shape), table, targets, limits, seed, monotone)


def grow_sorted(
    threads: int, table: Presorted, targets: Targets, limits: Limits, seed: int = 0, monotone: Array | None = None
) -> Tree:
    """Grow a tree on so many threads."""
    lines = kept_lines(table, targets.keep)
    p, n = lines.shape
    words = set_words(np.diff(table.starts), table.categorical)
    columns = SortedColumns(
        lines=lines,
        values=frozen(table.values),
        starts=frozen(table.starts),
        categorical=frozen(table.categorical),
        monotone=signs(p, monotone),
    )
    side = np.zeros(table.lines.shape[1], np.uint8)
    kind = RandomSortedScanner if limits.random_splits else SortedScanner
    scanners = [
        kind(
            table=columns,
            stat=targets.of_thread(k),
            side=side,
            spare=np.empty(n, np.int64),
            order=np.empty(p, np.int64),
            found=np.empty((p, 4)),
            bits=np.zeros((p, max(words, 1)), np.uint64),
        )
        for k in range(threads)
    ]
    return grow_tree(scanners, scanners, new_nodes(n, limits, targets.channels, p, words, seed), targets, limits)
