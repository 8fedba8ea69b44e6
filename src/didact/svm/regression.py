r"""Support vector regression: errors up to ε cost nothing, larger ones their excess.

.. math:: \min_{w,b}\ \tfrac12\|w\|^2 + C\sum_i\omega_i\max(0, |y_i - w^T\phi(x_i) - b| - \varepsilon)

In the dual each row has two variables, α_i (y above the tube) and α_i* (below), with coefficients β_i = α_i − α_i*:
it is solved by `engines.gram.smo` with signs ±1 and linear terms ε ∓ y_i. Rows strictly inside the tube get β_i = 0.

Smola, Schölkopf (2004), doi:10.1023/B:STCO.0000035301.49549.88.
"""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from didact.core.backend import row_weights, to_numpy
from didact.core.errors import InputError
from didact.core.estimator import tagged
from didact.core.parameters import above_or_infinite, at_least, attr, param, random_state
from didact.core.progress import FitProgress
from didact.core.typing import Array
from didact.engines.gram.features import approximation_param, n_components_param
from didact.engines.gram.smo import NO_PROGRESS, Dual, Solved, coefficients, solve_dual
from didact.svm.approximated import fit_targets
from didact.svm.base import HARD, SKIPS, WEIGHTS_ARE_C, _KernelMachine, typical_value, values_at

NO_TUBE = (
    "No function of this kernel comes within epsilon of all rows (C=inf): use a finite C, a larger epsilon, or another "
    "kernel."
)


def tube(y: Array, epsilon: float, bound: Array) -> Dual:
    """The dual of the ε-insensitive loss: variables 0 … n − 1 push up, n … 2n − 1 push down."""
    n = len(y)
    return Dual(
        row=np.tile(np.arange(n), 2),
        sign=np.repeat([1.0, -1.0], n),
        linear=np.concatenate([epsilon - y, epsilon + y]),
        bound=np.tile(bound, 2),
        start=np.zeros(2 * n),
    )


@tagged(target_tags__multi_output=True)
class SVR(RegressorMixin, _KernelMachine):
    r"""Support vector regression with the ε-insensitive loss and any kernel.

    .. math:: f(x) = \sum_i \beta_i k(x, x_i) + b,\qquad |\beta_i|\le C\omega_i

    Notes
    -----
    y may have several columns, each of which is fitted on its own. Cost: about n · n_SV evaluations of the kernel, as
    matrix products; a prediction takes n_SV of them. Weights multiply C, so that a weight of 2 is a row twice. The dual
    is solved until no pair of variables violates the optimality conditions by more than `tol`, in units of y. Shape of
    computation: pairs.

    References
    ----------
    Drucker et al. (1996), Support vector regression machines; Smola, Schölkopf (2004),
    doi:10.1023/B:STCO.0000035301.49549.88.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.svm import SVR
    >>> x = np.linspace(0, 6, 60)[:, None]
    >>> model = SVR(C=10.0, epsilon=0.05).fit(x, np.sin(x[:, 0]))
    >>> bool(abs(model.predict(x) - np.sin(x[:, 0])).max() < 0.06), len(model.support_) < 20
    (True, True)
    """

    _test_params = [{"gamma": 0.2, "tol": 1e-9}, {"kernel": "linear", "epsilon": 0.0, "tol": 1e-9}]
    _test_skips = {**SKIPS, "weight_scale": WEIGHTS_ARE_C}
    _attrs = [
        attr("dual_coef_", "(n_targets, n_SV)", "β_i of the support vectors."),
        attr("n_support_", "(1,)", "Number of support vectors."),
    ]

    C: float = param(1.0, above_or_infinite(0), "Price of an error beyond the tube; inf: there must be none.")
    epsilon: float = param(0.1, at_least(0), "Half width of the tube inside which errors cost nothing.")
    approximation: Any = approximation_param()
    n_components: int = n_components_param()
    random_state: Any = param(None, random_state, "Draws the features of an approximation.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "SVR":
        """Find the support vectors and their coefficients."""
        rows = self._rows(X, y, sample_weight, target="outputs")
        if self.approximation is not None:
            self._several = rows.y_ndim == 2
            return fit_targets(self, rows, X, y)
        X, y, w, kernel = self._prepared(rows)
        self._several = y.ndim == 2
        duals = self._tubes(to_numpy(y).astype(np.float64), w, HARD / typical_value(kernel, X))
        with FitProgress(self, None, X=X, y=y, sample_weight=sample_weight) as progress:
            how = self._search()
            solved = progress.each(lambda dual, report: self._solved(kernel, X, dual, how, report), duals)
        self._store(
            X, np.stack([coefficients(d, one.alpha, len(y)) for d, one in zip(duals, solved, strict=True)]), solved
        )
        return self

    def _store(self, X: Any, beta: Array, solved: list[Solved]) -> None:
        """The attributes of the fit, of coefficients (n_targets, n)."""
        support = np.flatnonzero(beta.any(axis=0))
        self._keep(X, support, beta[:, support], solved)
        self.intercept_ = np.array([-one.rho for one in solved], self._dtype)
        self.n_support_ = np.array([len(support)], np.int32)
        self.n_iter_ = int(max(one.n_iter for one in solved))

    def _solved(self, kernel: Any, X: Any, dual: Dual, *how: Any) -> Solved:
        """The optimum of a dual; without a price there may be none."""
        found = solve_dual(kernel, X, dual, *how)
        outside = (found.alpha >= dual.bound)[dual.bound > 0].any() or found.status == NO_PROGRESS
        if np.isinf(self.C) and outside:
            raise InputError(NO_TUBE)
        return found

    def _tubes(self, Y: Array, w: Any, most: float) -> list[Dual]:
        """A dual for each target; `most` stands for infinity."""
        weights = row_weights(w, len(Y))
        if not weights.any():
            raise InputError("All sample weights are zero: no row counts.")
        with np.errstate(invalid="ignore"):
            bound = self.C * weights if np.isfinite(self.C) else np.where(weights > 0, most * (np.ptp(Y) or 1.0), 0.0)
        return [tube(t, self.epsilon, bound) for t in (Y.T if Y.ndim == 2 else [Y])]

    def predict(self, X: Any) -> Any:
        """f(x) of each row; (n, n_targets) if y had several columns."""
        self._after_fit()
        coef, constant = self._weights()
        if not self._several:
            coef, constant = coef[:, 0], constant[0]
        return self._map_rows(X, values_at, self.kernel_, self.support_, self.support_vectors_, coef, constant)
