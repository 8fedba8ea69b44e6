"""The histogram grower: one tree from binned rows, for every criterion that is a function of sums.

Codes and bins come from `learn_bins` and `bin_codes`; targets and weights, or classes and weights, are `Channels`: of
the whole sample for boosting, block by block where a tree is grown in passes (`passes`)::

    codes = bin_codes(X, bins := learn_bins(X, w, max_bins, categorical))
    grown = Grower(codes, bins, channels, criterion, limits).grow(channels, seed)

A criterion is a noun with scalar methods on `sums`, an array in which a node's sums begin at `start`: n targets and
the weight after them, or n classes. `score1(sums, start, n)` adds up over children, so that the gain of a split is
score(left) + score(right) − score(parent); `value1` is the node's prediction and `score_at1(sums, start, n, value)`
its score if it predicts `value` instead (both for monotone constraints). Array forms on (nodes, sums): `values`.

Cost of a tree of L leaves on n rows: at most n·p·log₂L additions, as only the smaller child of a node is counted, and
two scores per bin and node. All sums are exact, so threads, order and blocks of rows do not change a tree.
"""

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from didact.core.jit.atomics import new_board, stop_all
from didact.core.threads import parallel_map, thread_count
from didact.core.typing import Array
from didact.engines.trees.boosting.ahead_loops import TreesAhead
from didact.engines.trees.boosting.booster_loops import Passes, no_passes
from didact.engines.trees.growers.histogram_node_loops import (
    FEATURE_FIELDS,
    NODE_FIELDS,
    NodeTable,
    Sample,
    Space,
    ThreadBuffers,
)
from didact.engines.trees.growers.rounds_loops import grow_together
from didact.engines.trees.growers.task_loops import SPLIT_FIELDS, STATE_FIELDS, TASK_FIELDS, TreeBuffers
from didact.engines.trees.grown import Grown, bit_words, finished_trees, undo
from didact.engines.trees.limits import Limits
from didact.engines.trees.rows.bins import Bins, turned
from didact.engines.trees.rows.bundles import join_columns, unbundled
from didact.engines.trees.rows.fixed_point import Channels
from didact.engines.trees.splits.histogram_cut_loops import BEST, General, Lines
from didact.engines.trees.splits.histogram_loops import LABELS
from didact.engines.trees.tuning import BUNDLE_FROM, CODES_PER_THREAD, HISTOGRAMS


