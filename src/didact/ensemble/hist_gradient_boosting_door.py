"""Rows for boosting, checked: those to be fitted, also after an earlier fit, and those given for early stopping."""

from typing import Any

from didact.core.categories import learn_categories
from didact.core.errors import InputError, ParameterError
from didact.core.frames import column_names
from didact.core.rows import MemoryRows, Rows, blocks_of


def training_rows(model: Any, X: Any, y: Any, w: Any) -> Rows:
    """The rows to be fitted; where trees are added, columns and categories must be those of the last fit."""
    if not model._continues():
        return model.rows(X, y, w, target=model._target, categories=model.categorical_features)
    new = learn_categories(model.categorical_features, blocks_of(X), column_names(X), model._negative_codes)
    known, now = (() if c is None else c.values for c in (model.categories_, new))
    if [v is None for v in known] != [v is None for v in now]:
        raise InputError("warm_start needs the columns of the last fit, and the same of them categorical.")
    for j, (old, given) in enumerate(zip(known, now, strict=True)):
        strange = [] if old is None else sorted(set(given.tolist()) - set(old.tolist()), key=str)
        if strange:
            name = repr(model.feature_names_in_[j]) if hasattr(model, "feature_names_in_") else j
            raise InputError(
                f"warm_start needs the categories of the last fit, which had no {strange[0]!r} in column {name}."
            )
    return model.rows(X, y, w, target=model._target, reset=False)


def validation_rows(model: Any, X: Any, y: Any, w: Any) -> tuple[Any, ...] | None:
    """The rows (X, y, w) that are given for early stopping; None if there are none."""
    if X is None and y is None and w is None:
        return None
    if X is None or y is None:
        raise InputError("Validation rows need both X_val and y_val; sample_weight_val is for these.")
    if model.early_stopping is False:
        raise ParameterError("X_val and y_val are for early stopping: set early_stopping to True or 'auto'.")
    if not _length(X):
        raise InputError(
            "The validation set is empty: X_val has no rows. Give some, or leave X_val and y_val out, and a share of X "
            "is held out."
        )
    try:
        rows = model.rows(X, y, w, target=model._target, reset=False)
    except ValueError as error:
        raise InputError(f"In the validation set (X_val, y_val, sample_weight_val): {error}") from error
    if not isinstance(rows, MemoryRows):
        raise InputError("X_val must be in memory, as an array or a data frame: collections can only be fitted.")
    return rows.columns[:3]


def _length(X: Any) -> int:
    """The number of rows; 1 if nothing tells it."""
    shape = getattr(X, "shape", None)
    return int(shape[0]) if shape else len(X) if hasattr(X, "__len__") else 1
