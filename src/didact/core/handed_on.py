"""scikit-learn's names in modules of ours: a module hands on from scikit-learn's what it does not have itself.

A module says ``__getattr__, __dir__ = hand_on(__name__)``, once. Names of its own win, and ``__all__`` stays its own; a
module without one has scikit-learn's. What is handed on is scikit-learn's own object, looked up when somebody asks for
it: nothing of scikit-learn is imported before. It belongs to neither our registry nor our documentation.
"""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def hand_on(module: str, *inner: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a module; `inner` names modules inside it, which need no files."""
    source = "sklearn" + module.removeprefix("didact")
    for name in inner:
        _make(module, name)

    def __getattr__(name: str) -> Any:
        if name.startswith("__") and name != "__all__":  # what Python itself asks modules for
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        theirs = importlib.import_module(source)
        if name == "__all__":
            return _names(theirs)
        if not hasattr(theirs, name) or (name.startswith("_") and name not in _names(theirs)):
            raise AttributeError(f"module {module!r} has no attribute {name!r}, nor has {source!r} a public one")
        found = getattr(theirs, name)
        if isinstance(found, ModuleType) and found.__name__ == f"{source}.{name}":
            with suppress(ModuleNotFoundError):  # ours of that name, which may have names of its own
                return importlib.import_module(f"{module}.{name}")
        return found

    def __dir__() -> list[str]:
        own = vars(sys.modules[module])
        return sorted({*own.get("__all__", ()), *inner, *_names(importlib.import_module(source))})

    return __getattr__, __dir__


def _names(theirs: ModuleType) -> list[str]:
    """The public names of a module of scikit-learn; some list what has to be enabled first, and some list nothing."""
    listed = getattr(theirs, "__all__", None) or [name for name in vars(theirs) if not name.startswith("_")]
    return sorted(set(listed) & set(vars(theirs)))


def _make(package: str, name: str) -> None:
    """A module without a file, where `import` finds it: in `sys.modules`, once the package is imported."""
    full = f"{package}.{name}"
    made = importlib.util.module_from_spec(ModuleSpec(full, None, origin=f"sklearn{full.removeprefix('didact')}"))
    made.__doc__ = f"scikit-learn's, handed on: see `{__name__}`."
    made.__getattr__, made.__dir__ = hand_on(full)  # type: ignore[method-assign]
    sys.modules[full] = made
    setattr(sys.modules[package], name, made)
