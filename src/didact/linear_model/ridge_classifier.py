r"""Ridge classification: ridge regression on labels that are coded as ±1, one column for each class.

.. math:: \min_{B, b_0} \sum_i w_i\|t_i - B^Tx_i - b_0\|^2 + \alpha\|B\|_F^2,\qquad t_{ik} = \pm 1

The sign of the one fitted value decides between two classes, the largest of K between more, and each sign for itself
between the labels of a table of 0 and 1 (multi-label). All columns share one decomposition, so that many classes cost
little more than one, and penalties are compared by leave-one-out in closed form (`leave_one_out`).

Hoerl, Kennard (1970), doi:10.1080/00401706.1970.10488634; Rifkin, Yeo, Poggio (2003), Regularized least-squares
classification, in Advances in Learning Theory, NATO Science Series III 190.
"""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import type_of_target

from didact.core.backend import float_type, is_tensor, namespace, to_numpy
from didact.core.errors import InputError
from didact.core.estimator import Estimator, tagged
from didact.core.parameters import above, array_like, at_least, attr, is_bool, none, one_of, param, splitter
from didact.core.progress import FitProgress
from didact.core.rows import Block, MemoryRows, Rows
from didact.core.typing import Array
from didact.engines.scores.linear import decision, predict_labels
from didact.linear_model.least_squares_classifier import code_labels, coded_rows
from didact.linear_model.leave_one_out import Grid, few_rows, solve_few_rows, solve_grid, stacked_errors, with_map
from didact.linear_model.linear_regression import Solution
from didact.linear_model.regularization_path import knowing_labels, score, scoring_param, split
from didact.linear_model.ridge import _RidgeSolver
from didact.linear_model.ridge_cv import _RidgeCV, refuse_with_folds, score_errors


def code_signs(block: Block, classes: Array, class_weights: Array | None) -> Block:
    """A block with ±1 for labels, in one column for two classes and one for each class of more."""
    return code_labels(block, classes, class_weights, -1.0)


def code_table(block: Block, class_weight: Any) -> Block:
    """Rows with ±1 for a table of 0 and 1; the weight of a row is the product of its labels' class weights."""
    y, w = block.y, block.weight
    if class_weight is not None:
        each = compute_sample_weight(class_weight, y)
        w = each if w is None else w * each
    return Block(block.X, 2.0 * np.asarray(y, np.float64) - 1.0, w)


def kind_of(y: Any) -> str:
    """What kind of target to ask for: a table of labels, or one column of them."""
    return "label columns" if (y if hasattr(y, "ndim") else np.asarray(y)).ndim == 2 else "labels"


def signed_rows(model: Any, rows: Rows) -> Rows:
    """Rows with ±1 for labels or for the entries of a table of labels; sets classes_ and whether it is a table."""
    y = None if rows.n_rows is None else rows.whole().y
    model.multilabel_ = rows.y_ndim == 2
    if not model.multilabel_:
        return coded_rows(model, rows, code_signs)
    if y is None or is_tensor(y) or type_of_target(y) != "multilabel-indicator":
        raise InputError(
            f"{type(model).__name__} takes one column of labels, or in memory a table of 0 and 1 with a column for "
            "each label; multioutput target data of other kinds are not supported: fit a model for each column."
        )
    model.classes_ = np.arange(y.shape[1])
    return rows.prepared(code_table, model.class_weight)


def signs(X: Any, coef: Array, intercept: Array) -> Any:
    """1 where a label's fitted value is above 0, else 0: (n, L)."""
    scores = decision(X, coef, intercept)
    xp = namespace(scores)
    return xp.astype((scores if scores.ndim == 2 else scores[:, None]) > 0, xp.int64)


