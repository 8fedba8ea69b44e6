"""What boosting says of new rows: raw sums of trees, means, scores, probabilities and labels."""

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from didact.engines.trees.boost import raw_predictions
from didact.engines.trees.small_trees import Trees
from didact.parts.losses import Exponential, Gamma, Poisson, Softmax, Tweedie

Array = np.ndarray[Any, Any]

# Losses with a log link, and the targets that they allow.
DOMAINS = {
    Poisson: (lambda y: y >= 0, "y ≥ 0"),
    Gamma: (lambda y: y > 0, "y > 0"),
    Tweedie: (lambda y: y >= 0, "y ≥ 0"),
}

_ready: "WeakKeyDictionary[Any, Trees]" = WeakKeyDictionary()  # trees made ready when first needed


def ready_trees(model: Any) -> Trees:
    """The trees of a fitted model, ready for prediction; kept beside the model, not in it."""
    known = _ready.get(model)
    if known is None or known.packed is not model._packed:
        known = _ready[model] = Trees.of(model._packed)
    return known


def answer(fn: Any, X: Any, trees: Trees, start: Array, *how: Any) -> Array:
    """What `fn`, one of the functions below, makes of the raw scores of rows X."""
    return fn(raw_predictions(X, trees, start), *how)  # type: ignore[no-any-return]


def targets(raw: Array, loss: Any) -> Array:
    """Predicted targets: the raw sum, its exponential for losses with a log link, or what a loss's `inverse` says."""
    z = raw[:, 0]
    if hasattr(loss, "inverse"):
        return np.asarray(loss.inverse(z))
    return np.exp(z) if isinstance(loss, tuple(DOMAINS)) else z


def decisions(raw: Array) -> Array:
    """Raw scores: (n,) for two classes, else (n, classes)."""
    return raw[:, 0] if raw.shape[1] == 1 else raw


def shares(raw: Array, loss: Any) -> Array:
    """Probabilities of raw scores: softmax, or the logistic curve (of twice the score for the exponential loss)."""
    if raw.shape[1] > 1:
        return np.asarray(Softmax().probabilities(raw))
    z = raw[:, 0] * (2 if isinstance(loss, Exponential) else 1)
    with np.errstate(over="ignore"):
        p = 1 / (1 + np.exp(-np.abs(z)))
    p = np.where(z >= 0, p, 1 - p).astype(raw.dtype)
    return np.stack([1 - p, p], axis=1)


def log_shares(raw: Array, loss: Any) -> Array:
    """Logarithms of the class probabilities."""
    with np.errstate(divide="ignore"):
        return np.log(shares(raw, loss))


def most_probable(raw: Array, classes: Array) -> Array:
    """The label of the largest score."""
    return classes[raw.argmax(axis=1) if raw.shape[1] > 1 else (raw[:, 0] > 0).astype(int)]
