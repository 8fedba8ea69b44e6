"""One tree from rows that are not in memory: batches on disk, or blocks on a Dask cluster.

Each round is one pass over the rows. Every block codes its rows, sends them down the tree so far and counts those in
open nodes; only these histograms travel. Their sums are whole numbers, so the tree is the one that the same rows would
give in memory, bit for bit. The rounds are as many as the tree is deep: in a round all nodes are opened that the best
splits known so far ask for.
"""

import heapq
from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple

import numpy as np

from didact.core.rows import Block, Rows
from didact.core.rows.gather import Pieces
from didact.core.typing import Array
from didact.engines.trees.growers.histogram import Grower
from didact.engines.trees.growers.histogram_node_loops import NodeTable, Sample, make_children, split_from_histogram
from didact.engines.trees.grown import Grown, finished_tree
from didact.engines.trees.limits import Limits
from didact.engines.trees.node_loops import count_open
from didact.engines.trees.rows.bins import SAMPLE, Bins, Coded, bin_codes, column_cuts, pack_cuts
from didact.engines.trees.rows.fixed_point import Channels
from didact.engines.trees.rows.fixed_point_loops import decoded
from didact.engines.trees.tuning import FIRST_LEAVES
from didact.parts.statistics.moments import Sums


class OpenNodes(NamedTuple):
    """The open nodes of a tree, whose histograms (nodes, slots, channels) are wanted."""

    nodes: NodeTable
    groups: int
    first: Array
    place: Array
    shape: tuple[int, ...]

    def counted(self, codes: Array, fixed: Array, labels: Array | None, n_bins: Array) -> Array:
        """The histograms of these rows."""
        hists = np.zeros(self.shape, np.int64)
        at, masks, first, place = (own(a) for a in (self.nodes.at, self.nodes.masks, self.first, self.place))
        count_open(codes, fixed, labels, at, masks, own(n_bins), self.groups, first, place, hists)
        return hists


def own(a: Array) -> Array:
    """A writable array: those received from a worker are read-only, for which loops would be compiled again."""
    return np.require(a, requirements="W")


Answer = Callable[[list[tuple[int, OpenNodes]]], Sequence[Array]]
Rounds = Generator[OpenNodes, Array, Grown]  # asks for histograms, gets them, and returns a tree


class Drawn(NamedTuple):
    """The rows with the smallest keys: a sample that does not depend on how the rows are cut into blocks."""

    keys: Array
    X: Array
    weights: Array
    largest: Array  # largest value of each column, for the number of categories
    n_rows: int

    def merge(self, other: "Drawn") -> "Drawn":
        """The smallest keys of both."""
        keys = np.concatenate([self.keys, other.keys])
        X, w = np.concatenate([self.X, other.X]), np.concatenate([self.weights, other.weights])
        if len(keys) > SAMPLE:
            chosen = np.sort(np.argpartition(keys, SAMPLE)[:SAMPLE])
            keys, X, w = keys[chosen], X[chosen], w[chosen]
        largest = np.fmax(self.largest, other.largest)
        return Drawn(keys=keys, X=X, weights=w, largest=largest, n_rows=self.n_rows + other.n_rows)


def draw_block(block: Block) -> Drawn:
    """All rows of a block that count, with keys that are made of their own numbers."""
    X, w = block.X, block.weight
    X = np.ascontiguousarray(X.toarray() if hasattr(X, "toarray") else X, np.float64)
    w = np.ones(len(X)) if w is None else np.asarray(w, np.float64)
    X, w = X[w > 0], w[w > 0]
    bits = np.where(np.isnan(X), np.nan, X + 0.0).view(np.uint64)  # one NaN, no negative zero
    keys = np.zeros(len(X), np.uint64)
    with np.errstate(over="ignore"):
        for f in range(X.shape[1]):
            keys = (keys ^ bits[:, f]) * np.uint64(0x9E3779B97F4A7C15)
            keys ^= keys >> np.uint64(29)
    largest = np.fmax.reduce(X, axis=0, initial=0.0) if len(X) else np.zeros(X.shape[1])
    return Drawn(keys=keys, X=X, weights=w, largest=largest, n_rows=len(X))


