r"""Bins of a histogram in several dimensions: edges by rules or by cross-validation, and counts that merge.

Rules for the width h of a column: Sturges, range/(1 + log₂ n); Scott, 3.49 s n^(−1/(2+D)); Freedman–Diaconis, 2 IQR
n^(−1/(2+D)) (in one dimension the usual n^(−1/3)). Cross-validation chooses the number of bins per column with the
least :math:`\int\hat p^2 - \frac2n\sum_i\hat p_{-i}(x_i)`, or the largest :math:`\sum_i\log\hat p_{-i}(x_i)`; both
follow from the counts alone.

Sturges (1926), doi:10.1080/01621459.1926.10502161; Scott (1979), doi:10.1093/biomet/66.3.605; Freedman, Diaconis
(1981), doi:10.1007/BF01025868.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from didact.core.errors import InputError, ParameterError
from didact.core.rows import Block
from didact.core.rows.gather import dense
from didact.core.typing import Array
from didact.parts.statistics.weights import WeightRange, weight_range

MOST_BINS = 1_000_000  # per column
MOST_CELLS = 2.0**62  # that integer keys can number
ROUND = 1e-9  # distance from an edge, in bins, within which a value counts as lying on it


class Extent(NamedTuple):
    """Weights, means, scatter and range of the columns."""

    weights: WeightRange
    mean: Array
    scatter: Array
    low: Array
    high: Array

    @property
    def rows(self) -> float:
        """The number of rows that the weights stand for."""
        return self.weights.cases

    def merge(self, other: "Extent") -> "Extent":
        """The statistic of both sets of rows together, by Chan's rule."""
        mine, others = self.weights.total, other.weights.total
        part = others / (mine + others) if others else 0.0
        d = other.mean - self.mean
        return Extent(
            weights=self.weights.merge(other.weights),
            mean=self.mean + part * d,
            scatter=self.scatter + other.scatter + mine * part * d * d,
            low=np.minimum(self.low, other.low),
            high=np.maximum(self.high, other.high),
        )


BIG = np.finfo(np.float64).max


def extent(block: Block) -> Extent:
    """The extent of a block, without its rows of weight zero."""
    X, w = block.X, block.weight
    X = dense(X, np.float64)
    seen = weight_range(w, len(X))
    w = np.ones(len(X)) if w is None else np.asarray(w, np.float64)
    X, w = X[w > 0], w[w > 0]
    if not len(X):
        p = X.shape[1]
        return Extent(weights=seen, mean=np.zeros(p), scatter=np.zeros(p), low=np.full(p, BIG), high=np.full(p, -BIG))
    mean = w @ X / w.sum()
    return Extent(weights=seen, mean=mean, scatter=w @ (X - mean) ** 2, low=X.min(axis=0), high=X.max(axis=0))


class Axes(NamedTuple):
    """Equal bins along each column: first edge, width and number of bins."""

    first: Array
    width: Array
    count: Array  # type: ignore[assignment]

    def edges(self) -> list[Array]:
        """The edges of each column."""
        return [f + h * np.arange(m + 1) for f, h, m in zip(self.first, self.width, self.count, strict=True)]

    def locate(self, X: Array) -> tuple[Array, Array]:
        """The bin numbers of each row, and which rows are inside; the last edge belongs to the last bin."""
        place = np.floor((X - self.first) / self.width)
        end = self.first + self.width * (self.count + ROUND) >= X
        place = np.where(end, np.minimum(place, self.count - 1), place)
        inside = np.asarray(((place >= 0) & (place < self.count)).all(axis=1))
        return np.where(inside[:, None], place, 0).astype(np.int64), inside

    @property
    def log_volume(self) -> float:
        """log of a cell's volume."""
        return float(np.log(self.width).sum())


class Cells(NamedTuple):
    """Weights of the nonempty cells, for one or several sets of axes; a cell is a row of bin numbers."""

    cells: tuple[Array, ...]
    weights: tuple[Array, ...]

    def merge(self, other: "Cells") -> "Cells":
        """The statistic of both sets of rows together."""
        pairs = [
            _grouped(np.concatenate([a, b]), np.concatenate([v, w]))
            for a, b, v, w in zip(self.cells, other.cells, self.weights, other.weights, strict=True)
        ]
        return Cells(*(tuple(part) for part in zip(*pairs, strict=True)))


