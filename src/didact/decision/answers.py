"""What a decision says of a block of rows: probabilities, expected risks, numbers and labels of actions."""

from typing import Any

import numpy as np
from sklearn.multiclass import OneVsRestClassifier

from didact.core.errors import ParameterError
from didact.core.meta import margins
from didact.core.typing import Array
from didact.decision.rules import by_firing, by_thresholds, expected_risks, least_risk


def require_probabilities(model: Any) -> None:
    """Refuse a classifier without probabilities."""
    if not hasattr(model, "predict_proba"):
        raise ParameterError(
            f"{type(getattr(model, 'estimator', model)).__name__} gives no probabilities (it has no predict_proba): "
            "wrap it in scikit-learn's CalibratedClassifierCV, or set doubt=True to decide by its scores."
        )


def probabilities(X: Any, model: Any) -> Array:
    """P(k | x), as the classifier gives it."""
    require_probabilities(model)
    return np.asarray(model.predict_proba(X))


def risks(X: Any, model: Any, loss: Array) -> Array:
    """R_i(x) of each action."""
    return expected_risks(probabilities(X, model), loss)


def fires(X: Any, model: Any, thresholds: Array | None) -> Array:
    """Which one-against-all scores (n, K) are positive; probabilities count from their thresholds, else above ½."""
    if thresholds is not None:
        return probabilities(X, model) >= thresholds
    parts = getattr(model, "estimators_", ())
    if isinstance(model, OneVsRestClassifier) and len(parts) == len(model.classes_):
        return np.column_stack([margins(part, X) for part in parts]) > 0
    if not hasattr(model, "decision_function"):
        return probabilities(X, model) > 0.5
    scores = np.asarray(model.decision_function(X))
    return np.column_stack([-scores, scores]) > 0 if scores.ndim == 1 else scores > 0


def from_probabilities(P: Array, loss: Array, thresholds: Array | None) -> Array:
    """Numbers of the actions: by thresholds where there are some, else of least risk."""
    return least_risk(P, loss) if thresholds is None else by_thresholds(P, thresholds, len(loss) > loss.shape[1])


def decided(X: Any, model: Any, loss: Array, thresholds: Array | None, doubt: bool) -> Array:
    """The number of the action of each row."""
    if doubt:
        return by_firing(fires(X, model, thresholds))
    return from_probabilities(probabilities(X, model), loss, thresholds)


def labels(X: Any, model: Any, loss: Array, thresholds: Array | None, doubt: bool, names: Array) -> Array:
    """The label of the action of each row."""
    return names[decided(X, model, loss, thresholds, doubt)]


def chosen_risk(X: Any, model: Any, loss: Array, thresholds: Array | None, doubt: bool) -> Array:
    """The expected risk of the action that is taken for each row."""
    P = probabilities(X, model)
    chosen = decided(X, model, loss, thresholds, True) if doubt else from_probabilities(P, loss, thresholds)
    return expected_risks(P, loss)[np.arange(len(P)), chosen]
