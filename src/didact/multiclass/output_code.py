r"""Error-correcting output codes: each class has a code word, each of its letters is learnt by a two-class model.

Learner l separates the classes with :math:`w_{kl} = +1` from those with −1 (a class with 0 is left out) and gives a
margin :math:`g_l(x)`. The class is that of the nearest word,

.. math:: \arg\min_k \sum_l L(w_{kl}\, g_l(x)),\qquad
   L(m) = \tfrac12(1 - \mathrm{sign}\, m),\ \max(0, 1-m),\ e^{-m}\ \text{or}\ \log(1+e^{-2m}),

Hamming distance or the loss that the learners minimise. The Hamming rule is the vote :math:`\arg\max_k\sum_l w_{kl}
\,\mathrm{sign}\,g_l`.

Dietterich, Bakiri (1995), doi:10.1613/jair.105; Allwein, Schapire, Singer (2000), Reducing multiclass to
binary, JMLR 1.
"""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from didact.core.estimator import Estimator
from didact.core.meta import IN_MEMORY, OfModels, fit_each, part_of, row_params, seeded
from didact.core.parameters import above, array_like, attr, has, none, one_of, param, random_state
from didact.core.random import seed_sequence
from didact.core.typing import Array
from didact.engines.scores.linear import labels_of_scores
from didact.linear_model import LogisticRegression
from didact.multiclass.codes import KINDS, checked_code, code_matrix
from didact.multiclass.learners import PENALTY, all_margins, fit_sides

SURE = 80.0  # a margin beyond which the exponential loss rises no more: its sums stay finite in float32

LOSSES = {
    "hamming": lambda m: 0.5 * (1.0 - np.sign(m)),
    "hinge": lambda m: np.maximum(0.0, 1.0 - m),
    "exponential": lambda m: np.exp(np.minimum(-m, SURE)),
    "logistic": lambda m: np.logaddexp(0.0, -2.0 * m),
}


def distances(G: Array, W: Array, decoding: str) -> Array:
    """Σ_l L(w_kl g_l) for each row and class, (n, K): how far the margins G (n, L) are from the words W (K, L)."""
    if decoding == "hamming":
        return 0.5 * (W.shape[1] - np.sign(G) @ W.T.astype(np.float64))
    plus, zero, minus = (LOSSES[decoding](sign * G) for sign in (1.0, 0.0, -1.0))
    return plus @ (W == 1).T + zero @ (W == 0).T + minus @ (W == -1).T


def decide(X: Any, estimators: list[Any], indices: list[Array] | None, W: Array, heavy: Array, decoding: str) -> Array:
    """Minus the distance from each class's word (n, K); for two classes their difference (n,).

    Classes without weight, those not `heavy`, score below all others.
    """
    scores = -distances(all_margins(X, estimators, indices), W, decoding)
    scores[:, ~heavy] = scores[:, heavy].min(axis=1, keepdims=True) - 1.0
    return (scores[:, 1] - scores[:, 0] if len(W) == 2 else scores).astype(X.dtype, copy=False)


def labels(X: Any, *how: Any) -> Array:
    """The class of the nearest word; the first of several."""
    *parts, classes = how
    return labels_of_scores(decide(X, *parts), classes)


