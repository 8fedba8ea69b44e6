r"""Ridge regression: minimise :math:`\sum_i w_i (y_i - x_i^T b - b_0)^2 + \alpha\|b\|^2`.

With the centred data :math:`X = USV^T` (weights folded in) the solution has three equal forms:

* primal :math:`(X^TX + \alpha I)^{-1} X^Ty`, from one pass of cross-products: n p² + p³/3;
* dual :math:`X^T(XX^T + \alpha I)^{-1} y`, for more columns than rows: n² p + n³/3;
* singular values :math:`V\,\mathrm{diag}\big(s/(s^2+\alpha)\big)\,U^Ty`, for any α ≥ 0 and any rank.

The estimate is biased by :math:`-\alpha(X^TX+\alpha I)^{-1}b^*` and has covariance
:math:`\tau^2(X^TX+\alpha I)^{-1}X^TX(X^TX+\alpha I)^{-1}` for noise of variance τ² (`ridge_bias_covariance`).

Hoerl, Kennard (1970), Ridge regression: biased estimation for nonorthogonal problems,
doi:10.1080/00401706.1970.10488634.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from sklearn.base import MultiOutputMixin

from didact.core.backend import float_type, is_sparse
from didact.core.compat import SAME_OPTIMUM
from didact.core.errors import ParameterError
from didact.core.estimator import Estimator, report_convergence
from didact.core.parameters import array_like, at_least, attr, is_bool, none, one_of, param, whole
from didact.core.progress import FitProgress
from didact.core.rows import Block, Rows
from didact.core.rows.memory import refuse_square
from didact.core.typing import Array
from didact.core.validation.entrance import entrance
from didact.engines.linear.least_squares import Triangle, graded_svd, solve_nonnegative, solve_normal, triangle
from didact.linear_model.inference.from_models import no_inference
from didact.linear_model.linear_regression import (
    Solution,
    _LinearRegressor,
    means,
    more_columns,
    one_or_many,
    solve_iteratively,
    wide_sparse,
)
from didact.parts.statistics.moments import Moments, moments

SOLVERS = "cholesky", "dual", "svd", "sparse_cg"
FOREIGN_SOLVERS = "lsqr", "sag", "saga", "lbfgs"


def solve_primal(S: Moments, alpha: Array) -> tuple[Array, bool]:
    """(XᵀX + αI) b = Xᵀy by Cholesky, one system per distinct α; also whether the condition allowed it."""
    coef, safe = np.empty_like(S.xy), True
    for a in np.unique(alpha):
        columns = np.flatnonzero(np.broadcast_to(alpha, S.xy.shape[1:]) == a)
        coef[:, columns], good = solve_normal(S.xx + a * np.eye(len(S.xx)), S.xy[:, columns])
        safe = safe and good
    return coef, safe


def solve_dual(X: Array, Y: Array, w: Any, alpha: Array) -> Array:
    """Xᵀ (XXᵀ + αI)⁻¹ y with weights folded into the rows; X and Y are centred."""
    root = 1.0 if w is None else np.sqrt(w)[:, None]
    X, Y = X * root, Y * root
    values, V = linalg.eigh(X @ X.T)
    kept = values > values[-1:] * np.finfo(float).eps * len(X)  # Xᵀ takes the others to zero, but for rounding
    values, V = values[kept], V[:, kept]
    return X.T @ (V @ ((V.T @ Y) / (values[:, None] + alpha)))


def solve_svd(factor: Triangle, n_features: int, alpha: Array, means: Array) -> tuple[Array, Array]:
    """V diag(s/(s²+α)) Uᵀy from the triangular factor of [X, Y], centred at means of these lengths; also s."""
    A, B = factor.R[:n_features, :n_features], factor.R[:n_features, n_features:]
    U, s, Vt = graded_svd(A, means)
    return Vt.T @ (_inverse(s[:, None] + alpha * _inverse(s[:, None])) * (U.T @ B)), s


def _inverse(values: Array) -> Array:
    """1/values, and 0 where a value is 0."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


@np.errstate(over="ignore", invalid="ignore")  # squares beyond the range of numbers make normal equations unsafe
def solve(
    rows: Rows, alpha: Array, fit_intercept: bool, positive: bool, solver: str, tol: float, max_iter: int
) -> Solution:
    """Ridge coefficients of the rows for one α or one per target."""
    solver = choose(rows, positive, solver)
    if solver == "sparse_cg":
        return solve_iteratively(rows, alpha, fit_intercept, tol, max_iter)
    if solver == "dual" and (found := _solve_dual_rows(rows, alpha, fit_intercept)) is not None:
        return found
    if solver == "cholesky" and not positive:
        S = rows.reduce(moments)
        S = S if fit_intercept else S.about_zero()
        coef, safe = solve_primal(S, alpha)
        if safe:
            return Solution(coef, S.mean_y - S.mean_x @ coef)
    mean_x, mean_y, weight, _ = means(rows, fit_intercept)
    factor, p = rows.reduce(triangle, mean_x, mean_y), rows.n_features
    coef = (
        _solve_positive(factor, p, alpha)
        if positive
        else solve_svd(factor, p, alpha, np.sqrt(weight) * np.abs(mean_x))[0]
    )
    return Solution(coef, mean_y - mean_x @ coef)