def learn_bins_rows(rows: Rows, max_bins: int = 255, categorical: Array | None = None) -> tuple[Bins, int]:
    """The bins of rows of any kind, from one pass, and the number of rows that count."""
    sample = rows.reduce(draw_block)
    p = sample.X.shape[1]
    mask = np.zeros(p, bool) if categorical is None else np.asarray(categorical).astype(bool)
    cuts = [np.empty(0) if mask[f] else column_cuts(sample.X[:, f], sample.weights, max_bins) for f in range(p)]
    known = np.zeros(p) if categorical is None else np.asarray(categorical, np.int64)
    bins = [max(int(sample.largest[f]) + 1, int(known[f])) if mask[f] else len(cuts[f]) + 1 for f in range(p)]
    return pack_cuts(cuts, bins, mask), sample.n_rows


def coded_block(block: Block, bins: Bins, every: bool) -> Pieces:
    """The rows of a block that count, or every one of them, with codes in place of numbers."""
    X, y, w = block.X, block.y, block.weight
    w = np.ones(X.shape[0]) if w is None else np.asarray(w, np.float64)
    keep = slice(None) if every else np.flatnonzero(w > 0)
    return Pieces(((bin_codes(X[keep], bins), np.asarray(y)[keep], w[keep]),))


def coded_rows(rows: Rows, bins: Bins, every: bool = False) -> tuple[Coded, Array, Array | None]:
    """Rows of any kind as codes in memory, with targets and weights (None if all are 1).

    A byte a value: what does not fit in memory as numbers often does so as codes, and boosting passes over it
    hundreds of times. Rows of weight 0 are left out unless `every` row is wanted.
    """
    codes, y, w = rows.reduce(coded_block, bins, every).columns()
    return Coded(codes, bins), y, None if (w == 1).all() else w


def count_block(block: Block, fixed_of: Callable[..., Any], args: Any, bins: Bins, wanted: OpenNodes) -> Sums:
    """The histograms of a block's rows in the open nodes."""
    keep = slice(None) if block.weight is None else np.flatnonzero(block.weight > 0)
    block = block.each(lambda column: column[keep])
    if not block.X.shape[0]:
        return Sums((np.zeros(wanted.shape, np.int64),))
    fixed, labels = fixed_of(block, *args)
    return Sums((wanted.counted(bin_codes(block.X, bins), fixed, labels, bins.n_bins),))


def grow_rows(
    rows: Rows, fixed_of: Callable[..., Any], args: tuple[Any, ...], layout: Channels, n_rows: int, bins: Bins,
    criterion: Any, limits: Limits, seed: int = 0, *, monotone: Array | None = None,
) -> Grown:  # fmt: skip
    """Grow one tree over rows of any kind.

    Parameters
    ----------
    rows : Rows
        The rows; those of weight 0 do not count.
    fixed_of : callable
        fixed_of(block, *args) makes (numbers, labels) of a block, as `Channels` has them (no labels for
        values). The same powers of two have to be used in all blocks.
    args : tuple
        More arguments of fixed_of.
    layout : Channels
        How numbers are read; its own are not used.
    n_rows : int
        Number of rows of positive weight.
    bins, criterion, limits, seed, monotone
        As for `Grower` and its `grow`.
    """
    grower = Grower(np.empty((0, rows.n_features), bins.dtype), bins, layout, criterion, limits, monotone=monotone)
    growing = grow_in_rounds(layout, n_rows, grower, seed)
    return grown_side_by_side(
        [growing], lambda asked: rows.reduce(count_block, fixed_of, args, bins, asked[0][1]).parts
    )[0]


def grow_in_rounds(layout: Channels, n_rows: int, grower: Grower, seed: int) -> Rounds:
    """Grow one tree by asking for histograms of open nodes; the rows can be anywhere, at most `n_rows` of them."""
    return (yield from _Growth(layout, n_rows, grower, seed).run())


def grown_side_by_side(
    growing: Sequence[Rounds], answer: Callable[[list[tuple[int, OpenNodes]]], Sequence[Array]]
) -> list[Grown]:
    """Grow trees side by side: in each round `answer` gives the histograms that unfinished ones, by number, want."""
    asked, done = [(k, next(rounds)) for k, rounds in enumerate(growing)], {}
    while asked:
        waiting, found = asked, answer(asked)
        asked = []
        for (k, _), hists in zip(waiting, found, strict=True):
            try:
                asked.append((k, growing[k].send(hists)))
            except StopIteration as end:
                done[k] = end.value
    return [done[k] for k in range(len(growing))]