class OutputCodeClassifier(OfModels, ClassifierMixin, Estimator):
    r"""Several classes by an error-correcting code of two-class learners.

    .. math:: \arg\min_k \sum_l L(w_{kl}\, g_l(x)),\qquad w_{kl} \in \{-1, 0, +1\}

    Notes
    -----
    Cost: one fit for each column. A code whose words have least distance d corrects ⌊(d−1)/2⌋ wrong learners: the
    exhaustive one has d = 2^(K−2), one against the rest d = 2. Differs from scikit-learn: codes can be given or made
    (there: random), distances are Hamming's or a loss (there: Euclidean), and every column has classes on both sides.
    Shape of computation: map.

    References
    ----------
    Dietterich, Bakiri (1995), doi:10.1613/jair.105.

    Examples
    --------
    >>> from didact.multiclass import OutputCodeClassifier
    >>> X, y = [[0.0], [1.0], [4.0], [5.0], [8.0], [9.0]], ["a", "a", "b", "b", "c", "c"]
    >>> model = OutputCodeClassifier(code="exhaustive").fit(X, y)
    >>> model.predict([[0.5], [8.8]]).tolist(), model.code_book_.shape
    (['a', 'c'], (3, 3))
    """

    _default = LogisticRegression
    _test_params = [{"random_state": 0}, {"code": "sparse", "random_state": 0, "decoding": "hinge"}]
    _test_skips = {**IN_MEMORY, "weight_scale": PENALTY}
    _kernels, _regressors = True, True

    estimator: Any = param(None, [has("fit", "predict"), none], "Model for two classes; None: LogisticRegression().")
    code_size: float = param(1.5, above(0), "Learners for each class, in codes that are drawn or optimised.")
    random_state: Any = param(None, random_state, "Seed of the code and of the learners.")
    code: Any = param(
        "random", [one_of(*KINDS), array_like], "Kind of code (see code_matrix), or a matrix (n_classes, n_learners)."
    )
    decoding: str = param("logistic", one_of(*LOSSES), "Hamming distance, or the loss of the margins to add up.")

    _attrs = [
        attr("code_book_", "(n_classes, n_learners)", "The code: −1, +1, or 0 for classes unseen by a learner."),
        attr("estimators_", "list of models", "One learner for each column of the code."),
        attr("pairwise_indices_", "list of arrays, or None", "With a precomputed kernel, the rows of each learner."),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> "OutputCodeClassifier":
        """Fit to rows X with labels y; sample_weight counts rows, other metadata are routed to the base models."""
        X, y, w = self._training(X, y, sample_weight, target="labels")
        params = self._routed(fit_params)
        self.classes_, codes = self._coded(y)
        seeds = seed_sequence(self.random_state).spawn(2)
        self.code_book_ = self._code(len(self.classes_), seeds[0])
        self._heavy = np.bincount(codes, w, len(self.classes_)) > 0
        letters = self.code_book_[codes]
        self.estimators_ = fit_letters(self._base(), X, letters, w, params, seeds[1], self._pairwise)
        self.pairwise_indices_ = [np.flatnonzero(column) for column in letters.T] if self._pairwise else None
        return self

    def _code(self, K: int, seed: Any) -> Array:
        if not isinstance(self.code, str):
            return checked_code(self.code, K)
        return code_matrix(self.code, K, max(1, int(K * self.code_size)), seed)

    def _asked(self) -> tuple[Any, ...]:
        return self.estimators_, self.pairwise_indices_, self.code_book_, self._heavy, self.decoding

    def decision_function(self, X: Any) -> Any:
        """Minus the distances from the words of the classes (n, K); for two classes their difference (n,)."""
        return self._after_fit()._map_rows(X, decide, *self._asked())

    def predict(self, X: Any) -> Any:
        """The class with the nearest word."""
        return self._after_fit()._map_rows(X, labels, *self._asked(), self.classes_)


def fit_letters(
    base: Any, X: Any, letters: Array, w: Any, params: dict[str, Any], seed: Any, pairwise: bool = False
) -> list[Any]:
    """One learner for each column of letters (n, L), on the rows whose letter is not 0."""

    def fit_column(task: tuple[Array, Any]) -> Any:
        column, stream = task
        index = np.flatnonzero(column)
        part = None if w is None else w[index]
        rows = X if len(index) == len(column) else part_of(X, index, pairwise)
        model = seeded(base, np.random.default_rng(stream))
        return fit_sides(model, rows, (column[index] > 0).astype(int), part, row_params(X, index, params))

    return fit_each(fit_column, zip(letters.T, seed.spawn(letters.shape[1]), strict=True))
