"""The additive criteria that have a code as one noun, so that a grower is compiled once for all of them.

Layout of `sums`, from `start` on::

    classes   [ weights of the classes of output 0 | of output 1 | … ]
    targets   [ Σ w y of target 0 | of target 1 | … | W ]
"""

from typing import Any, NamedTuple

from didact.core.jit import dispatch
from didact.core.typing import Array
from didact.parts.criteria.impurity import Entropy, Gini, Misclassification, PoissonDeviance, SquaredError

score1 = dispatch("score1")
score2 = dispatch("score2")
base2 = dispatch("base2")

GINI, ENTROPY, MISCLASSIFICATION, SQUARED_ERROR = Gini.code, Entropy.code, Misclassification.code, SquaredError.code


class Chosen(NamedTuple):
    """One of these criteria, by its code: a branch decides."""

    kind: int
    outputs: int

    def score1(self, sums: Array, start: int, n: int) -> float:
        """The score of a vector of sums."""
        if self.kind == GINI:
            return score1(Gini(self.outputs), sums, start, n)
        if self.kind == ENTROPY:
            return score1(Entropy(self.outputs), sums, start, n)
        if self.kind == MISCLASSIFICATION:
            return score1(Misclassification(self.outputs), sums, start, n)
        if self.kind == SQUARED_ERROR:
            return score1(SquaredError(self.outputs), sums, start, n)
        return score1(PoissonDeviance(self.outputs), sums, start, n)

    def score2(self, s: float, w: float) -> float:
        """The score of one target or of two classes."""
        if self.kind == GINI:
            return score2(Gini(1), s, w)
        if self.kind == ENTROPY:
            return score2(Entropy(1), s, w)
        if self.kind == MISCLASSIFICATION:
            return score2(Misclassification(1), s, w)
        if self.kind == SQUARED_ERROR:
            return score2(SquaredError(1), s, w)
        return score2(PoissonDeviance(1), s, w)

    def base2(self, s: float, w: float) -> float:
        """w·b(y) of one row."""
        if self.kind == GINI or self.kind == MISCLASSIFICATION:
            return w
        if self.kind == ENTROPY:
            return 0.0
        if self.kind == SQUARED_ERROR:
            return base2(SquaredError(1), s, w)
        return base2(PoissonDeviance(1), s, w)


def chosen(criterion: Any, outputs: int) -> Any:
    """A criterion by its number; one without a number stays what it is, and growers are compiled for it."""
    return criterion._replace(outputs=outputs) if criterion.code is None else Chosen(criterion.code, outputs)
