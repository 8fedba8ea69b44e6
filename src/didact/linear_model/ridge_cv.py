r"""Ridge regression whose penalty is chosen by cross-validation.

By default by leave-one-out, in closed form for the whole grid (`leave_one_out`): two passes and one decomposition,
2 n p² + 9 p³ for any number of penalties. With folds, the moments of each fold are computed once; those of a training
set are merged from the other folds', so that each row is read once for all training sets.

Golub, Heath, Wahba (1979), doi:10.1080/00401706.1979.10489751.
"""

from collections.abc import Iterator
from functools import reduce
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.metrics import check_scoring

from didact.core.backend import float_type
from didact.core.compat import deprecated
from didact.core.errors import InputError, ParameterError
from didact.core.parameters import above, array_like, attr, is_bool, param, splitter
from didact.core.progress import FitProgress
from didact.core.rows import MemoryRows, Rows
from didact.core.typing import Array
from didact.linear_model.inference.from_models import no_inference
from didact.linear_model.leave_one_out import (
    Grid,
    few_rows,
    solve_few_rows,
    solve_grid,
    solve_moments,
    squared_errors,
    stacked_errors,
    with_map,
)
from didact.linear_model.linear_regression import Solution, _LinearRegressor, one_or_many
from didact.linear_model.regularization_path import Split, _PathCV, averaged, numbers, score, scoring_param, split
from didact.linear_model.ridge import Ridge
from didact.parts.statistics.moments import Moments, moments


class _Given(RegressorMixin, BaseEstimator):
    """Predicts what it is given: hands ready predictions to a scorer."""

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> Any:
        """X itself."""
        return X


def score_errors(errors: Array, y: Array, w: Any, scorer: Any, per_target: bool) -> tuple[Array, Array]:
    """Scores (A,), or (A, k) per target, from leave-one-out errors (n, A, k); also what was scored of each row."""
    if scorer is None:
        squares = errors**2 if w is None else w[:, None, None] * errors**2
        scores = -squares.mean(axis=0)
        return (scores if per_target else scores.mean(axis=1)), squares
    predictions = (y if y.ndim == 2 else y[:, None])[:, None, :] - errors
    if per_target:
        table = [
            [score(scorer, _Given(), p, t, w) for p, t in zip(P.T, y.T, strict=True)] for P in _by_alpha(predictions)
        ]
        return np.asarray(table), predictions
    values = [score(scorer, _Given(), P.reshape(y.shape), y, w) for P in _by_alpha(predictions)]
    return np.asarray(values), predictions


def _by_alpha(values: Array) -> Array:
    return values.transpose(1, 0, 2)


def fold_grids(rows: MemoryRows, parts: list[Split], alphas: Array, fit_intercept: bool) -> Iterator[Grid]:
    """The grid of every training set, from merged moments where the folds are disjoint and make up all rows."""
    held = _fold_moments(rows, parts)
    for f, (train, _) in enumerate(parts):
        grid = None
        if held is not None and len(train) > rows.n_features:
            with np.errstate(over="ignore", invalid="ignore"):  # sums that overflow are refused below, by column
                grid = solve_moments(reduce(Moments.merge, held[:f] + held[f + 1 :]), alphas, fit_intercept)
        yield grid or grid_of(rows.some(train), alphas, fit_intercept)


def grid_of(rows: MemoryRows, alphas: Array, fit_intercept: bool) -> Grid:
    """The grid of solutions by the smaller of the two forms."""
    few = few_rows(rows)
    return solve_few_rows(rows, alphas, fit_intercept)[0] if few else solve_grid(rows, alphas, fit_intercept)


def _fold_moments(rows: MemoryRows, parts: list[Split]) -> list[Moments] | None:
    label = np.full(rows.n_rows, -1)
    for f, (_, test) in enumerate(parts):
        label[test] = f
    complete = sum(len(test) for _, test in parts) == rows.n_rows and len(parts) > 1
    if not complete or any(
        not np.array_equal(np.sort(train), np.flatnonzero(label != f)) for f, (train, _) in enumerate(parts)
    ):
        return None
    return [rows.some(test).reduce(moments) for _, test in parts]