@tagged(classifier_tags__multi_label=True)
class _Signs(ClassifierMixin, Estimator):
    """Abstract: what ridge classifiers do once they have coefficients."""

    _attrs = [
        attr("classes_", "(n_classes,)", "Labels, sorted; the numbers of the columns of a table of labels."),
        attr("coef_", "(n_classes or 1, n_features)", "Coefficients; of two classes the second's."),
        attr("intercept_", "(1,) or (n_classes,)", "Constant terms."),
        attr("multilabel_", "bool", "Whether y was a table of 0 and 1."),
    ]

    def _keep(self, solution: Solution, rows: Rows) -> None:
        dtype = float_type(rows)
        self.coef_, self.intercept_ = solution.coef.T.astype(dtype), np.asarray(solution.intercept, dtype)

    def decision_function(self, X: Any) -> Any:
        """Fitted codes: (n,), positive for the second of two classes, or (n, K) for more classes or labels."""
        return self._after_fit()._map_rows(X, decision, self.coef_, self.intercept_)

    def predict(self, X: Any) -> Any:
        """The label whose code is nearest to the fitted one, or a table of 0 and 1."""
        if getattr(self, "multilabel_", False):
            return self._after_fit()._map_rows(X, signs, self.coef_, self.intercept_)
        return self._after_fit()._map_rows(X, predict_labels, self.coef_, self.intercept_, self.classes_)


class RidgeClassifier(_Signs, _RidgeSolver):
    r"""Classification by ridge regression on labels coded as ±1.

    .. math:: \min_{B, b_0} \sum_i w_i\|t_i - B^Tx_i - b_0\|^2 + \alpha\|B\|_F^2,\qquad t_{ik} = \pm 1

    Notes
    -----
    Cost as for `Ridge`, one decomposition for all classes: n p² + p³/3, or n² p + n³/3 for more columns than rows.
    `LeastSquaresClassifier` is the same with α = 0 as its default; its codes of K classes are 0 and 1, which halves
    their coefficients. The penalty is relative to the sum of weighted errors, not to their mean, as in `Ridge`. Shape
    of computation: reduce.

    References
    ----------
    Hoerl, Kennard (1970), doi:10.1080/00401706.1970.10488634.

    Examples
    --------
    >>> from didact.linear_model import RidgeClassifier
    >>> model = RidgeClassifier().fit([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"])
    >>> model.predict([[0.2], [2.9]]).tolist(), model.decision_function([[1.5]]).round(6)
    (['no', 'yes'], array([0.]))
    """

    _test_params = [{}, {"class_weight": "balanced", "solver": "svd"}]

    alpha: float = param(1.0, at_least(0), "Strength of the L2 penalty.")
    fit_intercept: bool = param(True, is_bool, "Whether to add constant terms, which are not penalised.")
    class_weight: Any = param(
        None, [dict, one_of("balanced"), none], "Weights of the classes; 'balanced': equal in sum."
    )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "RidgeClassifier":
        """Fit to rows X with labels y, or a table of 0 and 1; sample_weight counts rows."""
        rows = signed_rows(self, self._rows(X, y, sample_weight, target=kind_of(y)))
        solution = self._solution(rows, np.asarray([self.alpha]), X, y)
        self._keep(solution, rows)
        self._report(solution)
        return self


class _Decided(ClassifierMixin, BaseEstimator):
    """A classifier whose decision values are what it is given: hands ready predictions to a scorer."""

    def __init__(self, classes: Any, table: bool):
        self.classes, self.table = classes, table

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @property
    def classes_(self) -> Array:
        """The labels."""
        return self.classes

    def decision_function(self, X: Any) -> Array:
        """X itself, as (n,) for two classes."""
        return X[:, 0] if X.shape[1] == 1 else X

    def predict(self, X: Any) -> Array:
        """The labels that the decision values X stand for."""
        if self.table:
            return (X > 0).astype(np.int64)
        return self.classes[(X[:, 0] > 0).astype(np.intp) if X.shape[1] == 1 else X.argmax(axis=1)]


