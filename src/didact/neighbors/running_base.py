r"""Running smoothers: the mean, the median or the least-squares line of the rows in a window around x.

.. math:: \hat y(x) = \mathrm{mean}\{y_i : x_i \in W(x)\},\quad \mathrm{median}\{\dots\},\quad
    \text{or the least-squares line through } \{(x_i, y_i)\} \text{ at } x

1. `fit` keeps the rows, sorted by x, and chooses the width of the window W by leave-one-out errors, if asked to.
2. Rows of equal x are one place. W(x) holds the places within `bandwidth` of x, or `n_neighbors` places around x.

Härdle (1990), Applied nonparametric regression, doi:10.1017/CCOL0521382483; Hastie, Tibshirani (1990), Generalized
additive models.
"""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from didact.core.backend import float_type, like, to_numpy
from didact.core.errors import InputError, ParameterError
from didact.core.estimator import Estimator, tagged
from didact.core.parameters import above, array_like, attr, none, one_of, param, whole
from didact.core.progress import FitProgress
from didact.core.rows import Block
from didact.core.rows.gather import Pieces
from didact.core.typing import Array
from didact.engines.smoothing.running import RunningWindow, Sorted, running_left_out, running_smooth, sort_rows
from didact.neighbors.gathered import as_columns, one_column
from didact.parts.statistics.weights import in_cases

CANDIDATES = 20  # widths tried by cross-validation


def gather(block: Block, column: int) -> Pieces:
    """The rows of positive weight of a block; the last entry is NaN if any column has a missing value."""
    X, w = block.X, block.weight
    x, Y = one_column(X, column), as_columns(block.y)
    w = np.ones(len(x)) if w is None else to_numpy(w).astype(np.float64)
    return Pieces(((x[w > 0], Y[w > 0], w[w > 0], np.array([float(0.0 * X.sum())])),))


def predict_running(X: Any, column: int, kind: str, k: int, h: float, x: Array, Y: Array, w: Array) -> Array:
    """The smooth at the rows X, in their float type."""
    q = np.nan_to_num(one_column(X, column))  # what is not finite is refused by the caller
    out = running_smooth(sort_rows(x, as_columns(Y), w), q, RunningWindow(k, h), kind).astype(float_type(X))
    return like(out if Y.ndim == 2 else out[:, 0], X)


def choose(rows: Sorted, candidates: list[RunningWindow], kind: str, report: Any) -> Array:
    """Mean leave-one-out errors of the candidates: squared, or absolute for the median."""
    errors = np.full(len(candidates), np.inf)
    for number, window in enumerate(candidates):
        error = np.abs(rows.Y - running_left_out(rows, window, kind))
        errors[number] = np.average((error if kind == "median" else error**2).mean(axis=1), weights=rows.w)
        if report(number + 1, float(errors.min()), None):
            break
    return errors


