r"""Logistic and softmax regression.

The log-odds of the classes are linear in x: :math:`P(k\mid x) = e^{z_k}/\sum_j e^{z_j}` with
:math:`z_k = x^Tw_k + b_k`, for two classes :math:`P(1\mid x) = 1/(1+e^{-z})`. The coefficients minimise

.. math:: C\sum_i s_i\,\ell(y_i, z_i) + \frac{1-\rho}{2}\|w\|_2^2 + \rho\|w\|_1

where ℓ is the cross-entropy (maximum likelihood) or, with ``loss="squared"``, half the squared error of the
probabilities. Two classes and few features: Newton (Fisher scoring), n p² a step; else L-BFGS, n p K a step; with an L1
part proximal Newton on working sets. Separable classes without a penalty have no finite optimum: the fit stops at
the gradient tolerance and says so.

Cox (1958), doi:10.1111/j.2517-6161.1958.tb00292.x; Böhning (1992), Multinomial logistic regression algorithm,
doi:10.1007/BF00048682.
"""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from didact.core.backend import float_type, is_sparse, namespace
from didact.core.compat import LOGISTIC_SOLVERS, UNPENALISED, limit_reached, own_solver
from didact.core.errors import InputError
from didact.core.estimator import Estimator, remember, warn_convergence
from didact.core.parameters import above_or_infinite, at_least, attr, between, is_bool, none, one_of, param, whole
from didact.core.progress import FitProgress
from didact.core.rows import Rows
from didact.core.rows.gather import dense
from didact.core.sparse.coefficients import SparseCoefficients
from didact.core.typing import Array
from didact.engines.linear.fit import fit_linear
from didact.engines.linear.objective import LinearObjective, parted, table_of
from didact.engines.loop.result import Result
from didact.engines.scores.linear import class_answers, decision, encode, encoded_rows, predict_labels
from didact.engines.scores.score_loops import AS_LOG_POSTERIOR, AS_POSTERIOR
from didact.engines.smooth.newton import newton_direction
from didact.linear_model.inference.from_models import infer_classes, ready
from didact.linear_model.logistic_penalty import USE, penalty_param, strength_and_share
from didact.parts.losses.classification import Logistic, Softmax, SquaredLogistic, SquaredSoftmax


def build(rows: Rows, classes: int, weight: float, C: float, l1_ratio: float, loss: str, fit_intercept: bool,
          parametrization: str) -> tuple[LinearObjective, float]:  # fmt: skip
    """The objective divided by C·W, and the strength of its L1 part."""
    if C * weight == 0.0:
        raise InputError("The sample weights, times C, are too small for float64: multiply them by a power of ten.")
    strength = 0.0 if np.isinf(C) else 1.0 / (C * weight)
    squared = loss == "squared"
    if classes == 2:
        noun: Any = SquaredLogistic() if squared else Logistic()
        outputs, reference = 1, False
    else:
        noun = SquaredSoftmax() if squared else Softmax()
        reference = parametrization == "reference"
        outputs = classes - reference
    objective = LinearObjective(
        rows=rows,
        loss=noun,
        weight=weight,
        alpha=(1 - l1_ratio) * strength,
        fit_intercept=fit_intercept,
        outputs=outputs,
        reference=reference,
    )
    return objective, l1_ratio * strength


def runs_away(objective: LinearObjective, x: Array) -> bool:
    """Whether the next Newton step is still long though the gradient is small: there is no finite optimum."""
    _, gradient, hessian = objective.value_gradient_hessian(x)
    step = newton_direction(hessian, gradient)
    return bool(np.max(np.abs(step)) > 1e-2 * (1e-3 + np.max(np.abs(x), initial=0.0)))


def probabilities(scores: Any) -> Any:
    """Class probabilities (n, K) from decision values (n,) or (n, K)."""
    xp = namespace(scores)
    if scores.ndim == 2:
        return Softmax().probabilities(scores)
    zero = xp.zeros_like(scores)  # the logistic gradient at y = 0 is the probability of class 1
    return xp.stack([Logistic().gradient(zero, -scores), Logistic().gradient(zero, scores)], axis=1)


