"""A cache beside a fitted model: what its predictions need is computed once, and not saved or copied with the model."""

from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")

_made: "WeakKeyDictionary[Any, dict[str, tuple[tuple[Any, ...], Any]]]" = WeakKeyDictionary()


def beside(model: Any, make: Callable[[], T], *made_from: Any, name: str = "") -> T:
    """The result of `make()`, cached by name as long as the model lives and `made_from` are the same objects."""
    kept = _made.setdefault(model, {})
    known = kept.get(name)
    if known is None or len(known[0]) != len(made_from) or any(a is not b for a, b in zip(known[0], made_from)):
        known = kept[name] = made_from, make()
    return known[1]
