r"""Gradient boosting: trees fitted one after the other to the second-order model of a loss.

With gradients :math:`g_i` and curvatures :math:`h_i` of the loss at the present predictions, the next tree minimises
:math:`\sum_i g_i f(x_i) + \tfrac12 h_i f(x_i)^2 + \tfrac\lambda2\sum_{leaves} v^2`, and ν times it is added. Several
classes get one tree each from the same gradients.

Friedman (2001), doi:10.1214/aos/1013203451; Ke et al. (2017), LightGBM, https://dl.acm.org/doi/10.5555/3294996.3295074.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import is_tensor, to_numpy
from didact.core.threads import parallel_map
from didact.engines.trees.bins import Bins
from didact.engines.trees.boost_loops import add_leaves, pack_ones, pack_pairs
from didact.engines.trees.boost_loss import PIECE, Objective, weighted_quantile
from didact.engines.trees.channels import Channels, count_shift, power_below
from didact.engines.trees.grow import Grower, Grown
from didact.engines.trees.histogram_loops import UNIT, VALUES
from didact.engines.trees.limits import Limits
from didact.engines.trees.packed import pack, predict_sum
from didact.engines.trees.predict_loops import Packed
from didact.engines.trees.tree import Tree
from didact.parts.gradient_criterion import Gradient

Array = np.ndarray[Any, Any]


def raw_predictions(X: Any, packed: Packed, start: Array) -> Array:
    """The sums of the trees (n, outputs), on top of where they start; in the type of X."""
    X = to_numpy(X) if is_tensor(X) else X
    out = np.empty((X.shape[0], len(start)))
    out[:] = start
    return predict_sum(packed, X, out).astype(X.dtype, copy=False)


class Plan(NamedTuple):
    """How the trees of an ensemble are grown."""

    learning_rate: float
    l2: float
    limits: Limits
    subsample: float
    seed: int
    monotone: Array | None
    interactions: Any


class Booster:
    """An ensemble that grows on rows in memory; `raw` (outputs, n) are its present predictions."""

    def __init__(self, X: Any, codes: Array, bins: Bins, objective: Objective, plan: Plan, raw: Array) -> None:
        self.X, self.objective, self.plan, self.raw = X, objective, plan, raw
        n, K = len(codes), objective.outputs
        self.g, self.h = np.empty((K, n)), np.empty((K, n))
        width = 1 if objective.unit else 2
        self.channels = Channels(
            np.empty((n, width), np.int64), np.empty((0, 0), np.int32), width, UNIT if objective.unit else VALUES,
            count_shift(n), np.ones(width),
        )  # fmt: skip
        self.grower = Grower(
            codes, bins, self.channels, Gradient(plan.l2), plan.limits, monotone=plan.monotone,
            interactions=plan.interactions,
        )  # fmt: skip

    def step(self, iteration: int) -> list[Tree]:
        """The trees of one iteration, one for each output, already added to the predictions."""
        self.objective.gradients(self.raw, self.g, self.h)
        rng = np.random.default_rng([self.plan.seed, iteration])
        rows = self._drawn(rng)
        seeds = rng.integers(0, 2**63, size=self.objective.outputs)
        return [self._tree(k, rows, int(seed)) for k, seed in enumerate(seeds)]

    def _drawn(self, rng: Any) -> Array | None:
        n = self.raw.shape[1]
        count = max(1, int(self.plan.subsample * n))
        return None if count >= n else np.sort(rng.choice(n, count, replace=False, shuffle=False))

    def _tree(self, k: int, rows: Array | None, seed: int) -> Tree:
        grown = self.grower.grow(self._pack(k), seed, rows)
        tree = self._scaled(grown, k)
        values = tree.value[grown.leaf_nodes, 0, 0]
        self._add(grown, values, self.raw[k])
        if rows is not None:
            out = np.ones(self.raw.shape[1], bool)
            out[rows] = False
            others = np.flatnonzero(out)
            self.raw[k, others] += predict_sum(pack([tree]), self.X[others], np.zeros((len(others), 1)))[:, 0]
        return tree

    def _pack(self, k: int) -> Channels:
        """The gradients of an output as words."""
        g, h, channels = self.g[k], self.h[k], self.channels
        shift = channels.shift
        room = 2.0 ** (shift - 2) if channels.kind == UNIT else 2.0**60
        starts = range(0, len(g), PIECE)
        sums = parallel_map(lambda a: (float(np.abs(g[a : a + PIECE]).sum()), float(h[a : a + PIECE].sum())), starts)
        scale_g = power_below(room, sum(s for s, _ in sums))
        scale_h = power_below(2.0 ** (shift - 1), sum(s for _, s in sums))

        def piece(start: int) -> None:
            part = slice(start, start + PIECE)
            if channels.kind == UNIT:
                pack_ones(g[part], scale_g, shift, channels.words[part])
            else:
                pack_pairs(g[part], h[part], scale_g, scale_h, shift, channels.words[part])

        parallel_map(piece, starts)
        inverse = [1.0 / scale_g] if channels.kind == UNIT else [1.0 / scale_g, 1.0 / scale_h]
        return channels._replace(inverse=np.array(inverse))

    def _scaled(self, grown: Grown, k: int) -> Tree:
        """The tree with its values times the learning rate; leaves of quantile losses are renewed before."""
        tree, objective = grown.tree, self.objective
        value = tree.value.copy()
        if objective.quantile is not None:
            residual = objective.y - self.raw[k]
            for node, a, b in zip(grown.leaf_nodes, grown.starts, grown.stops, strict=True):
                rows = grown.order[a:b]
                w = None if objective.w is None else objective.w[rows]
                found = weighted_quantile(residual[rows], w, objective.quantile)
                value[node] = np.clip(found, *grown.bounds[node])
        return tree._replace(value=self.plan.learning_rate * value)

    def _add(self, grown: Grown, values: Array, out: Array) -> None:
        """Add the values of their leaves to the rows of the sample."""
        starts, stops = grown.starts, grown.stops
        order = np.argsort(starts)
        starts, stops, values = starts[order], stops[order], values[order]
        threads = self.grower.threads
        edges = np.searchsorted(starts, np.linspace(0, len(grown.order), threads + 1))

        def piece(k: int) -> None:
            part = slice(edges[k], edges[k + 1])
            add_leaves(starts[part], stops[part], values[part], grown.order, out)

        parallel_map(piece, range(threads))
