"""Where Numba comes in: it is told of loops, nouns and instructions, and makes the dispatcher of a loop."""

import gc
from collections.abc import Callable
from typing import Any

import numba
import numba.extending
from numba.core import event
from numba.core.typing.typeof import typeof_impl

from didact.core.jit import nouns
from didact.core.jit.disk_cache import LoopCache, nouns_in
from didact.core.jit.inner import INNER, dispatcher
from didact.core.jit.llvm import atomics, byte_rows, intrinsics, simd  # noqa: F401  # they make themselves known to Numba
from didact.core.jit.loop import Loop
from didact.core.jit.notice import NOTICE


def compile_on_call(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Numba's dispatcher of a function, with our disk cache; the function itself with NUMBA_DISABLE_JIT."""
    compiled = dispatcher(function, options)
    if compiled is not function:
        compiled._cache = LoopCache(function)
    return compiled


@typeof_impl.register(Loop)
def _typeof_loop(loop: Loop, context: Any) -> Any:
    """In other loops, and as an argument, a loop is its dispatcher."""
    return typeof_impl(loop.compiled, context)


def _announce(method: nouns.Method) -> None:
    """Tell Numba how `dispatch` finds the method of a noun."""
    call, name, inline = method
    options = INNER | {"forceinline": inline}

    @numba.extending.overload(call, jit_options=options, strict=False)  # the method has its own names of arguments
    def resolve(noun: Any, *args: Any) -> Any:
        if isinstance(noun, numba.types.Dispatcher):
            return lambda noun, *args: noun(*args)
        cls = getattr(noun, "instance_class", None)
        if cls is None:
            return None
        if not hasattr(cls, name):
            raise numba.core.errors.TypingError(f"{cls.__name__} has no scalar method {name!r}")
        return getattr(cls, name)


class _Compiling(event.Listener):
    """Hears of every function that Numba compiles; those that others compile are none of our business.

    Garbage is looked for afterwards, and not at once: among all that a compiler keeps it took a tenth of the time.
    """

    collects = False

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"]
        nouns = {noun for kind in event.data["args"] for noun in nouns_in(kind)}
        NOTICE.begin(function.py_func, isinstance(getattr(function, "_cache", None), LoopCache), nouns)
        if NOTICE.depth == 1:
            self.collects = gc.isenabled()
            gc.disable()

    def on_end(self, event: Any) -> None:
        NOTICE.end()
        if NOTICE.depth == 0 and self.collects:
            if gc.get_freeze_count() == 0:  # else they are the user's
                gc.freeze()
                gc.unfreeze()  # what is new counts as old, for the next collection of everything
            gc.enable()


def _set_up() -> None:
    for method in nouns.announced:
        _announce(method)
    nouns.listeners.append(_announce)
    event.register("numba:compile", _Compiling())


_set_up()