def choose(rows: Rows, positive: bool, asked: str) -> str:
    """The solver asked for, or by shape: Cholesky; dual or singular values for few rows; for wide sparse ones CG."""
    if asked in SOLVERS:
        return asked
    if wide_sparse(rows) and not positive:
        return "sparse_cg"
    if positive or not more_columns(rows):
        return "cholesky"
    return "dual" if rows.n_rows is not None and not rows.on_device else "svd"


def _solve_dual_rows(rows: Rows, alpha: Array, fit_intercept: bool) -> Solution | None:
    """The dual form, or None where squares are beyond the range of numbers."""
    if rows.n_rows is None or rows.on_device:
        raise ParameterError("solver='dual' needs all rows in memory at once: use 'auto', 'cholesky' or 'svd'.")
    X, y, w, *_ = rows.whole()
    X = (X.toarray() if is_sparse(X) else X).astype(np.float64)
    Y = y if y.ndim == 2 else y[:, None]
    if not np.isfinite(rows.reduce(gram_trace).value):  # NaN is refused by name
        return None
    weights = np.ones(len(X)) if w is None else w
    total = weights.sum() if fit_intercept else np.inf
    mean_x, mean_y = (weights @ X) / total, (weights @ Y) / total
    coef = solve_dual(X - mean_x, Y - mean_y, w, alpha)
    return Solution(coef, mean_y - mean_x @ coef)


class Trace(NamedTuple):
    """The sum of squares of all entries."""

    value: float

    def merge(self, other: "Trace") -> "Trace":
        """Sums add."""
        return Trace(self.value + other.value)


def gram_trace(block: Block) -> Trace:
    """Sum of squares of a block."""
    X = block.X.astype(np.float64, copy=False)
    return Trace(float((X.multiply(X) if is_sparse(X) else X * X).sum()))


def _solve_positive(factor: Triangle, n_features: int, alpha: Array) -> Array:
    """Coefficients ≥ 0: √α·I below the triangular factor turns the penalty into rows."""
    refuse_square(n_features, "use fewer columns, or positive=False, which needs none for fewer rows than columns")
    alphas = np.broadcast_to(alpha, (factor.R.shape[1] - n_features,))
    columns = []
    for k, a in enumerate(alphas):
        R = np.vstack(
            [
                np.column_stack([factor.R[:, :n_features], factor.R[:, n_features + k]]),
                np.column_stack([np.sqrt(a) * np.eye(n_features), np.zeros(n_features)]),
            ]
        )
        columns.append(solve_nonnegative(Triangle(R), n_features)[:, 0])
    return np.stack(columns, axis=1)


class BiasCovariance(NamedTuple):
    """Sampling properties of the ridge estimate for known true coefficients and noise."""

    bias: Array
    covariance: Array

    @property
    def mean_squared_error(self) -> float:
        """trace(covariance) + ‖bias‖²."""
        return float(np.trace(self.covariance) + self.bias @ self.bias)


@entrance()
def ridge_bias_covariance(
    X: Any, alpha: float, coef: Any, noise_variance: float, sample_weight: Any = None, fit_intercept: bool = True
) -> BiasCovariance:
    r"""Bias and covariance of the ridge estimate, in closed form.

    With :math:`X^TX = U\,\mathrm{diag}(\sigma_i^2)\,U^T` the estimate has mean
    :math:`U\,\mathrm{diag}(\sigma_i^2/(\sigma_i^2+\alpha))\,U^T b^*` and covariance
    :math:`U\,\mathrm{diag}(\tau^2\sigma_i^2/(\sigma_i^2+\alpha)^2)\,U^T`. Cost n p² + p³.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The fixed design.
    alpha : float
        Strength of the penalty.
    coef : array-like of shape (n_features,)
        True coefficients.
    noise_variance : float
        Variance τ² of the noise (divided by its weight for a weighted row).
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows.
    fit_intercept : bool, default=True
        Whether the columns are centred first, as a fit with intercept does.

    Returns
    -------
    BiasCovariance
        `bias`, `covariance` and `mean_squared_error`.

    References
    ----------
    Hoerl, Kennard (1970), doi:10.1080/00401706.1970.10488634.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.linear_model import ridge_bias_covariance
    >>> result = ridge_bias_covariance(np.eye(2), 1.0, [2.0, 4.0], 1.0, fit_intercept=False)
    >>> result.bias, result.mean_squared_error
    (array([-1., -2.]), 5.5)
    """
    X, coef = np.asarray(X, np.float64), np.asarray(coef, np.float64)
    w = None if sample_weight is None else np.asarray(sample_weight, np.float64)
    S = moments(Block(X, np.zeros(len(X)), w))
    values, U = linalg.eigh((S if fit_intercept else S.about_zero()).xx)
    values = np.maximum(values, 0.0)
    inverse = _inverse(values + alpha)
    bias = U @ ((values * inverse - 1.0) * (U.T @ coef))
    return BiasCovariance(bias, (U * (noise_variance * values * inverse**2)) @ U.T)


