"""A tree of labels or of numbers from rows that are not in memory: one pass to know the targets, then one a level.

Targets become fixed-point numbers in every block by the same powers of two, which follow from sums over
all rows, and `blocks` adds them up. Only histograms and sums travel.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.rows import Block, Rows
from didact.core.typing import Array
from didact.engines.trees.growers.blocks import grow_rows
from didact.engines.trees.growers.histogram import most_leaves
from didact.engines.trees.grown import Grown
from didact.engines.trees.limits import Limits
from didact.engines.trees.rows.bins import Bins
from didact.engines.trees.rows.fixed_point import Channels, count_shift, value_layout
from didact.engines.trees.rows.fixed_point_loops import power_below
from didact.engines.trees.splits.histogram_loops import LABELS, VALUES
from didact.engines.trees.tree import LEAF, Tree, apply
from didact.parts.statistics.counts import label_codes
from didact.parts.statistics.moments import Sums

HISTOGRAM_BYTES = 1 << 29  # bytes of histograms up to which a tree is grown in passes


class Collection(NamedTuple):
    """Rows that are not in memory, their bins, and how many of them count."""

    rows: Rows
    bins: Bins
    n_rows: int

    def fits(self, limits: Limits, channels: int) -> bool:
        """Whether the histograms of all nodes that can be open at once fit in memory."""
        return histogram_bytes(self.bins, self.n_rows, limits, channels) <= HISTOGRAM_BYTES


def histogram_bytes(bins: Bins, n_rows: int, limits: Limits, channels: int) -> int:
    """Bytes of the histograms of all nodes of a tree that can be open at once."""
    return most_leaves(limits, n_rows) * int((bins.n_bins + 1).sum()) * channels * 8


def fixed_labels(block: Block, classes: Array, factors: Array, scale: float, shift: int) -> tuple[Any, Any]:
    """A block's numbers: each class has a channel, to which rows bring their weight."""
    y, w = block.y, block.weight
    codes = label_codes(y, classes)
    weights = factors[codes] if w is None else w * factors[codes]
    fixed = np.rint(weights * scale).astype(np.int64) + (1 << shift)
    return fixed[:, None], codes.astype(np.int32)[:, None]


def tree_of_labels(
    data: Collection, classes: Array, weights: Array, factors: Array, criterion: Any, limits: Limits, seed: int,
    signs: Array | None,
) -> Tree:  # fmt: skip
    """Grow over labels, where each class has these weights and each row its class's factor (above 0) besides."""
    shift = count_shift(data.n_rows)
    scale = power_below(2.0 ** (shift - 1), float(weights @ factors))
    layout = Channels(
        fixed=np.empty((0, 1), np.int64), labels=np.empty((0, 1), np.int32), n_channels=len(classes), kind=LABELS,
        shift=shift, inverse=np.full(len(classes), 1.0 / scale),
    )  # fmt: skip
    args = (classes, factors, scale, shift)
    return grow_rows(data.rows, fixed_labels, args, layout, data.n_rows, data.bins, criterion, limits, seed,
                     monotone=signs).tree  # fmt: skip


def target_sums(block: Block) -> Sums:
    """Of one block: the weight, Σwy, Σwy², and the number of negative targets, for each target."""
    y, w = block.y, block.weight
    Y = np.asarray(y, np.float64).reshape(len(y), -1)
    w = np.ones(len(Y)) if w is None else np.asarray(w, np.float64)
    return Sums((float(w.sum()), w @ Y, w @ (Y * Y), ((Y < 0) & (w > 0)[:, None]).sum(axis=0)))


def fixed_values(block: Block, centre: Array, scale: Array, shift: int) -> tuple[Any, Any]:
    """A block's numbers: weighted targets about the centre, and the weight."""
    y, w = block.y, block.weight
    Y = np.asarray(y, np.float64).reshape(len(y), -1) - centre
    w = np.ones(len(Y)) if w is None else w
    fixed = np.rint(np.column_stack([Y * w[:, None], w]) * scale).astype(np.int64)
    fixed[:, -1] += 1 << shift
    return fixed, None


def tree_of_values(
    data: Collection, sums: Sums, criterion: Any, limits: Limits, seed: int, signs: Array | None
) -> Tree:
    """Grow over numbers with these sums; squared errors are about the overall mean."""
    weight, first, second, negative = sums.parts
    criterion.refuse(bool(negative.any()), first)
    centre = first / weight if criterion.centred else np.zeros(len(first))
    shift = count_shift(data.n_rows)
    spread = second - 2 * centre * first + weight * centre**2
    most = np.sqrt(weight * np.maximum(spread, 1e-12 * second))  # at least Σ w|y − centre| (Cauchy–Schwarz)
    scale = np.array([*(power_below(2.0**60, float(m)) for m in most), power_below(2.0 ** (shift - 1), weight)])
    layout = value_layout(np.empty((0, len(scale)), np.int64), VALUES, shift, 1.0 / scale)
    args = (centre, scale, shift)
    grown = grow_rows(data.rows, fixed_values, args, layout, data.n_rows, data.bins, criterion, limits, seed,
                      monotone=signs)  # fmt: skip
    tree = grown.tree._replace(impurity=impurities(data.rows, grown, centre, criterion))
    return tree._replace(value=tree.value + centre[None, :, None])


def leaf_bases(block: Block, tree: Tree, centre: Array, criterion: Any) -> Sums:
    """Of one block: Σ w b(y) by leaf, averaged over the targets, with b of the criterion."""
    X, y, w = block.X, block.y, block.weight
    Y = np.asarray(y, np.float64).reshape(len(y), -1) - centre
    base = criterion.bases(Y).mean(axis=1)
    weights = base if w is None else base * w
    return Sums((np.bincount(apply(tree, X), weights, tree.node_count),))


def impurities(rows: Rows, grown: Grown, centre: Array, criterion: Any) -> Array:
    """The impurities of all nodes, from one more pass: those of numbers do not follow from the sums of a split."""
    (base,) = rows.reduce(leaf_bases, grown.tree, centre, criterion).parts
    left, right = grown.tree.children_left, grown.tree.children_right
    for node in range(len(base) - 1, -1, -1):  # children stand behind their parents
        if left[node] != LEAF:
            base[node] = base[left[node]] + base[right[node]]
    return np.asarray(criterion.impurities(grown.sums, base))
