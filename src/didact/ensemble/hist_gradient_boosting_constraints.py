"""Constraints of boosted trees, checked: directions of features, and sets of features that may stand together."""

from typing import Any

import numpy as np

from didact.core.errors import ParameterError

Array = np.ndarray[Any, Any]


def monotone_signs(model: Any, p: int) -> Array | None:
    """The monotone constraints of a boosting model: −1, 0 or 1 for each of p features; None if there is none."""
    given = model.monotonic_cst
    if given is None:
        return None
    if isinstance(given, dict):
        names = list(getattr(model, "feature_names_in_", []))
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ParameterError(f"monotonic_cst names {unknown[0]!r}, which is no column of X.")
        given = [given.get(name, 0) for name in names]
    signs = np.asarray(given)
    if signs.shape != (p,) or not np.isin(signs, (-1, 0, 1)).all():
        raise ParameterError(f"monotonic_cst must hold −1, 0 or 1 for each of the {p} features.")
    if signs.any() and model.n_trees_per_iteration_ > 1:
        raise ParameterError("Monotonic constraints need two classes: with more there is no order to keep.")
    if model.categories_ is not None and signs[model.categories_.mask].any():
        raise ParameterError("monotonic_cst must be 0 for categorical columns, which have no order.")
    return signs.astype(np.int8) if signs.any() else None


def interaction_groups(model: Any, p: int) -> list[list[int]] | None:
    """The interaction groups as lists of feature numbers, with one more for the features in none."""
    given = model.interaction_cst
    if given is None:
        return None
    if isinstance(given, str):
        pairs = [[a, b] for a in range(p) for b in range(a)] if given == "pairwise" and p > 1 else []
        return pairs or [[f] for f in range(p)]
    names = list(getattr(model, "feature_names_in_", []))
    groups = [[names.index(f) if isinstance(f, str) and f in names else f for f in group] for group in given]
    for f in (f for group in groups for f in group):
        if isinstance(f, str) or not 0 <= f < p:
            raise ParameterError(f"interaction_cst names the feature {f!r}, but X has {p} features.")
    rest = sorted(set(range(p)) - {f for group in groups for f in group})
    return [sorted(set(map(int, group))) for group in groups] + ([rest] if rest else [])
