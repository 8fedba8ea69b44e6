"""A plain log of the progress of fits, line by line, for terminals and files where no bar can be drawn."""

import sys
import threading
from datetime import UTC, datetime
from typing import Any, TextIO

from sklearn.callback._callback_context import get_context_path
from sklearn.callback._transport import close_listener, open_listener, send

from didact.core.errors import ParameterError


class ProgressLog:
    """Callback that writes plain lines on the progress of a fit: iteration, objective, time spent, time left at most.

    It works where no progress bar can be drawn (a log file, a remote job). Set it on the outermost model: a search or
    a pipeline passes it on, and lines from worker processes are written here, too.

    Parameters
    ----------
    stream : file-like or None
        Where to write; by default the standard error stream.
    every : float
        Seconds between two lines; the line at the end of the fit is always written.
    max_propagation_depth : int or None
        How many levels of nested models report; None for all.

    Examples
    --------
    >>> from didact import ProgressLog
    >>> ProgressLog(every=10.0)
    ProgressLog(every=10.0)
    """

    def __init__(
        self, stream: TextIO | None = None, every: float = 1.0, max_propagation_depth: int | None = None
    ) -> None:
        if not every >= 0:
            raise ParameterError(f"every must be a number of seconds of at least 0, not {every!r}.")
        self.stream, self.every, self.max_propagation_depth = stream, every, max_propagation_depth
        self._handles: dict[Any, Any] = {}
        self._start()

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._written: dict[Any, datetime] = {}  # run → time of its last line
        self._heard: dict[Any, tuple[int, Any]] = {}  # (run, path of a task) → count of finished subtasks, the last one

    def __repr__(self) -> str:
        return f"ProgressLog(every={self.every})"

    def __getstate__(self) -> dict[str, Any]:
        # A copy in a worker process only sends messages; the stream stays in the process that writes.
        here = ("stream", "_lock", "_written", "_heard")
        return {key: value for key, value in self.__dict__.items() if key not in here}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, stream=None)
        self._start()

    def setup(self, estimator: Any, context: Any) -> None:
        """Listen to this fit and to its parts in other processes."""
        self._handles[context.root_uuid] = open_listener(self._hear)

    def teardown(self, estimator: Any, context: Any) -> None:
        """Stop listening and forget this fit."""
        close_listener(self._handles.pop(context.root_uuid))
        with self._lock:
            self._written.pop(context.root_uuid, None)
            self._heard = {key: ended for key, ended in self._heard.items() if key[0] != context.root_uuid}

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """A task begins."""

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """A task has ended: send what a line needs to the process that writes."""
        of = context.parent or context
        message = {
            "run": context.root_uuid,
            "path": tuple(c.task_id for c in get_context_path(context)),
            "who": of.estimator_name if of.task_name == "fit" else f"{of.estimator_name} {of.task_name}",
            "iteration": getattr(context, "iteration", None),
            "value": getattr(context, "value", None),
            "total": of.max_subtasks,
            "begin": of.init_time,
        }
        send(self._handles[context.root_uuid], message)

    def _hear(self, message: dict[str, Any]) -> None:
        """Count the finished tasks, and write a line if `every` seconds have passed since the last one."""
        now = datetime.now(UTC)
        run, path = message["run"], message["path"]
        spent = (now - message["begin"]).total_seconds()
        with self._lock:
            if len(path) == 1:
                self._write(_last_line(message["who"], *self._heard.get((run, path), (0, None)), spent))
                return
            count = self._heard.get((run, path[:-1]), (0, None))[0] + 1
            self._heard[run, path[:-1]] = count, message
            if (now - self._written.setdefault(run, message["begin"])).total_seconds() >= self.every:
                self._written[run] = now
                self._write(_line(message, count, spent))

    def _write(self, line: str) -> None:
        stream = sys.stderr if self.stream is None else self.stream
        stream.write(line + "\n")
        stream.flush()


def _line(message: dict[str, Any], count: int, spent: float) -> str:
    total = message["total"]
    words = [f"{message['who']}: {_number(message, count)}" + (f" of {total}" if total else "")]
    words += [*_value(message), _duration(spent)]
    if total:
        bound = "about" if message["iteration"] is None else "at most"  # a solver may converge before its limit
        words.append(f"{bound} {_duration(spent / count * max(total - count, 0))} left")
    return ", ".join(words)


def _last_line(who: str, count: int, last: dict[str, Any] | None, spent: float) -> str:
    words = [f"{who}: done in {_duration(spent)}"]
    if last:
        words += [_number(last, count), *_value(last)]
    return ", ".join(words)


def _number(message: dict[str, Any], count: int) -> str:
    return f"task {count}" if message["iteration"] is None else f"iteration {message['iteration']}"


def _value(message: dict[str, Any]) -> list[str]:
    return [] if message["value"] is None else [f"value {message['value']:.6g}"]


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {seconds:02d} s"
