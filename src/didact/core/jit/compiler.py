"""Where Numba comes in: it is told of loops, nouns and instructions, and makes the dispatcher of a loop."""

from collections.abc import Callable
from typing import Any

import numba
import numba.extending
from numba.core import event
from numba.core.typing.typeof import typeof_impl

from didact.core.jit import nouns
from didact.core.jit.disk_cache import LoopCache
from didact.core.jit.inner import INNER, compile_into_callers
from didact.core.jit.llvm import atomics, intrinsics, simd  # noqa: F401  # they make themselves known to Numba
from didact.core.jit.loop import Loop
from didact.core.jit.notice import NOTICE


def compile_on_call(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Numba's dispatcher of a function, with our disk cache; the function itself with NUMBA_DISABLE_JIT."""
    compiled = numba.njit(**options | {"no_cfunc_wrapper": True})(function)
    if compiled is not function:
        compiled._cache = LoopCache(function)
        compile_into_callers(compiled, function, options)
    return compiled


@typeof_impl.register(Loop)
def _typeof_loop(loop: Loop, context: Any) -> Any:
    """In other loops, and as an argument, a loop is its dispatcher."""
    return typeof_impl(loop.compiled, context)


def _announce(method: nouns.Method) -> None:
    """Tell Numba how `dispatch` finds the method of a noun."""
    call, name = method

    @numba.extending.overload(call, jit_options=INNER, strict=False)  # the method has its own names of arguments
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
    """Hears of every function that Numba compiles; those that others compile are none of our business."""

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"]
        NOTICE.begin(function.py_func, isinstance(getattr(function, "_cache", None), LoopCache))

    def on_end(self, event: Any) -> None:
        NOTICE.end()


def _set_up() -> None:
    for method in nouns.announced:
        _announce(method)
    nouns.listeners.append(_announce)
    event.register("numba:compile", _Compiling())


_set_up()
