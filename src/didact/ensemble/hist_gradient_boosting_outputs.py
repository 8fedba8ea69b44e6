"""What boosting says of new rows: raw sums of trees, means, scores, probabilities and labels."""

from typing import Any

import numpy as np

from didact.core.categories import encode_some
from didact.core.typing import Array
from didact.engines.trees.boosting.booster import raw_predictions
from didact.engines.trees.predict.packed import join_packs, pack
from didact.engines.trees.predict.packed_loops import Packed
from didact.engines.trees.predict.small_trees import Trees
from didact.engines.trees.predict.unpack import unpacked
from didact.engines.trees.tree import Tree, mean_over_others


def extended(state: Packed | None, trees: list[Tree], outputs: int) -> Packed | None:
    """The trees of an earlier fit, if any, and new ones: one for each output, iteration after iteration."""
    return join_packs(state, pack(trees, list(range(outputs)) * (len(trees) // outputs))) if trees else state


def raw_scores(X: Any, packed: Packed | None, start: Array) -> Array:
    """The raw scores of rows (n, outputs) as float64; before the first tree they are where the trees start."""
    if packed is None:
        return np.repeat(start[None], X.shape[0], axis=0)
    return raw_predictions(X, packed, start).astype(np.float64, copy=False)


def answer(fn: Any, X: Any, trees: Trees, start: Array, *how: Any) -> Array:
    """What `fn`, one of the functions below, makes of the raw scores of rows X."""
    return fn(raw_predictions(X, trees, start), *how)


def mean_raw(self: Any, grid: Any, target_features: Array) -> Array:
    """A method: the mean raw score (outputs, points), without the start, at each point of some features."""
    points = encode_some(self.categories_, grid, target_features)
    found = np.zeros((self.n_trees_per_iteration_, len(points)))
    for tree, output in zip(unpacked(self._packed), self._packed.output, strict=True):
        found[output] += mean_over_others(tree, points, target_features)[:, 0]
    return found


def targets(raw: Array, loss: Any) -> Array:
    """Predicted targets: what the loss says that the raw sum predicts."""
    return np.asarray(loss.mean(raw[:, 0]))


def decisions(raw: Array) -> Array:
    """Raw scores: (n,) for two classes, else (n, classes)."""
    return raw[:, 0] if raw.shape[1] == 1 else raw


def shares(raw: Array, loss: Any) -> Array:
    """Probabilities of the classes."""
    if raw.shape[1] > 1:
        return np.asarray(loss.mean(raw))
    p = np.asarray(loss.mean(raw[:, 0])).astype(raw.dtype, copy=False)
    return np.stack([1 - p, p], axis=1)


def log_shares(raw: Array, loss: Any) -> Array:
    """Logarithms of the class probabilities."""
    with np.errstate(divide="ignore"):
        return np.log(shares(raw, loss))


def most_probable(raw: Array, classes: Array) -> Array:
    """The label of the largest score."""
    return classes[raw.argmax(axis=1) if raw.shape[1] > 1 else (raw[:, 0] > 0).astype(int)]
