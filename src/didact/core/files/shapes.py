"""What a model that comes out of a file must fit: the shapes that its class declares for its fitted attributes.

The kinds of `_attrs` and `_hidden` are read as they stand in the documentation: "(n_features,) or (n_targets,
n_features)", "float", "list of (n_classes, n_values)". A name has the same size in all attributes of a model, so that
compiled code can rely on one array for the length of another. What is no shape ("Tree") is not compared: nouns have a
`check` of their own.
"""

import re
from collections.abc import Iterator
from functools import cache
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from didact.core.errors import InputError
from didact.core.parameters import attributes

ONE_NUMBER = "int", "float", "bool"
OF_SHAPE = re.compile(r"(?:ndarray )?(?:or sparse matrix )?of shape ")
DIM = re.compile(r"(?P<name>[a-z]\w*)?(?: ?(?P<more>[+-]? ?\d+))?", re.IGNORECASE)
ANY = "…"  # any number of dimensions


class Form(NamedTuple):
    """One of the forms that an attribute may have: a shape, no dimension for a number; None: no value."""

    shape: tuple[Any, ...] | None
    listed: bool = False  # a list of arrays of that shape; sizes that no other attribute knows may differ in it


def check_shapes(model: Any) -> None:
    """Refuse a model whose fitted attributes do not have the shapes that its class declares, or do not fit together."""
    found = [(name, value, forms) for name, value, forms in _declared(model) if forms]
    whole = int, np.integer
    sizes = {name: int(n) for name, n in vars(model).items() if name.endswith("_") and isinstance(n, whole)}
    sizes |= {name.removesuffix("_").removesuffix("_in"): n for name, n in sizes.items()}  # n_classes_ is n_classes
    # What has one form comes first: it says what the names mean in those that have several.
    found.sort(key=lambda one: len(one[2]))
    furthest = [0]
    if not _fits(found, 0, sizes, furthest):
        name, value, _ = found[furthest[0]]
        shape = f"the shape {np.shape(value)}" if hasattr(value, "shape") else f"the type {type(value).__name__}"
        raise InputError(
            f"{type(model).__name__}.{name} has {shape}, which does not fit its other attributes or its declaration"
        )


def _declared(model: Any) -> Iterator[tuple[str, Any, tuple[Form, ...]]]:
    """Names, values and forms of the attributes that a model has, those inside of others by a path: `_state.V`."""
    for attribute in (*attributes(type(model)), *attributes(type(model), "_hidden")):
        for path in attribute.names.split(", "):
            name, *inner = path.split(".")
            value = vars(model).get(name, vars(model))
            for key in inner if value is not vars(model) else ():
                value = _inside(value, key, model)
            if value is not vars(model) and value is not model:
                yield path, value, forms(attribute.kind)


def _inside(value: Any, key: str, missing: Any) -> Any:
    """An entry of a dictionary, an item of a tuple, or a field of a noun."""
    if isinstance(value, dict):
        return value.get(key, missing)
    if key.isdigit():
        return value[int(key)] if isinstance(value, tuple) and int(key) < len(value) else missing
    return getattr(value, key, missing)


def _fits(found: list[Any], k: int, sizes: dict[str, int], furthest: list[int]) -> bool:
    """Whether all attributes from the k-th on have one of their forms, with these sizes of the names so far."""
    if k == len(found):
        return True
    furthest[0] = max(furthest[0], k)
    for form in found[k][2]:
        known = _matched(found[k][1], form, sizes)
        if known is not None and _fits(found, k + 1, known, furthest):
            return True
    return False


def _matched(value: Any, form: Form, sizes: dict[str, int]) -> dict[str, int] | None:
    """The sizes of the names, if a value has this form."""
    if form.listed:
        parts = value if isinstance(value, (list, tuple)) else [None]
        return sizes if all(_matched(part, Form(form.shape), sizes) is not None for part in parts) else None
    if form.shape is None:
        return sizes if value is None else None
    if form.shape == () and not hasattr(value, "shape"):
        return sizes if isinstance(value, Number) else None
    shape = getattr(value, "shape", None)
    if sp.issparse(value) and len(form.shape) == 1 and value.shape[0] == 1:  # coefficients that `sparsify` has turned
        shape = value.shape[1:]
    return _sized(shape, form.shape, sizes)


def _sized(shape: Any, declared: tuple[Any, ...], sizes: dict[str, int]) -> dict[str, int] | None:
    """The sizes of the names, if a shape is the declared one."""
    if shape is None:
        return None
    if declared[-1:] == (ANY,) and len(shape) >= len(declared) - 1:
        declared, shape = declared[:-1], shape[: len(declared) - 1]
    elif declared[:1] == (ANY,) and len(shape) >= len(declared) - 1:
        declared, shape = declared[1:], shape[len(shape) - len(declared) + 1 :]
    if len(shape) != len(declared):
        return None
    sizes = dict(sizes)
    for length, (name, more) in zip(shape, declared, strict=True):
        if name is None and length != more:
            return None
        if name is not None and sizes.setdefault(name, length - more) != length - more:
            return None
    return sizes


# ------------------------------------------------------------------------------------------------ declarations


@cache
def forms(kind: str) -> tuple[Form, ...]:
    """The forms that a declared kind allows; none if it does not speak of shapes alone.

    >>> forms("float or (n_targets,)")
    (Form(shape=(), listed=False), Form(shape=(('n_targets', 0),), listed=False))
    >>> forms("Tree")
    ()
    """
    found: list[Form] = []
    for part in re.split(r",? or (?![^(]*\))", OF_SHAPE.sub("", kind)):
        listed = part.startswith("list of ")
        text = part.removeprefix("list of ")
        if part in ("list of these", "a list of these"):
            found += [form._replace(listed=True) for form in found]
        elif text in ONE_NUMBER:
            found.append(Form((), listed))
        elif text == "None":
            found.append(Form(None))
        elif text.startswith("(") and text.endswith(")"):
            found += [Form(shape, listed) for shape in _shapes(text[1:-1])]
        else:
            return ()
    return tuple(found)


def _shapes(text: str) -> Iterator[tuple[Any, ...]]:
    """The shapes that a text between parentheses allows: `[, n]` may be there or not, a size may be this or that."""
    if optional := re.search(r"\[(.*?)\]", text):
        for inside in ("", optional[1]):
            yield from _shapes(text[: optional.start()] + inside + text[optional.end() :])
        return
    choices: list[tuple[Any, ...]] = [()]
    for part in filter(None, text.split(", ")):
        ways = [_dimension(way) for way in part.rstrip(",").split(" or ")]
        choices = [(*shape, way) for shape in choices for way in ways]
    yield from choices


def _dimension(text: str) -> Any:
    """A name and what is added to it, a number alone as (None, number), or the sign for any dimensions."""
    found = DIM.fullmatch(text)
    if found is None and text != ANY:
        raise ValueError(f"{text!r} is no dimension")
    if found is None:
        return ANY
    return found["name"], int((found["more"] or "0").replace(" ", ""))
