r"""The lasso and the elastic net with their penalty chosen by cross-validation.

For every fold a whole path of penalties is walked on the training rows and scored by the squared error on the others;
folds run side by side on the library's threads. The penalty with the smallest mean error is fitted to all rows. Several
targets share one penalty: the one with the smallest error in the mean over folds and targets.

Friedman, Hastie, Tibshirani (2010), Regularization paths for generalized linear models, doi:10.18637/jss.v033.i01.
"""

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import MultiOutputMixin

from didact.core.backend import float_type
from didact.core.errors import InputError
from didact.core.estimator import Ended, remember
from didact.core.overflow import refuse_overflow
from didact.core.parameters import above, array_like, at_least, attr, between, is_bool, none, param, splitter, whole
from didact.core.progress import FitProgress
from didact.core.rows import MemoryRows
from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.engines.loop.result import Result
from didact.linear_model.inference.from_models import no_inference
from didact.linear_model.lasso import TOGETHER, ElasticNet, Lasso, Problem, Target, refuse_one_target, warn_short
from didact.linear_model.lasso_path import lasso_path, penalty_grid, walk
from didact.linear_model.linear_regression import Solution, _LinearRegressor, one_or_many
from didact.linear_model.regularization_path import _PathCV, split

FINAL_TOL = 1e-6  # of the fit to all rows, as for `Lasso`: it costs little beside the folds
STRIDE = 10  # penalties from one to the next on the way to the chosen one on all rows


class Search(NamedTuple):
    """What kinds of fits are tried."""

    ratios: Array  # shares of the L1 penalty
    positive: bool = False  # whether coefficients stay at or above zero
    together: bool = False  # whether targets have their features in common

    def targets(self, problem: Problem) -> Sequence[Target]:
        """What is solved for in turn."""
        return TOGETHER if self.together else range(len(problem.mean_y))

    def check(self, model: Any, rows: MemoryRows) -> None:
        """Refuse a single column where targets are to have something in common."""
        if self.together:
            refuse_one_target(model, rows)


def walk_all(
    problem: Problem, targets: Sequence[Target], alphas: Array, ratio: float, tol: float, max_iter: int
) -> tuple[Array, Array, Result | None]:
    """Coefficients (p, T, m) of all targets, duality gaps (one row for each of `targets`, m), one that fell short."""
    walks = [walk(problem, target, alphas, ratio, tol, max_iter) for target in targets]
    coefs = [w.coefs.reshape(problem.n_features, -1, len(alphas)) for w in walks]
    short = next((w.short for w in walks if w.short is not None), None)
    return np.concatenate(coefs, axis=1), np.stack([w.gaps for w in walks]), short


@np.errstate(over="ignore", invalid="ignore")
def fold_errors(
    rows: MemoryRows, train: Array, test: Array, grids: Sequence[tuple[float, Array]], model: Any, search: Search
) -> Array:
    """Mean squared errors (ratios, alphas) on the test rows of paths walked on the training rows."""
    problem = Problem(rows.some(train), model.fit_intercept, search.positive)
    X, y, w, *_ = rows.some(test).columns
    if w is not None and not w.any():
        raise InputError("The validation rows of a fold have no weight: shuffle the rows, or leave these out.")
    Y = (y if y.ndim == 2 else y[:, None])[:, :, None]
    errors = []
    for ratio, alphas in grids:
        coefs, *_ = walk_all(problem, search.targets(problem), alphas, ratio, model.tol, model.max_iter)
        images = (X @ coefs.reshape(problem.n_features, -1)).reshape(len(Y), *coefs.shape[1:])
        residual = Y - images - (problem.mean_y[:, None] - np.tensordot(problem.mean_x, coefs, 1))
        errors.append(np.average(residual**2, axis=0, weights=w).mean(axis=0))
    return np.stack(errors)


