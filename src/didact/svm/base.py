"""Base of the support vector machines: the kernel that parameters name, limits of the solver, values at new rows."""

import time
from numbers import Real
from typing import Any

import numpy as np

from didact.core.backend import as_dense, float_type, is_sparse, is_tensor, like, rows_at, to_numpy
from didact.core.estimator import Estimator, warn_convergence
from didact.core.overflow import refuse_extreme
from didact.core.parameters import above, above_or_infinite, at_least, attr, is_bool, is_callable, one_of, param, whole
from didact.core.rows import Rows
from didact.core.rows.memory import require_finite
from didact.core.typing import AnyArray, Array
from didact.engines.gram.pairwise import pairwise_kernel
from didact.engines.gram.rows import GivenGram, images, is_text, kernel_diagonal, rows_or_strings, square_gram
from didact.engines.gram.smo import Search, Solved
from didact.engines.gram.systems import SOME, square_kernel, warn_indefinite
from didact.kernels import Kernel, Linear
from didact.kernels.radial import spread_of_rows

ROUNDED = 1e3  # rounding errors of the largest value of a row: a sum of many terms may lose as many
HARD = 1e7  # the bound that stands for infinity, in units of one over the mean of k(x, x); where it is reached,
HARDEST = 1e15  # beyond it distances of classes are smaller than rounding errors of k
LEAST = 1e-280  # of such a mean: α in its units stays finite
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


def time_limit_param() -> Any:
    """The parameter `time_limit`."""
    return param(np.inf, above_or_infinite(0), "Seconds after which the fit ends with what it has, and a warning.")


def gamma_of_spread(X: AnyArray, w: Any, names: Any) -> float:
    """1/(p · variance of X), or 1 if X is constant; columns whose squares overflow or vanish are refused."""
    with np.errstate(all="ignore"):
        spread = spread_of_rows(X, w)
        gamma = 1.0 / (X.shape[1] * spread) if spread > 0 else 1.0
    if not (0.0 < spread < np.inf and np.isfinite(gamma)):
        refuse_extreme(X, names)
    return gamma


