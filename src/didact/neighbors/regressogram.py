r"""The regressogram: the mean of y in each bin of a grid over x.

.. math:: \hat y(x) = \mathrm{mean}\{y_i : x_i \text{ in the bin of } x\}, \qquad
    \text{bin of } x: m_j = \lfloor (x_j - o_j)/h_j \rfloor

Only nonempty bins are kept: weight, mean and scatter of each, which merge. The leave-one-out error follows from
these: a row of a bin of weight W has the error :math:`(y-\bar y)\,W/(W-1)`.

Tukey (1961), Curves as parameters, and touch estimation.
"""

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from didact.core.backend import float_type, like, to_numpy
from didact.core.errors import ParameterError
from didact.core.estimator import Estimator, tagged
from didact.core.parameters import above, array_like, attr, none, one_of, param, whole
from didact.core.rows import Block
from didact.core.rows.gather import dense
from didact.core.rows.memory import in_pieces
from didact.core.typing import Array
from didact.neighbors.gathered import as_columns
from didact.parts.statistics.chan import join_runs
from didact.parts.statistics.weights import WeightRange, weight_range

MOST = 20  # candidate numbers of bins per column
WIDER = 1.0 + 1e-12  # so that the largest value falls into the last bin


class Extremes(NamedTuple):
    """The weights, and the smallest and largest values of the columns among rows of positive weight."""

    weights: WeightRange
    low: Array
    high: Array

    def merge(self, other: "Extremes") -> "Extremes":
        """The statistic of both sets of rows."""
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return Extremes(self.weights.merge(other.weights), low, high)


class Bins(NamedTuple):
    """The nonempty bins, sorted: their numbers in each column, and weight, mean and scatter of the outputs."""

    number: Array
    weight: Array
    mean: Array
    scatter: Array

    def merge(self, other: "Bins") -> "Bins":
        """The bins of both sets of rows."""
        return grouped(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))


class Grids(NamedTuple):
    """The bins of several grids over the same rows."""

    grids: tuple[Bins, ...]

    def merge(self, other: "Grids") -> "Grids":
        """The bins of both sets of rows, grid by grid."""
        return Grids(tuple(a.merge(b) for a, b in zip(self.grids, other.grids, strict=True)))


def extremes(block: Block) -> Extremes:
    """The range of the columns of a block."""
    X, w = block.X, block.weight
    seen = weight_range(w, X.shape[0])
    X = dense(X, np.float64) if w is None else dense(X, np.float64)[to_numpy(w) > 0]
    if not len(X):
        far = np.full(X.shape[1], np.finfo(float).max)
        return Extremes(seen, far, -far)
    return Extremes(seen, X.min(axis=0), X.max(axis=0))


def grouped(number: Array, weight: Array, mean: Array, scatter: Array) -> Bins:
    """Bins from entries; those of equal number are merged by Chan's rule."""
    order = np.lexsort(number.T[::-1])
    number, weight, mean, scatter = number[order], weight[order], mean[order], scatter[order]
    new = np.append(True, (number[1:] != number[:-1]).any(axis=1)) if len(number) else np.zeros(0, bool)
    start = np.flatnonzero(new)
    if not len(start):
        return Bins(number, weight, mean, scatter)
    weights, means, scatters = join_runs(weight[:, None], mean, scatter, start)
    return Bins(number[start], weights[:, 0], means, scatters)


@in_pieces
def fill(block: Block, origin: Array, widths: list[Array], unit: float = 1.0) -> Grids:
    """The bins of a block for each of several widths; weights in multiples of `unit`, NaN in X shows in bin numbers."""
    X, w = block.X, block.weight
    X, Y = dense(X, np.float64), as_columns(block.y)
    w = np.ones(len(X)) if w is None else to_numpy(w).astype(np.float64) / unit
    X, Y, w = X[w > 0], Y[w > 0], w[w > 0]
    return Grids(tuple(grouped(np.floor((X - origin) / h), w, Y, np.zeros_like(Y)) for h in widths))


