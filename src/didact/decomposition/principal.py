r"""What models of principal components share: projections, reconstructions, and the density that goes with them.

.. math:: z = V^T(x-\mu),\qquad \hat x = \mu + Vz,\qquad
    x \sim N(\mu,\ V(\Lambda-\sigma^2I)V^T + \sigma^2I)

The density is that of probabilistic PCA (Tipping, Bishop 1999), σ² the mean variance of the directions left out.
"""

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from didact.core.backend import as_dense, float_type, is_sparse, is_tensor, like, namespace, row_weights, to_numpy
from didact.core.errors import InputError, Singular
from didact.core.estimator import Estimator
from didact.core.parameters import attr, is_bool, param
from didact.core.rows import Block
from didact.core.rows.memory import refuse_square
from didact.core.threads import parallel_rows
from didact.core.typing import AnyArray, Array
from didact.core.validation import given_rows
from didact.kernels.base import squares
from didact.parts.families.log_densities import LOG_2PI
from didact.parts.statistics.moments import Sums

NO_MATRIX = "components_, the variances along them and that of the noise say the same"


def onto(X: AnyArray, mean: Array, axes: Array, scale: Array | None) -> AnyArray:
    """Coordinates of rows along axes (k, p); where there is a scale, divided by it. Sparse rows stay sparse."""
    A, middle, unit = like(axes.T, X), like(mean @ axes.T, X), None if scale is None else like(scale, X)

    def some(rows: AnyArray) -> AnyArray:
        found = rows @ A - middle
        return found if unit is None else found / unit

    return parallel_rows(some, X, len(axes), np.result_type(X, A)) if isinstance(X, np.ndarray) else some(X)


def back_from(Z: AnyArray, mean: Array, axes: Array) -> AnyArray:
    """Rows from coordinates along axes (k, p)."""
    return Z @ like(axes, Z) + like(mean, Z)


def components_given(X: Any, k: int) -> Any:
    """Rows of k coordinates, as an array or a tensor of floats."""
    Z = as_dense(given_rows(X, finite=True))
    if Z.shape[1] != k:
        raise InputError(f"inverse_transform takes rows of {k} components; got shape {tuple(Z.shape)}.")
    return Z


def log_densities_of(X: AnyArray, mean: Array, axes: Array, variances: Array, noise: float) -> AnyArray:
    """log p(x) of each row, from its coordinates and its distance from the mean."""
    p, k = len(mean), len(axes)
    if is_sparse(X):
        X = X.astype(np.float64)
        square, along = squares(X) - 2.0 * (X @ mean) + mean @ mean, X @ axes.T - mean @ axes.T
    else:
        xp = namespace(X)
        D = (xp.astype(X, xp.float64) if is_tensor(X) else np.asarray(X, np.float64)) - like_double(mean, X)
        square, along = (D * D).sum(axis=1), D @ like_double(axes.T, X)
    quadratic = (along * along / like_double(variances, X)).sum(axis=1)
    log_det = float(np.log(variances).sum())
    if k < p:
        quadratic = quadratic + (square - (along * along).sum(axis=1)) / noise
        log_det += (p - k) * np.log(noise)
    return -0.5 * (quadratic + (p * LOG_2PI + log_det))


def like_double(value: Array, X: AnyArray) -> AnyArray:
    """A NumPy array as the kind of array that X is, on its device, in double precision."""
    xp = namespace(X)
    return xp.asarray(value, dtype=xp.float64, device=X.device) if is_tensor(X) else value


def in_type_of(X: AnyArray, fn: Any, *args: Any) -> AnyArray:
    """fn(X, *args) in the float type of X."""
    found = fn(X, *args)
    return namespace(found).astype(found, X.dtype) if is_tensor(found) else found.astype(float_type(X), copy=False)


def summed(block: Block, *density: Any) -> Sums:
    """The weighted sum of log densities, and of weights."""
    each = to_numpy(log_densities_of(block.X, *density))
    w = row_weights(block.weight, len(each))
    return Sums((float(w @ each), float(w.sum())))


