r"""Pruning of an ensemble: forward selection of the learners that serve together, on validation rows.

From an empty ensemble on, the learner is added that makes the ensemble's score on the validation rows best; the best
prefix is kept. With replacement a learner can be taken several times and so gets a larger weight. The correlation of
the learners' outputs shows how much diversity there was to begin with.

Caruana, Niculescu-Mizil, Crew, Ksikes (2004), Ensemble selection from libraries of models, doi:10.1145/1015330.1015432.
"""

import copy
from typing import Any, NamedTuple

import numpy as np
import sklearn.ensemble
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import Bunch

from didact.core.backend import local, to_numpy
from didact.core.errors import InputError, ParameterError
from didact.core.parameters import none, whole
from didact.core.typing import Array
from didact.core.validation.entrance import entrance
from didact.ensemble.bagging_base import _Bagging
from didact.ensemble.combine import class_probabilities
from didact.ensemble.forest_base import _Forest
from didact.parts.statistics.weighted_quantile import weighted_quantile

VOTING = (sklearn.ensemble.VotingClassifier, sklearn.ensemble.VotingRegressor)
AVERAGES = (_Bagging, _Forest, *VOTING, *(
    getattr(sklearn.ensemble, name + kind) for name in ("Bagging", "RandomForest", "ExtraTrees")
    for kind in ("Classifier", "Regressor")
))  # fmt: skip


class PrunedEnsemble(NamedTuple):
    """What forward selection chose.

    `indices` of the learners in the order in which they were taken (with replacement some stand there twice), `scores`
    of the ensemble on the validation rows after each of them, `full_score` of the ensemble as it was, `correlations`
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


@entrance(max_learners=[whole(1), none])
def prune_ensemble(
    ensemble: Any, X: Any, y: Any, *, max_learners: int | None = None, replacement: bool = False, score: Any = None,
    sample_weight: Any = None,
) -> PrunedEnsemble:  # fmt: skip
    r"""Choose the learners of a fitted ensemble that serve best together on validation rows.

    The learners taken are combined as the ensemble itself combines them, with its weights: by the mean
    :math:`\sum_{l\in S} w_l f_l(x) / \sum_{l\in S} w_l` of probabilities or predictions, by vote, or by the median.
    Cost: L predictions, then n·L for each learner that is taken; n·L·s with medians of s learners.

    Parameters
    ----------
    ensemble : fitted BaggingClassifier, BaggingRegressor, forest or voting model, or a list of fitted models
        The learners. Of an ensemble a pruned copy is returned, without its out-of-bag estimates. A list is averaged.
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
    y, sample_weight = to_numpy(y), local(sample_weight)
    if not len(y):
        raise InputError("The validation set is empty: forward selection needs rows that the learners have not seen.")
    number, classes = _learners(ensemble, y)
    limit = number if max_learners is None else max_learners
    if limit < 1 or (limit > number and not replacement):
        raise ParameterError(f"max_learners must be 1 to {number}, the number of learners; got {limit}.")
    X = np.asarray(X) if isinstance(X, (list, tuple)) else X
    how = "vote" if getattr(ensemble, "voting", "") == "hard" else getattr(ensemble, "combine", "mean")
    outputs = _outputs(ensemble, X, classes, how)
    measure = score or (r2_score if classes is None else accuracy_score)

    def value(found: Array) -> float:
        found = found if classes is None else classes[found.argmax(axis=1)]
        return float(measure(y, found, sample_weight=sample_weight))

    taken, scores = _forward(outputs, getattr(ensemble, "_weights_not_none", None), how, value, limit, replacement)
    indices = np.asarray(taken[: int(np.argmax(scores)) + 1])
    if isinstance(ensemble, (list, tuple)):
        full = value(outputs.mean(axis=0))
    else:
        full = float(measure(y, to_numpy(ensemble.predict(X)), sample_weight=sample_weight))
    return PrunedEnsemble(
        indices=indices,
        scores=np.asarray(scores),
        full_score=full,
        correlations=_correlations(outputs),
        ensemble=_pruned(ensemble, indices),
    )


def _forward(
    outputs: Array, weights: Any, how: str, value: Any, limit: int, replacement: bool
) -> tuple[list[int], list[float]]:
    """Learners in the order of selection, and the score after each; of equal ones the first is taken."""
    w = np.ones(len(outputs)) if weights is None else np.asarray(weights, np.float64)
    total, taken, scores = np.zeros(outputs.shape[1:]), [], []  # type: Array, list[int], list[float]

    def with_learner(k: int) -> Array:
        if how != "median":
            return (total + w[k] * outputs[k]) / (w[taken].sum() + w[k])
        chosen = outputs[[*taken, k]]
        if weights is None:
            return np.median(chosen, axis=0)
        return weighted_quantile(chosen.T, w[[*taken, k]], 0.5, averaged=False)

    while len(taken) < limit:
        candidates = [k for k in np.flatnonzero(w).tolist() if replacement or k not in taken]
        if not candidates:  # what is left has no weight
            break
        found = [value(with_learner(k)) for k in candidates]
        best = int(np.argmax(found))
        total = total + w[candidates[best]] * outputs[candidates[best]]
        taken.append(candidates[best])
        scores.append(found[best])
    return taken, scores


