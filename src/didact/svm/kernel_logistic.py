r"""Logistic and softmax regression with a kernel.

.. math:: P(k\mid x)\propto e^{f_k(x)},\qquad f(x) = \sum_i\beta_i k(x, x_i) + b,\qquad
    \min_{\beta,b}\ C\sum_i\omega_i\,\ell(y_i, f(x_i)) + \tfrac12\langle\beta, K\beta\rangle

With the linear kernel it is `LogisticRegression`. `engines.gram.logistic` says how it is solved; with `approximation`
it is a linear model on explicit features.

Zhu, Hastie (2005), doi:10.1198/106186005X25619.
"""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from didact.core.backend import float_type, namespace, to_numpy
from didact.core.estimator import report_convergence
from didact.core.parameters import above, attr, is_bool, none, one_of, param, whole
from didact.core.progress import FitProgress
from didact.core.rows import Block, Rows
from didact.core.threads import blas_for
from didact.core.typing import AnyArray, Array
from didact.engines.gram.features import FeatureMap, feature_rows
from didact.engines.gram.logistic import Classes, kernel_logistic
from didact.engines.linear.fit import fit_linear
from didact.engines.linear.objective import LinearObjective
from didact.engines.loop.result import Result
from didact.parts.losses.classification import Logistic, Softmax
from didact.parts.noun import logistic
from didact.svm.base import WEIGHTS_ARE_C
from didact.svm.kernel_model import LANDMARK_SKIPS, _KernelModel, class_rows, features_for, labels_at, scores_at

NEWTON = 600  # parameters up to which Newton's method is used on features: a curvature matrix is worth a pass there


def float_codes(block: Block) -> Block:
    """A block with codes 0.0 and 1.0."""
    return block._replace(y=to_numpy(block.y).astype(np.float64))


def posterior(X: AnyArray, *sums: Any) -> AnyArray:
    """P of each class (n, n_classes)."""
    f = scores_at(X, *sums)
    if f.ndim == 2:
        return Softmax().probabilities(f)
    return namespace(f).stack([logistic(-f), logistic(f)], axis=1)


def log_posterior(X: AnyArray, *sums: Any) -> AnyArray:
    """log P of each class: scores less the logarithm of the sum of their exponentials."""
    f = scores_at(X, *sums)
    xp = namespace(f)
    f = f if f.ndim == 2 else xp.stack([-f, 0.0 * f], axis=1)
    f = f - xp.max(f, axis=1)[:, None]
    return f - xp.log(xp.sum(xp.exp(f), axis=1))[:, None]


