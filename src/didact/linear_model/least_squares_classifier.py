r"""Classification by least squares on the labels.

Two classes are coded as y = ±1, and the sign of :math:`f(x) = x^Tw + b` decides; K classes are coded as unit vectors
(one-hot), and the largest of K fitted values decides:

.. math:: \min_{W, b} \sum_i s_i \|t_i - W^Tx_i - b\|^2 + \alpha\|W\|^2

1. One pass counts the labels; another gives means and cross-products of features and codes.
2. Cholesky solves all classes at once: n p² + p³/3, the same matrix for every class.

With constant terms the fitted values of K classes add up to 1, but they are no probabilities: rows far on the right
side of a boundary count as errors, too. For two classes and α = 0 the direction of w is that of linear discriminant
analysis.

Bishop (2006), Pattern Recognition and Machine Learning, section 4.1.3, doi:10.1007/978-0-387-45528-0; Fisher (1936),
doi:10.1111/j.1469-1809.1936.tb02137.x.
"""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from didact.core.backend import float_type, is_tensor, like, namespace
from didact.core.estimator import Estimator
from didact.core.parameters import at_least, attr, is_bool, none, one_of, param
from didact.core.progress import FitProgress
from didact.core.rows import Block, Rows
from didact.core.typing import Array
from didact.engines.scores.linear import decision, predict_labels
from didact.linear_model.linear_regression import Solution
from didact.linear_model.linear_regression import solve as solve_plain
from didact.linear_model.ridge import solve as solve_ridge
from didact.parts.statistics.counts import label_codes, label_counts, labels_of, weigh_classes


def code_labels(block: Block, classes: Array, class_weights: Array | None, low: float = 0.0) -> Block:
    """A block with ±1 for two labels, for more 1 in the label's column and `low` in others; w has class weights."""
    X, w, K = block.X, block.weight, len(classes)
    codes = label_codes(block.y, classes)
    codes = namespace(X, codes).asarray(codes, device=X.device) if is_tensor(X) else codes
    if class_weights is not None:
        each = labels_of(codes, like(class_weights, X))
        w = each if w is None else w * each
    table = np.array([-1.0, 1.0]) if K == 2 else np.where(np.eye(K, dtype=bool), 1.0, low)
    return Block(X, labels_of(codes, like(table, X)), w)


def coded_rows(model: Any, rows: Rows, code: Any) -> Rows:
    """Rows whose labels are numbers, by a function like `code_labels`; sets classes_."""
    counts = rows.reduce(label_counts)
    counts.require_two(type(model).__name__)
    model.classes_ = counts.values
    return rows.prepared(code, model.classes_, weigh_classes(model.class_weight, counts))


def solve(rows: Rows, alpha: float, fit_intercept: bool, tol: float) -> Solution:
    """Least squares of the codes, with an L2 penalty if alpha is not 0."""
    if alpha == 0:
        return solve_plain(rows, fit_intercept, tol=tol)
    return solve_ridge(rows, np.asarray([alpha]), fit_intercept, False, "auto", tol, 10 * rows.n_features)


class LeastSquaresClassifier(ClassifierMixin, Estimator):
    r"""Linear classifier fitted by least squares to coded labels: ±1 for two classes, one-hot for more.

    .. math:: \min_{W, b} \sum_i s_i \|t_i - W^Tx_i - b\|^2 + \alpha\|W\|^2

    Notes
    -----
    Cost: n p² + p³/3 for any number of classes, in two passes; wide sparse data by conjugate gradients. Sample weights
    are frequencies. Shape of computation: reduce. Logistic regression is the better classifier where classes are far
    apart: squared error also punishes rows that are right by a wide margin, and with three classes in a row the middle
    one may never win.

    References
    ----------
    Bishop (2006), section 4.1.3, doi:10.1007/978-0-387-45528-0.

    Examples
    --------
    >>> from didact.linear_model import LeastSquaresClassifier
    >>> model = LeastSquaresClassifier().fit([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"])
    >>> model.predict([[0.2], [2.9]]).tolist(), model.decision_function([[1.5]]).round(6)
    (['no', 'yes'], array([0.]))
    """

    _tensors = True
    _test_params = [{}, {"alpha": 2.0, "class_weight": "balanced"}]
    _test_skips = {
        "weight_scale:alpha": "The penalty stands beside a sum over rows: ten times the weight is ten times the rows."
    }

    alpha: float = param(0.0, at_least(0), "Strength of the L2 penalty.")
    fit_intercept: bool = param(True, is_bool, "Whether to add constant terms, which are not penalised.")
    class_weight: Any = param(
        None, [dict, one_of("balanced"), none], "Weights of the classes; 'balanced': equal in sum."
    )
    tol: float = param(1e-8, at_least(0), "Relative residual of conjugate gradients; direct solves are exact.")

    _attrs = [
        attr("coef_", "(1, n_features) or (n_classes, n_features)", "Coefficients; of two classes the second's."),
        attr("intercept_", "(1,) or (n_classes,)", "Constant terms."),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "LeastSquaresClassifier":
        """Fit to rows X with labels y; sample_weight counts rows."""
        rows = self._rows(X, y, sample_weight, target="labels")
        coded = coded_rows(self, rows, code_labels)
        with FitProgress(self, X=X, y=y):
            solution = solve(coded, self.alpha, self.fit_intercept, self.tol)
        dtype = float_type(rows)
        self.coef_, self.intercept_ = solution.coef.T.astype(dtype), np.asarray(solution.intercept, dtype)
        return self

    def decision_function(self, X: Any) -> Any:
        """Fitted codes: (n,), positive for the second of two classes, or (n, K)."""
        return self._after_fit()._map_rows(X, decision, self.coef_, self.intercept_)

    def predict(self, X: Any) -> Any:
        """The label whose code is nearest to the fitted one."""
        return self._after_fit()._map_rows(X, predict_labels, self.coef_, self.intercept_, self.classes_)
