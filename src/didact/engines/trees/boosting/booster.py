r"""Gradient boosting: trees fitted one after the other to the second-order model of a loss.

With gradients :math:`g_i` and curvatures :math:`h_i` of the loss at the present predictions, the next tree minimises
:math:`\sum_i g_i f(x_i) + \tfrac12 h_i f(x_i)^2 + \tfrac\lambda2\sum_{leaves} v^2`, and ν times it is added. Several
classes get one tree each from the same gradients, side by side on the threads.

Friedman (2001), doi:10.1214/aos/1013203451; Ke et al. (2017), LightGBM, https://dl.acm.org/doi/10.5555/3294996.3295074.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from didact.core.backend import is_tensor, to_numpy
from didact.core.random import row_uniforms
from didact.core.threads import parallel_map, thread_count
from didact.core.typing import Array
from didact.engines.trees.boosting.booster_loops import GIVEN, PASS_ROWS, Passes, add_leaves
from didact.engines.trees.boosting.objective import Objective
from didact.engines.trees.growers.histogram import Grower, finish_trees, grow_side_by_side
from didact.engines.trees.grown import Grown
from didact.engines.trees.limits import Limits
from didact.engines.trees.predict.packed import pack, predict_sum
from didact.engines.trees.predict.packed_loops import Packed
from didact.engines.trees.predict.small_trees import Trees
from didact.engines.trees.rows.bins import Bins
from didact.engines.trees.rows.fixed_point import Channels, count_shift, value_layout
from didact.engines.trees.rows.fixed_point_loops import write_units
from didact.engines.trees.splits.histogram_loops import UNIT, VALUES
from didact.engines.trees.tree import Tree, node_weights
from didact.engines.trees.tuning import CODES_PER_THREAD, NODES_AHEAD, TREES_AHEAD
from didact.parts.criteria.gradient import Gradient


def raw_predictions(X: Any, trees: Packed | Trees, start: Array) -> Array:
    """The sums of the trees (n, outputs), on top of where they start; in the type of X."""
    X = to_numpy(X) if is_tensor(X) else X
    out = np.empty((X.shape[0], len(start)))
    out[:] = start
    trees = trees if isinstance(trees, Trees) else Trees.of(trees)
    return trees.add(X, out).astype(X.dtype, copy=False)


class BoostingPlan(NamedTuple):
    """How the trees of an ensemble are grown."""

    learning_rate: float
    l2: float
    limits: Limits
    subsample: float
    seed: int
    monotone: Array | None
    interactions: Any
    unseen: int = 0  # the iteration up to which nobody looks at predictions: several trees may be grown in one call


def boosting_channels(unit: bool, n: int, length: int) -> Channels:
    """Channels for n rows, with buffers for the fixed-point numbers of `length` of them."""
    width = 1 if unit else 2
    return value_layout(np.empty((length, width), np.int64), UNIT if unit else VALUES, count_shift(n), np.ones(width))


def scaled_channels(layout: Channels, slopes: float, curvatures: float) -> Channels:
    """The channels with the units that follow from these sums of |g| and of h over all rows."""
    inverse = np.empty(layout.n_channels)
    write_units(slopes, curvatures, layout.how, inverse)
    return layout._replace(inverse=inverse)


def drawn_rows(plan: BoostingPlan, iteration: int, start: int, stop: int, n: int) -> Array:
    """Which of the rows start … stop − 1 of n an iteration is fitted to; the draw does not depend on the blocks."""
    chosen = row_uniforms(np.random.SeedSequence([plan.seed, iteration]), start, stop) < plan.subsample
    if start <= iteration % n < stop:
        chosen[iteration % n - start] = True
    return chosen


def tree_seeds(plan: BoostingPlan, iteration: int, outputs: int) -> list[int]:
    """The seed of each tree of an iteration, where anything in it is drawn."""
    if not plan.limits.max_features:
        return [0] * outputs
    return [int(s) for s in np.random.default_rng([plan.seed, iteration]).integers(0, 2**63, size=outputs)]


def with_weights(trees: list[Tree], objective: Objective, leaf_weights: Callable[[], Sequence[Array]]) -> list[Tree]:
    """Trees with the weight of the rows that pass each node, where the grower has left the sum of their curvatures."""
    if objective.flat:  # the curvature is the weight
        return trees
    if objective.w is None:
        return [tree._replace(weighted_n_node_samples=tree.n_node_samples.astype(np.float64)) for tree in trees]
    found = zip(trees, leaf_weights(), strict=True)
    return [tree._replace(weighted_n_node_samples=node_weights(tree, ends)) for tree, ends in found]


class Leaves(NamedTuple):
    """The leaves of a tree: leaf k holds the rows order[starts[k]:stops[k]] of its grower."""

    starts: Array
    stops: Array
    values: Array


NOTHING = np.empty(0)
NO_LEAVES = Leaves(np.empty(0, np.int64), np.empty(0, np.int64), NOTHING)


class Booster:
    """An ensemble that grows on rows in memory; `raw` (outputs, n) are its present predictions.

    For a loss that has a compiled form, one call of the grower adds the last tree's values to the predictions, finds
    the gradients and grows the next tree, without a word of Python between these passes.
    """

    def __init__(self, X: Any, codes: Array, bins: Bins, objective: Objective, plan: BoostingPlan, raw: Array) -> None:
        self.X, self.objective, self.plan, self._raw = X, objective, plan, raw
        n, K = len(codes), objective.outputs
        self.g, self.h, self.sizes = np.empty((K, n)), np.empty((K, n)), np.empty((-(-n // PASS_ROWS), 2))
        self.layout = boosting_channels(objective.unit, n, n)
        self.grower = Grower(
            codes, bins, self.layout, Gradient(plan.l2), plan.limits, monotone=plan.monotone,
            interactions=plan.interactions,
        )  # fmt: skip
        self.last: Leaves | None = None
        self.ready: list[Tree] = []  # grown, and not asked for yet
        # Trees of several classes grow side by side: there is less to wait for than with all threads on one tree.
        side = min(thread_count(), K, max(K * codes.size // CODES_PER_THREAD, 1))
        each = -(-thread_count() // side) + (side > 1)  # threads for a tree, and one more when others have ended
        self.beside = [self._beside(each) for _ in range(side if side > 1 else 0)]

    def _beside(self, threads: int) -> tuple[Grower, Channels]:
        """Another grower for the same rows, with buffers of its own."""
        return self.grower.beside(threads), self.layout._replace(fixed=np.empty_like(self.layout.fixed))

    @property
    def raw(self) -> Array:
        """The present predictions (outputs, n), with all trees."""
        if self.last is not None:
            add_leaf_values([self.last], [self.grower.order], [self._raw[0]])
            self.last = None
        return self._raw

    def step(self, iteration: int) -> list[Tree]:
        """The trees of one iteration, one for each output, added to the predictions."""
        n, plan, objective = self._raw.shape[1], self.plan, self.objective
        rows = None if plan.subsample == 1 else np.flatnonzero(drawn_rows(plan, iteration, 0, n, n))
        seeds = tree_seeds(plan, iteration, objective.outputs)
        if objective.compiled != GIVEN:
            if not self.ready:
                layout = self.layout._replace(inverse=np.ones(self.layout.n_channels))  # the grower writes it
                self.ready = self._trees([(0, seeds[0])], rows, [(self.grower, layout)], self._later(iteration))
            return [self.ready.pop(0)]
        if objective.share is not None:
            objective.follow(objective.width(self.raw[0]))
        sums = objective.gradients(self.raw, self.g, self.h).T.tolist()
        growers, trees = self.beside or [(self.grower, self.layout)], []
        for first in range(0, len(seeds), len(growers)):
            some = list(enumerate(seeds))[first : first + len(growers)]
            units = [scaled_channels(layout, *sums[k]) for (k, _), (_, layout) in zip(some, growers, strict=False)]
            trees += self._trees(some, rows, [(own[0], layout) for own, layout in zip(growers, units, strict=False)])
        return trees

    def value(self) -> float:
        """The present loss."""
        return self.objective.value(self.raw)

    def held_value(self) -> None:
        """None: rows in memory are held out by the model, which scores them itself."""

    def _later(self, iteration: int) -> list[int]:
        """The seeds of the trees that may be grown together with that of an iteration."""
        plan, nodes = self.plan, self.grower.node_count(self._raw.shape[1])
        if plan.subsample < 1 or (self.objective.w is not None and not self.objective.flat):
            return []
        many = min(plan.unseen, iteration + TREES_AHEAD, iteration + NODES_AHEAD // nodes)
        return [tree_seeds(plan, k, 1)[0] for k in range(iteration + 1, many + 1)]

    def _trees(
        self, some: list[tuple[int, int]], rows: Array | None, growers: list[tuple[Grower, Channels]],
        later: Sequence[int] = (),
    ) -> list[Tree]:  # fmt: skip
        """The trees of some outputs, each with its seed, from as many growers; one grower may grow later ones, too."""
        last, self.last = self.last or NO_LEAVES, None
        begun = [
            grower.begin(layout, seed, rows, self._passes(k, last, rows is None), later)
            for (k, seed), (grower, layout) in zip(some, growers, strict=True)
        ]
        grow_side_by_side(begun)
        earlier = [self._scaled(each, 0) for growth in begun for each in growth.earlier()]
        grown, outputs = finish_trees(begun), [k for k, _ in some]
        trees = parallel_map(lambda each: self._scaled(*each), zip(grown, outputs, strict=True))
        self._add(grown, trees, outputs, rows)
        return earlier + trees

    def _passes(self, k: int, last: Leaves, every: bool) -> Passes:
        objective = self.objective
        given = objective.compiled == GIVEN
        return Passes(
            loss=objective.compiled, y=NOTHING if given else objective.y,
            w=NOTHING if given or objective.w is None else objective.w, raw=self._raw[k], g=self.g[k], h=self.h[k],
            sizes=self.sizes, starts=last.starts, stops=last.stops, values=last.values, every=every,
            rate=float(self.plan.learning_rate), steep=bool(objective.loss.steep),
        )  # fmt: skip

    def _add(self, grown: list[Grown], trees: list[Tree], outputs: list[int], rows: Array | None) -> None:
        """Add the trees' values to the predictions of their outputs, now or together with the next gradients."""
        leaves = [
            Leaves(one.starts, one.stops, tree.value[one.leaf_nodes, 0, 0])
            for one, tree in zip(grown, trees, strict=True)
        ]  # fmt: skip
        if self.objective.compiled != GIVEN and rows is None:
            (self.last,) = leaves
            return
        add_leaf_values(leaves, [one.order for one in grown], [self._raw[k] for k in outputs])
        if rows is None:
            return
        out = np.ones(self._raw.shape[1], bool)
        out[rows] = False
        others = np.flatnonzero(out)

        def predict(each: tuple[int, Tree]) -> None:
            k, tree = each
            self._raw[k, others] += predict_sum(pack([tree]), self.X[others], np.zeros((len(others), 1)))[:, 0]

        parallel_map(predict, zip(outputs, trees, strict=True))

    def _scaled(self, grown: Grown, k: int) -> Tree:
        """The tree with its values times the learning rate, after leaf values of some losses are recomputed."""
        tree, objective = grown.tree, self.objective
        value = tree.value.copy()
        if objective.quantile is not None:
            residual = objective.y - self._raw[k]
            for node, a, b in zip(grown.leaf_nodes, grown.starts, grown.stops, strict=True):
                rows = grown.order[a:b]
                w = None if objective.w is None else objective.w[rows]
                value[node] = np.clip(objective.leaf(residual[rows], w), *grown.bounds[node])
        tree = tree._replace(value=self.objective.steps(value, self.plan.learning_rate))
        return with_weights([tree], objective, lambda: [self._leaf_weights(grown)])[0]

    def _leaf_weights(self, grown: Grown) -> Array:
        """The weights of the rows that end in each node."""
        out, w = np.zeros(grown.tree.node_count), cast(Array, self.objective.w)
        for node, a, b in zip(grown.leaf_nodes, grown.starts, grown.stops, strict=True):
            out[node] = w[grown.order[a:b]].sum()
        return out


def add_leaf_values(leaves: list[Leaves], orders: list[Array], outs: list[Array]) -> None:
    """Add the values of their leaves to the rows of the sample, for each tree to predictions of its own."""
    n = len(outs[0])
    size = max(4 * PASS_ROWS, len(outs) * n // (4 * thread_count()))

    def piece(place: tuple[int, int]) -> None:
        k, start = place
        add_leaves(*leaves[k], orders[k], start, start + size, outs[k])

    parallel_map(piece, [(k, start) for k in range(len(outs)) for start in range(0, n, size)])
