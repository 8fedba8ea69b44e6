r"""Rules that turn probabilities or scores of classes into actions.

* least risk: :math:`\arg\min_i R_i(x)` with :math:`R_i(x) = \sum_k \lambda_{ik} P(k\mid x)`; rejecting is one more row
  of losses, and ties go to the first action, so that a class is preferred to rejecting;
* thresholds: :math:`\arg\max_k P(k\mid x)/t_k`, rejected (where that is possible) if the largest ratio is below 1;
* doubt: a class is taken if its own one-against-all score, and no other, fires.
"""

from typing import Any

import numpy as np

from didact.core.errors import ParameterError
from didact.core.typing import Array

LEAST = 1e-300  # a probability of 0 stays comparable


def loss_matrix(loss: Any, n_classes: int, n_actions: int | None) -> Array:
    """The losses λ (actions, classes) that a user asked for, checked."""
    rows = n_classes if n_actions is None else n_actions
    if loss is None or isinstance(loss, str):
        if rows != n_classes:
            raise ParameterError(f"{rows} actions for {n_classes} classes need a loss: a matrix with a row for each.")
        place = np.arange(n_classes)
        distance = np.abs(place[:, None] - place).astype(np.float64)
        return distance if loss == "absolute" else np.minimum(distance, 1.0)
    matrix = np.asarray(loss, dtype=np.float64)
    if matrix.shape != (rows, n_classes):
        raise ParameterError(
            f"loss has the shape {matrix.shape}, but must have {rows} rows, one for each action, and {n_classes} "
            "columns, one for each class in sorted order; name other actions than the classes by the parameter actions."
        )
    if not np.isfinite(matrix).all():
        raise ParameterError("loss must hold finite numbers.")
    return matrix


def reject_row(cost: Any, loss: Array, doubt: bool) -> Array | None:
    """The losses of rejecting a row of each class; None if there is no such action."""
    if cost is None:
        return loss.max(axis=0) if doubt else None
    row = np.asarray(cost, dtype=np.float64)
    if row.ndim and row.shape != (loss.shape[1],):
        raise ParameterError(
            f"reject_cost is one number or {loss.shape[1]} numbers, one for each class, not {row.size}."
        )
    if not (np.isfinite(row) & (row >= 0)).all():
        raise ParameterError("reject_cost must be at least 0 and finite.")
    return np.broadcast_to(row, (loss.shape[1],)).astype(np.float64)


def action_labels(actions: Array, reject_label: Any, rejects: bool) -> Array:
    """What `predict` says for each row of losses; the reject label stands last, by default −1 or "reject"."""
    if not rejects:
        return actions
    words = actions.dtype.kind in "OUST"
    label = reject_label if reject_label is not None else ("reject" if words else -1)
    if label in actions.tolist():
        raise ParameterError(f"reject_label {label!r} is a class or an action already: choose another one.")
    plain = isinstance(label, str) if actions.dtype.kind in "UT" else not words and not isinstance(label, str)
    return np.concatenate([actions, [label]]) if plain else np.array([*actions.tolist(), label], dtype=object)


def expected_risks(P: Array, loss: Array) -> Array:
    """R_i(x) of each row and action, in the float type of P."""
    return (np.asarray(P, np.float64) @ loss.T).astype(P.dtype)


def least_risk(P: Array, loss: Array) -> Array:
    """The number of the action of least expected risk."""
    return np.argmin(np.asarray(P, np.float64) @ loss.T, axis=1)


def by_thresholds(P: Array, thresholds: Array, rejects: bool) -> Array:
    """The class with the largest P/t, or the number of classes where the row is rejected."""
    ratio = np.maximum(np.asarray(P, np.float64), LEAST) / thresholds
    best = ratio.argmax(axis=1)
    return np.where(ratio[np.arange(len(best)), best] < 1.0, ratio.shape[1], best) if rejects else best


def by_firing(fires: Array) -> Array:
    """The one class that fires, or the number of classes where none or several do."""
    return np.where(fires.sum(axis=1) == 1, fires.argmax(axis=1), fires.shape[1])
