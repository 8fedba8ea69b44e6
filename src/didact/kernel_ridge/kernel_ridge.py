r"""Kernel ridge regression: least squares with a penalty, in the features of a kernel.

.. math:: \min_w\ \sum_i\omega_i(y_i - w^T\phi(x_i))^2 + \lambda\|w\|^2
    \quad\Longrightarrow\quad f(x) = \sum_i c_i k(x, x_i),\qquad (K + \lambda\Omega^{-1})\,c = y

1. One λ: a Cholesky factorisation, n³/3 multiply–adds.
2. Many: with √Ω K √Ω = QΛQᵀ once, c and the leave-one-out errors of every λ cost n² each,

.. math:: y_i - f_{-i}(x_i) = c_i / G_{ii},\qquad G = \sqrt\Omega\,Q(\Lambda+\lambda)^{-1}Q^T\sqrt\Omega .

Saunders, Gammerman, Vovk (1998), Ridge regression learning algorithm in dual variables; Cawley, Talbot (2008),
doi:10.1007/s10994-008-5055-9.
"""

from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from sklearn.base import MultiOutputMixin, RegressorMixin

from didact.core.backend import as_dense, float_type, is_sparse, is_tensor, like, namespace, row_weights, to_numpy
from didact.core.errors import InputError, ParameterError
from didact.core.estimator import Estimator
from didact.core.parameters import array_like, at_least, attr, is_callable, none, one_of, param, random_state
from didact.core.rows import Block, Rows
from didact.core.rows.memory import refuse_square, require_finite
from didact.core.threads import blas_for
from didact.core.typing import AnyArray, Array
from didact.engines.gram.features import (
    FEWER_FEATURES,
    approximation_param,
    chosen_map,
    feature_rows,
    n_components_param,
    warn_landmarks,
)
from didact.engines.gram.pairwise import PAIRWISE_NAMES, pairwise_kernel
from didact.engines.gram.rows import images, is_text, rows_or_strings
from didact.engines.gram.systems import own_gram, require_gram, warn_indefinite
from didact.parts.statistics.moments import Moments, Sums, moments

TINY = 1e-300
SINGULAR = 1e-13  # of the largest eigenvalue: smaller ones are rounding


def solve(K: AnyArray, Y: AnyArray, root: AnyArray, alpha: Array) -> AnyArray:
    """c of (√Ω K √Ω + λ) (c/√Ω) = √Ω y, one system for each distinct λ; least squares where it is singular."""
    xp = namespace(K)
    S, T = root[:, None] * K * root, root[:, None] * Y
    found = []
    for k in range(T.shape[1]):
        a = float(alpha[min(k, len(alpha) - 1)])
        if k and len(alpha) == 1:
            break
        columns = T if len(alpha) == 1 else T[:, k : k + 1]
        found.append(_solved(xp, S, columns, a))
    return root[:, None] * (found[0] if len(found) == 1 else xp.concat(found, axis=1))


def _solved(xp: Any, S: AnyArray, T: AnyArray, a: float) -> AnyArray:
    """(S + aI)⁻¹T."""
    if xp is not np:
        return xp.linalg.solve(S + a * xp.eye(S.shape[0], dtype=S.dtype, device=S.device), T)
    M = S.copy()
    M.flat[:: len(M) + 1] += a
    try:
        return linalg.cho_solve(linalg.cho_factor(M, lower=True, overwrite_a=True, check_finite=False), T)
    except linalg.LinAlgError:  # not positive definite: an indefinite kernel, or λ = 0 and rows that depend
        M = S.copy()
        M.flat[:: len(M) + 1] += a
        return linalg.lstsq(M, T, check_finite=False)[0]


class Path(NamedTuple):
    """Coefficients and leave-one-out errors for each of many λ."""

    coef: list[Array]
    errors: Array  # (λ, targets): weighted mean squares


