"""Growing one tree from codes: by the best cut of each column, on one thread or on several, or by random cuts."""

from typing import Any

import numpy as np

from didact.core.jit.simd import BYTES
from didact.core.typing import Array
from didact.engines.trees.growers.binned_loops import CodedColumns, CodedScanner
from didact.engines.trees.growers.growth import grow_tree, new_nodes, set_words, signs, tree_threads
from didact.engines.trees.growers.random_cuts_loops import RandomScanner
from didact.engines.trees.growers.record_cuts_loops import RecordScanner
from didact.engines.trees.limits import Limits
from didact.engines.trees.rows.bins import Bins
from didact.engines.trees.rows.stat_loops import Scalar
from didact.engines.trees.rows.targets import Targets, few_rows
from didact.engines.trees.splits.category_loops import new_groups
from didact.engines.trees.splits.coded_loops import Buffers, Near
from didact.engines.trees.splits.median_loops import Medians
from didact.engines.trees.splits.random_cut_loops import CELLS, PAD, RandomCuts
from didact.engines.trees.tree import Tree
from didact.engines.trees.tree_loops import frozen
from didact.engines.trees.tuning import CACHE, COMMON

RECORD = 64  # with more features than fit into so many bytes a record is too dear to move, and to keep for each tree


def coded(codes: Array, bins: Bins, monotone: Array | None = None, values: Array | None = None) -> CodedColumns:
    """The codes (n, p) of all rows, column by column; `values` (p, most bins) are theirs if each code is one value."""
    return CodedColumns(
        codes=frozen(codes.T),
        thresholds=frozen(bins.thresholds),
        n_bins=frozen(bins.n_bins),
        categorical=frozen(bins.categorical),
        monotone=signs(len(bins.n_bins), monotone),
        values=frozen(np.empty((0, 0)) if values is None else values),
    )


def grow_from_bins(table: CodedColumns, targets: Targets, limits: Limits, seed: int = 0) -> Tree:
    """Grow one tree; rows of weight 0 are left out. All draws follow from the seed."""
    return grow_on(tree_threads(*table.codes.shape), table, targets, limits, seed)


