"""The context of an iterative fit, in which callbacks are called after each iteration and may stop it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any, Self

import numpy as np
from sklearn.callback._callback_support import callback_management_context

from didact.core.progress.log import ProgressLog


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

    def report(self, iteration: int, value: float | None = None, x: Any = None) -> bool:
        """Report that an iteration, counted from 1, has ended at x with this objective; True: the solver should stop.

        The callbacks' hooks for the beginning and for the end of an iteration are both called here, at its end: the
        first with the model before it, the second with the model after it.
        """
        if self._context is None:
            return False
        whole, count = self._context, len(self._context._children_map)
        if whole.max_subtasks is not None and count >= whole.max_subtasks:
            whole.max_subtasks = None  # more steps than announced: scikit-learn would raise
        task = whole.subcontext(task_name="iteration")
        task.iteration, task.value = iteration, value
        task.call_on_fit_task_begin(**self._data, reconstruction_attributes=self._known())
        self._x = np.copy(x) if isinstance(x, np.ndarray) else x  # a solver may go on in the same array
        if self._end(task):
            self.stopped = True
        return self.stopped

    def _known(self) -> Callable[[], dict[str, Any]] | None:
        """The fitted attributes of the last point, for callbacks that ask for a model."""
        attributes, x = self._attributes, self._x
        return None if attributes is None or x is None else lambda: attributes(x)

    def _end(self, context: Any) -> bool:
        return bool(context.call_on_fit_task_end(**self._data, reconstruction_attributes=self._known()))
