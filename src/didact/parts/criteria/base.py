"""The base of all split criteria: scores of sums in scalar form, values and impurities of many nodes in array form."""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from didact.core.typing import Array
from didact.parts.noun import Noun


class Outputs(NamedTuple):
    """The field of a criterion: how many outputs the statistic of a node covers."""

    outputs: int = 1


class Criterion(Noun):
    """A split criterion on sums over rows. Scalar forms: `score1` of a vector of sums, `score2` for one target or two
    classes.

    `score1(sums, start, n)` reads n class weights from `start` on, or n sums of targets and the weight after them.
    `score2(s, w)` takes the weighted sum of one target and the weight; for two classes s is the weight of the second.
    `base2(s, w)` is w·b(y) for one row with weighted target s. `value1` is the prediction of a node if it is a single
    number: the mean, or the share of the second class. Array forms, with one row of sums per node: `values`,
    `impurities`.

    A criterion that cannot be computed from sums is not `additive` and has a scan of its own. For a `centred` one,
    targets are measured from their mean, which avoids cancellation. A `positive` one refuses nodes whose sum of targets
    is not above 0: targets are rounded so that their sums are exact, because a rounding error must not decide that.
    Growers are compiled once for each class of criteria, and only once for all classes that have a `code`.
    """

    __slots__ = ()
    labels: ClassVar[bool] = True
    additive: ClassVar[bool] = True
    centred: ClassVar[bool] = False
    positive: ClassVar[bool] = False
    code: ClassVar[int | None] = None
    outputs: Any

    def refuse(self, negative: bool, totals: Array) -> None:
        """Refuse invalid targets, given whether some are negative, and their weighted sums."""

    def bases(self, y: Array) -> Array:
        """b(y) of each target."""
        return np.vectorize(lambda value: self.base2(value, 1.0), otypes=[np.float64])(y)

    def score1(self, sums: Array, start: int, n: int) -> float:
        """The score of the n sums from `start` on."""
        raise NotImplementedError

    def score2(self, s: float, w: float) -> float:
        """The score of one target, or of two classes."""
        raise NotImplementedError

    def base2(self, s: float, w: float) -> float:
        """w·b(y) of one row."""
        raise NotImplementedError

    def value1(self, sums: Array, start: int, n: int) -> float:
        """The mean of the first target, or the share of the second class."""
        raise NotImplementedError

    def score_at1(self, sums: Array, start: int, n: int, value: float) -> float:
        """The score of a node of one target or two classes if its prediction is fixed at `value`: at most `score1`."""
        raise NotImplementedError

    def values(self, sums: Array) -> Array:
        """The predictions of nodes with these sums: class shares or means, (nodes, outputs, classes or 1)."""
        if self.labels:
            counts = sums.reshape(len(sums), self.outputs, -1)
            return counts / np.maximum(counts.sum(axis=2, keepdims=True), np.finfo(float).tiny)
        return (sums[:, :-1] / sums[:, -1:])[:, :, None]

    def impurities(self, sums: Array, base: Array | None = None) -> Array:
        """(base − score)/W of nodes with these sums; for labels the base Σ w b(y) follows from the sums."""
        n = sums.shape[1] - (not self.labels)
        weight = sums.sum(axis=1) / self.outputs if self.labels else sums[:, -1]
        if base is None:
            base = np.asarray([self.base2(0.0, w) for w in weight])
        scores = np.asarray([self.score1(row, 0, n) for row in sums])
        return np.maximum(base - scores, 0.0) / weight

    def impurity(self, y: Any, w: Any = None) -> float:
        """The impurity by its definition, of targets y (class codes or numbers, a column per output) with weights w."""
        y = np.asarray(y)
        y = y[:, None] if y.ndim == 1 else y
        w = np.ones(len(y)) if w is None else np.asarray(w, np.float64)
        return float(np.mean([self._impurity(column, w) for column in y.T]))

    def _impurity(self, y: Array, w: Array) -> float:
        raise NotImplementedError


class OfLabels(Criterion):
    """Criteria on the weights of classes."""

    __slots__ = ()

    def value1(self, sums: Array, start: int, n: int) -> float:
        """The share of the second class."""
        total = 0.0
        for k in range(start, start + n):
            total += sums[k]
        return sums[start + 1] / total if n > 1 and total > 0.0 else 0.0


class OfNumbers(Criterion):
    """Criteria on sums of targets."""

    __slots__ = ()
    labels: ClassVar[bool] = False

    def value1(self, sums: Array, start: int, n: int) -> float:
        """The mean of the first target."""
        return sums[start] / sums[start + n] if sums[start + n] > 0.0 else 0.0


def fractions(y: Array, w: Array) -> Array:
    """The share of each class code."""
    return np.bincount(y.astype(np.int64), w) / w.sum()
