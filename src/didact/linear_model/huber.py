r"""Huber's regression with its scale: least squares for small residuals, least absolute values for large ones.

.. math:: \min_{w, b, \sigma} \sum_i s_i\Big(\sigma + H_\epsilon\Big(\frac{y_i - x_i^Tw - b}{\sigma}\Big)\sigma\Big)
    + \alpha\|w\|^2, \qquad H_\epsilon(t) = \begin{cases} t^2 & |t| \le \epsilon\\ 2\epsilon|t|-\epsilon^2\end{cases}

The objective is convex in (w, b, σ) together. With :math:`\psi_i = r_i/\sigma` held within ±ε, a row contributes the
value :math:`\sigma + \psi(2r - \sigma\psi)` and the slopes :math:`-2\psi x` and :math:`1-\psi^2`. The curvature comes
from the rows inside alone, so that Newton's step is a weighted least squares fit to them with r/σ as one more feature.
Where few rows are inside that step leads astray; those outside therefore get the curvature :math:`\epsilon\sigma/|r|`
of the parabola that touches them from above (reweighted least squares), times a share that vanishes with the gradient.
A step costs a pass of n p²; L-BFGS, for many features, n p. A scale that falls to zero means an exact fit, and ends it.

Huber (1964), Robust estimation of a location parameter, doi:10.1214/aoms/1177703732; Owen (2007), A robust hybrid of
lasso and ridge regression, doi:10.1090/conm/443/08555.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import float_type, is_tensor, like, namespace, to_host, to_numpy
from didact.core.estimator import report_convergence
from didact.core.overflow import refuse_overflow
from didact.core.parameters import at_least, attr, is_bool, param, whole
from didact.core.progress import FitProgress
from didact.core.rows import Block, Rows
from didact.core.rows.memory import block_by_block, column_pass, compiled_pass
from didact.core.typing import Array
from didact.engines.linear.column_units import FAILED, column_units, far_means, in_units, less_means
from didact.engines.linear.objective import bordered, rounding
from didact.engines.loop.iterate import iterate
from didact.engines.loop.line_search import Armijo
from didact.engines.loop.result import Result
from didact.engines.smooth.lbfgs import lbfgs
from didact.engines.smooth.newton import NewtonState, newton_direction
from didact.linear_model.huber_loops import huber_sums
from didact.linear_model.inference.from_models import no_inference
from didact.linear_model.linear_regression import _LinearRegressor, predict
from didact.parts.statistics.moments import NARROW, Moments, Sums, moments

NEWTON_FEATURES = 300  # most features for which a matrix of curvatures is worth a pass
EXACT = 1e-10  # share of the spread of y at which the scale counts as zero,
NEARLY_EXACT = 1e-5  # and at which it does so if rounding allows no better
RIDGE = 1e-2  # curvature in the scale, by share: towards an exact fit the objective falls along a straight line
FURTHEST = 0.9  # share of the scale by which one step may lower it


def summarize(block: Block, theta: Array, scale: float, epsilon: float, share: Any) -> Sums:
    """Value and slopes, in θ = (w, b) and σ, of a block; unless share is None also second derivatives.

    In these rows outside count by share.
    """
    X, w = block.X, block.weight
    X = X if is_tensor(X) else X.astype(np.float64, copy=False)
    xp = namespace(X)
    r = block.y - (X @ like(theta[:-1], X) + float(theta[-1]))
    t = r / scale
    psi = xp.clip(t, -epsilon, epsilon)
    each = xp.ones_like(t) if w is None else w
    push = each * psi
    value = xp.sum(each * scale + push * (2.0 * r - scale * psi))
    value, slopes, last, slope = to_host(value, X.T @ push, xp.sum(push), xp.sum(each * (1.0 - psi * psi)))
    slopes = -2.0 * np.append(slopes, last)
    if share is None:
        return Sums((value, slopes, slope))
    inside = each * xp.astype(psi == t, each.dtype)
    outside = share * (each - inside)
    bent = inside + outside * epsilon / xp.clip(xp.abs(t), epsilon, None)
    square = xp.sum((inside + outside) * psi * psi + share * RIDGE * each)
    cross, last, square = to_host(X.T @ (inside * t), xp.sum(inside * t), square)
    return Sums((value, slopes, slope, bordered(X, bent), np.append(cross, last), square))


@compiled_pass
def summarize_narrow(block: Block, theta: Array, scale: float, epsilon: float, share: float | None) -> Sums:
    """`summarize` as one compiled loop, for dense rows of up to a few hundred features."""
    if not isinstance(block.X, np.ndarray):
        return block_by_block(summarize, block, theta, scale, epsilon, share)
    return Sums(tuple(huber_sums(block.X, block.y, block.weight, theta, scale, epsilon, share, RIDGE)))


class Objective(NamedTuple):
    """The objective divided by the sum of weights W, as a function of (w, b, σ)."""

    rows: Rows
    epsilon: float
    alpha: Any  # α/W, a number or one for each feature
    weight: float  # W
    fit_intercept: bool
    exact: float  # the scale that counts as zero

    def split(self, x: Array) -> tuple[Array, float]:
        """θ = (w, b), with b = 0 if it is not fitted, and the scale."""
        return np.append(x[: self.rows.n_features], x[-2] if self.fit_intercept else 0.0), float(x[-1])

    def value_gradient(self, x: Array, share: float | None = None) -> tuple[Any, ...]:
        """Value and gradient, infinite for a scale below zero; at an exact fit the gradient is zero."""
        theta, scale = self.split(x)
        if scale <= 0:
            return np.inf, np.zeros_like(x), None
        sums = summarize_narrow if self.rows.n_features <= NARROW else summarize
        value, slopes, slope, *second = self.rows.reduce(sums, theta, scale, self.epsilon, share).parts
        pull = self.alpha * theta[:-1]
        value = float(value) / self.weight + float(np.sum(pull * theta[:-1]))
        gradient = np.append(slopes, slope) / self.weight
        gradient[:-2] += 2 * pull
        gradient = gradient[self._fitted] if scale > self.exact else np.zeros_like(x)
        return value, gradient, self._hessian(scale, *second) if second else None

    @property
    def _fitted(self) -> Array:
        """Places of the parameters among (w, b, σ)."""
        p = self.rows.n_features
        return np.arange(p + 2) if self.fit_intercept else np.append(np.arange(p), p + 1)

    def _hessian(self, scale: float, H: Array, cross: Array, square: float) -> Array:
        H = np.block([[H, cross[:, None]], [cross, square]]) * (2.0 / (scale * self.weight))
        each = np.arange(self.rows.n_features)
        H[each, each] += 2 * self.alpha
        return H[np.ix_(self._fitted, self._fitted)]


def bounded_direction(s: NewtonState) -> Array:
    """Newton's step, among those that leave the scale a tenth of what it is."""
    direction = newton_direction(s.hessian, s.gradient)
    least = -FURTHEST * s.x[-1]
    if not direction[-1] < least:
        return direction
    H, g = s.hessian, s.gradient
    return np.append(newton_direction(H[:-1, :-1], g[:-1] + least * H[:-1, -1]), least)


