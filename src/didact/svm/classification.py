r"""Support vector classification: the widest margin between classes, in the features of a kernel.

.. math:: \min_{w,b,\xi}\ \tfrac12\|w\|^2 + C\sum_i \omega_i\xi_i,\qquad y_i(w^T\phi(x_i)+b)\ge 1-\xi_i,\quad \xi_i\ge0

Its dual sees the rows through k(x, z) = φ(x)ᵀφ(z) alone:

.. math:: \max_\alpha\ \sum_i\alpha_i - \tfrac12\sum_{ij}\alpha_i\alpha_j y_iy_j k(x_i,x_j),\qquad
    0\le\alpha_i\le C\omega_i,\quad \sum_i y_i\alpha_i=0

1. For each pair of classes (or each class against the rest) the dual is solved by `engines.gram.smo`; pairs are shared
   out among threads.
2. Rows with α > 0 are the support vectors: f(x) = Σ α_i y_i k(x, x_i) + b. The margin is 1/‖w‖ on either side.
3. C = ∞ is the hard margin: data that cannot be separated make the dual unbounded, and are refused.

Cortes, Vapnik (1995), doi:10.1007/BF00994018; Chang, Lin (2011), doi:10.1145/1961189.1961199.
"""

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if

from didact.core.backend import as_dense, like, namespace, row_weights, rows_at, to_numpy
from didact.core.compat import deprecated
from didact.core.errors import InputError
from didact.core.parameters import above_or_infinite, attr, is_bool, none, one_of, param, random_state
from didact.core.progress import FitProgress
from didact.core.random import streams
from didact.core.typing import AnyArray, Array
from didact.engines.gram.features import approximation_param, n_components_param
from didact.engines.gram.rows import GivenGram, images
from didact.engines.gram.smo import NO_PROGRESS, Dual, Search, Solved, leap, solve_dual
from didact.engines.gram.tuning import WORTH_POOL
from didact.parts.statistics.counts import Counts, weigh_classes
from didact.svm.approximated import fit_classes
from didact.svm.base import (
    HARD,
    HARDEST,
    SKIPS,
    WEIGHTS_ARE_C,
    _KernelMachine,
    first_of_the_largest,
    typical_value,
    values_at,
)
from didact.svm.calibration import folds, probabilities, sigmoid
from didact.svm.pairs import arranged, by_class, spread, votes

MOVED = "A polynomial of xᵀz changes with the origin of x."
FOLDS = 5
PROBABILITY = (
    "The `probability` parameter was deprecated in 1.9 and will be removed in version 1.11. Use "
    "`CalibratedClassifierCV(SVC(), ensemble=False)` instead of `SVC(probability=True)`"
)


def fits_probabilities(model: Any) -> bool:
    """Whether `predict_proba` is there."""
    if model.probability is not True:
        raise AttributeError("predict_proba is not available when probability=False")
    return True


class Task(NamedTuple):
    """Two sets of rows to be told apart: the numbers of all rows, and which of them are on the positive side."""

    rows: Array
    positive: Array


def separate(kernel: Any, X: AnyArray, task: Task, bound: Array, how: Search, report: Any = None) -> Solved:
    """The dual of one separation."""
    sign = np.where(task.positive, 1.0, -1.0)
    n, whole = len(sign), len(task.rows) == X.shape[0]
    hard = not np.isfinite(bound).all()
    part: Any = X if whole else rows_at(X, task.rows)
    if isinstance(kernel, GivenGram) and not whole:
        part = kernel.K[np.ix_(task.rows, task.rows)]
        kernel = GivenGram(part)
    dual = Dual(row=np.arange(n), sign=sign, linear=-np.ones(n), bound=bound, start=np.zeros(n))
    return _hard_margin(kernel, part, dual, how, report) if hard else solve_dual(kernel, part, dual, how, report)


def _hard_margin(kernel: Any, X: AnyArray, dual: Dual, how: Search, report: Any) -> Solved:
    """The dual without bounds; refused if it has no solution, as far as values of the kernel in float64 can tell."""
    unit = typical_value(kernel, X)
    solved = _bounded(kernel, X, dual, HARD / unit, how, report)
    if solved is None:  # columns of unequal size need an α that is larger by orders
        wide = dual._replace(bound=np.minimum(dual.bound, HARDEST / unit))
        found = leap(kernel, X, wide, how)
        if found is not None and separates(dual.sign, found) > 0.0:
            solved = _bounded(kernel, X, dual._replace(start=found.alpha), HARDEST / unit, how, report)
    if solved is None:
        raise InputError(
            "The classes cannot be separated by this kernel, so there is no hard margin (C=inf): use a finite C, or "
            "another kernel."
        )
    return solved


