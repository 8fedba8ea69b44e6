r"""Sample weights as numbers of rows, for models that count: k neighbours, n in a rule, leave-one-out, minimal leaves.

Sample weights are relative: a constant factor changes nothing. Where rows are counted, some weight must stand for one
row. It is found by this rule:

1. If all weights are integer multiples of the smallest positive one, that is the unit: equal weights count every row
   once, and integers with a 1 among them count a row as often as it is repeated.
2. Otherwise the unit is the mean, so that the weights sum to the number of rows with positive weight.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import to_numpy
from didact.core.rows import Block, Rows
from didact.core.typing import Array

MULTIPLE = 2.0**32  # beyond it, rounding makes a whole multiple of every number
RATIO_ROUNDING = 4 * np.finfo(float).eps  # of a ratio of two weights that were multiplied by a constant
LARGEST = float(np.finfo(float).max)


class WeightRange(NamedTuple):
    """The statistic of the positive weights that turns them into counts.

    `whole`: all are integer multiples of the smallest; unless they are equal, `settled` finds out by a second pass.
    """

    mean: float
    rows: float
    low: float
    high: float
    whole: bool = False

    def merge(self, other: "WeightRange") -> "WeightRange":
        """The statistic of both sets of rows together."""
        rows = self.rows + other.rows
        share = other.rows / rows if rows else 0.0
        mean = self.mean * (1.0 - share) + other.mean * share  # no sum, which may overflow for huge weights
        return WeightRange(mean, rows, min(self.low, other.low), max(self.high, other.high))

    @property
    def unit(self) -> float:
        """The weight that stands for one row."""
        if not self.rows:
            return 1.0
        return self.low if self.whole or self.low >= self.high else self.mean

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return self.rows * self.mean

    @property
    def cases(self) -> float:
        """The number of rows that the weights stand for."""
        return self.rows * (self.mean / self.unit)

    def settled(self, rows: Rows) -> "WeightRange":
        """The statistic with `whole` set, by another pass over the rows if needed."""
        if self.low >= self.high:
            return self
        return self._replace(whole=rows.reduce(multiples, self.low).every)


class Multiples(NamedTuple):
    """Whether all weights are integer multiples of a unit; mergeable."""

    every: bool

    def merge(self, other: "Multiples") -> "Multiples":
        """Whether it holds for both sets of rows."""
        return Multiples(self.every and other.every)


def weight_range(w: Any, n: int) -> WeightRange:
    """The range of the weights of a block of n rows; None: all are 1."""
    if w is None:
        return WeightRange(1.0, float(n), 1.0, 1.0) if n else WeightRange(0.0, 0.0, LARGEST, 0.0)
    w = to_numpy(w).astype(np.float64, copy=False)
    w = w[w > 0]
    if not len(w):
        return WeightRange(0.0, 0.0, LARGEST, 0.0)
    most = float(w.max())
    return WeightRange(float((w / most).mean()) * most, float(len(w)), float(w.min()), most)


def multiples(block: Block, unit: float) -> Multiples:
    """Whether the weights of a block are integer multiples of a unit."""
    w = block.weight
    if w is None:
        return Multiples(are_multiples(np.ones(1), unit))
    return Multiples(are_multiples(to_numpy(w).astype(np.float64, copy=False), unit))


def are_multiples(w: Array, unit: float) -> bool:
    """Whether all weights are integer multiples of a unit, up to the rounding of a common factor."""
    if w.max(initial=0.0) / MULTIPLE > unit:
        return False
    ratio = w / unit
    cases = np.rint(ratio)
    return bool((np.abs(ratio - cases) <= RATIO_ROUNDING * cases).all())


def case_range(w: Array) -> WeightRange:
    """The statistic of all weights in memory, with `whole` set."""
    seen = weight_range(w, len(w))
    return seen._replace(whole=seen.rows > 0 and are_multiples(w, seen.low))


def in_cases(w: Array) -> tuple[Array, float]:
    """Weights as numbers of rows, and the weight that stands for one row.

    >>> in_cases(np.array([0.25, 0.25])), in_cases(np.array([0.5, 1.0, 0.0]))
    ((array([1., 1.]), 0.25), (array([1., 2., 0.]), 0.5))
    >>> in_cases(np.array([2.0, 3.0, 0.0]))[0]
    array([0.8, 1.2, 0. ])
    """
    seen = case_range(w)
    return (np.rint(w / seen.unit) if seen.whole else w / seen.unit), seen.unit