def keys(cells: Array) -> Array:
    """A key for each row of bin numbers that sorts like the rows: an integer or, if that would overflow, bytes."""
    sizes = cells.max(axis=0, initial=0) + 1
    if float(np.prod(sizes.astype(np.float64))) < MOST_CELLS:
        return cells @ np.append(np.cumprod(sizes[:0:-1])[::-1], 1)
    return np.ascontiguousarray(cells.astype(">i8")).view(f"V{8 * cells.shape[1]}")[:, 0]


def _grouped(cells: Array, w: Array) -> tuple[Array, Array]:
    _, first, place = np.unique(keys(cells), return_index=True, return_inverse=True)
    return cells[first], np.bincount(place, weights=w, minlength=len(first))


def find(cells: Array, wanted: Array) -> Array:
    """The position of each wanted row of bin numbers among the sorted cells; −1 if it is not there."""
    if not len(cells):
        return np.full(len(wanted), -1)
    known, asked = np.split(keys(np.concatenate([cells, wanted])), [len(cells)])
    place = np.minimum(np.searchsorted(known, asked), len(known) - 1)
    return np.where(known[place] == asked, place, -1)


def count(block: Block, unit: float, *axes: Axes) -> Cells:
    """The cell weights of a block, in multiples of `unit`."""
    X, w = block.X, block.weight
    X = dense(X, np.float64)
    w = np.ones(len(X)) if w is None else np.asarray(w, np.float64) / unit
    pairs = []
    for one in axes:
        cells, inside = one.locate(X)
        counted = inside & (w > 0)
        pairs.append(_grouped(cells[counted], w[counted]))
    return Cells(*(tuple(part) for part in zip(*pairs, strict=True)))


def rule_width(name: str, E: Extent, iqr: Any) -> Array:
    """Bin widths by a rule; a constant column gets one bin of width 1."""
    span, D, n = E.high - E.low, len(E.low), E.rows
    if name == "sturges":
        width = span / (1.0 + math.log2(n))
    elif name == "scott":
        width = 3.4908 * np.sqrt(E.scatter / E.weights.unit / max(n - 1.0, 1.0)) * n ** (-1.0 / (2 + D))
    else:
        width = 2.0 * iqr * n ** (-1.0 / (2 + D))
        width = np.where(width > 0, width, span / (1.0 + math.log2(n)))  # half of the rows have the same value
    return np.where(span > 0, width, 1.0)


def axes_of_width(E: Extent, width: Array, origin: Any) -> Axes:
    """Bins of these widths that cover the range, with an edge at the origin (None: at the smallest value)."""
    start = E.low if origin is None else per_column(origin, len(E.low), "origin")
    with np.errstate(all="ignore"):
        before = np.floor((E.low - start) / width + ROUND)
        first = start + width * before
        number = np.maximum(np.ceil((E.high - first) / width - ROUND), 1.0)
    return checked(Axes(first, width, number))


def axes_of_count(E: Extent, number: Array, origin: Any) -> Axes:
    """So many bins over the range; with an origin, bins of that width shifted to have an edge there."""
    span = E.high - E.low
    width = np.where(span > 0, span, 1.0) / number
    if origin is not None:
        return axes_of_width(E, width, origin)
    return checked(Axes(np.where(span > 0, E.low, E.low - 0.5), width, number.astype(np.float64)))


def checked(axes: Axes) -> Axes:
    """The axes, if they have no more bins than allowed."""
    if not (axes.count <= MOST_BINS).all():
        raise InputError(
            f"The bins are too many ({', '.join(f'{m:.3g}' for m in axes.count)} by column): make them wider, or use "
            "KernelDensity."
        )
    return Axes(axes.first, axes.width, axes.count.astype(np.int64))


def per_column(value: Any, p: int, name: str) -> Array:
    """A number for each column, from one number or p."""
    values = np.asarray(value, np.float64)
    if values.shape not in ((), (p,)) or not np.isfinite(values).all():
        raise ParameterError(f"{name} is one number, or one for each of the {p} columns; got {value!r}.")
    return np.broadcast_to(values, (p,)).copy()


def cv_scores(found: Cells, axes: tuple[Axes, ...], n: float, criterion: str) -> Array:
    """Leave-one-out scores of several histograms, the larger the better."""
    scores = np.empty(len(axes))
    for j, (N, one) in enumerate(zip(found.weights, axes, strict=True)):
        volume = math.exp(one.log_volume)
        others = np.maximum(N - 1.0, 0.0)
        if criterion == "likelihood":
            with np.errstate(divide="ignore"):
                scores[j] = N @ np.log(others) / n - math.log(n - 1.0) - one.log_volume
        else:
            scores[j] = 2.0 * (N @ others) / (n * (n - 1.0) * volume) - (N @ N) / (n * n * volume)
    return scores
