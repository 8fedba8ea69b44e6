"""Base of the support vector machines: the kernel that parameters name, limits of the solver, values at new rows."""

from numbers import Real
from typing import Any

import numpy as np

from didact.core.backend import float_type, is_sparse, is_tensor, like, to_numpy
from didact.core.errors import InputError
from didact.core.estimator import Estimator, warn_convergence
from didact.core.parameters import above, above_or_infinite, at_least, attr, is_bool, is_callable, one_of, param, whole
from didact.core.rows import Rows
from didact.core.rows.memory import finite_sum, refuse_non_finite
from didact.core.typing import AnyArray, Array
from didact.engines.gram.rows import Precomputed, images
from didact.engines.gram.smo import Search, Solved
from didact.kernels import RBF, Constant, Linear, Polynomial, Sigmoid
from didact.kernels.radial import spread_of_rows, width_of_gamma

NAMES = ("linear", "poly", "rbf", "sigmoid", "precomputed")


def kernel_param() -> Any:
    """The parameter `kernel`."""
    doc = (
        "The kernel: a name, any kernel of didact.kernels, a function of two sets of rows, or 'precomputed': X is then "
        "the Gram matrix (n, n), and new X has the values (m, n) with the fitted rows."
    )
    return param("rbf", [one_of(*NAMES), is_callable], doc)


def degree_param() -> Any:
    """The parameter `degree`."""
    return param(3, whole(0), "Degree of the polynomial kernel (γ xᵀz + coef0)^degree.")


def gamma_param() -> Any:
    """The parameter `gamma`."""
    doc = "γ of exp(−γ‖x − z‖²), 'poly' and 'sigmoid'; 'scale' is 1/(p · variance of X), 'auto' 1/p."
    return param("scale", [one_of("scale", "auto"), at_least(0)], doc)


def coef0_param() -> Any:
    """The parameter `coef0`."""
    return param(0.0, Real, "The constant of 'poly' and 'sigmoid'.")


def tol_param() -> Any:
    """The parameter `tol`."""
    return param(1e-3, above(0), "The largest violation of the optimality conditions that is allowed.")


def shrinking_param() -> Any:
    """The parameter `shrinking`."""
    return param(True, is_bool, "Whether rows that stay at their bounds are left out for a time; a matter of speed.")


def cache_size_param() -> Any:
    """The parameter `cache_size`."""
    return param(200.0, above(0), "Megabytes for rows of the Gram matrix.")


def max_iter_param() -> Any:
    """The parameter `max_iter`."""
    return param(-1, whole(-1), "The most steps on pairs of variables; −1: no limit.")


def time_limit_param() -> Any:
    """The parameter `time_limit`."""
    return param(np.inf, above_or_infinite(0), "Seconds after which the fit ends with what it has, and a warning.")


def chosen_kernel(kernel: Any, gamma: Any, degree: int, coef0: float, X: AnyArray, w: Any) -> Any:
    """The kernel that the parameters name, and γ."""
    p = X.shape[1]
    if isinstance(gamma, str):
        spread = spread_of_rows(X, w) if gamma == "scale" and kernel in ("poly", "rbf", "sigmoid") else 1.0
        gamma = 1.0 / (p * spread) if spread > 0 else 1.0
    if kernel == "linear":
        return Linear(), gamma
    if kernel == "poly":
        return Polynomial(degree, gamma, coef0), gamma
    if kernel == "rbf":
        return (RBF(width_of_gamma(gamma)) if gamma > 0 else Constant()), gamma
    return (Sigmoid(gamma, coef0) if kernel == "sigmoid" else kernel), gamma


TOLERANCE = "At the default tolerance two fits of one problem agree to 1e-3, not to rounding."
SETS = "Callbacks hear of working sets; max_iter counts steps on pairs, and coefficients are made at the end."
SKIPS = {
    **dict.fromkeys(("callbacks/iterations", "callbacks/model", "callbacks/stop"), SETS),
    "defaults/check_sample_weight_equivalence_on_dense_data": TOLERANCE,
    "defaults/check_sample_weight_equivalence_on_sparse_data": TOLERANCE,
}
WEIGHTS_ARE_C = "C multiplies the sum of losses, as in scikit-learn: twice the weights are twice C."


