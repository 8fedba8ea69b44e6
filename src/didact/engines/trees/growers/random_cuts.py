"""Growing a tree with random cuts from codes."""

import numpy as np

from didact.core.typing import Array
from didact.engines.trees.growers.exact import capacity, empty_nodes, finished, open_nodes
from didact.engines.trees.growers.growth_loops import wider
from didact.engines.trees.growers.random_cuts_loops import grow_lots
from didact.engines.trees.limits import Limits
from didact.engines.trees.rows.bins import Bins
from didact.engines.trees.rows.stat_loops import Scalar
from didact.engines.trees.rows.targets import Targets
from didact.engines.trees.splits.random_cut_loops import CELLS, PAD, Apart, Beside, Lots, Near, Room
from didact.engines.trees.tree import Tree


def lots(codes: Array, bins: Bins, monotone: Array | None = None) -> Lots:
    """The codes (n, p) of all rows, column by column and row by row, and a guide to the thresholds."""
    signs = np.zeros(len(bins.n_bins), np.int8) if monotone is None else np.asarray(monotone, np.int8)
    columns, lines = np.ascontiguousarray(codes.T), np.ascontiguousarray(codes)
    return Lots(columns, lines, bins.thresholds, *guide(bins), bins.n_bins, bins.categorical, signs)


def guide(bins: Bins) -> tuple[Array, Array]:
    """How many thresholds are below each of equal steps from the first to the last one, and the steps in a unit."""
    found, steps = np.zeros((len(bins.n_bins), CELLS + 1), np.uint16), np.zeros(len(bins.n_bins))
    for f in np.flatnonzero((bins.n_bins > 2) & ~bins.categorical):
        cuts = bins.thresholds[f, : bins.n_bins[f] - 1] / 2  # the distance of two huge ones is finite then
        found[f] = np.searchsorted(cuts, np.linspace(cuts[0], cuts[-1], CELLS + 1))
        steps[f] = CELLS / 2 / (cuts[-1] - cuts[0])
    return found, steps


def grow_by_lot(table: Lots, targets: Targets, limits: Limits, seed: int = 0) -> Tree:
    """Grow one tree, on the calling thread; rows of weight 0 are left out. All draws follow from the seed."""
    p, n = table.codes.shape
    rows = np.arange(n, dtype=np.int32) if targets.keep is None else np.flatnonzero(targets.keep).astype(np.int32)
    sizes = table.n_bins[table.categorical]
    words = max(1, -(-int(sizes.max()) // 64)) if len(sizes) else 0
    nodes = empty_nodes(capacity(len(rows), limits), targets.channels, words, seed)
    nodes.links[0, 6] = len(rows)
    beside = isinstance(targets.stat, Scalar)
    size = len(rows) + PAD if beside else 0
    near, other = (Near(np.zeros(size), np.zeros(size)) for _ in range(2))
    if isinstance(targets.stat, Scalar):
        own = targets.stat.rows if len(rows) == n else targets.stat.rows[rows]
        near.targets[: len(rows)], near.weights[: len(rows)] = own[:, 0], own[:, 1]
    room = Room(
        rows,
        np.empty_like(rows),
        np.empty(len(rows) + PAD, table.codes.dtype),
        np.empty(len(rows), np.int64),
        np.empty((2, targets.channels)),
        np.arange(2 * p),
        np.zeros(max(words, 1), np.uint64),
        near,
        other,
    )
    noun = Beside(targets.stat) if beside else Apart(targets.stat)
    opened, many, count = open_nodes(0, words), 0, 0
    while True:
        many, count = grow_lots(table, nodes, opened, noun, limits, room, many, count)
        if many + 2 < len(opened.node):
            return finished(nodes, count, targets)
        opened = wider(opened)
