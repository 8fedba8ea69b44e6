r"""The lasso and the elastic net: least squares with a penalty that sets coefficients to exactly zero.

.. math:: \min_{b, b_0} \frac{1}{2W}\sum_i w_i(y_i - x_i^Tb - b_0)^2
          + \alpha\Big(\rho\|b\|_1 + \frac{1-\rho}{2}\|b\|_2^2\Big),\quad W = \sum_i w_i

Textbooks that minimise :math:`\sum(y-x^Tb)^2 + \lambda\|b\|_1` have λ = 2nα. Working sets with a duality-gap stop are
in `engines.lasso`; data with many more rows than columns, out of core or on a cluster are solved from their
cross-products. Without an L1 part (α = 0 or ρ = 0) the solution is that of least squares or of ridge, which solve it
exactly. Along a falling penalty the features enter one after the other: `lasso_path`.

Tibshirani (1996), Regression shrinkage and selection via the lasso, doi:10.1111/j.2517-6161.1996.tb02080.x;
Zou, Hastie (2005), Regularization and variable selection via the elastic net, doi:10.1111/j.1467-9868.2005.00503.x.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import MultiOutputMixin

from didact.core.backend import float_type
from didact.core.errors import InputError
from didact.core.estimator import remember, warn_convergence
from didact.core.overflow import refuse_overflow
from didact.core.parameters import at_least, attr, between, is_bool, param, whole
from didact.core.progress import FitProgress
from didact.core.rows import Rows
from didact.core.typing import Array
from didact.engines.linear.design import Design
from didact.engines.linear.lasso import LassoSolver
from didact.engines.linear.lasso_gram import MomentLassoSolver
from didact.engines.loop.result import Result
from didact.linear_model.inference.from_models import no_inference
from didact.linear_model.linear_regression import Solution, _LinearRegressor, one_or_many
from didact.linear_model.linear_regression import solve as solve_least_squares
from didact.linear_model.ridge import solve as solve_ridge
from didact.parts.statistics.moments import Moments, moments

TALL = 4  # rows per column from which cross-products are the cheaper way
MOST_FEATURES = 10_000  # for which a dense p × p matrix is formed
SMOOTH_TOL = 1e-10  # relative residual of conjugate gradients, where there is no L1 part and they are called for
TOGETHER = (slice(None),)  # all targets at once, with features in common
Target = int | slice  # one target, or all of them with features in common


class Problem:
    """The rows of a lasso, ready to be solved for any penalty, target by target or for all targets together."""

    @np.errstate(over="ignore", invalid="ignore")  # what leaves the range of numbers is refused in a sentence
    def __init__(self, rows: Rows, fit_intercept: bool, positive: bool):
        self.rows, self.fit_intercept, self.positive = rows, fit_intercept, positive
        self.n_features = rows.n_features
        self.moments: Moments | None = None
        self._solver: tuple[Target, LassoSolver | MomentLassoSolver] | None = None
        self._smooth: tuple[float, Solution] | None = None
        if from_moments(rows):
            S = rows.reduce(moments)
            self.moments = S if fit_intercept else S.about_zero()
            self.mean_x, self.mean_y, self.weight = self.moments.mean_x, self.moments.mean_y, S.weight
            if not np.isfinite(S.xy).all():
                refuse_overflow(rows, np.nan)
            return
        _, y, w, *_ = rows.whole()
        self.design = Design.of(rows, fit_intercept)
        Y = y if y.ndim == 2 else y[:, None]
        self.mean_x, self.weight = self.design.mean, float(len(Y) if w is None else w.sum())
        self.mean_y = np.average(Y, axis=0, weights=w) if fit_intercept else np.zeros(Y.shape[1])
        self.Y = Y - self.mean_y
        if not (np.isfinite(self.mean_x).all() and np.isfinite(self.Y).all()):
            refuse_overflow(rows, np.nan)

    def solver(self, target: Target) -> LassoSolver | MomentLassoSolver:
        """The solver for a target, or for all of them; the last one is kept with what it knows of the columns."""
        if self._solver is None or self._solver[0] != target:
            if self.moments is not None:
                made: Any = MomentLassoSolver(self.moments, target, self.positive)
            else:
                made = LassoSolver(self.design, np.ascontiguousarray(self.Y[:, target]), self.positive)
            self._solver = target, made
        return self._solver[1]

    @np.errstate(over="ignore", invalid="ignore")
    def strongest(self, targets: Sequence[Target]) -> float:
        """The smallest λ₁ at which all coefficients of all targets are zero."""
        found = max(self.solver(k).strongest() for k in targets)
        if not np.isfinite(found):
            refuse_overflow(self.rows, np.nan)
        return found

    def zeros(self, target: Target) -> Array:
        """Coefficients of zero: (p,), or (p, T) for all targets."""
        return np.zeros((self.n_features, len(self.mean_y)) if isinstance(target, slice) else self.n_features)

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def solve(
        self, target: Target, l1: float, l2: float, start: Array, tol: float, max_iter: int, report: Any = None
    ) -> Result:
        """The coefficients for one penalty, from a start; without an L1 part they are ridge's or least squares'."""
        if l1 > 0 or self.positive:
            try:
                result = self.solver(target).solve(l1, l2, start, tol, max_iter, report)
            except FloatingPointError:
                refuse_overflow(self.rows, np.nan)
            if not np.isfinite(result.value):
                refuse_overflow(self.rows, np.nan)
            return result
        if self._smooth is None or self._smooth[0] != l2:
            self._smooth = l2, solve_smooth(self.rows, l2 * self.weight, self.fit_intercept)
        coef, inner = self._smooth[1].coef[:, target], self._smooth[1].result
        value, gap = self.solver(target).value_gap(coef, l1, l2)
        if not value <= self.solver(target).square_y:  # twice what zeros have: rounding has spoilt the solution
            refuse_overflow(self.rows, np.nan)
        if report is not None:
            report(1, value, coef)
        return Result(coef, value, 1, "converged" if inner is None else inner.status, gap, [value])


def solve_smooth(rows: Rows, alpha: float, fit_intercept: bool) -> Solution:
    """What is left without an L1 part: ridge, or least squares (of least norm where columns depend on each other)."""
    if alpha == 0:
        return solve_least_squares(rows, fit_intercept, tol=SMOOTH_TOL)
    return solve_ridge(rows, np.asarray([alpha]), fit_intercept, False, "auto", SMOOTH_TOL, 10 * rows.n_features)


def from_moments(rows: Rows) -> bool:
    """Whether to work from cross-products: always outside memory, else for tall data."""
    if rows.n_rows is not None and not rows.on_device:
        limit = 500 if rows.is_sparse else MOST_FEATURES
        return rows.n_features <= limit and rows.n_rows >= TALL * rows.n_features
    if rows.n_features > MOST_FEATURES:
        raise InputError(
            f"Outside memory the lasso works from a p × p matrix of cross-products, up to {MOST_FEATURES} features; "
            f"X has {rows.n_features}."
        )
    return True


def solve_targets(model: Any, problem: Problem, targets: Sequence[Target], ratio: float, X: Any, y: Any) -> None:
    """Solve for each of the targets in turn, and store what a fitted model has."""

    def fitted(x: Array) -> dict[str, Any]:
        mean = problem.mean_y[0] if x.ndim == 1 else problem.mean_y
        return {"coef_": x.T, "intercept_": mean - problem.mean_x @ x}

    l1, l2 = model.alpha * ratio, model.alpha * (1 - ratio)
    with FitProgress(model, model.max_iter * len(targets), X=X, y=y, attributes=fitted) as progress:
        results = [
            problem.solve(k, l1, l2, _start(model, problem, k), model.tol, model.max_iter, progress.report)
            for k in targets
        ]
    coef = np.concatenate([r.x.reshape(problem.n_features, -1) for r in results], axis=1)
    solution = Solution(coef, problem.mean_y - problem.mean_x @ coef)
    model.coef_, model.intercept_ = one_or_many(
        solution, problem.rows.y_ndim, float_type(problem.rows), targets != TOGETHER
    )
    gaps = np.asarray([r.optimality for r in results])
    model.dual_gap_ = gaps if len(gaps) > 1 or (problem.rows.y_ndim == 2 and targets != TOGETHER) else gaps[0]
    slowest = max(results, key=lambda r: (not r.converged, r.n_iter))
    model.n_iter_ = max(1, slowest.n_iter)
    remember(model, *results)
    if not slowest.converged and slowest.status != "stopped":
        warn_short(model, slowest)


def warn_short(model: Any, result: Result) -> None:
    """Warn, in scikit-learn's words, that the tolerance was not met."""
    advice = result.message
    if result.status == "iteration limit":
        advice = (
            f"You might want to increase the number of iterations, max_iter={model.max_iter}, check the scale of the "
            f"features or raise tol={model.tol:g}. Duality gap: {result.optimality:.3g}."
        )
    warn_convergence(model, f"Objective did not converge. {advice}")


