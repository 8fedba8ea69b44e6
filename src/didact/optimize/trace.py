"""The path of an optimiser: iterates, values and gradient norms, and a plot of them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from didact.core.errors import ParameterError
from didact.core.typing import Array


@dataclass(frozen=True, eq=False)
class Trace:
    """The path of an optimiser, one row per iteration, the start first.

    Attributes
    ----------
    iterates : ndarray of shape (n_iter + 1, n)
        Points.
    values : ndarray of shape (n_iter + 1,)
        The objective there.
    gradient_norms : ndarray of shape (n_iter + 1,)
        Euclidean lengths of the gradients.

    Examples
    --------
    >>> from didact.optimize import minimize
    >>> result = minimize(lambda x: x @ x, [3.0, 4.0], "gradient", step=0.25, max_iter=2, keep_iterates=True)
    >>> result.trace.iterates.round(6).tolist()
    [[3.0, 4.0], [1.5, 2.0], [0.75, 1.0]]
    >>> result.trace.values.round(6).tolist()
    [25.0, 6.25, 1.5625]
    """

    iterates: Array
    values: Array
    gradient_norms: Array
    fun: Callable[[Array], float] = field(repr=False)

    def plot(self, **options: Any) -> Any:
        """The path on contours of the objective, for two variables: a Matplotlib figure.

        Options are those of `didact.plot.descent`.
        """
        from didact.plot import descent

        if self.iterates.shape[1] != 2:
            n = self.iterates.shape[1]
            raise ParameterError(f"A path is drawn on contours for two variables; this objective has {n}.")
        return descent(self.fun, {"path": self.iterates}, **options)


def keep(state: Any) -> tuple[float, Array, float]:
    """The part of a solver's state that a trace keeps: value, point and gradient norm."""
    return state.value, state.x, float(np.linalg.norm(state.gradient))


def trace(history: list[Any], fun: Callable[[Array], float]) -> Trace:
    """The trace from a history of kept states."""
    values, points, norms = zip(*history, strict=True)
    return Trace(np.array(points), np.array(values), np.array(norms), fun)
