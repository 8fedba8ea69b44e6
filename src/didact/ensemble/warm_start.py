"""Adding learners to a fitted ensemble: only for the columns, categories and classes that its learners know."""

import reprlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from didact.core.errors import InputError, ParameterError, users_level

LEARNT = ("n_features_in_", "feature_names_in_", "categories_", "n_outputs_", "classes_", "n_classes_")


@contextmanager
def continued(model: Any, learners: str) -> Iterator[None]:
    """Around what a fit learns of its problem: with warm_start and fitted learners, nothing of it may change.

    If something does, one sentence says what, and the model stays as it was.
    """
    known = vars(model)
    before = {name: known[name] for name in LEARNT if name in known} if model.warm_start and learners in known else {}
    try:
        yield
        other = [name for name in before if name in known and not _same(before[name], known[name])]
        if other:
            raise InputError(
                f"warm_start continues the same problem, but {_difference(model, other[0], before[other[0]])}: refit "
                "without it."
            )
    except Exception:
        if before:
            for name in LEARNT:
                known.pop(name, None)
            known.update(before)
        raise


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return type(a) is type(b) and bool(a == b)


def _difference(model: Any, name: str, old: Any) -> str:
    """What is new in an attribute of the model, in words."""
    new = vars(model)[name]
    if name == "n_features_in_":
        return f"X has {new} columns instead of {old}"
    if name == "n_outputs_":
        return f"y has {new} outputs instead of {old}"
    if name == "classes_":
        _, found, known = _first(new, old) if isinstance(new, list) else (0, new, old)
        return f"y has the classes {_listed(found)} instead of {_listed(known)}"
    if name == "feature_names_in_":
        j, found, known = _first(new, old)
        return f"column {j} of X is {found!r} instead of {known!r}"
    numbers = (None,) * model.n_features_in_
    j, found, known = _first(*(numbers if c is None else c.values for c in (new, old)))
    column = repr(model.feature_names_in_[j]) if hasattr(model, "feature_names_in_") else j
    return f"column {column} of X holds {_kind(found)} instead of {_kind(known)}"


def _first(new: Any, old: Any) -> tuple[int, Any, Any]:
    """The first place in which two sequences differ, and what stands there."""
    return next((j, a, b) for j, (a, b) in enumerate(zip(new, old, strict=True)) if not _same(a, b))


def _kind(categories: Any) -> str:
    return "numbers" if categories is None else f"the categories {_listed(categories)}"


def _listed(values: Any) -> str:
    return reprlib.repr(values.tolist())


def check_additions(wanted: int, have: int) -> None:
    """Whether a warm start adds models: fewer than there are is an error, as many a warning."""
    if have > wanted:
        raise ParameterError(
            f"n_estimators={wanted} must be larger or equal to len(estimators_)={have} when warm_start==True."
        )
    if have == wanted:
        warnings.warn(
            "Warm-start fitting without increasing n_estimators does not fit new trees.",
            UserWarning,
            stacklevel=users_level(),
        )
