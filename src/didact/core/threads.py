"""The library's one thread pool.

Compiled loops and BLAS calls on blocks of rows release the interpreter lock, so plain threads run them in parallel.
The caller is one of the threads. Either this pool or BLAS is parallel at a time, never both: while the pool works, BLAS
is held to one thread. A call from within a piece runs inline (a nested wait would deadlock), and the pool starts anew
after a fork.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from functools import cache
from itertools import count
from multiprocessing.process import current_process
from typing import Any, Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")

SMALL_MATRIX = 1000  # columns; 0.3 GFlop for a Cholesky factor

_state = threading.local()
_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None
_pool_size = 0
_asked: int | None = None


def set_threads(n: int | None) -> None:
    """Set how many threads didact may use; None goes back to what the machine allows.

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
    """Cores of the container: joblib reads affinity and control groups."""
    import joblib

    return int(joblib.cpu_count())


@cache
def _blas() -> list[Any]:
    """The BLAS libraries in this process, looked up once SciPy's is loaded, too."""
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def _per_thread(library: Any) -> bool:
    """Whether a library's limit belongs to the calling thread (MKL, OpenMP) and not to the whole process."""
    return library.internal_api == "mkl" or getattr(library, "threading_layer", None) == "openmp"


class _Hold:
    """BLAS at one thread while anybody is inside: the first in saves the limits, the last out restores them."""

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
        """Give every library the limit that it had before the first came in."""
        for library, limit in self.saved.items():
            self.set(library, limit)
        self.saved = {}

    @staticmethod
    def set(library: Any, limit: int) -> None:
        """Set a limit from any thread: threadpoolctl ignores all but the first thread that ever set one."""
        getattr(library, "_real_set_num_threads", library.set_num_threads)(limit)

    def limits(self) -> list[int]:
        """The limits that hold outside: a library that is held reports 1 and is known by what was saved."""
        with self.lock:
            now = [self.saved.get(library, library.num_threads) for library in _blas()]
        return [limit for limit in now if limit is not None]


_hold = _Hold()
one_blas_thread = _hold  # context for many small products and factorisations: waking threads costs more than they save


def blas_for(size: int) -> AbstractContextManager[None]:
    """Context for work on matrices with this many columns: of up to a thousand, one thread of BLAS is the quickest."""
    return _hold if size <= SMALL_MATRIX else nullcontext()


def _inside_worker() -> bool:
    """One thread in a Dask or joblib worker: the scheduler has filled the cores already."""
    if type(current_process()).__name__ == "LokyProcess":
        return True
    if (dask := sys.modules.get("distributed.worker")) is None:
        return False
    try:
        dask.get_worker()
    except (ValueError, AttributeError):  # no worker, or the module is still loading
        return False
    return True


def thread_count() -> int:
    """Threads that a call may use now: the least of what was asked, the environment, the machine and BLAS's limit."""
    if getattr(_state, "serial", False) or _inside_worker():
        return 1
    limits = [_machine_limit() if _asked is None else _asked]
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


def _submit(size: int, times: int, fn: Callable[[], None]) -> list[Future[None]]:
    """Have threads of a pool of this size call fn; under the lock, so that nobody replaces the pool meanwhile."""
    global _pool, _pool_size
    with _lock:
        if _pool is None or _pool_size != size:
            if _pool is not None:
                _pool.shutdown(wait=False)
            _pool = ThreadPoolExecutor(size, thread_name_prefix="didact", initializer=_begin_thread)
            _pool_size = size
        # NumPy's error state is a context variable: each call runs in a copy of the caller's context.
        return [_pool.submit(copy_context().run, fn) for _ in range(times)]


def _after_fork() -> None:
    """In the child: the threads are gone, and so is whoever held BLAS."""
    global _pool, _lock
    _pool, _lock = None, threading.Lock()
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


class _Joining(serial):
    """The same for a thread that works beside the pool's: its own BLAS has one thread meanwhile."""

    def __enter__(self) -> None:
        self.limits = [(library, library.num_threads) for library in _blas() if _per_thread(library)]
        super().__enter__()
        _begin_thread()

    def __exit__(self, *error: object) -> None:
        super().__exit__()
        for library, limit in self.limits:
            library.set_num_threads(limit)


class _Work(Generic[T, R]):
    """Items that several threads take one after the other, in order, and what became of them."""

    def __init__(self, fn: Callable[[T], R], items: list[T]) -> None:
        self.fn, self.items, self.turn = fn, items, count()
        self.results: list[Any] = [None] * len(items)
        self.errors: list[tuple[int, BaseException]] = []

    def run(self) -> None:
        """What each thread does; an error anywhere keeps what has not started from starting."""
        while not self.errors and (i := next(self.turn)) < len(self.items):
            try:
                self.results[i] = self.fn(self.items[i])
            except BaseException as error:
                self.errors.append((i, error))

    def first_error(self) -> BaseException:
        """An interruption, or else the error that one thread alone would have met."""
        return min(self.errors, key=lambda e: (isinstance(e[1], Exception), e[0]))[1]


def parallel_map(fn: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Call fn on every item and return the results in order, on the pool and the calling thread where that helps.

    The caller works along, as waking a thread costs more than a small piece does. An error, or Ctrl-C in the caller,
    keeps what has not started from starting and waits for the rest: pieces should stay under about 0.2 s.
    """
    items = list(items)
    size = thread_count()
    if min(size, len(items)) <= 1:
        with _hold if size == 1 else nullcontext():  # who asked for one thread does not want BLAS's either
            return [fn(item) for item in items]
    work = _Work(fn, items)
    with _hold:
        futures = _submit(size - 1, min(size, len(items)) - 1, work.run)
        try:
            with _Joining():
                work.run()
            wait([future for future in futures if not future.cancel()])  # nothing is left for a thread not yet awake
        except BaseException as error:  # Ctrl-C while waiting
            work.errors.append((-1, error))
            wait(futures)
    try:
        if work.errors:
            raise work.first_error()
        return work.results
    finally:
        del work, futures  # an error's traceback would keep them, and all they hold, in a cycle
