"""Compiled loops: how they are compiled, where the machine code is kept, and how a noun enters them.

This package alone imports Numba. A loop is a plain function under `@jit`, in a file named `*_loops.py`. What varies in
it (a loss, a kernel, a criterion) enters as a NamedTuple, and `dispatch` finds its scalar method when the loop is
compiled. `inner` compiles loops into those that call them; `disk_cache` keeps the machine code; `intrinsics` and
`simd` hold all that is written in LLVM's own language.

Numba keys its disk cache on the loop's own file alone, and would keep stale code after an edit in a function that the
loop calls. So a loop's cache folder is named by a hash of its file and of all files of didact that it imports, and each
entry is also keyed on such a hash for the nouns it was compiled for. `python -m didact.core.jit` compiles everything
ahead of time.
"""

from collections.abc import Callable
from typing import Any, TypeVar, overload

import numba
import numba.extending

from didact.core.jit.disk_cache import attach_cache, cache_folder
from didact.core.jit.inner import INNER, compile_into_callers
from didact.core.jit.intrinsics import lowest_bit, prefetch, prefetch_row

__all__ = ["REASSOCIATE", "cache_folder", "dispatch", "jit", "jit_unmanaged", "lowest_bit", "prefetch", "prefetch_row"]

F = TypeVar("F", bound=Callable[..., Any])
REASSOCIATE = {
    "reassoc",
    "contract",
    "nsz",
}  # for `fastmath`: sums may be reordered, NaN and infinity stay


@overload
def jit(function: F) -> F: ...
@overload
def jit(**options: Any) -> Callable[[F], F]: ...
def jit(function: Any = None, **options: Any) -> Any:
    """Compile a loop with Numba: it releases the interpreter lock, and is cached on disk where a folder is writable.

    Use it as `@jit` or with options of `numba.njit`, as `@jit(fastmath=True)`.

    >>> from didact.core.jit import jit
    >>> @jit
    ... def total(x):
    ...     s = 0.0
    ...     for i in range(x.shape[0]):
    ...         s += x[i]
    ...     return s
    >>> import numpy as np
    >>> total(np.arange(4.0))
    6.0
    """
    if function is None:
        return lambda f: jit(f, **options)
    options = {"nogil": True, "_nrt": True} | options
    compiled = numba.njit(**options | {"no_cfunc_wrapper": True})(function)
    attach_cache(compiled, function)
    compile_into_callers(compiled, function, options)
    return compiled


@overload
def jit_unmanaged(function: F) -> F: ...
@overload
def jit_unmanaged(**options: Any) -> Callable[[F], F]: ...
def jit_unmanaged(function: Any = None, **options: Any) -> Any:
    """`jit` without reference counting, for a loop that neither allocates nor returns arrays.

    Counting references costs two locked instructions for every slice and every field of a NamedTuple: half the time of
    loops over small nodes, and more when threads share an array. Methods called through `dispatch` must not allocate
    or return arrays either.
    """
    how: Any = jit
    return how(function, _nrt=False, **options)


def dispatch(name: str) -> Callable[..., Any]:
    """A function f(noun, *args) for use in loops that calls the noun's scalar method `name`.

    The method is resolved when the loop is compiled. A noun is a NamedTuple whose class defines the method in plain
    Python on scalars, or a function under `numba.njit`, which is then called itself. Code for nouns from outside
    didact, and for functions, is compiled anew in each process: the disk cache could not know when they change.

    >>> from typing import NamedTuple
    >>> from didact.core.jit import dispatch
    >>> class Line(NamedTuple):
    ...     slope: float
    ...     def value1(self, z):
    ...         return self.slope * z
    >>> value1 = dispatch("value1")
    >>> value1(Line(2.0), 3.0)
    6.0
    """

    def call(noun: Any, *args: Any) -> Any:
        method = getattr(type(noun), name, None)
        return noun(*args) if method is None else method(noun, *args)

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

    return call