def grow_on(threads: int, table: CodedColumns, targets: Targets, limits: Limits, seed: int = 0) -> Tree:
    """Grow a tree on so many threads."""
    p, rows = len(table.codes), kept_rows(table.codes.shape[1], targets)
    words, common, n = set_words(table.n_bins, table.categorical), common_codes(table, targets), len(rows)
    size = min(max(CACHE // (p * table.codes.itemsize), 256), n)
    if limits.max_leaf_nodes or 0 < limits.max_features < p // 8:  # most columns would be copied in vain
        size = 0
    first = coded_scanner(table, targets, targets.stat, rows, n, common)
    scanners, nears = [first], []
    for k in range(threads):
        if k > 0:
            own = coded_scanner(table, targets, targets.of_thread(k), rows[:0], n, common)
            scanners.append(own._replace(rows=first.rows, spare=first.spare, near=first.near))
        codes = np.empty((p, size), table.codes.dtype)
        stat = few_rows(scanners[k].stat, size)
        near = table._replace(codes=frozen(codes))
        nears.append(coded_scanner(near, targets, stat, np.empty(size, np.int32), size, common)._replace(codes=codes))
    nodes = new_nodes(n, limits, targets.channels, p, words, seed)
    return grow_tree(scanners, nears, nodes, targets, limits, size)


def kept_rows(n: int, targets: Targets) -> Array:
    """The numbers of the rows that count."""
    return np.arange(n, dtype=np.int32) if targets.keep is None else np.flatnonzero(targets.keep).astype(np.int32)


def common_codes(table: CodedColumns, targets: Targets) -> Array:
    """The code that most rows have in each column, if sums are whole numbers: a difference has no rounding then."""
    codes = table.codes[:, :: max(table.codes.shape[1] // 2048, 1)]
    found = np.full(len(codes), -1)
    for f in range(len(codes) if targets.whole else 0):
        counts = np.bincount(codes[f])
        if counts.max() >= COMMON * counts.sum():
            found[f] = counts.argmax()
    return found


def coded_scanner(
    table: CodedColumns, targets: Targets, stat: Any, rows: Array, size: int, common: Array
) -> CodedScanner:
    """A scanner with buffers for nodes of up to `size` of these rows."""
    top, p, channels = int(table.n_bins.max()), len(table.n_bins), targets.channels
    packs = isinstance(stat, Medians) or bool(table.categorical.any())
    return CodedScanner(
        table=table,
        stat=stat,
        codes=np.empty((0, 0), table.codes.dtype),
        rows=rows,
        spare=np.empty(len(rows), np.int32),
        near=Near(np.empty(len(rows)), np.empty(len(rows))),
        common=common,
        buffers=Buffers(
            line=np.empty(size if packs else 0, np.int64),
            sums=np.empty(channels),
            places=np.empty(channels + 1, np.int64),
            hist=np.zeros((top + 3, channels)),
            counts=np.zeros(top + 1, np.int64),
            marks=np.zeros(top // 64 + 1, np.uint64),
        ),
        order=np.empty(p, np.int64),
        found=np.empty((p, 4)),
        bits=np.zeros((p, max(set_words(table.n_bins, table.categorical), 1)), np.uint64),
        groups=new_groups(table.n_bins, table.categorical, channels),
    )


def random_cuts(codes: Array, bins: Bins, monotone: Array | None = None) -> RandomCuts:
    """The codes (n, p) of all rows, column by column and row by row, and a guide to the thresholds."""
    steps, per_unit = guide(bins)
    return RandomCuts(
        codes=frozen(codes.T),
        lines=as_records(codes) if suits_records(codes, bins, monotone) else frozen(codes),
        thresholds=bins.thresholds,
        guide=steps,
        steps=per_unit,
        halvings=np.ceil(np.log2(1.0 + np.diff(steps.astype(np.int64)).max(axis=1))).astype(np.int64),
        n_bins=bins.n_bins,
        categorical=bins.categorical,
        monotone=np.zeros(len(bins.n_bins), np.int8) if monotone is None else np.asarray(monotone, np.int8),
    )


def suits_records(codes: Array, bins: Bins, monotone: Array | None) -> bool:
    """Whether rows are short, and nothing in them is missing, a category or constrained."""
    if codes.dtype != np.uint8 or codes.shape[1] >= RECORD or bins.categorical.any() or np.any(monotone):
        return False
    return bool((codes.max(axis=0, initial=0) < bins.n_bins).all())


def as_records(codes: Array) -> Array:
    """Codes row by row, in whole vectors of bytes, of which the last byte has room for a class."""
    n, p = codes.shape
    records = new_records(n, -(-(p + 1) // BYTES) * BYTES)
    records[:, :p], records[:, p:] = codes, 0
    return frozen(records)


def new_records(n: int, width: int) -> Array:
    """Room for n records that begin where a vector may begin."""
    room = np.empty(n * width + BYTES, np.uint8)
    start = -room.ctypes.data % BYTES
    return room[start : start + n * width].reshape(n, width)


def guide(bins: Bins) -> tuple[Array, Array]:
    """How many thresholds are below each of equal steps from the first to the last one, and the steps in a unit."""
    found, steps = np.zeros((len(bins.n_bins), CELLS + 1), np.uint16), np.zeros(len(bins.n_bins))
    for f in np.flatnonzero((bins.n_bins > 2) & ~bins.categorical):
        cuts = bins.thresholds[f, : bins.n_bins[f] - 1] / 2  # the distance of two huge ones is finite then
        found[f] = np.searchsorted(cuts, np.linspace(cuts[0], cuts[-1], CELLS + 1))
        steps[f] = CELLS / 2 / (cuts[-1] - cuts[0])
    return found, steps


def grow_random_cuts(table: RandomCuts, targets: Targets, limits: Limits, seed: int = 0) -> Tree:
    """Grow one tree, on the calling thread; rows of weight 0 are left out. All draws follow from the seed."""
    if isinstance(targets.stat, Scalar) and targets.counts and table.lines.shape[1] > len(table.codes):
        return grow_from_records(table, targets, targets.stat.rows[:, 0], limits, seed)
    p, rows = len(table.codes), kept_rows(table.codes.shape[1], targets)
    n, words = len(rows), set_words(table.n_bins, table.categorical)
    size = n + PAD if isinstance(targets.stat, Scalar) else 0
    near, other = (Near(np.zeros(size), np.zeros(size)) for _ in range(2))
    if isinstance(targets.stat, Scalar):
        near.targets[:n], near.weights[:n] = targets.stat.rows[rows].T
    scanner = RandomScanner(
        table=table,
        stat=targets.stat,
        rows=rows,
        spare=np.empty_like(rows),
        codes=np.empty(n + PAD, table.codes.dtype),
        line=np.empty(n, np.int64),
        sides=np.empty((2, targets.channels)),
        order=np.arange(2 * p),
        bits=np.zeros(max(words, 1), np.uint64),
        groups=new_groups(table.n_bins, table.categorical, targets.channels),
        near=near,
        other=other,
    )
    return grow_tree([scanner], [scanner], new_nodes(n, limits, targets.channels, 0, words, seed), targets, limits)


def grow_from_records(table: RandomCuts, targets: Targets, classes: Array, limits: Limits, seed: int) -> Tree:
    """Grow one tree of two classes, 0 and 1, whose rows count once, from records that move with their nodes."""
    p, (n, width) = len(table.codes), table.lines.shape
    records = new_records(n, width)
    np.copyto(records, table.lines)
    records[:, -1] = classes
    scanner = RecordScanner(
        table=table,
        stat=targets.stat,
        records=records,
        bounds=np.zeros((5, width), np.uint8),
        drawn=np.empty((3, p), np.int64),
        order=np.arange(2 * p),
        parent=np.zeros(1, np.int64),
    )
    return grow_tree([scanner], [scanner], new_nodes(n, limits, 2 * targets.channels, 0, 0, seed), targets, limits)