class _L1Path(MultiOutputMixin, _LinearRegressor, _PathCV):
    """Abstract: what the cross-validated models of the lasso's kind share."""

    _together: ClassVar[bool] = False

    eps: float = param(1e-3, above(0), "Ratio of the weakest to the strongest penalty of an automatic path.")
    alphas: Any = param(100, [whole(1), array_like], "How many penalties to try, or which.")
    fit_intercept: bool = param(True, is_bool, "Whether to add a constant term, which is not penalised.")
    max_iter: int = param(1000, whole(1), "Most rounds of working sets for each penalty.")
    tol: float = param(1e-4, at_least(0), "Duality gap, relative to the mean square of y, at which a fit ends.")
    cv: Any = param(None, [splitter, none], "Folds: a number, a splitter or a list of splits; None is five folds.")

    _attrs = [
        attr("alpha_", "float", "The chosen penalty."),
        attr("l1_ratio_", "float", "The chosen share of the L1 penalty, or of that on lengths; 1 for the lasso."),
        attr("coef_", "(n_features,) or (n_targets, n_features)", "Coefficients."),
        attr("intercept_", "float or (n_targets,)", "Constant term."),
        attr("alphas_", "([n_l1_ratio, ]n_alphas)", "Penalties that were tried; given ones once for all l1_ratio."),
        attr("mse_path_", "([n_l1_ratio, ]n_alphas, n_folds)", "Mean squared errors on the folds and targets."),
        attr("dual_gap_", "float or (n_targets,)", "Duality gap of the final fit."),
        attr("n_iter_", "int", "Penalties walked through by the final fit."),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Any:
        """Choose the penalty and fit to rows X with targets y; sample_weight counts rows, params go to the splitter."""
        asked = self._split_params(sample_weight, params)
        rows = self._foldable(self._rows(X, y, sample_weight, target="outputs"))
        ratios = np.atleast_1d(np.asarray(getattr(self, "l1_ratio", 1.0), np.float64))
        search = Search(ratios, getattr(self, "positive", False), self._together)
        search.check(self, rows)
        with FitProgress(self, X=X, y=y):
            self._choose(rows, search, asked)
        return self

    def _choose(self, rows: MemoryRows, search: Search, asked: dict[str, Any]) -> None:
        """Choose the penalty on folds, fit it to all rows, and store what a fitted model has."""
        problem = Problem(rows, self.fit_intercept, search.positive)
        targets = search.targets(problem)
        strongest = problem.strongest(targets)
        grids = [(r, penalty_grid(strongest, r, self.eps, self.alphas)) for r in search.ratios]
        folds = split(self.cv, rows, rows.columns.y, asked=asked)
        errors = np.stack(parallel_map(lambda f: fold_errors(rows, *f, grids, self, search), folds), axis=-1)
        if not np.isfinite(errors).all():
            refuse_overflow(rows, np.nan)
        best, at = np.unravel_index(np.argmin(errors.mean(axis=-1)), errors.shape[:2])
        ratio, alphas = grids[best]
        steps = alphas[at % STRIDE : at + 1 : STRIDE]
        coefs, gaps, short = walk_all(problem, targets, steps, ratio, min(self.tol, FINAL_TOL), self.max_iter)
        if short is not None:
            warn_short(self, short)
        self.alpha_, self.l1_ratio_ = float(alphas[at]), float(ratio)
        self.mse_path_ = errors if len(grids) > 1 else errors[0]
        several = len(grids) > 1 and isinstance(self.alphas, Integral)  # given ones are the same for all ratios
        self.alphas_ = np.stack([a for _, a in grids]) if several else alphas
        solution = Solution(coefs[:, :, -1], problem.mean_y - problem.mean_x @ coefs[:, :, -1])
        self.coef_, self.intercept_ = one_or_many(solution, rows.y_ndim, float_type(rows), not search.together)
        self.dual_gap_ = gaps[:, -1] if rows.y_ndim == 2 and not search.together else float(gaps[0, -1])
        self.n_iter_ = len(steps)
        remember(self, Ended("converged" if short is None else short.status, float(gaps[:, -1].max())))

    inference = no_inference("LinearRegression")


class LassoCV(_L1Path):
    r"""The lasso with α chosen by cross-validation.

    .. math:: \min_{b, b_0} \frac{1}{2W}\sum_i w_i(y_i - x_i^Tb - b_0)^2 + \alpha\|b\|_1

    Notes
    -----
    Cost: a path for each fold, about n p for each penalty. Weights enter fits and errors. `tol` is that of the folds;
    the fit to all rows has 1e-6, or `tol` if that is less. Several targets are fitted one by one, with the one α that
    has the smallest error in the mean over folds and targets (scikit-learn takes one target); `MultiTaskLassoCV` gives
    them features in common.

    References
    ----------
    Friedman, Hastie, Tibshirani (2010), doi:10.18637/jss.v033.i01.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.linear_model import LassoCV
    >>> X = np.random.default_rng(0).standard_normal((100, 5))
    >>> LassoCV(alphas=20).fit(X, 2 * X[:, 0]).coef_.round(1)
    array([2., 0., 0., 0., 0.])
    """

    _single = Lasso
    path = staticmethod(lasso_path)

    positive: bool = param(False, is_bool, "Whether to keep all coefficients at or above zero.")


class ElasticNetCV(_L1Path):
    r"""The elastic net with α and the share of the L1 penalty chosen by cross-validation.

    .. math:: \min_{b, b_0} \frac{1}{2W}\sum_i w_i(y_i - x_i^Tb - b_0)^2
              + \alpha\Big(\rho\|b\|_1 + \frac{1-\rho}{2}\|b\|_2^2\Big)

    Notes
    -----
    Cost: a path for each fold and share, about n p for each penalty. `tol` is that of the folds; the fit to all rows
    has 1e-6, or `tol` if that is less. Several targets share α and ρ, as in `LassoCV`.

    References
    ----------
    Zou, Hastie (2005), doi:10.1111/j.1467-9868.2005.00503.x.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.linear_model import ElasticNetCV
    >>> X = np.random.default_rng(0).standard_normal((100, 5))
    >>> ElasticNetCV(alphas=20, l1_ratio=[0.5, 1.0]).fit(X, 2 * X[:, 0]).l1_ratio_
    1.0
    """

    _single = ElasticNet
    path = staticmethod(ElasticNet.path)

    l1_ratio: Any = param(0.5, [between(0, 1), array_like], "Share ρ of the L1 penalty, or several to choose from.")
    positive: bool = param(False, is_bool, "Whether to keep all coefficients at or above zero.")