def refuse_one_target(model: Any, rows: Rows) -> None:
    """Refuse a target of one dimension where several are to have their features in common."""
    if rows.y_ndim == 1:
        name = type(model).__name__
        raise InputError(
            f"{name} fits several targets, with y of shape (n_samples, n_targets); this y is one column: use "
            f"{name.removeprefix('MultiTask')} for mono-task outputs, or give y[:, None]."
        )


def _start(model: Any, problem: Problem, target: Target) -> Array:
    """Zeros or, with warm_start, the coefficients of the last fit if they have the same shape."""
    start = problem.zeros(target)
    last = np.atleast_2d(np.asarray(getattr(model, "coef_", np.zeros(0)), np.float64)).T
    if not model.warm_start or len(last) != problem.n_features:
        return start
    if isinstance(target, slice):
        return last if last.shape == start.shape else start
    return last[:, target % last.shape[1]]


class _L1(MultiOutputMixin, _LinearRegressor):
    """Abstract: what the lasso and the elastic net share; a subclass says how the penalty is split."""

    alpha: float = param(1.0, at_least(0), "Strength of the penalty.")
    fit_intercept: bool = param(True, is_bool, "Whether to add a constant term, which is not penalised.")
    max_iter: int = param(1000, whole(1), "Most rounds of working sets.")
    tol: float = param(1e-6, at_least(0), "Duality gap, relative to the mean square of y, at which the fit ends.")
    warm_start: bool = param(False, is_bool, "Whether to start from the coefficients of the last fit.")
    positive: bool = param(False, is_bool, "Whether to keep all coefficients at or above zero.")

    _attrs = [
        attr("coef_", "(n_features,) or (n_targets, n_features)", "Coefficients; many are exactly zero."),
        attr("intercept_", "float or (n_targets,)", "Constant term."),
        attr("dual_gap_", "float or (n_targets,)", "Duality gap: the objective is at most this far from its minimum."),
        attr("n_iter_", "int", "Rounds of working sets."),
        attr("sparse_coef_", "sparse matrix", "The coefficients, one row for each target."),
    ]

    def _ratio(self) -> float:
        """The share of the L1 penalty."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, check_input: bool = True) -> Any:
        """Fit to rows X with targets y; sample_weight counts rows. Input is checked whatever `check_input` says."""
        rows = self._rows(X, y, sample_weight, target="outputs")
        problem = Problem(rows, self.fit_intercept, self.positive)
        solve_targets(self, problem, range(len(problem.mean_y)), self._ratio(), X, y)
        return self

    @staticmethod
    def path(X: Any, y: Any, **how: Any) -> Any:
        """Solutions for a falling sequence of penalties: `enet_path`, whatever the model's own penalty."""
        from didact.linear_model.lasso_path import enet_path

        return enet_path(X, y, **how)

    @property
    def sparse_coef_(self) -> Any:
        """The coefficients as a sparse matrix, one row for each target."""
        return sparse.csr_matrix(np.atleast_2d(self.coef_))

    inference = no_inference("LinearRegression")


