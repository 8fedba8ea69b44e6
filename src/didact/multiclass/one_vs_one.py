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

from didact.core.estimator import Estimator
from didact.core.meta import IN_MEMORY, OfModels, fit_each, fit_model, margins, take
from didact.core.parameters import has, none, one_of, param
from didact.linear_model import LogisticRegression

Array = np.ndarray[Any, Any]


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


def decide(X: Any, estimators: list[Any], classes: Array, decision: str) -> Array:
    """Scores (n, K), or (n,) for two classes, in the float type of X."""
    G = np.column_stack([margins(model, X) for model in estimators])
    scores = pair_scores(G, len(classes), decision)
    return (scores[:, 1] if len(classes) == 2 else scores).astype(X.dtype, copy=False)


def labels(X: Any, estimators: list[Any], classes: Array, decision: str) -> Array:
    """The class with the highest score."""
    scores = decide(X, estimators, classes, decision)
    return classes[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]


class OneVsOneClassifier(OfModels, ClassifierMixin, Estimator):
    r"""A classifier for each pair of classes, which decide together by votes or by summed discriminants.

    .. math:: \arg\max_i \#\{j : g_{ij}(x) > 0\} \quad\text{or}\quad \arg\max_i \sum_{j\neq i} g_{ij}(x)

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    n_classes_ : int
        Number K of classes.
    estimators_ : list of K(K−1)/2 models
        The classifiers of the pairs (0, 1), (0, 2), …; the second class of a pair is the positive one.

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

    _test_params = [{}, {"decision": "sum"}]
    _test_skips = {**IN_MEMORY}

    estimator: Any = param(None, [has("fit", "predict"), none], "Model for two classes; None: LogisticRegression().")
    decision: str = param("votes", one_of("votes", "sum"), "Count the pairs that a class wins, or add discriminants.")

    def _base(self) -> Any:
        return LogisticRegression() if self.estimator is None else self.estimator

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> "OneVsOneClassifier":
        """Fit to rows X with labels y; sample_weight counts rows, other metadata are routed to the base models."""
        X, y, w = self.training(X, y, sample_weight, target="labels")
        params = self.routed(fit_params)
        self.classes_, codes = self.coded(y)

        def fit_pair(pair: tuple[int, int]) -> Any:
            index = np.flatnonzero(np.isin(codes, pair))
            second = (codes[index] == pair[1]).astype(int)
            part = None if w is None else w[index]
            return fit_model(clone(self._base()), X[index], second, part, take(X, index, params))

        self.n_classes_ = len(self.classes_)
        self.estimators_ = fit_each(fit_pair, combinations(range(self.n_classes_), 2))
        return self

    def decision_function(self, X: Any) -> Any:
        """Scores of the classes (n, K); for two classes that of the second (n,)."""
        return self.map_rows(X, decide, "estimators_", "classes_", "decision")

    def predict(self, X: Any) -> Any:
        """The class with the highest score."""
        return self.map_rows(X, labels, "estimators_", "classes_", "decision")