class _KernelMachine(Estimator):
    """Abstract: a model whose answers are sums of a kernel over some of the fitted rows."""

    _tensors = True
    _attrs = [
        attr("support_", "(n_SV,)", "Numbers of the rows that are support vectors."),
        attr("support_vectors_", "(n_SV, n_features)", "The support vectors; empty for a precomputed kernel."),
        attr("intercept_", "(n_decisions,)", "Constants of the decision functions."),
        attr("coef_", "(n_decisions, n_features)", "Weights of the columns.", "kernel='linear'"),
        attr("kernel_", "kernel or str", "The kernel."),
        attr("kkt_residual_", "float", "The largest violation of the optimality conditions that is left."),
        attr("fit_status_", "int", "0 if the solver converged, else 1."),
        attr("shape_fit_", "tuple", "Shape of the fitted X."),
        attr("n_iter_", "int or (n_decisions,)", "Steps on pairs of variables."),
    ]

    def __sklearn_tags__(self: Any) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed" and not callable(self.kernel)
        return tags

    def _prepared(self: Any, rows: Rows) -> tuple[AnyArray, Any, Any, Any]:
        """X, y and weights of all rows, and the kernel."""
        X, y, w, *_ = rows.whole()
        if not finite_sum(X):
            refuse_non_finite(X, rows.names)
        self.shape_fit_ = tuple(X.shape)
        self._dtype = float_type(X)
        if not is_tensor(X):
            X = X.astype(np.float64, copy=False)
        if self.kernel == "precomputed":
            if X.shape[0] != X.shape[1]:
                raise InputError(
                    f"X should be a square kernel matrix: it has {X.shape[0]} rows and {X.shape[1]} columns. A "
                    "precomputed kernel needs a value for every pair of fitted rows."
                )
            X = np.asarray(to_numpy(X.toarray() if is_sparse(X) else X), np.float64)
            self.kernel_ = "precomputed"
            self._gamma = 1.0
            return X, y, w, Precomputed(X)
        self.kernel_, self._gamma = chosen_kernel(self.kernel, self.gamma, int(self.degree), float(self.coef0), X, w)
        return X, y, w, self.kernel_

    def _search(self: Any) -> Search:
        return Search(
            tol=self.tol,
            max_iter=self.max_iter,
            seconds=self.time_limit,
            cache_size=self.cache_size,
            shrinking=self.shrinking,
        )

    def _keep(self: Any, X: AnyArray, support: Array, solved: list[Solved]) -> None:
        """Support vectors, and how the solver ended."""
        self.support_ = support.astype(np.int32)
        if self.kernel == "precomputed":
            self.support_vectors_ = np.empty((0, 0))
        else:
            chosen = X[support.tolist()] if is_tensor(X) else X[support]
            self.support_vectors_ = to_numpy(chosen) if is_tensor(X) else chosen.astype(self._dtype, copy=False)
        self.kkt_residual_ = max(one.gap for one in solved)
        bad = [one for one in solved if not one.converged]
        self.fit_status_ = int(bool(bad))
        if bad and bad[0].status != "stopped":
            warn_convergence(
                self,
                f"the optimality conditions are violated by {self.kkt_residual_:.2g} ({bad[0].status}), more than "
                f"tol = {self.tol:g}: raise max_iter or time_limit, or scale the columns of X.",
            )


def values_at(X: AnyArray, kernel: Any, support: Array, vectors: Any, coef: Array, constant: Any) -> AnyArray:
    """Σ_i coef_i k(x, x_i) + constant of each row, for one set of coefficients or several."""
    if isinstance(kernel, str):
        found = (X.toarray() if is_sparse(X) else to_numpy(X))[:, support] @ coef
    elif len(coef) == 0:
        found = np.zeros((X.shape[0], *coef.shape[1:]))
    elif isinstance(kernel, Linear):
        weights = vectors.T @ coef
        found = to_numpy(X @ (like(weights, X) if is_tensor(X) else weights))
    else:
        if is_sparse(vectors) and not is_sparse(X):
            vectors = vectors.toarray()
        elif is_sparse(X) and not is_sparse(vectors):
            X = X.toarray()
        found = images(kernel, X, like(vectors, X), coef)
    return like((found + constant).astype(float_type(X)), X)
