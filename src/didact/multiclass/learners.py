"""Two-class learners of several classes: how one is fitted to its rows, and the margins of all of them."""

from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier

from didact.core.meta import fit_model, margins
from didact.core.typing import Array

LARGEST = 1e30  # of a margin: sums of several stay finite, also in float32
PENALTY = "The base model of the tests, logistic regression, has a penalty beside the sum of weighted losses."


def fit_sides(model: Any, X: Any, sides: Array, w: Array | None, params: dict[str, Any]) -> Any:
    """A learner of the sides 0 and 1; where only one of them has weight, it always wins."""
    present = np.bincount(sides, w, 2) > 0
    if present.all():
        return fit_model(model, X, sides, w, params)
    winner = int(present[1])
    return DummyClassifier(strategy="constant", constant=winner).fit(np.zeros((2, 1)), np.arange(2))


def all_margins(X: Any, models: list[Any], indices: list[Array] | None) -> Array:
    """The margins (n, L) of all learners; `indices` are the columns of a precomputed kernel that each of them knows."""
    columns = [None] * len(models) if indices is None else indices
    found = [margins(model, X if own is None else X[:, own]) for model, own in zip(models, columns, strict=True)]
    return np.clip(np.column_stack(found), -LARGEST, LARGEST)
