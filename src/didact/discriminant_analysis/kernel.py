r"""Kernel discriminant analysis: Fisher's projection in the features of a kernel.

.. math:: \max_W \frac{|W^TS_BW|}{|W^TS_WW|},\qquad
    S_W=\sum_k\sum_{i\in k}(\phi_i-\mu_k)(\phi_i-\mu_k)^T

1. Kernel principal components of the rows: all directions with variance, in which everything below takes place. (In
   features there are more directions than rows, so that S_W has no inverse before.)
2. S_W, drawn towards equal variances by `shrinkage`, is whitened. Where it is singular without shrinkage, as many of
   the first components are kept as it has rank: PCA first.
3. The eigenvectors of the whitened S_B of the largest eigenvalues, at most one less than classes.

S_B is defined in two ways: with classes weighed by their rows, :math:`\sum_kN_k(\mu_k-\mu)(\mu_k-\mu)^T`, or each
alike, :math:`\sum_k(\mu_k-\mu)(\mu_k-\mu)^T`; and μ is the mean of the rows, or the mean of the classes' means. With
two classes all of them give the same direction, :math:`S_W^{-1}(\mu_1-\mu_2)`.

Mika, Rätsch, Weston, Schölkopf, Müller (1999), doi:10.1109/NNSP.1999.788121; Baudat, Anouar (2000),
doi:10.1162/089976600300014980.
"""

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from sklearn.base import ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from didact.core.backend import float_type, to_numpy
from didact.core.errors import InputError, ParameterError
from didact.core.estimator import Estimator
from didact.core.parameters import array_like, at_least, attr, between, is_callable, none, one_of, param, whole
from didact.core.progress import FitProgress
from didact.core.threads import blas_for
from didact.core.typing import AnyArray, Array
from didact.discriminant_analysis.linear import NO_VARIANCE
from didact.engines.components.posterior import class_priors, log_posterior, most_probable, posterior
from didact.engines.gram.pairwise import PAIRWISE_NAMES, pairwise_kernel
from didact.engines.spectral.eigen import fixed_signs
from didact.engines.spectral.kernel_axes import along_axes, counted_rows, gram_copy, kernel_axes
from didact.parts.statistics.shrinkage import shrunk

OUTSHRUNK = 1e-5  # of the shrinkage, as a share of the largest variance: axes with less are left out
NO_SPREAD = 1e-10  # a share of the largest variance that is rounding
ROUNDING = 10 * float(np.finfo(float).eps)  # variance within classes of equal rows, by the largest k(x, x)


class Fisher(NamedTuple):
    """Directions (m, L) with unit variance within classes, means of the classes along them, shares of S_B."""

    directions: Array
    means: Array
    shares: Array


def fisher(
    Z: Array, codes: Array, cases: Array, shrinkage: float, between_by: str, centre: str, noise: float
) -> Fisher | None:
    """Fisher's directions of rows Z with class numbers; None if no variance within the classes is above the noise."""
    N = np.bincount(codes, cases)
    means = np.stack([np.bincount(codes, cases * column) for column in Z.T], axis=1) / N[:, None]
    D = np.sqrt(cases / cases.sum())[:, None] * (Z - means[codes])
    within = D.T @ D
    if np.linalg.norm(within) <= noise:
        return None
    values, vectors = linalg.eigh(shrunk(within, shrinkage) if shrinkage else within)
    rank = int((values > NO_SPREAD * max(float(values[-1]), NO_SPREAD * float(np.square(Z).max(initial=0.0)))).sum())
    if rank == 0:
        return None
    if rank < len(values):  # singular: fewer principal components, the first ones, leave it an inverse
        return fisher(Z[:, :rank], codes, cases, shrinkage, between_by, centre, noise)
    W = vectors / np.sqrt(values)
    count = N / N.sum() if between_by == "rows" else np.full(len(N), 1.0 / len(N))
    middle = (N / N.sum() if centre == "rows" else np.full(len(N), 1.0 / len(N))) @ means
    B = np.sqrt(count)[:, None] * (means - middle) @ W
    _, s, Vt = np.linalg.svd(B, full_matrices=False)
    size = min(len(N) - 1, len(s))
    found = fixed_signs(W @ Vt[:size].T)
    total = float(np.square(s).sum())
    return Fisher(found, means @ found, np.square(s[:size]) / (total or 1.0))


