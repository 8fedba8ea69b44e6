r"""What models of hidden Gaussian factors share: scores, densities, draws, and the covariance of the columns.

.. math:: x = \mu + \Lambda^Tz + e,\qquad z \sim N(0, \Phi),\quad e \sim N(0, \Psi),\qquad
    x \sim N(\mu, \Lambda^T\Phi\Lambda + \Psi)

.. math:: E[z\mid x] = (\Phi^{-1} + \Lambda\Psi^{-1}\Lambda^T)^{-1}\Lambda\Psi^{-1}(x-\mu)
"""

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from didact.core.backend import float_type, to_numpy
from didact.core.errors import InputError
from didact.core.estimator import Estimator
from didact.core.parameters import attr
from didact.core.random import streams
from didact.core.rows import Block
from didact.core.rows.gather import dense
from didact.core.rows.memory import refuse_square
from didact.core.typing import Array
from didact.core.validation import given_rows
from didact.decomposition.incomplete import factors_given, in_slabs, marginal_densities
from didact.engines.components.low_rank import LowRank, Whitener
from didact.engines.components.scores import wide_joint
from didact.parts.statistics.moments import Sums

NO_MATRIX = "components_ and the variances of the noise say the same"


def score_matrix(loadings: Array, noise: Array, prior: Array) -> Array:
    """The matrix (p, k) by which centred rows become scores of the factors; `prior` is Φ⁻¹, or for Bartlett's 0."""
    out, used = np.zeros(loadings.T.shape), loaded(loadings)
    if len(used):
        scaled = loadings[used] / noise
        precision = scaled @ loadings[used].T + prior[np.ix_(used, used)]
        out[:, used] = np.linalg.lstsq(precision, scaled, rcond=None)[0].T
    return out


def loaded(loadings: Array) -> Array:
    """The numbers of the factors that columns have a share in: of fewer rows than factors, no others than rows.

    The others have no correlation with these, and rows say nothing about them.
    """
    return np.flatnonzero(loadings.any(axis=1))


def projected(X: Any, mean: Array, matrix: Array, loadings: Array, noise: Array, prior: Array) -> Any:
    """Scores of rows; of those with missing values by what is there."""
    rows = np.asarray(to_numpy(X), np.float64)
    out = (rows - mean) @ matrix
    if len(hole := gapped(rows)):
        out[hole] = in_slabs(factors_given, rows[hole], matrix.size, mean, loadings, noise, prior)
    return out.astype(float_type(X), copy=False)


def filled(X: Any, mean: Array, loadings: Array, noise: Array, prior: Array) -> Any:
    """Rows with μ + ΛᵀE[z | x] in place of what is missing."""
    rows = np.array(to_numpy(X), np.float64)
    if not len(hole := gapped(rows)):
        return X
    Z = in_slabs(factors_given, rows[hole], loadings.size, mean, loadings, noise, prior)
    rows[hole] = np.where(np.isnan(rows[hole]), restored(Z, mean, loadings), rows[hole])
    return rows.astype(float_type(X), copy=False)


def gapped(rows: Array) -> Array:
    """The numbers of the rows with missing values."""
    return np.flatnonzero(np.isnan(rows).any(axis=1))


def restored(Z: Any, mean: Array, loadings: Array) -> Any:
    """Rows from scores."""
    return (np.asarray(to_numpy(Z), np.float64) @ loadings + mean).astype(float_type(Z), copy=False)


def log_densities(X: Any, mean: Array, covariance: LowRank, whitener: Whitener) -> Any:
    """log p(x) of each row; of one with missing values that of what is there."""
    rows = np.asarray(to_numpy(X), np.float64)
    hole, out = gapped(rows), np.empty(len(rows))
    if len(hole):
        out[hole] = in_slabs(marginal_densities, rows[hole], covariance.factor.size, mean, covariance)
    there = np.setdiff1d(np.arange(len(rows)), hole) if len(hole) else slice(None)
    out[there] = wide_joint(rows[there], np.zeros(1), mean[None], [covariance], [whitener])[:, 0]
    return out.astype(float_type(X), copy=False)


