r"""Nonlinear regression: minimise :math:`\sum_i w_i (y_i - f(x_i; b))^2` over the parameters b of a function f.

1. A pass over the rows at b merges the triangular factor of :math:`[J\ r]`, the Jacobian of f and the residuals.
2. Levenberg–Marquardt or Gauss–Newton takes a step from it and asks for the sum of squares there: one more pass.
3. At the solution :math:`V = s^2 (J^TWJ)^{-1}`, :math:`s^2 = \sum_i w_i r_i^2/(\sum_i w_i - k)`, is the approximate
   covariance of b, hence standard errors; a mean f(x; b) has the variance :math:`g^TVg`, g its gradient in b.

Bates, Watts (1988), Nonlinear Regression Analysis and Its Applications, doi:10.1002/9780470316757.
"""

import inspect
import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import special
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from didact.core.backend import float_type, is_sparse, like, to_numpy
from didact.core.errors import InputError, ParameterError
from didact.core.estimator import Estimator, report_convergence
from didact.core.parameters import array_like, at_least, attr, is_callable, none, one_of, param, whole
from didact.core.progress import FitProgress
from didact.core.rows import Block, Rows
from didact.core.rows.memory import refuse_square
from didact.core.typing import Array
from didact.engines.linear.least_squares import Triangle
from didact.engines.loop.differences import DIFFERENCE_KINDS, Differences, differences
from didact.engines.loop.result import Result
from didact.engines.smooth.levenberg_marquardt import DEPENDENT_DIRECTION, levenberg_marquardt
from didact.linear_model.inference.prediction import Prediction
from didact.optimize.least_squares import check_bounds, covariance
from didact.optimize.problem import check_start, shown
from didact.parts.statistics.moments import Sums


def linear(X: Array, *b: Any) -> Array:
    """b₁ + b₂x₁ + b₃x₂ + …: the model if no other is given."""
    return b[0] + X @ np.asarray(b[1:])


def linear_jacobian(X: Array, *b: Any) -> Array:
    """The derivatives of `linear`: a constant, then the columns."""
    return np.column_stack([np.ones(len(X)), X])


class Curve(NamedTuple):
    """The model function with the way to its Jacobian, both checked on every block of rows."""

    function: Callable[..., Any]
    jac: Any  # a function, or differences

    @property
    def error(self) -> float:
        """About the relative error of the Jacobian."""
        return self.jac.error if isinstance(self.jac, Differences) else DEPENDENT_DIRECTION

    def values(self, X: Any, b: Array) -> Array:
        """f(x; b) of each row."""
        X = _plain(X)
        f = np.asarray(self.function(X, *b))
        if f.shape != (len(X),) or f.dtype.kind not in "fciub":
            raise InputError(
                f"The function must return one number for each of the {len(X)} rows, the shape ({len(X)},); it "
                f"returned the shape {f.shape}."
            )
        return f

    def jacobian(self, X: Any, b: Array) -> Array:
        """df/db, a row for each row of X."""
        if isinstance(self.jac, Differences):
            return np.asarray(self.jac(partial(self.values, X), b))
        J = np.asarray(self.jac(_plain(X), *b), np.float64)
        if J.shape != (X.shape[0], len(b)):
            raise InputError(
                f"jac must return a row for each of the {X.shape[0]} rows and a column for each of the {len(b)} "
                f"parameters, the shape ({X.shape[0]}, {len(b)}); it returned {J.shape}."
            )
        return J


def _plain(X: Any) -> Array:
    """A block for the user's function: dense, float64, and not to be written to."""
    X = np.asarray(X.toarray() if is_sparse(X) else to_numpy(X), np.float64).view()
    X.flags.writeable = False
    return X


def squares(block: Block, curve: Curve, b: Array) -> Sums:
    """Σ w and ½ Σ w (f − y)² of a block."""
    w = block.weight
    r = curve.values(block.X, b) - to_numpy(block.y)
    weights = np.ones(len(r)) if w is None else to_numpy(w)
    return Sums((weights.sum(dtype=np.float64), 0.5 * np.sum(weights * r * r)))


def factor(block: Block, curve: Curve, b: Array) -> Triangle:
    """The triangular factor of √w·[J r] of a block."""
    X, w = block.X, block.weight
    Z = np.column_stack([curve.jacobian(X, b), curve.values(X, b) - to_numpy(block.y)])
    return Triangle(np.asarray(np.linalg.qr(Z if w is None else Z * np.sqrt(to_numpy(w))[:, None], mode="r")))


