"""Early stopping of boosting: scores after each iteration, and whether they still improve."""

from copy import copy
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring

from didact.core.errors import ParameterError
from didact.engines.trees.boost import Booster, raw_predictions
from didact.engines.trees.boost_loss import Objective
from didact.engines.trees.boost_rows import RowsBooster
from didact.engines.trees.packed import Packed, join, pack, predict_sum
from didact.engines.trees.tree import Tree

Array = np.ndarray[Any, Any]

SCORED = 10_000  # training rows that a scorer sees after each iteration


class Watch:
    """The scores of an ensemble while it grows, after those of a fit that it goes on from, and when to stop."""

    def __init__(self, model: Any, booster: Booster | RowsBooster, held: Any, state: Packed | None) -> None:
        self.model, self.booster, self.held, self.state = model, booster, held, state
        objective = booster.objective
        self.by_loss = model.scoring == "loss"
        if self.by_loss and not hasattr(objective.loss, "value"):
            raise ParameterError(
                f"Early stopping watches value(y, z) of the loss, which {type(objective.loss).__name__} has not: add "
                "it, name a scorer in scoring, or set early_stopping=False."
            )
        self.train: list[float] = [] if state is None else list(model.train_score_)
        self.held_out: list[float] = [] if state is None else list(model.validation_score_)
        if held is not None:
            self.objective = Objective(objective.loss, held[1], held[2], objective.outputs)
            self.raw = self._raw(held[0], []).T.copy()
        if not self.by_loss:
            self._prepare_scorer()
        if not self.train:
            self.score([])

    def _prepare_scorer(self) -> None:
        """The scorer, and the training rows that it sees: all, or some drawn from many."""
        self.scorer = check_scoring(self.model, self.model.scoring)
        n, objective = self.booster.raw.shape[1], self.booster.objective
        few = n <= SCORED
        self.sample = np.arange(n) if few else np.sort(np.random.default_rng(self.model._seed).choice(n, SCORED, False))
        w = None if objective.w is None else objective.w[self.sample]
        self.seen = self.booster.X[self.sample], objective.y[self.sample], w

    def score(self, trees: list[Tree]) -> None:
        """Add the present scores to the lists: higher is better."""
        if self.by_loss:
            self.train.append(-self.booster.value())
            held = self.booster.held_value() if self.held is None else self.objective.value(self.raw)
            self.held_out += [] if held is None else [-held]
            return
        self.train.append(self._scored(self.seen, self.booster.raw[:, self.sample], trees))
        if self.held is not None:
            self.held_out.append(self._scored(self.held, self.raw, trees))

    def _scored(self, rows: Any, raw: Array, trees: list[Tree]) -> float:
        """What the scorer says of rows with these raw scores (outputs, n).

        It gets a copy of the model whose answers are made from raw scores: the rows have come through the door
        already, with codes for categories, and their sums need no walk through all trees.
        """
        X, y, w = rows
        model = copy(self.model)

        def answer(asked: Any, fn: Any, *args: Any) -> Array:
            known = raw.T if asked is X else self._raw(asked, trees)  # a scorer of one's own may ask for some rows only
            return fn(known, *args)  # type: ignore[no-any-return]

        vars(model)["_answer"] = answer
        return float(self.scorer(model, X, self.model._labels(y), **({} if w is None else {"sample_weight": w})))

    def _raw(self, X: Any, trees: list[Tree]) -> Array:
        """The raw scores of rows (n, outputs), with these new trees."""
        start, K = self.model._start, len(self.model._start)
        packed = join(self.state, pack(trees, list(range(K)) * (len(trees) // K))) if trees else self.state
        if packed is None:
            return np.repeat(start[None], X.shape[0], axis=0)
        return raw_predictions(X, packed, start).astype(np.float64, copy=False)

    def stops(self, trees: list[Tree]) -> bool:
        """Score the ensemble with its new trees; whether it has not improved for long enough."""
        before = len(self.held_out)
        if self.held is not None:
            K = self.booster.objective.outputs
            new = pack(trees[-K:], list(range(K)))
            self.raw += predict_sum(new, self.held[0], np.zeros((self.raw.shape[1], K))).T
        self.score(trees)
        scores, patience = self.held_out if len(self.held_out) > before else self.train, self.model.n_iter_no_change
        if len(scores) <= patience:
            return False
        reference = scores[-patience - 1] + self.model.tol
        return not any(score > reference for score in scores[-patience:])
