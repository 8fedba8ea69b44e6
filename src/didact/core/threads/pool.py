"""A queue of items that threads work off, and the threads, which wake each other.

Waking a thread takes tens of microseconds, and all threads need the interpreter lock for a moment then: sixteen
together cost half a millisecond. So the caller wakes three and goes to work; each that comes wakes three more, if
work is left then. A round of 200 µs ends with a few threads, a long one has fifteen after three steps: the number
follows from the work, without an estimate of it.
"""

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from itertools import count
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")

WAKES = 3  # threads that each one wakes

local = threading.local()


class Abandoned(Exception):
    """Raised in a piece of work that goes on for long, when another piece beside it has failed or was interrupted."""


def refuse_abandoned() -> None:
    """Raise `Abandoned` if the work of which the calling thread does a piece has failed elsewhere.

    Pieces that may take longer than a moment call this now and then, so that Ctrl-C and errors end them all.
    """
    if (work := getattr(local, "work", None)) is not None and work.errors:
        raise Abandoned("Another piece of this work has failed.")


class Pool:
    """Threads that sleep until there is work; as daemons they do not keep a program from ending."""

    def __init__(self, begin: Callable[[], None]) -> None:
        self.begin, self.lock, self.size = begin, threading.Lock(), 0
        self.asleep: list[SimpleQueue[Work[Any, Any]]] = []  # where each waits: a queue for all would wake others
        self.late: deque[Work[Any, Any]] = deque()  # work that found all threads busy

    def send(self, work: "Work[Any, Any]", most: int) -> None:
        """Have one more thread help with this work: one that sleeps, or a new one while there are fewer than `most`."""
        with self.lock:
            if self.asleep:
                self.asleep[-1].put(work)
                self.asleep.pop()  # after it: with Ctrl-C between the two no thread is lost
            elif self.size < most:
                with suppress(RuntimeError):  # the system gives no more threads: those that are there do the work
                    threading.Thread(target=self._serve, args=(work,), name=f"didact_{self.size}", daemon=True).start()
                    self.size += 1
            else:
                self.late.append(work)

    def _serve(self, work: "Work[Any, Any]") -> None:
        self.begin()
        bed: SimpleQueue[Work[Any, Any]] = SimpleQueue()
        while True:
            work.help()
            del work  # and the data that it holds
            with self.lock:
                if self.late:
                    work = self.late.popleft()
                    continue
                self.asleep.append(bed)
            work = bed.get()


class Work(Generic[T, R]):
    """A queue of items that several threads work off in order, with the results and the errors.

    Items need no thread any more as soon as left() is false.
    """

    def __init__(self, fn: Callable[[T], R], items: list[T], left: Callable[[], bool] | None = None) -> None:
        self.fn, self.items, self.left, self.turn, self.taken = fn, items, left, count(), 0
        self.results: list[Any] = [None] * len(items)
        self.errors: list[tuple[int, BaseException]] = []
        self.lock, self.done = threading.Lock(), threading.Lock()
        self.done.acquire()
        self.inside, self.closed = 0, False

    def run(self) -> None:
        """Work off items until none is left; after an error in any thread, no further item is started."""
        before, local.work = getattr(local, "work", None), self
        try:
            while self.goes_on() and (i := next(self.turn)) < len(self.items):
                self.taken = i + 1
                try:
                    self.results[i] = self.fn(self.items[i])
                except Abandoned:
                    return  # the error is known already
                except BaseException as error:
                    self.errors.append((i, error))
        finally:
            local.work = before

    def goes_on(self) -> bool:
        """Whether there is work for one more thread."""
        return not self.errors and self.taken < len(self.items) and (self.left is None or self.left())

    def share(self, pool: Pool, most: int) -> None:
        """Work off the items on the calling thread and up to so many of the pool."""
        # NumPy's error state is a context variable, so each thread runs in a copy of the caller's context.
        self.pool, self.most, self.context = pool, most, copy_context()
        self.unasked = min(most, len(self.items) - 1)
        try:
            self._wake()
            self.run()
            self._close()
        except BaseException as error:  # Ctrl-C while waiting
            self.errors.append((-1, error))
            self._close()

    def help(self) -> None:
        """What a thread of the pool does: if there is something left to do, wake others and join."""
        with self.lock:
            if self.closed:
                return
            self.inside += 1
        try:
            self._wake()
            self.context.copy().run(self.run)
        finally:  # whatever happens, nobody waits for this thread
            with self.lock:
                self.inside -= 1
                last = self.closed and not self.inside
            if last:
                self.done.release()

    def _wake(self) -> None:
        for _ in range(WAKES):
            with self.lock:
                if self.closed or not self.unasked or not self.goes_on():
                    return
                self.unasked -= 1
            self.pool.send(self, self.most)

    def _close(self) -> None:
        """Let no further thread join, and wait for those that have."""
        with self.lock:
            self.closed = True
            waiting = self.inside > 0
        if waiting:
            self.done.acquire()

    def first_error(self) -> BaseException:
        """An interruption (Ctrl-C) if there was one, else the error of the first item in order."""
        return min(self.errors, key=lambda e: (isinstance(e[1], Exception), e[0]))[1]
