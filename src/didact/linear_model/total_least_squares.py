r"""Total least squares: the smallest change of X and of Y after which Y is linear in X.

.. math:: \min_{E, F, B} \|[E\;F]\|_F \quad\text{such that}\quad (X + E)B = Y + F

1. One pass gives the means, if there is a constant term; a second merges triangular factors of [X Y] (TSQR).
2. With the right singular vectors of [X Y] in blocks, those of the k smallest singular values in the last columns,
   :math:`B = -V_{XY}V_{YY}^{-1}`. For one target also :math:`B = (X^TX - \sigma_{min}^2 I)^{-1}X^Ty`.

There is no solution when :math:`V_{YY}` is singular, and none that is unique when the p-th and the next singular value
are equal. Features without any variation of their own (constant or exactly dependent columns) are given up first: the
solution is sought in the row space of X, where it has the least norm.

Golub, Van Loan (1980), An analysis of the total least squares problem, doi:10.1137/0717073.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from sklearn.base import MultiOutputMixin, RegressorMixin

from didact.core.backend import float_type
from didact.core.errors import InputError
from didact.core.estimator import Estimator
from didact.core.overflow import refuse_overflow
from didact.core.parameters import attr, is_bool, param
from didact.core.progress import FitProgress
from didact.core.rows import Block, Rows
from didact.core.typing import Array
from didact.engines.linear.least_squares import DEPENDENT_COLUMN, column_scale, triangle
from didact.linear_model.linear_regression import Solution, means, one_or_many, predict
from didact.parts.statistics.moments import Sums

SINGULAR = 1e-10  # smallest singular value of V_YY, and relative gap of σ_p and σ_{p+1}, that can be told from zero


class Orthogonal(NamedTuple):
    """A fit with the length of the change it needs, and the singular values of [X Y]."""

    coef: Array  # (p, k)
    distance: float
    singular: Array


def solve(R: Array, p: int, sizes: Array | None = None) -> Orthogonal:
    """Total least squares from the triangular factor R of [X Y]; sizes are the columns' lengths before centring."""
    basis = row_space(R[:, :p], sizes)
    r, k = basis.shape[1], R.shape[1] - p
    Z = np.column_stack([R[:, :p] @ basis, R[:, p:]])
    _, s, Vt = linalg.svd(Z)
    s = np.append(s, np.zeros(r + k - len(s)))
    last = Vt[r:].T
    U, inner, Wt = linalg.svd(last[r:])
    if inner[-1] < SINGULAR:
        raise InputError(
            "There is no total least squares solution: the direction in which the data vary least lies within the "
            "features (V_YY is singular). Scale columns to equal noise, leave out features, or use LinearRegression."
        )
    if r > 0 and s[r - 1] - s[r] <= SINGULAR * s[0]:
        raise InputError(
            "The total least squares solution is not unique: the data vary equally little in two directions "
            f"(singular values {s[r - 1]:.6g} and {s[r]:.6g}). Leave out features, or use LinearRegression."
        )
    coef = -basis @ (last[:r] @ (Wt.T / inner) @ U.T)
    return Orthogonal(coef, float(np.sqrt((s[r:] ** 2).sum())), s)


def row_space(R: Array, sizes: Array | None = None) -> Array:
    """An orthonormal basis (p, r) of the rows of R, columns of which are compared at equal size."""
    scale = column_scale(R, sizes)
    _, s, Vt = linalg.svd(R / scale, full_matrices=False)
    rank = int((s > DEPENDENT_COLUMN).sum())
    if rank == R.shape[1]:
        return np.eye(rank)
    return np.linalg.qr((Vt[:rank] * scale).T)[0]


def solve_rows(rows: Rows, fit_intercept: bool) -> tuple[Orthogonal, Solution]:
    """Two passes with a constant term, one without."""
    if fit_intercept:
        mean_x, mean_y, _, sizes = means(rows, True)
    else:
        k = int(rows.reduce(targets).parts[0].shape[0]) if rows.y_ndim == 2 else 1
        mean_x, mean_y, sizes = np.zeros(rows.n_features), np.zeros(k), None
    R = rows.reduce(triangle, mean_x, mean_y).R
    refuse_overflow(rows, R)
    fit = solve(R, rows.n_features, sizes)
    return fit, Solution(fit.coef, mean_y - mean_x @ fit.coef)


def targets(block: Block) -> Sums:
    """Sums of the targets of a block."""
    return Sums((np.zeros(block.y.shape[1]),))


class TotalLeastSquares(MultiOutputMixin, RegressorMixin, Estimator):
    r"""Least squares for errors in the features as well as in the targets: orthogonal distances instead of vertical.

    .. math:: \min_{E, F, B} \|[E\;F]\|_F \quad\text{such that}\quad (X + E)B = Y + F

    Notes
    -----
    Cost: 2 n (p + k)² in one pass, and one more pass of n p for the means if there is a constant term. Sample weights
    are frequencies. Shape of computation: reduce. All columns are taken to have independent errors of equal variance:
    divide each by the standard deviation of its error first. Constant and dependent columns get the solution of least
    norm; data without a solution are refused.

    References
    ----------
    Golub, Van Loan (1980), doi:10.1137/0717073; Van Huffel, Vandewalle (1991), The total least squares problem,
    doi:10.1137/1.9781611971002.

    Examples
    --------
    >>> from didact.linear_model import TotalLeastSquares
    >>> TotalLeastSquares(fit_intercept=False).fit([[1.0], [2.0], [3.0]], [1.0, 3.0, 2.0]).coef_.round(6)
    array([1.])
    """

    fit_intercept: bool = param(True, is_bool, "Whether to add a constant term, which is free of error.")

    _attrs = [
        attr("coef_", "(n_features,) or (n_targets, n_features)", "Coefficients."),
        attr("intercept_", "float or (n_targets,)", "Constant term: the fit passes through the means."),
        attr("distance_", "float", "Root of the sum of squared orthogonal distances, the smallest change."),
        attr("singular_values_", "ndarray", "Singular values of the centred [X Y]."),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "TotalLeastSquares":
        """Fit to rows X with targets y; sample_weight counts rows."""
        rows = self._rows(X, y, sample_weight, target="outputs")
        with FitProgress(self, X=X, y=y):
            fit, solution = solve_rows(rows, self.fit_intercept)
        self.coef_, self.intercept_ = one_or_many(solution, rows.y_ndim, float_type(rows))
        self.distance_, self.singular_values_ = fit.distance, fit.singular
        return self

    def predict(self, X: Any) -> Any:
        """Targets for rows X that are without error: XB + constant."""
        return self._after_fit()._map_rows(X, predict, self.coef_, self.intercept_)
