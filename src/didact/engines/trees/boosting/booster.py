r"""Gradient boosting: trees fitted one after the other to the second-order model of a loss.

With gradients :math:`g_i` and curvatures :math:`h_i` of the loss at the present predictions, the next tree minimises
:math:`\sum_i g_i f(x_i) + \tfrac12 h_i f(x_i)^2 + \tfrac\lambda2\sum_{leaves} v^2`, and ν times it is added. Several
classes get one tree each from the same gradients, one on each thread.

Friedman (2001), doi:10.1214/aos/1013203451; Ke et al. (2017), LightGBM, https://dl.acm.org/doi/10.5555/3294996.3295074.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from didact.core.backend import is_tensor, to_numpy
from didact.core.random import row_uniforms
from didact.core.threads import parallel_map, thread_count
from didact.core.typing import Array
from didact.engines.trees.boosting.booster_loops import add_leaves, pack_ones, pack_pairs
from didact.engines.trees.boosting.objective import PIECE, Objective
from didact.engines.trees.growers.histogram import CODES, Grower, Grown
from didact.engines.trees.growers.task_loops import Source
from didact.engines.trees.limits import Limits
from didact.engines.trees.predict.packed import pack, predict_sum
from didact.engines.trees.predict.packed_loops import Packed
from didact.engines.trees.predict.small_trees import Trees
from didact.engines.trees.rows.bins import Bins
from didact.engines.trees.rows.fixed_point import Channels, count_shift, power_below
from didact.engines.trees.splits.histogram_loops import UNIT, VALUES
from didact.engines.trees.tree import Tree, node_weights
from didact.parts.criteria.gradient import Gradient


def raw_predictions(X: Any, trees: Packed | Trees, start: Array) -> Array:
    """The sums of the trees (n, outputs), on top of where they start; in the type of X."""
    X = to_numpy(X) if is_tensor(X) else X
    out = np.empty((X.shape[0], len(start)))
    out[:] = start
    trees = trees if isinstance(trees, Trees) else Trees.of(trees)
    return trees.add(X, out).astype(X.dtype, copy=False)


class Plan(NamedTuple):
    """How the trees of an ensemble are grown."""

    learning_rate: float
    l2: float
    limits: Limits
    subsample: float
    seed: int
    monotone: Array | None
    interactions: Any


class Powers(NamedTuple):
    """The powers of two by which gradients and curvatures become words."""

    kind: int
    shift: int
    slope: float
    curvature: float

    @property
    def inverse(self) -> Array:
        """What one unit of each word stands for."""
        return 1.0 / np.array([self.slope] if self.kind == UNIT else [self.slope, self.curvature])

    def write(self, g: Array, h: Array, words: Array) -> None:
        """Gradients and curvatures as words (n, 1 or 2)."""

        def piece(start: int) -> None:
            part = slice(start, start + PIECE)
            if self.kind == UNIT:
                pack_ones(g[part], self.slope, self.shift, words[part])
            else:
                pack_pairs(g[part], h[part], self.slope, self.curvature, self.shift, words[part])

        parallel_map(piece, range(0, len(g), PIECE))


def powers(layout: Channels, slopes: float, curvatures: float) -> Powers:
    """The powers for these sums of |g| and of h over all rows."""
    room = 2.0 ** (layout.shift - 2) if layout.kind == UNIT else 2.0**60
    return Powers(layout.kind, layout.shift, power_below(room, slopes),
                  power_below(2.0 ** (layout.shift - 1), curvatures))  # fmt: skip


def boosting_channels(unit: bool, n: int, length: int) -> Channels:
    """Channels of n rows, with room for the words of `length` of them."""
    width = 1 if unit else 2
    return Channels(np.empty((length, width), np.int64), np.empty((0, 0), np.int32), width, UNIT if unit else VALUES,
                    count_shift(n), np.ones(width))  # fmt: skip


def drawn(plan: Plan, iteration: int, start: int, stop: int, n: int) -> Array:
    """Which of the rows start … stop − 1 of n an iteration fits: each by chance, whatever the blocks, but not none."""
    chosen = row_uniforms(np.random.SeedSequence([plan.seed, iteration]), start, stop) < plan.subsample
    if start <= iteration % n < stop:
        chosen[iteration % n - start] = True
    return chosen


def tree_seeds(plan: Plan, iteration: int, outputs: int) -> list[int]:
    """The seed of each tree of an iteration."""
    return [int(s) for s in np.random.default_rng([plan.seed, iteration]).integers(0, 2**63, size=outputs)]


def weighed(trees: list[Tree], objective: Objective, leaf_weights: Callable[[], Sequence[Array]]) -> list[Tree]:
    """Trees with the weight of the rows that pass each node, where the grower has left the sum of their curvatures."""
    if objective.flat:  # the curvature is the weight
        return trees
    if objective.w is None:
        return [tree._replace(weighted_n_node_samples=tree.n_node_samples.astype(np.float64)) for tree in trees]
    found = zip(trees, leaf_weights(), strict=True)
    return [tree._replace(weighted_n_node_samples=node_weights(tree, ends)) for tree, ends in found]


class Desk(NamedTuple):
    """What it takes to grow one tree at a time."""

    grower: Grower
    channels: Channels

    def alone(self) -> "Desk":
        """Another one for the same rows, on one thread."""
        return Desk(self.grower.alone(), self.channels._replace(words=np.empty_like(self.channels.words)))


class Booster:
    """An ensemble that grows on rows in memory; `raw` (outputs, n) are its present predictions."""

    def __init__(self, X: Any, codes: Array, bins: Bins, objective: Objective, plan: Plan, raw: Array) -> None:
        self.X, self.objective, self.plan, self.raw = X, objective, plan, raw
        n, K = len(codes), objective.outputs
        self.g, self.h = np.empty((K, n)), np.empty((K, n))
        channels = boosting_channels(objective.unit, n, n)
        grower = Grower(
            codes, bins, channels, Gradient(plan.l2), plan.limits, monotone=plan.monotone,
            interactions=plan.interactions,
        )  # fmt: skip
        self.desk = Desk(grower, channels)
        # Trees of several classes grow side by side, unless more threads can work on one tree.
        side = min(thread_count(), K, max(K * codes.size // CODES, 1))
        self.desks = [self.desk.alone() for _ in range(side if side > 1 and side >= grower.threads else 0)]

    def step(self, iteration: int) -> list[Tree]:
        """The trees of one iteration, one for each output, already added to the predictions."""
        if self.objective.share is not None:
            self.objective.follow(self.objective.width(self.raw[0]))
        sums = self.objective.gradients(self.raw, self.g, self.h)
        self.powers = [powers(self.desk.channels, slopes, curvatures) for slopes, curvatures in sums.T.tolist()]
        n, plan = self.raw.shape[1], self.plan
        rows = None if plan.subsample == 1 else np.flatnonzero(drawn(plan, iteration, 0, n, n))
        tasks = list(enumerate(tree_seeds(plan, iteration, self.objective.outputs)))
        alone = len(tasks) // len(self.desks) * len(self.desks) if self.desks else 0
        trees = parallel_map(lambda task: self._tree_alone(*task, rows), tasks[:alone])
        return trees + [self._tree(*task, rows, self.desk) for task in tasks[alone:]]

    def value(self) -> float:
        """The present loss."""
        return self.objective.value(self.raw)

    def held_value(self) -> None:
        """Rows in memory that are held out are somebody else's."""

    def _tree_alone(self, k: int, seed: int, rows: Array | None) -> Tree:
        desk = self.desks.pop()
        try:
            return self._tree(k, seed, rows, desk)
        finally:
            self.desks.append(desk)

    def _tree(self, k: int, seed: int, rows: Array | None, desk: "Desk") -> Tree:
        power = self.powers[k]
        channels = desk.channels._replace(inverse=power.inverse)
        source = Source(self.g[k], self.h[k], power.slope, power.curvature, rows is None)
        grown = desk.grower.grow(channels, seed, rows, source)
        tree = self._scaled(grown, k)
        add_values(grown, tree.value[grown.leaf_nodes, 0, 0], self.raw[k])
        if rows is not None:
            out = np.ones(self.raw.shape[1], bool)
            out[rows] = False
            others = np.flatnonzero(out)
            self.raw[k, others] += predict_sum(pack([tree]), self.X[others], np.zeros((len(others), 1)))[:, 0]
        return tree

    def _scaled(self, grown: Grown, k: int) -> Tree:
        """The tree with its values times the learning rate; leaves of some losses are renewed before."""
        tree, objective = grown.tree, self.objective
        value = tree.value.copy()
        if objective.quantile is not None:
            residual = objective.y - self.raw[k]
            for node, a, b in zip(grown.leaf_nodes, grown.starts, grown.stops, strict=True):
                rows = grown.order[a:b]
                w = None if objective.w is None else objective.w[rows]
                value[node] = np.clip(objective.leaf(residual[rows], w), *grown.bounds[node])
        tree = tree._replace(value=self.objective.steps(value, self.plan.learning_rate))
        return weighed([tree], objective, lambda: [self._leaf_weights(grown)])[0]

    def _leaf_weights(self, grown: Grown) -> Array:
        """The weights of the rows that end in each node."""
        out, w = np.zeros(grown.tree.node_count), cast(Array, self.objective.w)
        for node, a, b in zip(grown.leaf_nodes, grown.starts, grown.stops, strict=True):
            out[node] = w[grown.order[a:b]].sum()
        return out


def add_values(grown: Grown, values: Array, out: Array) -> None:
    """Add the values of their leaves to the rows of the sample."""

    def piece(start: int) -> None:
        add_leaves(grown.starts, grown.stops, values, grown.order, start, start + PIECE, out)

    parallel_map(piece, range(0, len(grown.order), PIECE))