class RidgeClassifierCV(_Signs, _RidgeCV):
    r"""Ridge classification with the penalty chosen by leave-one-out or by folds.

    .. math:: \hat\alpha = \arg\min_\alpha \sum_i w_i\sum_k\Big(\frac{t_{ik}-\hat t_{ik}(\alpha)}{1-h_i(\alpha)}\Big)^2

    Notes
    -----
    Cost: two passes, 2 n p² + 9 p³ whatever the number of penalties and classes; n² p + 9 n³ for no more rows than
    columns. Needs rows in memory. A row is left out with its whole weight, as in `RidgeCV`; `scoring` and the scores of
    folds get the sample weights, without those of classes. Folds are stratified. Of equal scores the first penalty
    wins.

    References
    ----------
    Golub, Heath, Wahba (1979), doi:10.1080/00401706.1979.10489751.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.linear_model import RidgeClassifierCV
    >>> X = np.arange(10.0)[:, None]
    >>> RidgeClassifierCV(alphas=[0.1, 1.0, 10.0]).fit(X, X[:, 0] > 4).score(X, X[:, 0] > 4)
    1.0
    """

    _single = RidgeClassifier
    _test_skips = {
        **_RidgeCV._test_skips,
        "collections": "The penalty is chosen on rows in memory; batches and Dask collections are refused.",
    }

    alphas: Any = param((0.1, 1.0, 10.0), [array_like, above(0)], "Penalties to choose from.")
    fit_intercept: bool = param(True, is_bool, "Whether to add constant terms, which are not penalised.")
    scoring: Any = scoring_param(
        None, "What to choose by; None: the mean squared error of leave-one-out, the accuracy with folds."
    )
    cv: Any = param(None, splitter, "Folds: a number, a splitter or a list of splits; None: leave-one-out.")
    class_weight: Any = param(
        None, [dict, one_of("balanced"), none], "Weights of the classes; 'balanced': equal in sum."
    )
    store_cv_results: bool = param(False, is_bool, "Whether to keep what leave-one-out gave for each row and penalty.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> "RidgeClassifierCV":
        """Fit to rows X with labels y, or a table of 0 and 1, after choosing the penalty; params go to the splitter."""
        asked = self._split_params(sample_weight, params)
        given = self._foldable(self._rows(X, y, sample_weight, target=kind_of(y)))
        rows = signed_rows(self, given).require_memory("Folds are taken from rows in memory.")
        alphas = self._penalties()
        with FitProgress(self, X=X, y=y):
            grid, scores = (self._leave_one_out if self.cv is None else self._folds)(rows, alphas, given, asked)
        best = int(np.argmax(np.where(np.isnan(scores), -np.inf, scores)))
        self.alpha_, self.best_score_ = float(alphas[best]), float(scores[best])
        self._keep(Solution(grid.coef[:, best], grid.intercept[best]), rows)
        return self

    def _scorer(self) -> Any:
        return knowing_labels(check_scoring(RidgeClassifier(), scoring=self.scoring), self.classes_)

    def _leave_one_out(self, rows: MemoryRows, alphas: Array, given: MemoryRows, asked: Any) -> tuple[Grid, Array]:
        """The grid of solutions on all rows, and scores (A,)."""
        if np.count_nonzero(np.ones(rows.n_rows) if rows.columns.weight is None else rows.columns.weight) < 2:
            raise InputError("Leave-one-out needs at least two rows with weight, but the data have only one sample.")
        if few_rows(rows):
            grid, errors = solve_few_rows(rows, alphas, self.fit_intercept)
            _, T, w, *_ = rows.columns
        else:
            grid = solve_grid(rows, alphas, self.fit_intercept)
            errors, T, w = rows.reduce(stacked_errors, *with_map(grid)).columns()
        if self.scoring is None:
            scores, kept = score_errors(errors, T, w, None, False)
        else:
            kept = (T if T.ndim == 2 else T[:, None])[:, None, :] - errors
            scorer, held = self._scorer(), given.columns[1:3]
            model = _Decided(self.classes_, self.multilabel_)
            scores = np.asarray([score(scorer, model, P, *held) for P in kept.transpose(1, 0, 2)])
        if self.store_cv_results:
            self.cv_results_ = kept.transpose(0, 2, 1).astype(float_type(rows))
        return grid, scores

    def _folds(self, rows: MemoryRows, alphas: Array, given: MemoryRows, asked: Any) -> tuple[Grid, Array]:
        """The grid of solutions on all rows, and mean scores (A,) over the folds."""
        refuse_with_folds(self, "store_cv_results")
        parts, scorer = split(self.cv, given, given.columns.y, True, asked), self._scorer()
        model = _Decided(self.classes_, self.multilabel_)

        def judge(test: Array) -> Any:
            X, y, w, *_ = given.some(test).columns
            return lambda grid, a: score(scorer, model, to_numpy(X @ grid.coef[:, a] + grid.intercept[a]), y, w)

        return self._on_folds(rows, alphas, parts, judge, lambda *progress: False)
