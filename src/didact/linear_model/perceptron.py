r"""The perceptron: error-driven learning of a hyperplane, with its number of mistakes and the bound on it.

A row on the wrong side of the hyperplane (:math:`y_i(x_i^Tw + b) \le 0`, :math:`y_i = \pm1`) moves it:
:math:`w \leftarrow w + \eta y_i x_i,\ b \leftarrow b + \eta y_i`. If some unit vector (w, b) has
:math:`y_i(x_i^Tw + b) \ge \gamma` for all rows and :math:`\|(x_i, 1)\| \le R`, no order of the rows makes more than
:math:`(R/\gamma)^2` mistakes. Classes that no hyperplane separates are never learnt: the weights go round for ever.

Rosenblatt (1958), doi:10.1037/h0042519; Novikoff (1962), On convergence proofs for perceptrons; averaged and voted:
Freund, Schapire (1999), doi:10.1023/A:1007662407062.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from didact.core.backend import float_type, is_sparse, namespace, to_host, to_numpy
from didact.core.errors import ParameterError
from didact.core.estimator import Estimator, remember, warn_convergence
from didact.core.parameters import above, at_least, attr, between, is_bool, none, one_of, param, random_state, whole
from didact.core.rows import Block, Rows
from didact.core.rows.gather import dense
from didact.core.sparse.coefficients import SparseCoefficients
from didact.core.typing import Array
from didact.engines.linear.objective import parted
from didact.engines.loop.result import Result
from didact.engines.scores.linear import decision, labels_of_scores
from didact.engines.stochastic.passes import stochastic
from didact.engines.stochastic.sgd import Rate, Training, Weights
from didact.engines.stochastic.sgd_loops import BIAS, TIME, UPDATES
from didact.engines.stochastic.voted_perceptron import Store, Voters, gathered, stores, voted, voted_scores
from didact.linear_model.sgd_base import (
    ORDER_MATTERS,
    kept_state,
    learn_once,
    penalty_noun,
    resume,
    start,
    state_of,
    train,
)
from didact.linear_model.sgd_labels import labelled, labelled_part, outputs
from didact.parts.losses.margin import Perceptron as PerceptronLoss

TRIAL_ROWS = 5_000  # so many rows are tried before a loss that no longer falls ends a fit
LARGE = 1e15  # values beyond which, in single precision first, squares may overflow
VOTED = ("voters_", "voter_intercepts_", "votes_", "voter_outputs_")


class Geometry(NamedTuple):
    """How far the rows are from hyperplanes and from the origin."""

    margin: Array  # (K,) the smallest y·(xᵀw + b)
    radius: float  # the largest length of a row, the constant 1 included where there is an intercept

    def merge(self, other: "Geometry") -> "Geometry":
        """Both sets of rows together."""
        return Geometry(np.minimum(self.margin, other.margin), max(self.radius, other.radius))


def geometry(block: Block, coef: Array, intercept: Array, positives: Array, constant: float) -> Geometry:
    """The geometry of one block; rows without weight do not count."""
    X, w = block.X, block.weight
    scores = decision(X, coef, intercept)
    scores = to_numpy(scores if scores.ndim == 2 else scores[:, None])
    sides = np.where(to_numpy(block.y)[:, None] == positives, 1.0, -1.0)
    lengths = np.hypot(row_lengths(X), np.sqrt(constant))
    counts = slice(None) if w is None else to_numpy(w) > 0
    margins, lengths = (sides * scores)[counts], lengths[counts]
    return Geometry(np.min(margins, axis=0, initial=np.finfo(float).max), float(np.max(lengths, initial=0.0)))


def row_lengths(X: Any) -> Array:
    """The lengths of the rows, also where squares overflow."""
    top = float(abs(X).max()) if 0 not in X.shape else 0.0
    unit = top if top > LARGE else 1.0
    X = X / unit if unit > 1.0 else X
    squares = X.multiply(X).sum(axis=1) if is_sparse(X) else namespace(X).sum(X * X, axis=1)
    return unit * np.sqrt(np.asarray(to_host(squares)[0]).ravel())


def predict_linear(X: Any, coef: Array, intercept: Array, classes: Array) -> Any:
    """The side of the hyperplane, or the highest score."""
    return labels_of_scores(decision(X, coef, intercept), classes)


def predict_voted(X: Any, vectors: Array, intercepts: Array, votes: Array, owners: Array, classes: Array) -> Any:
    """What most of the weight vectors say."""
    return labels_of_scores(voted_scores(X, vectors, intercepts, votes, owners, classes), classes)


def distances(X: Any, coef: Array, intercept: Array) -> Any:
    """Signed distances to the hyperplanes."""
    coef = dense(coef)
    lengths = np.linalg.norm(coef, axis=1, keepdims=True)
    lengths[lengths == 0] = 1.0
    return decision(X, coef / lengths, intercept / lengths[:, 0])


class Perceptron(SparseCoefficients, ClassifierMixin, Estimator):
    r"""The perceptron, plain, averaged or voted, with its number of mistakes and the bound on it.

    .. math:: y_i(x_i^Tw + b) \le 0 \quad\Rightarrow\quad w \leftarrow w + \eta y_i x_i,\; b \leftarrow b + \eta y_i

    The averaged perceptron takes the mean of the weights after every row; the voted one keeps all weight vectors, and
    each votes as often as it survived a row. More than two classes are learnt one against the rest.

    Notes
    -----
    `mistake_bound_` is :math:`(R/\gamma)^2` with the margin γ of the hyperplane that was found, infinite if it does not
    separate the classes. Any separating hyperplane gives a bound, so the mistakes of a fit from zero, without penalty
    and weights, stay below it. A fit ends at a pass without mistakes, or when the mean loss max(0, −y·z) no longer
    falls by `tol`, though not before 5,000 rows have been tried. At `max_iter`, where small tables that cannot be
    separated end (and all others with ``tol=None``), it warns. The order of rows matters; `Batches` and Dask
    collections are taken block after block, in order.

    Cost: two multiply-adds per entry and pass, and one pass for the margin; voted: memory for a vector per mistake, and
    as many products to predict a row. Shape of computation: stream.

    References
    ----------
    Rosenblatt (1958), doi:10.1037/h0042519; Freund, Schapire (1999), doi:10.1023/A:1007662407062.

    Examples
    --------
    >>> from didact.linear_model import Perceptron
    >>> X, both = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1]
    >>> model = Perceptron().fit(X, both)
    >>> model.predict(X).tolist(), bool(model.n_mistakes_[0] <= model.mistake_bound_[0])
    ([0, 0, 0, 1], True)
    """

    _test_params = [{"shuffle": False}, {"variant": "averaged", "shuffle": False}]

    @property
    def _test_skips(self) -> dict[str, str]:  # type: ignore[override]
        growth = "The loss grows with the weights; it falls, to 0, only if classes can be separated."
        order = "50 rows in one order, of weight 3 and of almost none: the last decide."
        skips = {**ORDER_MATTERS, "callbacks/iterations": growth}
        return skips if self.shuffle else {**skips, "check_class_weight_classifiers": order}

    penalty: str | None = param(None, [one_of("l2", "l1", "elasticnet"), none], "Penalty on the weights.")
    alpha: float = param(1e-4, at_least(0), "Strength of the penalty.")
    l1_ratio: float = param(0.15, between(0, 1), "Share of the L1 part in the elastic net.")
    fit_intercept: bool = param(True, is_bool, "Whether to learn a constant term.")
    max_iter: int = param(1000, whole(1), "Most passes over the rows.")
    tol: float | None = param(1e-3, [at_least(0), none], "Fall of the loss that counts; None: go on to the end.")
    shuffle: bool = param(True, is_bool, "Whether to shuffle the rows before each pass.")
    eta0: float = param(1.0, above(0), "Length η of a step; without a penalty it changes no prediction.")
    random_state: Any = param(0, random_state, "Seed of the shuffling.")
    early_stopping: bool = param(False, is_bool, "Whether to stop by the loss on held-out rows.")
    validation_fraction: float = param(0.1, between(0, 1, "neither"), "Share of the rows that are held out.")
    n_iter_no_change: int = param(5, whole(1), "Passes in a row without an improvement that end the fit.")
    class_weight: Any = param(
        None, [dict, one_of("balanced"), none], "Weights of the classes; 'balanced': equal in sum."
    )
    warm_start: bool = param(False, is_bool, "Whether to begin with the weights of the last fit.")
    variant: str = param("plain", one_of("plain", "averaged", "voted"), "Which weights predict: last, mean or all.")

    _attrs = [
        attr(
            "coef_", "(n_classes or 1, n_features)", "Weights, the last ones or averaged; of two classes the second's."
        ),
        attr("intercept_", "(1,) or (n_classes,)", "Constant terms."),
        attr("t_", "float", "1 + the number of rows seen."),
        attr("mistake_bound_", "(1,) or (n_classes,)", "Bound (R/γ)² on the mistakes; infinite without separation."),
        attr("n_mistakes_", "(1,) or (n_classes,)", "Mistakes, each of which moved the weights."),
        attr(
            "margin_", "(1,) or (n_classes,)", r"Smallest :math:`y_i(x_i^Tw + b)/\|(w, b)\|`: above 0 if they separate."
        ),
        attr("radius_", "float", "Length of the longest row, the constant 1 of an intercept included."),
        attr("voters_", "(n_voters, n_features)", "All weight vectors.", when="variant='voted'"),
        attr(
            "voter_intercepts_, votes_, voter_outputs_",
            "(n_voters,)",
            "Their constant terms, their survival counts, and the row of coef_ each belongs to.",
            when="variant='voted'",
        ),
    ]
    _hidden = state_of("n_classes or 1")

    def fit(
        self, X: Any, y: Any = None, coef_init: Any = None, intercept_init: Any = None, sample_weight: Any = None
    ) -> "Perceptron":
        """Learn from rows X with labels y, until a pass makes no mistake or the loss no longer falls.

        It begins at zero or at the weights `coef_init` and `intercept_init`.
        """
        training = self._training()
        rows, total = labelled(self, self._rows(X, y, sample_weight, target="labels"))
        weights = start(self, outputs(self.classes_), rows.n_features, training, coef_init, intercept_init)
        kept = stores(weights) if self.variant == "voted" else None
        passes = stochastic if kept is None else voted(kept)
        trial = TRIAL_ROWS // max(total.rows, 1)
        result = train(self, rows, total, weights, training, X, y, lambda x: self._fitted(x, rows, kept), passes, trial)
        self._store(weights, rows, kept)
        self._report(result)
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> "Perceptron":
        """Make one pass over more rows; the first call names all classes. Margin and radius are of these rows."""
        training, first = self._training(), not hasattr(self, "coef_")
        rows = labelled_part(self, self._rows(X, y, sample_weight, target="labels", reset=first), classes)
        weights = resume(self, outputs(self.classes_), rows.n_features, training)
        last = self._voters() if hasattr(self, "votes_") else None
        kept = stores(weights, last) if self.variant == "voted" else None
        learn_once(self, rows, weights, training, stochastic if kept is None else voted(kept))
        self._store(weights, rows, kept)
        self.n_iter_ = 1
        return self

    def _training(self) -> Training:
        if self.variant == "voted" and self.penalty is not None:
            raise ParameterError("The voted perceptron has no penalty: all its weight vectors are kept as they were.")
        averaged_from = 1.0 if self.variant == "averaged" else math.inf
        return Training(
            loss=PerceptronLoss(),
            penalty=penalty_noun(self.penalty, self.alpha, self.l1_ratio),
            rate=Rate(self.eta0),
            fit_intercept=self.fit_intercept,
            batch=1,
            averaged_from=averaged_from,
            shuffle=self.shuffle,
        )

    def _fitted(self, weights: Weights, rows: Rows, kept: list[Store] | None) -> dict[str, Any]:
        coef, intercept = parted(weights.table(), float_type(rows))
        fitted = {"coef_": coef, "intercept_": intercept, "classes_": self.classes_}
        return fitted if kept is None else fitted | dict(zip(VOTED, gathered(kept), strict=True))

    def _store(self, weights: Weights, rows: Rows, kept: list[Store] | None) -> None:
        for name in VOTED:
            self.__dict__.pop(name, None)
        self.__dict__.update(self._fitted(weights, rows, kept), _state=kept_state(weights))
        self.t_, self.n_mistakes_ = float(weights.S[:, TIME].max()), weights.S[:, UPDATES].astype(np.int64)
        V, b = weights.V, weights.S[:, BIAS]
        found = rows.reduce(geometry, V, b, weights.positives, float(self.fit_intercept))
        self.margin_ = found.margin / np.maximum(np.hypot(np.linalg.norm(V, axis=1), b), np.finfo(float).tiny)
        self.radius_ = found.radius

    def _report(self, result: Result) -> None:
        self.n_iter_ = result.n_iter
        remember(self, result)
        if result.status == "iteration limit":
            warn_convergence(
                self,
                f"Still mistakes after max_iter={self.max_iter} passes: no hyperplane separates the classes, or more "
                "passes are needed. Classes that cannot be separated are never learnt; variant='averaged', or "
                "SGDClassifier with the hinge or logistic loss, make the best of them.",
            )

    @property
    def mistake_bound_(self) -> Array:
        """The bound (R/γ)² on the number of mistakes, infinite where the last weights do not separate the classes."""
        check_is_fitted(self)
        margin = np.where(self.margin_ > 0, self.margin_, np.nan)
        return np.where(self.margin_ > 0, (self.radius_ / margin) ** 2, np.inf)

    def _voters(self) -> Voters:
        return Voters(self.voters_, self.voter_intercepts_, self.votes_, self.voter_outputs_)

    def decision_function(self, X: Any) -> Any:
        """Scores xᵀw + b of the second class (n,), or of each class against the rest (n, K).

        With variant="voted", the share of votes for a class less the share against it.
        """
        if self.variant == "voted":
            return self._after_fit()._map_rows(X, voted_scores, *self._voters(), self.classes_)
        return self._after_fit()._map_rows(X, decision, self.coef_, self.intercept_)

    def predict(self, X: Any) -> Any:
        """The label with the highest score of each row."""
        if self.variant == "voted":
            return self._after_fit()._map_rows(X, predict_voted, *self._voters(), self.classes_)
        return self._after_fit()._map_rows(X, predict_linear, self.coef_, self.intercept_, self.classes_)

    def signed_distances(self, X: Any) -> Any:
        """Distances (xᵀw + b)/‖w‖ to the hyperplane of coef_ (n,), or to those of all classes (n, K)."""
        return self._after_fit()._map_rows(X, distances, self.coef_, self.intercept_)
