"""Linear support vector regression; the method is in `linear`."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from didact.core.backend import float_type
from didact.core.estimator import tagged
from didact.core.parameters import at_least, attr, one_of, param
from didact.core.progress import FitProgress
from didact.core.rows import Rows
from didact.core.typing import Array
from didact.engines.gram.dual_descent import box_of_targets
from didact.engines.loop.iterate import Report
from didact.engines.loop.result import Result
from didact.engines.scores.linear import linear_scores
from didact.parts.losses.regression import SquaredEpsilonInsensitive
from didact.svm.base import WEIGHTS_ARE_C
from didact.svm.linear import _LinearMachine, in_table, one_target, prices, weight_of
from didact.svm.linear_classification import PENALISED


@tagged(target_tags__multi_output=True)
class LinearSVR(RegressorMixin, _LinearMachine):
    r"""Linear support vector regression: errors up to ε cost nothing.

    .. math:: \min_{w,b}\ \tfrac12\big(\|w\|^2 + (b/c)^2\big)
        + C\sum_i\omega_i\max(0, |y_i - x_i^Tw - b| - \varepsilon)^q

    Notes
    -----
    q is 1 (`loss='epsilon_insensitive'`) or 2 ('squared_epsilon_insensitive'). y may have several columns, each of
    which is fitted on its own. Cost: a sweep of the dual takes one product with every row, some tens of sweeps; a
    Newton step of the primal n p², about ten of them. Weights multiply C, so that a weight of 2 is a row twice. Shape
    of computation: iterate.

    References
    ----------
    Ho, Lin (2012), Large-scale linear support vector regression, JMLR 13, 3323–3348; Hsieh et al. (2008),
    doi:10.1145/1390156.1390208.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.svm import LinearSVR
    >>> X = np.arange(20.0)[:, None]
    >>> model = LinearSVR(C=10.0, intercept_scaling=100.0).fit(X, 2.0 * X[:, 0] + 1.0)
    >>> model.predict([[30.0]]).round(2).tolist()
    [61.0]
    """

    _test_params = [{"epsilon": 0.1, "tol": 1e-9}, {"loss": "squared_epsilon_insensitive", "tol": 1e-9}]
    _test_skips = {
        **dict.fromkeys(("constant_columns/constant", "constant_columns/shift"), PENALISED),
        "weight_scale": WEIGHTS_ARE_C,
    }
    _attrs = [
        attr("coef_", "(n_features,) or (n_targets, n_features)", "Weights of the columns."),
        attr("intercept_", "(n_targets,)", "Constant terms."),
        attr("n_iter_", "int", "Sweeps or iterations, of the target that took most."),
    ]

    epsilon: float = param(0.0, at_least(0), "Half width of the tube inside which errors cost nothing.")
    loss: str = param(
        "epsilon_insensitive",
        one_of("epsilon_insensitive", "squared_epsilon_insensitive"),
        "The loss of a row: what its error exceeds ε by, or its square.",
    )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "LinearSVR":
        """Find the weights of the columns for each target."""
        rows = self._rows(X, y, sample_weight, target="outputs")
        dtype, several = float_type(rows), rows.y_ndim == 2

        def fitted(W: Array) -> dict[str, Any]:
            found = self._shaped(W, dtype)
            return found if several else found | {"coef_": found["coef_"][0]}

        known = {"X": X, "y": y, "sample_weight": sample_weight, "attributes": fitted, "seconds": self.time_limit}
        with FitProgress(self, self.max_iter, **known) as progress:
            found = self._of_targets(rows, progress)
        self.__dict__.update(fitted(np.stack([one.x for one in found])))
        self._ended(found, progress.late)
        return self

    def _of_targets(self, rows: Rows, progress: FitProgress) -> list[Result]:
        """A fit for each target."""
        targets, heard = range(rows.n_targets), in_table(rows.n_targets, rows.n_features + 1)
        if not self._in_dual(rows, "l2", self.loss):
            loss, weight = SquaredEpsilonInsensitive(self.epsilon), float(rows.reduce(weight_of).parts[0])
            how = loss, weight, False
            one_by_one = heard(lambda k, told: self._primal(rows.prepared(one_target, k), *how, told))
            return progress.each(one_by_one, targets, threads=False)
        data, norm = self._dual_data(rows)
        price, squared = prices(data, self.C), self.loss.startswith("squared")

        def fit_target(k: int, told: Report) -> Result:
            y = np.ascontiguousarray(data.y if data.y.ndim == 1 else data.y[:, k])
            return self._dual(data, norm, box_of_targets(y, price, self.epsilon, squared, self._constant()), told)

        return progress.each(heard(fit_target), targets)

    def predict(self, X: Any) -> Any:
        """Predicted targets of each row; (n, n_targets) if y had several columns."""
        return self._after_fit()._map_rows(X, linear_scores, self.coef_, self.intercept_)
