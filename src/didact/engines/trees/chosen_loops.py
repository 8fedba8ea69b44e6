"""The additive criteria as one noun, so that a grower is compiled once for all of them."""

from typing import Any, NamedTuple

import numpy as np

from didact.core.jit import dispatch
from didact.parts.criteria.impurity import Entropy, Gini, Misclassification, Poisson, SquaredError

Array = np.ndarray[Any, Any]

score1 = dispatch("score1")
score2 = dispatch("score2")
base2 = dispatch("base2")


class Chosen(NamedTuple):
    """One of the additive criteria, by its number: growers are compiled once for all of them, and a branch decides."""

    kind: int
    outputs: int

    def score1(self, sums: Array, start: int, n: int) -> float:
        """The score of a vector of sums."""
        if self.kind == 0:
            return score1(Gini(self.outputs), sums, start, n)
        if self.kind == 1:
            return score1(Entropy(self.outputs), sums, start, n)
        if self.kind == 2:
            return score1(Misclassification(self.outputs), sums, start, n)
        if self.kind == 3:
            return score1(SquaredError(self.outputs), sums, start, n)
        return score1(Poisson(self.outputs), sums, start, n)

    def score2(self, s: float, w: float) -> float:
        """The score of one target or of two classes."""
        if self.kind == 0:
            return score2(Gini(1), s, w)
        if self.kind == 1:
            return score2(Entropy(1), s, w)
        if self.kind == 2:
            return score2(Misclassification(1), s, w)
        if self.kind == 3:
            return score2(SquaredError(1), s, w)
        return score2(Poisson(1), s, w)

    def base2(self, s: float, w: float) -> float:
        """w·b(y) of one row."""
        if self.kind == 0 or self.kind == 2:
            return w
        if self.kind == 1:
            return 0.0
        if self.kind == 3:
            return base2(SquaredError(1), s, w)
        return base2(Poisson(1), s, w)


def chosen(criterion: Any, outputs: int) -> Chosen:
    """A criterion by its number."""
    return Chosen((Gini, Entropy, Misclassification, SquaredError, Poisson).index(type(criterion)), outputs)
