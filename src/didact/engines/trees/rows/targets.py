"""What rows add to a node: targets and weights in the form that compiled growers read, and node values from sums."""

from typing import Any, NamedTuple

import numpy as np

from didact.core.overflow import VANISHED, too_large, too_small
from didact.core.typing import Array
from didact.engines.trees.rows.chosen_loops import chosen
from didact.engines.trees.rows.fixed_point_loops import power_below
from didact.engines.trees.rows.stat_loops import Labels, Scalar, Summed, Values
from didact.engines.trees.splits.median_loops import Medians
from didact.parts.criteria.base import Criterion

HUGE = 2.0**400  # squares and their sums stay finite up to here (10¹²⁰)


NodeStatistic = Summed | Medians


class Targets(NamedTuple):
    """A noun of `stat_loops`, the number of its sums, which rows count, and how sums become values."""

    stat: NodeStatistic
    channels: int
    keep: Array | None
    classes: int  # most classes of an output; 0: numbers
    outputs: int
    centre: Array
    weights: Array | None

    @property
    def whole(self) -> bool:
        """Whether all sums are of whole numbers, and exact."""
        return bool(self.classes) and (self.weights is None or bool((self.weights == np.floor(self.weights)).all()))

    @property
    def counts(self) -> bool:
        """Whether the targets are classes of rows that count once."""
        return bool(self.classes) and self.weights is None

    def of_thread(self, k: int) -> NodeStatistic:
        """The noun for thread k: medians have buffers, of which each thread needs its own."""
        if k == 0 or not isinstance(self.stat, Medians):
            return self.stat
        return self.stat._replace(fenwick=np.zeros_like(self.stat.fenwick), losses=np.empty_like(self.stat.losses))

    def values(self, sums: Array) -> Array:
        """Values of nodes with these sums: (nodes, outputs, classes or 1)."""
        if not self.classes:
            return (sums[:, :-1] / sums[:, -1:] + self.centre)[:, :, None]
        if isinstance(self.stat, Scalar):
            found = np.empty((len(sums), 1, 2))
            np.divide(sums[:, 0], sums[:, 1], out=found[:, 0, 1])
            np.subtract(1.0, found[:, 0, 1], out=found[:, 0, 0])
            return found
        counts = sums.reshape(len(sums), self.outputs, self.classes)
        return counts / counts.sum(axis=2, keepdims=True)


def label_targets(codes: Array, classes: int, weights: Array | None, criterion: Criterion) -> Targets:
    """Class codes (n,) or (n, outputs), each below `classes`."""
    codes = codes[:, None] if codes.ndim == 1 else codes
    n, outputs = codes.shape
    w = np.ones(n) if weights is None else np.require(weights, np.float64, ["C", "W"])
    if outputs == 1 and classes == 2:
        stat: NodeStatistic = Scalar(np.column_stack([w * codes[:, 0], w]), chosen(criterion, outputs))
        channels = 2
    else:
        stat = Labels((codes + classes * np.arange(outputs)).astype(np.int32), w, chosen(criterion, outputs))
        channels = outputs * classes
    return _targets(stat, channels, weights, classes, np.zeros(outputs))


def value_targets(y: Array, weights: Array | None, criterion: Criterion) -> Targets:
    """Numbers (n,) or (n, outputs). Squared errors are about the overall mean, which keeps digits."""
    Y = np.asarray(y[:, None] if y.ndim == 1 else y, np.float64)
    n, outputs = Y.shape
    w = np.ones(n) if weights is None else np.require(weights, np.float64, ["C", "W"])
    if not criterion.additive:
        return _targets(absolute_stat(Y, w), outputs + 1, weights, 0, np.zeros(outputs))
    refuse_huge(Y)
    criterion.refuse(bool((Y < 0).any()), w @ Y)
    centre = np.average(Y, axis=0, weights=w) if criterion.centred else np.zeros(outputs)
    sums = (Y - centre) * w[:, None]
    rows = np.column_stack([exact(sums) if criterion.positive else sums, w])
    which = chosen(criterion, outputs)
    stat = Scalar(rows, which) if outputs == 1 else Values(rows, which)
    return _targets(stat, outputs + 1, weights, 0, centre)


def refuse_huge(y: Array) -> None:
    """Refuse targets whose squares would overflow, or vanish."""
    most = float(np.abs(y).max(initial=0.0))
    if most > HUGE:
        raise too_large("Input y", most)
    refuse_tiny(most)


def refuse_tiny(most: float) -> None:
    """Refuse targets up to `most` if the squares of gradients vanish."""
    if 0.0 < most < np.sqrt(VANISHED):
        raise too_small("Input y", most)


def exact(columns: Array) -> Array:
    """Columns of numbers ≥ 0 in steps of a power of two, so small that all sums and differences of rows are exact."""
    scale = np.array([power_below(2.0**52, float(total)) for total in columns.sum(axis=0)])
    return np.asarray(np.rint(columns * scale) / scale)


def drawn_counts(y: Array, weights: Array | None, drawn: Array | None) -> Array:
    """Targets of a `positive` criterion for a tree on a draw of rows: the mean of all where no drawn one is above 0.

    Such a draw knows no rate, and a tree of it would predict 0, against which every count has an infinite deviance.
    """
    none = np.atleast_1d(y.sum(axis=0) if drawn is None else drawn @ y) <= 0
    return np.where(none, np.average(y, axis=0, weights=weights), y) if none.any() else y


def absolute_stat(Y: Array, w: Array) -> Medians:
    """Targets by rank, with empty trees of sums for each output."""
    n, outputs = Y.shape
    ranks, distinct = np.empty((n, outputs), np.int64), np.full((outputs, n), np.inf)
    for o in range(outputs):
        values, ranks[:, o] = np.unique(Y[:, o], return_inverse=True)
        distinct[o, : len(values)] = values
    size = 1 << max(1, int(n).bit_length())
    return Medians(
        ranks=ranks,
        weights=np.ascontiguousarray(w),
        distinct=distinct,
        fenwick=np.zeros((outputs, size + 1, 2)),
        losses=np.empty((4, n + 1)),
    )


def few_rows(stat: Any, n: int) -> Any:
    """A noun of the same kind with room for n rows."""
    names = [name for name in ("rows", "codes", "ranks", "weights") if name in stat._fields]
    return stat._replace(**{k: np.empty((n, *(a := getattr(stat, k)).shape[1:]), a.dtype) for k in names})


def _targets(stat: NodeStatistic, channels: int, weights: Array | None, classes: int, centre: Array) -> Targets:
    """Targets of which the rows that have weight are kept; None if all."""
    return Targets(
        stat=stat,
        channels=channels,
        keep=None if weights is None or (weights > 0).all() else np.asarray(weights > 0),
        classes=classes,
        outputs=len(centre),
        centre=centre,
        weights=weights,
    )
