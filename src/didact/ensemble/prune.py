r"""Pruning of an ensemble: forward selection of the learners that serve together, on validation rows.

From an empty ensemble on, the learner is added that makes the ensemble's score on the validation rows best; the best
prefix is kept. With replacement a learner can be taken several times and so gets a larger weight. The correlation of
the learners' outputs shows how much diversity there was to begin with.

Caruana, Niculescu-Mizil, Crew, Ksikes (2004), Ensemble selection from libraries of models, doi:10.1145/1015330.1015432.
"""

import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score, r2_score

from didact.core.errors import InputError, ParameterError
from didact.ensemble.combine import class_probabilities

Array = np.ndarray[Any, Any]


class PrunedEnsemble(NamedTuple):
    """What forward selection chose.

    `indices` of the learners in the order in which they were taken (with replacement some stand there twice), `scores`
    of the ensemble on the validation rows after each of them, `full_score` of all learners together, `correlations`
    (L, L) between the outputs of all learners, `ensemble`: the pruned copy, or the list of the learners.
    """

    indices: Array
    scores: Array
    full_score: float
    correlations: Array
    ensemble: Any

    @property
    def mean_correlation(self) -> float:
        """The mean correlation between different learners among those that were kept."""
        kept = np.unique(self.indices)
        C = self.correlations[np.ix_(kept, kept)]
        return float(C[~np.eye(len(kept), dtype=bool)].mean()) if len(kept) > 1 else 1.0


def prune_ensemble(
    ensemble: Any, X: Any, y: Any, *, max_learners: int | None = None, replacement: bool = False, score: Any = None,
    sample_weight: Any = None,
) -> PrunedEnsemble:  # fmt: skip
    r"""Choose the learners of a fitted ensemble that serve best together on validation rows.

    The output of an ensemble is the mean of its learners' probabilities or predictions,
    :math:`\frac1{|S|}\sum_{l\in S} f_l(x)`. Cost: L predictions, then n·L for each learner that is taken.

    Parameters
    ----------
    ensemble : fitted BaggingClassifier, BaggingRegressor, forest or voting model, or a list of fitted models
        The learners. Of an ensemble a pruned copy is returned.
    X, y : array-like
        Validation rows, which the learners were not fitted to.
    max_learners : int, optional
        Most learners to take; None: as many as there are.
    replacement : bool, default=False
        Whether a learner can be taken several times.
    score : callable, optional
        Function score(y, prediction, sample_weight=…), larger is better; None: accuracy or R².
    sample_weight : array-like, optional
        Weights of the validation rows.

    Returns
    -------
    PrunedEnsemble
        `indices`, `scores`, `full_score`, `correlations`, `mean_correlation` and the pruned `ensemble`.

    References
    ----------
    Caruana, Niculescu-Mizil, Crew, Ksikes (2004), doi:10.1145/1015330.1015432.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from didact.ensemble import BaggingClassifier, prune_ensemble
    >>> X, y = load_digits(return_X_y=True)
    >>> bag = BaggingClassifier(n_estimators=30, random_state=0).fit(X[:900], y[:900])
    >>> pruned = prune_ensemble(bag, X[900:1300], y[900:1300])
    >>> len(pruned.ensemble.estimators_) < 30, bool(pruned.scores.max() >= pruned.full_score)
    (True, True)
    """
    y = np.asarray(y)
    X = X if hasattr(X, "toarray") else np.asarray(X)
    if not len(y):
        raise InputError("The validation set is empty: forward selection needs rows that the learners have not seen.")
    learners, features, classes = _learners(ensemble, y)
    coded = not isinstance(ensemble, (list, tuple))
    outputs = _outputs(learners, features, X, classes, coded)  # (L, n) or (L, n, K)
    measure = score or (r2_score if classes is None else accuracy_score)

    def value(mean: Array) -> float:
        found = mean if classes is None else classes[mean.argmax(axis=1)]
        return float(measure(y, found, sample_weight=sample_weight))

    limit = len(learners) if max_learners is None else max_learners
    if limit < 1 or (limit > len(learners) and not replacement):
        raise ParameterError(f"max_learners must be 1 to {len(learners)}, the number of learners; got {limit}.")
    taken, scores = _forward(outputs, value, limit, replacement)
    best = int(np.argmax(scores)) + 1
    indices = np.asarray(taken[:best])
    full = value(outputs.mean(axis=0))
    return PrunedEnsemble(indices, np.asarray(scores), full, _correlations(outputs), _pruned(ensemble, indices))