def find(bins: Array, number: Array) -> Array:
    """The position of each row of bin numbers among the bins, or −1; matched column by column, as pairs of codes."""
    code, wanted = np.zeros(len(bins), np.int64), np.zeros(len(number), np.int64)
    known = np.ones(len(number), bool)
    for j in range(bins.shape[1]):
        values, own = np.unique(bins[:, j], return_inverse=True)
        place = np.minimum(np.searchsorted(values, number[:, j]), len(values) - 1)
        known &= values[place] == number[:, j]
        pairs, code = np.unique(code * len(values) + own, return_inverse=True)
        both = wanted * len(values) + place
        wanted = np.minimum(np.searchsorted(pairs, both), len(pairs) - 1)
        known &= pairs[wanted] == both
    rows = np.empty(len(bins), np.int64)
    rows[code] = np.arange(len(bins))
    return np.where(known, rows[wanted], -1)


def predict_bins(X: Any, origin: Array, width: Array, number: Array, values: Array, mean: Any) -> Array:
    """The mean of each row's bin; the mean of all rows if the bin is empty."""
    with np.errstate(invalid="ignore"):
        place = find(number, np.nan_to_num(np.floor((dense(X, np.float64) - origin) / width)))
    empty = place < 0
    out = np.where(empty if values.ndim == 1 else empty[:, None], mean, values[place])
    return like(out.astype(float_type(X)), X)


def left_out_error(bins: Bins) -> float:
    """The mean squared leave-one-out error; a row alone in its bin is predicted by the mean of all others."""
    N = bins.weight.sum()
    if N <= 1:
        return 0.0
    mean = bins.weight @ bins.mean / N
    W = bins.weight[:, None]
    shared = W > 1.0 + 1e-9
    alone = (W * (bins.mean - mean) ** 2 + bins.scatter) * (N / (N - 1)) ** 2
    error = np.where(shared, bins.scatter * (W / np.where(shared, W - 1, 1.0)) ** 2, alone)
    return float(error.sum() / N / bins.mean.shape[1])


