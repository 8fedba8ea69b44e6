r"""One classifier for each pair of classes.

The pair (i, j) gives a discriminant :math:`g_{ij}(x) = -g_{ji}(x)`, learnt from the rows of these two classes alone.
A class is chosen by votes, :math:`\arg\max_i \#\{j : g_{ij}(x) > 0\}`, or by summed discriminants,
:math:`\arg\max_i \sum_{j\neq i} g_{ij}(x)`.

Hastie, Tibshirani (1998), Classification by pairwise coupling, doi:10.1214/aos/1028144844.
"""

from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if

from didact.core.errors import InputError
from didact.core.estimator import Estimator
from didact.core.meta import IN_MEMORY, OfModels, fit_each, part_of, row_params
from didact.core.parameters import attr, has, none, one_of, param
from didact.core.typing import Array
from didact.core.validation import all_classes
from didact.engines.scores.linear import labels_of_scores
from didact.linear_model import LogisticRegression
from didact.multiclass.learners import PENALTY, all_margins, fit_sides


def pair_scores(G: Array, n_classes: int, decision: str) -> Array:
    """Scores of the classes (n, K) from the discriminants of the pairs (n, K(K−1)/2), positive for the second.

    Votes that tie are parted by the summed discriminants, squeezed into (−1/3, 1/3).
    """
    sums, votes = np.zeros((len(G), n_classes)), np.zeros((len(G), n_classes))
    for g, (i, j) in zip(G.T, combinations(range(n_classes), 2), strict=True):
        sums[:, i] -= g
        sums[:, j] += g
        votes[:, i] += g <= 0
        votes[:, j] += g > 0
    return sums if decision == "sum" else votes + sums / (3 * (np.abs(sums) + 1))


def decide(X: Any, estimators: list[Any], indices: list[Array] | None, classes: Array, decision: str) -> Array:
    """Scores (n, K), or (n,) for two classes, in the float type of X."""
    G = all_margins(X, estimators, indices)
    scores = pair_scores(G, len(classes), decision)
    return (scores[:, 1] if len(classes) == 2 else scores).astype(X.dtype, copy=False)


def labels(X: Any, estimators: list[Any], indices: list[Array] | None, classes: Array, decision: str) -> Array:
    """The class with the highest score."""
    return labels_of_scores(decide(X, estimators, indices, classes, decision), classes)


class OneVsOneClassifier(OfModels, ClassifierMixin, Estimator):
    r"""A classifier for each pair of classes, which decide together by votes or by summed discriminants.

    .. math:: \arg\max_i \#\{j : g_{ij}(x) > 0\} \quad\text{or}\quad \arg\max_i \sum_{j\neq i} g_{ij}(x)

    Notes
    -----
    Cost: K(K−1)/2 fits, each to the rows of two classes, so that balanced classes enter 2/K of the rows at a time:
    cheaper than one against the rest where a fit costs more than proportionally to its rows. The discriminant of a pair
    is `decision_function`, or else 2p − 1. Differs from scikit-learn: weights may be passed to `fit`, and `decision`
    is a choice. Shape of computation: map.

    References
    ----------
    Hastie, Tibshirani (1998), doi:10.1214/aos/1028144844.

    Examples
    --------
    >>> from didact.multiclass import OneVsOneClassifier
    >>> model = OneVsOneClassifier(decision="sum").fit([[0.0], [1.0], [4.0], [5.0], [8.0], [9.0]], [0, 0, 1, 1, 2, 2])
    >>> model.predict([[0.5], [8.8]]), len(model.estimators_)
    (array([0, 2]), 3)
    """

    _default = LogisticRegression
    _test_params = [{}, {"decision": "sum"}]
    _test_skips = {**IN_MEMORY, "weight_scale": PENALTY}
    _kernels, _regressors = True, True

    estimator: Any = param(None, [has("fit", "predict"), none], "Model for two classes; None: LogisticRegression().")
    decision: str = param("votes", one_of("votes", "sum"), "Count the pairs that a class wins, or add discriminants.")

    _attrs = [
        attr("n_classes_", "int", "Number K of classes."),
        attr("estimators_", "list of models", "One for each pair (0, 1), (0, 2), …; the second is the positive class."),
        attr("pairwise_indices_", "list of arrays, or None", "With a precomputed kernel, the rows of each classifier."),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> "OneVsOneClassifier":
        """Fit to rows X with labels y; sample_weight counts rows, other metadata are routed to the base models."""
        X, y, w = self._training(X, y, sample_weight, target="labels")
        params, kernel = self._routed(fit_params), self._pairwise
        self.classes_, codes = self._coded(y)
        self.n_classes_ = len(self.classes_)
        pairs = [np.flatnonzero(np.isin(codes, pair)) for pair in combinations(range(self.n_classes_), 2)]

        def fit_pair(task: tuple[Array, tuple[int, int]]) -> Any:
            index, pair = task
            second = (codes[index] == pair[1]).astype(int)
            part = None if w is None else w[index]
            return fit_sides(clone(self._base()), part_of(X, index, kernel), second, part, row_params(X, index, params))

        self.estimators_ = fit_each(fit_pair, zip(pairs, combinations(range(self.n_classes_), 2), strict=True))
        self.pairwise_indices_ = pairs if kernel else None
        return self

    @available_if(lambda self: hasattr(self._base(), "partial_fit"))
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, **fit_params: Any
    ) -> "OneVsOneClassifier":
        """Go on with rows X of labels y; `classes` are all labels that will come, needed in the first call."""
        first, known = "classes_" not in vars(self), all_classes(self, classes)
        if len(known) < 2:
            raise InputError("OneVsOneClassifier needs at least 2 classes, but `classes` has one.")
        X, y, w = self._training(X, y, sample_weight, target="labels", reset=first)
        strange = ~np.isin(y, known)
        if strange.any():
            raise InputError(f"y has the label {y[strange].tolist()[0]!r}, which is none of `classes`.")
        pairs, params = list(combinations(known, 2)), self._routed(fit_params, "partial_fit")
        models = [clone(self._base()) for _ in pairs] if first else self.estimators_

        def go_on(task: tuple[Any, tuple[Any, Any]]) -> Any:
            model, pair = task
            index = np.flatnonzero(np.isin(y, pair))
            if not len(index):
                return model
            weights = {} if w is None else {"sample_weight": w[index]}
            second = (y[index] == pair[1]).astype(int)
            return model.partial_fit(X[index], second, classes=np.arange(2), **weights, **row_params(X, index, params))

        self.estimators_ = fit_each(go_on, zip(models, pairs, strict=True))
        self.classes_, self.n_classes_, self.pairwise_indices_ = known, len(known), None
        return self

    def decision_function(self, X: Any) -> Any:
        """Scores of the classes (n, K); for two classes that of the second (n,)."""
        return self._after_fit()._map_rows(
            X, decide, self.estimators_, self.pairwise_indices_, self.classes_, self.decision
        )

    def predict(self, X: Any) -> Any:
        """The class with the highest score."""
        return self._after_fit()._map_rows(
            X, labels, self.estimators_, self.pairwise_indices_, self.classes_, self.decision
        )
