r"""Histograms as densities: rows counted in equal bins, in one or several dimensions.

.. math:: \hat p(x) = \frac{N(\text{cell of }x)}{n\,\prod_j h_j},\qquad
    \text{bins } [x_{0j} + m h_j,\ x_{0j} + (m+1) h_j)

1. One pass finds the range of the columns, the weights and the deviations.
2. Widths come from the number of bins, are given, or follow from a rule or cross-validation; the origin shifts edges.
3. One pass counts; only the nonempty cells are kept, and no rows.

Scott (1979), On optimal and data-based histograms, doi:10.1093/biomet/66.3.605.
"""

from typing import Any

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from didact.core.backend import float_type, like
from didact.core.errors import InputError, ParameterError
from didact.core.estimator import Estimator
from didact.core.parameters import above, array_like, attr, none, one_of, param, whole
from didact.core.random import streams
from didact.core.typing import Array
from didact.neighbors import histogram_bins as bins_of
from didact.neighbors.gathered import queries
from didact.neighbors.histogram_bins import Axes, Extent
from didact.neighbors.kernel_density import total_of

MOST_DENSE = 10_000_000  # cells that `counts` puts into one array
CANDIDATES = 60


def log_density(X: Any, axes: Axes, cells: Array, weights: Array, total: float) -> Any:
    """log N − log n − log volume; −∞ in empty cells and outside the range."""
    place, inside = axes.locate(queries(X))
    at = bins_of.find(cells, place)
    found = np.where(inside & (at >= 0), np.append(weights, 0.0)[at], 0.0)
    with np.errstate(divide="ignore"):
        logs = np.log(found) - np.log(total) - axes.log_volume
    return like(logs.astype(float_type(X)), X)