@tagged(regressor_tags__poor_score=True)  # most bins of many columns are empty
class Regressogram(MultiOutputMixin, RegressorMixin, Estimator):
    r"""The mean of y in each bin of a grid over the columns.

    .. math:: \hat y(x) = \mathrm{mean}\{y_i : \lfloor (x_i-o)/h\rfloor = \lfloor (x-o)/h\rfloor\}

    Notes
    -----
    Cost: one pass to find the ranges (if the origin or the widths depend on them), one more over all candidates, with
    O(n log n) for each; prediction O(log bins) per row and column. The grid extends beyond the data, and an empty bin
    predicts the mean of all rows. Only nonempty bins are kept, but their number grows exponentially with the number of
    columns. Leaving out a row does not change the grid, and removes one of the rows that a weight stands for: weights
    count in units of the smallest one if all are whole multiples of it, else so that their mean is 1. Shape of
    computation: reduce.

    References
    ----------
    Härdle (1990), doi:10.1017/CCOL0521382483; Tukey (1961), Curves as parameters, and touch estimation.

    Examples
    --------
    >>> from didact.neighbors import Regressogram
    >>> model = Regressogram(bandwidth=1.0, origin=0.0).fit([[0.2], [0.9], [1.5]], [1.0, 3.0, 7.0])
    >>> model.predict([[0.5], [1.0], [5.0]])
    array([2.        , 7.        , 3.66666667])
    """

    _test_params = [{}, {"bins": 3}, {"bandwidth": 1.5, "origin": 0.25}]
    _test_skips = {
        "constant_columns/shift:bandwidth": "Bins of a given origin stay where they are when a column is shifted.",
    }

    bins: Any = param(
        "cv", [whole(1), array_like, one_of("cv")],
        "Number of bins from the smallest to the largest value, one or one for each column; 'cv': chosen by "
        "leave-one-out errors.",
    )  # fmt: skip
    bandwidth: Any = param(
        None, [above(0), array_like, none], "Width of the bins, one or one for each column, instead of their number."
    )
    origin: Any = param(
        None, [Real, array_like, none], "Where bins begin, one or one for each column; None: at the smallest value."
    )
    grid: Any = param(
        None, [array_like, none], "Numbers of bins tried by 'cv'; None: from 1 up to the square root of n."
    )

    _attrs = [
        attr("origin_", "(n_features,)", "Where bins begin."),
        attr("bandwidth_", "(n_features,)", "Their widths, given or chosen."),
        attr("bins_", "(n_bins, n_features)", "The numbers of the bins that hold rows, in order."),
        attr("values_", "(n_bins,) or (n_bins, n_outputs)", "Means of y in these bins."),
        attr("weights_", "(n_bins,)", "Weights of the rows in these bins."),
        attr("mean_", "float or (n_outputs,)", "The mean of all rows, predicted in empty bins."),
        attr("grid_", "ndarray", "Candidates, if the width was chosen.", when="_searches"),
        attr("cv_errors_", "ndarray", "Their mean squared leave-one-out errors.", when="_searches"),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "Regressogram":
        """Average the targets y (one or several columns) in bins; sample_weight counts rows."""
        rows = self._rows(X, y, sample_weight, target="outputs")
        seen = rows.reduce(extremes)
        self.origin_ = self._each(seen.low if self.origin is None else self.origin, "origin")
        widths = self._widths(seen)
        grids = rows.reduce(fill, self.origin_, widths, seen.weights.settled(rows).unit).grids
        errors = np.array([left_out_error(grid) for grid in grids])
        self._keep(grids, widths, errors, rows)
        return self

    def _each(self, value: Any, name: str) -> Array:
        """A parameter as an array with one entry for each column."""
        p = self.n_features_in_
        value = np.asarray(value, np.float64)
        if value.ndim > 1 or (value.ndim and value.shape != (p,)):
            raise ParameterError(f"{name} is one number or {p}, one for each column, not {value.size}.")
        if not np.isfinite(value).all() or (name in ("bandwidth", "bins") and (value <= 0).any()):
            raise ParameterError(f"{name} must be finite" + (" and above 0." if name != "origin" else "."))
        return np.broadcast_to(value, (p,)).copy()

    def _widths(self, seen: Extremes) -> list[Array]:
        """The bin widths: one set, or all candidates."""
        if self.bandwidth is not None:
            return [self._each(self.bandwidth, "bandwidth")]
        extent = (seen.high - self.origin_) * WIDER
        extent = np.where(extent > 0, extent, 1.0)
        if not isinstance(self.bins, str):
            return [extent / self._each(self.bins, "bins")]
        most = max(int(np.sqrt(seen.weights.rows)), 1)
        numbers = np.unique(np.geomspace(1, most, MOST).round()) if self.grid is None else np.asarray(self.grid, float)
        if not len(numbers) or not (numbers >= 1).all():
            raise ParameterError("grid must hold numbers of bins from 1 on.")
        return [extent / number for number in numbers]

    def _searches(self) -> bool:
        return self.bandwidth is None and isinstance(self.bins, str)

    def _keep(self, grids: tuple[Bins, ...], widths: list[Array], errors: Array, rows: Any) -> None:
        best = int(np.argmin(errors))
        chosen, self.bandwidth_ = grids[best], widths[best]
        mean = chosen.weight @ chosen.mean / chosen.weight.sum()
        self.bins_, self.weights_ = chosen.number, chosen.weight
        self.values_ = chosen.mean if rows.y_ndim == 2 else chosen.mean[:, 0]
        self.mean_ = mean if rows.y_ndim == 2 else float(mean[0])
        if self._searches():
            self.grid_, self.cv_errors_ = np.array(widths), errors

    def predict(self, X: Any) -> Any:
        """The mean of the bin of each row of X."""
        return self._after_fit()._map_rows(
            X, predict_bins, self.origin_, self.bandwidth_, self.bins_, self.values_, self.mean_
        )