def newton_huber(objective: Objective, x0: Array, tol: float, max_iter: int, report: Any, noise: float) -> Result:
    """Newton's method, in which no step lowers the scale to less than a tenth."""
    search = Armijo()

    def step(s: NewtonState) -> NewtonState | None:
        share, direction = min(1.0, s.optimality), bounded_direction(s)
        if not np.isfinite(direction).all():
            return s._replace(value=math.nan)  # the curvature has overflowed: "not finite"
        found = search(lambda x: objective.value_gradient(x, share), s, direction, 1.0, noise)
        return None if found is None else NewtonState(*found.point)

    return iterate(NewtonState(x0, *objective.value_gradient(x0, 1.0)), step, tol, max_iter, report)


def minimise(objective: Objective, x0: Array, tol: float, max_iter: int, report: Any = None) -> Result:
    """The best (w, b, σ); where that fails, in units of extreme columns, or from the means of those far from 0."""
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is reported in words
        result = descend(objective, x0, tol, max_iter, report)
    if result.status not in FAILED:
        return result
    p, rows = objective.rows.n_features, objective.rows
    units, means = column_units(rows), None
    if units is not None:
        changed = objective._replace(rows=rows.prepared(in_units, units), alpha=objective.alpha / units / units)
    else:
        means = far_means(rows, objective.weight, objective.fit_intercept)
        if means is None:
            return result
        changed = objective._replace(rows=rows.prepared(less_means, means))

    def placed(x: Array, sign: int) -> Array:
        """Parameters for the changed columns, or (−1) from those for the columns as they are."""
        x = x.copy()
        if units is not None:
            x[:p] *= units**sign
        else:
            x[p] += sign * float(x[:p] @ means)
        return x

    told = None if report is None else lambda i, value, x: report(i, value, placed(x, -1))
    result = descend(changed, placed(x0, 1), tol, max_iter, told)
    result.x = placed(result.x, -1)
    return result