class KernelLogisticRegression(ClassifierMixin, _KernelModel):
    r"""Logistic regression with any kernel, softmax regression for more than two classes.

    .. math:: \min_{\beta,b}\ C\sum_i\omega_i\,\ell(y_i, f(x_i)) + \tfrac12\langle\beta, K\beta\rangle,\qquad
        f = K\beta + b

    Notes
    -----
    Newton's method; at the optimum :math:`\beta_i = C\omega_i(\text{1 of the class} - P_i)`, so that all rows have
    coefficients. Cost: n² evaluations of the kernel, then n³/3 a step for two classes and up to 2,000 rows, else some
    tens of products with the Gram matrix a step. With a constant the linear kernel is taken of rows less their mean,
    which changes no optimum and keeps digits. Weights multiply C, so that a weight of 2 is a row twice. With
    `approximation` the fit is a linear one on explicit features, made block by block. Tensors: products with the Gram
    matrix are computed on their device. Shape of computation: pairs; with `approximation`, iterate.

    References
    ----------
    Zhu, Hastie (2005), doi:10.1198/106186005X25619.

    Examples
    --------
    >>> from didact.svm import KernelLogisticRegression
    >>> X = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]
    >>> model = KernelLogisticRegression(C=100.0, gamma=1.0).fit(X, [0, 0, 1, 1])
    >>> bool((model.predict_proba(X)[:2, 0] > 0.9).all())
    True
    """

    _tensors = True
    _test_params = [
        {"gamma": 0.2, "approximation": "nystroem", "n_components": 20, "random_state": 0, "tol": 1e-9},
        {"gamma": 0.2, "tol": 1e-9},
        {"kernel": "linear", "C": 0.5, "tol": 1e-9},
    ]

    @property
    def _test_skips(self) -> dict[str, str]:  # type: ignore[override]
        return {"weight_scale": WEIGHTS_ARE_C} | ({} if self.approximation is None else LANDMARK_SKIPS)

    _attrs = [
        attr("intercept_", "(1,) or (n_classes,)", "Constants b."),
        attr("n_iter_", "int", "Newton steps, or iterations on features."),
    ]

    C: float = param(1.0, above(0), "Inverse strength of the penalty.")
    fit_intercept: bool = param(True, is_bool, "Whether there are constants, which are not penalised.")
    class_weight: Any = param(
        None, [dict, one_of("balanced"), none], "Weights of the classes; 'balanced': equal in sum."
    )
    tol: float = param(1e-6, above(0), "Length of the mean gradient, in the features, at which the fit ends.")
    max_iter: int = param(100, whole(1), "Most iterations.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KernelLogisticRegression":
        """Find the coefficients of the rows and the constants."""
        rows, weights, _ = class_rows(self, self._rows(X, y, sample_weight, target="labels"))
        exact = self.approximation is None
        kept, solve = self._exact(rows) if exact else self._approximate(rows, float(weights.sum()))
        with FitProgress(self, self.max_iter, X=X, y=y, attributes=lambda x: self._state(kept(x))) as progress:
            result = solve(progress.report)
        self.__dict__.update(kept(result.x))
        report_convergence(self, result)
        return self

    def _state(self, fitted: dict[str, Any]) -> dict[str, Any]:
        return {"classes_": self.classes_, "kernel_": self.kernel_, **fitted}

    def _exact(self, rows: Rows) -> tuple[Any, Any]:
        """How the solver's point becomes fitted attributes, and the solver."""
        with blas_for(rows.n_rows or 0):
            pairs = self._pairs(rows)
        number, dtype = len(self.classes_), float_type(rows)
        data = Classes(pairs.codes, pairs.weight, 1 if number == 2 else number)

        def solve(report: Any) -> Result:
            with blas_for(len(data.codes)):
                return kernel_logistic(pairs.K, data, self.C, self.fit_intercept, self.tol, self.max_iter, report)

        return lambda x: self._keep_pairs(pairs, x[0], centred(x[1]), dtype), solve

    def _approximate(self, rows: Rows, weight: float) -> tuple[Any, Any]:
        """How the point of a linear solver on features becomes fitted attributes, and that solver."""
        features, number = features_for(self, rows), len(self.classes_)
        self.kernel_ = features.kernel
        mapped = feature_rows(rows.prepared(float_codes) if number == 2 else rows, features)
        objective = LinearObjective(
            rows=mapped,
            loss=Logistic() if number == 2 else Softmax(),
            weight=weight,
            alpha=1.0 / (self.C * weight),
            fit_intercept=self.fit_intercept,
            outputs=1 if number == 2 else number,
        )

        def solve(report: Any) -> Result:
            solver = "newton" if objective.size <= NEWTON else "auto"
            return fit_linear(objective, 0.0, solver, self.tol, self.max_iter, report=report)

        return lambda x: self._on_features(features, objective, x, float_type(rows)), solve

    def _on_features(self, features: FeatureMap, objective: LinearObjective, x: Array, dtype: Any) -> dict[str, Any]:
        table = objective.table(x)
        return self._keep_features(features, table[:, :-1].T, centred(table[:, -1]), dtype)

    def decision_function(self, X: Any) -> Any:
        """Log-odds of the second class (n,), or scores of all classes (n, n_classes)."""
        return self._map_rows(X, scores_at, *self._sums())

    def predict_proba(self, X: Any) -> Any:
        """P of each class (n, n_classes)."""
        return self._map_rows(X, posterior, *self._sums())

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of the probabilities (n, n_classes)."""
        return self._map_rows(X, log_posterior, *self._sums())

    def predict(self, X: Any) -> Any:
        """The most probable class of each row."""
        return self._after_fit()._map_rows(X, labels_at, self.classes_, *self._sums())


def centred(constants: Array) -> Array:
    """Constants of several classes about their mean: one added to all changes no probability."""
    return constants - constants.mean() if len(constants) > 1 else constants
