"""Coded rows that stay on the workers of a Dask cluster, with a loss over them: to be fitted, or held out.

A block becomes codes (a byte a value), targets and weights, without rows of weight 0. Rows are numbered in their order,
and draws follow from a seed and a row's number, so that the cut into blocks does not change them.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.errors import InputError
from didact.core.random import row_uniforms
from didact.core.rows import Block, ClusterRows, KeptBlocks
from didact.core.typing import Array
from didact.engines.trees.boosting.objective import Objective
from didact.engines.trees.boosting.quantile_rows import Ranked, group_quantiles, keys_of
from didact.engines.trees.growers.blocks import coded_block, own
from didact.engines.trees.growers.histogram_node_loops import NODE_FIELDS
from didact.engines.trees.node_loops import end_nodes
from didact.engines.trees.rows.bins import Bins, Coded
from didact.engines.trees.tree import LEAF, Tree
from didact.parts.statistics.counts import Counts, label_codes, label_counts
from didact.parts.statistics.moments import Sums


class LossBlock(NamedTuple):
    """The rows of a block that count."""

    codes: Coded
    objective: Objective


class Range(NamedTuple):
    """The smallest and the largest number, and how many weights are not 1."""

    low: float
    high: float
    weighted: int

    def merge(self, other: "Range") -> "Range":
        """The range over both blocks."""
        return Range(np.minimum(self.low, other.low), np.maximum(self.high, other.high), self.weighted + other.weighted)


class SpreadRows:
    """Coded rows that stay on the workers: those that count, or `every` one, so that no label is lost."""

    def __init__(self, rows: ClusterRows, bins: Bins, every: bool = False) -> None:
        self.bins, self.n_features = bins, rows.n_features
        self.blocks = rows.kept(code, bins, every)

    def label_counts(self) -> Counts:
        """The labels and their weights."""
        return self.blocks.reduce(count_labels)

    def target_range(self) -> Array:
        """The smallest and the largest target."""
        found = self.blocks.reduce(see_range, True)
        return np.array([found.low, found.high])

    def parts(self, loss: Any, outputs: int, classes: Array | None, factors: Array | None) -> tuple[KeptBlocks, bool]:
        """The rows with a loss over them, and whether they have weights.

        Labels become codes of the classes, whose factors weigh rows besides.
        """
        weighted = factors is not None or self.blocks.reduce(see_range, False).weighted > 0
        blocks = self.blocks
        del self.blocks  # so that the workers need not keep both
        return blocks.map(with_loss, loss, outputs, classes, factors, self.bins, weighted), weighted


def code(block: Block, bins: Bins, every: bool) -> tuple[Any, ...]:
    """Codes, targets and weights of the rows of a block that count, or of every one."""
    return tuple(coded_block(block, bins, every).blocks[0])


def count_labels(block: tuple[Any, ...]) -> Counts:
    """The labels of a block."""
    return label_counts(Block(*block))


def see_range(block: tuple[Any, ...], numbers: bool) -> Range:
    """The range of a block's targets, if these are numbers, and the number of its weights that are neither 0 nor 1."""
    _, y, w = block
    low, high = (np.min(y), np.max(y)) if numbers and len(y) else (np.inf, -np.inf)
    return Range(low, high, int(((w != 1) & (w > 0)).sum()))


def with_loss(
    block: tuple[Any, ...], loss: Any, outputs: int, classes: Array | None, factors: Array | None, bins: Bins,
    weighted: bool,
) -> LossBlock:  # fmt: skip
    """The rows of a block with their loss."""
    codes, y, w = block
    if classes is not None:
        y = label_codes(y, classes)
        w = w if factors is None else w * factors[y]
        y = y.astype(np.float64) if outputs == 1 else y
    keep = slice(None) if (w > 0).all() else np.flatnonzero(w > 0)
    return LossBlock(Coded(codes[keep], bins), Objective(loss, y[keep], w[keep] if weighted else None, outputs))


def split(parts: KeptBlocks, share: float, seed: int) -> tuple[KeptBlocks, KeptBlocks]:
    """The parts to fit and those held out: every row by chance, from the seed and its number alone."""
    firsts = first_rows(parts)[0]
    fitted, held = (parts.map(choose_rows, firsts, share, seed, out) for out in (False, True))
    if not first_rows(fitted)[1] or not first_rows(held)[1]:
        raise InputError("validation_fraction leaves no rows to fit or to validate: set it to None or "
                         "early_stopping=False.")  # fmt: skip
    return fitted, held


def first_rows(parts: KeptBlocks) -> tuple[KeptBlocks, int]:
    """The number of each block's first row, and the number of all rows."""
    sizes = [size or 0 for size in parts.each(count_rows)]
    return KeptBlocks(np.cumsum([0, *sizes])[:-1].tolist()), sum(sizes)


def count_rows(part: LossBlock) -> int:
    """The rows of a block."""
    return part.codes.shape[0]


def choose_rows(part: LossBlock, first: int, share: float, seed: int, held: bool) -> LossBlock:
    """The rows of a block that are held out, or the others."""
    out = row_uniforms(np.random.SeedSequence(seed), first, first + part.codes.shape[0]) < share
    rows = np.flatnonzero(out == held)
    return LossBlock(part.codes[rows], part.objective.of(rows))


class Statistics:
    """Statistics of all rows from which the initial prediction is computed."""

    def __init__(self, parts: KeptBlocks) -> None:
        self.parts = parts

    def totals(self) -> tuple[Any, float]:
        """The sum of the targets, or of each class's weights, and the sum of the weights."""
        total, weight = self.parts.reduce(block_totals).parts
        return total, weight

    def quantile_at(self, q: float) -> float:
        """A quantile of the targets."""
        return float(group_quantiles(self.parts.map(rank_targets), 1, q)[0])

    def slopes(self, z: float) -> tuple[float, float]:
        """The sums of gradients and curvatures at a constant prediction."""
        g, h = self.parts.reduce(block_slopes, z).parts
        return g, h


def block_totals(part: LossBlock) -> Sums:
    """The sums of a block's targets and weights."""
    return Sums(part.objective.totals())


def block_slopes(part: LossBlock, z: float) -> Sums:
    """The sums of a block's gradients and curvatures."""
    return Sums(part.objective.slopes(z))


def rank_targets(part: LossBlock) -> Ranked:
    """The targets of a block in one group."""
    y = part.objective.y
    return Ranked(keys_of(y), np.zeros(len(y), np.int64), part.objective.w)


def leaves_of(tree: Tree, rows: Coded) -> Array:
    """The leaf of each row, for a tree with the thresholds of the rows' bins."""
    bins, inner, sets, n = rows.bins, tree.children_left != LEAF, tree.category_set >= 0, tree.node_count
    at, masks = np.zeros(n, NODE_FIELDS), np.zeros((n, tree.category_sets.shape[1]), np.uint64)
    at["left"], at["right"], at["missing_left"] = tree.children_left, tree.children_right, tree.missing_go_to_left
    at["feature"], at["bin"] = tree.feature, -1
    for node in np.flatnonzero(inner & ~sets):
        at["bin"][node] = np.searchsorted(bins.thresholds[tree.feature[node]], tree.threshold[node])
    masks[sets] = tree.category_sets[tree.category_set[sets]]
    out = np.empty(rows.shape[0], np.int64)
    end_nodes(rows.codes, at, masks, own(bins.n_bins), 0, out)
    return out
