"""Passes of the voted perceptron: like those of gradient descent, but all weight vectors are kept and vote.

Freund, Schapire (1999), Large margin classification using the perceptron algorithm, doi:10.1023/A:1007662407062.
Memory: one vector for each mistake.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import like, namespace
from didact.core.errors import InputError
from didact.core.rows.memory import refuse_non_finite
from didact.core.typing import Array
from didact.engines.stochastic.passes import LoopRows
from didact.engines.stochastic.perceptron_loops import vote
from didact.engines.stochastic.sgd import Advance, Training, Weights
from didact.engines.stochastic.sgd_loops import BIAS, TIME, UPDATES
from didact.engines.stochastic.tuning import FIRST_ROOM, VOTES_AT_ONCE


class Voters(NamedTuple):
    """Weight vectors (m, p) with intercepts and votes, and the output that each belongs to."""

    vectors: Array
    intercepts: Array
    votes: Array
    outputs: Array


class Store:
    """A growing store for the weight vectors of one output."""

    def __init__(self, vectors: Array, intercepts: Array, votes: Array):
        self.vectors, self.intercepts, self.votes = vectors, intercepts, votes
        self.last = np.array([len(votes) - 1])

    def grow(self) -> None:
        """Double the capacity, and add some."""
        more = len(self.votes) + FIRST_ROOM
        self.vectors = np.concatenate([self.vectors, np.zeros((more, self.vectors.shape[1]))])
        self.intercepts, self.votes = (np.concatenate([a, np.zeros(more)]) for a in (self.intercepts, self.votes))

    def used(self) -> tuple[Array, Array, Array]:
        """The vectors, intercepts and votes so far."""
        end = int(self.last[0]) + 1
        return self.vectors[:end], self.intercepts[:end], self.votes[:end]


def stores(weights: Weights, voters: Voters | None = None) -> list[Store]:
    """One store for each output: with the vectors so far, or the current weights without a vote."""
    if voters is None:
        return [Store(weights.V[[k]], weights.S[[k], BIAS], np.zeros(1)) for k in range(len(weights.S))]
    mine = [voters.outputs == k for k in range(len(weights.S))]
    if voters.vectors.shape[1] != weights.V.shape[1] or not all(m.any() for m in mine):
        raise InputError("Every output of a voted perceptron has at least one weight vector, as wide as the rows.")
    return [Store(voters.vectors[m], voters.intercepts[m], voters.votes[m]) for m in mine]


def gathered(kept: list[Store]) -> Voters:
    """The vectors of all outputs in one table."""
    parts = [store.used() for store in kept]
    owners = np.repeat(np.arange(len(kept)), [len(votes) for *_, votes in parts])
    vectors, intercepts, votes = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return Voters(vectors, intercepts, votes, owners)


def voted(kept: list[Store]) -> Callable[..., Advance]:
    """Passes that fill the stores, in place of `stochastic`; rows are shuffled within their block."""

    def passes(blocks: Callable[[], Iterable[LoopRows]], training: Training, seed: Any, names: Any = None) -> Advance:
        def advance(weights: Weights, outputs: Array, epoch: int) -> Array:
            losses, size = np.zeros(len(weights.S)), 0
            for number, data in enumerate(blocks()):
                # A stream of its own for each pass and block: the order does not depend on what came before.
                key = (*seed.spawn_key, epoch, number)
                generator = np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=key))
                order = data.kept if len(data.kept) else np.arange(data.size)
                order = generator.permutation(order) if training.shuffle else np.array(order)
                for k in outputs:
                    losses[k] += _pass(data, order, kept[k], int(weights.positives[k]), training)
                if not all(np.isfinite(kept[k].vectors[kept[k].last[0]]).all() for k in outputs):
                    refuse_non_finite(data.X, names)
                size += data.size
            for k in outputs:
                vectors, intercepts, votes = kept[k].used()
                weights.V[k], weights.S[k, BIAS] = vectors[-1], intercepts[-1]
                weights.S[k, UPDATES], weights.S[k, TIME] = len(votes) - 1, weights.S[k, TIME] + size
            return losses / max(size, 1)

        return advance

    return passes


def _pass(data: LoopRows, order: Array, store: Store, positive: int, training: Training) -> float:
    """One pass over a block for one output."""
    losses, begin = np.zeros(1), 0
    while begin < len(order):
        begin = vote(data.design, data.y, data.weights, order, begin, positive, training.rate.scale,
                     training.fit_intercept, store.vectors, store.intercepts, store.votes, store.last,
                     losses)  # fmt: skip
        if begin < len(order):
            store.grow()
    return float(losses[0])


def voted_scores(X: Any, vectors: Array, intercepts: Array, votes: Array, outputs: Array, classes: Array) -> Any:
    """The share of votes for the positive class minus that against it: (n,) for two classes, else (n, K)."""
    xp, K = namespace(X), 1 if len(classes) == 2 else len(classes)
    total = np.maximum(np.bincount(outputs, votes, K), 1.0)
    share = np.zeros((len(votes), K))
    share[np.arange(len(votes)), outputs] = votes / total[outputs]
    scores: Any = 0.0
    for start in range(0, len(votes), VOTES_AT_ONCE):
        part = slice(start, start + VOTES_AT_ONCE)
        z = X @ like(vectors[part].T.astype(X.dtype) if isinstance(X, np.ndarray) else vectors[part].T, X)
        scores = scores + xp.sign(z + like(intercepts[part], X)) @ like(share[part], X)
    return scores[:, 0] if K == 1 else scores