def _forward(outputs: Array, value: Any, limit: int, replacement: bool) -> tuple[list[int], list[float]]:
    """Learners in the order of selection, and the score after each; of equal ones the first is taken."""
    total, taken, scores = np.zeros(outputs.shape[1:]), [], []
    while len(taken) < limit:
        candidates = [k for k in range(len(outputs)) if replacement or k not in taken]
        found = [value((total + outputs[k]) / (len(taken) + 1)) for k in candidates]
        best = int(np.argmax(found))
        taken.append(candidates[best])
        scores.append(found[best])
        total = total + outputs[candidates[best]]
    return taken, scores


def _learners(ensemble: Any, y: Array) -> tuple[list[Any], list[Any], Array | None]:
    """The learners, their columns (None: all), and the classes, or None for numbers."""
    learners = list(ensemble) if isinstance(ensemble, (list, tuple)) else list(getattr(ensemble, "estimators_", []))
    if not learners:
        raise InputError("prune_ensemble takes a fitted ensemble with estimators_, or a list of fitted models.")
    if hasattr(ensemble, "estimator_weights_"):
        raise InputError("The learners of a boosted ensemble depend on each other: stop earlier instead of pruning it.")
    features = list(getattr(ensemble, "estimators_features_", [None] * len(learners)))
    if not is_classifier(learners[0]):
        return learners, features, None
    return learners, features, np.unique(np.concatenate([np.asarray(getattr(m, "classes_", y)) for m in
                                         ([ensemble] if hasattr(ensemble, "classes_") else learners)]))  # fmt: skip


def _outputs(learners: list[Any], features: list[Any], X: Any, classes: Array | None, coded: bool) -> Array:
    """Predictions (L, n), or probabilities (L, n, K); learners of an ensemble know classes by their codes."""
    found = []
    for model, columns in zip(learners, features, strict=True):
        part = X if columns is None else X[:, columns]
        if classes is None:
            found.append(np.asarray(model.predict(part), np.float64))
        elif coded:
            found.append(class_probabilities(model, part, len(classes)))
        else:
            found.append(_label_probabilities(model, part, classes))
    return np.asarray(found)


def _label_probabilities(model: Any, X: Any, classes: Array) -> Array:
    """Probabilities (n, K) of a model that knows some or all of the classes by their labels."""
    out = np.zeros((X.shape[0], len(classes)))
    if hasattr(model, "predict_proba"):
        out[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(X)
    else:
        out[np.arange(len(out)), np.searchsorted(classes, model.predict(X))] = 1.0
    return out


def _correlations(outputs: Array) -> Array:
    """The correlations of the learners' outputs; 0 where one of them is constant."""
    flat = outputs.reshape(len(outputs), -1)
    flat = flat - flat.mean(axis=1, keepdims=True)
    size = np.sqrt((flat**2).sum(axis=1))
    C = (flat @ flat.T) / np.maximum(np.outer(size, size), 1e-300)
    np.fill_diagonal(C, 1.0)
    return C


def _pruned(ensemble: Any, indices: Array) -> Any:
    """A copy of the ensemble with the chosen learners, or their list."""
    if isinstance(ensemble, (list, tuple)):
        return [ensemble[k] for k in indices]
    out = copy.copy(ensemble)
    out.estimators_ = [ensemble.estimators_[k] for k in indices]
    for name in ("estimators_features_", "_seeds"):
        if hasattr(ensemble, name):
            values = getattr(ensemble, name)
            setattr(out, name, values[indices] if isinstance(values, np.ndarray) else [values[k] for k in indices])
    if "n_estimators" in ensemble.get_params(deep=False):
        out.n_estimators = len(indices)
    return out
