"""The context of an iterative fit, in which callbacks are called after each iteration and may stop it."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any, Self

import numpy as np
from sklearn.callback._callback_support import callback_management_context

from didact.core.progress.log import ProgressLog
from didact.core.threads import parallel_map
from didact.core.threads.pool import refuse_abandoned


@contextmanager
def _printing(estimator: Any, verbose: int) -> Iterator[None]:
    """Context in which the model's callbacks include a log on the standard output: each second, or of each step."""
    before = getattr(estimator, "_skl_callbacks", [])
    log = ProgressLog(sys.stdout, every=0.0 if verbose > 1 else 1.0)
    estimator.set_callbacks(*before, log)
    try:
        yield
    finally:
        estimator.set_callbacks(*before)


class FitProgress:
    """Context that an estimator opens around its fit and that calls the callbacks; without callbacks it costs nothing.

    Parameters
    ----------
    estimator : estimator
        The model that is being fitted.
    max_iter : int or None
        The largest number of iterations; 0 for a fit without iterations, None if it is not known.
    X, y, sample_weight : array-like
        The training data as the user gave them, for callbacks that compute a score.
    attributes : callable
        Function of the solver's current point x that returns a dict of the corresponding fitted attributes.
    seconds : float
        Time after which `report` asks the solver to stop; the fit is then `late`.

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
        seconds: float = np.inf,
    ) -> None:
        self.deadline = time.monotonic() + seconds
        self._estimator = estimator
        self._max_iter = max_iter
        # Wrapped in functions, because scikit-learn would call data that happen to be callable.
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._data = {"estimator": estimator, "X": lambda: X, "y": lambda: y, "metadata": metadata}
        self._attributes = attributes
        self._x: Any = None
        self._context: Any = None

    def __enter__(self) -> Self:
        verbose = getattr(self._estimator, "verbose", 0)
        if verbose or getattr(self._estimator, "_skl_callbacks", None):
            with ExitStack() as stack:
                stack.enter_context(_printing(self._estimator, verbose) if verbose else nullcontext())
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

    @property
    def listened(self) -> bool:
        """Whether anybody hears the reports."""
        return self._context is not None

    @property
    def late(self) -> bool:
        """Whether the time is over, and no callback has stopped the fit."""
        return not self.stopped and time.monotonic() > self.deadline

    def each(self, solve: Callable[[Any, Any], Any], items: Iterable[Any], threads: bool = True) -> list[Any]:
        """solve(item, report) of independent parts of a fit: on the threads, or in turn if anybody listens.

        Iterations then count on from part to part; a part that begins after a stop is told so by its first report.
        """
        if not self.listened and threads:
            return parallel_map(lambda item: solve(item, self.report), items)
        return [solve(item, self._counting_on()) for item in items]

    def _counting_on(self) -> Callable[..., bool]:
        before = 0 if self._context is None else len(self._context._children_map)
        return lambda iteration, value=None, x=None: self.report(before + iteration, value, x)

    def report(self, iteration: int, value: Any = None, x: Any = None) -> bool:
        """Report that an iteration, counted from 1, has ended at x with this objective; True: the solver should stop.

        The objective may be a function without arguments, which is called if anybody listens.
        The callbacks' hooks for the beginning and for the end of an iteration are both called here, at its end: the
        first with the model before it, the second with the model after it.
        """
        refuse_abandoned()
        if self._context is None:
            return self.late
        whole, count = self._context, len(self._context._children_map)
        if whole.max_subtasks is not None and count >= whole.max_subtasks:
            whole.max_subtasks = None  # more steps than announced: scikit-learn would raise
        task = whole.subcontext(task_name="iteration")
        task.iteration, task.value = iteration, value() if callable(value) else value
        task.call_on_fit_task_begin(**self._data, reconstruction_attributes=self._known())
        self._x = np.copy(x) if isinstance(x, np.ndarray) else x  # a solver may go on in the same array
        if self._end(task):
            self.stopped = True
        return self.stopped or self.late

    def _known(self) -> Callable[[], dict[str, Any]] | None:
        """The fitted attributes of the last point, for callbacks that ask for a model."""
        attributes, x = self._attributes, self._x
        return None if attributes is None or x is None else lambda: attributes(x)

    def _end(self, context: Any) -> bool:
        return bool(context.call_on_fit_task_end(**self._data, reconstruction_attributes=self._known()))
