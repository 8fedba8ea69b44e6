"""A loop before and after it is compiled: a light object that calls Numba for the first time when it is called itself.

Importing a file of loops costs nothing: `@jit` keeps the function and its options. The first call, or the first loop
that calls this one and is compiled, loads `compiler`, which alone brings in Numba, and makes Numba's dispatcher.
"""

import sys
import threading
from collections.abc import Callable
from functools import update_wrapper
from typing import Any

from didact.core.jit.garbage import no_collection

_lock = threading.RLock()


class Loop:
    """A compiled function; all attributes but its name are those of Numba's dispatcher.

    Parameters
    ----------
    function : callable
        The function in Python.
    options : dict
        Options of `numba.njit`.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self.py_func, self.options = function, options
        self.ready: Any = None

    @property
    def compiled(self) -> Any:
        """Numba's dispatcher; with NUMBA_DISABLE_JIT, the function itself."""
        if self.ready is None:
            with _lock, no_collection():
                from didact.core.jit.compiler import compile_on_call

                self.ready = self.ready or compile_on_call(self.py_func, self.options)
        return self.ready

    def __call__(self, *args: Any, **named: Any) -> Any:
        return (self.ready or self.compiled)(*args, **named)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "ready":
            raise AttributeError(name)
        if name == "compiled":  # the property has raised an AttributeError, which is to be heard of
            return Loop.compiled.fget(self)  # type: ignore[attr-defined]
        return getattr(self.compiled, name)

    def __repr__(self) -> str:
        return f"<loop {self.__module__}.{self.__qualname__}>"

    def __reduce__(self) -> Any:
        """A loop of a module travels by its name, one made inside a function as Numba's dispatcher."""
        known = getattr(sys.modules.get(self.__module__), self.__qualname__, None)
        return self.__qualname__ if known is self else self.compiled.__reduce__()