class Fit(NamedTuple):
    """Parameters with the covariance of their estimates."""

    result: Result
    covariance: Array
    variance: float
    dof: float


def solve(rows: Rows, curve: Curve, start: Array, **how: Any) -> Fit:
    """The least-squares parameters of the rows; `how` goes to the engine."""
    weight, first = rows.reduce(squares, curve, start).parts
    if not math.isfinite(first):
        raise InputError(f"The function is not finite at the start p0 = {shown(start)}: choose another.")

    def half_sum(b: Array) -> float:
        return float(rows.reduce(squares, curve, b).parts[1])

    def triangular(b: Array) -> Array:
        R = rows.reduce(factor, curve, b).R
        if not np.isfinite(R).all():
            raise InputError(f"The Jacobian of the function is not finite at the parameters {shown(b)}.")
        return R

    result = levenberg_marquardt(half_sum, triangular, start, dependent=curve.error, **how)
    dof = float(weight) - len(start)
    variance = 2.0 * result.value / dof if dof > 0 else math.inf
    return Fit(result, covariance(triangular(result.x)[:, :-1], variance, curve.error), variance, dof)


def first_parameters(function: Callable[..., Any], p0: Any, n_features: int) -> Array:
    """Where to start: p0, or the defaults in the function's signature, or ones."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    several = any(p.kind == p.VAR_POSITIONAL for p in parameters)
    named = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if p0 is None:
        values = [1.0 if p.default is p.empty else p.default for p in named]
        return check_start(values + [1.0] * (n_features + 1 if several else 0), "p0")
    start = check_start(p0, "p0")
    if not several and len(start) != len(named):
        raise ParameterError(f"p0 has {len(start)} entries, but the function has {len(named)} parameters after X.")
    if function is linear and len(start) != n_features + 1:
        raise ParameterError(f"p0 has {len(start)} entries, but a linear function of the columns has {n_features + 1}.")
    return start


def predict(X: Any, coef: Array, function: Callable[..., Any]) -> Any:
    """f(x; b) in the kind and float type of X."""
    f = Curve(function, None).values(X, np.asarray(coef, np.float64))
    return like(f.astype(float_type(X)), X)


class NonlinearRegressor(RegressorMixin, Estimator):
    r"""Least squares for a function of one's own.

    .. math:: \min_b \sum_i w_i (y_i - f(x_i; b))^2

    Notes
    -----
    The function is called as ``function(X, *parameters)`` with an array of rows and returns one number for each, row by
    row: large data reach it in blocks, perhaps from several threads, and sparse data as dense blocks. Cost: an
    iteration takes a Jacobian (two calls of the function per parameter without jac) and 2 n k² operations, a trial
    step one call. Sample weights are frequencies. Shape of computation: iterate, so arrays, frames, `Batches` and Dask
    collections are all fitted by the same code. A function is code, which no model file holds: only a model with
    function=None can be saved. The solution is a local one: good starts matter.

    References
    ----------
    Bates, Watts (1988), doi:10.1002/9780470316757; Moré (1978), doi:10.1007/BFb0067700.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.linear_model import NonlinearRegressor
    >>> X = np.arange(8.0)[:, None]
    >>> y = 3.0 * np.exp(-0.5 * X[:, 0]) + 0.01 * np.cos(9 * X[:, 0])
    >>> model = NonlinearRegressor(lambda X, a, rate: a * np.exp(-rate * X[:, 0]), p0=[1.0, 1.0]).fit(X, y)
    >>> model.coef_.round(2), model.standard_errors_.round(3)
    (array([3.01, 0.5 ]), array([0.007, 0.002]))
    """

    _test_params = [{}, {"jac": "complex"}, {"method": "gauss-newton", "jac": "central"}]
    _test_skips = {
        "constant_columns/shift": "The constant of the linear function is one of its parameters, not an intercept.",
    }

    function: Any = param(
        None, [is_callable, none], "``function(X, *parameters)``: predictions for rows X. None: linear with a constant."
    )
    p0: Any = param(
        None,
        [array_like, none],
        "First parameters. None: the defaults in the function's signature, 1 for those that have none.",
    )
    jac: Any = param(
        None,
        [is_callable, one_of(*DIFFERENCE_KINDS), none],
        "``jac(X, *parameters)``: derivatives, a column for each parameter; or the kind of differences. None: central.",
    )
    bounds: Any = param(
        None, [array_like, none], "Lower and upper limits of the parameters: a pair of numbers or of arrays."
    )
    method: str = param("lm", one_of("lm", "gauss-newton"), "Levenberg–Marquardt or damped Gauss–Newton.")
    max_iter: int = param(2000, whole(1), "Most iterations.")
    tol: float = param(
        1e-8, at_least(0), "Share of the residuals that the parameters could still explain, at which to stop."
    )

    _attrs = [
        attr("coef_", "(n_parameters,)", "The parameters b, in the order of the function's arguments."),
        attr("standard_errors_", "(n_parameters,)", "Their approximate standard errors; infinite if undetermined."),
        attr("covariance_", "(n_parameters, n_parameters)", "Their approximate covariance."),
        attr("residual_variance_", "float", "Σ w r²/(Σ w − n_parameters)."),
        attr("dof_", "float", "Degrees of freedom, Σ w − n_parameters."),
        attr("n_iter_", "int", "Iterations."),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "NonlinearRegressor":
        """Fit to rows X with targets y; sample_weight counts rows."""
        rows = self._rows(X, y, sample_weight)
        function, dtype = self.function or linear, float_type(rows)
        start = first_parameters(function, self.p0, rows.n_features)
        refuse_square(len(start), "use a function of fewer parameters")
        bounds = check_bounds(self.bounds, start)
        curve = Curve(function, self._jacobian(start, bounds))
        how = {"tol": self.tol, "max_iter": self.max_iter, "bounds": bounds, "damped": self.method == "lm"}
        with FitProgress(self, self.max_iter, X=X, y=y, attributes=lambda b: {"coef_": b.astype(dtype)}) as progress:
            fit = solve(rows, curve, start, report=progress.report, **how)
        self.coef_, self.covariance_ = fit.result.x.astype(dtype), fit.covariance
        self.standard_errors_ = np.sqrt(np.diag(fit.covariance))
        self.residual_variance_, self.dof_ = fit.variance, fit.dof
        report_convergence(self, fit.result)
        return self

    def _jacobian(self, b: Array, bounds: Any) -> Any:
        if callable(self.jac):
            return self.jac
        if self.function is None and self.jac is None:
            return linear_jacobian
        return differences(self.jac or "central", b, *bounds)

    def predict(self, X: Any) -> Any:
        """Predicted targets for rows X."""
        return self._after_fit()._map_rows(X, partial(predict, function=self.function or linear), self.coef_)

    def interval(self, level: float = 0.95) -> Array:
        """Confidence limits of the parameters, (n_parameters, 2): b ± t·(standard error)."""
        check_is_fitted(self)
        margin = self._quantile(level) * self.standard_errors_
        return np.stack([self.coef_ - margin, self.coef_ + margin], axis=1)

    def predict_interval(self, X: Any, level: float = 0.95, kind: str = "mean") -> Prediction:
        """Means of new rows in memory with a confidence interval, or (kind="observation") a prediction interval."""
        if kind not in ("mean", "observation"):
            raise ParameterError(f"kind must be 'mean' or 'observation', got {kind!r}.")
        check_is_fitted(self)
        rows = self._rows(X, target="none", reset=False).require_memory(
            "Intervals of predictions are for rows in memory: predict batch by batch."
        )
        b = np.asarray(self.coef_, np.float64)
        curve = Curve(self.function or linear, self._jacobian(b, check_bounds(None, b)))
        mean, J = rows.map(curve.values, b), curve.jacobian(rows.X, b)
        with np.errstate(invalid="ignore"):  # ∞·0 for what the data do not determine
            variance = np.nan_to_num(np.einsum("ij,jk,ik->i", J, self.covariance_, J), nan=np.inf, posinf=np.inf)
        error = np.sqrt(variance + (self.residual_variance_ if kind == "observation" else 0.0))
        margin = self._quantile(level) * error
        return Prediction(mean, error, mean - margin, mean + margin)

    def _quantile(self, level: float) -> float:
        if not 0 < level < 1:
            raise ParameterError(f"level must be between 0 and 1, got {level!r}.")
        return float(special.stdtrit(self.dof_, 0.5 + 0.5 * level)) if self.dof_ > 0 else math.inf