def _learners(ensemble: Any, y: Array) -> tuple[int, Array | None]:
    """The number of learners, and the classes, or None for numbers."""
    alone = isinstance(ensemble, (list, tuple))
    if hasattr(ensemble, "estimator_weights_"):
        raise InputError("The learners of a boosted ensemble depend on each other: stop earlier instead of pruning it.")
    learners = list(ensemble) if alone else getattr(ensemble, "estimators_", [])
    if not len(learners) or not (alone or isinstance(ensemble, AVERAGES)):
        raise InputError(
            "prune_ensemble takes a fitted bagging, forest or voting model, with estimators_, or a list of models."
        )
    if not is_classifier(learners[0] if alone else ensemble):
        return len(learners), None
    if alone:
        return len(learners), np.unique(np.concatenate([np.asarray(getattr(m, "classes_", y)) for m in learners]))
    if isinstance(ensemble.classes_, list):
        raise InputError("prune_ensemble takes one column of labels, but this ensemble predicts several.")
    return len(learners), ensemble.classes_


def _outputs(ensemble: Any, X: Any, classes: Array | None, how: str) -> Array:
    """Of every learner predictions (L, n) or (L, n, outputs), or probabilities or votes (L, n, K)."""

    def one(model: Any, part: Any) -> Array:
        if classes is None:
            return np.asarray(model.predict(part), np.float64)
        if isinstance(ensemble, (list, tuple)):
            return _label_probabilities(model, part, classes)
        return class_probabilities(model, part, len(classes), how)  # learners of an ensemble know classes by codes

    def drawn(block: Any, models: list[Any], features: list[Array]) -> Array:
        return np.stack([one(m, block[:, f]) for m, f in zip(models, features, strict=True)], axis=1)

    if isinstance(ensemble, _Forest):
        found = to_numpy(
            ensemble._after_fit()._map_rows(X, lambda block, trees: trees.each(local(block)), ensemble._pack)
        )  # (n, L, columns)
        if classes is not None and len(classes) == 2:
            found = np.concatenate([1.0 - found, found], axis=2)
        return np.moveaxis(found[:, :, 0] if classes is None and found.shape[2] == 1 else found, 1, 0)
    if isinstance(ensemble, _Bagging):
        return np.moveaxis(
            to_numpy(ensemble._after_fit()._map_rows(X, drawn, ensemble.estimators_, ensemble.estimators_features_)),
            1,
            0,
        )
    if isinstance(ensemble, (list, tuple, *VOTING)):
        return np.asarray([one(m, X) for m in getattr(ensemble, "estimators_", ensemble)])
    X = X if hasattr(X, "toarray") else np.asarray(X)  # scikit-learn's learners were fitted to plain arrays, too
    features = getattr(ensemble, "estimators_features_", [slice(None)] * len(ensemble.estimators_))
    return np.moveaxis(drawn(X, ensemble.estimators_, features), 1, 0)


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
    for name in vars(ensemble).keys() & {"estimators_", "estimators_features_", "trees_", "_seeds"}:
        values = getattr(ensemble, name)
        setattr(out, name, values[indices] if isinstance(values, np.ndarray) else [values[k] for k in indices])
    for name in ("oob_score_", "oob_decision_function_", "oob_prediction_"):  # of all learners
        vars(out).pop(name, None)
    if hasattr(ensemble, "_members"):
        out._members = ensemble._members.of(indices)
    if hasattr(ensemble, "n_estimators"):
        out.n_estimators = len(indices)
    if isinstance(ensemble, VOTING):
        _rename(out, [pair for pair in ensemble.estimators if pair[1] != "drop"], indices.tolist())
    return out


def _rename(voting: Any, pairs: list[tuple[str, Any]], indices: list[int]) -> None:
    """Names, models and weights of a voting model for its chosen learners; one taken again has a number in its name."""
    times = [indices[:i].count(k) + 1 for i, k in enumerate(indices)]
    names = [pairs[k][0] + (f"_{n}" if n > 1 else "") for k, n in zip(indices, times, strict=True)]
    weights = voting._weights_not_none
    voting.weights = None if weights is None else [weights[k] for k in indices]
    voting.estimators = [(name, pairs[k][1]) for name, k in zip(names, indices, strict=True)]
    voting.named_estimators_ = Bunch(**dict(zip(names, voting.estimators_, strict=True)))
