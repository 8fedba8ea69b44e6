"""Progress of iterative fits, on scikit-learn's callback protocol: reports, early stopping and a plain log.

An estimator opens `FitProgress` around its solver and hands `report` to it; whatever callbacks the user has set, on
the model or on a search or pipeline around it, then hear of each iteration and may stop the fit.
"""

import math
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any, Self, TextIO
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.callback._callback_context import get_context_path
from sklearn.callback._callback_support import callback_management_context
from sklearn.callback._transport import close_listener, open_listener, send

from didact.core.errors import ParameterError


class FitProgress:
    """What an estimator opens around its fit, so that callbacks hear of it; without callbacks it costs nothing.

    Parameters
    ----------
    estimator : the model that is being fitted.
    max_iter : the largest number of iterations; 0 for a fit without any, None when it is not known.
    X, y, sample_weight : the training data as the user gave them, for callbacks that compute a score.
    attributes : function of the solver's present point x that returns the fitted attributes it stands for.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> from sklearn.callback import CallbackSupportMixin
    >>> from didact.core.progress import EarlyStopping, FitProgress
    >>> class Halving(CallbackSupportMixin, BaseEstimator):
    ...     def fit(self, X, y=None):
    ...         with FitProgress(self, 50, X=X, y=y, attributes=lambda x: {"x_": x}) as progress:
    ...             self.x_ = 1.0
    ...             for self.n_iter_ in range(1, 51):
    ...                 self.x_ /= 2
    ...                 if progress.report(self.n_iter_, self.x_, self.x_):
    ...                     break
    ...         return self
    >>> Halving().set_callbacks(EarlyStopping(patience=2, min_delta=0.1)).fit([[0]]).n_iter_
    5
    """

    stopped = False

    def __init__(
        self,
        estimator: Any,
        max_iter: int | None = 0,
        *,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        attributes: Callable[[Any], dict[str, Any]] | None = None,
    ) -> None:
        self._estimator = estimator
        self._max_iter = max_iter
        # Given as functions: scikit-learn would call data that happen to be callable.
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._data = {"estimator": estimator, "X": lambda: X, "y": lambda: y, "metadata": metadata}
        self._attributes = attributes
        self._x: Any = None
        self._context: Any = None

    def __enter__(self) -> Self:
        if getattr(self._estimator, "_skl_callbacks", None):
            with ExitStack() as stack:
                stack.enter_context(callback_management_context(self._estimator))
                context = self._estimator._init_callback_context(max_subtasks=self._max_iter)
                context.call_on_fit_task_begin(**self._data)
                self._context, self._teardown = context, stack.pop_all()
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        context, self._context = self._context, None
        if context is not None:
            with self._teardown:
                if kind is None:
                    self._end(context)

    def report(self, iteration: int, value: float | None = None, x: Any = None) -> bool:
        """Say that an iteration, counted from 1, has ended with this objective at x; True asks the solver to stop.

        The hooks for the beginning of an iteration and for its end are both called here, once the work is done.
        """
        if self._context is None:
            return False
        self._x = x
        whole, count = self._context, len(self._context._children_map)
        if whole.max_subtasks is not None and count >= whole.max_subtasks:
            whole.max_subtasks = None  # more steps than the solver had said: scikit-learn would raise
        task = whole.subcontext(task_name="iteration")
        task.iteration, task.value = iteration, value
        task.call_on_fit_task_begin(**self._data)
        if self._end(task):
            self.stopped = True
        return self.stopped

    def _end(self, context: Any) -> bool:
        attributes, x = self._attributes, self._x
        known = None if attributes is None or x is None else lambda: attributes(x)
        return bool(context.call_on_fit_task_end(**self._data, reconstruction_attributes=known))


