"""Gradient boosting on the workers of a Dask cluster: rows stay there, histograms are reduced, one round a level.

A worker keeps, for each of its blocks, the codes (a byte a value), targets, weights and present predictions, and during
an iteration the fixed-point numbers that its rows add to histograms. An iteration is one round for the sums of
gradients, from which the units of these numbers follow, and one for each level of the trees; those of several classes
grow side by side. Sums, histograms and trees are all that travels. Histograms are whole numbers, so the trees are those
of the same codes in memory, up to the rounding of the sums of gradients and of the starting value.
"""

from copy import copy
from typing import Any

import numpy as np

from didact.core.rows import KeptBlocks
from didact.core.typing import Array
from didact.engines.trees.boosting.booster import (
    BoostingPlan,
    boosting_channels,
    drawn_rows,
    raw_predictions,
    scaled_channels,
    tree_seeds,
    with_weights,
)  # fmt: skip
from didact.engines.trees.boosting.booster_loops import to_fixed_point
from didact.engines.trees.boosting.objective import Objective, positive_width
from didact.engines.trees.boosting.quantile_rows import LAST, Ranked, group_quantiles, keys_of, least_above, numbers_of
from didact.engines.trees.boosting.spread_rows import LossBlock, first_rows, leaves_of
from didact.engines.trees.growers.blocks import OpenNodes, grow_in_rounds, grown_side_by_side, own
from didact.engines.trees.growers.histogram import Grower
from didact.engines.trees.growers.passes import HISTOGRAM_BYTES, histogram_bytes
from didact.engines.trees.grown import Grown
from didact.engines.trees.predict.packed_loops import Packed
from didact.engines.trees.rows.bins import Bins
from didact.engines.trees.rows.fixed_point import Channels
from didact.engines.trees.tree import Tree
from didact.parts.criteria.gradient import Gradient
from didact.parts.statistics.moments import Sums


class RowsBooster:
    """An ensemble that grows on rows spread over workers; see `Booster` for rows in memory."""

    def __init__(
        self, parts: KeptBlocks, held: KeptBlocks | None, bins: Bins, loss: Objective, plan: BoostingPlan, start: Array,
        state: Packed | None, valued: bool,
    ) -> None:  # fmt: skip
        self.parts, self.held, self.bins, self.objective, self.plan = parts, held, bins, loss, plan
        self.firsts, self.n_rows = first_rows(parts)
        self.valued = valued
        self.layout = boosting_channels(loss.unit, self.n_rows, 0)
        self.grower = Grower(
            np.empty((0, len(bins.n_bins)), bins.dtype), bins, self.layout, Gradient(plan.l2), plan.limits,
            monotone=plan.monotone, interactions=plan.interactions,
        )  # fmt: skip
        self.raw = parts.map(begin, start, state)
        self.held_raw = None if held is None else held.map(begin, start, state)
        self._follow()

    def _follow(self) -> None:
        """Take the width of Huber's loss from the present residuals, where it follows them; forget the sums."""
        if self.objective.share is not None:
            width = residual_width(self.parts, self.raw, self.objective.share)
            self.objective.follow(width)
            self.parts = self.parts.map(following, width, False)
        self._sums: Sums | None = None

    def sums(self) -> Sums:
        """Σ|g| and Σh of each output and, where wanted, the loss and the weight, at the present predictions."""
        if self._sums is None:
            self._sums = self.parts.reduce(gradient_sums, self.raw, self.valued)
        return self._sums

    def value(self) -> float:
        """The present loss."""
        loss, weight = self.sums().parts[2:]
        return float(loss / weight)

    def held_value(self) -> float | None:
        """The present loss of the held-out rows."""
        if self.held is None:
            return None
        loss, weight = self.held.reduce(loss_sums, self.held_raw).parts
        return float(loss / weight)

    def step(self, iteration: int) -> list[Tree]:
        """The trees of one iteration, one for each output, already added to the predictions."""
        slopes, curvatures = self.sums().parts[:2]
        found = [scaled_channels(self.layout, g, h) for g, h in zip(slopes, curvatures, strict=True)]
        draw = None if self.plan.subsample == 1 else (self.plan, iteration, self.n_rows)
        fixed = self.parts.map(fixed_of, self.raw, found, self.firsts, draw)
        seeds = tree_seeds(self.plan, iteration, self.objective.outputs)
        size = self._at_once()
        trees: list[Tree] = []
        for k in range(0, len(seeds), size):
            trees += self._grow(fixed, found, seeds, range(k, min(k + size, len(seeds))))
        trees = with_weights(trees, self.objective, lambda: self.parts.reduce(leaf_weights, fixed, trees).parts)
        self.raw = self.parts.map(add_trees, self.raw, trees)
        self._follow()
        if self.held is not None:
            self.held_raw = self.held.map(add_trees, self.held_raw, trees)
        return trees

    def _at_once(self) -> int:
        """The number of trees whose histograms fit in memory side by side."""
        return max(
            1, HISTOGRAM_BYTES // histogram_bytes(self.bins, self.n_rows, self.plan.limits, self.layout.n_channels)
        )

    def _grow(self, fixed: KeptBlocks, found: list[Channels], seeds: list[int], outputs: range) -> list[Tree]:
        growing = [grow_in_rounds(found[k], self.n_rows, self.grower, seeds[k]) for k in outputs]

        def answer(asked: list[tuple[int, OpenNodes]]) -> Any:
            wanted = [(outputs[k], nodes) for k, nodes in asked]
            return self.parts.reduce(count_fixed, fixed, wanted).parts

        return [self._scaled(grown, fixed) for grown in grown_side_by_side(growing, answer)]

    def _scaled(self, grown: Grown, fixed: KeptBlocks) -> Tree:
        """The tree with its values times the learning rate, after leaf values of some losses are recomputed."""
        tree, q, leaves = grown.tree, self.objective.quantile, grown.leaf_nodes
        value = tree.value.copy()
        if q is not None:
            ranked = self.parts.map(rank_residuals, self.raw, fixed, tree)
            found = group_quantiles(ranked, tree.node_count, q)
            if self.objective.working.leaf_width:
                steps, weights = self.parts.reduce(steps_from, ranked, found).parts
                found = found + np.divide(steps, weights, out=np.zeros_like(found), where=weights > 0)
            value[leaves, 0, 0] = np.clip(found[leaves], *grown.bounds[leaves].T)
        return tree._replace(value=self.objective.steps(value, self.plan.learning_rate))


