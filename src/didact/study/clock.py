"""The time limit of a study: how much is left, and stopping work that would go beyond it.

A fit is stopped in two ways. Before it, its time is foretold from a fit to a sample of the rows; during it, where the
system has timers (not on Windows) and the study runs in the main thread, an alarm ends it as Ctrl-C would.
"""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_AGAIN = 0.5  # seconds between two strokes of the bell


class OutOfTime(BaseException):
    """The time is over. Not an Exception, so that nothing on the way takes it for an error of its own."""


class Clock:
    """Seconds since the start, and those left of the limit (infinitely many without one).

    >>> Clock(None).left()
    inf
    """

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.started = time.monotonic()

    def spent(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    def left(self) -> float:
        """Seconds that are left; below 0 when the limit is passed."""
        return float("inf") if self.limit is None else self.limit - self.spent()

    def kept(self, seconds: float) -> float:
        """Seconds to be kept for later work: so many, but at most half of all."""
        return seconds if self.limit is None else min(seconds, self.limit / 2)

    @contextmanager
    def stops(self, reserve: float = 0.0) -> Iterator[None]:
        """Raise OutOfTime inside the block when no more than the reserve is left."""
        seconds = self.left() - reserve
        if seconds <= 0:
            raise OutOfTime
        if self.limit is None or not _has_alarm():
            yield
            return
        began = time.monotonic()
        bell = _Bell()
        before = signal.signal(signal.SIGALRM, bell.ring)
        outer, repeat = signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
        try:
            yield
        finally:
            try:
                bell.silent = True
            finally:  # the bell may have rung at the line above; it does not ring again so soon
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, before)
            if outer:  # somebody else's alarm goes on
                signal.setitimer(signal.ITIMER_REAL, max(outer - (time.monotonic() - began), 1e-3), repeat)


class _Bell:
    """Raises OutOfTime where that ends the work.

    An error inside a function that LLVM calls back would be printed and lost, so the bell waits until it rings again.
    """

    silent = False

    def ring(self, number: int, frame: FrameType | None) -> None:
        while frame is not None:
            if frame.f_code.co_name.startswith("_raw_object_cache"):
                return
            frame = frame.f_back
        if not self.silent:
            raise OutOfTime


def _has_alarm() -> bool:
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