def descend(objective: Objective, x0: Array, tol: float, max_iter: int, report: Any = None) -> Result:
    """Newton for few features, L-BFGS for many."""
    rows = objective.rows
    noise = rounding(rows)
    if rows.n_features <= NEWTON_FEATURES:
        result = newton_huber(objective, x0, tol, max_iter, report, noise)
    else:
        result = lbfgs(lambda x: objective.value_gradient(x)[:2], x0, tol, max_iter, report, noise=noise)
    if result.status == "no progress" and result.x[-1] <= NEARLY_EXACT / EXACT * objective.exact:
        result.status = "converged"
    return result


@column_pass
def target_moments(block: Block) -> Moments:
    """Mean and scatter of the targets of a block."""
    y = block.y
    return moments(block._replace(X=y[:, None]))


class HuberRegressor(_LinearRegressor):
    r"""Linear regression that outliers in y do not spoil, with a scale estimated jointly.

    .. math:: \min_{w, b, \sigma} \sum_i s_i\Big(\sigma + H_\epsilon\Big(\frac{y_i - x_i^Tw - b}{\sigma}\Big)\sigma\Big)
        + \alpha\|w\|^2

    Notes
    -----
    Cost: some ten passes of n p² (Newton) up to 300 features; beyond, passes of n p (L-BFGS). Sample weights are
    frequencies. Shape of computation: iterate. `tol` is for the gradient of the mean loss, which does not depend on
    the units of y. `alpha` stands beside a sum of losses, so that larger weights make it weaker. Rows far away in x
    still have leverage: outliers in y alone are resisted.

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
    >>> model.coef_.round(2), bool(model.outliers_[8])
    (array([2.]), True)
    """

    _tensors = True
    _test_skips = {
        "weight_scale": "alpha stands beside a sum of losses, as in scikit-learn: twice the weights are half of alpha."
    }

    epsilon: float = param(1.35, at_least(1.0), "Residuals beyond epsilon times the scale count as absolute values.")
    max_iter: int = param(100, whole(0), "Most iterations of the solver.")
    alpha: float = param(0.0001, at_least(0), "Strength of the L2 penalty.")
    warm_start: bool = param(False, is_bool, "Whether to start from the coefficients and the scale of the last fit.")
    fit_intercept: bool = param(True, is_bool, "Whether to add a constant term, which is not penalised.")
    tol: float = param(1e-05, at_least(0), "Largest entry of the mean gradient at which the fit ends.")

    _attrs = [
        attr("coef_", "(n_features,)", "Coefficients."),
        attr("intercept_", "float", "Constant term."),
        attr("scale_", "float", "The scale σ; about 0 if the model fits most rows exactly."),
        attr("outliers_", "(n_samples,)", "Whether a row in memory lies further than εσ from the fit.", when="data"),
        attr("n_iter_", "int", "Iterations of the solver."),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "HuberRegressor":
        """Fit to rows X with targets y; sample_weight counts rows."""
        rows = self._rows(X, y, sample_weight, target="numeric")
        objective, start = self._objective(rows)
        with FitProgress(self, self.max_iter, X=X, y=y, attributes=lambda x: self._fitted(objective, x)) as progress:
            result = minimise(objective, start, self.tol, self.max_iter, progress.report)
        self.__dict__.update(self._fitted(objective, result.x))
        report_convergence(self, result)
        if rows.n_rows is not None:
            X, y, *_ = rows.whole()
            error = np.abs(to_numpy(y) - to_numpy(predict(X, self.coef_, self.intercept_)))
            self.outliers_ = error > self.epsilon * self.scale_
        return self

    def _objective(self, rows: Rows) -> tuple[Objective, Array]:
        S = rows.reduce(target_moments)
        refuse_overflow(rows, S.yy)
        S = S if self.fit_intercept else S.about_zero()
        spread = float(np.sqrt(S.yy[0] / S.weight))
        exact = EXACT * spread if spread > 0 else 1e-100
        objective = Objective(
            rows=rows,
            epsilon=self.epsilon,
            alpha=self.alpha / S.weight,
            weight=S.weight,
            fit_intercept=self.fit_intercept,
            exact=exact,
        )
        tail = [S.mean_y[0]] if self.fit_intercept else []
        if self.warm_start and np.shape(getattr(self, "coef_", ())) == (rows.n_features,):
            tail = [self.intercept_] if self.fit_intercept else []
            return objective, np.concatenate([self.coef_, tail, [max(self.scale_, exact)]]).astype(np.float64)
        return objective, np.concatenate([np.zeros(rows.n_features), tail, [max(spread, exact)]])

    def _fitted(self, objective: Objective, x: Array) -> dict[str, Any]:
        theta, scale = objective.split(x)
        theta = theta.astype(float_type(objective.rows))
        return {"coef_": theta[:-1], "intercept_": theta[-1], "scale_": scale}

    inference = no_inference("LinearRegression, for its robust covariances")