@tagged(regressor_tags__poor_score=True)  # on data in which another column matters
class _Running(MultiOutputMixin, RegressorMixin, Estimator):
    """Parameters, fit and prediction of the running smoothers. Abstract."""

    _kind: ClassVar[str]
    _least: ClassVar[int] = 1  # fewest places of a candidate window
    _test_params = [{"column": 0}, {"column": 0, "bandwidth": 0.3}]
    _test_skips = {
        "defaults": "Of several columns, which the checks have, `column` must say along which to smooth.",
    }

    n_neighbors: Any = param(
        "cv", [whole(1), one_of("cv")], "Places (distinct x) in a window; 'cv': chosen by leave-one-out errors."
    )
    bandwidth: Any = param(
        None,
        [above(0), one_of("cv"), none],
        "Half the width of a window, in units of x, instead of n_neighbors; 'cv': chosen by leave-one-out errors.",
    )
    grid: Any = param(None, [array_like, none], "Candidates for 'cv'; None: 20 from narrow to all rows.")
    column: Any = param(
        None, [whole(0), str, none], "Number or name of the column that is x; None: X has one column only."
    )

    _attrs = [
        attr("x_fit_", "(n_samples,)", "The column that is x, in order; rows of weight 0 are left out."),
        attr("y_fit_", "(n_samples,) or (n_samples, n_outputs)", "Their targets."),
        attr("sample_weight_", "(n_samples,)", "Their weights."),
        attr("n_neighbors_", "int", "Places in a window, given or chosen; 0 if the bandwidth is fixed."),
        attr("bandwidth_", "float", "Half the width of a window, given or chosen; 0 if the number of places is fixed."),
        attr("grid_", "ndarray", "Candidates, if the width was chosen.", when="_searches"),
        attr("cv_errors_", "ndarray", "Their mean squared leave-one-out errors.", when="_searches"),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Keep the rows, in order of x, with targets y (one or several columns); sample_weight counts rows."""
        rows = self._rows(X, y, sample_weight, target="outputs")
        x, Y, w, _ = rows.reduce(gather, self._column()).columns()
        data = sort_rows(x, Y, in_cases(w)[0])
        candidates = self._candidates(data)
        errors = np.zeros(1)
        with FitProgress(self, len(candidates), X=X, y=y) as progress:
            if self._searches():
                errors = choose(data, candidates, self._kind, progress.report)
        self._keep(data, rows.y_ndim, candidates, errors)
        return self

    def _column(self) -> int:
        """The number of the column x."""
        name, p = type(self).__name__, self.n_features_in_
        if self.column is None:
            if p != 1:
                raise InputError(f"{name} smooths over one column, but X has {p}: say which by the parameter column.")
            return 0
        if isinstance(self.column, str):
            names = list(getattr(self, "feature_names_in_", ()))
            if self.column not in names:
                raise ParameterError(f"X has no column named {self.column!r}.")
            return names.index(self.column)
        if self.column >= p:
            raise ParameterError(f"column is {self.column}, but X has {p} columns, numbered from 0.")
        return int(self.column)

    def _searches(self) -> bool:
        return (self.n_neighbors if self.bandwidth is None else self.bandwidth) == "cv"

    def _candidates(self, rows: Sorted) -> list[RunningWindow]:
        """The window, or all candidates."""
        places, fixed = len(rows.u), self.bandwidth is not None
        wanted = [self.bandwidth if fixed else self.n_neighbors]
        if self._searches():
            wanted = list(self.grid) if self.grid is not None else self._default_grid(rows)
            good = [g > 0 and (fixed or g == int(g)) for g in wanted]
            if not wanted or not all(good):
                raise ParameterError("grid must hold bandwidths above 0, or whole numbers of places from 1 on.")
        if fixed:
            return [RunningWindow(0, float(h)) for h in wanted]
        if max(wanted) > places:
            raise InputError(
                f"A window of {max(wanted)} places is wider than the data: n_neighbors is above the number of distinct "
                f"x, {places} (n_samples = {len(rows.x)})."
            )
        return [RunningWindow(int(k), 0.0) for k in wanted]

    def _default_grid(self, rows: Sorted) -> list[Any]:
        places, extent = len(rows.u), float(rows.u[-1] - rows.u[0])
        low = min(self._least, places)
        counts = np.unique(np.geomspace(low, places, CANDIDATES).round().astype(int)).tolist()
        if self.bandwidth is None:
            return counts
        return np.geomspace(extent * self._least / places, extent, CANDIDATES).tolist() if extent > 0 else [1.0]

    def _keep(self, rows: Sorted, y_ndim: int, candidates: list[RunningWindow], errors: Array) -> None:
        best = candidates[int(np.argmin(errors))]
        self.n_neighbors_, self.bandwidth_ = best.k, best.h
        if self._searches():
            self.grid_, self.cv_errors_ = np.array([w.k or w.h for w in candidates]), errors
        self.x_fit_, self.sample_weight_, self._place = rows.x, rows.w, self._column()
        self.y_fit_ = rows.Y if y_ndim == 2 else rows.Y[:, 0]

    def predict(self, X: Any) -> Any:
        """The smooth at each row of X."""
        return self._after_fit()._map_rows(
            X,
            predict_running,
            self._place,
            self._kind,
            self.n_neighbors_,
            self.bandwidth_,
            self.x_fit_,
            self.y_fit_,
            self.sample_weight_,
        )

    def leave_one_out(self) -> Array:
        """Leave-one-out predictions of the fitted rows, in the order of x_fit_."""
        check_is_fitted(self)
        rows = sort_rows(self.x_fit_, as_columns(self.y_fit_), self.sample_weight_)
        out = running_left_out(rows, RunningWindow(self.n_neighbors_, self.bandwidth_), self._kind)
        return out if self.y_fit_.ndim == 2 else out[:, 0]