SVD_OF_SPARSE = (
    "The 'svd' mode is not supported for sparse X: scikit-learn will refuse it in 1.11. gcv_mode has no effect here; "
    "leave the default."
)


def refuse_with_folds(model: Any, *names: str) -> None:
    """Refuse parameters of leave-one-out where there are folds."""
    for name in names:
        if getattr(model, name):
            raise ParameterError(f"cv!=None and {name}=True are incompatible: it belongs to leave-one-out.")


def ready_ridge(grid: Grid, a: int, rows: Rows) -> Ridge:
    """A fitted Ridge with the coefficients of one penalty of the grid."""
    model = Ridge()
    solution = Solution(grid.coef[:, a], grid.intercept[a])
    model.coef_, model.intercept_ = one_or_many(solution, rows.y_ndim, float_type(rows), flat=True)
    model.n_features_in_ = rows.n_features
    return model


class _RidgeCV(_PathCV):
    """Abstract: the choice of a ridge penalty by leave-one-out or by folds, for targets and for classes."""

    _test_skips = {
        "weight_scale": "The penalty stands beside a sum over rows: ten times the weight is ten times the rows.",
    }

    _attrs = [
        attr("alpha_", "float", "The chosen penalty."),
        attr("best_score_", "float", "Its score."),
        attr(
            "cv_results_",
            "(n_samples[, n_targets], n_alphas)",
            "Squared leave-one-out errors × weights, or with `scoring` the predictions or decision values.",
            when="store_cv_results",
        ),
    ]

    def _penalties(self) -> Array:
        """What is chosen from."""
        return numbers(self.alphas, "alphas", 0, above=self.cv is None)

    def _refuse_single(self, n: int) -> None:
        if n < 2 and self.fit_intercept:
            raise InputError(
                "Leave-one-out with a constant term needs at least two rows with weight, but the data have only "
                "one sample."
            )

    def _on_folds(self, rows: MemoryRows, alphas: Array, parts: list[Split], judge: Any, report: Any) -> Any:
        """The grid of solutions on all rows, and mean scores (A,) over the folds, until a callback says stop.

        `judge` is a function of the held-out rows that returns one of a grid and the number of a penalty.
        """
        scores = np.full((len(parts), len(alphas)), np.nan)
        grids = fold_grids(rows, parts, alphas, self.fit_intercept)
        for (f, (_, test)), grid in zip(enumerate(parts), grids, strict=True):
            judged = judge(test)
            for a in range(len(alphas)):
                scores[f, a] = judged(grid, a)
                if report(f * len(alphas) + a + 1, -scores[f, a]):
                    return grid_of(rows, alphas, self.fit_intercept), averaged(scores, axis=0)
        return grid_of(rows, alphas, self.fit_intercept), averaged(scores, axis=0)


