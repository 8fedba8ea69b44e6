"""The library's one thread pool.

Compiled loops and BLAS calls on blocks of rows release the interpreter lock, so plain threads run them in parallel.
The caller is one of the threads. Either this pool or BLAS is parallel at a time, never both: while the pool works, BLAS
is limited to one thread. A call from within a piece of work runs inline, as a nested wait would deadlock. After a fork
the child starts a new pool.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from multiprocessing.process import current_process
from numbers import Integral
from typing import Any, TypeVar

import numpy as np

from didact.core.errors import ParameterError
from didact.core.threads.pool import Pool, Work
from didact.core.threads.pool import local as _state
from didact.core.typing import Array

T = TypeVar("T")
R = TypeVar("R")

PIECES_AT_ONCE = 16  # of a compiled loop's call, each some ten milliseconds at most: Ctrl-C waits for them
LONG = 1 << 16  # numbers that are worth a task
SMALL_MATRIX = 1000  # columns: a Cholesky factorisation then takes 0.3 GFlop
SMALL_TABLE = 500  # rows and columns: all that a fit does with their n × n or p × p products takes milliseconds

_asked: int | None = None


def set_threads(n: int | None) -> None:
    """Set how many threads didact may use; None restores the default, the number of available cores.

    >>> import didact
    >>> didact.set_threads(2)
    >>> didact.set_threads(None)
    """
    global _asked
    if n is not None and (isinstance(n, bool) or not isinstance(n, int) or n < 1):
        raise ValueError(f"set_threads takes a whole number of at least 1, or None; got {n!r}.")
    _asked = n


@cache
def _machine_limit() -> int:
    """The number of cores that this process may use: joblib reads CPU affinity and control groups."""
    import joblib

    return int(joblib.cpu_count())


@cache
def _blas() -> list[Any]:
    """The BLAS libraries in this process; SciPy's own is loaded first, so that it is among them."""
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def _per_thread(library: Any) -> bool:
    """Whether a library's limit belongs to the calling thread (MKL, OpenMP) and not to the whole process."""
    return library.internal_api == "mkl" or getattr(library, "threading_layer", None) == "openmp"


class _Hold:
    """Context that limits BLAS to one thread: the first caller to enter saves the limits, the last restores them."""

    def __init__(self) -> None:
        self.inside = 0
        self.saved: dict[Any, int] = {}
        self.lock = threading.Lock()

    def __enter__(self) -> None:
        with self.lock:
            self.inside += 1
            if self.inside == 1:
                for library in _blas():
                    if not _per_thread(library) and (limit := library.num_threads) not in (None, 1):
                        self.saved[library] = limit
                        self.set(library, 1)

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0:
                self.restore()

    def restore(self) -> None:
        """Give every library the limit that it had before the first caller entered."""
        for library, limit in self.saved.items():
            self.set(library, limit)
        self.saved = {}

    @staticmethod
    def set(library: Any, limit: int) -> None:
        """Set a limit from any thread: threadpoolctl would ignore all but the first thread that ever set one."""
        getattr(library, "_real_set_num_threads", library.set_num_threads)(limit)

    def limits(self) -> list[int]:
        """The limits outside this context: while it is open, the saved ones, as the libraries themselves report 1."""
        with self.lock:
            now = [self.saved.get(library) or library.num_threads for library in _blas()]  # asking takes 10 µs
        return [limit for limit in now if limit is not None]


_hold = _Hold()
one_blas_thread = _hold  # for many small products and factorisations, where waking threads costs more than it saves


def blas_for(size: int) -> AbstractContextManager[None]:
    """Context for work on matrices with this many columns: up to a thousand, BLAS is fastest on one thread."""
    return _hold if size <= SMALL_MATRIX else nullcontext()