class HistogramDensity(DensityMixin, Estimator):
    r"""Density by counting rows in equal bins.

    .. math:: \hat p(x) = \frac{\text{rows in the cell of }x}{n\cdot\text{volume of a cell}}

    Notes
    -----
    Cost: two passes, O(n D) each; memory grows with the number of nonempty cells, at most n. In many dimensions nearly
    all cells are empty: it is useful for up to two or three. A bin includes its left edge; the last one its right edge,
    too. Rows outside a given range count only in n. "freedman_diaconis" needs quartiles and gathers the rows in memory
    for them. Sample weights are turned into numbers of rows: in units of the smallest one above zero if all are whole
    multiples of it, else so that their mean is 1. Shape of computation: reduce.

    References
    ----------
    Sturges (1926), doi:10.1080/01621459.1926.10502161; Scott (1979), doi:10.1093/biomet/66.3.605; Freedman, Diaconis
    (1981), doi:10.1007/BF01025868.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.neighbors import HistogramDensity
    >>> model = HistogramDensity(width=1.0, origin=0.0).fit([[0.2], [0.9], [1.5], [3.1]])
    >>> model.edges_[0], np.exp(model.score_samples([[0.5], [2.5], [9.0]]))
    (array([0., 1., 2., 3., 4.]), array([0.5, 0. , 0. ]))
    """

    _sparse = False
    _test_params = [{"bins": 3}, {"bins": "cv"}]
    _test_skips = {
        "constant_columns/constant": "a column more is a dimension more, also if all rows agree in it",
        "constant_columns/zeros": "a column more is a dimension more, also if all rows agree in it",
        "pipeline": "rows held out can fall into empty cells, where the log density is minus infinity",
    }

    bins: Any = param(
        "sturges",
        [whole(1), array_like, one_of("sturges", "scott", "freedman_diaconis", "cv")],
        "Number of bins of each column: one number, one for each, a rule, or 'cv'.",
    )
    width: Any = param(None, [above(0), array_like, none], "Width of the bins, for all columns or each; replaces bins.")
    origin: Any = param(None, [float, int, array_like, none], "Where an edge lies; None: at the least value.")
    range: Any = param(
        None, [array_like, none], "Lower and upper end of each column (n_features, 2); None: the data's."
    )
    criterion: str = param(
        "least_squares", one_of("least_squares", "likelihood"), "What 'cv' looks at: squared error or log likelihood."
    )

    _attrs = [
        attr("edges_", "list of ndarray", "The edges of the bins of each column."),
        attr("width_", "(n_features,)", "Widths of the bins."),
        attr("cells_", "(n_cells, n_features)", "The cells that are not empty, by the numbers of their bins."),
        attr("cell_weights_", "(n_cells,)", "Weight of the rows in each of them."),
        attr("total_", "float", "Weight of all rows, those outside a given range included."),
        attr("grid_", "ndarray", 'Numbers of bins tried, if "cv" chose.', when="_searches"),
        attr("cv_scores_", "ndarray", "Their leave-one-out scores, the larger the better.", when="_searches"),
    ]
    _hidden = [
        attr("_first, _count", "(n_features,)", "Number of the first cell of each column, and how many there are."),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "HistogramDensity":
        """Count the rows X in bins; sample_weight counts rows, y is ignored."""
        rows = self._rows(X, None, sample_weight, target="none")
        E = rows.reduce(bins_of.extent)
        E = E._replace(weights=E.weights.settled(rows))
        axes = self._axes(E._replace(**self._range(rows.n_features)), rows)
        found = rows.reduce(bins_of.count, E.weights.unit, *axes)
        best = self._best(found, axes, E.rows)
        self.edges_, self.width_ = axes[best].edges(), axes[best].width
        self.cells_, self.cell_weights_ = found.cells[best], found.weights[best]
        self.total_ = E.rows
        self._first, self._count = axes[best].first, axes[best].count
        return self

    def _range(self, p: int) -> dict[str, Any]:
        if self.range is None:
            return {}
        ends = np.asarray(self.range, np.float64)
        if ends.shape == (2,) and p == 1:
            ends = ends[None]
        if ends.shape != (p, 2) or not np.isfinite(ends).all() or (ends[:, 0] >= ends[:, 1]).any():
            raise ParameterError(f"range has a lower and a larger upper end for each of the {p} columns.")
        return {"low": ends[:, 0], "high": ends[:, 1]}

    def _axes(self, E: Extent, rows: Any) -> tuple[Axes, ...]:
        """The bins, or all candidates for them."""
        p = rows.n_features
        if self.width is not None:
            width = bins_of.per_column(self.width, p, "width")
            if (width <= 0).any():
                raise ParameterError(f"Widths of bins must be positive, got {width.tolist()}.")
            return (bins_of.axes_of_width(E, width, self.origin),)
        if not isinstance(self.bins, str):
            number = bins_of.per_column(self.bins, p, "bins")
            if (number < 1).any() or (number != np.floor(number)).any():
                raise ParameterError(f"Numbers of bins are whole numbers of at least 1, got {self.bins!r}.")
            return (bins_of.axes_of_count(E, number, self.origin),)
        if self.bins != "cv":
            iqr = _quartile_range(rows) if self.bins == "freedman_diaconis" else None
            width = bins_of.rule_width(self.bins, E, iqr)
            if self.origin is not None:
                return (bins_of.axes_of_width(E, width, self.origin),)
            number = np.maximum(np.ceil((E.high - E.low) / width - bins_of.ROUND), 1.0)
            return (bins_of.axes_of_count(E, number, None),)
        if E.rows <= 1.0:
            raise InputError("Cross-validation leaves out one row, and n_samples = 1: give a number of bins.")
        # Candidates from one bin to well above the number that suits n rows in p columns.
        most = min(max(2.0, 4.0 * E.rows ** (1.0 / (1 + p))), 1000.0)
        tried = np.unique(np.geomspace(1.0, most, CANDIDATES).round())
        return tuple(bins_of.axes_of_count(E, np.full(p, m), self.origin) for m in tried)

    def _searches(self) -> bool:
        return self.width is None and isinstance(self.bins, str) and self.bins == "cv"

    def _best(self, found: Any, axes: tuple[Axes, ...], n: float) -> int:
        if not self._searches():
            return 0
        self.grid_ = np.array([one.count.max() for one in axes])
        self.cv_scores_ = bins_of.cv_scores(found, axes, n, self.criterion)
        return int(np.argmax(self.cv_scores_))

    @property
    def _bins(self) -> Axes:
        return Axes(self._first, self.width_, self._count)

    @property
    def counts(self) -> Array:
        """Weights of all cells, an array with one dimension for each column."""
        check_is_fitted(self)
        if float(np.prod(self._count)) > MOST_DENSE:
            raise InputError(
                "The cells are too many for one array: cells_ and cell_weights_ have those that are not empty."
            )
        out = np.zeros(self._count)
        out[tuple(self.cells_.T)] = self.cell_weights_
        return out

    def score_samples(self, X: Any) -> Any:
        """The logarithm of the density at each row of X; −∞ in empty cells."""
        return self._after_fit()._map_rows(X, log_density, self._bins, self.cells_, self.cell_weights_, self.total_)

    def score(self, X: Any, y: Any = None) -> float:
        """The sum of the log densities of the rows X."""
        check_is_fitted(self)
        return total_of(self.score_samples(X))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Array:
        """Rows drawn from the density: a cell, with probability by its weight, and a uniform point in it."""
        check_is_fitted(self)
        rng = streams(random_state, 1)[0]
        share = self.cell_weights_ / self.cell_weights_.sum()
        corner = self.cells_[rng.choice(len(share), size=n_samples, p=share)]
        return self._first + (corner + rng.uniform(size=corner.shape)) * self.width_


def _quartile_range(rows: Any) -> Array:
    """The interquartile range of each column; a row of weight w counts w times."""
    X, _, w = rows.gather()
    out = np.empty(X.shape[1])
    for j in range(X.shape[1]):
        out[j] = np.subtract(*np.quantile(X[:, j].astype(np.float64), [0.75, 0.25], weights=w, method="inverted_cdf"))
    return out
