r"""Factor analysis: few hidden factors behind many columns, each of which has noise of its own.

With the noise Ψ fixed, the loadings of greatest likelihood come from the eigenvalues λ and vectors U of
:math:`\Psi^{-1/2}S\Psi^{-1/2}`: :math:`\Lambda^T = \Psi^{1/2}U(\lambda - I)^{1/2}`. At these loadings the M step of EM
for Ψ is :math:`\mathrm{diag}(S - \Lambda^T\Lambda)` (ECME). EM is slow where factors are weak, so a step for log Ψ by
Fisher scoring is tried first, and EM's taken where that does not raise the likelihood.

Rubin, Thayer (1982), EM algorithms for ML factor analysis, doi:10.1007/BF02293851; Liu, Rubin (1994), The ECME
algorithm, doi:10.1093/biomet/81.4.633; Jöreskog (1967), doi:10.1007/BF02289658 (scoring).
"""

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import float_type
from didact.core.errors import ParameterError
from didact.core.estimator import report_convergence
from didact.core.parameters import array_like, at_least, attr, is_bool, none, one_of, param, random_state, whole
from didact.core.progress import FitProgress
from didact.core.rows.memory import refuse_square
from didact.core.typing import Array
from didact.decomposition.incomplete import Model, fit_incomplete, parameters
from didact.decomposition.latent import _Latent, loaded
from didact.decomposition.rotations import SHARE, oblique, orthogonal
from didact.decomposition.spread import Spread, spread_of
from didact.engines.components.em import em
from didact.engines.components.low_rank import LowRank
from didact.engines.loop.iterate import Report
from didact.engines.loop.result import Result
from didact.engines.smooth.newton import newton_direction
from didact.engines.spectral.eigen import fixed_signs
from didact.parts.families.log_densities import LOG_2PI

MOST_SCORED = 2000  # columns of few rows, up to which steps are those of scoring, with p × p matrices
LONGEST = 3.0  # step of the logarithm of a variance
INNER_SHARE, INNER_STEPS = 0.1, 20  # of the tolerance, and of an M step for rows with missing values
LEAST_NOISE = 1e-6  # of a column, relative to its variance, or absolute where that is 0


class Profile(NamedTuple):
    """The best loadings (k, p) for given noise, and the axes (p, r) and eigenvalues (r,) above 1 behind them."""

    loadings: Array
    axes: Array
    values: Array


def profile(S: Spread, noise: Array, count: int) -> tuple[float, Profile]:
    """The mean log-likelihood of a row at the best loadings for this noise, and these."""
    root = np.sqrt(noise)
    values, vectors, trace = S.top(count, root)
    kept = np.maximum(values, 1.0)
    loadings = (np.sqrt(kept - 1.0) * vectors).T * root
    fit = float((np.log(kept) + 1.0 - kept).sum())
    value = -0.5 * (len(noise) * LOG_2PI + float(np.log(noise).sum()) + trace + fit)
    return value, Profile(loadings, vectors[:, values > 1.0], values[values > 1.0])


def scored(S: Spread, noise: Array, found: Profile, least: Array) -> Array:
    """A step of Fisher scoring for log ψ: the slope of the profile is 1 − S*_jj − Σ u²(1 − λ), its bend (I − UUᵀ)²."""
    slope = 1.0 - S.variances / noise - found.axes**2 @ (1.0 - found.values)
    free = ~((noise <= least) & (slope > 0))
    if not free.any():
        return noise
    bend = (np.eye(len(noise)) - found.axes @ found.axes.T)[np.ix_(free, free)] ** 2
    step = np.zeros(len(noise))
    step[free] = np.clip(newton_direction(bend, slope[free]), -LONGEST, LONGEST)
    return np.clip(noise * np.exp(step), least, np.maximum(S.variances, least))


def least_noise(variances: Array) -> Array:
    """The least variances of the noise of columns with these variances."""
    return LEAST_NOISE * np.where(variances > 0, variances, 1.0)


def fit_factors(
    S: Spread, count: int, start: Array | None, tol: float, max_iter: int, report: Report, least: Array | None = None
) -> Result:
    """Noise variances of greatest likelihood; the `value` is minus the log-likelihood of all rows."""
    least = least_noise(S.variances) if least is None else least

    def expect(noise: Array) -> tuple[float, Profile]:
        value, found = profile(S, noise, count)
        return S.weight * value, found

    def m_step(noise: Array, found: Profile) -> Array:
        return np.maximum(S.variances - (found.loadings**2).sum(axis=0), least)

    def blended(old: Array, new: Array, share: float) -> Array:
        return np.clip(old * (new / old) ** share, least, np.maximum(S.variances, least))

    first = np.maximum(S.variances, least) if start is None else np.maximum(start, least)
    if count == len(first) or (S.matrix is None and len(first) > MOST_SCORED):
        return em(expect, m_step, first, tol, max_iter, report, blended)
    fisher = lambda noise, found: scored(S, noise, found, least)  # noqa: E731
    near = em(expect, fisher, first, tol, max_iter, report, blended, exact=m_step, longer=1.0)
    if not near.converged or near.n_iter == max_iter:
        return near
    # Scoring can gain little where EM would gain more: the end is one of both.
    after = lambda iteration, value, x: report(near.n_iter + iteration, value, x)  # noqa: E731
    end = em(expect, m_step, near.x, tol, max_iter - near.n_iter, after, blended)
    if not end.value < near.value:
        return near
    return dataclasses.replace(end, n_iter=near.n_iter + end.n_iter, history=near.history + end.history[1:])


def inner_fit(count: int, start: Array | None, tol: float) -> Model:
    """The M step for rows with missing values: noise of greatest likelihood for their expected covariance, nearly."""

    def fitted(S: Spread, noise: Array | None, variances: Array) -> tuple[Array, LowRank]:
        near, least = start if noise is None else noise, least_noise(variances)
        new = fit_factors(S, count, near, INNER_SHARE * tol, INNER_STEPS, lambda *_: False, least).x
        value, found = profile(S, new, count)
        if noise is not None and (old := profile(S, noise, count))[0] > value:  # by rounding
            new, found = noise, old[1]
        return new, LowRank(new, found.loadings.T)

    return fitted


