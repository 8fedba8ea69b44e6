r"""Least squares: minimise :math:`\sum_i w_i (y_i - x_i^T b - b_0)^2`.

1. One pass over the rows gives means and centred cross-products (`parts.statistics.moments`).
2. Cholesky solves the normal equations; cost n p² + p³/3.
3. If their condition is too poor, or rows are fewer than columns, a second pass merges triangular factors of the rows,
   and their SVD gives the solution of least norm; cost 2 n p², or n² p for few rows.
4. In the first case, and on small data, further passes take off rounding errors (`engines.least_squares.refine`).
5. Sparse data with many columns: conjugate gradients on the normal equations, two sparse products an iteration.

Golub, Van Loan (2013), Matrix Computations, chapter 5, doi:10.56021/9781421407944.
"""

import sys
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from didact.core.backend import float_type, is_sparse, is_tensor, like, namespace, to_host
from didact.core.estimator import Estimator, report_convergence
from didact.core.parameters import at_least, attr, is_bool, param
from didact.core.progress import FitProgress
from didact.core.rows import Block, Rows
from didact.core.threads import blas_for
from didact.core.typing import Array
from didact.engines.linear.conjugate_gradients import conjugate_gradients
from didact.engines.linear.least_squares import (
    lengths,
    refine_solution,
    solve_nonnegative,
    solve_normal,
    solve_triangle,
    solve_twice,
    triangle,
)
from didact.engines.loop.result import Result
from didact.engines.scores.linear import linear_scores
from didact.linear_model.inference.from_models import infer_least_squares, ready
from didact.parts.statistics.column_loops import sparse_column_sums
from didact.parts.statistics.moments import Sums, moments

WIDE_SPARSE = 1500  # columns from which sparse data are solved by conjugate gradients
MANY = 1000  # columns from which a pass that only counts rows pays, as it may save p × p numbers
FLAT = 1e-10  # a column whose spread is this share of its size counts as constant
SMALL = 1 << 16  # rows × columns × targets up to which a refinement takes no time that anybody notices


class Solution(NamedTuple):
    """Coefficients (p, k) with what is known of the system they solve."""

    coef: Array
    intercept: Array
    rank: int | None = None
    singular: Array | None = None
    result: Result | None = None


@np.errstate(over="ignore", invalid="ignore")  # squares beyond the range of numbers make normal equations unsafe
def solve(rows: Rows, fit_intercept: bool = True, positive: bool = False, tol: float = 1e-6) -> Solution:
    """Least squares of the rows, by the cheapest method that is accurate."""
    if wide_sparse(rows) and not positive:
        return solve_iteratively(rows, np.zeros(1), fit_intercept, tol)
    if more_columns(rows):
        return _solve_factor(rows, *means(rows, fit_intercept), positive)
    S = rows.reduce(moments)
    sizes = np.sqrt(np.diag(S.xx) + S.weight * S.mean_x**2)
    S = S if fit_intercept else S.about_zero()
    coef, safe = solve_normal(S.xx, S.xy)
    spread = np.sqrt(np.diag(S.xx))
    if positive or not safe or bool(np.any(spread <= FLAT * sizes)):  # a constant column leaves only rounding
        return _solve_factor(rows, S.mean_x, S.mean_y, S.weight * fit_intercept, sizes, positive)
    with blas_for(len(coef)):
        singular = np.sqrt(np.maximum(np.linalg.eigvalsh(S.xx)[::-1], 0.0))
    intercept = S.mean_y - S.mean_x @ coef
    if S.rows * coef.size <= SMALL and float_type(rows) == np.float64:
        weight = S.weight * fit_intercept
        coef, intercept = refine_solution(
            rows, coef, S.mean_x, S.mean_y, weight, spread, lambda g: solve_normal(S.xx, g)[0]
        )
    return Solution(coef, intercept, len(coef), singular)


def _solve_factor(
    rows: Rows, mean_x: Array, mean_y: Array, weight: float, sizes: Array, positive: bool = False
) -> Solution:
    """Least squares from merged triangular factors of the rows, which have no more rows than there are."""
    p = len(mean_x)
    factor = rows.reduce(triangle, mean_x, mean_y)
    with blas_for(len(factor.R)):
        coef, rank, singular = solve_triangle(factor, p, sizes=sizes)
    if positive:
        coef = solve_nonnegative(factor, p)
    elif rank == p and float_type(rows) == np.float64:
        R = factor.R[:p, :p]
        coef, intercept = refine_solution(rows, coef, mean_x, mean_y, weight, lengths(R), lambda g: solve_twice(R, g))
        return Solution(coef, intercept, rank, singular)
    return Solution(coef, mean_y - mean_x @ coef, rank, singular)