def leave_one_out(K: Array, Y: Array, w: Array, alphas: Array) -> Path:
    """The whole path from one decomposition."""
    root = np.sqrt(w)
    values, Q = linalg.eigh((root[:, None] * K * root).T, overwrite_a=True, check_finite=False, driver="evd")
    values = np.where(values > SINGULAR * len(values) * abs(values).max(initial=0.0), values, 0.0)
    shifted = values[:, None] + alphas
    inverses = np.divide(1.0, shifted, out=np.zeros_like(shifted), where=shifted > 0)
    T = Q.T @ (root[:, None] * Y)
    coefs = root[:, None, None] * np.tensordot(Q, inverses[:, :, None] * T[:, None, :], 1)  # (n, λ, targets)
    np.multiply(Q, Q, out=Q)
    leverage = w[:, None] * (Q @ inverses)
    residuals = np.divide(coefs, leverage[:, :, None], out=np.zeros_like(coefs), where=(w > 0)[:, None, None])
    return Path(list(np.moveaxis(coefs, 1, 0)), np.einsum("i,ilt->lt", w, residuals**2) / w.sum())


def ridge_weights(S: Moments, alpha: Array) -> Array:
    """Weights (m, T) of features from their moments about zero, for one λ or one for each target."""
    each = np.broadcast_to(alpha, S.xy.shape[1:])
    found = np.empty_like(S.xy)
    for a in np.unique(each):
        found[:, each == a] = _solved(np, S.xx, S.xy[:, each == a], float(a))
    return found


def left_out(block: Block, Q: Array, inverses: Array, targets: Array) -> Sums:
    """Σω and, for each λ and target, Σω·(leave-one-out error)² of a block of features."""
    Y = to_numpy(block.y if block.y.ndim == 2 else block.y[:, None])
    V = to_numpy(block.X) @ Q
    w = np.ones(len(V)) if block.weight is None else to_numpy(block.weight)
    leverage = w[:, None] * ((V * V) @ inverses)
    errors = []
    for k in range(inverses.shape[1]):
        residual = (Y - V @ (inverses[:, k, None] * targets)) / np.maximum(1.0 - leverage[:, k, None], TINY)
        errors.append(w @ residual**2)
    return Sums((w.sum(), np.stack(errors)))


def leave_one_out_features(S: Moments, rows: Rows, alphas: Array) -> Path:
    """The whole path on features: one decomposition of their matrix, and one pass for the errors of all λ."""
    values, Q = linalg.eigh(S.xx, check_finite=False, driver="evd")
    inverses = 1.0 / (np.maximum(values, 0.0)[:, None] + alphas)
    targets = Q.T @ S.xy
    weight, errors = rows.reduce(left_out, Q, inverses, targets).parts
    return Path([Q @ (inverses[:, k, None] * targets) for k in range(len(alphas))], errors / weight)


