r"""Sample weights as numbers of rows, for models that count rows: the k nearest, n in a rule, one row left out.

Such a model cannot take both weights that count rows and weights of any scale: weights of 2 would mean every row twice,
and also the same as weights of 1. One rule decides:

1. Equal weights, whatever their size, are no weights: every row counts once.
2. Whole numbers that differ are counts: a row of weight 2 is that row twice.
3. Any others are relative: they are divided by their mean over the rows of positive weight, so that the rows count as
   many as they are. Scaling them changes nothing.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import to_numpy

Array = np.ndarray[Any, Any]

COUNTS = "weights of this model become numbers of rows: whole numbers that differ are counts, others are relative"
WHOLE = 2.0**53  # from here on every float is a whole number, and says nothing about counts


class WeightRange(NamedTuple):
    """What has to be known of weights to turn them into counts; rows of weight zero do not enter."""

    total: float
    rows: float
    low: float
    high: float
    whole: bool

    def merge(self, other: "WeightRange") -> "WeightRange":
        """Of both sets of rows together."""
        return WeightRange(
            self.total + other.total, self.rows + other.rows, min(self.low, other.low), max(self.high, other.high),
            self.whole and other.whole,
        )  # fmt: skip

    @property
    def unit(self) -> float:
        """What weights are divided by to be counts."""
        if self.low >= self.high:
            return self.low if self.rows else 1.0
        return 1.0 if self.whole else self.total / self.rows


def weight_range(w: Any, n: int) -> WeightRange:
    """The range of the weights of a block of n rows; None: all are 1."""
    if w is None:
        return WeightRange(float(n), float(n), 1.0 if n else np.finfo(float).max, 1.0 if n else 0.0, True)
    w = to_numpy(w).astype(np.float64)
    w = w[w > 0]
    whole = bool((w == np.floor(w)).all()) and float(w.max(initial=0.0)) < WHOLE
    low = float(w.min(initial=np.finfo(float).max))
    return WeightRange(float(w.sum()), float(len(w)), low, float(w.max(initial=0.0)), whole)


def row_counts(w: Array) -> Array:
    """Weights as numbers of rows.

    >>> row_counts(np.array([0.25, 0.25])), row_counts(np.array([1.0, 2.0])), row_counts(np.array([0.1, 0.3, 0.0]))
    (array([1., 1.]), array([1., 2.]), array([0.5, 1.5, 0. ]))
    """
    return w / weight_range(w, len(w)).unit
