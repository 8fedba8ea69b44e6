"""A callback that stops a fit once its score or objective no longer improves."""

import math
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from didact.core.backend import refuse_no_rows
from didact.core.errors import ParameterError


class EarlyStopping:
    """Callback that stops an iterative fit when the monitored value no longer improves.

    With v the best value so far, an iteration counts as an improvement if it is better than v by more than
    `min_delta`; after `patience` iterations in a row without one the fit ends. Set it on the model that iterates, also
    inside a pipeline or a search. Each fit is judged by itself.

    Parameters
    ----------
    monitor : str or callable
        "value" for the objective that the solver lowers, the name of a scorer, or a function monitor(model, X, y)
        that returns a number; the last two get the model as it is after the iteration.
    patience : int
        Iterations in a row without improvement after which the fit ends.
    min_delta : float
        The least change that counts as an improvement, in units of the monitored value.
    mode : {"min", "max"} or None
        Whether smaller or larger values are better; by default "min" for the objective and "max" for scores.
    data : tuple (X, y) or None
        Held-out data to compute the score on; by default the training data.

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
        if data is not None:
            refuse_no_rows(data[0], "The validation set is empty: data has no rows. Give some, or leave data out.")
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
        """Refuse an estimator whose fit has no iterations to stop."""
        from sklearn.model_selection._search import BaseSearchCV
        from sklearn.pipeline import Pipeline

        if isinstance(estimator, (Pipeline, BaseSearchCV)):
            raise ParameterError(
                f"EarlyStopping on a {type(estimator).__name__} would stop nothing: set it on the model inside that "
                "iterates, with its own set_callbacks."
            )

    def teardown(self, estimator: Any, context: Any) -> None:
        """Do nothing: the state of a fit is kept with its context."""

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
    """The best (lowest) value of one fit so far, and the number of iterations since it was reached."""

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
