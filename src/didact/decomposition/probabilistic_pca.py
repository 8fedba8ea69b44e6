r"""Probabilistic PCA: principal components as a density, with noise of one variance in all columns.

With the eigenvalues :math:`\lambda_1\ge\lambda_2\ge\dots` and vectors U of the covariance, greatest likelihood is at

.. math:: \sigma^2 = \frac1{p-k}\sum_{j>k}\lambda_j,\qquad \Lambda^T = U_k(\lambda_k - \sigma^2I)^{1/2}

and EM for hidden factors leads there without a decomposition of a p × p matrix.

Tipping, Bishop (1999), Probabilistic principal component analysis, doi:10.1111/1467-9868.00196; Roweis (1998), EM
algorithms for PCA and SPCA, NeurIPS.
"""

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import float_type
from didact.core.errors import ParameterError
from didact.core.estimator import report_convergence
from didact.core.parameters import at_least, attr, one_of, param, random_state, whole
from didact.core.progress import FitProgress
from didact.core.random import streams
from didact.core.rows import Rows
from didact.core.typing import Array
from didact.decomposition.incomplete import LEAST_WITH_GAPS, fit_incomplete, parameters
from didact.decomposition.latent import _Latent
from didact.decomposition.spread import Spread, spread_of
from didact.engines.components.em import em
from didact.engines.components.low_rank import LowRank
from didact.engines.loop.iterate import Report
from didact.engines.loop.result import Result
from didact.engines.spectral.eigen import fixed_signs
from didact.parts.families.log_densities import LOG_2PI

REST_STEPS = 500  # of plain EM, once its likelihood does not change
LEAST = 1e-14  # of the noise, relative to the mean variance of the columns


class Axes(NamedTuple):
    """Loadings (p, k) and the variance of the noise."""

    loadings: Array
    noise: float


def times(S: Spread, W: Array) -> Array:
    """S W, without the matrix S where there are fewer rows than columns."""
    return S.matrix @ W if S.matrix is not None else np.asarray(S.rows).T @ (np.asarray(S.rows) @ W)


def closed_form(S: Spread, count: int, least: float = 0.0) -> Axes:
    """The parameters of greatest likelihood."""
    p = len(S.mean)
    values, vectors, trace = S.top(count, np.ones(p))
    noise = max((trace - float(values.sum())) / (p - count), LEAST * trace / p, least)
    return Axes(vectors * np.sqrt(np.maximum(values - noise, 0.0)), noise)


def density_of(S: Spread, count: int, variances: Array) -> tuple[Axes, LowRank]:
    """The parameters of greatest likelihood and their covariance: the M step for rows with missing values."""
    theta = closed_form(S, count, LEAST_WITH_GAPS * float(variances.mean()))
    return theta, LowRank(np.full(len(variances), theta.noise), theta.loadings)


def log_likelihood(S: Spread, theta: Axes) -> float:
    """The mean log-likelihood of a row."""
    p, k = theta.loadings.shape
    W, noise = theta.loadings / np.sqrt(theta.noise), theta.noise  # in units of the noise: fourth powers overflow
    M = W.T @ W + np.eye(k)
    inner = float(np.trace(np.linalg.solve(M, W.T @ (times(S, W) / noise)))) if k else 0.0
    log_det = p * np.log(noise) + (np.linalg.slogdet(M)[1] if k else 0.0)
    return -0.5 * (p * LOG_2PI + float(log_det) + float(S.variances.sum()) / noise - inner)


def by_em(S: Spread, start: Axes, tol: float, max_iter: int, report: Report) -> Result:
    """EM for hidden factors z; the `value` is minus the mean log-likelihood of a row."""
    p, k = start.loadings.shape
    trace = float(S.variances.sum())

    def sums(theta: Axes) -> Array:
        return times(S, theta.loadings / theta.noise)

    def maximize(theta: Axes, T: Array) -> Axes:
        W, noise = theta
        M = W.T @ W + noise * np.eye(k)
        new = np.linalg.solve((np.eye(k) + np.linalg.solve(M, W.T @ T)).T, T.T).T
        rest = trace - noise * float(np.trace(np.linalg.solve(M, new.T @ T)))
        return Axes(new, max(rest / p, LEAST * trace / p))

    def further(old: Axes, new: Axes, share: float) -> Axes:
        return Axes(old.loadings + share * (new.loadings - old.loadings), old.noise * (new.noise / old.noise) ** share)

    expect = lambda theta: (log_likelihood(S, theta), sums(theta))  # noqa: E731
    result = em(expect, maximize, start, tol, max_iter, report, further)
    if tol == 0 and result.converged:  # the likelihood is flat to rounding, but its maximum is nearer still
        theta = result.x
        for _ in range(REST_STEPS):
            theta = maximize(theta, sums(theta))
        result = dataclasses.replace(result, x=theta)
    return result


