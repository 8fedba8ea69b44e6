"""Linear support vector classification; the method is in `linear`."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from didact.core.backend import float_type, to_numpy
from didact.core.parameters import attr, none, one_of, param
from didact.core.progress import FitProgress
from didact.core.rows import Rows
from didact.core.sparse.coefficients import SparseCoefficients
from didact.core.typing import Array
from didact.engines.gram.dual_descent import box_of_classes, descend_classes
from didact.engines.loop.iterate import Report
from didact.engines.loop.result import Result
from didact.engines.scores.linear import decision, encoded_rows, predict_labels
from didact.parts.losses.margin import SquaredHinge
from didact.svm.base import WEIGHTS_ARE_C, first_of_the_largest
from didact.svm.linear import _LinearMachine, in_table, prices, versus_rest

PENALISED = "The constant term is penalised, as in scikit-learn: it is that of a column of ones."
APART = "Classes are fitted one by one: callbacks hear of the iterations of all, n_iter_ is the number of one."


def nearest_first(X: Any, coef: Array, intercept: Array, classes: Array, tol: float) -> Any:
    """Labels of the largest values; of values that are equal as far as they are known, the first."""
    scores = decision(X, coef, intercept)
    return classes[first_of_the_largest(to_numpy(scores), tol)]


class LinearSVC(SparseCoefficients, ClassifierMixin, _LinearMachine):
    r"""Linear support vector classification, for many rows or columns.

    .. math:: \min_{w,b}\ \tfrac12\big(\|w\|^2 + (b/c)^2\big) + C\sum_i\omega_i\max(0, 1 - y_i(x_i^Tw + b))^q

    Notes
    -----
    q is 2 (`loss='squared_hinge'`) or 1 ('hinge'). Several classes are each told apart from the rest, on all threads,
    or fitted jointly (`multi_class='crammer_singer'`, for which penalty, loss and dual have no effect), by the
    sequential dual method with shrinking. If callbacks listen, classes are fitted in turn. Cost: a sweep
    of the dual takes one product with every row, some tens of sweeps; a Newton step of the primal n p², about ten of
    them. Weights multiply C, so that a weight of 2 is a row twice. Shape of computation: iterate.

    References
    ----------
    Hsieh et al. (2008), doi:10.1145/1390156.1390208; Keerthi et al. (2008), doi:10.1145/1401890.1401942; Fan et al.
    (2008), JMLR 9, 1871–1874.

    Examples
    --------
    >>> from didact.svm import LinearSVC
    >>> model = LinearSVC(loss="hinge", C=100.0).fit([[0.0], [1.0], [3.0], [4.0]], ["no", "no", "yes", "yes"])
    >>> model.predict([[1.5], [2.6]]).tolist()
    ['no', 'yes']
    """

    _test_params = [
        {"tol": 1e-9},
        {"loss": "hinge", "C": 0.5, "tol": 1e-9},
        {"penalty": "l1", "C": 0.1, "tol": 1e-9},
    ]
    _test_skips = {
        "callbacks/iterations:loss=hinge": APART,
        **dict.fromkeys(("constant_columns/constant", "constant_columns/shift"), PENALISED),
        "weight_scale": WEIGHTS_ARE_C,
    }
    _attrs = [
        attr("classes_", "(n_classes,)", "Labels, sorted."),
        attr("coef_", "(n_classes or 1, n_features)", "Weights; of two classes the second's."),
        attr("intercept_", "(n_classes or 1,)", "Constant terms."),
        attr("n_iter_", "int", "Sweeps or iterations, of the class that took most."),
    ]

    penalty: str = param("l2", one_of("l1", "l2"), "The norm of the weights that is penalised.")
    loss: str = param("squared_hinge", one_of("hinge", "squared_hinge"), "The loss of a row.")
    multi_class: str = param(
        "ovr", one_of("ovr", "crammer_singer"), "Whether each class is told apart from the rest, or all jointly."
    )
    class_weight: Any = param(
        None, [dict, one_of("balanced"), none], "Factors of C for the classes; 'balanced': inverse to their weight."
    )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "LinearSVC":
        """Find the weights of the columns for each class."""
        rows = self._rows(X, y, sample_weight, target="labels")
        rows, weight, self.classes_ = encoded_rows(rows, self.class_weight, "LinearSVC")
        dtype = float_type(rows)
        known: dict[str, Any] = {"X": X, "y": y, "sample_weight": sample_weight, "seconds": self.time_limit}
        known["attributes"] = lambda W: self._shaped(self._table(W), dtype)
        with FitProgress(self, self.max_iter, **known) as progress:
            found = self._separated(rows, weight, progress)
        joint = self.multi_class == "crammer_singer"
        W = self._table(found[0].x if joint else np.stack([one.x for one in found]))
        self.__dict__.update(self._shaped(W, dtype))
        self._ended(found, progress.late)
        return self

    def _table(self, W: Array) -> Array:
        """A row of weights for each class or one for two, also from those of all classes jointly, a column for each."""
        if self.multi_class != "crammer_singer":
            return W
        return np.diff(W.T, axis=0) if len(self.classes_) == 2 else W.T

    def _separated(self, rows: Rows, weight: float, progress: FitProgress) -> list[Result]:
        """A fit for each class, or one for two classes or all jointly."""
        positives = [1] if len(self.classes_) == 2 else list(range(len(self.classes_)))
        if self.multi_class == "crammer_singer":
            data, norm = self._dual_data(rows)
            codes = np.asarray(data.y, np.int64)
            how = prices(data, self.C), self._constant(), self.tol, self.max_iter
            return [descend_classes(data.X, data.design, norm, codes, *how, progress.report)]
        heard = in_table(len(positives), rows.n_features + 1)
        if not self._in_dual(rows, self.penalty, self.loss):
            primal = SquaredHinge(), weight, self.penalty == "l1"
            return progress.each(
                heard(lambda k, told: self._primal(rows.prepared(versus_rest, positives[k]), *primal, told)),
                range(len(positives)),
                threads=False,
            )
        data, norm = self._dual_data(rows)
        price, squared = prices(data, self.C), self.loss == "squared_hinge"

        def fit_class(k: int, told: Report) -> Result:
            sign = np.where(data.y == positives[k], 1.0, -1.0)
            return self._dual(data, norm, box_of_classes(sign, price, squared, self._constant()), told)

        return progress.each(heard(fit_class), range(len(positives)))

    def decision_function(self, X: Any) -> Any:
        """Values of the decision: (n,), positive for the second of two classes, or (n, n_classes)."""
        return self._after_fit()._map_rows(X, decision, self.coef_, self.intercept_)

    def predict(self, X: Any) -> Any:
        """The class with the largest value; of equal ones the first."""
        args = self._after_fit().coef_, self.intercept_, self.classes_
        if self._ties():
            return self._map_rows(X, nearest_first, *args, self.tol)
        return self._map_rows(X, predict_labels, *args)

    def _ties(self) -> bool:
        """Whether rows on the margins of two classes have the same value in both."""
        return self.loss == "hinge" and self.multi_class == "ovr" and len(self.classes_) > 2