def more_columns(rows: Rows) -> bool:
    """Whether there are more columns than rows; where only a pass can tell, it is made if the columns are many."""
    if rows.n_rows is not None:
        return rows.n_rows < rows.n_features
    return rows.n_features >= MANY and rows.reduce(count_rows).parts[0] < rows.n_features


def count_rows(block: Block) -> Sums:
    """The number of rows of a block."""
    return Sums((block.X.shape[0],))


def means(rows: Rows, fit_intercept: bool) -> tuple[Array, Array, float, Array]:
    """Means of the columns and targets, total weight (all 0 without a constant), and the columns' lengths."""
    weight, sum_x, sum_y, squares, _ = rows.reduce(first_moments).parts
    share = fit_intercept / weight
    return sum_x * share, sum_y * share, weight * fit_intercept, np.sqrt(squares)


def wide_sparse(rows: Rows) -> bool:
    """Whether the data are sparse with too many columns for a dense p × p matrix to pay."""
    return rows.is_sparse and rows.n_features > WIDE_SPARSE


def solve_iteratively(rows: Rows, alpha: Array, fit_intercept: bool, tol: float, max_iter: int = 10_000) -> Solution:
    """(XᵀWX + αI) b = XᵀWy, X centred in thought only, by conjugate gradients; alpha has one entry or one a target."""
    first = rows.reduce(first_moments)
    weight, sum_x, sum_y, square_x, xy = first.parts
    mean_x, mean_y = (sum_x / weight, sum_y / weight) if fit_intercept else (np.zeros_like(sum_x), 0 * sum_y)
    rhs = xy - weight * np.outer(mean_x, mean_y)

    def product(V: Array) -> Array:
        shift = mean_x @ V
        image, total = rows.reduce(normal_product, V, shift).parts
        return image - np.outer(mean_x, total) + alpha * V

    diagonal = (square_x - weight * mean_x**2)[:, None] + alpha
    if more_columns(rows):  # combinations of the rows lead to the solution of least norm, scaled steps elsewhere
        diagonal = np.where(alpha > tol * np.max(diagonal), diagonal, 1.0)  # a penalty that the residual does not show
    result = conjugate_gradients(product, rhs, diagonal, tol, max_iter)
    return Solution(result.x, mean_y - mean_x @ result.x, result=result)


def first_moments(block: Block) -> Sums:
    """Σw, Σwx, Σwy, Σwx², Σwxyᵀ of a block: what conjugate gradients start from."""
    X, y, w = block.X, block.y, block.weight
    Y = y if y.ndim == 2 else y[:, None]
    if is_tensor(X):
        xp = namespace(X)
        ones = xp.ones_like(Y[:, 0]) if w is None else w
        return Sums(to_host(xp.sum(ones), ones @ X, ones @ Y, ones @ (X * X), X.T @ (ones[:, None] * Y)))
    ones = np.ones(X.shape[0]) if w is None else w
    X = X if is_sparse(X) else X.astype(np.float64, copy=False)
    sums, squares = sparse_column_sums(X, w) if is_sparse(X) else (ones @ X, ones @ (X * X))
    xy = np.column_stack([X.T @ (ones * column) for column in Y.T])  # products with vectors are quickest
    return Sums((ones.sum(), sums, ones @ Y, squares, xy))


def normal_product(block: Block, V: Array, shift: Array) -> Sums:
    """Xᵀ W (X V − 1 shiftᵀ) of a block, and the sums of its rows."""
    X, w = block.X, block.weight
    V, shift = like(V, X), like(shift, X)
    if V.shape[1] == 1:  # products with vectors are quicker than with one-column matrices
        u = X @ V[:, 0] - shift[0]
        u = u if w is None else w * u
        return Sums(to_host((X.T @ u)[:, None], u.sum().reshape(1)))
    U = X @ V - shift
    U = U if w is None else w[:, None] * U
    return Sums(to_host(X.T @ U, U.sum(axis=0)))