class _Principal(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Rows as coordinates along few axes. Abstract."""

    _tensors = True
    _test_skips = {
        "constant_columns/constant": "Columns share the variance of the noise: one more without any changes it.",
        "constant_columns/zeros": "Columns share the variance of the noise: one more without any changes it.",
    }

    whiten: bool = param(False, is_bool, "Whether coordinates are divided by their deviations.")

    _attrs = [
        attr("components_", "(n_components, n_features)", "Axes, unit vectors, the largest variance first."),
        attr("explained_variance_", "(n_components,)", "Variances along the axes, divided by n − 1."),
        attr("explained_variance_ratio_", "(n_components,)", "These as shares of the variance of all columns."),
        attr("singular_values_", "(n_components,)", "Singular values of the centred rows."),
        attr("mean_", "(n_features,)", "Means of the columns."),
        attr("n_components_", "int", "Number of axes."),
        attr("noise_variance_", "float", "The mean variance along the axes that are left out."),
    ]

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def _scale(self) -> Array | None:
        """The deviations along the axes, at least rounding of the largest, if coordinates are whitened."""
        if not self.whiten:
            return None
        deviations = np.sqrt(self.explained_variance_)
        least = np.finfo(deviations.dtype).eps * (deviations.max(initial=0.0) or 1.0)
        return np.maximum(deviations, least)

    def transform(self, X: Any) -> Any:
        """The coordinates of each row, (n, n_components)."""
        return self._after_fit()._map_rows(X, onto, self.mean_, self.components_, self._scale())

    def inverse_transform(self, X: Any) -> Any:
        """Rows from coordinates: the nearest points of the subspace to the rows that have these."""
        self._after_fit()
        axes = self.components_
        if self.whiten:
            axes = np.sqrt(self.explained_variance_)[:, None] * axes
        return back_from(components_given(X, len(axes)), self.mean_, axes)

    def get_covariance(self) -> Array:
        """The covariance of the columns in the model, V(Λ − σ²)Vᵀ + σ²I."""
        refuse_square(len(self._after_fit().mean_), NO_MATRIX, 1)
        axes, noise = self.components_, self.noise_variance_
        covariance = (axes.T * np.maximum(self.explained_variance_ - noise, 0.0)) @ axes
        covariance.flat[:: len(covariance) + 1] += noise
        return covariance

    def get_precision(self) -> Array:
        """Its inverse."""
        refuse_square(len(self._after_fit().mean_), NO_MATRIX, 1)
        _, axes, variances, noise = self._density()
        if len(axes) == axes.shape[1]:
            return (axes.T / variances) @ axes
        precision = (axes.T * (1.0 / variances - 1.0 / noise)) @ axes
        precision.flat[:: len(precision) + 1] += 1.0 / noise
        return precision

    def _density(self) -> tuple[Array, Array, Array, float]:
        """Mean, axes, variances and noise of the density, in double precision; there is none in a flat subspace."""
        self._after_fit()
        mean, axes, variances = (
            np.asarray(v, np.float64) for v in (self.mean_, self.components_, self.explained_variance_)
        )
        noise = float(self.noise_variance_)
        variances = np.maximum(variances, noise)
        if (len(axes) < len(mean) and not noise > 0) or not (variances > 0).all():
            raise Singular(
                "The rows lie in a flat subspace, where the covariance has no inverse and rows have no density: keep "
                "fewer components, or give more rows than columns."
            )
        return mean, axes, variances, noise

    def score_samples(self, X: Any) -> Any:
        """The log density of each row."""
        return self._map_rows(X, in_type_of, log_densities_of, *self._density())

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The mean log density of the rows X."""
        density = self._density()
        rows = self._rows(X, None, sample_weight, target="none", reset=False)
        value, weight = rows.reduce(summed, *density).parts
        return float(value / weight)