def _bounded(kernel: Any, X: AnyArray, dual: Dual, most: float, how: Search, report: Any) -> Solved | None:
    """The solution with a bound that stands for infinity; None if it is reached, or rows stay on the wrong side."""
    solved = solve_dual(kernel, X, dual._replace(bound=np.minimum(dual.bound, most)), how, report)
    wrong = solved.status == NO_PROGRESS and separates(dual.sign, solved) <= 0.0
    return None if wrong or (solved.alpha >= most).any() else solved


def separates(sign: Array, solved: Solved) -> float:
    """The least y f(x) of all rows: positive if all are on their sides."""
    return float((sign * (solved.u - solved.rho)).min())


class SVC(ClassifierMixin, _KernelMachine):
    r"""Support vector classification with any kernel.

    .. math:: f(x) = \sum_i \alpha_i y_i k(x, x_i) + b,\qquad 0\le\alpha_i\le C\omega_i

    Notes
    -----
    Several classes are told apart in pairs, or each from the rest (`strategy`). Cost: about n · n_SV evaluations of the
    kernel, made as matrix products; a prediction takes n_SV of them. Weights multiply C, so that a weight of 2 is the
    same as a row twice. The dual is solved until no pair of variables violates the optimality conditions by more than
    `tol` (`kkt_residual_`). Fitted rows that are support vectors are kept. Shape of computation: pairs.

    References
    ----------
    Cortes, Vapnik (1995), doi:10.1007/BF00994018; Fan, Chen, Lin (2005), JMLR 6, 1889–1918.

    Examples
    --------
    >>> from didact.svm import SVC
    >>> X = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]
    >>> model = SVC(C=10.0, gamma=1.0).fit(X, ["same", "same", "other", "other"])
    >>> model.predict([[0.9, 0.8], [0.1, 0.9]]).tolist(), model.n_support_.tolist()
    (['same', 'other'], [2, 2])
    """

    _test_params = [
        {"gamma": 0.2, "tol": 1e-9},
        {"kernel": "linear", "C": 0.5, "tol": 1e-9},
        {"kernel": "poly", "gamma": 0.2, "coef0": 1.0, "strategy": "ovr", "tol": 1e-9},
    ]
    _test_skips = {
        **SKIPS,
        "weight_scale": WEIGHTS_ARE_C,
        "constant_columns/constant:kernel=poly": MOVED,
        "constant_columns/shift:kernel=poly": MOVED,
        "check_class_weight_classifiers:kernel=poly": "1000 steps on pairs, with values of the kernel up to 1e9.",
        "check_fit_idempotent:kernel=poly": "Columns near 100 make values near 1e11: a tol of 1e-9 is below rounding.",
    }
    _attrs = [
        attr("class_weight_", "(n_classes,)", "The factor of C of each class."),
        attr("n_support_", "(n_classes,)", "Number of support vectors of each class."),
        attr(
            "dual_coef_",
            "(n_classes - 1, n_SV) or (n_classes, n_SV)",
            "α_i y_i of the support vectors: for each other class, or for each class against the rest.",
        ),
        attr("probA_, probB_", "(n_decisions,) or (0,)", "A and B of the sigmoids; empty without `probability`."),
        attr("margins_", "(n_decisions,)", "Widths 1/‖w‖ of the margins on one side."),
        attr("slack_", "(n_samples, n_decisions)", "ξ_i of each row in each decision; NaN where it takes no part."),
    ]

    C: float = param(1.0, above_or_infinite(0), "Price of a row inside the margin or beyond; inf: a hard margin.")
    class_weight: Any = param(
        None, [one_of("balanced"), dict, none], "Factors of C for the classes; 'balanced': inverse to their weight."
    )
    decision_function_shape: str = param(
        "ovr", one_of("ovo", "ovr"), "Whether `decision_function` has a column for each class or each pair."
    )
    break_ties: bool = param(
        False, is_bool, "Whether ties in votes are broken by the values of the decision functions, else by order."
    )
    probability: Any = param(
        "deprecated",
        [is_bool, one_of("deprecated")],
        "Whether to fit probabilities by five-fold cross-validation, for `predict_proba`; as in scikit-learn it warns.",
    )
    random_state: Any = param(None, random_state, "Draws the folds of `probability`, and features.")
    strategy: str = param("ovo", one_of("ovo", "ovr"), "Whether pairs of classes are separated, or each from the rest.")
    approximation: Any = approximation_param()
    n_components: int = n_components_param()

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "SVC":
        """Find the support vectors and their coefficients."""
        rows = self._rows(X, y, sample_weight, target="labels")
        if self.approximation is not None:
            return fit_classes(self, rows, X, y)
        X, y, w, kernel = self._prepared(rows)
        codes, w, bound = self._priced(y, w)
        tasks = tasks_of(codes, len(self.classes_), bound > 0, self.strategy)
        with FitProgress(self, None, X=X, y=y, sample_weight=sample_weight) as progress:
            how = self._search()
            many = sum(len(t.rows) for t in tasks) >= WORTH_POOL
            solved = progress.each(lambda t, report: separate(kernel, X, t, bound[t.rows], how, report), tasks, many)
        self._store(X, codes, tasks, solved)
        self._calibrate(kernel, X, codes, bound, w, how)
        return self

    def _priced(self, y: Any, w: Any) -> tuple[Array, Array, Array]:
        """Codes of the labels, weights, and the bound of α of each row."""
        self.classes_, codes = np.unique(to_numpy(y), return_inverse=True)
        w = row_weights(w, len(codes))
        counts = np.bincount(codes, w, len(self.classes_))
        if (counts > 0).sum() < 2:
            raise InputError(f"SVC needs at least two classes with weight; y has {int((counts > 0).sum())} class.")
        factors = weigh_classes(self.class_weight, Counts(self.classes_, counts))
        self.class_weight_ = np.ones(len(counts)) if factors is None else factors
        return codes, w, np.where(w > 0, np.where(w > 0, w, 1.0) * self.class_weight_[codes] * self.C, 0.0)

    def _calibrate(self, kernel: Any, X: AnyArray, codes: Array, bound: Array, w: Array, how: Search) -> None:
        """A and B of the sigmoid of every decision, from values of rows that were held out."""
        self.probA_ = self.probB_ = np.empty(0)
        if self.probability != "deprecated":
            deprecated(PROBABILITY)
        if self.probability is not True:
            return
        K, seed = len(self.classes_), streams(self.random_state, 1)[0]
        tasks = tasks_of(codes, K, bound > 0, self.strategy)
        found = []
        for task in tasks:
            values = np.empty(len(task.rows))
            for train, test in folds(task.positive.astype(int), FOLDS, seed):
                part = Task(task.rows[train], task.positive[train])
                values[test] = self._held_out(kernel, X, part, bound, task.rows[test], how)
            found.append(sigmoid(values, task.positive, w[task.rows]))
        self.probA_, self.probB_ = np.array(found).T

    def _held_out(self, kernel: Any, X: AnyArray, part: Task, bound: Array, rows: Array, how: Search) -> Array:
        """Decision values of held-out rows from a fit to others; the sign of the only class if there is one alone."""
        if part.positive.all() or not part.positive.any():
            return np.full(len(rows), 1.0 if part.positive.all() else -1.0)
        one = separate(kernel, X, part, bound[part.rows], how)
        beta = np.where(part.positive, 1.0, -1.0) * one.alpha
        if isinstance(kernel, GivenGram):
            return np.asarray(kernel.K[np.ix_(rows, part.rows)] @ beta - one.rho)
        held, seen = (rows_at(X, r) for r in (rows, part.rows[one.alpha > 0]))
        return images(kernel, held, seen, beta[one.alpha > 0]) - one.rho

    def _store(self, X: AnyArray, codes: Array, tasks: list[Task], solved: list[Solved]) -> None:
        """Coefficients of all decisions, in scikit-learn's form."""
        K, n = len(self.classes_), X.shape[0]
        table = np.zeros((n, len(tasks)))
        self.slack_ = np.full((n, len(tasks)), np.nan)
        for k, (task, one) in enumerate(zip(tasks, solved, strict=True)):
            sign = np.where(task.positive, 1.0, -1.0)
            table[task.rows, k] = sign * one.alpha
            self.slack_[task.rows, k] = np.maximum(0.0, 1.0 - sign * (one.u - one.rho))
        used = np.flatnonzero(table.any(axis=1))
        support = used[np.argsort(codes[used], kind="stable")]
        self.slack_ = self.slack_.astype(self._dtype)
        self._keep(X, support, arranged(table[support], codes[support], K, self.strategy), solved)
        self.n_support_ = np.bincount(codes[support], minlength=K).astype(np.int32)
        norms = [table[task.rows, k] @ one.u for k, (task, one) in enumerate(zip(tasks, solved, strict=True))]
        with np.errstate(divide="ignore", over="ignore"):  # a constant decision has no border: its margin is infinite
            self.margins_ = (1.0 / np.sqrt(np.maximum(norms, 0.0))).astype(self._dtype)
        self.intercept_ = np.array([-one.rho for one in solved], self._dtype)
        self.n_iter_ = np.array([one.n_iter for one in solved], np.int32)

    def _weights(self) -> tuple[Array, Array]:
        """Coefficients of the support vectors for each decision (n_SV, n_decisions), and the constants."""
        if self.approximation is not None:
            return super()._weights()
        codes = np.repeat(np.arange(len(self.classes_)), self.n_support_)
        return spread(as_dense(self.dual_coef_), codes, len(self.classes_), self.strategy), self.intercept_

    def _sums(self) -> tuple[Any, ...]:
        """Arguments of `values_at` after X."""
        self._after_fit()
        return self.kernel_, self.support_, self.support_vectors_, *self._weights()

    def decision_function(self, X: Any) -> Any:
        """Signed distance from the border in units of the margin: (n,) for two classes, positive for the second.

        For more classes (n, n_classes), or (n, n_pairs) for `decision_function_shape="ovo"`: a pair (i, j) is positive
        for class i.
        """
        sums = self._sums()
        pairs = self.strategy == "ovo" and self.decision_function_shape == "ovr"
        return self._map_rows(X, decisions, len(self.classes_), pairs, *sums)

    @available_if(fits_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """P of each class (n, n_classes): sigmoids of the decision values, coupled over all pairs."""
        sums = self._sigmoids(), len(self.classes_), self.strategy == "ovo", *self._sums()
        return self._map_rows(X, posterior, *sums)

    def _sigmoids(self) -> Array:
        """A and B of all decisions."""
        self._after_fit()
        if not len(self.probA_):
            raise NotFittedError("predict_proba is not available when fitted with probability=False")
        return np.stack([self.probA_, self.probB_])

    @available_if(fits_probabilities)
    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of the probabilities (n, n_classes)."""
        sums = self._sigmoids(), len(self.classes_), self.strategy == "ovo", *self._sums()
        return self._map_rows(X, log_posterior, *sums)

    def predict(self, X: Any) -> Any:
        """The class of each row: the sign, the most votes of all pairs, or the largest value (ties: the first)."""
        if self.break_ties and self.decision_function_shape == "ovo":
            raise InputError("break_ties must be False when decision_function_shape is 'ovo'")
        sums = self._sums()
        return self._map_rows(X, labels, self.classes_, self.strategy == "ovo", self.break_ties, self.tol, *sums)


def posterior(X: AnyArray, sigmoids: Array, K: int, pairs: bool, *sums: Any) -> AnyArray:
    """Probabilities of the classes."""
    return probabilities(values_at(X, *sums), sigmoids[0], sigmoids[1], K, pairs)


def log_posterior(X: AnyArray, *sums: Any) -> AnyArray:
    """Logarithms of the probabilities of the classes."""
    found = posterior(X, *sums)
    return namespace(found).log(found)


def decisions(X: AnyArray, K: int, pairs: bool, *sums: Any) -> AnyArray:
    """The values of the decisions as the user meets them."""
    found = values_at(X, *sums)
    if K == 2:
        return found[:, 0]
    return like(by_class(found, K), found) if pairs else found


def labels(X: AnyArray, classes: Array, pairs: bool, ties: bool, tol: float, *sums: Any) -> Array:
    """The predicted class of each row."""
    found, K = to_numpy(values_at(X, *sums)), len(classes)
    if K == 2:
        return np.asarray(classes[(found[:, 0] > 0).astype(int)])
    if not pairs:
        return np.asarray(classes[first_of_the_largest(found, tol)])
    return np.asarray(classes[(by_class(found, K) if ties else votes(found, K)).argmax(axis=1)])


def tasks_of(codes: Array, K: int, counts: Array, strategy: str) -> list[Task]:
    """The separations: for two classes the second is positive, for pairs (i, j) the first, else each class itself."""
    every = np.flatnonzero(counts)
    if K == 2:
        return [Task(every, codes[every] == 1)]
    if strategy == "ovr":
        return [Task(every, codes[every] == k) for k in range(K)]
    found = []
    for i, j in combinations(range(K), 2):
        rows = every[(codes[every] == i) | (codes[every] == j)]
        found.append(Task(rows, codes[rows] == i))
    return found
