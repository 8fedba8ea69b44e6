"""Classification by (stochastic) gradient descent; the method is in `sgd_base`."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from didact.core.backend import float_type, namespace
from didact.core.parameters import attr, none, one_of, param
from didact.core.rows import Rows
from didact.core.sparse.coefficients import SparseCoefficients
from didact.core.typing import Array
from didact.engines.linear.objective import parted
from didact.engines.scores.linear import decision, predict_labels
from didact.engines.stochastic.sgd import Weights
from didact.linear_model.sgd_base import _SGD, LOSSES, ORDER_MATTERS, learn_once, resume, start, state_of, train
from didact.linear_model.sgd_labels import labelled, labelled_part, outputs


def class_shares(X: Any, coef: Array, intercept: Array, loss: Any) -> Any:
    """Class probabilities as the loss says them of each class against the rest, scaled to sum 1; equal if all are 0."""
    scores = decision(X, coef, intercept)
    xp, each = namespace(scores), loss.mean(scores)
    if each.ndim == 1:  # of margins: the other class has the opposite one, and its probability all digits
        return xp.stack([loss.mean(-scores), each], axis=1)
    total = xp.sum(each, axis=1, keepdims=True)
    none = xp.astype(total == 0, each.dtype)
    return (each + none) / (total + none * each.shape[1])


def log_class_shares(X: Any, coef: Array, intercept: Array, loss: Any) -> Any:
    """Logarithms of the class probabilities, −∞ where they are 0."""
    with np.errstate(divide="ignore"):
        return namespace(X).log(class_shares(X, coef, intercept, loss))


PROBABILITIES = ("log_loss", "modified_huber")


def _has_probabilities(model: Any) -> bool:
    if model.loss not in PROBABILITIES:
        raise AttributeError(f"Probabilities come with the losses {' and '.join(PROBABILITIES)}, not {model.loss!r}.")
    return True


class SGDClassifier(SparseCoefficients, ClassifierMixin, _SGD):
    r"""Linear classification learnt by stochastic gradients, batch by batch or by plain gradient descent.

    .. math:: \min_{w, b}\; \frac1n\sum_i s_i\,\ell(y_i, x_i^Tw + b) + \alpha R(w)

    The loss makes it a support vector machine (hinge), logistic regression (log_loss), a perceptron, what boosting
    minimises (exponential), or a classifier with probabilities that resists outliers (modified_huber). More than two
    classes are learnt one against the rest.

    Notes
    -----
    The order of rows matters. Rows in memory are shuffled before each pass; more than 16,384 of them in runs of
    neighbours (32 kB), drawn from all parts of the table and mixed within pools of half a megabyte, so that memory is
    read in line. `Batches` and Dask collections are taken block after block, in order, each shuffled by itself.
    ``batch_size="full"`` is gradient descent on all rows, where order, blocks and threads make no difference. Columns
    should have similar scales.

    Sample weights, times the weight of a row's class, multiply the losses and are measured by their mean; in
    `partial_fit` they count as they are. Cost: two multiply-adds per entry, pass and class,
    for sparse rows per stored entry; classes are shared out among the threads and stop one by one. Differs from
    scikit-learn: `early_stopping` watches the loss on held-out rows.

    In sparse rows that fill less than a tenth of the columns, the intercept, which every row moves, takes shorter steps
    than the weights, which few do: a hundredth of theirs, but at least 1/(1 + t/100). scikit-learn has the hundredth
    alone, and is slow where one class is rare. Shape of computation: stream.

    References
    ----------
    Bottou (2012), doi:10.1007/978-3-642-35289-8_25; Shalev-Shwartz et al. (2011), Pegasos,
    doi:10.1007/s10107-010-0420-4; Polyak, Juditsky (1992), doi:10.1137/0330046; Tsuruoka, Tsujii, Ananiadou (2009),
    doi:10.3115/1687878.1687946; Zhang (2004), doi:10.1145/1015330.1015332; Crammer et al. (2006), Online
    passive-aggressive algorithms, https://jmlr.org/papers/v7/crammer06a.html.

    Examples
    --------
    >>> from didact.linear_model import SGDClassifier
    >>> X = [[-2.0, -1.0], [-1.0, -1.0], [1.0, 1.0], [2.0, 1.0]]
    >>> model = SGDClassifier(random_state=0).fit(X, ["left", "left", "right", "right"])
    >>> model.predict([[-0.8, -1.0], [1.5, 0.5]]).tolist()
    ['left', 'right']
    """

    _test_params = [
        {"shuffle": False},
        {"loss": "log_loss", "learning_rate": "constant", "eta0": 0.2, "shuffle": False},
    ]
    _test_skips = ORDER_MATTERS

    loss: str = param("hinge", one_of(*LOSSES), "Loss ℓ; those for numbers see the classes as −1 and 1.")
    class_weight: Any = param(
        None, [dict, one_of("balanced"), none], "Weights of the classes; 'balanced': equal in sum."
    )

    _attrs = [
        attr("coef_", "(n_classes or 1, n_features)", "Weights, or their average; of two classes the second's."),
        attr("intercept_", "(1,) or (n_classes,)", "Constant terms."),
        attr("n_iter_", "int", "Passes over the rows, the most that a class needed."),
    ]
    _hidden = state_of("n_classes or 1")

    def fit(
        self, X: Any, y: Any = None, coef_init: Any = None, intercept_init: Any = None, sample_weight: Any = None
    ) -> "SGDClassifier":
        """Learn from rows X with labels y, pass after pass, beginning at zero or at the weights given."""
        training = self._training()
        rows, total = labelled(self, self._rows(X, y, sample_weight, target="labels"))
        weights = start(self, outputs(self.classes_), rows.n_features, training, coef_init, intercept_init)
        result = train(self, rows, total, weights, training, X, y, lambda x: self._fitted(x, rows))
        self._store(weights, rows)
        self._report(result)
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> "SGDClassifier":
        """Make one pass over more rows; the first call names all classes."""
        training, first = self._training(), not hasattr(self, "coef_")
        rows = labelled_part(self, self._rows(X, y, sample_weight, target="labels", reset=first), classes)
        weights = resume(self, outputs(self.classes_), rows.n_features, training)
        learn_once(self, rows, weights, training)
        self._store(weights, rows)
        self.n_iter_ = 1
        return self

    def _fitted(self, weights: Weights, rows: Rows) -> dict[str, Any]:
        coef, intercept = parted(weights.table(), float_type(rows))
        return {"coef_": coef, "intercept_": intercept, "classes_": self.classes_}

    def decision_function(self, X: Any) -> Any:
        """Scores of the second class (n,), or of each class against the rest (n, K)."""
        return self._after_fit()._map_rows(X, decision, self.coef_, self.intercept_)

    def predict(self, X: Any) -> Any:
        """The label with the highest score of each row."""
        return self._after_fit()._map_rows(X, predict_labels, self.coef_, self.intercept_, self.classes_)

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes (n, K), with loss="log_loss" or "modified_huber"."""
        return self._after_fit()._map_rows(X, class_shares, self.coef_, self.intercept_, self._loss)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of the probabilities of the classes, with loss="log_loss" or "modified_huber"."""
        return self._after_fit()._map_rows(X, log_class_shares, self.coef_, self.intercept_, self._loss)
