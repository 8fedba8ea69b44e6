"""One line on the terminal where a fit or a prediction has to compile, once it has taken a second.

Nothing is written where nobody reads it: in scripts whose standard error stream is no terminal the line goes to the
logger "didact" at level INFO. `set_notices(False)`, or DIDACT_QUIET=1 in the environment, switches it off.
"""

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from didact.core.jit.loop import Loop

AFTER = 1.0  # seconds of compiling before the line
PAUSE = 2.0  # seconds without compiling after which it is said anew
SHOWN_FROM = 10.0  # seconds from which on progress is shown
SECONDS_PER_STEP = 1.5e-3  # of compiling for each instruction of bytecode, measured on components_loops

_wanted: bool | None = None


def set_notices(on: bool | None) -> None:
    """Say whether didact writes a line when it has to compile: True also where no terminal is, None for the default.

    >>> import didact
    >>> didact.set_notices(False)
    >>> didact.set_notices(None)
    """
    global _wanted
    if on not in (True, False, None):
        raise ValueError(f"set_notices takes True, False or None; got {on!r}.")
    _wanted = on


class Notice:
    """Watches what is compiled: `begin` and `end` enclose each function; those inside another count with it."""

    def __init__(self) -> None:
        self.depth = 0
        self.spent = self.ended = 0.0
        self.said = False
        self.over: threading.Event | None = None
        self.began = 0.0

    def begin(self, function: Callable[..., Any], ours: bool) -> None:
        """A function is being compiled."""
        self.depth += 1
        if self.depth > 1 or not ours:
            return
        self.began = time.monotonic()
        if self.began - self.ended > PAUSE:
            self.spent, self.said = 0.0, False
        self.over, thread = threading.Event(), threading.get_ident()
        watch = threading.Thread(target=self._watch, args=(self.over, function, thread, self.spent), daemon=True)
        watch.start()

    def end(self) -> None:
        """It is compiled."""
        self.depth -= 1
        if self.depth == 0 and self.over is not None:
            self.over.set()
            self.over, self.ended = None, time.monotonic()
            self.spent += self.ended - self.began

    def _watch(self, over: threading.Event, function: Callable[..., Any], thread: int, before: float) -> None:
        """Wait for a second of compiling, say so, and show how long it takes on a terminal."""
        if over.wait(max(0.0, AFTER - before)):
            return
        seconds = before + estimate(function)
        if not self.said:
            self.said = True
            name = estimator_at_work(thread) or function.__name__
            _say(f"didact: compiling {name} for this machine, once; about {max(2, round(seconds))} s\n")
        if seconds < SHOWN_FROM or not _terminal() or not _heard():
            return
        start = time.monotonic() - max(before, AFTER)
        while not over.wait(0.5):
            _write(f"\r  {time.monotonic() - start:.0f} of about {seconds:.0f} s")
        _write("\r\033[K")


def estimate(function: Callable[..., Any]) -> float:
    """Seconds that compiling a function and all loops that it calls takes, by the length of their bytecode."""
    return SECONDS_PER_STEP * sum(len(found.__code__.co_code) // 2 for found in _called(function, set()))


def _called(function: Any, seen: set[Any]) -> Iterator[Any]:
    """A function and the loops that it calls, directly or not."""
    if function in seen:
        return
    seen.add(function)
    yield function
    for name in function.__code__.co_names:
        inner = function.__globals__.get(name)
        if isinstance(inner, Loop):
            yield from _called(inner.py_func, seen)


def estimator_at_work(thread: int) -> str | None:
    """The name of the outermost model of didact whose method runs in a thread, or else in any."""
    frames = sys._current_frames()
    here = [frames[thread]] if thread in frames else []
    for frame in (*here, *frames.values()):
        names = [type(owner).__name__ for owner in _owners(frame) if hasattr(owner, "get_params")]
        if names:
            return names[-1]
    return None


def _owners(frame: FrameType | None) -> Iterator[Any]:
    """The objects of didact whose methods are on a stack, innermost first."""
    while frame is not None:
        if frame.f_code.co_varnames[:1] == ("self",):
            owner = frame.f_locals.get("self")
            if type(owner).__module__.partition(".")[0] == "didact":
                yield owner
        frame = frame.f_back


def _heard() -> bool:
    """Whether the line is written to the standard error stream."""
    if _wanted is not None:
        return _wanted
    quiet = os.environ.get("DIDACT_QUIET", "0") not in ("", "0")
    return not quiet and (_terminal() or hasattr(sys, "ps1"))  # a prompt: also notebooks


def _terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _say(line: str) -> None:
    if _heard():
        _write(line)
    else:
        logging.getLogger("didact").info(line.strip())


def _write(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(text)
        sys.stderr.flush()


NOTICE = Notice()