class KernelRidge(MultiOutputMixin, RegressorMixin, Estimator):
    r"""Ridge regression with a kernel, with the penalty given or chosen by exact leave-one-out errors.

    .. math:: f(x) = \sum_i c_i k(x, x_i),\qquad (K + \lambda\Omega^{-1})\,c = y

    Notes
    -----
    There is no constant term: add a constant to the kernel (``kernel + 1``), or centre y. Cost: n² evaluations of the
    kernel and n³/3 multiply–adds for one λ; with `alphas`, one eigendecomposition (about 9n³) and n² for each λ. A
    prediction takes n evaluations. Weights multiply squares, so that a weight of 2 is a row twice. Fitted rows are
    kept. Tensors are computed on their device. Shape of computation: pairs.

    References
    ----------
    Saunders, Gammerman, Vovk (1998); Cawley, Talbot (2008), doi:10.1007/s10994-008-5055-9.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.kernel_ridge import KernelRidge
    >>> from didact.kernels import RBF
    >>> x = np.linspace(0, 6, 40)[:, None]
    >>> model = KernelRidge(kernel=RBF(1.0), alphas=np.logspace(-6, 2, 9)).fit(x, np.sin(x[:, 0]))
    >>> float(model.alpha_), bool(abs(model.predict(x) - np.sin(x[:, 0])).max() < 1e-3)
    (1e-06, True)
    """

    _tensors = True
    _test_params = [{"kernel": "rbf"}, {"kernel": "rbf", "alphas": (0.1, 1.0, 10.0)}, {"kernel": "linear"}]
    _test_skips = {
        "weight_scale": "The penalty stands beside a sum over rows: ten times the weight is ten times the rows.",
        "weights_equal_repetition/repeated:alphas": "What is left out at a time is a row with all of its weight.",
        "check_sample_weight_equivalence_on_dense_data:alphas": "What is left out is a row with all of its weight.",
        "check_sample_weight_equivalence_on_sparse_data:alphas": "What is left out is a row with all of its weight.",
        "constant_columns/constant:kernel=rbf": "gamma=None is one over the number of columns.",
        "constant_columns/zeros:kernel=rbf": "gamma=None is one over the number of columns.",
        "constant_columns/constant:kernel=linear": "There is no constant term.",
        "constant_columns/shift:kernel=linear": "There is no constant term.",
    }
    _attrs = [
        attr("dual_coef_", "(n_samples,) or (n_samples, n_targets)", "c_i of the fitted rows."),
        attr("X_fit_", "(n_samples, n_features)", "The fitted rows; for a precomputed kernel, the matrix."),
        attr("kernel_", "kernel or callable", "The kernel."),
        attr("alpha_", "float or (n_targets,)", "The penalty that was used."),
        attr("loo_errors_", "(n_alphas,) or (n_alphas, n_targets)", "Mean squared errors, left out.", "alphas"),
    ]

    alpha: Any = param(1.0, [at_least(0), array_like], "The penalty λ, or one for each target.")
    kernel: Any = param(
        "linear",
        [one_of(*PAIRWISE_NAMES), is_callable],
        "A name of scikit-learn, any kernel of didact.kernels, or a function of two rows or of two sets of rows.",
    )
    gamma: Any = param(None, [at_least(0), none], "γ of kernels that have one; None: 1/p.")
    degree: float = param(3, at_least(0), "Degree of the polynomial kernel.")
    coef0: float = param(1.0, Real, "The constant of polynomial and sigmoid kernels.")
    kernel_params: Any = param(None, [dict, none], "More arguments of a function.")
    alphas: Any = param(None, [array_like, none], "Penalties to choose from, by leave-one-out errors.")
    approximation: Any = approximation_param()
    n_components: int = n_components_param()
    random_state: Any = param(None, random_state, "Draws the features of an approximation.")

    def _rows(self, X: Any, y: Any = None, sample_weight: Any = None, **how: Any) -> Rows:
        read = rows_or_strings if callable(self.kernel) else Estimator._rows
        return read(self, X, y, sample_weight, **how)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KernelRidge":
        """Solve for the coefficients of the rows."""
        rows = self._rows(X, y, sample_weight, target="outputs")
        self.kernel_ = pairwise_kernel(
            self.kernel, self.gamma, self.degree, self.coef0, self.kernel_params, rows.n_features
        )
        coef, self.X_fit_ = self._exact(rows) if self.approximation is None else self._approximate(rows)
        if not np.isfinite(coef).all():
            raise InputError("The coefficients are not finite: scale X and y, or raise alpha.")
        self.dual_coef_ = (coef if rows.y_ndim == 2 else coef[:, 0]).astype(float_type(rows))
        return self

    def _exact(self, rows: Rows) -> tuple[Array, Any]:
        """Coefficients of all rows, and these."""
        X, y, w, *_ = rows.whole()
        if not is_text(X):
            require_finite(X, rows.names)
        with blas_for(X.shape[0]):
            coef = self._solved(X, y, w)
        if is_tensor(X):
            return coef, to_numpy(X)
        return coef, X if self.kernel_ == "precomputed" else X.copy()  # the user may use the memory of rows again

    def _solved(self, X: AnyArray, y: AnyArray, w: Any) -> Array:
        """Coefficients of all rows."""
        K = self._gram(X)
        warn_indefinite(self, self.kernel_, lambda: K)
        Y = y if y.ndim == 2 else y[:, None]
        w = row_weights(w, X.shape[0])
        if self.alphas is not None:
            path = partial(leave_one_out, to_numpy(K).astype(np.float64), to_numpy(Y).astype(np.float64), w)
            return self._chosen(path, Y.shape[1])
        alpha = penalties(self.alpha, Y.shape[1])
        self.alpha_ = float(alpha[0]) if alpha.size == 1 else alpha
        return to_numpy(solve(K, _like(Y, K), _like(np.sqrt(w), K), alpha))

    def _approximate(self, rows: Rows) -> tuple[Array, Any]:
        """Coefficients of landmarks or cosines, and these."""
        features = chosen_map(self.approximation, self.kernel_, rows, self.n_components, self.random_state)
        warn_landmarks(self, features)
        refuse_square(features.size, FEWER_FEATURES)
        mapped = feature_rows(rows, features)
        S = mapped.reduce(moments).about_zero()
        if self.alphas is not None:
            weights = self._chosen(partial(leave_one_out_features, S, mapped), S.xy.shape[1])
        else:
            alpha = penalties(self.alpha, S.xy.shape[1])
            weights, self.alpha_ = ridge_weights(S, alpha), float(alpha[0]) if alpha.size == 1 else alpha
        self.kernel_ = features.kernel
        return features.coefficients(weights), features.vectors

    def _gram(self, X: AnyArray) -> AnyArray:
        """The Gram matrix of the fitted rows."""
        if self.kernel_ == "precomputed":
            require_gram(X)
            return as_dense(X)
        return own_gram(self.kernel_, X)

    def _chosen(self, path: Callable[[Array], Path], targets: int) -> Array:
        """Coefficients of the λ with the least leave-one-out error."""
        alphas = np.asarray(self.alphas, np.float64)
        if alphas.ndim != 1 or not len(alphas) or not (np.isfinite(alphas).all() and (alphas > 0).all()):
            raise ParameterError("alphas is a list of penalties, all of them positive and finite.")
        found = path(alphas)
        best = int(found.errors.mean(axis=1).argmin())
        self.alpha_ = float(alphas[best])
        self.loo_errors_ = found.errors if targets > 1 else found.errors[:, 0]
        return found.coef[best]

    def predict(self, X: Any) -> Any:
        """f(x) of each row."""
        return self._after_fit()._map_rows(X, values_at, self.kernel_, self.X_fit_, self.dual_coef_)


def penalties(alpha: Any, targets: int) -> Array:
    """One λ, or one for each target."""
    values = np.atleast_1d(np.asarray(alpha, np.float64))
    if values.ndim != 1 or values.size not in (1, targets):
        raise ParameterError(
            f"alpha has {values.size} entries, and y has {targets} columns: give one, or one for each."
        )
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise ParameterError("alpha must be finite and not negative.")
    return values


def values_at(X: AnyArray, kernel: Any, rows: Any, coef: Array) -> AnyArray:
    """Σ c_i k(x, x_i)."""
    if isinstance(kernel, str):
        found = to_numpy(as_dense(X)) @ coef
    else:
        if is_sparse(rows) != is_sparse(X):
            X, rows = (as_dense(M) for M in (X, rows))
        found = images(kernel, X, like(rows, X), coef)
    return like(np.asarray(found).astype(float_type(X)), X)


def _like(a: Any, K: AnyArray) -> AnyArray:
    return a if is_tensor(a) else like(a, K)
