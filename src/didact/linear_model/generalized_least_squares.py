r"""Generalized least squares: minimise :math:`(y - Xb - \mu)^T \Sigma^{-1} (y - Xb - \mu)` for noise with mean μ and
covariance Σ.

1. :math:`\Sigma = LL^T` by Cholesky; :math:`L^{-1}` takes the noise to independent noise of equal variance (whitening).
2. The rest is least squares of :math:`L^{-1}(y - \mu)` on :math:`L^{-1}[X\;1]`.
3. The estimate has covariance :math:`\sigma^2 (X^T\Sigma^{-1}X)^{-1}`, where σ² is known or estimated.

A diagonal Σ gives weighted least squares with weights :math:`1/\sigma_i^2`, in one pass of n p² over rows of any kind.
A full Σ costs n³/3 and needs all rows in memory.

Aitken (1936), On least squares and linear combination of observations, doi:10.1017/S0370164600014346.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from sklearn.base import MultiOutputMixin
from sklearn.utils.validation import check_is_fitted

from didact.core.backend import float_type, is_sparse, to_numpy
from didact.core.errors import InputError
from didact.core.overflow import refuse_overflow
from didact.core.parameters import above, attr, is_bool, one_of, param
from didact.core.progress import FitProgress
from didact.core.rows import Block, Rows
from didact.core.rows.memory import refuse_square
from didact.core.typing import Array
from didact.engines.linear.least_squares import DEPENDENT_COLUMN, Triangle, solve_normal, solve_triangle, triangle
from didact.linear_model.linear_regression import (
    Solution,
    _LinearRegressor,
    count_rows,
    first_moments,
    means,
    more_columns,
    one_or_many,
)
from didact.parts.statistics.moments import Moments, moments

CANCELLED = 1e-8  # share of y left unexplained below which the difference of sums of squares is not trusted


class Factor(NamedTuple):
    """Least squares in triangular form: ‖y − Xb‖² = ‖B − Rb‖² + rest."""

    R: Array  # (r, p)
    B: Array  # (r, k)
    rest: Array  # (k,)


class Whitened(NamedTuple):
    """Centred rows with independent noise of equal variance, as a triangular factor."""

    rows: int
    weight: float  # 1ᵀΣ⁻¹1
    mean_x: Array
    mean_y: Array
    factor: Factor


def factorise(S: Moments, second_pass: Callable[[], Triangle]) -> Factor:
    """The triangular form from moments, or from a second pass if their condition or the fit is too extreme."""
    p = len(S.xx)
    if solve_normal(S.xx, S.xy)[1]:
        R = linalg.cholesky(S.xx)
        B = linalg.solve_triangular(R, S.xy, trans="T")
        rest = S.yy - (B * B).sum(axis=0)
        if (rest > CANCELLED * S.yy).all():
            return Factor(R, B, rest)
    return split(second_pass().R, p)


def split(R: Array, p: int) -> Factor:
    """The triangular factor of [X, Y] in its parts."""
    return Factor(R[:p, :p], R[:p, p:], (R[p:, p:] ** 2).sum(axis=0))


def whiten_rows(rows: Rows, fit_intercept: bool) -> Whitened:
    """Independent noise: rows divided by their standard deviations, which is a weight for each row."""
    rows = rows.prepared(inverse_variances)
    if more_columns(rows):
        mean_x, mean_y, weight, sizes = means(rows, fit_intercept)
        refuse_overflow(rows, (sizes, mean_y))
        R = rows.reduce(triangle, mean_x, mean_y).R
        return Whitened(
            rows=rows.reduce(count_rows).parts[0],
            weight=weight,
            mean_x=mean_x,
            mean_y=mean_y,
            factor=split(R, rows.n_features),
        )
    S = rows.reduce(moments)
    refuse_overflow(rows, S)
    S = S if fit_intercept else S.about_zero()
    factor = factorise(S, lambda: rows.reduce(triangle, S.mean_x, S.mean_y))
    return Whitened(rows=S.rows, weight=S.weight, mean_x=S.mean_x, mean_y=S.mean_y, factor=factor)


def inverse_variances(block: Block) -> Block:
    """A block without the mean of its noise, and with weights 1/variance.

    Variances come where other models have an offset, the mean of the noise where they have groups.
    """
    X, y, weight, variances, noise_mean = block
    if weight is not None:
        raise InputError("GeneralizedLeastSquares takes no sample_weight: batches are (X, y, None, variances).")
    if noise_mean is not None:
        y = y - (noise_mean if noise_mean.ndim == y.ndim else noise_mean[:, None])
    if variances is None:
        return Block(X, y)
    if not bool((variances > 0).all()):
        raise InputError("Variances of the noise must be positive: leave out rows that are known without noise.")
    return Block(X, y, 1.0 / variances)


def whiten_full(X: Array, Y: Array, L: Array, fit_intercept: bool) -> Whitened:
    """Correlated noise with covariance LLᵀ: rows multiplied by L⁻¹, and projected off the constant L⁻¹1."""
    n, p = X.shape
    Z = linalg.solve_triangular(L, np.column_stack([np.ones(n), X, Y]), lower=True)
    u, Z = Z[:, 0], Z[:, 1:]
    weight = float(u @ u)
    means = (u @ Z) / weight if fit_intercept else np.zeros(Z.shape[1])
    R = np.asarray(np.linalg.qr(Z - np.outer(u, means), mode="r"))
    return Whitened(rows=n, weight=weight, mean_x=means[:p], mean_y=means[p:], factor=split(R, p))


def lower_factor(covariance: Any, n: int, factor: bool) -> Array:
    """A lower triangular L with LLᵀ = Σ, from Σ or from any R with RRᵀ = Σ."""
    C = np.asarray(to_numpy(covariance), np.float64)
    if C.shape[0] != n or (C.shape[1] != n and not factor):
        raise InputError(f"The covariance of the noise has shape {C.shape}, but there are {n} rows.")
    if not np.isfinite(C).all():
        raise InputError("The covariance of the noise contains NaN or infinity.")
    if factor:
        L = np.tril(C) if C.shape == (n, n) and not np.triu(C, 1).any() else np.asarray(np.linalg.qr(C.T, mode="r")).T
        size = np.abs(np.diag(L))
        if L.shape != (n, n) or size.min() <= n * np.finfo(float).eps * size.max():
            raise InputError("The factor of the covariance has no full row rank, so the covariance has no inverse.")
        return L
    if np.abs(C - C.T).max() > 1e-10 * np.abs(C).max():
        raise InputError("The covariance of the noise is not symmetric; for a factor of it, pass factor=True.")
    try:
        return linalg.cholesky(C, lower=True)
    except linalg.LinAlgError:
        raise InputError("The covariance of the noise is not positive definite: add a small diagonal to it.") from None


def estimate(Z: Whitened, scale: Any, fit_intercept: bool) -> tuple[Solution, Array, Array, Array]:
    """Coefficients; σ² per target; V (p, r) with VVᵀ = (XᵀΣ⁻¹X)⁻¹; the constant term's variances for σ² = 1."""
    R, B, rest = Z.factor
    p = R.shape[1]
    coef, rank, _ = solve_triangle(Triangle(np.column_stack([R, B])), p)
    free = Z.rows - rank - fit_intercept
    squares = rest + ((B - R @ coef) ** 2).sum(axis=0)
    estimated = squares / free if free > 0 else np.full_like(rest, np.nan)
    sizes = estimated if isinstance(scale, str) else np.full_like(rest, float(scale))
    root = inverse_root(R)
    constant = (1.0 / Z.weight + ((Z.mean_x @ root) ** 2).sum()) if fit_intercept else 0.0
    return Solution(coef, Z.mean_y - Z.mean_x @ coef, rank), sizes, root, np.asarray(constant)


def inverse_root(R: Array) -> Array:
    """V with VVᵀ = (RᵀR)⁻¹; of dependent columns, the inverse on the space that they span."""
    size = np.sqrt((R * R).sum(axis=0))
    size = np.where(size > 0, size, 1.0)
    _, s, Vt = linalg.svd(R / size, full_matrices=False)
    return np.asarray(Vt[s > DEPENDENT_COLUMN].T / s[s > DEPENDENT_COLUMN] / size[:, None])


class GeneralizedLeastSquares(MultiOutputMixin, _LinearRegressor):
    r"""Least squares for noise of known covariance: correlated, or of unequal variance.

    .. math:: \min_{b, b_0} (y - Xb - b_0 - \mu)^T \Sigma^{-1} (y - Xb - b_0 - \mu)

    The covariance belongs to the rows and is given to `fit`: as variances (n,), as a matrix (n, n), or with
    ``factor=True`` as a matrix R, with any number of columns, such that Σ = RRᵀ (standard deviations, if (n,)).

    Notes
    -----
    Cost: n p² for independent noise (n² p for more columns than rows, without a matrix p × p), n³/3 + n² p for a full
    covariance, which needs all rows in memory. Shape of computation: reduce, for independent noise; batches are then
    (X, y, None, variances, noise_mean), where the last two may be missing. Predictions are of Xb + b₀, without noise
    and its mean. There is no `sample_weight`: weights count rows, and a row that is there twice has noise of its own
    each time.

    References
    ----------
    Aitken (1936), doi:10.1017/S0370164600014346.

    Examples
    --------
    >>> from didact.linear_model import GeneralizedLeastSquares
    >>> model = GeneralizedLeastSquares(fit_intercept=False, scale=1.0)
    >>> model.fit([[1.0], [1.0]], [2.0, 5.0], covariance=[1.0, 2.0]).coef_.round(6), model.coef_error_.round(3)
    (array([3.]), array([0.816]))
    """

    fit_intercept: bool = param(True, is_bool, "Whether to add a constant term.")
    scale: Any = param(
        "estimate",
        [one_of("estimate"), above(0)],
        "Factor σ² of the covariance in standard errors: a number (1: the covariance is exact), or estimated from the "
        "residuals. It does not change the coefficients.",
    )

    _attrs = [
        attr("coef_", "(n_features,) or (n_targets, n_features)", "Coefficients."),
        attr("intercept_", "float or (n_targets,)", "Constant term."),
        attr("scale_", "float or (n_targets,)", "The factor σ² of the covariance, given or estimated."),
        attr("coef_covariance_", "([n_targets, ]n_features, n_features)", "Covariance of the estimated coefficients."),
        attr("coef_error_", "ndarray of the shape of coef_", "Standard errors of the coefficients."),
        attr("intercept_error_", "float or (n_targets,)", "Standard error of the constant term; 0 without one."),
    ]

    def fit(self, X: Any, y: Any = None, covariance: Any = None, factor: bool = False, noise_mean: Any = None) -> Any:
        """Fit to rows X with targets y, whose noise has the given covariance (None: equal variances) and mean."""
        check_factor(covariance, factor)
        full = covariance is not None and _dimensions(covariance) == 2
        variances = None if full or covariance is None else _variances(covariance, factor)
        rows = self._rows(X, y, offset=variances, groups=noise_mean, target="outputs")
        with FitProgress(self, X=X, y=y):
            Z = self._whitened(rows, covariance, factor) if full else whiten_rows(rows, self.fit_intercept)
            solution, scale, self._root, constant = estimate(Z, self.scale, self.fit_intercept)
        self.coef_, self.intercept_ = one_or_many(solution, rows.y_ndim, float_type(rows))
        self.scale_ = float(scale[0]) if rows.y_ndim == 1 else scale
        self.coef_error_ = np.sqrt(np.multiply.outer(self.scale_, (self._root**2).sum(axis=1)))
        self.intercept_error_ = np.sqrt(self.scale_ * constant)[()]
        return self

    @property
    def coef_covariance_(self) -> Array:
        """Covariance of the estimated coefficients, p × p: multiplied out when it is asked for."""
        check_is_fitted(self)
        refuse_square(len(self._root), "coef_error_ has the standard errors")
        return np.multiply.outer(self.scale_, self._root @ self._root.T)

    def _whitened(self, rows: Rows, covariance: Any, factor: bool) -> Whitened:
        rows = rows.require_memory(
            "A full covariance of the noise needs all rows in memory: pass variances, or arrays."
        )
        rows.reduce(first_moments)  # refuses NaN by name
        X, y, *_ = inverse_variances(rows.columns)
        X = to_numpy(X.toarray() if is_sparse(X) else X).astype(np.float64)
        Y = to_numpy(y if y.ndim == 2 else y[:, None]).astype(np.float64)
        return whiten_full(X, Y, lower_factor(covariance, len(X), factor), self.fit_intercept)


def check_factor(covariance: Any, factor: Any) -> None:
    """Refuse a factor that stands in the wrong place, or that is not there."""
    if not isinstance(factor, bool | np.bool_):
        raise InputError("factor says whether the covariance is given by a factor: pass covariance=L, factor=True.")
    if factor and covariance is None:
        raise InputError("factor=True speaks of the covariance, and none is given: pass covariance=L, factor=True.")


def _dimensions(values: Any) -> int:
    ndim = values.ndim if hasattr(values, "ndim") else np.ndim(values)
    if ndim not in (1, 2):
        raise InputError(f"The covariance of the noise is an array (n,) or (n, n), not of {ndim} dimensions.")
    return int(ndim)


def _variances(values: Any, factor: bool) -> Any:
    values = values if hasattr(values, "ndim") else np.asarray(values, np.float64)
    return values * values if factor else values
