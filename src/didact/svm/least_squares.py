r"""Least-squares support vector machine: ridge regression on ±1, in the features of a kernel, with a free constant.

.. math:: \min_{w,b}\ \tfrac12\|w\|^2 + \tfrac C2\sum_i\omega_i(y_i - w^T\phi(x_i) - b)^2
    \quad\Longrightarrow\quad \begin{pmatrix}0&1^T\\1&K+\Omega^{-1}/C\end{pmatrix}
    \begin{pmatrix}b\\\alpha\end{pmatrix} = \begin{pmatrix}0\\y\end{pmatrix}

1. One Cholesky factor of √Ω K √Ω + 1/C serves the constant and every class (`engines.gram.systems`).
2. Several classes are told apart one against the rest, by the highest value.

All rows get a coefficient α_i = Cω_i(y_i − f(x_i)), also those far beyond the margin, which pull the border toward
them: the hinge of `SVC` does not.

Suykens, Vandewalle (1999), doi:10.1023/A:1018628609742.
"""

from typing import Any

import numpy as np
from scipy import linalg
from sklearn.base import ClassifierMixin

from didact.core.backend import float_type, like, to_numpy
from didact.core.parameters import above, attr, is_bool, none, one_of, param
from didact.core.progress import FitProgress
from didact.core.rows import Block, Rows
from didact.core.rows.memory import refuse_square
from didact.core.threads import blas_for
from didact.core.typing import Array
from didact.engines.gram.features import FEWER_FEATURES, feature_rows
from didact.engines.gram.systems import with_constant
from didact.parts.statistics.moments import Moments, moments
from didact.svm.base import WEIGHTS_ARE_C
from didact.svm.kernel_model import LANDMARK_SKIPS, _KernelModel, class_rows, features_for, labels_at, scores_at, sides


def side_moments(block: Block, K: int) -> Moments:
    """Moments of a block of features, with ±1 for targets."""
    return moments(block._replace(y=like(sides(to_numpy(block.y), K), block.X)))


def solve_features(S: Moments, ridge: float, constant: bool) -> tuple[Array, Array]:
    """Weights (m, d) and constants from moments of features."""
    S = S if constant else S.about_zero()
    weights = linalg.solve(S.xx + ridge * np.eye(len(S.xx)), S.xy, assume_a="pos")
    return weights, S.mean_y - S.mean_x @ weights


class LSSVC(ClassifierMixin, _KernelModel):
    r"""Least-squares support vector machine: a classifier in closed form, with any kernel.

    .. math:: f(x) = \sum_i\alpha_i k(x, x_i) + b,\qquad \alpha_i = C\omega_i\,(y_i - f(x_i)),\quad \sum_i\alpha_i=0

    Notes
    -----
    y is ±1; several classes are told apart one against the rest, with one factorisation. The constant is not penalised;
    ``fit_intercept=False`` with ``kernel + 1`` penalises it, as in ridge regression with a column of ones. Weights
    multiply C, so that a weight of 2 is a row twice. Cost: n² evaluations of the kernel and n³/3 multiply–adds; a
    prediction takes n evaluations. With `approximation`, one pass of n m² and m³/3 for m features, in memory for them
    alone. Tensors are computed on their device. Shape of computation: pairs; with `approximation`, reduce.

    References
    ----------
    Suykens, Vandewalle (1999), doi:10.1023/A:1018628609742.

    Examples
    --------
    >>> from didact.svm import LSSVC
    >>> X = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]
    >>> model = LSSVC(C=10.0, gamma=1.0).fit(X, ["same", "same", "other", "other"])
    >>> model.predict([[0.9, 0.8], [0.1, 0.9]]).tolist()
    ['same', 'other']
    """

    _tensors = True
    _test_params = [
        {"gamma": 0.2, "approximation": "nystroem", "n_components": 20, "random_state": 0},
        {"gamma": 0.2},
        {"kernel": "poly", "degree": 2, "gamma": 0.2, "coef0": 1.0, "C": 0.5},
    ]

    @property
    def _test_skips(self) -> dict[str, str]:  # type: ignore[override]
        skips = {"weight_scale": WEIGHTS_ARE_C}
        if self.kernel == "poly":
            why = "A polynomial kernel is a power of sums, which a constant column changes."
            skips |= dict.fromkeys(("constant_columns/constant", "constant_columns/shift"), why)
        return skips | ({} if self.approximation is None else LANDMARK_SKIPS)

    _attrs = [
        attr("intercept_", "(n_outputs,)", "Constants b."),
    ]

    C: float = param(1.0, above(0), "Price of squared errors; 1/C is the ridge on the Gram matrix.")
    fit_intercept: bool = param(True, is_bool, "Whether there is a constant, which is not penalised.")
    class_weight: Any = param(
        None, [dict, one_of("balanced"), none], "Factors of C for the classes; 'balanced': inverse to their weight."
    )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "LSSVC":
        """Solve for the coefficients of the rows and the constants."""
        rows, _, _ = class_rows(self, self._rows(X, y, sample_weight, target="labels"))
        with FitProgress(self, X=X, y=y):
            found = self._exact(rows) if self.approximation is None else self._approximate(rows)
        self.__dict__.update(found)
        return self

    def _exact(self, rows: Rows) -> dict[str, Any]:
        with blas_for(rows.n_rows or 0):
            pairs = self._pairs(rows)
            targets = sides(pairs.codes, len(self.classes_))
            found = with_constant(pairs.K, targets, pairs.weight, 1.0 / self.C, self.fit_intercept)
        return self._keep_pairs(pairs, *found, float_type(rows))

    def _approximate(self, rows: Rows) -> dict[str, Any]:
        features = features_for(self, rows)
        refuse_square(features.size, FEWER_FEATURES)
        S = feature_rows(rows, features).reduce(side_moments, len(self.classes_))
        return self._keep_features(features, *solve_features(S, 1.0 / self.C, self.fit_intercept), float_type(rows))

    def decision_function(self, X: Any) -> Any:
        """f(x): (n,) for two classes, positive for the second; (n, n_classes) for more."""
        return self._map_rows(X, scores_at, *self._sums())

    def predict(self, X: Any) -> Any:
        """The class with the highest f(x) of each row."""
        return self._after_fit()._map_rows(X, labels_at, self.classes_, *self._sums())
