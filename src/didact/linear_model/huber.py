r"""Huber's regression with its scale: least squares for small residuals, least absolute values for large ones.

.. math:: \min_{w, b, \sigma} \sum_i s_i\Big(\sigma + H_\epsilon\Big(\frac{y_i - x_i^Tw - b}{\sigma}\Big)\sigma\Big)
    + \alpha\|w\|^2, \qquad H_\epsilon(t) = \begin{cases} t^2 & |t| \le \epsilon\\ 2\epsilon|t|-\epsilon^2\end{cases}

The objective is convex in (w, b, σ) together. With :math:`\psi_i = r_i/\sigma` held within ±ε, a row contributes the
value :math:`\sigma + \psi(2r - \sigma\psi)` and the slopes :math:`-2\psi x` and :math:`1-\psi^2`; the curvature comes
from the rows inside alone, so that Newton's step is a weighted least squares fit to them with r/σ as one more feature.
A step costs a pass of n p²; L-BFGS, for many features, n p. A scale that falls to zero means an exact fit, and ends it.

Huber (1964), Robust estimation of a location parameter, doi:10.1214/aoms/1177703732; Owen (2007), A robust hybrid of
lasso and ridge regression, doi:10.1090/conm/443/08555.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import RegressorMixin

from didact.core.backend import float_type, is_tensor, like, namespace, to_host, to_numpy
from didact.core.estimator import Estimator
from didact.core.parameters import at_least, is_bool, param, whole
from didact.core.progress import FitProgress
from didact.core.rows import MemoryRows, Rows
from didact.engines.lbfgs import lbfgs
from didact.engines.line_search import ROUNDING, Armijo
from didact.engines.newton import newton
from didact.engines.result import Result
from didact.linear_model.linear_regression import predict
from didact.parts.statistics import Moments, Sums, gram, moments

Array = np.ndarray[Any, Any]

NEWTON_FEATURES = 300  # most features for which a matrix of curvatures is worth a pass
EXACT = 1e-10  # share of the spread of y at which the scale counts as zero
FURTHEST = 0.9  # share of the scale by which one step may lower it


def summarize(
    X: Any, y: Any, w: Any, coef: Array, intercept: float, scale: float, epsilon: float, curvature: bool
) -> Sums:
    """Value and gradient of a block, and with curvature the cross-products of the rows inside."""
    X = X.astype(np.float64, copy=False) if not is_tensor(X) else X
    xp = namespace(X)
    r = y - (X @ like(coef, X) + intercept)
    t = r / scale
    psi = xp.clip(t, -epsilon, epsilon)
    each = xp.ones_like(t) if w is None else w
    push = each * psi
    parts = [xp.sum(each * scale + push * (2.0 * r - scale * psi)), -2.0 * (X.T @ push), -2.0 * xp.sum(push)]
    parts.append(xp.sum(each * (1.0 - psi * psi)))
    if curvature:
        inside = each * xp.astype(psi == t, each.dtype)
        parts += [gram(X, inside), X.T @ inside, X.T @ (inside * t)]
        parts += [xp.sum(inside), xp.sum(inside * t), xp.sum(inside * t * t)]
    return Sums(to_host(*parts))


class Objective(NamedTuple):
    """The objective divided by the sum of weights W, as a function of (w, b, σ)."""

    rows: Rows
    epsilon: float
    alpha: float  # α/W
    weight: float  # W
    fit_intercept: bool
    exact: float  # the scale that counts as zero

    def split(self, x: Array) -> tuple[Array, float, float]:
        """Coefficients, constant term and scale."""
        return x[: self.rows.n_features], float(x[-2]) if self.fit_intercept else 0.0, float(x[-1])

    def value_gradient(self, x: Array, curvature: bool = False) -> tuple[Any, ...]:
        """Value and gradient, infinite for a scale below zero; at an exact fit the gradient is zero."""
        coef, intercept, scale = self.split(x)
        if scale <= 0:
            return (np.inf, np.zeros_like(x), np.zeros((len(x), len(x))))[: 2 + curvature]
        args = (coef, intercept, scale, self.epsilon, curvature)
        value, slope, slope0, slope_scale, *second = self.rows.reduce(summarize, *args).parts
        value = float(value) / self.weight + self.alpha * float(coef @ coef)
        slope = slope / self.weight + 2 * self.alpha * coef
        tail = [slope0, slope_scale] if self.fit_intercept else [slope_scale]
        gradient = np.append(slope, np.asarray(tail) / self.weight) if scale > self.exact else np.zeros_like(x)
        return (value, gradient, self._hessian(second, scale)) if curvature else (value, gradient)

    def value_gradient_hessian(self, x: Array) -> tuple[Any, ...]:
        """With the matrix of curvatures."""
        return self.value_gradient(x, True)

    def _hessian(self, second: list[Any], scale: float) -> Array:
        G, edge, edge_t, ones, t, tt = second
        p = len(edge)
        H = np.block([[G, edge[:, None], edge_t[:, None]], [edge, ones, t], [edge_t, t, tt]])
        H *= 2.0 / (scale * self.weight)
        H[np.arange(p), np.arange(p)] += 2 * self.alpha
        keep = np.arange(p + 2) if self.fit_intercept else np.delete(np.arange(p + 2), p)
        return H[np.ix_(keep, keep)]


class KeepsScale(NamedTuple):
    """A line search whose first step leaves the last coordinate a tenth of what it is."""

    search: Any

    def __call__(self, objective: Any, start: Any, direction: Array, length: float = 1.0, noise: float = 0.0) -> Any:
        """The inner search, from a shorter step where the scale would fall too far."""
        if direction[-1] < 0:
            length = min(length, -FURTHEST * start.x[-1] / direction[-1])
        return self.search(objective, start, direction, length, noise)


def minimise(objective: Objective, x0: Array, tol: float, max_iter: int, report: Any = None) -> Result:
    """Newton for few features, L-BFGS for many."""
    rows = objective.rows
    single = isinstance(rows, MemoryRows) and is_tensor(rows.X) and str(rows.dtype).endswith("float32")
    noise = 1e-8 if single else ROUNDING
    if rows.n_features <= NEWTON_FEATURES:
        search = KeepsScale(Armijo(1e-4, 0.5, 30))
        return newton(objective.value_gradient_hessian, x0, tol, max_iter, report, noise, search)
    return lbfgs(objective.value_gradient, x0, tol, max_iter, report, noise=noise)


def target_moments(X: Any, y: Any, w: Any) -> Moments:
    """Mean and scatter of the targets of a block."""
    return moments(y[:, None], y, w)


class HuberRegressor(RegressorMixin, Estimator):
    r"""Linear regression that outliers in y do not spoil, with a scale estimated jointly.

    .. math:: \min_{w, b, \sigma} \sum_i s_i\Big(\sigma + H_\epsilon\Big(\frac{y_i - x_i^Tw - b}{\sigma}\Big)\sigma\Big)
        + \alpha\|w\|^2

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients.
    intercept_ : float
        Constant term.
    scale_ : float
        The scale σ; about 0 if the model fits most rows exactly.
    outliers_ : ndarray of shape (n_samples,)
        Whether a row lies further than εσ from the fit (not for batches and Dask collections).
    n_iter_ : int
        Iterations of the solver.

    Notes
    -----
    Cost: some ten passes of n p² (Newton) up to 300 features; beyond, passes of n p (L-BFGS). Sample weights are
    frequencies. Shape of computation: iterate. `tol` is for the gradient of the mean loss, which does not depend on
    the units of y. Rows far away in x still have leverage: outliers in y alone are resisted.

    References
    ----------
    Huber (1964), doi:10.1214/aoms/1177703732; Owen (2007), doi:10.1090/conm/443/08555.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.linear_model import HuberRegressor
    >>> x = np.arange(10.0)
    >>> y = 2 * x + 1 + 0.1 * np.cos(5 * x)
    >>> y[8] = 100.0
    >>> model = HuberRegressor().fit(x[:, None], y)
    >>> model.coef_.round(2), np.flatnonzero(model.outliers_)
    (array([2.01]), array([8]))
    """

    epsilon: float = param(1.35, at_least(1.0), "Residuals beyond epsilon times the scale count as absolute values.")
    max_iter: int = param(100, whole(0), "Most iterations of the solver.")
    alpha: float = param(0.0001, at_least(0), "Strength of the L2 penalty.")
    warm_start: bool = param(False, is_bool, "Whether to start from the coefficients and the scale of the last fit.")
    fit_intercept: bool = param(True, is_bool, "Whether to add a constant term, which is not penalised.")
    tol: float = param(1e-05, at_least(0), "Largest entry of the mean gradient at which the fit ends.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "HuberRegressor":
        """Fit to rows X with targets y; sample_weight counts rows."""
        rows = self.rows(X, y, sample_weight, target="numeric")
        objective, start = self._objective(rows)
        with FitProgress(self, self.max_iter, X=X, y=y, attributes=lambda x: self._fitted(objective, x)) as progress:
            result = minimise(objective, start, self.tol, self.max_iter, progress.report)
        vars(self).update(self._fitted(objective, result.x))
        self.report_convergence(result)
        vars(self).pop("outliers_", None)
        if isinstance(rows, MemoryRows):
            error = np.abs(to_numpy(rows.columns[1]) - to_numpy(predict(rows.X, self.coef_, self.intercept_)))
            self.outliers_ = error > self.epsilon * self.scale_
        return self

    def _objective(self, rows: Rows) -> tuple[Objective, Array]:
        S = rows.reduce(target_moments)
        S = S if self.fit_intercept else S.about_zero()
        spread = float(np.sqrt(S.yy[0] / S.weight))
        exact = EXACT * spread if spread > 0 else 1e-100
        objective = Objective(rows, self.epsilon, self.alpha / S.weight, S.weight, self.fit_intercept, exact)
        tail = [S.mean_y[0]] if self.fit_intercept else []
        if self.warm_start and np.shape(getattr(self, "coef_", None)) == (rows.n_features,):
            tail = [self.intercept_] if self.fit_intercept else []
            return objective, np.concatenate([self.coef_, tail, [max(self.scale_, exact)]]).astype(np.float64)
        return objective, np.concatenate([np.zeros(rows.n_features), tail, [max(spread, exact)]])

    def _fitted(self, objective: Objective, x: Array) -> dict[str, Any]:
        coef, intercept, scale = objective.split(x)
        dtype = float_type(objective.rows)
        return {"coef_": coef.astype(dtype), "intercept_": dtype(intercept), "scale_": scale}

    def predict(self, X: Any) -> Any:
        """Predicted targets for rows X."""
        return self.map_rows(X, predict, "coef_", "intercept_")