def blas_for_rows(X: Any) -> AbstractContextManager[None]:
    """Context for a fit to X: with few rows and few columns no matrix in it is worth BLAS's threads.

    They spin while they wait for each other: on a busy machine a factorisation of 4 columns took 20 ms on two cores.
    """
    shape = getattr(X, "shape", ())
    return _hold if shape and all(isinstance(n, int) and n <= SMALL_TABLE for n in shape) else nullcontext()


def _inside_worker() -> bool:
    """Whether this is a Dask or joblib worker, whose scheduler has filled the cores already: one thread then."""
    if type(current_process()).__name__ == "LokyProcess":
        return True
    if (dask := sys.modules.get("distributed.worker")) is None:
        return False
    try:
        dask.get_worker()
    except (ValueError, AttributeError):  # not in a worker, or the module is still loading
        return False
    return True


def thread_count() -> int:
    """Threads that a call may use now: the least of `set_threads`, the environment, the cores and BLAS's own limit."""
    if getattr(_state, "serial", False) or _inside_worker():
        return 1
    asked = getattr(_state, "asked", None) or _asked
    limits = [_machine_limit() if asked is None else asked]
    # OpenMP allows a list, one number for each level of nesting.
    if (omp := os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()).isdigit():
        limits.append(int(omp))
    return max(1, min(limits + _hold.limits()))


def _begin_thread() -> None:
    """Mark the thread as one of ours: what it calls runs inline, and its own BLAS has one thread."""
    _state.serial = True
    for library in _blas():
        if _per_thread(library):
            library.set_num_threads(1)


_pool = Pool(_begin_thread)


def _after_fork() -> None:
    """Reset the state in the child: neither the pool's threads nor the callers that limited BLAS exist there."""
    global _pool
    _pool = Pool(_begin_thread)
    _hold.lock, _hold.inside = threading.Lock(), 0
    _hold.restore()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class serial:
    """Context in which everything runs inline on the calling thread."""

    def __enter__(self) -> None:
        self.before = getattr(_state, "serial", False)
        _state.serial = True

    def __exit__(self, *error: object) -> None:
        _state.serial = self.before


class threads_for:
    """Context of a model's own number of threads, counted as in joblib: None as outside, -1 all cores, -2 all but one.

    With one thread BLAS gets one, too.
    """

    def __init__(self, n_jobs: Any) -> None:
        if not isinstance(n_jobs, Integral):  # None, or what the validation of parameters is going to refuse
            n_jobs = None
        if n_jobs == 0:
            raise ParameterError("n_jobs == 0 has no meaning: use None, a number of threads, or -1 for all cores.")
        self.asked = n_jobs if n_jobs is None or n_jobs > 0 else max(1, _machine_limit() + 1 + n_jobs)

    def __enter__(self) -> None:
        self.before = getattr(_state, "asked", None)
        if self.asked is not None:
            _state.asked = self.asked
        if self.asked == 1:
            _hold.__enter__()

    def __exit__(self, *error: object) -> None:
        _state.asked = self.before
        if self.asked == 1:
            _hold.__exit__()


class _Joining(serial):
    """`serial` for the calling thread while it works beside the pool; a BLAS with limits per thread gets one, too."""

    def __enter__(self) -> None:
        self.limits = [(library, library.num_threads) for library in _blas() if _per_thread(library)]
        super().__enter__()
        _begin_thread()

    def __exit__(self, *error: object) -> None:
        super().__exit__()
        for library, limit in self.limits:
            library.set_num_threads(limit)


def parallel_map(fn: Callable[[T], R], items: Iterable[T], left: Callable[[], bool] | None = None) -> list[R]:
    """Call fn on every item and return the results in order, on the pool and the calling thread where that helps.

    The calling thread takes items as well, and threads come as long as items are left: see `pool`. After an error, or
    Ctrl-C in the caller, no further item is started, and those that run are waited for: an item should take less than
    about 0.2 s, or call `pool.refuse_abandoned` as often. Where left() is given, no item is started once it is false.
    """
    items = list(items)
    size = thread_count()
    if min(size, len(items)) <= 1:
        with _hold if size == 1 else nullcontext():  # who asked for one thread does not want BLAS's either
            return [fn(item) for item in items]
    work = Work(fn, items, left)
    # The limit on BLAS stays until the last item is done, also after an error: a thread may still be in BLAS.
    with _hold, _Joining():
        work.share(_pool, size - 1)
    try:
        if work.errors:
            raise work.first_error()
        return work.results
    finally:
        del work  # a traceback would keep it, and all data it holds, alive in a cycle


