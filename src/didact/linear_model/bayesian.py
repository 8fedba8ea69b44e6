r"""Bayesian linear regression: a Gaussian prior on the weights and Gaussian noise give a Gaussian posterior.

For :math:`y = Xw + b_0 + \varepsilon`, :math:`\varepsilon \sim N(0, \sigma^2 I)`, :math:`w \sim N(\mu, S)` and a flat
prior on b₀, with centred X and y:

.. math:: w \mid y \sim N(m, A^{-1}),\quad A = S^{-1} + X^TX/\sigma^2,\quad m = \mu + A^{-1}X^T(y - X\mu)/\sigma^2

and :math:`y_* \mid x_*` has variance :math:`\sigma^2 + \sigma^2/n + (x_*-\bar x)^TA^{-1}(x_*-\bar x)`.

1. One pass over the rows gives a triangular factor of [X, y]; everything else works on its p rows.
2. The weights are measured in units of the prior, w = μ + Lv with S = LLᵀ, so that v has the prior N(0, I).
3. Scales that are not known maximise the evidence p(y | σ², S): `engines.evidence`.

MacKay (1992), Bayesian interpolation, doi:10.1162/neco.1992.4.3.415; Tipping (2001), Sparse Bayesian learning and the
relevance vector machine, doi:10.1162/15324430152748236.
"""

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import ndtri
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from didact.core.backend import float_type, is_sparse, like, namespace
from didact.core.errors import InputError, ParameterError
from didact.core.estimator import Estimator, report_convergence
from didact.core.overflow import refuse_overflow
from didact.core.parameters import above, array_like, at_least, attr, is_bool, one_of, param, whole
from didact.core.progress import FitProgress
from didact.core.random import streams
from didact.core.rows import Rows
from didact.core.rows.memory import refuse_square
from didact.core.typing import Array
from didact.engines.linear.evidence import Isotropic, Relevance, Scales, maximise
from didact.engines.linear.least_squares import triangle
from didact.linear_model.generalized_least_squares import factorise
from didact.linear_model.linear_regression import predict
from didact.parts.statistics.moments import Moments, moments

DENSE_ROWS = 4096  # sparse rows made dense at a time


class Prior(NamedTuple):
    """w = mean + root·v with v ~ N(0, variance·I); variance None: to be estimated."""

    mean: Array
    root: Array
    variance: float | None


