"""Finished trees: nodes of growing trees as trees of arrays, those of many trees at a time.

What a tree costs here is the calls of NumPy, under the interpreter lock while all threads wait; so they are made once
for all trees that were grown in one call or side by side.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from didact.core.typing import Array
from didact.engines.trees.growers.histogram_node_loops import NodeTable
from didact.engines.trees.node_loops import leaf_rows, preorders
from didact.engines.trees.rows.bins import Bins
from didact.engines.trees.rows.fixed_point import Channels
from didact.engines.trees.splits.histogram_loops import LABELS
from didact.engines.trees.tree import LEAF, NO_FEATURE, Tree


class Grown(NamedTuple):
    """A tree, and where its rows ended: leaf k of `leaf_nodes` holds the rows order[starts[k]:stops[k]]."""

    tree: Tree
    order: Array  # until the grower's next tree
    leaf_nodes: Array
    starts: Array
    stops: Array
    sums: Array  # (nodes, targets + weight, or classes) float64
    bounds: Array  # (nodes, 2): what monotone constraints allow a node to predict

    def leaves(self, n_rows: int) -> Array:
        """The leaf of each row, −1 for rows that were not in the sample."""
        out = np.full(n_rows, -1, np.int32)
        leaf_rows(self.starts, self.stops, self.leaf_nodes, self.order, out)
        return out


def undo(waiting: Array, nodes: NodeTable, order: Array) -> None:
    """Undo splits made ahead that the tree did not use: the rows of these nodes are sorted again."""
    split = waiting[nodes.at["left"][waiting] >= 0]
    for node in nodes.at[split]:
        order[node["start"] : node["stop"]].sort()
    nodes.at["left"][split] = nodes.at["right"][split] = -1


def bit_words(bins: Bins) -> int:
    """Words of 64 bits that hold a set of categories."""
    return int(-(-int(bins.n_bins[bins.categorical].max(initial=1)) // 64))


def finished_trees(
    nodes: NodeTable, orders: Sequence[Array], units: Array, channels: Channels, bins: Bins, criterion: Any
) -> list[Grown]:
    """The nodes that are reached from the roots, as trees.

    The arrays of `nodes` have one more axis in front, for the trees, each with its order of the rows and its units.
    """
    trees, room = nodes.at.shape
    if not trees:
        return []
    left, right = np.ascontiguousarray(nodes.at["left"]), np.ascontiguousarray(nodes.at["right"])
    at, counts = np.empty(trees * room, np.int64), np.empty(trees, np.int64)
    at = at[: preorders(left, right, at, counts)]
    edges = np.append(0, np.cumsum(counts))
    begin, base = np.repeat(edges[:-1], counts), at // room * room
    number = np.full(trees * room + 1, LEAF, np.int32)  # the last place is for the children of leaves
    number[at] = np.arange(len(at)) - begin
    table, left, right = nodes.at.reshape(-1)[at], left.reshape(-1)[at], right.reshape(-1)[at]
    leaf = left == LEAF
    left, right = number[np.where(leaf, -1, base + left)], number[np.where(leaf, -1, base + right)]
    feature = np.where(leaf, NO_FEATURE, table["feature"]).astype(np.int32)
    sets = ~leaf & (table["bin"] < 0)
    threshold, numeric = np.full(len(at), float(NO_FEATURE)), ~leaf & ~sets
    threshold[numeric] = bins.thresholds[feature[numeric], table["bin"][numeric]]
    fixed = nodes.fixed.reshape(trees * room, *nodes.fixed.shape[2:])[at, 0]
    sums, samples = channels._replace(inverse=np.repeat(units, counts, axis=0)).sums(fixed)
    weights = sums.sum(axis=1) / channels.outputs if channels.kind == LABELS else sums[:, -1]
    values, impurity = criterion.values(sums), criterion.impurities(sums)
    bounds = np.column_stack([table["low"], table["high"]])
    if np.isfinite(bounds).any():
        values = held(values, bounds)
    seen = np.append(0, np.cumsum(sets))
    missing = np.where(leaf, 0, table["missing_left"]).astype(np.uint8)
    rank = np.where(sets, seen[:-1] - seen[begin], LEAF).astype(np.int32)
    masks = nodes.masks.reshape(trees * room, -1)[at[sets], -bit_words(bins) :]
    starts, stops = table["start"], table["stop"]

    def one(a: int, b: int, order: Array) -> Grown:
        tree = Tree(
            children_left=left[a:b], children_right=right[a:b], feature=feature[a:b], threshold=threshold[a:b],
            missing_go_to_left=missing[a:b], category_set=rank[a:b], category_sets=masks[seen[a] : seen[b]],
            impurity=impurity[a:b], n_node_samples=samples[a:b], weighted_n_node_samples=weights[a:b],
            value=values[a:b], n_features=len(bins.n_bins),
        )  # fmt: skip
        ends = np.flatnonzero(leaf[a:b]).astype(np.int32)
        return Grown(tree=tree, order=order, leaf_nodes=ends, starts=starts[a:b][ends], stops=stops[a:b][ends],
                     sums=sums[a:b], bounds=bounds[a:b])  # fmt: skip

    return [one(int(a), int(b), order) for (a, b), order in zip(pairwise(edges), orders, strict=True)]


def finished_tree(nodes: NodeTable, order: Array, channels: Channels, bins: Bins, criterion: Any) -> Grown:
    """The nodes of one tree that are reached from its root, as a tree."""
    nodes = NodeTable(*(part[None] for part in nodes))
    return finished_trees(nodes, [order], channels.inverse[None], channels, bins, criterion)[0]


def held(values: Array, bounds: Array) -> Array:
    """Values held within the bounds of monotone constraints: one number a node, or the share of the second class."""
    if values.shape[2] == 1:
        return np.clip(values, bounds[:, 0, None, None], bounds[:, 1, None, None])
    share = np.clip(values[:, :, 1], bounds[:, 0, None], bounds[:, 1, None])
    return np.stack([1.0 - share, share], axis=2)
