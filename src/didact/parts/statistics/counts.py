"""Labels of rows: distinct ones, their weights and codes, and the base of statistics with an entry for each label."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from didact.core.backend import is_tensor, namespace, to_host, to_numpy
from didact.core.errors import InputError, ParameterError
from didact.core.rows import Block
from didact.core.rows.memory import column_pass
from didact.core.threads import parallel_map
from didact.core.typing import Array

COUNTED_ROWS = 1 << 18  # labels that are worth a task


class Labelled:
    """A statistic with an entry for each of some sorted `labels`, mixed into a NamedTuple. Abstract.

    Two of them merge to the union of their labels, so that no pass over the labels has to come first.
    """

    __slots__ = ()
    labels: Any

    def merge(self, other: Self) -> Self:
        """The statistic of both sets of rows together."""
        a, b = self.labels, other.labels
        if a is None or np.array_equal(a, b):
            return self._joined(other)
        union = np.union1d(a, b)
        return self.among(union)._joined(other.among(union))

    def _joined(self, other: Self) -> Self:
        """The merged statistic, if both have the same labels."""
        raise NotImplementedError

    def among(self, labels: Array) -> Self:
        """The statistic with entries for all of `labels`, which include its own; the others have no rows."""
        raise NotImplementedError

    def spread(self, x: Array, labels: Array) -> Array:
        """A table with a row for each own label as one with a row for each of `labels`, zeros for the others."""
        if len(x) == len(labels):
            return x
        out = np.zeros((len(labels), *x.shape[1:]))
        out[np.searchsorted(labels, self.labels)] = x
        return out


class Counts(NamedTuple):
    """Distinct values and the weight of each."""

    values: Array
    weights: Array

    def merge(self, other: "Counts") -> "Counts":
        """The union of the values, with summed weights."""
        values, where = np.unique(np.concatenate([self.values, other.values]), return_inverse=True)
        return Counts(values, np.bincount(where, np.concatenate([self.weights, other.weights]), len(values)))

    def require_two(self, name: str) -> None:
        """Refuse labels of which fewer than two have a weight, for the model of that name."""
        seen = self.values[self.weights > 0]
        if len(seen) < 2:
            raise InputError(
                f"{name} needs samples of at least 2 classes in the data, but the data have only one class with "
                f"positive weight: {seen[:1]}"
            )


@column_pass
def label_counts(block: Block) -> Counts:
    """The labels of one block with their weights."""
    y, w = block.y, block.weight
    if is_tensor(y):
        xp = namespace(y)
        values = xp.unique_values(y)
        each = [xp.astype(y == v, xp.float64) for v in values]
        totals = [xp.sum(mask if w is None else mask * w) for mask in each]
        return Counts(to_numpy(values), np.concatenate([t.reshape(1) for t in to_host(*totals)]))
    y, w = np.asarray(y), None if w is None else to_numpy(w)
    if y.dtype.kind in "iub" and len(y):  # small integers need no sorting
        low = int(y.min())
        if int(y.max()) - low < 4 * len(y) + 1000:
            offset = y.astype(np.int64, copy=False)
            offset = offset - low if low else offset
            counts = np.bincount(offset)
            seen = np.flatnonzero(counts)
            weights = (counts if w is None else np.bincount(offset, w))[seen]
            return Counts((seen + low).astype(y.dtype), weights.astype(np.float64))
    values, where = np.unique(y, return_inverse=True)
    return Counts(values, np.bincount(where, w, len(values)).astype(np.float64))


def weigh_classes(class_weight: Any, counts: Counts) -> Array | None:
    """One factor per class: as given, or ("balanced") inversely proportional to the weight of the class."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str):
        present = counts.weights > 0  # a class of weight 0 cannot be balanced
        share = present.sum() * np.where(present, counts.weights, 1.0)
        return np.where(present, counts.weights.sum() / share, 0.0)
    unknown = [label for label in class_weight if label not in counts.values]
    if unknown:
        raise ParameterError(f"class_weight names {unknown[0]!r}, which is not among the labels of y.")
    factors = np.asarray([class_weight.get(label, 1.0) for label in counts.values.tolist()], np.float64)
    if not (np.isfinite(factors) & (factors >= 0)).all():
        raise ParameterError(f"class_weight must hold finite numbers from 0 on; got {class_weight!r}.")
    if not (counts.weights @ factors > 0):
        raise ParameterError(f"class_weight={class_weight!r} leaves no row with a positive weight.")
    return factors


def label_codes(y: Any, values: Array, dtype: Any = np.int64) -> Any:
    """The position of each label among the sorted values; a label that is not among them is refused.

    The `dtype` is that of the codes of arrays; those of tensors are integers.
    """
    if is_tensor(y):
        xp = namespace(y)
        return xp.searchsorted(xp.asarray(values, dtype=y.dtype, device=y.device), y)
    y = np.asarray(y)
    if len(y) >= 2 * COUNTED_ROWS:
        return _looked_up(y, np.empty(len(y), dtype), lambda part, out: np.copyto(out, label_codes(part, values)))
    if y.dtype.kind in "iub" and len(values) and int(values[-1]) - int(values[0]) < 10_000:
        # A look-up table for small integers; its last entry, −1, is for labels out of range.
        low, span = int(values[0]), int(values[-1]) - int(values[0]) + 1
        if span == len(values) and len(y) and low <= int(y.min()) and int(y.max()) < low + span:
            return (y.astype(np.int64) - low).astype(dtype, copy=False) if low else y.astype(dtype)
        table = np.full(span + 1, -1)
        table[values.astype(np.int64) - low] = np.arange(len(values))
        offset = y.astype(np.int64) - low
        codes = table[np.where((offset < 0) | (offset > span), span, offset)]
        strange = codes < 0
    else:
        codes = np.minimum(np.searchsorted(values, y), len(values) - 1)
        strange = values[codes] != y
    if strange.any():
        raise InputError(
            f"y holds the label {y[strange][:1].tolist()[0]!r}, which is not among the classes {values[:10]}: all "
            "labels must occur in the first pass over the rows, or be listed in the first call of partial_fit."
        )
    return codes.astype(dtype, copy=False)


def labels_of(codes: Any, values: Any) -> Any:
    """The values, or the rows of a table, at these positions: `label_codes` backwards."""
    if is_tensor(codes) or len(codes) < 2 * COUNTED_ROWS or values.dtype.hasobject:
        return values[codes]
    out = np.empty((len(codes), *values.shape[1:]), values.dtype)
    return _looked_up(codes, out, lambda part, to: np.take(values, part, axis=0, out=to, mode="clip"))


def _looked_up(given: Array, out: Array, fn: Callable[[Array, Array], Any]) -> Array:
    """fn(part, out) of parts of an array, on the library's threads."""
    edges = np.linspace(0, len(given), min(len(given) // COUNTED_ROWS, 64) + 1).astype(int).tolist()
    parallel_map(lambda cut: fn(given[slice(*cut)], out[slice(*cut)]), pairwise(edges))
    return out