predict = linear_scores


def one_or_many(solution: Solution, y_ndim: int, dtype: Any, flat: bool = False) -> tuple[Array, Any]:
    """coef_ and intercept_ as scikit-learn shapes them: (p,) and a number, or (k, p) and (k,).

    Its penalised models, with `flat`, have (p,) and (1,) for a target of shape (n, 1).
    """
    coef, intercept = solution.coef.T.astype(dtype), np.asarray(solution.intercept, dtype)
    if flat and y_ndim == 2 and len(coef) == 1:
        return coef[0], intercept
    return (coef, intercept) if y_ndim == 2 else (coef[0], intercept[0])


class _LinearRegressor(RegressorMixin, Estimator):
    """Prediction of the models with `coef_` and `intercept_`. Abstract."""

    def predict(self, X: Any) -> Any:
        """Predicted targets for rows X."""
        return self._after_fit()._map_rows(X, predict, self.coef_, self.intercept_)


class LinearRegression(MultiOutputMixin, _LinearRegressor):
    r"""Ordinary least squares.

    .. math:: \min_{b, b_0} \sum_i w_i (y_i - x_i^T b - b_0)^2

    Notes
    -----
    Cost: one pass, n p² + p³/3; a second pass when the condition is poor. Sample weights are frequencies. Shape of
    computation: reduce, so arrays, sparse matrices, frames, `Batches`, Dask collections and tensors are all fitted by
    the same code. Fewer rows than columns cost n² p. Rank-deficient data give the solution of least norm (sparse data
    with more than 1,500 columns one that is not the shortest, unless their rows are fewer). Where the condition is
    poor, and on small data, coefficients are refined with residuals in twice the precision, to those of exact
    arithmetic.

    References
    ----------
    Golub, Van Loan (2013), Matrix Computations, chapter 5, doi:10.56021/9781421407944.

    Examples
    --------
    >>> from didact.linear_model import LinearRegression
    >>> model = LinearRegression().fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.coef_.round(6), round(float(model.intercept_), 6)
    (array([2.]), 1.0)
    """

    _tensors = True

    fit_intercept: bool = param(True, is_bool, "Whether to add a constant term.")
    tol: float = param(
        1e-6,
        at_least(0),
        "Relative residual at which conjugate gradients stop on wide sparse data; direct solves are exact.",
    )
    positive: bool = param(False, is_bool, "Whether to keep all coefficients at or above zero.")

    _attrs = [
        attr("coef_", "(n_features,) or (n_targets, n_features)", "Coefficients."),
        attr("intercept_", "float or (n_targets,)", "Constant term."),
        attr("rank_", "int", "Rank of the centred data; not of wide sparse data.", when="data"),
        attr("singular_", "ndarray", "Singular values of the centred data; not of wide sparse data.", when="data"),
        attr("n_iter_", "int", "Iterations of conjugate gradients; of wide sparse data.", when="data"),
    ]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters, as `clone` asks for them."""
        # RANSACRegressor copies its model, and then asks whether it is scikit-learn's LinearRegression. Its module is
        # not imported here: that takes longer than importing all of our linear models.
        theirs: Any = getattr(sys.modules.get("sklearn.linear_model"), "LinearRegression", None)
        if hasattr(theirs, "register"):
            theirs.register(LinearRegression)
        return dict(super().get_params(deep))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "LinearRegression":
        """Fit to rows X with targets y; sample_weight counts rows."""
        rows = self._rows(X, y, sample_weight, target="outputs")
        with FitProgress(self, X=X, y=y):
            solution = solve(rows, self.fit_intercept, self.positive, self.tol)
        self.coef_, self.intercept_ = one_or_many(solution, rows.y_ndim, float_type(rows))
        if solution.rank is not None:
            self.rank_, self.singular_ = solution.rank, solution.singular
        if solution.result is not None:
            report_convergence(self, solution.result)
        return self

    def inference(self, X: Any, y: Any = None, sample_weight: Any = None, covariance: str = "model",
                  groups: Any = None, dispersion: Any = None) -> Any:  # fmt: skip
        """Standard errors, tests and intervals, from the rows of the fit: an `Inference`, or one for each target."""
        ready(self, self.positive, "positive=False")
        return infer_least_squares(self, (X, y, sample_weight, None), covariance, groups, dispersion)