def parallel_values(fn: Callable[[Any], Any], x: Any, dtype: Any = None) -> Any:
    """fn(x) for a function that works on each number of x by itself, on the library's threads if x is a long array.

    Results have the type of x, or the one given.
    """
    if not isinstance(x, np.ndarray) or len(x) < 2 * LONG:
        return fn(x)
    out = np.empty_like(x, dtype)
    parallel_map(lambda a: np.copyto(out[a : a + LONG], fn(x[a : a + LONG])), range(0, len(x), LONG))
    return out


def parallel_parts(fn: Callable[[Any], R], x: Any) -> list[R]:
    """fn of each part of a long array, on the library's threads; of anything else fn of all of it."""
    if not isinstance(x, np.ndarray) or len(x) < 2 * LONG:
        return [fn(x)]
    return parallel_map(lambda a: fn(x[a : a + LONG]), range(0, len(x), LONG))


def parallel_rows(fn: Callable[[Array], Any], X: Array, columns: int, dtype: Any) -> Array:
    """fn(X) (n, columns) for a function that works on each row by itself, on the library's threads if X is long.

    What fn needs beside its result stays in the cache, and the result is first touched by who computes it.
    """
    out = np.empty((len(X), columns), dtype)
    step = max(2 * LONG // max(X.shape[1], 1), 256)
    parallel_map(lambda a: np.copyto(out[a : a + step], fn(X[a : a + step])), range(0, len(X), step))
    return out


def parallel_take(x: Any, index: Array) -> Any:
    """x[index] of numbers or of rows, on the library's threads if there are many."""
    if not isinstance(x, np.ndarray):  # sparse rows
        return x[index]
    if x.ndim == 2:
        return parallel_rows(lambda some: x[some[:, 0]], index[:, None], x.shape[1], x.dtype)
    return parallel_values(lambda some: x[some], index, x.dtype)


def stable_order(x: Array) -> Array:
    """np.argsort(x, kind="stable"), on the library's threads if x is long: each sorts the numbers of one range."""
    ranges = min(thread_count(), len(x) // LONG)
    if ranges < 2:
        return np.argsort(x, kind="stable")
    some = np.sort(x[:: len(x) // (64 * ranges)])
    cuts, place = some[len(some) // ranges :: len(some) // ranges][: ranges - 1], np.empty(len(x), np.uint16)

    def sort_range(k: int) -> Array:
        rows = np.flatnonzero(place == k)
        return rows[np.argsort(x[rows], kind="stable")]

    parallel_map(
        lambda a: np.copyto(place[a : a + LONG], cuts.searchsorted(x[a : a + LONG], side="right"), casting="unsafe"),
        range(0, len(x), LONG),
    )
    return np.concatenate(parallel_map(sort_range, range(len(cuts) + 1)))


def share_pieces(pieces: int, loop: Callable[[Array], Any]) -> None:
    """Have threads call loop(turn) until a number of pieces of work is done, without the interpreter between pieces.

    In the compiled loop ``atomic_add(turn, 0, 1)`` is the number of the next piece; it returns when that is no longer
    below `pieces`, or when it has worked on turn[1] of them.
    """
    turn = np.array([0, PIECES_AT_ONCE])
    if pieces <= 1:  # a small pass: asking for the number of threads would take as long
        loop(turn)
        return
    calls = min(thread_count(), pieces) - 1 + -(-pieces // PIECES_AT_ONCE)  # enough if all threads but one fall behind
    parallel_map(lambda _: loop(turn), range(calls), lambda: bool(turn[0] < pieces))