class _Growth:
    """The state of a tree between two rounds."""

    def __init__(self, layout: Channels, n_rows: int, grower: Grower, seed: int) -> None:
        self.layout, self.grower = layout, grower
        self.nodes = grower.node_room(min(n_rows, FIRST_LEAVES), layout.n_channels)  # made longer when needed
        grower.make_root(self.nodes, 0, seed)  # the rows are counted later
        self.space, nothing = grower.space(layout), np.empty(0, np.uint32)
        self.sample = Sample(columns=grower.columns, bundles=grower.bundles, fixed=layout.fixed[:0],
                             labels=layout.labels, order=nothing)  # fmt: skip
        self.hists: dict[int, Array] = {}
        self.count = 1

    def run(self) -> Rounds:
        """Rounds until no more splits are wanted."""
        bins, nodes = self.grower.bins, self.nodes
        (self.hists[0],) = own((yield self.histograms([0])))
        nodes.fixed[0, 0] = self.hists[0][: int(bins.n_bins[0]) + 1].sum(axis=0)
        sums = self.grower.buffers[0].sums
        nodes.at[0]["stop"] = decoded(nodes.fixed[0, 0], self.space.how, self.space.inverse, sums, 0)
        self.find(0)
        while wanted := self.wanted():
            yield from self.open(wanted)
        table = self.nodes.at
        for node in self.unselected:
            table[node]["left"] = table[node]["right"] = -1
        return finished_tree(self.nodes, self.sample.order, self.layout, bins, self.grower.criterion)

    def histograms(self, nodes: list[int]) -> OpenNodes:
        """Request the histograms of some nodes."""
        place = np.full(self.count, -1, np.int64)
        place[nodes] = np.arange(len(nodes))
        shape = (len(nodes), self.grower.slots, self.layout.n_channels)
        used = NodeTable(self.nodes.at[: self.count], self.nodes.fixed[:0], self.nodes.masks[: self.count])
        return OpenNodes(nodes=used, groups=self.space.member.shape[1], first=self.grower.bundles.first, place=place,
                         shape=shape)  # fmt: skip

    def find(self, node: int) -> None:
        """The best split of a node, from its histogram."""
        self.nodes.at[node]["hist"] = 0
        split_from_histogram(node, self.sample, self.space, self.grower.limits, self.grower.criterion, self.nodes,
                   self.hists[node][None], self.grower.buffers[0])  # fmt: skip

    def wanted(self) -> list[int]:
        """The nodes not split yet that best-first growth would split next, by the gains known so far."""
        table, most = self.nodes.at, self.grower.limits.max_leaf_nodes - 1
        most = most if most > 0 else 1 << 62
        queue = [(-float(table[0]["gain"]), 0, 0)] if table[0]["feature"] >= 0 else []
        missing, made, turn = [], 0, 0
        while queue and made < most:
            node = heapq.heappop(queue)[2]
            made += 1
            if table[node]["left"] < 0:
                missing.append(node)
                continue
            for child in (int(table[node]["left"]), int(table[node]["right"])):
                turn += 1
                if table[child]["feature"] >= 0:
                    heapq.heappush(queue, (-float(table[child]["gain"]), turn, child))
        self.unselected = [node for _, _, node in queue]
        return missing

    def open(self, wanted: list[int]) -> Generator[OpenNodes, Array, None]:
        """Split nodes: one round counts the smaller child of each, the larger one is what remains."""
        mine, small, large = self.grower.buffers[0], [], []
        if self.count + 2 * len(wanted) > len(self.nodes.at):
            self.nodes = _longer(self.nodes, self.count + 2 * len(wanted))
        nodes = self.nodes
        for node in wanted:
            left, right = self.count, self.count + 1
            self.count += 2
            here = nodes.at[node]
            rows = decoded(nodes.fixed[node, 1], self.space.how, self.space.inverse, mine.sums, 0)
            make_children(node, left, right, int(here["start"]) + rows, self.space.features, self.space.member, nodes)
            pair = (left, right) if 2 * rows <= here["stop"] - here["start"] else (right, left)
            small.append(pair[0])
            large.append(pair[1])
        counted = own((yield self.histograms(small)))
        for node, few, many, hist in zip(wanted, small, large, counted, strict=True):
            self.hists[few], self.hists[many] = hist, self.hists.pop(node) - hist
        for child in [*small, *large]:
            self.find(child)
            if nodes.at[child]["feature"] < 0:
                del self.hists[child]


def _longer(nodes: NodeTable, count: int) -> NodeTable:
    """A copy of the nodes with a larger capacity."""
    more = max(count, 2 * len(nodes.at))
    return NodeTable(*(np.concatenate([a, np.empty((more - len(a), *a.shape[1:]), a.dtype)]) for a in nodes))