def read_prior(mean: Any, covariance: Any, p: int, ard: bool) -> Prior:
    """The prior from what the user gives: numbers, a diagonal, a matrix, or "evidence"."""
    if ard and not isinstance(covariance, str):
        raise ParameterError("ard=True estimates a prior variance for each weight: it takes no prior_covariance.")
    refuse_square(p, "the covariance of the weights is that large; use fewer columns, or RidgeCV")
    mean = np.asarray(mean, np.float64)
    if mean.ndim and mean.shape != (p,):
        raise ParameterError(f"prior_mean has shape {mean.shape}, but there are {p} features.")
    mean = np.broadcast_to(mean, (p,)).astype(np.float64)
    if isinstance(covariance, str):
        return Prior(mean, np.eye(p), None)
    C = np.asarray(covariance, np.float64)
    if C.shape not in ((), (p,), (p, p)):
        raise ParameterError(f"prior_covariance has shape {C.shape}, but there are {p} features.")
    if C.ndim < 2:
        if not (np.isfinite(C).all() and (C > 0).all()):
            raise ParameterError("Prior variances must be positive numbers.")
        return Prior(mean, np.diag(np.sqrt(np.broadcast_to(C, (p,)))), 1.0)
    try:
        if not np.allclose(C, C.T, rtol=1e-10, atol=0):
            raise ParameterError("prior_covariance is not symmetric.")
        return Prior(mean, linalg.cholesky(C, lower=True), 1.0)
    except (linalg.LinAlgError, ValueError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError("prior_covariance is not a positive definite matrix of finite numbers.") from error


def in_units_of_prior(rows: Rows, prior: Prior, fit_intercept: bool, ard: bool) -> tuple[Moments, Any]:
    """Moments of the rows, and the linear model of v that they stand for."""
    S = rows.reduce(moments)
    refuse_overflow(rows, S)
    S = S if fit_intercept else S.about_zero()
    R, B, rest = factorise(S, lambda: rows.reduce(triangle, S.mean_x, S.mean_y))
    n = S.weight - fit_intercept
    if n <= 0:
        raise InputError(f"There is {S.weight:g} sample (one row): the noise cannot be told from the constant term.")
    kind = Relevance if ard else Isotropic.of
    return S, kind(R @ prior.root, B[:, 0] - R @ prior.mean, float(rest[0]), float(n))


def predictive_std(X: Any, sigma: Array, offset: Array, constant: float) -> Any:
    """√(constant + (x−o)ᵀΣ(x−o)) of every row."""
    if is_sparse(X):
        blocks = [X[k : k + DENSE_ROWS].toarray() for k in range(0, X.shape[0], DENSE_ROWS)]
        return np.concatenate([predictive_std(block, sigma, offset, constant) for block in blocks])
    dtype = float_type(X)
    xp = namespace(X)
    D = X - like(offset.astype(dtype), X)
    return xp.sqrt(xp.sum((D @ like(sigma.astype(dtype), X)) * D, axis=1) + float(constant))


def interval(X: Any, coef: Array, intercept: Any, sigma: Array, offset: Array, constant: float, width: float) -> Any:
    """Mean ± width·standard deviation, (n, 2)."""
    mean = predict(X, coef, intercept)
    half = width * predictive_std(X, sigma, offset, constant)
    return namespace(mean).stack([mean - half, mean + half], axis=1)


class BayesianLinearRegression(RegressorMixin, Estimator):
    r"""Linear regression with a Gaussian prior on the weights; the noise and the prior scale may be learnt.

    .. math:: w \mid y \sim N(m, A^{-1}),\quad A = S^{-1} + X^TX/\sigma^2,\quad m = \mu + A^{-1}X^T(y - X\mu)/\sigma^2

    Notes
    -----
    Cost: one pass of n p², p³ for a decomposition, then p for each round (p³ with ARD). Sample weights are frequencies.
    Shape of computation: reduce. With the prior N(0, τ²I) and known noise the mean is that of ``Ridge(σ²/τ²)``. Unlike
    scikit-learn's BayesianRidge, there is no prior on the scales, and the constant term is integrated out: it costs a
    degree of freedom and widens predictions by σ²/n.

    References
    ----------
    MacKay (1992), doi:10.1162/neco.1992.4.3.415; Tipping (2001), doi:10.1162/15324430152748236.

    Examples
    --------
    >>> from didact.linear_model import BayesianLinearRegression
    >>> model = BayesianLinearRegression(prior_covariance=1.0, noise_variance=1.0, fit_intercept=False)
    >>> mean, std = model.fit([[1.0], [2.0]], [1.0, 3.0]).predict([[3.0]], return_std=True)
    >>> mean.round(6), (std**2).round(6)
    (array([3.5]), array([2.5]))
    """

    _test_skips = {
        "weight_scale": "Weights count observations, whose number is what the evidence and a prior weigh against."
    }
    _test_params = [{}, {"ard": True}, {"prior_covariance": 0.5, "noise_variance": 2.0, "prior_mean": 1.0}]
    prior_mean: Any = param(0.0, [Real, array_like], "Prior mean of the weights: one number, or (p,).")
    prior_covariance: Any = param(
        "evidence",
        [one_of("evidence"), above(0), array_like],
        "Prior covariance of the weights: a variance, a diagonal (p,), a matrix (p, p); or estimated by evidence.",
    )
    noise_variance: Any = param("evidence", [one_of("evidence"), above(0)], "Variance of the noise, or by evidence.")
    ard: bool = param(
        False, is_bool, "Whether each weight has a prior variance of its own (prior_covariance estimated)."
    )
    fit_intercept: bool = param(True, is_bool, "Whether to add a constant term, with a flat prior.")
    max_iter: int = param(300, whole(1), "Most rounds of evidence maximisation.")
    tol: float = param(1e-6, at_least(0), "Slope of the mean log evidence, in logarithms of scales, at which it ends.")

    _attrs = [
        attr("coef_", "(n_features,)", "Posterior mean of the weights."),
        attr("intercept_", "float", "Posterior mean of the constant term, which has a flat prior."),
        attr("sigma_", "(n_features, n_features)", "Posterior covariance of the weights."),
        attr("alpha_", "float", "Precision 1/σ² of the noise."),
        attr(
            "lambda_",
            "float or (n_features[, n_features])",
            "Precision of the prior: one, one for each weight (infinite where ARD found it irrelevant), or a matrix.",
        ),
        attr("scores_", "(n_rounds + 1,)", "Log evidence before each round and at the end; it never falls."),
        attr("log_evidence_", "float", "Logarithm of the probability density of y, that of the flat prior taken as 1."),
        attr("X_offset_", "(n_features,)", "Means of the features; zeros without a constant term."),
        attr(
            "intercept_variance_", "float", "Posterior variance of the mean at X_offset_: σ²/n, or 0 without constant."
        ),
        attr("n_iter_", "int", "Rounds of evidence maximisation; 1 if both scales were given."),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "BayesianLinearRegression":
        """Fit to rows X with targets y; sample_weight counts rows."""
        rows = self._rows(X, y, sample_weight, target="numeric")
        prior = read_prior(self.prior_mean, self.prior_covariance, rows.n_features, self.ard)
        S, model = in_units_of_prior(rows, prior, self.fit_intercept, self.ard)
        noise = None if isinstance(self.noise_variance, str) else float(self.noise_variance)

        def fitted(scales: Scales) -> dict[str, Any]:
            return self._fitted(S, model, prior, scales, float_type(rows))

        with FitProgress(self, self.max_iter, X=X, y=y, attributes=fitted) as progress:
            result = maximise(model, noise, prior.variance, self.tol, self.max_iter, progress.report)
        constant = 0.5 * np.log(S.weight) if self.fit_intercept else 0.0
        scores = -model.n * np.asarray(result.history) - constant
        self.__dict__.update(fitted(result.x), scores_=scores, log_evidence_=float(scores[-1]))
        report_convergence(self, result)
        return self

    def _fitted(self, S: Moments, model: Any, prior: Prior, scales: Scales, dtype: Any) -> dict[str, Any]:
        mean, covariance = model.posterior(scales)
        coef = prior.mean + prior.root @ mean
        if prior.variance is None:
            with np.errstate(divide="ignore"):
                precision = 1.0 / np.asarray(scales.prior)
        elif np.ndim(self.prior_covariance) < 2:
            precision = 1.0 / np.asarray(self.prior_covariance, np.float64)
        else:
            precision = linalg.cho_solve((prior.root, True), np.eye(len(coef)))
        return {
            "coef_": coef.astype(dtype),
            "intercept_": (S.mean_y[0] - S.mean_x @ coef).astype(dtype),
            "sigma_": prior.root @ covariance @ prior.root.T,
            "alpha_": 1.0 / scales.noise,
            "lambda_": float(precision) if precision.ndim == 0 else precision,
            "X_offset_": S.mean_x,
            "intercept_variance_": scales.noise / S.weight if self.fit_intercept else 0.0,
        }

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predictive mean of y for rows X; with return_std also its standard deviation, noise included."""
        mean = self._after_fit()._map_rows(X, predict, self.coef_, self.intercept_)
        return (mean, self._map(X, predictive_std, *self._spread(True))) if return_std else mean

    def predict_interval(self, X: Any, level: float = 0.95, noise: bool = True) -> Any:
        """Lower and upper bounds (n, 2) that hold y, or without noise its mean, with probability `level`."""
        if not 0 < level < 1:
            raise ParameterError(f"level is a probability between 0 and 1, not {level!r}.")
        check_is_fitted(self)
        width = float(ndtri(0.5 + 0.5 * level))
        return self._map(X, interval, self.coef_, self.intercept_, *self._spread(noise), width)

    def sample_coef(self, size: int = 1, random_state: Any = None) -> tuple[Array, Array]:
        """Draws from the posterior: weights (size, n_features) and constant terms (size,)."""
        check_is_fitted(self)
        rng = streams(random_state, 1)[0]
        values, V = linalg.eigh(self.sigma_)
        shift = rng.normal(size=(size, len(values))) @ (V * np.sqrt(np.maximum(values, 0.0))).T
        level = np.sqrt(self.intercept_variance_) * rng.normal(size=size)
        return self.coef_ + shift, self.intercept_ - shift @ self.X_offset_ + level

    def sample_y(self, X: Any, size: int = 1, random_state: Any = None, noise: bool = True) -> Any:
        """Draws (n, size) of y for rows X from the predictive distribution; each column is one line, plus noise."""
        seed, other = streams(random_state, 2)
        lines = self._map(X, predict, *self.sample_coef(size, seed))
        if not noise:
            return lines
        if not isinstance(lines, np.ndarray):
            raise InputError("sample_y draws noise for arrays and frames in memory; for other rows use noise=False.")
        return lines + other.normal(size=lines.shape, scale=self.alpha_**-0.5)

    def _spread(self, noise: bool) -> tuple[Array, Array, float]:
        check_is_fitted(self)
        return self.sigma_, self.X_offset_, self.intercept_variance_ + noise / self.alpha_

    def _map(self, X: Any, fn: Any, *args: Any) -> Any:
        return self._rows(X, target="none", reset=False).map(fn, *args)
