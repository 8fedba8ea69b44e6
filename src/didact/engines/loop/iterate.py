"""The loop that all solvers share: it owns iterations, tolerance, NaN checks, history and callbacks.

A solver is a state with `x`, `value` and `optimality`, and a function `step(state) -> state` that returns None when no
progress is possible. `report(iteration, value, x)` is called after each iteration and may return True to stop.
"""

import math
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from didact.engines.loop.result import Result


class State(Protocol):
    """What the loop reads of a solver's state."""

    @property
    def x(self) -> Any:
        """The current point."""
        ...

    @property
    def value(self) -> float:
        """The objective there."""
        ...

    @property
    def optimality(self) -> float:
        """The measure that is compared with the tolerance: zero at a solution."""
        ...


BOTTOMLESS = 1e100  # an objective below minus this multiple of its first value counts as unbounded

T = TypeVar("T", bound=State)
Report = Callable[[int, float, Any], bool]
Keep = Callable[[Any], Any] | None


def iterate(
    state: T,
    step: Callable[[T], T | None],
    tol: float,
    max_iter: int,
    report: Report | None = None,
    keep: Keep = None,
) -> Result:
    """Step until the optimality is within tol; the result says why the loop ended."""
    history: list[Any] = []
    bottom = -BOTTOMLESS * (1.0 + abs(state.value))
    for iteration in range(max_iter + 1):
        history.append(state.value if keep is None else keep(state))
        stop = iteration > 0 and report is not None and report(iteration, state.value, state.x)
        # Unbounded and non-finite values are reported before convergence is tested.
        if state.value < bottom or state.value == -math.inf:
            status = "unbounded"
        elif not math.isfinite(state.value) or math.isnan(state.optimality):
            status = "not finite"
        elif state.optimality <= tol:
            status = "converged"
        elif stop:
            status = "stopped"
        elif iteration == max_iter:
            status = "iteration limit"
        else:
            new = step(state)
            if new is not None:
                state = new
                continue
            status = "no progress"
        return Result(state.x, state.value, iteration, status, state.optimality, history)
    raise AssertionError("unreachable: the last iteration always returns")
