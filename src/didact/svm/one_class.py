r"""The one-class machine: a boundary around most of the rows.

.. math:: \min_\alpha\ \tfrac12\sum_{ij}\alpha_i\alpha_j k(x_i,x_j),\qquad 0\le\alpha_i\le\omega_i,\quad
    \sum_i\alpha_i = \nu\sum_i\omega_i

f(x) = Σ α_i k(x, x_i) − ρ is positive inside. At most a share ν of the rows lies outside, and at least ν are support
vectors. Schölkopf et al. (2001), doi:10.1162/089976601750264965.
"""

from typing import Any

import numpy as np
from sklearn.base import OutlierMixin

from didact.core.backend import row_weights, to_numpy
from didact.core.errors import InputError
from didact.core.parameters import attr, between, param
from didact.core.progress import FitProgress
from didact.core.typing import Array
from didact.engines.gram.smo import Dual, Solved, solve_dual
from didact.svm.base import SKIPS, _KernelMachine, values_at

ROUNDING = 1e-6  # of the offset: by how much two computations of the value of one row may differ, also in float32


def filled(bound: Array, total: float) -> Array:
    """Variables at their bounds, one row after the other, until they sum up to the total."""
    before = np.cumsum(bound) - bound
    return np.clip(total - before, 0.0, bound)


def around(n: int, w: Any, nu: float) -> tuple[Dual, float]:
    """The dual of n rows whose weights have the mean 1, and their unit: α and the values are proportional to them."""
    weights = row_weights(w, n)
    if not weights.any():
        raise InputError("All sample weights are zero: no row counts.")
    unit = float(weights[weights > 0].mean())
    bound = weights / unit
    start = filled(bound, nu * bound.sum())
    return Dual(row=np.arange(n), sign=np.ones(n), linear=np.zeros(n), bound=bound, start=start), unit


def inner_offset(solved: Solved, bound: Array) -> float:
    """ρ, not above any free support vector's value: these lie on the border, and rounding must not put them outside."""
    on_border = solved.u[(solved.alpha > 0) & (solved.alpha < bound)]
    return min(solved.rho, float(on_border.min(initial=np.inf))) - ROUNDING * abs(solved.rho)


class OneClassSVM(OutlierMixin, _KernelMachine):
    r"""Support vector machine of one class: detects rows unlike the fitted ones.

    .. math:: f(x) = \sum_i\alpha_i k(x, x_i) - \rho

    Notes
    -----
    ν bounds the share of fitted rows outside from above, and the share of support vectors from below. Cost: about
    n · n_SV evaluations of the kernel, as matrix products. Weights ω multiply the bounds of α, so that a weight of 2 is
    a row twice; values grow with their sum, the border does not change. Shape of computation: pairs.

    References
    ----------
    Schölkopf et al. (2001), doi:10.1162/089976601750264965.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.svm import OneClassSVM
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = OneClassSVM(nu=0.1).fit(X)
    >>> model.predict([[0.0, 0.0], [6.0, 6.0]]), bool((model.predict(X) < 0).mean() < 0.12)
    (array([ 1, -1]), True)
    """

    _test_params = [{"nu": 0.3, "gamma": 0.2, "tol": 1e-9}]
    _test_skips = {**SKIPS, "weight_scale": "Values grow with the sum of the weights, as Σα = νΣω; the border stays."}
    _attrs = [
        attr("dual_coef_", "(1, n_SV)", "α_i of the support vectors."),
        attr("n_support_", "(1,)", "Number of support vectors."),
        attr("offset_", "(1,)", "ρ: `decision_function` is `score_samples` minus it."),
    ]

    nu: float = param(0.5, between(0, 1, closed="right"), "Share of the rows that may lie outside.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "OneClassSVM":
        """Find the boundary; y is ignored."""
        X, _, w, kernel = self._prepared(self._rows(X, None, sample_weight, target="none"))
        dual, unit = around(X.shape[0], w, self.nu)
        # Values are at most the sum of α; a tolerance in units of the user's weights, unless these are far from 1.
        tol = self.tol * min(1.0, dual.start.sum()) / min(max(unit, 1.0), 10.0)
        how = self._search()._replace(tol=tol)
        with FitProgress(self, None, X=X, sample_weight=sample_weight) as progress:
            solved = solve_dual(kernel, X, dual, how, progress.report)
        support = np.flatnonzero(solved.alpha)
        self._keep(X, support, unit * solved.alpha[None, support], [solved])
        self.offset_ = np.array([unit * inner_offset(solved, dual.bound)], self._dtype)
        self.intercept_, self.n_iter_ = -self.offset_, int(solved.n_iter)
        self.n_support_ = np.array([len(support)], np.int32)
        return self

    def _sum(self) -> tuple[Any, ...]:
        """Arguments of `values_at` after X."""
        self._after_fit()
        return self.kernel_, self.support_, self.support_vectors_, self._weights()[0][:, 0]

    def score_samples(self, X: Any) -> Any:
        """Σ α_i k(x, x_i) of each row."""
        return self._map_rows(X, values_at, *self._sum(), 0.0)

    def decision_function(self, X: Any) -> Any:
        """Positive inside the border."""
        return self._map_rows(X, values_at, *self._sum(), -float(self.offset_[0]))

    def predict(self, X: Any) -> Any:
        """+1 inside, −1 outside."""
        return self._map_rows(X, sides, *self._sum(), -float(self.offset_[0]))


def sides(X: Any, *sum_of: Any) -> Array:
    """+1 where the value is not negative, −1 elsewhere."""
    return np.where(to_numpy(values_at(X, *sum_of)) >= 0, 1, -1)
