r"""Canonical correlation analysis: the combinations of two sets of columns that correlate most.

.. math:: \max_{u,v}\ \frac{u^T\Sigma_{XY}v}{\sqrt{u^T\Sigma_{XX}u\;v^T\Sigma_{YY}v}}

1. Whiten: with :math:`\Sigma_{XX}=U_xS_xU_x^T` the rows :math:`XW_x`, :math:`W_x=U_xS_x^{-1/2}`, are uncorrelated with
   variance 1, and so are :math:`YW_y`. Directions without variance are left out (a pseudo-inverse).
2. Decorrelate: the singular value decomposition :math:`W_x^T\Sigma_{XY}W_y=D_x\,\mathrm{diag}(\rho)\,D_y^T` gives the
   correlations ρ, falling, and all directions at once, :math:`U=W_xD_x`, :math:`V=W_yD_y`.
3. Regress: least squares of Y on the k scores :math:`XU` is the regression of Y on X of rank k; of all of them it is
   least squares on X itself.

All of it comes from one statistic of the rows, so that batches and clusters give the same.

Hotelling (1936), Relations between two sets of variates, doi:10.1093/biomet/28.3-4.321.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, MultiOutputMixin, RegressorMixin, TransformerMixin

from didact.core.backend import as_dense, float_type, is_tensor, like, to_numpy
from didact.core.errors import InputError, ParameterError, users_level
from didact.core.estimator import Estimator, tagged
from didact.core.overflow import refuse_overflow
from didact.core.parameters import at_least, attr, between, is_bool, param, whole
from didact.core.progress import FitProgress
from didact.core.rows import Block, Rows
from didact.core.rows.memory import refuse_square
from didact.core.threads import blas_for
from didact.core.typing import AnyArray, Array
from didact.core.validation import given_rows
from didact.engines.spectral.eigen import fixed_signs
from didact.engines.spectral.principal import cases_of
from didact.parts.statistics.moments import moments
from didact.parts.statistics.shrinkage import shrunk

TIED = 1e-9  # correlations that differ by less are equal
NO_VARIANCE = 1e-13  # of a direction, relative to the largest: it is left out


class Both(NamedTuple):
    """Means and deviations of both sets, and the covariances within and between them, of scaled columns."""

    cases: float
    mean_x: Array
    mean_y: Array
    scale_x: Array
    scale_y: Array
    xx: Array
    xy: Array
    yy: Array


class Directions(NamedTuple):
    """Canonical directions (p, k) and (q, k), whose scores have variance 1, and their correlations."""

    x: Array
    y: Array
    correlations: Array


def covariances(rows: Rows, scale: bool) -> Both:
    """The statistic of the rows; with `scale`, columns have deviation 1 (divided by n − 1) first."""
    refuse_square(rows.n_features + rows.n_targets, "use fewer columns")
    S, T = rows.reduce(moments), rows.prepared(_targets).reduce(moments)
    refuse_overflow(rows, (S.xx, S.xy, T.xx))
    cases = cases_of(rows)
    if cases <= 1:
        raise InputError("CCA needs two rows of positive weight at least; got n_samples = 1.")
    part = cases / (cases - 1.0) / S.weight
    xx, xy, yy = S.xx * part, S.xy * part, T.xx * part
    sx, sy = (np.sqrt(np.diag(C)) if scale else np.ones(len(C)) for C in (xx, yy))
    sx, sy = (np.where(s > 0, s, 1.0) for s in (sx, sy))
    return Both(
        cases=cases,
        mean_x=S.mean_x,
        mean_y=T.mean_x,
        scale_x=sx,
        scale_y=sy,
        xx=xx / np.outer(sx, sx),
        xy=xy / np.outer(sx, sy),
        yy=yy / np.outer(sy, sy),
    )


def whitener(C: Array) -> Array:
    """W (p, rank) with WᵀCW = I."""
    values, vectors = np.linalg.eigh(C)
    keep = np.flatnonzero(values > len(values) * NO_VARIANCE * values[-1])[::-1]
    return vectors[:, keep] / np.sqrt(values[keep])


def canonical(S: Both, count: int, shrinkage: float) -> Directions:
    """The directions of the largest correlations."""
    with blas_for(max(len(S.xx), len(S.yy))):
        Wx, Wy = (whitener(shrunk(C, shrinkage) if shrinkage else C) for C in (S.xx, S.yy))
        D, rho, E = np.linalg.svd(Wx.T @ S.xy @ Wy, full_matrices=False)
        turn = settled_ties(rho, E @ Wy.T @ S.yy)
        U, V = (Wx @ D @ turn)[:, :count], (Wy @ E.T @ turn)[:, :count]
    weights = unit_steps(U)[0]
    sign = np.where((weights * fixed_signs(weights)).sum(axis=0) < 0, -1.0, 1.0)
    inner = np.einsum("ij,ij->j", U, S.xx @ U) * np.einsum("ij,ij->j", V, S.yy @ V)
    rho = np.einsum("ij,ij->j", U, S.xy @ V) / np.sqrt(inner)
    return Directions(U * sign, V * sign, np.clip(rho, 0.0, 1.0))


def settled_ties(rho: Array, targets: Array) -> Array:
    """A rotation among directions of equal correlation, which are not determined: towards the targets in turn."""
    turn, begin = np.eye(len(rho)), 0
    for end in range(1, len(rho) + 1):
        if end == len(rho) or rho[begin] - rho[end] > TIED:
            if end - begin > 1:
                Q, R = np.linalg.qr(targets[begin:end])
                turn[begin:end, begin:end] = Q * np.where(np.diag(R) < 0, -1.0, 1.0)
            begin = end
    return turn


def unit_steps(U: Array) -> tuple[Array, Array]:
    """Directions as deflation finds them one by one: unit vectors orthogonal to those before, and U scaled alike."""
    Q, R = np.linalg.qr(U)
    size = np.diag(R)
    size = np.where(size == 0, 1.0, size)
    return Q * np.where(size < 0, -1.0, 1.0), U / np.abs(size)


def _targets(block: Block) -> Block:
    """The targets as rows, with zeros beside them."""
    Y = block.y if block.y.ndim == 2 else block.y[:, None]
    return block._replace(X=Y, y=Y[:, 0] * 0.0)


def scores_of(X: AnyArray, mean: Array, rotations: Array) -> AnyArray:
    """(x − mean) times rotations, in the float type of X; sparse rows stay sparse."""
    found = X @ like(rotations, X) - like(mean @ rotations, X)
    return found if is_tensor(found) else found.astype(float_type(X), copy=False)


def predicted(X: AnyArray, mean: Array, coef: Array, intercept: Array, one: bool) -> AnyArray:
    """Targets of rows."""
    found = scores_of(X, mean, coef.T) + like(intercept.astype(float_type(X)), X)
    return found[:, 0] if one else found


@tagged(regressor_tags__poor_score=True)
class CCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, MultiOutputMixin, RegressorMixin, Estimator):
    r"""The combinations of two sets of columns that correlate most, and regression through them.

    .. math:: \max_{u,v}\ \frac{u^T\Sigma_{XY}v}{\sqrt{u^T\Sigma_{XX}u\;v^T\Sigma_{YY}v}}

    Directions come from whitening both sets and one singular value decomposition, all at once: nothing iterates.
    `transform` gives scores scaled as scikit-learn's. `predict` is least squares of Y on the scores of X, the best
    regression of rank k through them; scikit-learn takes the scores of X for those of Y there, which fits worse.

    Notes
    -----
    Correlations do not change if columns are scaled or mixed. Singular covariances are no error: directions without
    variance are left out; with fewer rows than columns every correlation is 1 by chance, and `shrinkage` or fewer
    columns (PCA) are needed. Cost: n (p + q)²/2 and p³ + q³. Shape of computation: reduce.

    References
    ----------
    Hotelling (1936), doi:10.1093/biomet/28.3-4.321; Wegelin (2000), A survey of partial least squares methods,
    University of Washington, report 371.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.cross_decomposition import CCA
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(300, 1))
    >>> X = np.hstack([z + 0.5 * rng.normal(size=(300, 1)), rng.normal(size=(300, 2))])
    >>> Y = np.hstack([rng.normal(size=(300, 1)), z + 0.5 * rng.normal(size=(300, 1))])
    >>> CCA(n_components=2).fit(X, Y).correlations_.round(1)
    array([0.8, 0.1])
    """

    _tensors = True
    _test_params = [{"n_components": 1}, {"n_components": 1, "shrinkage": 0.1, "scale": False}]
    _test_skips = {
        "defaults": "Two components need two targets.",
        "constant_columns/constant:shrinkage": "What covariances are drawn to depends on the number of columns.",
        "constant_columns/zeros:shrinkage": "What covariances are drawn to depends on the number of columns.",
    }

    n_components: int = param(2, whole(1), "Number k of directions.")
    scale: bool = param(True, is_bool, "Whether columns are divided by their deviations first.")
    max_iter: int = param(500, whole(1), "No effect: nothing iterates.")
    tol: float = param(1e-6, at_least(0), "No effect: nothing iterates.")
    copy: bool = param(True, is_bool, "No effect: inputs are never changed.")
    shrinkage: float = param(0.0, between(0, 1), "Share by which covariances are drawn to equal variances.")

    _attrs = [
        attr("correlations_", "(n_components,)", "Correlations of the scores."),
        attr("x_weights_, y_weights_", "(n_features or n_targets, n_components)", "Directions, orthonormal."),
        attr("x_loadings_, y_loadings_", "(n_features or n_targets, n_components)", "Columns from scores."),
        attr("x_rotations_, y_rotations_", "(n_features or n_targets, n_components)", "Scores from scaled columns."),
        attr("coef_", "(n_targets, n_features)", "Coefficients of the regression on centred columns."),
        attr("intercept_", "(n_targets,)", "The means of the targets."),
        attr("n_iter_", "list of int", "1 for each direction."),
        attr("mean_, y_mean_", "(n_features,) or (n_targets,)", "Means of the columns."),
        attr("scale_, y_scale_", "(n_features,) or (n_targets,)", "What columns are divided by."),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "CCA":
        """Fit to rows of X beside rows of y, a column or several; sample_weight counts rows."""
        rows = self._rows(X, y, sample_weight, target="outputs")
        most = min(rows.n_features, rows.n_targets, *([] if rows.n_rows is None else [rows.n_rows]))
        if self.n_components > most:
            raise ParameterError(
                f"`n_components` upper bound is {most}. Got {self.n_components} instead. Reduce `n_components`."
            )
        with FitProgress(self, X=X, y=y):
            S = covariances(rows, self.scale)
            found = canonical(S, self.n_components, self.shrinkage)
        self._predict_1d = rows.y_ndim == 1
        self._store(S, found, float_type(rows))
        return self

    def _store(self, S: Both, found: Directions, dtype: Any) -> None:
        k = len(found.correlations)
        if k == 0:
            raise InputError("X or y does not vary: there is nothing to correlate.")
        if k < self.n_components:
            sentence = f"X or y has only {k} independent column(s): there are no more directions than these."
            warnings.warn(sentence, UserWarning, stacklevel=users_level())
        wx, rx = unit_steps(found.x)
        wy, ry = unit_steps(found.y)
        tx, ty = (np.einsum("ij,ij->j", R, C @ R) for R, C in ((rx, S.xx), (ry, S.yy)))  # variances of scores
        gain = (S.xy.T @ rx / tx) @ rx.T  # least squares of scaled targets on the scores
        parts = {
            "correlations_": found.correlations,
            "x_weights_": wx,
            "y_weights_": wy,
            "x_rotations_": rx,
            "y_rotations_": ry,
            "x_loadings_": S.xx @ rx / tx,
            "y_loadings_": S.yy @ ry / ty,
            "coef_": S.scale_y[:, None] * gain / S.scale_x,
            "intercept_": S.mean_y,
            "mean_": S.mean_x,
            "y_mean_": S.mean_y,
            "scale_": S.scale_x,
            "y_scale_": S.scale_y,
        }
        self.__dict__.update({name: np.asarray(value, dtype) for name, value in parts.items()})
        self.n_iter_ = [1] * k

    @property
    def _n_features_out(self) -> int:
        return int(self.x_rotations_.shape[1])

    def transform(self, X: Any, y: Any = None, copy: bool = True) -> Any:
        """The scores of X, and those of y where it is given; copy has no effect."""
        self._after_fit()
        found = self._map_rows(X, scores_of, self.mean_, self.x_rotations_ / self.scale_[:, None])
        if y is None:
            return found
        Y = self._targets_given(y)
        return found, scores_of(Y, self.y_mean_, self.y_rotations_ / self.y_scale_[:, None])

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and the scores of X and of y."""
        return self.fit(X, y, sample_weight=sample_weight).transform(X, y)

    def _targets_given(self, y: Any) -> Any:
        Y = y if is_tensor(y) else np.asarray(as_dense(y))
        Y = Y if is_tensor(Y) or Y.dtype in (np.float32, np.float64) else Y.astype(np.float64)
        Y = Y[:, None] if Y.ndim == 1 else Y
        if Y.ndim != 2 or Y.shape[1] != len(self.y_mean_):
            raise InputError(f"y has shape {tuple(Y.shape)}; the fit had {len(self.y_mean_)} target(s).")
        if not np.isfinite(to_numpy(Y)).all():
            raise InputError("Input y contains NaN or infinity.")
        return Y

    def inverse_transform(self, X: Any, y: Any = None) -> Any:
        """Columns of X, and of y where its scores are given, from scores: the nearest by least squares."""
        self._after_fit()
        found = _restored(X, self.x_loadings_, self.scale_, self.mean_)
        return found if y is None else (found, _restored(y, self.y_loadings_, self.y_scale_, self.y_mean_))

    def predict(self, X: Any, copy: bool = True) -> Any:
        """Targets predicted from the scores of X by least squares; copy has no effect."""
        self._after_fit()
        how = self.mean_, self.coef_, self.intercept_, self._predict_1d
        return self._map_rows(X, predicted, *how)


def _restored(Z: Any, loadings: Array, scale: Array, mean: Array) -> Any:
    """Columns from scores."""
    Z = as_dense(given_rows(Z, finite=True))
    if Z.shape[1] != loadings.shape[1]:
        raise InputError(f"inverse_transform takes rows of {loadings.shape[1]} scores; got shape {tuple(Z.shape)}.")
    return Z @ like(loadings.T * scale, Z) + like(mean, Z)