class _Latent(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Few hidden Gaussian factors behind many columns. Abstract."""

    _sparse, _missing = False, True
    _test_clusters = True

    _attrs = [
        attr("components_", "(n_components, n_features)", "Loadings Λ."),
        attr("mean_", "(n_features,)", "Means of the columns."),
    ]

    @property
    def _noise(self) -> Array:
        """Variances of the noise of the columns."""
        raise NotImplementedError

    @property
    def _correlation(self) -> Array:
        """Φ."""
        return np.eye(len(self.components_))

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _density(self) -> tuple[Array, LowRank, Whitener]:
        loadings = np.asarray(self.components_, np.float64)
        used = loaded(loadings)
        factor = loadings[used].T
        if len(used):
            factor = factor @ np.linalg.cholesky(self._correlation[np.ix_(used, used)])
        covariance = LowRank(self._noise, factor)
        return np.asarray(self.mean_, np.float64), covariance, Whitener.of(covariance)

    _bartlett = False  # whether scores are Bartlett's

    def _given(self) -> tuple[Array, Array, Array, Array]:
        """Mean, loadings, noise and Φ⁻¹."""
        mean, loadings = np.asarray(self.mean_, np.float64), np.asarray(self.components_, np.float64)
        prior, used = np.eye(len(loadings)), np.ix_(*[loaded(loadings)] * 2)
        prior[used] = np.linalg.inv(self._correlation[used])
        return mean, loadings, self._noise, prior

    def transform(self, X: Any) -> Any:
        """The factors of each row, (n, n_components): their expectation, given the values that the row has."""
        mean, loadings, noise, prior = self._after_fit()._given()
        prior = np.zeros_like(prior) if self._bartlett else prior
        return self._map_rows(X, projected, mean, score_matrix(loadings, noise, prior), loadings, noise, prior)

    def fill(self, X: Any) -> Any:
        """Rows X with each missing value replaced by its expectation, given the values that the row has."""
        return self._map_rows(X, filled, *self._after_fit()._given())

    def inverse_transform(self, X: Any) -> Any:
        """Rows from factors: μ + Λᵀz."""
        self._after_fit()
        Z = dense(given_rows(X, finite=True))
        if Z.shape[1] != len(self.components_):
            raise InputError(f"inverse_transform takes rows of {len(self.components_)} factors; got shape {Z.shape}.")
        return restored(Z, np.asarray(self.mean_, np.float64), np.asarray(self.components_, np.float64))

    def get_covariance(self) -> Array:
        """The covariance of the columns in the model, ΛᵀΦΛ + Ψ."""
        refuse_square(len(self._after_fit().mean_), NO_MATRIX, 2)
        return self._density()[1].dense()

    def get_precision(self) -> Array:
        """Its inverse."""
        refuse_square(len(self._after_fit().mean_), NO_MATRIX)
        _, _, whitener = self._density()
        return whitener.solve(np.eye(len(self.mean_)))

    def score_samples(self, X: Any) -> Any:
        """The log density of each row."""
        return self._after_fit()._map_rows(X, log_densities, *self._density())

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The mean log density of the rows X."""
        rows = self._after_fit()._rows(X, None, sample_weight, target="none", reset=False)
        value, weight = rows.reduce(summed_densities, *self._density()).parts
        return float(value / weight)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Array:
        """Rows drawn from the model."""
        mean, covariance, _ = self._after_fit()._density()
        rng = streams(random_state, 1)[0]
        factors, noise = (rng.normal(size=(n_samples, size)) for size in covariance.factor.shape[::-1])
        return mean + factors @ covariance.factor.T + noise * np.sqrt(covariance.diagonal)


def summed_densities(block: Block, mean: Array, covariance: LowRank, whitener: Whitener) -> Sums:
    """The weighted sum of log densities, and of weights."""
    each = log_densities(np.asarray(to_numpy(block.X), np.float64), mean, covariance, whitener)
    w = np.ones(len(each)) if block.weight is None else to_numpy(block.weight).astype(np.float64)
    return Sums((float(w @ each), float(w.sum())))