def projected_by(A: AnyArray, kernel: Any, X: AnyArray, coef: Array, means: Array) -> Array:
    """Discriminant coordinates of rows."""
    return along_axes(A, kernel, X, coef, means).astype(float_type(A), copy=False)


def near_means(A: AnyArray, axes: tuple[Any, ...], means: Array, log_prior: Array) -> Array:
    """log π_k − ½‖z − m_k‖² of rows and classes, up to a number for each row."""
    Z = along_axes(A, *axes)
    return Z @ means.T - 0.5 * (means * means).sum(axis=1) + log_prior


class KernelDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, Estimator):
    r"""The projection of a kernel's features in which classes lie farthest apart, and the nearest mean in it.

    .. math:: \max_W \frac{|W^TS_BW|}{|W^TS_WW|},\qquad \hat y = \arg\max_k\ \log\pi_k - \tfrac12\|z(x) - m_k\|^2

    With a linear kernel and no shrinkage it is `LinearDiscriminantAnalysis`.

    Notes
    -----
    Of the two definitions of the scatter between classes, ``between="rows"`` weighs classes by their rows and "classes"
    counts each alike; ``centre`` is the mean of all "rows" or of the means of "classes". They matter for three classes
    and more. Cost: n² evaluations of the kernel and 4/3 n³, memory 8 n² bytes. A weight counts rows. Shape of
    computation: pairs.

    References
    ----------
    Fisher (1936), doi:10.1111/j.1469-1809.1936.tb02137.x; Mika et al. (1999), doi:10.1109/NNSP.1999.788121; Baudat,
    Anouar (2000), doi:10.1162/089976600300014980; Belhumeur, Hespanha, Kriegman (1997), doi:10.1109/34.598228 (PCA
    first).

    Examples
    --------
    >>> import numpy as np
    >>> from didact.discriminant_analysis import KernelDiscriminantAnalysis
    >>> angle = np.linspace(0, 2 * np.pi, 30, endpoint=False)
    >>> ring = np.c_[np.cos(angle), np.sin(angle)]
    >>> X, y = np.vstack([ring, 2 * ring, 3 * ring]), np.repeat(["a", "b", "c"], 30)
    >>> model = KernelDiscriminantAnalysis(gamma=1.0).fit(X, y)
    >>> model.score(X, y), model.transform(X).shape
    (1.0, (90, 2))
    """

    _test_params = [{"gamma": 0.2}, {"kernel": "linear", "shrinkage": 0.0, "between": "classes"}]

    n_components: Any = param(None, [whole(1), none], "Number of directions, fewer than classes; None: all.")
    kernel: Any = param(
        "rbf", [one_of(*PAIRWISE_NAMES), is_callable], "A name, any kernel of didact.kernels, or a function."
    )
    gamma: Any = param(None, [at_least(0), none], "γ of kernels that have one; None: 1/p.")
    degree: float = param(3, at_least(0), "Degree of the polynomial kernel.")
    coef0: float = param(1, Real, "The constant of polynomial and sigmoid kernels.")
    kernel_params: Any = param(None, [dict, none], "More arguments of a function.")
    shrinkage: float = param(1e-2, between(0, 1), "Share by which S_W is drawn to equal variances.")
    pca_components: Any = param(None, [whole(1), none], "Most principal components to begin with; None: all.")
    between: str = param("rows", one_of("rows", "classes"), "By what classes are weighed in S_B.")
    centre: str = param("rows", one_of("rows", "classes"), "The mean of what is the centre of S_B.")
    priors: Any = param(None, [array_like, none], "Probabilities of the classes; None: their shares of the rows.")

    _attrs = [
        attr("dual_coef_", "(n_samples, n_components)", "Coefficients of the features of the rows."),
        attr("X_fit_", "(n_samples, n_features)", "The rows of the fit that have weight."),
        attr("kernel_", "kernel or callable", "The kernel."),
        attr("kernel_means_", "(n_samples,)", "The mean of the kernel of each row with all."),
        attr("means_", "(n_classes, n_components)", "Means of the classes in the projection."),
        attr("priors_", "(n_classes,)", "Probabilities of the classes."),
        attr("explained_variance_ratio_", "(n_components,)", "Shares of the scatter between the whitened classes."),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KernelDiscriminantAnalysis":
        """Fit to rows X with labels y; sample_weight counts rows."""
        rows = self._rows(X, y, sample_weight, target="labels")
        more = self.gamma, self.degree, self.coef0, self.kernel_params
        self.kernel_ = pairwise_kernel(self.kernel, *more, rows.n_features)
        self.classes_ = np.unique(to_numpy(rows.whole().y))
        block, cases = counted_rows(rows, self.kernel_)
        with FitProgress(self, X=X, y=y), blas_for(block.X.shape[0]):
            self._store(block.X, to_numpy(block.y), cases, float_type(rows))
        return self

    def _store(self, X: AnyArray, y: Array, cases: Array | None, dtype: Any) -> None:
        labels, codes = np.unique(y if cases is None else y[cases > 0], return_inverse=True)
        self._refuse(len(labels))
        K = gram_copy(self.kernel_, X)
        noise = ROUNDING * float(np.abs(np.diagonal(K)).max(initial=0.0))
        axes = kernel_axes(K, cases, X.shape[0], "dense")
        # Coordinates along axes of little variance are mostly rounding, and shrinkage leaves nothing of them.
        size = int((axes.values > OUTSHRUNK * self.shrinkage * axes.values[0]).sum())
        size = size if self.pca_components is None else min(size, self.pca_components)
        weighed = np.ones(len(y)) if cases is None else cases
        there = weighed > 0
        Z = (axes.vectors[there, :size] * np.sqrt(axes.values[:size])) / weighed[there, None]
        how = self.shrinkage, self.between, self.centre, noise
        found = fisher(Z, codes, weighed[there], *how) if size > 0 else None
        if found is None:
            raise InputError(NO_VARIANCE)
        k = self.n_components or found.directions.shape[1]
        place = np.searchsorted(self.classes_, labels)
        means, weight = np.zeros((len(self.classes_), min(k, found.means.shape[1]))), np.zeros(len(self.classes_))
        means[place], weight[place] = found.means[:, :k], np.bincount(codes, weighed[there])
        coef = axes.coefficients()[:, : len(found.directions)] @ found.directions[:, :k]
        self.dual_coef_, self.kernel_means_ = coef.astype(dtype), axes.means.astype(dtype)
        self.X_fit_, self.means_ = X.copy(), means.astype(dtype)
        self.explained_variance_ratio_ = found.shares[:k].astype(dtype)
        self.priors_ = class_priors(self.priors, weight, False).astype(dtype)

    def _refuse(self, count: int) -> None:
        if count < 2:
            raise InputError(f"The number of classes has to be greater than one; got {count} class.")
        if self.n_components is not None and self.n_components > count - 1:
            raise ParameterError(f"n_components cannot be larger than n_classes - 1, here {count - 1}.")

    @property
    def _n_features_out(self) -> int:
        return int(self.dual_coef_.shape[1])

    def _axes(self) -> tuple[Any, ...]:
        wide = (np.asarray(part, np.float64) for part in (self.dual_coef_, self.kernel_means_))
        return (self.kernel_, self.X_fit_, *wide)

    def _scores(self) -> tuple[Any, ...]:
        self._after_fit()
        with np.errstate(divide="ignore"):
            log_prior = np.log(np.asarray(self.priors_, np.float64))
        return near_means, self._axes(), np.asarray(self.means_, np.float64), log_prior

    def transform(self, X: Any) -> Any:
        """The coordinates of each row in the projection; with a precomputed kernel X is k(rows, rows of the fit)."""
        return self._after_fit()._map_rows(X, projected_by, *self._axes())

    def decision_function(self, X: Any) -> Any:
        """log π_k − ½‖z − m_k‖² up to a number for each row, (n, K); for two classes the second less the first."""
        return self._map_rows(X, _decided, *self._scores()[1:])

    def predict(self, X: Any) -> Any:
        """The most probable label of each row."""
        return self._map_rows(X, most_probable, self._after_fit().classes_, *self._scores())

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes, Gaussian with unit variance in the projection."""
        return self._map_rows(X, posterior, *self._scores())

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of the probabilities of the classes."""
        return self._map_rows(X, log_posterior, *self._scores())


def _decided(A: AnyArray, *args: Any) -> Array:
    scores = near_means(A, *args).astype(float_type(A), copy=False)
    return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores
