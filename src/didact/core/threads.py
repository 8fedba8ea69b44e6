"""The library's one thread pool.

Compiled loops and BLAS calls on blocks of rows release the interpreter lock, so plain threads run them in parallel.
Either this pool or BLAS is parallel at a time, never both: while the pool works, BLAS is held to one thread. A call
from one of the pool's own threads runs inline (a nested wait would deadlock), and the pool starts anew after a fork.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import cache
from multiprocessing.process import current_process
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")

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
    _state.serial = True
    for library in _blas():
        if _per_thread(library):
            library.set_num_threads(1)


def _submit(size: int, fn: Callable[[T], R], items: list[T]) -> list[Future[R]]:
    """Hand all items to a pool of this size; under the lock, so that nobody else replaces the pool meanwhile."""
    global _pool, _pool_size
    with _lock:
        if _pool is None or _pool_size != size:
            if _pool is not None:
                _pool.shutdown(wait=False)
            _pool = ThreadPoolExecutor(size, thread_name_prefix="didact", initializer=_begin_thread)
            _pool_size = size
        # NumPy's error state is a context variable: each piece runs in a copy of the caller's context.
        return [_pool.submit(copy_context().run, fn, item) for item in items]


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


def parallel_map(fn: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Call fn on every item and return the results in order, on the pool where that helps.

    An error, or Ctrl-C in the caller, keeps what has not started from starting and waits for the rest: pieces should
    stay under about 0.2 s.
    """
    items = list(items)
    size = thread_count()
    if min(size, len(items)) <= 1:
        return [fn(item) for item in items]
    failed: list[bool] = []

    def piece(item: T) -> R:
        if failed:
            raise CancelledError
        try:
            return fn(item)
        except BaseException:
            failed.append(True)
            raise

    with _hold:
        futures = _submit(size, piece, items)
        try:
            # Pieces start in order, so the first that failed stands before all that it kept from starting.
            return [future.result() for future in futures]
        except BaseException:
            failed.append(True)
            wait(futures)
            raise
        finally:
            del futures  # an error's traceback would keep them, and all they hold, in a cycle
