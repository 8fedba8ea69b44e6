r"""Kernel principal components: those of the features of a kernel, found from the Gram matrix of the rows.

.. math:: \tilde Ku = \lambda u,\qquad z_j(x) = \frac1{\sqrt{\lambda_j}}\sum_iu_{ij}\,\tilde k(x_i, x)

A point of the feature space has no row of its own in general; a pre-image is a row whose features are near: by ridge
regression of the rows on their coordinates, or, for a Gaussian kernel, by the fixed point of the nearest features.

Schölkopf, Smola, Müller (1998), doi:10.1162/089976698300017467; Bakır, Weston, Schölkopf (2004), Learning to find
pre-images, NeurIPS 16; Mika et al. (1999), Kernel PCA and de-noising in feature spaces, NeurIPS 11.
"""

from numbers import Real
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError

from didact.core.backend import as_dense, float_type, is_tensor, like, to_numpy
from didact.core.errors import ParameterError
from didact.core.estimator import Estimator, tagged
from didact.core.overflow import refuse_small
from didact.core.parameters import at_least, attr, is_bool, is_callable, none, one_of, param, random_state, whole
from didact.core.progress import FitProgress
from didact.core.threads import blas_for
from didact.core.typing import AnyArray, Array
from didact.decomposition.principal import components_given
from didact.engines.gram.pairwise import PAIRWISE_NAMES, pairwise_kernel
from didact.engines.gram.rows import images, square_gram
from didact.engines.spectral.kernel_axes import (
    KernelAxes,
    along_axes,
    counted_rows,
    fixed_points,
    gram_copy,
    kernel_axes,
)
from didact.kernels import RBF

TILE = 512  # pre-images that are found together


def ridge_preimages(kernel: Any, Z: Array, X: Array, alpha: float, cases: Array | None) -> Array:
    """The coefficients (n, p) of the ridge regression of rows X on coordinates Z."""
    K = np.array(square_gram(kernel, Z), np.float64)
    K.flat[:: len(K) + 1] += alpha if cases is None else alpha / cases
    try:
        return np.asarray(linalg.solve(K, X, assume_a="pos", check_finite=False))
    except linalg.LinAlgError:  # without a penalty rows with equal coordinates leave it singular
        return np.asarray(linalg.lstsq(K, X, check_finite=False)[0])


def coordinates(A: AnyArray, *axes: Any) -> AnyArray:
    """Coordinates of a block of rows, as the kind of array that they are."""
    found = along_axes(A, *axes)
    return like(found, A) if is_tensor(A) else found.astype(float_type(A), copy=False)


@tagged(transformer_tags__preserves_dtype=["float64", "float32"])
class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    r"""Principal components of the features of a kernel: curved ones in the space of the rows.

    .. math:: \tilde Ku = \lambda u,\qquad z_j(x) = \frac1{\sqrt{\lambda_j}}\sum_iu_{ij}\,\tilde k(x_i, x)

    With ``fit_inverse_transform=True``, `inverse_transform` finds rows from coordinates (pre-images), which takes noise
    away: by ridge regression as in scikit-learn, or with ``preimage="fixed_point"`` the row whose Gaussian features are
    nearest.

    Notes
    -----
    Cost: n² evaluations of the kernel, and 4/3 n³, or of few components of many rows some n² k (Lanczos); memory 8 n²
    bytes. A weight counts rows. Rows of batches and clusters are gathered. Shape of computation: pairs.

    References
    ----------
    Schölkopf, Smola, Müller (1998), doi:10.1162/089976698300017467; Bakır, Weston, Schölkopf (2004), NeurIPS 16;
    Mika, Schölkopf, Smola, Müller, Scholz, Rätsch (1999), NeurIPS 11.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.decomposition import KernelPCA
    >>> angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    >>> rings = np.vstack([np.c_[np.cos(angle), np.sin(angle)], 3 * np.c_[np.cos(angle), np.sin(angle)]])
    >>> z = KernelPCA(1, kernel="rbf", gamma=0.5).fit_transform(rings)[:, 0]
    >>> bool(z[:40].min() > z[40:].max())
    True
    """

    _tensors = True
    _test_params = [
        {"n_components": 2, "fit_inverse_transform": True},
        {"n_components": 2, "kernel": "rbf", "gamma": 0.1, "fit_inverse_transform": True},
    ]

    n_components: Any = param(None, [whole(1), none], "Number of axes; None: all that have variance.")
    kernel: Any = param(
        "linear", [one_of(*PAIRWISE_NAMES), is_callable], "A name, any kernel of didact.kernels, or a function."
    )
    gamma: Any = param(None, [at_least(0), none], "γ of kernels that have one; None: 1/p.")
    degree: float = param(3, at_least(0), "Degree of the polynomial kernel.")
    coef0: float = param(1, Real, "The constant of polynomial and sigmoid kernels.")
    kernel_params: Any = param(None, [dict, none], "More arguments of a function.")
    alpha: float = param(1.0, at_least(0), "Penalty of the ridge regression for pre-images.")
    fit_inverse_transform: bool = param(False, is_bool, "Whether to prepare for pre-images.")
    eigen_solver: str = param(
        "auto",
        one_of("auto", "dense", "arpack", "randomized"),
        "All pairs at once, Lanczos iterations, or Krylov spaces of random vectors; 'auto' goes by the size.",
    )
    tol: float = param(0, at_least(0), "Tolerance of 'arpack'; 0: as near as rounding allows.")
    max_iter: Any = param(None, [whole(1), none], "Most iterations of 'arpack'.")
    iterated_power: Any = param("auto", [one_of("auto"), whole(0)], "Images of random vectors of 'randomized'.")
    remove_zero_eig: bool = param(False, is_bool, "Whether to leave out axes without variance.")
    random_state: Any = param(None, random_state, "Seed of 'arpack' and 'randomized'.")
    copy_X: bool = param(True, is_bool, "Whether `X_fit_` is a copy of the rows.")
    preimage: str = param("ridge", one_of("ridge", "fixed_point"), "How pre-images are found.")

    _attrs = [
        attr("eigenvalues_", "(n_components,)", "Eigenvalues of the centred Gram matrix, falling."),
        attr("eigenvectors_", "(n_samples, n_components)", "Its eigenvectors; of weighted rows times √weight."),
        attr("X_fit_", "(n_samples, n_features)", "The rows of the fit that have weight."),
        attr("X_transformed_fit_", "(n_samples, n_components)", "Their coordinates.", "fit_inverse_transform"),
        attr(
            "dual_coef_",
            "(n_samples, n_features)",
            "Coefficients of pre-images by ridge regression, with `fit_inverse_transform`.",
            lambda model: model.fit_inverse_transform and model.preimage == "ridge",
        ),
        attr("gamma_", "float", "γ of the kernel."),
        attr("kernel_", "kernel or callable", "The kernel."),
        attr("kernel_means_", "(n_samples,)", "The mean of the kernel of each row with all."),
        attr("n_iter_", "int", "1: what iterates does so inside one decomposition."),
        attr("shares_", "(n_samples,)", "The rows' shares of the weight."),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KernelPCA":
        """Find the axes of rows X, or of their Gram matrix; sample_weight counts rows, y is ignored."""
        rows = self._rows(X, None, sample_weight, target="none")
        self.gamma_ = 1.0 / rows.n_features if self.gamma is None else self.gamma
        more = self.gamma, self.degree, self.coef0, self.kernel_params
        self.kernel_ = pairwise_kernel(self.kernel, *more, rows.n_features)
        self._refuse_preimages()
        (kept, *_), cases = counted_rows(rows, self.kernel_)
        with FitProgress(self, X=X, y=y), blas_for(kept.shape[0]):
            self._store(kept, cases, self._axes(kept, cases), float_type(rows))
        return self

    def _refuse_preimages(self) -> None:
        if not self.fit_inverse_transform:
            return
        if isinstance(self.kernel_, str):
            raise ParameterError("Cannot fit_inverse_transform with a precomputed kernel.")
        if self.preimage == "fixed_point" and not isinstance(self.kernel_, RBF):
            raise ParameterError("preimage='fixed_point' is for the Gaussian kernel: take kernel='rbf', or 'ridge'.")

    def _axes(self, X: AnyArray, cases: Array | None) -> KernelAxes:
        n = X.shape[0]
        k = n if self.n_components is None else min(n, self.n_components)
        powers = (7 if k < 0.1 * n else 4) if self.iterated_power == "auto" else self.iterated_power
        how = {"tol": self.tol, "max_iter": self.max_iter, "images": powers, "seed": self.random_state}
        found = kernel_axes(gram_copy(self.kernel_, X), cases, k, self.eigen_solver, **how)
        if found.values.max(initial=0.0) < np.finfo(float).tiny:
            refuse_small(X, getattr(self, "feature_names_in_", None))
        if self.remove_zero_eig or self.n_components is None:
            kept = found.values > 0
            found = found._replace(values=found.values[kept], vectors=found.vectors[:, kept])
        return found

    def _store(self, X: AnyArray, cases: Array | None, found: KernelAxes, dtype: Any) -> None:
        X = to_numpy(X) if is_tensor(X) else X
        X = X.copy() if self.copy_X else X
        self.n_iter_ = 1
        self.eigenvalues_, self.eigenvectors_ = found.values.astype(dtype), found.vectors.astype(dtype)
        self.kernel_means_, self.shares_, self.X_fit_ = found.means.astype(dtype), found.shares.astype(dtype), X
        if not self.fit_inverse_transform:
            return
        Z = found.vectors * np.sqrt(found.values) / (1.0 if cases is None else cases[:, None])
        self.X_transformed_fit_ = Z.astype(dtype)
        if self.preimage == "ridge":
            dense = np.asarray(as_dense(X), np.float64)
            self.dual_coef_ = ridge_preimages(self.kernel_, Z, dense, self.alpha, cases).astype(dtype)

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)

    def _found(self) -> KernelAxes:
        parts = self.eigenvalues_, self.eigenvectors_, self.kernel_means_, self.shares_
        return KernelAxes(*(np.asarray(part, np.float64) for part in parts))

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit to rows X, and their coordinates; params are those of `fit`."""
        self.fit(X, y, **params)
        if params or getattr(X, "shape", (0,))[0] != len(self.eigenvectors_):
            return self.transform(X)
        return self._numbers_like(X, self.eigenvectors_ * np.sqrt(self.eigenvalues_))

    def transform(self, X: Any) -> Any:
        """The coordinates of each row along the axes; with a precomputed kernel X is k(new rows, rows of the fit)."""
        self._after_fit()
        found = self._found()
        return self._map_rows(X, coordinates, self.kernel_, self.X_fit_, found.coefficients(), found.means)

    def inverse_transform(self, X: Any) -> Any:
        """Rows whose features are near the points with coordinates X (pre-images)."""
        self._after_fit()
        if not self.fit_inverse_transform:
            raise NotFittedError(
                "The fit_inverse_transform parameter was not set to True when instantiating and hence the inverse "
                "transform is not available."
            )
        given = components_given(X, len(self.eigenvalues_))
        Z = np.asarray(to_numpy(given), np.float64)
        if self.preimage == "ridge":
            known, coef = (np.asarray(v, np.float64) for v in (self.X_transformed_fit_, self.dual_coef_))
            found = images(self.kernel_, Z, known, coef)
        else:
            found = np.concatenate([self._nearest(Z[a : a + TILE]) for a in range(0, max(len(Z), 1), TILE)])
        return like(found, given) if is_tensor(given) else found.astype(float_type(given), copy=False)

    def _nearest(self, Z: Array) -> Array:
        """The fixed points for coordinates Z, from the row of the fit that is nearest to each."""
        X = np.asarray(as_dense(self.X_fit_), np.float64)
        axes, known = self._found(), np.asarray(self.X_transformed_fit_, np.float64)
        distance = (known**2).sum(axis=1) - 2.0 * Z @ known.T
        gammas = Z @ axes.coefficients().T + axes.shares
        return fixed_points(self.kernel_, X, gammas, X[np.argmin(distance, axis=1)])
