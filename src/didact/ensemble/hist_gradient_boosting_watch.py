"""Early stopping of boosting: scores after each iteration, and whether they still improve."""

from typing import Any

import numpy as np
from sklearn.metrics import check_scoring

from didact.engines.trees.boost import Booster, raw_predictions
from didact.engines.trees.boost_loss import Objective
from didact.engines.trees.boost_rows import RowsBooster
from didact.engines.trees.packed import Packed, join, pack, predict_sum
from didact.engines.trees.tree import Tree

SCORED = 10_000  # training rows that a scorer sees after each iteration


class Watch:
    """The scores of an ensemble while it grows, and whether they still improve."""

    def __init__(self, model: Any, booster: Booster | RowsBooster, held: Any, state: Packed | None) -> None:
        self.model, self.booster, self.state = model, booster, state
        self.by_loss = model.scoring == "loss"
        self.train: list[float] = []
        self.held_out: list[float] = []
        self.held = held
        if held is not None:
            objective = booster.objective
            y = held[1]
            self.objective = Objective(objective.loss, y, held[2], objective.outputs)
            self.raw = np.repeat(model._start[:, None], len(y), axis=1)
            if state is not None:
                self.raw = raw_predictions(held[0], state, model._start).T.astype(np.float64)
        if not self.by_loss:
            self.scorer = check_scoring(model, model.scoring)
            self.sample = np.arange(min(SCORED, booster.raw.shape[1]))
        self.score([])

    def score(self, trees: list[Tree]) -> None:
        """Add the present scores to the lists: higher is better."""
        if self.by_loss:
            self.train.append(-self.booster.value())
            held = self.booster.held_value() if self.held is None else self.objective.value(self.raw)
            self.held_out += [] if held is None else [-held]
            return
        K = self.booster.objective.outputs
        packed = join(self.state, pack(trees, list(range(K)) * (len(trees) // K))) if trees else self.state
        self.model._packed = packed if packed is not None else pack_nothing(K)
        y = self.model._labels(self.booster.objective.y)
        self.train.append(self.scorer(self.model, self.booster.X[self.sample], y[self.sample]))
        if self.held is not None:
            self.held_out.append(self.scorer(self.model, self.held[0], self.model._labels(self.held[1])))

    def stops(self, trees: list[Tree]) -> bool:
        """Score the ensemble with its new trees; whether it has not improved for long enough."""
        if self.held is not None:
            K = self.booster.objective.outputs
            new = pack(trees[-K:], list(range(K)))
            self.raw += predict_sum(new, self.held[0], np.zeros((self.raw.shape[1], K))).T
        self.score(trees)
        scores, patience = self.held_out or self.train, self.model.n_iter_no_change
        if len(scores) <= patience:
            return False
        reference = scores[-patience - 1] + self.model.tol
        return not any(score > reference for score in scores[-patience:])


def pack_nothing(outputs: int) -> Packed:
    """Trees of a single leaf with the value 0."""
    one = np.zeros(1, np.int32)
    leaf = Tree(one - 1, one - 1, one - 2, np.zeros(1), np.zeros(1, np.uint8), one - 1, np.zeros((0, 1), np.uint64),
                np.zeros(1), np.ones(1, np.int64), np.ones(1), np.zeros((1, 1, 1)))  # fmt: skip
    return pack([leaf] * outputs, list(range(outputs)))
