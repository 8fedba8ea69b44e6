"""Early stopping of boosting: scores after each iteration, and whether they still improve."""

from collections.abc import Callable
from typing import Any

import numpy as np

from didact.core.errors import ParameterError
from didact.core.typing import Array
from didact.engines.trees.boosting.booster import Booster
from didact.engines.trees.boosting.cluster_booster import RowsBooster
from didact.engines.trees.boosting.objective import Objective
from didact.engines.trees.predict.packed import pack, predict_sum
from didact.engines.trees.tree import Tree

Rows = tuple[Any, Any, Any]  # X, y and weights or None
Scorer = Callable[[Rows, Array, list[Tree]], float]

SCORED = 10_000  # training rows that a scorer sees after each iteration


class ScoreHistory:
    """The scores of an ensemble while it grows, after those of a fit that it goes on from: higher is better.

    `held` are rows in memory that are watched, with their raw scores (outputs, n) at the start; `scorer` judges rows by
    their raw scores with these new trees, and without one the score is minus the loss.
    """

    def __init__(
        self, booster: Booster | RowsBooster, held: Rows | None, raw: Array | None, scorer: Scorer | None,
        train: list[float], held_out: list[float], seed: int,
    ) -> None:  # fmt: skip
        self.booster, self.held, self.raw, self.scorer = booster, held, raw, scorer
        self.train, self.held_out = train, held_out
        loss: Any = booster.objective.loss
        if scorer is None and not hasattr(loss, "value"):
            raise ParameterError(
                f"Early stopping watches value(y, z) of the loss, which {type(loss.given).__name__} has not: add "
                "it, name a scorer in scoring, or set early_stopping=False."
            )
        if held is not None:
            self.objective = Objective(loss, held[1], held[2], booster.objective.outputs)
        if scorer is not None and isinstance(booster, Booster):
            objective = booster.objective
            self.sample = some = drawn_rows(len(objective.y), seed)
            self.seen = booster.X[some], objective.y[some], None if objective.w is None else objective.w[some]
        if not self.train:
            self._add([])

    def _add(self, trees: list[Tree]) -> None:
        """Add the present scores to the lists."""
        if self.scorer is None:
            self.train.append(-self.booster.value())
            held = self.booster.held_value() if self.raw is None else self.objective.value(self.raw)
            self.held_out += [] if held is None else [-held]
            return
        self.train.append(self.scorer(self.seen, self.booster.raw[:, self.sample], trees))  # type: ignore[index]
        if self.held is not None and self.raw is not None:
            self.held_out.append(self.scorer(self.held, self.raw, trees))

    def stops(self, trees: list[Tree], patience: int, tol: float) -> bool:
        """Score the ensemble with its new trees; whether it has not improved for long enough."""
        before = len(self.held_out)
        if self.held is not None and self.raw is not None:
            K = self.booster.objective.outputs
            new = pack(trees[-K:], list(range(K)))
            self.raw += predict_sum(new, self.held[0], np.zeros((self.raw.shape[1], K))).T
        self._add(trees)
        scores = self.held_out if len(self.held_out) > before else self.train
        if len(scores) <= patience:
            return False
        reference = scores[-patience - 1] + tol
        return not any(score > reference for score in scores[-patience:])


def drawn_rows(n: int, seed: int) -> Array:
    """The training rows that a scorer sees: all, or some drawn from many."""
    return np.arange(n) if n <= SCORED else np.sort(np.random.default_rng(seed).choice(n, SCORED, False))