class EarlyStopping:
    """Callback that stops an iterative fit when what it watches no longer improves.

    With v the best value so far, an iteration counts as an improvement if it is better than v by more than
    `min_delta`; after `patience` iterations in a row without one the fit ends. Set it on the model that iterates, also
    inside a pipeline or a search. Each fit is judged by itself.

    Parameters
    ----------
    monitor : "value", the objective that the solver lowers; or the name of a scorer, or a function
        monitor(model, X, y) → number, called with the model as it is after the iteration.
    patience : iterations without improvement that are borne.
    min_delta : what counts as an improvement, in the units of what is watched.
    mode : "min" or "max"; by default "min" for the objective and "max" for scores.
    data : a pair (X, y), held out, to compute the score on; by default the training data.

    References
    ----------
    Prechelt, L. (1998). Early stopping, but when? doi:10.1007/3-540-49430-8_3

    Examples
    --------
    >>> from didact import EarlyStopping
    >>> EarlyStopping(patience=5, min_delta=1e-4)
    EarlyStopping(monitor='value', patience=5, min_delta=0.0001, mode='min')
    """

    def __init__(
        self,
        monitor: str | Callable[[Any, Any, Any], float] = "value",
        *,
        patience: int = 5,
        min_delta: float = 0.0,
        mode: str | None = None,
        data: tuple[Any, Any] | None = None,
    ) -> None:
        if not (isinstance(monitor, str) or callable(monitor)):
            raise ParameterError(f"monitor must be 'value', the name of a scorer or a function, not {monitor!r}.")
        if isinstance(patience, bool) or not isinstance(patience, (int, np.integer)) or patience < 1:
            raise ParameterError(f"patience must be a whole number of at least 1, not {patience!r}.")
        if not 0 <= min_delta < math.inf:
            raise ParameterError(f"min_delta must be a number of at least 0, not {min_delta!r}.")
        if mode not in (None, "min", "max"):
            raise ParameterError(f"mode must be 'min' or 'max', not {mode!r}.")
        if data is not None and monitor == "value":
            raise ParameterError("The objective is known on the training data only: with data, monitor a score.")
        self.monitor, self.patience, self.min_delta, self.data = monitor, patience, min_delta, data
        self.mode = mode or ("min" if monitor == "value" else "max")
        self._scorer = _scorer(monitor)
        self._runs: WeakKeyDictionary[Any, _Run] = WeakKeyDictionary()

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name in ("monitor", "patience", "min_delta", "mode"))
        return f"EarlyStopping({', '.join(shown)})"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_runs": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _runs=WeakKeyDictionary())

    def setup(self, estimator: Any, context: Any) -> None:
        """Nothing to prepare: what is known of a fit is kept with its context."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Nothing to put away."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """An iteration begins."""

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, X: Any = None, y: Any = None, fitted_estimator: Any = None
    ) -> bool:
        """Compare the iteration that has ended with the best before it; True stops the fit."""
        if not hasattr(context, "iteration"):  # the fit as a whole, or a task of a search around it
            return False
        value = context.value if self._scorer is None else None
        if self._scorer is not None and fitted_estimator is not None:
            value = self._scorer(fitted_estimator, *(self.data or (X, y)))
        if value is None:
            return False
        run = self._runs.setdefault(context.parent, _Run())
        return run.update(float(value) if self.mode == "min" else -float(value), self.min_delta) >= self.patience


class _Run:
    """The best value of one fit, to be lowered, and the iterations since it was reached."""

    def __init__(self) -> None:
        self.best = math.inf
        self.since = 0

    def update(self, value: float, min_delta: float) -> int:
        if value < self.best - min_delta or (math.isinf(self.best) and value < self.best):
            self.best, self.since = value, 0
        else:
            self.since += 1
        return self.since


def _scorer(monitor: Any) -> Callable[[Any, Any, Any], float] | None:
    if monitor == "value":
        return None
    if isinstance(monitor, str):
        from sklearn.metrics import get_scorer

        return get_scorer(monitor)
    return monitor


class ProgressLog:
    """Callback that writes plain lines on the progress of a fit: iteration, objective, time spent, time left at most.

    It works where no progress bar can be drawn (a log file, a remote job). Set it on the outermost model: a search or
    a pipeline passes it on, and lines from worker processes come out here, too.

    Parameters
    ----------
    stream : where to write; by default the standard error stream.
    every : seconds between two lines; the line at the end of the fit is always written.
    max_propagation_depth : how many levels of models inside models are heard; None for all.

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
        self._written: dict[Any, datetime] = {}  # run -> time of its last line
        self._heard: dict[Any, tuple[int, Any]] = {}  # (run, path of a task) -> subtasks that ended, the last of them

    def __repr__(self) -> str:
        return f"ProgressLog(every={self.every})"

    def __getstate__(self) -> dict[str, Any]:
        # A copy in a worker process only sends; the stream stays where it is.
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
        """Count the tasks that have ended, and write a line if it is time."""
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
    words += [_duration(spent)]
    if total:
        words.append(f"at most {_duration(spent / count * max(total - count, 0))} left")
    return ", ".join(words)


def _last_line(who: str, count: int, last: dict[str, Any] | None, spent: float) -> str:
    return f"{who}: done in {_duration(spent)}" + (f", {_number(last, count)}" if last else "")


def _number(message: dict[str, Any], count: int) -> str:
    """Which iteration or task it was, and the objective where there is one."""
    text = f"task {count}" if message["iteration"] is None else f"iteration {message['iteration']}"
    return text if message["value"] is None else f"{text} with value {message['value']:.6g}"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {seconds:02d} s"
