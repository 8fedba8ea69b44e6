"""Constraints of boosted trees, checked: directions of features, and sets of features that may stand together."""

from collections.abc import Iterable
from numbers import Integral
from typing import Any

from didact.core.categories import Categories
from didact.core.errors import ParameterError
from didact.core.typing import Array
from didact.tree.tree_base import monotone_signs


def named_signs(given: Any, p: int, outputs: int, categories: Categories | None, names: list[str]) -> Array | None:
    """The monotone constraints of p features, which may go by name: −1, 0 or 1 for each; None if there is none."""
    if isinstance(given, dict):
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ParameterError(f"monotonic_cst contains {len(unknown)} unexpected feature names: {sorted(unknown)}.")
        given = [given.get(name, 0) for name in names]
    return monotone_signs(given, p, 1, outputs, categories)


def interaction_groups(given: Any, p: int, names: list[str]) -> list[list[int]] | None:
    """The interaction groups as lists of feature numbers, with one more for the features in none."""
    if given is None:
        return None
    if isinstance(given, str):
        pairs = [[a, b] for a in range(p) for b in range(a)] if given == "pairwise" and p > 1 else []
        return pairs or [[f] for f in range(p)]
    if any(isinstance(group, str) or not isinstance(group, Iterable) for group in given):
        raise ParameterError(f"Interaction constraints must be a sequence of tuples or lists, got: {given!r}.")
    groups = [[names.index(f) if isinstance(f, str) and f in names else f for f in group] for group in given]
    for f in (f for group in groups for f in group):
        if not isinstance(f, Integral) or not 0 <= int(f) < p:
            raise ParameterError(
                f"Interaction constraints must consist of integer indices in [0, n_features - 1] = [0, {p - 1}], "
                f"specifying the position of features, or of names of columns, got {f!r}."
            )
    rest = sorted(set(range(p)) - {f for group in groups for f in group})
    return [sorted(set(map(int, group))) for group in groups] + ([rest] if rest else [])