class RidgeCV(MultiOutputMixin, _LinearRegressor, _RidgeCV):
    r"""Ridge regression with the penalty chosen by leave-one-out or by folds.

    .. math:: \hat\alpha = \arg\min_\alpha \sum_i w_i\Big(\frac{y_i-\hat y_i(\alpha)}{1-h_i(\alpha)}\Big)^2

    Notes
    -----
    Cost: two passes, 2 n p² + 9 p³ whatever the number of penalties; n² p + 9 n³ for no more rows than columns.
    Leave-one-out works on arrays, sparse matrices, frames, tensors, `Batches` and Dask collections; `scoring` and
    `store_cv_results` keep n × n_alphas numbers; folds need rows in memory.

    Weights, as in scikit-learn: a row is left out with its whole weight, and its squared error counts by its weight, in
    a mean over rows; `scoring`, and the scores of folds, get the weights. So a weight of 2 is not the same as a row
    that stands twice, of which the copy would remain. Of equal scores the first penalty wins. For folds by groups pass
    the list of splits, ``cv=list(GroupKFold().split(X, y, groups))``.

    References
    ----------
    Golub, Heath, Wahba (1979), doi:10.1080/00401706.1979.10489751.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.linear_model import RidgeCV
    >>> X = np.arange(10.0)[:, None]
    >>> float(RidgeCV(alphas=[0.01, 1, 100]).fit(X, 2 * X[:, 0] + np.cos(X[:, 0])).alpha_)
    1.0
    """

    _single = Ridge
    _tensors = True

    alphas: Any = param((0.1, 1.0, 10.0), [array_like, above(0)], "Penalties to choose from.")
    fit_intercept: bool = param(True, is_bool, "Whether to add a constant term, which is not penalised.")
    scoring: Any = scoring_param(None, "What to choose by; None: mean squared error of leave-one-out, R² with folds.")
    cv: Any = param(None, splitter, "Folds: a number, a splitter or a list of splits; None: leave-one-out.")
    store_cv_results: bool = param(False, is_bool, "Whether to keep what leave-one-out gave for each row and penalty.")
    alpha_per_target: bool = param(False, is_bool, "Whether leave-one-out chooses a penalty for each target.")

    _attrs = [
        attr("alpha_", "float or (n_targets,)", "The chosen penalty; one for each target with `alpha_per_target`."),
        attr("best_score_", "float or (n_targets,)", "Its score."),
        attr("coef_", "(n_features,) or (n_targets, n_features)", "Coefficients."),
        attr("intercept_", "float or (n_targets,)", "Constant term."),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> "RidgeCV":
        """Fit to rows X with targets y, after choosing the penalty; params go to the splitter."""
        asked = self._split_params(sample_weight, params)
        rows = self._rows(X, y, sample_weight, target="outputs")
        alphas = self._penalties()
        if self.gcv_mode == "svd" and rows.is_sparse:
            deprecated(SVD_OF_SPARSE)
        grid, scores = self._leave_one_out(rows, alphas) if self.cv is None else self._folds(rows, alphas, X, y, asked)
        scores = np.where(np.isnan(scores), -np.inf, scores)
        best = np.argmax(scores, axis=0)
        self.alpha_, self.best_score_ = alphas[best], np.max(scores, axis=0)
        targets = np.arange(grid.coef.shape[2])
        solution = Solution(grid.coef[:, best, targets], grid.intercept[best, targets])
        self.coef_, self.intercept_ = one_or_many(solution, rows.y_ndim, float_type(rows), flat=True)
        return self

    def _leave_one_out(self, rows: Rows, alphas: Array) -> tuple[Grid, Array]:
        """The grid of solutions, and scores (A,), or (A, k) for a choice per target."""
        scorer = None if self.scoring is None else check_scoring(Ridge(), scoring=self.scoring)
        if few_rows(rows):
            _, y, w, *_ = rows.whole()
            self._refuse_single(len(y) if w is None else int(np.count_nonzero(w)))
            grid, errors = solve_few_rows(rows, alphas, self.fit_intercept)
        else:
            grid = solve_grid(rows, alphas, self.fit_intercept)
            if scorer is None and not self.store_cv_results:
                total, n = rows.reduce(squared_errors, *with_map(grid)).parts
                self._refuse_single(n)
                return grid, -total / n if self._per_target(rows) else -total.mean(axis=1) / n
            errors, y, w = rows.reduce(stacked_errors, *with_map(grid)).columns()
        scores, values = score_errors(errors, y, w, scorer, self._per_target(rows))
        if self.store_cv_results:
            results = values.transpose(0, 2, 1)
            self.cv_results_ = (results if rows.y_ndim == 2 else results[:, 0]).astype(float_type(rows))
        return grid, scores

    def _per_target(self, rows: Rows) -> bool:
        return self.alpha_per_target and rows.y_ndim == 2

    def _folds(self, rows: Rows, alphas: Array, X: Any, y: Any, asked: Any) -> tuple[Grid, Array]:
        """The grid of solutions on all rows, and mean scores (A,) over the folds."""
        refuse_with_folds(self, "store_cv_results", "alpha_per_target")
        held = self._foldable(rows, "RidgeCV with cv", "RidgeCV(cv=None), or Ridge")
        parts = split(self.cv, held, held.columns.y, asked=asked)
        scorer = check_scoring(Ridge(), scoring=self.scoring)

        def judge(test: Array) -> Any:
            columns = held.some(test).columns[:3]
            return lambda grid, a: score(scorer, ready_ridge(grid, a, held), *columns)

        with FitProgress(self, len(parts) * len(alphas), X=X, y=y) as progress:
            return self._on_folds(held, alphas, parts, judge, progress.report)

    inference = no_inference("LinearRegression")