def principal(theta: Axes) -> Array:
    """Loadings (k, p) along principal axes, the longest first: EM finds them up to a rotation."""
    U, s, _ = np.linalg.svd(theta.loadings, full_matrices=False)
    return np.asarray(fixed_signs(U * s).T)


class ProbabilisticPCA(_Latent):
    r"""Principal components as a density: hidden factors behind the columns, and noise of one variance.

    .. math:: x = \mu + \Lambda^Tz + e,\qquad z \sim N(0, I),\quad e \sim N(0, \sigma^2I)

    Notes
    -----
    `transform` gives the expected factors, which are principal components drawn towards 0 by the noise. "eigen" is the
    closed form, "em" iterates to the same: k p² a step. Rows may be fewer than columns. Cost: n p²/2 for the covariance
    and p³. Shape of computation: reduce.

    Missing values are further hidden variables: EM, whatever the solver, finds the greatest likelihood of the values
    that are there, with the closed form as its M step and leaps beyond it. Noise is then at least 1e-6 of the mean
    variance, where the factors fit all values. Scores and densities are given these values, and `fill` estimates the
    others. Each step is a pass over the rows with gaps, n p² + Σ m³ for patterns of m missing columns.

    References
    ----------
    Tipping, Bishop (1999), doi:10.1111/1467-9868.00196; Ilin, Raiko (2010), Practical approaches to principal component
    analysis in the presence of missing values, JMLR 11.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.decomposition import ProbabilisticPCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 1)) @ [[3.0, 4.0, 0.0]] + 0.5 * rng.normal(size=(400, 3))
    >>> model = ProbabilisticPCA(1).fit(X)
    >>> round(model.noise_variance_, 2), model.components_.round(1)
    (0.23, array([[3., 4., 0.]]))
    """

    _test_params = [{}, {"solver": "em", "random_state": 0, "tol": 0.0}]
    _test_skips = {
        "constant_columns/constant": "columns share the variance of the noise: one more without any lowers it",
        "constant_columns/zeros": "columns share the variance of the noise: one more without any lowers it",
    }

    n_components: int = param(1, whole(0), "Number k of factors, fewer than columns.")
    solver: str = param("eigen", one_of("eigen", "em"), "Closed form, or EM.")
    tol: float = param(1e-10, at_least(0), "Gain of the mean log-likelihood of a row at which EM ends.")
    max_iter: int = param(10_000, whole(1), "Most steps of EM.")
    random_state: Any = param(None, random_state, "Seed of the start of EM.")

    _attrs = [
        attr("noise_variance_", "float", "Variance σ² of the noise."),
        attr("log_likelihood_", "float", "Mean log-likelihood of a row."),
        attr("n_iter_", "int", "Steps of EM; 1 with the closed form."),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "ProbabilisticPCA":
        """Fit to rows X; sample_weight counts rows, y is ignored."""
        rows = self._rows(X, None, sample_weight, target="none")
        if self.n_components >= rows.n_features > 0 and self.n_components > 0:
            raise ParameterError(
                f"n_components={self.n_components} leaves nothing for the noise: take fewer than n_features = "
                f"{rows.n_features}."
            )
        S, dtype = spread_of(rows), float_type(rows)
        attributes = lambda x: self._attributes(*parameters(S, x), dtype)  # noqa: E731
        self.n_iter_, steps = 1, self.max_iter if S.gaps or self.solver == "em" else 0
        with FitProgress(self, steps, X=X, y=y, attributes=attributes) as progress:
            x = self._iterated(rows, S, progress.report) if steps else closed_form(S, self.n_components)
        self.__dict__.update(attributes(x))
        if not S.gaps:
            self.log_likelihood_ = log_likelihood(S, x)
        return self

    def _attributes(self, S: Spread, theta: Axes, dtype: Any) -> dict[str, Any]:
        found = {"components_": principal(theta).astype(dtype), "mean_": S.mean.astype(dtype)}
        return found | {"noise_variance_": float(theta.noise)}

    def _iterated(self, rows: Rows, S: Spread, report: Report) -> Any:
        if S.gaps:
            tol = S.weight * self.tol
            result = fit_incomplete(
                rows, lambda T, _, v: density_of(T, self.n_components, v), tol, self.max_iter, report
            )
            self.log_likelihood_ = -float(result.value) / S.weight
        else:
            noise = float(S.variances.mean())
            rng = streams(self.random_state, 1)[0]
            start = Axes(np.sqrt(noise) * rng.normal(size=(len(S.mean), self.n_components)), noise)
            result = by_em(S, start, self.tol, self.max_iter, report)
        report_convergence(self, result)
        return result.x

    @property
    def _noise(self) -> Array:
        return np.full(len(self.mean_), self.noise_variance_)