class FactorAnalysis(_Latent):
    r"""Few hidden factors behind the columns, each column with noise of its own variance, by EM and scoring.

    .. math:: x = \mu + \Lambda^Tz + e,\qquad z \sim N(0, I),\quad e \sim N(0, \mathrm{diag}(\psi)),\qquad
        x \sim N(\mu, \Lambda^T\Lambda + \mathrm{diag}(\psi))

    Loadings are determined up to a rotation, which `rotation` chooses: "varimax" and "quartimax" keep the factors
    uncorrelated, "promax" lets them correlate (`factor_correlation_`).

    Notes
    -----
    One pass gives the covariance S; a step then costs one decomposition of a p × p matrix, of fewer rows than columns
    an n × n one, whatever the number of rows. The log-likelihood never falls. Noise is at least 1e-6 of a column's
    variance (Heywood cases). Rows may be fewer than columns. Cost: n p²/2, and p²(p + k) a step. Shape of computation:
    reduce.

    Missing values are further hidden variables: the fit is that of greatest likelihood of the values that are there,
    scores and densities are given these, and `fill` estimates the others. Each step is then a pass over the rows with
    gaps, n p² + Σ m³ for patterns of m missing columns, and needs p × p matrices.

    References
    ----------
    Rubin, Thayer (1982), doi:10.1007/BF02293851; Liu, Rubin (1994), doi:10.1093/biomet/81.4.633; Kaiser (1958),
    doi:10.1007/BF02289233; Bartlett (1937), doi:10.1111/j.2044-8295.1937.tb00863.x (scores); Little, Rubin (2019),
    doi:10.1002/9781119482260 (missing values).

    Examples
    --------
    >>> import numpy as np
    >>> from didact.decomposition import FactorAnalysis
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(500, 2))
    >>> X = z @ [[1.0, 1.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]] + 0.3 * rng.normal(size=(500, 6))
    >>> model = FactorAnalysis(2, rotation="varimax").fit(X)
    >>> np.sort(np.abs(model.components_).round(0).sum(axis=1))
    array([3., 3.])
    >>> model.fill([[1.0, 1.0, np.nan, 0.0, 0.0, 0.0]]).round(1)
    array([[1., 1., 1., 0., 0., 0.]])
    """

    _test_params = [{"n_components": 2}, {"n_components": 2, "rotation": "promax"}]
    _test_skips = {
        "constant_columns/constant": "a column without variance is fitted exactly: its density has no bound",
        "constant_columns/zeros": "a column without variance is fitted exactly: its density has no bound",
    }

    n_components: Any = param(None, [whole(0), none], "Number k of factors; None: as many as columns.")
    tol: float = param(1e-2, at_least(0), "Gain of the log-likelihood of all rows at which EM ends.")
    copy: bool = param(True, is_bool, "No effect: inputs are never changed.")
    max_iter: int = param(1000, whole(1), "Most steps of EM.")
    noise_variance_init: Any = param(None, [array_like, none], "Noise to begin with; None: the variances of columns.")
    svd_method: str = param(
        "randomized", one_of("lapack", "randomized"), "No effect: a decomposition of the covariance is quick and exact."
    )
    iterated_power: int = param(3, whole(0), "No effect: nothing is approximated.")
    rotation: Any = param(None, [one_of(*SHARE, "promax"), none], "How loadings are rotated.")
    random_state: Any = param(0, random_state, "No effect: nothing here is random.")
    scores: str = param(
        "regression",
        one_of("regression", "bartlett"),
        "What `transform` gives: the expected factors, or Bartlett's weighted least squares, which are unbiased.",
    )

    _attrs = [
        attr("noise_variance_", "(n_features,)", "Variances ψ of the noise."),
        attr("loglike_", "list of float", "Log-likelihood of all rows after each step; it never falls."),
        attr("n_iter_", "int", "Steps of EM."),
        attr(
            "factor_correlation_", "(n_components, n_components)", "Correlation of factors.", when="rotation='promax'"
        ),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "FactorAnalysis":
        """Fit to rows X; sample_weight counts rows, y is ignored."""
        rows = self._rows(X, None, sample_weight, target="none")
        k, start, S = self._count(rows.n_features), self._first(rows.n_features), spread_of(rows)
        attributes = lambda x: self._attributes(*parameters(S, x), k, float_type(rows))  # noqa: E731
        with FitProgress(self, self.max_iter, X=X, y=y, attributes=attributes) as progress:
            how = self.tol, self.max_iter, progress.report
            if S.gaps:
                result = fit_incomplete(rows, inner_fit(k, start, self.tol), *how)
            else:
                result = fit_factors(S, k, start, *how)
        self.__dict__.update(attributes(result.x))
        self.loglike_ = [-float(value) for value in result.history[1:]]
        report_convergence(self, result)
        return self

    def _count(self, p: int) -> int:
        """The number of factors."""
        k = p if self.n_components is None else int(self.n_components)
        if k > p:
            raise ParameterError(f"n_components={k} is more than the {p} columns there are.")
        refuse_square(k, "choose n_components, the number of factors")
        return k

    def _first(self, p: int) -> Array | None:
        if self.noise_variance_init is None:
            return None
        first = np.asarray(self.noise_variance_init, np.float64)
        if first.shape != (p,):
            raise ParameterError(f"noise_variance_init must have {p} numbers, one for each column, not {first.shape}.")
        return first

    def _attributes(self, S: Spread, noise: Array, k: int, dtype: Any) -> dict[str, Any]:
        loadings, found = np.array(fixed_signs(profile(S, noise, k)[1].loadings.T).T), {}
        if self.rotation is not None and k > 0:
            turned = loadings.T @ orthogonal(loadings.T, "quartimax" if self.rotation == "quartimax" else "varimax")
            loadings = turned.T
        if self.rotation == "promax":
            used, correlation = loaded(loadings), np.eye(k)
            oblong, among = oblique(loadings[used].T)
            loadings[used], correlation[np.ix_(used, used)] = oblong.T, among
            found["factor_correlation_"] = correlation.astype(dtype)
        parts = {"components_": loadings, "noise_variance_": noise, "mean_": S.mean}
        return {name: np.asarray(value, dtype) for name, value in parts.items()} | found

    @property
    def _noise(self) -> Array:
        return np.asarray(self.noise_variance_, np.float64)

    @property
    def _correlation(self) -> Array:
        found = getattr(self, "factor_correlation_", None)
        return np.eye(len(self.components_)) if found is None else np.asarray(found, np.float64)

    @property
    def _bartlett(self) -> bool:  # type: ignore[override]
        return self.scores == "bartlett"
