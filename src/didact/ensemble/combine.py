"""Combining the outputs of several models: what each says of classes that it may not know all of, sums."""

import warnings
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from didact.core.errors import InputError
from didact.core.meta import fit_each
from didact.core.typing import Array

GROUPS = 8  # sums are built in this many parts, whatever the number of threads, so that the last bit stays

NO_OOB_SCORE = (
    "Some inputs do not have OOB scores. This probably means too few estimators were used to compute any reliable oob "
    "estimates: {} rows were in every draw. Raise n_estimators."
)


def class_probabilities(model: Any, X: Any, n_classes: int, how: str = "mean") -> Array:
    """Probabilities (n, K) of a model that was fitted to class codes, some of which it may not have seen.

    With how="vote", or from a model without probabilities, the class that it predicts has 1.
    """
    out = np.zeros((X.shape[0], n_classes))
    if not X.shape[0]:
        return out
    if how == "mean" and hasattr(model, "predict_proba"):
        out[:, np.asarray(model.classes_, np.intp)] = model.predict_proba(X)
    else:
        out[np.arange(len(out)), np.asarray(model.predict(X), np.intp)] = 1.0
    return out


def class_decisions(model: Any, X: Any, n_classes: int) -> Array:
    """Decision values, (n,) for two classes or (n, K), of a model that was fitted to class codes.

    A class that the model has not seen gets the lowest of its values in the row.
    """
    known = np.asarray(model.classes_, np.intp)
    decides = hasattr(model, "decision_function")  # a draw of one class may be answered by a constant
    values = np.asarray(model.decision_function(X), np.float64) if decides else np.empty((X.shape[0], 0))
    if len(known) == n_classes:
        return values
    values = np.column_stack([-values, values]) if values.ndim == 1 else values
    if values.shape[1] != len(known):
        raise InputError(
            f"A draw held {len(known)} of the {n_classes} classes, and {type(model).__name__} does not give one "
            "decision value for each of them, so they cannot be averaged: use predict_proba."
        )
    out = np.repeat(values.min(axis=1, keepdims=True), n_classes, axis=1)
    out[:, known] = values
    return out


def grouped_sum(fn: Callable[[Any], Array], items: Sequence[Any]) -> Array:
    """The sum of fn(item), on the library's threads, in an order that does not depend on them."""
    size = -(-len(items) // GROUPS)
    groups = [items[k : k + size] for k in range(0, len(items), size)]
    return reduce(np.add, fit_each(lambda group: reduce(np.add, map(fn, group)), groups))


def nan_mean(values: Array) -> Array:
    """The mean along the first axis of what is not NaN; NaN where there is nothing."""
    count = np.isfinite(values).sum(axis=0)
    return np.where(count > 0, np.nansum(values, axis=0) / np.maximum(count, 1), np.nan)


def nan_median(values: Array) -> Array:
    """The median along the first axis of what is not NaN; NaN where there is nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.nanmedian(values, axis=0)