def residual_width(parts: KeptBlocks, raw: KeptBlocks, share: float) -> float:
    """The width of Huber's loss that follows the residuals at these predictions."""
    ranked = parts.map(rank_sizes, raw)
    found = float(group_quantiles(ranked, 1, share)[0])
    if found > 0:
        return found
    least = ranked.reduce(least_above, keys_of(np.zeros(1))).keys
    return positive_width(found, float(numbers_of(least)[0]) if least[0] < LAST else np.inf)


def following(part: LossBlock, width: float, first: bool) -> LossBlock:
    """The rows of a block with another width of Huber's loss."""
    objective = copy(part.objective)
    objective.follow(width, first)
    return part._replace(objective=objective)


def begin(part: LossBlock, start: Array, state: Packed | None) -> Array:
    """The predictions (outputs, n) from which trees are added."""
    if state is not None:
        return raw_predictions(part.codes, state, start).T.copy()
    return np.repeat(start[:, None], part.codes.shape[0], axis=1)


def gradient_sums(part: LossBlock, raw: Array, valued: bool) -> Sums:
    """Σ|g|, Σh, the loss and the weight of a block."""
    sums = part.objective.gradients(raw, np.empty(raw.shape), np.empty(raw.shape))
    return Sums((*sums, *(part.objective.losses(raw) if valued else (0.0, 0.0))))


def loss_sums(part: LossBlock, raw: Array) -> Sums:
    """The loss and the weight of a block."""
    return Sums(part.objective.losses(raw))


def fixed_of(part: LossBlock, raw: Array, found: list[Channels], first: int, draw: Any) -> list[Array]:
    """The fixed-point numbers of each output; rows that are not drawn contribute 0."""
    g, h = np.empty(raw.shape), np.empty(raw.shape)
    part.objective.gradients(raw, g, h)
    fixed = [np.empty((raw.shape[1], one.n_channels), np.int64) for one in found]
    for k, one in enumerate(found):
        to_fixed_point(g[k], h[k], own(one.inverse), one.shift, fixed[k])
    if draw is not None:
        plan, iteration, n = draw
        out = ~drawn_rows(plan, iteration, first, first + raw.shape[1], n)
        for k in range(len(fixed)):
            fixed[k][out] = 0
    return fixed


def count_fixed(part: LossBlock, fixed: list[Array], wanted: list[tuple[int, OpenNodes]]) -> Sums:
    """The histograms of the open nodes of each tree."""
    codes = part.codes
    return Sums(tuple(nodes.counted(codes.codes, fixed[k], None, codes.bins.n_bins) for k, nodes in wanted))


def add_trees(part: LossBlock, raw: Array, trees: list[Tree]) -> Array:
    """The predictions with the trees of one iteration."""
    return raw + np.stack([tree.value[leaves_of(tree, part.codes), 0, 0] for tree in trees])


def leaf_weights(part: LossBlock, fixed: list[Array], trees: list[Tree]) -> Sums:
    """The weights of the rows of a block that end in each node of each tree, of those that the tree was grown on."""
    found = []
    for tree, numbers in zip(trees, fixed, strict=True):
        rows = np.flatnonzero(numbers[:, -1])
        w = None if part.objective.w is None else part.objective.w[rows]
        found.append(np.bincount(leaves_of(tree, part.codes[rows]), w, tree.node_count))
    return Sums(tuple(found))


def rank_sizes(part: LossBlock, raw: Array) -> Ranked:
    """The absolute residuals of a block in one group."""
    y = part.objective.y
    return Ranked(keys_of(np.abs(y - raw[0])), np.zeros(len(y), np.int64), part.objective.w)


def steps_from(part: LossBlock, ranked: Ranked, medians: Array) -> Sums:
    """By leaf, the sums of the residuals about its median, held within the width of Huber's loss, and the weights."""
    inside = part.objective.held(numbers_of(ranked.keys) - medians[ranked.groups])
    weighted = inside if ranked.weights is None else inside * ranked.weights
    count = len(medians)
    return Sums((np.bincount(ranked.groups, weighted, count), np.bincount(ranked.groups, ranked.weights, count)))


def rank_residuals(part: LossBlock, raw: Array, fixed: list[Array], tree: Tree) -> Ranked:
    """The residuals of the rows that a tree was grown on, by leaf."""
    rows, objective = np.flatnonzero(fixed[0][:, -1]), part.objective
    keys = keys_of(objective.y[rows] - raw[0, rows])
    return Ranked(keys, leaves_of(tree, part.codes[rows]), None if objective.w is None else objective.w[rows])
