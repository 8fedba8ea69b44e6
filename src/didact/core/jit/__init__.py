"""Compiled loops: how they are compiled, where the machine code is kept, and how a noun enters them.

This package alone imports Numba, when the first loop runs. A loop is a plain function under `@jit`, in a file named
`*_loops.py`. What varies in it (a loss, a kernel, a criterion) enters as a NamedTuple, and `dispatch` finds its scalar
method when the loop is compiled.

- `loop` is the light object that `@jit` leaves, `compiler` makes Numba's dispatcher of it, `inner` compiles loops into
  those that call them, with the `contexts` that remember what Numba asks often;
- `disk_cache` keeps the machine code and finds what a wheel carries, in the files of `entries`;
- `warming` compiles ahead on all cores, `notice` says so where something has to be compiled in a fit;
- `intrinsics`, `simd` and `atomics` are functions for loops, with their code in LLVM's language in `llvm`.

Numba keys its disk cache on the loop's own file alone, and would keep stale code after an edit in a function that the
loop calls. So a loop's cache folder is named by a hash of its file and of all files of didact that it imports, and each
entry is also keyed on such a hash for the nouns it was compiled for.
"""

from collections.abc import Callable
from typing import Any, TypeVar, overload

import numpy as np

from didact.core.jit.disk_cache import cache_folder
from didact.core.jit.intrinsics import flat, lowest_bit, prefetch, prefetch_row
from didact.core.jit.loop import Loop
from didact.core.jit.nouns import dispatch

__all__ = [
    "REASSOCIATE", "cache_folder", "dispatch", "flat", "jit", "jit_unmanaged", "lowest_bit", "prefetch", "prefetch_row",
    "record_type",
]  # fmt: skip


def record_type(fields: list[tuple[str, Any]]) -> Any:
    """The type of records whose fields Python reads as compiled loops do: ``records[0].name``.

    >>> import numpy as np
    >>> from didact.core.jit import record_type
    >>> int(np.zeros(2, record_type([("count", np.int64)]))[0].count)
    0
    """
    return np.dtype((np.record, fields))


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

    Use it as `@jit` or with options of `numba.njit`, as `@jit(fastmath=True)`. With `cold=True` it is compiled for
    size, and once for all that call it: for what runs seldom beside the loops over rows.

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
    return Loop(function, {"nogil": True, "_nrt": True} | options)


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