def predict_probabilities(X: Any, coef: Array, intercept: Array) -> Any:
    """Class probabilities of each row."""
    found = class_answers(X, coef, intercept, AS_POSTERIOR)
    return probabilities(decision(X, coef, intercept)) if found is None else found


class LogisticAnswers:
    """Scores, labels and probabilities of a fitted logistic model."""

    def decision_function(self: Any, X: Any) -> Any:
        """Log-odds of the second class (n,), or scores of all classes (n, K)."""
        return self._after_fit()._map_rows(X, decision, self.coef_, self.intercept_)

    def predict(self: Any, X: Any) -> Any:
        """The most probable label of each row."""
        return self._after_fit()._map_rows(X, predict_labels, self.coef_, self.intercept_, self.classes_)

    def predict_proba(self: Any, X: Any) -> Any:
        """Probabilities of the classes (n, K), in the order of classes_."""
        return self._after_fit()._map_rows(X, predict_probabilities, self.coef_, self.intercept_)

    def predict_log_proba(self: Any, X: Any) -> Any:
        """Logarithms of the probabilities of the classes."""
        return self._after_fit()._map_rows(X, predict_log_probabilities, self.coef_, self.intercept_)


class LogisticRegression(LogisticAnswers, SparseCoefficients, ClassifierMixin, Estimator):
    r"""Logistic regression for two classes, softmax regression for more.

    .. math:: \min_{w, b}\; C\sum_i s_i\,\ell(y_i, x_i^Tw + b) + \tfrac{1-\rho}{2}\|w\|_2^2 + \rho\|w\|_1

    Notes
    -----
    Cost: Newton n p² a step and about six steps (two or three from a sampled start when there are many rows); L-BFGS
    n p K a step. Differs from scikit-learn: `tol` is 1e-6 (there 1e-4), so that weights equal repeated rows; ``C=inf``
    fits without a penalty; several classes are always fitted jointly. C multiplies a sum of losses, as there, so that
    weights twice as large are a C twice as large. A class whose rows all have weight zero stays in `classes_`, with
    probabilities near 0. Shape of computation: iterate.

    References
    ----------
    Cox (1958), doi:10.1111/j.2517-6161.1958.tb00292.x; Böhning (1992), doi:10.1007/BF00048682.

    Examples
    --------
    >>> from didact.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"])
    >>> model.predict([[0.2], [2.9]]).tolist()
    ['no', 'yes']
    """

    _tensors = True
    _test_params = [
        {},
        {"solver": "lbfgs", "tol": 1e-9},
        {"l1_ratio": 0.5, "tol": 1e-9},
        {"loss": "squared", "tol": 1e-9},
    ]
    _test_skips = {"weight_scale": "C multiplies the sum of losses, as in scikit-learn: twice the weights are twice C."}

    penalty: Any = penalty_param(USE, without=True)
    C: float = param(1.0, above_or_infinite(0), "Inverse strength of the penalty; inf fits without one.")
    l1_ratio: float | None = param(
        0.0, [between(0, 1), none], "Share ρ of the L1 penalty: 0 is ridge, 1 the lasso; None (deprecated) is 0."
    )
    loss: str = param("log", one_of("log", "squared"), "Cross-entropy, or squared error of the probabilities.")
    tol: float = param(1e-6, at_least(0), "Largest entry of the mean gradient at which the fit ends.")
    fit_intercept: bool = param(True, is_bool, "Whether to add constant terms, which are not penalised.")
    class_weight: Any = param(
        None, [dict, one_of("balanced"), none], "Weights of the classes; 'balanced': equal in sum."
    )
    solver: str = param("auto", one_of(*LOGISTIC_SOLVERS), f"How to solve; 'auto' goes by the size. {UNPENALISED}")
    max_iter: int = param(1000, whole(0), "Most iterations of the solver; 0: stay at the start.")
    parametrization: str = param(
        "symmetric",
        one_of("symmetric", "reference"),
        "For three and more classes: one vector for each class, or K−1 vectors relative to the last class.",
    )
    warm_start: bool = param(False, is_bool, "Whether to start from the coefficients of the last fit.")

    _attrs = [
        attr(
            "coef_",
            "(n_classes or 1, n_features)",
            'Coefficients; of two classes the second\'s; "reference": last row 0.',
        ),
        attr("intercept_", "(1,) or (n_classes,)", "Constant terms."),
        attr("n_iter_", "(1,)", "Iterations of the solver."),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "LogisticRegression":
        """Fit to rows X with labels y; sample_weight counts rows."""
        rows = self._rows(X, y, sample_weight, target="labels")
        rows, weight, self.classes_ = encoded_rows(rows, self.class_weight, "LogisticRegression")
        C, ratio = strength_and_share(self.penalty, self.C, self.l1_ratio)
        objective, l1 = build(rows, len(self.classes_), weight, C, ratio, self.loss, self.fit_intercept,
                              self.parametrization)  # fmt: skip
        start, how = self._start(objective), (own_solver(self.solver), self.tol, self.max_iter)
        known = {"X": X, "y": y, "attributes": lambda x: self._fitted(objective, x, l1)}
        with FitProgress(self, self.max_iter, **known) as progress:
            result = fit_linear(objective, l1, *how, start, start is not None, progress.report)
        self.__dict__.update(self._fitted(objective, result.x, l1))
        self._report(objective, result, bool(np.isinf(C)))
        return self

    def _start(self, objective: LinearObjective) -> Array | None:
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        start = objective.vector(table_of(dense(self.coef_), self.intercept_)[: objective.outputs])
        return start if start.size == objective.size else None

    def _fitted(self, objective: LinearObjective, x: Array, l1: float) -> dict[str, Any]:
        coef, intercept = parted(objective.identified(x, l1 == 0), float_type(objective.rows))
        return {"coef_": coef, "intercept_": intercept, "classes_": self.classes_}

    def _report(self, objective: LinearObjective, result: Result, unpenalised: bool) -> None:
        self.n_iter_ = np.asarray([result.n_iter if self.max_iter == 0 else max(1, result.n_iter)], dtype=np.int32)
        remember(self, result)
        if result.status == "iteration limit":
            warn_convergence(self, f"{limit_reached(self.solver, result.n_iter)} {result.message}")
        elif not result.converged and result.status != "stopped":
            warn_convergence(self, result.message)
        free = unpenalised and self.loss == "log" and objective.size <= 2000
        if free and result.converged and runs_away(objective, result.x):
            warn_convergence(
                self,
                "The classes can be separated (perfectly or in part), so without a penalty the coefficients grow "
                "without bound; the fit stopped at tol. Set C to a finite number.",
            )

    def inference(self, X: Any, y: Any = None, sample_weight: Any = None, covariance: str = "model",
                  groups: Any = None, dispersion: Any = None) -> Any:  # fmt: skip
        """Standard errors, tests and intervals of a fit with C=inf, from the rows of the fit: an `Inference`."""
        ready(self, self.penalty is not None and bool(np.isfinite(self.C)), "C=inf")
        if is_sparse(self.coef_):
            raise InputError("The coefficients are in a sparse matrix: call densify() before inference().")
        data, prepare = (X, y, sample_weight, None), (encode, self.classes_, None)
        return infer_classes(self, data, prepare, covariance, groups, dispersion)


def predict_log_probabilities(X: Any, coef: Array, intercept: Array) -> Any:
    """Logarithms of the class probabilities, without underflow."""
    found = class_answers(X, coef, intercept, AS_LOG_POSTERIOR) if coef.shape[0] > 1 else None
    if found is not None:
        return found
    scores = decision(X, coef, intercept)
    xp = namespace(scores)
    if scores.ndim == 1:
        loss = Logistic()
        zero = xp.zeros_like(scores)
        return xp.stack([-loss.value(zero, scores), -loss.value(zero + 1.0, scores)], axis=1)
    top = xp.max(scores, axis=1, keepdims=True)
    return scores - top - xp.log(xp.sum(xp.exp(scores - top), axis=1, keepdims=True))