def chosen_kernel(kernel: Any, gamma: Any, degree: int, coef0: float, X: AnyArray, w: Any, names: Any = None) -> Any:
    """The kernel that the parameters name, and γ."""
    if isinstance(gamma, str):
        scaled = gamma == "scale" and kernel in ("poly", "rbf", "sigmoid")
        gamma = gamma_of_spread(X, w, names) if scaled else 1.0 / X.shape[1]
    named = isinstance(kernel, str)
    return pairwise_kernel(kernel, gamma, degree, coef0, None, X.shape[1]) if named else kernel, gamma


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
        attr("coef_", "(n_decisions, n_features)", "Weights of the columns, to be read.", "kernel='linear'"),
        attr("kernel_", "kernel or str", "The kernel."),
        attr("kkt_residual_", "float", "The largest violation of the optimality conditions that is left."),
        attr("fit_status_", "int", "0 if the solver converged, else 1."),
        attr("shape_fit_", "tuple", "Shape of the fitted X."),
        attr("n_iter_", "int or (n_decisions,)", "Steps on pairs of variables."),
    ]

    kernel: Any = kernel_param()
    degree: int = degree_param()
    gamma: Any = gamma_param()
    coef0: float = coef0_param()
    tol: float = param(1e-3, above(0), "The largest violation of the optimality conditions that is allowed.")
    shrinking: bool = param(
        True, is_bool, "Whether rows that stay at their bounds are left out for a time; a matter of speed."
    )
    cache_size: float = param(200.0, above(0), "Megabytes for rows of the Gram matrix.")
    max_iter: int = param(-1, whole(-1), "The most steps on pairs; −1: no limit while there is progress.")
    time_limit: float = time_limit_param()

    def __sklearn_tags__(self: Any) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed" and not callable(self.kernel)
        return tags

    _rows = rows_or_strings

    def _prepared(self: Any, rows: Rows) -> tuple[AnyArray, Any, Any, Any]:
        """X, y and weights of all rows, and the kernel."""
        X, y, w, *_ = rows.whole()
        text = is_text(X)
        if not text:
            require_finite(X, rows.names)
        self.shape_fit_ = tuple(X.shape)
        self._dtype = float_type(X)
        if not text and not is_tensor(X):
            X = X.astype(np.float64, copy=False)
        if self.kernel == "precomputed":
            X = square_kernel(X)
            self.kernel_ = "precomputed"
            self._gamma = 1.0
            return X, y, w, GivenGram(X)
        how = self.kernel, self.gamma, int(self.degree), float(self.coef0)
        self.kernel_, self._gamma = chosen_kernel(*how, X, w, rows.names)
        return X, y, w, self.kernel_

    def _search(self: Any) -> Search:
        return Search(
            tol=self.tol,
            max_iter=self.max_iter,
            deadline=time.monotonic() + self.time_limit,
            cache_size=self.cache_size,
            shrinking=self.shrinking,
        )

    def _keep(self: Any, X: AnyArray, support: Array, dual_coef: Array, solved: list[Solved]) -> None:
        """Support vectors, their coefficients, which are sparse if the rows are, and how the solver ended."""
        self.support_, dual_coef = support.astype(np.int32), dual_coef.astype(self._dtype)
        self.dual_coef_ = type(X)(dual_coef) if is_sparse(X) else dual_coef
        if self.kernel == "precomputed":
            self.support_vectors_ = np.empty((0, 0))
        else:
            chosen = rows_at(X, support)
            kept = to_numpy(chosen) if is_tensor(X) else chosen
            self.support_vectors_ = kept if is_text(kept) else kept.astype(self._dtype, copy=False)
        warn_indefinite(self, self.kernel_, lambda: self._some_values(X, support[:SOME]))
        self.kkt_residual_ = max(one.gap for one in solved)
        bad = [one for one in solved if not one.converged]
        self.fit_status_, self.optimality_ = int(bool(bad)), self.kkt_residual_
        if bad and bad[0].status != "stopped":
            warn_convergence(
                self,
                f"the optimality conditions are violated by {self.kkt_residual_:.2g} ({bad[0].status}), more than "
                f"tol = {self.tol:g}: raise max_iter or time_limit, or scale the columns of X.",
            )

    def _weights(self: Any) -> tuple[Array, Array]:
        """Coefficients of the support vectors for each decision (n_SV, n_decisions), and the constants."""
        return as_dense(self.dual_coef_).T, self.intercept_

    @property
    def coef_(self: Any) -> AnyArray:
        """Weights of the columns (n_decisions, n_features), for a linear kernel; sparse after a fit to sparse rows."""
        if not isinstance(getattr(self, "kernel_", None), Linear):
            raise AttributeError("coef_ is only available when using a linear kernel")
        values = found = np.asarray(self._weights()[0].T @ self.support_vectors_)
        if is_sparse(self.dual_coef_):
            found = type(self.dual_coef_)(values)
            values = found.data
        values.flags.writeable = False  # a change here would change no prediction
        return found

    def _some_values(self: Any, X: AnyArray, some: Array) -> AnyArray:
        """The kernel on the first of the support vectors, which have these numbers."""
        if self.kernel == "precomputed":
            return X[np.ix_(some, some)]
        rows = self.support_vectors_[: len(some)]
        return square_gram(self.kernel_, rows) if len(some) else np.empty((0, 0))


def typical_value(kernel: Any, X: AnyArray) -> float:
    """The mean of k(x, x), in which α is measured."""
    own = isinstance(kernel, (GivenGram, Kernel))
    values = kernel_diagonal(kernel, X if own else X[:SOME])
    return max(float(np.abs(values).mean()), LEAST)


def values_at(X: AnyArray, kernel: Any, support: Array, vectors: Any, coef: Array, constant: Any) -> AnyArray:
    """Σ_i coef_i k(x, x_i) + constant of each row, for one set of coefficients or several."""
    if isinstance(kernel, str):
        found = to_numpy(as_dense(X))[:, support] @ coef
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


def first_of_the_largest(values: Array, tol: float) -> Array:
    """The first column whose value is the largest of its row, as far as values are known.

    A row that is a free support vector of two classes against the rest has the value −1 in both: rounding, or how far
    the solver went, must not choose between them.
    """
    known = ROUNDED * np.finfo(values.dtype).eps * np.abs(values).max(axis=1, keepdims=True)
    return np.asarray((values >= values.max(axis=1, keepdims=True) - np.maximum(tol, known)).argmax(axis=1))