class _RidgeSolver(Estimator):
    """What ridge regression and its classifier share: the solvers. Abstract."""

    _tensors = True
    _test_skips = {
        "weight_scale": "The penalty stands beside a sum over rows: ten times the weight is ten times the rows."
    }

    max_iter: int | None = param(None, [whole(1), none], "Most iterations of conjugate gradients; None: 10 × features.")
    tol: float = param(1e-8, at_least(0), "Relative residual at which conjugate gradients stop.")
    solver: str = param(
        "auto",
        one_of("auto", *SOLVERS, *FOREIGN_SOLVERS),
        f"How to solve; 'auto' chooses from the shape of the data. {SAME_OPTIMUM}",
    )
    positive: bool = param(False, is_bool, "Whether to keep all coefficients at or above zero.")

    _attrs = [
        attr("n_iter_", "int", "Iterations of conjugate gradients; 1 after a direct solve."),
        attr("solver_", "str", "The solver that was used."),
    ]

    def _solution(self: Any, rows: Rows, alphas: Array, X: Any, y: Any) -> Solution:
        self.solver_ = choose(rows, self.positive, self.solver)
        steps = self.max_iter or 10 * rows.n_features
        with FitProgress(self, X=X, y=y):
            return solve(rows, alphas, self.fit_intercept, self.positive, self.solver_, self.tol, steps)

    def _report(self, solution: Solution) -> None:
        self.n_iter_ = 1
        if solution.result is not None:
            report_convergence(self, solution.result)


class Ridge(MultiOutputMixin, _LinearRegressor, _RidgeSolver):
    r"""Least squares with an L2 penalty.

    .. math:: \min_{b, b_0} \sum_i w_i (y_i - x_i^T b - b_0)^2 + \alpha \|b\|^2

    Notes
    -----
    Cost: one pass, n p² + p³/3 (primal); n² p + n³/3 (dual); two sparse products an iteration (sparse_cg). A system
    too ill-conditioned for Cholesky is solved by singular values in a second pass. Shape of computation: reduce.

    References
    ----------
    Hoerl, Kennard (1970), doi:10.1080/00401706.1970.10488634.

    Examples
    --------
    >>> from didact.linear_model import Ridge
    >>> Ridge(alpha=2.0).fit([[-1.0], [1.0]], [-2.0, 2.0]).coef_
    array([1.])
    """

    _test_params = [{}, {"solver": "svd"}]

    alpha: Any = param(
        1.0, [at_least(0), array_like], "Strength of the L2 penalty: one number, or one for each target."
    )
    fit_intercept: bool = param(True, is_bool, "Whether to add a constant term, which is not penalised.")

    _attrs = [
        attr("coef_", "(n_features,) or (n_targets, n_features)", "Coefficients."),
        attr("intercept_", "float or (n_targets,)", "Constant term."),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "Ridge":
        """Fit to rows X with targets y; sample_weight counts rows."""
        rows = self._rows(X, y, sample_weight, target="outputs")
        solution = self._solution(rows, self._alphas(rows), X, y)
        self.coef_, self.intercept_ = one_or_many(solution, rows.y_ndim, float_type(rows), flat=True)
        self._report(solution)
        return self

    def _alphas(self, rows: Rows) -> Array:
        alpha = np.atleast_1d(np.asarray(self.alpha, np.float64))
        if alpha.ndim != 1 or (alpha < 0).any():
            raise ParameterError("alpha must be a number of at least 0, or one such number for each target.")
        if len(alpha) > 1 and len(alpha) != rows.n_targets:
            raise ParameterError(
                f"Number of targets and number of penalties do not correspond: {len(alpha)} != {rows.n_targets} "
                "(alpha is one number, or one for each target)."
            )
        return alpha

    inference = no_inference("LinearRegression")
