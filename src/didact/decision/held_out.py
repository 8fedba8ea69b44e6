"""Probabilities of rows by classifiers that did not see them, and rows that a classifier reads by itself."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from didact.core.errors import InputError
from didact.core.meta import fit_each, fit_model, row_params
from didact.core.typing import Array


def as_it_is(model: Any, X: Any) -> bool:
    """Whether a classifier gets X untouched: a pipeline reads it by itself, and texts are no table of numbers."""
    inner = model.estimator if isinstance(model, FrozenEstimator) else model
    if isinstance(inner, Pipeline):
        return True
    first = X[0] if isinstance(X, (list, tuple)) and len(X) else None
    return isinstance(first, str) or (getattr(X, "ndim", 2) == 1 and getattr(X, "dtype", None) is not None and _text(X))


def _text(X: Any) -> bool:
    values = np.asarray(X)
    return values.dtype.kind in "UT" or (
        values.dtype.kind == "O" and values.size > 0 and isinstance(values.flat[0], str)
    )


def raw_columns(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array | None]:
    """X as it is, and checked labels and weights beside it."""
    if y is None:
        raise InputError("BayesDecision needs y, but y is None.")
    y = column_or_1d(y)
    check_classification_targets(y)
    w = None if sample_weight is None else check_array(sample_weight, ensure_2d=False, dtype=np.float64)
    check_consistent_length(X, y, w)
    if w is not None and ((w < 0).any() or not w.any()):
        raise InputError("Sample weights must be at least 0, and not all of them 0.")
    return X, y, w


def some_rows(X: Any, index: Array) -> Any:
    """Some rows of an array, a sparse matrix, a frame or a list."""
    if hasattr(X, "iloc"):
        return X.iloc[index]
    return [X[i] for i in index] if isinstance(X, (list, tuple)) else (X.tocsr() if sp.issparse(X) else X)[index]


def code_of(y: Any, classes: Array) -> Array:
    """The place of each label among the classes, which need not be sorted."""
    order = np.argsort(classes)
    places = np.clip(np.searchsorted(classes, y, sorter=order), 0, len(classes) - 1)
    codes = order[places]
    strange = np.asarray(classes)[codes] != np.asarray(y)
    if strange.any():
        raise InputError(f"y has labels that the classifier does not know: {np.unique(np.asarray(y)[strange])[:5]}.")
    return codes


def held_out_probabilities(
    model: Any, fitted: Any, cv: Any, X: Any, y: Array, w: Array | None, params: dict[str, Any]
) -> tuple[Array, Array, Array]:
    """Probabilities of all held-out rows, their numbers of classes, and their weights; a frozen model held out all."""
    classes, weights = fitted.classes_, np.ones(len(y)) if w is None else w
    codes = code_of(y, classes)
    if isinstance(model, FrozenEstimator):
        return np.asarray(fitted.predict_proba(X), np.float64), codes, weights

    def fold(split: tuple[Array, Array]) -> tuple[Array, Array]:
        train, test = split
        part = None if w is None else w[train]
        seen, unseen = (some_rows(X, rows) for rows in (train, test))
        if get_tags(model).input_tags.pairwise:  # a precomputed kernel
            seen, unseen = seen[:, train], unseen[:, train]
        one = fit_model(clone(model), seen, y[train], part, row_params(y, train, params))
        P = np.zeros((len(test), len(classes)))
        P[:, code_of(one.classes_, classes)] = one.predict_proba(unseen)
        return test, P

    found = fit_each(fold, list(folds(cv, codes, weights).split(np.zeros((len(y), 1)), codes)))
    rows = np.concatenate([test for test, _ in found])
    return np.concatenate([P for _, P in found]), codes[rows], weights[rows]


def folds(cv: Any, codes: Array, w: Array) -> Any:
    """The splitter: stratified, with every class in every fold where that can be."""
    if cv is not None:
        return check_cv(cv, codes, classifier=True)
    least = int(np.bincount(codes[w > 0]).min(initial=5, where=np.bincount(codes[w > 0]) > 0))
    if least < 2:
        raise InputError("Thresholds cannot be tuned: a class has one row only, and each fold needs one of each class.")
    return StratifiedKFold(min(5, least))