class Grower:
    """Grows trees on the same rows one after the other, and holds what they share; not thread-safe.

    In a feature whose `monotone` is 1 the prediction must not fall, where it is −1 it must not rise. On a path stand
    only features of one of the groups in `interactions`; features without a group are never used, nor are those that
    are not in `features`. A tree grows on one thread when called from a thread of the pool.
    """

    def __init__(
        self, codes: Array, bins: Bins, channels: Channels, criterion: Any, limits: Limits, *,
        monotone: Array | None = None, interactions: Any = None, features: Array | None = None,
    ) -> None:  # fmt: skip
        self.columns, self.bins, self.criterion = turned(codes), bins, criterion
        self.limits = limits = Limits(*limits)  # any tuple with the same fields in front
        p = codes.shape[1]
        self.features = np.zeros(p, FEATURE_FIELDS)
        self.features["n_bins"], self.features["categorical"] = bins.n_bins, bins.categorical
        self.features["monotone"] = 0 if monotone is None else monotone
        self.features["first"] = np.cumsum(bins.n_bins + 1) - (bins.n_bins + 1)
        self.slots = int((bins.n_bins + 1).sum())
        first = self.features["first"]
        self.bundles = (
            join_columns(codes, self.columns, first, self.slots)
            if len(codes) >= BUNDLE_FROM
            else unbundled(codes, first)
        )
        self.member = group_bits(interactions, p)
        self.chosen = np.arange(p) if features is None else np.asarray(features, np.int64)
        self.whole = np.array_equal(self.chosen, np.arange(p)) and not limits.max_features
        if self.whole:  # features that are counted together are searched by the same task
            self.chosen = self.bundles.places
        self.bit_words = bit_words(bins)
        self.threads = min(thread_count(), max(codes.size // CODES_PER_THREAD, 1))
        self.n_channels = channels.n_channels
        plain = channels.kind != LABELS and channels.n_channels <= 2
        self.is_general = not plain or bool(bins.categorical.any()) or bool(self.features["monotone"].any())
        self.furnish()

    def furnish(self) -> None:
        """Allocate the buffers of all threads."""
        C, limits, p, slots = self.n_channels, self.limits, len(self.columns), self.slots + self.bundles.n_codes
        self.parts = np.zeros((self.threads, slots, C), np.int64)
        self.buffers = [self._buffers(C, part) for part in self.parts]
        keeps = limits.max_features == 0 or 2 * limits.max_features >= p
        count = (limits.max_leaf_nodes or HISTOGRAMS) + self.threads if keeps else 0
        self.hists = np.empty((min(count, 4 * HISTOGRAMS), slots, C), np.int64)
        self.order, self.spare = np.empty((2, self.columns.shape[1]), np.uint32)

    def beside(self, threads: int) -> "Grower":
        """Another grower for the same rows with buffers of its own, on at most so many threads."""
        twin = copy(self)
        twin.threads = min(self.threads, threads)
        twin.furnish()
        return twin

    def _buffers(self, C: int, hist: Array) -> ThreadBuffers:
        widest = int(self.bins.n_bins.max(initial=1)) + 1
        rooms = np.zeros(widest), np.zeros(widest, np.int64), np.zeros((widest, C), np.int64)
        general = General(*rooms) if self.is_general else None
        return ThreadBuffers(
            best=np.zeros(1, BEST), fixed=np.zeros((3, C), np.int64), sums=np.zeros(2 * (C + 2)), general=general,
            bits=np.zeros(self.bit_words, np.uint64), lines=Lines(np.zeros((2, widest), np.int64), np.zeros(widest)),
            turn=np.zeros(len(self.columns), np.int64), goes_left=np.zeros(max(widest, 256), np.uint8), hist=hist,
        )  # fmt: skip

    def _shared(self, n_nodes: int, n_rows: int, passes: Passes, ahead: TreesAhead) -> TreeBuffers:
        """What the threads share, before the first step of a tree."""
        threads = min(self.threads, max(n_rows * len(self.columns) // CODES_PER_THREAD, 1))
        most, splits, now = (
            10 * threads + 2,
            np.zeros(4 * threads if threads > 1 else 1, SPLIT_FIELDS),
            np.zeros(1, STATE_FIELDS),
        )
        now["tasks"], now["threads"], now["splits"], now["nodes"] = 1, threads, 1, 1
        splits[0] = (-1, 0, -1, 0, min(len(self.hists), 1) - 1)  # the root, with histogram 0 if there are any
        now["free"] = max(len(self.hists) - 1, 0)
        now["whole"] = self.whole
        return TreeBuffers(
            board=new_board(1), now=now, waiting=np.empty(n_nodes, np.int64),
            free=np.arange(len(self.hists))[::-1].copy(), splits=splits, tasks=np.zeros(most, TASK_FIELDS),
            claims=np.zeros(most, np.int64), best=np.zeros((most, 2), BEST),
            fixed=np.empty((most, 2, self.n_channels), np.int64),
            bits=np.empty((most, 2, self.bit_words), np.uint64), hists=self.parts,
            used=np.zeros(self.threads, np.int64), spare=self.spare, passes=passes, ahead=ahead,
        )  # fmt: skip

    def grow(self, channels: Channels, seed: int = 0, rows: Array | None = None, passes: Passes | None = None) -> Grown:
        """One tree on these rows (ascending; None: all); with `passes`, gradients are computed first."""
        growth = self.begin(channels, seed, rows, passes)
        grow_side_by_side([growth])
        return finish_trees([growth])[0]

    def begin(
        self, channels: Channels, seed: int = 0, rows: Array | None = None, passes: Passes | None = None,
        later: Sequence[int] = (),
    ) -> "Growth":  # fmt: skip
        """A tree that consists of its root; it must be finished before this grower begins another.

        On all rows and with `passes`, trees with the seeds `later` may follow in the same call (see `ahead_loops`).
        """
        order = self.order[: len(self.order) if rows is None else len(rows)]
        if passes is None or rows is not None:
            order[:] = np.arange(len(order)) if rows is None else rows
        sample = Sample(columns=self.columns, bundles=self.bundles, fixed=channels.fixed, labels=channels.labels,
                        order=order)  # fmt: skip
        nodes = self.node_room(len(order), channels.n_channels)
        self.make_root(nodes, len(order), seed)
        passes = passes or no_passes()
        if later:
            starts, stops, values = (with_zeros(x, len(nodes.at)) for x in (passes.starts, passes.stops, passes.values))
            passes = passes._replace(starts=starts, stops=stops, values=values)
        kept = NodeTable(*(np.empty((len(later), *part.shape), part.dtype) for part in nodes))
        ahead = TreesAhead(np.array([seed, *later], np.uint64), kept, np.empty((len(later), channels.n_channels)))
        shared = self._shared(len(nodes.at), len(order), passes, ahead)
        return Growth(grower=self, channels=channels, sample=sample, nodes=nodes, shared=shared)

    def space(self, channels: Channels) -> Space:
        """What all nodes of a tree share."""
        return Space(features=self.features, slots=self.slots, member=self.member, chosen=self.chosen,
                     inverse=channels.inverse, how=channels.how)  # fmt: skip

    def node_count(self, n: int) -> int:
        """The nodes of a tree on n rows for which there is room; several threads may split some in vain."""
        limits = self.limits
        several = limits._replace(max_leaf_nodes=(1 + (self.threads > 1)) * limits.max_leaf_nodes)
        return 2 * most_leaves(several, n) + 1

    def node_room(self, n: int, C: int) -> NodeTable:
        m = self.node_count(n)
        masks = np.empty((m, self.member.shape[1] + self.bit_words), np.uint64)
        return NodeTable(np.empty(m, NODE_FIELDS), np.empty((m, 2, C), np.int64), masks)

    def make_root(self, nodes: NodeTable, n: int, seed: int) -> None:
        """Fill in the record of the root, except for its sums."""
        root = nodes.at[0]
        root["start"], root["stop"], root["depth"], root["key"] = 0, n, 0, np.uint64(seed)
        root["left"] = root["right"] = root["hist"] = -1
        root["low"], root["high"] = -np.inf, np.inf
        nodes.masks[0], nodes.fixed[0, 0] = ~np.uint64(0), 0


class Growth(NamedTuple):
    """A tree that threads grow together: each that comes to `join` stays until there is nothing left to do."""

    grower: Grower
    channels: Channels
    sample: Sample
    nodes: NodeTable
    shared: TreeBuffers

    @property
    def threads(self) -> int:
        """The number of threads that may join."""
        return int(self.shared.now["threads"][0])

    def join(self, me: int) -> None:
        """What thread number `me` of this tree does; one that comes late helps with what is left."""
        grower, shared = self.grower, self.shared
        space = grower.space(self.channels)
        try:
            while not grow_together(
                me, self.sample, space, grower.limits, grower.criterion, self.nodes, grower.hists, shared,
                grower.buffers[me],
            ):  # fmt: skip
                pass
        except BaseException:  # Ctrl-C between two calls; others may wait for this thread's task
            stop_all(shared.board)
            raise

    def earlier(self) -> list[Grown]:
        """The trees before the last one, in their order; where their rows ended is no longer known."""
        grower, ahead = self.grower, self.shared.ahead
        done = slice(int(self.shared.now["tree"][0]))
        kept, orders = NodeTable(*(part[done] for part in ahead.kept)), [self.sample.order] * done.stop
        return finished_trees(kept, orders, ahead.units[done], self.channels, grower.bins, grower.criterion)


def finish_trees(growths: Sequence[Growth]) -> list[Grown]:
    """The last trees of growers for the same rows, once all threads have returned."""
    for growth in growths:
        undo(growth.shared.waiting[: int(growth.shared.now["waiting"][0])], growth.nodes, growth.sample.order)
    grower, channels = growths[0].grower, growths[0].channels
    tables = zip(*(growth.nodes for growth in growths), strict=True)
    nodes = NodeTable(*(np.stack(parts) if len(parts) > 1 else parts[0][None] for parts in tables))
    units = np.stack([growth.channels.inverse for growth in growths])
    orders = [growth.sample.order for growth in growths]
    return finished_trees(nodes, orders, units, channels, grower.bins, grower.criterion)


def grow_side_by_side(growths: list[Growth]) -> None:
    """Trees of different growers at the same time: first a thread for each, then those that are free help them."""
    turns = range(max(growth.threads for growth in growths))
    places = [(growth, me) for me in turns for growth in growths if me < growth.threads]
    parallel_map(lambda place: place[0].join(place[1]), places)


def with_zeros(x: Array, size: int) -> Array:
    """Numbers with zeros behind them."""
    return np.append(x, np.zeros(max(size - len(x), 0), x.dtype))


def most_leaves(limits: Limits, n: int) -> int:
    """The largest number of leaves that a tree on n rows can have."""
    leaves = min(max(n // max(limits.min_samples_leaf, 1), 1), 1 << min(limits.max_depth, 40))
    return min(leaves, limits.max_leaf_nodes or leaves)


def group_bits(interactions: Any, p: int) -> Array:
    """The groups of each feature as bits (p, words); no words if there are no groups."""
    if interactions is None:
        return np.zeros((p, 0), np.uint64)
    member = np.zeros((p, -(-len(interactions) // 64)), np.uint64)
    for g, group in enumerate(interactions):
        for f in group:
            member[f, g // 64] |= np.uint64(1) << np.uint64(g % 64)
    return member