class Lasso(_L1):
    r"""Least squares with an L1 penalty.

    .. math:: \min_{b, b_0} \frac{1}{2W}\sum_i w_i(y_i - x_i^Tb - b_0)^2 + \alpha\|b\|_1

    Notes
    -----
    Cost: n p a round, and a handful of rounds; within a round k² a sweep over the k columns of the working set. The
    courses' λ (without 1/(2n)) is 2nα. ``alpha=0`` is least squares, solved as `LinearRegression` does, with the
    solution of least norm where there are many; `dual_gap_` is then an estimate, not a bound. Several targets are
    fitted one by one. Differs from scikit-learn: `tol` is 1e-6 (there 1e-4). Shape of computation: in memory iterate;
    from batches or Dask reduce, through the p × p cross-products.

    References
    ----------
    Tibshirani (1996), doi:10.1111/j.2517-6161.1996.tb02080.x.

    Examples
    --------
    >>> from didact.linear_model import Lasso
    >>> Lasso(alpha=0.1).fit([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]], [0.0, 1.0, 2.0]).coef_.round(6)
    array([0.85, 0.  ])
    """

    def _ratio(self) -> float:
        return 1.0


class ElasticNet(_L1):
    r"""Least squares with an L1 and an L2 penalty.

    .. math:: \min_{b, b_0} \frac{1}{2W}\sum_i w_i(y_i - x_i^Tb - b_0)^2
              + \alpha\Big(\rho\|b\|_1 + \frac{1-\rho}{2}\|b\|_2^2\Big)

    Notes
    -----
    Cost as for `Lasso`, which it equals with ``l1_ratio=1``; with ``l1_ratio=0`` it is ridge with α·W, and with
    ``alpha=0`` least squares, both solved directly. Groups of
    correlated features come in together, where the lasso picks one of them.

    References
    ----------
    Zou, Hastie (2005), doi:10.1111/j.1467-9868.2005.00503.x.

    Examples
    --------
    >>> from didact.linear_model import ElasticNet
    >>> ElasticNet(alpha=0.1).fit([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]], [0.0, 1.0, 2.0]).coef_.round(4)
    array([0.4458, 0.4458])
    """

    _test_params = [{}, {"alpha": 0.01, "positive": True}]

    l1_ratio: float = param(0.5, between(0, 1), "Share ρ of the L1 penalty: 0 is ridge, 1 the lasso.")

    def _ratio(self) -> float:
        return self.l1_ratio
