r"""Statistical inference for unpenalised linear models: what `model.inference(X, y)` returns.

For coefficients β with information I = Σ f a h u uᵀ (see `influence`) and dispersion φ, estimates are approximately
normal with covariance φ I⁻¹, or with a sandwich that does not rely on the variance function. Hence standard errors,
Wald tests :math:`(R\beta-r)^T(RVR^T)^{-1}(R\beta-r)`, likelihood-ratio tests :math:`2(\ell_1-\ell_0)`, intervals of
coefficients, means and observations, and criteria :math:`\mathrm{AIC}=-2\ell+2k`, :math:`\mathrm{BIC}=-2\ell+k\log n`.

McCullagh, Nelder (1989), doi:10.1007/978-1-4899-3242-6; White (1980), doi:10.2307/1912934; Liang, Zeger (1986),
doi:10.1093/biomet/73.1.13.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from didact.core.errors import ParameterError
from didact.core.rows import Rows
from didact.core.typing import Array
from didact.linear_model.inference.facts import Facts
from didact.linear_model.inference.hypotheses import TestResult, chi_result, f_result, wald
from didact.linear_model.inference.influence import Point, Terms, design, leverages, linear_scores, residuals, terms
from didact.linear_model.inference.prediction import Prediction, combined, predict_interval
from didact.linear_model.inference.summary import frame, text

KINDS = ("response", "pearson", "deviance", "standardized", "studentized", "working")


class _Source(NamedTuple):
    """Where an inference comes from: the model as it was, its point, rows and sums."""

    model: Any
    point: Point
    rows: Rows
    facts: Facts
    spread: Array  # D, with DDᵀ the covariance
    nested_null: bool  # whether the null model is a special case of the model
    reference: Any = None  # the class that others are compared with


@dataclass(frozen=True, eq=False, repr=False)
class Inference:
    r"""Standard errors, tests, intervals and diagnostics of an unpenalised linear model. Printing it gives the summary.

    Attributes
    ----------
    names : tuple of str
        Names of the coefficients, the intercept first; for several classes those of each class relative to the last.
    coefficients, standard_errors, statistics, p_values : ndarray of shape (n_coefficients,)
        Estimates, their standard errors, their ratio (t for normal y with estimated variance, otherwise z) and the
        two-sided p-value of the hypothesis that the coefficient is 0.
    covariance : ndarray of shape (n_coefficients, n_coefficients)
        Covariance matrix of the coefficients, of the kind `covariance_type`.
    dispersion : float
        Residual variance of a normal y; otherwise Pearson's χ²/df, or 1 where the family fixes it.
    n, df_model, df_residual : float
        Observations (Σ sample_weight; rows for a binomial or multinomial), slopes, and n less the coefficients.
    log_likelihood, null_log_likelihood, deviance, null_deviance : float
        Of the model, and of the model with a constant only.
    aic, bic : float
        Information criteria; smaller is better. Coefficients and an estimated parameter of the family (the negative
        binomial's alpha) count, the dispersion does not: the convention of statsmodels.
    r_squared, adjusted_r_squared : float
        1 − deviance/null deviance: R² of least squares, McFadden's for single trials.
    f_test : TestResult
        Test that all slopes are zero.
    leverage, cooks_distance : ndarray of shape (n_samples,)
        Diagonal of the hat matrix, and how far the fit moves without the row. Rows in memory only.

    Notes
    -----
    The log-likelihood of a normal y with estimated variance is the profile one (variance = deviance/n); that of other
    families with a dispersion is taken at Pearson's estimate. Robust covariances use the expected information as
    bread; t statistics of a clustered one have (groups − 1) degrees of freedom.

    References
    ----------
    McCullagh, Nelder (1989), doi:10.1007/978-1-4899-3242-6; White (1980), doi:10.2307/1912934.

    Examples
    --------
    >>> from didact.linear_model import LinearRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 5.0, 8.0]
    >>> result = LinearRegression().fit(X, y).inference(X, y)
    >>> result.standard_errors.round(4), round(result.r_squared, 4)
    (array([0.324 , 0.1732]), 0.9888)
    """

    names: tuple[str, ...]
    coefficients: Array
    covariance: Array
    covariance_type: str
    dispersion: float
    n: float
    df_model: float
    df_residual: float
    df_inference: float
    log_likelihood: float
    null_log_likelihood: float
    deviance: float
    null_deviance: float
    parameters: int
    _source: _Source = field(repr=False)

    @cached_property
    def standard_errors(self) -> Array:
        """Square roots of the covariance's diagonal."""
        return locked(np.sqrt(np.diag(self.covariance)))

    @cached_property
    def statistics(self) -> Array:
        """coefficient/standard error: t or z."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.coefficients / self.standard_errors

    @cached_property
    def p_values(self) -> Array:
        """Two-sided p-values."""
        return locked(2.0 * self._tail(np.abs(self.statistics)))

    @property
    def uses_t(self) -> bool:
        """Whether statistics are compared with Student's t (normal y, estimated variance) and not with the normal."""
        return bool(np.isfinite(self.df_inference))

    def _tail(self, statistic: Array) -> Array:
        """P(T > statistic)."""
        return special.stdtr(self.df_inference, -statistic) if self.uses_t else special.ndtr(-statistic)

    def _quantile(self, level: float) -> float:
        if not 0 < level < 1:
            raise ParameterError(f"level must be between 0 and 1, got {level!r}.")
        half = 0.5 + 0.5 * level
        return float(special.stdtrit(self.df_inference, half) if self.uses_t else special.ndtri(half))

    def interval(self, level: float = 0.95) -> Array:
        """Confidence limits of the coefficients, (n_coefficients, 2)."""
        margin = self._quantile(level) * self.standard_errors
        return np.stack([self.coefficients - margin, self.coefficients + margin], axis=1)

    @property
    def aic(self) -> float:
        """−2 log-likelihood + 2k."""
        return -2.0 * self.log_likelihood + 2.0 * self.parameters

    @property
    def bic(self) -> float:
        """−2 log-likelihood + k log n."""
        return -2.0 * self.log_likelihood + self.parameters * float(np.log(self.n))

    @property
    def r_squared(self) -> float:
        """1 − deviance/null deviance."""
        return 1.0 - self.deviance / self.null_deviance if self.null_deviance > 0 else float("nan")

    @property
    def adjusted_r_squared(self) -> float:
        """R² with both deviances divided by their degrees of freedom."""
        return 1.0 - (1.0 - self.r_squared) * (self.df_residual + self.df_model) / self.df_residual

    @property
    def f_test(self) -> TestResult:
        """That all slopes are zero: F for normal y, otherwise Wald's χ²."""
        source = self._source
        least_squares = source.point.least_squares and self.covariance_type == "model"
        if least_squares and self.uses_t and source.nested_null:  # from sums of squares: no loss of digits
            gain = (self.null_deviance - self.deviance) / self.df_model
            F = gain / self.dispersion if self.dispersion > 0 else (np.inf if gain > 0 else np.nan)
            return f_result(F, self.df_model, self.df_inference)
        return self.wald_test([name for name in self.names if not name.endswith("(intercept)")])

    def wald_test(self, hypothesis: Any, value: Any = 0.0) -> TestResult:
        """Test Rβ = value: R is a matrix, one row for each equation, or names of coefficients, all tested to be value.

        >>> from didact.linear_model import LinearRegression
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 5.0, 8.0]
        >>> round(LinearRegression().fit(X, y).inference(X, y).wald_test("x0", 2.0).p_value, 4)
        0.2254
        """
        R = self._contrast(hypothesis)
        if np.linalg.matrix_rank(R) < len(R):
            raise ParameterError("The rows of a hypothesis must be independent of each other and not zero.")
        gap = R @ self.coefficients - np.broadcast_to(np.asarray(value, np.float64), (len(R),))
        return wald(gap, R @ self._source.spread, self.df_inference)

    def _contrast(self, hypothesis: Any) -> Array:
        names = [hypothesis] if isinstance(hypothesis, str) else hypothesis
        if np.ndim(names) == 1 and len(names) and all(isinstance(name, str) for name in names):
            unknown = [name for name in names if name not in self.names]
            if unknown:
                raise ParameterError(f"There is no coefficient {unknown[0]!r}; there are {', '.join(self.names[:20])}.")
            return np.eye(len(self.names))[[self.names.index(name) for name in names]]
        try:
            R = np.atleast_2d(np.asarray(hypothesis, np.float64))
        except (TypeError, ValueError):
            R = np.empty((0, 0))
        if R.ndim != 2 or R.shape[1] != len(self.names) or not len(R):
            raise ParameterError(
                f"A hypothesis is names of coefficients, such as {list(self.names[-2:])}, or a matrix with one column "
                f"for each of the {len(self.names)} coefficients; got {hypothesis!r}."
            )
        return R

    def likelihood_ratio_test(self, other: "Inference") -> TestResult:
        """Test the smaller of two nested models against the larger: 2(ℓ₁ − ℓ₀) as χ².

        With an estimated dispersion (but for normal y) it is the fall in deviance over the larger model's dispersion.
        """
        large, small = (self, other) if self.parameters > other.parameters else (other, self)
        families = {(type(i._source.point.family), i._source.point.trials) for i in (self, other)}
        if large.parameters == small.parameters or len(families) > 1 or not np.isclose(self.n, other.n, rtol=1e-12):
            raise ParameterError(
                "The two models must be nested: one family, the same rows, more and fewer coefficients."
            )
        facts = large._source.facts
        if facts.estimated and not large._source.point.gaussian:
            chi = (small.deviance - large.deviance) / large.dispersion
        else:
            chi = 2.0 * (large.log_likelihood - small.log_likelihood)
        df = large.parameters - small.parameters
        return chi_result(chi, df)

    def _in_memory(self, what: str) -> tuple[Terms, Any]:
        rows = self._source.rows.require_memory(
            f"{what} has one entry for each row: pass inference() the rows in memory, not in batches."
        )
        return terms(rows.columns, self._source.point), rows.X

    @cached_property
    def leverage(self) -> Array:
        """ℓ of each row, in memory; Σ sample_weight·ℓ is the number of coefficients."""
        t, X = self._in_memory("Leverage")
        if t.g.ndim == 2:
            raise ParameterError("Leverages are not defined for more than two classes.")
        source = self._source
        return leverages(t, design(X, source.facts.centre, source.point.fit_intercept) @ source.facts.root)

    @cached_property
    def cooks_distance(self) -> Array:
        """r²ℓ/(k(1 − ℓ)) of each row, with its standardised residual r and leverage ℓ."""
        r, leverage = self.residuals("standardized"), self.leverage
        with np.errstate(divide="ignore", invalid="ignore"):
            return r * r * leverage / ((1.0 - leverage) * len(self.names))

    def residuals(self, kind: str = "response") -> Array:
        """Residuals of the rows, in memory.

        "response" y − μ; "pearson" (y − μ)/√V(μ); "deviance" ±√(unit deviance); "working" (y − μ)·dη/dμ; "standardized"
        Pearson's over √(φ(1 − ℓ)); "studentized" deviance residuals on leaving the row out (exact for least squares,
        Williams's approximation otherwise).
        """
        if kind not in KINDS:
            raise ParameterError(f"There are no residuals {kind!r}: use one of {', '.join(KINDS)}.")
        t, _ = self._in_memory("A residual")
        if t.g.ndim == 2 and kind not in ("response", "pearson"):
            raise ParameterError("Several classes have response and pearson residuals only, one for each class.")
        leverage = self.leverage if kind in ("standardized", "studentized") else None
        left_out = (self.deviance, self.df_residual) if self._source.facts.estimated else None
        return residuals(t, self._source.point.family, kind, leverage, self.dispersion, left_out)

    def predict(
        self, X: Any, level: float = 0.95, kind: str = "mean", offset: Any = None, exposure: Any = None
    ) -> Prediction:
        """Means of new rows with a confidence interval, or (kind="observation", least squares) a prediction interval.

        The interval of a mean is computed for the linear predictor and carried through the link.
        """
        if kind not in ("mean", "observation"):
            raise ParameterError(f"kind must be 'mean' or 'observation', got {kind!r}.")
        source = self._source
        rows = source.model._rows(X, target="none", reset=False).require_memory(
            "Intervals of predictions are for rows in memory: predict batch by batch."
        )
        U = design(rows.X, source.facts.centre, source.point.fit_intercept)
        eta = linear_scores(rows.X, combined(offset, exposure, source.point.loss), source.point)
        noise = self.dispersion if kind == "observation" else 0.0
        return predict_interval(eta, U, source.point, source.facts.spread, self._quantile(level), noise)

    def summary(self, level: float = 0.95) -> str:
        """The table of coefficients under the facts of the fit, as text."""
        return text(self, level)

    def summary_frame(self, level: float = 0.95) -> dict[str, Any]:
        """The table of coefficients as columns: pandas.DataFrame(result.summary_frame()) makes a frame of it."""
        return frame(self, level)

    def __repr__(self) -> str:
        return self.summary()


def locked(array: Array) -> Array:
    """The array, which can no longer be written to."""
    array.flags.writeable = False
    return array
