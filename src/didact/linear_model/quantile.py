r"""Quantile regression: a quantile of y, instead of its mean, as a linear function of x.

.. math:: \min_{b, b_0} \frac1W\sum_i w_i\,\rho_\tau(y_i - x_i^Tb - b_0) + \alpha\|b\|_1,\qquad
          \rho_\tau(r) = \max(\tau r, (\tau-1)r)

A share of at most τ of the weight lies above no, and at most 1 − τ below no, optimal fit, whatever the noise: outliers
in y count by their side alone. The problem is a linear program. The interior-point method of `engines.quantile_program`
takes ten to twenty iterations of n p²; HiGHS's simplex and interior-point methods are there for comparison, and for
rows with more columns than rows.

Koenker, Bassett (1978), Regression quantiles, doi:10.2307/1913643; Koenker, Portnoy (1997), The Gaussian hare and the
Laplacian tortoise, doi:10.1214/ss/1030037960.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.base import RegressorMixin

from didact.core.backend import float_type, is_sparse, to_numpy
from didact.core.errors import InputError, ParameterError
from didact.core.estimator import Estimator, report_convergence
from didact.core.overflow import largest_entries
from didact.core.parameters import at_least, attr, between, is_bool, none, one_of, param
from didact.core.progress import FitProgress
from didact.core.rows import Rows
from didact.core.typing import Array
from didact.engines.constrained.quantile_program import quantile_program
from didact.engines.loop.result import Result
from didact.linear_model.inference.from_models import no_inference
from didact.linear_model.linear_regression import predict

OWN_OPTIONS = {"tol", "max_iter"}
MOST = 200  # iterations of the interior-point method
SMALL = 1_000_000  # entries of X for which the simplex method takes over where rounding stops the interior-point method
WIDE = 300  # columns from which, if there are fewer rows, the program is smaller than the matrix of columns
OUTCOMES = {0: "converged", 1: "iteration limit", 2: "infeasible", 3: "unbounded", 4: "no progress"}


def by_highs(rows: Rows, quantile: float, alpha: float, fit_intercept: bool, method: str, options: Any) -> Result:
    """The linear program of b⁺, b⁻ and both parts of the residuals, by HiGHS."""
    X, y, w, *_ = rows.whole().each(lambda c: c if is_sparse(c) else to_numpy(c))
    rows.reduce(largest_entries)  # refuses NaN by name
    w = np.ones(len(y)) if w is None else w
    keep = np.flatnonzero(w > 0)
    w = w[keep] / w.sum()
    Z = sp.hstack([sp.csc_array(X[keep]), sp.csc_array(np.ones((len(keep), int(fit_intercept))))], format="csc")
    strength = np.append(np.full(X.shape[1], alpha), np.zeros(int(fit_intercept)))
    eye = sp.eye_array(len(keep), format="csc")
    found = linprog(
        np.concatenate([strength, strength, quantile * w, (1.0 - quantile) * w]),
        A_eq=sp.hstack([Z, -Z, eye, -eye], format="csc"),
        b_eq=y[keep],
        method=method,
        options=options,
    )
    k = Z.shape[1]
    status = OUTCOMES[found.status]
    if found.x is None:
        raise InputError(f"HiGHS found no solution of the quantile regression ({status}): {found.message}")
    return Result(found.x[:k] - found.x[k : 2 * k], float(found.fun), int(found.nit), status, 0.0)


class QuantileRegressor(RegressorMixin, Estimator):
    r"""Linear regression of a quantile, with an L1 penalty.

    .. math:: \min_{b, b_0} \frac1W\sum_i w_i\max(\tau r_i, (\tau-1)r_i) + \alpha\|b\|_1,\quad r_i = y_i - x_i^Tb - b_0

    Notes
    -----
    Cost: ten to twenty iterations, each four passes and n p². Memory of some ten numbers a row; X may come in batches
    (not for HiGHS). The fit goes through as many rows as there are coefficients, exactly; where several fits are best,
    as for the median of an even number of rows, one of them is returned, with the lowest constant term. Shape of
    computation: iterate. Differs from scikit-learn: ``solver="interior-point"`` is the default and the library's own,
    many times as fast as HiGHS on many rows and as exact; ``"revised simplex"`` is HiGHS's dual simplex.

    References
    ----------
    Koenker, Bassett (1978), doi:10.2307/1913643; Koenker, Portnoy (1997), doi:10.1214/ss/1030037960.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.linear_model import QuantileRegressor
    >>> X, y = np.arange(5.0)[:, None], np.array([0.0, 1.0, 2.0, 3.0, 100.0])
    >>> QuantileRegressor(quantile=0.5, alpha=0).fit(X, y).coef_.round(6)
    array([1.])
    """

    _largest_target = np.inf

    _test_params = [{}, {"quantile": 0.8, "alpha": 0.001}]

    quantile: float = param(0.5, between(0, 1, "neither"), "The quantile τ to predict.")
    alpha: float = param(1.0, at_least(0), "Strength of the L1 penalty.")
    fit_intercept: bool = param(True, is_bool, "Whether to add a constant term, which is not penalised.")
    solver: str = param(
        "interior-point",
        one_of("interior-point", "highs", "highs-ds", "highs-ipm", "revised simplex"),
        "The library's own method in passes over the rows, or one of HiGHS (rows in memory only).",
    )
    solver_options: Any = param(
        None,
        [dict, none],
        "Options of HiGHS as SciPy's `linprog` takes them; for the own method tol (largest relative gap, 1e-12) and "
        "max_iter (200).",
    )

    _attrs = [
        attr("coef_", "(n_features,)", "Coefficients."),
        attr("intercept_", "float", "Constant term."),
        attr("n_iter_", "int", "Iterations of the solver."),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "QuantileRegressor":
        """Fit to rows X with targets y; sample_weight counts rows."""
        rows = self._rows(X, y, sample_weight, target="numeric")
        with FitProgress(self, MOST, X=X, y=y, attributes=lambda x: self._fitted(rows, x)) as progress:
            result = self._solve(rows, progress.report)
        self.__dict__.update(self._fitted(rows, result.x))
        report_convergence(self, result)
        return self

    def _solve(self, rows: Rows, report: Any) -> Result:
        problem = rows, self.quantile, self.alpha, self.fit_intercept
        options = dict(self.solver_options or {})
        wide = rows.n_rows is not None and rows.n_features > max(rows.n_rows, WIDE) and not options
        if self.solver == "interior-point" and not wide:
            if not options.keys() <= OWN_OPTIONS:
                raise ParameterError(
                    f"solver='interior-point' has the options tol and max_iter, not {sorted(options)}."
                )
            result = quantile_program(*problem, report=report, **options)
            small = rows.n_rows is not None and rows.n_rows * rows.n_features <= SMALL
            return by_highs(*problem, "highs-ds", {}) if result.status == "no progress" and small else result
        rows.require_memory(f"solver={self.solver!r} needs all rows in memory: use solver='interior-point'.")
        method = {"revised simplex": "highs-ds", "interior-point": "highs"}.get(self.solver, self.solver)
        return by_highs(*problem, method, options)

    def _fitted(self, rows: Rows, x: Array) -> dict[str, Any]:
        dtype, p = float_type(rows), rows.n_features
        return {"coef_": x[:p].astype(dtype), "intercept_": dtype(x[p] if self.fit_intercept else 0.0)}

    inference = no_inference("LinearRegression, for the mean,")

    def predict(self, X: Any) -> Any:
        """The predicted quantile for rows X."""
        return self._after_fit()._map_rows(X, predict, self.coef_, self.intercept_)
